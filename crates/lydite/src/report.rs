//! The report of a run: what is told of it in every format, and its exit code.

mod exit;
mod gates;

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::exit::Exit;
pub use self::gates::{CoverageRule, GateResult, GateStatus};
use crate::evaluator::Direction;
use crate::fold::{BadRecord, Finished, FinishedCheck, Fold, Sample};
use crate::model::{ModelTotals, Usage};
use crate::outcome::Verdict;
use crate::stats::summary::Warning;
use crate::stats::{CheckStats, CheckSummary, Confidence};
use crate::suite::gate::{Allowance, Gate};

/// The version of the report's format.
pub const REPORT_VERSION: u32 = 1;

/// A run, told. Keys that a reader does not know are to be passed over, and keys that are not there
/// have their default, so that old readers read new reports and back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Report {
    /// Of this format.
    pub version: u32,
    pub run: RunFacts,
    pub records: RecordCounts,
    pub errors: ErrorCounts,
    /// The suite's checks in their order, then those that records brought, by name.
    pub checks: Vec<CheckReport>,
    pub gates: Vec<GateResult>,
    /// What was asked of each model, and what it cost.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelTotals>,
    /// The first of the records that could not be judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bad_records: Vec<BadRecordReport>,
    pub exit: Exit,
}

/// What was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RunFacts {
    /// The version of Lydite.
    pub lydite: String,
    pub suite: Option<String>,
    /// The input files; `-` is stdin.
    pub data: Vec<String>,
    /// RFC 3339, UTC.
    pub started_at: String,
    pub finished_at: Option<String>,
    /// Why it ended before its input did; null where it went through.
    pub stopped: Option<Stop>,
    /// What stopped it, and what to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_because: Option<String>,
    /// `k/n`
    pub shard: Option<String>,
}

/// Why a run ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// By Ctrl-C or a signal.
    Interrupted,
    /// Its budget was spent.
    Budget,
    /// A provider refused the key (401, 403).
    Unauthorized,
}

/// How many records came to what end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RecordCounts {
    /// Records that were read.
    pub read: u64,
    /// Records that the run was to judge, after `where`, sample, limit and shard; null where the
    /// input's end was not seen.
    pub planned: Option<u64>,
    pub judged: u64,
    /// Records that could not be judged: unreadable lines, and checks of their own that are none.
    pub bad: u64,
    /// By the worst verdict among a record's checks, in the order fail, inconclusive, partial, pass.
    /// A record whose checks only measure or were skipped is in none of the four.
    pub passed: u64,
    pub failed: u64,
    pub partial: u64,
    pub inconclusive: u64,
}

/// Errored cells and bad records against what is allowed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ErrorCounts {
    /// Errored cells and bad records.
    pub count: u64,
    /// Planned cells and bad records.
    pub of: u64,
    /// As it would be written: `0`, `1%`.
    pub allowed: String,
    pub within: bool,
    /// What to change to allow them.
    pub help: Option<String>,
}

/// One check of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    pub name: String,
    /// The evaluator's id; empty where it isn't known.
    #[serde(default)]
    pub evaluator: String,
    /// Which end of the scale is good; null where it isn't known.
    #[serde(default)]
    pub direction: Option<Direction>,
    /// Least and greatest score; null where there is no bound.
    #[serde(default)]
    pub range: (Option<f64>, Option<f64>),
    #[serde(default)]
    pub threshold: Option<f64>,
    #[serde(default)]
    pub not: bool,
    /// Records brought it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_records: bool,
    #[serde(flatten)]
    pub summary: CheckSummary,
    /// The same figures for the answers that bear a tag. Past 1,000 tags those that come last in
    /// byte order are one, `other`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_tag: BTreeMap<String, CheckSummary>,
    /// What its judgements used of models, failed ones too; absent where it asks none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Answers that a cache gave.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached: u64,
    /// Errors by code.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorReport>,
    /// On how many answers each of the evaluator's warnings stands, by code.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answer_warnings: BTreeMap<String, u64>,
    /// Skipped answers by reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skip_reasons: BTreeMap<String, u64>,
    /// The first answers that did not pass.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<SampleReport>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The errors of one code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ErrorReport {
    pub code: String,
    pub count: u64,
    /// The message of the first.
    pub message: String,
}

