//! Reference values of string distances, raw and normalised, computed by other implementations.

use super::{Case, Lydite, lines, open, scratch, text_at};
use anyhow::Result;
use serde_json::{Value, json};
use std::path::Path;

/// The most that a value may differ.
const TOLERANCE: f64 = 1e-9;

/// How a label becomes the score that a distance must have.
#[derive(Clone, Copy)]
enum Label {
    /// A count of edits.
    Count(&'static str),
    /// A similarity in [0, 1], so that its complement is the distance.
    Similarity(&'static str),
}

/// Check, distance, label.
const CHECKS: [(&str, &str, Label); 9] = [
    (
        "levenshtein_raw",
        "levenshtein",
        Label::Count("levenshtein"),
    ),
    (
        "levenshtein",
        "levenshtein",
        Label::Similarity("levenshtein_normalized_similarity"),
    ),
    (
        "damerau_levenshtein_raw",
        "damerau_levenshtein",
        Label::Count("damerau_levenshtein_unrestricted"),
    ),
    (
        "damerau_levenshtein",
        "damerau_levenshtein",
        Label::Similarity("damerau_levenshtein_normalized_similarity"),
    ),
    ("indel_raw", "indel", Label::Count("indel")),
    (
        "indel",
        "indel",
        Label::Similarity("indel_normalized_similarity"),
    ),
    ("hamming_raw", "hamming", Label::Count("hamming_padded")),
    ("jaro", "jaro", Label::Similarity("jaro")),
    (
        "jaro_winkler",
        "jaro_winkler",
        Label::Similarity("jaro_winkler_p0.1"),
    ),
];

pub(super) fn cases(dir: &Path, lydite: &Lydite) -> Result<Vec<Case>> {
    let (pairs, others): (Vec<Value>, Vec<Value>) = open(dir)?
        .into_iter()
        .partition(|pair| pair.pointer("/label/levenshtein").is_some());
    println!(
        "{} pairs; {} records of other metrics are left out",
        pairs.len(),
        others.len()
    );
    let folder = scratch()?;
    let records = pairs
        .iter()
        .map(|pair| json!({"id": pair.get("id"), "output": pair.get("output"), "reference": pair.get("reference")}));
    let found = lydite.judge(folder.path(), &suite(), &lines(records))?;
    let mut cases = Vec::new();
    for pair in &pairs {
        let id = text_at(pair, "/id")?;
        for (check, _, label) in CHECKS {
            let Some(expected) = expected(pair, label) else {
                continue;
            };
            let cell = found.get(id).and_then(|checks| checks.get(check));
            cases.push(Case {
                id: id.to_owned(),
                group: check.to_owned(),
                wrong: differs(cell, expected),
            });
        }
    }
    Ok(cases)
}

fn suite() -> Value {
    let checks = CHECKS.map(|(name, distance, label)| {
        let normalised = matches!(label, Label::Similarity(_));
        json!({
            "evaluator": "string_distance",
            "name": name,
            "params": {"distance": distance, "normalize_score": normalised},
        })
    });
    json!({"version": 1, "name": "distances", "checks": checks})
}

/// The score that a check must give, `None` where there is no reference value.
fn expected(pair: &Value, label: Label) -> Option<f64> {
    let value = |key: &str| pair.get("label")?.get(key)?.as_f64();
    match label {
        Label::Count(key) => value(key),
        Label::Similarity(key) => value(key).map(|similarity| 1.0 - similarity),
    }
}

/// `None` where a cell's score is near enough, else what was said.
fn differs(cell: Option<&Value>, expected: f64) -> Option<String> {
    let Some(cell) = cell else {
        return Some(format!("no result, {expected} is right"));
    };
    let score = cell.get("score").and_then(Value::as_f64);
    let near = score.is_some_and(|score| (score - expected).abs() <= TOLERANCE);
    (!near).then(|| format!("{cell}, {expected} is right"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_become_distances() {
        let pair = json!({"label": {"levenshtein": 3, "jaro": 0.75, "hamming": null}});
        assert_eq!(expected(&pair, Label::Count("levenshtein")), Some(3.0));
        assert_eq!(expected(&pair, Label::Similarity("jaro")), Some(0.25));
        assert_eq!(expected(&pair, Label::Count("hamming")), None);
    }

    #[test]
    fn scores_are_compared_with_a_tolerance() {
        assert_eq!(differs(Some(&json!({"score": 0.25 + 1e-12})), 0.25), None);
        assert!(differs(Some(&json!({"score": 0.25 + 1e-6})), 0.25).is_some());
        assert!(differs(Some(&json!({"score": null, "error": "x"})), 0.25).is_some());
        assert!(differs(None, 0.25).is_some());
    }
}
