//! Writes on their way to the file: gathered in memory, where reads find them, and written by a thread.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::Duration;

use super::Kind;
use super::reader::Reader;
use super::store::Store;
use crate::layers::key::Key;
use crate::sync::lock;
use crate::warn::Warn;

/// Writes are gathered for so long, up to so many, before they go into the file: keys are random, so each
/// write of its own would write a page of their index.
const GATHER: Duration = Duration::from_millis(100);
const BATCH: usize = 4096;

/// Entries after which the write-ahead log goes into the file.
const CHECKPOINT: usize = 16_384;

/// So many writes wait at the most; more are left out.
const LONGEST: usize = 16_384;

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: Key,
    pub(super) kind: Kind,
    pub(super) value: Vec<u8>,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    /// Batches that are in the file.
    written: AtomicU64,
    /// Told when there is a first entry, a full batch, someone who waits, or no more to come.
    work: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    batch: Vec<Arc<Entry>>,
    /// What is not in the file yet: the batch, and what is being written.
    newest: HashMap<Key, Arc<Entry>>,
    /// Who waits until all that came before is written.
    flushes: Vec<mpsc::Sender<Written>>,
    closed: bool,
}

type Written = Result<(), rusqlite::Error>;

impl Queue {
    pub(super) fn find(&self, key: &Key) -> Option<Arc<Entry>> {
        lock(&self.waiting).newest.get(key).cloned()
    }

    /// Left out where the queue is full: another process keeps the file to itself then, and the run must
    /// not wait for it.
    pub(super) fn put(&self, entry: Entry) {
        let mut waiting = lock(&self.waiting);
        if waiting.batch.len() >= LONGEST || waiting.closed {
            return;
        }
        let entry = Arc::new(entry);
        waiting.newest.insert(entry.key, Arc::clone(&entry));
        waiting.batch.push(entry);
        if matches!(waiting.batch.len(), 1 | BATCH) {
            self.work.notify_one();
        }
    }

    /// How many batches went into the file.
    pub(super) fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Waits until all that was put before is written.
    pub(super) fn flush(&self) -> Written {
        let (done, is_done) = mpsc::channel();
        {
            let mut waiting = lock(&self.waiting);
            if waiting.closed {
                return Ok(());
            }
            waiting.flushes.push(done);
        }
        self.work.notify_one();
        is_done.recv().unwrap_or(Ok(()))
    }

    /// Lets the thread end when all is written.
    pub(super) fn close(&self) {
        lock(&self.waiting).closed = true;
        self.work.notify_one();
    }

    /// The thread: writes until the queue is closed and empty.
    pub(super) fn write_all(&self, store: &Store, reader: &Mutex<Reader>, warn: &Warn) {
        let _gone = Gone(self);
        let mut told = false;
        let mut since_checkpoint = 0;
        while let Some((batch, flushes)) = self.next() {
            let written = store.put(&batch);
            since_checkpoint += batch.len();
            if since_checkpoint > CHECKPOINT {
                since_checkpoint = 0;
                // With a view open the log could never begin anew, and would only grow.
                let _ = lock(reader).apart(|_| store.checkpoint());
            }
            // Before they are forgotten, so that who does not find them in memory looks into a view that has them.
            self.written.fetch_add(1, Ordering::Release);
            self.forget(&batch);
            if let Err(error) = &written
                && !std::mem::replace(&mut told, true)
            {
                warn.say(&format!(
                    "the cache can't be written ({error}); some replies are not kept for later runs"
                ));
            }
            answer(flushes, written);
        }
    }

    /// What is to be written next, and who waits for it; `None` at the end.
    fn next(&self) -> Option<(Vec<Arc<Entry>>, Vec<mpsc::Sender<Written>>)> {
        let idle = |waiting: &mut Waiting| waiting.batch.is_empty() && !waiting.hurries();
        let gathers = |waiting: &mut Waiting| waiting.batch.len() < BATCH && !waiting.hurries();
        let waiting = self
            .work
            .wait_while(lock(&self.waiting), idle)
            .unwrap_or_else(PoisonError::into_inner);
        let (mut waiting, _) = self
            .work
            .wait_timeout_while(waiting, GATHER, gathers)
            .unwrap_or_else(PoisonError::into_inner);
        let batch = std::mem::take(&mut waiting.batch);
        let flushes = std::mem::take(&mut waiting.flushes);
        let ends = waiting.closed && batch.is_empty() && flushes.is_empty();
        (!ends).then_some((batch, flushes))
    }

    /// Takes from memory what stands in the file now, unless it has been put again.
    fn forget(&self, batch: &[Arc<Entry>]) {
        let mut waiting = lock(&self.waiting);
        for entry in batch {
            let newest = waiting.newest.get(&entry.key);
            if newest.is_some_and(|newest| Arc::ptr_eq(newest, entry)) {
                waiting.newest.remove(&entry.key);
            }
        }
    }
}

impl Waiting {
    fn hurries(&self) -> bool {
        self.closed || !self.flushes.is_empty()
    }
}

/// Lets nobody wait for a thread that has ended, however it did.
struct Gone<'a>(&'a Queue);

impl Drop for Gone<'_> {
    fn drop(&mut self) {
        let mut waiting = lock(&self.0.waiting);
        waiting.closed = true;
        waiting.flushes.clear();
    }
}

fn answer(flushes: Vec<mpsc::Sender<Written>>, written: Written) {
    let mut written = Some(written);
    for flush in flushes {
        // The first hears of an error; who asked may be gone.
        let _ = flush.send(written.take().unwrap_or(Ok(())));
    }
}
