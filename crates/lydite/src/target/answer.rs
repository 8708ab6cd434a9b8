//! From a reply to the members that an answer adds to its record.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::template::{one_line, quote};
use super::{HttpTarget, Maker};
use crate::decode::Mapping;
use crate::model::ChatReply;
use crate::path::{self, FieldPath};
use crate::record::{Field, FieldSet};

/// Why a call gave no answer, as `target_error` and a result's error are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) retryable: bool,
}

/// What an answer adds to its record: keys, and their values as JSON.
pub(super) type Members = Vec<(String, String)>;

/// What a program's line may say of its answer.
const OF_AN_ANSWER: FieldSet = FieldSet::of(&[
    Field::Output,
    Field::Contexts,
    Field::Messages,
    Field::LatencyMs,
    Field::CostUsd,
    Field::FinishReason,
]);

/// Reads a reply. `has` tells whether the record has a key already.
pub(super) fn read(
    maker: &Maker,
    reply: &ChatReply,
    mapping: &Mapping,
    has: impl Fn(&str) -> bool,
) -> Result<Members, Failure> {
    let mut members = match maker {
        Maker::Model(_) => vec![
            member("output", json_text(&reply.text)),
            member("finish_reason", json_text(reply.finish.as_str())),
        ],
        Maker::Http(http) => of_endpoint(http, &reply.text)?,
        Maker::Command(_) => of_program(&reply.text, mapping, has)?,
    };
    if let Some(taken) = reply.taken {
        let mut add = |key: &str, value: String| {
            if !members.iter().any(|(name, _)| name == key) {
                members.push(member(key, value));
            }
        };
        add("latency_ms", taken.latency_ms.to_string());
        // Applications are free to Lydite: what they cost is known to them alone.
        if let (Maker::Model(_), Some(cost)) = (maker, taken.cost_usd) {
            add("cost_usd", cost.to_string());
        }
    }
    Ok(members)
}

/// The stand-in that a dry run has in place of an answer.
pub(super) fn stand_in(reply: &ChatReply) -> Members {
    vec![member("output", json_text(&reply.text))]
}

fn of_endpoint(http: &HttpTarget, reply: &str) -> Result<Members, Failure> {
    let output = match &http.output {
        Some(path) => at(reply, path)?,
        None if crate::json::is_valid(reply).is_ok() => one_lined(reply.trim()),
        None => json_text(reply),
    };
    let mut members = vec![member("output", output)];
    if let Some(path) = &http.contexts {
        members.push(member("contexts", at(reply, path)?));
    }
    Ok(members)
}

/// The value at a path of a reply.
fn at(reply: &str, path: &FieldPath) -> Result<String, Failure> {
    let mut segments = vec![path.root().to_owned()];
    segments.extend_from_slice(path.rest());
    let found = path::find(reply, &segments).map_err(|error| {
        protocol(format!(
            "its reply is not JSON, so nothing stands at `{path}` in it: {error}"
        ))
    })?;
    match found {
        Some(value) if value != "null" => Ok(one_lined(value)),
        _ => Err(protocol(format!(
            "its reply has nothing at `{path}`; {}",
            keys_of(reply)
        ))),
    }
}

fn keys_of(reply: &str) -> String {
    let keys: IndexMap<String, &RawValue> = serde_json::from_str(reply).unwrap_or_default();
    if keys.is_empty() {
        return "it is no JSON object, or an empty one".to_owned();
    }
    let keys: Vec<&str> = keys.keys().map(String::as_str).take(20).collect();
    format!("it has: {}", keys.join(", "))
}

fn of_program(
    line: &str,
    mapping: &Mapping,
    has: impl Fn(&str) -> bool,
) -> Result<Members, Failure> {
    let read: IndexMap<String, &RawValue> = serde_json::from_str(line).map_err(|error| {
        protocol(format!(
            "its line is no JSON object, such as `{{\"output\": …}}`: {error}"
        ))
    })?;
    let mut members = Members::new();
    for (key, value) in read.iter().filter(|(_, value)| value.get() != "null") {
        match mapping.field_of(key) {
            // Its own numbering of lines.
            Some(Field::Id | Field::Trial) => {}
            Some(field) if !OF_AN_ANSWER.contains(field) => {
                return Err(protocol(format!(
                    "its line has `{key}`, which an answer may not set; it may have: output, contexts, messages, latency_ms, cost_usd, finish_reason, and keys that are no field"
                )));
            }
            Some(field) if members.iter().any(|(name, _)| name == field.as_str()) => {
                return Err(protocol(format!("its line gives `{field}` twice")));
            }
            Some(field) => members.push(member(field.as_str(), one_lined(value.get()))),
            None if has(key) => {
                return Err(protocol(format!(
                    "its line has `{key}`, and so has the record; give it another name"
                )));
            }
            None => members.push(member(key, one_lined(value.get()))),
        }
    }
    if !members
        .iter()
        .any(|(key, _)| matches!(&**key, "output" | "messages"))
    {
        return Err(protocol("its line has no `output`".to_owned()));
    }
    Ok(members)
}

fn protocol(message: String) -> Failure {
    Failure {
        code: "model_protocol",
        message,
        retryable: false,
    }
}

fn member(key: &str, value: String) -> (String, String) {
    (key.to_owned(), value)
}

fn json_text(text: &str) -> String {
    let mut out = String::new();
    quote(text, &mut out);
    out
}

fn one_lined(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    one_line(json, &mut out);
    out
}
