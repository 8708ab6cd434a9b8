//! `json_schema_validation`: see [`JsonSchemaValidation`].

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
};
use crate::json::{self, JsonError, JsonErrorKind, Schema, SchemaOptions, Violation};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::path::push_segment;
use crate::record::{Content, Field, FieldSet, Row};

/// The output is JSON, and valid against a JSON Schema if one is given.
///
/// ## When to use it
/// The answer will be read by a program that expects a certain shape. `json_schema` takes each record's own
/// schema from its reference.
///
/// ## How it is scored
/// 1 and pass where the whole output is JSON and valid, else 0 and fail; every violation is listed with its
/// instance path and keyword. The draft comes from `$schema` (4, 6, 7, 2019-09 or 2020-12), else it is 2020-12.
/// With `strict: enabled` properties that no applied subschema names fail too, nested objects included, whatever
/// a boolean `additionalProperties` says; `required` holds in both modes. Without a schema only validity counts.
///
/// ## Limits
/// References lead within the schema and to `schemas`, never to the network. Formats are asserted only with
/// `formats: true`. With `extract: true` the JSON may stand in a code fence or in prose; the first value counts.
///
/// ## References
/// Context.ai, Default Evaluators, JSON Schema Validation; JSON Schema drafts 4 to 2020-12; RFC 6901.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonSchemaValidation {
    /// The schema: an object or boolean, or its JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) schema: Option<Value>,
    /// Whether properties that the schema does not name fail.
    #[serde(default)]
    pub(super) strict: Strict,
    /// Documents that `$ref` may name, by URL: a schema, or the path of a file that holds it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) schemas: BTreeMap<String, Value>,
    /// Assert `format` too.
    #[serde(default)]
    pub(super) formats: bool,
    /// Look for the JSON in a code fence or in prose.
    #[serde(default)]
    pub(super) extract: bool,
}

/// Whether properties that the schema does not name fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Strict {
    /// They fail.
    Enabled,
    /// They are allowed.
    #[default]
    Disabled,
}