/// An answer that did not pass.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SampleReport {
    pub record: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default = "one")]
    pub trial: u32,
    #[serde(default)]
    pub file: Option<String>,
    #[serde(default)]
    pub line: Option<u64>,
    pub verdict: Verdict,
    #[serde(default)]
    pub score: Option<f64>,
    #[serde(default)]
    pub reason: Option<String>,
}

/// A record that could not be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BadRecordReport {
    pub file: Option<String>,
    pub line: u64,
    pub column: u64,
    pub field: Option<String>,
    pub message: String,
    pub hint: Option<String>,
}

/// What a report says beside the fold.
#[derive(Clone, Debug, Default)]
pub struct ReportOptions {
    pub run: RunFacts,
    /// `--max-errors`.
    pub max_errors: Option<Allowance>,
    /// Records that the run was to judge; `None` where the input's end was not seen. Taken as those
    /// that were judged in a run that went through.
    pub planned: Option<u64>,
    /// Records that a sharded run left to the other shards.
    pub other_shards: u64,
    /// What was asked of each model.
    pub models: Vec<ModelTotals>,
}

impl Report {
    /// Makes the report of a run of `gates`.
    pub fn build(fold: Fold, gates: &[Gate], options: ReportOptions) -> Self {
        let Finished {
            records,
            bad,
            bad_records,
            checks,
            missed_repeats,
        } = fold.finish();
        let ReportOptions {
            run,
            max_errors,
            planned,
            other_shards,
            models,
        } = options;
        let planned = if run.stopped.is_some() {
            planned
        } else {
            Some(records.judged)
        };
        let not_run = planned.map(|planned| planned.saturating_sub(records.judged));
        let builder = CheckBuilder {
            files: &run.data,
            not_run,
            missed_repeats,
        };
        let checks: Vec<CheckReport> = checks
            .into_iter()
            .map(|check| builder.check(check))
            .collect();
        let bad_records = bad_records
            .into_iter()
            .map(|record| bad_record(record, &run.data))
            .collect();
        let errors = ErrorCounts::new(&checks, bad, gates, max_errors);
        let gates: Vec<GateResult> = gates
            .iter()
            .map(|gate| gates::judge(gate, gates, max_errors, &run, &checks, &errors))
            .collect();
        let mut report = Self {
            version: REPORT_VERSION,
            models,
            records: RecordCounts {
                read: records.read,
                planned,
                judged: records.judged,
                bad,
                passed: records.passed,
                failed: records.failed,
                partial: records.partial,
                inconclusive: records.inconclusive,
            },
            run: RunFacts {
                lydite: env!("CARGO_PKG_VERSION").to_owned(),
                ..run
            },
            errors,
            checks,
            gates,
            bad_records,
            exit: Exit::default(),
        };
        report.exit = exit::decide(&report, max_errors, other_shards);
        report
    }

    /// 0, 1, 2, 3 or 130; the reason stands in [`exit`](Self::exit).
    pub const fn exit_code(&self) -> u8 {
        self.exit.code
    }

    /// The check of a name.
    pub fn check(&self, name: &str) -> Option<&CheckReport> {
        self.checks.iter().find(|check| check.name == name)
    }

    /// Whether gates stand in the suite, judged or not.
    pub fn has_gates(&self) -> bool {
        !self.gates.is_empty()
    }
}

impl ErrorCounts {
    fn new(
        checks: &[CheckReport],
        bad: u64,
        gates: &[Gate],
        max_errors: Option<Allowance>,
    ) -> Self {
        let cells = |count: fn(&CheckSummary) -> u64| {
            checks
                .iter()
                .map(|check| count(&check.summary))
                .sum::<u64>()
        };
        let count = cells(|summary| summary.errored) + bad;
        let of = cells(|summary| summary.n) + bad;
        let allowance = Allowance::of(gates, max_errors, of);
        let within = allowance.permits(count, of);
        let help = (!within).then(|| {
            let percent = percent_up(count as f64 / of.max(1) as f64);
            if max_errors.is_some() {
                format!("--max-errors {percent}% would allow them")
            } else {
                format!("`errors <= {percent}%` under `gates:` or --max-errors {percent}% would allow them")
            }
        });
        Self {
            count,
            of,
            allowed: allowance.to_string(),
            within,
            help,
        }
    }

