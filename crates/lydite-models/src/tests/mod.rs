//! Wires against a server of HTTP on this machine.
//!
//! All bodies here are written from the providers' documentation; none was recorded.

mod errors;
mod openai;
mod others;
mod requests;
mod transport;

use std::sync::Arc;
use std::time::Duration;

use lydite::model::{ChatMessage, ChatReply, ChatRequest, ModelSpec, ReplyFormat};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers::any};

use crate::wires::environment::Environment;
use crate::{Attempt, AttemptError, ChatWire, wires};

pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);
pub(crate) const KEY: &str = "hunter-2-key-of-tests";

/// Variables of every provider's key.
pub(crate) fn variables(name: &str) -> Option<String> {
    name.ends_with("_API_KEY").then(|| KEY.to_owned())
}

/// A server that gives answers one after the other, the last for ever.
pub(crate) async fn server(answers: Vec<ResponseTemplate>) -> MockServer {
    let server = MockServer::start().await;
    let last = answers.len().saturating_sub(1);
    for (index, answer) in answers.into_iter().enumerate() {
        let mock = Mock::given(any()).respond_with(answer);
        let mock = if index < last {
            mock.up_to_n_times(1)
        } else {
            mock
        };
        mock.mount(&server).await;
    }
    server
}

pub(crate) fn answer(status: u16, body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

/// Answers by what the request's body holds.
pub(crate) struct ByBody(pub(crate) fn(&Value) -> ResponseTemplate);

impl Respond for ByBody {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        (self.0)(&serde_json::from_slice(&request.body).unwrap())
    }
}

/// A spec whose requests go to a server below `path`.
pub(crate) fn spec(text: &str, server: &MockServer, path: &str) -> ModelSpec {
    let mut spec = ModelSpec::parse(text).unwrap();
    spec.base_url = Some(format!("{}{path}", server.uri()));
    spec
}

pub(crate) fn wire(spec: &ModelSpec) -> Arc<dyn ChatWire> {
    wires::chat(spec, Environment(&variables)).unwrap()
}

pub(crate) async fn ask(spec: &ModelSpec, request: &ChatRequest) -> Attempt<ChatReply> {
    wire(spec).attempt(request, TIMEOUT).await
}

pub(crate) async fn error(spec: &ModelSpec, request: &ChatRequest) -> AttemptError {
    let error = ask(spec, request).await.outcome.unwrap_err();
    assert!(!error.message.contains("hunter"), "{}", error.message);
    error
}

/// The bodies that a server got.
pub(crate) async fn bodies(server: &MockServer) -> Vec<Value> {
    let requests = server.received_requests().await.unwrap();
    let bodies = requests.iter();
    bodies
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect()
}

pub(crate) fn text_request() -> ChatRequest {
    ChatRequest {
        messages: vec![
            ChatMessage::system("Be brief."),
            ChatMessage::user("Is \"Paris\" a city?"),
        ],
        ..ChatRequest::default()
    }
}

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["verdict"],
        "additionalProperties": false,
    })
}

pub(crate) fn json_request() -> ChatRequest {
    ChatRequest {
        format: ReplyFormat::Json {
            name: "verdict",
            schema: Arc::new(schema()),
        },
        ..text_request()
    }
}

/// A chat completion with a text.
pub(crate) fn completion(text: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "served-1",
        "choices": [{
            "index": 0, "finish_reason": "stop", "logprobs": null,
            "message": {"role": "assistant", "content": text, "refusal": null, "annotations": []},
        }],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 500, "total_tokens": 1500,
                  "prompt_tokens_details": {"cached_tokens": 0}},
    })
}
