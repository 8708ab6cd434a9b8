//! Google's Gemini.
//!
//! Protocol: Google, Gemini API reference, "Generating content" (`v1beta`). A reply of a schema is
//! asked for by `responseJsonSchema`. Further parameters are those of `generationConfig`.

use std::borrow::Cow;

use lydite::model::{
    ChatMessage, ChatRole, Finish, ModelError, ModelErrorKind, ModelSpec, Structured,
    TokenAlternative, TokenLogprob,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::AttemptError;
use crate::wires::chat::{
    self, Call, HttpChat, Protocol, Setup, check_parameters, not_the_protocol, with_tail,
};
use crate::wires::environment::{self, Environment};
use crate::wires::exchange::Tokens;
use crate::wires::http::{Endpoint, HttpReply, config_error};
use crate::wires::learned::{Form, Learned};
use crate::wires::openai::path_segment;
use crate::wires::provider;
use crate::wires::schema::Dialect;

/// What each call sets itself.
const OWN: [&str; 6] = [
    "responseMimeType",
    "responseJsonSchema",
    "responseSchema",
    "responseLogprobs",
    "logprobs",
    "candidateCount",
];

/// The protocol of Gemini.
#[derive(Debug)]
pub(crate) struct Gemini;

/// A Gemini model.
pub(crate) fn chat(
    spec: &ModelSpec,
    environment: Environment<'_>,
) -> Result<HttpChat<Gemini>, ModelError> {
    check_parameters(spec, &OWN)?;
    if spec.structured == Structured::Tool {
        return Err(config_error(
            spec,
            "`structured: tool` is not spoken with this provider; take `json_schema`, `text` or `auto`",
        ));
    }
    let facts = provider::facts(spec.provider);
    let forms = Form::order(spec.structured, facts.forms);
    HttpChat::new(
        spec,
        Setup {
            protocol: Gemini,
            endpoint: endpoint(spec, "generateContent", environment)?,
            learned: Learned::new(forms, false, facts.logprobs),
            schemas: Dialect::Plain,
            max_tokens: None,
            seeds: true,
            limit_names: &["maxOutputTokens"],
            seed_names: &["seed"],
        },
    )
}

impl Protocol for Gemini {
    fn body(&self, call: &Call<'_>) -> Result<Vec<u8>, serde_json::Error> {
        let messages = &call.request.messages;
        let mut contents: Vec<Content<'_>> = messages
            .iter()
            .filter(|message| message.role != ChatRole::System)
            .map(Content::of)
            .collect();
        if let (Some(addition), Some(last)) = (call.addition(), contents.last_mut()) {
            let [part] = &mut last.parts;
            part.text.to_mut().push_str(&addition);
        }
        let schema = call.in_form(Form::JsonSchema);
        let plan = call.plan;
        let config = Config {
            temperature: plan.temperature,
            seed: plan.seed,
            max_output_tokens: plan.max_tokens,
            response_mime_type: schema.map(|_| "application/json"),
            response_json_schema: schema.map(|schema| &*schema.json),
            response_logprobs: plan.top_logprobs.map(|_| true),
            logprobs: plan.top_logprobs,
        };
        let config = with_tail(&config, call.tail, 200)?;
        let body = Body {
            system_instruction: system(messages),
            contents,
            generation_config: serde_json::from_slice(&config)?,
        };
        with_tail(&body, &[], call.size())
    }

    fn read(&self, reply: &HttpReply, endpoint: &Endpoint) -> Result<chat::Answer, AttemptError> {
        let answer: Answer<'_> = serde_json::from_slice(&reply.body)
            .map_err(|error| not_the_protocol(endpoint, &reply.body, &error))?;
        let candidate = answer.candidates.first();
        let blocked = answer
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason);
        Ok(chat::Answer {
            text: candidate.and_then(Candidate::text),
            finish: match (blocked, candidate) {
                (Some(reason), _) => Err(withheld("prompt", &reason)),
                (None, Some(candidate)) => candidate.finish(),
                (None, None) => Err(AttemptError::passing(
                    ModelErrorKind::Protocol,
                    "the answer has no `candidates`",
                )),
            },
            logprobs: candidate.and_then(Candidate::logprobs),
            tokens: answer.usage_metadata.as_ref().and_then(Counted::tokens),
            served_by: answer.model_version.map(Cow::into_owned),
        })
    }
}

/// Where a method of a model is. The key goes in a header, never in the address.
pub(crate) fn endpoint(
    spec: &ModelSpec,
    method: &str,
    environment: Environment<'_>,
) -> Result<Endpoint, ModelError> {
    let key = environment::key(spec, environment)?;
    let path = format!("/models/{}:{method}", path_segment(bare_name(&spec.model)));
    Endpoint::new(spec, &path, key.as_ref(), x_goog_api_key, environment)
}

