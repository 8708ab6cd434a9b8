//! What LangChain's configuration has beside the keys of a check.

use super::asking;
use super::draft::Draft;
use super::error::{Desk, key_text};
use super::scope::Scope;
use super::{keys, names};
use crate::evaluator::{Entry, Origin, Role};
use crate::node::{Node, NodeValue};

/// LangChain's camelCase name of a key in either spelling.
pub(super) fn key(name: &str) -> Option<&'static str> {
    keys::LANGCHAIN
        .iter()
        .find(|key| key.name == name || key.also.contains(&name))
        .map(|key| key.name)
}

/// Reads `chainOptions`: the prompt and the settings of the judge.
pub(super) fn chain_options(
    desk: &mut Desk,
    scope: &Scope<'_>,
    draft: &mut Draft,
    key: &Node,
    value: &Node,
) {
    let what = key_text(key);
    if !draft.asks_for(Role::Judge) {
        return desk.note(
            key.span,
            format!("`{what}` is not used by {}", draft.called),
        );
    }
    let Some(entries) = desk.mapping(what, value, "write it as `{prompt: …, llmKwargs: {…}}`")
    else {
        return;
    };
    for (key, value) in entries {
        let name = key_text(key);
        match name {
            "prompt" => asking::read_prompt(desk, scope, draft, "chainOptions.prompt", value),
            "llmKwargs" | "llm_kwargs" => asking::read_settings(desk, scope, draft, name, value),
            "outputKey" | "output_key" | "tags" | "metadata" => desk.note(
                key.span,
                format!(
                    "`{what}.{name}` changes nothing: it labels a chain's run in LangChain's traces"
                ),
            ),
            "outputParser" | "output_parser" | "callbacks" | "memory" | "verbose" => desk.note(
                key.span,
                format!("`{what}.{name}` has no effect: it is code of LangChain"),
            ),
            _ => desk.unknown_key(key, &keys::names(keys::CHAIN), None),
        }
    }
}

/// The evaluator's own name of an option.
pub(super) fn own_name(entry: &Entry, option: &str) -> Option<String> {
    const SYNONYMS: [(&str, &str); 4] = [
        ("distance_metric", "distance"),
        ("distance_metric", "metric"),
        ("normalise_score", "normalize_score"),
        ("agent_tools", "tools"),
    ];
    let is_param = |name: &str| names::has_param(entry, name);
    if is_param(option) {
        return Some(option.to_owned());
    }
    let snake = names::snake_case(option);
    if is_param(&snake) {
        return Some(snake);
    }
    let synonym = SYNONYMS
        .iter()
        .find(|(theirs, ours)| *theirs == snake && is_param(ours));
    synonym.map(|(_, ours)| (*ours).to_owned())
}

/// The names of a check's criteria, joined by `-`: what the check is called where it says no name.
pub(super) fn criterion_names(entry: &Entry, params: Option<&Node>) -> Option<String> {
    if entry.info.origin != Origin::LangChain || !names::has_param(entry, "criteria") {
        return None;
    }
    let mut found = Vec::new();
    add_names(params?.get("criteria")?, &mut found);
    let is_name = |name: &&str| !name.is_empty() && !name.contains(|c: char| c.is_control());
    (!found.is_empty() && found.iter().all(is_name)).then(|| found.join("-"))
}

fn add_names<'n>(node: &'n Node, found: &mut Vec<&'n str>) {
    match &node.value {
        // A sentence or a place that a record fills is no name.
        NodeValue::Scalar(scalar) if !scalar.text.contains([' ', '{', '\n']) => {
            found.push(&scalar.text);
        }
        NodeValue::Sequence(items) => items.iter().for_each(|item| add_names(item, found)),
        NodeValue::Mapping(entries) => match principle(node) {
            Some(name) => found.push(name),
            None => found.extend(entries.iter().map(|(key, _)| key_text(key))),
        },
        NodeValue::Scalar(_) | NodeValue::Null(_) => {}
    }
}

/// The name of a constitutional principle, `{name, critiqueRequest, revisionRequest}`.
fn principle(node: &Node) -> Option<&str> {
    node.get("critiqueRequest")
        .or(node.get("critique_request"))?;
    node.get("name")?.as_str()
}
