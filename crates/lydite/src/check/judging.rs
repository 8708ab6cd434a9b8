//! Judging one answer by models: repeats, juries, and the cache of verdicts.

use std::time::Instant;

use bumpalo::Bump;
use futures_util::future::join_all;

use super::asks::{Aggregate, Bound};
use super::{Begun, Bench, Check, Judged, Spent, because, decide};
use crate::evaluator::Judged as JudgedScorer;
use crate::judge::{self, JudgeContext, Outcome, Tally};
use crate::model::ModelSession;
use crate::outcome::{Cell, Code, Evidence, Explanation, Score, Verdict};
use crate::record::{Row, Slots};
use crate::runner::judge_one;
use crate::stats::summary::{Answer, collapse};

/// One answer that a jury is asked about.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) scorer: &'a dyn JudgedScorer,
    pub(crate) row: Row<'a>,
    /// What the record filled parameters with.
    pub(crate) filled_with: &'a [u8],
    /// From 1.
    pub(crate) repeat: u32,
}

impl Check {
    /// Judges one record, models asked where the check asks them; its repeats come as one.
    pub(crate) async fn judge_asking<'r>(
        &self,
        slots: &'r Slots<'r>,
        arena: &'r Bump,
        session: &dyn ModelSession,
    ) -> Judged {
        match self.begin(slots, arena, &mut Bench::default(), true) {
            Begun::Done(judged) => judged,
            Begun::Batched(scorer, view) => judge_one(self, scorer, view, session).await,
            Begun::Asked(scorer, view, filled_with) => {
                let asked = (1..=self.asks.repeat.max(1)).map(|repeat| {
                    let asking = Asking {
                        scorer: &*scorer,
                        row: view,
                        filled_with,
                        repeat,
                    };
                    self.ask(asking, session)
                });
                collapse_repeats(&join_all(asked).await)
            }
        }
    }

    /// Judges one answer by the check's jury.
    pub(crate) async fn ask<'a>(
        &'a self,
        asking: Asking<'a>,
        session: &'a dyn ModelSession,
    ) -> Judged {
        let begun = Instant::now();
        let bound = match self.bind(session) {
            Ok(bound) => bound,
            Err(error) => return self.failed(Code::Model(error.kind), &error.message),
        };
        let jurors =
            (0..bound.judges.len().max(1)).map(|juror| self.juror(asking, bound, juror, session));
        let answers = join_all(jurors).await;
        let mut tally = Tally::default();
        for (_, spent) in &answers {
            tally.usage.add(&spent.usage);
            tally.answers += spent.answers;
            tally.cached += spent.cached;
            tally.flags |= spent.flags;
        }
        let outcome = match <[_; 1]>::try_from(answers) {
            Ok([(outcome, _)]) => outcome,
            Err(answers) => {
                let names: Vec<&str> = bound.judges.iter().map(|judge| judge.name()).collect();
                let outcomes = answers.into_iter().map(|(outcome, _)| outcome).collect();
                let vote = |cell: &Cell| decide(*cell, self.direction(), self.threshold, false).0;
                jury(outcomes, &names, self.asks.aggregate, &vote)
            }
        };
        let cell = match outcome.cell {
            Cell::Scored {
                score,
                natural,
                flags,
            } => Cell::Scored {
                score,
                natural,
                flags: flags | tally.flags,
            },
            other => other,
        };
        let mut judged = self.settle(cell, Some(Box::new(outcome.explanation)));
        judged.spent = Some(Box::new(Spent {
            usage: tally.usage,
            cached: tally.answers > 0 && tally.cached == tally.answers,
            took_ms: begun.elapsed().as_millis().try_into().unwrap_or(u32::MAX),
            repeat: asking.repeat,
        }));
        judged
    }

    /// One juror's judgement, from the cache of verdicts where it stands there.
    async fn juror<'a>(
        &'a self,
        asking: Asking<'a>,
        bound: &'a Bound,
        juror: usize,
        session: &'a dyn ModelSession,
    ) -> (Outcome, Tally) {
        let Asking {
            scorer,
            row,
            filled_with,
            repeat,
        } = asking;
        let judge = bound.judges.get(juror).map(|judge| &**judge);
        let embedder = bound.embedder.as_deref();
        let cache = session.verdicts();
        let key = cache
            .as_ref()
            .map(|_| judge::cache::key(self, filled_with, &row, judge, embedder, repeat, juror));
        if let (Some(cache), Some(key)) = (&cache, &key)
            && let Some(outcome) = cache
                .get(key)
                .and_then(|stored| judge::cache::read(&stored))
        {
            let tally = Tally {
                answers: 1,
                cached: 1,
                ..Tally::default()
            };
            return (outcome, tally);
        }
        let juror = u32::try_from(juror).unwrap_or(u32::MAX);
        let cx = JudgeContext::new(
            judge,
            embedder,
            session.fence_key(),
            self.asks.mode,
            repeat,
            juror,
        );
        let mut outcome = scorer.score(&row, &cx).await;
        let tally = cx.tally();
        if let Cell::Scored { flags, .. } = &mut outcome.cell {
            *flags |= tally.flags;
        }
        if let (Some(cache), Some(key), true) = (cache, key, tally.answers > 0)
            && let Some(stored) = judge::cache::write(&outcome)
        {
            cache.put(key, stored);
        }
        (outcome, tally)
    }
}

