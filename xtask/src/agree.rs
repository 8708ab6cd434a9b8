//! `cargo xtask agree DIR`: does the binary agree with an outside test suite?
//!
//! `DIR` is named like its suite and holds `open.jsonl`: records with `id`, `output`, `reference`, a
//! `label` that is the truth, and `meta`. Suites are not part of this repository. The records are
//! written anew for the check that is asked about, judged by the binary as a user would, and compared.

mod distances;
mod json_schema;
mod json_text;

use crate::workspace::{self, Profile};
use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The folder of json_schema_test_suite, json_test_suite or string_metrics
    dir: PathBuf,
    /// Disagreements to show
    #[arg(long, default_value_t = 20)]
    show: usize,
    /// The binary to ask; built in release where it is left out
    #[arg(long)]
    binary: Option<PathBuf>,
}

/// Asks the binary what a suite's folder asks.
type Ask = fn(&Path, &Lydite) -> Result<Vec<Case>>;

/// The suites that are known, by their folders' names.
const SUITES: [(&str, Ask); 3] = [
    ("json_schema_test_suite", json_schema::cases),
    ("json_test_suite", json_text::cases),
    ("string_metrics", distances::cases),
];

/// A question that was asked.
struct Case {
    id: String,
    /// What its agreement is counted under.
    group: String,
    /// `None` where the binary agrees, else what it said and what is right.
    wrong: Option<String>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let name = options.dir.file_name().unwrap_or_default();
    let Some((_, cases)) = SUITES.iter().find(|(suite, _)| name == *suite) else {
        let known = SUITES.map(|(suite, _)| suite).join(", ");
        bail!(
            "{} is no folder of a known suite; known are {known}",
            options.dir.display()
        );
    };
    let binary = match &options.binary {
        Some(path) => {
            fs::canonicalize(path).with_context(|| format!("there is no {}", path.display()))?
        }
        None => workspace::build_lydite(Profile::Release)?,
    };
    report(&cases(&options.dir, &Lydite { binary })?, options.show)
}

/// Prints the agreement by group, and the first disagreements; an error where there is any.
fn report(cases: &[Case], show: usize) -> Result<()> {
    let mut groups: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for case in cases {
        let (agree, all) = groups.entry(&case.group).or_default();
        *agree += usize::from(case.wrong.is_none());
        *all += 1;
    }
    let wrong: Vec<_> = cases
        .iter()
        .filter_map(|case| Some((case, case.wrong.as_ref()?)))
        .collect();
    for (case, wrong) in wrong.iter().take(show) {
        println!("{} ({}): {wrong}", case.id, case.group);
    }
    if wrong.len() > show {
        println!("… and {} more; --show N shows more", wrong.len() - show);
    }
    for (group, (agree, all)) in groups {
        println!("{group:<24} {agree:>6} of {all:>6}");
    }
    println!(
        "{:<24} {:>6} of {:>6}",
        "all",
        cases.len() - wrong.len(),
        cases.len()
    );
    if cases.is_empty() || !wrong.is_empty() {
        bail!(
            "the binary disagrees in {} of {} cases",
            wrong.len(),
            cases.len()
        );
    }
    Ok(())
}

/// The binary, as it is asked.
struct Lydite {
    binary: PathBuf,
}

