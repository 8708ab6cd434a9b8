//! From a suite's model to the wire that speaks with it.
//!
//! `openai`, `anthropic`, `gemini`, `embeddings`, `moderation`, `command`, `scripted` and `application` are the wires;
//! `chat` and `exchange` have what those over HTTP share, `provider` what is known of each provider.

pub(crate) mod anthropic;
pub(crate) mod application;
pub(crate) mod chat;
pub(crate) mod command;
pub(crate) mod embeddings;
pub(crate) mod environment;
pub(crate) mod exchange;
pub(crate) mod gemini;
pub(crate) mod http;
pub(crate) mod identity;
pub(crate) mod learned;
pub(crate) mod moderation;
pub(crate) mod openai;
pub mod prices;
pub(crate) mod provider;
pub(crate) mod refusal;
pub(crate) mod schema;
pub(crate) mod scripted;
pub(crate) mod secret;
pub mod tokens;

use std::sync::Arc;

use lydite::model::{ModelError, ModelSpec, Provider};

use crate::wires::command::CommandChat;
use crate::wires::embeddings::HttpEmbedder;
use crate::wires::environment::Environment;
use crate::wires::http::config_error;
use crate::wires::moderation::HttpModerator;
use crate::wires::scripted::ScriptedChat;
use crate::{ChatWire, EmbedWire, ModerateWire};

/// A chat model's wire. Keys, header values and proxies are read from the process's environment here,
/// and never again. No request is made.
pub fn chat_wire(spec: &ModelSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
    chat(spec, Environment::PROCESS)
}

/// An embedder's wire; see [`chat_wire`].
pub fn embed_wire(spec: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError> {
    embed(spec, Environment::PROCESS)
}

/// A moderator's wire; see [`chat_wire`].
pub fn moderate_wire(spec: &ModelSpec) -> Result<Arc<dyn ModerateWire>, ModelError> {
    moderate(spec, Environment::PROCESS)
}

pub(crate) fn chat(
    spec: &ModelSpec,
    environment: Environment<'_>,
) -> Result<Arc<dyn ChatWire>, ModelError> {
    Ok(match spec.provider {
        Provider::Command => Arc::new(CommandChat::new(spec)?),
        Provider::Scripted => Arc::new(ScriptedChat::new(spec)?),
        Provider::Local => return Err(in_process(spec)),
        _ if spec.model.is_empty() => return Err(no_model(spec)),
        Provider::Anthropic => Arc::new(anthropic::chat(spec, environment)?),
        Provider::Gemini => Arc::new(gemini::chat(spec, environment)?),
        _ => Arc::new(openai::chat(spec, environment)?),
    })
}

pub(crate) fn embed(
    spec: &ModelSpec,
    environment: Environment<'_>,
) -> Result<Arc<dyn EmbedWire>, ModelError> {
    if spec.is_local() {
        return Err(in_process(spec));
    }
    if spec.model.is_empty() {
        return Err(no_model(spec));
    }
    Ok(Arc::new(HttpEmbedder::new(spec, environment)?))
}

pub(crate) fn moderate(
    spec: &ModelSpec,
    environment: Environment<'_>,
) -> Result<Arc<dyn ModerateWire>, ModelError> {
    Ok(Arc::new(HttpModerator::new(spec, environment)?))
}

fn in_process(spec: &ModelSpec) -> ModelError {
    config_error(
        spec,
        "models that run in this process embed and classify, through a session; name a provider for this role",
    )
}

fn no_model(spec: &ModelSpec) -> ModelError {
    config_error(spec, "no model is named; set `model`")
}
