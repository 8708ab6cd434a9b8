//! From which probability on a head gives a verdict.

use serde::{Deserialize, Serialize};

use super::HeadError;
use crate::outcome::Verdict;

/// Two probabilities: pass at `pass` and above, fail at `fail` and below, inconclusive between them.
///
/// *Pass* is the class that the head's probability is of. An evaluator for which that class is the bad one
/// (a refusal, abuse) negates the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Levels {
    /// `None` where no level was right often enough: then it never passes.
    pub pass: Option<f64>,
    /// `None`: then it never fails.
    pub fail: Option<f64>,
    /// The share of right verdicts among the passes on left-out data.
    pub accuracy_pass: Option<f64>,
    /// The same among the fails.
    pub accuracy_fail: Option<f64>,
    /// The share of left-out examples that got a verdict.
    pub coverage: f64,
}

impl Levels {
    /// The verdict of a probability.
    pub fn verdict(&self, probability: f64) -> Verdict {
        if self.pass.is_some_and(|pass| probability >= pass) {
            Verdict::Pass
        } else if self.fail.is_some_and(|fail| probability <= fail) {
            Verdict::Fail
        } else {
            Verdict::Inconclusive
        }
    }

    /// An error unless both are probabilities and fail is below pass.
    pub fn check(&self) -> Result<(), HeadError> {
        let mut levels = [self.fail, self.pass].into_iter().flatten();
        let in_range = levels.all(|level| (0.0..=1.0).contains(&level));
        let ordered = match (self.fail, self.pass) {
            (Some(fail), Some(pass)) => fail < pass,
            _ => true,
        };
        if in_range && ordered {
            Ok(())
        } else {
            Err(HeadError::Levels(format!(
                "{:?} and {:?}",
                self.fail, self.pass
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(pass: Option<f64>, fail: Option<f64>) -> Levels {
        Levels {
            pass,
            fail,
            accuracy_pass: None,
            accuracy_fail: None,
            coverage: 0.0,
        }
    }

    #[test]
    fn verdicts_at_and_between_the_levels() {
        use Verdict::*;
        let both = levels(Some(0.8), Some(0.3));
        for (levels, probability, expected) in [
            (both, 1.0, Pass),
            (both, 0.8, Pass),
            (both, 0.799, Inconclusive),
            (both, 0.301, Inconclusive),
            (both, 0.3, Fail),
            (both, f64::NAN, Inconclusive),
            (levels(None, Some(0.3)), 1.0, Inconclusive),
            (levels(Some(0.8), None), 0.0, Inconclusive),
        ] {
            assert_eq!(
                levels.verdict(probability),
                expected,
                "{levels:?} {probability}"
            );
        }
    }

    #[test]
    fn levels_out_of_range_or_order_are_errors() {
        for (pass, fail, good) in [
            (Some(0.8), Some(0.3), true),
            (None, None, true),
            (Some(0.1), None, true),
            (Some(0.3), Some(0.3), false),
            (Some(0.3), Some(0.8), false),
            (Some(1.1), None, false),
            (None, Some(-0.1), false),
            (Some(f64::NAN), None, false),
        ] {
            assert_eq!(
                levels(pass, fail).check().is_ok(),
                good,
                "{pass:?} {fail:?}"
            );
        }
    }
}