impl Lydite {
    /// Judges records, one a line, and gives the `checks` of each by its id. Suite and records are put into `folder`.
    fn judge(
        &self,
        folder: &Path,
        suite: &Value,
        records: &[u8],
    ) -> Result<HashMap<String, Value>> {
        let (suite_path, data, results) = (
            folder.join("suite.yaml"),
            folder.join("records.jsonl"),
            folder.join("results.jsonl"),
        );
        // JSON is YAML.
        fs::write(&suite_path, suite.to_string()).context("cannot write the suite")?;
        fs::write(&data, records).context("cannot write the records")?;
        let mut command = Command::new(&self.binary);
        command.arg("run").arg(&suite_path).arg("--data").arg(&data);
        command
            .args(["--wide", "--no-store", "--format", "jsonl", "--output"])
            .arg(&results);
        let ended = command
            .output()
            .with_context(|| format!("cannot start {}", self.binary.display()))?;
        // 1: some answers fail; 3: some cannot be judged. Both are answers to what is asked here.
        if !matches!(ended.status.code(), Some(0 | 1 | 3)) {
            let said = String::from_utf8_lossy(&ended.stderr);
            bail!(
                "{} ended with {}: {}",
                workspace::words(&command),
                ended.status,
                said.trim()
            );
        }
        let text = fs::read_to_string(&results).context("cannot read the results")?;
        let mut found = HashMap::new();
        for line in parse_lines(&text)? {
            found.insert(
                text_at(&line, "/record")?.to_owned(),
                line.get("checks").cloned().unwrap_or_default(),
            );
        }
        Ok(found)
    }
}

/// The records of a suite.
fn open(dir: &Path) -> Result<Vec<Value>> {
    let path = dir.join("open.jsonl");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    parse_lines(&text).with_context(|| format!("cannot read {}", path.display()))
}

/// JSON lines. Lines end with `\n` alone: some texts hold other characters that end lines elsewhere.
fn parse_lines(text: &str) -> Result<Vec<Value>> {
    let lines = text
        .split('\n')
        .enumerate()
        .filter(|(_, line)| !line.is_empty());
    lines
        .map(|(index, line)| {
            serde_json::from_str(line).with_context(|| format!("line {}", index + 1))
        })
        .collect()
}

/// The text at a JSON Pointer.
fn text_at<'v>(value: &'v Value, pointer: &str) -> Result<&'v str> {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .with_context(|| format!("no text at {pointer} in {value:.200}"))
}

/// `None` where a verdict is the expected one, else what was said instead.
fn verdict_differs(checks: Option<&Value>, name: &str, expected: bool) -> Option<String> {
    let expected = if expected { "pass" } else { "fail" };
    let Some(cell) = checks.and_then(|checks| checks.get(name)) else {
        return Some(format!("no result, {expected} is right"));
    };
    let verdict = cell.get("verdict").and_then(Value::as_str);
    (verdict != Some(expected)).then(|| format!("{cell}, {expected} is right"))
}

/// Records as JSON lines.
fn lines(records: impl IntoIterator<Item = Value>) -> Vec<u8> {
    records
        .into_iter()
        .flat_map(|record| format!("{record}\n").into_bytes())
        .collect()
}

/// A folder for one question, gone when it is answered.
fn scratch() -> Result<tempfile::TempDir> {
    tempfile::tempdir().context("cannot make a temporary folder")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn verdicts_are_compared() {
        let checks = json!({"a": {"verdict": "pass"}, "b": {"verdict": "inconclusive", "error": "bad_schema"}});
        assert_eq!(verdict_differs(Some(&checks), "a", true), None);
        assert!(
            verdict_differs(Some(&checks), "a", false)
                .unwrap()
                .ends_with("fail is right")
        );
        assert!(
            verdict_differs(Some(&checks), "b", false)
                .unwrap()
                .contains("bad_schema")
        );
        assert!(
            verdict_differs(None, "a", true)
                .unwrap()
                .starts_with("no result")
        );
    }

    #[test]
    fn lines_end_with_a_line_feed_alone() {
        let values = parse_lines("{\"a\": \"x\u{2028}y\u{85}\"}\n\n[1]\n").unwrap();
        assert_eq!(values.len(), 2);
        assert!(
            parse_lines("{}\n{")
                .unwrap_err()
                .to_string()
                .contains("line 2")
        );
    }

    #[test]
    fn no_case_at_all_is_no_agreement() {
        assert!(report(&[], 5).is_err());
        let case = |wrong: Option<&str>| Case {
            id: "x".to_owned(),
            group: "g".to_owned(),
            wrong: wrong.map(str::to_owned),
        };
        assert!(report(&[case(None)], 5).is_ok());
        assert!(report(&[case(None), case(Some("no"))], 5).is_err());
    }
}
