//! Judging one answer by models: repeats, juries, and the cache of verdicts.

use std::time::Instant;

use bumpalo::Bump;
use futures_util::future::join_all;

use super::asks::{Aggregate, Bound};
use super::{Begun, Bench, Check, Judged, Spent, because};
use crate::evaluator::Judged as JudgedScorer;
use crate::judge::{self, JudgeContext, Outcome, Tally};
use crate::model::ModelSession;
use crate::outcome::{Cell, Code, Evidence, Explanation, Score, Verdict};
use crate::record::{Row, Slots};
use crate::runner::judge_one;
use crate::stats::summary::{Answer, collapse};

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
            Begun::Asked(scorer, view) => {
                let repeats = 1..=self.asks.repeat.max(1);
                let asked = repeats.map(|repeat| self.ask(&*scorer, view, repeat, session));
                collapse_repeats(&join_all(asked).await)
            }
        }
    }

    /// Judges one row by the check's jury; `repeat` counts from 1.
    pub(crate) async fn ask<'a>(
        &'a self,
        scorer: &'a dyn JudgedScorer,
        row: Row<'a>,
        repeat: u32,
        session: &'a dyn ModelSession,
    ) -> Judged {
        let begun = Instant::now();
        let bound = match self.bind(session) {
            Ok(bound) => bound,
            Err(error) => return self.failed(Code::Model(error.kind), &error.message),
        };
        let jurors = (0..bound.judges.len().max(1))
            .map(|juror| self.juror(scorer, row, bound, repeat, juror, session));
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
                jury(outcomes, &names, self.asks.aggregate)
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
            repeat,
        }));
        judged
    }

    /// One juror's judgement, from the cache of verdicts where it stands there.
    async fn juror<'a>(
        &'a self,
        scorer: &'a dyn JudgedScorer,
        row: Row<'a>,
        bound: &'a Bound,
        repeat: u32,
        juror: usize,
        session: &'a dyn ModelSession,
    ) -> (Outcome, Tally) {
        let judge = bound.judges.get(juror).map(|judge| &**judge);
        let embedder = bound.embedder.as_deref();
        let cache = session.verdicts();
        let key = cache
            .as_ref()
            .map(|_| judge::cache::key(self, &row, judge, embedder, repeat, juror));
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
    let answers: Vec<Answer> = repeats.iter().map(answer).collect();
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

fn answer(judged: &Judged) -> Answer {
    match judged.cell {
        Cell::Scored { .. } => Answer::Judged {
            score: judged.cell.score(),
            verdict: judged.verdict,
        },
        Cell::Skipped(_) => Answer::Skipped,
        Cell::Errored(_) => Answer::Errored,
    }
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
fn jury(outcomes: Vec<Outcome>, names: &[&str], aggregate: Aggregate) -> Outcome {
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
    let Some(first) = scored.first() else {
        let mut failed = outcomes
            .into_iter()
            .next()
            .unwrap_or_else(|| Outcome::errored(Code::NothingToJudge));
        failed.explanation.evidence.extend(said);
        return failed;
    };
    let verdicts: Vec<Verdict> = scored
        .iter()
        .filter_map(|outcome| natural(&outcome.cell))
        .collect();
    let winner = if verdicts.is_empty() {
        Some(None)
    } else {
        most_common(&verdicts).map(Some)
    };
    let Some(winner) = winner else {
        let mut tied = Outcome::errored(Code::NoMajority);
        tied.explanation.evidence.extend(said);
        return tied;
    };
    let agreeing: Vec<&&Outcome> = scored
        .iter()
        .filter(|outcome| natural(&outcome.cell) == winner)
        .collect();
    let counted = match aggregate {
        Aggregate::Majority => agreeing
            .iter()
            .filter_map(|outcome| outcome.cell.score())
            .collect(),
        Aggregate::Mean => scored
            .iter()
            .filter_map(|outcome| outcome.cell.score())
            .collect::<Vec<f64>>(),
    };
    let mean = counted.iter().sum::<f64>() / counted.len() as f64;
    let flags = scored.iter().fold(0, |flags, outcome| match outcome.cell {
        Cell::Scored { flags: more, .. } => flags | more,
        _ => flags,
    });
    let failed = if scored.len() < asked {
        judge::JUROR_FAILED
    } else {
        0
    };
    let speaker = agreeing.first().map_or(*first, |outcome| **outcome);
    let agreement = Evidence::new("jury")
        .set("judges", asked)
        .set("failed", asked - scored.len())
        .set("agreement", agreeing.len() as f64 / scored.len() as f64);
    let mut evidence = vec![agreement];
    evidence.extend(said);
    Outcome::new(
        Cell::Scored {
            score: Score::new(mean),
            natural: winner,
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

/// The verdict that most have; `None` for a tie.
fn most_common(verdicts: &[Verdict]) -> Option<Verdict> {
    let count = |wanted: Verdict| {
        verdicts
            .iter()
            .filter(|&&verdict| verdict == wanted)
            .count()
    };
    let all = [
        Verdict::Pass,
        Verdict::Fail,
        Verdict::Partial,
        Verdict::Inconclusive,
    ];
    let most = all.into_iter().map(count).max()?;
    let mut winners = all.into_iter().filter(|&verdict| count(verdict) == most);
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

    #[test]
    fn a_failed_juror_counts_in_no_score() {
        let failed = Outcome::errored(Code::NonFiniteNumber);
        let together = jury(
            vec![failed, outcome(0.5, None)],
            &["a", "b"],
            Aggregate::Mean,
        );
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
    fn majorities_means_and_ties() {
        use Verdict::{Fail, Pass};
        let answers = |verdicts: &[(f64, Verdict)]| -> Vec<Outcome> {
            verdicts
                .iter()
                .map(|&(score, verdict)| outcome(score, Some(verdict)))
                .collect()
        };
        let three = answers(&[(1.0, Pass), (0.0, Fail), (0.8, Pass)]);
        let names = ["a", "b", "c"];
        let majority = jury(three.clone(), &names, Aggregate::Majority);
        assert_eq!(
            (majority.cell.score(), natural(&majority.cell)),
            (Some(0.9), Some(Pass))
        );
        let mean = jury(three, &names, Aggregate::Mean);
        assert!((mean.cell.score().unwrap() - 0.6).abs() < 1e-12);
        let tie = jury(
            answers(&[(1.0, Pass), (0.0, Fail)]),
            &names,
            Aggregate::Majority,
        );
        assert_eq!(tie.cell, Cell::Errored(Code::NoMajority));
    }
}
