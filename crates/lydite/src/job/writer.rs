//! Takes a run's blocks in order: into the run's folder, into the outputs, into the fold.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::sync::Arc;

use super::{JobError, Renderers};
use crate::fold::{Fold, StoredFold};
use crate::format::{Position, Renderer, ResultsJsonl, WideJsonl};
use crate::report::Report;
use crate::results::{CheckResult, Lines, StoredLine};
use crate::run_folder::{Appender, Checkpoint, FolderError, Manifest, RunFolder};
use crate::runner::{BlockOutput, Sink};

/// Where results or a report go.
pub struct Output {
    pub renderer: Arc<dyn Renderer>,
    pub to: Box<dyn Write + Send>,
    /// For messages: a path, or `stdout`.
    pub name: String,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output").field("name", &self.name).field("format", &self.renderer.name()).finish_non_exhaustive()
    }
}

/// An output on its way.
struct Open {
    output: Output,
    /// Records' pieces that wait for the report.
    kept: Option<File>,
    begun: bool,
    /// The reader at the other end has gone (`| head`); the run goes on without it.
    gone: bool,
}

pub(super) struct Writer {
    outputs: Vec<Open>,
    folder: Option<(RunFolder, Appender)>,
    stored_as: Option<Arc<dyn Renderer>>,
    fold: Fold,
    /// What the interrupted run had read; compared when the same block comes again.
    prefix: Option<Checkpoint>,
    at: Position,
    repeated_ids: u64,
}

impl Writer {
    pub(super) fn new(outputs: Vec<Output>, fold: Fold) -> Self {
        let outputs = outputs.into_iter().map(|output| Open { output, kept: None, begun: false, gone: false }).collect();
        Self { outputs, folder: None, stored_as: None, fold, prefix: None, at: Position::default(), repeated_ids: 0 }
    }

    /// What renders each record: the outputs in order, then the folder's lines.
    pub(super) fn renderers(&self) -> Renderers {
        let outputs = self.outputs.iter().map(|open| Arc::clone(&open.output.renderer));
        outputs.chain(self.stored_as.clone()).collect()
    }

    pub(super) fn folder(&self) -> Option<&RunFolder> {
        self.folder.as_ref().map(|(folder, _)| folder)
    }

    pub(super) const fn repeated_ids(&self) -> u64 {
        self.repeated_ids
    }

    /// The hash of all that was read.
    pub(super) fn input_hash(&self) -> Option<String> {
        (self.at.bytes > 0).then(|| hex(self.at.hash))
    }

    /// Keeps the results in a run's folder, from a checkpoint on.
    pub(super) fn store(&mut self, folder: RunFolder, from: &Checkpoint, wide: bool) -> Result<(), JobError> {
        let appender = folder.append(from)?;
        self.folder = Some((folder, appender));
        self.stored_as = Some(if wide { Arc::new(WideJsonl::default()) } else { Arc::new(ResultsJsonl) });
        Ok(())
    }

    /// Folds and writes again what an interrupted run had done.
    pub(super) fn take_up(&mut self, folder: &RunFolder, checkpoint: &Checkpoint) -> Result<(), JobError> {
        let mut lines = Lines::new(folder.results_until(checkpoint.results_bytes)?);
        let mut stored = StoredFold::new(self.fold.fresh());
        let mut record: Vec<CheckResult<'static>> = Vec::new();
        while let Some(line) = lines.next_line() {
            let line = line.map_err(|error| JobError::Usage(format!("{}: {error}", folder.results_path().display())))?;
            stored.push(&line);
            let cells: Vec<CheckResult<'static>> = match line {
                StoredLine::Narrow(line) => vec![line.into_owned()],
                StoredLine::Wide(line) => line.narrow().map(CheckResult::into_owned).collect(),
            };
            let same = |a: &CheckResult<'_>, b: &CheckResult<'_>| a.record == b.record && a.trial == b.trial && a.model == b.model;
            if let (Some(last), Some(first)) = (record.last(), cells.first())
                && !same(last, first)
            {
                self.write_stored(&record)?;
                record.clear();
            }
            record.extend(cells);
        }
        self.write_stored(&record)?;
        self.fold = stored.finish();
        self.prefix = Some(checkpoint.clone());
        Ok(())
    }

    fn write_stored(&mut self, record: &[CheckResult<'static>]) -> Result<(), JobError> {
        if record.is_empty() {
            return Ok(());
        }
        for open in &mut self.outputs {
            let mut piece = Vec::new();
            open.output.renderer.lines(record, &mut piece);
            open.record(&piece).map_err(|source| open.error(source))?;
        }
        Ok(())
    }

    /// Builds the report and ends every output.
    pub(super) fn finish(
        mut self,
        report: impl FnOnce(Fold) -> Report,
        manifest: &Manifest,
    ) -> Result<(Report, Option<RunFolder>), JobError> {
        let report = report(self.fold);
        if let Some((folder, appender)) = &mut self.folder {
            appender.sync().map_err(|source| JobError::Output { name: folder.results_path().display().to_string(), source })?;
            folder.write_report(&report)?;
            folder.write_manifest(manifest)?;
        }
        for open in &mut self.outputs {
            open.end(&report).map_err(|source| open.error(source))?;
        }
        Ok((report, self.folder.map(|(folder, _)| folder)))
    }
}

