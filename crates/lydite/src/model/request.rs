//! What a chat model is asked, and what it answers.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Usage;

/// One call of a chat model.
#[derive(Clone, Debug, Default)]
pub struct ChatRequest {
    /// The system message first, where there is one.
    pub messages: Vec<ChatMessage>,
    pub format: ReplyFormat,
    /// Ask for the log-probabilities of so many alternatives a token.
    pub top_logprobs: Option<u8>,
    /// In place of the model's own setting: a sample needs a temperature above 0.
    pub temperature: Option<f64>,
    /// The tag that fences data in the messages. Cache keys take a fixed mark in its place.
    pub fence: Option<Arc<str>>,
    /// What tells this call from others with the same messages.
    pub identity: CallIdentity,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: ChatRole,
    pub content: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    System,
    User,
    Assistant,
}

impl ChatRole {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl Finish {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
        }
    }
}

impl ChatMessage {
    pub fn system(content: impl Into<String>) -> Self {
        Self {
            role: ChatRole::System,
            content: content.into(),
        }
    }

    pub fn user(content: impl Into<String>) -> Self {
        Self {
            role: ChatRole::User,
            content: content.into(),
        }
    }

    pub fn assistant(content: impl Into<String>) -> Self {
        Self {
            role: ChatRole::Assistant,
            content: content.into(),
        }
    }
}

/// The form that a reply is asked in.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ReplyFormat {
    #[default]
    Text,
    /// JSON of a schema: by the provider's schema mode, else by a tool call, else by words in the
    /// prompt. The reply's text is the JSON then, as far as the provider holds to it.
    Json {
        /// Letters, digits and `_`; names the schema or tool on the wire.
        name: &'static str,
        schema: Arc<serde_json::Value>,
    },
}

/// What tells calls with equal messages apart: each makes a request of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct CallIdentity {
    /// Judging the answer again: 1, 2, ….
    pub repeat: u32,
    /// Asking the same question again within one judgement: 0, 1, ….
    pub sample: u32,
    /// The judge's place in a jury: 0, 1, ….
    pub juror: u32,
    pub order: Order,
    /// A repair of an unreadable reply.
    pub repair: bool,
    /// The trial of a target's call; 0 for judges.
    pub trial: u32,
}

/// The order in which two answers are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Order {
    #[default]
    #[serde(rename = "AB")]
    Ab,
    #[serde(rename = "BA")]
    Ba,
}

/// A chat model's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChatReply {
    /// The text, or the arguments of the tool call as JSON.
    pub text: String,
    pub finish: Finish,
    /// One a token of the text, where they were asked for and given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logprobs: Option<Vec<TokenLogprob>>,
    /// The model that the provider says has answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_by: Option<String>,
    pub usage: Usage,
    /// What the request took that brought the reply, however it came here since; not known to every session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taken: Option<Taken>,
    /// Taken from a cache, a log of calls, or an equal call that was under way.
    #[serde(skip)]
    pub cached: bool,
}

/// What a request took that went well.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Taken {
    /// From sending it to the end of the reply, in milliseconds.
    pub latency_ms: u64,
    /// In US dollars; null where the price is unknown.
    pub cost_usd: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    #[default]
    Stop,
    /// The token limit.
    Length,
}

/// A token of a reply with its likeliest alternatives, itself among them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenLogprob {
    pub token: String,
    pub logprob: f64,
    pub top: Vec<TokenAlternative>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TokenAlternative {
    pub token: String,
    pub logprob: f64,
}
