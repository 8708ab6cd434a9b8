//! Where the layers get their wires and prices from.

use std::fmt;
use std::sync::Arc;

use lydite::model::{ApplicationSpec, ModelError, ModelErrorKind, ModelSpec, Price};

use crate::attempt::{ChatWire, EmbedWire, ModerateWire};
use crate::wires;
use crate::wires::{application, prices, provider};

/// Makes wires of specs: the providers of this crate, or a program's own.
pub trait Wires: Send + Sync + fmt::Debug {
    fn chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatWire>, ModelError>;

    fn embed(&self, spec: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError>;

    fn moderate(&self, spec: &ModelSpec) -> Result<Arc<dyn ModerateWire>, ModelError>;

    /// An application under test; see [`lydite::model::Reach`] for its messages.
    fn application(&self, spec: &ApplicationSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
        let message = format!("{}: no wire reaches applications", spec.name());
        Err(ModelError::new(ModelErrorKind::Unsupported, message))
    }

    /// What the model's tokens cost, and the date of that price where it is a built-in one.
    fn price(&self, spec: &ModelSpec) -> Option<(Price, Option<&'static str>)>;

    /// Whether the model is on this machine, so that calls do not leave it.
    fn is_local(&self, spec: &ModelSpec) -> bool;
}

/// The providers of this crate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Providers;

impl Wires for Providers {
    fn chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
        wires::chat_wire(spec)
    }

    fn embed(&self, spec: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError> {
        wires::embed_wire(spec)
    }

    fn moderate(&self, spec: &ModelSpec) -> Result<Arc<dyn ModerateWire>, ModelError> {
        wires::moderate_wire(spec)
    }

    fn application(&self, spec: &ApplicationSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
        application::wire(spec)
    }

    fn price(&self, spec: &ModelSpec) -> Option<(Price, Option<&'static str>)> {
        prices::price(spec).map(|known| (known.price, known.date))
    }

    fn is_local(&self, spec: &ModelSpec) -> bool {
        provider::is_local(spec)
    }
}
