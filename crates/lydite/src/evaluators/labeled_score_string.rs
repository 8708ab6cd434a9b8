//! `labeled_score_string`: see [`LabeledScoreString`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::criterion::{Criteria, overall};
use super::filled::{CRITERIA, OUTPUT, QUERY, REFERENCE};
use super::score_string::{ByJudge, Wording, scale};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, PromptText, ScoreScale, Scorer,
};
use crate::record::{Field, FieldSet};

/// How good the output is on a scale from 1 to 10, rated with the right answer at hand.
///
/// ## When to use it
/// As `score_string`, where a reference tells what a good answer is. For right or wrong take `qa` or
/// `labeled_criteria`.
///
/// ## How it is scored
/// As `score_string`; the judge also sees the reference. Of several references each is right by itself.
///
/// ## Limits
/// As those of `score_string`.
///
/// ## References
/// LangChain, LabeledScoreStringEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LabeledScoreString {
    /// A criterion's name, a list of names, or questions by name.
    #[serde(default = "overall")]
    criteria: Criteria,
    /// What the rating is divided by: 10 brings it to [0.1, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    normalize_by: Option<f64>,
}

const PROMPT: &str = "\
You rate how good a submission is, on a scale from 1 to 10. A reference answer is given, which you take as right; where \
several are numbered, each is right by itself.

What counts, and nothing else:
{criteria}

The input that the submission answers:
{query}

The reference answer:
{reference}

The submission:
{output}

First reason: go through what counts, and name what is good and what is wrong or missing in the submission, held against \
the reference. Then rate it as a whole with one whole number. 10: nothing could be better. 7 or 8: good, with small \
faults. 5 or 6: usable, with faults that its reader must mend. 3 or 4: more wrong than right. 1: useless, empty, or an \
unfounded refusal. Use the whole scale. Other words, another order or another language than the reference's are no \
fault by themselves. Length, style and confidence count only as far as they are named above.";

impl Evaluator for LabeledScoreString {
    const INFO: Info = Info {
        id: "labeled_score_string",
        prompts: &[PromptText::new("the rating", PROMPT)],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        principal: Some("criteria"),
        range: (Some(1.0), Some(10.0)),
        natural_verdict: false,
        examples: &[
            Example {
                title: "as good as the reference",
                params: "threshold: 8",
                record: r#"{"query": "Boiling point of water?", "output": "100 °C at sea level.", "reference": "100 °C"}"#,
                replies: r#"[{"reasoning": "Right, and it names the condition.", "score": 10}]"#,
                expect: r#"{"verdict": "pass", "score": 10}"#,
            },
            Example {
                title: "worse than the reference",
                params: "{criteria: correctness, threshold: 8}",
                record: r#"{"query": "Boiling point of water?", "output": "90 °C", "reference": "100 °C"}"#,
                replies: r#"[{"reasoning": "Off by ten degrees.", "score": 2}]"#,
                expect: r#"{"verdict": "fail", "score": 2}"#,
            },
            Example {
                title: "no reference",
                params: "{}",
                record: r#"{"query": "Boiling point of water?", "output": "90 °C"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn scale(&self) -> ScoreScale {
        scale(&Self::INFO, self.normalize_by)
    }

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let wording = Wording {
            text: PROMPT,
            places: &[CRITERIA, QUERY, OUTPUT, REFERENCE],
        };
        let by_judge = ByJudge::new(&self.criteria, self.normalize_by, &wording, cx)?;
        Ok(Scorer::judged(by_judge))
    }
}
