//! Chat completions: OpenAI's protocol, and all who serve it.
//!
//! Protocol: OpenAI, API reference, "Chat", <https://platform.openai.com/docs/api-reference/chat>;
//! Azure OpenAI, "Data plane inference", 2024-10-21.

mod body;
mod reply;

use std::borrow::Cow;

use lydite::model::{Finish, ModelError, ModelErrorKind, ModelSpec, Provider};
use serde_json::{Value, json};

use crate::AttemptError;
use crate::wires::chat::{
    self, Call, HttpChat, Protocol, Setup, check_parameters, not_the_protocol,
};
use crate::wires::environment::{self, Environment};
use crate::wires::http::{Endpoint, HttpReply};
use crate::wires::learned::{Form, Learned};
use crate::wires::provider;
use crate::wires::refusal::Refusal;
use crate::wires::schema;
use body::Dialect;
use reply::{Answer, Choice};

/// The newest version of Azure's interface that is no preview and has JSON schemas.
const AZURE_VERSION: &str = "2024-10-21";

/// The protocol as one provider has it.
#[derive(Debug, Default)]
pub(crate) struct OpenAi {
    model: String,
    dialect: Dialect,
}

/// A model of `OpenAI`, or of a server with its protocol.
pub(crate) fn chat(
    spec: &ModelSpec,
    environment: Environment<'_>,
) -> Result<HttpChat<OpenAi>, ModelError> {
    check_parameters(spec, &body::OWN)?;
    let facts = provider::facts(spec.provider);
    let reasoning = provider::is_reasoning(spec.provider, &spec.model);
    let forms = Form::order(spec.structured, facts.forms);
    let strict = matches!(
        spec.provider,
        Provider::OpenAi | Provider::Azure | Provider::OpenRouter
    );
    HttpChat::new(
        spec,
        Setup {
            protocol: OpenAi {
                model: spec.model.clone(),
                dialect: Dialect::of(spec.provider),
            },
            endpoint: endpoint(spec, "/chat/completions", environment)?,
            learned: Learned::new(forms, reasoning, facts.logprobs && !reasoning),
            schemas: if strict {
                schema::Dialect::Strict
            } else {
                schema::Dialect::Plain
            },
            max_tokens: None,
            seeds: true,
            limit_names: &["max_tokens", "max_completion_tokens"],
            seed_names: &["seed", "random_seed"],
        },
    )
}

impl Protocol for OpenAi {
    fn body(&self, call: &Call<'_>) -> Result<Vec<u8>, serde_json::Error> {
        body::render(call, self.dialect)
    }

    fn read(&self, reply: &HttpReply, endpoint: &Endpoint) -> Result<chat::Answer, AttemptError> {
        let answer: Answer<'_> = serde_json::from_slice(&reply.body)
            .map_err(|error| not_the_protocol(endpoint, &reply.body, &error))?;
        let choice = answer.choices.as_ref().and_then(|choices| choices.first());
        if let Some(error) = answer.error.or(choice.and_then(|choice| choice.error)) {
            return Err(self.error_inside(reply::tree(error), endpoint));
        }
        Ok(chat::Answer {
            text: choice.and_then(Choice::text),
            finish: choice.map_or_else(|| Err(no_choices()), |choice| finish(choice, endpoint)),
            logprobs: choice.and_then(Choice::logprobs),
            tokens: answer.tokens(),
            served_by: answer.model.map(Cow::into_owned),
        })
    }
}

impl OpenAi {
    /// The error of an answer with status 200 that holds an error.
    fn error_inside(&self, error: Value, endpoint: &Endpoint) -> AttemptError {
        let error = match error {
            Value::String(text) => json!({ "message": text }),
            other => other,
        };
        let reply = HttpReply {
            status: Refusal::status_of(&error).unwrap_or(500),
            ..HttpReply::default()
        };
        Refusal::of(&error).error(&reply, &endpoint.facts, &self.model)
    }
}

fn no_choices() -> AttemptError {
    AttemptError::passing(ModelErrorKind::Protocol, "the answer has no `choices`")
}

/// How a choice ended; an error where the model refused to answer, or a filter withheld the answer.
fn finish(choice: &Choice<'_>, endpoint: &Endpoint) -> Result<Finish, AttemptError> {
    if let Some(refusal) = choice.refusal() {
        let refusal = endpoint.facts.redactor.clean(refusal);
        return Err(AttemptError::lasting(
            ModelErrorKind::ContentFilter,
            format!("the model refused to answer: {refusal}"),
        ));
    }
    match choice.finish_reason.as_deref() {
        Some("content_filter") => Err(AttemptError::lasting(
            ModelErrorKind::ContentFilter,
            "the provider's content filter withheld the answer",
        )),
        Some("error") => Err(AttemptError::passing(
            ModelErrorKind::Server,
            "the server broke the answer off with an error",
        )),
        Some("length" | "max_tokens" | "model_length") => Ok(Finish::Length),
        _ => Ok(Finish::Stop),
    }
}

/// Where a model of the protocol is: below its base URL, or in Azure's older form by deployment.
pub(crate) fn endpoint(
    spec: &ModelSpec,
    path: &str,
    environment: Environment<'_>,
) -> Result<Endpoint, ModelError> {
    let key = environment::key(spec, environment)?;
    let azure = spec.provider == Provider::Azure;
    let base = provider::base_url(spec).unwrap_or_default();
    let path = if azure && !base.ends_with("/v1") {
        let version = spec.api_version.as_deref().unwrap_or(AZURE_VERSION);
        let base = if base.ends_with("/openai") {
            ""
        } else {
            "/openai"
        };
        let deployment = path_segment(&spec.model);
        Cow::from(format!(
            "{base}/deployments/{deployment}{path}?api-version={version}"
        ))
    } else {
        Cow::from(path)
    };
    let header = if azure { api_key } else { bearer };
    Endpoint::new(spec, &path, key.as_ref(), header, environment)
}

fn bearer(key: &str) -> (&'static str, String) {
    ("authorization", format!("Bearer {key}"))
}

fn api_key(key: &str) -> (&'static str, String) {
    ("api-key", key.to_owned())
}

/// A name as one segment of a path.
pub(crate) fn path_segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'@' => {
                segment.push(char::from(byte));
            }
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}
