//! Embedders and moderators with all their layers: both answer texts one by one, so each text is kept
//! by itself and only those that nothing holds are sent.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lydite::model::{
    BoxFuture, Embedded, Embedder, ModelError, ModelErrorKind, Moderated, Moderation, Moderator,
    TokenVectors, Usage,
};
use tokio::time::Instant;

use crate::attempt::{Attempt, AttemptError, EmbedWire, ModerateWire};
use crate::layers::cache::Kind;
use crate::layers::flight::Flights;
use crate::layers::key::{self, Key, Keys};
use crate::layers::log::{Answer, Asked, Kept};
use crate::layers::retry::{self, AttemptRecord, millis};
use crate::layers::stack::{Found, Mode, Note, Stack};
use crate::wires::tokens;

pub(crate) type Vector = Arc<[f32]>;
pub(crate) type TextFlights<T> = Arc<Flights<Result<Answers<T>, ModelError>>>;
pub(crate) type LayeredEmbedder = LayeredTexts<Embedding>;
pub(crate) type LayeredModerator = LayeredTexts<Moderating>;

#[derive(Debug)]
pub(crate) struct Embedding(pub(crate) Arc<dyn EmbedWire>);

#[derive(Debug)]
pub(crate) struct Moderating(pub(crate) Arc<dyn ModerateWire>);

/// What tells embedding and moderating apart.
pub(crate) trait TextWire: Send + Sync + fmt::Debug + 'static {
    type Item: Clone + Send + Sync + fmt::Debug;

    const KIND: Kind;
    const ROLE: &'static str;

    fn identity(&self) -> &str;
    fn name(&self) -> &str;
    fn batch(&self) -> usize;

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Self::Item>>>;

    fn encode(item: &Self::Item) -> Option<Vec<u8>>;
    fn decode(value: &[u8]) -> Option<Self::Item>;
    fn logged(item: &Self::Item) -> Answer<'_>;
    fn kept(line: Kept) -> Option<Self::Item>;
    fn stand_in(size: usize) -> Self::Item;
    /// The length of a vector, where it is one.
    fn size(item: &Self::Item) -> usize;
}

/// The answers to some texts, in the texts' order.
#[derive(Clone, Debug)]
pub(crate) struct Answers<T> {
    items: Arc<Vec<T>>,
    usage: Usage,
    cached: bool,
}

#[derive(Debug)]
pub(crate) struct LayeredTexts<W: TextWire> {
    wire: W,
    keys: Keys,
    stack: Stack,
    flights: TextFlights<W::Item>,
    /// The length of vectors that a dry run stands in with.
    size: AtomicUsize,
}

impl<W: TextWire> LayeredTexts<W> {
    /// `size` is the length of vectors as it is known before any was seen.
    pub(crate) fn new(wire: W, stack: Stack, flights: TextFlights<W::Item>, size: usize) -> Self {
        Self {
            keys: Keys::new(W::ROLE, wire.identity()),
            wire,
            stack,
            flights,
            size: AtomicUsize::new(size.max(1)),
        }
    }

    async fn ask(&self, texts: &[&str]) -> Result<Answers<W::Item>, ModelError> {
        let keys: Vec<Key> = texts.iter().map(|text| self.keys.text(text)).collect();
        let lead = || self.lead(&keys, texts);
        let (mut outcome, led) = self.flights.run(key::all(&keys), lead).await;
        match &mut outcome {
            Ok(answers) if !led => {
                answers.usage = Usage::NONE;
                answers.cached = true;
            }
            Err(error) if !led => error.usage = Usage::NONE,
            _ => {}
        }
        match &outcome {
            Ok(answers) if answers.cached => self.stack.meter.count_cached(),
            Ok(_) => {}
            Err(_) => self.stack.meter.count_failed(),
        }
        outcome
    }

    async fn lead(&self, keys: &[Key], texts: &[&str]) -> Result<Answers<W::Item>, ModelError> {
        let mut items: Vec<Option<W::Item>> = keys
            .iter()
            .zip(texts)
            .map(|(key, text)| self.find(key, text))
            .collect();
        if let Some(found) = items.iter().flatten().next() {
            self.size.store(W::size(found).max(1), Ordering::Relaxed);
        }
        let missing: Vec<usize> = (0..items.len())
            .filter(|at| items.get(*at).is_some_and(Option::is_none))
            .collect();
        let mut usage = Usage::NONE;
        for batch in missing.chunks(self.wire.batch().max(1)) {
            let (keys, texts) = (pick(keys, batch), pick(texts, batch));
            let made = self.make(&keys, &texts, &mut usage).await;
            let made = made.map_err(|error| with_earlier(error, usage))?;
            for (at, item) in batch.iter().zip(made) {
                if let Some(place) = items.get_mut(*at) {
                    *place = Some(item);
                }
            }
        }
        Ok(Answers {
            items: Arc::new(items.into_iter().flatten().collect()),
            usage,
            cached: usage.is_nothing(),
        })
    }

