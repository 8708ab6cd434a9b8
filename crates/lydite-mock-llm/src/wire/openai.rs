//! OpenAI's chat completions, embeddings and moderations, and Azure's paths to them. Written from documentation.

use std::borrow::Cow;

use data_encoding::BASE64;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    Problem, Provider, Refusal, Route, Task, dimension, list, parameter, strict, text, texts,
};
use crate::chat::{Asked, Finish, Reply, Tool, count_tokens};
use crate::config::Config;
use crate::embedding::embed;
use crate::logprobs::tokens;
use crate::moderation::{CATEGORIES, FLAGGED, scores};

/// The most texts in one request for embeddings.
const MAX_INPUTS: usize = 2048;

/// 2023-11-14, so that equal requests have equal replies but for their number.
const CREATED: u64 = 1_700_000_000;

pub(super) fn route(path: &str) -> Option<Route<'_>> {
    let task = if path.ends_with("/chat/completions") {
        Task::Chat
    } else if path.ends_with("/embeddings") {
        Task::Embed
    } else if path.ends_with("/moderations") {
        Task::Moderate
    } else {
        return None;
    };
    Some(Route {
        provider: Provider::OpenAi,
        task,
        model: deployment(path),
    })
}

/// Azure wants a version in the query.
pub(super) fn check(path: &str, query: &str) -> Result<(), Refusal> {
    if deployment(path).is_some() && parameter(query, "api-version").is_none() {
        return Err(Refusal::new(
            Problem::UnknownPath,
            "Resource not found: Azure's paths need ?api-version=…",
        ));
    }
    Ok(())
}

pub(super) fn asked<'b>(
    body: &'b Value,
    deployment: Option<&'b str>,
    config: &Config,
) -> Result<Asked<'b>, Refusal> {
    if list(body, "/messages").is_empty() {
        return Err(Refusal::invalid(
            "'messages' has to be a list of at least one message",
        ));
    }
    if body.get("stream") == Some(&Value::Bool(true)) {
        return Err(Refusal::invalid(
            "this mock doesn't stream; leave out 'stream'",
        ));
    }
    if body.get("n").is_some_and(|n| *n != 1) {
        return Err(Refusal::invalid(
            "this mock gives one choice; leave out 'n'",
        ));
    }
    let prompt = texts(body, &["messages"]);
    let (tool, arguments) = match called(body) {
        Some((tool, arguments)) => (Some(tool), Some(arguments)),
        None => (None, None),
    };
    let schema = match arguments {
        Some(arguments) => Some(arguments),
        None => format(body, &prompt, config)?,
    };
    let top = body.get("top_logprobs").and_then(Value::as_u64);
    Ok(Asked {
        model: Cow::Borrowed(
            deployment
                .or_else(|| text(body, "/model"))
                .unwrap_or_default(),
        ),
        prompt,
        schema,
        tool,
        logprobs: (body.get("logprobs") == Some(&Value::Bool(true))).then(|| top.unwrap_or(0)),
        max_tokens: ["max_completion_tokens", "max_tokens"]
            .iter()
            .find_map(|key| body.get(key)?.as_u64()),
    })
}

/// The schema of the response format.
fn format<'b>(
    body: &'b Value,
    prompt: &str,
    config: &Config,
) -> Result<Option<&'b Value>, Refusal> {
    let Some(format) = body.get("response_format") else {
        return Ok(None);
    };
    match text(format, "/type") {
        Some("json_object") if !prompt.to_ascii_lowercase().contains("json") => {
            Err(Refusal::invalid(
                "'messages' has to hold the word 'json' where 'response_format' is 'json_object'",
            ))
        }
        Some("text" | "json_object") => Ok(None),
        Some("json_schema") => {
            let schema = format.pointer("/json_schema/schema").ok_or_else(|| {
                Refusal::invalid("'response_format.json_schema.schema' is missing")
            })?;
            let name = text(format, "/json_schema/name")
                .ok_or_else(|| Refusal::invalid("'response_format.json_schema.name' is missing"))?;
            let is_strict = format.pointer("/json_schema/strict") == Some(&Value::Bool(true));
            match strict::fault(schema).filter(|_| is_strict && config.check_strict_schemas) {
                Some(fault) => Err(Refusal::invalid(format!(
                    "Invalid schema for response_format '{name}': {fault}"
                ))),
                None => Ok(Some(schema)),
            }
        }
        _ => Err(Refusal::invalid(
            "'response_format.type' has to be 'text', 'json_object' or 'json_schema'",
        )),
    }
}

