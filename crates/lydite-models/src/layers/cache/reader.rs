//! Point reads, many to a transaction: each one of its own would take and leave a lock of the file.

use std::time::{Duration, Instant};

use super::Kind;
use super::store::Store;
use crate::layers::key::Key;

/// How old a view of the file may be: so long another process's writes may go unseen.
const FRESH: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Reader {
    store: Store,
    view: Option<View>,
}

/// An open read transaction.
#[derive(Debug)]
struct View {
    since: Instant,
    /// The batches that this process had written when it was opened.
    written: u64,
}

impl Reader {
    pub(super) const fn new(store: Store) -> Self {
        Self { store, view: None }
    }

    /// Reads in a view that has all of the `written` batches of this process.
    pub(super) fn get(
        &mut self,
        kind: Kind,
        key: &Key,
        written: u64,
    ) -> rusqlite::Result<Option<Vec<u8>>> {
        let now = Instant::now();
        let is_fresh = |view: &View| {
            view.written == written && now.saturating_duration_since(view.since) < FRESH
        };
        if !self.view.as_ref().is_some_and(is_fresh) {
            self.leave()?;
            self.store.connection.execute_batch("BEGIN")?;
            self.view = Some(View {
                since: now,
                written,
            });
        }
        self.store.get(kind, key)
    }

    /// Does something that is no part of a view, such as a write.
    pub(super) fn apart<T>(
        &mut self,
        work: impl FnOnce(&Store) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.leave()?;
        work(&self.store)
    }

    fn leave(&mut self) -> rusqlite::Result<()> {
        match self.view.take() {
            Some(_) => self.store.connection.execute_batch("COMMIT"),
            None => Ok(()),
        }
    }
}
