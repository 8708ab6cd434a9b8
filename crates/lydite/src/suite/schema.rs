//! The JSON Schema of a suite file (draft 2020-12), for editors.
//!
//! Made from the lists that the reader itself uses and from the registry. It allows a little more
//! than the reader, since a schema can't know which names a gate may use.

use serde_json::{Map, Value, json};

use super::dataset::FORMATS;
use super::keys::{self, Key};
use super::{gate, inputs, models};
use crate::evaluator::{Entry, Registry};
use crate::record::Field;

/// The schema of suites that name evaluators of this registry.
pub fn schema(registry: &Registry) -> Value {
    let mut defs = Map::new();
    defs.insert("dataset".into(), dataset());
    defs.insert("inputs".into(), input_fields());
    add_target(&mut defs);
    defs.insert(
        "gate".into(),
        json!({"type": "string", "pattern": gate::pattern()}),
    );
    defs.insert(
        "place".into(),
        json!({
            "description": "A value that each record brings.",
            "type": "string",
            "pattern": "^\\{\\{.+\\}\\}$",
        }),
    );
    defs.insert("evaluator_id".into(), evaluator_ids(registry));
    add_models(&mut defs);
    defs.insert("custom_evaluator".into(), custom_evaluator());
    defs.insert("chain_options".into(), chain_options());
    defs.insert(
        "check".into(),
        json!({"anyOf": [
            {"$ref": "#/$defs/evaluator_id"},
            {"$ref": "#/$defs/check_short"},
            {"$ref": "#/$defs/check_long"},
            {"$ref": "#/$defs/check_langchain"},
        ]}),
    );
    defs.insert("check_short".into(), short(registry));
    defs.insert("check_long".into(), long(registry));
    defs.insert("check_langchain".into(), langchain());
    for entry in registry.entries() {
        defs.insert(params_name(entry), params(entry));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lydite suite",
        "description": "What is judged, on which records, and what must be reached.",
        "type": "object",
        "properties": properties(keys::SUITE),
        "additionalProperties": false,
        "$defs": defs,
    })
}

fn properties(keys: &[Key]) -> Map<String, Value> {
    keys.iter()
        .map(|key| (key.name.to_owned(), described(key)))
        .collect()
}

/// The same in every spelling of LangChain.
fn with_spellings(keys: &[Key]) -> Map<String, Value> {
    let mut known = properties(keys);
    for key in keys {
        for other in key.also {
            known.insert((*other).to_owned(), described(key));
        }
    }
    known
}

fn described(key: &Key) -> Value {
    let mut schema = match serde_json::from_str(key.schema) {
        Ok(Value::Object(schema)) => schema,
        _ => Map::new(),
    };
    schema.insert("description".into(), key.doc.into());
    Value::Object(schema)
}

fn dataset() -> Value {
    let mut properties = properties(keys::DATASET);
    if let Some(Value::Object(format)) = properties.get_mut("format") {
        format.insert("enum".into(), FORMATS.into());
    }
    json!({"anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
        {"type": "object", "properties": properties, "required": ["path"], "additionalProperties": false},
    ]})
}

/// The target's schema, and what it refers to beside it.
fn add_target(defs: &mut Map<String, Value>) {
    let mut schema = super::target::SCHEMA.clone();
    if let Some(Value::Object(inner)) = schema.as_object_mut().and_then(|it| it.remove("$defs")) {
        defs.extend(inner);
    }
    defs.insert("target".into(), schema);
}

