//! `context_qa`: see [`ContextQa`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filled::{OUTPUT, QUERY};
use super::qa::{ByJudge, Truth};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::Place;
use crate::record::{Field, FieldSet};

/// Whether the output answers the question correctly, graded by a judge against passages that hold the answer.
///
/// ## When to use it
/// Questions about given passages, such as retrieved ones, for which no right answer is written down. With one, take
/// `qa`. It says whether the question is answered rightly; whether every statement is covered says `faithfulness`.
///
/// ## How it is scored
/// The judge sees the question, the `contexts` (the `reference` where a record has none) and the output, and grades
/// CORRECT (1, pass) or INCORRECT (0, fail) by what the passages say. An empty list of contexts is inconclusive.
///
/// ## Limits
/// Wrong passages make wrong grades: the judge is told to take them as true.
///
/// ## References
/// LangChain, ContextQAEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextQa {}

const PROMPT: &str = "\
You grade the answer to a question like a teacher, by context that is given. Take the context as true, and use no \
knowledge that contradicts it. Where passages are numbered, they belong together.

The question:
{query}

The context:
{contexts}

The answer to be graded:
{output}

Grade by facts alone: wording, punctuation, length and language do not count, and more than the question asks for is fine \
as long as it contradicts nothing in the context. CORRECT means that the answer gives what the question asks for, and \
that it follows from the context; where the context does not hold what the question asks for, an answer that says so is \
correct. INCORRECT means that the answer contradicts the context or can't be drawn from it, leaves out what the question \
asks for, settles on nothing, or is empty. Say in a sentence or two why, with the passage that decides it, then give the \
grade.";

const PLACES: [Place; 3] = [
    QUERY,
    OUTPUT,
    Place {
        name: "contexts",
        also: &["context", "reference"],
    },
];

impl Evaluator for ContextQa {
    const INFO: Info = Info {
        id: "context_qa",
        prompts: &[PromptText::new("the grade", PROMPT)],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[
            Field::Query,
            Field::Output,
            Field::Contexts,
            Field::Reference,
        ]),
        needs: FieldSet::of(&[Field::Query, Field::Output]),
        examples: &[
            Example {
                title: "the answer follows from the passage",
                record: r#"{"query": "Until when can I return shoes?", "output": "For a month.", "contexts": ["Shoes may be returned within 30 days."]}"#,
                replies: r#"[{"reasoning": "30 days are a month.", "verdict": "CORRECT"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "it does not",
                record: r#"{"query": "Until when can I return shoes?", "output": "Never.", "contexts": ["Shoes may be returned within 30 days."]}"#,
                replies: r#"[{"reasoning": "The passage allows 30 days.", "verdict": "INCORRECT"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "neither contexts nor a reference",
                record: r#"{"query": "Until when can I return shoes?", "output": "Never."}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::judged(ByJudge::new(
            PROMPT,
            &PLACES,
            Truth::Contexts,
            cx,
        )?))
    }
}
