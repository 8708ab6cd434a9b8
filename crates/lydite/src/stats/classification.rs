//! How well probabilities or verdicts of yes and no agree with labels.
//!
//! All take pairs of what was said and whether the label is yes. A figure that the labels leave undefined
//! (no example at all, or only one of the two classes where both are needed) is `None`.

/// Answers of a yes-or-no question beside their labels, counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Confusion {
    pub true_positive: u64,
    pub false_positive: u64,
    pub true_negative: u64,
    pub false_negative: u64,
}

impl Confusion {
    /// Counts pairs of (said yes, is yes).
    pub fn of(pairs: impl IntoIterator<Item = (bool, bool)>) -> Self {
        let mut counts = Self::default();
        for (said, label) in pairs {
            let count = match (said, label) {
                (true, true) => &mut counts.true_positive,
                (true, false) => &mut counts.false_positive,
                (false, false) => &mut counts.true_negative,
                (false, true) => &mut counts.false_negative,
            };
            *count += 1;
        }
        counts
    }

    pub const fn n(&self) -> u64 {
        self.true_positive + self.false_positive + self.true_negative + self.false_negative
    }

    /// The share that was said right.
    pub fn accuracy(&self) -> Option<f64> {
        share(self.true_positive + self.true_negative, self.n())
    }

    /// The mean of recall and specificity; one half is chance whatever the classes' shares.
    ///
    /// K. Brodersen et al., "The balanced accuracy and its posterior distribution", ICPR 2010.
    pub fn balanced_accuracy(&self) -> Option<f64> {
        Some(f64::midpoint(self.recall()?, self.specificity()?))
    }

    /// Of what is yes, the share that was said so.
    pub fn recall(&self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_negative)
    }

    /// Of what is no, the share that was said so.
    pub fn specificity(&self) -> Option<f64> {
        share(self.true_negative, self.true_negative + self.false_positive)
    }

    /// Of what was said to be yes, the share that is.
    pub fn precision(&self) -> Option<f64> {
        share(self.true_positive, self.true_positive + self.false_positive)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> Option<f64> {
        share(
            2 * self.true_positive,
            2 * self.true_positive + self.false_positive + self.false_negative,
        )
    }
}

/// The area under the ROC curve: how often a yes scores above a no, ties counted half.
///
/// Computed from ranks (the Mann–Whitney statistic; J. Hanley and B. McNeil, "The meaning and use of the area
/// under a receiver operating characteristic curve", Radiology 143, 1982). O(n log n). Scores must not be NaN.
pub fn roc_auc(scored: &[(f64, bool)]) -> Option<f64> {
    let mut sorted = scored.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut below, mut wins) = (0_u64, 0.0_f64);
    let mut positives = 0_u64;
    for ties in sorted.chunk_by(|a, b| a.0 == b.0) {
        let yes = ties.iter().filter(|(_, label)| *label).count() as u64;
        let no = ties.len() as u64 - yes;
        wins += yes as f64 * (below as f64 + no as f64 / 2.0);
        positives += yes;
        below += no;
    }
    (positives > 0 && below > 0).then(|| wins / (positives as f64 * below as f64))
}

/// Average precision, the area under the precision-recall curve as a sum of steps: `Σ (Rₙ − Rₙ₋₁) Pₙ` over
/// the distinct scores in descending order (what scikit-learn's `average_precision_score` computes).
pub fn average_precision(scored: &[(f64, bool)]) -> Option<f64> {
    let positives = scored.iter().filter(|(_, label)| *label).count();
    let mut sorted = scored.to_vec();
    sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut seen, mut found, mut area) = (0_usize, 0_usize, 0.0);
    for ties in sorted.chunk_by(|a, b| a.0 == b.0) {
        let yes = ties.iter().filter(|(_, label)| *label).count();
        seen += ties.len();
        found += yes;
        area += yes as f64 * found as f64 / seen as f64;
    }
    (positives > 0).then(|| area / positives as f64)
}

/// The mean squared difference of probability and label (G. Brier, "Verification of forecasts expressed in
/// terms of probability", Monthly Weather Review 78, 1950).
pub fn brier(predicted: &[(f64, bool)]) -> Option<f64> {
    let squares = predicted.iter().map(|(probability, label)| {
        let error = probability - f64::from(u8::from(*label));
        error * error
    });
    mean(squares.sum(), predicted.len())
}

