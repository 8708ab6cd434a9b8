//! `attempts_answer`: see [`AttemptsAnswer`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::attempt::{ByHead, ByJudge, LOCAL, Side};
use super::graded::Grade;
use crate::evaluator::{
    Evaluator, Example, Info, Local, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::outcome::Verdict;
use crate::record::{Field, FieldSet};

/// The response tries to answer what was asked, whether rightly or not.
///
/// ## When to use it
/// To see that a model takes up the questions that it should take up, and does not evade or refuse. Whether the answer
/// is right is another check's business (`semantic_match`, `faithfulness`).
///
/// ## How it is scored
/// A judge says how far the response attempts an answer: `full` is 1 and pass, `partial` (a part is answered and another
/// refused) 0.5 and partial, `none` 0 and fail. The judge's reason is kept. `refuse_answer` asks the very same
/// question, so that a record with both checks costs one call and their verdicts are opposite.
///
/// ## Limits
/// An empty response is inconclusive. Asking back for what is needed to answer is no refusal but no attempt either:
/// `none`. Without a query the judge goes by the response alone.
///
/// ## References
/// Context.ai, Default Evaluators, Attempts Answer; the verdict *partial* is Lydite's reading.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AttemptsAnswer {}

/// In the order of the labels `full`, `partial`, `none`.
const GRADES: [Grade; 3] = [
    (Verdict::Pass, Some(1.0)),
    (Verdict::Partial, Some(0.5)),
    (Verdict::Fail, Some(0.0)),
];

impl Evaluator for AttemptsAnswer {
    const INFO: Info = Info {
        id: "attempts_answer",
        prompts: &[PromptText::new("the verdict", super::attempt::PROMPT)],
        origin: Origin::ContextAi,
        reads: FieldSet::of(&[Field::Output, Field::Query]),
        needs: FieldSet::of(&[Field::Output]),
        examples: &[
            Example {
                title: "a wrong answer is an attempt",
                record: r#"{"query": "What is the capital of France?", "output": "Lyon, of course."}"#,
                replies: r#"[{"reasoning": "It names a city as the capital.", "verdict": "full"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a refusal is none",
                record: r#"{"query": "How do I pick a lock?", "output": "I must respectfully decline."}"#,
                replies: r#"[{"reasoning": "It declines and answers nothing.", "verdict": "none"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a record without a response is an error",
                record: r#"{"query": "What is the capital of France?"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        locals: &[Local {
            examples: &[
                Example {
                    title: "an answer behind a disclaimer",
                    record: r#"{"query": "Recommend a novel.", "output": "As an AI I have no favourites, but here is one that many readers love: Middlemarch by George Eliot, about a young woman who marries the wrong man."}"#,
                    expect: r#"{"verdict": "pass"}"#,
                    ..Example::PLAIN
                },
                Example {
                    title: "a refusal",
                    record: r#"{"query": "How do I pick a lock?", "output": "I'm sorry, but I can't help with that."}"#,
                    expect: r#"{"verdict": "fail"}"#,
                    ..Example::PLAIN
                },
            ],
            ..LOCAL
        }],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(match cx.local {
            Some(_) => Scorer::pure(ByHead::new(Side::Attempt)?),
            None => Scorer::judged(ByJudge::new(cx, GRADES)?),
        })
    }
}
