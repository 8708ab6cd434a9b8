//! Confidence intervals of one run's rates and means.
//!
//! Rates have Wilson's interval (Wilson 1927; Brown, Cai & DasGupta 2001), means Student's t. Where several
//! answers belong to one case or cluster they are not independent, and both have the cluster-robust interval
//! with the G/(G - 1) correction and t with G - 1 degrees of freedom (Miller 2024, arXiv:2411.00640).
//! Where there is too little for an interval it is `None`, never one of width 0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::sum::Moments;

/// The two ends of a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    /// `value ± margin`, where both are finite.
    fn around(value: f64, margin: f64) -> Option<Self> {
        let interval = Self {
            low: value - margin,
            high: value + margin,
        };
        (interval.low.is_finite() && interval.high.is_finite()).then_some(interval)
    }

    /// The part of it within `[low, high]`.
    pub fn clamped(self, low: f64, high: f64) -> Self {
        Self {
            low: self.low.clamp(low, high),
            high: self.high.clamp(low, high),
        }
    }
}

/// A two-sided confidence level, with its normal quantile computed once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Confidence {
    level: f64,
    z: f64,
}

impl Confidence {
    /// `None` outside of `[0.5, 0.9999]`.
    pub fn new(level: f64) -> Option<Self> {
        if !(0.5..=0.9999).contains(&level) {
            return None;
        }
        let z = Normal::standard().inverse_cdf(f64::midpoint(1.0, level));
        Some(Self { level, z })
    }

    pub fn level(self) -> f64 {
        self.level
    }

    /// How many standard errors of a normal estimate the interval reaches to each side.
    pub fn z(self) -> f64 {
        self.z
    }

    /// The same for Student's t. `None` without a degree of freedom.
    pub fn t(self, degrees_of_freedom: u64) -> Option<f64> {
        let df = degrees_of_freedom as f64;
        match degrees_of_freedom {
            0 => None,
            1..SERIES_FROM => {
                let t = StudentsT::new(0.0, 1.0, df).ok()?;
                Some(t.inverse_cdf(f64::midpoint(1.0, self.level)))
            }
            _ => Some(t_series(self.z, df)),
        }
    }
}

impl Default for Confidence {
    /// 95 %.
    fn default() -> Self {
        Self {
            level: 0.95,
            z: 1.959_963_984_540_054,
        }
    }
}

/// Wilson's score interval of a rate of `passed` in `n`. `None` for n = 0, or `passed > n`.
///
/// Always within `[0, 1]` and around the rate; its end is exactly 0 or 1 where all failed or passed.
pub fn wilson(passed: u64, n: u64, confidence: Confidence) -> Option<Interval> {
    if n == 0 || passed > n {
        return None;
    }
    let (count, z) = (n as f64, confidence.z);
    let rate = passed as f64 / count;
    let z2 = z * z / count;
    let centre = rate + z2 / 2.0;
    let margin = z * (rate * (1.0 - rate) / count + z2 / (4.0 * count)).sqrt();
    let low = if passed == 0 {
        0.0
    } else {
        (centre - margin) / (1.0 + z2)
    };
    let high = if passed == n {
        1.0
    } else {
        (centre + margin) / (1.0 + z2)
    };
    Some(Interval { low, high }.clamped(0.0, 1.0))
}

/// The standard error of a mean, `s / √n` with the sample deviation s. `None` for n < 2.
pub fn standard_error(moments: &Moments) -> Option<f64> {
    Some((moments.variance()? / moments.n() as f64).sqrt())
}

/// The t interval of a mean, `mean ± t(n - 1) × s / √n`. `None` for n < 2.
pub fn mean_t(moments: &Moments, confidence: Confidence) -> Option<Interval> {
    let error = standard_error(moments)?;
    Interval::around(moments.mean()?, confidence.t(moments.n() - 1)? * error)
}

/// What a clustered interval needs to know of some numbers and their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviations {
    /// How many clusters have a number.
    pub clusters: u64,
    /// How many numbers there are.
    pub n: u64,
    /// `Σ_c (Σ_{i in c} (x_i - mean))²`
    pub squares: f64,
}

impl Deviations {
    /// The cluster-robust standard error, `√(G / (G - 1) × squares) / n`. `None` for G < 2.
    pub fn standard_error(&self) -> Option<f64> {
        if self.clusters < 2 {
            return None;
        }
        let clusters = self.clusters as f64;
        Some((clusters / (clusters - 1.0) * self.squares).sqrt() / self.n as f64)
    }
}

/// The cluster-robust interval of a mean, t with G - 1 degrees of freedom. `None` for G < 2.
pub fn clustered_mean(
    mean: f64,
    deviations: &Deviations,
    confidence: Confidence,
) -> Option<Interval> {
    let error = deviations.standard_error()?;
    Interval::around(mean, confidence.t(deviations.clusters - 1)? * error)
}

/// The cluster-robust interval of a rate of `passed` in `n`, within `[0, 1]`. `None` for G < 2.
///
/// Where all answers pass, or none, the clusters show no spread and that interval would have no width. Then
/// each cluster counts as one answer and the G of them have Wilson's interval.
pub fn clustered_rate(
    passed: u64,
    deviations: &Deviations,
    confidence: Confidence,
) -> Option<Interval> {
    let Deviations { clusters, n, .. } = *deviations;
    if clusters < 2 {
        None
    } else if passed == 0 {
        wilson(0, clusters, confidence)
    } else if passed == n {
        wilson(clusters, clusters, confidence)
    } else {
        let interval = clustered_mean(passed as f64 / n as f64, deviations, confidence)?;
        Some(interval.clamped(0.0, 1.0))
    }
}

