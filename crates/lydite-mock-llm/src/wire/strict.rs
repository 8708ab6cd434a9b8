//! What OpenAI's strict mode asks of a schema. Written from documentation.

use serde_json::Value;

/// Why a schema is not taken: its root must be an object without alternatives, and each object must forbid other keys
/// and require all of its own.
pub(super) fn fault(schema: &Value) -> Option<String> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Some("the root has to be of the type 'object'".to_owned());
    }
    if schema.get("anyOf").is_some() {
        return Some("the root can't be an 'anyOf'".to_owned());
    }
    fault_at(schema, "")
}

fn fault_at(schema: &Value, place: &str) -> Option<String> {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Some(format!(
                "'additionalProperties' has to be false at '{place}/'"
            ));
        }
        let required = schema.get("required").and_then(Value::as_array);
        let is_required =
            |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
        if let Some(name) = properties.keys().find(|name| !is_required(name)) {
            return Some(format!("'required' has to name '{name}' at '{place}/'"));
        }
    }
    inner(schema).find_map(|(name, inner)| fault_at(inner, &format!("{place}/{name}")))
}

/// The schemas within a schema, with their keys.
fn inner(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let maps = ["properties", "$defs", "definitions"]
        .into_iter()
        .filter_map(|key| schema.get(key)?.as_object());
    let alternatives = schema
        .get("anyOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    maps.flatten()
        .map(|(name, inner)| (name.as_str(), inner))
        .chain(schema.get("items").map(|items| ("items", items)))
        .chain(alternatives.map(|inner| ("anyOf", inner)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_object_is_closed_and_requires_all() {
        let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        let open = json!({"type": "object", "properties": {"x": {}}, "required": ["x"]});
        let cases = [
            (object(json!({"a": {"type": "string"}}), &["a"]), None),
            (
                object(
                    json!({"a": {"type": "array", "items": object(json!({}), &[])}}),
                    &["a"],
                ),
                None,
            ),
            (json!({"type": "array"}), Some("root")),
            (object(json!({"a": {}, "b": {}}), &["a"]), Some("'b'")),
            (
                open.clone(),
                Some("'additionalProperties' has to be false at '/'"),
            ),
            (
                object(json!({"a": {"items": open}}), &["a"]),
                Some("at '/a/items/'"),
            ),
            (
                object(json!({"a": {"anyOf": [{"type": "null"}, open]}}), &["a"]),
                Some("at '/a/anyOf/'"),
            ),
        ];
        for (schema, expected) in cases {
            let found = fault(&schema);
            assert_eq!(found.is_some(), expected.is_some(), "{schema}: {found:?}");
            assert!(
                found
                    .unwrap_or_default()
                    .contains(expected.unwrap_or_default()),
                "{schema}"
            );
        }
    }
}
