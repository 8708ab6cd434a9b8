//! Verdicts of stored lines under other thresholds, without judging again.

use std::borrow::Cow;

use super::CheckResult;
use crate::check::{OnMissing, decide};
use crate::evaluator::Direction;
use crate::model::Usage;
use crate::outcome::{Cell, Score, Verdict};
use crate::stats::summary::{Answer, collapse};

/// What makes a verdict of a score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standard {
    pub direction: Direction,
    pub threshold: Option<f64>,
    pub negate: bool,
    pub on_missing: OnMissing,
}

impl Standard {
    /// Whether something stands in the place of the evaluator's own verdict.
    const fn replaces(&self) -> bool {
        self.threshold.is_some() || self.negate
    }
}

/// Gives a line that was judged by one standard the verdict of another.
///
/// Errored and skipped lines stay as they are, and so does the fail of a record that lacked a field
/// under `on_missing: fail`.
pub fn regrade(line: &mut CheckResult<'_>, was: &Standard, now: &Standard) {
    if line.error.is_some() || line.skipped.is_some() || is_missing(line, was) {
        return;
    }
    let natural = if was.replaces() {
        line.natural
    } else {
        line.verdict
    };
    let cell = Cell::Scored {
        score: line.score.and_then(Score::new),
        natural,
        flags: 0,
    };
    (line.verdict, line.natural) = decide(cell, now.direction, now.threshold, now.negate);
}

/// The line of a record that failed since it lacked a field.
fn is_missing(line: &CheckResult<'_>, was: &Standard) -> bool {
    was.on_missing == OnMissing::Fail
        && line.verdict == Some(Verdict::Fail)
        && line.score.is_none()
        && line.natural.is_none()
}

/// The repeats of one answer as one line: the mean score and the verdict of most; inconclusive where
/// no verdict has a majority. Words are those of the first repeat with that verdict.
///
/// `None` where there are no lines.
pub fn collapse_repeats<'a>(repeats: &[CheckResult<'a>]) -> Option<CheckResult<'a>> {
    let [first, others @ ..] = repeats else {
        return None;
    };
    if others.is_empty() {
        return Some(CheckResult {
            repeat: 1,
            ..first.clone()
        });
    }
    let answers: Vec<Answer> = repeats.iter().map(answer).collect();
    let of_kind = |wanted: &dyn Fn(&CheckResult<'a>) -> bool| {
        repeats.iter().find(|line| wanted(line)).unwrap_or(first)
    };
    let mut line = match collapse(&answers).answer {
        Answer::Skipped => first.clone(),
        Answer::Errored => of_kind(&|line| line.error.is_some()).clone(),
        Answer::Judged { score, verdict } => {
            let told = |line: &CheckResult<'a>| line.error.is_none() && line.skipped.is_none();
            let mut line = of_kind(&|line| told(line) && line.verdict == verdict).clone();
            let naturals = repeats
                .iter()
                .filter(|line| told(line))
                .map(|line| line.natural);
            let natural = naturals
                .clone()
                .next()
                .flatten()
                .filter(|&one| naturals.clone().all(|other| other == Some(one)));
            if line.verdict != verdict {
                (line.label, line.reason) = (None, None);
                line.evidence = Cow::Borrowed(&[]);
                line.raw = None;
            }
            (line.score, line.verdict, line.natural) = (score, verdict, natural);
            (line.error, line.skipped) = (None, None);
            line
        }
    };
    line.repeat = 1;
    line.usage = summed(repeats);
    line.cached = repeats.iter().all(|line| line.cached);
    line.took_ms = repeats
        .iter()
        .filter_map(|line| line.took_ms)
        .reduce(u32::saturating_add);
    Some(line)
}

