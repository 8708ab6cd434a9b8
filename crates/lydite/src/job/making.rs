//! A run whose suite has a target: the outputs are made first, then the made records are walked.

use super::JobError;
use super::inputs::block_size;
use super::writer::Writer;
use crate::decode::Mapping;
use crate::fold::BadRecord;
use crate::format::{self, Block, BlockReader, InputError};
use crate::model::ModelSession;
use crate::path::FieldPath;
use crate::record::{Field, FieldSet};
use crate::runner::{self, Plan, RunEnd, Selection};
use crate::suite::Suite;
use crate::target::Target;
use crate::target::stage::{self, Layout, Made, Records, Stage};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// `--trials` takes the place of the target's own.
pub(super) fn adopt_trials(suite: &mut Suite, trials: Option<u32>) -> Result<(), JobError> {
    let Some(trials) = trials else { return Ok(()) };
    let Some(target) = &mut suite.target else {
        return Err(JobError::Usage(
            "--trials asks a target for several answers a case, and the suite has no `target`"
                .into(),
        ));
    };
    target.trials = trials.max(1);
    Ok(())
}

/// What asking needs of a record, and writing it again.
pub(super) fn want_asked(suite: &mut Suite) {
    let Some(target) = &suite.target else { return };
    let asked = FieldSet::of(&[
        Field::Query,
        Field::Messages,
        Field::Output,
        Field::LatencyMs,
        Field::CostUsd,
        Field::FinishReason,
    ]);
    let mut fields = suite.wanted.fields.union(asked).union(target.maker.gives());
    let mapped = suite.fields();
    for (field, _) in mapped.iter().filter(|(_, path)| !path.rest().is_empty()) {
        fields.insert(*field);
    }
    suite.wanted.fields = fields;
}

/// The suite's target with its model or application.
pub(super) fn bind<'s>(
    suite: &'s Suite,
    session: Option<&dyn ModelSession>,
    dry_run: bool,
) -> Result<Option<Target<'s>>, JobError> {
    match (&suite.target, session) {
        (Some(target), Some(session)) => Ok(Some(target.bind(session, dry_run)?)),
        _ => Ok(None),
    }
}

/// How the input and the made records are read.
#[derive(Debug)]
pub(super) struct Making<'m> {
    input: &'m Mapping,
    made: Mapping,
    fields: BTreeMap<Field, FieldPath>,
    gives: FieldSet,
}

impl<'m> Making<'m> {
    /// `None` where the suite has no target.
    pub(super) fn new(suite: &Suite, input: &'m Mapping) -> Option<Self> {
        let gives = suite.target.as_ref()?.maker.gives();
        let mut making = Self {
            input,
            made: input.clone(),
            fields: suite.fields(),
            gives,
        };
        making.made = input.with_own_names(making.layout().own_names());
        Some(making)
    }

    fn layout(&self) -> Layout<'_> {
        Layout {
            mapping: self.input,
            fields: &self.fields,
            gives: self.gives,
        }
    }
}

/// Both stages of the run.
pub(super) struct Walk<'w, 'p> {
    pub(super) plan: &'w mut Plan<'p>,
    pub(super) making: &'p Making<'p>,
    pub(super) target: &'w Target<'w>,
    pub(super) session: &'w dyn ModelSession,
    /// Where the made records are kept.
    pub(super) records: Option<PathBuf>,
    /// The number of the made records among the files.
    pub(super) file: usize,
}

impl Walk<'_, '_> {
    pub(super) fn run(
        self,
        reader: Box<dyn BlockReader>,
        writer: &mut Writer,
    ) -> Result<RunEnd, JobError> {
        let mut records = Records::open(self.records)?;
        let layout = self.making.layout();
        let stage = Stage {
            plan: self.plan,
            target: self.target,
            layout: &layout,
            made: &self.making.made,
            session: self.session,
        };
        let made = stage::make(&stage, reader, &mut records)?;
        if !made.complete {
            return Ok(ended_early(made, self.plan));
        }
        writer.input(&made)?;
        // All of it was selected, and every id stands in it.
        self.plan.mapping = &self.making.made;
        self.plan.condition = None;
        self.plan.selection = Selection::default();
        let source = records.source()?;
        let reader = Numbered {
            reader: format::open(vec![source], block_size(self.plan.session.is_some()))?,
            file: u32::try_from(self.file).unwrap_or(u32::MAX),
        };
        let end = runner::run(self.plan, Box::new(reader), writer)?;
        Ok(RunEnd {
            unknown_keys: made.unknown_keys,
            other_shards: made.other_shards,
            ..end
        })
    }
}

/// A run that ends before the first record is judged.
fn ended_early(made: Made, plan: &Plan<'_>) -> RunEnd {
    RunEnd {
        interrupted: plan.stop.load(Ordering::Relaxed),
        unknown_keys: made.unknown_keys,
        refused: made.refused.filter(|_: &BadRecord| plan.strict),
        complete: false,
        other_shards: made.other_shards,
        halted: made.halted,
    }
}

/// Blocks of one file as those of another number.
#[derive(Debug)]
struct Numbered {
    reader: format::Reader,
    file: u32,
}

impl BlockReader for Numbered {
    fn next_block(&mut self, block: &mut Block) -> Result<bool, InputError> {
        let more = self.reader.next_block(block)?;
        block.file = self.file;
        Ok(more)
    }
}