/// The repeats of a cell as the report counts them: the mean score, the majority's verdict, the sum of what they took.
pub(crate) fn collapse_repeats(repeats: &[Judged]) -> Judged {
    let Some(first) = repeats.first() else {
        return Judged::nothing();
    };
    if repeats.len() == 1 {
        return first.clone();
    }
    let answers: Vec<Answer> = repeats.iter().map(Judged::answer).collect();
    let of_kind = |wanted: &dyn Fn(&Judged) -> bool| {
        repeats.iter().find(|cell| wanted(cell)).unwrap_or(first)
    };
    let mut cell = match collapse(&answers).answer {
        Answer::Skipped => first.clone(),
        Answer::Errored => of_kind(&|cell| matches!(cell.cell, Cell::Errored(_))).clone(),
        Answer::Judged { score, verdict } => {
            let mut cell = of_kind(&|cell| {
                matches!(cell.cell, Cell::Scored { .. }) && cell.verdict == verdict
            })
            .clone();
            let flags = repeats
                .iter()
                .fold(0, |flags, cell| flags | flags_of(&cell.cell));
            cell.cell = Cell::Scored {
                score: score.and_then(Score::new),
                natural: natural(&cell.cell),
                flags,
            };
            if cell.verdict != verdict {
                cell.verdict = verdict;
                cell.natural = None;
                cell.explanation = Some(because("the repeats agree on no verdict".to_owned()));
            }
            cell
        }
    };
    cell.spent = summed(repeats);
    cell
}

const fn flags_of(cell: &Cell) -> u16 {
    match cell {
        Cell::Scored { flags, .. } => *flags,
        _ => 0,
    }
}

fn summed(repeats: &[Judged]) -> Option<Box<Spent>> {
    let mut all = repeats.iter().filter_map(|cell| cell.spent.as_deref());
    let mut sum = *all.next()?;
    for spent in all {
        sum.usage.add(&spent.usage);
        sum.cached &= spent.cached;
        sum.took_ms = sum.took_ms.saturating_add(spent.took_ms);
    }
    sum.repeat = 1;
    Some(Box::new(sum))
}