    /// Errors as a share of what was planned, in [0, 1].
    pub fn share(&self) -> f64 {
        self.count as f64 / self.of.max(1) as f64
    }
}

/// The least whole per cent that is not below a share in [0, 1].
fn percent_up(share: f64) -> u64 {
    (share * 100.0 - 1e-9).ceil().max(0.0) as u64
}

struct CheckBuilder<'a> {
    files: &'a [String],
    not_run: Option<u64>,
    missed_repeats: bool,
}

impl CheckBuilder<'_> {
    fn check(&self, check: FinishedCheck) -> CheckReport {
        let FinishedCheck {
            meta,
            own,
            mut fold,
            by_tag,
        } = check;
        // Which checks the records that were not reached would have brought isn't known.
        fold.stats.add_not_run(if own && self.not_run != Some(0) {
            None
        } else {
            self.not_run
        });
        let by_tag = by_tag.into_iter().fold(
            BTreeMap::<Arc<str>, CheckStats>::new(),
            |mut tags, (tag, stats)| {
                tags.entry(tag)
                    .and_modify(|ours| ours.merge(&stats))
                    .or_insert(stats);
                tags
            },
        );
        let has_answers = |summary: &CheckSummary| summary.n > 0;
        CheckReport {
            name: meta.name,
            evaluator: meta.evaluator,
            direction: meta.direction,
            range: meta.range,
            threshold: meta.threshold,
            not: meta.negate,
            from_records: own,
            summary: self.summary(fold.stats, meta.range),
            by_tag: by_tag
                .into_iter()
                .map(|(tag, stats)| (tag.to_string(), self.summary(stats, meta.range)))
                .filter(|(_, summary)| has_answers(summary))
                .collect(),
            errors: fold
                .errors
                .into_iter()
                .map(|(code, error)| ErrorReport {
                    code,
                    count: error.count,
                    message: error.message,
                })
                .collect(),
            usage: (fold.asked > 0).then_some(fold.usage),
            cached: fold.cached,
            answer_warnings: fold.warnings,
            skip_reasons: fold.skips,
            samples: fold
                .samples
                .into_iter()
                .map(|sample| self.sample(sample))
                .collect(),
        }
    }

    /// `range`: the evaluator's, which no interval of a mean need leave.
    fn summary(&self, mut stats: CheckStats, range: (Option<f64>, Option<f64>)) -> CheckSummary {
        let mut summary = stats.finish(Confidence::default());
        if let Some(mean) = &mut summary.mean {
            mean.low = mean
                .low
                .map(|low| range.0.map_or(low, |least| low.max(least)));
            mean.high = mean
                .high
                .map(|high| range.1.map_or(high, |most| high.min(most)));
        }
        summary
            .warnings
            .retain(|warning| *warning != Warning::NotClustered);
        if self.missed_repeats {
            summary.warnings.push(Warning::NotClustered);
        }
        summary
    }

    fn sample(&self, sample: Sample) -> SampleReport {
        let known = sample.at.line > 0;
        SampleReport {
            record: sample.record,
            model: sample.model,
            trial: sample.trial,
            file: self
                .files
                .get(sample.at.file as usize)
                .filter(|_| known)
                .cloned(),
            line: known.then_some(sample.at.line),
            verdict: sample.verdict,
            score: sample.score,
            reason: sample.reason,
        }
    }
}

fn bad_record(record: BadRecord, files: &[String]) -> BadRecordReport {
    BadRecordReport {
        file: files.get(record.file as usize).cloned(),
        line: record.line,
        column: record.column,
        field: record.field,
        message: record.message,
        hint: record.hint,
    }
}

const fn one() -> u32 {
    1
}

#[cfg(test)]
mod testing {
    use super::*;
    use crate::check::Judged;
    use crate::fold::CheckMeta;
    use crate::outcome::{Cell, Code, Score};
    use crate::record::Field;
    use crate::results::RecordHead;

