//! `junit`: a test case for each result, for the pages where a build shows its tests.
//!
//! There is no standard; this keeps to what Jenkins, GitLab and GitHub's actions read alike. A partial
//! verdict is a failure and an inconclusive one an error. Gates and records that could not be judged
//! are suites of their own.

use std::fmt::Write as _;

use super::Renderer;
use super::xml::{push_attribute, push_text};
use crate::outcome::Verdict;
use crate::report::{BadRecordReport, GateResult, GateStatus, Report};
use crate::results::{CellView, CheckResult, RecordHead};

/// Writes JUnit's XML.
#[derive(Clone, Debug, Default)]
pub struct Junit {
    files: Vec<String>,
}

impl Junit {
    /// `files`: the run's input files, whose lines test cases are said to stand in.
    pub fn new(files: Vec<String>) -> Self {
        Self { files }
    }
}

impl Renderer for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn extension(&self) -> &'static str {
        "xml"
    }

    fn needs_explanations(&self) -> bool {
        true
    }

    fn needs_report_first(&self) -> bool {
        true
    }

    fn record(&self, head: &RecordHead<'_>, cells: &[CellView<'_>], out: &mut Vec<u8>) {
        for view in cells {
            self.result(out, &CheckResult::of(head, view));
        }
    }

    fn lines(&self, lines: &[CheckResult<'_>], out: &mut Vec<u8>) {
        for line in lines {
            self.result(out, line);
        }
    }

    fn prologue(&self, report: &Report, out: &mut Vec<u8>) {
        let results = Counts::of_results(report);
        let all = results
            .and(Counts::of_bad_records(report))
            .and(Counts::of_gates(&report.gates));
        out.extend_from_slice(b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
        push_attribute(out, "name", name(report));
        all.push(out);
        out.extend_from_slice(b">\n<testsuite");
        push_attribute(out, "name", name(report));
        results.push(out);
        if !report.run.started_at.is_empty() {
            push_attribute(out, "timestamp", &report.run.started_at);
        }
        out.extend_from_slice(b">\n");
    }

    fn footer(&self, report: &Report, out: &mut Vec<u8>) {
        out.extend_from_slice(b"</testsuite>\n");
        if report.records.bad > 0 {
            suite(out, "records", Counts::of_bad_records(report), |out| {
                bad_records(out, report);
            });
        }
        if !report.gates.is_empty() {
            suite(out, "gates", Counts::of_gates(&report.gates), |out| {
                for one in &report.gates {
                    gate(out, one);
                }
            });
        }
        out.extend_from_slice(b"</testsuites>\n");
    }
}

fn name(report: &Report) -> &str {
    report.run.suite.as_deref().unwrap_or("lydite")
}

/// The numbers that a suite's attributes say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

impl Counts {
    fn of_results(report: &Report) -> Self {
        report
            .checks
            .iter()
            .map(|check| &check.summary)
            .fold(Self::default(), |counts, summary| {
                counts.and(Self {
                    tests: summary.n - summary.not_run.unwrap_or(0),
                    failures: summary.failed + summary.partial,
                    errors: summary.inconclusive + summary.errored,
                    skipped: summary.skipped,
                })
            })
    }

    /// One for each that is shown, and one for all the others.
    fn of_bad_records(report: &Report) -> Self {
        let shown = report.bad_records.len() as u64;
        let cases = shown + u64::from(report.records.bad > shown);
        Self {
            tests: cases,
            errors: cases,
            ..Self::default()
        }
    }

    fn of_gates(gates: &[GateResult]) -> Self {
        let count = |status| gates.iter().filter(|gate| gate.status == status).count() as u64;
        Self {
            tests: gates.len() as u64,
            failures: count(GateStatus::Missed),
            errors: count(GateStatus::NoValue),
            skipped: count(GateStatus::NotJudged),
        }
    }

    const fn and(self, other: Self) -> Self {
        Self {
            tests: self.tests + other.tests,
            failures: self.failures + other.failures,
            errors: self.errors + other.errors,
            skipped: self.skipped + other.skipped,
        }
    }

    fn push(self, out: &mut Vec<u8>) {
        let all = [
            ("tests", self.tests),
            ("failures", self.failures),
            ("errors", self.errors),
            ("skipped", self.skipped),
        ];
        for (name, count) in all {
            push_attribute(out, name, &count.to_string());
        }
    }
}

fn suite(out: &mut Vec<u8>, name: &str, counts: Counts, cases: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"<testsuite");
    push_attribute(out, "name", name);
    counts.push(out);
    out.extend_from_slice(b">\n");
    cases(out);
    out.extend_from_slice(b"</testsuite>\n");
}

