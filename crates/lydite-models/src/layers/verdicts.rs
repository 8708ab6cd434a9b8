//! Verdicts that are kept: in the cache from run to run, and in a run's own log as far as it took them from
//! there. Without the latter a run whose verdicts were cached could be neither resumed nor repeated offline.

use std::sync::Arc;

use lydite::model::VerdictCache;

use crate::layers::cache::Kind;
use crate::layers::key::{self, Key};
use crate::layers::log::{Answer, Asked, CallLog, Line};
use crate::layers::stack::{Mode, Shared};

/// The verdicts of one run.
#[derive(Debug)]
pub(crate) struct Verdicts(pub(crate) Arc<Shared>);

impl VerdictCache for Verdicts {
    fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let log = self.0.log.as_ref();
        if let Some(kept) = log.and_then(|log| log.get(key, false)?.verdict) {
            return Some(kept.into_bytes());
        }
        let found = self.0.cache.as_ref()?.get(Kind::Verdict, key)?;
        if let Some(log) = log {
            note(log, key, &found);
        }
        Some(found)
    }

    fn put(&self, key: Key, value: Vec<u8>) {
        // What a dry run makes up must not be kept.
        if self.0.mode != Mode::Dry
            && let Some(cache) = &self.0.cache
        {
            cache.put(Kind::Verdict, key, value);
        }
    }
}

fn note(log: &CallLog, key: &Key, verdict: &[u8]) {
    let Ok(verdict) = std::str::from_utf8(verdict) else {
        return;
    };
    let line = Line {
        key: key::hex(key),
        kind: "verdict",
        model: "",
        asked: Asked::Nothing {},
        answer: Answer::Verdict(verdict),
        attempts: &[],
        cached: true,
        took_ms: 0,
    };
    log.write(key, &line);
}
