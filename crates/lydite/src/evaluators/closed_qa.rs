//! `closed_qa`: see [`ClosedQa`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graded::{PASS_FAIL, graded};
use super::material::{OUTPUT, QUERY};
use super::prompts::prompt;
use super::shown::shown;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::record::{Field, FieldSet, Row};

/// A judge says whether the answer to a question meets one criterion, yes or no.
///
/// ## When to use it
/// One plain condition on an answer that needs no reference: "names a source", "declines politely". For several
/// conditions take `rubric`, for a grade on a scale `g_eval`, for comparison with a right answer `factuality`.
///
/// ## How it is scored
/// The judge sees the query, the output and the criterion, reasons, and answers Y (1, pass) or N (0, fail). An answer
/// that meets the criterion in part is N. With `mode: logprob` or `mode: {sample: k}` the score is the share of Y and
/// the verdict the likelier one.
///
/// ## Limits
/// The judge does not know the right answer: it judges by the criterion and by what it happens to know.
///
/// ## References
/// OpenAI evals, `closedqa` (criterion, Y or N); autoevals, ClosedQA; promptfoo, `model-graded-closedqa`. The prompt
/// is Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClosedQa {
    /// What the answer must do.
    #[schemars(length(min = 1))]
    criteria: String,
}

const PROMPT: &str = "\
Decide whether an answer to a question meets one criterion.

Criterion: {criteria}

Question:
{query}

Answer:
{output}

First reason about what the criterion asks, and whether the answer as it stands does that. Then give the verdict: \
Y if the answer meets the criterion in full, N if it does not, or only in part. Judge by the criterion alone, not by \
the answer's other qualities. An empty answer or a refusal meets it only where the criterion says so.";

const PLACES: [Place; 3] = [Place::new("criteria"), QUERY, OUTPUT];

impl Evaluator for ClosedQa {
    const INFO: Info = Info {
        id: "closed_qa",
        prompts: &[PromptText::new("the verdict", PROMPT)],
        aliases: &["model_graded_closedqa"],
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Query, Field::Output]),
        needs: FieldSet::of(&[Field::Query, Field::Output]),
        principal: Some("criteria"),
        examples: &[
            Example {
                title: "the answer names its source",
                params: "criteria: names the source of its figures",
                record: r#"{"query": "How many people live in Oslo?", "output": "About 717,000 (Statistics Norway, 2024)."}"#,
                replies: r#"[{"reasoning": "It names Statistics Norway.", "verdict": "Y"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "the answer does not",
                params: "criteria: names the source of its figures",
                record: r#"{"query": "How many people live in Oslo?", "output": "About 717,000."}"#,
                replies: r#"[{"reasoning": "No source is named.", "verdict": "N"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "a judge that says neither, twice, is an error and no fail",
                params: "criteria: names the source of its figures",
                record: r#"{"query": "How many people live in Oslo?", "output": "About 717,000."}"#,
                replies: r#"["Interesting question!", "I would rather not."]"#,
                expect: r#"{"verdict": "inconclusive", "error": "judge_unreadable"}"#,
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if self.criteria.trim().is_empty() {
            return Err(ParamErrors::with_help(
                "/criteria",
                "the criterion is blank",
                "write what the answer must do",
            ));
        }
        Ok(Scorer::judged(ByJudge {
            prompt: prompt(cx, PROMPT, &PLACES, &["criteria", "output"])?,
            criteria: self.criteria,
            labels: Labels::yes_no(),
        }))
    }
}

struct ByJudge {
    prompt: Prompt,
    criteria: String,
    labels: Labels,
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let ask = Ask {
            name: "closed_qa",
            prompt: &self.prompt,
            fill: &[
                ("criteria", Fill::words(&*self.criteria)),
                ("query", Fill::Data(shown(row, Field::Query, cx)?)),
                ("output", Fill::Data(shown(row, Field::Output, cx)?)),
            ],
            order: Order::Ab,
        };
        let said = cx.verdict(&ask, &self.labels).await?;
        Ok(graded(said, &self.labels, &PASS_FAIL))
    }
}
