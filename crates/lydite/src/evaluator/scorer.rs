//! The three kinds of evaluators that are ready to run.
//!
//! [`Pure`] ones score in line and pay for nothing. [`Batched`] ones say which embeddings or
//! moderations they need; the runner asks for those of many rows at once, each text once.
//! [`Judged`] ones ask a chat model, as many at a time as limits let them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::evaluators::json_schema_validation::SchemaCache;
use crate::judge::{JudgeContext, Outcome};
use crate::model::{BoxFuture, ModelError, Moderation, TokenVectors};
use crate::outcome::{Cell, Explanation};
use crate::record::Row;
use crate::text::distance::DistanceScratch;
use crate::text::regex::{Anchor, Flags, Pattern, PatternError};

/// An evaluator that is ready to run.
#[derive(Clone)]
#[non_exhaustive]
pub enum Scorer {
    /// Scores in line: no await, no clock, no model.
    Pure(Arc<dyn Pure>),
    /// Scores by embeddings or moderations, which are asked for in batches.
    Batched(Arc<dyn Batched>),
    /// Asks a chat model.
    Judged(Arc<dyn Judged>),
}

impl Scorer {
    pub fn pure(scorer: impl Pure + 'static) -> Self {
        Self::Pure(Arc::new(scorer))
    }

    pub fn batched(scorer: impl Batched + 'static) -> Self {
        Self::Batched(Arc::new(scorer))
    }

    pub fn judged(scorer: impl Judged + 'static) -> Self {
        Self::Judged(Arc::new(scorer))
    }
}

impl fmt::Debug for Scorer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pure(_) => "Scorer::Pure",
            Self::Batched(_) => "Scorer::Batched",
            Self::Judged(_) => "Scorer::Judged",
        })
    }
}

/// A deterministic scorer.
pub trait Pure: Send + Sync {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell;

    /// Words and evidence for a cell that [`Pure::score`] gave on this row. Never changes the cell.
    fn explain(&self, row: &Row<'_>, cell: Cell, scratch: &mut Scratch) -> Explanation;
}

/// A scorer of what embedders and moderators say.
pub trait Batched: Send + Sync {
    /// Names the texts that it needs for this row. A row that can't be scored needs none.
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>);

    fn score(&self, row: &Row<'_>, got: &Got<'_>, scratch: &mut Scratch) -> Cell;

    /// Words and evidence for a cell that [`Batched::score`] gave on this row. Never changes the cell.
    fn explain(
        &self,
        row: &Row<'_>,
        got: &Got<'_>,
        cell: Cell,
        scratch: &mut Scratch,
    ) -> Explanation;
}

/// A scorer that asks chat models.
///
/// ```ignore
/// fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
///     Box::pin(async move { self.judge(row, cx).await.into() })   // judge: Result<Outcome, Failure>
/// }
/// ```
pub trait Judged: Send + Sync {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome>;
}

/// The texts that batched scorers need of models.
#[derive(Debug, Default)]
pub struct Needs<'r> {
    pub(crate) embed: Vec<Cow<'r, str>>,
    pub(crate) embed_tokens: Vec<Cow<'r, str>>,
    pub(crate) moderate: Vec<Cow<'r, str>>,
    pub(crate) classify: Vec<Pair<'r>>,
}

/// A text, or two that are classified together: a premise and a hypothesis.
pub(crate) type Pair<'r> = (Cow<'r, str>, Option<Cow<'r, str>>);

impl<'r> Needs<'r> {
    /// The embedding of a text.
    pub fn embed(&mut self, text: impl Into<Cow<'r, str>>) {
        self.embed.push(text.into());
    }

    /// The embeddings of a text's tokens in their context.
    pub fn embed_tokens(&mut self, text: impl Into<Cow<'r, str>>) {
        self.embed_tokens.push(text.into());
    }

    /// The labels of a text.
    pub fn classify(&mut self, text: impl Into<Cow<'r, str>>) {
        self.classify.push((text.into(), None));
    }

    /// The labels of a pair: whether `premise` entails `hypothesis`.
    pub fn entails(
        &mut self,
        premise: impl Into<Cow<'r, str>>,
        hypothesis: impl Into<Cow<'r, str>>,
    ) {
        self.classify
            .push((premise.into(), Some(hypothesis.into())));
    }

