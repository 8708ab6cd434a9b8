//! What is known of each provider: address, key, protocol, what it can do.
//!
//! A key in the environment never chooses a provider, and neither does `OPENAI_BASE_URL` or
//! `AZURE_OPENAI_ENDPOINT`: where requests go stands in the suite alone.

use std::net::IpAddr;

use lydite::model::{ModelSpec, Provider};
use reqwest::Url;

use crate::wires::learned::Form;

const ALL_FORMS: &[Form] = &[Form::JsonSchema, Form::Tool, Form::Text];

/// One provider's row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts {
    pub(crate) base_url: Option<&'static str>,
    /// Variables that may hold the key, in the order they are looked for in. None for local servers.
    pub(crate) key_variables: &'static [&'static str],
    /// What `structured: auto` goes through.
    pub(crate) forms: &'static [Form],
    pub(crate) logprobs: bool,
    pub(crate) embeddings: bool,
}

pub(crate) const fn facts(provider: Provider) -> Facts {
    match provider {
        Provider::OpenAi => Facts {
            base_url: Some("https://api.openai.com/v1"),
            key_variables: &["OPENAI_API_KEY"],
            forms: ALL_FORMS,
            logprobs: true,
            embeddings: true,
        },
        Provider::Azure => Facts {
            base_url: None,
            key_variables: &["AZURE_OPENAI_API_KEY"],
            forms: ALL_FORMS,
            logprobs: true,
            embeddings: true,
        },
        Provider::Anthropic => Facts {
            base_url: Some("https://api.anthropic.com/v1"),
            key_variables: &["ANTHROPIC_API_KEY"],
            forms: &[Form::Tool, Form::Text],
            logprobs: false,
            embeddings: false,
        },
        Provider::Gemini => Facts {
            base_url: Some("https://generativelanguage.googleapis.com/v1beta"),
            key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            forms: &[Form::JsonSchema, Form::Text],
            logprobs: true,
            embeddings: true,
        },
        Provider::OpenRouter => Facts {
            base_url: Some("https://openrouter.ai/api/v1"),
            key_variables: &["OPENROUTER_API_KEY"],
            forms: ALL_FORMS,
            logprobs: true,
            embeddings: true,
        },
        Provider::Mistral => Facts {
            base_url: Some("https://api.mistral.ai/v1"),
            key_variables: &["MISTRAL_API_KEY"],
            forms: ALL_FORMS,
            logprobs: false,
            embeddings: true,
        },
        Provider::Groq => Facts {
            base_url: Some("https://api.groq.com/openai/v1"),
            key_variables: &["GROQ_API_KEY"],
            forms: ALL_FORMS,
            logprobs: false,
            embeddings: false,
        },
        // Its `logprobs` is a number and its answer has another form.
        Provider::Together => Facts {
            base_url: Some("https://api.together.xyz/v1"),
            key_variables: &["TOGETHER_API_KEY"],
            forms: ALL_FORMS,
            logprobs: false,
            embeddings: true,
        },
        // Has `json_object` only, which knows no schema.
        Provider::DeepSeek => Facts {
            base_url: Some("https://api.deepseek.com/v1"),
            key_variables: &["DEEPSEEK_API_KEY"],
            forms: &[Form::Tool, Form::Text],
            logprobs: true,
            embeddings: false,
        },
        Provider::Ollama => local("http://localhost:11434/v1", true),
        Provider::Vllm => local("http://localhost:8000/v1", true),
        Provider::LmStudio => local("http://localhost:1234/v1", false),
        Provider::LlamaCpp => local("http://localhost:8080/v1", true),
        Provider::Command | Provider::Scripted | Provider::Local => Facts {
            base_url: None,
            key_variables: &[],
            forms: &[Form::Text],
            logprobs: false,
            embeddings: false,
        },
    }
}

const fn local(base_url: &'static str, logprobs: bool) -> Facts {
    Facts {
        base_url: Some(base_url),
        key_variables: &[],
        forms: ALL_FORMS,
        logprobs,
        embeddings: true,
    }
}

/// The address that a model's requests go below, without a `/` at its end.
pub(crate) fn base_url(spec: &ModelSpec) -> Option<&str> {
    spec.base_url
        .as_deref()
        .or(facts(spec.provider).base_url)
        .map(|url| url.trim().trim_end_matches('/'))
}

/// Whether a model is served by this machine, or by this process.
pub(crate) fn is_local(spec: &ModelSpec) -> bool {
    spec.is_local() || base_url(spec).is_some_and(is_local_address)
}

/// Whether an address is this machine's.
pub(crate) fn is_local_address(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| is_loopback(&url))
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let name = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// Whether a model of this name thinks first: such models of OpenAI take no temperature and no
/// log-probabilities, and call the longest reply `max_completion_tokens`.
pub(crate) fn is_reasoning(provider: Provider, model: &str) -> bool {
    let name = model.strip_prefix("openai/").unwrap_or(model);
    let of_openai = matches!(
        provider,
        Provider::OpenAi | Provider::Azure | Provider::OpenRouter
    );
    let family = |family: &str| {
        name.strip_prefix(family)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
    };
    of_openai
        && !name.contains("-chat")
        && ["o1", "o3", "o4", "gpt-5", "codex"].into_iter().any(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback() {
        for (url, expected) in [
            ("http://localhost:1234/v1", true),
            ("http://127.0.0.53:1234/v1", true),
            ("http://[::1]:1234/v1", true),
            ("http://models.localhost/v1", true),
            ("http://localhost.example/v1", false),
            ("http://10.0.0.1/v1", false),
        ] {
            assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
        }
    }

    #[test]
    fn reasoning_models_by_name() {
        for (provider, model, expected) in [
            (Provider::OpenAi, "o3-mini-2025-01-31", true),
            (Provider::OpenAi, "o1", true),
            (Provider::Azure, "gpt-5.1", true),
            (Provider::OpenRouter, "openai/o4-mini", true),
            (Provider::OpenAi, "gpt-5-chat-latest", false),
            (Provider::OpenAi, "gpt-4o", false),
            (Provider::OpenAi, "o10k", false),
            (Provider::Groq, "o3", false),
        ] {
            assert_eq!(is_reasoning(provider, model), expected, "{model}");
        }
    }

    #[test]
    fn every_provider_of_a_protocol_has_an_address_or_asks_for_one() {
        for provider in Provider::ALL {
            let facts = facts(provider);
            let Some(url) = facts.base_url else { continue };
            let local = is_loopback(&Url::parse(url).unwrap());
            assert_eq!(local, facts.key_variables.is_empty(), "{provider:?}");
        }
    }
}
