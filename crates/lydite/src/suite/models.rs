//! The models of a suite: `models:`, by role and by name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use super::error::{Desk, key_text};
use super::secrets;
use crate::check::Asks;
use crate::evaluator::{Info, Role};
use crate::model::{LOCAL_EMBEDDER, ModelSpec, Provider};
use crate::node::{Node, NodeValue, Span, check_against_schema, did_you_mean};

/// The models that checks ask where they name none, and those that they may name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SuiteModels {
    /// One judge, or a jury; empty where the suite names none.
    pub judges: Vec<ModelSpec>,
    pub embedder: Option<ModelSpec>,
    pub moderator: Option<ModelSpec>,
    pub classifier: Option<ModelSpec>,
    pub nli: Option<ModelSpec>,
    /// Models by a name of the suite's own.
    pub named: BTreeMap<String, ModelSpec>,
    moderation: Moderation,
    /// Some model could not be read: what lacks one may lack this one.
    unread: bool,
    places: BTreeMap<String, Span>,
}

/// What `moderator:` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Moderation {
    /// Left out, or `local`.
    #[default]
    Local,
    /// `auto`, which is the endpoint of `OpenAI` where its key is set.
    Auto,
    Named,
    /// `none`.
    Off,
}

/// The names of roles under `models:`.
pub(super) const ROLES: [&str; 5] = ["judge", "embedder", "moderator", "classifier", "nli"];

/// Words that stand for something else than a model of that name.
const RESERVED: [&str; 4] = ["local", "auto", "none", "openai"];

/// `OpenAI`'s model of moderation.
const OPENAI_MODERATION: &str = "omni-moderation-latest";

/// The JSON Schema of a [`ModelSpec`].
pub(super) static SPEC_SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::SchemaGenerator::default()
        .into_root_schema_for::<ModelSpec>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    schema
});

impl SuiteModels {
    /// What a check of this evaluator asks where it says nothing itself.
    pub fn default_asks(&self, info: &Info) -> Asks {
        let asks = |role: Role| {
            let of_locals = info.locals.iter().flat_map(|local| local.models);
            info.models.iter().chain(of_locals).any(|own| *own == role)
        };
        let of = |role, spec: &Option<ModelSpec>| spec.clone().filter(|_| asks(role));
        let judges = asks(Role::Judge).then(|| self.judges.clone());
        Asks {
            judges: judges.unwrap_or_default(),
            embedder: of(Role::Embedder, &self.embedder),
            moderator: of(Role::Moderator, &self.moderator),
            unmoderated: self.moderation == Moderation::Off,
            classifier: of(Role::Classifier, &self.classifier),
            nli: of(Role::Nli, &self.nli),
            ..Asks::default()
        }
    }

    /// The models that `name` stands for: a model's own name, or `judge`.
    pub(super) fn by_name(&self, name: &str) -> Option<&[ModelSpec]> {
        match self.named.get(name) {
            Some(spec) => Some(std::slice::from_ref(spec)),
            None if name == "judge" && !self.judges.is_empty() => Some(&self.judges),
            None => None,
        }
    }

    /// What `moderator:` says.
    pub(super) const fn moderation(&self) -> Moderation {
        self.moderation
    }

    /// Whether some model could not be read, which a check may lack for that reason.
    pub(super) const fn unread(&self) -> bool {
        self.unread
    }

    /// Models that were named for nothing: a name that none of the used ones is, and its place.
    pub(super) fn unused<'m>(
        &'m self,
        used: impl Fn(&str) -> bool + 'm,
    ) -> impl Iterator<Item = (Span, String)> + 'm {
        let unused = self.places.iter().filter(move |(name, _)| !used(name));
        unused.map(|(name, span)| {
            let message = match did_you_mean(name, ROLES) {
                Some(role) => {
                    format!("no check uses the model `{name}` (did you mean the role `{role}`?)")
                }
                None => {
                    format!("no check uses the model `{name}`; a check names it by `judge: {name}`")
                }
            };
            (*span, message)
        })
    }
}

/// Reads `models:`. `openai_key` says whether the environment holds `OpenAI`'s key.
pub(super) fn read(desk: &mut Desk, node: &Node, openai_key: bool) -> SuiteModels {
    const HELP: &str = "write it as `{judge: openai/gpt-4.1-mini}`";
    let mut models = SuiteModels::default();
    if node.is_null() {
        return models;
    }
    let Some(entries) = desk.mapping("models", node, HELP) else {
        models.unread = true;
        return models;
    };
    let (roles, named): (Vec<_>, Vec<_>) = entries
        .iter()
        .partition(|(key, _)| ROLES.contains(&key_text(key)));
    for (key, value) in named {
        read_named(desk, &mut models, key, value);
    }
    for (key, value) in roles {
        read_role(desk, &mut models, key, value, openai_key);
    }
    models
}

