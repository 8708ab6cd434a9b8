//! The forms a check is written in: an id, `id: parameters`, the long form, and LangChain's.

use super::asking;
use super::draft::Draft;
use super::error::{Desk, found, key_text};
use super::inputs::{self, Input};
use super::scope::Scope;
use super::{keys, langchain, names};
use crate::check::OnMissing;
use crate::evaluator::Entry;
use crate::node::{Node, NodeValue, Scalar, Span, did_you_mean};
use crate::record::Field;

/// Reads one check in any of its forms; `None` where it has an error that leaves nothing to compile.
pub(super) fn read(desk: &mut Desk, scope: &Scope<'_>, node: &Node) -> Option<Draft> {
    let draft = match &node.value {
        NodeValue::Scalar(_) => {
            let id = desk.text("evaluator", node)?;
            Draft::named(desk, scope, id, node.span, node.span)
        }
        NodeValue::Mapping(entries) => read_mapping(desk, scope, node, entries),
        NodeValue::Null(_) | NodeValue::Sequence(_) => {
            desk.error(
                node.span,
                format!(
                    "a check must be an evaluator's id or a mapping, found {}",
                    found(node)
                ),
                EXAMPLE,
            );
            None
        }
    };
    draft.map(|draft| draft.finished(desk, scope))
}

const EXAMPLE: &str = "write `- exact_match`, `- contains: 30 days`, or the long form with `evaluator:`, `params:`, `threshold:`";

fn read_mapping(
    desk: &mut Desk,
    scope: &Scope<'_>,
    node: &Node,
    entries: &[(Node, Node)],
) -> Option<Draft> {
    let has = |name: &str| entries.iter().any(|(key, _)| key_text(key) == name);
    if has("evaluatorType") || has("evaluator_type") {
        return Long::new(desk, scope, node, true).read(entries);
    }
    if has("evaluator") {
        return Long::new(desk, scope, node, false).read(entries);
    }
    match entries {
        [(key, value)] => read_short(desk, scope, node, key, value),
        [] => {
            desk.error(node.span, "a check is an empty mapping", EXAMPLE);
            None
        }
        _ => {
            refuse_mixed(desk, scope, node, entries);
            None
        }
    }
}

/// Several keys and no `evaluator`: says what was probably meant.
fn refuse_mixed(desk: &mut Desk, scope: &Scope<'_>, node: &Node, entries: &[(Node, Node)]) {
    let named = entries
        .iter()
        .find(|(key, _)| scope.names().any(|name| name == key_text(key)));
    if let Some((key, _)) = named {
        let id = key_text(key);
        let others = entries
            .iter()
            .map(|(key, _)| key_text(key))
            .filter(|name| *name != id)
            .map(|name| format!("`{name}`"))
            .collect::<Vec<_>>();
        desk.error(
            key.span,
            format!("`{id}:` with {} beside it is no form of a check", others.join(", ")),
            format!("write `evaluator: {id}` with its parameters under `params:`, or put the other keys under `{id}:` if they are its parameters"),
        );
        return;
    }
    let meant = entries
        .iter()
        .find(|(key, _)| keys::meant(keys::CHECK, key_text(key)) == Some("evaluator"));
    if let Some((key, _)) = meant {
        return desk.unknown_key(key, &keys::names(keys::CHECK), Some("evaluator"));
    }
    let near = entries
        .iter()
        .find_map(|(key, _)| did_you_mean(key_text(key), scope.names()));
    let help = near.map_or_else(
        || EXAMPLE.to_owned(),
        |near| format!("did you mean the evaluator `{near}`? {EXAMPLE}"),
    );
    desk.error(node.span, "this check names no evaluator", help);
}