/// The tool that is called, and the schema of its arguments.
fn called(body: &Value) -> Option<(Tool<'_>, &Value)> {
    let functions = || {
        list(body, "/tools")
            .iter()
            .filter_map(|tool| tool.get("function"))
    };
    let choice = body.get("tool_choice");
    let named = choice.and_then(|choice| text(choice, "/function/name"));
    if choice.and_then(Value::as_str) == Some("none") {
        return None;
    }
    let function = match named {
        Some(name) => functions().find(|function| text(function, "/name") == Some(name))?,
        None => functions().next()?,
    };
    let tool = Tool {
        name: text(function, "/name")?,
        is_named: named.is_some(),
    };
    Some((tool, function.get("parameters").unwrap_or(&Value::Null)))
}

pub(super) fn render(asked: &Asked<'_>, reply: &Reply<'_>, config: &Config, number: u64) -> Value {
    let mut message = json!({"role": "assistant", "content": reply.text, "refusal": null});
    if reply.finish == Finish::Refused {
        message = json!({"role": "assistant", "content": null, "refusal": reply.text});
    }
    if let Some(call) = &reply.call {
        if reply.text.is_empty() {
            put(&mut message, "content", Value::Null);
        }
        let function = json!({"name": call.tool.name, "arguments": call.text()});
        put(
            &mut message,
            "tool_calls",
            json!([{"id": format!("call_{number}"), "type": "function", "function": function}]),
        );
    }
    let choice = json!({
        "index": 0,
        "message": message,
        "logprobs": logprobs(asked, reply, config),
        "finish_reason": finish_reason(reply),
    });
    let mut response = json!({
        "id": format!("chatcmpl-{number}"),
        "object": "chat.completion",
        "created": CREATED,
        "model": asked.model,
        "choices": [choice],
        "system_fingerprint": "fp_mock",
    });
    if config.usage {
        let (prompt, completion) = (count_tokens(&asked.prompt), reply.tokens());
        put(
            &mut response,
            "usage",
            json!({"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}),
        );
    }
    response
}

/// A tool that the request names is called without the reason `tool_calls`, as the documentation has it.
fn finish_reason<'r>(reply: &Reply<'r>) -> &'r str {
    if let Some(reason) = reply.finish_reason {
        return reason;
    }
    match (reply.finish, &reply.call) {
        (Finish::Length, _) => "length",
        (_, Some(call)) if !call.tool.is_named => "tool_calls",
        _ => "stop",
    }
}

fn logprobs(asked: &Asked<'_>, reply: &Reply<'_>, config: &Config) -> Value {
    let Some(top) = asked.logprobs.filter(|_| config.logprobs) else {
        return Value::Null;
    };
    if let Some(own) = reply.logprobs {
        return json!({"content": own, "refusal": null});
    }
    let content: Vec<Value> = tokens(&reply.text, &reply.opposite, config.certainty)
        .into_iter()
        .map(|token| {
            let mut both = vec![(token.text, token.logprob)];
            both.extend(token.other);
            both.sort_by(|a, b| b.1.total_cmp(&a.1));
            let top: Vec<Value> = both
                .into_iter()
                .take(top as usize)
                .map(|(text, logprob)| token_json(text, logprob))
                .collect();
            let mut one = token_json(token.text, token.logprob);
            put(&mut one, "top_logprobs", top.into());
            one
        })
        .collect();
    json!({"content": content, "refusal": null})
}

fn token_json(text: &str, logprob: f64) -> Value {
    json!({"token": text, "logprob": logprob, "bytes": text.as_bytes()})
}

fn put(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(key.to_owned(), value);
    }
}

pub(super) fn error(refusal: &Refusal) -> Value {
    let (kind, code) = match refusal.problem {
        Problem::Unauthorized => ("invalid_request_error", json!("invalid_api_key")),
        Problem::UnknownPath => ("invalid_request_error", json!("unknown_url")),
        Problem::UnknownModel => ("invalid_request_error", json!("model_not_found")),
        Problem::TooLong => ("invalid_request_error", json!("context_length_exceeded")),
        Problem::RateLimited => ("requests", json!("rate_limit_exceeded")),
        Problem::Status(429) => ("insufficient_quota", json!("insufficient_quota")),
        Problem::Status(500..) => ("server_error", Value::Null),
        Problem::Invalid | Problem::Status(_) => ("invalid_request_error", Value::Null),
    };
    json!({"error": {"message": refusal.message, "type": kind, "param": null, "code": code}})
}

