//! JSON Schema, drafts 4, 6, 7, 2019-09 and 2020-12, over the borrowed tree, with a strict mode in
//! which properties that no schema names are violations.

mod close;
mod instance;
mod strict;

use std::collections::BTreeMap;
use std::sync::Arc;

use jsonschema::{Draft, ReferencingError, Registry, Retrieve, Uri, ValidationError};
use serde_json::Value;

use super::Json;
use crate::path::push_segment;
use instance::Borrowed;

type Validator = jsonschema::Validator<Borrowed>;

/// What a schema leaves to choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SchemaOptions {
    /// Properties that no schema names are violations: see [`Schema`].
    pub strict: bool,
    /// `format` is asserted; otherwise it only annotates, in all drafts.
    pub formats: bool,
}

/// A schema compiled once, for any number of instances and threads.
///
/// Whole numbers of 64 bits are compared exactly, however either side writes them; against a
/// fraction in the schema, which `serde_json` holds as `f64`, an instance's counts as its nearest.
///
/// # Strict mode
/// Beside plain validation, every object of the instance is judged once. Its schemas are those that
/// reach it: through `properties`, `items` and the like of the schemas of its parent, and from there
/// in place through `allOf`, `anyOf`, `oneOf`, `if`/`then`/`else`, `$ref` and its dynamic kin,
/// `dependentSchemas` and `dependencies` (an `if` with neither `then` nor `else` applies nothing). As for `unevaluatedProperties`, a branch of `anyOf` or
/// `oneOf`, an `if` or the match of a `contains` counts only if it holds (where no branch does, the
/// instance fails anyway, and all count, so that the report does not call their properties extra).
/// A property is extra that no `properties`, `patternProperties`, or schema-valued
/// `additionalProperties` or `unevaluatedProperties` among them covers. `true` and `false` for the
/// latter two cover nothing; nothing is asked under `not` and `propertyNames`; an object none of
/// whose schemas names a property (in a non-empty `properties` or `patternProperties`) is left
/// alone, and so is what is inside an extra property.
#[derive(Debug)]
pub struct Schema {
    plain: Validator,
    strict: Option<Strict>,
}

#[derive(Debug)]
struct Strict {
    /// Where the schema is simple enough to be closed beforehand: one that refuses extra
    /// properties by itself.
    closed: Option<Validator>,
    schemas: Schemas,
}

/// The schema with all it refers to, where strict mode looks things up.
#[derive(Debug, Clone)]
struct Schemas {
    registry: Registry<'static>,
    base: Uri<String>,
}

/// The documents a schema may refer to, by URL; there is no other place to fetch from.
#[derive(Debug, Clone)]
struct Documents(Arc<BTreeMap<String, Value>>);

/// One way in which an instance is not as its schema says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Violation {
    /// JSON Pointer into the instance; `""` is all of it.
    pub instance_path: String,
    /// The keyword that is not satisfied; `strict` for an extra property of strict mode.
    pub keyword: String,
    /// JSON Pointer into the schema, or the URL and pointer of another document.
    pub schema_path: String,
    pub message: String,
}

/// Why a schema cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the schema cannot be used at `{pointer}`: {message}")]
pub struct SchemaError {
    /// JSON Pointer into the schema; `""` is all of it.
    pub pointer: String,
    pub message: String,
}

impl Schema {
    /// Compiles a schema by the draft its `$schema` names, else 2020-12. References may go within
    /// it and to `documents`, by their URLs; `$schema` may also name one of those.
    ///
    /// # Errors
    /// A schema that its draft's meta-schema refuses, a reference to nowhere, an unknown `$schema`.
    pub fn compile(
        schema: &Value,
        documents: &BTreeMap<String, Value>,
        options: SchemaOptions,
    ) -> Result<Self, SchemaError> {
        let documents = Documents(Arc::new(documents.clone()));
        let is_draft = check_dialect(schema, &documents)?;
        let refused = |error: &ValidationError<'_>| SchemaError::new(schema, error);
        let plain = build(schema, &documents, options.formats).map_err(|error| refused(&error))?;
        let strict = if options.strict {
            let closed = is_draft
                .then(|| close::closed(schema, plain.draft()))
                .flatten();
            let closed = closed.and_then(|closed| build(&closed, &documents, options.formats).ok());
            let schemas =
                Schemas::new(schema, documents).map_err(|error| refused(&error.into()))?;
            Some(Strict { closed, schemas })
        } else {
            None
        };
        Ok(Self { plain, strict })
    }

    /// Whether an instance is as the schema says.
    pub fn is_valid(&self, instance: &Json<'_>) -> bool {
        match &self.strict {
            None => self.plain.is_valid(instance),
            Some(Strict {
                closed: Some(closed),
                ..
            }) => closed.is_valid(instance),
            Some(Strict { schemas, .. }) => {
                self.plain.is_valid(instance)
                    && strict::extra_properties(&self.plain, schemas, instance).is_empty()
            }
        }
    }

    /// Everything in which an instance is not as the schema says; none where it is valid.
    pub fn violations(&self, instance: &Json<'_>) -> Vec<Violation> {
        let mut violations: Vec<_> = self
            .plain
            .iter_errors(instance)
            .map(Violation::from)
            .collect();
        if let Some(Strict { schemas, .. }) = &self.strict {
            let extra = strict::extra_properties(&self.plain, schemas, instance);
            violations.extend(extra.into_iter().map(Violation::extra));
        }
        violations
    }
}