/// Several judges' outcomes as one, with what each said as evidence.
///
/// Judges that failed are left out with a warning; without any other the first failure stands. A tie between verdicts
/// is [`Code::NoMajority`].
fn jury(
    outcomes: Vec<Outcome>,
    names: &[&str],
    aggregate: Aggregate,
    vote: &dyn Fn(&Cell) -> Option<Verdict>,
) -> Outcome {
    let said: Vec<Evidence> = outcomes
        .iter()
        .zip(names)
        .map(|(outcome, name)| juror_said(outcome, name))
        .collect();
    let ends_run = |outcome: &&Outcome| matches!(outcome.cell, Cell::Errored(Code::Model(kind)) if kind.ends_run());
    if let Some(outcome) = outcomes.iter().find(ends_run) {
        return outcome.clone();
    }
    let asked = outcomes.len();
    let scored: Vec<&Outcome> = outcomes
        .iter()
        .filter(|outcome| matches!(outcome.cell, Cell::Scored { .. }))
        .collect();
    let Some(&first) = scored.first() else {
        let mut failed = outcomes
            .into_iter()
            .next()
            .unwrap_or_else(|| Outcome::errored(Code::NothingToJudge));
        failed.explanation.evidence.extend(said);
        return failed;
    };
    let votes: Vec<Option<Verdict>> = scored.iter().map(|outcome| vote(&outcome.cell)).collect();
    let winner = most_common(&votes);
    let agreeing: Vec<&Outcome> = scored
        .iter()
        .zip(&votes)
        .filter(|(_, vote)| winner == Some(**vote))
        .map(|(outcome, _)| *outcome)
        .collect();
    let counted = match (winner, aggregate) {
        (Some(_), Aggregate::Majority) => &agreeing,
        // A mean needs no majority; without a threshold it leaves the verdict open then.
        (_, Aggregate::Mean) => &scored,
        (None, Aggregate::Majority) => {
            let mut tied = Outcome::errored(Code::NoMajority);
            tied.explanation.evidence.extend(said);
            return tied;
        }
    };
    let naturals: Vec<Option<Verdict>> = counted
        .iter()
        .map(|outcome| natural(&outcome.cell))
        .collect();
    let scores: Vec<f64> = counted
        .iter()
        .filter_map(|outcome| outcome.cell.score())
        .collect();
    let mean = scores.iter().sum::<f64>() / scores.len() as f64;
    let flags = scored
        .iter()
        .fold(0, |flags, outcome| flags | flags_of(&outcome.cell));
    let failed = if scored.len() < asked {
        judge::JUROR_FAILED
    } else {
        0
    };
    let speaker = agreeing.first().copied().unwrap_or(first);
    let agreement = Evidence::new("jury")
        .set("judges", asked)
        .set("failed", asked - scored.len())
        .set("agreement", agreeing.len() as f64 / scored.len() as f64);
    let mut evidence = vec![agreement];
    evidence.extend(said);
    Outcome::new(
        Cell::Scored {
            // Where none of them scored there is no mean either.
            score: Score::new(mean),
            natural: most_common(&naturals).unwrap_or(Some(Verdict::Inconclusive)),
            flags: flags | failed,
        },
        Explanation {
            label: speaker.explanation.label.clone(),
            reason: speaker.explanation.reason.clone(),
            evidence,
            raw: None,
        },
    )
}

fn juror_said(outcome: &Outcome, name: &str) -> Evidence {
    let said = Evidence::new("juror").set("judge", name);
    let reason = outcome.explanation.reason.as_deref().unwrap_or_default();
    match outcome.cell {
        Cell::Scored { score, natural, .. } => said
            .set("score", score.map(Score::get))
            .set("verdict", natural.map(Verdict::as_str))
            .set("reason", reason),
        Cell::Errored(code) | Cell::Skipped(code) => {
            said.set("error", code.as_str()).set("reason", reason)
        }
    }
}

fn natural(cell: &Cell) -> Option<Verdict> {
    match cell {
        Cell::Scored { natural, .. } => *natural,
        _ => None,
    }
}

