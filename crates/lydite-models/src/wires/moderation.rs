//! Moderation by OpenAI's protocol, which Mistral serves with categories of its own.
//!
//! Protocol: OpenAI, API reference, "Moderations"; Mistral, API reference, "Classifiers".

use std::collections::BTreeMap;
use std::time::Duration;

use lydite::model::{
    BoxFuture, ModelError, ModelErrorKind, ModelSpec, Moderation, ModerationCategory, Provider,
};
use serde::{Deserialize, Serialize};

use crate::wires::chat::{not_the_protocol, unwritable, with_tail};
use crate::wires::environment::Environment;
use crate::wires::exchange::{Exchange, Tokens};
use crate::wires::http::{Endpoint, HttpReply};
use crate::wires::prices::{self, KnownPrice};
use crate::wires::refusal::Refusal;
use crate::wires::{identity, openai, tokens};
use crate::{Attempt, AttemptError, ModerateWire};

/// Texts a request.
const BATCH: usize = 32;

/// A moderator over HTTP.
#[derive(Debug)]
pub(crate) struct HttpModerator {
    name: String,
    identity: String,
    model: String,
    endpoint: Endpoint,
    price: Option<KnownPrice>,
}

impl HttpModerator {
    pub(crate) fn new(spec: &ModelSpec, environment: Environment<'_>) -> Result<Self, ModelError> {
        let usual = match spec.provider {
            Provider::OpenAi => "omni-moderation-latest",
            Provider::Mistral => "mistral-moderation-latest",
            _ => {
                return Err(ModelError::new(
                    ModelErrorKind::Unsupported,
                    format!(
                        "{}: this provider has no moderation; name openai/omni-moderation-latest as the moderator",
                        spec.name()
                    ),
                ));
            }
        };
        let mut spec = spec.clone();
        if spec.model.is_empty() {
            usual.clone_into(&mut spec.model);
        }
        Ok(Self {
            name: spec.name(),
            identity: identity::of_role(&spec, "moderate", &spec.model),
            endpoint: openai::endpoint(&spec, "/moderations", environment)?,
            price: prices::price(&spec),
            model: spec.model,
        })
    }

    async fn run(
        &self,
        texts: &[&str],
        exchange: &mut Exchange<'_>,
    ) -> Result<Vec<Moderation>, AttemptError> {
        let body = Body {
            model: &self.model,
            input: texts,
        };
        let size = texts.iter().map(|text| text.len() + 20).sum();
        let body = with_tail(&body, &[], size).map_err(unwritable)?;
        let reply = exchange.send(body).await?;
        if !reply.is_success() {
            let refusal = Refusal::read(&reply.body);
            return Err(refusal.error(&reply, &self.endpoint.facts, &self.model));
        }
        exchange.count(Tokens {
            input: texts.iter().map(|text| tokens::estimate(text)).sum(),
            output: 0,
            estimated: true,
        });
        self.read(&reply, texts.len())
    }

    fn read(&self, reply: &HttpReply, texts: usize) -> Result<Vec<Moderation>, AttemptError> {
        let answer: Answer = serde_json::from_slice(&reply.body)
            .map_err(|error| not_the_protocol(&self.endpoint, &reply.body, &error))?;
        if answer.results.len() != texts {
            return Err(AttemptError::passing(
                ModelErrorKind::Protocol,
                format!("{} results for {texts} texts", answer.results.len()),
            ));
        }
        Ok(answer.results.into_iter().map(Moderation::from).collect())
    }
}

impl ModerateWire for HttpModerator {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Moderation>>> {
        Box::pin(async move {
            let mut exchange = Exchange::new(&self.endpoint, timeout);
            let outcome = self.run(texts, &mut exchange).await;
            exchange.finish(self.price, outcome)
        })
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    input: &'a [&'a str],
}

#[derive(Debug, Deserialize)]
struct Answer {
    results: Vec<Item>,
}

/// Some servers give null for categories that a model does not have.
#[derive(Debug, Deserialize)]
struct Item {
    #[serde(default)]
    flagged: Option<bool>,
    #[serde(default)]
    categories: BTreeMap<String, Option<bool>>,
    #[serde(default)]
    category_scores: BTreeMap<String, Option<f64>>,
}

impl From<Item> for Moderation {
    fn from(item: Item) -> Self {
        let categories: Vec<_> = item
            .categories
            .into_iter()
            .filter_map(|(name, flagged)| {
                let score = item.category_scores.get(&name).copied().flatten()?;
                Some(ModerationCategory {
                    flagged: flagged?,
                    score: score.clamp(0.0, 1.0),
                    name,
                })
            })
            .collect();
        let any = || categories.iter().any(|category| category.flagged);
        Self {
            flagged: item.flagged.unwrap_or_else(any),
            categories,
        }
    }
}
