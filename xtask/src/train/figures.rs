//! How well left-out examples were told, set by set.

use super::levels::Group;
use super::table::Table;
use lydite::heads::file::Calibration;
use lydite::heads::{File, Levels};
use lydite::outcome::Verdict;
use lydite::stats::classification::{
    Confusion, average_precision, brier, calibration_error, roc_auc,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Bins of the calibration error.
const BINS: usize = 10;

/// The calibrated probabilities of each set's examples that have a logit.
pub(crate) fn by_set(
    table: &Table,
    logits: &[Option<f64>],
    calibration: &Calibration,
) -> Vec<Group> {
    let mut sets: BTreeMap<&str, Vec<(f64, bool)>> = BTreeMap::new();
    for (example, logit) in table.examples().iter().zip(logits) {
        if let Some(logit) = logit {
            let scored = (calibration.probability(*logit), example.label);
            sets.entry(example.set).or_default().push(scored);
        }
    }
    sets.into_iter()
        .map(|(name, predicted)| Group {
            name: name.to_owned(),
            predicted,
        })
        .collect()
}

/// The figures of each set as the file holds them.
pub(crate) fn json(groups: &[Group], levels: &Levels) -> Value {
    let of_group = |group: &Group| (group.name.clone(), figures(&group.predicted, levels));
    Value::Object(groups.iter().map(of_group).collect())
}

fn figures(predicted: &[(f64, bool)], levels: &Levels) -> Value {
    let forced = Confusion::of(predicted.iter().map(|(p, label)| (*p >= 0.5, *label)));
    let given: Vec<(bool, bool)> = predicted
        .iter()
        .filter_map(|(p, label)| match levels.verdict(*p) {
            Verdict::Pass => Some((true, *label)),
            Verdict::Fail => Some((false, *label)),
            _ => None,
        })
        .collect();
    let covered = Confusion::of(given.iter().copied());
    let of = |said: bool| Confusion::of(given.iter().copied().filter(|pair| pair.0 == said));
    json!({
        "n": predicted.len(),
        "yes": predicted.iter().filter(|(_, label)| *label).count(),
        "accuracy": forced.accuracy(),
        "balanced_accuracy": forced.balanced_accuracy(),
        "auroc": roc_auc(predicted),
        "average_precision": average_precision(predicted),
        "brier": brier(predicted),
        "calibration_error": calibration_error(predicted, BINS),
        "coverage": given.len() as f64 / predicted.len().max(1) as f64,
        "accuracy_covered": covered.accuracy(),
        "accuracy_pass": of(true).accuracy(),
        "accuracy_fail": of(false).accuracy(),
    })
}

/// Columns of the tables that people read: the key, and its heading.
pub(crate) const COLUMNS: [(&str, &str); 10] = [
    ("n", "n"),
    ("accuracy", "accuracy"),
    ("balanced_accuracy", "balanced"),
    ("auroc", "AUROC"),
    ("average_precision", "AUPRC"),
    ("calibration_error", "ECE"),
    ("coverage", "coverage"),
    ("accuracy_covered", "right"),
    ("accuracy_pass", "right if pass"),
    ("accuracy_fail", "right if fail"),
];

/// A table in Markdown of one way of leaving data out.
pub(crate) fn table(figures: Option<&Value>) -> String {
    let headings: Vec<&str> = COLUMNS.iter().map(|(_, heading)| *heading).collect();
    let mut text = format!(
        "| set | {} |\n|---|{}\n",
        headings.join(" | "),
        "---|".repeat(COLUMNS.len())
    );
    let none = Map::new();
    for (set, row) in figures.and_then(Value::as_object).unwrap_or(&none) {
        let cells: Vec<String> = COLUMNS.iter().map(|(key, _)| cell(row.get(key))).collect();
        text += &format!("| `{set}` | {} |\n", cells.join(" | "));
    }
    text
}

fn cell(value: Option<&Value>) -> String {
    match value {
        Some(Value::Number(number)) if number.is_u64() => number.to_string(),
        Some(Value::Number(number)) => format!("{:.3}", number.as_f64().unwrap_or_default()),
        _ => "–".to_owned(),
    }
}

/// What is printed after a fit.
pub(crate) fn text(file: &File) -> String {
    let Levels {
        pass,
        fail,
        coverage,
        ..
    } = file.levels;
    format!(
        "out of fold\n{}out of set\n{}levels: pass {pass:?}, fail {fail:?}, coverage {coverage:.3}\nlevel not reached by: {}\n",
        table(file.figures.get("out_of_fold")),
        table(file.figures.get("out_of_set")),
        file.figures.get("unreached").unwrap_or(&Value::Null),
    )
}