/// Reads LangChain's `eval_llm`: the judge of checks that name none.
pub(super) fn read_eval_llm(desk: &mut Desk, models: &mut SuiteModels, key: &Node, value: &Node) {
    if !models.judges.is_empty() {
        return desk.error(
            key.span,
            format!(
                "`{}` and `models: {{judge: …}}` both name the judge",
                key_text(key)
            ),
            "keep one of the two",
        );
    }
    read_judges(desk, models, key_text(key), value);
}

/// One model, or several: texts and mappings, alone or in a list. `None` where one is wrong.
pub(super) fn read_specs(
    desk: &mut Desk,
    models: &SuiteModels,
    what: &str,
    node: &Node,
) -> Option<Vec<ModelSpec>> {
    let NodeValue::Sequence(items) = &node.value else {
        return read_spec(desk, models, what, node);
    };
    if items.is_empty() {
        desk.error(
            node.span,
            format!("`{what}` is an empty list"),
            "name one model, or several for a jury",
        );
        return None;
    }
    let read: Vec<_> = items
        .iter()
        .map(|item| match item.value {
            NodeValue::Sequence(_) => {
                desk.error(
                    item.span,
                    "a jury is a plain list of models",
                    "take the inner list apart",
                );
                None
            }
            _ => read_spec(desk, models, what, item),
        })
        .collect();
    let specs = read.into_iter().collect::<Option<Vec<_>>>()?;
    Some(specs.into_iter().flatten().collect())
}

/// Exactly one model.
pub(super) fn read_one(
    desk: &mut Desk,
    models: &SuiteModels,
    what: &str,
    node: &Node,
) -> Option<ModelSpec> {
    if matches!(node.value, NodeValue::Sequence(_)) {
        desk.error(
            node.span,
            format!("`{what}` must be one model, found a list"),
            "only `judge` may be several",
        );
        return None;
    }
    let mut specs = read_spec(desk, models, what, node)?;
    let spec = specs.pop();
    if !specs.is_empty() {
        desk.error(
            node.span,
            format!("`{what}` must be one model, and `judge` is a jury"),
            "",
        );
        return None;
    }
    spec
}

fn read_named(desk: &mut Desk, models: &mut SuiteModels, key: &Node, value: &Node) {
    let name = key_text(key);
    let wrong = if RESERVED.contains(&name) {
        Some(format!(
            "`{name}` is no name for a model, since it means something of its own"
        ))
    } else if name.contains('/') || name.trim().is_empty() {
        Some(format!("`{name}` is no name for a model"))
    } else {
        None
    };
    if let Some(message) = wrong {
        let help = format!(
            "roles: {}; any other name without `/` is a model that checks name",
            ROLES.join(", ")
        );
        return desk.error(key.span, message, help);
    }
    let spec = read_one(desk, &SuiteModels::default(), name, value);
    models.unread |= spec.is_none();
    models.places.insert(name.to_owned(), key.span);
    // A model that can't be read is known all the same, so that its uses are no further errors.
    let spec = spec.unwrap_or_else(|| ModelSpec::new(Provider::Scripted, name));
    models.named.insert(name.to_owned(), spec);
}

fn read_role(
    desk: &mut Desk,
    models: &mut SuiteModels,
    key: &Node,
    value: &Node,
    openai_key: bool,
) {
    match key_text(key) {
        "judge" => read_judges(desk, models, "judge", value),
        "moderator" => {
            let (moderation, spec) = read_moderator(desk, models, value, openai_key);
            (models.moderation, models.moderator) = (moderation, spec);
        }
        _ if value.as_str() == Some("local") => {}
        "embedder" => {
            models.embedder = read_one(desk, models, "embedder", value);
            models.unread |= models.embedder.is_none();
        }
        role => {
            let spec = read_classifier(desk, models, role, value);
            models.unread |= spec.is_none();
            match role {
                "nli" => models.nli = spec,
                _ => models.classifier = spec,
            }
        }
    }
}

/// A classifier is a model on this machine.
fn read_classifier(
    desk: &mut Desk,
    models: &SuiteModels,
    role: &str,
    value: &Node,
) -> Option<ModelSpec> {
    let spec = read_one(desk, models, role, value)?;
    if spec.path.is_some() {
        return Some(spec);
    }
    desk.error(
        value.span,
        format!("`{role}` must be a model on this machine, found {}", spec.name()),
        format!("write `{role}: {{path: <folder with config.json, tokenizer.json and model.safetensors>}}`"),
    );
    None
}

/// `local` is the same as no judge: evaluators that have a local method take it.
fn read_judges(desk: &mut Desk, models: &mut SuiteModels, what: &str, value: &Node) {
    if value.as_str() == Some("local") {
        return;
    }
    let judges = read_specs(desk, models, what, value).filter(|specs| chat(desk, value, specs));
    models.unread |= judges.is_none();
    models.judges = judges.unwrap_or_default();
}

/// Whether all are chat models; what runs in this process embeds and classifies.
pub(super) fn chat(desk: &mut Desk, node: &Node, specs: &[ModelSpec]) -> bool {
    let Some(local) = specs.iter().find(|spec| spec.is_local()) else {
        return true;
    };
    desk.error(
        node.span,
        format!("a judge is a chat model, and {} is none", local.name()),
        "for a chat model on this machine write `ollama/<model>`, or another server's `{provider: openai, model: …, base_url: …}`; `judge: local` asks for the local method",
    );
    false
}

