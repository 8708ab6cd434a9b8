//! From a suite's model to the wire that speaks with it.

use std::sync::Arc;

use lydite::model::{ModelError, ModelSpec, Provider};

use crate::command::CommandChat;
use crate::embeddings::HttpEmbedder;
use crate::environment::Environment;
use crate::http::config_error;
use crate::moderation::HttpModerator;
use crate::scripted::ScriptedChat;
use crate::{ChatWire, EmbedWire, ModerateWire, anthropic, gemini, openai};

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

fn no_model(spec: &ModelSpec) -> ModelError {
    config_error(spec, "no model is named; set `model`")
}
