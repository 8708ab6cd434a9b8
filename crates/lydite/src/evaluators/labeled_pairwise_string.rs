//! `labeled_pairwise_string`: see [`LabeledPairwiseString`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::criterion::{Criteria, overall};
use super::filled::{CRITERIA, QUERY, REFERENCE};
use super::pairwise_string::{ANSWER_A, ANSWER_B, ByJudge};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::Place;
use crate::record::{Field, FieldSet};

/// Which of two answers is better, judged in both orders with the right answer at hand.
///
/// ## When to use it
/// To compare two models, prompts or trials on questions that have a right answer. Without one take `pairwise_string`.
///
/// ## How it is scored
/// As `pairwise_string`; the judge also sees the reference. Of several references each is right by itself.
///
/// ## Limits
/// As those of `pairwise_string`.
///
/// ## References
/// LangChain, LabeledPairwiseStringEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabeledPairwiseString {
    /// A criterion's name, a list of names, or questions by name.
    #[serde(default = "overall")]
    criteria: Criteria,
}

const PROMPT: &str = "\
You compare two answers to the same input, A and B, and say which one is better. A reference answer is given, which you \
take as right; where several are numbered, each is right by itself.

What counts, and nothing else:
{criteria}

The input:
{query}

The reference answer:
{reference}

Answer A:
{output}

Answer B:
{output_b}

First reason: go through what counts and compare the two answers in it, held against the reference. Then decide. A means \
that A is better as a whole, B that B is, C that neither is: they are equally good or equally bad. Which of them comes \
first, how long they are, how they are formatted, how sure they sound and how much they are worded like the reference \
must not count, unless it is named above. An empty answer or an unfounded refusal is worse than one that is of use.";

const PLACES: [Place; 5] = [CRITERIA, QUERY, ANSWER_A, ANSWER_B, REFERENCE];

impl Evaluator for LabeledPairwiseString {
    const INFO: Info = Info {
        id: "labeled_pairwise_string",
        prompts: &[PromptText::new("the better answer", PROMPT)],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Query, Field::Candidates, Field::Reference]),
        needs: FieldSet::of(&[Field::Query, Field::Candidates, Field::Reference]),
        principal: Some("criteria"),
        examples: &[
            Example {
                title: "the first is right",
                params: "criteria: correctness",
                record: r#"{"query": "Capital of Australia?", "candidates": ["Canberra", "Sydney"], "reference": "Canberra"}"#,
                replies: r#"[{"reasoning": "A agrees with the reference.", "verdict": "A"}, {"reasoning": "B agrees.", "verdict": "B"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "the second is right",
                params: "criteria: correctness",
                record: r#"{"query": "Capital of Australia?", "candidates": ["Sydney", "Canberra"], "reference": "Canberra"}"#,
                replies: r#"["B agrees with the reference. [[B]]", "[[A]]"]"#,
                expect: r#"{"verdict": "fail", "score": 0, "warnings": ["untyped_reply"]}"#,
            },
            Example {
                title: "no second answer",
                params: "{}",
                record: r#"{"query": "Capital of Australia?", "output": "Canberra", "reference": "Canberra"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let by_judge = ByJudge::new(&self.criteria, PROMPT, &PLACES, cx)?;
        Ok(Scorer::judged(by_judge))
    }
}