    /// What the moderator says of a text.
    pub fn moderate(&mut self, text: impl Into<Cow<'r, str>>) {
        self.moderate.push(text.into());
    }
}

/// What models said of texts: of one check's embedder, moderator and classifier.
#[derive(Clone, Copy, Debug)]
pub struct Got<'g> {
    pub(crate) embedded: &'g Said<Arc<[f32]>>,
    pub(crate) tokens: &'g Said<Arc<TokenVectors>>,
    pub(crate) moderated: &'g Said<Moderation>,
    /// By the pair as [`pair_key`] writes it.
    pub(crate) classified: &'g Said<Arc<[f32]>>,
    pub(crate) names: Names<'g>,
    /// The classifier's labels.
    pub(crate) labels: &'g [String],
}

/// What a model said of texts, or why it did not.
pub(crate) type Said<T> = HashMap<String, Result<T, ModelError>>;

/// The names of a check's models; empty where it has none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names<'g> {
    pub(crate) embedder: &'g str,
    pub(crate) moderator: &'g str,
    pub(crate) classifier: &'g str,
}

/// A text, or two with a character between them that no text of a person holds.
pub(crate) fn pair_key<'t>(first: &'t str, second: Option<&str>) -> Cow<'t, str> {
    match second {
        None => Cow::Borrowed(first),
        Some(second) => Cow::Owned(format!("{first}\u{0}{second}")),
    }
}

impl<'g> Got<'g> {
    /// The embedding of a text that was asked for.
    pub fn embedding(&self, text: &str) -> Result<&'g [f32], &'g ModelError> {
        match self.embedded.get(text) {
            Some(Ok(vector)) => Ok(vector),
            Some(Err(error)) => Err(error),
            None => Ok(&[]),
        }
    }

    /// What the moderator says of a text that was asked for; `None` where it was not.
    pub fn moderation(&self, text: &str) -> Option<Result<&'g Moderation, &'g ModelError>> {
        self.moderated.get(text).map(Result::as_ref)
    }

    /// The embeddings of the tokens of a text that was asked for; `None` where it was not.
    pub fn tokens(&self, text: &str) -> Option<Result<&'g TokenVectors, &'g ModelError>> {
        let said = self.tokens.get(text)?;
        Some(said.as_ref().map(|vectors| &**vectors))
    }

    /// The probabilities of [`Got::labels`] for a text that was asked for; `None` where it was not.
    pub fn classes(&self, text: &str) -> Option<Result<&'g [f32], &'g ModelError>> {
        self.said_of_pair(text, None)
    }

    /// The same for a premise and a hypothesis.
    pub fn entailment(
        &self,
        premise: &str,
        hypothesis: &str,
    ) -> Option<Result<&'g [f32], &'g ModelError>> {
        self.said_of_pair(premise, Some(hypothesis))
    }

    fn said_of_pair(
        &self,
        first: &str,
        second: Option<&str>,
    ) -> Option<Result<&'g [f32], &'g ModelError>> {
        let said = self.classified.get(&*pair_key(first, second))?;
        Some(said.as_ref().map(|classes| &**classes))
    }

    /// The labels of the classifier, in the order of their probabilities.
    pub const fn labels(&self) -> &'g [String] {
        self.labels
    }

    pub const fn embedder(&self) -> &'g str {
        self.names.embedder
    }

    pub const fn moderator(&self) -> &'g str {
        self.names.moderator
    }

    pub const fn classifier(&self) -> &'g str {
        self.names.classifier
    }
}

/// Buffers that scorers reuse from row to row.
#[derive(Debug, Default)]
pub struct Scratch {
    pub a: String,
    pub b: String,
    pub distance: DistanceScratch,
    pub patterns: PatternCache,
    pub schemas: SchemaCache,
}

/// Patterns that records brought, compiled once each; bounded.
#[derive(Debug, Default)]
pub struct PatternCache(HashMap<(String, Flags, Anchor), Result<Pattern, PatternError>>);

impl PatternCache {
    const MOST: usize = 1024;

    pub fn get(
        &mut self,
        source: &str,
        flags: Flags,
        anchor: Anchor,
    ) -> Result<&Pattern, &PatternError> {
        if self.0.len() >= Self::MOST {
            self.0.clear();
        }
        let key = (source.to_owned(), flags, anchor);
        self.0
            .entry(key)
            .or_insert_with(|| Pattern::new(source, flags, anchor))
            .as_ref()
    }
}
