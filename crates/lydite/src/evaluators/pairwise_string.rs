//! `pairwise_string`: see [`PairwiseString`].

use std::borrow::Cow;

use futures_util::future::join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::criterion::{Criteria, overall, resolve, weighed};
use super::filled::{self, CRITERIA, QUERY};
use super::upstream::{self, prompt_for, thrown};
use crate::evaluator::{
    Compat, Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::json;
use crate::judge::{
    Ask, Failure, Fill, JudgeContext, Label, Labels, OBJECT_AS_JSON, ORDER_FLIP, Outcome, Place,
    Prompt, ScoreMode, Verdicted,
};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code, Evidence, Explanation, Score, Verdict};
use crate::record::{Content, Field, FieldSet, Row};

/// Which of two answers is better, by a judge that sees them in both orders.
///
/// ## When to use it
/// To compare two models, prompts or trials where no right answer is written down. With one, take
/// `labeled_pairwise_string`.
///
/// ## How it is scored
/// The first of the two `candidates` (or `output`) is A, the second (or `output_b`) is B. The judge compares them twice,
/// the second time with their places swapped. A better both times: 1 and pass; B: 0 and fail; a tie (C): 0.5 and
/// partial. Two verdicts that differ are a tie too, since the places decided them and not the answers; the evidence
/// says whether the two agree. `criteria` says what counts: helpfulness, relevance, correctness and depth where it is
/// left out. With `mode: logprob` or `sample` the score is the mean preference for A over both orders.
///
/// ## Limits
/// It takes exactly two candidates, and two calls. Judges favour long answers: look at the report's correlation of score
/// and length. `compat` asks once, for plain text, and reads it as LangChain does.
///
/// ## References
/// LangChain, PairwiseStringEvalChain; Zheng et al. 2023 on the bias of position.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairwiseString {
    /// A criterion's name, a list of names, or questions by name.
    #[serde(default = "overall")]
    criteria: Criteria,
}

const PROMPT: &str = "\
You compare two answers to the same input, A and B, and say which one is better.

What counts, and nothing else:
{criteria}

The input:
{query}

Answer A:
{output}

Answer B:
{output_b}

First reason: go through what counts and compare the two answers in it. Then decide. A means that A is better as a whole, \
B that B is, C that neither is: they are equally good or equally bad. Which of them comes first, how long they are, how \
they are formatted and how sure they sound must not count, unless it is named above. An empty answer or an unfounded \
refusal is worse than one that is of use.";

const PLACES: [Place; 4] = [CRITERIA, QUERY, ANSWER_A, ANSWER_B];

pub(super) const ANSWER_A: Place = Place {
    name: "output",
    also: &["prediction", "output_a"],
};
pub(super) const ANSWER_B: Place = Place {
    name: "output_b",
    also: &["prediction_b", "predictionB"],
};

impl Evaluator for PairwiseString {
    const INFO: Info = Info {
        id: "pairwise_string",
        prompts: &[PromptText::new("the better answer", PROMPT)],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Query, Field::Candidates]),
        needs: FieldSet::of(&[Field::Query, Field::Candidates]),
        principal: Some("criteria"),
        examples: &[
            Example {
                title: "the first is better, wherever it stands",
                params: "{}",
                record: r#"{"query": "How do I boil an egg?", "output": "Seven minutes in boiling water.", "output_b": "In water."}"#,
                replies: r#"[{"reasoning": "A says how long.", "verdict": "A"}, {"reasoning": "B says how long.", "verdict": "B"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "the second is better",
                params: "criteria: conciseness",
                record: r#"{"query": "2 + 2?", "candidates": ["Well, let me think. It is 4.", "4"]}"#,
                replies: r#"[{"reasoning": "B is shorter.", "verdict": "B"}, {"reasoning": "A is shorter.", "verdict": "A"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "whatever comes first wins: that is a tie",
                params: "{}",
                record: r#"{"query": "A colour?", "output": "Red.", "output_b": "Blue."}"#,
                replies: r#"[{"reasoning": "A is warmer.", "verdict": "A"}, {"reasoning": "A is calmer.", "verdict": "A"}]"#,
                expect: r#"{"verdict": "partial", "score": 0.5}"#,
            },
            Example {
                title: "three candidates are no pair",
                params: "{}",
                record: r#"{"query": "A colour?", "candidates": ["Red.", "Blue.", "Green."]}"#,
                expect: r#"{"verdict": "inconclusive", "error": "invalid_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let by_judge = ByJudge::new(&self.criteria, PROMPT, &PLACES, cx)?;
        Ok(Scorer::judged(by_judge))
    }
}