/// A text, a list of texts, or tokens, which stand for the text of their numbers.
pub(super) fn inputs(body: &Value, task: Task) -> Result<Vec<Cow<'_, str>>, Refusal> {
    let inputs: Vec<Cow<'_, str>> = match body.get("input") {
        Some(Value::String(text)) => vec![Cow::Borrowed(text)],
        Some(Value::Array(items)) if items.iter().all(Value::is_number) && !items.is_empty() => {
            vec![Cow::Owned(Value::Array(items.clone()).to_string())]
        }
        Some(Value::Array(items))
            if task == Task::Moderate && items.iter().all(Value::is_object) =>
        {
            vec![Cow::Owned(texts(body, &["input"]))]
        }
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| match item {
                Value::String(text) => Cow::Borrowed(text.as_str()),
                other => Cow::Owned(other.to_string()),
            })
            .collect(),
        _ => {
            return Err(Refusal::invalid(
                "'input' has to be a text or a list of texts",
            ));
        }
    };
    let is_bad = inputs.is_empty() || inputs.len() > MAX_INPUTS;
    if is_bad || (task == Task::Embed && inputs.iter().any(|input| input.is_empty())) {
        return Err(Refusal::invalid(format!(
            "'input' has to be 1 to {MAX_INPUTS} texts, none of them empty"
        )));
    }
    Ok(inputs)
}

#[derive(Serialize)]
struct Embeddings<'m> {
    object: &'static str,
    data: Vec<Embedding>,
    model: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<EmbeddingUsage>,
}

#[derive(Serialize)]
struct Embedding {
    object: &'static str,
    index: usize,
    #[serde(rename = "embedding")]
    vector: Vector,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Vector {
    Float(Vec<f32>),
    /// Little-endian 32-bit floats.
    Base64(String),
}

#[derive(Serialize)]
struct EmbeddingUsage {
    prompt_tokens: u64,
    total_tokens: u64,
}

pub(super) fn embeddings(
    body: &Value,
    inputs: &[Cow<'_, str>],
    model: &str,
    config: &Config,
) -> Result<Vec<u8>, Refusal> {
    let dimension = dimension(body, "dimensions", config)?;
    let is_base64 = match text(body, "/encoding_format") {
        None | Some("float") => false,
        Some("base64") => true,
        Some(_) => {
            return Err(Refusal::invalid(
                "'encoding_format' has to be 'float' or 'base64'",
            ));
        }
    };
    let vector = |text: &str| {
        let vector = embed(text, dimension);
        if !is_base64 {
            return Vector::Float(vector);
        }
        let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
        Vector::Base64(BASE64.encode(&bytes))
    };
    let tokens = inputs.iter().map(|input| count_tokens(input)).sum();
    let response = Embeddings {
        object: "list",
        data: inputs
            .iter()
            .enumerate()
            .map(|(index, input)| Embedding {
                object: "embedding",
                index,
                vector: vector(input),
            })
            .collect(),
        model,
        usage: config.usage.then_some(EmbeddingUsage {
            prompt_tokens: tokens,
            total_tokens: tokens,
        }),
    };
    serde_json::to_vec(&response)
        .map_err(|error| Refusal::new(Problem::Status(500), error.to_string()))
}

pub(super) fn moderations(model: &str, inputs: &[Cow<'_, str>], number: u64) -> Value {
    let results: Vec<Value> = inputs.iter().map(|input| moderation(input)).collect();
    let model = if model.is_empty() {
        "omni-moderation-latest"
    } else {
        model
    };
    json!({"id": format!("modr-{number}"), "model": model, "results": results})
}

fn moderation(input: &str) -> Value {
    let scores = scores(input);
    let by_category = |value: fn(f64) -> Value| -> Map<String, Value> {
        CATEGORIES
            .iter()
            .zip(scores)
            .map(|((name, _), score)| ((*name).to_owned(), value(score)))
            .collect()
    };
    json!({
        "flagged": scores.iter().any(|score| *score >= FLAGGED),
        "categories": by_category(|score| json!(score >= FLAGGED)),
        "category_scores": by_category(|score| json!(score)),
        "category_applied_input_types": by_category(|_| json!(["text"])),
    })
}

/// The deployment in one of Azure's paths.
fn deployment(path: &str) -> Option<&str> {
    let (_, after) = path.split_once("/openai/deployments/")?;
    after.split('/').next()
}
