//! Embeddings: OpenAI's protocol, and Gemini's.
//!
//! Protocols: OpenAI, API reference, "Embeddings"; Google, Gemini API reference, "Embeddings"
//! (`batchEmbedContents`).

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lydite::model::{BoxFuture, ModelError, ModelErrorKind, ModelSpec, Provider};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wires::chat::{check_parameters, not_the_protocol, tail, unwritable, with_tail};
use crate::wires::environment::Environment;
use crate::wires::exchange::{Exchange, Tokens};
use crate::wires::http::{Endpoint, HttpReply, config_error};
use crate::wires::prices::{self, KnownPrice};
use crate::wires::refusal::Refusal;
use crate::wires::{gemini, identity, openai, provider, tokens};
use crate::{Attempt, AttemptError, EmbedWire};

/// Texts a request. OpenAI takes 2,048, but 300,000 tokens at the most; local servers less.
const BATCH: usize = 256;
/// Gemini takes 100, Mistral and Together about as many.
const SMALL_BATCH: usize = 100;

/// An embedder over HTTP.
#[derive(Debug)]
pub(crate) struct HttpEmbedder {
    name: String,
    identity: String,
    model: String,
    endpoint: Endpoint,
    provider: Provider,
    dimensions: Option<u32>,
    tail: Vec<u8>,
    price: Option<KnownPrice>,
}

impl HttpEmbedder {
    pub(crate) fn new(spec: &ModelSpec, environment: Environment<'_>) -> Result<Self, ModelError> {
        if !provider::facts(spec.provider).embeddings {
            return Err(ModelError::new(
                ModelErrorKind::Unsupported,
                format!(
                    "{}: this provider has no embeddings; name another embedder under `models:`, such as openai/text-embedding-3-small",
                    spec.name()
                ),
            ));
        }
        check_parameters(spec, &["model", "input", "encoding_format", "dimensions"])?;
        let endpoint = match spec.provider {
            Provider::Gemini => gemini::endpoint(spec, "batchEmbedContents", environment)?,
            _ => openai::endpoint(spec, "/embeddings", environment)?,
        };
        Ok(Self {
            name: spec.name(),
            identity: identity::of_role(spec, "embed", &spec.model),
            model: match spec.provider {
                Provider::Gemini => format!("models/{}", gemini::bare_name(&spec.model)),
                _ => spec.model.clone(),
            },
            endpoint,
            provider: spec.provider,
            dimensions: spec.dimensions,
            tail: tail(spec).map_err(|error| config_error(spec, &error.to_string()))?,
            price: prices::price(spec),
        })
    }

    async fn run(
        &self,
        texts: &[&str],
        exchange: &mut Exchange<'_>,
    ) -> Result<Vec<Vec<f32>>, AttemptError> {
        let reply = exchange.send(self.body(texts).map_err(unwritable)?).await?;
        if !reply.is_success() {
            let refusal = Refusal::read(&reply.body);
            return Err(refusal.error(&reply, &self.endpoint.facts, &self.model));
        }
        let vectors = match self.provider {
            Provider::Gemini => self.read_gemini(&reply, texts, exchange)?,
            _ => self.read_openai(&reply, texts, exchange)?,
        };
        check(&vectors, texts.len(), self.dimensions).map_err(|problem| {
            AttemptError::passing(
                ModelErrorKind::Protocol,
                format!("the embeddings can't be used: {problem}"),
            )
        })?;
        Ok(vectors)
    }

    fn body(&self, texts: &[&str]) -> Result<Vec<u8>, serde_json::Error> {
        let size = texts.iter().map(|text| text.len() + 100).sum();
        if self.provider == Provider::Gemini {
            let one = |text| GeminiRequest {
                model: &self.model,
                content: GeminiContent {
                    parts: [GeminiPart { text }],
                },
                output_dimensionality: self.dimensions,
            };
            let requests = texts.iter().copied().map(one).collect();
            return with_tail(&GeminiBody { requests }, &self.tail, size);
        }
        let body = Body {
            model: &self.model,
            input: texts,
            // Half the bytes, and no numbers to parse; local servers often know floats alone.
            encoding_format: match self.provider {
                Provider::OpenAi | Provider::Azure => "base64",
                _ => "float",
            },
            dimensions: self.dimensions,
        };
        with_tail(&body, &self.tail, size)
    }

    fn read_openai(
        &self,
        reply: &HttpReply,
        texts: &[&str],
        exchange: &mut Exchange<'_>,
    ) -> Result<Vec<Vec<f32>>, AttemptError> {
        let answer: Answer<'_> = self.parse(&reply.body)?;
        let counted = answer.usage.and_then(|usage| usage.prompt_tokens);
        exchange.count(input_tokens(counted, texts));
        let mut vectors = vec![Vec::new(); texts.len()];
        for (position, item) in answer.data.into_iter().enumerate() {
            let index = item.index.unwrap_or(position);
            let place = vectors.get_mut(index).filter(|place| place.is_empty());
            let place = place.ok_or_else(|| {
                unusable(&format!("two of them, or too many, have the index {index}"))
            })?;
            *place = vector(item.embedding)
                .ok_or_else(|| unusable("one is neither numbers nor base64"))?;
        }
        Ok(vectors)
    }

