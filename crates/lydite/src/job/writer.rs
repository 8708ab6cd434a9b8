//! Takes a run's blocks in order: into the run's folder, into the outputs, into the fold.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::sync::Arc;

use super::{JobError, Renderers};
use crate::fold::{Fold, StoredFold};
use crate::format::{OutputContext, OutputFormat, Position, Renderer};
use crate::report::Report;
use crate::results::CheckResult;
use crate::run_folder::{Appender, Checkpoint, FolderError, Manifest, RunFolder};
use crate::runner::{BlockOutput, Sink};
use crate::stored::for_each_record;
use crate::target::stage::Made;

/// Where results or a report go, and in which format.
pub struct Output {
    pub format: OutputFormat,
    pub to: Box<dyn Write + Send>,
    /// For messages: a path, or `stdout`.
    pub name: String,
    /// Whether text is coloured.
    pub color: bool,
}

impl std::fmt::Debug for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Output")
            .field("name", &self.name)
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// An output on its way.
struct Open {
    output: Output,
    renderer: Arc<dyn Renderer>,
    /// Records' pieces that wait for the report.
    kept: Option<File>,
    begun: bool,
    /// The reader at the other end has gone (`| head`); the run goes on without it.
    gone: bool,
}

/// Outputs that are written side by side.
pub(crate) struct OutputSet(Vec<Open>);

impl OutputSet {
    pub(crate) fn new(outputs: Vec<Output>, cx: &OutputContext<'_>) -> Self {
        let open = |output: Output| Open {
            renderer: output.format.renderer(cx, output.color),
            output,
            kept: None,
            begun: false,
            gone: false,
        };
        Self(outputs.into_iter().map(open).collect())
    }

    fn renderers(&self) -> impl Iterator<Item = Arc<dyn Renderer>> {
        self.0.iter().map(|open| Arc::clone(&open.renderer))
    }

    /// The stored lines of one record.
    pub(crate) fn stored(&mut self, record: &[CheckResult<'_>]) -> Result<(), JobError> {
        for open in &mut self.0 {
            let mut piece = Vec::new();
            open.renderer.lines(record, &mut piece);
            open.record(&piece).map_err(|source| open.error(source))?;
        }
        Ok(())
    }

    pub(crate) fn end(&mut self, report: &Report) -> Result<(), JobError> {
        for open in &mut self.0 {
            open.end(report).map_err(|source| open.error(source))?;
        }
        Ok(())
    }
}

pub(super) struct Writer {
    outputs: OutputSet,
    folder: Option<(RunFolder, Appender)>,
    stored_as: Option<Arc<dyn Renderer>>,
    fold: Fold,
    /// What the interrupted run had read; compared when the same block comes again.
    prefix: Option<Checkpoint>,
    at: Position,
    repeated_ids: u64,
    /// The folder's results are written beside those that are there.
    anew: bool,
}

impl Writer {
    pub(super) fn new(outputs: OutputSet, fold: Fold) -> Self {
        Self {
            outputs,
            folder: None,
            stored_as: None,
            fold,
            prefix: None,
            at: Position::default(),
            repeated_ids: 0,
            anew: false,
        }
    }

