//! JSON schemas as providers take them, made once a schema.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Schemas that are kept made. A run asks with a handful.
const KEPT: usize = 64;

/// Keywords that OpenAI's strict mode refuses ("Structured outputs", supported schemas).
const NOT_STRICT: [&str; 17] = [
    "$schema",
    "contains",
    "default",
    "maxContains",
    "maxLength",
    "maxProperties",
    "minContains",
    "minLength",
    "minProperties",
    "patternProperties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "not",
    "dependentRequired",
    "dependentSchemas",
];

/// Keywords whose value maps names to schemas.
const MAPS: [&str; 3] = ["properties", "$defs", "definitions"];

/// A schema ready for a request's body.
#[derive(Debug)]
pub(crate) struct Made {
    pub(crate) json: Box<RawValue>,
    /// All objects are closed and all properties required, as strict modes want.
    pub(crate) strict: bool,
    /// Schema modes and tools take objects alone.
    pub(crate) is_object: bool,
}

/// How a provider wants schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// As they are, without `$schema`.
    Plain,
    /// As OpenAI's strict mode takes them; as they are where that would change what they allow.
    Strict,
}

/// Schemas made so far.
#[derive(Debug)]
pub(crate) struct Schemas {
    dialect: Dialect,
    made: Mutex<Vec<(Arc<Value>, Arc<Made>)>>,
}

impl Schemas {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            made: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn get(&self, schema: &Arc<Value>) -> Arc<Made> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = made.iter().find(|(key, _)| Arc::ptr_eq(key, schema)) {
            return Arc::clone(found);
        }
        if made.len() >= KEPT {
            made.clear();
        }
        let new = Arc::new(make(schema, self.dialect));
        made.push((Arc::clone(schema), Arc::clone(&new)));
        new
    }
}

fn make(schema: &Value, dialect: Dialect) -> Made {
    let mut own = schema.clone();
    if let Value::Object(object) = &mut own {
        object.shift_remove("$schema");
    }
    let mut strict = own.clone();
    let can_be_strict = close(&mut strict);
    if can_be_strict && dialect == Dialect::Strict {
        own = strict;
    }
    Made {
        is_object: own.get("type").is_some_and(|kind| kind == "object"),
        json: serde_json::value::to_raw_value(&own).unwrap_or_else(|_| RawValue::NULL.to_owned()),
        strict: can_be_strict,
    }
}

/// Closes all objects, requires all properties, takes unsupported keywords away. False where the
/// schema has objects of free keys or conditions, which strict modes can't have.
fn close(schema: &mut Value) -> bool {
    let Value::Object(object) = schema else {
        return true;
    };
    if ["if", "allOf", "oneOf"]
        .iter()
        .any(|key| object.contains_key(*key))
    {
        return false;
    }
    object.retain(|key, _| !NOT_STRICT.contains(&key.as_str()));
    if object.get("type").is_some_and(|kind| kind == "object") || object.contains_key("properties")
    {
        match object.get("additionalProperties") {
            None | Some(Value::Bool(false)) => {}
            Some(_) => return false,
        }
        if !object.contains_key("properties") {
            return false;
        }
        require_all(object);
    }
    object
        .iter_mut()
        .flat_map(|(key, value)| children(key, value))
        .all(close)
}

fn require_all(object: &mut Map<String, Value>) {
    let names = object.get("properties").and_then(Value::as_object);
    let names = names
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone().into());
    let names: Vec<Value> = names.collect();
    object.insert("required".to_owned(), names.into());
    object.insert("additionalProperties".to_owned(), false.into());
}

/// The schemas below a keyword.
fn children<'v>(key: &str, value: &'v mut Value) -> Vec<&'v mut Value> {
    if key == "items" && value.is_object() {
        return vec![value];
    }
    match value {
        Value::Object(map) if MAPS.contains(&key) => map.values_mut().collect(),
        Value::Array(list) if matches!(key, "anyOf" | "prefixItems") => list.iter_mut().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(schema: &Value, dialect: Dialect) -> (Value, bool) {
        let made = Schemas::new(dialect).get(&Arc::new(schema.clone()));
        (serde_json::from_str(made.json.get()).unwrap(), made.strict)
    }

    #[test]
    fn strict_schemas_are_closed() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "reason": {"type": "string", "minLength": 1},
                "default": {"type": "integer", "minimum": 0},
                "items": {"type": "array", "uniqueItems": true, "items": {"$ref": "#/$defs/item"}},
            },
            "required": ["reason"],
            "$defs": {"item": {"type": "object", "properties": {"n": {"type": ["integer", "null"]}}}},
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "reason": {"type": "string"},
                "default": {"type": "integer", "minimum": 0},
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            },
            "required": ["reason", "default", "items"],
            "$defs": {"item": {
                "type": "object", "properties": {"n": {"type": ["integer", "null"]}},
                "required": ["n"], "additionalProperties": false,
            }},
            "additionalProperties": false,
        });
        assert_eq!(made(&schema, Dialect::Strict), (expected, true));
    }

    #[test]
    fn what_strict_mode_would_change_stays() {
        for schema in [
            json!({"type": "object", "additionalProperties": {"type": "number"}}),
            json!({"type": "object", "properties": {"a": {"type": "object"}}}),
            json!({"allOf": [{"type": "object"}]}),
        ] {
            assert_eq!(made(&schema, Dialect::Strict), (schema.clone(), false));
        }
    }

    #[test]
    fn plain_schemas_lose_their_name_alone() {
        let schema = json!({"$schema": "x", "type": "string", "minLength": 1});
        let expected = json!({"type": "string", "minLength": 1});
        assert_eq!(made(&schema, Dialect::Plain), (expected, true));
    }

    #[test]
    fn a_schema_is_made_once() {
        let schemas = Schemas::new(Dialect::Strict);
        let schema = Arc::new(json!({"type": "object", "properties": {}}));
        assert!(Arc::ptr_eq(&schemas.get(&schema), &schemas.get(&schema)));
    }
}
