//! The keys of a check that say which models it asks, and how.

use std::fs;

use super::draft::Draft;
use super::error::{Desk, found, key_text};
use super::models::{self, Moderation};
use super::scope::{Author, Scope};
use super::secrets;
use crate::check::Aggregate;
use crate::evaluator::{Compat, Local, Origin, Role};
use crate::judge::ScoreMode;
use crate::model::{ModelSpec, Temperature};
use crate::node::{Node, NodeValue, Span, did_you_mean};

/// The most repeats and samples of one judgement.
const MOST: u32 = 1000;

/// Reads one of `judge`, `aggregate`, `mode`, `prompt`, `repeat`, `compat`, `embedder`, `moderator`.
/// `what` is the word it was written with.
pub(super) fn read(
    desk: &mut Desk,
    scope: &Scope<'_>,
    draft: &mut Draft,
    known: &str,
    key: &Node,
    value: &Node,
) {
    let what = key_text(key);
    let role = match known {
        "compat" => return read_compat(desk, draft, key, value),
        "repeat" => return read_repeat(desk, draft, value),
        "embedder" => Role::Embedder,
        "moderator" => Role::Moderator,
        _ => Role::Judge,
    };
    if matches!(known, "judge" | "embedder" | "moderator") {
        let one = std::slice::from_ref(value);
        let texts = value.items().iter().chain(one).filter_map(Node::as_str);
        draft.names_models.extend(texts.map(str::to_owned));
    }
    if !draft.asks_for(role) {
        return note_idle(desk, draft, what, role, key.span);
    }
    draft.says_asks |= known != "prompt";
    match known {
        "judge" => read_judge(desk, scope, draft, key, value),
        "aggregate" => {
            draft.places.aggregate = key.span;
            if let Some(aggregate) = read_aggregate(desk, value) {
                draft.asks.aggregate = aggregate;
            }
        }
        "mode" => {
            if let Some(mode) = read_mode(desk, value) {
                draft.asks.mode = mode;
            }
        }
        "prompt" => read_prompt(desk, scope, draft, what, value),
        "embedder" => read_embedder(desk, scope, draft, what, value),
        _ => read_moderator(desk, scope, draft, what, value),
    }
}

/// Refuses a check that lacks a model it can't do without, says where one does without, and settles
/// what hangs on several keys.
pub(super) fn complete(desk: &mut Desk, scope: &Scope<'_>, draft: &mut Draft) {
    let models = &scope.definitions.models;
    let (place, called) = (draft.places.evaluator, draft.called.clone());
    if draft.places.aggregate.is_known() && draft.asks.judges.len() < 2 {
        desk.note(
            draft.places.aggregate,
            "`aggregate` has no effect without several judges",
        );
    }
    if draft.incomplete || models.unread() {
        return;
    }
    match draft.asks.local(draft.entry.info) {
        Some(local) => say_local(desk, scope, draft, local),
        None if draft.asks_for(Role::Judge) && draft.asks.judges.is_empty() => desk.error(
            place,
            format!("`{called}` needs models.judge: a chat model that judges, and none is named"),
            "such as `models: {judge: openai/gpt-4.1-mini}`, or `judge:` beside `evaluator:`",
        ),
        None => {
            say_moderator(desk, scope, draft);
            say_idle_models(desk, draft);
        }
    }
}

/// Says that a judge stands before a model that would be asked without one.
fn say_idle_models(desk: &mut Desk, draft: &Draft) {
    let named = [
        (Role::Nli, &draft.asks.nli),
        (Role::Classifier, &draft.asks.classifier),
    ];
    for (role, _) in named.iter().filter(|(_, spec)| spec.is_some()) {
        let (called, role) = (&draft.called, role.as_str());
        let message = format!(
            "`{called}` asks its judge, not the model `{role}`; write `judge: local` beside `evaluator:` for the latter"
        );
        desk.note(draft.places.evaluator, message);
    }
}

