//! `json_schema`: see [`JsonSchemaOfReference`].

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json_schema_validation::{
    Compiler, JsonSchemaValidation, Strict, explain, instance, score,
};
use super::json_value::{explain_error, reference_json};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
};
use crate::json::Schema;
use crate::outcome::{Cell, Code, Explanation};
use crate::record::{Field, FieldSet, Row};

/// The output is JSON that is valid against the schema in the record's reference.
///
/// ## When to use it
/// LangChain suites, and data whose records bring a schema each. It is `json_schema_validation` whose schema is the
/// reference where no `schema` is given.
///
/// ## How it is scored
/// As `json_schema_validation`: 1 and pass, or 0 and fail with every violation.
///
/// ## Limits
/// A reference that is no usable schema is an error of that record (`invalid_field`). Compiled schemas are kept
/// for the records to come.
///
/// ## References
/// LangChain, JsonSchemaEvaluator; JSON Schema drafts 4 to 2020-12.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonSchemaOfReference {
    /// The schema, in place of the record's reference: an object or boolean, or its JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Value>,
    /// Whether properties that the schema does not name fail.
    #[serde(default)]
    strict: Strict,
    /// Documents that `$ref` may name, by URL: a schema, or the path of a file that holds it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    schemas: BTreeMap<String, Value>,
    /// Assert `format` too.
    #[serde(default)]
    formats: bool,
    /// Look for the JSON in a code fence or in prose.
    #[serde(default)]
    extract: bool,
}

impl Evaluator for JsonSchemaOfReference {
    const INFO: Info = Info {
        id: "json_schema",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        principal: Some("schema"),
        examples: &[
            Example {
                title: "valid against the record's own schema",
                params: "{}",
                record: r#"{"output": "[1, 2]", "reference": {"type": "array", "items": {"type": "integer"}}}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "not valid",
                params: "{}",
                record: r#"{"output": "[1, \"b\"]", "reference": {"type": "array", "items": {"type": "integer"}}}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a reference that is no schema is an error",
                params: "{}",
                record: r#"{"output": "[1]", "reference": {"type": "arrow"}}"#,
                expect: r#"{"verdict": "inconclusive", "error": "invalid_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn needs(&self) -> FieldSet {
        if self.schema.is_some() {
            FieldSet::of(&[Field::Output])
        } else {
            Self::INFO.needs
        }
    }

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let extract = self.extract;
        let params = JsonSchemaValidation {
            schema: self.schema,
            strict: self.strict,
            schemas: self.schemas,
            formats: self.formats,
            extract,
        };
        if params.schema.is_some() {
            return params.prepare(cx);
        }
        Ok(Scorer::pure(OwnSchema {
            compiler: Compiler::new(&params, cx.files)?,
            extract,
        }))
    }
}

struct OwnSchema {
    compiler: Compiler,
    extract: bool,
}

impl OwnSchema {
    fn schema(
        &self,
        row: &Row<'_>,
        scratch: &mut Scratch,
    ) -> Result<Arc<Result<Schema, String>>, Cell> {
        row.output()
            .ok_or(Cell::Errored(Code::MissingField(Field::Output)))?;
        let reference = row
            .reference()
            .ok_or(Cell::Errored(Code::MissingField(Field::Reference)))?;
        let source = reference
            .json_source()
            .ok_or(Cell::Errored(Code::NotText(Field::Reference)))?;
        let owner = std::ptr::from_ref(self).addr();
        if let Some(known) = scratch.schemas.find(owner, source) {
            return Ok(known);
        }
        let tree = reference_json(row)?;
        let compiled = self
            .compiler
            .compile(&tree.to_value())
            .map_err(|errors| errors.to_string());
        Ok(scratch.schemas.keep(owner, source, compiled))
    }
}

impl Pure for OwnSchema {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        let schema = match self.schema(row, scratch) {
            Ok(schema) => schema,
            Err(cell) => return cell,
        };
        match (&*schema, instance(row, self.extract)) {
            (Ok(schema), Ok(source)) => score(source, Some(schema)),
            (Err(_), _) => Cell::Errored(Code::InvalidField(Field::Reference)),
            (_, Err(cell)) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, scratch: &mut Scratch) -> Explanation {
        if let Some(message) = explain_error(row, cell) {
            return Explanation::reason(message);
        }
        let Ok(schema) = self.schema(row, scratch) else {
            return Explanation::default();
        };
        match (&*schema, instance(row, self.extract)) {
            (Ok(schema), Ok(source)) => explain(source, Some(schema)),
            (Err(message), _) => {
                Explanation::reason(format!("the reference is no usable schema: {message}"))
            }
            (_, Err(_)) => Explanation::default(),
        }
    }
}