/// From here the series is exact to 1e-13, while inverting the incomplete beta function loses digits.
const SERIES_FROM: u64 = 1000;

/// Student's t quantile from the normal one, as a series in 1/df (Fisher & Cornish 1960;
/// Abramowitz & Stegun 26.7.5).
fn t_series(z: f64, df: f64) -> f64 {
    let z2 = z * z;
    let terms = [
        z * (z2 + 1.0) / 4.0,
        z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0,
        z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0,
        z * ((((79.0 * z2 + 776.0) * z2 + 1482.0) * z2 - 1920.0) * z2 - 945.0) / 92160.0,
    ];
    z + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / df)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn quantiles_agree_with_tables() {
        let c95 = Confidence::default();
        // scipy.stats.t.ppf
        let table = [
            (0.95, 1, 12.706_204_736_174_7),
            (0.95, 2, 4.302_652_729_749_46),
            (0.95, 3, 3.182_446_305_283_71),
            (0.95, 9, 2.262_157_162_798_2),
            (0.95, 29, 2.045_229_642_132_7),
            (0.95, 100, 1.983_971_518_523_55),
            (0.99, 10, 3.169_272_672_616_87),
        ];
        for (level, df, expected) in table {
            let t = Confidence::new(level).unwrap().t(df).unwrap();
            assert!(
                (t - expected).abs() < 1e-11 * expected,
                "t({df}) at {level} = {t}"
            );
        }
        assert!((Confidence::new(0.95).unwrap().z() - c95.z()).abs() < 1e-14);
        assert_eq!(c95.t(0), None);
        for level in [0.0, 0.49, 0.99999, 1.0, f64::NAN] {
            assert_eq!(Confidence::new(level), None);
        }
    }

    #[test]
    fn quantiles_fall_towards_the_normal_one() {
        for level in [0.5, 0.8, 0.9, 0.95, 0.99, 0.999, 0.9999] {
            let confidence = Confidence::new(level).unwrap();
            let mut before = f64::INFINITY;
            for df in (1..1100).chain([10_000, 1_000_000, 1_000_000_000, u64::MAX]) {
                let t = confidence.t(df).unwrap();
                assert!(
                    t <= before && t >= confidence.z(),
                    "t({df}) at {level} = {t}, before {before}"
                );
                before = t;
            }
        }
    }

    #[test]
    fn the_two_ways_to_a_t_quantile_meet() {
        for level in [0.5, 0.9, 0.95, 0.999] {
            let confidence = Confidence::new(level).unwrap();
            let exact = confidence.t(SERIES_FROM - 1).unwrap();
            let series = t_series(confidence.z(), (SERIES_FROM - 1) as f64);
            assert!((exact - series).abs() < 1e-11, "{level}: {exact} {series}");
        }
    }

    #[test]
    fn an_interval_that_cannot_be_had_is_none() {
        let confidence = Confidence::default();
        assert_eq!(wilson(0, 0, confidence), None);
        assert_eq!(wilson(2, 1, confidence), None);
        let mut one = Moments::new();
        one.push(0.4);
        assert_eq!(mean_t(&one, confidence), None);
        assert_eq!(mean_t(&Moments::new(), confidence), None);
        let deviations = Deviations {
            clusters: 1,
            n: 5,
            squares: 0.0,
        };
        assert_eq!(clustered_mean(0.4, &deviations, confidence), None);
        assert_eq!(clustered_rate(5, &deviations, confidence), None);
    }

    #[test]
    fn a_clustered_rate_without_spread_still_has_a_width() {
        let deviations = Deviations {
            clusters: 4,
            n: 20,
            squares: 0.0,
        };
        let confidence = Confidence::default();
        assert_eq!(
            clustered_rate(20, &deviations, confidence),
            wilson(4, 4, confidence)
        );
        assert_eq!(
            clustered_rate(0, &deviations, confidence),
            wilson(0, 4, confidence)
        );
    }

    proptest! {
        #[test]
        fn wilson_lies_in_the_unit_range_around_the_rate(
            passed in 0_u64..10_000_000, failed in 0_u64..10_000_000, level in 0.5_f64..0.9999,
        ) {
            let n = passed + failed;
            prop_assume!(n > 0);
            let interval = wilson(passed, n, Confidence::new(level).unwrap()).unwrap();
            let rate = passed as f64 / n as f64;
            prop_assert!(0.0 <= interval.low && interval.low <= rate);
            prop_assert!(rate <= interval.high && interval.high <= 1.0);
            prop_assert!(interval.low < interval.high);
        }

        #[test]
        fn wilson_mirrors(passed in 0_u64..1000, failed in 0_u64..1000) {
            prop_assume!(passed + failed > 0);
            let confidence = Confidence::default();
            let there = wilson(passed, passed + failed, confidence).unwrap();
            let back = wilson(failed, passed + failed, confidence).unwrap();
            prop_assert!((there.low - (1.0 - back.high)).abs() < 1e-12);
            prop_assert!((there.high - (1.0 - back.low)).abs() < 1e-12);
        }
    }
}
