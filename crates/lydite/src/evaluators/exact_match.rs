//! `exact_match`: see [`ExactMatch`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{first_difference, quote};
use crate::evaluator::{
    Direction, Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
    best_reference, text_of,
};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::normalize::{delete_ascii_digits, delete_ascii_punctuation, lowercase_into};

/// The output equals the reference, character by character.
///
/// ## When to use it
/// Labels, codes and other answers with one right spelling. `golden_response` is more lenient.
///
/// ## How it is scored
/// 1 and pass where both are equal, else 0 and fail. If asked, both are lower-cased (not case-folded),
/// and ASCII punctuation or ASCII digits are deleted, before they are compared. Of several references
/// the best counts.
///
/// ## Limits
/// White space counts, and canonically equal texts in other normal forms (NFC, NFD) differ.
///
/// ## References
/// LangChain, ExactMatchStringEvaluator.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExactMatch {
    /// Lower-case both first.
    #[serde(default)]
    ignore_case: bool,
    /// Delete ASCII punctuation first.
    #[serde(default)]
    ignore_punctuation: bool,
    /// Delete ASCII digits first.
    #[serde(default)]
    ignore_numbers: bool,
}

impl Evaluator for ExactMatch {
    const INFO: Info = Info {
        id: "exact_match",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        examples: &[
            Example {
                title: "equal but for case, which is ignored",
                params: "ignore_case: true",
                record: r#"{"output": "Hello", "reference": "hello"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "white space counts",
                params: "{}",
                record: r#"{"output": " a", "reference": "a"}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "without a reference there is nothing to compare with",
                params: "{}",
                record: r#"{"output": "a"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::pure(self))
    }
}

impl ExactMatch {
    fn compare(&self, reference: &str, output: &str, scratch: &mut Scratch) -> Cell {
        if reference == output {
            return Cell::binary(true);
        }
        if !(self.ignore_case || self.ignore_punctuation || self.ignore_numbers) {
            return Cell::binary(false);
        }
        let (mut a, mut b) = (
            std::mem::take(&mut scratch.a),
            std::mem::take(&mut scratch.b),
        );
        let mut spare = String::new();
        self.reduce(reference, &mut a, &mut spare);
        self.reduce(output, &mut b, &mut spare);
        let equal = a == b;
        (scratch.a, scratch.b) = (a, b);
        Cell::binary(equal)
    }

    fn reduce(&self, text: &str, out: &mut String, spare: &mut String) {
        out.clear();
        out.push_str(text);
        let mut step = |asked: bool, reduce: fn(&str, &mut String)| {
            if asked {
                reduce(out, spare);
                std::mem::swap(out, spare);
            }
        };
        step(self.ignore_case, lowercase_into);
        step(self.ignore_punctuation, delete_ascii_punctuation);
        step(self.ignore_numbers, delete_ascii_digits);
    }
}

impl Pure for ExactMatch {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => {
                best_reference(row, Direction::Higher, |reference| {
                    self.compare(reference, output, scratch)
                })
                .0
            }
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, scratch: &mut Scratch) -> Explanation {
        let (Some(score), Ok(output)) = (cell.score(), text_of(row, Field::Output)) else {
            return Explanation::default();
        };
        let (_, best) = best_reference(row, Direction::Higher, |reference| {
            self.compare(reference, output, scratch)
        });
        let reference = row.references().get(best).copied().unwrap_or_default();
        if score == 0.0 && row.references().len() > 1 {
            return Explanation::reason(format!(
                "equals none of {} references, found {}",
                row.references().len(),
                quote(output)
            ));
        }
        if score == 0.0 {
            return Explanation::reason(first_difference(reference, output));
        }
        let explanation = Explanation::reason("equals the reference");
        if row.references().len() > 1 {
            return explanation.with(
                Evidence::new("alternative")
                    .set("index", best)
                    .set("text", reference),
            );
        }
        explanation
    }
}
