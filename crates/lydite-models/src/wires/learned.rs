//! What a server refused, so that it is not asked again in this run.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use lydite::model::Structured;

use crate::wires::refusal::Refusal;

/// How a reply of a schema is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    JsonSchema,
    Tool,
    Text,
}

impl Form {
    /// The forms to go through: the one that the suite names, or the provider's in their order.
    pub(crate) fn order(structured: Structured, auto: &'static [Self]) -> &'static [Self] {
        match structured {
            Structured::Auto => auto,
            Structured::JsonSchema => &[Self::JsonSchema],
            Structured::Tool => &[Self::Tool],
            Structured::Text => &[Self::Text],
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::JsonSchema => "a JSON schema (`structured: json_schema`)",
            Self::Tool => "a tool call (`structured: tool`)",
            Self::Text => "words in the prompt (`structured: text`)",
        }
    }

    /// Words of an error that mean the form.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::JsonSchema => &[
                "response_format",
                "response format",
                "json_schema",
                "json schema",
                "jsonschema",
                "structured output",
                "strict",
                "schema",
                "grammar",
            ],
            Self::Tool => &["tool", "function"],
            Self::Text => &[],
        }
    }
}

/// What one request is made with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    /// `None` where no form is asked for.
    pub(crate) form: Option<Form>,
    pub(crate) temperature: Option<f64>,
    pub(crate) seed: Option<u64>,
    pub(crate) max_tokens: Option<u32>,
    /// The longest reply is `max_completion_tokens`, not `max_tokens`.
    pub(crate) completion_tokens: bool,
    pub(crate) top_logprobs: Option<u8>,
}

/// What a server showed in this run. Calls side by side share it.
#[derive(Debug)]
pub(crate) struct Learned {
    forms: &'static [Form],
    /// The present form's place in `forms`.
    place: AtomicUsize,
    /// A reply of the present form was JSON.
    proven: AtomicBool,
    no_temperature: AtomicBool,
    no_seed: AtomicBool,
    completion_tokens: AtomicBool,
    no_logprobs: AtomicBool,
    notes: Mutex<Vec<String>>,
}

