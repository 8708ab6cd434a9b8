//! `jsonl`: a line for each record, check and repeat, as in a run's `results.jsonl`.

use super::Renderer;
use crate::results::{CellView, CheckResult, RecordHead, write_result};

/// Writes [`CheckResult`]s, one a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResultsJsonl;

impl Renderer for ResultsJsonl {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn extension(&self) -> &'static str {
        "jsonl"
    }

    fn shows_repeats(&self) -> bool {
        true
    }

    fn needs_explanations(&self) -> bool {
        true
    }

    fn record(&self, head: &RecordHead<'_>, cells: &[CellView<'_>], out: &mut Vec<u8>) {
        for view in cells {
            write_result(out, &CheckResult::of(head, view));
        }
    }

    fn lines(&self, lines: &[CheckResult<'_>], out: &mut Vec<u8>) {
        for line in lines {
            write_result(out, line);
        }
    }
}