/// What most say, measuring without a verdict among it; `None` for a tie.
#[expect(
    clippy::option_option,
    reason = "a tie is not the same as most having no verdict"
)]
fn most_common(votes: &[Option<Verdict>]) -> Option<Option<Verdict>> {
    let count = |wanted: Option<Verdict>| votes.iter().filter(|&&vote| vote == wanted).count();
    let all = [
        Some(Verdict::Pass),
        Some(Verdict::Fail),
        Some(Verdict::Partial),
        Some(Verdict::Inconclusive),
        None,
    ];
    let most = all.into_iter().map(count).max()?;
    let mut winners = all.into_iter().filter(|&vote| count(vote) == most);
    match (winners.next(), winners.next()) {
        (Some(winner), None) => Some(winner),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(score: f64, verdict: Option<Verdict>) -> Outcome {
        let cell = Cell::Scored {
            score: Score::new(score),
            natural: verdict,
            flags: 0,
        };
        Outcome::new(cell, Explanation::reason(format!("{score}")))
    }

    fn judged(outcomes: Vec<Outcome>, aggregate: Aggregate, threshold: Option<f64>) -> Outcome {
        let vote =
            |cell: &Cell| decide(*cell, crate::evaluator::Direction::Higher, threshold, false).0;
        jury(outcomes, &["a", "b", "c"], aggregate, &vote)
    }

    #[test]
    fn a_failed_juror_counts_in_no_score() {
        let failed = Outcome::errored(Code::NonFiniteNumber);
        let together = judged(vec![failed, outcome(0.5, None)], Aggregate::Mean, None);
        assert_eq!(together.cell.score(), Some(0.5));
        let jury = &together.explanation.evidence[0];
        assert_eq!(
            (jury.data["judges"].as_u64(), jury.data["failed"].as_u64()),
            (Some(2), Some(1))
        );
        assert!(matches!(
            together.cell,
            Cell::Scored {
                flags: judge::JUROR_FAILED,
                ..
            }
        ));
    }

    #[test]
    fn majorities_means_thresholds_and_ties() {
        use Aggregate::{Majority, Mean};
        use Verdict::{Fail, Inconclusive, Partial, Pass};
        type Answers<'a> = &'a [(Option<f64>, Option<Verdict>)];
        let cases: &[(
            Answers<'_>,
            Aggregate,
            Option<f64>,
            Option<(Option<f64>, Option<Verdict>)>,
        )] = &[
            (
                &[
                    (Some(1.0), Some(Pass)),
                    (Some(0.0), Some(Fail)),
                    (Some(0.8), Some(Pass)),
                ],
                Majority,
                None,
                Some((Some(0.9), Some(Pass))),
            ),
            (
                &[
                    (Some(1.0), Some(Pass)),
                    (Some(0.0), Some(Fail)),
                    (Some(0.8), Some(Pass)),
                ],
                Mean,
                None,
                Some((Some(0.6), Some(Pass))),
            ),
            (
                &[(Some(1.0), Some(Pass)), (Some(0.0), Some(Fail))],
                Majority,
                None,
                None,
            ),
            // A mean stands without a majority, and leaves the verdict open.
            (
                &[(Some(1.0), Some(Pass)), (Some(0.0), Some(Fail))],
                Mean,
                None,
                Some((Some(0.5), Some(Inconclusive))),
            ),
            // Votes are cast by the check's threshold.
            (
                &[(Some(1.0), Some(Pass)), (Some(0.75), Some(Partial))],
                Majority,
                Some(0.7),
                Some((Some(0.875), Some(Inconclusive))),
            ),
            (
                &[(Some(8.0), None), (Some(8.0), None), (Some(2.0), None)],
                Majority,
                Some(7.0),
                Some((Some(8.0), None)),
            ),
            // One that can't tell does not outvote two that measured.
            (
                &[
                    (None, Some(Inconclusive)),
                    (Some(0.8), None),
                    (Some(0.9), None),
                ],
                Majority,
                None,
                Some((Some(0.85), None)),
            ),
        ];
        for (answers, aggregate, threshold, expected) in cases {
            let outcomes = answers.iter().map(|(score, verdict)| {
                let cell = Cell::Scored {
                    score: score.and_then(Score::new),
                    natural: *verdict,
                    flags: 0,
                };
                Outcome::new(cell, Explanation::default())
            });
            let got = judged(outcomes.collect(), *aggregate, *threshold).cell;
            match expected {
                None => assert_eq!(got, Cell::Errored(Code::NoMajority), "{answers:?}"),
                Some((score, verdict)) => {
                    let rounded = got.score().map(|score| (score * 1e9).round() / 1e9);
                    assert_eq!((rounded, natural(&got)), (*score, *verdict), "{answers:?}");
                }
            }
        }
    }
}
