//! From the label that a judge chose to a score, a verdict and their words.

use crate::judge::{Labels, Outcome, Verdicted};
use crate::outcome::{Cell, Explanation, Score, Verdict};

/// What one label means: its verdict, and its score in [0, 1] if it has one.
pub(super) type Grade = (Verdict, Option<f64>);

/// The grades of two labels, the good one first.
pub(super) const PASS_FAIL: [Grade; 2] = [(Verdict::Pass, Some(1.0)), (Verdict::Fail, Some(0.0))];

/// The outcome of a judge's verdict; `grades` stand in the order of `labels`.
///
/// The verdict is the label's. The score is the expected value of the labels that have one: the label's own
/// where the judge was asked once, a mean by samples or log-probabilities else.
pub(super) fn graded(said: Verdicted, labels: &Labels, grades: &[Grade]) -> Outcome {
    let grade = grades.get(said.label);
    let score = grade
        .and_then(|(_, score)| *score)
        .map(|score| expected(&said, grades).unwrap_or(score));
    let cell = Cell::Scored {
        score: score.and_then(Score::new),
        natural: grade.map(|(verdict, _)| *verdict),
        flags: 0,
    };
    let label = labels.name(said.label).to_owned();
    let reason = if said.reason.is_empty() {
        format!("the judge gave `{label}` without a reason")
    } else {
        said.reason
    };
    let explanation = Explanation {
        label: Some(label.into()),
        reason: Some(reason.into()),
        evidence: said.evidence,
        raw: None,
    };
    Outcome::new(cell, explanation)
}

/// The mean score over the labels that have one, weighted by their shares.
fn expected(said: &Verdicted, grades: &[Grade]) -> Option<f64> {
    let (mut sum, mut mass) = (0.0, 0.0);
    for (label, (_, score)) in grades.iter().enumerate() {
        if let Some(score) = score {
            sum += said.share(label) * score;
            mass += said.share(label);
        }
    }
    (mass > 0.0).then(|| (sum / mass).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(label: usize, shares: &[f64]) -> Verdicted {
        Verdicted {
            label,
            reason: String::new(),
            shares: shares.to_vec(),
            evidence: Vec::new(),
        }
    }

    #[test]
    fn scores_are_expected_values_of_the_labels_that_have_one() {
        let labels = Labels::yes_no();
        let grades = [
            (Verdict::Pass, Some(1.0)),
            (Verdict::Partial, Some(0.5)),
            (Verdict::Fail, Some(0.0)),
            (Verdict::Inconclusive, None),
        ];
        let table: [(usize, &[f64], Option<f64>); 5] = [
            (0, &[1.0, 0.0, 0.0, 0.0], Some(1.0)),
            (1, &[0.0, 1.0, 0.0, 0.0], Some(0.5)),
            (0, &[0.5, 0.25, 0.25, 0.0], Some(0.625)),
            (0, &[0.5, 0.0, 0.0, 0.5], Some(1.0)),
            (3, &[0.25, 0.0, 0.0, 0.75], None),
        ];
        for (label, shares, score) in table {
            let outcome = graded(said(label, shares), &labels, &grades);
            assert_eq!(outcome.cell.score(), score, "{label} {shares:?}");
            let Cell::Scored { natural, .. } = outcome.cell else {
                panic!("{outcome:?}")
            };
            assert_eq!(natural, Some(grades[label].0));
        }
    }
}
