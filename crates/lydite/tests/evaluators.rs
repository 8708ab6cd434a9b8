//! Tests over the whole list of evaluators, and the cases in `tests/cases/<id>.jsonl`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lydite::evaluator::{Entry, Registry};
use lydite::node::Node;
use lydite::results::CheckResult;
use lydite::single::{self, SingleError};
use serde_json::Value;

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn judge(entry: &Entry, params: &Node, record: &str) -> Result<CheckResult<'static>, SingleError> {
    single::judge(entry, entry.info.id, params, record)
}

/// What `expect` says that `got` does not hold.
fn mismatch(got: &Result<CheckResult<'static>, SingleError>, expect: &Value, tolerance: f64) -> Option<String> {
    let text = |key: &str| expect.get(key).and_then(Value::as_str);
    if let Some(words) = text("config_error") {
        return match got {
            Err(error) if error.to_string().contains(words) => None,
            other => Some(format!("expected a configuration error with `{words}`, got {other:?}")),
        };
    }
    if let Some(words) = text("record_error") {
        return match got {
            Err(SingleError::Record(error)) if format!("{error:?}").contains(words) => None,
            other => Some(format!("expected an error of the record with `{words}`, got {other:?}")),
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
                let said = got.reason.as_deref().or(got.error.as_ref().map(|error| &*error.message)).unwrap_or_default();
                said.contains(text("reason").unwrap())
            }
            "evidence" => serde_json::to_value(&got.evidence).unwrap() == expect["evidence"],
            other => panic!("`{other}` is no expectation"),
        };
        if !right {
            wrong.push(key.clone());
        }
    }
    (!wrong.is_empty()).then(|| format!("{} differ: expected {expect}, got {}", wrong.join(", "), serde_json::to_string(got).unwrap()))
}

#[test]
fn every_example_holds() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples {
            let params = Node::parse(example.params).unwrap();
            let expect: Value = serde_json::from_str(example.expect).unwrap();
            let got = judge(entry, &params, example.record);
            if let Some(wrong) = mismatch(&got, &expect, 1e-9) {
                panic!("{} / {}: {wrong}", entry.info.id, example.title);
            }
        }
    }
}

#[test]
fn examples_show_a_pass_a_fail_and_an_error() {
    for entry in Registry::builtin().entries() {
        let shown: BTreeSet<String> = entry
            .info
            .examples
            .iter()
            .map(|example| {
                let expect: Value = serde_json::from_str(example.expect).unwrap();
                if expect.get("error").is_some() { "error".into() } else { expect["verdict"].as_str().unwrap().to_owned() }
            })
            .collect();
        for kind in ["pass", "fail", "error"] {
            assert!(shown.contains(kind), "{} shows no {kind}", entry.info.id);
        }
    }
}

#[test]
fn names_files_and_docs_are_in_order() {
    let mut names = BTreeSet::new();
    for entry in Registry::builtin().entries() {
        let id = entry.info.id;
        assert!(id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{id} is not snake_case");
        for name in std::iter::once(&id).chain(entry.info.aliases) {
            assert!(names.insert(*name), "{name} stands twice");
        }
        assert!(here().join(format!("src/evaluators/{id}.rs")).is_file(), "{id} is not in a file of its name");
        assert!(here().join(format!("tests/cases/{id}.jsonl")).is_file(), "{id} has no cases");
        let docs = entry.docs();
        for heading in ["## When to use it", "## How it is scored", "## Limits", "## References"] {
            assert!(docs.contains(heading), "{id} has no {heading}");
        }
        assert!(entry.summary().len() > 20 && entry.summary().ends_with('.'), "{id}: {}", entry.summary());
        for (name, property) in entry.schema["properties"].as_object().into_iter().flatten() {
            assert!(property.get("description").is_some() || property.get("$ref").is_some(), "{id}.{name} has no description");
        }
    }
}

#[test]
fn parameters_survive_being_written_and_read_again() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples {
            let mut params = Node::parse(example.params).unwrap().to_json();
            if let Some(object) = params.as_object_mut() {
                for outside in ["threshold", "not", "on_missing", "reference"].into_iter().chain(entry.info.reference_alias) {
                    if entry.schema.pointer(&format!("/properties/{outside}")).is_none() {
                        object.remove(outside);
                    }
                }
            }
            let once = entry.normalise_params(&Node::from_json(&params)).unwrap();
            let twice = entry.normalise_params(&Node::from_json(&once)).unwrap();
            assert_eq!(once, twice, "{}", entry.info.id);
        }
    }
}

