//! A model as a suite names it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A model and how it is asked. Written whole, or as `provider/model`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// The provider, or the kind of program: it settles the protocol, the base URL and the key's variable. With a
    /// `path` it may be left out, and is `local`.
    #[serde(default)]
    pub provider: Provider,
    /// The provider's name of the model (Azure: of the deployment).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
    /// Where requests go, such as `http://localhost:8000/v1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// How a reply of a given form is asked for.
    #[serde(default, skip_serializing_if = "is_auto")]
    pub structured: Structured,
    /// 0 for judges where left out. `null` asks for the provider's default.
    #[serde(default, skip_serializing_if = "Temperature::is_unset")]
    #[schemars(with = "Option<f64>", range(min = 0.0))]
    pub temperature: Temperature,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The longest reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_output_tokens: Option<u32>,
    /// Further parameters of the provider's own request, such as `{top_p: 0.9}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// Seconds that one attempt may take; 60 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub timeout: Option<f64>,
    /// Seconds that a call may take with all its attempts; ten time-outs where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub deadline: Option<f64>,
    /// Attempts a call at the most; 8 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub attempts: Option<u32>,
    /// Calls under way at once; 16 where left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub concurrency: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub requests_per_minute: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub tokens_per_minute: Option<f64>,
    /// Further headers. A value `$NAME` is read from the environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// The length of vectors that an embedder is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub dimensions: Option<u32>,
    /// Azure's `api-version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_version: Option<String>,
    /// A PEM file of certificates that are trusted beside the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// `command`: the program and its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// `scripted`: the file of replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// `local`: the folder of the model's files, such as `config.json`, `tokenizer.json` and `model.safetensors`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `local`: what runs the model.
    #[serde(default, skip_serializing_if = "Runtime::is_auto")]
    pub runtime: Runtime,
    /// `local`: the names of a classifier's labels in their order, in place of those of its files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// `local`: the labels of a classifier that, as a moderator, flag a text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flagged_labels: Vec<String>,
}

/// The embedder that Lydite brings: the default of the role, and what its own fitted models were fitted on.
pub const LOCAL_EMBEDDER: &str = "all-MiniLM-L6-v2";

/// Who serves a model, and in which protocol.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// `OpenAI`, or any server of its protocol by `base_url`.
    #[serde(rename = "openai")]
    OpenAi,
    Azure,
    Anthropic,
    Gemini,
    #[serde(rename = "openrouter")]
    OpenRouter,
    Mistral,
    Groq,
    Together,
    #[serde(rename = "deepseek")]
    DeepSeek,
    Ollama,
    Vllm,
    #[serde(rename = "lm_studio")]
    LmStudio,
    #[serde(rename = "llama_cpp")]
    LlamaCpp,
    /// A program that reads and writes JSON lines.
    Command,
    /// Replies from a file.
    Scripted,
    /// Runs in this process: the built-in embedder, or a model in a folder.
    #[default]
    Local,
}

impl Provider {
    pub const ALL: [Self; 16] = [
        Self::OpenAi,
        Self::Azure,
        Self::Anthropic,
        Self::Gemini,
        Self::OpenRouter,
        Self::Mistral,
        Self::Groq,
        Self::Together,
        Self::DeepSeek,
        Self::Ollama,
        Self::Vllm,
        Self::LmStudio,
        Self::LlamaCpp,
        Self::Command,
        Self::Scripted,
        Self::Local,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Azure => "azure",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::OpenRouter => "openrouter",
            Self::Mistral => "mistral",
            Self::Groq => "groq",
            Self::Together => "together",
            Self::DeepSeek => "deepseek",
            Self::Ollama => "ollama",
            Self::Vllm => "vllm",
            Self::LmStudio => "lm_studio",
            Self::LlamaCpp => "llama_cpp",
            Self::Command => "command",
            Self::Scripted => "scripted",
            Self::Local => "local",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.as_str() == name)
    }
}

/// What runs a model of this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Runtime {
    /// By what stands in the folder: safetensors before ONNX.
    #[default]
    Auto,
    /// Safetensors.
    Candle,
    /// An ONNX file, by ONNX Runtime.
    Onnx,
}

impl Runtime {
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// How freely a model chooses its words.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Temperature {
    /// Nothing is said: 0 for judges.
    #[default]
    Unset,
    /// `null`: none is sent, so that the provider's default holds.
    Provider,
    /// From 0.
    At(f64),
}

impl Temperature {
    /// What to send; `unset` where nothing is said, `None` for the provider's default.
    pub const fn or(self, unset: f64) -> Option<f64> {
        match self {
            Self::Unset => Some(unset),
            Self::Provider => None,
            Self::At(value) => Some(value),
        }
    }

    fn is_unset(&self) -> bool {
        *self == Self::Unset
    }
}

impl Serialize for Temperature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unset | Self::Provider => serializer.serialize_none(),
            Self::At(value) => serializer.serialize_some(value),
        }
    }
}

impl<'de> Deserialize<'de> for Temperature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::<f64>::deserialize(deserializer)?;
        Ok(value.map_or(Self::Provider, Self::At))
    }
}

