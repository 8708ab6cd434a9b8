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
    let result = GateResult {
        gate: gate.source.clone(),
        needed: gate.value,
        ..GateResult::default()
    };
    if run.shard.is_some() {
        return GateResult {
            reason: Some("gates are judged where the shards are merged".to_owned()),
            ..result
        };
    }
    if run.stopped.is_some() {
        return GateResult {
            reason: Some("the run ended early".to_owned()),
            ..result
        };
    }
    let name = match &gate.target {
        Target::Errors => return judge_value(gate, result, Ok(errors_value(gate, errors))),
        Target::Check(name) => name,
    };
    let Some(check) = checks.iter().find(|check| check.name == *name) else {
        return judge_value(
            gate,
            result,
            Err(format!("no record brought the check `{name}`")),
        );
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
        Err(reason) => GateResult {
            status: GateStatus::NoValue,
            reason: Some(reason),
            ..result
        },
        Ok(value) if gate.compare(value) => GateResult {
            status: GateStatus::Met,
            value: Some(value),
            ..result
        },
        Ok(value) => GateResult {
            status: GateStatus::Missed,
            value: Some(value),
            ..result
        },
    }
}

fn with_coverage(result: GateResult, rule: CoverageRule) -> GateResult {
    if rule.met {
        return GateResult {
            coverage: Some(rule),
            ..result
        };
    }
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let reason = format!(
        "only {} of the answers have a result, where {} must",
        rule.value.map_or_else(|| "0".to_owned(), percent),
        percent(rule.needed)
    );
    GateResult {
        status: GateStatus::Missed,
        coverage: Some(rule),
        reason: Some(reason),
        ..result
    }
}

impl CoverageRule {
    fn new(
        check: &CheckReport,
        needed: f64,
        max_errors: Option<Allowance>,
        errors: &ErrorCounts,
    ) -> Self {
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
        Self {
            value,
            needed,
            met,
            help,
        }
    }
}

fn errors_value(gate: &Gate, errors: &ErrorCounts) -> f64 {
    if gate.unit == Unit::ShareOfCount {
        errors.share()
    } else {
        errors.count as f64
    }
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
        Metric::PassRate => summary
            .pass_rate
            .map(|rate| rate.value)
            .ok_or_else(no_verdict),
        Metric::PassRateLow => summary
            .pass_rate
            .ok_or_else(no_verdict)
            .and_then(|rate| rate.low.ok_or_else(no_interval)),
        Metric::Mean => summary.mean.map(|mean| mean.value).ok_or_else(no_score),
        Metric::MeanLow => summary
            .mean
            .ok_or_else(no_score)
            .and_then(|mean| mean.low.ok_or_else(no_interval)),
        Metric::Median => summary.median.ok_or_else(no_score),
        Metric::P90 => summary.p90.ok_or_else(no_score),
        Metric::Coverage => summary.coverage.ok_or_else(|| no_answer(summary, name)),
        Metric::Inconclusive => count(summary.inconclusive),
        Metric::Errored => count(summary.errored),
        Metric::Cost => check
            .usage
            .and_then(|usage| usage.cost_usd)
            .ok_or_else(|| format!("what `{name}` cost is not known: its models have no price")),
    }
}

