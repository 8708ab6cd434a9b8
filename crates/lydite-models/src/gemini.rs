//! Google's Gemini.
//!
//! Protocol: Google, Gemini API reference, "Generating content" (`v1beta`). A reply of a schema is
//! asked for by `responseJsonSchema`.

use std::borrow::Cow;
use std::time::Duration;

use lydite::model::{
    BoxFuture, ChatMessage, ChatReply, ChatRequest, ChatRole, Finish, ModelError, ModelErrorKind,
    ModelSpec, ReplyFormat, Structured, TokenAlternative, TokenLogprob,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::environment::{self, Environment};
use crate::exchange::{self, Exchange, Tokens};
use crate::http::{Endpoint, HttpReply, config_error};
use crate::identity;
use crate::openai::{
    Temperature, check_parameters, estimated, in_words, no_text, not_the_protocol, path_segment,
    size, tail, unwritable,
};
use crate::prices::{self, KnownPrice};
use crate::refusal::Refusal;
use crate::schema::{Dialect, Made, Schemas};
use crate::{Attempt, AttemptError, ChatWire};

/// What each call sets itself. Other parameters are those of `generationConfig`.
const OWN: [&str; 6] = [
    "responseMimeType",
    "responseJsonSchema",
    "responseSchema",
    "responseLogprobs",
    "logprobs",
    "candidateCount",
];

/// A Gemini model.
#[derive(Debug)]
pub(crate) struct GeminiChat {
    name: String,
    identity: String,
    model: String,
    endpoint: Endpoint,
    temperature: Temperature,
    seed: Option<u64>,
    max_tokens: Option<u32>,
    tail: Vec<u8>,
    schemas: Schemas,
    by_schema: bool,
    price: Option<KnownPrice>,
}

impl GeminiChat {
    pub(crate) fn new(spec: &ModelSpec, environment: Environment<'_>) -> Result<Self, ModelError> {
        check_parameters(spec, &OWN)?;
        if spec.structured == Structured::Tool {
            return Err(config_error(
                spec,
                "`structured: tool` is not spoken with this provider; take `json_schema`, `text` or `auto`",
            ));
        }
        let own = |name: &str| spec.parameters.contains_key(name);
        Ok(Self {
            name: spec.name(),
            identity: identity::of_chat(spec),
            model: spec.model.clone(),
            endpoint: endpoint(spec, "generateContent", environment)?,
            temperature: Temperature::of(spec),
            seed: spec.seed.filter(|_| !own("seed")),
            max_tokens: spec.max_output_tokens.filter(|_| !own("maxOutputTokens")),
            tail: tail(spec).map_err(|error| config_error(spec, &error.to_string()))?,
            schemas: Schemas::new(Dialect::Plain),
            by_schema: spec.structured != Structured::Text,
            price: prices::price(spec),
        })
    }

    async fn run(
        &self,
        request: &ChatRequest,
        exchange: &mut Exchange<'_>,
    ) -> Result<ChatReply, AttemptError> {
        let schema = match &request.format {
            ReplyFormat::Json { schema, .. } => Some(self.schemas.get(schema)),
            ReplyFormat::Text => None,
        };
        let schema = schema.as_deref();
        let body = self.body(request, schema).map_err(unwritable)?;
        let reply = exchange.send(body).await?;
        if reply.is_success() {
            return self.read(&reply, request, schema, exchange);
        }
        let refusal = Refusal::read(&reply.body);
        let error = refusal.error(&reply, &self.endpoint.facts, &self.model);
        if reply.status == 400 && request.top_logprobs.is_some() && refusal.says("", &["logprobs"])
        {
            return Err(AttemptError {
                kind: ModelErrorKind::Unsupported,
                ..error
            });
        }
        Err(error)
    }

    fn body(
        &self,
        request: &ChatRequest,
        schema: Option<&Made>,
    ) -> Result<Vec<u8>, serde_json::Error> {
        let in_text = schema.filter(|_| !self.by_schema);
        let mut contents: Vec<Content<'_>> = request
            .messages
            .iter()
            .filter(|message| message.role != ChatRole::System)
            .map(Content::of)
            .collect();
        if let (Some(schema), Some(last)) = (in_text, contents.last_mut()) {
            let [part] = &mut last.parts;
            part.text = Cow::Owned(format!("{}{}", part.text, in_words(schema)));
        }
        let by_schema = schema.filter(|_| self.by_schema);
        let config = Config {
            temperature: self.temperature.of_request(request),
            seed: self.seed,
            max_output_tokens: self.max_tokens,
            response_mime_type: by_schema.map(|_| "application/json"),
            response_json_schema: by_schema.map(|schema| &*schema.json),
            response_logprobs: request.top_logprobs.map(|_| true),
            logprobs: request.top_logprobs,
        };
        let config = crate::openai::with_tail(&config, &self.tail, 200)?;
        let config = serde_json::from_slice::<&RawValue>(&config)?;
        let body = Body {
            system_instruction: system(&request.messages),
            contents,
            generation_config: config,
        };
        crate::openai::with_tail(&body, &[], size(&request.messages, schema))
    }

    fn read(
        &self,
        reply: &HttpReply,
        request: &ChatRequest,
        schema: Option<&Made>,
        exchange: &mut Exchange<'_>,
    ) -> Result<ChatReply, AttemptError> {
        let answer: Answer<'_> = serde_json::from_slice(&reply.body)
            .map_err(|error| not_the_protocol(&self.endpoint, &reply.body, &error))?;
        let candidate = answer.candidates.first();
        let text = candidate.and_then(Candidate::text);
        exchange.count(
            answer
                .usage_metadata
                .as_ref()
                .and_then(Counted::tokens)
                .unwrap_or_else(|| estimated(request, schema, text.as_deref().unwrap_or_default())),
        );
        if let Some(reason) = answer
            .prompt_feedback
            .and_then(|feedback| feedback.block_reason)
        {
            return Err(withheld("prompt", &reason));
        }
        let candidate = candidate.ok_or_else(|| {
            AttemptError::passing(ModelErrorKind::Protocol, "the answer has no `candidates`")
        })?;
        let finish = candidate.finish()?;
        let text = match (text, finish) {
            (Some(text), _) => text,
            (None, Finish::Length) => String::new(),
            (None, Finish::Stop) => return Err(no_text()),
        };
        Ok(ChatReply {
            text,
            finish,
            logprobs: candidate.logprobs(),
            served_by: answer.model_version.map(Cow::into_owned),
            ..ChatReply::default()
        })
    }
}

impl ChatWire for GeminiChat {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn logprobs(&self) -> bool {
        true
    }

    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>> {
        Box::pin(async move {
            let mut exchange = Exchange::new(&self.endpoint, timeout);
            let outcome = self.run(request, &mut exchange).await;
            exchange::with_usage(exchange.finish(self.price, outcome))
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
