//! `csv`: results as a table (RFC 4180), a row for each result or, under `--wide`, for each record.
//!
//! Cells are written as they are. A text that begins with `=`, `+`, `-` or `@` is a formula to a
//! spreadsheet: import a file with outputs of untrusted users as text.

use std::collections::BTreeMap;

use super::Renderer;
use super::render::push_json;
use crate::results::{CellView, CheckResult, RecordHead, WideCell, WideResult};

/// A row for each record, check and repeat.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResultsCsv;

const COLUMNS: [&str; 16] = [
    "record",
    "model",
    "trial",
    "check",
    "repeat",
    "verdict",
    "natural",
    "score",
    "label",
    "reason",
    "warnings",
    "error",
    "error_message",
    "skipped",
    "tags",
    "cluster",
];

impl Renderer for ResultsCsv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn extension(&self) -> &'static str {
        "csv"
    }

    fn needs_explanations(&self) -> bool {
        true
    }

    fn header(&self, out: &mut Vec<u8>) {
        let mut row = Row::new(out);
        for name in COLUMNS {
            row.text(name);
        }
        row.end();
    }

    fn record(&self, head: &RecordHead<'_>, cells: &[CellView<'_>], out: &mut Vec<u8>) {
        for view in cells {
            write_line(out, &CheckResult::of(head, view));
        }
    }

    fn lines(&self, lines: &[CheckResult<'_>], out: &mut Vec<u8>) {
        for line in lines {
            write_line(out, line);
        }
    }
}

fn write_line(out: &mut Vec<u8>, line: &CheckResult<'_>) {
    let mut row = Row::new(out);
    row.text(&line.record);
    row.optional(line.model.as_deref());
    row.number(line.trial);
    row.text(&line.check);
    row.number(line.repeat);
    row.optional(line.verdict.map(crate::outcome::Verdict::as_str));
    row.optional(line.natural.map(crate::outcome::Verdict::as_str));
    row.score(line.score);
    row.optional(line.label.as_deref());
    row.optional(line.reason.as_deref());
    row.list(&line.warnings);
    row.optional(line.error.as_ref().map(|error| &*error.code));
    row.optional(line.error.as_ref().map(|error| &*error.message));
    row.optional(line.skipped.as_deref());
    row.list(&line.tags);
    row.optional(line.cluster.as_deref());
    row.end();
}

/// A row for each record: five columns for each of the suite's checks, and the checks that records
/// brought as JSON in the last column, `other_checks`.
#[derive(Clone, Debug, Default)]
pub struct WideCsv {
    checks: Vec<String>,
}

const CELL_COLUMNS: [&str; 5] = ["verdict", "score", "natural", "error", "skipped"];

impl WideCsv {
    /// For the suite's checks, in their order.
    pub fn new<'n>(checks: impl IntoIterator<Item = &'n str>) -> Self {
        Self {
            checks: checks.into_iter().map(str::to_owned).collect(),
        }
    }

    fn write(&self, out: &mut Vec<u8>, record: &WideResult<'_>) {
        let mut row = Row::new(out);
        row.text(&record.record);
        row.optional(record.model.as_deref());
        row.number(record.trial);
        row.list(&record.tags);
        row.optional(record.cluster.as_deref());
        let none = WideCell::default();
        for name in &self.checks {
            let cell = record.checks.get(name.as_str()).unwrap_or(&none);
            row.optional(cell.verdict.map(crate::outcome::Verdict::as_str));
            row.score(cell.score);
            row.optional(cell.natural.map(crate::outcome::Verdict::as_str));
            row.optional(cell.error.as_deref());
            row.optional(cell.skipped.as_deref());
        }
        let others: BTreeMap<&str, &WideCell<'_>> = record
            .checks
            .iter()
            .map(|(name, cell)| (&**name, cell))
            .filter(|(name, _)| !self.checks.iter().any(|known| known == name))
            .collect();
        if others.is_empty() {
            row.optional(None);
        } else {
            let mut json = Vec::new();
            push_json(&mut json, &others);
            row.bytes(&json);
        }
        row.end();
    }
}

impl Renderer for WideCsv {
    fn name(&self) -> &'static str {
        "csv"
    }

    fn extension(&self) -> &'static str {
        "csv"
    }

    fn header(&self, out: &mut Vec<u8>) {
        let mut row = Row::new(out);
        for name in ["record", "model", "trial", "tags", "cluster"] {
            row.text(name);
        }
        for check in &self.checks {
            for column in CELL_COLUMNS {
                row.text(&format!("{check}.{column}"));
            }
        }
        row.text("other_checks");
        row.end();
    }

    fn record(&self, head: &RecordHead<'_>, cells: &[CellView<'_>], out: &mut Vec<u8>) {
        let lines: Vec<CheckResult<'_>> = cells
            .iter()
            .map(|view| CheckResult::of(head, view))
            .collect();
        self.lines(&lines, out);
    }

    fn lines(&self, lines: &[CheckResult<'_>], out: &mut Vec<u8>) {
        if let Some(record) = WideResult::of(lines) {
            self.write(out, &record);
        }
    }
}

/// A row that is being written.
struct Row<'o> {
    out: &'o mut Vec<u8>,
    first: bool,
}

impl<'o> Row<'o> {
    fn new(out: &'o mut Vec<u8>) -> Self {
        Self { out, first: true }
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn optional(&mut self, text: Option<&str>) {
        self.text(text.unwrap_or_default());
    }

    fn number(&mut self, number: u32) {
        self.text(&number.to_string());
    }

    fn score(&mut self, score: Option<f64>) {
        match score.filter(|score| score.is_finite()) {
            Some(score) => self.text(zmij::Buffer::new().format_finite(score)),
            None => self.text(""),
        }
    }

    /// A list as JSON, so that no separator is ambiguous.
    fn list(&mut self, list: &[std::borrow::Cow<'_, str>]) {
        if list.is_empty() {
            return self.text("");
        }
        let mut json = Vec::new();
        push_json(&mut json, list);
        self.bytes(&json);
    }

    /// Quotes where RFC 4180 asks for it, and around spaces at the ends, which some readers trim.
    fn bytes(&mut self, cell: &[u8]) {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        let special = |byte: &u8| matches!(byte, b',' | b'"' | b'\r' | b'\n');
        if !cell.iter().any(special) && cell.trim_ascii().len() == cell.len() {
            self.out.extend_from_slice(cell);
            return;
        }
        self.out.push(b'"');
        for &byte in cell {
            if byte == b'"' {
                self.out.push(b'"');
            }
            self.out.push(byte);
        }
        self.out.push(b'"');
    }

    /// RFC 4180 ends rows with CR LF.
    fn end(self) {
        self.out.extend_from_slice(b"\r\n");
    }
}
