//! Our own cache of models: `models/<id>/<sha256 of the weights>/` below the folder of caches.
//!
//! Files are gathered in a folder beside it, `<sha256>.part`, which one process at a time holds by a lock and which
//! stays where a download breaks off. Once all are checked, it is renamed, so that nobody ever sees half a model.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::check::{self, Fault, Stamps};
use super::pins::PinnedModel;
use crate::place;
use crate::warn::Warn;

/// How long another process is waited for.
const LONGEST_WAIT: Duration = Duration::from_secs(30 * 60);
const POLL: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
pub(super) struct Store {
    root: PathBuf,
}

/// A folder in which files are gathered.
#[derive(Debug)]
pub(super) struct Stage {
    dir: PathBuf,
    /// Held as long as the stage is.
    _hold: Hold,
}

/// Why nobody else writes into a stage.
#[derive(Debug)]
enum Hold {
    #[expect(dead_code, reason = "the lock goes when the file is closed")]
    Lock(File),
    /// Where the file system has no locks: a folder of one's own, which can't be taken up again.
    #[expect(dead_code, reason = "the folder goes when this is dropped")]
    Own(TempDir),
}

impl Store {
    /// Below a folder of caches.
    pub(super) fn below(cache: &Path) -> Self {
        Self {
            root: cache.join("models"),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn stamps(&self) -> Stamps {
        Stamps(Some(self.root.join("checked")))
    }

    /// Where a model's files stand, or would.
    pub(super) fn folder(&self, model: &PinnedModel<'_>) -> PathBuf {
        self.root.join(model.id).join(model.sha256())
    }

    /// Takes the stage of a model, and waits for another process that has it.
    pub(super) fn stage(&self, model: &PinnedModel<'_>, warn: &Warn) -> io::Result<Stage> {
        let above = self.root.join(model.id);
        place::make_dir(&above)?;
        let lock = place::private_file()
            .write(true)
            .open(above.join(format!("{}.lock", model.sha256())))?;
        if wait_for(&lock, model, warn)? {
            let dir = above.join(format!("{}.part", model.sha256()));
            place::make_dir(&dir)?;
            let _hold = Hold::Lock(lock);
            return Ok(Stage { dir, _hold });
        }
        let own = tempfile::Builder::new()
            .prefix("part-")
            .tempdir_in(&above)?;
        Ok(Stage {
            dir: own.path().to_owned(),
            _hold: Hold::Own(own),
        })
    }

    /// Checks what was gathered and puts it in its place.
    pub(super) fn install(
        &self,
        stage: &Stage,
        model: &PinnedModel<'_>,
    ) -> Result<PathBuf, NotInstalled> {
        if let Err(fault) = check::folder(&stage.dir, model) {
            // What is wrong must not be taken up by the next fetch.
            remove(&stage.dir)?;
            return Err(fault.into());
        }
        stage.keep_only(model)?;
        let target = self.folder(model);
        if fs::rename(&stage.dir, &target).is_err() {
            // Something stands there: by another process, or damaged.
            if check::folder(&target, model).is_err() {
                remove(&target)?;
                fs::rename(&stage.dir, &target)?;
            } else {
                remove(&stage.dir)?;
            }
        }
        self.stamps().folder(&target, model)?;
        Ok(target)
    }
}

/// Why gathered files did not become a model.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotInstalled {
    #[error(transparent)]
    Fault(#[from] Fault),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Drop for Stage {
    /// What was gathered stays for the next fetch; an empty folder does not.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.dir);
    }
}

impl Stage {
    /// Where a file goes once it is whole.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Where a file is gathered.
    pub(super) fn part(&self, name: &str) -> PathBuf {
        self.dir.join(format!("{name}.part"))
    }

    /// Makes a checked part a file.
    pub(super) fn accept(&self, name: &str) -> io::Result<()> {
        let part = self.part(name);
        File::open(&part)?.sync_data()?;
        fs::rename(part, self.file(name))
    }

    /// Takes a model's files from a folder, as links where `link` allows and the file system can.
    pub(super) fn take_from(
        &self,
        folder: &Path,
        model: &PinnedModel<'_>,
        link: bool,
    ) -> io::Result<()> {
        for pin in model.files {
            let from = folder.join(pin.name).canonicalize()?;
            let part = self.part(pin.name);
            remove(&part)?;
            if !(link && fs::hard_link(&from, &part).is_ok()) {
                let mut part = place::private_file().write(true).open(&part)?;
                io::copy(&mut File::open(&from)?, &mut part)?;
            }
            self.accept(pin.name)?;
        }
        Ok(())
    }

    fn keep_only(&self, model: &PinnedModel<'_>) -> io::Result<()> {
        for entry in fs::read_dir(&self.dir)? {
            let entry = entry?;
            let name = entry.file_name();
            if !model.files.iter().any(|pin| name == *pin.name) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// False where the file system has no locks.
fn wait_for(lock: &File, model: &PinnedModel<'_>, warn: &Warn) -> io::Result<bool> {
    let began = Instant::now();
    let mut told = false;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(_)) => return Ok(false),
            Err(TryLockError::WouldBlock) if began.elapsed() > LONGEST_WAIT => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another process has been fetching it for half an hour",
                ));
            }
            Err(TryLockError::WouldBlock) => {
                if !told {
                    warn.say(&format!(
                        "another process is fetching {}; waiting for it",
                        model.id
                    ));
                    told = true;
                }
                std::thread::sleep(POLL);
            }
        }
    }
}

/// Removes a file or a folder, which may be gone already.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