/// What `moderator:` says, and the model that it comes to.
pub(super) fn read_moderator(
    desk: &mut Desk,
    models: &SuiteModels,
    value: &Node,
    openai_key: bool,
) -> (Moderation, Option<ModelSpec>) {
    let openai = || ModelSpec::new(Provider::OpenAi, OPENAI_MODERATION);
    match value.as_str() {
        Some("local") => (Moderation::Local, None),
        Some("none") => (Moderation::Off, None),
        Some("auto") => (Moderation::Auto, openai_key.then(openai)),
        Some("openai") => (Moderation::Named, Some(openai())),
        _ => (
            Moderation::Named,
            read_one(desk, models, "moderator", value),
        ),
    }
}

/// A name of `models:`, `provider/model`, or a mapping.
fn read_spec(
    desk: &mut Desk,
    models: &SuiteModels,
    what: &str,
    node: &Node,
) -> Option<Vec<ModelSpec>> {
    if matches!(node.value, NodeValue::Mapping(_)) {
        return read_mapping(desk, node).map(|spec| vec![spec]);
    }
    let text = desk.text(what, node)?.trim();
    if let Some(specs) = models.by_name(text) {
        return Some(specs.to_vec());
    }
    if !text.contains('/') {
        unknown_model(desk, models, text, node.span);
        return None;
    }
    match ModelSpec::parse(text) {
        Ok(spec) => Some(vec![spec]),
        Err(problem) => {
            desk.error(node.span, problem.message, problem.help);
            None
        }
    }
}

/// Says that nothing under `models:` has this name.
pub(super) fn unknown_model(desk: &mut Desk, models: &SuiteModels, name: &str, span: Span) {
    let names = || models.named.keys().map(String::as_str);
    let message = match did_you_mean(name, names()) {
        Some(near) => format!("no model is named `{name}` (did you mean `{near}`?)"),
        None => format!("no model is named `{name}`"),
    };
    let known = names().collect::<Vec<_>>().join(", ");
    let known = if known.is_empty() {
        String::new()
    } else {
        format!("models: {known}; ")
    };
    desk.error(
        span,
        message,
        format!("{known}write `provider/model`, such as `openai/gpt-4.1-mini`, or name it under `models:`"),
    );
}

/// All that is wrong with a model's mapping, or the model.
fn read_mapping(desk: &mut Desk, node: &Node) -> Option<ModelSpec> {
    let before = desk.errors.len();
    let secrets = secrets::of_model(node);
    for secret in &secrets {
        desk.error(secret.span, secret.message.clone(), secret.help);
    }
    for problem in check_against_schema(node, &SPEC_SCHEMA, &|_| false) {
        if !secrets.iter().any(|secret| secret.key == problem.span) {
            desk.error(
                problem.span,
                problem.message,
                problem.help.unwrap_or_default(),
            );
        }
    }
    if desk.errors.len() > before {
        return None;
    }
    match node.deserialize_into::<ModelSpec>() {
        Ok(spec) => {
            let spec = in_folder(spec, &desk.source.name);
            whole(desk, node.span, spec)
        }
        Err(error) => {
            desk.error(error.span, error.message, "");
            None
        }
    }
}

/// Files of a model start at the suite's folder.
fn in_folder(mut spec: ModelSpec, suite: &str) -> ModelSpec {
    let folder = Path::new(suite).parent().unwrap_or(Path::new(""));
    let files = [&mut spec.file, &mut spec.ca_file, &mut spec.path];
    for file in files.into_iter().flatten() {
        *file = folder.join(&*file).to_string_lossy().into_owned();
    }
    spec
}

/// A model without its name, or a kind of program without the program, is none.
fn whole(desk: &mut Desk, span: Span, spec: ModelSpec) -> Option<ModelSpec> {
    if spec.provider == Provider::Local {
        return local(desk, span, spec);
    }
    let (lacks, key, example) = match spec.provider {
        Provider::Command => (
            spec.command.is_empty(),
            "command",
            "command: [./judge, --fast]",
        ),
        Provider::Scripted => (spec.file.is_none(), "file", "file: replies.jsonl"),
        _ => (
            spec.model.is_empty(),
            "model",
            "model: <the provider's name of it>",
        ),
    };
    if lacks {
        let provider = spec.provider.as_str();
        desk.error(
            span,
            format!("a model of `{provider}` needs `{key}`"),
            format!("write `{example}`"),
        );
        return None;
    }
    Some(spec)
}

/// A model of this machine is the built-in embedder, or lies in a folder.
fn local(desk: &mut Desk, span: Span, spec: ModelSpec) -> Option<ModelSpec> {
    if spec.path.is_some() || spec.model == LOCAL_EMBEDDER {
        return Some(spec);
    }
    desk.error(
        span,
        "a model needs its `provider`, or a `path` where it lies on this machine",
        "write `{provider: openai, model: …}` or `{path: <folder>}`",
    );
    None
}
