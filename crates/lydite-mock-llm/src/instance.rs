//! An instance of a JSON Schema that carries a high or a low verdict.

use serde_json::{Map, Number, Value, json};

/// What a text says in a made reply. The same for both verdicts, so that only the verdict tells them apart.
pub(crate) const TEXT: &str = "The answer was compared with the given text.";

/// Levels and values at which a schema that nests or repeats itself is left alone.
const MAX_DEPTH: u32 = 24;
const MAX_VALUES: u32 = 20_000;

/// An instance of `schema`.
///
/// High: booleans are true, enumerations their first value, numbers their `maximum` (else 1). Low: false, the last
/// value, their `minimum` (else 0). Arrays have `minItems` items (else 1); items that are objects with an integer
/// `number` are numbered from 1. Of alternatives the first that is not null is taken. The types of Gemini's dialect
/// (`"OBJECT"`) are read too.
pub(crate) fn instance(schema: &Value, high: bool) -> Value {
    Maker {
        root: schema,
        high,
        left: MAX_VALUES,
    }
    .value(schema, MAX_DEPTH)
}

struct Maker<'s> {
    root: &'s Value,
    high: bool,
    /// Values that may still be made.
    left: u32,
}

impl<'s> Maker<'s> {
    fn value(&mut self, schema: &'s Value, depth: u32) -> Value {
        if depth == 0 || self.left == 0 {
            return Value::Null;
        }
        self.left -= 1;
        if let Some(target) = self.target(schema) {
            return self.value(target, depth - 1);
        }
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(choices) = array(schema, "enum") {
            return self.choice(choices);
        }
        if let Some(alternative) = alternative(schema) {
            return self.value(alternative, depth - 1);
        }
        match kind(schema).as_str() {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "boolean" => Value::Bool(self.high),
            "integer" => self.number(schema, true),
            "number" => self.number(schema, false),
            "null" => Value::Null,
            _ => Value::String(text(schema)),
        }
    }

    /// What `$ref` points to, within the document.
    fn target(&self, schema: &Value) -> Option<&'s Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    fn choice(&self, choices: &[Value]) -> Value {
        let choice = if self.high {
            choices.first()
        } else {
            choices.iter().rfind(|choice| !choice.is_null())
        };
        choice.cloned().unwrap_or_default()
    }

    fn object(&mut self, schema: &'s Value, depth: u32) -> Value {
        let parts = array(schema, "allOf").unwrap_or_default();
        let mut made = Map::new();
        for part in std::iter::once(schema).chain(parts) {
            let part = self.target(part).unwrap_or(part);
            for (name, property) in part
                .get("properties")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
            {
                made.insert(name.clone(), self.value(property, depth - 1));
            }
        }
        Value::Object(made)
    }

    fn array(&mut self, schema: &'s Value, depth: u32) -> Value {
        let mut made: Vec<Value> = Vec::new();
        for item in array(schema, "prefixItems").unwrap_or_default() {
            made.push(self.value(item, depth - 1));
        }
        let most = count(schema, "maxItems").unwrap_or(u64::MAX);
        let wanted = count(schema, "minItems").unwrap_or(1).min(most);
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            while (made.len() as u64) < wanted && self.left > 0 {
                let mut item = self.value(items, depth - 1);
                give_number(&mut item, made.len() + 1);
                made.push(item);
            }
        }
        Value::Array(made)
    }

    fn number(&self, schema: &Value, whole: bool) -> Value {
        let (inner, outer, otherwise, step) = if self.high {
            ("maximum", "exclusiveMaximum", 1, -1.0)
        } else {
            ("minimum", "exclusiveMinimum", 0, 1.0)
        };
        let step = if whole { step } else { step * 0.01 };
        if let Some(bound) = schema.get(inner).and_then(Value::as_f64) {
            return number(bound);
        }
        match schema.get(outer).and_then(Value::as_f64) {
            Some(bound) => number(bound + step),
            None => number(fitting(schema, f64::from(otherwise))),
        }
    }
}

/// Numbers an item that asks for it.
fn give_number(item: &mut Value, number: usize) {
    if let Some(place) = item
        .get_mut("number")
        .filter(|place| place.is_i64() || place.is_u64())
    {
        *place = json!(number);
    }
}

/// A number that the schema's other bound allows too.
fn fitting(schema: &Value, wanted: f64) -> f64 {
    let bound = |key| schema.get(key).and_then(Value::as_f64);
    let at_least = bound("minimum").map_or(wanted, |low| wanted.max(low));
    bound("maximum").map_or(at_least, |high| at_least.min(high))
}

/// Whole numbers are written without a fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return json!(value as i64);
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// The first of the alternatives that is not null, or the only part of an `allOf` without properties beside it.
fn alternative(schema: &Value) -> Option<&Value> {
    let is_null = |schema: &Value| kind(schema) == "null";
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = array(schema, key) {
            return choices
                .iter()
                .find(|choice| !is_null(choice))
                .or(choices.first());
        }
    }
    match array(schema, "allOf") {
        Some([only]) if schema.get("properties").is_none() => Some(only),
        _ => None,
    }
}

