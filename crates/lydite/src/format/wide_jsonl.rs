//! `jsonl` under `--wide`: a line for each record, with all its checks.

use super::Renderer;
use super::render::push_json;
use crate::results::{CellView, CheckResult, RecordHead, WideResult, WideWriter};

/// Writes [`WideResult`]s, one a line.
#[derive(Clone, Debug, Default)]
pub struct WideJsonl {
    writer: WideWriter,
}

impl WideJsonl {
    /// For the suite's checks, in their order.
    pub fn new<'n>(checks: impl IntoIterator<Item = &'n str>) -> Self {
        Self {
            writer: WideWriter::new(checks),
        }
    }
}

impl Renderer for WideJsonl {
    fn name(&self) -> &'static str {
        "jsonl"
    }

    fn extension(&self) -> &'static str {
        "jsonl"
    }

    fn record(&self, head: &RecordHead<'_>, cells: &[CellView<'_>], out: &mut Vec<u8>) {
        self.writer.write(
            out,
            head,
            cells.iter().map(|view| (view.check, view.judged)),
        );
    }

    fn lines(&self, lines: &[CheckResult<'_>], out: &mut Vec<u8>) {
        if let Some(line) = WideResult::of(lines) {
            push_json(out, &line);
            out.push(b'\n');
        }
    }
}
