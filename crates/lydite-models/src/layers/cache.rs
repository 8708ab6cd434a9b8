//! Replies and verdicts that are kept from run to run, in one SQLite file that processes share.
//!
//! Reads are point reads on the caller's thread. Writes go to a thread that gathers them into
//! transactions; until they stand in the file, reads find them in memory. With its write-ahead log the
//! file survives a crash at any point; the latest writes may be missing then.
//!
//! The cache is never in the way: what goes wrong after it was opened is told once, and the run goes
//! on without it.

mod queue;
mod reader;
mod store;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use lydite::model::VerdictCache;

use crate::layers::key::Key;
use crate::sync::lock;
use crate::warn::Warn;
use queue::{Entry, Queue};
use reader::Reader;
use store::Store;

const FILE: &str = "cache.sqlite";

/// Where `LYDITE_CACHE_SIZE` says nothing else.
const SIZE: u64 = 2_000_000_000;

/// What is kept under a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Chat = 0,
    Embedding = 1,
    Moderation = 2,
    Verdict = 3,
}

/// Why a cache can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    #[error("the cache's folder {} can't be made: {source}; set LYDITE_CACHE_DIR to another", dir.display())]
    Folder {
        dir: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "the cache {} is of a newer version of Lydite (format {found}, this one knows {known}); update Lydite, or set \
         LYDITE_CACHE_DIR to another folder", path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("{} is no cache or is damaged ({source}); delete it, it is made anew", path.display())]
    Damaged {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the cache {} can't be used: {source}", path.display())]
    Database {
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error("the cache's thread can't be started: {0}")]
    Thread(std::io::Error),
}

/// What stands in a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct CacheStats {
    pub chats: u64,
    pub embeddings: u64,
    pub moderations: u64,
    pub verdicts: u64,
    /// Of the file, without what its log holds still.
    pub bytes: u64,
}

/// An open cache. When it is dropped, what waits is written.
pub struct Cache {
    path: PathBuf,
    reader: Arc<Mutex<Reader>>,
    queue: Arc<Queue>,
    writer: Option<JoinHandle<()>>,
    warn: Warn,
    off: AtomicBool,
}

impl Cache {
    /// Opens the cache of a folder, both made where they are missing.
    pub fn open(dir: &Path, warn: Warn) -> Result<Self, CacheError> {
        let path = dir.join(FILE);
        let store = Store::make(dir, &path)?;
        let reader = Arc::new(Mutex::new(Reader::new(Store::open(&path)?)));
        let queue = Arc::<Queue>::default();
        let writer = std::thread::Builder::new()
            .name("lydite-cache".to_owned())
            .spawn({
                let (queue, reader, warn) = (Arc::clone(&queue), Arc::clone(&reader), warn.clone());
                move || queue.write_all(&store, &reader, &warn)
            })
            .map_err(CacheError::Thread)?;
        Ok(Self {
            path,
            reader,
            queue,
            writer: Some(writer),
            warn,
            off: AtomicBool::new(false),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes what is older, or all; gives back how many entries that were.
    pub fn clear(&self, older_than: Option<Duration>) -> Result<u64, CacheError> {
        self.flush()?;
        self.named(lock(&self.reader).apart(|store| store.clear(older_than)))
    }

    pub fn stats(&self) -> Result<CacheStats, CacheError> {
        self.flush()?;
        self.named(lock(&self.reader).apart(Store::stats))
    }

    /// Writes out what waits.
    pub fn flush(&self) -> Result<(), CacheError> {
        self.named(self.queue.flush())
    }

    /// Deletes the oldest entries where the file is larger than `LYDITE_CACHE_SIZE` (bytes; 2 GB).
    pub(crate) fn evict(&self) -> Result<(), CacheError> {
        let size = std::env::var("LYDITE_CACHE_SIZE");
        let size = size.ok().and_then(|size| size.trim().parse().ok());
        self.evict_to(size.unwrap_or(SIZE))
    }

    pub(crate) fn get(&self, kind: Kind, key: &Key) -> Option<Vec<u8>> {
        if let Some(entry) = self.queue.find(key) {
            return (entry.kind == kind).then(|| entry.value.clone());
        }
        if self.off.load(Ordering::Relaxed) {
            return None;
        }
        let found = lock(&self.reader).get(kind, key, self.queue.written());
        found.unwrap_or_else(|error| {
            self.turn_off(&error);
            None
        })
    }

    pub(crate) fn put(&self, kind: Kind, key: Key, value: Vec<u8>) {
        self.queue.put(Entry { key, kind, value });
    }

    fn evict_to(&self, size: u64) -> Result<(), CacheError> {
        self.flush()?;
        self.named(lock(&self.reader).apart(|store| store.evict(size)))
    }

    fn turn_off(&self, error: &rusqlite::Error) {
        if !self.off.swap(true, Ordering::Relaxed) {
            self.warn.say(&format!(
                "the cache {} can't be read ({error}); the run goes on without it; `lydite cache clear` makes it anew",
                self.path.display()
            ));
        }
    }

    fn named<T>(&self, result: Result<T, rusqlite::Error>) -> Result<T, CacheError> {
        result.map_err(|source| store::problem(&self.path, source))
    }
}

impl VerdictCache for Cache {
    fn get(&self, key: &[u8; 32]) -> Option<Vec<u8>> {
        self.get(Kind::Verdict, key)
    }

    fn put(&self, key: [u8; 32], value: Vec<u8>) {
        self.put(Kind::Verdict, key, value);
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.take() {
            // A panic of the thread has been told on its own.
            let _ = writer.join();
        }
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
