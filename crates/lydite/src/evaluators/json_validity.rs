//! `json_validity`: see [`JsonValidity`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
};
use crate::json;
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Content, Field, FieldSet, Row};

/// The output is valid JSON.
///
/// ## When to use it
/// The answer will be parsed by a program. To check its shape too take `json_schema_validation`.
///
/// ## How it is scored
/// 1 and pass where the output is one JSON text by RFC 8259, else 0 and fail with line and column. A Markdown
/// code fence around the whole is stripped first. Scalars are JSON too; NaN, comments and trailing commas are
/// not. An output that came as JSON is valid.
///
/// ## Limits
/// Prose before or after the JSON makes it invalid.
///
/// ## References
/// LangChain, JsonValidityEvaluator; RFC 8259.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonValidity {}

impl Evaluator for JsonValidity {
    const INFO: Info = Info {
        id: "json_validity",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Output]),
        needs: FieldSet::of(&[Field::Output]),
        examples: &[
            Example {
                title: "a fence around the whole is no harm",
                params: "{}",
                record: r#"{"output": "```json\n{\"a\": 1}\n```"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a trailing comma is not JSON",
                params: "{}",
                record: r#"{"output": "{\"a\": 1,}"}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a missing output is an error",
                params: "{}",
                record: r#"{"query": "List them as JSON."}"#,
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

impl Pure for JsonValidity {
    fn score(&self, row: &Row<'_>, _: &mut Scratch) -> Cell {
        match row.output() {
            None => Cell::Errored(Code::MissingField(Field::Output)),
            Some(Content::Json { .. }) => Cell::binary(true),
            Some(
                Content::Text(text)
                | Content::Parts {
                    text: Some(text), ..
                },
            ) => Cell::binary(json::is_valid(json::strip_fence(text)).is_ok()),
            Some(Content::Parts { text: None, .. }) => Cell::Errored(Code::NotText(Field::Output)),
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        match row.output() {
            Some(Content::Json { .. }) => Explanation::reason("the record holds it as JSON"),
            Some(
                Content::Text(text)
                | Content::Parts {
                    text: Some(text), ..
                },
            ) => match json::is_valid(json::strip_fence(text)) {
                Ok(()) => Explanation::reason("valid JSON"),
                Err(error) => Explanation::reason(format!("not JSON: {error}")).with(
                    Evidence::new("position")
                        .set("line", error.line)
                        .set("column", error.column),
                ),
            },
            Some(Content::Parts { text: None, .. }) | None => Explanation::default(),
        }
    }
}