/// How a reply of a given form is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Structured {
    /// As the provider is known to have it; where a server refuses the form, the next one is taken.
    #[default]
    Auto,
    /// The provider's JSON schema mode.
    JsonSchema,
    /// A tool call.
    Tool,
    /// Words in the prompt.
    Text,
}

/// US dollars a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    #[schemars(range(min = 0.0))]
    pub input: f64,
    #[serde(default)]
    #[schemars(range(min = 0.0))]
    pub output: f64,
}

/// What is wrong with `provider/model`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct SpecProblem {
    pub message: String,
    pub help: String,
}

impl ModelSpec {
    /// A provider's model with all else left out.
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            model: model.into(),
            base_url: None,
            api_key_env: None,
            structured: Structured::Auto,
            temperature: Temperature::Unset,
            seed: None,
            max_output_tokens: None,
            parameters: BTreeMap::new(),
            timeout: None,
            deadline: None,
            attempts: None,
            concurrency: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            headers: BTreeMap::new(),
            price: None,
            dimensions: None,
            api_version: None,
            ca_file: None,
            command: Vec::new(),
            file: None,
            path: None,
            runtime: Runtime::Auto,
            labels: Vec::new(),
            flagged_labels: Vec::new(),
        }
    }

    /// The embedder that Lydite brings.
    pub fn local_embedder() -> Self {
        Self::new(Provider::Local, LOCAL_EMBEDDER)
    }

    /// Whether it runs in this process.
    pub fn is_local(&self) -> bool {
        self.provider == Provider::Local
    }

    /// Reads `openai/gpt-4.1-mini`.
    pub fn parse(text: &str) -> Result<Self, SpecProblem> {
        let providers = || Provider::ALL.map(Provider::as_str);
        let Some((provider, model)) = text.split_once('/') else {
            return Err(SpecProblem {
                message: format!("`{text}` names no model"),
                help: format!(
                    "write `provider/model`, such as `openai/gpt-4.1-mini`, or a name that stands under `models:`; providers: {}",
                    providers().join(", ")
                ),
            });
        };
        match Provider::from_name(provider) {
            Some(provider) if !model.is_empty() => Ok(Self::new(provider, model)),
            Some(_) => Err(SpecProblem {
                message: format!("`{text}` names no model"),
                help: format!("write `{provider}/<model>`"),
            }),
            None => Err(SpecProblem {
                message: match crate::node::did_you_mean(provider, providers()) {
                    Some(near) => format!("unknown provider `{provider}` (did you mean `{near}`?)"),
                    None => format!("unknown provider `{provider}`"),
                },
                help: format!(
                    "providers: {}; for another server of OpenAI's protocol write `{{provider: openai, model: …, base_url: …}}`",
                    providers().join(", ")
                ),
            }),
        }
    }

    /// Reads `openai/gpt-4.1-mini`, or a mapping of all that a spec has, as YAML.
    pub fn parse_yaml(text: &str) -> Result<Self, SpecProblem> {
        let problem = |message: String| SpecProblem {
            message,
            help: "write `provider/model`, or `{provider: openai, model: …, base_url: …}`"
                .to_owned(),
        };
        let node = crate::node::Node::parse(text).map_err(|error| problem(error.message))?;
        match node.as_str() {
            Some(shorthand) => Self::parse(shorthand),
            None => node
                .deserialize_into()
                .map_err(|error| problem(error.message)),
        }
    }

    /// `provider/model`, as results and reports name it.
    pub fn name(&self) -> String {
        let model = if self.model.is_empty() {
            let path = self.path.as_deref().or(self.file.as_deref());
            path.or(self.command.first().map(String::as_str))
                .unwrap_or("model")
        } else {
            &self.model
        };
        format!("{}/{model}", self.provider.as_str())
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_auto(structured: &Structured) -> bool {
    *structured == Structured::Auto
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorthands() {
        let spec = ModelSpec::parse("openrouter/meta-llama/llama-3.3-70b").unwrap();
        assert_eq!(
            (spec.provider, spec.model.as_str()),
            (Provider::OpenRouter, "meta-llama/llama-3.3-70b")
        );
        for (text, words) in [
            ("gpt-4o", "names no model"),
            ("openai/", "names no model"),
            ("opnai/gpt-4o", "did you mean `openai`"),
        ] {
            let error = ModelSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_temperature_is_left_out_or_null_or_a_number() {
        for (json, temperature, sent) in [
            (r#"{"provider":"openai"}"#, Temperature::Unset, Some(0.0)),
            (
                r#"{"provider":"openai","temperature":null}"#,
                Temperature::Provider,
                None,
            ),
            (
                r#"{"provider":"openai","temperature":0.5}"#,
                Temperature::At(0.5),
                Some(0.5),
            ),
        ] {
            let spec: ModelSpec = serde_json::from_str(json).unwrap();
            assert_eq!(
                (spec.temperature, spec.temperature.or(0.0)),
                (temperature, sent)
            );
            assert_eq!(serde_json::to_string(&spec).unwrap(), json);
        }
    }

    #[test]
    fn provider_names_are_their_serde_names() {
        for provider in Provider::ALL {
            assert_eq!(serde_json::to_value(provider).unwrap(), provider.as_str());
        }
    }
}
