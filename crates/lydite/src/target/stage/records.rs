//! The file of made records: a line each, written as soon as it is its turn. An interrupted stage goes on behind
//! the last whole line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Ask, Task};
use crate::format::Source;
use crate::job::JobError;

/// The made records.
#[derive(Debug)]
pub(crate) struct Records {
    file: File,
    /// Without one it is a file without a name, which ends with the process.
    path: Option<PathBuf>,
    /// Lines of an interrupted stage that were not looked at yet.
    before: Option<BufReader<File>>,
    /// Where the lines end that are whole and wanted.
    end: u64,
    line: Vec<u8>,
}

impl Records {
    /// Opens the file of a run, or one that is kept nowhere.
    pub(crate) fn open(path: Option<PathBuf>) -> Result<Self, JobError> {
        let opened = match &path {
            Some(path) => OpenOptions::new()
                .create(true)
                .read(true)
                .write(true)
                .truncate(false)
                .open(path),
            None => tempfile::tempfile(),
        };
        let failed = |source| wrong(path.as_deref(), source);
        let file = opened.map_err(failed)?;
        let before = match &path {
            Some(path) => Some(BufReader::new(File::open(path).map_err(failed)?)),
            None => None,
        };
        Ok(Self {
            file,
            before,
            path,
            end: 0,
            line: Vec::new(),
        })
    }

    /// Whether an interrupted stage has written this record.
    ///
    /// # Errors
    /// Another record stands in its place: the data changed.
    pub(super) fn has(&mut self, task: &Task) -> Result<bool, JobError> {
        let Some(before) = &mut self.before else {
            return Ok(false);
        };
        self.line.clear();
        let read = before.read_until(b'\n', &mut self.line);
        let read = read.map_err(|source| wrong(self.path.as_deref(), source))?;
        if self.line.last() != Some(&b'\n') {
            self.go_on()?;
            return Ok(false);
        }
        if !task.is_written_as(&self.line) {
            return Err(self.changed());
        }
        self.end += read as u64;
        Ok(true)
    }

    /// Writes a record.
    pub(super) fn push(&mut self, line: &str) -> Result<(), JobError> {
        self.line.clear();
        self.line.extend_from_slice(line.as_bytes());
        self.line.push(b'\n');
        let written = self.file.write_all(&self.line);
        written.map_err(|source| wrong(self.path.as_deref(), source))
    }

    /// Forces the lines to disk. `whole` where all are there; else what an interrupted stage had further stays for
    /// the next one.
    ///
    /// # Errors
    /// Lines are left that no record of the input asks for: the data changed.
    pub(super) fn end(&mut self, whole: bool) -> Result<(), JobError> {
        if whole && let Some(before) = &mut self.before {
            self.line.clear();
            let read = before.read_until(b'\n', &mut self.line);
            read.map_err(|source| wrong(self.path.as_deref(), source))?;
            if self.line.last() == Some(&b'\n') {
                return Err(self.changed());
            }
            self.go_on()?;
        }
        let synced = self.file.sync_data();
        synced.map_err(|source| wrong(self.path.as_deref(), source))
    }

    /// How messages name it.
    pub(crate) fn name(&self) -> String {
        self.path.as_deref().map_or_else(
            || "the target's records".to_owned(),
            |path| path.to_string_lossy().into_owned(),
        )
    }

    /// What the walk reads.
    pub(crate) fn source(&self) -> Result<Source, JobError> {
        let file = match &self.path {
            Some(path) => File::open(path),
            None => self.file.try_clone().and_then(|mut file| {
                file.rewind()?;
                Ok(file)
            }),
        };
        let file = file.map_err(|source| wrong(self.path.as_deref(), source))?;
        let mut source = Source::reader(self.name(), BufReader::new(file));
        source.format = Some(crate::format::Format::Jsonl);
        Ok(source)
    }

    /// Cuts off what is not whole, and writes from there on.
    fn go_on(&mut self) -> Result<(), JobError> {
        self.before = None;
        let cut = self.file.set_len(self.end);
        let cut = cut.and_then(|()| self.file.seek(SeekFrom::Start(self.end)));
        cut.map(|_| ())
            .map_err(|source| wrong(self.path.as_deref(), source))
    }

    fn changed(&self) -> JobError {
        JobError::Usage(format!(
            "can't go on with {}: the data changed within what the target has answered already; run it anew",
            self.name()
        ))
    }
}

impl Task {
    /// Whether a line is this record, with whatever answer.
    fn is_written_as(&self, line: &[u8]) -> bool {
        let head = self.head.as_str().as_bytes();
        match (&self.ask, line.strip_prefix(head)) {
            (_, None) => false,
            (Ask::Kept, Some(rest)) => rest == b"}\n",
            (_, Some(rest)) => rest.starts_with(b","),
        }
    }
}

fn wrong(path: Option<&Path>, source: io::Error) -> JobError {
    JobError::Output {
        name: path.map_or_else(
            || "the target's records".to_owned(),
            |path| path.display().to_string(),
        ),
        source,
    }
}