impl Evaluator for JsonSchemaValidation {
    const INFO: Info = Info {
        id: "json_schema_validation",
        origin: Origin::ContextAi,
        reads: FieldSet::of(&[Field::Output]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("schema"),
        examples: &[
            Example {
                title: "plain validation allows further properties",
                params: "schema: {type: object, properties: {name: {type: string}}, required: [name]}",
                record: r#"{"output": "{\"name\": \"a\", \"x\": 1}"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "strict does not",
                params: "{strict: enabled, schema: {type: object, properties: {name: {type: string}}, required: [name]}}",
                record: r#"{"output": "{\"name\": \"a\", \"x\": 1}"}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a missing output is an error",
                params: "{}",
                record: r#"{"query": "As JSON, please."}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let compiler = Compiler::new(&self, cx.files)?;
        let schema = self
            .schema
            .as_ref()
            .map(|schema| compiler.compile(schema))
            .transpose()?;
        Ok(Scorer::pure(Validation {
            schema,
            extract: self.extract,
        }))
    }
}

/// Compiles schemas under one set of options.
pub(super) struct Compiler {
    documents: BTreeMap<String, Value>,
    options: SchemaOptions,
}

impl Compiler {
    pub(super) fn new(params: &JsonSchemaValidation, files: bool) -> Result<Self, ParamErrors> {
        let documents = params
            .schemas
            .iter()
            .map(|(url, document)| Ok((url.clone(), load(url, document, files)?)))
            .collect::<Result<_, ParamErrors>>()?;
        let options = SchemaOptions {
            strict: params.strict == Strict::Enabled,
            formats: params.formats,
        };
        Ok(Self { documents, options })
    }

    pub(super) fn compile(&self, schema: &Value) -> Result<Schema, ParamErrors> {
        let parsed = match schema {
            Value::String(text) => json::parse(text)
                .map_err(|error| {
                    ParamErrors::one("/schema", format!("the schema is not JSON: {error}"))
                })?
                .to_value(),
            other => other.clone(),
        };
        Schema::compile(&parsed, &self.documents, self.options)
            .map_err(|error| ParamErrors::one("/schema", error.to_string()))
    }
}

fn load(url: &str, document: &Value, files: bool) -> Result<Value, ParamErrors> {
    let Value::String(path) = document else {
        return Ok(document.clone());
    };
    let mut place = "/schemas".to_owned();
    push_segment(&mut place, url);
    if !files {
        return Err(ParamErrors::with_help(
            place,
            "a record can't name files",
            "give the schema itself",
        ));
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        ParamErrors::one(
            &*place,
            format!("can't read the schema file `{path}`: {error}"),
        )
    })?;
    serde_json::from_str(&text)
        .map_err(|error| ParamErrors::one(place, format!("`{path}` is not JSON: {error}")))
}

struct Validation {
    schema: Option<Schema>,
    extract: bool,
}

impl Pure for Validation {
    fn score(&self, row: &Row<'_>, _: &mut Scratch) -> Cell {
        match instance(row, self.extract) {
            Ok(source) => score(source, self.schema.as_ref()),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        match instance(row, self.extract) {
            Ok(source) => explain(source, self.schema.as_ref()),
            Err(_) => Explanation::default(),
        }
    }
}

/// The text that must be JSON.
pub(super) fn instance<'r>(row: &Row<'r>, extract: bool) -> Result<&'r str, Cell> {
    let output = row
        .output()
        .ok_or(Cell::Errored(Code::MissingField(Field::Output)))?;
    let source = output
        .json_source()
        .ok_or(Cell::Errored(Code::NotText(Field::Output)))?;
    if extract && !matches!(output, Content::Json { .. }) {
        return Ok(json::find_in_text(source).unwrap_or(source));
    }
    Ok(source)
}

pub(super) fn score(source: &str, schema: Option<&Schema>) -> Cell {
    let Some(schema) = schema else {
        return Cell::binary(json::is_valid(source).is_ok());
    };
    match json::parse(source) {
        Ok(tree) => Cell::binary(schema.is_valid(&tree)),
        Err(error) if error.kind == JsonErrorKind::TooDeep => {
            Cell::Errored(Code::JsonTooDeep(Field::Output))
        }
        Err(_) => Cell::binary(false),
    }
}

pub(super) fn explain(source: &str, schema: Option<&Schema>) -> Explanation {
    let Some(schema) = schema else {
        return match json::is_valid(source) {
            Ok(()) => Explanation::reason("valid JSON"),
            Err(error) => not_json(&error),
        };
    };
    match json::parse(source) {
        Ok(tree) => explain_violations(&schema.violations(&tree)),
        Err(error) => not_json(&error),
    }
}

fn not_json(error: &JsonError) -> Explanation {
    Explanation::reason(format!("not JSON: {error}")).with(
        Evidence::new("position")
            .set("line", error.line)
            .set("column", error.column),
    )
}

fn explain_violations(violations: &[Violation]) -> Explanation {
    if violations.is_empty() {
        return Explanation::reason("valid against the schema");
    }
    let place = |violation: &Violation| {
        if violation.instance_path.is_empty() {
            "the whole value".to_owned()
        } else {
            violation.instance_path.clone()
        }
    };
    let words: Vec<String> = violations
        .iter()
        .map(|v| format!("{}: {} ({})", place(v), v.message, v.keyword))
        .collect();
    let mut explanation = Explanation::reason(words.join("; "));
    explanation
        .evidence
        .extend(violations.iter().map(|violation| {
            Evidence::new("path")
                .set("path", violation.instance_path.as_str())
                .set("keyword", violation.keyword.as_str())
                .set("message", violation.message.as_str())
        }));
    explanation
}

/// Schemas that records brought, compiled once each; bounded.
#[derive(Debug, Default)]
pub struct SchemaCache(HashMap<usize, HashMap<String, Arc<Result<Schema, String>>>>);

impl SchemaCache {
    const MOST: usize = 256;

    /// The compiled schema of a source text, for the scorer whose address is `owner`.
    pub(super) fn find(&self, owner: usize, source: &str) -> Option<Arc<Result<Schema, String>>> {
        self.0.get(&owner)?.get(source).cloned()
    }

    pub(super) fn keep(
        &mut self,
        owner: usize,
        source: &str,
        schema: Result<Schema, String>,
    ) -> Arc<Result<Schema, String>> {
        let own = self.0.entry(owner).or_default();
        if own.len() >= Self::MOST {
            own.clear();
        }
        let schema = Arc::new(schema);
        own.insert(source.to_owned(), Arc::clone(&schema));
        schema
    }
}
