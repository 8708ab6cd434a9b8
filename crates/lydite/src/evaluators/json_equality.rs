//! `json_equality`: see [`JsonEquality`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::json_value::{OutputJson, compare, explain_error, output_json, reference_json};
use super::options::yes;
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
};
use crate::json::{self, Difference, DifferenceKind};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};

/// The output is the same JSON value as the reference.
///
/// ## When to use it
/// Extraction and function arguments with one right value. For partial credit take `json_diff`.
///
/// ## How it is scored
/// 1 and pass where both are equal as JSON, else 0 and fail, with the paths that differ. The order of keys does
/// not count; numbers are compared by value (1 = 1.0), exactly; `true` is not 1. Lists are compared in order,
/// with `ordered: false` in any order, at every level. An output that is not JSON (a truncated one too) scores
/// 0 and fails; a reference that is not JSON is an error.
///
/// ## Limits
/// Keys that come twice and texts nested deeper than 128 levels are not compared.
///
/// ## References
/// LangChain, JsonEqualityEvaluator; RFC 8259, RFC 6901.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonEquality {
    /// Whether the elements of lists must stand in the same order.
    #[serde(default = "yes")]
    ordered: bool,
}

impl Evaluator for JsonEquality {
    const INFO: Info = Info {
        id: "json_equality",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        examples: &[
            Example {
                title: "keys in any order, numbers by value",
                params: "{}",
                record: r#"{"output": "{\"b\": 1.0, \"a\": [1]}", "reference": {"a": [1], "b": 1}}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "true is not 1",
                params: "{}",
                record: r#"{"output": "{\"a\": true}", "reference": {"a": 1}}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
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

impl Pure for JsonEquality {
    fn score(&self, row: &Row<'_>, _: &mut Scratch) -> Cell {
        compare(row, Cell::binary(false), |reference, output| {
            Cell::binary(json::equal(reference, output, self.ordered))
        })
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        if let Some(message) = explain_error(row, cell) {
            return Explanation::reason(message);
        }
        match (cell.score(), reference_json(row), output_json(row)) {
            (Some(score), ..) if score > 0.0 => Explanation::reason("equals the reference as JSON"),
            (Some(_), Ok(reference), OutputJson::Json(output)) => {
                differences(&json::diff(&reference, &output, self.ordered, 5))
            }
            (_, _, OutputJson::Not(error)) => {
                Explanation::reason(format!("the output is not JSON: {error}"))
            }
            _ => Explanation::default(),
        }
    }
}

/// The paths that differ, in words and as evidence.
pub(super) fn differences(found: &[Difference]) -> Explanation {
    let words: Vec<String> = found.iter().map(in_words).collect();
    let mut explanation = Explanation::reason(words.join("; "));
    for difference in found {
        let mut evidence = Evidence::new("path").set("path", difference.path.as_str());
        if let Some(expected) = &difference.expected {
            evidence = evidence.set("expected", expected.as_str());
        }
        if let Some(actual) = &difference.actual {
            evidence = evidence.set("actual", actual.as_str());
        }
        explanation.evidence.push(evidence);
    }
    explanation
}

fn in_words(difference: &Difference) -> String {
    let path = if difference.path.is_empty() {
        "the whole value"
    } else {
        &difference.path
    };
    let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".into());
    match difference.kind {
        DifferenceKind::Missing => format!("{path}: {} is missing", shown(&difference.expected)),
        DifferenceKind::Unexpected => {
            format!("{path}: {} is not expected", shown(&difference.actual))
        }
        DifferenceKind::Type | DifferenceKind::Value => {
            format!(
                "{path}: expected {}, found {}",
                shown(&difference.expected),
                shown(&difference.actual)
            )
        }
    }
}