/// A model's name without Google's `models/` before it.
pub(crate) fn bare_name(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}

fn x_goog_api_key(key: &str) -> (&'static str, String) {
    ("x-goog-api-key", key.to_owned())
}

fn withheld(what: &str, reason: &str) -> AttemptError {
    AttemptError::lasting(
        ModelErrorKind::ContentFilter,
        format!("the provider's filter withheld the {what} ({reason})"),
    )
}

fn system(messages: &[ChatMessage]) -> Option<System<'_>> {
    let parts: Vec<_> = messages
        .iter()
        .filter(|message| message.role == ChatRole::System)
        .map(|message| Part {
            text: Cow::Borrowed(message.content.as_str()),
        })
        .collect();
    (!parts.is_empty()).then_some(System { parts })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<System<'a>>,
    contents: Vec<Content<'a>>,
    generation_config: &'a RawValue,
}

#[derive(Serialize)]
struct System<'a> {
    parts: Vec<Part<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
struct Part<'a> {
    text: Cow<'a, str>,
}

impl<'a> Content<'a> {
    fn of(message: &'a ChatMessage) -> Self {
        Self {
            role: match message.role {
                ChatRole::Assistant => "model",
                ChatRole::System | ChatRole::User => "user",
            },
            parts: [Part {
                text: Cow::Borrowed(&message.content),
            }],
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_logprobs: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    logprobs: Option<u8>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answer<'a> {
    #[serde(borrow, default)]
    candidates: Vec<Candidate<'a>>,
    #[serde(borrow, default)]
    prompt_feedback: Option<Feedback<'a>>,
    #[serde(default)]
    usage_metadata: Option<Counted>,
    #[serde(borrow, default)]
    model_version: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    #[serde(borrow, default)]
    block_reason: Option<Cow<'a, str>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow, default)]
    content: Option<Answered<'a>>,
    #[serde(borrow, default)]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(default)]
    logprobs_result: Option<LogprobsResult>,
}

#[derive(Debug, Deserialize)]
struct Answered<'a> {
    #[serde(borrow, default)]
    parts: Vec<AnsweredPart<'a>>,
}

#[derive(Debug, Deserialize)]
struct AnsweredPart<'a> {
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
    #[serde(default)]
    thought: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogprobsResult {
    #[serde(default)]
    chosen_candidates: Vec<TokenOf>,
    #[serde(default)]
    top_candidates: Vec<Top>,
}

#[derive(Debug, Default, Deserialize)]
struct Top {
    #[serde(default)]
    candidates: Vec<TokenOf>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TokenOf {
    #[serde(default)]
    token: String,
    #[serde(default)]
    log_probability: f64,
}

#[derive(Debug, Deserialize)]
struct Counted {
    #[serde(default, rename = "promptTokenCount")]
    prompt: Option<u64>,
    #[serde(default, rename = "candidatesTokenCount")]
    candidates: Option<u64>,
    #[serde(default, rename = "thoughtsTokenCount")]
    thoughts: Option<u64>,
}

impl Candidate<'_> {
    fn text(&self) -> Option<String> {
        let parts = &self.content.as_ref()?.parts;
        let mut texts = parts
            .iter()
            .filter(|part| !part.thought)
            .filter_map(|part| part.text.as_deref())
            .peekable();
        texts.peek().is_some().then(|| texts.collect())
    }

    fn finish(&self) -> Result<Finish, AttemptError> {
        match self.finish_reason.as_deref() {
            Some("MAX_TOKENS") => Ok(Finish::Length),
            Some(
                reason @ ("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
                | "LANGUAGE"),
            ) => Err(withheld("answer", reason)),
            _ => Ok(Finish::Stop),
        }
    }

    fn logprobs(&self) -> Option<Vec<TokenLogprob>> {
        let result = self.logprobs_result.as_ref()?;
        let none = Top::default();
        let tops = result.top_candidates.iter().chain(std::iter::repeat(&none));
        let tokens = result.chosen_candidates.iter().zip(tops);
        Some(
            tokens
                .map(|(chosen, top)| TokenLogprob {
                    token: chosen.token.clone(),
                    logprob: chosen.log_probability,
                    top: top.candidates.iter().map(TokenOf::alternative).collect(),
                })
                .collect(),
        )
    }
}

impl TokenOf {
    fn alternative(&self) -> TokenAlternative {
        TokenAlternative {
            token: self.token.clone(),
            logprob: self.log_probability,
        }
    }
}

impl Counted {
    fn tokens(&self) -> Option<Tokens> {
        Some(Tokens {
            input: self.prompt?,
            output: self.candidates.unwrap_or(0) + self.thoughts.unwrap_or(0),
            estimated: false,
        })
    }
}
