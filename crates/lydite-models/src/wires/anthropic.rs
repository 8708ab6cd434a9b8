//! Anthropic's messages.
//!
//! Protocol: Anthropic, API reference, "Messages", version 2023-06-01. A reply of a schema is asked for
//! by a forced tool call; there are no log-probabilities and no seeds.

use std::borrow::Cow;

use lydite::model::{
    ChatMessage, ChatRole, Finish, ModelError, ModelErrorKind, ModelSpec, Structured,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::AttemptError;
use crate::wires::chat::{
    self, Call, HttpChat, Protocol, Setup, check_parameters, not_the_protocol, with_tail,
};
use crate::wires::environment::{self, Environment};
use crate::wires::exchange::Tokens;
use crate::wires::http::{Endpoint, HttpReply, config_error};
use crate::wires::learned::{Form, Learned};
use crate::wires::provider;
use crate::wires::schema::Dialect;

const VERSION: &str = "2023-06-01";
/// The protocol wants a limit; this is below what any of its models can write.
const MAX_TOKENS: u32 = 4096;
/// What each call sets itself.
const OWN: [&str; 6] = [
    "messages",
    "model",
    "stream",
    "system",
    "tools",
    "tool_choice",
];

/// The protocol of Anthropic.
#[derive(Debug)]
pub(crate) struct Anthropic;

/// A model of Anthropic, or of a server with its protocol.
pub(crate) fn chat(
    spec: &ModelSpec,
    environment: Environment<'_>,
) -> Result<HttpChat<Anthropic>, ModelError> {
    check_parameters(spec, &OWN)?;
    // Who thinks first takes neither a forced tool nor a temperature.
    let thinks = spec.parameters.contains_key("thinking");
    let forms = match spec.structured {
        Structured::JsonSchema => {
            return Err(config_error(
                spec,
                "`structured: json_schema` is not spoken with this provider; take `tool`, `text` or `auto`",
            ));
        }
        Structured::Auto if thinks => &[Form::Text],
        structured => Form::order(structured, provider::facts(spec.provider).forms),
    };
    HttpChat::new(
        spec,
        Setup {
            protocol: Anthropic,
            endpoint: endpoint(spec, environment)?,
            learned: Learned::new(forms, thinks, false),
            schemas: Dialect::Plain,
            max_tokens: Some(MAX_TOKENS),
            seeds: false,
            limit_names: &["max_tokens"],
            seed_names: &[],
        },
    )
}

fn endpoint(spec: &ModelSpec, environment: Environment<'_>) -> Result<Endpoint, ModelError> {
    let key = environment::key(spec, environment)?;
    let path = match provider::base_url(spec) {
        Some(base) if base.ends_with("/v1") => "/messages",
        _ => "/v1/messages",
    };
    let mut spec = spec.clone();
    spec.headers
        .entry("anthropic-version".to_owned())
        .or_insert_with(|| VERSION.to_owned());
    Endpoint::new(&spec, path, key.as_ref(), x_api_key, environment)
}

impl Protocol for Anthropic {
    fn body(&self, call: &Call<'_>) -> Result<Vec<u8>, serde_json::Error> {
        let name = call.format_name();
        let tool = call.in_form(Form::Tool);
        let messages = &call.request.messages;
        let mut turns: Vec<Message<'_>> = messages
            .iter()
            .filter(|message| message.role != ChatRole::System)
            .map(Message::of)
            .collect();
        if let (Some(addition), Some(last)) = (call.addition(), turns.last_mut()) {
            last.content.to_mut().push_str(&addition);
        }
        let body = Body {
            model: call.model,
            max_tokens: call.plan.max_tokens,
            system: system(messages),
            messages: turns,
            temperature: call.plan.temperature,
            tools: tool.map(|schema| {
                [Tool {
                    name,
                    description: "Gives the answer.",
                    input_schema: &schema.json,
                }]
            }),
            tool_choice: tool.map(|_| Choice { kind: "tool", name }),
        };
        with_tail(&body, call.tail, call.size())
    }

    fn read(&self, reply: &HttpReply, endpoint: &Endpoint) -> Result<chat::Answer, AttemptError> {
        let answer: Answer<'_> = serde_json::from_slice(&reply.body)
            .map_err(|error| not_the_protocol(endpoint, &reply.body, &error))?;
        Ok(chat::Answer {
            text: answer.text(),
            finish: match answer.stop_reason.as_deref() {
                Some("max_tokens" | "model_context_window_exceeded") => Ok(Finish::Length),
                Some("refusal") => Err(AttemptError::lasting(
                    ModelErrorKind::ContentFilter,
                    "the model refused to answer",
                )),
                _ => Ok(Finish::Stop),
            },
            logprobs: None,
            tokens: answer.usage.as_ref().and_then(Counted::tokens),
            served_by: answer.model.map(Cow::into_owned),
        })
    }
}

fn x_api_key(key: &str) -> (&'static str, String) {
    ("x-api-key", key.to_owned())
}

/// The system messages, which stand apart.
fn system(messages: &[ChatMessage]) -> Option<Cow<'_, str>> {
    let mut texts = messages
        .iter()
        .filter(|message| message.role == ChatRole::System)
        .map(|message| message.content.as_str());
    let first = Cow::Borrowed(texts.next()?);
    Some(texts.fold(first, |all, text| Cow::Owned(format!("{all}\n\n{text}"))))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<Cow<'a, str>>,
    messages: Vec<Message<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tool<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: Cow<'a, str>,
}

impl<'a> Message<'a> {
    fn of(message: &'a ChatMessage) -> Self {
        Self {
            role: message.role.as_str(),
            content: Cow::Borrowed(&message.content),
        }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a RawValue,
}

#[derive(Serialize)]
struct Choice<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    name: &'a str,
}

#[derive(Debug, Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    content: Vec<Block<'a>>,
    #[serde(borrow, default)]
    model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    stop_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    usage: Option<Counted>,
}

/// A block of `text`, `tool_use`, or another that says nothing here (`thinking`).
#[derive(Debug, Deserialize)]
struct Block<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Counted {
    #[serde(default, rename = "input_tokens")]
    input: Option<u64>,
    #[serde(default, rename = "output_tokens")]
    output: Option<u64>,
    #[serde(default, rename = "cache_creation_input_tokens")]
    cache_written: Option<u64>,
    #[serde(default, rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
}

impl Answer<'_> {
    /// The input of the tool call, else the texts.
    fn text(&self) -> Option<String> {
        let called = self.content.iter().find(|block| block.kind == "tool_use");
        if let Some(input) = called.and_then(|block| block.input) {
            return Some(input.get().to_owned());
        }
        let mut texts = self
            .content
            .iter()
            .filter(|block| block.kind == "text")
            .filter_map(|block| block.text.as_deref())
            .peekable();
        texts.peek().is_some().then(|| texts.collect())
    }
}

impl Counted {
    fn tokens(&self) -> Option<Tokens> {
        let cached = self.cache_written.unwrap_or(0) + self.cache_read.unwrap_or(0);
        Some(Tokens {
            input: self.input? + cached,
            output: self.output.unwrap_or(0),
            estimated: false,
        })
    }
}
