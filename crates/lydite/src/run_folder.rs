//! A run on disk: `.lydite/runs/<id>/`, readable with any tool.
//!
//! ```text
//! manifest.json      what was run: suite, evaluators and their versions, data, options
//! suite.yaml         the suite as read
//! records.jsonl      the records that a target has made of the input
//! records/N.zst      a copy of the input as read (stdin, and files up to 64 MB), zstd
//! results.jsonl      the lines, appended block by block
//! checkpoints.jsonl  after each block: how far the input was read, its hash, and how long results.jsonl is
//! bad_records.jsonl  the records that could not be read
//! report.json        written whole at the end
//! ```
//!
//! A kill loses at most the block in flight: what lies behind the last checkpoint is cut off when
//! the run is resumed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::check::OnMissing;
use crate::evaluator::Direction;
use crate::fold::BadRecord;
use crate::report::Report;

/// The version of the folder's format.
pub const RUN_VERSION: u32 = 1;

/// Where results are written that shall take the place of a run's own.
const ANEW: &str = "anew";

/// The records that a target has made.
const MADE_RECORDS: &str = "records.jsonl";

/// Everything that is constant in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Manifest {
    pub version: u32,
    pub id: String,
    /// The version of Lydite that ran it.
    pub lydite: String,
    pub suite: Option<SuiteFacts>,
    pub checks: Vec<CheckFacts>,
    pub data: Vec<DataFacts>,
    pub options: RunOptions,
    /// `--max-errors`, as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_errors: Option<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub finished_at: Option<String>,
    /// XXH3-128 of the data, decompressed, where its end was read.
    pub input_hash: Option<String>,
}

/// The suite of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SuiteFacts {
    pub name: Option<String>,
    pub path: Option<String>,
    /// XXH3-128 of its text and of the added checks.
    pub hash: String,
    /// Checks that were given beside it, as YAML.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
}

/// A check of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CheckFacts {
    pub name: String,
    pub evaluator: String,
    pub evaluator_version: u32,
    pub direction: Option<Direction>,
    /// Least and greatest score; null where there is no bound.
    pub range: (Option<f64>, Option<f64>),
    pub params: serde_json::Value,
    pub threshold: Option<f64>,
    pub not: bool,
    /// Where it is not `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_missing: Option<OnMissing>,
}

/// An input file of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DataFacts {
    /// `-` is stdin.
    pub path: String,
    /// Bytes on disk; null for stdin.
    pub size: Option<u64>,
}

/// The options that decide which lines a run writes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunOptions {
    pub r#where: Option<String>,
    pub sample: Option<u64>,
    pub seed: Option<u64>,
    pub limit: Option<u64>,
    /// `k/n`.
    pub shard: Option<String>,
    pub wide: bool,
    /// `--repeat`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// `--trials`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    pub block_bytes: u64,
}

/// How far a run had come when its results had a certain length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Blocks that are out.
    pub blocks: u64,
    /// Input bytes read, decompressed, over all files.
    pub input_bytes: u64,
    /// XXH3-128 of them.
    pub input_hash: String,
    pub results_bytes: u64,
    pub bad_bytes: u64,
}

/// What went wrong with a run folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FolderError {
    #[error("can't {what} `{}`: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("`{}` is no run that Lydite wrote: {message}", path.display())]
    Damaged { path: PathBuf, message: String },
    #[error("no run `{name}` under `{}`; `lydite runs list` shows what is there", root.display())]
    NotFound { name: String, root: PathBuf },
    #[error("no run is kept under `{}` yet; `lydite run` keeps each there", root.display())]
    NoRuns { root: PathBuf },
    #[error("can't resume run {id}: {message}")]
    CannotResume { id: String, message: String },
}

type Result<T> = std::result::Result<T, FolderError>;

fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
    let path = path.to_owned();
    move |source| FolderError::Io { what, path, source }
}

