//! An evaluator's parameters as a reader wants to know them, from its JSON Schema.

use serde_json::Value;

use super::Entry;

/// One parameter, or one key of a nested one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parameter {
    /// Where it stands: `distance`, or `limits.lower` below `limits`.
    pub(super) name: String,
    /// What may stand there, in words.
    pub(super) kind: String,
    /// What holds where it is left out.
    pub(super) default: String,
    pub(super) text: String,
    /// All values that it may have, where they are few.
    pub(super) choices: Vec<Choice>,
}

/// A value that a parameter may have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) text: String,
    pub(super) is_default: bool,
}

impl Parameter {
    /// Name, kind, default and text, as Markdown.
    pub(super) fn cells(&self) -> [String; 4] {
        [
            format!("`{}`", self.name),
            self.kind.clone(),
            self.default.clone(),
            self.text.clone(),
        ]
    }
}

/// All parameters in the order of the schema, those of nested objects after the object itself; then the
/// reference, where the evaluator reads one.
pub(super) fn parameters(entry: &Entry) -> Vec<Parameter> {
    let schema = Schema {
        root: &entry.schema,
    };
    let mut rows = Vec::new();
    schema.push_properties(&entry.schema, "", &mut rows);
    if entry.reads_reference() && !rows.iter().any(|row| row.name == "reference") {
        let also = entry
            .info
            .reference_alias
            .map(|alias| format!(" `{alias}` is another name for it."));
        rows.push(Parameter {
            name: "reference".to_owned(),
            kind: "text, JSON or list".to_owned(),
            default: "the record's".to_owned(),
            text: format!(
                "The right answer, in place of the record's.{}",
                also.unwrap_or_default()
            ),
            choices: Vec::new(),
        });
    }
    rows
}

/// How far nested types are followed, since a type may hold itself.
const DEEPEST: usize = 4;

/// A schema with its definitions.
struct Schema<'s> {
    root: &'s Value,
}

impl<'s> Schema<'s> {
    fn push_properties(&self, object: &'s Value, below: &str, rows: &mut Vec<Parameter>) {
        if below.matches('.').count() > DEEPEST {
            return;
        }
        let properties = object.get("properties").and_then(Value::as_object);
        let required = |name: &str| {
            object
                .get("required")
                .and_then(Value::as_array)
                .is_some_and(|names| names.iter().any(|n| n == name))
        };
        for (name, schema) in properties.into_iter().flatten() {
            let name_below = format!("{below}{name}");
            let nested = self.resolve(schema);
            rows.push(self.parameter(name_below.clone(), schema, required(name)));
            self.push_properties(nested, &format!("{name_below}."), rows);
        }
    }

    fn parameter(&self, name: String, schema: &'s Value, required: bool) -> Parameter {
        let default = schema.get("default").filter(|value| !value.is_null());
        let shown = match default {
            Some(value) => code(value),
            None if required => "required".to_owned(),
            None => "none".to_owned(),
        };
        Parameter {
            name,
            kind: self.kind(schema, 0),
            default: shown,
            text: description(schema),
            choices: self.choices(schema, default),
        }
    }

    /// What a schema points at, or itself; of an optional one, what stands there where it is given.
    fn resolve(&self, schema: &'s Value) -> &'s Value {
        let mut schema = schema;
        for _ in 0..2 * DEEPEST {
            let next = match (
                schema.get("$ref").and_then(Value::as_str),
                variants(schema).as_slice(),
            ) {
                (Some(target), _) => self.root.pointer(target.trim_start_matches('#')),
                (None, [only]) => Some(*only),
                (None, _) => None,
            };
            match next {
                Some(next) => schema = next,
                None => break,
            }
        }
        schema
    }

    fn choices(&self, schema: &'s Value, default: Option<&Value>) -> Vec<Choice> {
        let all = variants(self.resolve(schema));
        if all.iter().any(|variant| variant.get("const").is_none()) {
            return Vec::new();
        }
        all.into_iter()
            .filter_map(|variant| {
                let value = variant.get("const")?;
                Some(Choice {
                    value: code(value),
                    text: description(variant),
                    is_default: default == Some(value),
                })
            })
            .collect()
    }

    /// A schema's type in words.
    fn kind(&self, schema: &'s Value, depth: usize) -> String {
        if depth > DEEPEST {
            return "JSON".to_owned();
        }
        let schema = self.resolve(schema);
        if let Some(value) = schema.get("const") {
            return code(value);
        }
        if let Some(values) = schema.get("enum").and_then(Value::as_array) {
            return one_of(values.iter().map(code));
        }
        let variants = variants(schema);
        if !variants.is_empty() {
            return one_of(
                variants
                    .into_iter()
                    .map(|variant| self.kind(variant, depth + 1)),
            );
        }
        match schema.get("type") {
            Some(Value::String(kind)) => self.word(kind, schema, depth),
            Some(Value::Array(kinds)) => {
                let kinds = kinds
                    .iter()
                    .filter_map(Value::as_str)
                    .filter(|kind| *kind != "null");
                one_of(kinds.map(|kind| self.word(kind, schema, depth)))
            }
            _ => "any JSON".to_owned(),
        }
    }

    fn word(&self, kind: &str, schema: &'s Value, depth: usize) -> String {
        match kind {
            "string" => "text".to_owned(),
            "boolean" => "true or false".to_owned(),
            "integer" => format!("whole number{}", bounds(schema)),
            "number" => format!("number{}", bounds(schema)),
            "array" => match schema.get("items") {
                Some(items) => format!("list of {}", plural(&self.kind(items, depth + 1))),
                None => "list".to_owned(),
            },
            "object" => "mapping".to_owned(),
            other => other.to_owned(),
        }
    }
}

/// The alternatives of a schema, null apart.
fn variants(schema: &Value) -> Vec<&Value> {
    let lists = ["oneOf", "anyOf", "allOf"]
        .into_iter()
        .filter_map(|key| schema.get(key)?.as_array());
    lists
        .flatten()
        .filter(|variant| variant.get("type").is_none_or(|kind| kind != "null"))
        .collect()
}

fn bounds(schema: &Value) -> String {
    let bound = |key: &str| {
        schema
            .get(key)
            .filter(|bound| !(key == "maximum" && bound.as_f64() > Some(1e9)))
    };
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(" from {least} up"),
        (None, Some(most)) => format!(" up to {most}"),
        (None, None) => String::new(),
    }
}

