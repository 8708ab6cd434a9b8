//! What the layers of all models of a run share, and the order in which a call passes them.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use lydite::model::{ModelError, ModelErrorKind};

use crate::layers::cache::{Cache, Kind};
use crate::layers::key::{self, Key, SchemaHashes};
use crate::layers::log::{Answer, Asked, CallLog, Line};
use crate::layers::meter::{Meter, ModelMeter};
use crate::layers::retry::{AttemptRecord, Route};
use crate::sync::lock;

/// What may answer a call that no log holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Live,
    /// Caches, and models on this machine.
    Offline,
    /// Caches; a stand-in else.
    Dry,
    /// Nothing.
    Replay,
}

/// What the models of a run share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mode: Mode,
    pub(crate) log: Option<CallLog>,
    pub(crate) cache: Option<Arc<Cache>>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) schemas: SchemaHashes,
    /// What a dry run has stood in for: in earnest, these would be kept by now.
    pub(crate) stood_in: Mutex<HashSet<Key>>,
}

/// The layers of one model.
#[derive(Debug)]
pub(crate) struct Stack {
    pub(crate) shared: Arc<Shared>,
    pub(crate) meter: Arc<ModelMeter>,
    pub(crate) route: Route,
    pub(crate) local: bool,
    /// Whether the cache of replies is of use: an application may change from run to run.
    pub(crate) caches: bool,
    /// The longest reply, in tokens, as far as it is known.
    pub(crate) reply_tokens: u64,
}

/// Where a kept answer was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Log,
    Cache,
}

impl Stack {
    /// A kept answer, from the log or else the cache. Each of the readers turns down what it can't read.
    pub(crate) fn find<T>(
        &self,
        kind: Kind,
        key: &Key,
        from_log: impl FnOnce(crate::layers::log::Kept) -> Option<T>,
        from_cache: impl FnOnce(&[u8]) -> Option<T>,
    ) -> Option<(T, Found)> {
        let log = self.shared.log.as_ref();
        if let Some(answer) = log.and_then(|log| log.get(key, false)).and_then(from_log) {
            return Some((answer, Found::Log));
        }
        let cache = self.shared.cache.as_ref().filter(|_| self.caches);
        let value = cache?.get(kind, key)?;
        from_cache(&value).map(|answer| (answer, Found::Cache))
    }

    /// Whether a call that nothing holds may be sent.
    ///
    /// # Errors
    /// In a replay the error that the call met the first time, or that it is missing; offline that it would
    /// leave this machine. `what` names the call.
    pub(crate) fn may_send(&self, key: &Key, what: &str) -> Result<(), ModelError> {
        let missing = |why: &str| {
            let name = &self.route.name;
            let key = key::hex(key);
            let short = key.get(..12).unwrap_or(&key);
            let message = format!("{name}: {why} for {what} (key {short}…)");
            Err(ModelError::new(ModelErrorKind::Offline, message))
        };
        match self.shared.mode {
            Mode::Live | Mode::Dry => Ok(()),
            Mode::Offline if self.local => Ok(()),
            Mode::Offline => {
                missing("no kept reply, and `--offline` lets no call leave this machine;")
            }
            Mode::Replay => {
                let log = self.shared.log.as_ref();
                match log.and_then(|log| log.get(key, true)?.error) {
                    Some(error) => Err(error.into_error()),
                    None => missing("the run's record of calls holds no reply"),
                }
            }
        }
    }

    /// Whether a dry run stands in for this key for the first time.
    pub(crate) fn stand_in(&self, key: &Key) -> bool {
        lock(&self.shared.stood_in).insert(*key)
    }

    /// Whether anything hangs on how many tokens a call may take.
    pub(crate) fn wants_estimate(&self) -> bool {
        self.shared.meter.has_budget() || self.route.pace.counts_tokens()
    }

    /// Writes a call into the log.
    pub(crate) fn note(&self, key: &Key, note: Note<'_>) {
        let Some(log) = &self.shared.log else { return };
        let line = Line {
            key: key::hex(key),
            kind: note.kind,
            model: &self.route.name,
            asked: note.asked,
            answer: note.answer,
            attempts: note.attempts,
            cached: note.cached,
            took_ms: note.took_ms,
        };
        log.write(key, &line);
    }

    /// Has later runs ask again for a reply that could not be used.
    pub(crate) fn refuse(&self, kind: Kind, key: Key) {
        if !matches!(self.shared.mode, Mode::Live | Mode::Offline) {
            return;
        }
        if let Some(log) = &self.shared.log {
            log.refuse(&key);
        }
        // An empty value is no reply, so whoever finds it asks, and puts the answer in its place.
        self.keep(kind, key, || Some(Vec::new()));
    }

    pub(crate) fn keep(&self, kind: Kind, key: Key, value: impl FnOnce() -> Option<Vec<u8>>) {
        if let Some(cache) = self.shared.cache.as_ref().filter(|_| self.caches)
            && let Some(value) = value()
        {
            cache.put(kind, key, value);
        }
    }
}

/// What the log tells of a call beside its key and model.
#[derive(Debug)]
pub(crate) struct Note<'a> {
    pub(crate) kind: &'static str,
    pub(crate) asked: Asked<'a>,
    pub(crate) answer: Answer<'a>,
    pub(crate) attempts: &'a [AttemptRecord],
    pub(crate) cached: bool,
    pub(crate) took_ms: u64,
}