/// The folder of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Makes the folder of a new run.
    pub fn create(path: &Path, manifest: &Manifest, suite: &str) -> Result<Self> {
        fs::create_dir_all(path).map_err(io_error("make", path))?;
        let folder = Self {
            path: path.to_owned(),
        };
        folder.write("suite.yaml", suite.as_bytes())?;
        folder.write_manifest(manifest)?;
        Ok(folder)
    }

    /// Finds a run by id, by path or as `latest`.
    pub fn find(root: &Path, name: &str) -> Result<Self> {
        let not_found = || FolderError::NotFound {
            name: name.to_owned(),
            root: root.to_owned(),
        };
        if name == "latest" {
            return Self::list(root)?.pop().ok_or_else(|| FolderError::NoRuns {
                root: root.to_owned(),
            });
        }
        [root.join(name), PathBuf::from(name)]
            .into_iter()
            .find(|path| path.join("manifest.json").is_file())
            .map(|path| Self { path })
            .ok_or_else(not_found)
    }

    /// The runs under `root`, oldest first.
    pub fn list(root: &Path) -> Result<Vec<Self>> {
        let entries = match fs::read_dir(root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error("read", root)(error)),
        };
        let mut runs: Vec<Self> = entries
            .filter_map(std::result::Result::ok)
            .map(|entry| Self { path: entry.path() })
            .filter(|run| run.path.join("manifest.json").is_file())
            .collect();
        runs.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(runs)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn id(&self) -> String {
        self.path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    pub fn results_path(&self) -> PathBuf {
        self.path.join("results.jsonl")
    }

    pub fn manifest(&self) -> Result<Manifest> {
        self.read_json("manifest.json")
    }

    pub fn report(&self) -> Result<Report> {
        self.read_json("report.json")
    }

    pub fn suite(&self) -> Result<String> {
        let path = self.path.join("suite.yaml");
        fs::read_to_string(&path).map_err(io_error("read", &path))
    }

    pub fn write_manifest(&self, manifest: &Manifest) -> Result<()> {
        self.write_json("manifest.json", manifest)
    }

    pub fn write_report(&self, report: &Report) -> Result<()> {
        self.write_json("report.json", report)
    }

    pub fn delete(&self) -> Result<()> {
        fs::remove_dir_all(&self.path).map_err(io_error("delete", &self.path))
    }

    /// The records that could not be read, up to the last checkpoint.
    pub fn bad_records(&self) -> Result<Vec<BadRecord>> {
        let bytes = self.checkpoint()?.bad_bytes;
        let path = self.path.join("bad_records.jsonl");
        let Ok(file) = File::open(&path) else {
            return Ok(Vec::new());
        };
        let mut bad = Vec::new();
        for line in BufReader::new(file.take(bytes)).lines() {
            let line = line.map_err(io_error("read", &path))?;
            bad.push(
                serde_json::from_str(&line)
                    .map_err(|error| self.damaged("bad_records.jsonl", &error))?,
            );
        }
        Ok(bad)
    }

    /// The last checkpoint that was written whole.
    pub fn checkpoint(&self) -> Result<Checkpoint> {
        let path = self.path.join("checkpoints.jsonl");
        let Ok(text) = fs::read_to_string(&path) else {
            return Ok(Checkpoint::default());
        };
        let whole = text
            .rfind('\n')
            .and_then(|end| text.get(..end))
            .unwrap_or_default();
        Ok(whole
            .lines()
            .rev()
            .find_map(|line| serde_json::from_str(line).ok())
            .unwrap_or_default())
    }

    /// Where a target's records are kept; `anew` beside those that are there, as [`RunFolder::append_anew`] has it.
    pub(crate) fn made_records(folder: &Path, anew: bool) -> PathBuf {
        if anew {
            folder.join(ANEW).join(MADE_RECORDS)
        } else {
            folder.join(MADE_RECORDS)
        }
    }

    /// Opens new result files beside those that are there; [`RunFolder::replace_results`] puts them in their place.
    pub fn append_anew(&self) -> Result<Appender> {
        let anew = self.path.join(ANEW);
        if anew.exists() {
            fs::remove_dir_all(&anew).map_err(io_error("clear", &anew))?;
        }
        fs::create_dir_all(&anew).map_err(io_error("create", &anew))?;
        self.append_in(&anew, &Checkpoint::default())
    }

    /// Puts the files of [`RunFolder::append_anew`] in the place of the old ones.
    pub fn replace_results(&self) -> Result<()> {
        let anew = self.path.join(ANEW);
        // Results first: with old checkpoints they are longer than they say, never shorter.
        for name in ["results.jsonl", "bad_records.jsonl", "checkpoints.jsonl"] {
            let (from, to) = (anew.join(name), self.path.join(name));
            fs::rename(&from, &to).map_err(io_error("rename", &from))?;
        }
        let from = anew.join(MADE_RECORDS);
        if from.exists() {
            fs::rename(&from, self.path.join(MADE_RECORDS)).map_err(io_error("rename", &from))?;
        }
        fs::remove_dir_all(&anew).map_err(io_error("remove", &anew))
    }

    /// Opens the result files for appending, cut back to a checkpoint.
    pub fn append(&self, from: &Checkpoint) -> Result<Appender> {
        self.append_in(&self.path, from)
    }

    fn append_in(&self, folder: &Path, from: &Checkpoint) -> Result<Appender> {
        let open = |name: &str, length: u64| -> Result<File> {
            let path = folder.join(name);
            let mut file = OpenOptions::new()
                .create(true)
                .write(true)
                .truncate(false)
                .open(&path)
                .map_err(io_error("open", &path))?;
            let have = file.metadata().map_err(io_error("read", &path))?.len();
            if have < length {
                return Err(FolderError::CannotResume {
                    id: self.id(),
                    message: format!(
                        "{name} is shorter ({have} bytes) than its checkpoint says ({length})"
                    ),
                });
            }
            file.set_len(length)
                .and_then(|()| file.seek(SeekFrom::Start(length)))
                .map_err(io_error("cut", &path))?;
            Ok(file)
        };
        let checkpoints = folder.join("checkpoints.jsonl");
        let checkpoints_file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&checkpoints)
            .map_err(io_error("open", &checkpoints))?;
        Ok(Appender {
            results: open("results.jsonl", from.results_bytes)?,
            bad: open("bad_records.jsonl", from.bad_bytes)?,
            checkpoints: checkpoints_file,
            at: from.clone(),
            synced: Instant::now(),
        })
    }

    /// The result lines up to a checkpoint.
    pub fn results_until(&self, bytes: u64) -> Result<impl BufRead + use<>> {
        let path = self.results_path();
        match File::open(&path) {
            Ok(file) => Ok(BufReader::new(file).take(bytes)),
            Err(source) => Err(io_error("open", &path)(source)),
        }
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        write_whole(&path, bytes).map_err(io_error("write", &path))
    }

    fn write_json<T: Serialize>(&self, name: &str, value: &T) -> Result<()> {
        let mut bytes =
            serde_json::to_vec_pretty(value).map_err(|error| self.damaged(name, &error))?;
        bytes.push(b'\n');
        self.write(name, &bytes)
    }

    fn read_json<T: for<'de> Deserialize<'de>>(&self, name: &str) -> Result<T> {
        let path = self.path.join(name);
        let text = fs::read_to_string(&path).map_err(io_error("read", &path))?;
        serde_json::from_str(&text).map_err(|error| self.damaged(name, &error))
    }

    fn damaged(&self, name: &str, error: &serde_json::Error) -> FolderError {
        FolderError::Damaged {
            path: self.path.join(name),
            message: error.to_string(),
        }
    }
}