/// What a test case holds: the element, its `type` and its text.
type Outcome<'a> = Option<(&'static str, &'a str, &'a str)>;

impl Junit {
    fn result(&self, out: &mut Vec<u8>, line: &CheckResult<'_>) {
        let file = self.files.get(line.file as usize);
        let place = file
            .zip(line.line)
            .map(|(file, line)| (file.as_str(), line.get()));
        let mut name = line.record.clone().into_owned();
        if let Some(model) = &line.model {
            let _ = write!(name, " [{model}]");
        }
        for (what, n) in [("trial", line.trial), ("repeat", line.repeat)] {
            if n > 1 {
                let _ = write!(name, " {what} {n}");
            }
        }
        test_case(out, &name, &line.check, place, outcome(line));
    }
}

fn outcome<'a>(line: &'a CheckResult<'_>) -> Outcome<'a> {
    let reason = line.reason.as_deref().unwrap_or_default();
    if let Some(error) = &line.error {
        return Some(("error", &error.code, &error.message));
    }
    if let Some(skipped) = &line.skipped {
        return Some(("skipped", "", skipped));
    }
    match line.verdict {
        Some(Verdict::Pass) => None,
        Some(verdict @ (Verdict::Fail | Verdict::Partial)) => {
            Some(("failure", verdict.as_str(), reason))
        }
        None if line.score.is_some() => None,
        Some(Verdict::Inconclusive) | None => Some(("error", "inconclusive", reason)),
    }
}

fn bad_records(out: &mut Vec<u8>, report: &Report) {
    for BadRecordReport {
        file,
        line,
        column,
        field,
        message,
        hint,
    } in &report.bad_records
    {
        let file = file.as_deref().unwrap_or("-");
        let field = field
            .as_ref()
            .map(|field| format!("{field}: "))
            .unwrap_or_default();
        let hint = hint
            .as_ref()
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        let text = format!("{file}:{line}:{column}: {field}{message}{hint}");
        let name = format!("{file}:{line}");
        test_case(
            out,
            &name,
            "record",
            Some((file, *line)),
            Some(("error", "bad_record", &text)),
        );
    }
    let more = report
        .records
        .bad
        .saturating_sub(report.bad_records.len() as u64);
    if more > 0 {
        let text = format!("{more} more records could not be judged");
        test_case(
            out,
            "more",
            "record",
            None,
            Some(("error", "bad_record", &text)),
        );
    }
}

fn gate(out: &mut Vec<u8>, gate: &GateResult) {
    let value = gate
        .value
        .map_or_else(|| "no value".to_owned(), |value| format!("value {value}"));
    let coverage = gate.coverage.as_ref().and_then(|rule| rule.help.as_deref());
    let text = [gate.reason.as_deref(), coverage]
        .into_iter()
        .flatten()
        .fold(value, |text, more| text + "; " + more);
    let outcome = match gate.status {
        GateStatus::Met => None,
        GateStatus::Missed => Some(("failure", "missed", text.as_str())),
        GateStatus::NoValue => Some(("error", "no_value", text.as_str())),
        GateStatus::NotJudged => Some(("skipped", "", gate.reason.as_deref().unwrap_or_default())),
    };
    test_case(out, &gate.gate, "gate", None, outcome);
}

fn test_case(
    out: &mut Vec<u8>,
    name: &str,
    class: &str,
    place: Option<(&str, u64)>,
    outcome: Outcome<'_>,
) {
    out.extend_from_slice(b"<testcase");
    push_attribute(out, "name", name);
    push_attribute(out, "classname", class);
    if let Some((file, line)) = place {
        push_attribute(out, "file", file);
        push_attribute(out, "line", &line.to_string());
    }
    let Some((element, kind, text)) = outcome else {
        out.extend_from_slice(b"/>\n");
        return;
    };
    out.extend_from_slice(b"><");
    out.extend_from_slice(element.as_bytes());
    if !kind.is_empty() {
        push_attribute(out, "type", kind);
    }
    push_attribute(out, "message", text.lines().next().unwrap_or(kind));
    if element == "skipped" || text.is_empty() {
        out.extend_from_slice(b"/></testcase>\n");
        return;
    }
    out.push(b'>');
    push_text(out, text);
    out.extend_from_slice(b"</");
    out.extend_from_slice(element.as_bytes());
    out.extend_from_slice(b"></testcase>\n");
}
