//! Judged cells, and the evidence of items that a judge gave a verdict each.

use crate::judge::{Item, Labels};
use crate::outcome::{Cell, Code, Evidence, Explanation, Score, Verdict};

/// A score with a verdict of the evaluator's own.
pub(super) fn scored(score: f64, verdict: Verdict) -> Cell {
    match Score::new(score) {
        Some(score) => Cell::Scored {
            score: Some(score),
            natural: Some(verdict),
            flags: 0,
        },
        None => Cell::Errored(Code::NonFiniteNumber),
    }
}

/// The words for a verdict: its name, and the judge's reason where it gave one.
pub(super) fn explained(label: &str, reason: String, evidence: Vec<Evidence>) -> Explanation {
    Explanation {
        label: Some(label.to_owned().into()),
        ..reasoned(reason, evidence)
    }
}

/// The words for a number: the judge's reason where it gave one.
pub(super) fn reasoned(reason: String, evidence: Vec<Evidence>) -> Explanation {
    Explanation {
        reason: (!reason.is_empty()).then(|| reason.into()),
        evidence,
        ..Explanation::default()
    }
}

/// Pass for a whole score, fail for none, partial between.
pub(super) fn whole_or_part(score: f64) -> Verdict {
    if score >= 1.0 {
        Verdict::Pass
    } else if score <= 0.0 {
        Verdict::Fail
    } else {
        Verdict::Partial
    }
}

/// How many items have the label, and which share of all they are; 0 of none.
pub(super) fn share(items: &[Item], label: usize) -> (usize, f64) {
    let count = items.iter().filter(|item| item.label == label).count();
    (count, count as f64 / items.len().max(1) as f64)
}

/// One piece of evidence an item: its number from 1, its text, the verdict and the judge's reason.
pub(super) fn evidence<'t>(
    kind: &'static str,
    texts: impl IntoIterator<Item = &'t str>,
    items: &[Item],
    labels: &Labels,
) -> Vec<Evidence> {
    let pairs = texts.into_iter().zip(items).enumerate();
    pairs
        .map(|(index, (text, item))| {
            Evidence::new(kind)
                .set("number", index + 1)
                .set("text", text)
                .set("verdict", labels.name(item.label))
                .set("reason", item.reason.as_str())
        })
        .collect()
}
