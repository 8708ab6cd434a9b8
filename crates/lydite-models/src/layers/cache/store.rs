//! The cache's file: its tables, and the statements that read and write them.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, ErrorCode, OptionalExtension, Transaction, TransactionBehavior, params,
};

use super::queue::Entry;
use super::{CacheError, CacheStats, Kind};
use crate::layers::key::Key;
use crate::place;

/// The format of the file, in its `user_version`.
const VERSION: i64 = 1;

/// How long a statement waits for another process.
const BUSY: Duration = Duration::from_secs(5);

/// Memory for pages, at the most. SQLite takes a negative number for KiB.
const PAGE_CACHE_KIB: i64 = -16_384;

/// Pages that the write-ahead log gathers before they go into the file.
const LOG_PAGES: i64 = 4096;

/// Values above this many bytes are compressed, vectors apart: their bytes have no pattern.
const LARGE: usize = 4096;
const LEVEL: i32 = 3;

/// No value unpacks to more than this.
const LARGEST: u64 = 1 << 30;

/// The first byte of a value.
const PLAIN: u8 = 0;
const ZSTD: u8 = 1;

/// What a row takes beside its value: two keys, numbers, the index.
const ROW: i64 = 120;

/// `id` grows with each write, so it orders by age. The value comes last: the columns before it are
/// read without it.
const TABLES: &str = "
    CREATE TABLE entries (
        id INTEGER PRIMARY KEY,
        key BLOB NOT NULL UNIQUE,
        kind INTEGER NOT NULL,
        stored INTEGER NOT NULL,
        value BLOB NOT NULL
    ) STRICT;";

/// One connection.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) connection: Connection,
}

impl Store {
    /// Opens the file, made with its tables where it is missing.
    pub(super) fn make(dir: &Path, path: &Path) -> Result<Self, CacheError> {
        let folder = |source| CacheError::Folder {
            dir: dir.to_owned(),
            source,
        };
        place::make_dir(dir).map_err(folder)?;
        // SQLite gives its log the permissions of the file.
        place::private_file()
            .append(true)
            .open(path)
            .map_err(folder)?;
        let mut store = Self::open(path)?;
        let found = store.prepare().map_err(|source| problem(path, source))?;
        if found > VERSION {
            return Err(CacheError::Newer {
                path: path.to_owned(),
                found,
                known: VERSION,
            });
        }
        Ok(store)
    }

