//! The exit code of a run: the first of the contract's list that fits.

use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{GateStatus, Report, Stop};
use crate::suite::gate::Allowance;

/// A process's exit code, and why it is that one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Exit {
    /// 0 good, 1 not good enough, 2 nothing to run, 3 no verdict, 130 interrupted.
    pub code: u8,
    pub reason: String,
}

pub(super) fn decide(report: &Report, max_errors: Option<Allowance>, other_shards: u64) -> Exit {
    let (code, reason) = nothing_to_run(report, other_shards)
        .map(|reason| (2, reason))
        .or_else(|| interrupted(report).map(|reason| (130, reason)))
        .or_else(|| no_verdict(report, max_errors).map(|reason| (3, reason)))
        .or_else(|| not_good(report).map(|reason| (1, reason)))
        .unwrap_or_else(|| (0, good(report)));
    Exit { code, reason }
}

/// A run without records or checks is not a green one. A shard may be empty where others are not.
fn nothing_to_run(report: &Report, other_shards: u64) -> Option<String> {
    if report.records.judged > 0 && report.checks.is_empty() {
        return Some(
            "nothing to run: there is no check; name one under `checks:` or with --check"
                .to_owned(),
        );
    }
    let is_empty_shard = report.run.shard.is_some() && other_shards > 0;
    if report.records.judged > 0 || report.run.stopped.is_some() || is_empty_shard {
        return None;
    }
    Some(match (report.records.read, report.records.bad) {
        (0, 0) => "nothing to run: the data has no record".to_owned(),
        (read, 0) => format!(
            "nothing to run: none of {read} records was selected; see `where`, `limit` and `sample`"
        ),
        (_, bad) => format!("nothing to run: no record is left, and {bad} could not be judged"),
    })
}

fn interrupted(report: &Report) -> Option<String> {
    (report.run.stopped == Some(Stop::Interrupted))
        .then(|| "interrupted; what was done is kept".to_owned())
}

fn no_verdict(report: &Report, max_errors: Option<Allowance>) -> Option<String> {
    let because = report.run.stopped_because.as_deref();
    match report.run.stopped {
        Some(Stop::Budget) => {
            return Some(format!(
                "stopped: {}",
                because.unwrap_or("the budget is spent")
            ));
        }
        Some(Stop::Unauthorized) => {
            return Some(format!(
                "stopped: {}",
                because.unwrap_or("the provider refuses the key")
            ));
        }
        Some(Stop::Interrupted) | None => {}
    }
    let errors = &report.errors;
    // What a gate allows of errors is judged with the gates, where the shards are merged.
    let by_gate = report.run.shard.is_some() && max_errors.is_none() && errors.allowed != "0";
    if !errors.within && !by_gate {
        let them = if errors.count == 1 { "error" } else { "errors" };
        return Some(format!(
            "no verdict: {} {them} where {} are allowed",
            errors.count, errors.allowed
        ));
    }
    let without_value = named(report, GateStatus::NoValue);
    if !without_value.is_empty() {
        return Some(format!("no verdict: no value for {without_value}"));
    }
    let inconclusive = total(report, |summary| summary.inconclusive);
    if !report.has_gates() && inconclusive > 0 && total(report, |summary| summary.failed) == 0 {
        return Some(format!("no verdict: {inconclusive} inconclusive"));
    }
    None
}

fn not_good(report: &Report) -> Option<String> {
    if report.has_gates() {
        let missed = named(report, GateStatus::Missed);
        return (!missed.is_empty()).then(|| format!("missed: {missed}"));
    }
    let (failed, partial) = (
        total(report, |summary| summary.failed),
        total(report, |summary| summary.partial),
    );
    match (failed, partial) {
        (0, 0) => None,
        (failed, 0) => Some(format!("{failed} failed")),
        (0, partial) => Some(format!("{partial} partly failed")),
        (failed, partial) => Some(format!("{failed} failed, {partial} partly")),
    }
}

