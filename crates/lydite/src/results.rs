//! Results as lines: one a record × check × repeat, or (`--wide`) one a record.
//!
//! Fields at their default are left out. `tags` and `cluster` stand where a record has them, and
//! `file` and `line` say where it was read, so that a report can be made again from the lines alone
//! (`regrade`, merging shards, `--resume`).

mod read;
mod regrade;
mod write;

use std::borrow::Cow;
use std::num::NonZeroU64;

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::read::{LineError, Lines, StoredLine};
pub(crate) use self::regrade::answer;
pub use self::regrade::{Standard, collapse_repeats, regrade};
pub use self::write::{WideWriter, write_result};

use crate::check::Judged;
use crate::evaluator::Warning;
use crate::judge;
use crate::model::Usage;
use crate::outcome::{Cell, Evidence, Verdict};

/// The version of the result lines' format.
pub const RESULT_VERSION: u32 = 1;

/// One answer judged by one check, as a line of `results.jsonl`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult<'a> {
    /// The case's id.
    #[serde(borrow)]
    pub record: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'a, str>>,
    /// 1 where left out.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub trial: u32,
    #[serde(borrow)]
    pub check: Cow<'a, str>,
    /// 1 where left out.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub repeat: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The evaluator's own verdict where a threshold or `not` replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural: Option<Verdict>,
    /// Finite, in the evaluator's own scale.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub label: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub evidence: Cow<'a, [Evidence]>,
    /// Codes of warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<serde_json::Value>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ResultError<'a>>,
    /// Why the check was not run.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Cow<'a, str>>,
    /// What models were asked for it, also where it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u32>,
    /// Every answer came from a cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cow<'a, str>>,
    /// Index into the run's data files; the first where left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub file: u32,
    /// The record's line there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<NonZeroU64>,
}

/// Why a cell is errored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResultError<'a> {
    /// A stable snake_case name.
    #[serde(borrow)]
    pub code: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retryable: bool,
}

/// One record with all its checks, as a line of a `--wide` file. Repeats are collapsed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WideResult<'a> {
    /// The case's id.
    #[serde(borrow)]
    pub record: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Cow<'a, str>>,
    /// 1 where left out.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub trial: u32,
    #[serde(borrow, default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Cow<'a, str>>,
    /// Index into the run's data files; the first where left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub file: u32,
    /// The record's line there, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<NonZeroU64>,
    /// By the check's name, in the checks' order.
    #[serde(borrow)]
    pub checks: IndexMap<Cow<'a, str>, WideCell<'a>>,
}

/// One check of a [`WideResult`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WideCell<'a> {
    /// Null where the check was skipped or only measures.
    #[serde(default)]
    pub verdict: Option<Verdict>,
    /// Finite, in the evaluator's own scale; null where there is none.
    #[serde(default)]
    pub score: Option<f64>,
    /// The evaluator's own verdict where a threshold or `not` replaced it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub natural: Option<Verdict>,
    /// The code of the error.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Cow<'a, str>>,
    /// Why the check was not run.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<Cow<'a, str>>,
}

impl<'a> WideResult<'a> {
    /// The narrow lines of one record as one, repeats collapsed; `None` where there are none.
    pub fn of(lines: &[CheckResult<'a>]) -> Option<Self> {
        let first = lines.first()?;
        let repeats = lines.chunk_by(|a, b| a.check == b.check);
        let cells = repeats.filter_map(collapse_repeats).map(|line| {
            let cell = WideCell {
                verdict: line.verdict,
                score: line.score,
                natural: line.natural,
                error: line.error.map(|error| error.code),
                skipped: line.skipped,
            };
            (line.check, cell)
        });
        Some(Self {
            record: first.record.clone(),
            model: first.model.clone(),
            trial: first.trial,
            tags: first.tags.clone(),
            cluster: first.cluster.clone(),
            file: first.file,
            line: first.line,
            checks: cells.collect(),
        })
    }

    /// The cells as narrow lines, in the order of the checks.
    pub fn narrow(&self) -> impl Iterator<Item = CheckResult<'_>> {
        self.checks.iter().map(|(check, cell)| CheckResult {
            record: Cow::Borrowed(&self.record),
            model: self.model.as_deref().map(Cow::Borrowed),
            trial: self.trial,
            check: Cow::Borrowed(check),
            repeat: 1,
            verdict: cell.verdict,
            natural: cell.natural,
            score: cell.score,
            error: cell.error.as_deref().map(|code| ResultError {
                code: code.into(),
                ..ResultError::default()
            }),
            skipped: cell.skipped.as_deref().map(Cow::Borrowed),
            tags: self.tags.iter().map(|tag| Cow::Borrowed(&**tag)).collect(),
            cluster: self.cluster.as_deref().map(Cow::Borrowed),
            file: self.file,
            line: self.line,
            ..CheckResult::default()
        })
    }
}

