//! `answer_correctness`: see [`AnswerCorrectness`].

use futures_util::future::join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lynxius::not_blank;
use super::prompts::prompt;
use super::shown::shown;
use super::statements::Splitter;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, Item, JudgeContext, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};

/// How many statements the output and the reference have in common, as an F1 of facts.
///
/// ## When to use it
/// Answers of several facts, where you want to know how much is right and what is missing or made up, against a
/// reference. For yes or no take `semantic_match`.
///
/// ## How it is scored
/// A judge splits both texts into statements, then checks each statement of the output against the reference (TP: the
/// reference supports it; FP: it does not) and each of the reference against the output (FN: the output does not say
/// it). Score = TP / (TP + ½(FP + FN)). The evidence names every statement with its class and reason. It only measures
/// unless a `threshold` is set.
///
/// ## Limits
/// Four calls a record. Where neither text states anything: inconclusive. A statement without a verdict after one repair
/// is an error, never left out of the count. An empty query, reference or output is an error. `prompt` replaces the
/// question about the statements. A list of references is read as one.
///
/// ## References
/// Lynxius, AnswerCorrectness; one verdict a statement is Lydite's, where the original lets the judge sort freely.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerCorrectness {}

const PROMPT: &str = "\
Check for each statement whether a text says it.

The question that text and statements answer:
{query}

The text:
{text}

The statements:
{statements}

Y: the text says it, in whatever words or language, or it follows from the text directly.
N: the text does not say it, says only a part of it, or says otherwise.

The text is the only measure, even where you know better. Numbers, names, dates, units, conditions and negations have \
to agree; how they are written does not count. Go through the statements one after the other. For each number give \
your reasons in a sentence, then the verdict.";

const PLACES: [Place; 3] = [
    Place {
        name: "query",
        also: &["input"],
    },
    Place::new("text"),
    Place::new("statements"),
];

const SAID: usize = 0;

impl Evaluator for AnswerCorrectness {
    const INFO: Info = Info {
        id: "answer_correctness",
        prompts: &[
            PromptText::new("the verdict on each statement", PROMPT),
            PromptText::new("the statements", super::statements::PROMPT),
        ],
        origin: Origin::Lynxius,
        reads: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        natural_verdict: false,
        examples: &[
            Example {
                title: "all facts of the reference and no others",
                params: "threshold: 0.8",
                record: r#"{"query": "How long do refunds take?", "output": "5 days", "reference": "Refunds take five days."}"#,
                replies: r#"[{"statements": ["Refunds take 5 days."]}, {"statements": ["Refunds take five days."]},
                    {"verdicts": [{"number": 1, "reasoning": "Five days.", "verdict": "Y"}]},
                    {"verdicts": [{"number": 1, "reasoning": "5 days.", "verdict": "Y"}]}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "one fact right, one made up, one missing",
                params: "threshold: 0.8",
                record: r#"{"query": "Tell me of refunds.", "output": "They take 5 days and need a form.", "reference": "They take 5 days and are free."}"#,
                replies: r#"[{"statements": ["Refunds take 5 days.", "Refunds need a form."]}, {"statements": ["Refunds take 5 days.", "Refunds are free."]},
                    {"verdicts": [{"number": 1, "reasoning": "Said.", "verdict": "Y"}, {"number": 2, "reasoning": "No form is named.", "verdict": "N"}]},
                    {"verdicts": [{"number": 1, "reasoning": "Said.", "verdict": "Y"}, {"number": 2, "reasoning": "The price is not named.", "verdict": "N"}]}]"#,
                expect: r#"{"verdict": "fail", "score": 0.5}"#,
            },
            Example {
                title: "an empty output is refused",
                params: "threshold: 0.8",
                record: r#"{"query": "How long do refunds take?", "output": "", "reference": "Refunds take 5 days."}"#,
                expect: r#"{"verdict": "inconclusive", "error": "empty_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::judged(ByJudge {
            splitter: Splitter::new()?,
            prompt: prompt(cx, PROMPT, &PLACES, &["text", "statements"])?,
            labels: Labels::yes_no(),
        }))
    }
}

struct ByJudge {
    splitter: Splitter,
    prompt: Prompt,
    labels: Labels,
}

