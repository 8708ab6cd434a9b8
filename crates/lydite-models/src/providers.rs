//! Where the layers get their wires and prices from.

use std::fmt;
use std::sync::Arc;

use lydite::model::{ApplicationSpec, ModelError, ModelErrorKind, ModelSpec, Price};

use crate::attempt::{ChatWire, EmbedWire, ModerateWire};
use crate::wires;
use crate::wires::environment::Environment;
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

    /// The same for calls that are never sent, so that a key need not be there.
    fn unsent_chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
        self.chat(spec)
    }

    fn unsent_embed(&self, spec: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError> {
        self.embed(spec)
    }

    fn unsent_moderate(&self, spec: &ModelSpec) -> Result<Arc<dyn ModerateWire>, ModelError> {
        self.moderate(spec)
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

    fn unsent_chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
        wires::chat(spec, Environment(&|name| or_nothing(spec, name)))
    }

    fn unsent_embed(&self, spec: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError> {
        wires::embed(spec, Environment(&|name| or_nothing(spec, name)))
    }

    fn unsent_moderate(&self, spec: &ModelSpec) -> Result<Arc<dyn ModerateWire>, ModelError> {
        wires::moderate(spec, Environment(&|name| or_nothing(spec, name)))
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

/// A variable, or a word in its place where the spec takes a key or a header from it.
fn or_nothing(spec: &ModelSpec, name: &str) -> Option<String> {
    let of_header = |value: &String| value.strip_prefix('$') == Some(name);
    let is_secret = spec.api_key_env.as_deref() == Some(name)
        || provider::facts(spec.provider).key_variables.contains(&name)
        || spec.headers.values().any(of_header);
    let value = std::env::var(name).ok();
    value.or_else(|| is_secret.then(|| "unset".to_owned()))
}