/// True where `$schema` names a draft, false where it names one of the documents.
fn check_dialect(schema: &Value, documents: &Documents) -> Result<bool, SchemaError> {
    let error = |message| SchemaError {
        pointer: "/$schema".to_owned(),
        message,
    };
    match schema.get("$schema") {
        None => Ok(true),
        Some(Value::String(uri)) if Draft::from_schema_uri(uri) != Draft::Unknown => Ok(true),
        Some(Value::String(uri)) if documents.get(uri).is_some() => Ok(false),
        Some(Value::String(uri)) => Err(error(format!(
            "the dialect {uri} is not known: use draft 4, 6, 7, 2019-09 or 2020-12, or give its meta-schema under schemas"
        ))),
        Some(other) => Err(error(format!("{other} is not a URI"))),
    }
}

fn build(
    schema: &Value,
    documents: &Documents,
    formats: bool,
) -> Result<Validator, ValidationError<'static>> {
    jsonschema::options_for::<Borrowed>()
        .with_retriever(documents.clone())
        .should_validate_formats(formats)
        .should_ignore_unknown_formats(true)
        .build(schema)
}

impl Schemas {
    fn new(schema: &Value, documents: Documents) -> Result<Self, ReferencingError> {
        let id = schema.get("$id").or_else(|| schema.get("id"));
        let base = jsonschema::uri::from_str(id.and_then(Value::as_str).unwrap_or(""))?;
        let registry = Registry::new()
            .retriever(documents)
            .add(base.as_str(), schema.clone())?
            .prepare()?;
        Ok(Self { registry, base })
    }

    /// Calls `f` with what stands at a location such as `/properties` or
    /// `https://example.com/a#/properties`, if it can be found.
    fn at<T>(&self, location: &str, f: impl FnOnce(&Value) -> T) -> Option<T> {
        let resolver = self.registry.resolver(self.base.clone());
        let found = match location.strip_prefix('/') {
            Some(_) => resolver.lookup(&format!("#{location}")),
            None => resolver.lookup(location),
        };
        found.ok().map(|found| f(found.contents()))
    }
}

impl Documents {
    /// Documents may be named without a base where the schema has none either.
    fn get(&self, uri: &str) -> Option<&Value> {
        let uri = uri.trim_end_matches('#');
        let bare = uri.strip_prefix("json-schema:///");
        self.0.get(uri).or_else(|| self.0.get(bare?))
    }
}

impl Retrieve for Documents {
    fn retrieve(
        &self,
        uri: &Uri<String>,
    ) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        let missing =
            || "it is not among the documents given under schemas, and nothing is fetched".into();
        self.get(uri.as_str()).cloned().ok_or_else(missing)
    }
}

impl SchemaError {
    fn new(schema: &Value, error: &ValidationError<'_>) -> Self {
        use jsonschema::error::ValidationErrorKind;
        if let ValidationErrorKind::Referencing(error) = error.kind() {
            return Self::reference(schema, error);
        }
        Self {
            pointer: error.instance_path().to_string(),
            message: shorten(&error.to_string()),
        }
    }

    /// The pointer is that of the first reference that reads like the one that failed.
    fn reference(schema: &Value, error: &ReferencingError) -> Self {
        let target = match error {
            ReferencingError::Unretrievable { uri, .. } => uri,
            ReferencingError::PointerToNowhere { pointer } => pointer,
            ReferencingError::NoSuchAnchor { anchor } => anchor,
            _ => "",
        };
        let mut pointer = String::new();
        let found = !target.is_empty() && find_reference(schema, target, &mut pointer);
        Self {
            pointer: if found { pointer } else { String::new() },
            message: error.to_string(),
        }
    }
}

/// Leaves `pointer` at the first reference that ends in `target`, or that `target` ends in.
fn find_reference(schema: &Value, target: &str, pointer: &mut String) -> bool {
    let length = pointer.len();
    let mut step = |key: &str, value: &Value| {
        push_segment(pointer, key);
        let reference = value
            .as_str()
            .filter(|_| key.ends_with("ref") || key.ends_with("Ref"));
        let alike = |reference: &str| {
            let (uri, _) = reference.split_once('#').unwrap_or((reference, ""));
            reference.ends_with(target) || (!uri.is_empty() && target.ends_with(uri))
        };
        let found = reference.is_some_and(alike) || find_reference(value, target, pointer);
        if !found {
            pointer.truncate(length);
        }
        found
    };
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| step(key, value)),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .any(|(at, value)| step(&at.to_string(), value)),
        _ => false,
    }
}

impl From<ValidationError<'_>> for Violation {
    fn from(error: ValidationError<'_>) -> Self {
        Self {
            instance_path: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
            schema_path: error.schema_path().to_string(),
            message: shorten(&error.to_string()),
        }
    }
}

impl Violation {
    fn extra(instance_path: String) -> Self {
        Self {
            instance_path,
            keyword: "strict".to_owned(),
            schema_path: String::new(),
            message: "no schema names this property".to_owned(),
        }
    }
}

/// Messages quote the instance, which may be long: the middle of them is left out.
fn shorten(message: &str) -> String {
    const ENDS: usize = 120;
    let count = message.chars().count();
    if count <= 2 * ENDS + 1 {
        return message.to_owned();
    }
    let head = message.chars().take(ENDS);
    let tail = message.chars().skip(count - ENDS);
    head.chain(['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests;
