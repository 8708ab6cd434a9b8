//! `custom_evaluator`: see [`CustomEvaluator`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graded::{Grade, graded};
use super::prompts::prompt;
use super::seen::input;
use super::shown::shown;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Label, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::Verdict;
use crate::record::{Field, FieldSet, Row};

/// The response meets instructions of your own, as a judge sees it.
///
/// ## When to use it
/// A condition that no other evaluator has, said in a few sentences: *the response names a price and where it is
/// from*. For a condition with a name of LangChain's list take `criteria`, for places of your own in the prompt
/// `custom_eval`.
///
/// ## How it is scored
/// A judge goes by the `instructions`: the response meets them (1 and pass), only some of it does (0.5 and partial), or
/// it does not (0 and fail); where the material does not let it decide, inconclusive without a score. With `context:
/// full_context` it sees all that came before the response: messages, query and contexts.
///
/// ## Limits
/// It is as clear as the instructions: say what has to hold, what is allowed, and what decides in doubt. An empty
/// response is inconclusive.
///
/// ## References
/// Context.ai, Custom Evaluators; the default of `context` and the verdict *partial* by the judge are Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomEvaluator {
    /// What has to hold, in your own words, not empty.
    #[schemars(length(min = 1))]
    instructions: String,
    /// What the judge sees.
    #[serde(default)]
    context: Shown,
}

/// What a judge is shown of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Shown {
    /// The response.
    #[default]
    ModelResponseOnly,
    /// The response and all that came before it.
    FullContext,
}

const ON_RESPONSE: &str = "\
Decide whether a response meets instructions.

The instructions:
{instructions}

The response:
{output}

";

const IN_CONTEXT: &str = "\
Decide whether a response meets instructions.

The instructions:
{instructions}

What came before the response, in order; each begins with who said it, or with \"context\" for a passage that was at \
hand. It serves to understand the response and is not itself to be judged:
{context}

The response:
{output}

";

const VERDICTS: &str = "\
pass: the whole response meets the instructions.
partial: a part of the response meets them and another does not, or some of the instructions are met and others not.
fail: the response does not meet them.
inconclusive: what is shown here does not let anybody decide.

The instructions alone count, as they are written; nothing else that you like or dislike about the response does.
Give your reasons in a sentence or two, then the verdict.";

const PLACES: [Place; 3] = [
    Place::new("instructions"),
    Place {
        name: "output",
        also: &["response"],
    },
    Place {
        name: "context",
        also: &["input"],
    },
];

/// In the order of the labels.
const GRADES: [Grade; 4] = [
    (Verdict::Pass, Some(1.0)),
    (Verdict::Partial, Some(0.5)),
    (Verdict::Fail, Some(0.0)),
    (Verdict::Inconclusive, None),
];

impl Evaluator for CustomEvaluator {
    const INFO: Info = Info {
        id: "custom_evaluator",
        prompts: &[
            PromptText::new("the verdict on the response alone", ON_RESPONSE),
            PromptText::new("the verdict in its context", IN_CONTEXT),
            PromptText::new("the verdicts, at the end of both", VERDICTS),
        ],
        origin: Origin::ContextAi,
        reads: FieldSet::of(&[
            Field::Output,
            Field::Query,
            Field::Messages,
            Field::Contexts,
        ]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("instructions"),
        examples: &[
            Example {
                title: "the response meets the instructions",
                params: "instructions: The response names a number of days.",
                record: r#"{"query": "How long do refunds take?", "output": "5 days."}"#,
                replies: r#"[{"reasoning": "It names 5 days.", "verdict": "pass"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "with all that came before it",
                params: "{instructions: The response takes up the user's complaint., context: full_context}",
                record: r#"{"messages": [{"role": "user", "content": "You are late again!"}], "output": "Refunds take 5 days."}"#,
                replies: r#"[{"reasoning": "The delay is not mentioned.", "verdict": "fail"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "a record without a response is an error",
                params: "instructions: The response names a number of days.",
                record: r#"{"query": "How long do refunds take?"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if self.instructions.trim().is_empty() {
            return Err(ParamErrors::with_help(
                "/instructions",
                "the instructions are empty",
                "say what has to hold of the response",
            ));
        }
        let (material, needed) = match self.context {
            Shown::ModelResponseOnly => (ON_RESPONSE, &["instructions", "output"][..]),
            Shown::FullContext => (IN_CONTEXT, &["instructions", "context", "output"][..]),
        };
        Ok(Scorer::judged(ByJudge {
            prompt: prompt(cx, &format!("{material}{VERDICTS}"), &PLACES, needed)?,
            instructions: self.instructions,
            labels: Labels::new(vec![
                Label::new("pass", &["yes"]),
                Label::new("partial", &["partly"]),
                Label::new("fail", &["no"]),
                Label::new("inconclusive", &[]),
            ]),
        }))
    }
}

struct ByJudge {
    prompt: Prompt,
    instructions: String,
    labels: Labels,
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let output = shown(row, Field::Output, cx)?;
        if output.trim().is_empty() {
            return Ok(Outcome::inconclusive("the response is empty"));
        }
        let ask = Ask {
            name: "custom_evaluator",
            prompt: &self.prompt,
            fill: &[
                ("instructions", Fill::words(&*self.instructions)),
                ("context", self.context(row)),
                ("output", Fill::data(output)),
            ],
            order: Order::default(),
        };
        let said = cx.verdict(&ask, &self.labels).await?;
        Ok(graded(said, &self.labels, &GRADES))
    }

    /// What came before the response, where the prompt has a place for it: a request must not hang on what it doesn't
    /// show.
    fn context<'r>(&self, row: &Row<'r>) -> Fill<'r> {
        if !self.prompt.has("context") {
            return Fill::words("");
        }
        let seen = input(row);
        if seen.is_empty() {
            Fill::words("(nothing)")
        } else {
            Fill::items(seen)
        }
    }
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::asked::{asked, shown_in};
    use super::*;

    const RECORD: &str = r#"{"messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
        "contexts": ["A passage."], "output": "Hello"}"#;

    fn shown(context: &str) -> String {
        let params = format!("{{instructions: \"It greets {{back}}.\", context: {context}}}");
        let replies = r#"[{"reasoning": "It greets.", "verdict": "pass"}]"#;
        let requests = asked::<CustomEvaluator>(&params, RECORD, replies);
        assert_eq!(requests.len(), 1);
        shown_in(&requests[0])
    }

    #[test]
    fn the_response_alone_is_shown() {
        let shown = shown("model_response_only");
        assert!(
            shown.contains("The instructions:\nIt greets {back}.\n"),
            "{shown}"
        );
        assert!(shown.contains("The response:\n<Hello>\n"), "{shown}");
        assert!(
            !shown.contains("Be kind") && !shown.contains("passage."),
            "{shown}"
        );
    }

    #[test]
    fn all_that_came_before_is_shown_once_and_in_order() {
        let expected = "1. <system: Be kind.>\n2. <user: Hi>\n3. <context: A passage.>\n";
        let shown = shown("full_context");
        assert!(shown.contains(expected), "{shown}");
    }
}
