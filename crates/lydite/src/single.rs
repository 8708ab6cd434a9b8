//! One record judged by one check: what `lydite eval`, examples and case files do.

use std::collections::BTreeMap;
use std::pin::pin;

use bumpalo::Bump;

use crate::check::{Bench, Check, CheckErrors, CheckSpec, Judged};
use crate::decode::{Decoder, Mapping, MappingError, RecordError, Survey, Wanted};
use crate::evaluator::Entry;
use crate::model::scripted::ScriptedSession;
use crate::model::{ModelSession, ModelSpec, Provider};
use crate::node::Node;
use crate::record::{Field, Slots};
use crate::results::{CellView, CheckResult, RecordHead};

/// Why one record could not be judged at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SingleError {
    #[error(transparent)]
    Check(#[from] CheckErrors),
    #[error("{0}; {help}", help = .0.help)]
    Mapping(#[from] MappingError),
    #[error("{0}")]
    Record(#[from] Box<RecordError>),
}

/// Judges the JSON text of one record. `params` may hold `threshold`, `not` and `on_missing` beside
/// the evaluator's own parameters.
pub fn judge(
    entry: &Entry,
    name: &str,
    params: &Node,
    record: &str,
) -> Result<CheckResult<'static>, SingleError> {
    let mut wanted = Wanted::default();
    let spec = CheckSpec::from_flat_params(name, params)?;
    let check = Check::compile(entry, spec, &mut wanted)?;
    judge_with(&check, &wanted, record)
}

/// The same by models that answer from a list; see [`ScriptedSession`].
pub fn judge_scripted(
    entry: &Entry,
    name: &str,
    params: &Node,
    record: &str,
    replies: Vec<serde_json::Value>,
) -> Result<CheckResult<'static>, SingleError> {
    let mut spec = CheckSpec::from_flat_asking_params(name, params)?;
    let model = |name: &str| ModelSpec::new(Provider::Scripted, name);
    spec.asks.judges = vec![model("judge")];
    spec.asks.embedder = Some(model("embedder"));
    spec.asks.moderator = Some(model("moderator"));
    judge_asking(entry, spec, record, &ScriptedSession::new(replies))
}

/// The same by the models that the check names, made by `session`. Repeats come as one.
pub fn judge_asking(
    entry: &Entry,
    spec: CheckSpec,
    record: &str,
    session: &dyn ModelSession,
) -> Result<CheckResult<'static>, SingleError> {
    let mut wanted = Wanted::default();
    let check = Check::compile(entry, spec, &mut wanted)?;
    let mut result = None;
    session.block_on(pin!(async {
        result = Some(ask(&check, &wanted, record, session).await);
    }));
    // The future ran to its end, so there is a result.
    result.unwrap_or_else(|| judge_with(&check, &wanted, record))
}

/// The same with a compiled check.
pub fn judge_with(
    check: &Check,
    wanted: &Wanted,
    record: &str,
) -> Result<CheckResult<'static>, SingleError> {
    let arena = Bump::new();
    let slots = decode(check, wanted, record, &arena)?;
    let judged = check.judge(slots, &arena, &mut Bench::default(), true);
    Ok(result(check, slots, &judged))
}

/// The same with the models of a session, for a check that asks them. Repeats come as one.
pub async fn ask(
    check: &Check,
    wanted: &Wanted,
    record: &str,
    session: &dyn ModelSession,
) -> Result<CheckResult<'static>, SingleError> {
    let arena = Bump::new();
    let slots = decode(check, wanted, record, &arena)?;
    let judged = check.judge_asking(slots, &arena, session).await;
    Ok(result(check, slots, &judged))
}

fn decode<'r>(
    check: &Check,
    wanted: &Wanted,
    record: &'r str,
    arena: &'r Bump,
) -> Result<&'r Slots<'r>, SingleError> {
    let mut survey = Survey::default();
    survey.add(record);
    let needs_reference = check.needs.contains(Field::Reference);
    let mapping = Mapping::new(&survey, &BTreeMap::new(), wanted, needs_reference)?;
    Ok(Decoder::new(&mapping).decode(record, arena)?)
}

fn result(check: &Check, slots: &Slots<'_>, judged: &Judged) -> CheckResult<'static> {
    let head = RecordHead {
        id: slots.id.unwrap_or("#1"),
        model: slots.model,
        trial: slots.trial.unwrap_or(1),
        tags: slots.tags,
        cluster: slots.cluster,
        file: 0,
        line: 0,
    };
    let view = CellView {
        check: &check.name,
        info: check.info,
        judged,
    };
    CheckResult::of(&head, &view).into_owned()
}
