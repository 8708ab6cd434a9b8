//! `json_edit_distance`: see [`JsonEditDistance`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::json_value::{OutputJson, compare, explain_error, output_json};
use super::options::rounded;
use crate::evaluator::{
    Direction, Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
};
use crate::json::python_dump;
use crate::outcome::{Cell, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::distance::Distance;

/// How far the output is from the reference as JSON text; 0 is equal.
///
/// ## When to use it
/// To compare with LangChain's figures. `json_diff` says more: it goes by keys and values, not by letters.
///
/// ## How it is scored
/// Both are written with sorted keys, without spaces and with `\uXXXX` escapes, then the Damerau-Levenshtein
/// distance of the two texts is divided by the longer length. Lower is nearer. An output that is not JSON has
/// distance 1; a reference that is not JSON is an error. It only measures, unless a `threshold` is set.
///
/// ## Limits
/// Its time grows with the product of the lengths.
///
/// ## References
/// LangChain, JsonEditDistanceEvaluator.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEditDistance {}

impl Evaluator for JsonEditDistance {
    const INFO: Info = Info {
        id: "json_edit_distance",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        direction: Direction::Lower,
        natural_verdict: false,
        examples: &[
            Example {
                title: "one digit of thirteen characters",
                params: "threshold: 0.1",
                record: r#"{"output": "{\"a\": 1, \"b\": 2}", "reference": {"a": 1, "b": 3}}"#,
                expect: r#"{"verdict": "pass", "score": 0.07692307692307693}"#,
                ..Example::PLAIN
            },
            Example {
                title: "an output that is not JSON is as far away as can be",
                params: "threshold: 0.1",
                record: r#"{"output": "a is 1", "reference": {"a": 1}}"#,
                expect: r#"{"verdict": "fail", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a reference that is not JSON is an error",
                params: "{}",
                record: r#"{"output": "{}", "reference": "{a: 1}"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "not_json"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::pure(self))
    }
}

impl Pure for JsonEditDistance {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        compare(row, Cell::measured(1.0), |reference, output| {
            let Scratch { a, b, distance, .. } = scratch;
            a.clear();
            b.clear();
            python_dump(reference, a);
            python_dump(output, b);
            Cell::measured(Distance::DamerauLevenshtein.normalized(a, b, distance))
        })
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        if let Some(message) = explain_error(row, cell) {
            return Explanation::reason(message);
        }
        match (cell.score(), output_json(row)) {
            (Some(_), OutputJson::Not(error)) => {
                Explanation::reason(format!("the output is not JSON: {error}"))
            }
            (Some(score), _) => {
                let shown = rounded(score);
                Explanation::reason(format!("distance {shown} from the reference as JSON text"))
            }
            _ => Explanation::default(),
        }
    }
}
