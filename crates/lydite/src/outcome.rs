//! What judging one answer by one check can give: a score, a verdict, a skip or an error.
//!
//! A failure to judge is never a score: [`Cell::Errored`] has none, and [`Score`] cannot hold NaN.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::ModelErrorKind;
use crate::record::Field;

/// What a check says of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The answer meets the condition.
    Pass,
    /// It does not.
    Fail,
    /// Only some of it does.
    Partial,
    /// It could not be told; never counted as a score of 0.
    Inconclusive,
}

impl Verdict {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Partial => "partial",
            Self::Inconclusive => "inconclusive",
        }
    }

    pub const fn from_bool(pass: bool) -> Self {
        if pass { Self::Pass } else { Self::Fail }
    }

    /// Pass and fail swap; partial and inconclusive stay.
    pub const fn negated(self) -> Self {
        match self {
            Self::Pass => Self::Fail,
            Self::Fail => Self::Pass,
            other => other,
        }
    }

    /// The worse of two, in the order fail, inconclusive, partial, pass.
    pub fn worst(self, other: Self) -> Self {
        let badness = |verdict| match verdict {
            Self::Fail => 3,
            Self::Inconclusive => 2,
            Self::Partial => 1,
            Self::Pass => 0,
        };
        if badness(self) >= badness(other) {
            self
        } else {
            other
        }
    }
}

/// A finite number in the evaluator's own scale.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Score(f64);

impl Score {
    pub const ZERO: Self = Self(0.0);
    pub const ONE: Self = Self(1.0);

    /// `None` for NaN and the infinities. `-0` becomes `0`.
    pub fn new(value: f64) -> Option<Self> {
        value.is_finite().then_some(Self(value + 0.0))
    }

    /// A yes or no as 1 or 0.
    pub const fn from_bool(yes: bool) -> Self {
        if yes { Self::ONE } else { Self::ZERO }
    }

    pub const fn get(self) -> f64 {
        self.0
    }
}

/// Judging one answer by one check, before thresholds and `not`.
///
/// `flags` are the evaluator's warnings: bit *i* stands for `INFO.warnings[i]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    Scored {
        score: Option<Score>,
        natural: Option<Verdict>,
        flags: u16,
    },
    Skipped(Code),
    Errored(Code),
}

impl Cell {
    /// A yes-or-no evaluator's answer: 1 and pass, or 0 and fail.
    pub const fn binary(pass: bool) -> Self {
        Self::Scored {
            score: Some(Score::from_bool(pass)),
            natural: Some(Verdict::from_bool(pass)),
            flags: 0,
        }
    }

    /// A number without a verdict of its own; an error where it is not finite.
    pub fn measured(value: f64) -> Self {
        match Score::new(value) {
            Some(score) => Self::Scored {
                score: Some(score),
                natural: None,
                flags: 0,
            },
            None => Self::Errored(Code::NonFiniteNumber),
        }
    }

    /// The same with warning bit `bit` set where `on`.
    pub fn warn_if(self, on: bool, bit: u16) -> Self {
        match self {
            Self::Scored {
                score,
                natural,
                flags,
            } if on => Self::Scored {
                score,
                natural,
                flags: flags | 1 << bit,
            },
            other => other,
        }
    }

    pub fn score(&self) -> Option<f64> {
        match self {
            Self::Scored { score, .. } => score.map(Score::get),
            _ => None,
        }
    }
}

/// Why a cell has no score. Each has a stable snake_case name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// A field that the evaluator needs is not in the record.
    MissingField(Field),
    /// A value that a parameter is read from is not in the record.
    MissingPath,
    /// A field is there, but has no reading as text (an object, an image).
    NotText(Field),
    /// A field that must be JSON is not.
    NotJson(Field),
    /// JSON nested deeper than the limit, or otherwise outside what can be compared safely.
    JsonTooDeep(Field),
    /// A field has a value that the evaluator can't take (out of range, wrong shape).
    InvalidField(Field),
    /// A parameter that this record brought is unusable (a bad pattern, schema or number).
    InvalidParameter,
    /// An expression (`when`, `where`) could not be evaluated on this record.
    InvalidExpression,
    /// A pattern gave up at its backtracking limit.
    PatternLimit,
    /// A computation gave NaN or an infinity.
    NonFiniteNumber,
    /// The check's `when` is false for this record.
    WhenFalse,
    /// A field is there and empty, and the evaluator can't judge nothing.
    EmptyField(Field),
    /// No statement, chunk or criterion is there to be judged.
    NothingToJudge,
    /// The suite's target gave no answer to be judged.
    TargetFailed { retryable: bool },
    /// A model gave no usable answer.
    Model(ModelErrorKind),
    /// A judge's reply holds no verdict that can be read.
    JudgeUnreadable,
    /// A judge's reply holds several verdicts that differ.
    AmbiguousReply,
    /// A judge said that it can't tell.
    JudgeAbstained,
    /// A judge's verdict and score contradict each other.
    JudgeContradiction,
    /// A judge gave a number outside of the asked scale.
    ScoreOutOfRange,
    /// A judge gave more or fewer verdicts than items were asked.
    VerdictCountMismatch,
    /// The judges of a jury agree on no verdict.
    NoMajority,
    /// An embedding is all zero, so it has no direction.
    ZeroVector,
    /// Two embeddings differ in length.
    DimensionMismatch,
}