/// Writes beside, then renames, so that a reader sees the old file or the new one.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let beside = path.with_file_name(name);
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    fs::rename(&beside, path)
}

/// How long results may lie in the system's cache before they are forced to disk.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// Appends blocks of results, a checkpoint after each.
#[derive(Debug)]
pub struct Appender {
    results: File,
    bad: File,
    checkpoints: File,
    at: Checkpoint,
    synced: Instant,
}

impl Appender {
    /// Appends one block's lines and its checkpoint.
    pub fn block(
        &mut self,
        lines: &[u8],
        bad: &[BadRecord],
        input_bytes: u64,
        input_hash: String,
    ) -> io::Result<()> {
        self.results.write_all(lines)?;
        self.bad(bad)?;
        self.at.blocks += 1;
        self.at.results_bytes += lines.len() as u64;
        self.at.input_bytes = input_bytes;
        self.at.input_hash = input_hash;
        let mut line = serde_json::to_vec(&self.at)?;
        line.push(b'\n');
        if self.synced.elapsed() > SYNC_EVERY {
            self.sync()?;
        }
        self.checkpoints.write_all(&line)
    }

    /// Appends bad records of an input that was read before the first block.
    pub(crate) fn bad(&mut self, bad: &[BadRecord]) -> io::Result<()> {
        let mut text = Vec::new();
        for record in bad {
            serde_json::to_writer(&mut text, record)?;
            text.push(b'\n');
        }
        self.at.bad_bytes += text.len() as u64;
        self.bad.write_all(&text)
    }

