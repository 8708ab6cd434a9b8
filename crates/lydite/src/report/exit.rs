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
        return Some("nothing to run: there is no check; name one under `checks:` or with --check".to_owned());
    }
    let is_empty_shard = report.run.shard.is_some() && other_shards > 0;
    if report.records.judged > 0 || report.run.stopped.is_some() || is_empty_shard {
        return None;
    }
    Some(match (report.records.read, report.records.bad) {
        (0, 0) => "nothing to run: the data has no record".to_owned(),
        (0, bad) => format!("nothing to run: none of {bad} records could be read"),
        (read, _) => format!("nothing to run: none of {read} records was selected; see `where`, `limit` and `sample`"),
    })
}

fn interrupted(report: &Report) -> Option<String> {
    (report.run.stopped == Some(Stop::Interrupted)).then(|| "interrupted; what was done is kept".to_owned())
}

fn no_verdict(report: &Report, max_errors: Option<Allowance>) -> Option<String> {
    match report.run.stopped {
        Some(Stop::Budget) => return Some("stopped: the budget is spent".to_owned()),
        Some(Stop::Unauthorized) => return Some("stopped: the provider refuses the key".to_owned()),
        Some(Stop::Interrupted) | None => {}
    }
    let errors = &report.errors;
    // What a gate allows of errors is judged with the gates, where the shards are merged.
    let by_gate = report.run.shard.is_some() && max_errors.is_none() && errors.allowed != "0";
    if !errors.within && !by_gate {
        let them = if errors.count == 1 { "error" } else { "errors" };
        return Some(format!("no verdict: {} {them} where {} are allowed", errors.count, errors.allowed));
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
    let (failed, partial) = (total(report, |summary| summary.failed), total(report, |summary| summary.partial));
    match (failed, partial) {
        (0, 0) => None,
        (failed, 0) => Some(format!("{failed} failed")),
        (0, partial) => Some(format!("{partial} partly failed")),
        (failed, partial) => Some(format!("{failed} failed, {partial} partly")),
    }
}

fn good(report: &Report) -> String {
    let met = report.gates.iter().filter(|gate| gate.status == GateStatus::Met).count();
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
    let gates: Vec<&str> =
        report.gates.iter().filter(|gate| gate.status == status).map(|gate| gate.gate.as_str()).collect();
    let mut text = gates.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    if gates.len() > SHOWN {
        let _ = write!(text, " and {} more", gates.len() - SHOWN);
    }
    text
}

fn total(report: &Report, count: fn(&crate::stats::CheckSummary) -> u64) -> u64 {
    report.checks.iter().map(|check| count(&check.summary)).sum()
}