    pub(super) fn open(path: &Path) -> Result<Self, CacheError> {
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(BUSY)?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.pragma_update(None, "cache_size", PAGE_CACHE_KIB)?;
            // The log is as good a place as the file: emptying it at the end would keep each run waiting for the disk.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
            connection.pragma_update_and_check(
                None,
                "wal_autocheckpoint",
                LOG_PAGES,
                |_| Ok(()),
            )?;
            Ok(connection)
        };
        open()
            .map(|connection| Self { connection })
            .map_err(|source| problem(path, source))
    }

    /// Makes the tables of a new file; gives back the file's version.
    fn prepare(&mut self) -> rusqlite::Result<i64> {
        let found = version(&self.connection)?;
        if found != 0 {
            return Ok(found);
        }
        // Takes effect in an empty file only, so no other process is disturbed.
        self.connection
            .pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        write_ahead(&self.connection)?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have been faster.
        let found = version(&transaction)?;
        if found == 0 {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
        Ok(found.max(VERSION))
    }

    pub(super) fn get(&self, kind: Kind, key: &Key) -> rusqlite::Result<Option<Vec<u8>>> {
        let mut find = self
            .connection
            .prepare_cached("SELECT value FROM entries WHERE key = ?1 AND kind = ?2")?;
        let found = find
            .query_row(params![key, kind as i64], |row| {
                Ok(unpack(row.get_ref(0)?.as_blob()?))
            })
            .optional()?;
        Ok(found.flatten())
    }

    /// Writes all or nothing.
    pub(super) fn put(&self, batch: &[Arc<Entry>]) -> rusqlite::Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        {
            let mut put = transaction.prepare_cached(
                "INSERT OR REPLACE INTO entries (key, kind, stored, value) VALUES (?1, ?2, ?3, ?4)",
            )?;
            let now = now();
            for entry in batch {
                put.execute(params![entry.key, entry.kind as i64, now, pack(entry)])?;
            }
        }
        transaction.commit()
    }

    pub(super) fn clear(&self, older_than: Option<Duration>) -> rusqlite::Result<u64> {
        let deleted = match older_than {
            None => self.connection.execute("DELETE FROM entries", [])?,
            Some(age) => {
                let age = i64::try_from(age.as_secs()).unwrap_or(i64::MAX);
                let before = now().saturating_sub(age);
                self.connection
                    .execute("DELETE FROM entries WHERE stored < ?1", [before])?
            }
        };
        self.shorten()?;
        Ok(deleted as u64)
    }

    /// Deletes the oldest entries of a file above `size` bytes, until it is a tenth below.
    pub(super) fn evict(&self, size: u64) -> rusqlite::Result<()> {
        let used = self.bytes()?;
        if used <= size {
            return Ok(());
        }
        // Rows take more pages than their lengths say, so only shares of the whole are told by them.
        let whole: f64 = self.connection.query_row(
            "SELECT total(length(value) + ?1) FROM entries",
            [ROW],
            |row| row.get(0),
        )?;
        let mut surplus = whole * (1.0 - 0.9 * size as f64 / used as f64);
        let mut last = None;
        {
            let mut oldest = self
                .connection
                .prepare("SELECT id, length(value) + ?1 FROM entries ORDER BY id")?;
            let mut rows = oldest.query([ROW])?;
            while surplus > 0.0
                && let Some(row) = rows.next()?
            {
                last = Some(row.get::<_, i64>(0)?);
                surplus -= row.get::<_, f64>(1)?;
            }
        }
        if let Some(last) = last {
            self.connection
                .execute("DELETE FROM entries WHERE id <= ?1", [last])?;
            self.shorten()?;
        }
        Ok(())
    }

    pub(super) fn stats(&self) -> rusqlite::Result<CacheStats> {
        let mut stats = CacheStats {
            bytes: self.bytes()?,
            ..CacheStats::default()
        };
        let mut counts = self
            .connection
            .prepare("SELECT kind, count(*) FROM entries GROUP BY kind")?;
        let mut rows = counts.query([])?;
        while let Some(row) = rows.next()? {
            let count = row.get::<_, i64>(1)?.unsigned_abs();
            match row.get::<_, i64>(0)? {
                0 => stats.chats = count,
                1 => stats.embeddings = count,
                2 => stats.moderations = count,
                _ => stats.verdicts += count,
            }
        }
        Ok(stats)
    }

    /// Moves the write-ahead log into the file, as far as no other process reads in it.
    pub(super) fn checkpoint(&self) -> rusqlite::Result<()> {
        self.connection
            .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
    }

    /// In use; pages that wait to be used again do not count.
    fn bytes(&self) -> rusqlite::Result<u64> {
        let pragma = |name: &str| {
            self.connection
                .pragma_query_value(None, name, |row| row.get::<_, i64>(0))
                .map(i64::unsigned_abs)
        };
        let pages = pragma("page_count")?.saturating_sub(pragma("freelist_count")?);
        Ok(pages.saturating_mul(pragma("page_size")?))
    }

    /// Gives free pages back to the system.
    fn shorten(&self) -> rusqlite::Result<()> {
        // Both answer with rows, which are of no account.
        let mut vacuum = self.connection.prepare("PRAGMA incremental_vacuum")?;
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
        self.connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
    }
}

/// Says what kind of problem it is.
pub(super) fn problem(path: &Path, source: rusqlite::Error) -> CacheError {
    let path = path.to_owned();
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            CacheError::Damaged { path, source }
        }
        _ => CacheError::Database { path, source },
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Turns the write-ahead log on. SQLite does not wait here for other processes that do so at once.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let ends = Instant::now() + BUSY;
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && Instant::now() < ends =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            result => return result,
        }
    }
}

/// In seconds since 1970.
fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX))
}

fn pack(entry: &Entry) -> Vec<u8> {
    let mut packed = Vec::with_capacity(entry.value.len() + 1);
    if entry.value.len() > LARGE && entry.kind != Kind::Embedding {
        packed.push(ZSTD);
        if zstd::stream::copy_encode(entry.value.as_slice(), &mut packed, LEVEL).is_ok() {
            return packed;
        }
        packed.clear();
    }
    packed.push(PLAIN);
    packed.extend_from_slice(&entry.value);
    packed
}

/// What can't be unpacked counts as not there.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    match packed.split_first()? {
        (&PLAIN, value) => Some(value.to_vec()),
        (&ZSTD, value) => {
            let mut unpacked = Vec::new();
            let decoder = zstd::stream::Decoder::with_buffer(value).ok()?;
            decoder.take(LARGEST).read_to_end(&mut unpacked).ok()?;
            Some(unpacked)
        }
        _ => None,
    }
}