/// `id: parameters` or `id: principal parameter`.
fn read_short(
    desk: &mut Desk,
    scope: &Scope<'_>,
    node: &Node,
    key: &Node,
    value: &Node,
) -> Option<Draft> {
    let id = key_text(key);
    let is_known = scope.names().any(|name| name == id);
    if !is_known && keys::meant(keys::CHECK, id) == Some("evaluator") {
        desk.unknown_key(key, &keys::names(keys::CHECK), Some("evaluator"));
        return None;
    }
    let mut draft = Draft::named(desk, scope, id, node.span, key.span)?;
    draft.places.params = value.span;
    match &value.value {
        NodeValue::Null(_) => {
            desk.error(
                value.span,
                "value is null; quote it if you mean the text",
                format!("for the defaults of `{id}` write `- {id}`"),
            );
            return None;
        }
        _ if draft.custom => draft.refuse_params(desk, value.span),
        NodeValue::Mapping(_) => draft.params = Some(value.clone()),
        NodeValue::Scalar(_) | NodeValue::Sequence(_) => {
            draft.params = Some(principal(desk, &draft.entry, id, value)?);
        }
    }
    Some(draft)
}

/// A plain value as the parameter it stands for.
fn principal(desk: &mut Desk, entry: &Entry, id: &str, value: &Node) -> Option<Node> {
    let Some(name) = entry
        .info
        .principal
        .or_else(|| entry.reads_reference().then_some("reference"))
    else {
        let params = names::params(entry).collect::<Vec<_>>().join(", ");
        let help = if params.is_empty() {
            format!("it has no parameters; write `- {id}`")
        } else {
            format!("write `{id}: {{parameter: value}}`; parameters: {params}")
        };
        desk.error(
            value.span,
            format!("`{id}` has no principal parameter, so a plain value says nothing"),
            help,
        );
        return None;
    };
    Some(Node {
        value: NodeValue::Mapping(vec![(key_node(name, value.span), value.clone())]),
        span: value.span,
    })
}

fn key_node(name: &str, span: Span) -> Node {
    Node {
        value: NodeValue::Scalar(Scalar {
            text: name.to_owned(),
            plain: false,
        }),
        span,
    }
}

/// A check written with `evaluator:` or `evaluatorType:`.
struct Long<'a> {
    desk: &'a mut Desk,
    scope: &'a Scope<'a>,
    node: &'a Node,
    langchain: bool,
    /// Inputs by LangChain's own words, weaker than `inputs`.
    format_inputs: Vec<Input>,
    /// Parameters under `params` or `options`, and their key.
    params: Option<(&'a str, &'a Node)>,
    /// LangChain's parameters beside the other keys.
    beside: Vec<(Node, Node)>,
}

impl<'a> Long<'a> {
    fn new(desk: &'a mut Desk, scope: &'a Scope<'a>, node: &'a Node, langchain: bool) -> Self {
        Self {
            desk,
            scope,
            node,
            langchain,
            format_inputs: Vec::new(),
            params: None,
            beside: Vec::new(),
        }
    }

    fn read(mut self, entries: &'a [(Node, Node)]) -> Option<Draft> {
        let mut draft = self.evaluator(entries);
        for (key, value) in entries {
            match &mut draft {
                Some(draft) => self.key(draft, key, value),
                None => self.key_without_evaluator(key),
            }
        }
        let mut draft = draft?;
        match self.all_params() {
            Some(params) if draft.custom => {
                if !params.entries().is_empty() {
                    draft.refuse_params(self.desk, params.span);
                }
            }
            None if draft.custom => {}
            params => draft.params = params,
        }
        draft.places.params = self
            .params
            .map_or(draft.places.evaluator, |(_, node)| node.span);
        inputs::fill_up(&mut draft.inputs, std::mem::take(&mut self.format_inputs));
        Some(draft)
    }

