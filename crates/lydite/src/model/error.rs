//! Why a model gave no usable answer.

use super::Usage;

/// A call that failed after all its attempts.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// In lower case; says which model, what happened and what to do. Never holds a key.
    pub message: String,
    /// What the failed attempts cost.
    pub usage: Usage,
}

/// The kinds of failure, each with a stable snake_case name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// No key, a wrong one, or one that may not do this (401, 403). Ends the run.
    Unauthorized,
    /// The model or the address does not exist (404).
    NotFound,
    /// The prompt is longer than the model takes.
    ContextLength,
    /// The provider refused the request as wrong (other 4xx).
    BadRequest,
    /// Too many requests (429), still after all attempts.
    RateLimited,
    /// The provider failed (5xx), still after all attempts.
    Server,
    /// No answer in time, still after all attempts.
    Timeout,
    /// No connection, or one that was cut.
    Connection,
    /// The certificate or the handshake failed.
    Tls,
    /// The answer is not what the protocol says.
    Protocol,
    /// The model refused to answer, or a filter withheld the answer.
    ContentFilter,
    /// The reply ended at its token limit.
    Truncated,
    /// The model can't do what was asked (log-probabilities, images).
    Unsupported,
    /// The run's budget would be passed. Ends the run.
    Budget,
    /// `--offline` or a replay, and no kept reply.
    Offline,
    /// A local program or file that serves as a model failed.
    Local,
    /// The configuration can't be used.
    Config,
}

impl ModelErrorKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "model_unauthorized",
            Self::NotFound => "model_not_found",
            Self::ContextLength => "context_length",
            Self::BadRequest => "model_bad_request",
            Self::RateLimited => "rate_limited",
            Self::Server => "model_server_error",
            Self::Timeout => "model_timeout",
            Self::Connection => "model_connection",
            Self::Tls => "model_tls",
            Self::Protocol => "model_protocol",
            Self::ContentFilter => "content_filter",
            Self::Truncated => "reply_truncated",
            Self::Unsupported => "model_unsupported",
            Self::Budget => "budget",
            Self::Offline => "offline",
            Self::Local => "model_local",
            Self::Config => "model_config",
        }
    }

    /// Whether the same call may go well later.
    pub const fn retryable(self) -> bool {
        matches!(
            self,
            Self::RateLimited
                | Self::Server
                | Self::Timeout
                | Self::Connection
                | Self::Protocol
                | Self::Truncated
                | Self::Budget
                | Self::Offline
        )
    }

    /// Whether no later call of the run can go well either.
    pub const fn ends_run(self) -> bool {
        matches!(self, Self::Unauthorized | Self::Budget)
    }
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            usage: Usage::default(),
        }
    }

    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }
}