/// A value as it stands in a suite.
fn code(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    }
}

fn plural(kind: &str) -> String {
    match kind {
        "text" | "number" | "whole number" | "mapping" | "list" => format!("{kind}s"),
        other => other.to_owned(),
    }
}

/// `a`, `a or b`, `a, b or c`.
fn one_of(words: impl Iterator<Item = String>) -> String {
    let words: Vec<String> = words.collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

fn description(schema: &Value) -> String {
    let text = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    text.replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn rows(schema: &Value) -> Vec<[String; 3]> {
        let mut rows = Vec::new();
        Schema { root: schema }.push_properties(schema, "", &mut rows);
        rows.into_iter()
            .map(|row| [row.name, row.kind, row.default])
            .collect()
    }

    #[test]
    fn kinds_and_defaults_in_words() {
        let cases = [
            (json!({"type": "string"}), "text", "required"),
            (
                json!({"type": ["string", "null"], "default": null}),
                "text",
                "required",
            ),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "list of texts",
                "required",
            ),
            (
                json!({"type": "integer", "minimum": 0, "maximum": 4_294_967_295_u32, "default": 3}),
                "whole number from 0 up",
                "`3`",
            ),
            (
                json!({"type": "number", "minimum": 0.0, "maximum": 1.0}),
                "number from 0.0 to 1.0",
                "required",
            ),
            (json!({"enum": ["a", 1]}), "`a` or `1`", "required"),
            (
                json!({"anyOf": [{"$ref": "#/$defs/Mode"}, {"type": "null"}], "default": "full"}),
                "`search` or `full`",
                "`full`",
            ),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "boolean"}]}),
                "whole number, text or true or false",
                "required",
            ),
            (json!({"description": "anything"}), "any JSON", "required"),
        ];
        for (schema, kind, default) in cases {
            let root = json!({
                "properties": {"x": schema},
                "required": ["x"],
                "$defs": {"Mode": {"oneOf": [{"const": "search", "description": "Any part."}, {"const": "full"}]}},
            });
            assert_eq!(rows(&root), [["x", kind, default]], "{root}");
        }
    }

    #[test]
    fn nested_objects_are_rows_below_their_own() {
        let root = json!({
            "properties": {"limits": {"$ref": "#/$defs/Limits"}},
            "$defs": {"Limits": {"type": "object", "properties": {"low": {"type": "number"}, "high": {"type": "number"}}, "required": ["low"]}},
        });
        let expected = [
            ["limits", "mapping", "none"],
            ["limits.low", "number", "required"],
            ["limits.high", "number", "none"],
        ];
        assert_eq!(rows(&root), expected);
    }

    #[test]
    fn a_type_that_holds_itself_ends() {
        let at_itself = json!({"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"$ref": "#/$defs/X"}}});
        assert_eq!(rows(&at_itself), [["x", "any JSON", "none"]]);
        let list = json!({"properties": {"x": {"$ref": "#/$defs/X"}}, "$defs": {"X": {"type": "array", "items": {"$ref": "#/$defs/X"}}}});
        assert!(rows(&list)[0][1].ends_with("list of JSON"));
        let tree = json!({"properties": {"x": {"$ref": "#"}}});
        assert!(rows(&tree).len() < 10);
    }

    #[test]
    fn choices_know_the_default() {
        let root = json!({"oneOf": [{"const": "a", "description": "One."}, {"const": "b"}]});
        let choices = Schema { root: &root }.choices(&root, Some(&json!("b")));
        let shown: Vec<_> = choices
            .iter()
            .map(|choice| {
                (
                    choice.value.as_str(),
                    choice.text.as_str(),
                    choice.is_default,
                )
            })
            .collect();
        assert_eq!(shown, [("`a`", "One.", false), ("`b`", "", true)]);
    }
}
