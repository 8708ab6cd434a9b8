//! Evaluators of a suite's own: Context.ai's custom evaluators.

use serde_json::json;

use super::error::{Desk, key_text};
use super::models::{self, SuiteModels};
use super::{keys, names};
use crate::evaluator::{Entry, Prepare, Registry};
use crate::model::ModelSpec;
use crate::node::{Node, Span, did_you_mean};

/// An evaluator that a suite defines by instructions to a judge.
#[derive(Clone, Debug)]
pub struct CustomEvaluator {
    /// The snake_case form of its name, as checks name it.
    pub id: String,
    /// Its name as it was written.
    pub name: String,
    /// The evaluator that does the work.
    pub(super) entry: Entry,
    /// That evaluator's parameters: `instructions` and `context`.
    pub(super) params: Node,
    /// Its own model in place of the suite's judge.
    pub(super) judges: Option<Vec<ModelSpec>>,
    /// The text that names its model.
    pub(super) used: Option<String>,
}

/// The evaluator behind all custom ones.
const EVALUATOR: &str = "custom_evaluator";

/// How much of a conversation the judge sees.
const CONTEXTS: [&str; 2] = ["model_response_only", "full_context"];

/// Reads `custom_evaluators:`.
pub(super) fn read(
    desk: &mut Desk,
    registry: &Registry,
    models: &SuiteModels,
    node: &Node,
) -> Vec<CustomEvaluator> {
    const HELP: &str = "put `- ` before each, as in `- {name: Brand tone, instructions: …}`";
    let mut read: Vec<CustomEvaluator> = Vec::new();
    if node.is_null() {
        return read;
    }
    let Some(items) = desk.list("custom_evaluators", node, HELP) else {
        return read;
    };
    let Some(entry) = registry.get(EVALUATOR) else {
        desk.error(
            node.span,
            "there are no custom evaluators here: no evaluator is called `custom_evaluator`",
            "",
        );
        return read;
    };
    for item in items {
        let Some(custom) = read_item(desk, entry, models, item) else {
            continue;
        };
        let taken = if registry.get(&custom.id).is_some() {
            Some(format!("`{}` is an evaluator already", custom.id))
        } else if read.iter().any(|other| other.id == custom.id) {
            Some(format!("two custom evaluators are called `{}`", custom.id))
        } else {
            None
        };
        match taken {
            Some(message) => {
                let place = item.get("name").map_or(item.span, |name| name.span);
                desk.error(place, message, "give this one another name");
            }
            None => read.push(custom),
        }
    }
    read
}

fn read_item(
    desk: &mut Desk,
    entry: &Entry,
    models: &SuiteModels,
    node: &Node,
) -> Option<CustomEvaluator> {
    const HELP: &str = "such as `{name: Brand tone, instructions: …, context: full_context}`";
    let entries = desk.mapping("custom evaluator", node, HELP)?;
    let (mut name, mut instructions, mut context) = (None, None, None);
    let (mut judges, mut used, mut wrong) = (None, None, false);
    for (key, value) in entries {
        match key_text(key) {
            "name" => {
                name = read_name(desk, value);
                wrong |= name.is_none();
            }
            "instructions" => {
                instructions = desk.text("instructions", value);
                wrong |= instructions.is_none();
            }
            "context" => {
                context = read_context(desk, value);
                wrong |= context.is_none();
            }
            what @ ("model" | "judge") => {
                judges = models::read_specs(desk, models, what, value);
                used = value.as_str().map(str::to_owned);
                wrong |= judges.is_none();
            }
            other => {
                desk.unknown_key(
                    key,
                    &keys::names(keys::CUSTOM),
                    keys::meant(keys::CUSTOM, other),
                );
                wrong = true;
            }
        }
    }
    for lacks in ["name", "instructions"] {
        if node.get(lacks).is_none() {
            desk.error(
                node.span,
                format!("a custom evaluator needs `{lacks}`"),
                HELP,
            );
            wrong = true;
        }
    }
    let name = name?;
    let mut params = json!({"instructions": instructions?});
    if let (Some(context), Some(object)) = (context, params.as_object_mut()) {
        object.insert("context".into(), context.into());
    }
    let params = Node::from_json(&params);
    let id = names::snake_case(name);
    wrong |= !is_right(desk, entry, &id, &params, node.span);
    (!wrong).then(|| CustomEvaluator {
        id,
        name: name.to_owned(),
        entry: entry.clone(),
        params,
        judges,
        used,
    })
}

/// A name whose snake_case form can be written in a suite.
fn read_name<'n>(desk: &mut Desk, value: &'n Node) -> Option<&'n str> {
    let name = desk.text("name", value)?;
    let id = names::snake_case(name);
    let is_word = id.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_word && id.contains(char::is_alphanumeric) {
        return Some(name);
    }
    desk.error(
        value.span,
        format!("`{name}` makes no id: checks would have to name it `{id}`"),
        "take letters, digits and spaces",
    );
    None
}

fn read_context<'n>(desk: &mut Desk, value: &'n Node) -> Option<&'n str> {
    let text = desk.text("context", value)?;
    if CONTEXTS.contains(&text) {
        return Some(text);
    }
    let message = match did_you_mean(text, CONTEXTS) {
        Some(near) => format!("unknown value `{text}` of `context` (did you mean `{near}`?)"),
        None => format!("unknown value `{text}` of `context`"),
    };
    desk.error(
        value.span,
        message,
        format!("allowed: {}", CONTEXTS.join(", ")),
    );
    None
}

/// Whether the evaluator takes these parameters, so that no check of it can be wrong by them.
fn is_right(desk: &mut Desk, entry: &Entry, id: &str, params: &Node, place: Span) -> bool {
    let cx = Prepare {
        check: id,
        ..Prepare::default()
    };
    let Err(errors) = entry.prepare(params, &cx) else {
        return true;
    };
    for error in errors.0 {
        desk.error(place, error.message, error.help.unwrap_or_default());
    }
    false
}
