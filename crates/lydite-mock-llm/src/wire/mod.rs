//! The providers' shapes, written from their public documentation.

mod anthropic;
mod gemini;
mod openai;
mod strict;

use std::borrow::Cow;

use hyper::HeaderMap;
use serde_json::Value;

use crate::chat::{Asked, Reply};
use crate::config::Config;
use crate::embedding::Dimension;

/// Whose shape a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
}

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Chat,
    Embed,
    /// Gemini has a path of its own for several texts.
    EmbedBatch,
    Moderate,
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Route<'p> {
    pub(crate) provider: Provider,
    pub(crate) task: Task,
    /// The model, where the path names it.
    pub(crate) model: Option<&'p str>,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    Invalid,
    Unauthorized,
    UnknownPath,
    UnknownModel,
    TooLong,
    RateLimited,
    /// A status that the mock was told to give.
    Status(u16),
}

/// A request that is refused, with a reason in the provider's shape.
#[derive(Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) problem: Problem,
    pub(crate) message: String,
}

impl Refusal {
    pub(crate) fn new(problem: Problem, message: impl Into<String>) -> Self {
        Self {
            problem,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Problem::Invalid, message)
    }
}

impl Problem {
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Invalid | Self::TooLong => 400,
            Self::Unauthorized => 401,
            Self::UnknownPath | Self::UnknownModel => 404,
            Self::RateLimited => 429,
            Self::Status(status) => status,
        }
    }
}

/// Finds the route of a path without its query.
pub(crate) fn route(path: &str) -> Option<Route<'_>> {
    gemini::route(path)
        .or_else(|| anthropic::route(path))
        .or_else(|| openai::route(path))
}

impl<'p> Route<'p> {
    /// The key that a request shows, wherever its provider has it.
    pub(crate) fn key<'r>(&self, headers: &'r HeaderMap, query: &'r str) -> Option<Cow<'r, str>> {
        let header = |name: &str| Some(Cow::Borrowed(headers.get(name)?.to_str().ok()?));
        match self.provider {
            Provider::OpenAi => bearer(headers)
                .map(Cow::Borrowed)
                .or_else(|| header("api-key")),
            Provider::Anthropic => header("x-api-key"),
            Provider::Gemini => {
                header("x-goog-api-key").or_else(|| parameter(query, "key").map(Cow::Borrowed))
            }
        }
    }

    /// What the provider wants beside path, key and body.
    pub(crate) fn check(
        &self,
        path: &str,
        headers: &HeaderMap,
        query: &str,
    ) -> Result<(), Refusal> {
        match self.provider {
            Provider::OpenAi => openai::check(path, query),
            Provider::Anthropic => anthropic::check(headers),
            Provider::Gemini => Ok(()),
        }
    }

