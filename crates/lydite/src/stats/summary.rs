//! The lines of a report: the answers of one check, folded into counts, rates and means.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::clusters::{Case, Clusters, DEFAULT_LIMIT};
use super::interval::{Confidence, Interval, clustered_mean, clustered_rate, mean_t, wilson};
use super::quantile::Quantiles;
use super::sum::Moments;
use crate::outcome::Verdict;

/// How judging one answer by one check ended, as far as a report counts it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Judged {
        /// A score that is not finite makes the answer an errored one.
        score: Option<f64>,
        /// `None` where the check only measures.
        verdict: Option<Verdict>,
    },
    Skipped,
    Errored,
}

impl Answer {
    /// A number that is not finite is a failure to judge, never a score.
    fn checked(self) -> Self {
        match self {
            Self::Judged {
                score: Some(score), ..
            } if !score.is_finite() => Self::Errored,
            Self::Judged {
                score: None,
                verdict: None,
            } => Self::Judged {
                score: None,
                verdict: Some(Verdict::Inconclusive),
            },
            other => other,
        }
    }
}

/// The fold of one check's answers, or of those that bear one tag.
#[derive(Clone, Debug)]
pub struct CheckStats {
    counts: Counts,
    moments: Moments,
    quantiles: Quantiles,
    clusters: Clusters,
    /// Scores of exactly 0 and 1, which most checks give, not yet in moments and quantiles.
    pending: [u64; 2],
}

/// How many answers ended which way. Each answer is in exactly one of these.
#[derive(Clone, Copy, Debug)]
struct Counts {
    measured: u64,
    passed: u64,
    failed: u64,
    partial: u64,
    inconclusive: u64,
    skipped: u64,
    errored: u64,
    /// `None` once a part does not know how many it did not reach.
    not_run: Option<u64>,
}

impl CheckStats {
    /// `cluster_limit`: how many cases without a repeat are kept before it is taken that there are none
    /// ([`Clusters`]); `usize::MAX` where cases are known to repeat.
    pub fn new(cluster_limit: usize) -> Self {
        Self {
            counts: Counts::NONE,
            moments: Moments::new(),
            quantiles: Quantiles::new(),
            clusters: Clusters::new(cluster_limit),
            pending: [0; 2],
        }
    }

    /// Adds an answer. Repeats of its judging are [collapsed](collapse) before.
    pub fn push(&mut self, case: Case, answer: Answer) {
        let answer = answer.checked();
        self.counts.add(answer);
        let Answer::Judged { score, verdict } = answer else {
            return;
        };
        let [zeros, ones] = &mut self.pending;
        match score {
            Some(1.0) => *ones += 1,
            Some(0.0) => *zeros += 1,
            Some(score) => {
                self.moments.push(score);
                self.quantiles.push(score);
            }
            None => {}
        }
        self.clusters.push(case, score, verdict.and_then(decided));
    }

    /// Has the intervals clustered by case although no answer was said to be a repeat: for callers that
    /// find out for all checks of a run at once.
    pub fn expect_repeats(&mut self) {
        self.clusters.expect_repeats();
    }

    /// Takes the answers as independent and drops what is kept by case, as the limit does.
    pub fn assume_independent(&mut self) {
        self.clusters.drop_all();
    }

    /// Counts answers that the run did not reach; `None` where their number is not known.
    pub fn add_not_run(&mut self, answers: Option<u64>) {
        self.counts.not_run = add_known(self.counts.not_run, answers);
    }

    pub fn merge(&mut self, other: &Self) {
        self.counts.merge(&other.counts);
        for (ours, theirs) in self.pending.iter_mut().zip(other.pending) {
            *ours += theirs;
        }
        self.moments.merge(&other.moments);
        self.quantiles.merge(&other.quantiles);
        self.clusters.merge(&other.clusters);
    }

    fn count_pending(&mut self) {
        let [zeros, ones] = std::mem::take(&mut self.pending);
        self.moments.push_zeros_and_ones(zeros, ones);
        self.quantiles.push_many(0.0, zeros);
        self.quantiles.push_many(1.0, ones);
    }

