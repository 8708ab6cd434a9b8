//! For tests: what an evaluator asks of its judge.

use std::pin::pin;

use crate::check::{Check, CheckSpec};
use crate::decode::Wanted;
use crate::evaluator::{Entry, Evaluator};
use crate::model::scripted::ScriptedSession;
use crate::model::{ChatRequest, ModelSession, ModelSpec, Provider};
use crate::node::Node;
use crate::single;

/// The requests for one record, in their order, where the judge says `replies` (a JSON list).
pub(super) fn asked<E: Evaluator>(params: &str, record: &str, replies: &str) -> Vec<ChatRequest> {
    let mut wanted = Wanted::default();
    let params = Node::parse(params).unwrap();
    let mut spec = CheckSpec::from_flat_asking_params(E::INFO.id, &params).unwrap();
    spec.asks.judges = vec![ModelSpec::new(Provider::Scripted, "judge")];
    let check = Check::compile(&Entry::of::<E>(), spec, &mut wanted).unwrap();
    let session = ScriptedSession::new(serde_json::from_str(replies).unwrap());
    session.block_on(pin!(async {
        single::ask(&check, &wanted, record, &session)
            .await
            .unwrap();
    }));
    session.asked()
}

/// The last message of a request with its fences as `<` and `>`.
pub(super) fn shown_in(request: &ChatRequest) -> String {
    let fence = request.fence.as_deref().unwrap();
    let text = &request.messages.last().unwrap().content;
    text.replace(&format!("<{fence}>\n"), "<")
        .replace(&format!("\n</{fence}>"), ">")
}
