//! From a record to what the target is asked.

use bumpalo::Bump;
use serde_json::value::RawValue;

use super::line::{Layout, Members};
use super::template::{Unfilled, percent_encoded, plain};
use super::{HttpTarget, Maker, ModelTarget};
use crate::model::{ChatMessage, HttpCall, HttpMethod};
use crate::record::{Content, Role, Slots, Turn};
use crate::runner::Picked;

/// Why a record can't be asked: no call is made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unaskable {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl From<Unfilled> for Unaskable {
    fn from(Unfilled(path): Unfilled) -> Self {
        Self {
            code: "missing_field",
            message: format!("its text takes `{{{path}}}`, which the record lacks"),
        }
    }
}

/// The messages that a record is asked by.
pub(super) fn messages(
    maker: &Maker,
    picked: &Picked<'_>,
    members: &Members<'_>,
    layout: &Layout<'_>,
    trial: u32,
    arena: &Bump,
) -> Result<Vec<ChatMessage>, Unaskable> {
    match maker {
        Maker::Model(model) => conversation(model, picked.slots, arena),
        Maker::Http(http) => {
            let shown = || members.shown(picked, layout, trial);
            Ok(vec![ChatMessage::user(http_call(
                http,
                picked.slots,
                shown,
                arena,
            )?)])
        }
        Maker::Command(_) => Ok(vec![ChatMessage::user(
            members.shown(picked, layout, trial),
        )]),
    }
}

fn conversation(
    model: &ModelTarget,
    slots: &Slots<'_>,
    arena: &Bump,
) -> Result<Vec<ChatMessage>, Unaskable> {
    let mut messages = match &model.prompt {
        Some(prompt) => vec![ChatMessage::user(prompt.fill(slots, arena, plain)?)],
        None => own_messages(slots)?,
    };
    let has_system = slots
        .messages
        .first()
        .is_some_and(|turn| turn.role == Role::System);
    if let Some(system) = &model.system
        && (model.prompt.is_some() || !has_system)
    {
        messages.insert(0, ChatMessage::system(system.fill(slots, arena, plain)?));
    }
    Ok(messages)
}

/// The record's messages, its query behind them where they do not end with a user's turn.
fn own_messages(slots: &Slots<'_>) -> Result<Vec<ChatMessage>, Unaskable> {
    let mut messages = slots
        .messages
        .iter()
        .map(message)
        .collect::<Result<Vec<_>, _>>()?;
    let ends_with_user = slots
        .messages
        .last()
        .is_some_and(|turn| turn.role == Role::User);
    match slots.query {
        Some(query) if !ends_with_user => messages.push(ChatMessage::user(text(query, "query")?)),
        None if messages.is_empty() => {
            return Err(Unaskable {
                code: "missing_field",
                message:
                    "the record has neither `query` nor `messages`, so there is nothing to ask"
                        .to_owned(),
            });
        }
        _ => {}
    }
    Ok(messages)
}

fn message(turn: &Turn<'_>) -> Result<ChatMessage, Unaskable> {
    let content = || match turn.content {
        Some(content) => text(content, "messages"),
        None => Ok(String::new()),
    };
    match turn.role {
        _ if turn.tool_calls.is_some() => Err(tools()),
        Role::Tool => Err(tools()),
        Role::System => content().map(ChatMessage::system),
        Role::User => content().map(ChatMessage::user),
        Role::Assistant => content().map(ChatMessage::assistant),
    }
}

fn tools() -> Unaskable {
    Unaskable {
        code: "model_unsupported",
        message: "its messages hold calls of tools, which a model target can't send; let an application answer it (`http` or `command`)".to_owned(),
    }
}

fn text(content: Content<'_>, field: &str) -> Result<String, Unaskable> {
    let text = content.text().or(content.json_source());
    text.map(str::to_owned).ok_or_else(|| Unaskable {
        code: "not_text",
        message: format!("`{field}` holds parts that are no text, which a model target can't send"),
    })
}

/// A call as [`HttpCall`] writes it.
fn http_call(
    http: &HttpTarget,
    slots: &Slots<'_>,
    shown: impl FnOnce() -> String,
    arena: &Bump,
) -> Result<String, Unaskable> {
    let query = http
        .query
        .as_ref()
        .map(|query| query.fill(slots, arena, percent_encoded))
        .transpose()?;
    let body = match (&http.body, http.method()) {
        (Some(body), _) => {
            let mut text = String::new();
            body.fill(slots, arena, &mut text)?;
            Some(text)
        }
        (None, HttpMethod::Get) => None,
        (None, _) => Some(shown()),
    };
    let body = body
        .as_deref()
        .map(serde_json::from_str::<&RawValue>)
        .transpose();
    let call = body.and_then(|body| {
        serde_json::to_string(&HttpCall {
            query: query.map(Into::into),
            body,
        })
    });
    call.map_err(|error| Unaskable {
        code: "not_json",
        message: format!("its body can't be written: {error}"),
    })
}