    /// Forces what was written to disk.
    pub fn sync(&mut self) -> io::Result<()> {
        self.synced = Instant::now();
        self.results.sync_data()?;
        self.bad.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_checkpoint_is_passed_over_and_results_are_cut_back_to_the_last_whole_one() {
        let root = tempfile::tempdir().unwrap();
        let manifest = Manifest {
            id: "r1".into(),
            ..Manifest::default()
        };
        let folder = RunFolder::create(&root.path().join("r1"), &manifest, "").unwrap();
        let mut appender = folder.append(&Checkpoint::default()).unwrap();
        appender.block(b"one\n", &[], 10, "aa".into()).unwrap();
        appender.block(b"two\n", &[], 20, "bb".into()).unwrap();
        drop(appender);
        fs::write(folder.path.join("results.jsonl"), "one\ntwo\nthr").unwrap();
        let torn = folder.path.join("checkpoints.jsonl");
        let mut text = fs::read_to_string(&torn).unwrap();
        text.push_str("{\"blocks\": 3, ");
        fs::write(&torn, text).unwrap();

        let checkpoint = folder.checkpoint().unwrap();
        assert_eq!(
            (
                checkpoint.blocks,
                checkpoint.results_bytes,
                checkpoint.input_bytes
            ),
            (2, 8, 20)
        );
        folder
            .append(&checkpoint)
            .unwrap()
            .block(b"three\n", &[], 30, "cc".into())
            .unwrap();
        assert_eq!(
            fs::read_to_string(folder.results_path()).unwrap(),
            "one\ntwo\nthree\n"
        );
    }

    #[test]
    fn runs_are_found_by_id_path_and_latest() {
        let root = tempfile::tempdir().unwrap();
        for id in ["20260101-000000-a", "20260102-000000-b"] {
            RunFolder::create(
                &root.path().join(id),
                &Manifest {
                    id: id.into(),
                    ..Manifest::default()
                },
                "",
            )
            .unwrap();
        }
        assert_eq!(
            RunFolder::find(root.path(), "latest").unwrap().id(),
            "20260102-000000-b"
        );
        assert_eq!(
            RunFolder::find(root.path(), "20260101-000000-a")
                .unwrap()
                .id(),
            "20260101-000000-a"
        );
        let path = root.path().join("20260101-000000-a");
        assert_eq!(
            RunFolder::find(Path::new("elsewhere"), path.to_str().unwrap())
                .unwrap()
                .path(),
            path
        );
        assert!(matches!(
            RunFolder::find(root.path(), "nope"),
            Err(FolderError::NotFound { .. })
        ));
    }
}
