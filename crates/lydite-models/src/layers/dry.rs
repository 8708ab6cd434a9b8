//! What a dry run answers: a value of the schema that was asked for, so that the run goes on as it would.

use serde_json::{Map, Value, json};

/// Tokens that a reply is thought to take.
pub(crate) const REPLY_TOKENS: u64 = 150;

/// Items of a list whose schema gives no number.
const ITEMS: u64 = 3;

/// Schemas nest, and refer to themselves, no deeper than this.
const DEPTH: u32 = 32;

/// A small value that fits the schema: the first of its choices, required members, the least numbers. Items
/// that carry an integer `number` are numbered from 1.
pub(crate) fn instance(schema: &Value) -> Value {
    value(schema, schema, 0)
}

fn value(schema: &Value, root: &Value, depth: u32) -> Value {
    if depth > DEPTH {
        return Value::Null;
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(first) = first(schema.get("enum")) {
        return first.clone();
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|path| root.pointer(path));
        return target.map_or(Value::Null, |target| value(target, root, depth + 1));
    }
    if let Some(choice) = first(schema.get("anyOf")).or_else(|| first(schema.get("oneOf"))) {
        return value(choice, root, depth + 1);
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
        return together(parts, root, depth);
    }
    match type_of(schema) {
        "object" => object(schema, root, depth),
        "array" => array(schema, root, depth),
        "string" => string(schema),
        "integer" => number(schema, true),
        "number" => number(schema, false),
        "boolean" => Value::Bool(false),
        _ => Value::Null,
    }
}

fn first(list: Option<&Value>) -> Option<&Value> {
    list?.as_array()?.first()
}

fn type_of(schema: &Value) -> &str {
    let named = schema.get("type");
    let named = named.and_then(|named| named.as_str().or_else(|| first(Some(named))?.as_str()));
    named.unwrap_or_else(|| {
        if schema.get("properties").is_some() {
            "object"
        } else if schema.get("items").is_some() {
            "array"
        } else {
            "null"
        }
    })
}

fn object(schema: &Value, root: &Value, depth: u32) -> Value {
    let properties = schema.get("properties").and_then(Value::as_object);
    let required = schema.get("required").and_then(Value::as_array);
    let needed = |name: &str| required.is_none_or(|all| all.iter().any(|other| other == name));
    let members = properties.into_iter().flatten();
    let members = members
        .filter(|(name, _)| needed(name))
        .map(|(name, member)| (name.clone(), value(member, root, depth + 1)));
    Value::Object(members.collect())
}

fn array(schema: &Value, root: &Value, depth: u32) -> Value {
    let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
    let count = bound("minItems")
        .unwrap_or(ITEMS)
        .min(bound("maxItems").unwrap_or(u64::MAX));
    let Some(item) = schema.get("items").filter(|items| items.is_object()) else {
        return Value::Array(vec![
            Value::Null;
            usize::try_from(count).unwrap_or_default()
        ]);
    };
    let item = value(item, root, depth + 1);
    // A schema from outside may ask for any number; what a judge lists is short.
    let items = (1..=count.min(10_000)).map(|number| numbered(item.clone(), number));
    Value::Array(items.collect())
}

fn numbered(mut item: Value, number: u64) -> Value {
    if let Some(place) = item.get_mut("number")
        && (place.is_u64() || place.is_i64())
    {
        *place = json!(number);
    }
    item
}

fn string(schema: &Value) -> Value {
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    Value::String("x".repeat(usize::try_from(least.min(10_000)).unwrap_or_default()))
}

fn number(schema: &Value, whole: bool) -> Value {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let above =
        bound("exclusiveMinimum").map(|bound| if whole { bound.floor() } else { bound } + 1.0);
    let below =
        bound("exclusiveMaximum").map(|bound| if whole { bound.ceil() } else { bound } - 1.0);
    let least = above.or(bound("minimum"));
    let most = below.or(bound("maximum"));
    let number = match (least, most) {
        (Some(least), _) => least,
        (None, Some(most)) => most.min(0.0),
        (None, None) => 0.0,
    };
    if whole {
        json!(number.ceil() as i64)
    } else {
        json!(number)
    }
}

/// The members of all parts; for parts that are no objects, the first.
fn together(parts: &[Value], root: &Value, depth: u32) -> Value {
    let values: Vec<Value> = parts
        .iter()
        .map(|part| value(part, root, depth + 1))
        .collect();
    if values.iter().all(Value::is_object) {
        let members = values.into_iter().filter_map(|value| match value {
            Value::Object(members) => Some(members),
            _ => None,
        });
        Value::Object(members.flatten().collect::<Map<_, _>>())
    } else {
        values.into_iter().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lydite::json::{Schema, SchemaOptions, parse};

    use super::*;

    #[test]
    fn instances() {
        let verdicts = json!({
            "type": "object",
            "required": ["items"],
            "properties": {
                "note": {"type": "string"},
                "items": {"type": "array", "items": {"$ref": "#/$defs/item"}},
            },
            "$defs": {"item": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer", "minimum": 1},
                    "verdict": {"enum": ["yes", "no"]},
                },
            }},
        });
        let item = |number: u32| json!({"number": number, "verdict": "yes"});
        let table = [
            (verdicts, json!({"items": [item(1), item(2), item(3)]})),
            (
                json!({"type": "array", "minItems": 1, "items": {"type": "boolean"}}),
                json!([false]),
            ),
            (
                json!({"type": "array", "maxItems": 2, "items": {"type": "null"}}),
                json!([null, null]),
            ),
            (json!({"const": {"a": 1}}), json!({"a": 1})),
            (
                json!({"type": ["integer", "null"], "exclusiveMinimum": 2}),
                json!(3),
            ),
            (json!({"type": "number", "maximum": -1.5}), json!(-1.5)),
            (json!({"type": "string", "minLength": 2}), json!("xx")),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
                json!(""),
            ),
            (
                json!({"allOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"const": 2}}}]}),
                json!({"a": 0, "b": 2}),
            ),
        ];
        for (schema, expected) in table {
            let made = instance(&schema);
            assert_eq!(made, expected, "{schema}");
            let schema =
                Schema::compile(&schema, &BTreeMap::new(), SchemaOptions::default()).unwrap();
            assert!(
                schema.is_valid(&parse(&made.to_string()).unwrap()),
                "{made}"
            );
        }
    }

    #[test]
    fn any_schema_has_an_end() {
        let nested = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
        assert!(instance(&nested).is_object());
        for schema in [
            json!(true),
            json!({"$ref": "#"}),
            json!({"$ref": "http://x"}),
            json!({"allOf": []}),
        ] {
            let _ = instance(&schema);
        }
    }
}