/// A statement with its verdict.
type Checked = (String, Item);

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let query = not_blank(shown(row, Field::Query, cx)?, Field::Query)?;
        let output = not_blank(shown(row, Field::Output, cx)?, Field::Output)?;
        let reference = not_blank(shown(row, Field::Reference, cx)?, Field::Reference)?;
        let split = |text| self.splitter.split(Fill::data(&*query), text, cx);
        let (of_output, of_reference) = join(split(&output), split(&reference)).await;
        let (of_output, of_reference) = join(
            self.check(&query, &reference, of_output?, cx),
            self.check(&query, &output, of_reference?, cx),
        )
        .await;
        let (of_output, of_reference) = (of_output?, of_reference?);
        let by = cx.judge_name().unwrap_or("judge");
        Ok(Counts::new(&of_output, &of_reference).outcome(&of_output, &of_reference, by))
    }

    /// Whether the text says each of the statements.
    async fn check(
        &self,
        query: &str,
        text: &str,
        statements: Vec<String>,
        cx: &JudgeContext<'_>,
    ) -> Result<Vec<Checked>, Failure> {
        if statements.is_empty() {
            return Ok(Vec::new());
        }
        let ask = Ask {
            name: "answer_correctness",
            prompt: &self.prompt,
            fill: &[
                ("query", Fill::data(query)),
                ("text", Fill::data(text)),
                (
                    "statements",
                    Fill::items(statements.iter().map(String::as_str)),
                ),
            ],
            order: Order::default(),
        };
        let items = cx.items(&ask, statements.len(), &self.labels).await?;
        Ok(statements.into_iter().zip(items).collect())
    }
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    tp: usize,
    fp: usize,
    r#fn: usize,
}

impl Counts {
    fn new(of_output: &[Checked], of_reference: &[Checked]) -> Self {
        let said = |(_, item): &&Checked| item.label == SAID;
        let tp = of_output.iter().filter(said).count();
        Self {
            tp,
            fp: of_output.len() - tp,
            r#fn: of_reference.len() - of_reference.iter().filter(said).count(),
        }
    }

    /// TP ⁄ (TP + ½(FP + FN)); `None` where nothing was counted.
    fn score(self) -> Option<f64> {
        let all = self.tp as f64 + 0.5 * (self.fp + self.r#fn) as f64;
        (all > 0.0).then(|| self.tp as f64 / all)
    }

    fn outcome(self, of_output: &[Checked], of_reference: &[Checked], by: &str) -> Outcome {
        let Some(score) = self.score() else {
            return Outcome::inconclusive("neither the output nor the reference states anything");
        };
        let output = of_output
            .iter()
            .map(|checked| statement(checked, "output", ["TP", "FP"], by));
        let reference = of_reference
            .iter()
            .map(|checked| statement(checked, "reference", ["covered", "FN"], by));
        let reason = format!(
            "{} statements of the output are right (TP) and {} are not (FP), {} of the reference are missing (FN)",
            self.tp, self.fp, self.r#fn
        );
        Outcome::new(
            Cell::measured(score),
            Explanation {
                evidence: output.chain(reference).collect(),
                ..Explanation::reason(reason)
            },
        )
    }
}

/// `classes`: of a statement that the other text says, and of one that it doesn't.
fn statement((text, item): &Checked, of: &str, classes: [&str; 2], by: &str) -> Evidence {
    let [said, unsaid] = classes;
    let class = if item.label == SAID { said } else { unsaid };
    Evidence::new("statement")
        .set("in", of)
        .set("text", text.as_str())
        .set("class", class)
        .set("by", by)
        .set("reason", item.reason.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's rows (TP, FP, FN) → score.
    #[test]
    fn scores_are_those_of_the_table() {
        for ((tp, fp, r#fn), score) in [
            ((1, 0, 0), Some(1.0)),
            ((1, 1, 1), Some(0.5)),
            ((2, 1, 0), Some(0.8)),
            ((0, 1, 0), Some(0.0)),
            ((0, 0, 0), None),
        ] {
            assert_eq!(Counts { tp, fp, r#fn }.score(), score);
        }
    }
}