    /// A run whose checks gave what the letters say, a record each: `p`ass, `f`ail, pa`r`tial,
    /// `i`nconclusive, `e`rrored, `s`kipped, `m`easured (0.5); `b` is a bad record.
    pub(super) fn report(
        checks: &[(&str, &str)],
        gates: &[&str],
        options: ReportOptions,
    ) -> Report {
        let mut fold = Fold::new(checks.iter().map(|(name, _)| CheckMeta::named(*name)), 0);
        let records = checks
            .iter()
            .map(|(_, letters)| letters.len())
            .max()
            .unwrap_or(0);
        for record in 0..records {
            let id = record.to_string();
            let head = RecordHead {
                id: &id,
                model: None,
                trial: 1,
                tags: &[],
                cluster: None,
                file: 0,
                line: record as u64 + 1,
            };
            let letters: Vec<(usize, u8)> = checks
                .iter()
                .enumerate()
                .filter_map(|(index, (_, letters))| {
                    letters
                        .as_bytes()
                        .get(record)
                        .map(|&letter| (index, letter))
                })
                .collect();
            fold.record_read();
            if letters.iter().any(|(_, letter)| *letter == b'b') {
                fold.bad_record(BadRecord {
                    line: record as u64 + 1,
                    ..BadRecord::default()
                });
                continue;
            }
            let judged: Vec<(usize, Judged)> = letters
                .iter()
                .map(|&(index, letter)| (index, judged(letter)))
                .collect();
            for (index, judged) in &judged {
                fold.push(*index, &head, judged);
            }
            fold.record_done(
                judged
                    .iter()
                    .filter_map(|(_, judged)| judged.verdict)
                    .reduce(Verdict::worst),
            );
        }
        let gates: Vec<Gate> = gates
            .iter()
            .map(|text| {
                Gate::parse(text, crate::node::Span::default(), &[])
                    .unwrap()
                    .0
            })
            .collect();
        Report::build(fold, &gates, options)
    }