    /// What renders each record: the outputs in order, then the folder's lines.
    pub(super) fn renderers(&self) -> Renderers {
        self.outputs
            .renderers()
            .chain(self.stored_as.clone())
            .collect()
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

    /// Keeps the results in a run's folder, from a checkpoint on; `anew` in place of those that are there, which stay
    /// until the new ones are whole.
    pub(super) fn store(
        &mut self,
        folder: RunFolder,
        from: &Checkpoint,
        anew: bool,
        cx: &OutputContext<'_>,
    ) -> Result<(), JobError> {
        let appender = if anew {
            folder.append_anew()?
        } else {
            folder.append(from)?
        };
        self.anew = anew;
        self.folder = Some((folder, appender));
        self.stored_as = Some(OutputFormat::Jsonl.renderer(cx, false));
        Ok(())
    }

    /// Folds and writes again what an interrupted run had done.
    pub(super) fn take_up(
        &mut self,
        folder: &RunFolder,
        checkpoint: &Checkpoint,
    ) -> Result<(), JobError> {
        let mut stored = StoredFold::new(self.fold.fresh());
        for_each_record(folder.results_until(checkpoint.results_bytes)?, |record| {
            for line in record.iter() {
                stored.push_narrow(line);
            }
            self.outputs.stored(record)
        })?;
        self.fold = stored.finish();
        self.prefix = Some(checkpoint.clone());
        Ok(())
    }

    /// Takes what a target's input had beside the records that are judged.
    pub(super) fn input(&mut self, made: &Made) -> Result<(), JobError> {
        self.repeated_ids += made.repeated_ids;
        self.fold.more_records_read(made.passed_over);
        for bad in &made.bad {
            self.fold.bad_record(bad.clone());
        }
        match &mut self.folder {
            // A resumed run has written them before its first block.
            Some((folder, appender)) if self.prefix.is_none() => {
                appender.bad(&made.bad).map_err(|source| JobError::Output {
                    name: folder.path().display().to_string(),
                    source,
                })
            }
            _ => Ok(()),
        }
    }

    /// Builds the report and ends every output. `complete`: the data was judged to its end.
    pub(super) fn finish(
        mut self,
        report: impl FnOnce(Fold) -> Report,
        manifest: &Manifest,
        complete: bool,
    ) -> Result<(Report, Option<RunFolder>), JobError> {
        let report = report(self.fold);
        if let Some((folder, appender)) = &mut self.folder {
            appender.sync().map_err(|source| JobError::Output {
                name: folder.results_path().display().to_string(),
                source,
            })?;
            // Results that were to take the place of others do so when they are whole.
            if !self.anew || complete {
                if self.anew {
                    folder.replace_results()?;
                }
                folder.write_report(&report)?;
                folder.write_manifest(manifest)?;
            }
        }
        self.outputs.end(&report)?;
        Ok((report, self.folder.map(|(folder, _)| folder)))
    }
}

impl Sink for Writer {
    fn block(&mut self, block: BlockOutput) -> io::Result<()> {
        let BlockOutput {
            rendered,
            fold,
            bad,
            position,
            number,
            replayed,
            repeated_ids,
        } = block;
        self.at = position;
        self.repeated_ids += repeated_ids;
        self.fold.merge(fold);
        if replayed {
            return self.compare(number, position);
        }
        for (open, piece) in self.outputs.0.iter_mut().zip(&rendered) {
            open.record(piece)?;
        }
        match (&mut self.folder, rendered.last()) {
            (Some((_, appender)), Some(lines)) => {
                appender.block(lines, &bad, position.bytes, hex(position.hash))
            }
            _ => Ok(()),
        }
    }
}

impl Writer {
    /// Whether the data up to the checkpoint is what the interrupted run had read.
    fn compare(&self, number: u64, position: Position) -> io::Result<()> {
        match &self.prefix {
            Some(prefix)
                if number + 1 == prefix.blocks && hex(position.hash) != prefix.input_hash =>
            {
                Err(io::Error::other(self.data_changed(prefix)))
            }
            _ => Ok(()),
        }
    }

    /// Data that ends before the checkpoint is not what the interrupted run had read.
    pub(super) fn reached_prefix(&self) -> Result<(), JobError> {
        match &self.prefix {
            Some(prefix) if self.at.bytes < prefix.input_bytes => {
                Err(self.data_changed(prefix).into())
            }
            _ => Ok(()),
        }
    }

    fn data_changed(&self, prefix: &Checkpoint) -> FolderError {
        let id = self.folder().map(RunFolder::id).unwrap_or_default();
        FolderError::CannotResume {
            id,
            message: format!(
                "the data changed within its first {} bytes; run it anew",
                prefix.input_bytes
            ),
        }
    }
}

impl Open {
    fn record(&mut self, piece: &[u8]) -> io::Result<()> {
        if self.renderer.needs_report_first() {
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
        self.renderer.header(&mut header);
        self.write(&header)
    }

    fn end(&mut self, report: &Report) -> io::Result<()> {
        let mut piece = Vec::new();
        if self.renderer.needs_report_first() {
            self.renderer.prologue(report, &mut piece);
            self.write(&piece)?;
            if let Some(mut kept) = self.kept.take() {
                kept.rewind()?;
                self.copy(kept)?;
            }
        } else {
            self.begin()?;
        }
        piece.clear();
        self.renderer.footer(report, &mut piece);
        self.write(&piece)?;
        if self.gone {
            Ok(())
        } else {
            self.output.to.flush()
        }
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
        JobError::Output {
            name: self.output.name.clone(),
            source,
        }
    }
}

fn hex(hash: u128) -> String {
    format!("{hash:032x}")
}