    /// The draft with nothing but its evaluator.
    fn evaluator(&mut self, entries: &'a [(Node, Node)]) -> Option<Draft> {
        let is_evaluator = |key: &Node| {
            matches!(
                key_text(key),
                "evaluator" | "evaluatorType" | "evaluator_type"
            )
        };
        let mut named = entries.iter().filter(|(key, _)| is_evaluator(key));
        let (key, value) = named.next()?;
        if let Some((second, _)) = named.next() {
            self.desk.error(
                second.span,
                format!(
                    "`{}` and `{}` both name the evaluator",
                    key_text(key),
                    key_text(second)
                ),
                "keep one of the two",
            );
        }
        let id = self.desk.text(key_text(key), value)?;
        Draft::named(self.desk, self.scope, id, self.node.span, value.span)
    }

    fn key(&mut self, draft: &mut Draft, key: &'a Node, value: &'a Node) {
        let name = key_text(key);
        let langchain = langchain::key(name).filter(|_| self.langchain);
        match (langchain, name) {
            (Some(known), _) => self.langchain_key(draft, known, key, value),
            (None, "name") => self.name(draft, "name", value),
            (None, "params" | "options") => self.params(draft, name, value),
            (None, "threshold") => {
                draft.threshold = self.desk.scalar("threshold", "a number", value);
                draft.places.threshold = value.span;
            }
            (None, "inputs") => draft.inputs = inputs::read(self.desk, "inputs", value),
            (None, "when") => {
                draft.when = self.desk.text("when", value).map(str::to_owned);
                draft.places.when = value.span;
            }
            (None, "on_missing") => self.on_missing(draft, value),
            (None, "not") => {
                draft.negate = self
                    .desk
                    .scalar("not", "true or false", value)
                    .unwrap_or_default();
                draft.places.not = value.span;
            }
            (None, "repeat" | "compat") => {
                asking::read(self.desk, self.scope, draft, name, key, value);
            }
            (None, "judge" | "aggregate" | "mode" | "prompt" | "embedder" | "moderator")
                if !names::has_param(&draft.entry, name) =>
            {
                asking::read(self.desk, self.scope, draft, name, key, value);
            }
            (None, "evaluator") => {}
            _ if self.langchain => self.option(draft, key, value),
            _ => self.unknown_key(draft, key, value),
        }
    }

    /// Without a known evaluator a key can still be seen to be wrong.
    fn key_without_evaluator(&mut self, key: &Node) {
        let name = key_text(key);
        let known = keys::names(keys::CHECK).contains(&name);
        if !known && !self.langchain {
            self.desk.unknown_key(
                key,
                &keys::names(keys::CHECK),
                keys::meant(keys::CHECK, name),
            );
        }
    }

    fn unknown_key(&mut self, draft: &Draft, key: &Node, value: &Node) {
        let name = key_text(key);
        if names::has_param(&draft.entry, name) {
            let message = format!(
                "`{name}` is a parameter of {}, which stands under `params:`",
                draft.called
            );
            self.desk
                .error(key.span, message, format!("write `params: {{{name}: …}}`"));
            self.beside.push((key.clone(), value.clone()));
            return;
        }
        self.desk.unknown_key(
            key,
            &keys::names(keys::CHECK),
            keys::meant(keys::CHECK, name),
        );
    }

    fn name(&mut self, draft: &mut Draft, what: &str, value: &Node) {
        let Some(name) = self.desk.text(what, value) else {
            return;
        };
        if name.contains(char::is_control) {
            self.desk.error(
                value.span,
                format!("`{what}` holds a control character"),
                "a name is one line of text",
            );
            return;
        }
        if draft.name.is_none() || what == "name" {
            draft.name = Some((name.to_owned(), value.span));
        }
    }

    fn params(&mut self, draft: &mut Draft, name: &'a str, value: &'a Node) {
        if let Some((first, _)) = self.params {
            self.desk.error(
                value.span,
                format!("`{first}` and `{name}` are two names for the parameters"),
                "join them under one of the two",
            );
            return;
        }
        if value.is_null() {
            return;
        }
        match self
            .desk
            .mapping(name, value, "write it as `{parameter: value}`")
        {
            Some(_) => self.params = Some((name, value)),
            None => draft.incomplete = true,
        }
    }

