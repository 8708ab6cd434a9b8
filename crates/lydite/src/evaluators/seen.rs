//! What a model had before it when it answered: conversation, tool turns, contexts.

use std::borrow::Cow;

use crate::decode::texts_of_parts;
use crate::json;
use crate::judge::Fill;
use crate::record::{Content, Role, Row, Turn};

/// A text that a response may draw on.
#[derive(Clone, Debug)]
pub(super) struct Source<'r> {
    /// Where it stands in the record: `messages/0`, `contexts/2`.
    pub(super) place: String,
    pub(super) text: Cow<'r, str>,
}

/// The texts that a response may draw on: system messages, tool turns and contexts. Blank ones are left out.
pub(super) fn sources<'r>(row: &Row<'r>) -> Vec<Source<'r>> {
    let is_source = |turn: &Turn<'_>| matches!(turn.role, Role::System | Role::Tool);
    let turns = row.messages().iter().enumerate();
    let turns = turns
        .filter(|(_, turn)| is_source(turn))
        .map(|(at, turn)| Source {
            place: format!("messages/{at}"),
            text: turn_text(turn),
        });
    let chunks = row.contexts().iter().enumerate();
    let chunks = chunks.map(|(at, chunk)| Source {
        place: format!("contexts/{at}"),
        text: chunk.document.into(),
    });
    turns
        .chain(chunks)
        .filter(|source| !source.text.trim().is_empty())
        .collect()
}

/// The same without their places.
pub(super) fn grounding<'r>(row: &Row<'r>) -> Vec<Cow<'r, str>> {
    sources(row).into_iter().map(|source| source.text).collect()
}

/// What the user said: the query, and all of the user's turns.
pub(super) fn asked(row: &Row<'_>) -> String {
    let turns = row.messages().iter().filter(|turn| turn.role == Role::User);
    let query = row.query().map(content_text);
    let said: Vec<Cow<'_, str>> = query.into_iter().chain(turns.map(turn_text)).collect();
    said.join("\n")
}

/// All that came before the response, in order: each message with its role, the query if no message says it, and
/// the contexts.
pub(super) fn input<'r>(row: &Row<'r>) -> Vec<Cow<'r, str>> {
    let turns = row.messages().iter();
    let mut said: Vec<Cow<'r, str>> = turns
        .map(|turn| labelled(turn.role.as_str(), &turn_text(turn)))
        .collect();
    if let Some(query) = row.query() {
        let query = labelled(Role::User.as_str(), &content_text(query));
        if !said.contains(&query) {
            said.push(query);
        }
    }
    let chunks = row.contexts().iter();
    said.extend(chunks.map(|chunk| labelled("context", chunk.document)));
    said
}

/// The query for a place that may stay without: fenced, or words that say that there is none.
pub(super) fn query_if_any<'r>(row: &Row<'r>) -> Fill<'r> {
    match row.query().map(content_text) {
        Some(text) if !text.trim().is_empty() => Fill::data(text),
        _ => Fill::words("(not given)"),
    }
}

fn labelled<'r>(role: &str, text: &str) -> Cow<'r, str> {
    format!("{role}: {text}").into()
}

/// A turn's text, with the calls of tools below it.
fn turn_text<'r>(turn: &Turn<'r>) -> Cow<'r, str> {
    let text = turn.content.map_or(Cow::Borrowed(""), content_text);
    match turn.tool_calls {
        Some(calls) if text.is_empty() => calls.into(),
        Some(calls) => format!("{text}\n{calls}").into(),
        None => text,
    }
}

/// A content as text: JSON in its canonical form; of parts, those that are text.
fn content_text(content: Content<'_>) -> Cow<'_, str> {
    match content {
        Content::Text(text)
        | Content::Json {
            text: Some(text), ..
        }
        | Content::Parts {
            text: Some(text), ..
        } => text.into(),
        Content::Parts { source, text: None } => {
            let texts = texts_of_parts(source).into_iter().map(|(_, text)| text);
            texts.collect::<Vec<_>>().join("\n").into()
        }
        Content::Json { source, text: None } => match json::parse(source) {
            Ok(tree) => {
                let mut text = String::new();
                json::canonical(&tree, &mut text);
                text.into()
            }
            Err(_) => source.into(),
        },
    }
}