fn summed(repeats: &[CheckResult<'_>]) -> Option<Usage> {
    let mut usages = repeats.iter().filter_map(|line| line.usage);
    let mut sum = usages.next()?;
    usages.for_each(|usage| sum.add(&usage));
    Some(sum)
}

/// A line as the report counts it.
pub(crate) fn answer(line: &CheckResult<'_>) -> Answer {
    if line.error.is_some() {
        return Answer::Errored;
    }
    if line.skipped.is_some() {
        return Answer::Skipped;
    }
    Answer::Judged {
        score: line.score,
        verdict: line.verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultError;
    use Verdict::{Fail, Inconclusive, Partial, Pass};

    const NATURAL: Standard = Standard {
        direction: Direction::Higher,
        threshold: None,
        negate: false,
        on_missing: OnMissing::Error,
    };

    fn line(
        verdict: Option<Verdict>,
        natural: Option<Verdict>,
        score: Option<f64>,
    ) -> CheckResult<'static> {
        CheckResult {
            verdict,
            natural,
            score,
            ..CheckResult::default()
        }
    }

    #[test]
    fn a_regraded_line_is_what_judging_by_the_new_standard_gives() {
        let standards: Vec<Standard> = [None, Some(0.25), Some(0.5), Some(0.75)]
            .into_iter()
            .flat_map(|threshold| [false, true].map(|negate| (threshold, negate)))
            .flat_map(|(threshold, negate)| {
                [Direction::Higher, Direction::Lower].map(|direction| Standard {
                    direction,
                    threshold,
                    negate,
                    on_missing: OnMissing::Error,
                })
            })
            .collect();
        let naturals = [
            None,
            Some(Pass),
            Some(Fail),
            Some(Partial),
            Some(Inconclusive),
        ];
        let scores = [None, Some(0.25), Some(0.6), Some(1.0)];
        for (natural, score) in naturals
            .into_iter()
            .flat_map(|natural| scores.map(|score| (natural, score)))
        {
            let cell = Cell::Scored {
                score: score.and_then(Score::new),
                natural,
                flags: 0,
            };
            for was in &standards {
                for now in standards
                    .iter()
                    .filter(|now| now.direction == was.direction)
                {
                    let judged =
                        |by: &Standard| decide(cell, by.direction, by.threshold, by.negate);
                    let (verdict, kept) = judged(was);
                    let mut stored = line(verdict, kept, score);
                    regrade(&mut stored, was, now);
                    assert_eq!(
                        (stored.verdict, stored.natural),
                        judged(now),
                        "{cell:?} {was:?} {now:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn errors_skips_and_missing_fields_are_not_regraded() {
        let strict = Standard {
            threshold: Some(0.5),
            negate: true,
            ..NATURAL
        };
        let error = ResultError {
            code: "not_text".into(),
            ..ResultError::default()
        };
        let missing = Standard {
            on_missing: OnMissing::Fail,
            ..NATURAL
        };
        let cases = [
            (
                CheckResult {
                    error: Some(error),
                    ..line(Some(Inconclusive), None, None)
                },
                NATURAL,
            ),
            (
                CheckResult {
                    skipped: Some("when_false".into()),
                    ..line(None, None, None)
                },
                NATURAL,
            ),
            (line(Some(Fail), None, None), missing),
        ];
        for (stored, was) in cases {
            let mut regraded = stored.clone();
            regrade(&mut regraded, &was, &strict);
            assert_eq!(regraded, stored);
        }
    }

    #[test]
    fn repeats_collapse_to_the_mean_score_and_the_verdict_of_most() {
        type Case = (
            Vec<CheckResult<'static>>,
            Option<Verdict>,
            Option<f64>,
            Option<&'static str>,
        );
        let errored = || CheckResult {
            error: Some(ResultError {
                code: "timeout".into(),
                ..ResultError::default()
            }),
            ..line(Some(Inconclusive), None, None)
        };
        let worded = |verdict, score, reason: &'static str| CheckResult {
            reason: Some(reason.into()),
            ..line(Some(verdict), None, Some(score))
        };
        let cases: [Case; 6] = [
            (
                vec![worded(Pass, 1.0, "a")],
                Some(Pass),
                Some(1.0),
                Some("a"),
            ),
            (
                vec![
                    worded(Fail, 0.0, "a"),
                    worded(Pass, 1.0, "b"),
                    worded(Pass, 0.5, "c"),
                ],
                Some(Pass),
                Some(0.5),
                Some("b"),
            ),
            (
                vec![worded(Fail, 0.0, "a"), worded(Pass, 1.0, "b")],
                Some(Inconclusive),
                Some(0.5),
                None,
            ),
            (
                vec![worded(Pass, 1.0, "a"), errored(), errored()],
                Some(Inconclusive),
                Some(1.0),
                None,
            ),
            (vec![errored(), errored()], Some(Inconclusive), None, None),
            (
                vec![line(None, None, Some(0.2)), line(None, None, Some(0.4))],
                None,
                Some(0.3),
                None,
            ),
        ];
        for (repeats, verdict, score, reason) in cases {
            let one = collapse_repeats(&repeats).unwrap();
            assert_eq!(
                (one.verdict, one.reason.as_deref(), one.repeat),
                (verdict, reason, 1),
                "{repeats:?}"
            );
            assert!(
                (one.score.unwrap_or(-1.0) - score.unwrap_or(-1.0)).abs() < 1e-12,
                "{repeats:?}"
            );
        }
        assert_eq!(collapse_repeats(&[]), None);
    }
}
