//! `labeled_criteria`: see [`LabeledCriteria`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::criteria::{ByJudge, Wording, scale};
use super::criterion::{Criteria, helpfulness, resolve};
use super::filled::{CRITERIA, OUTPUT, QUERY, REFERENCE};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, PromptText, ScoreScale, Scorer,
};
use crate::record::{Field, FieldSet};

/// Whether the output meets a criterion, such as correctness, judged with the right answer at hand.
///
/// ## When to use it
/// Qualities that depend on a right answer: correctness first of all, or a question of your own such as
/// `{coverage: Does it name every step of the reference?}`. Without a reference take `criteria`.
///
/// ## How it is scored
/// As `criteria`, except that the judge also sees the reference; where the record has several, each is right by
/// itself. All fourteen built-in criteria may be named.
///
/// ## Limits
/// As those of `criteria`. A wrong reference makes wrong verdicts: the judge is told to take it as right.
///
/// ## References
/// LangChain, LabeledCriteriaEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabeledCriteria {
    /// A criterion's name, a list of names, or questions by name.
    #[serde(default = "helpfulness")]
    criteria: Criteria,
}

const ONE: &str = "\
You judge a submission by one criterion, which is a question about it that is answered with yes or no. A reference \
answer is given, which you take as right; where several are numbered, each is right by itself.

The criterion:
{criteria}

The input that the submission answers:
{query}

The reference answer:
{reference}

The submission:
{output}

First reason step by step: what in the submission, held against the reference where the question is about that, speaks \
for yes, and what for no? Then decide. Y means that the answer to the criterion's question is yes, N that it is no. The \
question may be after something good or something bad: answer it as it stands, and let no other quality of the \
submission count. Other words, another order or another language than the reference's are no fault by themselves. An \
empty submission or a refusal is judged like any other, by what it is.";

const EACH: &str = "\
You judge a submission by several numbered criteria. Each is a question about it that is answered with yes or no. A \
reference answer is given, which you take as right; where several are numbered, each is right by itself.

The criteria:
{criteria}

The input that the submission answers:
{query}

The reference answer:
{reference}

The submission:
{output}

Go through the criteria in their order, each by itself: reason step by step what in the submission, held against the \
reference where the question is about that, speaks for yes and what for no, then decide. Y means that the answer to the \
criterion's question is yes, N that it is no. A question may be after something good or something bad: answer it as it \
stands, and let neither the other criteria nor their verdicts count. Other words, another order or another language \
than the reference's are no fault by themselves. An empty submission or a refusal is judged like any other, by what it \
is.";

impl Evaluator for LabeledCriteria {
    const INFO: Info = Info {
        id: "labeled_criteria",
        prompts: &[
            PromptText::new("the verdict on one criterion", ONE),
            PromptText::new("the verdict on each of several criteria", EACH),
        ],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        principal: Some("criteria"),
        examples: &[
            Example {
                title: "right by the reference",
                params: "criteria: correctness",
                record: r#"{"query": "How many apples are there?", "output": "Three.", "reference": "There are 3 apples."}"#,
                replies: r#"[{"reasoning": "Three is the reference's number.", "verdict": "Y"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "wrong by the reference",
                params: "criteria: correctness",
                record: r#"{"query": "How many apples are there?", "output": "There are 4.", "reference": "There are 3 apples."}"#,
                replies: r#"[{"reasoning": "The reference says 3.", "verdict": "N"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "no reference to judge by",
                params: "criteria: correctness",
                record: r#"{"query": "How many apples are there?", "output": "There are 4."}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn scale(&self) -> ScoreScale {
        scale(&Self::INFO, &self.criteria)
    }

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let wording = Wording {
            one: ONE,
            each: EACH,
            places: &[CRITERIA, QUERY, OUTPUT, REFERENCE],
        };
        let criteria = resolve(&self.criteria)?;
        Ok(Scorer::judged(ByJudge::new(criteria, &wording, cx)?))
    }
}
