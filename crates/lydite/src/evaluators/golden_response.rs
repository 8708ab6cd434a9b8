//! `golden_response`: see [`GoldenResponse`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{Strictness, agnostic, first_difference, normalization, quote};
use crate::evaluator::{
    Direction, Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
    Warning, best_reference, text_of,
};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::normalize::{Normalizer, deleted_number_mark};

/// The output equals the golden response, whatever its case, punctuation and white space.
///
/// ## When to use it
/// Short answers with one right wording: names, labels, numbers as words. For an answer that only
/// has to hold a phrase take `contains`; for one that may be worded freely, a model-graded check.
///
/// ## How it is scored
/// Both texts are brought to NFC, then case-folded, then stripped of punctuation (category P and the
/// ASCII symbols ``$+<=>^`|~``), then of white space, each unless its option says `full`. Equal: 1 and
/// pass; else 0 and fail. Of several references the best counts.
///
/// ## Limits
/// Deleting punctuation makes `-5` equal to `5` and `3.5` to `35`; the result then carries the warning
/// `number_changed`. Set `punctuation: full` for numbers.
///
/// ## References
/// Context.ai, Default Evaluators, Golden Response; the order of steps is Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GoldenResponse {
    /// Whether upper and lower case differ.
    #[serde(default = "agnostic")]
    capitalization: Strictness,
    /// Whether punctuation counts.
    #[serde(default = "agnostic")]
    punctuation: Strictness,
    /// Whether white space counts.
    #[serde(default = "agnostic")]
    whitespace: Strictness,
}

const NUMBER_CHANGED: u16 = 0;
const GOLDEN_EMPTIED: u16 = 1;

impl Evaluator for GoldenResponse {
    const INFO: Info = Info {
        id: "golden_response",
        origin: Origin::ContextAi,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        reference_alias: Some("golden_response"),
        warnings: &[
            Warning {
                code: "number_changed",
                text: "deleting punctuation changed a number, such as -5 to 5; set `punctuation: full`",
            },
            Warning {
                code: "golden_emptied",
                text: "deleting punctuation left nothing of the golden response; set `punctuation: full`",
            },
        ],
        examples: &[
            Example {
                title: "case, punctuation and spaces do not count",
                params: "golden_response: Hello, world",
                record: r#"{"output": "hello world!"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "equality, not containment",
                params: "golden_response: Burj Khalifa",
                record: r#"{"output": "The tallest building is the Burj Khalifa."}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a record without an answer is an error, not a zero",
                params: "golden_response: Burj Khalifa",
                record: r#"{"query": "Which building is the tallest?"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let normalizer = Normalizer::new(normalization(
            self.capitalization,
            self.punctuation,
            self.whitespace,
        ));
        Ok(Scorer::pure(Golden { normalizer }))
    }
}

struct Golden {
    normalizer: Normalizer,
}

impl Golden {
    fn compare(&self, golden: &str, output: &str, scratch: &mut Scratch) -> Cell {
        if !self
            .normalizer
            .eq(golden, output, &mut scratch.a, &mut scratch.b)
        {
            return Cell::binary(false);
        }
        let lossy = self.normalizer.options().drop_punctuation && golden != output;
        Cell::binary(true)
            .warn_if(lossy && deleted_number_mark(golden, output), NUMBER_CHANGED)
            .warn_if(
                lossy && self.normalizer.empties(golden, &mut scratch.a),
                GOLDEN_EMPTIED,
            )
    }
}

impl Pure for Golden {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => {
                best_reference(row, Direction::Higher, |golden| {
                    self.compare(golden, output, scratch)
                })
                .0
            }
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, scratch: &mut Scratch) -> Explanation {
        let Some(score) = cell.score() else {
            return Explanation::default();
        };
        let Ok(output) = text_of(row, Field::Output) else {
            return Explanation::default();
        };
        let (_, best) = best_reference(row, Direction::Higher, |golden| {
            self.compare(golden, output, scratch)
        });
        let golden = row.references().get(best).copied().unwrap_or_default();
        let explanation = if score > 0.0 {
            Explanation::reason("equals the golden response")
        } else if row.references().len() > 1 {
            Explanation::reason(format!(
                "equals none of {} golden responses, found {}",
                row.references().len(),
                quote(output)
            ))
        } else {
            Explanation::reason(first_difference(golden, output))
        };
        if score > 0.0 && row.references().len() > 1 {
            return explanation.with(
                Evidence::new("alternative")
                    .set("index", best)
                    .set("text", golden),
            );
        }
        explanation
    }
}
