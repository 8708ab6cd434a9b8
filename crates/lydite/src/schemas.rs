//! The JSON Schemas of the formats, generated from the types; committed under `schemas/`.

#![expect(
    dead_code,
    clippy::large_enum_variant,
    reason = "of the shapes below only the schema is used"
)]

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::evaluator::Registry;
use crate::report::Report;
use crate::results::{CheckResult, WideResult};

/// Of a record, a line of the data.
pub fn record() -> Value {
    of::<RecordShape>("A record")
}

/// Of a suite file, with every evaluator's parameters.
pub fn suite() -> Value {
    crate::suite::schema::schema(&Registry::builtin())
}

/// Of a result line, narrow or wide.
pub fn result() -> Value {
    of::<ResultLine>("A result line")
}

/// Of a report.
pub fn report() -> Value {
    of::<Report>("A report")
}

/// A schema as it stands in a file.
pub fn to_text(schema: &Value) -> String {
    // A JSON value always serialises.
    let mut text = serde_json::to_string_pretty(schema).unwrap_or_default();
    text.push('\n');
    text
}

fn of<T: JsonSchema>(title: &str) -> Value {
    let mut schema = SchemaGenerator::default()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".into(), title.into());
    }
    schema
}

/// One answer judged by one check, or (`--wide`) one answer with all its checks.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ResultLine<'a> {
    Narrow(CheckResult<'a>),
    Wide(WideResult<'a>),
}

/// One case with an answer. Readers know other tools' names for these fields too, and keep unknown keys as
/// `extra.<key>`.
#[derive(Serialize, JsonSchema)]
struct RecordShape {
    /// The case's name; computed from what was asked where left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Scalar>,
    /// What was asked.
    query: Option<ContentShape>,
    /// The answer under judgement.
    output: Option<ContentShape>,
    /// Several answers, for pairwise checks.
    candidates: Option<Vec<ContentShape>>,
    /// The right answer. A list of texts is a list of alternatives for text evaluators.
    reference: Option<ContentShape>,
    /// Retrieved passages, in the retriever's order.
    contexts: Option<Vec<ContextShape>>,
    /// Ids of the passages that are relevant in truth.
    relevant_ids: Option<Vec<String>>,
    variables: Option<BTreeMap<String, Value>>,
    /// Weights in [0, 1] in the shape of the reference, for `json_diff`.
    weights: Option<BTreeMap<String, Value>>,
    /// The conversation, or an agent's work.
    messages: Option<Vec<MessageShape>>,
    /// The tools that the model was offered.
    tools: Option<Vec<Value>>,
    reference_tool_calls: Option<Vec<Value>>,
    /// Which model answered.
    model: Option<String>,
    /// Which of several answers to one case it is, from 1.
    #[schemars(range(min = 1))]
    trial: Option<u32>,
    tags: Option<Vec<String>>,
    /// Records of one cluster (a document, a user) are not independent of each other.
    cluster: Option<Scalar>,
    latency_ms: Option<f64>,
    cost_usd: Option<f64>,
    finish_reason: Option<String>,
    metadata: Option<BTreeMap<String, Value>>,
    /// Checks of this record alone, in the forms of a suite's `checks`.
    evaluators: Option<Vec<Value>>,
    /// Why a target gave no answer. Every check of the record is errored with it.
    target_error: Option<TargetErrorShape>,
}

#[derive(Serialize, JsonSchema)]
struct TargetErrorShape {
    code: Option<String>,
    message: String,
    /// Whether the same call may go well later.
    retryable: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Scalar {
    Text(String),
    Number(f64),
}

/// Text, any other JSON, or parts.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ContentShape {
    Text(String),
    Parts { parts: Vec<Part> },
    Json(Value),
}

#[derive(Serialize, JsonSchema)]
struct Part {
    r#type: PartType,
    text: Option<String>,
    uri: Option<String>,
    sha256: Option<String>,
    mime: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PartType {
    Text,
    Image,
    Audio,
    File,
}

/// A passage: its text, or an object.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum ContextShape {
    Text(String),
    Chunk {
        document: String,
        id: Option<String>,
        /// How relevant, in [-1, 1].
        #[schemars(range(min = -1.0, max = 1.0))]
        relevance: Option<f64>,
        /// The retriever's own number.
        score: Option<f64>,
        /// A person's grade, 0 and up.
        #[schemars(range(min = 0.0))]
        grade: Option<f64>,
    },
}

#[derive(Serialize, JsonSchema)]
struct MessageShape {
    role: RoleShape,
    /// Text, null, or a provider's list of blocks.
    content: Option<Value>,
    tool_calls: Option<Vec<Value>>,
    tool_call_id: Option<String>,
    name: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RoleShape {
    System,
    Developer,
    User,
    Assistant,
    Tool,
    Function,
}
