//! `langsmith`: LangChain's feedback, a JSON line for each result.

use std::borrow::Cow;

use serde::Serialize;

use super::Renderer;
use super::render::push_json;
use crate::outcome::Verdict;
use crate::results::{CellView, CheckResult, RecordHead};

/// Writes `{key, score, value, comment, sourceRunId}`. Numbers and polarity are the evaluator's own, as
/// LangChain has them: neither a threshold nor `not` changes them. Skipped checks give no feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct LangSmith;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    key: &'a str,
    score: Option<f64>,
    value: Option<&'a str>,
    comment: Option<Cow<'a, str>>,
    /// The record's id: of a record that came from LangSmith, its run's.
    source_run_id: &'a str,
}

impl Renderer for LangSmith {
    fn name(&self) -> &'static str {
        "langsmith"
    }

    fn extension(&self) -> &'static str {
        "jsonl"
    }

    fn needs_explanations(&self) -> bool {
        true
    }

    fn record(&self, head: &RecordHead<'_>, cells: &[CellView<'_>], out: &mut Vec<u8>) {
        for view in cells {
            feedback(out, &CheckResult::of(head, view));
        }
    }

    fn lines(&self, lines: &[CheckResult<'_>], out: &mut Vec<u8>) {
        for line in lines {
            feedback(out, line);
        }
    }
}

fn feedback(out: &mut Vec<u8>, line: &CheckResult<'_>) {
    if line.skipped.is_some() {
        return;
    }
    let told = line
        .natural
        .or(line.verdict)
        .filter(|_| line.error.is_none());
    let comment = match &line.error {
        Some(error) => Some(format!("{}: {}", error.code, error.message).into()),
        None => line.reason.as_deref().map(Cow::Borrowed),
    };
    let feedback = Feedback {
        key: &line.check,
        score: line.score,
        value: line.label.as_deref().or(told.map(Verdict::as_str)),
        comment,
        source_run_id: &line.record,
    };
    push_json(out, &feedback);
    out.push(b'\n');
}
