//! What makes the outputs that a run judges: a model, an HTTP endpoint or a program, named by a suite's `target`.
//!
//! A stage of its own before the walk ([`stage`]): the input's records pass the run's own selection, each that
//! has no answer is asked for as many as there are trials, and what comes of it is written as records, in the
//! input's order. The walk then reads those. A call that failed gives a record with `target_error` in the
//! answer's place, and every check of it is errored: no failure is a score.

mod answer;
mod line;
mod question;
pub(crate) mod stage;
mod template;

use std::sync::Arc;

pub use template::{Body, Template, TemplateError};

use crate::decode::{Mapping, Survey};
use crate::model::{
    ApplicationSpec, ChatModel, HttpMethod, ModelError, ModelSession, ModelSpec, Reach,
};
use crate::path::FieldPath;
use crate::record::{Field, FieldSet};

/// A suite's target.
#[derive(Clone, Debug)]
pub struct TargetSpec {
    /// What results name as the records' model.
    pub name: String,
    /// Answers a case; 1 at the least.
    pub trials: u32,
    pub maker: Maker,
}

/// What makes an answer.
#[derive(Clone, Debug)]
pub enum Maker {
    Model(Box<ModelTarget>),
    Http(Box<HttpTarget>),
    /// Reads a record a line, and writes an answer a line.
    Command(ApplicationSpec),
}

/// A model that is asked directly.
#[derive(Clone, Debug)]
pub struct ModelTarget {
    pub spec: ModelSpec,
    /// The system message; a record's own takes its place.
    pub system: Option<Template>,
    /// The one user message. Without it the record's messages are sent, or its query.
    pub prompt: Option<Template>,
}

/// An endpoint, and how its calls and replies look.
#[derive(Clone, Debug)]
pub struct HttpTarget {
    pub spec: ApplicationSpec,
    /// What stands behind `?` in the address, where it has places.
    pub query: Option<Template>,
    /// Without one, methods other than GET send the record.
    pub body: Option<Body>,
    /// Where the answer stands in a reply; the whole of it where left out.
    pub output: Option<FieldPath>,
    /// Where the retrieved passages stand in a reply.
    pub contexts: Option<FieldPath>,
}

/// A target with its model or application, ready to be asked.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    spec: &'a TargetSpec,
    asked: Arc<dyn ChatModel>,
    /// Replies are stand-ins.
    dry_run: bool,
}

impl TargetSpec {
    pub(crate) fn bind<'a>(
        &'a self,
        session: &dyn ModelSession,
        dry_run: bool,
    ) -> Result<Target<'a>, ModelError> {
        let asked = match &self.maker {
            Maker::Model(model) => session.chat(&model.spec)?,
            Maker::Http(http) => session.application(&http.spec)?,
            Maker::Command(spec) => session.application(spec)?,
        };
        Ok(Target {
            spec: self,
            asked,
            dry_run,
        })
    }

    /// Adds to the survey of the input what the records will have beside it, so that keys mean in both the same.
    pub(crate) fn add_to(&self, survey: &mut Survey) {
        if survey.keys().next().is_none() {
            return;
        }
        survey.add(r#"{"output": "", "latency_ms": 0, "cost_usd": 0, "finish_reason": "", "model": "", "trial": 1}"#);
        let gives_contexts = self.maker.gives().contains(Field::Contexts);
        // Beside `contexts`, a key `context` would mean something else.
        if gives_contexts && !survey.keys().any(|key| key == "context") {
            survey.add(r#"{"contexts": []}"#);
        }
    }

    /// Places in its texts that no surveyed record can fill.
    pub(crate) fn unfillable(&self, survey: &Survey, mapping: &Mapping) -> Vec<FieldPath> {
        let mut places = Vec::new();
        match &self.maker {
            Maker::Model(model) => {
                let templates = model.system.iter().chain(&model.prompt);
                places.extend(templates.flat_map(Template::places));
            }
            Maker::Http(http) => {
                places.extend(http.query.iter().flat_map(Template::places));
                if let Some(body) = &http.body {
                    body.places(&mut places);
                }
            }
            Maker::Command(_) => {}
        }
        let missing = |path: &FieldPath| !crate::suite::supplies_root(survey, mapping, path);
        let mut missing: Vec<FieldPath> = places.into_iter().filter(missing).collect();
        missing.dedup();
        missing
    }
}

impl Maker {
    /// The fields that it may give beside the output.
    pub(crate) fn gives(&self) -> FieldSet {
        match self {
            Self::Http(http) if http.contexts.is_some() => FieldSet::of(&[Field::Contexts]),
            Self::Model(_) | Self::Http(_) => FieldSet::EMPTY,
            Self::Command(_) => FieldSet::of(&[Field::Contexts, Field::Messages]),
        }
    }
}

impl HttpTarget {
    fn method(&self) -> HttpMethod {
        match &self.spec.reach {
            Reach::Http(http) => http.method,
            Reach::Command(_) => HttpMethod::default(),
        }
    }
}