    fn read_gemini(
        &self,
        reply: &HttpReply,
        texts: &[&str],
        exchange: &mut Exchange<'_>,
    ) -> Result<Vec<Vec<f32>>, AttemptError> {
        let answer: GeminiAnswer = self.parse(&reply.body)?;
        exchange.count(input_tokens(None, texts));
        let vectors = answer.embeddings.into_iter().map(|item| item.values);
        Ok(vectors.collect())
    }

    fn parse<'b, T: Deserialize<'b>>(&self, body: &'b [u8]) -> Result<T, AttemptError> {
        serde_json::from_slice(body).map_err(|error| not_the_protocol(&self.endpoint, body, &error))
    }
}

impl EmbedWire for HttpEmbedder {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        match self.provider {
            Provider::OpenAi | Provider::Azure => BATCH,
            _ => SMALL_BATCH,
        }
    }

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Vec<f32>>>> {
        Box::pin(async move {
            let mut exchange = Exchange::new(&self.endpoint, timeout);
            let outcome = self.run(texts, &mut exchange).await;
            exchange.finish(self.price, outcome)
        })
    }
}

/// What is wrong with the vectors of so many texts.
fn check(vectors: &[Vec<f32>], texts: usize, dimensions: Option<u32>) -> Result<(), String> {
    if vectors.len() != texts {
        return Err(format!("{} for {texts} texts", vectors.len()));
    }
    let length = vectors.first().map_or(0, Vec::len);
    for (index, vector) in vectors.iter().enumerate() {
        if vector.is_empty() {
            return Err(format!("there is none with the index {index}"));
        }
        if vector.len() != length {
            return Err(format!(
                "they are of unequal length, {length} and {}",
                vector.len()
            ));
        }
        if !vector.iter().all(|value| value.is_finite()) {
            return Err(format!(
                "the one with the index {index} holds a number that is not finite"
            ));
        }
    }
    match dimensions {
        Some(asked) if texts > 0 && asked as usize != length => Err(format!(
            "they are of length {length}, but `dimensions: {asked}` was asked for; leave it out where the model does not have it"
        )),
        _ => Ok(()),
    }
}

fn unusable(problem: &str) -> AttemptError {
    AttemptError::passing(
        ModelErrorKind::Protocol,
        format!("the embeddings can't be used: {problem}"),
    )
}

fn input_tokens(counted: Option<u64>, texts: &[&str]) -> Tokens {
    let estimate = || texts.iter().map(|text| tokens::estimate(text)).sum();
    Tokens {
        input: counted.filter(|&count| count > 0).unwrap_or_else(estimate),
        output: 0,
        estimated: counted.is_none_or(|count| count == 0),
    }
}

/// A list of numbers, or the base64 of little-endian binary32 numbers.
fn vector(raw: &RawValue) -> Option<Vec<f32>> {
    let json = raw.get();
    if !json.starts_with('"') {
        return serde_json::from_str(json).ok();
    }
    let text: &str = serde_json::from_str(json).ok()?;
    let bytes = STANDARD.decode(text).ok()?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| {
        numbers
            .iter()
            .map(|bytes| f32::from_le_bytes(*bytes))
            .collect()
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: &'a [&'a str],
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Answer<'a> {
    #[serde(borrow)]
    data: Vec<Item<'a>>,
    #[serde(default)]
    usage: Option<Counted>,
}

#[derive(Debug, Deserialize)]
struct Item<'a> {
    #[serde(default)]
    index: Option<usize>,
    #[serde(borrow)]
    embedding: &'a RawValue,
}

#[derive(Debug, Deserialize)]
struct Counted {
    #[serde(default)]
    prompt_tokens: Option<u64>,
}

#[derive(Serialize)]
struct GeminiBody<'a> {
    requests: Vec<GeminiRequest<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GeminiRequest<'a> {
    model: &'a str,
    content: GeminiContent<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_dimensionality: Option<u32>,
}

#[derive(Serialize)]
struct GeminiContent<'a> {
    parts: [GeminiPart<'a>; 1],
}

#[derive(Serialize)]
struct GeminiPart<'a> {
    text: &'a str,
}

#[derive(Debug, Deserialize)]
struct GeminiAnswer {
    embeddings: Vec<GeminiValues>,
}

#[derive(Debug, Deserialize)]
struct GeminiValues {
    values: Vec<f32>,
}
