//! `semantic_match`: see [`SemanticMatch`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graded::{PASS_FAIL, graded};
use super::matched::{ByHead, LOCAL};
use super::prompts::prompt;
use super::seen::query_if_any;
use super::shown::shown;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code};
use crate::record::{Field, FieldSet, Row};

/// The response says what the expected text says, in whatever words.
///
/// ## When to use it
/// Answers that may be worded freely, or hold more than was asked, where one meaning has to be in them. For one right
/// wording take `golden_response`, for a literal phrase `contains`; both cost no call.
///
/// ## How it is scored
/// A judge says whether the response states the meaning of `semantic_match_string`, else of the record's reference:
/// 1 and pass, else 0 and fail. More may be said, nothing against it; numbers, names and negations have to agree, language
/// and notation do not. Of several references any one is enough. The judge's reason is kept. With `mode: logprob` or
/// `sample` the score is the share of yes.
///
/// ## Limits
/// An empty response is inconclusive, an empty reference an error. The judge goes by the reference alone: a wrong
/// reference gives wrong verdicts.
///
/// ## References
/// Context.ai, Default Evaluators, Semantic Match; taking the record's reference is Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SemanticMatch {}

const PROMPT: &str = "\
Decide whether a response says what an expected text says.

The question (it only helps to understand short texts):
{query}

The expected text (where several are numbered, any one of them is enough):
{reference}

The response:
{output}

Y: the response states the meaning of the expected text, in whatever words, order, format or language. It may say \
more, as long as nothing in it takes that meaning back or speaks against it.
N: that meaning is missing, is there only in part or only hinted at, is contradicted, or stands beside others without \
a choice between them; or the response gives no answer.

Numbers, names, dates, units, conditions and negations have to agree; how they are written does not count (30 days is \
thirty days). Go by the expected text alone, even where you know better. Length, style and courtesy do not count.
Give your reasons in a sentence or two, then the verdict.";

const PLACES: [Place; 3] = [
    Place {
        name: "query",
        also: &["input"],
    },
    Place {
        name: "reference",
        also: &["semantic_match_string"],
    },
    Place {
        name: "output",
        also: &["response"],
    },
];

impl Evaluator for SemanticMatch {
    const INFO: Info = Info {
        id: "semantic_match",
        prompts: &[PromptText::new("the verdict", PROMPT)],
        origin: Origin::ContextAi,
        reads: FieldSet::of(&[Field::Output, Field::Reference, Field::Query]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        reference_alias: Some("semantic_match_string"),
        locals: &[LOCAL],
        examples: &[
            Example {
                title: "the same in other words",
                params: "semantic_match_string: Refunds take 30 days.",
                record: r#"{"query": "How long do refunds take?", "output": "You will have your money back within thirty days."}"#,
                replies: r#"[{"reasoning": "Thirty days for the money back is the expected time.", "verdict": "Y"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "another number is another meaning",
                params: "semantic_match_string: Refunds take 30 days.",
                record: r#"{"query": "How long do refunds take?", "output": "Refunds take about 20 days."}"#,
                replies: r#"[{"reasoning": "20 days are not 30 days.", "verdict": "N"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "a record without a response is an error",
                params: "semantic_match_string: Refunds take 30 days.",
                record: r#"{"query": "How long do refunds take?"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if cx.local.is_some() {
            return Ok(Scorer::batched(ByHead::new()?));
        }
        Ok(Scorer::judged(ByJudge {
            prompt: prompt(cx, PROMPT, &PLACES, &["reference", "output"])?,
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
        let output = shown(row, Field::Output, cx)?;
        let reference = expected(row, cx)?;
        if output.trim().is_empty() {
            return Ok(Outcome::inconclusive("the response is empty"));
        }
        let ask = Ask {
            name: "semantic_match",
            prompt: &self.prompt,
            fill: &[
                ("query", query_if_any(row)),
                ("reference", reference),
                ("output", Fill::data(output)),
            ],
            order: Order::default(),
        };
        let said = cx.verdict(&ask, &self.labels).await?;
        Ok(graded(said, &self.labels, &PASS_FAIL))
    }
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

/// The expected text, or all alternatives. A blank one would be in every response.
fn expected<'r>(row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<Fill<'r>, Failure> {
    let blank = |text: &str| text.trim().is_empty();
    let expected = match row.references() {
        [] | [_] => {
            let text = shown(row, Field::Reference, cx)?;
            (!blank(&text)).then(|| Fill::data(text))
        }
        several => {
            let all_say_something = !several.iter().any(|text| blank(text));
            all_say_something.then(|| Fill::items(several.iter().copied()))
        }
    };
    expected.ok_or_else(|| Cell::Errored(Code::EmptyField(Field::Reference)).into())
}

#[cfg(test)]
mod tests {
    use super::super::asked::{asked, shown_in};
    use super::*;

    fn shown(params: &str, record: &str) -> String {
        let requests =
            asked::<SemanticMatch>(params, record, r#"[{"reasoning": "r", "verdict": "Y"}]"#);
        assert_eq!(requests.len(), 1);
        shown_in(&requests[0])
    }

    #[test]
    fn the_option_stands_before_the_reference_and_alternatives_are_numbered() {
        let record = r#"{"output": "o", "reference": ["a", "b"]}"#;
        let all = shown("{}", record);
        assert!(all.contains("is enough):\n1. <a>\n2. <b>\n\n"), "{all}");
        assert!(all.contains("short texts):\n(not given)\n"), "{all}");
        let one = shown("semantic_match_string: own", record);
        assert!(one.contains("is enough):\n<own>\n"), "{one}");
    }
}
