//! What models are to the rest of Lydite: traits by role, and what is asked and answered.
//!
//! Nothing here opens a socket. A [`ModelHost`] (the crate `lydite-models`, or a program's own)
//! makes models of [`ModelSpec`]s and drives their futures; evaluators see the traits alone.

mod application;
mod error;
mod request;
pub mod scripted;
mod spec;
mod usage;

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

pub use futures_util::future::BoxFuture;

pub use application::{ApplicationSpec, HttpApplication, HttpCall, HttpMethod, Reach};
pub use error::{ModelError, ModelErrorKind};
pub use request::{
    CallIdentity, ChatMessage, ChatReply, ChatRequest, ChatRole, Finish, Order, ReplyFormat, Taken,
    TokenAlternative, TokenLogprob,
};
pub use spec::{
    LOCAL_EMBEDDER, ModelSpec, Price, Provider, Runtime, SpecProblem, Structured, Temperature,
};
pub use usage::{ModelTotals, Usage};

/// A model that answers messages.
pub trait ChatModel: Send + Sync + fmt::Debug {
    /// What the reply depends on beside the request: provider, model, base URL, parameters, seed. Two
    /// models of equal identity give interchangeable replies. Never holds a key.
    fn identity(&self) -> &str;

    /// `provider/model`, as results and reports name it.
    fn name(&self) -> &str;

    /// Whether it returns log-probabilities of tokens, as far as is known before asking.
    fn logprobs(&self) -> bool;

    fn chat<'a>(&'a self, request: &'a ChatRequest)
    -> BoxFuture<'a, Result<ChatReply, ModelError>>;

    /// Told of a reply that could not be used, also not after a repair: whoever keeps replies for later runs
    /// does not keep this one, since errors are not kept.
    fn refuse(&self, _request: &ChatRequest) {}
}

/// A model that gives texts a place in a vector space.
pub trait Embedder: Send + Sync + fmt::Debug {
    fn identity(&self) -> &str;

    fn name(&self) -> &str;

    /// The most texts that [`Embedder::embed`] takes at once.
    fn batch(&self) -> usize;

    /// One vector a text, in their order, all of one length.
    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Embedded, ModelError>>;

    /// The vectors of each text's tokens in their context. Models behind an API do not give them.
    fn embed_tokens<'a>(
        &'a self,
        _texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Arc<TokenVectors>>, ModelError>> {
        let message = format!("{} gives no vectors of tokens", self.name());
        let error = ModelError::new(ModelErrorKind::Unsupported, message);
        Box::pin(std::future::ready(Err(error)))
    }
}

/// The vectors of one text's tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenVectors {
    /// Where each token stands in the text: characters, not bytes.
    pub spans: Vec<Range<usize>>,
    /// One vector a token, of length 1.
    pub vectors: Vec<Arc<[f32]>>,
}

/// Vectors of texts, in the texts' order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Embedded {
    pub vectors: Vec<Arc<[f32]>>,
    pub usage: Usage,
    pub cached: bool,
}

/// A model that says whether a text is harmful, and how.
pub trait Moderator: Send + Sync + fmt::Debug {
    fn identity(&self) -> &str;

    fn name(&self) -> &str;

    /// The most texts that [`Moderator::moderate`] takes at once.
    fn batch(&self) -> usize;

    /// One answer a text, in their order.
    fn moderate<'a>(&'a self, texts: &'a [&'a str])
    -> BoxFuture<'a, Result<Moderated, ModelError>>;
}

/// Moderation of texts, in the texts' order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moderated {
    pub texts: Vec<Moderation>,
    pub usage: Usage,
    pub cached: bool,
}

/// What a moderator says of one text.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Moderation {
    pub flagged: bool,
    pub categories: Vec<ModerationCategory>,
}

/// One category of harm.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ModerationCategory {
    pub name: String,
    pub flagged: bool,
    /// In [0, 1].
    pub score: f64,
}