    fn judged(letter: u8) -> Judged {
        let scored = |score, verdict| {
            (
                Cell::Scored {
                    score: Score::new(score),
                    natural: verdict,
                    flags: 0,
                },
                verdict,
            )
        };
        let (cell, verdict) = match letter {
            b'p' => scored(1.0, Some(Verdict::Pass)),
            b'f' => scored(0.0, Some(Verdict::Fail)),
            b'r' => scored(0.5, Some(Verdict::Partial)),
            b'i' => scored(f64::NAN, Some(Verdict::Inconclusive)),
            b'm' => scored(0.5, None),
            b's' => (Cell::Skipped(Code::WhenFalse), None),
            _ => (
                Cell::Errored(Code::MissingField(Field::Output)),
                Some(Verdict::Inconclusive),
            ),
        };
        Judged {
            spent: None,
            cell,
            verdict,
            natural: None,
            explanation: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Judged;
    use crate::fold::CheckMeta;
    use crate::outcome::{Cell, Code, Score};
    use crate::record::Field;
    use crate::results::RecordHead;

    /// A check's scores, `None` for an error.
    fn scores(scores: &[Option<f64>]) -> CheckSummary {
        let mut fold = Fold::new([CheckMeta::named("mean")], 0);
        for (index, score) in scores.iter().enumerate() {
            let id = index.to_string();
            let head = RecordHead {
                id: &id,
                model: None,
                trial: 1,
                tags: &[],
                cluster: None,
                file: 0,
                line: 1,
            };
            let (cell, verdict) = match score {
                Some(score) => (
                    Cell::Scored {
                        score: Score::new(*score),
                        natural: None,
                        flags: 0,
                    },
                    None,
                ),
                None => (
                    Cell::Errored(Code::MissingField(Field::Output)),
                    Some(Verdict::Inconclusive),
                ),
            };
            fold.push(
                0,
                &head,
                &Judged {
                    spent: None,
                    cell,
                    verdict,
                    natural: None,
                    explanation: None,
                },
            );
            fold.record_done(verdict);
        }
        Report::build(fold, &[], ReportOptions::default())
            .checks
            .remove(0)
            .summary
    }

    /// Bugs of other tools: ragas 3028, deepeval 3234, trulens 2698.
    #[test]
    fn errors_move_no_mean_and_show_in_the_counts() {
        let some = |list: &[f64]| list.iter().copied().map(Some).collect::<Vec<_>>();
        let with_errors = |list: &[f64], errors: usize| [some(list), vec![None; errors]].concat();
        let cases = [
            (with_errors(&[1.0], 2), 1.0, 3, 1, 2),
            (with_errors(&[0.9, 0.8, 0.8, 0.85], 1), 0.8375, 5, 4, 1),
            (with_errors(&[0.6, 0.7, 0.8, 0.9, 1.0], 5), 0.8, 10, 5, 5),
        ];
        for (list, mean, n, scored, errored) in cases {
            let summary = scores(&list);
            assert_eq!(
                (summary.n, summary.scored, summary.errored),
                (n, scored, errored)
            );
            assert!((summary.mean.unwrap().value - mean).abs() < 1e-12);
            assert_eq!(summary.coverage, Some(scored as f64 / n as f64));
            assert_eq!(
                summary.warnings,
                [Warning::Incomplete],
                "a partial measurement is marked as one"
            );
        }
    }

    /// Promptfoo's pf-agg-02, 03, 06 and 08: what must not come out green.
    #[test]
    fn nothing_failed_or_empty_is_shown_as_passed() {
        let options = ReportOptions::default;
        let no_checks = testing::report(&[], &[], options());
        assert_eq!(no_checks.exit.code, 2);
        let no_records = testing::report(&[("equals", "")], &[], options());
        assert_eq!(no_records.exit.code, 2);
        let failed_beside_a_gate_on_another = testing::report(
            &[("equals", "f"), ("other", "p")],
            &["other.pass_rate >= 1"],
            options(),
        );
        assert_eq!(failed_beside_a_gate_on_another.exit.code, 0);
        assert_eq!(
            failed_beside_a_gate_on_another.checks[0].summary.failed, 1,
            "the check keeps its own verdict"
        );
        let not_contains_of_no_output = testing::report(&[("not_contains", "e")], &[], options());
        assert_eq!(not_contains_of_no_output.exit.code, 3);
        assert_eq!(not_contains_of_no_output.checks[0].summary.passed, 0);
    }

    #[test]
    fn a_report_reads_back_and_takes_unknown_and_missing_keys() {
        let options = ReportOptions {
            max_errors: Some(Allowance::Share(0.07)),
            ..ReportOptions::default()
        };
        let report = testing::report(
            &[("a", "pfeisrmb")],
            &["a.pass_rate >= 0.5", "errors <= 5"],
            options,
        );
        assert_eq!(report.errors.allowed, "7%");
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
        let mut value = serde_json::to_value(&report).unwrap();
        value["later"] = serde_json::json!({"x": 1});
        value["checks"][0]["later"] = 1.into();
        value["checks"][0]
            .as_object_mut()
            .unwrap()
            .remove("threshold");
        value.as_object_mut().unwrap().remove("bad_records");
        let read: Report = serde_json::from_value(value).unwrap();
        assert_eq!((read.checks, read.exit), (report.checks, report.exit));
        assert_eq!(
            serde_json::from_str::<Report>("{}").unwrap(),
            Report::default()
        );
    }

    #[test]
    fn counts_of_records() {
        let report = testing::report(
            &[("a", "ppfeib"), ("b", "pfsss")],
            &[],
            ReportOptions::default(),
        );
        let expected = RecordCounts {
            read: 6,
            planned: Some(5),
            judged: 5,
            bad: 1,
            passed: 1,
            failed: 2,
            partial: 0,
            inconclusive: 2,
        };
        assert_eq!(report.records, expected);
        assert_eq!((report.errors.count, report.errors.of), (2, 11));
        assert_eq!(report.bad_records.len(), 1);
    }

    #[test]
    fn what_an_early_end_left_is_not_run() {
        for (planned, not_run, coverage) in [(Some(10), Some(8), 0.2), (None, None, 1.0)] {
            let run = RunFacts {
                stopped: Some(Stop::Interrupted),
                ..RunFacts::default()
            };
            let report = testing::report(
                &[("a", "pp")],
                &[],
                ReportOptions {
                    run,
                    planned,
                    ..ReportOptions::default()
                },
            );
            assert_eq!(
                (report.records.planned, report.checks[0].summary.not_run),
                (planned, not_run)
            );
            assert_eq!(report.checks[0].summary.coverage, Some(coverage));
        }
    }
}
