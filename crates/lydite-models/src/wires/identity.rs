//! What a model's answers hang on, as one canonical text.

use std::collections::BTreeMap;

use lydite::model::{ModelSpec, Structured};
use serde_json::Value;

use crate::wires::provider;

/// A chat model's identity: JSON with sorted keys. Values of headers stand as hashes, unless they are
/// names of variables; keys are not in it.
pub(crate) fn of_chat(spec: &ModelSpec) -> String {
    let mut parts = common(spec);
    parts.insert("role", "chat".into());
    parts.insert("temperature", spec.temperature.or(0.0).into());
    if spec.structured != Structured::Auto {
        parts.insert(
            "structured",
            serde_json::to_value(spec.structured).unwrap_or_default(),
        );
    }
    insert(&mut parts, "seed", spec.seed);
    insert(&mut parts, "max_output_tokens", spec.max_output_tokens);
    text(&parts)
}

/// The identity of an embedder (`embed`) or moderator (`moderate`) with its model's name.
pub(crate) fn of_role(spec: &ModelSpec, role: &'static str, model: &str) -> String {
    let mut parts = common(spec);
    parts.insert("role", role.into());
    parts.insert("model", model.into());
    insert(&mut parts, "dimensions", spec.dimensions);
    text(&parts)
}

/// A chat identity with the contents of the file that answers.
pub(crate) fn of_file(spec: &ModelSpec, contents: &[u8]) -> String {
    let mut parts = common(spec);
    parts.insert("role", "chat".into());
    parts.insert("contents", short_hash(contents).into());
    text(&parts)
}

fn common(spec: &ModelSpec) -> BTreeMap<&'static str, Value> {
    let mut parts = BTreeMap::new();
    parts.insert("provider", spec.provider.as_str().into());
    parts.insert("model", spec.model.as_str().into());
    let base = provider::base_url(spec).map(|url| url.split('?').next().unwrap_or(url));
    insert(&mut parts, "base_url", base);
    insert(&mut parts, "api_version", spec.api_version.as_deref());
    if !spec.parameters.is_empty() {
        let sorted = spec.parameters.iter();
        let sorted = sorted.map(|(name, value)| (name.clone(), canonical(value)));
        parts.insert("parameters", Value::Object(sorted.collect()));
    }
    if !spec.headers.is_empty() {
        let headers = spec.headers.iter().map(|(name, value)| {
            let shown = if value.starts_with('$') {
                value.clone()
            } else {
                short_hash(value.as_bytes())
            };
            (name.to_ascii_lowercase(), Value::from(shown))
        });
        let headers: BTreeMap<_, _> = headers.collect();
        parts.insert("headers", Value::Object(headers.into_iter().collect()));
    }
    if !spec.command.is_empty() {
        parts.insert("command", spec.command.clone().into());
    }
    parts
}

fn insert<T: Into<Value>>(
    parts: &mut BTreeMap<&'static str, Value>,
    name: &'static str,
    value: Option<T>,
) {
    if let Some(value) = value {
        parts.insert(name, value.into());
    }
}

fn text(parts: &BTreeMap<&'static str, Value>) -> String {
    serde_json::to_string(parts).unwrap_or_default()
}

/// The value with the keys of all its objects sorted.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(canonical).collect(),
        Value::Object(map) => {
            let sorted: BTreeMap<_, _> = map.iter().collect();
            let sorted = sorted.into_iter();
            Value::Object(
                sorted
                    .map(|(key, value)| (key.clone(), canonical(value)))
                    .collect(),
            )
        }
        other => other.clone(),
    }
}

pub(crate) fn short_hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().chars().take(32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite::model::Temperature;
    use serde_json::json;

    #[test]
    fn what_settles_a_reply_is_in_it_and_nothing_else() {
        let plain = ModelSpec::parse("openai/gpt-4.1-mini").unwrap();
        let identity = of_chat(&plain);
        assert_eq!(
            identity,
            r#"{"base_url":"https://api.openai.com/v1","model":"gpt-4.1-mini","provider":"openai","role":"chat","temperature":0.0}"#
        );
        let edits: [fn(&mut ModelSpec); 9] = [
            |s| s.model = "x".into(),
            |s| s.base_url = Some("http://localhost/v1".into()),
            |s| s.temperature = Temperature::At(1.0),
            |s| s.temperature = Temperature::Provider,
            |s| s.seed = Some(1),
            |s| s.max_output_tokens = Some(1),
            |s| s.structured = Structured::Tool,
            |s| drop(s.parameters.insert("top_p".into(), json!(0.9))),
            |s| {
                drop(
                    s.headers
                        .insert("x-team".into(), "sk-literal-secret".into()),
                );
            },
        ];
        for edit in edits {
            let mut other = plain.clone();
            edit(&mut other);
            assert_ne!(of_chat(&other), identity);
            assert!(!of_chat(&other).contains("sk-literal"));
        }
        let same: [fn(&mut ModelSpec); 4] = [
            |s| s.timeout = Some(1.0),
            |s| s.api_key_env = Some("OTHER".into()),
            |s| s.temperature = Temperature::At(0.0),
            |s| s.base_url = Some("https://api.openai.com/v1/".into()),
        ];
        for edit in same {
            let mut other = plain.clone();
            edit(&mut other);
            assert_eq!(of_chat(&other), identity);
        }
    }

    #[test]
    fn the_order_of_keys_does_not_matter() {
        let with = |value: Value| {
            let mut spec = ModelSpec::parse("openai/x").unwrap();
            spec.parameters.insert("reasoning".into(), value);
            of_chat(&spec)
        };
        assert_eq!(
            with(json!({"a": [{"c": 1, "d": 2}], "b": 1})),
            with(json!({"b": 1, "a": [{"d": 2, "c": 1}]}))
        );
    }
}
