//! Reading an answer of the chat protocol.

use std::borrow::Cow;

use lydite::model::{TokenAlternative, TokenLogprob};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::wires::exchange::Tokens;

/// The log-probability that OpenAI gives for what is unlikely beyond measure.
const UNLIKELY: f64 = -9999.0;

#[derive(Debug, Deserialize)]
pub(crate) struct Answer<'a> {
    #[serde(borrow, default)]
    pub(crate) choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow, default)]
    pub(crate) model: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Choice<'a> {
    #[serde(borrow, default)]
    message: Option<Message<'a>>,
    #[serde(borrow, default)]
    pub(crate) finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    logprobs: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
struct Message<'a> {
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<ToolCall<'a>>>,
}

#[derive(Debug, Deserialize)]
struct ToolCall<'a> {
    #[serde(borrow)]
    function: Called<'a>,
}

#[derive(Debug, Deserialize)]
struct Called<'a> {
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
struct Part<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    /// A reasoning part is no part of the text.
    #[serde(borrow, default, rename = "type")]
    kind: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
struct Logprobs {
    content: Option<Vec<Token>>,
}

#[derive(Debug, Deserialize)]
struct Token {
    #[serde(rename = "token")]
    text: String,
    logprob: Option<f64>,
    #[serde(default)]
    top_logprobs: Option<Vec<Alternative>>,
}

#[derive(Debug, Deserialize)]
struct Alternative {
    token: String,
    logprob: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Counted {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
}

impl Answer<'_> {
    /// The tokens that the provider counted, where it says both.
    pub(crate) fn tokens(&self) -> Option<Tokens> {
        let counted: Counted = serde_json::from_str(self.usage?.get()).ok()?;
        let (input, output) = (
            counted.prompt_tokens?,
            counted.completion_tokens.unwrap_or(0),
        );
        (input > 0).then_some(Tokens {
            input,
            output,
            estimated: false,
        })
    }
}

impl Choice<'_> {
    /// What the model says in place of an answer.
    pub(crate) fn refusal(&self) -> Option<&str> {
        let refusal = self.message.as_ref()?.refusal.as_deref()?;
        (!refusal.is_empty()).then_some(refusal)
    }

    /// The arguments of the tool call, else the text; `None` where there is neither.
    pub(crate) fn text(&self) -> Option<String> {
        let message = self.message.as_ref()?;
        let call = message.tool_calls.as_ref().and_then(|calls| calls.first());
        match call.and_then(|call| call.function.arguments) {
            Some(arguments) => Some(string_or_json(arguments)),
            None => content(message.content?),
        }
    }

    pub(crate) fn logprobs(&self) -> Option<Vec<TokenLogprob>> {
        let logprobs: Logprobs = serde_json::from_str(self.logprobs?.get()).ok()?;
        let tokens = logprobs.content?;
        Some(tokens.into_iter().map(TokenLogprob::from).collect())
    }
}

impl From<Token> for TokenLogprob {
    fn from(token: Token) -> Self {
        let top = token.top_logprobs.unwrap_or_default();
        Self {
            token: token.text,
            logprob: token.logprob.unwrap_or(UNLIKELY),
            top: top
                .into_iter()
                .map(|other| TokenAlternative {
                    token: other.token,
                    logprob: other.logprob.unwrap_or(UNLIKELY),
                })
                .collect(),
        }
    }
}

/// A message's content: a text, or the texts of its parts.
fn content(raw: &RawValue) -> Option<String> {
    let json = raw.get();
    if json.starts_with('[') {
        let parts: Vec<Part<'_>> = serde_json::from_str(json).ok()?;
        let texts = parts
            .iter()
            .filter(|part| {
                part.kind
                    .as_deref()
                    .is_none_or(|kind| kind == "text" || kind == "output_text")
            })
            .filter_map(|part| part.text.as_deref());
        return Some(texts.collect());
    }
    serde_json::from_str(json).ok()
}

/// Arguments are JSON in a string; some servers send the object itself.
fn string_or_json(raw: &RawValue) -> String {
    serde_json::from_str(raw.get()).unwrap_or_else(|_| raw.get().to_owned())
}

/// A raw error as a tree.
pub(crate) fn tree(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}
