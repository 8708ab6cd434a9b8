//! Where the layers get their wires, prices and token counts from.

use std::fmt;
use std::sync::Arc;

use lydite::model::{ChatMessage, ModelError, ModelErrorKind, ModelSpec, Price};

use crate::attempt::{ChatWire, EmbedWire, ModerateWire};

/// Makes wires of specs: the providers of this crate, or a program's own.
pub trait Wires: Send + Sync + fmt::Debug {
    fn chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatWire>, ModelError>;

    fn embed(&self, spec: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError>;

    fn moderate(&self, spec: &ModelSpec) -> Result<Arc<dyn ModerateWire>, ModelError>;

    /// What the model's tokens cost, and the date of that price where it is a built-in one.
    fn price(&self, spec: &ModelSpec) -> Option<(Price, Option<&'static str>)>;

    /// Whether the model is on this machine, so that calls do not leave it.
    fn is_local(&self, spec: &ModelSpec) -> bool;
}

/// The providers of this crate. (Placeholder: to be bound to the wires when they are merged.)
#[derive(Clone, Copy, Debug, Default)]
pub struct Providers;

impl Wires for Providers {
    fn chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
        Err(missing(spec))
    }

    fn embed(&self, spec: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError> {
        Err(missing(spec))
    }

    fn moderate(&self, spec: &ModelSpec) -> Result<Arc<dyn ModerateWire>, ModelError> {
        Err(missing(spec))
    }

    fn price(&self, spec: &ModelSpec) -> Option<(Price, Option<&'static str>)> {
        spec.price.map(|price| (price, None))
    }

    fn is_local(&self, _spec: &ModelSpec) -> bool {
        false
    }
}

/// About how many tokens a text has.
pub(crate) fn estimate(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

/// About how many input tokens messages have.
pub(crate) fn estimate_messages(messages: &[ChatMessage]) -> u64 {
    messages.iter().map(|m| estimate(&m.content) + 4).sum()
}

fn missing(spec: &ModelSpec) -> ModelError {
    let message = format!("no wire for {}", spec.name());
    ModelError::new(ModelErrorKind::Unsupported, message)
}