    fn find(&self, key: &Key, text: &str) -> Option<W::Item> {
        let (item, found) = self.stack.find(W::KIND, key, W::kept, W::decode)?;
        if found == Found::Cache {
            self.note(key, text, W::logged(&item), &[], true, 0);
        }
        Some(item)
    }

    /// Answers texts that nothing holds.
    async fn make(
        &self,
        keys: &[Key],
        texts: &[&str],
        usage: &mut Usage,
    ) -> Result<Vec<W::Item>, ModelError> {
        for (key, text) in keys.iter().zip(texts) {
            self.stack.may_send(key, &described(text))?;
        }
        if self.stack.shared.mode == Mode::Dry {
            return Ok(self.stand_in(keys, texts, usage));
        }
        let Stack { shared, meter, .. } = &self.stack;
        let tokens = if self.stack.wants_estimate() {
            input_tokens(texts.iter())
        } else {
            0
        };
        let mut ticket = shared.meter.ticket(meter, tokens, 0).await?;
        let began = Instant::now();
        let attempt = |timeout| self.attempt(texts, timeout);
        let called = retry::call(&self.stack.route, &mut ticket, tokens, attempt).await;
        let took_ms = millis(began.elapsed());
        // The attempts are told once, with the first of their texts.
        let told = std::iter::once(called.attempts.as_slice()).chain(std::iter::repeat(&[][..]));
        let asked = keys.iter().zip(texts).zip(told);
        match called.outcome {
            Ok(items) => {
                ticket.answered();
                usage.add(&called.usage);
                for (((key, text), attempts), item) in asked.zip(&items) {
                    let answer = W::logged(item);
                    self.note(key, text, answer, attempts, false, took_ms);
                    self.stack.keep(W::KIND, *key, || W::encode(item));
                }
                Ok(items)
            }
            Err(error) => {
                for ((key, text), attempts) in asked {
                    let answer = Answer::error(&error);
                    self.note(key, text, answer, attempts, false, took_ms);
                }
                Err(error)
            }
        }
    }

    /// An attempt that answers each text, or fails.
    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<W::Item>>> {
        Box::pin(async move {
            let mut attempt = self.wire.attempt(texts, timeout).await;
            if let Ok(items) = &attempt.outcome
                && let Some(message) = mismatch::<W>(items, texts.len())
            {
                attempt.outcome = Err(AttemptError {
                    kind: ModelErrorKind::Protocol,
                    message,
                    retry: true,
                    retry_after: None,
                });
            }
            attempt
        })
    }

    fn stand_in(&self, keys: &[Key], texts: &[&str], usage: &mut Usage) -> Vec<W::Item> {
        let new = keys
            .iter()
            .zip(texts)
            .filter(|(key, _)| self.stack.stand_in(key));
        let new: Vec<&&str> = new.map(|(_, text)| text).collect();
        if !new.is_empty() {
            let tokens = input_tokens(new.into_iter());
            usage.add(&self.stack.meter.count_dry(tokens, 0));
        }
        let item = W::stand_in(self.size.load(Ordering::Relaxed));
        vec![item; texts.len()]
    }

    fn note(
        &self,
        key: &Key,
        text: &str,
        answer: Answer<'_>,
        attempts: &[AttemptRecord],
        cached: bool,
        took_ms: u64,
    ) {
        if self.stack.shared.log.is_none() {
            return;
        }
        let note = Note {
            kind: W::ROLE,
            asked: Asked::text(text),
            answer,
            attempts,
            cached,
            took_ms,
        };
        self.stack.note(key, note);
    }
}

impl Embedder for LayeredEmbedder {
    fn identity(&self) -> &str {
        self.wire.identity()
    }

    fn name(&self) -> &str {
        self.wire.name()
    }

    fn batch(&self) -> usize {
        self.wire.batch()
    }

    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Embedded, ModelError>> {
        Box::pin(async move {
            let answers = self.ask(texts).await?;
            Ok(Embedded {
                vectors: Arc::unwrap_or_clone(answers.items),
                usage: answers.usage,
                cached: answers.cached,
            })
        })
    }

    fn embed_tokens<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Vec<Arc<TokenVectors>>, ModelError>> {
        if self.stack.shared.mode == Mode::Dry {
            let size = self.size.load(Ordering::Relaxed);
            let stand_ins = texts.iter().map(|text| one_token(text, size)).collect();
            return Box::pin(std::future::ready(Ok(stand_ins)));
        }
        self.wire.0.tokens(texts)
    }
}

