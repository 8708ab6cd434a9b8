//! `faithfulness`: see [`Faithfulness`].

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entailed::{Entailed, NLI};
use super::grounded::{Grounded, LOCAL};
use super::prompts::prompt;
use super::seen::{self, query_if_any};
use super::shown::shown;
use super::statements::Splitter;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::heads::grounding;
use crate::judge::{Ask, Failure, Fill, Item, JudgeContext, Label, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Evidence, Explanation, Score, Verdict};
use crate::record::{Field, FieldSet, Row};

/// Every statement of the response is supported by what the model was given.
///
/// ## When to use it
/// Answers from retrieved passages, tools or a system message, to find what was made up. It does not ask whether the
/// response answers the question (`attempts_answer`) or is right (`semantic_match`).
///
/// ## How it is scored
/// A judge splits the response into statements, then gives each one a class: *supported*, *contradicted* or
/// *not_found* in the system messages, tool turns and contexts. The score is the share that is supported. All: pass,
/// none: fail, else partial. The evidence names each statement with class and reason, and the share that is not
/// contradicted. An explicit `threshold` makes pass or fail of a mix.
///
/// ## Limits
/// Without a statement, with an empty response or without any text to go by: inconclusive. A statement without a verdict
/// after one repair is an error with the bounds of the score, never a smaller denominator. `prompt` replaces the
/// question about the statements; two calls a record.
///
/// ## References
/// Context.ai, Default Evaluators, Faithfulness; contexts and tool turns beside system messages, and the three classes,
/// are Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Faithfulness {}

const PROMPT: &str = "\
Check statements against sources.

The sources:
{context}

The question that the statements answer (it is no source):
{query}

The statements:
{statements}

Give each statement its class:
supported: the sources say it, or it follows from them without any knowledge from elsewhere.
contradicted: the sources say something that cannot be true together with it.
not_found: neither of the two.

The sources are the only measure: what is true in the world but not in them is not_found, what is false in the world \
but in them is supported. Take each statement whole: where only a part of it is supported it is contradicted if another \
part is, else not_found. Numbers, names, dates, conditions and negations have to agree; wording and language do not. \
A statement about what the sources do not say is supported if they really do not say it.
Go through the statements one after the other. For each number give your reasons in a sentence, then its class.";

const PLACES: [Place; 3] = [
    Place {
        name: "context",
        also: &["contexts"],
    },
    Place {
        name: "query",
        also: &["input"],
    },
    Place::new("statements"),
];

const SUPPORTED: usize = 0;
const CONTRADICTED: usize = 1;

impl Evaluator for Faithfulness {
    const INFO: Info = Info {
        id: "faithfulness",
        prompts: &[
            PromptText::new("the class of each statement", PROMPT),
            PromptText::new("the statements", super::statements::PROMPT),
        ],
        origin: Origin::ContextAi,
        reads: FieldSet::of(&[
            Field::Output,
            Field::Query,
            Field::Messages,
            Field::Contexts,
        ]),
        needs: FieldSet::of(&[Field::Output]),
        examples: &[
            Example {
                title: "all that it says is in the context",
                record: r#"{"query": "How long do refunds take?", "contexts": ["Refunds take 5 days. They go to the card."], "output": "5 days, to your card."}"#,
                replies: r#"[{"statements": ["Refunds take 5 days.", "Refunds go to the card."]},
                    {"verdicts": [{"number": 1, "reasoning": "Said in the first sentence.", "verdict": "supported"},
                        {"number": 2, "reasoning": "Said in the second.", "verdict": "supported"}]}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "three statements of four are supported",
                record: r#"{"query": "Tell me of refunds.", "messages": [{"role": "system", "content": "Refunds take 5 days, are free and go to the card."}], "output": "Refunds take 5 days, are free, go to the card and need a form."}"#,
                replies: r#"[{"statements": ["Refunds take 5 days.", "Refunds are free.", "Refunds go to the card.", "Refunds need a form."]},
                    {"verdicts": [{"number": 1, "reasoning": "Said.", "verdict": "supported"},
                        {"number": 2, "reasoning": "Said.", "verdict": "supported"},
                        {"number": 3, "reasoning": "Said.", "verdict": "supported"},
                        {"number": 4, "reasoning": "No form is named.", "verdict": "not_found"}]}]"#,
                expect: r#"{"verdict": "partial", "score": 0.75}"#,
                ..Example::PLAIN
            },
            Example {
                title: "nothing of it is",
                record: r#"{"contexts": ["Refunds take 5 days."], "output": "Refunds take 20 days."}"#,
                replies: r#"[{"statements": ["Refunds take 20 days."]},
                    {"verdicts": [{"number": 1, "reasoning": "5 days, not 20.", "verdict": "contradicted"}]}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a record without a response is an error",
                record: r#"{"contexts": ["Refunds take 5 days."]}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        locals: &[NLI, LOCAL],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if cx.local.is_some_and(|local| local.method == NLI.method) {
            return Ok(Scorer::batched(Entailed));
        }
        if cx.local.is_some() {
            let head =
                grounding::head().map_err(|error| ParamErrors::one("", error.to_string()))?;
            return Ok(Scorer::pure(Grounded(head)));
        }
        Ok(Scorer::judged(ByJudge {
            splitter: Splitter::new()?,
            prompt: prompt(cx, PROMPT, &PLACES, &["context", "statements"])?,
            classes: Labels::new(vec![
                Label::new("supported", &["yes"]),
                Label::new("contradicted", &[]),
                Label::new("not_found", &["not found", "no"]),
            ]),
        }))
    }
}

