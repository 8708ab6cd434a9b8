//! `select_best`: see [`SelectBest`].

use futures_util::future::join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::itemised::scored;
use super::material::{QUERY, query_or_none};
use super::prompts::prompt;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{
    Ask, Failure, Fill, JudgeContext, Label, Labels, OBJECT_AS_JSON, ORDER_FLIP, Outcome, Place,
    Prompt, Verdicted,
};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code, Evidence, Explanation, Verdict};
use crate::record::{Content, Field, FieldSet, Row};

/// A judge picks the best of several candidates, asked in two orders; the first candidate should win.
///
/// ## When to use it
/// To compare the answers of several models or prompts to one query, where the first is yours: `candidates`, or
/// `output` and `output_b`. For exactly two with a tie as a likely end, `pairwise`.
///
/// ## How it is scored
/// The judge sees the candidates numbered, in their order, and once more with the second half in front. The same
/// winner both times wins: the first candidate gives 1 and pass, another one 0 and fail. A tie, or two different
/// winners (the place decided, not the answer), gives 0.5 and partial. The label is the winner's number, from 1, or
/// `tie`. Candidates of one and the same text are a tie without a call. The evidence tells each order's choice.
///
/// ## Limits
/// It says which is best, not whether any is good. Two orders of more than two candidates do not rule out every
/// effect of place.
///
/// ## References
/// promptfoo, `select-best`, which asks in one order; Zheng et al. 2023, "Judging LLM-as-a-Judge with MT-Bench and
/// Chatbot Arena", on both orders and a tie where they disagree. The prompt is Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectBest {
    /// What makes a candidate the best; left out: how well it does what the query asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criteria: Option<String>,
}

const PROMPT: &str = "\
Choose the best of {count} candidate answers to one request.

Criteria: {criteria}

Request:
{query}

Candidates:
{candidates}

Reason about each candidate by the criteria first, then compare them. Give the number of the best one, or tie where \
no single one is best. The order in which they stand means nothing, nor does their length or who seems to have \
written them.";

const CRITERIA: &str = "the best answer does what the request asks, correctly and completely";

const PLACES: [Place; 4] = [
    Place::new("count"),
    Place::new("criteria"),
    QUERY,
    Place::new("candidates"),
];

const TIE: &str = "tie";

impl Evaluator for SelectBest {
    const INFO: Info = Info {
        id: "select_best",
        prompts: &[PromptText::new("the best", PROMPT)],
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Query, Field::Candidates]),
        needs: FieldSet::of(&[Field::Candidates]),
        principal: Some("criteria"),
        examples: &[
            Example {
                title: "the first candidate wins in both orders",
                params: "criteria: is polite",
                record: r#"{"query": "Where is my parcel?", "candidates": ["It arrives tomorrow, sorry!", "No idea.", "Who knows?"]}"#,
                replies: r#"[{"reasoning": "1 alone is polite.", "verdict": "1"}, {"reasoning": "3 alone is polite.", "verdict": "3"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "another one wins",
                params: "{}",
                record: r#"{"query": "1 + 1?", "output": "3", "output_b": "2"}"#,
                replies: r#"[{"reasoning": "2 is right.", "verdict": "2"}, {"reasoning": "1 is right.", "verdict": "1"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "whoever stands first wins: a tie",
                params: "{}",
                record: r#"{"query": "1 + 1?", "output": "two", "output_b": "2"}"#,
                replies: r#"[{"reasoning": "Both are right.", "verdict": "1"}, {"reasoning": "Both are right.", "verdict": "1"}]"#,
                expect: r#"{"verdict": "partial", "score": 0.5}"#,
            },
            Example {
                title: "one candidate leaves no choice",
                params: "{}",
                record: r#"{"query": "1 + 1?", "candidates": ["2"]}"#,
                expect: r#"{"verdict": "inconclusive", "error": "invalid_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let criteria = self.criteria.filter(|text| !text.trim().is_empty());
        Ok(Scorer::judged(ByJudge {
            prompt: prompt(cx, PROMPT, &PLACES, &["candidates"])?,
            criteria: criteria.unwrap_or_else(|| CRITERIA.to_owned()),
        }))
    }
}