    /// The report's line. Takes `&mut self` since quantiles may reorder what they keep; more answers may
    /// follow.
    pub fn finish(&mut self, confidence: Confidence) -> CheckSummary {
        self.count_pending();
        let Counts {
            measured,
            passed,
            failed,
            partial,
            inconclusive,
            skipped,
            errored,
            not_run,
        } = self.counts;
        let n = self.counts.n();
        let told = passed + failed + partial + measured;
        let pass_rate = self.pass_rate(confidence);
        let mean = self.mean(confidence);
        CheckSummary {
            n,
            scored: self.moments.n(),
            measured,
            passed,
            failed,
            partial,
            inconclusive,
            skipped,
            errored,
            not_run,
            coverage: ratio(told, n - skipped),
            pass_rate,
            mean,
            median: self.quantiles.median(),
            p90: self.quantiles.quantile(0.9),
            approximate: self.quantiles.approximate(),
            warnings: self.warnings(told < n - skipped || not_run.is_none(), pass_rate, mean),
        }
    }

    fn pass_rate(&self, confidence: Confidence) -> Option<Estimate> {
        let Counts {
            passed,
            failed,
            partial,
            ..
        } = self.counts;
        let decided = passed + failed + partial;
        let value = ratio(passed, decided)?;
        if !self.clusters.repeats() {
            return Some(Estimate::new(
                value,
                wilson(passed, decided, confidence),
                None,
            ));
        }
        let deviations = self.clusters.pass_deviations(value);
        let interval = clustered_rate(passed, &deviations, confidence);
        Some(Estimate::new(value, interval, Some(deviations.clusters)))
    }

    fn mean(&self, confidence: Confidence) -> Option<Estimate> {
        let value = self.moments.mean()?;
        if !self.clusters.repeats() {
            return Some(Estimate::new(
                value,
                mean_t(&self.moments, confidence),
                None,
            ));
        }
        let deviations = self.clusters.score_deviations(value);
        let interval = clustered_mean(value, &deviations, confidence);
        Some(Estimate::new(value, interval, Some(deviations.clusters)))
    }

    fn warnings(
        &self,
        incomplete: bool,
        pass_rate: Option<Estimate>,
        mean: Option<Estimate>,
    ) -> Vec<Warning> {
        let few = |estimate: Option<Estimate>| {
            estimate
                .and_then(|estimate| estimate.clusters)
                .is_some_and(|clusters| clusters < FEW_CLUSTERS)
        };
        let all = [
            (incomplete, Warning::Incomplete),
            (few(pass_rate) || few(mean), Warning::FewClusters),
            (self.clusters.missed(), Warning::NotClustered),
        ];
        all.into_iter()
            .filter_map(|(holds, warning)| holds.then_some(warning))
            .collect()
    }
}

impl Default for CheckStats {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT)
    }
}

/// Below so many clusters a clustered interval tends to be too narrow.
const FEW_CLUSTERS: u64 = 30;

/// One check's line in a report.
///
/// `n` is the sum of `measured`, `passed`, `failed`, `partial`, `inconclusive`, `skipped`, `errored` and, where
/// it is known, `not_run`. What is undefined (a share of none, an interval of one) is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckSummary {
    /// Answers.
    pub n: u64,
    /// Answers with a score: those the mean and the quantiles stand on.
    pub scored: u64,
    /// Answers with a score and no verdict.
    pub measured: u64,
    pub passed: u64,
    pub failed: u64,
    pub partial: u64,
    /// Answers that the evaluator could not decide on, errors apart.
    pub inconclusive: u64,
    pub skipped: u64,
    /// Answers whose judging failed: never a score, never a fail.
    pub errored: u64,
    /// Answers that a run which ended early did not reach; null where the input's end was not seen.
    pub not_run: Option<u64>,
    /// (passed + failed + partial + measured) / (n - skipped).
    pub coverage: Option<f64>,
    /// passed / (passed + failed + partial).
    pub pass_rate: Option<Estimate>,
    /// The mean of the scores.
    pub mean: Option<Estimate>,
    pub median: Option<f64>,
    pub p90: Option<f64>,
    /// Whether median and p90 are good to 0.5 % only.
    #[serde(default, skip_serializing_if = "is_false")]
    pub approximate: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// A rate or mean with its confidence interval; the ends are null where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    pub value: f64,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// How many clusters the interval stands on, where it is a clustered one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<u64>,
}

impl Estimate {
    fn new(value: f64, interval: Option<Interval>, clusters: Option<u64>) -> Self {
        let (low, high) = interval.map(|Interval { low, high }| (low, high)).unzip();
        Self {
            value,
            low,
            high,
            clusters,
        }
    }
}

