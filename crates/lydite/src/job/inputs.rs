//! Where a run's records come from, and the look ahead that settles what their keys mean.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Seek};
use std::path::{Path, PathBuf};

use super::{JobError, Output, Request};
use crate::decode::{SURVEY_RECORDS, Survey};
use crate::format::{self, Block, BlockReader, BlockSize, Format, InputError, Source};
use crate::run_folder::DataFacts;
use crate::suite::Suite;

/// Files up to this size are copied into the run's folder.
const COPIED_BYTES: u64 = 64 << 20;

/// The size of a block: small enough that a kill loses little, large enough that its hand-over costs nothing.
///
/// Where models are asked a block waits for its slowest call, so there are more and smaller ones.
pub(super) fn block_size(asks_models: bool) -> BlockSize {
    let (bytes, records) = if asks_models {
        (32 << 10, 64)
    } else {
        (128 << 10, 1024)
    };
    BlockSize {
        bytes,
        records,
        ..BlockSize::default()
    }
}

/// The inputs of a run.
#[derive(Debug)]
pub(super) struct Inputs {
    paths: Vec<PathBuf>,
    /// What the first of them are called, where it is not their paths.
    called: Vec<String>,
    format: Option<Format>,
    /// The standard input on disk, where it is read twice.
    spool: Option<File>,
    asks_models: bool,
}

impl Inputs {
    pub(super) fn new(request: &Request, suite: &Suite) -> Result<Self, JobError> {
        let dataset = suite.dataset.as_ref().filter(|_| request.data.is_empty());
        let paths = match dataset {
            Some(dataset) => {
                let folder = request
                    .suite
                    .as_ref()
                    .and_then(|(_, path)| path.parent())
                    .unwrap_or(Path::new(""));
                dataset
                    .paths
                    .iter()
                    .map(|path| {
                        if path == "-" {
                            path.into()
                        } else {
                            folder.join(path)
                        }
                    })
                    .collect()
            }
            None => request.data.iter().map(PathBuf::from).collect::<Vec<_>>(),
        };
        if paths.is_empty() {
            return Err(JobError::Usage(
                "no data: name it under `dataset:` in the suite, or with --data FILE".into(),
            ));
        }
        if paths.iter().filter(|path| is_stdin(path)).count() > 1 {
            return Err(JobError::Usage(
                "the standard input (`-`) can be read once only".into(),
            ));
        }
        let format = dataset
            .and_then(|dataset| dataset.format.as_deref())
            .and_then(Format::from_name);
        let mut inputs = Self {
            paths,
            called: request.data_names.clone(),
            format,
            spool: None,
            asks_models: suite.asks_models(),
        };
        if request.sample.is_some() && inputs.has_stdin() {
            inputs.spool = Some(spool_stdin().map_err(|source| JobError::Output {
                name: "a copy of stdin".into(),
                source,
            })?);
        }
        Ok(inputs)
    }

    /// Results may not be written over what is judged.
    pub(super) fn refuse_as_output(&self, outputs: &[Output]) -> Result<(), JobError> {
        let same = |path: &Path, name: &str| matches!((path.canonicalize(), Path::new(name).canonicalize()), (Ok(a), Ok(b)) if a == b);
        let clash = outputs
            .iter()
            .find(|output| self.paths.iter().any(|path| same(path, &output.name)));
        clash.map_or(Ok(()), |output| {
            Err(JobError::Usage(format!(
                "--output {} is the data itself; name another file",
                output.name
            )))
        })
    }

    /// Opens the inputs; `copies` is the folder for copies of what is not on disk or small.
    pub(super) fn open(&mut self, copies: Option<&Path>) -> Result<format::Reader, JobError> {
        let mut sources = Vec::with_capacity(self.paths.len());
        for (index, path) in self.paths.iter().enumerate() {
            let mut source = match &mut self.spool {
                Some(file) if is_stdin(path) => {
                    let again = file.rewind().and_then(|()| file.try_clone());
                    let file = again.map_err(|source| JobError::Output {
                        name: "a copy of stdin".into(),
                        source,
                    })?;
                    Source::reader("stdin", BufReader::new(file))
                }
                None if is_stdin(path) => Source::stdin(),
                _ => Source::path(path.clone()),
            };
            source.format = self.format;
            let small = std::fs::metadata(path).map_or(true, |data| data.len() <= COPIED_BYTES);
            source.copy = copies
                .filter(|_| small)
                .map(|folder| folder.join(format!("{index}.zst")));
            sources.push(source);
        }
        if let Some(folder) = copies {
            std::fs::create_dir_all(folder).map_err(|source| {
                let folder = folder.parent().unwrap_or(folder).display();
                JobError::Usage(format!("can't keep the run in {folder}: {source}; run elsewhere, or keep none with --no-store"))
            })?;
        }
        Ok(format::open(sources, block_size(self.asks_models))?)
    }

    /// Opens the inputs and looks at their first records; the reader gives them again.
    pub(super) fn open_and_survey(
        &mut self,
        copies: Option<&Path>,
    ) -> Result<(Surveyed, Survey), JobError> {
        let mut reader = Surveyed {
            ahead: VecDeque::new(),
            reader: self.open(copies)?,
        };
        let survey = reader.look()?;
        Ok((reader, survey))
    }

    pub(super) fn names(&self) -> Vec<String> {
        let name = |(index, path): (usize, &PathBuf)| {
            let called = self.called.get(index).cloned();
            called.unwrap_or_else(|| path.to_string_lossy().into_owned())
        };
        self.paths.iter().enumerate().map(name).collect()
    }

    pub(super) fn facts(&self) -> Vec<DataFacts> {
        self.paths.iter().map(|path| DataFacts::of(path)).collect()
    }

    /// Bytes on disk; `None` where an input is no file.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.facts().iter().map(|data| data.size).sum()
    }

    fn has_stdin(&self) -> bool {
        self.paths.iter().any(|path| is_stdin(path))
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn spool_stdin() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    Ok(file)
}

/// A reader whose first blocks were looked at already.
#[derive(Debug)]
pub(super) struct Surveyed {
    ahead: VecDeque<Block>,
    reader: format::Reader,
}

impl Surveyed {
    /// About how many records an input of so many bytes has; `None` where none was seen.
    pub(super) fn estimate_records(&self, bytes: u64) -> Option<u64> {
        let end = self.ahead.back()?.end;
        bytes.saturating_mul(end.records).checked_div(end.bytes)
    }

    /// An input that breaks off within the first records is refused before any of them is judged.
    fn look(&mut self) -> Result<Survey, InputError> {
        let mut survey = Survey::default();
        let mut seen = 0;
        while seen < SURVEY_RECORDS {
            let mut block = Block::new();
            if !self.reader.next_block(&mut block)? {
                break;
            }
            for text in block
                .records()
                .filter_map(|record| record.text.ok())
                .take(SURVEY_RECORDS - seen)
            {
                survey.add(text);
            }
            seen += block.len();
            self.ahead.push_back(block);
        }
        Ok(survey)
    }
}

impl BlockReader for Surveyed {
    fn next_block(&mut self, block: &mut Block) -> Result<bool, InputError> {
        if let Some(ahead) = self.ahead.pop_front() {
            *block = ahead;
            return Ok(true);
        }
        self.reader.next_block(block)
    }
}
