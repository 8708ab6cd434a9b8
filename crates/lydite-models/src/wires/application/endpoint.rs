//! An application over HTTP.

use std::time::{Duration, Instant};

use lydite::model::{
    BoxFuture, ChatReply, ChatRequest, HttpApplication, HttpCall, HttpMethod, ModelError,
    ModelErrorKind, Usage,
};
use reqwest::Method;
use serde_json::json;

use super::message;
use crate::wires::environment::Environment;
use crate::wires::http::{Endpoint, HttpReply};
use crate::wires::identity::short_hash;
use crate::wires::refusal::Refusal;
use crate::{Attempt, AttemptError, ChatWire};

#[derive(Debug)]
pub(super) struct EndpointWire {
    name: String,
    identity: String,
    method: Method,
    endpoint: Endpoint,
}

impl EndpointWire {
    pub(super) fn new(
        name: String,
        http: &HttpApplication,
        environment: Environment<'_>,
    ) -> Result<Self, ModelError> {
        let config =
            |what: String| ModelError::new(ModelErrorKind::Config, format!("{name}: {what}"));
        let endpoint = Endpoint::at(
            &http.url,
            &http.headers,
            http.ca_file.as_deref(),
            environment,
        );
        Ok(Self {
            endpoint: endpoint.map_err(config)?,
            identity: identity(http),
            method: match http.method {
                HttpMethod::Get => Method::GET,
                HttpMethod::Post => Method::POST,
                HttpMethod::Put => Method::PUT,
                HttpMethod::Patch => Method::PATCH,
            },
            name,
        })
    }

    async fn run(
        &self,
        request: &ChatRequest,
        timeout: Duration,
        status: &mut Option<u16>,
        request_id: &mut Option<String>,
    ) -> Result<ChatReply, AttemptError> {
        let call: HttpCall<'_> = serde_json::from_str(message(request)).map_err(|error| {
            let message = format!("the call can't be read: {error}");
            AttemptError::lasting(ModelErrorKind::Local, message)
        })?;
        let body = call.body.map(|body| body.get().as_bytes().to_vec());
        let sent = self
            .endpoint
            .send(self.method.clone(), call.query.as_deref(), body, timeout);
        let reply = sent.await?;
        *status = Some(reply.status);
        request_id.clone_from(&reply.request_id);
        if !reply.is_success() {
            return Err(self.refused(&reply));
        }
        let text = String::from_utf8(reply.body).map_err(|_| {
            let message = "its reply is not UTF-8".to_owned();
            AttemptError::lasting(ModelErrorKind::Protocol, message)
        })?;
        Ok(ChatReply {
            text,
            ..ChatReply::default()
        })
    }

    /// The error of a reply that is no success.
    fn refused(&self, reply: &HttpReply) -> AttemptError {
        use ModelErrorKind as Kind;
        let facts = &self.endpoint.facts;
        let (url, status) = (&facts.shown_url, reply.status);
        let quote = match Refusal::read(&reply.body).quoted(&facts.redactor) {
            quote if quote.is_empty() => quote,
            quote => format!(": {quote}"),
        };
        let error = match status {
            401 | 403 => AttemptError::lasting(
                Kind::Unauthorized,
                format!(
                    "{url} refuses the call ({status}){quote}; set its key by `headers: {{Authorization: $NAME}}` of the target, from the environment variable NAME"
                ),
            ),
            300..=399 => {
                let to = reply
                    .location
                    .as_deref()
                    .map_or_else(String::new, |to| format!(" to {to}"));
                AttemptError::lasting(
                    Kind::NotFound,
                    format!(
                        "{url} redirects{to} ({status}), and calls are not sent on; set the target's `url` to the new address"
                    ),
                )
            }
            404 => AttemptError::lasting(
                Kind::NotFound,
                format!("there is nothing at {url} (404){quote}; check the target's `url`"),
            ),
            429 => {
                AttemptError::passing(Kind::RateLimited, format!("too many requests (429){quote}"))
            }
            408 => {
                AttemptError::passing(Kind::Timeout, format!("{url} gave up waiting (408){quote}"))
            }
            409 | 425 | 500 | 502.. => {
                AttemptError::passing(Kind::Server, format!("{url} failed ({status}){quote}"))
            }
            _ => AttemptError::lasting(
                Kind::BadRequest,
                format!(
                    "{url} refused the call ({status}){quote}; check the target's `method` and `body`"
                ),
            ),
        };
        AttemptError {
            retry_after: reply.retry_after,
            ..error
        }
    }
}

impl ChatWire for EndpointWire {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn logprobs(&self) -> bool {
        false
    }

    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>> {
        Box::pin(async move {
            let started = Instant::now();
            let (mut status, mut request_id) = (None, None);
            let outcome = self
                .run(request, timeout, &mut status, &mut request_id)
                .await;
            Attempt {
                outcome,
                status,
                took: started.elapsed(),
                usage: Usage {
                    calls: 1,
                    ..Usage::default()
                },
                request_id,
            }
        })
    }
}

/// Where calls go and how, without any secret.
fn identity(http: &HttpApplication) -> String {
    let headers: Vec<_> = http
        .headers
        .iter()
        .map(|(name, value)| match value.strip_prefix('$') {
            Some(_) => (name.to_ascii_lowercase(), value.clone()),
            None => (name.to_ascii_lowercase(), short_hash(value.as_bytes())),
        })
        .collect();
    json!({
        "role": "application",
        "method": http.method,
        "url": short_hash(http.url.as_bytes()),
        "headers": headers,
    })
    .to_string()
}