/// The type's name in lower case; of several the first that is not null.
fn kind(schema: &Value) -> String {
    let name = match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null")
            .unwrap_or("null"),
        _ if schema.get("properties").is_some() || schema.get("allOf").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    };
    name.to_ascii_lowercase()
}

/// A short text within `minLength` and `maxLength`, which count characters.
fn text(schema: &Value) -> String {
    let least = count(schema, "minLength").unwrap_or(0).min(100_000) as usize;
    let most = count(schema, "maxLength").map_or(usize::MAX, |most| most as usize);
    let length = least.max(TEXT.len()).min(most);
    let with_space = TEXT.chars().chain([' ']);
    with_space.cycle().take(length).collect()
}

/// Gemini writes counts as texts.
fn count(schema: &Value, key: &str) -> Option<u64> {
    let value = schema.get(key)?;
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn array<'s>(schema: &'s Value, key: &str) -> Option<&'s [Value]> {
    schema.get(key)?.as_array().map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn verdicts_are_high_or_low() {
        let cases = [
            (json!({"type": "boolean"}), json!(true), json!(false)),
            (json!({"enum": ["a", "b", "c"]}), json!("a"), json!("c")),
            (
                json!({"type": ["string", "null"], "enum": ["yes", "no", null]}),
                json!("yes"),
                json!("no"),
            ),
            (
                json!({"type": "integer", "minimum": 1, "maximum": 5}),
                json!(5),
                json!(1),
            ),
            (
                json!({"type": "number", "minimum": -0.5, "maximum": 2.5}),
                json!(2.5),
                json!(-0.5),
            ),
            (json!({"type": "number"}), json!(1), json!(0)),
            (json!({"type": "integer", "minimum": 3}), json!(3), json!(3)),
            (
                json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9}),
                json!(8),
                json!(1),
            ),
            (json!({"const": 7}), json!(7), json!(7)),
            (json!({"type": "null"}), json!(null), json!(null)),
            (
                json!({"anyOf": [{"type": "null"}, {"type": "boolean"}]}),
                json!(true),
                json!(false),
            ),
            (
                json!({"$defs": {"v": {"enum": ["pass", "fail"]}}, "properties": {"v": {"$ref": "#/$defs/v"}}}),
                json!({"v": "pass"}),
                json!({"v": "fail"}),
            ),
            (
                json!({"type": "OBJECT", "properties": {"v": {"type": "ARRAY", "minItems": "2", "items": {"type": "BOOLEAN"}}}}),
                json!({"v": [true, true]}),
                json!({"v": [false, false]}),
            ),
        ];
        for (schema, high, low) in cases {
            assert_eq!(instance(&schema, true), high, "{schema}");
            assert_eq!(instance(&schema, false), low, "{schema}");
        }
    }

    #[test]
    fn items_are_numbered() {
        let item = json!({"type": "object", "properties": {"number": {"type": "integer"}, "ok": {"type": "boolean"}}});
        let schema = json!({"type": "array", "minItems": 3, "items": item});
        assert_eq!(
            instance(&schema, true),
            json!([{"number": 1, "ok": true}, {"number": 2, "ok": true}, {"number": 3, "ok": true}])
        );
    }

    #[test]
    fn instances_are_valid() {
        let schemas = [
            json!({"type": "array", "minItems": 4, "maxItems": 6, "items": {"type": "string", "maxLength": 9}}),
            json!({"type": "array", "maxItems": 0, "items": {"type": "string"}}),
            json!({"type": "string", "minLength": 300, "maxLength": 301}),
            json!({"allOf": [{"properties": {"a": {"type": "integer"}}, "required": ["a"]},
                             {"properties": {"b": {"type": "boolean"}}, "required": ["b"]}]}),
            json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "boolean"}], "minItems": 2}),
            json!({"type": "object", "properties": {"x": {"oneOf": [{"type": "number", "exclusiveMaximum": 1}]}}, "required": ["x"]}),
        ];
        for schema in schemas {
            for high in [true, false] {
                let made = instance(&schema, high);
                assert!(jsonschema::is_valid(&schema, &made), "{schema}: {made}");
            }
        }
    }

    #[test]
    fn a_schema_that_repeats_itself_ends() {
        let schemas = [
            json!({"$ref": "#"}),
            json!({"type": "array", "minItems": 1_000_000_000_u64, "items": {"type": "boolean"}}),
            json!({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"$ref": "#"}}}),
            json!({"type": "array", "minItems": 9, "items": {"$ref": "#"}}),
        ];
        for schema in schemas {
            instance(&schema, true);
        }
    }

    proptest! {
        /// Whatever stands in a schema's place, something is made.
        #[test]
        fn nothing_panics(key in "(type|enum|items|\\$ref|minItems|anyOf|minimum|minLength)", value in any::<i64>(), text in ".{0,9}") {
            for inner in [json!(value), json!(text), json!([text]), json!({"type": text})] {
                let outer = json!({ key.clone(): inner });
                instance(&outer, true);
                instance(&json!({"properties": {"x": outer}}), false);
            }
        }
    }
}