    fn all_params(&mut self) -> Option<Node> {
        let Some((_, params)) = self.params else {
            let beside = std::mem::take(&mut self.beside);
            return (!beside.is_empty()).then_some(Node {
                value: NodeValue::Mapping(beside),
                span: self.node.span,
            });
        };
        let mut params = params.clone();
        if let NodeValue::Mapping(entries) = &mut params.value {
            for (key, value) in std::mem::take(&mut self.beside) {
                if entries
                    .iter()
                    .any(|(known, _)| key_text(known) == key_text(&key))
                {
                    self.desk.error(
                        key.span,
                        format!("`{}` is given twice", key_text(&key)),
                        "keep one of the two",
                    );
                } else {
                    entries.push((key, value));
                }
            }
        }
        Some(params)
    }

    fn on_missing(&mut self, draft: &mut Draft, value: &Node) {
        const VALUES: [(&str, OnMissing); 3] = [
            ("error", OnMissing::Error),
            ("fail", OnMissing::Fail),
            ("skip", OnMissing::Skip),
        ];
        let Some(text) = self.desk.text("on_missing", value) else {
            return;
        };
        if let Some((_, known)) = VALUES.into_iter().find(|(name, _)| *name == text) {
            draft.on_missing = known;
            return;
        }
        let message = match did_you_mean(text, VALUES.map(|(name, _)| name)) {
            Some(nearest) => {
                format!("unknown value `{text}` of `on_missing` (did you mean `{nearest}`?)")
            }
            None => format!("unknown value `{text}` of `on_missing`"),
        };
        self.desk
            .error(value.span, message, "allowed: error, fail, skip");
    }

    fn langchain_key(&mut self, draft: &mut Draft, known: &str, key: &'a Node, value: &'a Node) {
        let name = key_text(key);
        match known {
            "evaluatorType" => {}
            "feedbackKey" => self.name(draft, name, value),
            "formatEvaluatorInputs" => {
                let read = inputs::read(self.desk, name, value);
                inputs::fill_up(&mut self.format_inputs, read);
            }
            "inputKey" => self.input_key(name, Field::Query, value),
            "predictionKey" => self.input_key(name, Field::Output, value),
            "referenceKey" => self.input_key(name, Field::Reference, value),
            "llm" => asking::read(self.desk, self.scope, draft, "judge", key, value),
            "embedding" => asking::read(self.desk, self.scope, draft, "embedder", key, value),
            "chainOptions" => langchain::chain_options(self.desk, self.scope, draft, key, value),
            _ if langchain::own_name(&draft.entry, name).is_some() => {
                self.option(draft, key, value);
            }
            _ => self.desk.note(
                key.span,
                format!("`{name}` is not used by {}", draft.called),
            ),
        }
    }

    fn input_key(&mut self, name: &str, field: Field, value: &Node) {
        let read = inputs::read_key(self.desk, name, field, value);
        inputs::fill_up(&mut self.format_inputs, read);
    }

    /// An option of the evaluator type, beside the other keys.
    fn option(&mut self, draft: &Draft, key: &Node, value: &Node) {
        if let Some(own) = langchain::own_name(&draft.entry, key_text(key)) {
            if self.beside.iter().any(|(known, _)| key_text(known) == own) {
                self.desk.error(
                    key.span,
                    format!("`{}` gives `{own}` a second time", key_text(key)),
                    "keep one of the two",
                );
                return;
            }
            self.beside.push((key_node(&own, key.span), value.clone()));
            return;
        }
        let others = keys::names(keys::LANGCHAIN)
            .into_iter()
            .chain(keys::names(keys::CHECK));
        let mut allowed: Vec<&str> = Vec::new();
        for name in names::params(&draft.entry).chain(others) {
            if name != "evaluator" && !allowed.contains(&name) {
                allowed.push(name);
            }
        }
        let suggestion =
            keys::meant(keys::CHECK, key_text(key)).filter(|name| *name != "evaluator");
        self.desk.unknown_key(key, &allowed, suggestion);
    }
}
