//! `context_precision`: see [`ContextPrecision`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lynxius::not_blank;
use super::options::rounded;
use super::prompts::prompt;
use super::shown::shown;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, Item, JudgeContext, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{ContextChunk, Field, FieldSet, Row};

/// Whether the contexts that are useful for the reference stand before those that are not.
///
/// ## When to use it
/// To measure a retriever's order, not the answer: the output is not read. Where the relevant ids are known, a retrieval
/// metric needs no judge.
///
/// ## How it is scored
/// A judge says for each context, in order, whether it was useful to reach the reference. Score = Σᵢ (hitsᵢ / i)·vᵢ ÷ Σv,
/// with v the verdicts as 1 and 0 and hitsᵢ the useful ones among the first i: average precision, in [0, 1]; 0 where none
/// is useful. The evidence has each context's verdict and reason. It only measures unless a `threshold` is set.
///
/// ## Limits
/// It does not see what was not retrieved, and more useless contexts after the last useful one cost nothing. No context
/// at all is inconclusive; a context without a verdict after one repair is an error. An empty query or reference is an
/// error. A list of references is read as one.
///
/// ## References
/// Lynxius, ContextPrecision, without the 1e-10 in its denominator: three useful contexts of three give 1 exactly.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextPrecision {}

const PROMPT: &str = "\
Decide for each passage whether it was useful to answer a question.

The question:
{query}

The right answer:
{reference}

The passages:
{contexts}

Y: the passage holds something that the right answer says or needs: a fact of it, or a step on the way to it.
N: it does not, even where it is on the same subject, or is true and interesting.

Judge each passage by itself, whatever its place and length and whatever the others say; two that say the same are both \
useful. Go through the passages one after the other. For each number give your reasons in a sentence, then the verdict.";

const PLACES: [Place; 3] = [
    Place {
        name: "query",
        also: &["input"],
    },
    Place::new("reference"),
    Place {
        name: "contexts",
        also: &["context"],
    },
];

const USEFUL: usize = 0;

impl Evaluator for ContextPrecision {
    const INFO: Info = Info {
        id: "context_precision",
        prompts: &[PromptText::new("the verdict on each context", PROMPT)],
        origin: Origin::Lynxius,
        reads: FieldSet::of(&[Field::Query, Field::Reference, Field::Contexts]),
        needs: FieldSet::of(&[Field::Query, Field::Reference, Field::Contexts]),
        natural_verdict: false,
        examples: &[
            Example {
                title: "the useful context stands first",
                params: "threshold: 0.8",
                record: r#"{"query": "How long do refunds take?", "reference": "5 days", "contexts": ["Refunds take 5 days.", "We are closed on Sundays."]}"#,
                replies: r#"[{"verdicts": [{"number": 1, "reasoning": "It has the time.", "verdict": "Y"}, {"number": 2, "reasoning": "Nothing of refunds.", "verdict": "N"}]}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "it stands last",
                params: "threshold: 0.8",
                record: r#"{"query": "How long do refunds take?", "reference": "5 days", "contexts": ["We are closed on Sundays.", "Refunds take 5 days."]}"#,
                replies: r#"[{"verdicts": [{"number": 1, "reasoning": "Nothing of refunds.", "verdict": "N"}, {"number": 2, "reasoning": "It has the time.", "verdict": "Y"}]}]"#,
                expect: r#"{"verdict": "fail", "score": 0.5}"#,
            },
            Example {
                title: "a record without contexts is an error",
                params: "threshold: 0.8",
                record: r#"{"query": "How long do refunds take?", "reference": "5 days"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::judged(ByJudge {
            prompt: prompt(cx, PROMPT, &PLACES, &["reference", "contexts"])?,
            labels: Labels::yes_no(),
        }))
    }
}

struct ByJudge {
    prompt: Prompt,
    labels: Labels,
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let query = not_blank(shown(row, Field::Query, cx)?, Field::Query)?;
        let reference = not_blank(shown(row, Field::Reference, cx)?, Field::Reference)?;
        let chunks = row.contexts();
        if chunks.is_empty() {
            return match row.raw(Field::Contexts) {
                Some(_) => Ok(Outcome::inconclusive("the list of contexts is empty")),
                None => Err(Cell::Errored(Code::MissingField(Field::Contexts)).into()),
            };
        }
        let ask = Ask {
            name: "context_precision",
            prompt: &self.prompt,
            fill: &[
                ("query", Fill::data(query)),
                ("reference", Fill::data(reference)),
                (
                    "contexts",
                    Fill::items(chunks.iter().map(|chunk| chunk.document)),
                ),
            ],
            order: Order::default(),
        };
        let items = cx.items(&ask, chunks.len(), &self.labels).await?;
        Ok(outcome(chunks, items, cx.judge_name().unwrap_or("judge")))
    }
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

fn outcome(chunks: &[ContextChunk<'_>], items: Vec<Item>, by: &str) -> Outcome {
    let useful: Vec<bool> = items.iter().map(|item| item.label == USEFUL).collect();
    let score = average_precision(&useful);
    let hits = useful.iter().filter(|useful| **useful).count();
    let reason = format!(
        "{hits} of {} contexts are useful, average precision {}",
        chunks.len(),
        rounded(score)
    );
    let evidence = chunks
        .iter()
        .zip(items)
        .enumerate()
        .map(|(index, (chunk, item))| {
            Evidence::new("context")
                .set("index", index)
                .set("id", chunk.id)
                .set("useful", item.label == USEFUL)
                .set("by", by)
                .set("reason", item.reason)
        });
    Outcome::new(
        Cell::measured(score),
        Explanation {
            evidence: evidence.collect(),
            ..Explanation::reason(reason)
        },
    )
}

/// Σᵢ (hitsᵢ ⁄ i)·vᵢ ÷ Σv over verdicts in order; 0 where none is true.
fn average_precision(useful: &[bool]) -> f64 {
    let (mut hits, mut sum) = (0.0, 0.0);
    for (index, _) in useful.iter().enumerate().filter(|(_, useful)| **useful) {
        hits += 1.0;
        sum += hits / (index + 1) as f64;
    }
    if hits == 0.0 { 0.0 } else { sum / hits }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's rows of verdicts.
    #[test]
    fn average_precisions_are_those_of_the_table() {
        for (verdicts, score) in [
            ([1, 0, 0], 1.0),
            ([0, 0, 0], 0.0),
            ([0, 1, 0], 0.5),
            ([0, 1, 1], 0.583_333),
            ([1, 0, 1], 0.833_333),
            ([1, 1, 1], 1.0),
        ] {
            let got = average_precision(&verdicts.map(|verdict| verdict == 1));
            assert!((got - score).abs() < 1e-6, "{verdicts:?}: {got}");
        }
        assert_eq!(average_precision(&[true; 7]), 1.0);
    }
}
