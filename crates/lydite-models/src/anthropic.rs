//! Anthropic's messages.
//!
//! Protocol: Anthropic, API reference, "Messages", version 2023-06-01. A reply of a schema is asked for
//! by a forced tool call; there are no log-probabilities and no seeds.

use std::borrow::Cow;
use std::time::Duration;

use lydite::model::{
    BoxFuture, ChatMessage, ChatReply, ChatRequest, ChatRole, Finish, ModelError, ModelErrorKind,
    ModelSpec, ReplyFormat, Structured,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::environment::{self, Environment};
use crate::exchange::{self, Exchange, Tokens};
use crate::http::{Endpoint, HttpReply, config_error};
use crate::identity;
use crate::openai::{
    Temperature, check_parameters, estimated, in_words, no_logprobs, no_text, not_the_protocol,
    size, tail, unwritable, with_tail,
};
use crate::prices::{self, KnownPrice};
use crate::refusal::Refusal;
use crate::schema::{Dialect, Made, Schemas};
use crate::{Attempt, AttemptError, ChatWire, provider};

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

/// A model of Anthropic, or of a server with its protocol.
#[derive(Debug)]
pub(crate) struct AnthropicChat {
    name: String,
    identity: String,
    model: String,
    endpoint: Endpoint,
    temperature: Temperature,
    max_tokens: Option<u32>,
    tail: Vec<u8>,
    schemas: Schemas,
    by_tool: bool,
    price: Option<KnownPrice>,
}

impl AnthropicChat {
    pub(crate) fn new(spec: &ModelSpec, environment: Environment<'_>) -> Result<Self, ModelError> {
        check_parameters(spec, &OWN)?;
        if spec.structured == Structured::JsonSchema {
            return Err(config_error(
                spec,
                "`structured: json_schema` is not spoken with this provider; take `tool`, `text` or `auto`",
            ));
        }
        let identity = identity::of_chat(spec);
        let mut spec = spec.clone();
        spec.headers
            .entry("anthropic-version".to_owned())
            .or_insert_with(|| VERSION.to_owned());
        let key = environment::key(&spec, environment)?;
        let path = match provider::base_url(&spec) {
            Some(base) if base.ends_with("/v1") => "/messages",
            _ => "/v1/messages",
        };
        let own_limit = spec.parameters.contains_key("max_tokens");
        Ok(Self {
            name: spec.name(),
            identity,
            endpoint: Endpoint::new(&spec, path, key.as_ref(), x_api_key, environment)?,
            temperature: Temperature::of(&spec),
            max_tokens: (!own_limit).then(|| spec.max_output_tokens.unwrap_or(MAX_TOKENS)),
            tail: tail(&spec).map_err(|error| config_error(&spec, &error.to_string()))?,
            schemas: Schemas::new(Dialect::Plain),
            by_tool: spec.structured != Structured::Text,
            price: prices::price(&spec),
            model: spec.model,
        })
    }

    async fn run(
        &self,
        request: &ChatRequest,
        exchange: &mut Exchange<'_>,
    ) -> Result<ChatReply, AttemptError> {
        if request.top_logprobs.is_some() {
            return Err(no_logprobs());
        }
        let schema = match &request.format {
            ReplyFormat::Json { name, schema } => Some((*name, self.schemas.get(schema))),
            ReplyFormat::Text => None,
        };
        let schema = schema.as_ref().map(|(name, made)| (*name, made.as_ref()));
        let body = self.body(request, schema).map_err(unwritable)?;
        let reply = exchange.send(body).await?;
        if !reply.is_success() {
            let refusal = Refusal::read(&reply.body);
            return Err(refusal.error(&reply, &self.endpoint.facts, &self.model));
        }
        self.read(&reply, request, schema, exchange)
    }

    fn body(
        &self,
        request: &ChatRequest,
        schema: Option<(&str, &Made)>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        let tool = schema.filter(|(_, schema)| self.by_tool && schema.is_object);
        let in_text = schema.filter(|_| tool.is_none());
        let mut messages: Vec<Message<'_>> = request
            .messages
            .iter()
            .filter(|message| message.role != ChatRole::System)
            .map(Message::of)
            .collect();
        if let (Some((_, schema)), Some(last)) = (in_text, messages.last_mut()) {
            last.content = Cow::Owned(format!("{}{}", last.content, in_words(schema)));
        }
        let body = Body {
            model: &self.model,
            max_tokens: self.max_tokens,
            system: system(&request.messages),
            messages,
            temperature: self.temperature.of_request(request),
            tools: tool.map(|(name, schema)| {
                [Tool {
                    name,
                    description: "Gives the answer.",
                    input_schema: &schema.json,
                }]
            }),
            tool_choice: tool.map(|(name, _)| Choice { kind: "tool", name }),
        };
        let schema = schema.map(|(_, schema)| schema);
        with_tail(&body, &self.tail, size(&request.messages, schema))
    }

    fn read(
        &self,
        reply: &HttpReply,
        request: &ChatRequest,
        schema: Option<(&str, &Made)>,
        exchange: &mut Exchange<'_>,
    ) -> Result<ChatReply, AttemptError> {
        let answer: Answer<'_> = serde_json::from_slice(&reply.body)
            .map_err(|error| not_the_protocol(&self.endpoint, &reply.body, &error))?;
        let text = answer.text();
        exchange.count(
            answer
                .usage
                .as_ref()
                .and_then(Counted::tokens)
                .unwrap_or_else(|| {
                    let schema = schema.map(|(_, schema)| schema);
                    estimated(request, schema, text.as_deref().unwrap_or_default())
                }),
        );
        let finish = match answer.stop_reason.as_deref() {
            Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
            Some("refusal") => {
                return Err(AttemptError::lasting(
                    ModelErrorKind::ContentFilter,
                    "the model refused to answer",
                ));
            }
            _ => Finish::Stop,
        };
        let text = match (text, finish) {
            (Some(text), _) => text,
            (None, Finish::Length) => String::new(),
            (None, Finish::Stop) => return Err(no_text()),
        };
        Ok(ChatReply {
            text,
            finish,
            served_by: answer.model.map(Cow::into_owned),
            ..ChatReply::default()
        })
    }
}

impl ChatWire for AnthropicChat {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn logprobs(&self) -> bool {
        false
    }

    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>> {
        Box::pin(async move {
            let mut exchange = Exchange::new(&self.endpoint, timeout);
            let outcome = self.run(request, &mut exchange).await;
            exchange::with_usage(exchange.finish(self.price, outcome))
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
