//! The requests of one attempt, and what they add up to.

use std::time::{Duration, Instant};

use lydite::model::{ModelErrorKind, Usage};

use crate::wires::http::{Endpoint, HttpReply};
use crate::wires::prices::{self, KnownPrice};
use crate::{Attempt, AttemptError};

/// One attempt under way. Mostly one request; more where a server refuses a form or a parameter.
#[derive(Debug)]
pub(crate) struct Exchange<'e> {
    endpoint: &'e Endpoint,
    started: Instant,
    timeout: Duration,
    usage: Usage,
    status: Option<u16>,
    request_id: Option<String>,
}

impl<'e> Exchange<'e> {
    pub(crate) fn new(endpoint: &'e Endpoint, timeout: Duration) -> Self {
        Self {
            endpoint,
            started: Instant::now(),
            timeout,
            usage: Usage::default(),
            status: None,
            request_id: None,
        }
    }

    /// Sends a body within what is left of the time.
    pub(crate) async fn send(&mut self, body: Vec<u8>) -> Result<HttpReply, AttemptError> {
        self.usage.calls += 1;
        self.status = None;
        self.request_id = None;
        let left = self.timeout.saturating_sub(self.started.elapsed());
        let reply = self.endpoint.post(body, left).await.map_err(|error| {
            if error.kind == ModelErrorKind::Timeout {
                crate::wires::http::timed_out(&self.endpoint.facts.shown_url, self.timeout)
            } else {
                error
            }
        })?;
        self.status = Some(reply.status);
        self.request_id.clone_from(&reply.request_id);
        Ok(reply)
    }

    /// Adds tokens of a reply.
    pub(crate) fn count(&mut self, tokens: Tokens) {
        self.usage.input_tokens += tokens.input;
        self.usage.output_tokens += tokens.output;
        self.usage.estimated |= tokens.estimated;
    }

    /// The attempt, with its cost. `outcome` is given the usage.
    pub(crate) fn finish<T>(
        self,
        price: Option<KnownPrice>,
        outcome: Result<T, AttemptError>,
    ) -> Attempt<T> {
        Attempt {
            outcome,
            status: self.status,
            took: self.started.elapsed(),
            usage: prices::with_cost(self.usage, price),
            request_id: self.request_id,
        }
    }
}

/// Tokens that a reply reports, or that were estimated for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) estimated: bool,
}

/// Puts an attempt's usage into its reply.
pub(crate) fn with_usage(
    mut attempt: Attempt<lydite::model::ChatReply>,
) -> Attempt<lydite::model::ChatReply> {
    if let Ok(reply) = &mut attempt.outcome {
        reply.usage = attempt.usage;
    }
    attempt
}
