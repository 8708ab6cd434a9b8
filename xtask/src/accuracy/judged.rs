//! What the binary makes of records, and how often that is right.

use crate::measure::usage_of;
use crate::workspace::program;
use anyhow::{Context as _, Result, bail};
use lydite::stats::classification::{Confusion, average_precision, calibration_error, roc_auc};
use lydite::stats::correlation::{pearson, spearman};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// The binary under measurement.
#[derive(Debug)]
pub(crate) struct Binary {
    path: PathBuf,
    folder: tempfile::TempDir,
}

/// What one record came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judged {
    pub(crate) score: Option<f64>,
    /// Pass or fail; `None` where the method gave no verdict.
    pub(crate) verdict: Option<bool>,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Run {
    /// In the order of the records.
    pub(crate) results: Vec<Judged>,
    /// Seconds.
    pub(crate) cpu: f64,
}

/// What people said: yes or no, or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Truth {
    Is(bool),
    Rated(f64),
}

impl Binary {
    pub(crate) fn new(path: PathBuf) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        Ok(Self { path, folder })
    }

    /// Judges records by one check with its defaults. The records' own ids are not looked at.
    pub(crate) fn judge<'r>(
        &self,
        check: &str,
        records: impl Iterator<Item = &'r Value>,
    ) -> Result<Run> {
        let lines: Vec<String> = records
            .enumerate()
            .map(|(number, record)| {
                let mut record = record.clone();
                if let Some(fields) = record.as_object_mut() {
                    fields.insert("id".to_owned(), number.to_string().into());
                }
                record.to_string() + "\n"
            })
            .collect();
        let (input, output) = (
            self.folder.path().join("records.jsonl"),
            self.folder.path().join("results.jsonl"),
        );
        fs::write(&input, lines.concat()).context("cannot write the records")?;
        let suite = self.folder.path().join("lydite.yaml");
        // Any verdict is a fine end here, so none may end the program badly.
        fs::write(&suite, ungated(check)).context("cannot write the suite")?;
        let mut command = program(&self.path);
        command
            .arg("run")
            .arg(&suite)
            .arg("--data")
            .arg(&input)
            .args(["--no-store", "--no-cache", "--format", "jsonl", "--output"])
            .arg(&output);
        let usage = usage_of(&command)?;
        Ok(Run {
            results: read(&fs::read_to_string(&output)?, lines.len())?,
            cpu: usage.cpu,
        })
    }
}

/// A suite whose only gate is always met.
fn ungated(check: &str) -> String {
    json!({
        "version": 1,
        "checks": [check],
        "gates": ["errors <= 100%"],
    })
    .to_string()
}

fn read(lines: &str, count: usize) -> Result<Vec<Judged>> {
    let mut by_id = HashMap::new();
    for line in lines.lines() {
        let result: Value = serde_json::from_str(line).context("a result line is no JSON")?;
        let judged = Judged {
            score: result.get("score").and_then(Value::as_f64),
            verdict: match result.get("verdict").and_then(Value::as_str) {
                Some("pass") => Some(true),
                Some("fail" | "partial") => Some(false),
                _ => None,
            },
        };
        if let Some(id) = result.get("record").and_then(Value::as_str) {
            by_id.insert(id.to_owned(), judged);
        }
    }
    if by_id.len() != count {
        bail!(
            "{count} records were judged, and {} results came",
            by_id.len()
        );
    }
    let ids = (0..count).map(|number| number.to_string());
    ids.map(|id| by_id.remove(&id).context("a record has no result"))
        .collect()
}

impl Judged {
    /// A rule that always decides, at 0.5.
    pub(crate) fn forced(score: f64) -> Self {
        Self {
            score: Some(score),
            verdict: Some(score >= 0.5),
        }
    }
}

/// How often it was right.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) n: usize,
    /// The share of those that are yes.
    pub(crate) yes: Option<f64>,
    /// Forced: yes from a score of 0.5.
    pub(crate) accuracy: Option<f64>,
    pub(crate) balanced: Option<f64>,
    pub(crate) auroc: Option<f64>,
    /// The area under precision over recall of the *no*s.
    pub(crate) average_precision_of_no: Option<f64>,
    pub(crate) coverage: Option<f64>,
    /// The share of right verdicts among those given.
    pub(crate) right: Option<f64>,
    pub(crate) calibration_error: Option<f64>,
    /// The share of fails among those that are yes: false alarms.
    pub(crate) false_alarms: Option<f64>,
    pub(crate) pearson: Option<f64>,
    pub(crate) spearman: Option<f64>,
}

impl Figures {
    pub(crate) fn of(judged: impl Iterator<Item = (Judged, Truth)>) -> Self {
        let all: Vec<(Judged, Truth)> = judged.collect();
        let rated: Vec<(f64, f64)> = all
            .iter()
            .filter_map(|(judged, truth)| match truth {
                Truth::Rated(rating) => Some((judged.score?, *rating)),
                Truth::Is(_) => None,
            })
            .collect();
        let told: Vec<(Judged, bool)> = all
            .iter()
            .filter_map(|(judged, truth)| match truth {
                Truth::Is(is) => Some((*judged, *is)),
                Truth::Rated(_) => None,
            })
            .collect();
        // What has no score says nothing, which is a coin's toss when forced.
        let scored: Vec<(f64, bool)> = told
            .iter()
            .map(|(judged, is)| (judged.score.unwrap_or(0.5), *is))
            .collect();
        let forced = Confusion::of(scored.iter().map(|(score, is)| (*score >= 0.5, *is)));
        let given: Vec<(bool, bool)> = told
            .iter()
            .filter_map(|(judged, is)| Some((judged.verdict?, *is)))
            .collect();
        let of_no: Vec<(f64, bool)> = scored
            .iter()
            .map(|(score, is)| (1.0 - score, !is))
            .collect();
        let share = |part: usize, whole: usize| (whole > 0).then(|| part as f64 / whole as f64);
        let yes = told.iter().filter(|(_, is)| *is);
        let alarms = yes
            .clone()
            .filter(|(judged, _)| judged.verdict == Some(false));
        Self {
            n: all.len(),
            yes: share(yes.clone().count(), told.len()),
            accuracy: forced.accuracy(),
            balanced: forced.balanced_accuracy(),
            auroc: roc_auc(&scored),
            average_precision_of_no: average_precision(&of_no),
            coverage: share(given.len(), told.len()),
            right: Confusion::of(given.iter().copied()).accuracy(),
            calibration_error: (!scored.is_empty())
                .then(|| calibration_error(&scored, 10))
                .flatten(),
            false_alarms: share(alarms.count(), yes.count()),
            pearson: pearson(&rated),
            spearman: spearman(&rated),
        }
    }
}
