//! One attempt at a call: what a provider's file makes, and what the layers above it decide by.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use lydite::model::{
    BoxFuture, ChatReply, ChatRequest, ModelError, ModelErrorKind, Moderation, TokenVectors, Usage,
};

/// One request and what came of it.
#[derive(Clone, Debug)]
pub struct Attempt<T> {
    pub outcome: Result<T, AttemptError>,
    /// The HTTP status, where one came.
    pub status: Option<u16>,
    pub took: Duration,
    /// Tokens that the provider says it counted, of failed attempts too, and their cost where the price
    /// is known. `calls` is 1, or more where the server refused a form or parameter and was asked anew.
    pub usage: Usage,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
}

/// Why an attempt gave nothing.
#[derive(Clone, Debug)]
pub struct AttemptError {
    pub kind: ModelErrorKind,
    /// In lower case; says what happened and what to do. Never holds a key.
    pub message: String,
    /// Whether another attempt may go well.
    pub retry: bool,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

impl AttemptError {
    /// A failure that stays.
    pub fn lasting(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retry: false,
            retry_after: None,
        }
    }

    /// A failure that another attempt may not meet.
    pub fn passing(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            retry: true,
            ..Self::lasting(kind, message)
        }
    }
}

/// A provider's chat protocol: one attempt, no retries, no limits.
pub trait ChatWire: Send + Sync + fmt::Debug {
    /// What a reply depends on beside the request; see [`lydite::model::ChatModel::identity`].
    fn identity(&self) -> &str;

    /// `provider/model`.
    fn name(&self) -> &str;

    fn logprobs(&self) -> bool;

    /// What was learnt of the server since the start, for a person: forms and parameters that it
    /// refused, and what is done in their place.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Ends after `timeout` at the latest, with [`ModelErrorKind::Timeout`].
    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>>;
}

/// A provider's embeddings: one attempt.
pub trait EmbedWire: Send + Sync + fmt::Debug {
    fn identity(&self) -> &str;

    fn name(&self) -> &str;

    /// The most texts a request.
    fn batch(&self) -> usize;

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Vec<f32>>>>;

    /// The vectors of each text's tokens: [`lydite::model::Embedder::embed_tokens`]. No layer keeps them.
    fn tokens<'a>(
        &'a self,
        _texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Arc<TokenVectors>>, ModelError>> {
        let message = format!("{} gives no vectors of tokens", self.name());
        let error = ModelError::new(ModelErrorKind::Unsupported, message);
        Box::pin(std::future::ready(Err(error)))
    }
}

/// A provider's moderation: one attempt.
pub trait ModerateWire: Send + Sync + fmt::Debug {
    fn identity(&self) -> &str;

    fn name(&self) -> &str;

    /// The most texts a request.
    fn batch(&self) -> usize;

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Moderation>>>;
}