/// What a plain-text reply must look like for LangChain's parsers.
const FORM: &str = "\
Write your reasoning first. Then write the verdict alone on the last line, in double brackets: [[A]], [[B]] or [[C]].";

/// The indices of the labels.
const A: usize = 0;
const B: usize = 1;
const TIE: usize = 2;

/// Asks a judge for A, B or C.
pub(super) struct ByJudge {
    prompt: Prompt,
    /// The criteria as the prompt has them.
    words: String,
    labels: Labels,
    compat: Option<Compat>,
    labeled: bool,
}

impl ByJudge {
    pub(super) fn new(
        criteria: &Criteria,
        text: &str,
        places: &[Place],
        cx: &Prepare<'_>,
    ) -> Result<Self, ParamErrors> {
        let needed = [ANSWER_A.name, ANSWER_B.name];
        Ok(Self {
            prompt: prompt_for(cx, text, FORM, places, &needed)?,
            words: weighed(&resolve(criteria)?),
            labels: Labels::new(vec![
                Label::new("A", &[]),
                Label::new("B", &[]),
                Label::new("C", &["tie"]),
            ]),
            compat: cx.compat,
            labeled: places
                .iter()
                .any(|place| place.name == filled::REFERENCE.name),
        })
    }

    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let (first, second) = pair(row, cx)?;
        let mut fill = vec![
            (ANSWER_A.name, first.clone()),
            (ANSWER_B.name, second.clone()),
            (CRITERIA.name, Fill::words(self.words.as_str())),
            (QUERY.name, filled::field(row, Field::Query, cx)?),
        ];
        if self.labeled {
            fill.push((filled::REFERENCE.name, filled::reference(row, cx)?));
        }
        let ask = |fill, order| Ask {
            name: "preference",
            prompt: &self.prompt,
            fill,
            order,
        };
        let as_given = ask(&fill, Order::Ab);
        if let Some(compat) = self.compat {
            let reply = cx.text(&as_given).await?;
            let parsed = upstream::pairwise(compat, &reply).ok_or_else(|| thrown(&reply))?;
            return Ok(as_upstream(parsed));
        }
        let mut turned = fill.clone();
        if let [(_, a), (_, b), ..] = turned.as_mut_slice() {
            std::mem::swap(a, b);
        }
        let swapped = ask(&turned, Order::Ba);
        let (ab, ba) = join(
            cx.verdict(&as_given, &self.labels),
            cx.verdict(&swapped, &self.labels),
        )
        .await;
        let (ab, ba) = (ab?, turned_back(ba?));
        if ab.label != ba.label {
            cx.warn(ORDER_FLIP);
        }
        Ok(self.together(&ab, &ba, cx.mode()))
    }

    /// Two verdicts about one pair, both in the record's order.
    fn together(&self, ab: &Verdicted, ba: &Verdicted, mode: ScoreMode) -> Outcome {
        let consistent = ab.label == ba.label;
        let label = if consistent { ab.label } else { TIE };
        let score = match mode {
            ScoreMode::Verdict => preference(label),
            _ => f64::midpoint(mean_preference(ab), mean_preference(ba)),
        };
        let reason = if consistent {
            ab.reason.clone()
        } else {
            format!(
                "the verdict hangs on the order of the answers: {} as given, {} with their places swapped",
                self.labels.name(ab.label),
                self.labels.name(ba.label)
            )
        };
        let orders = Evidence::new("order")
            .set("ab", self.labels.name(ab.label))
            .set("ba", self.labels.name(ba.label))
            .set("consistent", consistent);
        let mut evidence = vec![orders, self.said("ab", ab), self.said("ba", ba)];
        for (order, verdict) in [("ab", ab), ("ba", ba)] {
            // The judge's own words: `ba` saw the answers with their places swapped.
            let of_order = |evidence: &Evidence| evidence.clone().set("order", order);
            evidence.extend(verdict.evidence.iter().map(of_order));
        }
        let explanation = Explanation {
            label: Some(self.labels.name(label).to_owned().into()),
            evidence,
            ..Explanation::reason(reason)
        };
        Outcome::new(cell(score, natural(label)), explanation)
    }

    fn said(&self, order: &str, verdict: &Verdicted) -> Evidence {
        Evidence::new("verdict")
            .set("order", order)
            .set("verdict", self.labels.name(verdict.label))
            .set("reason", verdict.reason.as_str())
    }
}

