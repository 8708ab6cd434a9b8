//! The cases of `tests/cases/<id>.jsonl`, read and compared. The tests of `lydite-models` take this file too.

#![allow(dead_code, reason = "no test takes all of it")]

use std::path::{Path, PathBuf};

use lydite::evaluator::{Entry, Registry};
use lydite::node::Node;
use lydite::results::CheckResult;
use lydite::single::SingleError;
use serde_json::Value;

/// The judge that cases name in their evidence.
pub(crate) const SCRIPTED: &str = "scripted/judge";

/// One line of a file.
pub(crate) struct Case<'r> {
    pub(crate) entry: &'r Entry,
    pub(crate) params: Node,
    pub(crate) record: String,
    /// `None` where no model is asked.
    pub(crate) replies: Option<Vec<Value>>,
    /// The file, the line and the name.
    place: String,
    expect: Value,
    tolerance: f64,
}

/// All cases of all files.
pub(crate) fn all(registry: &Registry) -> Vec<Case<'_>> {
    of_folder(registry, "")
}

/// Those of local methods, in `tests/cases/local/<id>.jsonl`.
pub(crate) fn local(registry: &Registry) -> Vec<Case<'_>> {
    of_folder(registry, "local")
}

fn of_folder<'r>(registry: &'r Registry, folder: &str) -> Vec<Case<'r>> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../lydite/tests/cases");
    let folder = cases.join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for path in files {
        let id = path.file_stem().unwrap().to_str().unwrap();
        for (index, line) in std::fs::read_to_string(&path)
            .unwrap()
            .split('\n')
            .enumerate()
        {
            if !line.trim().is_empty() {
                let place = format!("{id}.jsonl:{}", index + 1);
                cases.push(Case::read(registry, id, &place, line));
            }
        }
    }
    assert!(!cases.is_empty(), "no cases");
    cases
}

impl<'r> Case<'r> {
    fn read(registry: &'r Registry, id: &str, place: &str, line: &str) -> Self {
        let case: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
        let name = case["evaluator"].as_str().unwrap_or(id);
        Self {
            entry: registry
                .get(name)
                .unwrap_or_else(|| panic!("{place}: no evaluator `{name}`")),
            params: match case["params_yaml"].as_str() {
                Some(yaml) => Node::parse(yaml).unwrap_or_else(|error| panic!("{place}: {error}")),
                None => Node::from_json(case.get("params").unwrap_or(&serde_json::json!({}))),
            },
            // A record that JSON values can't hold (a key twice, `1.10`, NaN) stands as its text.
            record: match &case["record"] {
                Value::String(text) => text.clone(),
                record => record.to_string(),
            },
            replies: case["replies"].as_array().cloned(),
            place: format!("{place} ({})", case["name"].as_str().unwrap_or_default()),
            expect: case["expect"].clone(),
            tolerance: case["tolerance"].as_f64().unwrap_or(1e-9),
        }
    }

    /// What is wrong with a result by the judge of this name, and of which case.
    pub(crate) fn failure(
        &self,
        judge: &str,
        got: &Result<CheckResult<'static>, SingleError>,
    ) -> Option<String> {
        let expect = self.expect.to_string().replace(SCRIPTED, judge);
        let wrong = mismatch(got, &serde_json::from_str(&expect).unwrap(), self.tolerance)?;
        Some(format!("{}: {wrong}", self.place))
    }
}

/// What `expect` says that `got` does not hold.
pub(crate) fn mismatch(
    got: &Result<CheckResult<'static>, SingleError>,
    expect: &Value,
    tolerance: f64,
) -> Option<String> {
    let text = |key: &str| expect.get(key).and_then(Value::as_str);
    if let Some(words) = text("config_error") {
        return match got {
            Err(error) if error.to_string().contains(words) => None,
            other => Some(format!(
                "expected a configuration error with `{words}`, got {other:?}"
            )),
        };
    }
    if let Some(words) = text("record_error") {
        return match got {
            Err(SingleError::Record(error)) if format!("{error:?}").contains(words) => None,
            other => Some(format!(
                "expected an error of the record with `{words}`, got {other:?}"
            )),
        };
    }
    let got = match got {
        Ok(got) => got,
        Err(error) => return Some(format!("could not be judged: {error}")),
    };
    let verdict = serde_json::to_value(got.verdict).unwrap();
    let mut wrong = Vec::new();
    for key in expect.as_object().unwrap().keys() {
        let right = match key.as_str() {
            "verdict" => verdict == expect["verdict"],
            "natural" => serde_json::to_value(got.natural).unwrap() == expect["natural"],
            "score" => match (got.score, expect["score"].as_f64()) {
                (Some(a), Some(b)) => (a - b).abs() <= tolerance,
                (a, b) => a == b,
            },
            "error" => got.error.as_ref().map(|error| &*error.code) == text("error"),
            "skipped" => got.skipped.as_deref() == text("skipped"),
            "warnings" => serde_json::to_value(&got.warnings).unwrap() == expect["warnings"],
            "reason" => {
                let said = got
                    .reason
                    .as_deref()
                    .or(got.error.as_ref().map(|error| &*error.message))
                    .unwrap_or_default();
                said.contains(text("reason").unwrap())
            }
            "evidence" => serde_json::to_value(&got.evidence).unwrap() == expect["evidence"],
            other => panic!("`{other}` is no expectation"),
        };
        if !right {
            wrong.push(key.clone());
        }
    }
    (!wrong.is_empty()).then(|| {
        format!(
            "{} differ: expected {expect}, got {}",
            wrong.join(", "),
            serde_json::to_string(got).unwrap()
        )
    })
}
