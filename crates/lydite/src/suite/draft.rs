//! A check as it was written.

use super::asking::{self, Setting};
use super::error::Desk;
use super::gate::Known;
use super::inputs::Input;
use super::models::Moderation;
use super::scope::Scope;
use super::{langchain, names};
use crate::check::{Asks, CheckErrors, CheckPlace, CheckSpec, OnMissing};
use crate::evaluator::{Compat, Entry, Role};
use crate::node::{Node, Span};

/// A check as it was written, before names are given and parameters compiled.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a mark of its own, none a state"
)]
pub(super) struct Draft {
    pub(super) entry: Entry,
    /// The evaluator's name as it was written.
    pub(super) called: String,
    /// The check's name where none is given.
    pub(super) default_name: String,
    /// The given name and its place.
    pub(super) name: Option<(String, Span)>,
    /// A mapping.
    pub(super) params: Option<Node>,
    pub(super) threshold: Option<f64>,
    pub(super) negate: bool,
    pub(super) on_missing: OnMissing,
    pub(super) when: Option<String>,
    pub(super) inputs: Vec<Input>,
    pub(super) asks: Asks,
    pub(super) prompt: Option<String>,
    pub(super) compat: Option<Compat>,
    /// What it says of its moderator itself.
    pub(super) moderation: Option<Moderation>,
    /// Settings over those of its judges.
    pub(super) settings: Vec<Setting>,
    /// Whether it says itself which models it asks, and how.
    pub(super) says_asks: bool,
    /// The texts by which it names models, among them what are no names of the suite's.
    pub(super) names_models: Vec<String>,
    /// A custom evaluator, whose parameters the suite has settled.
    pub(super) custom: bool,
    pub(super) places: Places,
    /// Its parameters could not be read, so that compiling it would only find errors that follow.
    pub(super) incomplete: bool,
}

/// Where the parts of a check stand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Places {
    /// The whole check.
    pub(super) check: Span,
    /// The evaluator's id.
    pub(super) evaluator: Span,
    pub(super) params: Span,
    pub(super) threshold: Span,
    pub(super) when: Span,
    pub(super) not: Span,
    pub(super) prompt: Span,
    pub(super) judge: Span,
    pub(super) aggregate: Span,
}

impl Draft {
    fn new(entry: &Entry, called: &str, asks: Asks, check: Span, evaluator: Span) -> Self {
        Self {
            entry: entry.clone(),
            called: called.to_owned(),
            default_name: called.to_owned(),
            name: None,
            params: None,
            threshold: None,
            negate: false,
            on_missing: OnMissing::default(),
            when: None,
            inputs: Vec::new(),
            asks,
            prompt: None,
            compat: None,
            moderation: None,
            settings: Vec::new(),
            says_asks: false,
            names_models: Vec::new(),
            custom: false,
            places: Places {
                check,
                evaluator,
                ..Places::default()
            },
            incomplete: false,
        }
    }

    /// A check of the evaluator of that name with nothing but its defaults.
    pub(super) fn named(
        desk: &mut Desk,
        scope: &Scope<'_>,
        id: &str,
        check: Span,
        evaluator: Span,
    ) -> Option<Self> {
        let models = &scope.definitions.models;
        if let Some(custom) = scope.definitions.custom(id) {
            let asks = models.default_asks(custom.entry.info);
            let mut draft = Self::new(&custom.entry, id, asks, check, evaluator);
            draft.params = Some(custom.params.clone());
            draft.custom = true;
            draft.names_models.extend(custom.used.clone());
            if let Some(judges) = &custom.judges {
                draft.asks.judges.clone_from(judges);
            }
            return Some(draft);
        }
        let Some(entry) = scope.registry.get(id) else {
            let (message, help) = names::unknown_evaluator(id, scope);
            desk.error(evaluator, message, help);
            return None;
        };
        let asks = models.default_asks(entry.info);
        Some(Self::new(entry, id, asks, check, evaluator))
    }

    /// Whether its evaluator asks a model of this role.
    pub(super) fn asks_for(&self, role: Role) -> bool {
        self.entry.info.models.contains(&role)
    }