/// What a reader of a line should know before trusting it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// Some answers were errored, inconclusive or not run: the figures stand on the others only.
    Incomplete,
    /// A clustered interval stands on fewer than 30 clusters.
    FewClusters,
    /// Cases repeat, but late in a long run: the intervals take their answers as independent.
    NotClustered,
}

impl Warning {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Incomplete => "some answers have no result: the figures stand on the others only",
            Self::FewClusters => "fewer than 30 clusters: the interval may be too narrow",
            Self::NotClustered => {
                "cases repeat, but only late in the run: the interval takes their answers as independent; \
                 name a `cluster` or `trials` to have it clustered"
            }
        }
    }
}

/// Several judgings of one answer, as the one that the report counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collapsed {
    pub answer: Answer,
    /// Repeats that gave a score or a verdict.
    pub judged: u32,
    pub errored: u32,
    /// Whether they gave the same verdict, those that gave one.
    pub agreed: bool,
}

/// Collapses the repeats of one answer: the mean of the scores there are, and the verdict of more than half
/// of the repeats that ran. Without such a majority it is inconclusive; an errored repeat votes for no verdict.
/// Errored or skipped only where no repeat was judged.
pub fn collapse(repeats: &[Answer]) -> Collapsed {
    let mut scores = Moments::new();
    let mut votes = Votes::default();
    let (mut judged, mut measured, mut errored) = (0, 0, 0);
    for repeat in repeats {
        match repeat.checked() {
            Answer::Judged { score, verdict } => {
                judged += 1;
                if let Some(score) = score {
                    scores.push(score);
                }
                match verdict {
                    Some(verdict) => votes.add(verdict),
                    None => measured += 1,
                }
            }
            Answer::Errored => errored += 1,
            Answer::Skipped => {}
        }
    }
    let answer = match (judged, errored) {
        (0, 0) => Answer::Skipped,
        (0, _) => Answer::Errored,
        _ => Answer::Judged {
            score: scores.mean(),
            verdict: votes.majority_of(judged + errored, measured),
        },
    };
    Collapsed {
        answer,
        judged,
        errored,
        agreed: votes.agree(),
    }
}

/// How many repeats voted for each verdict, in the order of [`VERDICTS`].
#[derive(Default)]
struct Votes([u32; 4]);

const VERDICTS: [Verdict; 4] = [
    Verdict::Pass,
    Verdict::Fail,
    Verdict::Partial,
    Verdict::Inconclusive,
];

impl Votes {
    fn add(&mut self, verdict: Verdict) {
        for (votes, candidate) in self.0.iter_mut().zip(VERDICTS) {
            *votes += u32::from(candidate == verdict);
        }
    }

    /// `None` where none voted, or most only measured.
    fn majority_of(&self, voters: u32, measured: u32) -> Option<Verdict> {
        if 2 * measured > voters {
            return None;
        }
        let winner = VERDICTS
            .into_iter()
            .zip(self.0)
            .find(|&(_, votes)| 2 * votes > voters);
        let any = self.0.iter().any(|&votes| votes > 0);
        any.then(|| winner.map_or(Verdict::Inconclusive, |(verdict, _)| verdict))
    }

    fn agree(&self) -> bool {
        self.0.iter().filter(|&&votes| votes > 0).count() <= 1
    }
}

impl Counts {
    const NONE: Self = Self {
        measured: 0,
        passed: 0,
        failed: 0,
        partial: 0,
        inconclusive: 0,
        skipped: 0,
        errored: 0,
        not_run: Some(0),
    };

    fn add(&mut self, answer: Answer) {
        let count = match answer {
            Answer::Skipped => &mut self.skipped,
            Answer::Errored => &mut self.errored,
            Answer::Judged { verdict, .. } => match verdict {
                None => &mut self.measured,
                Some(Verdict::Pass) => &mut self.passed,
                Some(Verdict::Fail) => &mut self.failed,
                Some(Verdict::Partial) => &mut self.partial,
                Some(Verdict::Inconclusive) => &mut self.inconclusive,
            },
        };
        *count += 1;
    }

    fn merge(&mut self, other: &Self) {
        self.measured += other.measured;
        self.passed += other.passed;
        self.failed += other.failed;
        self.partial += other.partial;
        self.inconclusive += other.inconclusive;
        self.skipped += other.skipped;
        self.errored += other.errored;
        self.not_run = add_known(self.not_run, other.not_run);
    }