fn input_fields() -> Value {
    let path = json!({"type": "string", "minLength": 1});
    let names = Field::ALL
        .map(Field::as_str)
        .into_iter()
        .chain(inputs::WORDS.iter().map(|(word, _)| *word));
    let properties: Map<String, Value> =
        names.map(|name| (name.to_owned(), path.clone())).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// How models are named and described.
fn add_models(defs: &mut Map<String, Value>) {
    let mut spec = models::SPEC_SCHEMA.clone();
    relocate(&mut spec, "#/$defs/model_spec");
    defs.insert("model_spec".into(), spec);
    defs.insert(
        "model".into(),
        json!({
            "description": "A name under `models:`, `provider/model`, or a mapping.",
            "anyOf": [{"type": "string", "minLength": 1}, {"$ref": "#/$defs/model_spec"}],
        }),
    );
    defs.insert(
        "judge".into(),
        json!({"anyOf": [
            {"$ref": "#/$defs/model"},
            {"type": "array", "items": {"$ref": "#/$defs/model"}, "minItems": 1},
        ]}),
    );
    let described = |words: &str| json!({"description": words, "$ref": "#/$defs/model"});
    defs.insert("embedder".into(), described("An embedding model."));
    defs.insert(
        "moderator".into(),
        described("A moderation model, `openai`, `auto`, `local` or `none`."),
    );
    defs.insert(
        "models".into(),
        json!({
            "type": "object",
            "properties": {
                "judge": {"$ref": "#/$defs/judge"},
                "embedder": {"$ref": "#/$defs/embedder"},
                "moderator": {"$ref": "#/$defs/moderator"},
            },
            "additionalProperties": {"$ref": "#/$defs/model"},
        }),
    );
    defs.insert(
        "prompt".into(),
        json!({"anyOf": [
            {"type": "string", "minLength": 1},
            {
                "type": "object",
                "properties": {"file": {"type": "string", "minLength": 1}},
                "required": ["file"],
                "additionalProperties": false,
            },
        ]}),
    );
}

fn custom_evaluator() -> Value {
    json!({
        "type": "object",
        "properties": properties(keys::CUSTOM),
        "required": ["name", "instructions"],
        "additionalProperties": false,
    })
}

fn chain_options() -> Value {
    let properties = with_spellings(keys::CHAIN);
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn evaluator_ids(registry: &Registry) -> Value {
    let ids: Vec<Value> = registry
        .entries()
        .iter()
        .flat_map(|entry| {
            names(entry).map(|name| json!({"const": name, "description": entry.summary()}))
        })
        .collect();
    json!({"oneOf": ids})
}

/// `id: parameters`, or `id: principal parameter`.
fn short(registry: &Registry) -> Value {
    let mut properties = Map::new();
    for entry in registry.entries() {
        let mut forms = vec![params_ref(entry)];
        if let Some(principal) = entry
            .info
            .principal
            .or_else(|| entry.reads_reference().then_some("reference"))
        {
            let pointer = format!("#/$defs/{}/properties/{principal}", params_name(entry));
            forms.push(json!({"not": {"type": "object"}, "$ref": pointer}));
        }
        for name in names(entry) {
            properties.insert(
                name.to_owned(),
                json!({"description": entry.summary(), "anyOf": forms}),
            );
        }
    }
    json!({"type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1, "maxProperties": 1})
}

fn long(registry: &Registry) -> Value {
    let by_evaluator: Vec<Value> = registry
        .entries()
        .iter()
        .map(|entry| {
            let names: Vec<&str> = names(entry).collect();
            json!({
                "if": {"properties": {"evaluator": {"enum": names}}},
                "then": {"properties": {"params": params_ref(entry), "options": params_ref(entry)}},
            })
        })
        .collect();
    json!({
        "type": "object",
        "properties": properties(keys::CHECK),
        "required": ["evaluator"],
        "additionalProperties": false,
        "allOf": by_evaluator,
    })
}

/// LangChain's form: the evaluator type's options stand beside the other keys, in either spelling.
fn langchain() -> Value {
    let mut known = with_spellings(keys::LANGCHAIN);
    let own = properties(keys::CHECK)
        .into_iter()
        .filter(|(name, _)| name != "evaluator");
    known.extend(own);
    json!({
        "type": "object",
        "properties": known,
        "anyOf": [{"required": ["evaluatorType"]}, {"required": ["evaluator_type"]}],
        "not": {"required": ["evaluator"]},
    })
}

/// An evaluator's parameters: its own, the reference, and places that records fill.
fn params(entry: &Entry) -> Value {
    let mut schema = (*entry.schema).clone();
    let pointer = format!("#/$defs/{}", params_name(entry));
    relocate(&mut schema, &pointer);
    let Value::Object(object) = &mut schema else {
        return schema;
    };
    object.insert("type".into(), "object".into());
    let properties = object
        .entry("properties")
        .or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(properties) = properties else {
        return schema;
    };
    for property in properties.values_mut() {
        allow_place(property);
    }
    if entry.reads_reference() {
        for name in std::iter::once("reference").chain(entry.info.reference_alias) {
            let reference = json!({"description": "What is expected, in place of the record's `reference`.", "not": {"type": "null"}});
            properties.entry(name).or_insert(reference);
        }
    }
    schema
}

/// A parameter may be `{{ path }}` in place of its value.
fn allow_place(property: &mut Value) {
    let Value::Object(object) = property else {
        return;
    };
    let mut outer = Map::new();
    for key in ["description", "default"] {
        if let Some(value) = object.remove(key) {
            outer.insert(key.into(), value);
        }
    }
    let inner = Value::Object(std::mem::take(object));
    outer.insert("anyOf".into(), json!([inner, {"$ref": "#/$defs/place"}]));
    *object = outer;
}

/// Makes `#/$defs/…` point at where the schema now stands.
fn relocate(schema: &mut Value, pointer: &str) {
    match schema {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                match value {
                    Value::String(target) if key == "$ref" => {
                        if let Some(rest) = target.strip_prefix('#') {
                            *target = format!("{pointer}{rest}");
                        }
                    }
                    value => relocate(value, pointer),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| relocate(item, pointer)),
        _ => {}
    }
}

fn names(entry: &Entry) -> impl Iterator<Item = &'static str> {
    std::iter::once(entry.info.id).chain(entry.info.aliases.iter().copied())
}

fn params_name(entry: &Entry) -> String {
    format!("params.{}", entry.info.id)
}

fn params_ref(entry: &Entry) -> Value {
    json!({"$ref": format!("#/$defs/{}", params_name(entry))})
}