    /// The draft with everything in its place that hangs on several keys.
    pub(super) fn finished(mut self, desk: &mut Desk, scope: &Scope<'_>) -> Self {
        if let Some(name) = langchain::criterion_names(&self.entry, self.params.as_ref()) {
            self.default_name = name;
        }
        for spec in &mut self.asks.judges {
            self.settings.iter().for_each(|setting| setting.put(spec));
        }
        asking::complete(desk, scope, &mut self);
        self
    }

    /// Refuses parameters of a custom evaluator.
    pub(super) fn refuse_params(&self, desk: &mut Desk, place: Span) {
        desk.error(
            place,
            format!(
                "`{}` takes no parameters: its instructions stand under `custom_evaluators`",
                self.called
            ),
            "change them there, or define another one",
        );
    }

    /// Where an error of the compiled check stands in the text.
    pub(super) fn span_of(&self, place: &CheckPlace, own: Span) -> Span {
        let span = match place {
            _ if own.is_known() => own,
            // What is wrong with a prompt is said of the parameters as a whole.
            CheckPlace::Params(pointer) if pointer.is_empty() && self.prompt.is_some() => {
                self.places.prompt
            }
            CheckPlace::Params(pointer) => {
                let node = self
                    .params
                    .as_ref()
                    .and_then(|params| params.pointer(pointer));
                node.map_or(self.places.params, |node| node.span)
            }
            CheckPlace::Input(field) => self
                .inputs
                .iter()
                .find(|input| input.field == *field)
                .map_or(self.places.check, |input| input.span),
            CheckPlace::When => self.places.when,
            CheckPlace::Threshold => self.places.threshold,
            CheckPlace::Not => self.places.not,
            CheckPlace::Prompt => self.places.prompt,
        };
        if span.is_known() {
            span
        } else {
            self.places.evaluator
        }
    }
}

/// What a draft says, for compiling it. `references` allows parameters that records fill.
pub(super) fn spec(draft: &Draft, references: bool) -> CheckSpec {
    CheckSpec {
        name: draft
            .name
            .as_ref()
            .map_or_else(|| draft.default_name.clone(), |(name, _)| name.clone()),
        params: draft.params.clone(),
        threshold: draft.threshold,
        negate: draft.negate,
        on_missing: draft.on_missing,
        when: draft.when.clone(),
        inputs: draft
            .inputs
            .iter()
            .map(|input| (input.field, input.source.clone()))
            .collect(),
        references,
        asks: draft.asks.clone(),
        prompt: draft.prompt.clone(),
        compat: draft.compat,
    }
}

/// Puts the errors of compiling a check where they stand in its source.
pub(super) fn report(desk: &mut Desk, draft: &Draft, errors: CheckErrors) {
    for error in errors.0 {
        let span = draft.span_of(&error.place, error.span);
        let message = match &error.place {
            CheckPlace::Params(pointer) => match pointer.strip_prefix('/') {
                Some(param) if !error.message.contains(&format!("`{param}`")) => {
                    format!("`{param}`: {}", error.message)
                }
                _ => format!("{}: {}", draft.called, error.message),
            },
            CheckPlace::When => format!("`when`: {}", error.message),
            CheckPlace::Prompt => format!("`prompt`: {}", error.message),
            CheckPlace::Input(field) => format!("`{field}`: {}", error.message),
            CheckPlace::Threshold | CheckPlace::Not => error.message,
        };
        desk.error(span, message, error.help.unwrap_or_default());
    }
}

/// What a gate must know of a check that is not compiled.
pub(super) fn known(draft: &Draft) -> Option<Known<'_>> {
    let (name, _) = draft.name.as_ref()?;
    let info = draft.entry.info;
    Some(Known {
        name,
        info,
        range: info.range,
        grades: draft.threshold.is_some() || info.natural_verdict,
    })
}

/// Says which mapped fields the evaluator does not read.
pub(super) fn note_idle_inputs(desk: &mut Desk, draft: &Draft) {
    for input in &draft.inputs {
        if !draft.entry.info.reads.contains(input.field) {
            desk.note(
                input.span,
                format!("`{}` is not read by {}", input.field, draft.called),
            );
        }
    }
}