/// Says that a check works by a local method, and refuses what only a judge can do.
fn say_local(desk: &mut Desk, scope: &Scope<'_>, draft: &mut Draft, local: &Local) {
    let called = draft.called.clone();
    let role = local.replaces.as_str();
    let for_judges = [
        ("prompt", draft.prompt.is_some()),
        ("mode", draft.asks.mode != ScoreMode::Verdict),
    ];
    for (key, _) in for_judges.iter().filter(|(_, is_set)| *is_set) {
        desk.error(
            draft.places.evaluator,
            format!("`{key}` is for a judge, and `{called}` works by its local method, since no {role} is named"),
            format!("name one under `models: {{{role}: …}}`, or leave `{key}` out"),
        );
    }
    if draft.asks.repeat > 1 {
        let message = format!(
            "`repeat` changes nothing: {called} gives the same result every time, so it runs once"
        );
        desk.note(draft.places.evaluator, message);
        draft.asks.repeat = 1;
    }
    // Embedders are local by nature of the role, not in place of another judgement.
    if local.replaces != Role::Embedder && !matches!(scope.author, Author::Record) {
        let Local {
            method, version, ..
        } = local;
        let message = format!(
            "`{called}` is judged by the local method {method} {version}, not by a {}; `lydite evaluators show {called}` tells how often that is right",
            if local.replaces == Role::Judge {
                "chat model"
            } else {
                role
            }
        );
        desk.note(draft.places.evaluator, message);
    }
}

/// Says which moderator `auto` has found.
fn say_moderator(desk: &mut Desk, scope: &Scope<'_>, draft: &Draft) {
    let moderation = draft
        .moderation
        .unwrap_or(scope.definitions.models.moderation());
    if draft.asks_for(Role::Moderator) && moderation == Moderation::Auto {
        let message = format!(
            "`{}` asks OpenAI's moderation endpoint (`moderator: auto`, and OPENAI_API_KEY is set)",
            draft.called
        );
        desk.note(draft.places.evaluator, message);
    }
}

fn note_idle(desk: &mut Desk, draft: &Draft, what: &str, role: Role, span: Span) {
    let called = &draft.called;
    let why = if draft.entry.info.models.is_empty() {
        "is computed and asks no model".to_owned()
    } else {
        format!("asks no {}", role.as_str())
    };
    desk.note(span, format!("`{what}` has no effect: {called} {why}"));
}

/// Whether a value may stand there: a record names models of its suite, and describes none.
fn may_name(desk: &mut Desk, scope: &Scope<'_>, what: &str, value: &Node) -> bool {
    if scope.author != Author::Record {
        return true;
    }
    let models = &scope.definitions.models;
    let one = std::slice::from_ref(value);
    let items = if matches!(value.value, NodeValue::Sequence(_)) {
        value.items()
    } else {
        one
    };
    let foreign = items.iter().find(|item| {
        item.as_str()
            .is_none_or(|name| models.by_name(name).is_none())
    });
    let Some(foreign) = foreign else {
        return true;
    };
    let known: Vec<&str> = models.named.keys().map(String::as_str).collect();
    let help = if known.is_empty() {
        "name it there, or leave the key out".to_owned()
    } else {
        format!("models: {}", known.join(", "))
    };
    desk.error(
        foreign.span,
        format!("`{what}`: a record names only models that stand under the suite's `models:`"),
        help,
    );
    false
}

fn read_judge(desk: &mut Desk, scope: &Scope<'_>, draft: &mut Draft, key: &Node, value: &Node) {
    if draft.places.judge.is_known() {
        let message = format!("`{}` names the judge a second time", key_text(key));
        return desk.error(key.span, message, "keep one of the two");
    }
    draft.places.judge = key.span;
    if value.as_str() == Some("local") {
        draft.asks.judges.clear();
        return;
    }
    let specs = may_name(desk, scope, key_text(key), value)
        .then(|| models::read_specs(desk, &scope.definitions.models, key_text(key), value))
        .flatten()
        .filter(|specs| models::chat(desk, value, specs));
    match specs {
        Some(specs) => draft.asks.judges = specs,
        None => draft.incomplete = true,
    }
}

fn read_embedder(desk: &mut Desk, scope: &Scope<'_>, draft: &mut Draft, what: &str, value: &Node) {
    draft.asks.embedder = None;
    if value.as_str() == Some("local") {
        return;
    }
    if may_name(desk, scope, what, value) {
        draft.asks.embedder = models::read_one(desk, &scope.definitions.models, what, value);
    }
    draft.incomplete |= draft.asks.embedder.is_none();
}

