//! What all writers of results and reports have in common.

use crate::report::Report;
use crate::results::{CellView, CheckResult, RecordHead};

/// Writes a run's results or its report in one format.
///
/// A whole output is [`header`](Self::header), then the pieces of all records in their order, then
/// [`footer`](Self::footer). Where [`needs_report_first`](Self::needs_report_first), the pieces are
/// kept until the run's end, and [`prologue`](Self::prologue) stands in the place of the header.
/// Each method appends to `out`.
pub trait Renderer: Send + Sync {
    /// As `--format` names it.
    fn name(&self) -> &'static str;

    /// The usual ending of its files, without a dot.
    fn extension(&self) -> &'static str;

    /// Whether cells must come with their reasons.
    fn needs_explanations(&self) -> bool {
        false
    }

    /// Whether it shows each repeat of a cell; else repeats come as one.
    fn shows_repeats(&self) -> bool {
        false
    }

    /// Whether nothing can be written before the report is there.
    fn needs_report_first(&self) -> bool {
        false
    }

    /// What stands before all records.
    fn header(&self, _out: &mut Vec<u8>) {}

    /// One record with its cells: the suite's checks in their order, then the record's own. Called
    /// from several threads at once, each with its own `out`.
    fn record(&self, _head: &RecordHead<'_>, _cells: &[CellView<'_>], _out: &mut Vec<u8>) {}

    /// The same from the stored lines of one record.
    fn lines(&self, _lines: &[CheckResult<'_>], _out: &mut Vec<u8>) {}

    /// What stands before all records and needs the report.
    fn prologue(&self, _report: &Report, _out: &mut Vec<u8>) {}

    /// What stands after all records; all there is where the format has nothing a record.
    fn footer(&self, _report: &Report, _out: &mut Vec<u8>) {}
}

/// Appends a value as JSON.
pub(super) fn push_json(out: &mut Vec<u8>, value: &(impl serde::Serialize + ?Sized)) {
    let before = out.len();
    // Plain data with text keys always serialises, and a Vec takes every byte.
    if serde_json::to_writer(&mut *out, value).is_err() {
        out.truncate(before);
    }
}