impl Sink for Writer {
    fn block(&mut self, block: BlockOutput) -> io::Result<()> {
        let BlockOutput { rendered, fold, bad, position, number, replayed, repeated_ids } = block;
        self.at = position;
        self.repeated_ids += repeated_ids;
        self.fold.merge(fold);
        if replayed {
            return self.compare(number, position);
        }
        for (open, piece) in self.outputs.iter_mut().zip(&rendered) {
            open.record(piece)?;
        }
        match (&mut self.folder, rendered.last()) {
            (Some((_, appender)), Some(lines)) => appender.block(lines, &bad, position.bytes, hex(position.hash)),
            _ => Ok(()),
        }
    }
}

impl Writer {
    /// Whether the data up to the checkpoint is what the interrupted run had read.
    fn compare(&self, number: u64, position: Position) -> io::Result<()> {
        match &self.prefix {
            Some(prefix) if number + 1 == prefix.blocks && hex(position.hash) != prefix.input_hash => {
                let id = self.folder().map(RunFolder::id).unwrap_or_default();
                let message = format!("the data changed within its first {} bytes; run it anew", prefix.input_bytes);
                Err(io::Error::other(FolderError::CannotResume { id, message }))
            }
            _ => Ok(()),
        }
    }
}

impl Open {
    fn record(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.output.renderer.needs_report_first() {
            let kept = match &mut self.kept {
                Some(kept) => kept,
                None => self.kept.insert(tempfile::tempfile()?),
            };
            return kept.write_all(piece);
        }
        self.begin()?;
        self.write(piece)
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let mut header = Vec::new();
        self.output.renderer.header(&mut header);
        self.write(&header)
    }

    fn end(&mut self, report: &Report) -> io::Result<()> {
        let mut piece = Vec::new();
        if self.output.renderer.needs_report_first() {
            self.output.renderer.prologue(report, &mut piece);
            self.write(&piece)?;
            if let Some(mut kept) = self.kept.take() {
                kept.rewind()?;
                self.copy(kept)?;
            }
        } else {
            self.begin()?;
        }
        piece.clear();
        self.output.renderer.footer(report, &mut piece);
        self.write(&piece)?;
        if self.gone { Ok(()) } else { self.output.to.flush() }
    }

    fn copy(&mut self, kept: File) -> io::Result<()> {
        let mut reader = BufReader::new(kept);
        let mut buffer = vec![0; 64 << 10];
        loop {
            let read = reader.read(&mut buffer)?;
            match buffer.get(..read) {
                Some([]) | None => return Ok(()),
                Some(piece) => self.write(piece)?,
            }
        }
    }

    fn write(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.gone || piece.is_empty() {
            return Ok(());
        }
        match self.output.to.write_all(piece) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(())
            }
            other => other,
        }
    }

    fn error(&self, source: io::Error) -> JobError {
        JobError::Output { name: self.output.name.clone(), source }
    }
}

fn hex(hash: u128) -> String {
    format!("{hash:032x}")
}
