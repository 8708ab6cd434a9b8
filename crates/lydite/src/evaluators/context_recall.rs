//! `context_recall`: see [`ContextRecall`].

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::itemised::{evidence, share};
use super::material::{CONTEXTS, QUERY, chunks, passages, query_or_none};
use super::prompts::prompt;
use super::shown::shown;
use super::statements::Splitter;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Label, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};

/// The share of the reference's statements that the retrieved contexts hold.
///
/// ## When to use it
/// To judge a retriever by whether what the right answer says was retrieved at all. Where the relevant passages are
/// known by id, a retrieval metric needs no judge; for what of the retrieved is useful, `context_relevance`.
///
/// ## How it is scored
/// A judge splits the reference into statements; then each, numbered, is attributed to the contexts or not. The score
/// is attributed ÷ all statements. Statements without a verdict are asked for once more, then the whole is an error
/// whose evidence has the bounds. An empty list of contexts recalls nothing: 0, without a call. A reference without
/// any statement is inconclusive. Of several references the best counts. It only measures, unless a `threshold` is
/// set.
///
/// ## Limits
/// A reference that says more than the question asks lowers the score of every retriever. The check's own `prompt`
/// stands in place of the one for attribution. The score modes `logprob` and `sample` do not apply.
///
/// ## References
/// Es et al. 2024 and ragas, LLMContextRecall: statements of the reference that can be attributed to the contexts ÷
/// statements of the reference. The prompts are Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextRecall {}

const PROMPT: &str = "\
Decide for each numbered statement whether it can be attributed to the passages below.

Question that the statements answer:
{query}

Passages:
{contexts}

Statements:
{statements}

Take every statement by itself, in its order and under its number: name the place in the passages that bears on it, \
then give the verdict. attributed - the passages say it, or it follows from them directly. not_attributed - the \
passages say nothing of it, say only part of it, or contradict it. Go by the passages alone, not by what you know.";

const PLACES: [Place; 3] = [QUERY, CONTEXTS, Place::new("statements")];

const ATTRIBUTED: usize = 0;

fn labels() -> Labels {
    Labels::new(vec![
        Label::new("attributed", &["yes", "true", "1"]),
        Label::new(
            "not_attributed",
            &["not attributed", "unattributed", "no", "false", "0"],
        ),
    ])
}

impl Evaluator for ContextRecall {
    const INFO: Info = Info {
        id: "context_recall",
        prompts: &[
            PromptText::new("the verdict on each statement", PROMPT),
            PromptText::new("the statements", super::statements::PROMPT),
        ],
        aliases: &["contextual_recall"],
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Query, Field::Reference, Field::Contexts]),
        needs: FieldSet::of(&[Field::Reference, Field::Contexts]),
        natural_verdict: false,
        examples: &[
            Example {
                title: "everything was retrieved",
                params: "threshold: 0.8",
                record: r#"{"query": "Who wrote Faust?", "reference": "Goethe wrote Faust.", "contexts": ["Faust is a play by Goethe."]}"#,
                replies: r#"[{"statements": ["Goethe wrote Faust."]}, {"verdicts": [{"number": 1, "reasoning": "Passage 1 says so.", "verdict": "attributed"}]}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "half of it was",
                params: "threshold: 0.8",
                record: r#"{"query": "Who wrote Faust, and when?", "reference": "Goethe did, in 1808.", "contexts": ["Faust is a play by Goethe."]}"#,
                replies: r#"[{"statements": ["Goethe wrote Faust.", "Faust was written in 1808."]}, {"verdicts": [{"number": 1, "reasoning": "Passage 1.", "verdict": "attributed"}, {"number": 2, "reasoning": "No year.", "verdict": "not_attributed"}]}]"#,
                expect: r#"{"verdict": "fail", "score": 0.5}"#,
            },
            Example {
                title: "a statement without a verdict is an error, not a better share",
                params: "threshold: 0.8",
                record: r#"{"reference": "Goethe did, in 1808.", "contexts": ["Faust is a play by Goethe."]}"#,
                replies: r#"[{"statements": ["a", "b"]}, {"verdicts": [{"number": 1, "reasoning": "", "verdict": "attributed"}]}, {"verdicts": [{"number": 1, "reasoning": "", "verdict": "attributed"}]}]"#,
                expect: r#"{"verdict": "inconclusive", "error": "verdict_count_mismatch"}"#,
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::judged(ByJudge {
            splitter: Splitter::new()?,
            attribution: prompt(cx, PROMPT, &PLACES, &["contexts", "statements"])?,
            labels: labels(),
        }))
    }
}

struct ByJudge {
    splitter: Splitter,
    attribution: Prompt,
    labels: Labels,
}

/// What came of one reference.
struct Recall {
    score: f64,
    attributed: usize,
    statements: usize,
    evidence: Vec<Evidence>,
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let references: Vec<Cow<'_, str>> = match row.references() {
            many @ [_, _, ..] => many.iter().map(|&text| text.into()).collect(),
            _ => vec![shown(row, Field::Reference, cx)?],
        };
        if chunks(row)?.is_empty() {
            return Ok(Outcome::new(
                Cell::measured(0.0),
                Explanation::reason("no context was retrieved"),
            ));
        }
        let mut best: Option<(usize, Recall)> = None;
        for (index, reference) in references.iter().enumerate() {
            let recall = self.recall(row, reference, cx).await?;
            if let Some(recall) = recall
                && best
                    .as_ref()
                    .is_none_or(|(_, than)| recall.score > than.score)
            {
                best = Some((index, recall));
            }
        }
        let Some((index, recall)) = best else {
            return Ok(Outcome::inconclusive(
                "the reference makes no statement that could be found in the contexts",
            ));
        };
        let mut explanation = Explanation::reason(format!(
            "{} of the reference's {} statements can be attributed to the contexts",
            recall.attributed, recall.statements
        ));
        if references.len() > 1 {
            explanation = explanation.with(Evidence::new("alternative").set("index", index));
        }
        explanation.evidence.extend(recall.evidence);
        Ok(Outcome::new(Cell::measured(recall.score), explanation))
    }

    /// The recall of one reference; `None` where it makes no statement.
    async fn recall(
        &self,
        row: &Row<'_>,
        reference: &str,
        cx: &JudgeContext<'_>,
    ) -> Result<Option<Recall>, Failure> {
        if reference.trim().is_empty() {
            return Ok(None);
        }
        let query = query_or_none(row, cx)?;
        let statements = self.splitter.split(query.clone(), reference, cx).await?;
        if statements.is_empty() {
            return Ok(None);
        }
        let texts = || statements.iter().map(String::as_str);
        let ask = Ask {
            name: "context_recall",
            prompt: &self.attribution,
            fill: &[
                ("query", query),
                ("contexts", passages(row.contexts())),
                ("statements", Fill::items(texts())),
            ],
            order: Order::Ab,
        };
        let items = cx.items(&ask, statements.len(), &self.labels).await?;
        let (attributed, score) = share(&items, ATTRIBUTED);
        Ok(Some(Recall {
            score,
            attributed,
            statements: statements.len(),
            evidence: evidence("statement", texts(), &items, &self.labels),
        }))
    }
}