impl Code {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MissingField(_) | Self::MissingPath => "missing_field",
            Self::NotText(_) => "not_text",
            Self::NotJson(_) => "not_json",
            Self::JsonTooDeep(_) => "json_too_deep",
            Self::InvalidField(_) => "invalid_field",
            Self::InvalidParameter => "invalid_parameter",
            Self::InvalidExpression => "invalid_expression",
            Self::PatternLimit => "pattern_limit",
            Self::NonFiniteNumber => "non_finite_number",
            Self::WhenFalse => "when_false",
            Self::EmptyField(_) => "empty_field",
            Self::NothingToJudge => "nothing_to_judge",
            Self::TargetFailed { .. } => "target_failed",
            Self::Model(kind) => kind.as_str(),
            Self::JudgeUnreadable => "judge_unreadable",
            Self::AmbiguousReply => "ambiguous_reply",
            Self::JudgeAbstained => "judge_abstained",
            Self::JudgeContradiction => "judge_contradiction",
            Self::ScoreOutOfRange => "score_out_of_range",
            Self::VerdictCountMismatch => "verdict_count_mismatch",
            Self::NoMajority => "no_majority",
            Self::ZeroVector => "zero_vector",
            Self::DimensionMismatch => "dimension_mismatch",
        }
    }

    /// Whether the same call may go well later. Deterministic checks never do.
    pub const fn retryable(self) -> bool {
        match self {
            Self::TargetFailed { retryable } => retryable,
            Self::Model(kind) => kind.retryable(),
            Self::JudgeUnreadable
            | Self::AmbiguousReply
            | Self::JudgeAbstained
            | Self::JudgeContradiction
            | Self::ScoreOutOfRange
            | Self::VerdictCountMismatch
            | Self::NoMajority => true,
            _ => false,
        }
    }

    /// What to say where the evaluator has nothing more exact.
    pub fn message(self) -> Cow<'static, str> {
        match self {
            Self::MissingField(field) => format!(
                "the record has no `{field}`, which this check needs; add it, map it with `inputs:`, or set `on_missing: skip`"
            )
            .into(),
            Self::MissingPath => "the record lacks a value that a parameter is read from".into(),
            Self::NotText(field) => format!(
                "`{field}` has no reading as text; name the text inside it with `inputs: {{{field}: {field}.…}}`"
            )
            .into(),
            Self::NotJson(field) => format!("`{field}` is not JSON").into(),
            Self::JsonTooDeep(field) => format!("`{field}` is JSON nested deeper than 128 levels").into(),
            Self::InvalidField(field) => format!("`{field}` has a value that this evaluator can't take").into(),
            Self::InvalidParameter => "a parameter taken from the record is unusable".into(),
            Self::InvalidExpression => "the expression could not be evaluated on this record".into(),
            Self::PatternLimit => "the pattern gave up at its backtracking limit; write it without look-around".into(),
            Self::NonFiniteNumber => "the computation gave no finite number".into(),
            Self::WhenFalse => "`when` is false".into(),
            Self::EmptyField(field) => format!("`{field}` is empty, so there is nothing to judge").into(),
            Self::NothingToJudge => "there is nothing to judge".into(),
            Self::TargetFailed { .. } => "the target gave no answer".into(),
            Self::Model(_) => "the model gave no usable answer".into(),
            Self::JudgeUnreadable => "the judge's reply holds no verdict that can be read".into(),
            Self::AmbiguousReply => "the judge's reply holds several verdicts that differ".into(),
            Self::JudgeAbstained => "the judge said that it can't tell".into(),
            Self::JudgeContradiction => "the judge's verdict and score contradict each other".into(),
            Self::ScoreOutOfRange => "the judge's number is outside the asked scale".into(),
            Self::VerdictCountMismatch => "the judge gave more or fewer verdicts than were asked".into(),
            Self::NoMajority => "the judges agree on no verdict".into(),
            Self::ZeroVector => "an embedding is all zero, so it has no direction".into(),
            Self::DimensionMismatch => "two embeddings differ in length".into(),
        }
    }
}

/// Words and evidence beside a cell, made only when asked for; never changes the cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    pub label: Option<Cow<'static, str>>,
    pub reason: Option<Cow<'static, str>>,
    pub evidence: Vec<Evidence>,
    pub raw: Option<serde_json::Value>,
}

impl Explanation {
    pub fn reason(text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason: Some(text.into()),
            ..Self::default()
        }
    }

    pub fn with(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}

/// One piece of evidence: what kind it is, and its data under the field's usual names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// `span`, `path`, `leaf`, `missing`, `alternative`, ….
    pub kind: Cow<'static, str>,
    #[serde(flatten)]
    pub data: serde_json::Map<String, serde_json::Value>,
}

impl Evidence {
    pub fn new(kind: &'static str) -> Self {
        Self {
            kind: Cow::Borrowed(kind),
            data: serde_json::Map::new(),
        }
    }

    pub fn set(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.data.insert(key.to_owned(), value.into());
        self
    }

    /// Characters `[start, end)` of a text of the record.
    pub fn span(place: &str, start: usize, end: usize) -> Self {
        Self::new("span")
            .set("in", place)
            .set("start", start)
            .set("end", end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_always_finite() {
        assert!(Score::new(f64::NAN).is_none());
        assert!(Score::new(f64::INFINITY).is_none());
        assert!(Score::new(-0.0).unwrap().get().is_sign_positive());
        assert_eq!(
            Cell::measured(f64::NAN),
            Cell::Errored(Code::NonFiniteNumber)
        );
    }

    #[test]
    fn negation_swaps_pass_and_fail_only() {
        use Verdict::*;
        assert_eq!(
            [Pass, Fail, Partial, Inconclusive].map(Verdict::negated),
            [Fail, Pass, Partial, Inconclusive]
        );
    }

    #[test]
    fn the_worst_verdict_of_a_record() {
        use Verdict::*;
        assert_eq!(Pass.worst(Partial), Partial);
        assert_eq!(Partial.worst(Inconclusive), Inconclusive);
        assert_eq!(Inconclusive.worst(Fail), Fail);
        assert_eq!(Pass.worst(Pass), Pass);
    }
}