struct ByJudge {
    prompt: Prompt,
    criteria: String,
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let texts = texts(row, cx)?;
        if texts.iter().all(|text| texts.first() == Some(text)) {
            return Ok(tie("all candidates are the same text", Vec::new()));
        }
        let labels = labels(texts.len());
        // The second order moves every candidate, by half of them.
        let turn = texts.len() / 2;
        let mut turned = texts.clone();
        turned.rotate_left(turn);
        let (plain, rotated) = join(
            self.ask(row, &texts, &labels, Order::Ab, cx),
            self.ask(row, &turned, &labels, Order::Ba, cx),
        )
        .await;
        let (plain, rotated) = (plain?, rotated?);
        let count = texts.len();
        let first = winner(&plain, 0, count);
        let second = winner(&rotated, turn, count);
        let evidence = vec![
            choice("as given", first, plain),
            choice("second half first", second, rotated),
        ];
        Ok(match (first, second) {
            (Some(a), Some(b)) if a == b => won(a, evidence),
            (None, None) => tie("no candidate is best in either order", evidence),
            _ => {
                cx.warn(ORDER_FLIP);
                tie(
                    "the two orders gave different winners, so the place decided",
                    evidence,
                )
            }
        })
    }

    async fn ask(
        &self,
        row: &Row<'_>,
        texts: &[&str],
        labels: &Labels,
        order: Order,
        cx: &JudgeContext<'_>,
    ) -> Result<Verdicted, Failure> {
        let ask = Ask {
            name: "select_best",
            prompt: &self.prompt,
            fill: &[
                ("count", Fill::words(texts.len().to_string())),
                ("criteria", Fill::words(&*self.criteria)),
                ("query", query_or_none(row, cx)?),
                ("candidates", Fill::items(texts.iter().copied())),
            ],
            order,
        };
        cx.verdict(&ask, labels).await
    }
}

/// The candidates as the judge is shown them, two or more.
fn texts<'r>(row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<Vec<&'r str>, Failure> {
    match row.candidates() {
        [] => Err(Cell::Errored(Code::MissingField(Field::Candidates)).into()),
        [_] => Err(Failure::new(
            Code::InvalidField(Field::Candidates),
            "one candidate leaves no choice; give two or more",
        )),
        candidates => candidates
            .iter()
            .map(|candidate| text(*candidate, cx))
            .collect(),
    }
}

fn text<'r>(candidate: Content<'r>, cx: &JudgeContext<'_>) -> Result<&'r str, Failure> {
    if let Some(text) = candidate.text() {
        return Ok(text);
    }
    cx.warn(OBJECT_AS_JSON);
    let source = candidate.json_source();
    source.ok_or_else(|| Cell::Errored(Code::NotText(Field::Candidates)).into())
}

/// The candidates' numbers, and `tie`.
fn labels(count: usize) -> Labels {
    let numbers = (1..=count).map(|number| Label::new(&number.to_string(), &[]));
    let tie = Label::new(TIE, &["none"]);
    Labels::new(numbers.chain([tie]).collect())
}

/// The winner's place in the record, from 0, where the candidates were shown from `turn` on; `None` for a tie.
fn winner(said: &Verdicted, turn: usize, count: usize) -> Option<usize> {
    (said.label < count).then(|| (said.label + turn) % count)
}

/// A winner's name: its number in the record, from 1.
fn name(winner: Option<usize>) -> String {
    winner.map_or_else(|| TIE.to_owned(), |index| (index + 1).to_string())
}

/// What one order gave.
fn choice(order: &str, winner: Option<usize>, said: Verdicted) -> Evidence {
    Evidence::new("order")
        .set("order", order)
        .set("winner", name(winner))
        .set("reason", said.reason)
}

fn won(winner: usize, evidence: Vec<Evidence>) -> Outcome {
    let is_first = winner == 0;
    let number = name(Some(winner));
    Outcome::new(
        scored(f64::from(u8::from(is_first)), Verdict::from_bool(is_first)),
        Explanation {
            label: Some(number.clone().into()),
            evidence,
            ..Explanation::reason(format!("candidate {number} is best in both orders"))
        },
    )
}

fn tie(reason: &'static str, evidence: Vec<Evidence>) -> Outcome {
    Outcome::new(
        scored(0.5, Verdict::Partial),
        Explanation {
            label: Some(TIE.into()),
            evidence,
            ..Explanation::reason(reason)
        },
    )
}