#[test]
fn not_negates_pass_and_fail_exactly() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples {
            let params = Node::parse(example.params).unwrap();
            let has_verdict = entry.info.natural_verdict || params.get("threshold").is_some();
            let mut negated = params.to_json();
            negated["not"] = true.into();
            let negated = judge(entry, &Node::from_json(&negated), example.record);
            if !has_verdict {
                assert!(negated.is_err(), "{}: `not` without a verdict must be refused", entry.info.id);
                continue;
            }
            let plain = judge(entry, &params, example.record).unwrap();
            let negated = negated.unwrap();
            assert_eq!(negated.verdict, plain.verdict.map(lydite::outcome::Verdict::negated), "{}", entry.info.id);
            assert_eq!(negated.score, plain.score, "{}", entry.info.id);
        }
    }
}

/// Texts that have broken other tools.
fn odd_texts() -> Vec<String> {
    vec![
        String::new(),
        " ".into(),
        "\u{0}".into(),
        "e\u{301}".repeat(3),
        "ﬁŉǰΐ ß İ".into(),
        "日本語のテキスト".into(),
        "مرحبا بالعالم".into(),
        "👩‍👩‍👧‍👦🏳️‍🌈".into(),
        "\u{202e}evil\u{2028}line\u{85}".into(),
        "a".repeat(20_000),
        "[".repeat(5_000),
        "{\"a\":".repeat(200),
        "1e999999".into(),
        "{\"a\":1,\"a\":2}".into(),
        "\"\\ud800\"".into(),
        "(((((((((((((((((((((((((((((((((".into(),
    ]
}

#[test]
fn odd_inputs_neither_panic_nor_give_a_score_that_is_no_number() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples.iter().take(2) {
            let params = Node::parse(example.params).unwrap();
            let template: Value = serde_json::from_str(example.record).unwrap();
            for odd in odd_texts() {
                for key in template.as_object().unwrap().keys() {
                    for value in [Value::from(odd.as_str()), Value::from(vec![odd.as_str()]), serde_json::json!({"x": odd, "y": [1.5e300, -0.0]}), Value::from(-0.0)] {
                        let mut record = template.clone();
                        record[key] = value;
                        if let Ok(result) = judge(entry, &params, &record.to_string()) {
                            assert!(result.score.is_none_or(f64::is_finite), "{}", entry.info.id);
                            assert!(result.error.is_none() || result.score.is_none(), "{}", entry.info.id);
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn explaining_never_changes_the_cell() {
    for entry in Registry::builtin().entries() {
        for example in entry.info.examples {
            let params = Node::parse(example.params).unwrap();
            let (a, b) = (judge(entry, &params, example.record).unwrap(), judge(entry, &params, example.record).unwrap());
            assert_eq!(a, b, "{}", entry.info.id);
            assert!(
                a.error.is_some() || a.reason.as_ref().is_some_and(|reason| !reason.is_empty()),
                "{} / {} gives no reason",
                entry.info.id,
                example.title
            );
        }
    }
}

#[test]
fn cases() {
    let registry = Registry::builtin();
    let mut count = 0;
    let mut failures = Vec::new();
    for file in std::fs::read_dir(here().join("tests/cases")).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let id = path.file_stem().unwrap().to_string_lossy().into_owned();
        let entry = registry.get(&id).unwrap_or_else(|| panic!("{} names no evaluator", path.display()));
        let text = std::fs::read_to_string(&path).unwrap();
        for (index, line) in text.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("{}:{}", path.display(), index + 1);
            let case: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{place}: {error}"));
            let params = match case.get("params_yaml").and_then(Value::as_str) {
                Some(yaml) => Node::parse(yaml).unwrap_or_else(|error| panic!("{place}: {error}")),
                None => Node::from_json(case.get("params").unwrap_or(&serde_json::json!({}))),
            };
            let entry = match case.get("evaluator").and_then(Value::as_str) {
                Some(name) => registry.get(name).unwrap_or_else(|| panic!("{place}: no evaluator `{name}`")),
                None => entry,
            };
            let tolerance = case.get("tolerance").and_then(Value::as_f64).unwrap_or(1e-9);
            // A record that JSON values can't hold (a key twice, `1.10`, NaN) stands as its text.
            let record = case["record"].as_str().map_or_else(|| case["record"].to_string(), str::to_owned);
            let got = judge(entry, &params, &record);
            if let Some(wrong) = mismatch(&got, &case["expect"], tolerance) {
                failures.push(format!("{place} ({}): {wrong}", case["name"].as_str().unwrap_or_default()));
            }
            count += 1;
        }
    }
    assert!(failures.is_empty(), "{} of {count} cases fail:\n{}", failures.len(), failures.join("\n"));
    assert!(count > 0, "no cases");
}