/// What a dry run takes for a text's tokens: the text as a single one.
fn one_token(text: &str, size: usize) -> Arc<TokenVectors> {
    Arc::new(TokenVectors {
        spans: std::iter::once(0..text.chars().count()).collect(),
        vectors: vec![Embedding::stand_in(size)],
    })
}

impl Moderator for LayeredModerator {
    fn identity(&self) -> &str {
        self.wire.identity()
    }

    fn name(&self) -> &str {
        self.wire.name()
    }

    fn batch(&self) -> usize {
        self.wire.batch()
    }

    fn moderate<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Moderated, ModelError>> {
        Box::pin(async move {
            let answers = self.ask(texts).await?;
            Ok(Moderated {
                texts: Arc::unwrap_or_clone(answers.items),
                usage: answers.usage,
                cached: answers.cached,
            })
        })
    }
}

impl TextWire for Embedding {
    type Item = Vector;

    const KIND: Kind = Kind::Embedding;
    const ROLE: &'static str = "embedding";

    fn identity(&self) -> &str {
        self.0.identity()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn batch(&self) -> usize {
        self.0.batch()
    }

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Vector>>> {
        Box::pin(async move {
            let attempt = self.0.attempt(texts, timeout).await;
            let shared = |vectors: Vec<Vec<f32>>| vectors.into_iter().map(Vector::from).collect();
            Attempt {
                outcome: attempt.outcome.map(shared),
                status: attempt.status,
                took: attempt.took,
                usage: attempt.usage,
                request_id: attempt.request_id,
            }
        })
    }

    fn encode(item: &Vector) -> Option<Vec<u8>> {
        Some(item.iter().flat_map(|x| x.to_le_bytes()).collect())
    }

    fn decode(value: &[u8]) -> Option<Vector> {
        let (floats, rest) = value.as_chunks::<4>();
        let floats = || floats.iter().map(|bytes| f32::from_le_bytes(*bytes));
        rest.is_empty().then(|| floats().collect())
    }

    fn logged(item: &Vector) -> Answer<'_> {
        let bytes = Self::encode(item).unwrap_or_default();
        Answer::Vector(data_encoding::BASE64.encode(&bytes))
    }

    fn kept(line: Kept) -> Option<Vector> {
        let bytes = data_encoding::BASE64.decode(line.vector?.as_bytes()).ok()?;
        Self::decode(&bytes)
    }

    /// A vector of length 1.
    fn stand_in(size: usize) -> Vector {
        (0..size)
            .map(|at| if at == 0 { 1.0 } else { 0.0 })
            .collect()
    }

    fn size(item: &Vector) -> usize {
        item.len()
    }
}

impl TextWire for Moderating {
    type Item = Moderation;

    const KIND: Kind = Kind::Moderation;
    const ROLE: &'static str = "moderation";

    fn identity(&self) -> &str {
        self.0.identity()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn batch(&self) -> usize {
        self.0.batch()
    }

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Moderation>>> {
        self.0.attempt(texts, timeout)
    }

    fn encode(item: &Moderation) -> Option<Vec<u8>> {
        serde_json::to_vec(item).ok()
    }

    fn decode(value: &[u8]) -> Option<Moderation> {
        serde_json::from_slice(value).ok()
    }

    fn logged(item: &Moderation) -> Answer<'_> {
        Answer::Moderation(item)
    }

    fn kept(line: Kept) -> Option<Moderation> {
        line.moderation
    }

    fn stand_in(_size: usize) -> Moderation {
        Moderation::default()
    }

    fn size(_item: &Moderation) -> usize {
        0
    }
}

/// What is wrong with the answers to `texts` texts.
fn mismatch<W: TextWire>(items: &[W::Item], texts: usize) -> Option<String> {
    if items.len() != texts {
        return Some(format!("{} answers came for {texts} texts", items.len()));
    }
    let first = W::size(items.first()?);
    let other = items.iter().map(W::size).find(|size| *size != first)?;
    Some(format!("vectors of {first} and of {other} numbers came"))
}

fn pick<T: Copy>(all: &[T], places: &[usize]) -> Vec<T> {
    places
        .iter()
        .filter_map(|at| all.get(*at).copied())
        .collect()
}

fn with_earlier(mut error: ModelError, earlier: Usage) -> ModelError {
    error.usage.add(&earlier);
    error
}

fn input_tokens<'a>(texts: impl Iterator<Item = &'a &'a str>) -> u64 {
    texts.map(|text| tokens::estimate(text)).sum()
}

/// The text, such that a person finds it again.
fn described(text: &str) -> String {
    let start: String = text.chars().take(60).collect();
    format!("the text {start:?}")
}