/// The expected calibration error: the mean over all examples of how far the mean probability of their bin is
/// from the share of yes in it.
///
/// The bins hold equally many examples (the first ones get one more where it does not come out even), in the
/// order of the probabilities: K. Nguyen and B. O'Connor, "Posterior calibration and exploratory analysis for
/// natural language processing models", EMNLP 2015. Equal probabilities may be in two bins, and then the order
/// of the input decides.
pub fn calibration_error(predicted: &[(f64, bool)], bins: usize) -> Option<f64> {
    let n = predicted.len();
    let mut sorted = predicted.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut rest, mut gaps) = (sorted.as_slice(), 0.0);
    for left in (1..=bins.max(1)).rev() {
        let (bin, behind) = rest.split_at(rest.len().div_ceil(left));
        let gap: f64 = bin
            .iter()
            .map(|(probability, label)| probability - f64::from(u8::from(*label)))
            .sum();
        gaps += gap.abs();
        rest = behind;
    }
    mean(gaps, n)
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn mean(sum: f64, n: usize) -> Option<f64> {
    (n > 0).then(|| sum / n as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    /// What scikit-learn 1.x makes of 60 probabilities; the calibration errors by numpy:
    ///
    /// ```python
    /// metrics.roc_auc_score(y, p), metrics.average_precision_score(y, p), metrics.brier_score_loss(y, p)
    /// metrics.accuracy_score(y, p >= .5), metrics.balanced_accuracy_score(y, p >= .5)  # and so on
    /// order = sorted(range(60), key=lambda i: p[i])
    /// sum(abs(sum(p[i] - y[i] for i in bin)) for bin in np.array_split(order, bins)) / 60
    /// ```
    #[derive(Deserialize)]
    struct Reference {
        probabilities: Vec<f64>,
        labels: Vec<bool>,
        roc_auc: f64,
        average_precision: f64,
        brier: f64,
        accuracy: f64,
        balanced_accuracy: f64,
        precision: f64,
        recall: f64,
        f1: f64,
        calibration_error_7: f64,
        calibration_error_10: f64,
    }

    #[test]
    fn figures_are_those_of_scikit_learn() {
        let text = include_str!("classification.reference.json");
        let reference: Reference = serde_json::from_str(text).unwrap();
        let probabilities = reference.probabilities.iter().copied();
        let predicted: Vec<(f64, bool)> = probabilities.zip(reference.labels).collect();
        let said = Confusion::of(predicted.iter().map(|(p, label)| (*p >= 0.5, *label)));
        for (found, expected) in [
            (roc_auc(&predicted), reference.roc_auc),
            (average_precision(&predicted), reference.average_precision),
            (brier(&predicted), reference.brier),
            (said.accuracy(), reference.accuracy),
            (said.balanced_accuracy(), reference.balanced_accuracy),
            (said.precision(), reference.precision),
            (said.recall(), reference.recall),
            (said.f1(), reference.f1),
            (
                calibration_error(&predicted, 7),
                reference.calibration_error_7,
            ),
            (
                calibration_error(&predicted, 10),
                reference.calibration_error_10,
            ),
        ] {
            assert!(
                (found.unwrap() - expected).abs() < 1e-12,
                "{found:?} {expected}"
            );
        }
    }

    #[test]
    fn what_labels_leave_undefined_is_none() {
        let only_yes = [(0.3, true), (0.6, true)];
        let said = Confusion::of([(true, true)]);
        for figure in [
            roc_auc(&only_yes),
            average_precision(&[(0.5, false)]),
            brier(&[]),
            calibration_error(&[], 10),
            said.specificity(),
            said.balanced_accuracy(),
            Confusion::default().accuracy(),
            Confusion::of([(false, false)]).f1(),
        ] {
            assert_eq!(figure, None);
        }
        assert_eq!(average_precision(&only_yes), Some(1.0));
    }

    #[test]
    fn more_bins_than_examples_leave_bins_empty() {
        assert_eq!(calibration_error(&[(0.5, true)], 10), Some(0.5));
        assert_eq!(calibration_error(&[(0.5, true)], 0), Some(0.5));
    }

    proptest! {
        #[test]
        fn the_auc_is_the_share_of_pairs_in_order(scored in prop::collection::vec((0..8_u8, any::<bool>()), 0..40)) {
            let scored: Vec<(f64, bool)> = scored.into_iter().map(|(s, l)| (f64::from(s), l)).collect();
            let (mut wins, mut pairs) = (0.0, 0.0);
            for (yes, _) in scored.iter().filter(|(_, label)| *label) {
                for (no, _) in scored.iter().filter(|(_, label)| !*label) {
                    pairs += 1.0;
                    wins += if yes > no { 1.0 } else if yes == no { 0.5 } else { 0.0 };
                }
            }
            if let Some(area) = roc_auc(&scored) {
                prop_assert!((area - wins / pairs).abs() < 1e-12);
            } else {
                prop_assert_eq!(pairs, 0.0);
            }
        }
    }
}
