//! Gates, judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CheckReport, ErrorCounts, RunFacts, percent_up};
use crate::stats::CheckSummary;
use crate::suite::gate::{Allowance, Gate, Metric, Target, Unit, required_coverage};

/// One gate and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GateResult {
    /// As it stands in the suite.
    pub gate: String,
    pub status: GateStatus,
    /// The figure: a share in [0, 1], a count, or a number on the evaluator's scale; null where
    /// there is none.
    pub value: Option<f64>,
    /// What it is compared with, in the same unit.
    pub needed: f64,
    /// The coverage that a gate on a check asks for beside its own figure; null where it asks for none.
    pub coverage: Option<CoverageRule>,
    /// Why it was not met or has no value.
    pub reason: Option<String>,
}

/// What became of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GateStatus {
    Met,
    Missed,
    /// Its figure does not exist: a rate of nothing, the mean of a check without scores.
    NoValue,
    /// The run is a shard, or ended early.
    #[default]
    NotJudged,
}

impl GateStatus {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::NoValue => "no value",
            Self::NotJudged => "not judged",
        }
    }
}

/// The share of answers that must have a result for a figure over them to count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CoverageRule {
    /// In [0, 1]; null without answers.
    pub value: Option<f64>,
    pub needed: f64,
    pub met: bool,
    /// What to change to have it met.
    pub help: Option<String>,
}

/// Shares are compared with so much leeway, far below one answer in a billion: 1 - 0.07 is not 0.93.
const EPSILON: f64 = 1e-12;

/// Judges one of a run's gates.
pub(super) fn judge(
    gate: &Gate,
    all: &[Gate],
    max_errors: Option<Allowance>,
    run: &RunFacts,
    checks: &[CheckReport],
    errors: &ErrorCounts,
) -> GateResult {
    let result = GateResult { gate: gate.source.clone(), needed: gate.value, ..GateResult::default() };
    if run.shard.is_some() {
        return GateResult { reason: Some("gates are judged where the shards are merged".to_owned()), ..result };
    }
    if run.stopped.is_some() {
        return GateResult { reason: Some("the run ended early".to_owned()), ..result };
    }
    let name = match &gate.target {
        Target::Errors => return judge_value(gate, result, Ok(errors_value(gate, errors))),
        Target::Check(name) => name,
    };
    let Some(check) = checks.iter().find(|check| check.name == *name) else {
        return judge_value(gate, result, Err(format!("no record brought the check `{name}`")));
    };
    let result = judge_value(gate, result, figure(gate, check));
    match required_coverage(name, all, max_errors, errors.of) {
        Some(needed) if result.status != GateStatus::NoValue => {
            with_coverage(result, CoverageRule::new(check, needed, max_errors, errors))
        }
        _ => result,
    }
}

fn judge_value(gate: &Gate, result: GateResult, value: Result<f64, String>) -> GateResult {
    match value {
        Err(reason) => GateResult { status: GateStatus::NoValue, reason: Some(reason), ..result },
        Ok(value) if gate.compare(value) => GateResult { status: GateStatus::Met, value: Some(value), ..result },
        Ok(value) => GateResult { status: GateStatus::Missed, value: Some(value), ..result },
    }
}

fn with_coverage(result: GateResult, rule: CoverageRule) -> GateResult {
    if rule.met {
        return GateResult { coverage: Some(rule), ..result };
    }
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let reason = format!(
        "only {} of the answers have a result, where {} must",
        rule.value.map_or_else(|| "0".to_owned(), percent),
        percent(rule.needed)
    );
    GateResult { status: GateStatus::Missed, coverage: Some(rule), reason: Some(reason), ..result }
}

impl CoverageRule {
    fn new(check: &CheckReport, needed: f64, max_errors: Option<Allowance>, errors: &ErrorCounts) -> Self {
        let value = check.summary.coverage;
        let met = value.is_none_or(|value| value >= needed - EPSILON);
        let help = (!met).then(|| {
            let missing = 1.0 - value.unwrap_or(0.0);
            let percent = percent_up(missing.max(errors.share()));
            let covered = 100 - percent_up(missing).min(100);
            let option = if max_errors.is_some() { "" } else { "`errors <= {}%` or " }.replace("{}", &percent.to_string());
            format!(
                "{option}--max-errors {percent}% would allow it, and so would a gate of its own: `{}.coverage >= {covered}%`",
                check.name
            )
        });
        Self { value, needed, met, help }
    }
}

fn errors_value(gate: &Gate, errors: &ErrorCounts) -> f64 {
    if gate.unit == Unit::ShareOfCount { errors.share() } else { errors.count as f64 }
}

/// A check's figure in the gate's unit, or why there is none.
fn figure(gate: &Gate, check: &CheckReport) -> Result<f64, String> {
    let CheckReport { name, summary, .. } = check;
    let no_verdict = || {
        if summary.measured > 0 {
            format!("`{name}` only measures: it has no verdicts; give it a `threshold`")
        } else {
            format!("no answer was judged by `{name}`")
        }
    };
    let no_score = || format!("no answer has a score of `{name}`");
    let no_interval = || format!("`{name}` has too few answers for an interval");
    let count = |count: u64| match gate.unit {
        Unit::ShareOfCount if summary.n == 0 => Err(no_answer(summary, name)),
        Unit::ShareOfCount => Ok(count as f64 / summary.n as f64),
        Unit::Plain | Unit::Count => Ok(count as f64),
    };
    match gate.metric {
        Metric::PassRate => summary.pass_rate.map(|rate| rate.value).ok_or_else(no_verdict),
        Metric::PassRateLow => {
            summary.pass_rate.ok_or_else(no_verdict).and_then(|rate| rate.low.ok_or_else(no_interval))
        }
        Metric::Mean => summary.mean.map(|mean| mean.value).ok_or_else(no_score),
        Metric::MeanLow => summary.mean.ok_or_else(no_score).and_then(|mean| mean.low.ok_or_else(no_interval)),
        Metric::Median => summary.median.ok_or_else(no_score),
        Metric::P90 => summary.p90.ok_or_else(no_score),
        Metric::Coverage => summary.coverage.ok_or_else(|| no_answer(summary, name)),
        Metric::Inconclusive => count(summary.inconclusive),
        Metric::Errored => count(summary.errored),
    }
}

fn no_answer(summary: &CheckSummary, name: &str) -> String {
    if summary.skipped > 0 {
        format!("all {} answers were skipped by `{name}`", summary.skipped)
    } else {
        format!("`{name}` was not run on any answer")
    }
}
