//! A chat model with all its layers.
//!
//! Equal calls under way are joined first, though they stand below the log and the cache otherwise: who
//! leads looks into both, so nothing can slip in between a look that found nothing and the call.

use std::sync::Arc;

use lydite::model::{
    BoxFuture, ChatModel, ChatReply, ChatRequest, Finish, ModelError, ReplyFormat, Taken, Usage,
};
use tokio::time::Instant;

use crate::attempt::ChatWire;
use crate::layers::cache::Kind;
use crate::layers::dry;
use crate::layers::flight::Flights;
use crate::layers::key::{Key, Keys};
use crate::layers::log::{Answer, Asked, Kept};
use crate::layers::retry::{self, millis};
use crate::layers::stack::{Found, Mode, Note, Stack};
use crate::wires::tokens;

pub(crate) type ChatFlights = Flights<Result<ChatReply, ModelError>>;

#[derive(Debug)]
pub(crate) struct LayeredChat {
    wire: Arc<dyn ChatWire>,
    keys: Keys,
    stack: Stack,
    flights: Arc<ChatFlights>,
    /// `chat` or `application`.
    role: &'static str,
}

impl LayeredChat {
    pub(crate) fn new(wire: Arc<dyn ChatWire>, stack: Stack, flights: Arc<ChatFlights>) -> Self {
        Self::with_role("chat", wire, stack, flights)
    }

    /// An application under test.
    pub(crate) fn application(
        wire: Arc<dyn ChatWire>,
        stack: Stack,
        flights: Arc<ChatFlights>,
    ) -> Self {
        Self::with_role("application", wire, stack, flights)
    }

    fn with_role(
        role: &'static str,
        wire: Arc<dyn ChatWire>,
        stack: Stack,
        flights: Arc<ChatFlights>,
    ) -> Self {
        Self {
            role,
            keys: Keys::new(role, wire.identity()),
            wire,
            stack,
            flights,
        }
    }

    /// What the provider was found to refuse or to ignore.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.wire.notes()
    }

    async fn ask(&self, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let key = self.keys.chat(request, &self.stack.shared.schemas);
        let (mut outcome, led) = self.flights.run(key, || self.lead(key, request)).await;
        match &mut outcome {
            Ok(reply) if !led => *reply = kept(std::mem::take(reply)),
            // The leader has paid for its attempts.
            Err(error) if !led => error.usage = Usage::NONE,
            _ => {}
        }
        match &outcome {
            Ok(reply) if reply.cached => self.stack.meter.count_cached(),
            Ok(_) => {}
            Err(_) => self.stack.meter.count_failed(),
        }
        outcome
    }

    async fn lead(&self, key: Key, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        if let Some(reply) = self.find(&key, request) {
            return Ok(kept(reply));
        }
        self.stack.may_send(&key, &described(request))?;
        if self.stack.shared.mode == Mode::Dry {
            return Ok(self.stand_in(&key, request));
        }
        self.send(key, request).await
    }

    fn find(&self, key: &Key, request: &ChatRequest) -> Option<ChatReply> {
        let from_cache = |value: &[u8]| serde_json::from_slice(value).ok();
        let from_log = |line: Kept| line.reply;
        let (reply, found) = self.stack.find(Kind::Chat, key, from_log, from_cache)?;
        if found == Found::Cache {
            self.stack.note(
                key,
                Note {
                    kind: self.role,
                    asked: Asked::chat(request),
                    answer: Answer::Reply(&reply),
                    attempts: &[],
                    cached: true,
                    took_ms: 0,
                },
            );
        }
        Some(reply)
    }

    fn stand_in(&self, key: &Key, request: &ChatRequest) -> ChatReply {
        let text = match &request.format {
            ReplyFormat::Text => "dry run".to_owned(),
            ReplyFormat::Json { schema, .. } => dry::instance(schema).to_string(),
        };
        let mut reply = ChatReply {
            text,
            usage: Usage::NONE,
            ..ChatReply::default()
        };
        if self.stack.stand_in(key) {
            let input = self.input_tokens(request);
            reply.usage = self.stack.meter.count_dry(input, dry::REPLY_TOKENS);
        } else {
            reply.cached = true;
        }
        reply
    }

    async fn send(&self, key: Key, request: &ChatRequest) -> Result<ChatReply, ModelError> {
        let Stack { shared, meter, .. } = &self.stack;
        let input = if self.stack.wants_estimate() {
            self.input_tokens(request)
        } else {
            0
        };
        let output = self.stack.reply_tokens;
        let mut ticket = shared.meter.ticket(meter, input, output).await?;
        let began = Instant::now();
        let attempt = |timeout| self.wire.attempt(request, timeout);
        let called = retry::call(&self.stack.route, &mut ticket, input + output, attempt).await;
        let outcome = called.outcome.map(|reply| ChatReply {
            usage: called.usage,
            taken: called.attempts.last().map(|attempt| Taken {
                latency_ms: attempt.took_ms,
                cost_usd: attempt.usage.cost_usd,
            }),
            cached: false,
            ..reply
        });
        self.stack.note(
            &key,
            Note {
                kind: self.role,
                asked: Asked::chat(request),
                answer: match &outcome {
                    Ok(reply) => Answer::Reply(reply),
                    Err(error) => Answer::error(error),
                },
                attempts: &called.attempts,
                cached: false,
                took_ms: millis(began.elapsed()),
            },
        );
        let reply = outcome?;
        ticket.answered();
        // A reply that was cut short is as good as an error to most, and errors are not kept.
        if reply.finish == Finish::Stop {
            let value = || serde_json::to_vec(&reply).ok();
            self.stack.keep(Kind::Chat, key, value);
        }
        Ok(reply)
    }

    /// About how many tokens the call sends, its schema among them.
    fn input_tokens(&self, request: &ChatRequest) -> u64 {
        let schema = match &request.format {
            ReplyFormat::Text => 0,
            ReplyFormat::Json { schema, .. } => self.stack.shared.schemas.get(schema).tokens,
        };
        tokens::estimate_messages(&request.messages) + schema
    }
}

impl ChatModel for LayeredChat {
    fn identity(&self) -> &str {
        self.wire.identity()
    }

    fn name(&self) -> &str {
        self.wire.name()
    }

    fn logprobs(&self) -> bool {
        self.wire.logprobs()
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        Box::pin(self.ask(request))
    }

    fn refuse(&self, request: &ChatRequest) {
        let key = self.keys.chat(request, &self.stack.shared.schemas);
        self.stack.refuse(Kind::Chat, key);
    }
}

/// A reply that costs nothing any more.
fn kept(reply: ChatReply) -> ChatReply {
    ChatReply {
        usage: Usage::NONE,
        cached: true,
        ..reply
    }
}

/// The call, such that a person finds it again: its last message begins so.
fn described(request: &ChatRequest) -> String {
    let text = request.messages.last().map_or("", |m| m.content.as_str());
    let start: String = text.chars().take(60).collect();
    format!("the call {start:?}")
}
