//! Records one after the other as a run selects them, before anything is asked of them.

use bumpalo::Bump;

use super::{Plan, Row, rows, select, settle};
use crate::decode::Decoder;
use crate::fold::BadRecord;
use crate::format::Block;
use crate::record::Slots;
use crate::results::RecordHead;
use crate::stats::ids::IdTable;

/// Goes through the blocks of an input in their order: the same ids, trials and selection as in the walk.
pub(crate) struct Picker<'p> {
    plan: &'p Plan<'p>,
    decoder: Decoder<'p>,
    ids: IdTable,
    position: u64,
    counted: u64,
    pub(crate) other_shards: u64,
    /// Computed ids that other cases had before.
    pub(crate) repeated_ids: u64,
    /// Records that can be read and are not selected.
    pub(crate) passed_over: u64,
}

/// A selected record.
#[derive(Debug)]
pub(crate) struct Picked<'r> {
    /// Its JSON.
    pub(crate) text: &'r str,
    pub(crate) slots: &'r Slots<'r>,
    /// With its final id and trial.
    pub(crate) head: RecordHead<'r>,
    /// The record names its trial.
    pub(crate) trial_given: bool,
}

impl<'p> Picker<'p> {
    pub(crate) fn new(plan: &'p Plan<'p>) -> Self {
        Self {
            plan,
            decoder: Decoder::new(plan.mapping),
            ids: IdTable::new(),
            position: 0,
            counted: 0,
            other_shards: 0,
            repeated_ids: 0,
            passed_over: 0,
        }
    }

    /// The selected records of the next block, and those that can't be read.
    pub(crate) fn pick<'r>(
        &mut self,
        block: &'r Block,
        arena: &'r Bump,
    ) -> Vec<Result<Picked<'r>, BadRecord>> {
        let plan = self.plan;
        let rows = rows(plan, block, &mut self.decoder, arena);
        let mut picked = Vec::with_capacity(rows.len());
        for (row, record) in rows.into_iter().zip(block.records()) {
            self.position += 1;
            let mut read = match row {
                Row::Read(read) => read,
                Row::Bad(bad) => {
                    picked.push(Err(bad));
                    continue;
                }
            };
            if let Err(bad) = settle(plan, &mut read, self.position, &mut self.ids, arena) {
                picked.push(Err(bad));
                continue;
            }
            self.repeated_ids += u64::from(read.repeated);
            let selected = read.selected
                && select(plan, &mut self.counted, &mut self.other_shards, &read.head);
            match record.text {
                Ok(text) if selected => picked.push(Ok(Picked {
                    text,
                    slots: read.slots,
                    head: read.head,
                    trial_given: read.trial_given,
                })),
                _ => self.passed_over += 1,
            }
        }
        picked
    }

    /// Keys that are no field.
    pub(crate) fn unknown_keys(&self) -> impl Iterator<Item = &str> {
        self.decoder.unknown_keys()
    }
}
