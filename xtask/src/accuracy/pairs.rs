//! Minimal pairs of our own: a fact, the same in other words, and edits that make it false. A method that is blind to a
//! number, a *not* or a name passes the edit.

use super::at;
use super::judged::{Binary, Judged};
use crate::workspace;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;

/// Where they stand.
const FILE: &str = "crates/lydite/tests/cases/minimal_pairs.json";

/// How often one check told edits of a kind from the fact.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    pub(crate) n: usize,
    /// The edit failed.
    pub(crate) failed: usize,
    /// The edit passed: what must not be.
    pub(crate) passed: usize,
}

/// By check, then by the kind of the edit; `same` is the fact in other words.
pub(crate) type Caught = BTreeMap<&'static str, BTreeMap<String, Count>>;

pub(crate) const CHECKS: [&str; 2] = ["semantic_match", "faithfulness"];

pub(crate) fn caught(binary: &Binary) -> Result<Caught> {
    let text = fs::read_to_string(workspace::root().join(FILE))
        .with_context(|| format!("cannot read {FILE}"))?;
    let facts: Vec<Value> = serde_json::from_str(&text).with_context(|| FILE.to_owned())?;
    let said: Vec<(String, Value)> = facts.iter().flat_map(said).collect();
    let mut caught = Caught::new();
    for check in CHECKS {
        let run = binary.judge(check, said.iter().map(|(_, record)| record))?;
        for ((kind, _), judged) in said.iter().zip(run.results) {
            count(
                caught
                    .entry(check)
                    .or_default()
                    .entry(kind.clone())
                    .or_default(),
                judged,
            );
        }
    }
    Ok(caught)
}

/// The records of one fact, each with its kind.
fn said(fact: &Value) -> Vec<(String, Value)> {
    let record = |output: &Value| {
        json!({
            "query": at(fact, "query"),
            "output": output,
            "reference": at(fact, "fact"),
            "contexts": [at(fact, "fact")],
        })
    };
    let edits = at(fact, "edits").as_object().into_iter().flatten();
    // `number_second` is a number as well.
    let edits = edits.map(|(kind, output)| {
        let kind = kind.split('_').next().unwrap_or_default();
        (kind.to_owned(), record(output))
    });
    std::iter::once(("same".to_owned(), record(at(fact, "same"))))
        .chain(edits)
        .collect()
}

fn count(count: &mut Count, judged: Judged) {
    count.n += 1;
    count.failed += usize::from(judged.verdict == Some(false));
    count.passed += usize::from(judged.verdict == Some(true));
}

/// The table in Markdown.
pub(crate) fn table(caught: &Caught) -> String {
    let mut text = String::from(
        "| check | what was changed | n | fail | inconclusive | pass |\n|---|---|---|---|---|---|\n",
    );
    for (check, kinds) in caught {
        for (kind, Count { n, failed, passed }) in kinds {
            let kind = if kind == "same" {
                "nothing: other words"
            } else {
                kind
            };
            text += &format!(
                "| `{check}` | {kind} | {n} | {failed} | {} | {passed} |\n",
                n - failed - passed
            );
        }
    }
    text
}
