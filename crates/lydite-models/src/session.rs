//! The host of models, and the session of one run: makes layered models of specs and drives them.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use lydite::model::{
    ApplicationSpec, ChatModel, Classifier, Embedder, ModelError, ModelErrorKind, ModelHost,
    ModelSession, ModelSpec, ModelTotals, Moderator, Price, Provider, Reach, SessionOptions,
    VerdictCache,
};
use tokio::runtime::{Builder, Runtime};

use crate::attempt::EmbedWire;
use crate::layers::cache::Cache;
use crate::layers::chat::{ChatFlights, LayeredChat};
use crate::layers::key::{Key, SchemaHashes};
use crate::layers::limit::{CONCURRENCY, Limiter, Pace, seconds};
use crate::layers::log::{Access, CallLog};
use crate::layers::meter::{self, Meter};
use crate::layers::retry::{Policy, Route};
use crate::layers::stack::{Mode, Shared, Stack};
use crate::layers::texts::{
    Embedding, LayeredEmbedder, LayeredModerator, Moderating, TextFlights, Vector,
};
use crate::layers::verdicts::Verdicts;
use crate::local::classify::model::{LocalClassifier, LocalModerator};
use crate::local::embedder::LocalEmbedder;
use crate::local::supply::Supply;
use crate::place;
use crate::providers::{Providers, Wires};
use crate::sync::lock;
use crate::warn::Warn;
use crate::wires::provider;

/// Seconds an attempt, time-outs a call, and attempts a call, where a spec leaves them out.
const TIMEOUT: f64 = 60.0;
const TIMEOUTS: f64 = 10.0;
const ATTEMPTS: u32 = 8;

/// Calls that are kept ready a slot: those that wait for a `Retry-After` hold none.
const READY: usize = 2;

/// Makes sessions over this crate's providers.
#[derive(Clone, Debug)]
pub struct Host {
    wires: Arc<dyn Wires>,
    cache_dir: Option<PathBuf>,
    supply: Supply,
    warn: Warn,
}

impl Host {
    /// The providers of this crate, with the cache in its usual place ([`place::cache_dir`]).
    pub fn new() -> Self {
        Self::with_wires(Arc::new(Providers))
    }

    pub fn with_wires(wires: Arc<dyn Wires>) -> Self {
        Self {
            wires,
            cache_dir: place::cache_dir(),
            supply: Supply::from_environment(),
            warn: Warn::default(),
        }
    }

    /// Keeps the cache in this folder, and local models below it; without one, nowhere.
    pub fn cache_dir(mut self, dir: Option<PathBuf>) -> Self {
        self.supply = self.supply.cache_dir(dir.as_deref());
        self.cache_dir = dir;
        self
    }

    /// Where files of local models come from, in place of what the environment says.
    pub fn supply(mut self, supply: Supply) -> Self {
        self.supply = supply;
        self
    }

    /// Where warnings go.
    pub fn warn(mut self, warn: Warn) -> Self {
        self.warn = warn;
        self
    }

    fn open_cache(&self, options: &SessionOptions) -> Option<Arc<Cache>> {
        if options.no_cache || options.replay {
            return None;
        }
        let opened = Cache::open(self.cache_dir.as_deref()?, self.warn.clone());
        let told = opened.inspect_err(|error| {
            self.warn
                .say(&format!("{error}; the run goes on without it"));
        });
        told.ok().map(Arc::new)
    }

    fn supply_for(&self, options: &SessionOptions) -> Supply {
        let supply = self.supply.clone().model_dir(options.model_dir.clone());
        supply.offline(options.offline)
    }