/// A model that gives texts, or pairs of texts, one of its labels each.
pub trait Classifier: Send + Sync + fmt::Debug {
    fn identity(&self) -> &str;

    fn name(&self) -> &str;

    /// In the order of the probabilities.
    fn labels(&self) -> &[String];

    /// The most texts that [`Classifier::classify`] takes at once.
    fn batch(&self) -> usize;

    /// For each text its labels' probabilities, in the order of [`Classifier::labels`].
    fn classify<'a>(
        &'a self,
        texts: &'a [(&'a str, Option<&'a str>)],
    ) -> BoxFuture<'a, Result<Vec<Arc<[f32]>>, ModelError>>;
}

/// Makes models of specs: what stands between this library and sockets.
pub trait ModelHost: Send + Sync + fmt::Debug {
    /// Opens caches, the log of calls and the meter of one run.
    fn open(&self, options: &SessionOptions) -> Result<Arc<dyn ModelSession>, ModelError>;
}

/// What a run asks of its models as a whole.
#[derive(Clone, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, most of them flags of the command line"
)]
pub struct SessionOptions {
    /// Calls that are under way at once, a provider; each spec's own where `None`.
    pub concurrency: Option<usize>,
    /// The most that the run may cost, in US dollars.
    pub budget: Option<f64>,
    /// Read nothing from the caches, and write nothing into them.
    pub no_cache: bool,
    /// No call leaves this machine: what no cache or log holds is an error.
    pub offline: bool,
    /// Where models of this machine lie, before all other places.
    pub model_dir: Option<PathBuf>,
    /// Count what would be asked, ask nothing.
    pub dry_run: bool,
    /// Where this run's calls are kept, one JSON line each. Replies that stand there already are taken from there.
    pub calls: Option<PathBuf>,
    /// Only kept calls answer: the run is repeated from them.
    pub replay: bool,
    /// Kept replies that could not be used are asked for again.
    pub retry_refused: bool,
}

/// The models of one run, with their caches, limits and meter.
pub trait ModelSession: Send + Sync + fmt::Debug {
    fn chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatModel>, ModelError>;

    fn embedder(&self, spec: &ModelSpec) -> Result<Arc<dyn Embedder>, ModelError>;

    fn moderator(&self, spec: &ModelSpec) -> Result<Arc<dyn Moderator>, ModelError>;

    /// A classifier on this machine.
    fn classifier(&self, spec: &ModelSpec) -> Result<Arc<dyn Classifier>, ModelError> {
        let message = format!("{}: this program runs no classifiers", spec.name());
        Err(ModelError::new(ModelErrorKind::Unsupported, message))
    }

    /// An application under test. One message goes to it, in the form that [`Reach`] says; its replies come from no
    /// cache, though from the record of this run's calls.
    fn application(&self, spec: &ApplicationSpec) -> Result<Arc<dyn ChatModel>, ModelError> {
        let message = format!("{}: this program reaches no applications", spec.name());
        Err(ModelError::new(ModelErrorKind::Unsupported, message))
    }

    /// The cache of verdicts, where there is one.
    fn verdicts(&self) -> Option<Arc<dyn VerdictCache>>;

    /// The key of the tags that fence data in prompts: random, kept beside the cache.
    fn fence_key(&self) -> [u8; 32];

    /// How many calls can be under way at once: what the runner keeps ready.
    fn parallelism(&self) -> usize;

    /// Drives a future to its end on this thread.
    fn block_on(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>);

    /// What was asked so far, a model.
    fn totals(&self) -> Vec<ModelTotals>;

    /// Writes out what waits to be written.
    fn close(&self) -> Result<(), ModelError>;
}

/// Keeps judged cells by what they hang on. See [`judge::cache`](crate::judge::cache).
pub trait VerdictCache: Send + Sync + fmt::Debug {
    fn get(&self, key: &[u8; 32]) -> Option<Vec<u8>>;

    fn put(&self, key: [u8; 32], value: Vec<u8>);
}
