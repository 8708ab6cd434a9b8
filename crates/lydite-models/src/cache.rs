//! Replies and verdicts that are kept from run to run, in one SQLite file that processes share.
//!
//! Reads are point reads on the caller's thread. Writes go to a thread that gathers them into
//! transactions; until they stand in the file, reads find them in memory. With its write-ahead log the
//! file survives a crash at any point; the latest writes may be missing then.
//!
//! The cache is never in the way: what goes wrong after it was opened is told once, and the run goes
//! on without it.

mod store;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lydite::model::VerdictCache;

use crate::key::Key;
use crate::sync::lock;
use crate::warn::Warn;
use store::Store;

const FILE: &str = "cache.sqlite";

/// Where `LYDITE_CACHE_SIZE` says nothing else.
const SIZE: u64 = 2_000_000_000;

/// Writes are gathered for so long, up to so many, before they go into the file.
const GATHER: Duration = Duration::from_millis(30);
const BATCH: usize = 512;

/// So many writes wait at the most; more are left out.
const QUEUE: usize = 8192;

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
    reader: Mutex<Store>,
    pending: Arc<Pending>,
    writer: Option<Writer>,
    warn: Warn,
    off: AtomicBool,
}

type Pending = Mutex<HashMap<Key, Arc<Entry>>>;

#[derive(Debug)]
struct Entry {
    key: Key,
    kind: Kind,
    value: Vec<u8>,
}

struct Writer {
    queue: SyncSender<Order>,
    thread: JoinHandle<()>,
}

enum Order {
    Put(Arc<Entry>),
    /// Writes what came before, and says when that is done.
    Flush(mpsc::Sender<Result<(), rusqlite::Error>>),
}

impl Cache {
    /// Opens the cache of a folder, both made where they are missing.
    pub fn open(dir: &Path, warn: Warn) -> Result<Self, CacheError> {
        let path = dir.join(FILE);
        let store = Store::make(dir, &path)?;
        let reader = Store::open(&path)?;
        let pending = Arc::<Pending>::default();
        let (queue, orders) = mpsc::sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("lydite-cache".to_owned())
            .spawn({
                let (pending, warn) = (Arc::clone(&pending), warn.clone());
                move || write_all(&store, &orders, &pending, &warn)
            })
            .map_err(CacheError::Thread)?;
        Ok(Self {
            path,
            reader: Mutex::new(reader),
            pending,
            writer: Some(Writer { queue, thread }),
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
        self.named(lock(&self.reader).clear(older_than))
    }

    pub fn stats(&self) -> Result<CacheStats, CacheError> {
        self.flush()?;
        self.named(lock(&self.reader).stats())
    }

    /// Writes out what waits.
    pub fn flush(&self) -> Result<(), CacheError> {
        let Some(writer) = &self.writer else {
            return Ok(());
        };
        let (done, is_done) = mpsc::channel();
        if writer.queue.send(Order::Flush(done)).is_err() {
            return Ok(());
        }
        self.named(is_done.recv().unwrap_or(Ok(())))
    }

    /// Deletes the oldest entries where the file is larger than `LYDITE_CACHE_SIZE` (bytes; 2 GB).
    pub(crate) fn evict(&self) -> Result<(), CacheError> {
        let size = std::env::var("LYDITE_CACHE_SIZE");
        let size = size.ok().and_then(|size| size.trim().parse().ok());
        self.evict_to(size.unwrap_or(SIZE))
    }

    pub(crate) fn get(&self, kind: Kind, key: &Key) -> Option<Vec<u8>> {
        if let Some(entry) = lock(&self.pending).get(key) {
            return (entry.kind == kind).then(|| entry.value.clone());
        }
        if self.off.load(Ordering::Relaxed) {
            return None;
        }
        let found = lock(&self.reader).get(kind, key);
        found.unwrap_or_else(|error| {
            self.turn_off(&error);
            None
        })
    }

    pub(crate) fn put(&self, kind: Kind, key: Key, value: Vec<u8>) {
        let Some(writer) = &self.writer else { return };
        let entry = Arc::new(Entry { key, kind, value });
        lock(&self.pending).insert(key, Arc::clone(&entry));
        // A full queue means that another process keeps the file to itself: the run must not wait for it.
        if writer.queue.try_send(Order::Put(entry)).is_err() {
            lock(&self.pending).remove(&key);
        }
    }

    fn evict_to(&self, size: u64) -> Result<(), CacheError> {
        self.flush()?;
        self.named(lock(&self.reader).evict(size))
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
        if let Some(Writer { queue, thread }) = self.writer.take() {
            drop(queue);
            // A panic of the thread has been told on its own.
            let _ = thread.join();
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

/// The writer's thread: until all senders are gone.
fn write_all(store: &Store, orders: &Receiver<Order>, pending: &Pending, warn: &Warn) {
    let mut told = false;
    while let Ok(first) = orders.recv() {
        let (batch, flush) = gather(first, orders);
        let written = store.put(&batch);
        forget(&batch, pending);
        if let Err(error) = &written
            && !std::mem::replace(&mut told, true)
        {
            warn.say(&format!(
                "the cache can't be written ({error}); some replies are not kept for later runs"
            ));
        }
        if let Some(flush) = flush {
            // Who asked may be gone.
            let _ = flush.send(written);
        }
    }
}

type Batch = Vec<Arc<Entry>>;

/// What comes within a short while, or up to a flush.
fn gather(
    first: Order,
    orders: &Receiver<Order>,
) -> (Batch, Option<mpsc::Sender<Result<(), rusqlite::Error>>>) {
    let ends = Instant::now() + GATHER;
    let mut batch = Vec::new();
    let mut next = first;
    loop {
        match next {
            Order::Put(entry) => batch.push(entry),
            Order::Flush(done) => return (batch, Some(done)),
        }
        if batch.len() >= BATCH {
            return (batch, None);
        }
        next = match orders.recv_timeout(ends.saturating_duration_since(Instant::now())) {
            Ok(order) => order,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                return (batch, None);
            }
        };
    }
}

/// Takes from memory what stands in the file now, unless it has been put again.
fn forget(batch: &Batch, pending: &Pending) {
    let mut pending = lock(pending);
    for entry in batch {
        if pending
            .get(&entry.key)
            .is_some_and(|newest| Arc::ptr_eq(newest, entry))
        {
            pending.remove(&entry.key);
        }
    }
}

#[cfg(test)]
mod tests;