    fn fence_key(&self) -> Result<[u8; 32], ModelError> {
        if let Some(dir) = &self.cache_dir {
            match place::fence_key(dir) {
                Ok(key) => return Ok(key),
                Err(error) => self.warn.say(&format!(
                    "the key of fences can't be kept in {} ({error}); this run takes one of its own",
                    dir.display()
                )),
            }
        }
        place::random_key()
            .map_err(|error| local(&format!("the system gives no random numbers: {error}")))
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelHost for Host {
    fn open(&self, options: &SessionOptions) -> Result<Arc<dyn ModelSession>, ModelError> {
        let mode = mode(options);
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime =
            runtime.map_err(|error| local(&format!("the network can't be used: {error}")))?;
        let shared = Shared {
            mode,
            log: open_log(options, mode)?,
            cache: self.open_cache(options),
            meter: Meter::new(options.budget),
            schemas: SchemaHashes::default(),
            stood_in: Mutex::default(),
        };
        Ok(Arc::new(Session {
            wires: Arc::clone(&self.wires),
            supply: self.supply_for(options),
            fence_key: self.fence_key()?,
            concurrency: options.concurrency,
            shared: Arc::new(shared),
            runtime: Some(runtime),
            chat_flights: Arc::default(),
            embed_flights: Arc::default(),
            moderate_flights: Arc::default(),
            limiters: Mutex::default(),
            paces: Mutex::default(),
            chats: Mutex::default(),
            embedders: Mutex::default(),
            moderators: Mutex::default(),
            classifiers: Mutex::default(),
            warn: self.warn.clone(),
        }))
    }
}

/// The models of one run.
#[derive(Debug)]
struct Session {
    wires: Arc<dyn Wires>,
    supply: Supply,
    fence_key: [u8; 32],
    concurrency: Option<usize>,
    shared: Arc<Shared>,
    /// Taken when the session is dropped.
    runtime: Option<Runtime>,
    chat_flights: Arc<ChatFlights>,
    embed_flights: TextFlights<Vector>,
    moderate_flights: TextFlights<lydite::model::Moderation>,
    limiters: Memo<(Provider, Option<String>), Limiter>,
    paces: Memo<String, Pace>,
    // By the whole spec: models of one identity may still differ in time-outs and prices.
    chats: Memo<Key, LayeredChat>,
    embedders: Memo<Key, LayeredEmbedder>,
    moderators: Memo<Key, LayeredModerator>,
    classifiers: Memo<Key, LocalClassifier>,
    warn: Warn,
}

type Memo<K, V> = Mutex<HashMap<K, Arc<V>>>;

impl ModelSession for Session {
    fn chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatModel>, ModelError> {
        let make = || {
            let wire = if self.sends() {
                self.wires.chat(spec)?
            } else {
                self.wires.unsent_chat(spec)?
            };
            let stack = self.stack(spec)?;
            Ok(LayeredChat::new(
                wire,
                stack,
                Arc::clone(&self.chat_flights),
            ))
        };
        Ok(remember(&self.chats, hash(spec), make)?)
    }

    fn embedder(&self, spec: &ModelSpec) -> Result<Arc<dyn Embedder>, ModelError> {
        let make = || {
            let wire = Embedding(self.embed_wire(spec)?);
            let size = spec.dimensions.unwrap_or(8) as usize;
            let flights = Arc::clone(&self.embed_flights);
            Ok(LayeredEmbedder::new(wire, self.stack(spec)?, flights, size))
        };
        Ok(remember(&self.embedders, hash(spec), make)?)
    }

    fn moderator(&self, spec: &ModelSpec) -> Result<Arc<dyn Moderator>, ModelError> {
        if spec.is_local() {
            return Ok(Arc::new(LocalModerator::new(
                self.local_classifier(spec)?,
                spec,
            )?));
        }
        let make = || {
            let wire = if self.sends() {
                self.wires.moderate(spec)?
            } else {
                self.wires.unsent_moderate(spec)?
            };
            let wire = Moderating(wire);
            let flights = Arc::clone(&self.moderate_flights);
            Ok(LayeredModerator::new(wire, self.stack(spec)?, flights, 1))
        };
        Ok(remember(&self.moderators, hash(spec), make)?)
    }

    fn classifier(&self, spec: &ModelSpec) -> Result<Arc<dyn Classifier>, ModelError> {
        Ok(self.local_classifier(spec)?)
    }

    fn application(&self, spec: &ApplicationSpec) -> Result<Arc<dyn ChatModel>, ModelError> {
        let make = || {
            let wire = self.wires.application(spec)?;
            let stack = self.application_stack(spec)?;
            let flights = Arc::clone(&self.chat_flights);
            Ok(LayeredChat::application(wire, stack, flights))
        };
        Ok(remember(
            &self.chats,
            blake3::hash(format!("{spec:?}").as_bytes()).into(),
            make,
        )?)
    }

    fn verdicts(&self) -> Option<Arc<dyn VerdictCache>> {
        let Shared { cache, log, .. } = &*self.shared;
        let kept = cache.is_some() || log.as_ref().is_some_and(CallLog::has_verdicts);
        kept.then(|| Arc::new(Verdicts(Arc::clone(&self.shared))) as Arc<dyn VerdictCache>)
    }

    fn fence_key(&self) -> [u8; 32] {
        self.fence_key
    }

    fn parallelism(&self) -> usize {
        let limiters = lock(&self.limiters);
        let asked: usize = limiters.values().map(|limiter| limiter.asked()).sum();
        let asked = asked.max(self.concurrency.unwrap_or(CONCURRENCY));
        asked.saturating_mul(READY).max(1)
    }

    /// Not to be called from inside of another runtime of tokio: that panics.
    fn block_on(&self, future: Pin<&mut (dyn Future<Output = ()> + '_)>) {
        if let Some(runtime) = &self.runtime {
            runtime.block_on(future);
        }
    }

    fn totals(&self) -> Vec<ModelTotals> {
        self.shared.meter.totals()
    }

    fn close(&self) -> Result<(), ModelError> {
        if let Some(cache) = &self.shared.cache
            && let Err(error) = cache.evict()
        {
            self.warn.say(&error.to_string());
        }
        for chat in lock(&self.chats).values() {
            for note in chat.notes() {
                self.warn.say(&format!("{}: {note}", chat.name()));
            }
        }
        self.shared.log.as_ref().map_or(Ok(()), CallLog::check)
    }
}

impl Session {
    /// Whether calls can leave this machine.
    fn sends(&self) -> bool {
        self.shared.mode == Mode::Live
    }

    fn embed_wire(&self, spec: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError> {
        if spec.is_local() {
            let computes = matches!(self.shared.mode, Mode::Live | Mode::Offline);
            let make = if computes {
                LocalEmbedder::new
            } else {
                LocalEmbedder::unsent
            };
            return Ok(Arc::new(make(spec, &self.supply)?));
        }
        if self.sends() {
            self.wires.embed(spec)
        } else {
            self.wires.unsent_embed(spec)
        }
    }

    fn local_classifier(&self, spec: &ModelSpec) -> Result<Arc<LocalClassifier>, ModelError> {
        remember(&self.classifiers, hash(spec), || {
            LocalClassifier::load(spec)
        })
    }

    fn stack(&self, spec: &ModelSpec) -> Result<Stack, ModelError> {
        let name = spec.name();
        let meter = self.shared.meter.model(&name, self.wires.price(spec))?;
        Ok(Stack {
            shared: Arc::clone(&self.shared),
            meter,
            route: self.route(spec, &name)?,
            local: self.wires.is_local(spec),
            caches: true,
            reply_tokens: spec
                .max_output_tokens
                .map_or(meter::REPLY_TOKENS, u64::from),
        })
    }

    /// The layers of an application: as those of a model that has the same limits, without the cache.
    fn application_stack(&self, spec: &ApplicationSpec) -> Result<Stack, ModelError> {
        let name = spec.name();
        let (concurrency, local) = match &spec.reach {
            Reach::Http(http) => (spec.concurrency, provider::is_local_address(&http.url)),
            Reach::Command(_) => (spec.concurrency.or(Some(1)), true),
        };
        let limits = ModelSpec {
            // Tells its limiter from all others.
            base_url: Some(name.clone()),
            timeout: spec.timeout,
            deadline: spec.deadline,
            attempts: spec.attempts,
            concurrency,
            requests_per_minute: spec.requests_per_minute,
            ..ModelSpec::new(Provider::Command, name.clone())
        };
        let free = Price {
            input: 0.0,
            output: 0.0,
        };
        Ok(Stack {
            shared: Arc::clone(&self.shared),
            meter: self.shared.meter.model(&name, Some((free, None)))?,
            route: self.route(&limits, &name)?,
            local,
            caches: false,
            reply_tokens: 0,
        })
    }

    fn route(&self, spec: &ModelSpec, name: &str) -> Result<Route, ModelError> {
        let timeout = positive(name, "timeout", spec.timeout)?.unwrap_or(TIMEOUT);
        let deadline = positive(name, "deadline", spec.deadline)?.unwrap_or(timeout * TIMEOUTS);
        let requests = positive(name, "requests_per_minute", spec.requests_per_minute)?;
        let tokens = positive(name, "tokens_per_minute", spec.tokens_per_minute)?;
        let address = spec.base_url.as_deref().unwrap_or_default();
        let pace = remember(&self.paces, format!("{name} {address}"), || {
            Ok(Pace::new(requests, tokens))
        })?;
        Ok(Route {
            name: name.into(),
            limiter: self.limiter(spec)?,
            pace,
            refused: Arc::default(),
            policy: Policy {
                timeout: seconds(timeout),
                deadline: seconds(deadline),
                attempts: spec.attempts.unwrap_or(ATTEMPTS).max(1),
            },
        })
    }

    /// One a provider and address.
    fn limiter(&self, spec: &ModelSpec) -> Result<Arc<Limiter>, ModelError> {
        let asked = self.concurrency.or(spec.concurrency).unwrap_or(CONCURRENCY);
        let place = (spec.provider, spec.base_url.clone());
        let limiter = remember(&self.limiters, place, || Ok(Limiter::new(asked)))?;
        limiter.raise(asked);
        Ok(limiter)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A runtime that is dropped inside of another one panics; this way it does not wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn mode(options: &SessionOptions) -> Mode {
    if options.replay {
        Mode::Replay
    } else if options.dry_run {
        Mode::Dry
    } else if options.offline {
        Mode::Offline
    } else {
        Mode::Live
    }
}

fn open_log(options: &SessionOptions, mode: Mode) -> Result<Option<CallLog>, ModelError> {
    match (&options.calls, mode) {
        (Some(path), Mode::Live | Mode::Offline) => {
            let anew = options.retry_refused;
            let access = if anew {
                Access::AppendAnew
            } else {
                Access::Append
            };
            CallLog::open(path, access).map(Some)
        }
        (Some(path), Mode::Dry) => CallLog::open_if_there(path),
        (Some(path), Mode::Replay) => CallLog::open(path, Access::ReadOnly).map(Some),
        (None, _) => Ok(None),
    }
}

fn remember<K: Hash + Eq, V>(
    memo: &Memo<K, V>,
    key: K,
    make: impl FnOnce() -> Result<V, ModelError>,
) -> Result<Arc<V>, ModelError> {
    let mut memo = lock(memo);
    if let Some(made) = memo.get(&key) {
        return Ok(Arc::clone(made));
    }
    let made = Arc::new(make()?);
    memo.insert(key, Arc::clone(&made));
    Ok(made)
}

/// Tells specs apart, whole as they are. A hash, since headers may be written into them that nobody is to see.
fn hash(spec: &ModelSpec) -> Key {
    let spec = serde_json::to_vec(spec).unwrap_or_else(|_| format!("{spec:?}").into_bytes());
    blake3::hash(&spec).into()
}

/// A number of a spec that must be above 0.
fn positive(name: &str, field: &str, value: Option<f64>) -> Result<Option<f64>, ModelError> {
    match value {
        Some(number) if !(number.is_finite() && number > 0.0) => Err(ModelError::new(
            ModelErrorKind::Config,
            format!("`{field}` of {name} must be a number above 0, and is {number}"),
        )),
        value => Ok(value),
    }
}

fn local(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Local, message)
}

#[cfg(test)]
mod tests;
