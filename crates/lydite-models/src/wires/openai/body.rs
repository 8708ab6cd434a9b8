//! A chat request's body, written straight from borrowed parts.

use lydite::model::{ChatMessage, Provider};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::wires::chat::{Call, with_tail};
use crate::wires::learned::Form;

/// What the protocol's own fields are filled with; `parameters` may not set them.
pub(crate) const OWN: [&str; 9] = [
    "messages",
    "model",
    "stream",
    "n",
    "response_format",
    "tools",
    "tool_choice",
    "logprobs",
    "top_logprobs",
];

/// What differs between the servers of one protocol.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Dialect {
    /// The seed is called `random_seed` (Mistral).
    pub(crate) random_seed: bool,
    /// Tools take `strict`.
    pub(crate) strict_tools: bool,
}

impl Dialect {
    pub(crate) const fn of(provider: Provider) -> Self {
        Self {
            random_seed: matches!(provider, Provider::Mistral),
            strict_tools: matches!(provider, Provider::OpenAi | Provider::Azure),
        }
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Messages<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    random_seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tool<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Tool<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "json_schema")]
struct ResponseFormat<'a> {
    json_schema: NamedSchema<'a>,
}

#[derive(Serialize)]
struct NamedSchema<'a> {
    name: &'a str,
    strict: bool,
    schema: &'a RawValue,
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "function")]
struct Tool<'a> {
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

/// Messages, the last with an addition.
struct Messages<'a> {
    messages: &'a [ChatMessage],
    addition: Option<String>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.messages.len()))?;
        let last = self.messages.len().saturating_sub(1);
        for (index, message) in self.messages.iter().enumerate() {
            match &self.addition {
                Some(addition) if index == last => list.serialize_element(&Message {
                    role: message.role.as_str(),
                    content: &format!("{}{addition}", message.content),
                })?,
                _ => list.serialize_element(message)?,
            }
        }
        list.end()
    }
}

/// The body of a call.
pub(crate) fn render(call: &Call<'_>, dialect: Dialect) -> Result<Vec<u8>, serde_json::Error> {
    let Call { plan, request, .. } = call;
    let name = call.format_name();
    let tool = call.in_form(Form::Tool);
    let body = Body {
        model: call.model,
        messages: Messages {
            messages: &request.messages,
            addition: call.addition(),
        },
        temperature: plan.temperature,
        seed: plan.seed.filter(|_| !dialect.random_seed),
        random_seed: plan.seed.filter(|_| dialect.random_seed),
        max_tokens: plan.max_tokens.filter(|_| !plan.completion_tokens),
        max_completion_tokens: plan.max_tokens.filter(|_| plan.completion_tokens),
        logprobs: plan.top_logprobs.map(|_| true),
        top_logprobs: plan.top_logprobs,
        response_format: call.in_form(Form::JsonSchema).map(|schema| ResponseFormat {
            json_schema: NamedSchema {
                name,
                strict: schema.strict,
                schema: &schema.json,
            },
        }),
        tools: tool.map(|schema| {
            [Tool {
                function: Function {
                    name,
                    description: Some("Gives the answer."),
                    parameters: Some(&schema.json),
                    strict: dialect.strict_tools.then_some(schema.strict),
                },
            }]
        }),
        tool_choice: tool.map(|_| Tool {
            function: Function {
                name,
                description: None,
                parameters: None,
                strict: None,
            },
        }),
    };
    with_tail(&body, call.tail, call.size())
}