    /// Reads a chat.
    pub(crate) fn asked<'b>(&self, body: &'b Value, config: &Config) -> Result<Asked<'b>, Refusal>
    where
        'p: 'b,
    {
        match self.provider {
            Provider::OpenAi => openai::asked(body, self.model, config),
            Provider::Anthropic => anthropic::asked(body),
            Provider::Gemini => gemini::asked(body, self.model),
        }
    }

    /// The texts to be embedded or moderated.
    pub(crate) fn inputs<'b>(&self, body: &'b Value) -> Result<Vec<Cow<'b, str>>, Refusal> {
        match self.provider {
            Provider::Gemini => gemini::inputs(body, self.task),
            Provider::OpenAi | Provider::Anthropic => openai::inputs(body, self.task),
        }
    }

    /// The model of any request.
    pub(crate) fn model_of<'b>(&self, body: &'b Value) -> &'b str
    where
        'p: 'b,
    {
        let named = body.get("model").and_then(Value::as_str);
        self.model.or(named).unwrap_or_default()
    }

    /// The response to a chat. `number` tells replies apart.
    pub(crate) fn render(
        &self,
        asked: &Asked<'_>,
        reply: &Reply<'_>,
        config: &Config,
        number: u64,
    ) -> Value {
        match self.provider {
            Provider::OpenAi => openai::render(asked, reply, config, number),
            Provider::Anthropic => anthropic::render(asked, reply, config, number),
            Provider::Gemini => gemini::render(asked, reply, config, number),
        }
    }

    /// The response with embeddings, as JSON text.
    pub(crate) fn embeddings(
        &self,
        body: &Value,
        inputs: &[Cow<'_, str>],
        config: &Config,
    ) -> Result<Vec<u8>, Refusal> {
        match self.provider {
            Provider::Gemini => gemini::embeddings(body, inputs, self.task, config),
            Provider::OpenAi | Provider::Anthropic => {
                openai::embeddings(body, inputs, self.model_of(body), config)
            }
        }
    }

    /// The response with moderations.
    pub(crate) fn moderations(&self, body: &Value, inputs: &[Cow<'_, str>], number: u64) -> Value {
        openai::moderations(self.model_of(body), inputs, number)
    }
}

impl Provider {
    /// The body of an error.
    pub(crate) fn error(self, refusal: &Refusal, retry_after_s: Option<f64>) -> Value {
        match self {
            Self::OpenAi => openai::error(refusal),
            Self::Anthropic => anthropic::error(refusal),
            Self::Gemini => gemini::error(refusal, retry_after_s),
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get("authorization")?.to_str().ok()?;
    let (scheme, key) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim())
}

/// A parameter of a query, as it stands there.
fn parameter<'q>(query: &'q str, name: &str) -> Option<&'q str> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}

/// Adds the texts of a message, of its parts, or of a list of either, each on a line of its own.
fn push_texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(text);
        }
        Value::Array(items) => items.iter().for_each(|item| push_texts(item, out)),
        Value::Object(map) => {
            for key in ["text", "content", "parts"] {
                if let Some(inner) = map.get(key) {
                    push_texts(inner, out);
                }
            }
        }
        _ => {}
    }
}

/// The texts below some keys of a body.
fn texts(body: &Value, keys: &[&str]) -> String {
    let mut out = String::new();
    for value in keys.iter().filter_map(|key| body.get(key)) {
        push_texts(value, &mut out);
    }
    out
}

fn text<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer)?.as_str()
}

fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The dimension that is asked for below a key, else the configured one.
fn dimension(body: &Value, key: &str, config: &Config) -> Result<Dimension, Refusal> {
    match body.get(key) {
        None | Some(Value::Null) => Ok(Dimension::Usual(config.dimension)),
        Some(value) => value
            .as_u64()
            .filter(|dimension| (1..=65_536).contains(dimension))
            .map(|dimension| Dimension::Asked(dimension as usize))
            .ok_or_else(|| {
                Refusal::invalid(format!("`{key}` has to be a whole number from 1 to 65536"))
            }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_their_routes() {
        use Provider::{Anthropic, Gemini, OpenAi};
        let cases = [
            ("/v1/chat/completions", Some((OpenAi, Task::Chat, None))),
            ("/chat/completions", Some((OpenAi, Task::Chat, None))),
            (
                "/openai/deployments/my-gpt/chat/completions",
                Some((OpenAi, Task::Chat, Some("my-gpt"))),
            ),
            ("/v1/embeddings", Some((OpenAi, Task::Embed, None))),
            ("/v1/moderations", Some((OpenAi, Task::Moderate, None))),
            ("/v1/messages", Some((Anthropic, Task::Chat, None))),
            (
                "/v1beta/models/gemini-x:generateContent",
                Some((Gemini, Task::Chat, Some("gemini-x"))),
            ),
            (
                "/v1beta/models/e:embedContent",
                Some((Gemini, Task::Embed, Some("e"))),
            ),
            (
                "/v1beta/models/e:batchEmbedContents",
                Some((Gemini, Task::EmbedBatch, Some("e"))),
            ),
            ("/v1beta/models/e:countTokens", None),
            ("/v1/completions", None),
            ("/", None),
        ];
        for (path, expected) in cases {
            let found = route(path).map(|route| (route.provider, route.task, route.model));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn texts_stand_in_many_places() {
        let body = serde_json::json!({
            "system": [{"type": "text", "text": "a"}],
            "messages": [{"role": "user", "content": "b"}, {"content": [{"text": "c"}, {"image": "no"}]}, {"parts": [{"text": "d"}]}],
        });
        assert_eq!(texts(&body, &["system", "messages"]), "a\nb\nc\nd");
    }
}