fn good(report: &Report) -> String {
    let met = report
        .gates
        .iter()
        .filter(|gate| gate.status == GateStatus::Met)
        .count();
    match (report.gates.len(), report.run.shard.is_some()) {
        (0, _) => "nothing failed".to_owned(),
        (_, true) => "gates are judged where the shards are merged".to_owned(),
        (1, false) => "the gate is met".to_owned(),
        (_, false) => format!("all {met} gates are met"),
    }
}

/// The gates of a status, in one line.
fn named(report: &Report, status: GateStatus) -> String {
    const SHOWN: usize = 3;
    let gates: Vec<&str> = report
        .gates
        .iter()
        .filter(|gate| gate.status == status)
        .map(|gate| gate.gate.as_str())
        .collect();
    let mut text = gates
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if gates.len() > SHOWN {
        let _ = write!(text, " and {} more", gates.len() - SHOWN);
    }
    text
}

fn total(report: &Report, count: fn(&crate::stats::CheckSummary) -> u64) -> u64 {
    report
        .checks
        .iter()
        .map(|check| count(&check.summary))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::super::{ReportOptions, RunFacts, testing};
    use super::*;

    const GATES: &[&str] = &["a.pass_rate >= 0.5"];
    const WITH_ERRORS: &[&str] = &["a.pass_rate >= 0.5", "errors <= 50%"];
    const WITHOUT_VALUE: &[&str] = &["a.pass_rate >= 0.99", "b.mean >= 0.5"];

    #[test]
    fn the_first_of_the_list_that_fits() {
        // What the check `a` gave, gates, --max-errors, how the run ended, exit code, reason.
        type Case = (
            &'static str,
            &'static [&'static str],
            Option<&'static str>,
            Option<Stop>,
            u8,
            &'static str,
        );
        let cases: &[Case] = &[
            // 2: nothing to run.
            (
                "",
                &[],
                None,
                None,
                2,
                "nothing to run: the data has no record",
            ),
            (
                "",
                GATES,
                None,
                None,
                2,
                "nothing to run: the data has no record",
            ),
            (
                "b",
                &[],
                Some("100%"),
                None,
                2,
                "nothing to run: no record is left, and 1 could not be judged",
            ),
            // 130: interrupted, whatever else is.
            ("", &[], None, Some(Stop::Interrupted), 130, "interrupted"),
            ("f", &[], None, Some(Stop::Interrupted), 130, "interrupted"),
            (
                "e",
                GATES,
                None,
                Some(Stop::Interrupted),
                130,
                "interrupted",
            ),
            // 3: stopped.
            (
                "p",
                &[],
                None,
                Some(Stop::Budget),
                3,
                "stopped: the budget is spent",
            ),
            (
                "f",
                GATES,
                None,
                Some(Stop::Unauthorized),
                3,
                "stopped: the provider refuses the key",
            ),
            // 3: errors above what is allowed.
            (
                "pe",
                &[],
                None,
                None,
                3,
                "no verdict: 1 error where 0 are allowed",
            ),
            (
                "pb",
                &[],
                None,
                None,
                3,
                "no verdict: 1 error where 0 are allowed",
            ),
            (
                "fe",
                &[],
                None,
                None,
                3,
                "no verdict: 1 error where 0 are allowed",
            ),
            (
                "peeb",
                &[],
                Some("2"),
                None,
                3,
                "no verdict: 3 errors where 2 are allowed",
            ),
            (
                "peeb",
                &[],
                Some("74%"),
                None,
                3,
                "no verdict: 3 errors where 74% are allowed",
            ),
            ("peeb", &[], Some("3"), None, 0, "nothing failed"),
            ("peeb", &[], Some("75%"), None, 0, "nothing failed"),
            (
                "pe",
                GATES,
                None,
                None,
                3,
                "no verdict: 1 error where 0 are allowed",
            ),
            ("pe", WITH_ERRORS, None, None, 0, "all 2 gates are met"),
            (
                "pee",
                WITH_ERRORS,
                None,
                None,
                3,
                "no verdict: 2 errors where 50% are allowed",
            ),
            (
                "pe",
                WITH_ERRORS,
                Some("0"),
                None,
                3,
                "no verdict: 1 error where 0 are allowed",
            ),
            // 3: a gate without a value, before one that is missed.
            (
                "m",
                GATES,
                None,
                None,
                3,
                "no verdict: no value for a.pass_rate >= 0.5",
            ),
            (
                "ff",
                WITHOUT_VALUE,
                None,
                None,
                3,
                "no verdict: no value for b.mean >= 0.5",
            ),
            // 3: without gates, an inconclusive cell and nothing that failed.
            ("pi", &[], None, None, 3, "no verdict: 1 inconclusive"),
            ("ri", &[], None, None, 3, "no verdict: 1 inconclusive"),
            ("fi", &[], None, None, 1, "1 failed"),
            // 1: a gate missed, or without gates any fail or partial.
            ("pff", GATES, None, None, 1, "missed: a.pass_rate >= 0.5"),
            ("ppi", GATES, None, None, 1, "missed: a.pass_rate >= 0.5"),
            ("pf", &[], None, None, 1, "1 failed"),
            ("pr", &[], None, None, 1, "1 partly failed"),
            ("frr", &[], None, None, 1, "1 failed, 2 partly"),
            // 0.
            ("p", &[], None, None, 0, "nothing failed"),
            ("pf", GATES, None, None, 0, "the gate is met"),
            ("ms", &[], None, None, 0, "nothing failed"),
        ];
        for (letters, gates, max_errors, stopped, code, reason) in cases {
            let options = ReportOptions {
                run: RunFacts {
                    stopped: *stopped,
                    ..RunFacts::default()
                },
                max_errors: max_errors.map(|text| text.parse().unwrap()),
                ..ReportOptions::default()
            };
            let exit = testing::report(&[("a", letters)], gates, options).exit;
            assert_eq!(
                exit.code, *code,
                "{letters} {gates:?} {max_errors:?} {stopped:?}: {}",
                exit.reason
            );
            assert!(
                exit.reason.starts_with(reason),
                "{letters} {gates:?}: {}",
                exit.reason
            );
        }
    }

    #[test]
    fn a_run_without_checks_is_not_green() {
        let mut report = testing::report(&[("a", "p")], &[], ReportOptions::default());
        report.checks.clear();
        assert_eq!(decide(&report, None, 0).code, 2);
    }

    #[test]
    fn shards() {
        // What the check `a` gave, gates, records of other shards, --max-errors, exit code.
        type Case = (
            &'static str,
            &'static [&'static str],
            u64,
            Option<&'static str>,
            u8,
        );
        let cases: &[Case] = &[
            // An empty shard is good where others are not empty.
            ("", &[], 7, None, 0),
            ("", GATES, 7, None, 0),
            ("", &[], 0, None, 2),
            // Gates wait for the merge; without gates a fail is a fail.
            ("ff", GATES, 7, None, 0),
            ("ff", &[], 7, None, 1),
            // An error in a shard is one in the whole, and what --max-errors allows is said of each shard.
            ("pe", GATES, 7, None, 3),
            ("pe", &[], 7, Some("1"), 0),
            ("pe", GATES, 7, Some("10%"), 3),
            // A gate on errors waits too.
            ("ee", WITH_ERRORS, 7, None, 0),
        ];
        for (letters, gates, other_shards, max_errors, code) in cases {
            let options = ReportOptions {
                run: RunFacts {
                    shard: Some("1/2".to_owned()),
                    ..RunFacts::default()
                },
                max_errors: max_errors.map(|text| text.parse().unwrap()),
                other_shards: *other_shards,
                ..ReportOptions::default()
            };
            let exit = testing::report(&[("a", letters)], gates, options).exit;
            assert_eq!(
                exit.code, *code,
                "{letters} {gates:?} {max_errors:?}: {}",
                exit.reason
            );
        }
    }
}
