//! Anthropic's messages. Written from documentation.

use std::borrow::Cow;

use hyper::HeaderMap;
use serde_json::{Value, json};

use super::{Problem, Provider, Refusal, Route, Task, list, text, texts};
use crate::chat::{Asked, Finish, Reply, Tool, count_tokens};
use crate::config::Config;

pub(super) fn route(path: &str) -> Option<Route<'_>> {
    path.ends_with("/messages").then_some(Route {
        provider: Provider::Anthropic,
        task: Task::Chat,
        model: None,
    })
}

pub(super) fn check(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get("anthropic-version") {
        Some(_) => Ok(()),
        None => Err(Refusal::invalid("anthropic-version: header is required")),
    }
}

pub(super) fn asked(body: &Value) -> Result<Asked<'_>, Refusal> {
    if body.get("max_tokens").and_then(Value::as_u64).is_none() {
        return Err(Refusal::invalid("max_tokens: field required"));
    }
    if list(body, "/messages").is_empty() {
        return Err(Refusal::invalid(
            "messages: at least one message is required",
        ));
    }
    if body.get("stream") == Some(&Value::Bool(true)) {
        return Err(Refusal::invalid(
            "stream: this mock doesn't stream; leave it out",
        ));
    }
    if list(body, "/messages")
        .iter()
        .any(|message| text(message, "/role") == Some("system"))
    {
        return Err(Refusal::invalid(
            "messages: the role \"system\" is not allowed; use the field `system`",
        ));
    }
    let (tool, arguments) = match called(body) {
        Some((tool, arguments)) => (Some(tool), Some(arguments)),
        None => (None, None),
    };
    let format = body
        .pointer("/output_config/format/schema")
        .or_else(|| body.pointer("/output_format/schema"));
    Ok(Asked {
        model: Cow::Borrowed(text(body, "/model").unwrap_or_default()),
        prompt: texts(body, &["system", "messages"]),
        schema: arguments.or(format),
        tool,
        logprobs: None,
        max_tokens: body.get("max_tokens").and_then(Value::as_u64),
    })
}

/// The tool that is called, and the schema of its input.
fn called(body: &Value) -> Option<(Tool<'_>, &Value)> {
    if text(body, "/tool_choice/type") == Some("none") {
        return None;
    }
    let tools = list(body, "/tools");
    let named = text(body, "/tool_choice/name");
    let tool = match named {
        Some(name) => tools
            .iter()
            .find(|tool| text(tool, "/name") == Some(name))?,
        None => tools.first()?,
    };
    let schema = tool.get("input_schema").unwrap_or(&Value::Null);
    let tool = Tool {
        name: text(tool, "/name")?,
        is_named: named.is_some(),
    };
    Some((tool, schema))
}

pub(super) fn render(asked: &Asked<'_>, reply: &Reply<'_>, config: &Config, number: u64) -> Value {
    let mut content = Vec::new();
    if !reply.text.is_empty() {
        content.push(json!({"type": "text", "text": reply.text}));
    }
    if let Some(call) = &reply.call {
        content.push(json!({
            "type": "tool_use",
            "id": format!("toolu_{number}"),
            "name": call.tool.name,
            "input": call.value(),
        }));
    }
    let mut response = json!({
        "id": format!("msg_{number}"),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": content,
        "stop_reason": stop_reason(reply),
        "stop_sequence": null,
    });
    if let Some(map) = response.as_object_mut().filter(|_| config.usage) {
        let usage =
            json!({"input_tokens": count_tokens(&asked.prompt), "output_tokens": reply.tokens()});
        map.insert("usage".to_owned(), usage);
    }
    response
}

fn stop_reason<'r>(reply: &Reply<'r>) -> &'r str {
    if let Some(reason) = reply.finish_reason {
        return reason;
    }
    match (reply.finish, &reply.call) {
        (Finish::Length, _) => "max_tokens",
        (Finish::Refused, _) => "refusal",
        (Finish::Stop, Some(_)) => "tool_use",
        (Finish::Stop, None) => "end_turn",
    }
}

pub(super) fn error(refusal: &Refusal) -> Value {
    let kind = match refusal.problem.status() {
        401 => "authentication_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    };
    let message = match refusal.problem {
        Problem::UnknownModel => format!("model: {}", refusal.message),
        _ => refusal.message.clone(),
    };
    json!({"type": "error", "error": {"type": kind, "message": message}})
}
