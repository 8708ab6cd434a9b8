//! Gemini's content and embeddings. Written from documentation.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::{Problem, Provider, Refusal, Route, Task, dimension, list, push_texts, text, texts};
use crate::chat::{Asked, Finish, Reply, Tool, count_tokens};
use crate::config::Config;
use crate::embedding::embed;
use crate::logprobs::tokens;

/// The most texts in one batch.
const MAX_BATCH: usize = 100;

pub(super) fn route(path: &str) -> Option<Route<'_>> {
    let (_, after) = path.rsplit_once("/models/")?;
    let (model, method) = after.rsplit_once(':')?;
    let task = match method {
        "generateContent" => Task::Chat,
        "embedContent" => Task::Embed,
        "batchEmbedContents" => Task::EmbedBatch,
        _ => return None,
    };
    Some(Route {
        provider: Provider::Gemini,
        task,
        model: Some(model),
    })
}

pub(super) fn asked<'b>(body: &'b Value, model: Option<&'b str>) -> Result<Asked<'b>, Refusal> {
    if list(body, "/contents").is_empty() {
        return Err(Refusal::invalid(
            "* GenerateContentRequest.contents: contents is not specified",
        ));
    }
    let (tool, arguments) = match called(body) {
        Some((tool, arguments)) => (Some(tool), Some(arguments)),
        None => (None, None),
    };
    let config = body.get("generationConfig").unwrap_or(&Value::Null);
    let schema = config
        .get("responseJsonSchema")
        .or_else(|| config.get("responseSchema"));
    if schema.is_some() && text(config, "/responseMimeType") != Some("application/json") {
        return Err(Refusal::invalid(
            "* GenerateContentRequest.generation_config: a response schema needs response_mime_type 'application/json'",
        ));
    }
    let top = config.get("logprobs").and_then(Value::as_u64).unwrap_or(0);
    let wants_logprobs = config.get("responseLogprobs") == Some(&Value::Bool(true));
    Ok(Asked {
        model: Cow::Borrowed(model.unwrap_or_default()),
        prompt: texts(
            body,
            &["systemInstruction", "system_instruction", "contents"],
        ),
        schema: arguments.or(schema),
        tool,
        logprobs: wants_logprobs.then_some(top),
        max_tokens: config.get("maxOutputTokens").and_then(Value::as_u64),
    })
}

/// The function that is called, and the schema of its arguments.
fn called(body: &Value) -> Option<(Tool<'_>, &Value)> {
    let calling = body
        .pointer("/toolConfig/functionCallingConfig")
        .unwrap_or(&Value::Null);
    if text(calling, "/mode") == Some("NONE") {
        return None;
    }
    let named = text(calling, "/allowedFunctionNames/0");
    let function = list(body, "/tools")
        .iter()
        .flat_map(|tool| list(tool, "/functionDeclarations"))
        .find(|function| named.is_none() || text(function, "/name") == named)?;
    let schema = function
        .get("parametersJsonSchema")
        .or_else(|| function.get("parameters"))
        .unwrap_or(&Value::Null);
    let tool = Tool {
        name: text(function, "/name")?,
        is_named: named.is_some(),
    };
    Some((tool, schema))
}

pub(super) fn render(asked: &Asked<'_>, reply: &Reply<'_>, config: &Config, number: u64) -> Value {
    let mut response = if reply.finish == Finish::Refused {
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    } else {
        json!({"candidates": [candidate(asked, reply, config)]})
    };
    if let Some(map) = response.as_object_mut() {
        map.insert("modelVersion".to_owned(), json!(asked.model));
        map.insert("responseId".to_owned(), json!(format!("mock-{number}")));
        if config.usage {
            let (prompt, candidates) = (count_tokens(&asked.prompt), reply.tokens());
            let usage = json!({
                "promptTokenCount": prompt,
                "candidatesTokenCount": candidates,
                "totalTokenCount": prompt + candidates,
            });
            map.insert("usageMetadata".to_owned(), usage);
        }
    }
    response
}