fn read_moderator(desk: &mut Desk, scope: &Scope<'_>, draft: &mut Draft, what: &str, value: &Node) {
    let definitions = scope.definitions;
    let is_word = value
        .as_str()
        .is_some_and(|text| matches!(text, "local" | "none"));
    if !is_word && !may_name(desk, scope, what, value) {
        draft.incomplete = true;
        return;
    }
    let before = desk.errors.len();
    let (moderation, spec) =
        models::read_moderator(desk, &definitions.models, value, definitions.openai_key);
    draft.incomplete |= desk.errors.len() > before;
    draft.moderation = Some(moderation);
    draft.asks.moderator = spec;
    draft.asks.unmoderated = moderation == Moderation::Off;
}

fn read_aggregate(desk: &mut Desk, value: &Node) -> Option<Aggregate> {
    let words = [("majority", Aggregate::Majority), ("mean", Aggregate::Mean)];
    word(desk, "aggregate", value, &words)
}

fn read_mode(desk: &mut Desk, value: &Node) -> Option<ScoreMode> {
    const HELP: &str = "allowed: verdict, logprob, {sample: 5}";
    match (&value.value, value.as_str()) {
        (_, Some("verdict")) => Some(ScoreMode::Verdict),
        (_, Some("logprob")) => Some(ScoreMode::Logprob),
        (_, Some("sample")) => {
            desk.error(
                value.span,
                "`mode: sample` must say how many answers",
                "write `mode: {sample: 5}`",
            );
            None
        }
        (_, Some(text)) => {
            let near = match did_you_mean(text, ["verdict", "logprob", "sample"]) {
                Some(near) => format!(" (did you mean `{near}`?)"),
                None => String::new(),
            };
            desk.error(
                value.span,
                format!("unknown value `{text}` of `mode`{near}"),
                HELP,
            );
            None
        }
        (NodeValue::Mapping(entries), None) => match entries.as_slice() {
            [(key, count)] if key_text(key) == "sample" => {
                whole_number(desk, "sample", count).map(ScoreMode::Sample)
            }
            _ => {
                desk.error(
                    value.span,
                    "`mode` is a mapping with other keys than `sample`",
                    HELP,
                );
                None
            }
        },
        _ => {
            desk.error(
                value.span,
                format!("`mode` must be text, found {}", found(value)),
                HELP,
            );
            None
        }
    }
}

fn read_repeat(desk: &mut Desk, draft: &mut Draft, value: &Node) {
    let Some(repeat) = whole_number(desk, "repeat", value) else {
        return;
    };
    if draft.asks_for(Role::Judge) {
        draft.asks.repeat = repeat;
        draft.says_asks = true;
    } else if repeat > 1 {
        let called = &draft.called;
        desk.note(
            value.span,
            format!("`repeat` changes nothing: {called} gives the same result every time, so it runs once"),
        );
    }
}

fn whole_number(desk: &mut Desk, what: &str, value: &Node) -> Option<u32> {
    let number = value.deserialize_into::<u32>().ok();
    let number = number.filter(|number| (1..=MOST).contains(number));
    if number.is_none() {
        desk.error(
            value.span,
            format!(
                "`{what}` must be a whole number from 1 to {MOST}, found {}",
                found(value)
            ),
            "",
        );
    }
    number
}

fn read_compat(desk: &mut Desk, draft: &mut Draft, key: &Node, value: &Node) {
    let words = [
        ("langchain-js", Compat::LangchainJs),
        ("langchain-py", Compat::LangchainPy),
    ];
    let Some(compat) = word(desk, "compat", value, &words) else {
        return;
    };
    if draft.entry.info.origin == Origin::LangChain && draft.asks_for(Role::Judge) {
        draft.compat = Some(compat);
        return;
    }
    desk.error(
        key.span,
        format!("`compat` says how LangChain reads a judge's reply, and {} is none of its evaluators with a judge", draft.called),
        "leave it out",
    );
}

fn word<T: Copy>(desk: &mut Desk, what: &str, value: &Node, words: &[(&str, T)]) -> Option<T> {
    let text = desk.text(what, value)?;
    if let Some((_, known)) = words.iter().find(|(word, _)| *word == text) {
        return Some(*known);
    }
    let names = || words.iter().map(|(word, _)| *word);
    let near = match did_you_mean(text, names()) {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None => String::new(),
    };
    let allowed = names().collect::<Vec<_>>().join(", ");
    desk.error(
        value.span,
        format!("unknown value `{text}` of `{what}`{near}"),
        format!("allowed: {allowed}"),
    );
    None
}