impl Learned {
    pub(crate) fn new(forms: &'static [Form], reasoning: bool, logprobs: bool) -> Self {
        Self {
            forms,
            place: AtomicUsize::new(0),
            proven: AtomicBool::new(false),
            no_temperature: AtomicBool::new(reasoning),
            no_seed: AtomicBool::new(false),
            completion_tokens: AtomicBool::new(reasoning),
            no_logprobs: AtomicBool::new(!logprobs),
            notes: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn form(&self) -> Form {
        let place = self.place.load(Ordering::Relaxed);
        self.forms.get(place).copied().unwrap_or(Form::Text)
    }

    pub(crate) fn logprobs(&self) -> bool {
        !self.no_logprobs.load(Ordering::Relaxed)
    }

    /// Leaves out of a plan what is known to be refused.
    pub(crate) fn apply(&self, plan: &mut Plan) {
        if self.no_temperature.load(Ordering::Relaxed) {
            plan.temperature = None;
        }
        if self.no_seed.load(Ordering::Relaxed) {
            plan.seed = None;
        }
        plan.completion_tokens = self.completion_tokens.load(Ordering::Relaxed);
    }

    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Whether a refused plan would look different now: something that the server named is left out,
    /// or was by another call in the meantime.
    pub(crate) fn learn(&self, plan: &Plan, status: u16, refusal: &Refusal, model: &str) -> bool {
        if !matches!(status, 400 | 404 | 415 | 422) {
            return false;
        }
        self.learn_parameter(plan, refusal, model) || self.learn_form(plan, refusal, model)
    }

    fn learn_parameter(&self, plan: &Plan, refusal: &Refusal, model: &str) -> bool {
        let says = |word: &str| refusal.says(model, &[word]);
        if plan.top_logprobs.is_some() && says("logprobs") {
            // The caller has to know: nothing is left out in silence.
            self.no_logprobs.store(true, Ordering::Relaxed);
            return false;
        }
        if plan.temperature.is_some() && says("temperature") {
            self.note(&self.no_temperature, "temperature", "is left out");
            return true;
        }
        if plan.seed.is_some() && says("seed") {
            self.note(&self.no_seed, "seed", "is left out");
            return true;
        }
        if plan.max_tokens.is_some() && !plan.completion_tokens && says("max_tokens") {
            self.note(
                &self.completion_tokens,
                "max_tokens",
                "is sent as `max_completion_tokens`",
            );
            return true;
        }
        false
    }

    fn learn_form(&self, plan: &Plan, refusal: &Refusal, model: &str) -> bool {
        match plan.form {
            Some(form) if refusal.says(model, form.names()) => self.leave(form, "refuses"),
            _ => false,
        }
    }

    /// Whether a reply that is no JSON shows that the server ignores the form. If so, the next call is
    /// asked in the next one.
    pub(crate) fn check(&self, form: Form, text: &str) -> bool {
        let has_json = text.contains(['{', '[']);
        if has_json {
            self.proven.store(true, Ordering::Relaxed);
        }
        !has_json && !self.proven.load(Ordering::Relaxed) && self.leave(form, "ignores")
    }

    /// Goes on to the next form. False where there is none.
    fn leave(&self, form: Form, does: &str) -> bool {
        let place = self.forms.iter().position(|own| *own == form);
        let next = place.and_then(|place| self.forms.get(place + 1));
        let (Some(place), Some(next)) = (place, next) else {
            return false;
        };
        let order = Ordering::Relaxed;
        let moved = self
            .place
            .compare_exchange(place, place + 1, order, order)
            .is_ok();
        if moved {
            self.proven.store(false, Ordering::Relaxed);
            self.push(format!(
                "the server {does} {}; replies are asked for by {} now",
                form.words(),
                next.words()
            ));
        }
        true
    }

    fn note(&self, flag: &AtomicBool, parameter: &str, instead: &str) {
        if !flag.swap(true, Ordering::Relaxed) {
            self.push(format!(
                "the server refuses `{parameter}`, which {instead} now"
            ));
        }
    }

    fn push(&self, note: String) {
        self.notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ALL: &[Form] = &[Form::JsonSchema, Form::Tool, Form::Text];

    const PLAN: Plan = Plan {
        form: Some(Form::JsonSchema),
        temperature: Some(0.0),
        seed: Some(1),
        max_tokens: Some(5),
        completion_tokens: false,
        top_logprobs: None,
    };

    fn refusal(message: &str) -> Refusal {
        Refusal::of(&json!({"error": {"message": message}}))
    }

    #[test]
    fn calls_side_by_side_leave_a_form_once() {
        let learned = Learned::new(ALL, false, true);
        let refused = refusal("response_format is not supported");
        assert!(learned.learn(&PLAN, 400, &refused, "m"));
        assert!(learned.learn(&PLAN, 400, &refused, "m"));
        assert_eq!(learned.form(), Form::Tool);
        assert_eq!(learned.notes().len(), 1);
    }

    #[test]
    fn what_is_learnt_of_which_words() {
        for (status, message, expected) in [
            (
                400,
                "Unsupported value: 'temperature' does not support 0",
                true,
            ),
            (400, "`seed` is not permitted", true),
            (400, "Unsupported parameter: 'max_tokens'", true),
            (422, "json_schema: unknown", true),
            (
                404,
                "No endpoints found that support structured outputs",
                true,
            ),
            (400, "messages: empty", false),
            (500, "response_format is not supported", false),
            (404, "the model schema-7b does not exist", false),
        ] {
            let learned = Learned::new(ALL, false, true);
            let learnt = learned.learn(&PLAN, status, &refusal(message), "schema-7b");
            assert_eq!(learnt, expected, "{message}");
        }
    }

    #[test]
    fn a_form_that_was_asked_for_stays() {
        let learned = Learned::new(&[Form::JsonSchema], false, true);
        assert!(!learned.learn(&PLAN, 400, &refusal("json_schema: no"), "m"));
        assert!(!learned.check(Form::JsonSchema, "prose"));
    }

    #[test]
    fn a_form_that_has_worked_is_not_left_for_one_bad_reply() {
        let learned = Learned::new(ALL, false, true);
        assert!(!learned.check(Form::JsonSchema, "{}"));
        assert!(!learned.check(Form::JsonSchema, "prose"));
        let new = Learned::new(ALL, false, true);
        assert!(new.check(Form::JsonSchema, "prose"));
        assert_eq!(new.form(), Form::Tool);
    }
}