/// The two candidates, fenced.
fn pair<'r>(row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<(Fill<'r>, Fill<'r>), Failure> {
    let shown = |content| shown(content, cx).map(Fill::Data);
    match row.candidates() {
        [] => Err(Cell::Errored(Code::MissingField(Field::Candidates)).into()),
        [a, b] => Ok((shown(*a)?, shown(*b)?)),
        others => Err(Failure::new(
            Code::InvalidField(Field::Candidates),
            format!("a pair needs two candidates, found {}", others.len()),
        )),
    }
}

/// A candidate as text: as it is, or as canonical JSON (with a warning) where it is an object or list.
fn shown<'r>(candidate: Content<'r>, cx: &JudgeContext<'_>) -> Result<Cow<'r, str>, Failure> {
    if let Some(text) = candidate.text() {
        return Ok(text.into());
    }
    let Content::Json { source, .. } = candidate else {
        return Err(Cell::Errored(Code::NotText(Field::Candidates)).into());
    };
    let json =
        json::parse(source).map_err(|_| Cell::Errored(Code::JsonTooDeep(Field::Candidates)))?;
    cx.warn(OBJECT_AS_JSON);
    let mut text = String::new();
    json::canonical(&json, &mut text);
    Ok(text.into())
}

/// A verdict on swapped answers, in the record's order.
fn turned_back(mut verdict: Verdicted) -> Verdicted {
    verdict.label = match verdict.label {
        A => B,
        B => A,
        other => other,
    };
    if let [a, b, ..] = verdict.shares.as_mut_slice() {
        std::mem::swap(a, b);
    }
    verdict
}

/// 1 for A, 0 for B, 0.5 for a tie.
const fn preference(label: usize) -> f64 {
    match label {
        A => 1.0,
        B => 0.0,
        _ => 0.5,
    }
}

fn mean_preference(verdict: &Verdicted) -> f64 {
    let shares = verdict.shares.iter().enumerate();
    shares.map(|(label, share)| share * preference(label)).sum()
}

const fn natural(label: usize) -> Verdict {
    match label {
        A => Verdict::Pass,
        B => Verdict::Fail,
        _ => Verdict::Partial,
    }
}

fn as_upstream(parsed: upstream::Parsed) -> Outcome {
    let score = parsed.score.unwrap_or(preference(TIE));
    let label = [A, B, TIE]
        .into_iter()
        .find(|&label| preference(label) == score);
    Outcome::new(
        cell(score, natural(label.unwrap_or(TIE))),
        parsed.explanation(),
    )
}

fn cell(score: f64, natural: Verdict) -> Cell {
    Cell::Scored {
        score: Score::new(score),
        natural: Some(natural),
        flags: 0,
    }
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}
