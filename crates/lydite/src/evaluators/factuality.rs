//! `factuality`: see [`Factuality`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graded::{Grade, graded};
use super::itemised::whole_or_part;
use super::material::{OUTPUT, QUERY, REFERENCE, query_or_none, references};
use super::prompts::prompt;
use super::shown::shown;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Label, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::record::{Field, FieldSet, Row};

/// A judge compares the facts of the output with those of the reference: fewer, more, the same, or contrary.
///
/// ## When to use it
/// Free answers that have a right one to compare with, where leaving out or adding facts should be told apart from
/// being wrong. For a plain right or wrong take `qa`; for facts drawn from retrieved passages `faithfulness`.
///
/// ## How it is scored
/// The judge picks one of five categories, and `scores` gives each its score:
///
/// | label | the output's facts | score |
/// |---|---|---|
/// | `subset` (A) | are part of the reference's, and agree with it | 0.4 |
/// | `superset` (B) | hold all of the reference's and more, and agree with it | 0.6 |
/// | `same` (C) | are the same | 1 |
/// | `disagree` (D) | contradict the reference | 0 |
/// | `differ` (E) | differ in ways that do not matter | 1 |
///
/// A score of 1 passes, 0 fails, one between is partial: with the defaults `same` and `differ` pass and `disagree`
/// fails. With `mode: logprob` or `mode: {sample: k}` the score is the mean of the categories' scores by their shares;
/// the verdict is that of the likeliest category. Of several references, all of them right, the judge takes the
/// nearest.
///
/// ## Limits
/// The reference is taken for true. Whether added facts of a `superset` are true is not judged.
///
/// ## References
/// The categories: OpenAI evals, `fact`. The default scores: autoevals, Factuality. promptfoo passes `subset` and
/// `superset` too: `scores: {subset: 1, superset: 1}`. The prompt is Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factuality {
    /// The score of each category, in [0, 1]; those left out keep their default.
    #[serde(default)]
    scores: Scores,
}

/// The score of each category.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
struct Scores {
    /// Fewer facts than the reference, none of them contrary.
    #[schemars(range(min = 0.0, max = 1.0))]
    subset: f64,
    /// More facts than the reference, none of them contrary.
    #[schemars(range(min = 0.0, max = 1.0))]
    superset: f64,
    /// The same facts.
    #[schemars(range(min = 0.0, max = 1.0))]
    same: f64,
    /// A contradiction.
    #[schemars(range(min = 0.0, max = 1.0))]
    disagree: f64,
    /// Differences that do not matter.
    #[schemars(range(min = 0.0, max = 1.0))]
    differ: f64,
}

impl Default for Scores {
    fn default() -> Self {
        Self {
            subset: 0.4,
            superset: 0.6,
            same: 1.0,
            disagree: 0.0,
            differ: 1.0,
        }
    }
}

impl Scores {
    /// In the order of [`labels`].
    const fn in_order(self) -> [f64; 5] {
        [
            self.same,
            self.differ,
            self.superset,
            self.subset,
            self.disagree,
        ]
    }
}

const PROMPT: &str = "\
Compare the facts that an answer states with those of a reference answer.

Request:
{query}

Reference, which is true (where several are numbered, each is true; take the one nearest to the answer):
{reference}

Answer:
{output}

Compare content alone: differences of wording, style, order, spelling or language do not matter. Name the facts of \
both, then choose the one verdict that holds:
same - the answer states the same facts as the reference.
differ - they differ, but only in ways that do not matter to whether the answer is true and complete.
superset - the answer states all facts of the reference and further ones, and contradicts none.
subset - the answer states some facts of the reference and leaves out others, and contradicts none. \
An empty answer or a refusal, which states no fact, is a subset too.
disagree - at least one fact of the answer contradicts the reference; this outweighs all others.";

const PLACES: [Place; 3] = [QUERY, REFERENCE, OUTPUT];

/// The categories, the best first, with their letters in OpenAI's and Braintrust's prompts.
fn labels() -> Labels {
    let categories = [
        ("same", "C"),
        ("differ", "E"),
        ("superset", "B"),
        ("subset", "A"),
        ("disagree", "D"),
    ];
    let labels = categories.map(|(name, letter)| Label::new(name, &[letter]));
    Labels::new(labels.into())
}

impl Evaluator for Factuality {
    const INFO: Info = Info {
        id: "factuality",
        prompts: &[PromptText::new("the category", PROMPT)],
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        examples: &[
            Example {
                title: "the same facts in other words",
                params: "{}",
                record: r#"{"query": "Who wrote Faust?", "output": "It was written by Goethe.", "reference": "Goethe"}"#,
                replies: r#"[{"reasoning": "Both name Goethe.", "verdict": "same"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "fewer facts than the reference are part of the way",
                params: "{}",
                record: r#"{"query": "When did he live?", "output": "He was born in 1749.", "reference": "1749 to 1832"}"#,
                replies: r#"[{"reasoning": "The year of death is left out.", "verdict": "subset"}]"#,
                expect: r#"{"verdict": "partial", "score": 0.4}"#,
            },
            Example {
                title: "a contradiction",
                params: "{}",
                record: r#"{"query": "Who wrote Faust?", "output": "Schiller did.", "reference": "Goethe"}"#,
                replies: r#"[{"reasoning": "Schiller is not Goethe.", "verdict": "disagree"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "without a reference there is nothing to compare with",
                params: "{}",
                record: r#"{"query": "Who wrote Faust?", "output": "Goethe."}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let scores = self.scores.in_order();
        if scores.iter().any(|score| !(0.0..=1.0).contains(score)) {
            return Err(ParamErrors::with_help(
                "/scores",
                "a category's score is outside [0, 1]",
                "give 1 to what passes, 0 to what fails, and what lies between to the rest",
            ));
        }
        Ok(Scorer::judged(ByJudge {
            prompt: prompt(cx, PROMPT, &PLACES, &["reference", "output"])?,
            labels: labels(),
            grades: scores.map(|score| (whole_or_part(score), Some(score))),
        }))
    }
}

struct ByJudge {
    prompt: Prompt,
    labels: Labels,
    /// One a label.
    grades: [Grade; 5],
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let ask = Ask {
            name: "factuality",
            prompt: &self.prompt,
            fill: &[
                ("query", query_or_none(row, cx)?),
                ("reference", references(row, cx)?),
                ("output", Fill::Data(shown(row, Field::Output, cx)?)),
            ],
            order: Order::Ab,
        };
        let said = cx.verdict(&ask, &self.labels).await?;
        Ok(graded(said, &self.labels, &self.grades))
    }
}
