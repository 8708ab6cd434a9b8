//! `cot_qa`: see [`CotQa`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filled::{OUTPUT, QUERY};
use super::qa::{ByJudge, Truth};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::Place;
use crate::record::{Field, FieldSet};

/// Whether the output answers the question correctly, by a judge that goes through the right answer step by step.
///
/// ## When to use it
/// As `qa`, where the right answer has several parts or the comparison takes a calculation. It costs more tokens.
///
/// ## How it is scored
/// The judge lists what the reference settles, compares the output with each of it, and grades CORRECT (1, pass) or
/// INCORRECT (0, fail). Of several references each is right by itself.
///
/// ## Limits
/// As those of `qa`.
///
/// ## References
/// LangChain, CotQAEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CotQa {}

const PROMPT: &str = "\
You grade the answer to a question like a teacher, by a right answer that is given. Where several right answers are \
numbered, each is right by itself: take the one that is nearest to the answer.

The question:
{query}

The right answer:
{reference}

The answer to be graded:
{output}

Work step by step, and write every step down. First list the facts of the right answer that the question asks for. Then \
say for each what the answer to be graded has to say of it: the same, something else, or nothing; calculate or convert \
where figures or units differ. Only then decide. Wording, punctuation, length and language do not count, and more than \
the right answer says is fine as long as it contradicts nothing in it. CORRECT means that no fact on the list is missing \
or contradicted. INCORRECT means that one is, that the answer settles on nothing, declines to answer (unless the right \
answer does so too), or is empty.";

/// `{context}` is LangChain's name of the right answer here.
const PLACES: [Place; 3] = [
    QUERY,
    OUTPUT,
    Place {
        name: "reference",
        also: &["context", "answer"],
    },
];

impl Evaluator for CotQa {
    const INFO: Info = Info {
        id: "cot_qa",
        prompts: &[PromptText::new("the grade", PROMPT)],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        examples: &[
            Example {
                title: "another unit, the same length",
                record: r#"{"query": "How long is the bridge?", "output": "2,737 metres", "reference": "2.737 km"}"#,
                replies: r#"[{"reasoning": "1. Length: 2.737 km. 2. The answer: 2,737 m = 2.737 km, the same.", "verdict": "CORRECT"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "the last grade of a plain-text reply counts",
                record: r#"{"query": "How long is the bridge?", "output": "2.7 miles", "reference": "2.737 km"}"#,
                replies: r#"["Grade: Correct... wait GRADE: INCORRECT"]"#,
                expect: r#"{"verdict": "fail", "score": 0, "warnings": ["untyped_reply"]}"#,
                ..Example::PLAIN
            },
            Example {
                title: "nothing to grade by",
                record: r#"{"query": "How long is the bridge?", "output": "2.7 km"}"#,
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
            Truth::Reference,
            cx,
        )?))
    }
}
