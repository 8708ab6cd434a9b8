//! `equals`: see [`Equals`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::json_equality::differences;
use super::json_value::{explain_error, reference_code};
use super::options::{first_difference, quote};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
};
use crate::json::{self, Json, JsonError, JsonErrorKind};
use crate::outcome::{Cell, Code, Explanation};
use crate::record::{Content, Field, FieldSet, Row};

/// The output equals a value, as text or as JSON.
///
/// ## When to use it
/// One value is right and you don't want to think of its type: `value: 1.1` accepts `1.10`, an object accepts
/// its keys in any order. For text with lenient case and punctuation take `golden_response`.
///
/// ## How it is scored
/// A text expectation passes where the output is that text, or where both are JSON and equal as JSON. Any other
/// expectation is compared as JSON (see `json_equality`); an output that is not JSON fails. 1 and pass, or 0 and
/// fail with the first difference.
///
/// ## Limits
/// White space counts in texts. A list is one value, not a list of alternatives. JSON in which a key comes
/// twice equals no value, and JSON nested deeper than 128 levels is an error, unless both are the same text.
///
/// ## References
/// RFC 8259; numbers are compared by value and exactly, so 1 equals 1.0 and 9007199254740993 does not equal
/// 9007199254740992.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Equals {}

impl Evaluator for Equals {
    const INFO: Info = Info {
        id: "equals",
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        principal: Some("value"),
        reference_alias: Some("value"),
        examples: &[
            Example {
                title: "the order of keys does not count",
                params: "value: {a: 1, b: 2}",
                record: r#"{"output": "{\"b\": 2, \"a\": 1.0}"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "text that is not JSON cannot equal an object",
                params: "value: {foo: bar}",
                record: r#"{"output": "hello world"}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a missing output is an error",
                params: "value: yes",
                record: r#"{"query": "Is it?"}"#,
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

/// What is expected, and the output.
fn sides(row: Row<'_>) -> Result<(Content<'_>, Content<'_>), Cell> {
    let output = row
        .output()
        .ok_or(Cell::Errored(Code::MissingField(Field::Output)))?;
    let expected = row
        .reference()
        .ok_or(Cell::Errored(Code::MissingField(Field::Reference)))?;
    Ok((expected, output))
}

fn same_text(expected: Content<'_>, output: Content<'_>) -> bool {
    match (expected, output.text()) {
        (Content::Text(expected), Some(output)) => expected == output,
        (
            Content::Json {
                text: Some(expected),
                ..
            },
            Some(output),
        ) => expected == output && !expected.is_empty(),
        _ => false,
    }
}

/// Both sides as far as they are JSON.
enum Sides<'r> {
    Both(Json<'r>, Json<'r>),
    /// A text is expected that is no JSON.
    Text(&'r str),
    /// The output is no JSON.
    OutputIsNot(JsonError),
}

fn parse<'r>(expected: Content<'r>, output: Content<'r>) -> Result<Sides<'r>, Cell> {
    let not_text = |field| Cell::Errored(Code::NotText(field));
    let expected_source = expected.json_source().ok_or(not_text(Field::Reference))?;
    let output_source = output.json_source().ok_or(not_text(Field::Output))?;
    let tree = match json::parse(expected_source) {
        Ok(tree) => tree,
        Err(error) if expected.is_text() && error.kind != JsonErrorKind::TooDeep => {
            return Ok(Sides::Text(expected_source));
        }
        Err(error) => return Err(Cell::Errored(reference_code(&error))),
    };
    match json::parse(output_source) {
        Ok(output) => Ok(Sides::Both(tree, output)),
        Err(error) if error.kind == JsonErrorKind::TooDeep => {
            Err(Cell::Errored(Code::JsonTooDeep(Field::Output)))
        }
        Err(error) => Ok(Sides::OutputIsNot(error)),
    }
}

impl Pure for Equals {
    fn score(&self, row: &Row<'_>, _: &mut Scratch) -> Cell {
        let (expected, output) = match sides(*row) {
            Ok(sides) => sides,
            Err(cell) => return cell,
        };
        if same_text(expected, output) {
            return Cell::binary(true);
        }
        match parse(expected, output) {
            Ok(Sides::Both(expected, output)) => {
                Cell::binary(json::equal(&expected, &output, true))
            }
            Ok(Sides::Text(_) | Sides::OutputIsNot(_)) => Cell::binary(false),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        if let Some(message) = explain_error(row, cell) {
            return Explanation::reason(message);
        }
        let (Some(score), Ok((expected, output))) = (cell.score(), sides(*row)) else {
            return Explanation::default();
        };
        if score > 0.0 {
            return Explanation::reason("equals the expected value");
        }
        match (parse(expected, output), output.text()) {
            (Ok(Sides::Both(expected, output)), _) => {
                differences(&json::diff(&expected, &output, true, 5))
            }
            (Ok(Sides::Text(expected)), Some(output)) => {
                Explanation::reason(first_difference(expected, output))
            }
            (Ok(Sides::Text(expected)), None) => Explanation::reason(format!(
                "expected the text {}, found an object or a list",
                quote(expected)
            )),
            (Ok(Sides::OutputIsNot(error)), found) => {
                let found =
                    found.map_or_else(String::new, |found| format!(", found {}", quote(found)));
                Explanation::reason(format!(
                    "expected a JSON value{found}, which is not JSON: {error}"
                ))
            }
            (Err(_), _) => Explanation::default(),
        }
    }
}