struct ByJudge {
    splitter: Splitter,
    prompt: Prompt,
    classes: Labels,
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let output = shown(row, Field::Output, cx)?;
        if output.trim().is_empty() {
            return Ok(Outcome::inconclusive("the response is empty"));
        }
        let sources = seen::grounding(row);
        if sources.is_empty() {
            return Ok(Outcome::inconclusive(
                "there is no system message, tool turn or context to hold the response against",
            ));
        }
        let query = query_if_any(row);
        let statements = self.splitter.split(query, &output, cx).await?;
        if statements.is_empty() {
            return Ok(Outcome::inconclusive("the response states nothing"));
        }
        let items = self.check(row, sources, &statements, cx).await?;
        Ok(self.outcome(&statements, items, cx))
    }

    /// One class a statement.
    async fn check(
        &self,
        row: &Row<'_>,
        sources: Vec<Cow<'_, str>>,
        statements: &[String],
        cx: &JudgeContext<'_>,
    ) -> Result<Vec<Item>, Failure> {
        let ask = Ask {
            name: "faithfulness",
            prompt: &self.prompt,
            fill: &[
                ("context", Fill::items(sources)),
                ("query", query_if_any(row)),
                (
                    "statements",
                    Fill::items(statements.iter().map(String::as_str)),
                ),
            ],
            order: Order::default(),
        };
        cx.items(&ask, statements.len(), &self.classes).await
    }

    fn outcome(&self, statements: &[String], items: Vec<Item>, cx: &JudgeContext<'_>) -> Outcome {
        let total = items.len();
        let count = |class| items.iter().filter(|item| item.label == class).count();
        let (supported, contradicted) = (count(SUPPORTED), count(CONTRADICTED));
        let natural = match supported {
            0 => Verdict::Fail,
            all if all == total => Verdict::Pass,
            _ => Verdict::Partial,
        };
        let share = |part: usize| part as f64 / total.max(1) as f64;
        let by = cx.judge_name().unwrap_or("judge");
        let mut evidence: Vec<Evidence> = statements
            .iter()
            .zip(items)
            .map(|(text, item)| self.statement(text, item, by))
            .collect();
        evidence.push(
            Evidence::new("shares")
                .set("supported", share(supported))
                .set("not_contradicted", share(total - contradicted)),
        );
        let cell = Cell::Scored {
            score: Score::new(share(supported)),
            natural: Some(natural),
            flags: 0,
        };
        let reason =
            format!("{supported} of {total} statements are supported, {contradicted} contradicted");
        Outcome::new(
            cell,
            Explanation {
                evidence,
                ..Explanation::reason(reason)
            },
        )
    }

    fn statement(&self, text: &str, item: Item, by: &str) -> Evidence {
        Evidence::new("statement")
            .set("text", text)
            .set("class", self.classes.name(item.label))
            .set("by", by)
            .set("reason", item.reason)
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

    #[test]
    fn sources_and_statements_are_numbered_and_the_users_words_are_no_source() {
        let record = r#"{"messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U?"},
            {"role": "assistant", "content": "A"}, {"role": "tool", "content": {"b": 1, "a": 2}}],
            "contexts": ["C"], "output": "O"}"#;
        let replies = r#"[{"statements": ["One.", "Two."]}, {"verdicts": [
            {"number": 1, "reasoning": "r", "verdict": "supported"}, {"number": 2, "reasoning": "r", "verdict": "supported"}]}]"#;
        let requests = asked::<Faithfulness>("{}", record, replies);
        let [split, check] = &requests[..] else {
            panic!("{requests:?}")
        };
        let (split, check) = (shown_in(split), shown_in(check));
        assert!(
            split.contains("The text:\n<O>\n") && split.contains("\n<U?>\n"),
            "{split}"
        );
        let sources = "The sources:\n1. <S>\n2. <{\"a\":2,\"b\":1}>\n3. <C>\n\n";
        assert!(check.contains(sources), "{check}");
        assert!(
            check.contains("The statements:\n1. <One.>\n2. <Two.>\n"),
            "{check}"
        );
    }
}
