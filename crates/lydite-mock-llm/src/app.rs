//! What all connections share.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::HeaderName;
use serde::Serialize;

use crate::config::Prepared;
use crate::stats::Counters;

/// A request as it came. Headers are kept by their names only, and the query not at all: both can hold keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Seen {
    /// Without the query.
    pub path: String,
    /// In lower case, in the order in which they came.
    pub header_names: Vec<String>,
    /// What is not UTF-8 in it is replaced.
    pub body: String,
}

/// The state of a server.
#[derive(Debug)]
pub(crate) struct App {
    prepared: RwLock<Arc<Prepared>>,
    pub(crate) counters: Counters,
    kept: Mutex<VecDeque<Kept>>,
    served: AtomicU64,
}

#[derive(Debug)]
struct Kept {
    path: String,
    header_names: Vec<HeaderName>,
    body: Bytes,
}

impl App {
    pub(crate) fn new(prepared: Prepared) -> Self {
        Self {
            prepared: RwLock::new(Arc::new(prepared)),
            counters: Counters::default(),
            kept: Mutex::default(),
            served: AtomicU64::new(0),
        }
    }

    pub(crate) fn prepared(&self) -> Arc<Prepared> {
        let prepared = self.prepared.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&prepared)
    }

    /// Takes another configuration; counts begin anew, and kept requests are forgotten.
    pub(crate) fn configure(&self, prepared: Prepared) {
        *self
            .prepared
            .write()
            .unwrap_or_else(PoisonError::into_inner) = Arc::new(prepared);
        self.counters.reset();
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
        self.served.store(0, Ordering::Relaxed);
    }

    /// Keeps a request, and forgets the oldest beyond `most`.
    pub(crate) fn keep(&self, path: &str, headers: &HeaderMap, body: &Bytes, most: usize) {
        if most == 0 {
            return;
        }
        let one = Kept {
            path: path.to_owned(),
            header_names: headers.keys().cloned().collect(),
            body: body.clone(),
        };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        while kept.len() >= most {
            kept.pop_front();
        }
        kept.push_back(one);
    }

    /// The kept requests, the oldest first.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().map(Kept::seen).collect()
    }

    /// The number of the next reply, from 1.
    pub(crate) fn next_number(&self) -> u64 {
        self.served.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Kept {
    fn seen(&self) -> Seen {
        Seen {
            path: self.path.clone(),
            header_names: self.header_names.iter().map(ToString::to_string).collect(),
            body: String::from_utf8_lossy(&self.body).into_owned(),
        }
    }
}