/// A prompt as text, or `{file: path}`.
pub(super) fn read_prompt(
    desk: &mut Desk,
    scope: &Scope<'_>,
    draft: &mut Draft,
    what: &str,
    value: &Node,
) {
    if draft.places.prompt.is_known() {
        let message = format!("`{what}` gives the prompt a second time");
        return desk.error(value.span, message, "keep one of the two");
    }
    draft.places.prompt = value.span;
    match &value.value {
        NodeValue::Mapping(entries) => match entries.as_slice() {
            [(key, path)] if key_text(key) == "file" => {
                let Some(path) = desk.text("file", path) else {
                    return;
                };
                draft.prompt = prompt_of_file(desk, scope, path, value.span);
            }
            _ => desk.error(
                value.span,
                format!("`{what}` must be text, or `{{file: path}}`"),
                "",
            ),
        },
        _ => draft.prompt = desk.text(what, value).map(str::to_owned),
    }
}

fn prompt_of_file(desk: &mut Desk, scope: &Scope<'_>, path: &str, span: Span) -> Option<String> {
    let folder = match scope.author {
        Author::Suite(folder) => folder,
        Author::Stored => return None,
        Author::Record => {
            desk.error(span, "a record can't name files", "write the prompt itself");
            return None;
        }
    };
    let full = folder.join(path);
    match fs::read_to_string(&full) {
        Ok(text) if text.trim().is_empty() => {
            desk.error(
                span,
                format!("the prompt `{}` is empty", full.display()),
                "",
            );
            None
        }
        Ok(text) => Some(text),
        Err(error) => {
            desk.error(
                span,
                format!("can't read the prompt `{}`: {error}", full.display()),
                "a relative path starts at the suite's folder",
            );
            None
        }
    }
}

/// LangChain's `llmKwargs`: settings over those of every judge.
pub(super) fn read_settings(
    desk: &mut Desk,
    scope: &Scope<'_>,
    draft: &mut Draft,
    what: &str,
    value: &Node,
) {
    if scope.author == Author::Record {
        let message = format!("`{what}`: a record can't change the settings of its suite's models");
        return desk.error(value.span, message, "leave it out");
    }
    let Some(entries) = desk.mapping(what, value, "write it as `{temperature: 0}`") else {
        return;
    };
    for secret in secrets::of_settings(value) {
        desk.error(secret.span, secret.message, secret.help);
    }
    for (key, value) in entries {
        let name = key_text(key);
        let read = match name {
            "model" | "modelName" | "model_name" => desk
                .text(name, value)
                .map(|model| Setting::Model(model.to_owned())),
            "temperature" => desk.scalar(name, "a number from 0 up, or null", value).map(
                |temperature: Option<f64>| {
                    Setting::Temperature(temperature.map_or(Temperature::Provider, Temperature::At))
                },
            ),
            "seed" => desk
                .scalar(name, "a whole number from 0 up", value)
                .map(Setting::Seed),
            "max_tokens" | "maxTokens" | "max_output_tokens" | "max_completion_tokens" => {
                whole_tokens(desk, name, value).map(Setting::MaxTokens)
            }
            _ => Some(Setting::Parameter(name.to_owned(), value.to_json())),
        };
        draft.settings.extend(read);
    }
}

fn whole_tokens(desk: &mut Desk, name: &str, value: &Node) -> Option<u32> {
    let tokens = desk.scalar(name, "a whole number from 1 up", value)?;
    if tokens == 0 {
        desk.error(
            value.span,
            format!("`{name}` must be a whole number from 1 up, found the number `0`"),
            "",
        );
        return None;
    }
    Some(tokens)
}

/// One of `llmKwargs`.
#[derive(Clone, Debug)]
pub(super) enum Setting {
    Model(String),
    Temperature(Temperature),
    Seed(u64),
    MaxTokens(u32),
    Parameter(String, serde_json::Value),
}

impl Setting {
    /// Puts it over what the model's own description says.
    pub(super) fn put(&self, spec: &mut ModelSpec) {
        match self {
            Self::Model(model) => spec.model.clone_from(model),
            Self::Temperature(temperature) => spec.temperature = *temperature,
            Self::Seed(seed) => spec.seed = Some(*seed),
            Self::MaxTokens(tokens) => spec.max_output_tokens = Some(*tokens),
            Self::Parameter(name, value) => {
                spec.parameters.insert(name.clone(), value.clone());
            }
        }
    }
}