fn no_answer(summary: &CheckSummary, name: &str) -> String {
    if summary.skipped > 0 {
        format!("all {} answers were skipped by `{name}`", summary.skipped)
    } else {
        format!("`{name}` was not run on any answer")
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ReportOptions, Stop, testing};
    use super::*;
    use GateStatus::{Met, Missed, NoValue, NotJudged};

    fn judged(letters: &str, gates: &[&str], max_errors: Option<&str>) -> Vec<GateResult> {
        let max_errors = max_errors.map(|text| text.parse().unwrap());
        testing::report(
            &[("a", letters)],
            gates,
            ReportOptions {
                max_errors,
                ..ReportOptions::default()
            },
        )
        .gates
    }

    #[test]
    fn figures_against_bounds() {
        let cases: &[(&str, &str, GateStatus, Option<f64>)] = &[
            ("pppf", "a.pass_rate >= 0.75", Met, Some(0.75)),
            ("pppf", "a.pass_rate >= 75%", Met, Some(0.75)),
            ("pppf", "a.pass_rate > 75%", Missed, Some(0.75)),
            ("pprr", "a.pass_rate >= 0.6", Missed, Some(0.5)),
            (
                "pppf",
                "a.pass_rate.low >= 0.5",
                Missed,
                Some(0.300_641_842_582_402_44),
            ),
            ("pppf", "a.mean >= 0.7", Met, Some(0.75)),
            ("pfm", "a.mean == 0.5", Met, Some(0.5)),
            ("pfm", "a.median <= 0.5", Met, Some(0.5)),
            ("pfm", "a.p90 <= 0.5", Missed, Some(0.9)),
            ("ppi", "a.coverage >= 100%", Missed, Some(2.0 / 3.0)),
            ("pps", "a.coverage >= 100%", Met, Some(1.0)),
            ("ppi", "a.inconclusive <= 1", Met, Some(1.0)),
            ("ppii", "a.inconclusive <= 25%", Missed, Some(0.5)),
            ("ppee", "a.errored <= 1", Missed, Some(2.0)),
            ("ppee", "errors <= 50%", Met, Some(0.5)),
            ("ppeb", "errors <= 2", Met, Some(2.0)),
            ("ppeb", "errors < 50%", Missed, Some(0.5)),
            // Without a value.
            ("mm", "a.pass_rate >= 0.5", NoValue, None),
            ("ii", "a.pass_rate >= 0.5", NoValue, None),
            ("ii", "a.mean >= 0.5", NoValue, None),
            ("p", "a.mean.low >= 0.5", NoValue, None),
            ("ss", "a.coverage >= 0.5", NoValue, None),
            ("pp", "brought.pass_rate >= 0.5", NoValue, None),
        ];
        for (letters, gate, status, value) in cases {
            // A gate on coverage of its own, so that only the figure counts.
            let gates = judged(letters, &[gate, "a.coverage >= 0"], Some("100%"));
            assert_eq!(gates[0].status, *status, "{letters} {gate}: {:?}", gates[0]);
            let close = match (gates[0].value, value) {
                (Some(value), Some(expected)) => (value - expected).abs() < 1e-12,
                (value, expected) => value == *expected,
            };
            assert!(close, "{letters} {gate}: {:?}", gates[0].value);
            assert_eq!(*status == NoValue, gates[0].reason.is_some());
        }
    }

    #[test]
    fn a_gate_on_a_check_asks_for_coverage() {
        // Letters, other gates, --max-errors, status, coverage that was needed, the line that changes it.
        type Case = (
            &'static str,
            &'static [&'static str],
            Option<&'static str>,
            GateStatus,
            f64,
            &'static str,
        );
        let hundred = |uncovered: &str| "p".repeat(100 - uncovered.len()) + uncovered;
        let cases: &[Case] = &[
            ("i", &[], None, Met, 0.99, ""),
            (
                "ii",
                &[],
                None,
                Missed,
                0.99,
                "`errors <= 2%` or --max-errors 2% would allow it",
            ),
            ("ii", &["errors <= 2%"], None, Met, 0.98, ""),
            ("ii", &["errors <= 2"], None, Met, 0.98, ""),
            (
                "iii",
                &["errors <= 2%"],
                None,
                Missed,
                0.98,
                "`errors <= 3%` or --max-errors 3% would allow it",
            ),
            (
                "iii",
                &["errors <= 50%"],
                Some("1%"),
                Missed,
                0.99,
                "--max-errors 3% would allow it",
            ),
            ("eeeeeee", &[], Some("7%"), Met, 0.93, ""),
            (
                "eeeeeeee",
                &[],
                Some("7%"),
                Missed,
                0.93,
                "--max-errors 8% would allow it",
            ),
            // No stricter than 0.99 where no error is allowed.
            ("e", &["errors <= 0"], None, Met, 0.99, ""),
            ("ssssssssss", &[], None, Met, 0.99, ""),
        ];
        for (uncovered, others, max_errors, status, needed, help) in cases {
            let gates = [&["a.pass_rate >= 0.5"], *others].concat();
            let gate = judged(&hundred(uncovered), &gates, *max_errors).remove(0);
            let rule = gate.coverage.as_ref().unwrap();
            assert_eq!(
                (gate.status, rule.met),
                (*status, *status == Met),
                "{uncovered} {others:?} {rule:?}"
            );
            assert!(
                (rule.needed - needed).abs() < 1e-12,
                "{uncovered} {others:?} {rule:?}"
            );
            assert!(
                rule.help.as_deref().unwrap_or_default().starts_with(help),
                "{uncovered} {others:?} {rule:?}"
            );
            assert_eq!(help.is_empty(), rule.help.is_none());
        }
    }

    #[test]
    fn the_line_that_a_missed_coverage_prints_is_enough() {
        for uncovered in 2..40 {
            let letters = "p".repeat(60) + &"e".repeat(uncovered);
            let gate = judged(&letters, &["a.pass_rate >= 0.5"], None).remove(0);
            let help = gate.coverage.unwrap().help.unwrap();
            let quoted: Vec<&str> = help.split('`').collect();
            for line in [quoted[1], quoted[3]] {
                let gates = judged(&letters, &["a.pass_rate >= 0.5", line], None);
                assert!(
                    gates.iter().all(|gate| gate.status == Met),
                    "{help}: {gates:?}"
                );
            }
        }
    }

    /// ragas 3028: one of three scored.
    #[test]
    fn a_high_mean_over_few_answers_does_not_meet_its_gate() {
        let gate = judged("pee", &["a.mean >= 0.9"], Some("50%")).remove(0);
        assert_eq!((gate.status, gate.value), (Missed, Some(1.0)));
        assert_eq!(
            gate.reason.as_deref(),
            Some("only 33.3% of the answers have a result, where 50.0% must")
        );
    }

    #[test]
    fn shards_and_runs_that_ended_early_judge_no_gates() {
        let shard = RunFacts {
            shard: Some("1/2".to_owned()),
            ..RunFacts::default()
        };
        let stopped = RunFacts {
            stopped: Some(Stop::Budget),
            ..RunFacts::default()
        };
        for run in [shard, stopped] {
            let options = ReportOptions {
                run,
                ..ReportOptions::default()
            };
            let report = testing::report(
                &[("a", "pf")],
                &["a.pass_rate >= 0.9", "errors <= 0"],
                options,
            );
            assert!(
                report
                    .gates
                    .iter()
                    .all(|gate| gate.status == NotJudged && gate.reason.is_some())
            );
        }
    }
}