    fn n(&self) -> u64 {
        let judged = self.measured + self.passed + self.failed + self.partial + self.inconclusive;
        judged + self.skipped + self.errored + self.not_run.unwrap_or(0)
    }
}

/// Whether the answer passed, where it counts in the pass rate.
fn decided(verdict: Verdict) -> Option<bool> {
    match verdict {
        Verdict::Pass => Some(true),
        Verdict::Fail | Verdict::Partial => Some(false),
        Verdict::Inconclusive => None,
    }
}

fn ratio(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn add_known(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a?.checked_add(b?)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::IdTable;

    const PASS: Answer = judged(None, Verdict::Pass);
    const FAIL: Answer = judged(None, Verdict::Fail);
    const PARTIAL: Answer = judged(None, Verdict::Partial);
    const INCONCLUSIVE: Answer = judged(None, Verdict::Inconclusive);

    /// Cases from other tools' bugs: what to count when judging fails.
    #[test]
    fn a_failure_to_judge_moves_no_figure_but_coverage() {
        struct Case<'a> {
            id: &'a str,
            /// NaN where judging failed.
            scores: &'a [f64],
            mean: f64,
            scored: u64,
            coverage: f64,
        }
        const NAN: f64 = f64::NAN;
        let cases = [
            // ragas 3028: the mean rises as more rows fail.
            Case {
                id: "py-039",
                scores: &[1.0, NAN, NAN],
                mean: 1.0,
                scored: 1,
                coverage: 1.0 / 3.0,
            },
            // deepeval 3234: one NaN makes the whole mean NaN.
            Case {
                id: "py-040",
                scores: &[0.9, 0.8, NAN, 0.8, 0.85],
                mean: 0.8375,
                scored: 4,
                coverage: 0.8,
            },
            // trulens 2698: a partial measurement above a complete one.
            Case {
                id: "py-041",
                scores: &[NAN, NAN, NAN, NAN, NAN, 0.6, 0.7, 0.8, 0.9, 1.0],
                mean: 0.8,
                scored: 5,
                coverage: 0.5,
            },
        ];
        for Case {
            id,
            scores,
            mean,
            scored,
            coverage,
        } in cases
        {
            let answers: Vec<Answer> = scores.iter().copied().map(measured).collect();
            let summary = of(&answers).finish(Confidence::default());
            let n = scores.len() as u64;
            assert!((summary.mean.unwrap().value - mean).abs() < 1e-15, "{id}");
            assert_eq!(
                (summary.n, summary.scored, summary.errored),
                (n, scored, n - scored),
                "{id}"
            );
            assert_eq!((summary.measured, summary.failed), (scored, 0), "{id}");
            assert_eq!(
                (summary.coverage, summary.pass_rate),
                (Some(coverage), None),
                "{id}"
            );
            assert_eq!(summary.warnings, [Warning::Incomplete], "{id}");
        }
    }

    #[test]
    fn an_empty_selection_is_not_green() {
        // pf-agg-06
        let summary = of(&[]).finish(Confidence::default());
        assert_eq!(
            (summary.n, summary.coverage, summary.pass_rate, summary.mean),
            (0, None, None, None)
        );
        assert_eq!((summary.median, summary.p90), (None, None));
    }

    #[test]
    fn a_provider_that_failed_passes_nothing() {
        // pf-agg-08
        let summary = of(&[Answer::Errored]).finish(Confidence::default());
        assert_eq!(
            (summary.passed, summary.errored, summary.coverage),
            (0, 1, Some(0.0))
        );
        assert_eq!(summary.pass_rate, None);
    }

    #[test]
    fn each_answer_is_counted_once() {
        let mut stats = of(&[
            PASS,
            PASS,
            FAIL,
            PARTIAL,
            INCONCLUSIVE,
            Answer::Skipped,
            Answer::Errored,
            measured(0.25),
            judged(Some(0.75), Verdict::Inconclusive),
            Answer::Judged {
                score: None,
                verdict: None,
            },
        ]);
        stats.add_not_run(Some(2));
        let summary = stats.finish(Confidence::default());
        assert_eq!(
            (summary.n, summary.not_run, summary.skipped, summary.errored),
            (12, Some(2), 1, 1)
        );
        assert_eq!(
            (
                summary.passed,
                summary.failed,
                summary.partial,
                summary.inconclusive
            ),
            (2, 1, 1, 3)
        );
        assert_eq!((summary.measured, summary.scored), (1, 2));
        assert_eq!(summary.coverage, Some(5.0 / 11.0));
        let interval = wilson(2, 4, Confidence::default());
        assert_eq!(summary.pass_rate, Some(Estimate::new(0.5, interval, None)));
        assert_eq!(
            (summary.mean.unwrap().value, summary.median),
            (0.5, Some(0.5))
        );

        stats.add_not_run(None);
        stats.add_not_run(Some(1));
        let summary = stats.finish(Confidence::default());
        assert_eq!((summary.n, summary.not_run), (10, None));
    }

    #[test]
    fn what_is_undefined_is_null() {
        let summary = of(&[judged(Some(0.3), Verdict::Pass)]).finish(Confidence::default());
        let line = serde_json::to_value(&summary).unwrap();
        assert_eq!(
            line["mean"],
            serde_json::json!({"value": 0.3, "low": null, "high": null})
        );
        assert_eq!(line["pass_rate"]["high"], 1.0);
        assert_eq!(
            serde_json::from_value::<CheckSummary>(line).unwrap(),
            summary
        );

        let line =
            serde_json::to_value(of(&[Answer::Skipped]).finish(Confidence::default())).unwrap();
        for key in ["coverage", "pass_rate", "mean", "median", "p90"] {
            assert!(line[key].is_null(), "{key}");
        }
    }

    #[test]
    fn trials_of_a_case_make_clustered_intervals() {
        let mut stats = CheckStats::default();
        let trials = [
            (1, 1.0),
            (1, 1.0),
            (1, 0.0),
            (2, 1.0),
            (2, 1.0),
            (3, 0.0),
            (3, 0.0),
            (3, 1.0),
            (3, 0.0),
            (4, 1.0),
        ];
        let mut ids = IdTable::new();
        for (key, score) in trials {
            let case = Case {
                repeated: ids.seen(key) > 0,
                ..case(key)
            };
            stats.push(
                case,
                judged(
                    Some(score),
                    if score > 0.5 {
                        Verdict::Pass
                    } else {
                        Verdict::Fail
                    },
                ),
            );
        }
        let summary = stats.finish(Confidence::default());
        let mean = summary.mean.unwrap();
        assert_eq!((mean.value, mean.clusters), (0.6, Some(4)));
        assert!((mean.low.unwrap() + 0.014_907_045_125_130_636).abs() < 1e-9);
        assert!((mean.high.unwrap() - 1.214_907_045_125_130_5).abs() < 1e-9);
        let rate = summary.pass_rate.unwrap();
        assert_eq!(
            (rate.value, rate.low, rate.high, rate.clusters),
            (0.6, Some(0.0), Some(1.0), Some(4))
        );
        assert_eq!(summary.warnings, [Warning::FewClusters]);
    }

    #[test]
    fn late_repeats_of_a_long_run_are_said() {
        let mut stats = CheckStats::new(10);
        for key in 1..=10 {
            stats.push(case(key), PASS);
        }
        assert_eq!(stats.finish(Confidence::default()).warnings, []);
        stats.push(
            Case {
                repeated: true,
                ..case(1)
            },
            PASS,
        );
        assert_eq!(
            stats.finish(Confidence::default()).warnings,
            [Warning::NotClustered]
        );
    }

    #[test]
    fn repeats_collapse() {
        let scored = |score| Answer::Judged {
            score: Some(score),
            verdict: None,
        };
        let nothing = Answer::Errored;
        let cases: &[(&[Answer], Answer, u32, u32, bool)] = &[
            (&[], Answer::Skipped, 0, 0, true),
            (
                &[Answer::Skipped, Answer::Skipped],
                Answer::Skipped,
                0,
                0,
                true,
            ),
            (&[nothing, nothing], nothing, 0, 2, true),
            (&[PASS], PASS, 1, 0, true),
            (&[PASS, PASS, FAIL], PASS, 3, 0, false),
            (&[PASS, FAIL], INCONCLUSIVE, 2, 0, false),
            (&[PASS, FAIL, PARTIAL], INCONCLUSIVE, 3, 0, false),
            (&[FAIL, PASS, nothing, FAIL, FAIL], FAIL, 4, 1, false),
            (&[PASS, nothing], INCONCLUSIVE, 1, 1, true),
            (&[PASS, nothing, nothing], INCONCLUSIVE, 1, 2, true),
            // py-025: the same whichever of the two judges failed.
            (&[scored(f64::NAN), scored(0.5)], scored(0.5), 1, 1, true),
            (&[scored(0.5), scored(f64::NAN)], scored(0.5), 1, 1, true),
            (
                &[scored(0.1), scored(0.1), scored(0.1)],
                scored(0.1),
                3,
                0,
                true,
            ),
            (
                &[
                    judged(Some(1.0), Verdict::Pass),
                    judged(Some(0.0), Verdict::Fail),
                ],
                judged(Some(0.5), Verdict::Inconclusive),
                2,
                0,
                false,
            ),
        ];
        for &(repeats, answer, judged, errored, agreed) in cases {
            assert_eq!(
                collapse(repeats),
                Collapsed {
                    answer,
                    judged,
                    errored,
                    agreed
                },
                "{repeats:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_split_equals_one_pass(answers in answers(), shards in 1_usize..8) {
            let whole = folded(&answers).finish(Confidence::default());
            let mut joined = CheckStats::default();
            for shard in (0..shards).rev() {
                joined.merge(&folded(&answers.iter().skip(shard).step_by(shards).copied().collect::<Vec<_>>()));
            }
            prop_assert_eq!(joined.finish(Confidence::default()), whole);
        }

        #[test]
        fn merge_is_associative_and_commutative(a in answers(), b in answers(), c in answers()) {
            let [a, b, c] = [folded(&a), folded(&b), folded(&c)];
            let merged = |x: &CheckStats, y: &CheckStats| {
                let mut x = x.clone();
                x.merge(y);
                x
            };
            let left = merged(&merged(&a, &b), &c).finish(Confidence::default());
            prop_assert_eq!(&left, &merged(&a, &merged(&b, &c)).finish(Confidence::default()));
            prop_assert_eq!(&left, &merged(&c, &merged(&b, &a)).finish(Confidence::default()));
        }

        #[test]
        fn a_line_is_consistent(answers in answers()) {
            let line = folded(&answers).finish(Confidence::default());
            prop_assert_eq!(line.n, answers.len() as u64);
            prop_assert!(line.coverage.is_none_or(|share| (0.0..=1.0).contains(&share)));
            prop_assert!(line.scored <= line.n - line.skipped - line.errored);
            if let Some(rate) = line.pass_rate {
                prop_assert!(rate.low.is_none_or(|low| 0.0 <= low && low <= rate.value));
                prop_assert!(rate.high.is_none_or(|high| rate.value <= high && high <= 1.0));
            }
            if let Some(mean) = line.mean {
                prop_assert!(mean.low.is_none_or(|low| low <= mean.value && mean.value <= mean.high.unwrap()));
            }
        }
    }

    fn answers() -> impl Strategy<Value = Vec<(Case, Answer)>> {
        let verdict = prop::option::of(prop::sample::select(VERDICTS.to_vec()));
        let score = prop::option::of(prop_oneof![
            Just(0.0),
            Just(1.0),
            Just(f64::NAN),
            -1.0_f64..2.0
        ]);
        let answer = prop_oneof![
            6 => (score, verdict).prop_map(|(score, verdict)| Answer::Judged { score, verdict }),
            1 => Just(Answer::Skipped),
            1 => Just(Answer::Errored),
        ];
        prop::collection::vec((0_u64..30, answer), 0..40).prop_map(|answers| {
            let mut ids = IdTable::new();
            let mut of_run = |key| Case {
                repeated: ids.seen(key) > 0,
                ..case(key)
            };
            answers
                .into_iter()
                .map(|(key, answer)| (of_run(key), answer))
                .collect()
        })
    }

    fn folded(answers: &[(Case, Answer)]) -> CheckStats {
        let mut stats = CheckStats::default();
        for &(case, answer) in answers {
            stats.push(case, answer);
        }
        stats
    }

    /// Of one case each.
    fn of(answers: &[Answer]) -> CheckStats {
        folded(
            &(0..)
                .map(case)
                .zip(answers.iter().copied())
                .collect::<Vec<_>>(),
        )
    }

    fn case(key: u64) -> Case {
        Case {
            key: key << 8,
            repeated: false,
        }
    }

    const fn judged(score: Option<f64>, verdict: Verdict) -> Answer {
        Answer::Judged {
            score,
            verdict: Some(verdict),
        }
    }

    fn measured(score: f64) -> Answer {
        Answer::Judged {
            score: Some(score),
            verdict: None,
        }
    }
}