fn candidate(asked: &Asked<'_>, reply: &Reply<'_>, config: &Config) -> Value {
    let mut parts = Vec::new();
    if !reply.text.is_empty() {
        parts.push(json!({"text": reply.text}));
    }
    if let Some(call) = &reply.call {
        parts.push(json!({"functionCall": {"name": call.tool.name, "args": call.value()}}));
    }
    let finish = match reply.finish {
        Finish::Length => "MAX_TOKENS",
        Finish::Stop | Finish::Refused => "STOP",
    };
    let mut candidate = json!({
        "content": {"parts": parts, "role": "model"},
        "finishReason": reply.finish_reason.unwrap_or(finish),
        "index": 0,
    });
    if let (Some(top), Some(map)) = (
        asked.logprobs.filter(|_| config.logprobs),
        candidate.as_object_mut(),
    ) {
        let result = reply
            .logprobs
            .cloned()
            .unwrap_or_else(|| logprobs(reply, config, top));
        map.insert("logprobsResult".to_owned(), result);
    }
    candidate
}

fn logprobs(reply: &Reply<'_>, config: &Config, top: u64) -> Value {
    let one = |(text, logprob): (&str, f64)| json!({"token": text, "logProbability": logprob});
    let tokens = tokens(&reply.text, &reply.opposite, config.certainty);
    let chosen: Vec<Value> = tokens
        .iter()
        .map(|token| one((token.text, token.logprob)))
        .collect();
    let best: Vec<Value> = tokens
        .iter()
        .map(|token| {
            let mut both = vec![(token.text, token.logprob)];
            both.extend(token.other);
            both.sort_by(|a, b| b.1.total_cmp(&a.1));
            let candidates: Vec<Value> = both.into_iter().take(top as usize).map(one).collect();
            json!({"candidates": candidates})
        })
        .collect();
    json!({"topCandidates": best, "chosenCandidates": chosen})
}

pub(super) fn error(refusal: &Refusal, retry_after_s: Option<f64>) -> Value {
    let code = refusal.problem.status();
    let status = match code {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    };
    let mut error = json!({"code": code, "message": refusal.message, "status": status});
    if let (Some(seconds), Some(map)) = (retry_after_s, error.as_object_mut()) {
        let delay = json!([{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s")}]);
        map.insert("details".to_owned(), delay);
    }
    json!({"error": error})
}

pub(super) fn inputs(body: &Value, task: Task) -> Result<Vec<Cow<'_, str>>, Refusal> {
    let content = |request: &Value| {
        let mut out = String::new();
        push_texts(request.get("content")?, &mut out);
        (!out.is_empty()).then_some(Cow::Owned(out))
    };
    let requests = match task {
        Task::EmbedBatch => list(body, "/requests"),
        _ => std::slice::from_ref(body),
    };
    if requests.is_empty() || requests.len() > MAX_BATCH {
        return Err(Refusal::invalid(format!(
            "requests: expected 1 to {MAX_BATCH}"
        )));
    }
    requests
        .iter()
        .map(content)
        .collect::<Option<_>>()
        .ok_or_else(|| Refusal::invalid("content: expected parts with text"))
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Embeddings {
    Embedding(Values),
    Embeddings(Vec<Values>),
}

#[derive(Serialize)]
struct Values {
    values: Vec<f32>,
}

pub(super) fn embeddings(
    body: &Value,
    inputs: &[Cow<'_, str>],
    task: Task,
    config: &Config,
) -> Result<Vec<u8>, Refusal> {
    let requests = match task {
        Task::EmbedBatch => list(body, "/requests"),
        _ => std::slice::from_ref(body),
    };
    let mut vectors = Vec::with_capacity(inputs.len());
    for (request, input) in requests.iter().zip(inputs) {
        let dimension = dimension(request, "outputDimensionality", config)?;
        vectors.push(Values {
            values: embed(input, dimension),
        });
    }
    let response = match (task, vectors.pop()) {
        (Task::Embed, Some(vector)) => Embeddings::Embedding(vector),
        (_, last) => {
            vectors.extend(last);
            Embeddings::Embeddings(vectors)
        }
    };
    serde_json::to_vec(&response)
        .map_err(|error| Refusal::new(Problem::Status(500), error.to_string()))
}