const fn one() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_one(n: &u32) -> bool {
    *n == 1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// A record's place in the run: what all of its result lines share.
#[derive(Clone, Copy, Debug)]
pub struct RecordHead<'a> {
    pub id: &'a str,
    pub model: Option<&'a str>,
    pub trial: u32,
    pub tags: &'a [&'a str],
    pub cluster: Option<&'a str>,
    /// Index into the run's input files, and the line there.
    pub file: u32,
    pub line: u64,
}

/// A record's cell with the check that gave it.
#[derive(Debug)]
pub struct CellView<'a> {
    /// The check's name.
    pub check: &'a str,
    pub info: &'static crate::evaluator::Info,
    pub judged: &'a Judged,
}

impl<'a> CheckResult<'a> {
    /// The line of one cell.
    pub fn of(head: &RecordHead<'a>, view: &CellView<'a>) -> Self {
        let judged = view.judged;
        let explanation = judged.explanation.as_ref();
        let reason = explanation.and_then(|e| e.reason.as_deref());
        let mut line = Self {
            record: head.id.into(),
            model: head.model.map(Cow::Borrowed),
            trial: head.trial,
            check: view.check.into(),
            repeat: judged.spent.as_ref().map_or(1, |spent| spent.repeat),
            verdict: judged.verdict,
            natural: judged.natural,
            usage: judged.spent.as_ref().map(|spent| spent.usage),
            took_ms: judged.spent.as_ref().map(|spent| spent.took_ms),
            cached: judged.spent.as_ref().is_some_and(|spent| spent.cached),
            tags: head.tags.iter().map(|tag| Cow::Borrowed(*tag)).collect(),
            cluster: head.cluster.map(Cow::Borrowed),
            file: head.file,
            line: NonZeroU64::new(head.line),
            ..Self::default()
        };
        match judged.cell {
            Cell::Scored { score, flags, .. } => {
                line.score = score.map(crate::outcome::Score::get);
                line.label = explanation
                    .and_then(|e| e.label.as_deref())
                    .map(Cow::Borrowed);
                line.reason = reason.map(Cow::Borrowed);
                line.evidence =
                    explanation.map_or(Cow::Borrowed(&[]), |e| Cow::Borrowed(&*e.evidence));
                line.raw = explanation.and_then(|e| e.raw.clone());
                line.warnings = warnings(view.info.warnings, flags)
                    .map(Cow::Borrowed)
                    .collect();
            }
            Cell::Skipped(code) => line.skipped = Some(code.as_str().into()),
            Cell::Errored(code) => {
                line.evidence =
                    explanation.map_or(Cow::Borrowed(&[]), |e| Cow::Borrowed(&*e.evidence));
                line.raw = explanation.and_then(|e| e.raw.clone());
                line.error = Some(ResultError {
                    code: code.as_str().into(),
                    message: reason.map_or_else(|| code.message(), Cow::Borrowed),
                    retryable: code.retryable(),
                });
            }
        }
        line
    }
}

impl CheckResult<'_> {
    /// The same, borrowing nothing.
    pub fn into_owned(self) -> CheckResult<'static> {
        fn own(text: Cow<'_, str>) -> Cow<'static, str> {
            Cow::Owned(text.into_owned())
        }
        CheckResult {
            record: own(self.record),
            model: self.model.map(own),
            trial: self.trial,
            check: own(self.check),
            repeat: self.repeat,
            verdict: self.verdict,
            natural: self.natural,
            score: self.score,
            label: self.label.map(own),
            reason: self.reason.map(own),
            evidence: Cow::Owned(self.evidence.into_owned()),
            warnings: self.warnings.into_iter().map(own).collect(),
            raw: self.raw,
            error: self.error.map(|error| ResultError {
                code: own(error.code),
                message: own(error.message),
                retryable: error.retryable,
            }),
            skipped: self.skipped.map(own),
            usage: self.usage,
            took_ms: self.took_ms,
            cached: self.cached,
            tags: self.tags.into_iter().map(own).collect(),
            cluster: self.cluster.map(own),
            file: self.file,
            line: self.line,
        }
    }
}

/// The codes of the warnings that `flags` stand for.
pub fn warnings(own: &'static [Warning], flags: u16) -> impl Iterator<Item = &'static str> {
    let own = own.iter().enumerate();
    let judges = judge::WARNINGS.iter().enumerate();
    own.chain(judges.map(|(bit, warning)| (bit + usize::from(judge::FIRST_FLAG), warning)))
        .filter(move |(bit, _)| flags & 1 << bit != 0)
        .map(|(_, warning)| warning.code)
}
