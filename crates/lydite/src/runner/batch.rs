//! Embeddings and moderations of a block: every text once, in batches, for all checks that need it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use futures_util::future::{LocalBoxFuture, join, join_all};

use crate::check::{Bench, Bound, Check, Judged, Spent};
use crate::evaluator::{Batched, Got, Names, Needs, Said, pair_key};
use crate::model::{
    Classifier, Embedder, ModelError, ModelErrorKind, ModelSession, Moderation, Moderator,
    TokenVectors, Usage,
};
use crate::outcome::{Cell, Code};
use crate::record::Row;

/// A cell whose texts models are asked about.
pub(super) struct Asked<'r> {
    pub(super) row: usize,
    pub(super) check: usize,
    pub(super) scorer: Arc<dyn Batched>,
    pub(super) view: Row<'r>,
}

/// All such cells of a block.
#[derive(Default)]
pub(super) struct Wave<'r>(Vec<Asked<'r>>);

/// One cell by itself: its texts, then its score.
pub(crate) async fn judge_one(
    check: &Check,
    scorer: Arc<dyn Batched>,
    view: Row<'_>,
    session: &dyn ModelSession,
) -> Judged {
    let mut wave = Wave::default();
    wave.add(Asked {
        row: 0,
        check: 0,
        scorer,
        view,
    });
    let mut cell = Judged::nothing();
    let answered = wave.ask(session, &|_, _| Some(check)).await;
    answered.score(
        &|_, _| Some(check),
        &mut Bench::default(),
        &mut |_, _, judged| cell = judged,
    );
    cell
}

/// The cells with what models said.
pub(super) struct Answered<'r> {
    cells: Vec<(Asked<'r>, Needs<'r>)>,
    said: Answers,
    /// Cells whose models could not be made, by row and check.
    unbound: HashMap<(usize, usize), ModelError>,
}

/// What each model said, by the model's identity.
#[derive(Default)]
struct Answers {
    embedded: BTreeMap<String, Texts<Arc<[f32]>>>,
    tokens: BTreeMap<String, Texts<Arc<TokenVectors>>>,
    moderated: BTreeMap<String, Texts<Moderation>>,
    classified: BTreeMap<String, Texts<Arc<[f32]>>>,
}

/// What one model said of texts.
struct Texts<T> {
    said: Said<T>,
    /// What each text took, until the first cell that needs it takes it over.
    used: HashMap<String, Used>,
}

#[derive(Clone, Copy)]
struct Used {
    usage: Usage,
    cached: bool,
}

impl<T> Default for Texts<T> {
    fn default() -> Self {
        Self {
            said: HashMap::new(),
            used: HashMap::new(),
        }
    }
}

/// Texts to ask models about, by the model's identity.
struct Asking<M: ?Sized, T = String>(BTreeMap<String, (Arc<M>, Vec<T>)>);

impl<M: ?Sized, T> Asking<M, T> {
    const fn new() -> Self {
        Self(BTreeMap::new())
    }

    fn add(&mut self, identity: &str, model: &Arc<M>, texts: impl Iterator<Item = T>) {
        let mut texts = texts.peekable();
        if texts.peek().is_none() {
            return;
        }
        let entry = self
            .0
            .entry(identity.to_owned())
            .or_insert_with(|| (Arc::clone(model), Vec::new()));
        entry.1.extend(texts);
    }

    /// Asks every model, side by side.
    async fn ask<V, F>(self, ask: impl Fn(Arc<M>, Vec<T>) -> F) -> BTreeMap<String, Texts<V>>
    where
        F: Future<Output = Texts<V>>,
    {
        let asked = self.0.into_iter().map(|(identity, (model, texts))| {
            let answered = ask(model, texts);
            async move { (identity, answered.await) }
        });
        join_all(asked).await.into_iter().collect()
    }
}

impl<'r> Wave<'r> {
    pub(super) fn add(&mut self, asked: Asked<'r>) {
        self.0.push(asked);
    }

    /// Asks each model for the texts that some cell needs of it.
    pub(super) async fn ask<'c>(
        self,
        session: &dyn ModelSession,
        check_at: &dyn Fn(usize, usize) -> Option<&'c Check>,
    ) -> Answered<'r> {
        let mut cells = Vec::with_capacity(self.0.len());
        let mut unbound = HashMap::new();
        let mut embed: Asking<dyn Embedder> = Asking::new();
        let mut tokens: Asking<dyn Embedder> = Asking::new();
        let mut moderate: Asking<dyn Moderator> = Asking::new();
        let mut classify: Asking<dyn Classifier, (String, Option<String>)> = Asking::new();
        for asked in self.0 {
            let mut needs = Needs::default();
            match check_at(asked.row, asked.check).map(|check| check.bind(session)) {
                Some(Ok(bound)) => {
                    asked.scorer.needs(&asked.view, &mut needs);
                    if let Some(model) = &bound.embedder {
                        embed.add(model.identity(), model, owned(&needs.embed));
                        tokens.add(model.identity(), model, owned(&needs.embed_tokens));
                    }
                    if let Some(model) = &bound.moderator {
                        moderate.add(model.identity(), model, owned(&needs.moderate));
                    }
                    if let Some(model) = &bound.classifier {
                        let pairs = needs.classify.iter().map(|(first, second)| {
                            let second = second.as_ref().map(|text| text.clone().into_owned());
                            (first.clone().into_owned(), second)
                        });
                        classify.add(model.identity(), model, pairs);
                    }
                }
                Some(Err(error)) => {
                    unbound.insert((asked.row, asked.check), error.clone());
                }
                None => {}
            }
            cells.push((asked, needs));
        }
        let embedding = embed.ask(|model, texts| async move { ask_all(&*model, texts).await });
        let moderating = moderate.ask(|model, texts| async move { ask_all(&*model, texts).await });
        let locally = join(
            tokens.ask(|model, texts| async move { tokens_of(&*model, texts).await }),
            classify.ask(|model, pairs| async move { classes_of(&*model, pairs).await }),
        );
        let ((embedded, moderated), (tokens, classified)) =
            join(join(embedding, moderating), locally).await;
        Answered {
            cells,
            said: Answers {
                embedded,
                tokens,
                moderated,
                classified,
            },
            unbound,
        }
    }
}

fn owned<'t>(texts: &'t [Cow<'_, str>]) -> impl Iterator<Item = String> + 't {
    texts.iter().map(|text| text.clone().into_owned())
}

/// The tokens' vectors of each text.
async fn tokens_of(model: &dyn Embedder, texts: Vec<String>) -> Texts<Arc<TokenVectors>> {
    let texts = distinct(texts);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let asked = join_all(texts.chunks(model.batch().max(1)).map(|batch| async move {
        let said = model.embed_tokens(batch).await;
        (batch.to_vec(), said.map(free))
    }));
    gather(asked.await)
}

/// The classes of each text or pair, by [`pair_key`].
async fn classes_of(
    model: &dyn Classifier,
    mut pairs: Vec<(String, Option<String>)>,
) -> Texts<Arc<[f32]>> {
    let length =
        |pair: &(String, Option<String>)| pair.0.len() + pair.1.as_ref().map_or(0, String::len);
    pairs.sort_by(|a, b| (length(a), a).cmp(&(length(b), b)));
    pairs.dedup();
    let pairs: Vec<(&str, Option<&str>)> = pairs
        .iter()
        .map(|(first, second)| (first.as_str(), second.as_deref()))
        .collect();
    let keys: Vec<Cow<'_, str>> = pairs
        .iter()
        .map(|(first, second)| pair_key(first, *second))
        .collect();
    let size = model.batch().max(1);
    let batches = pairs.chunks(size).zip(keys.chunks(size));
    let asked = join_all(batches.map(|(pairs, keys)| split_pairs(pairs, keys, model)));
    gather(asked.await.into_iter().flatten().collect())
}

/// As [`split`], for pairs with their keys.
fn split_pairs<'a>(
    pairs: &'a [(&'a str, Option<&'a str>)],
    keys: &'a [Cow<'a, str>],
    model: &'a dyn Classifier,
) -> LocalBoxFuture<'a, Vec<(Vec<&'a str>, Answer<Arc<[f32]>>)>> {
    Box::pin(async move {
        let said = model.classify(pairs).await;
        match &said {
            Err(error) if pairs.len() > 1 && is_refused(error) => {
                let middle = pairs.len() / 2;
                let (left, right) = pairs.split_at(middle);
                let (left_keys, right_keys) = keys.split_at(middle);
                let left = split_pairs(left, left_keys, model);
                let right = split_pairs(right, right_keys, model);
                let (mut left, right) = join(left, right).await;
                left.extend(right);
                left
            }
            _ => vec![(keys.iter().map(|key| &**key).collect(), said.map(free))],
        }
    })
}

/// What costs no call.
const fn free<T>(values: Vec<T>) -> (Vec<T>, Usage, bool) {
    (values, Usage::NONE, false)
}

/// Each text once, texts of like length together.
fn distinct(mut texts: Vec<String>) -> Vec<String> {
    texts.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    texts.dedup();
    texts
}

/// Asks a model for a batch of texts.
trait AskBatch<T> {
    fn size(&self) -> usize;

    fn ask<'a>(&'a self, batch: &'a [&'a str]) -> LocalBoxFuture<'a, Answer<T>>;
}

impl AskBatch<Arc<[f32]>> for dyn Embedder {
    fn size(&self) -> usize {
        self.batch().max(1)
    }

    fn ask<'a>(&'a self, batch: &'a [&'a str]) -> LocalBoxFuture<'a, Answer<Arc<[f32]>>> {
        Box::pin(async move {
            let answer = self.embed(batch).await?;
            Ok((answer.vectors, answer.usage, answer.cached))
        })
    }
}

impl AskBatch<Moderation> for dyn Moderator {
    fn size(&self) -> usize {
        self.batch().max(1)
    }

    fn ask<'a>(&'a self, batch: &'a [&'a str]) -> LocalBoxFuture<'a, Answer<Moderation>> {
        Box::pin(async move {
            let answer = self.moderate(batch).await?;
            Ok((answer.texts, answer.usage, answer.cached))
        })
    }
}

async fn ask_all<T>(model: &(impl AskBatch<T> + ?Sized), texts: Vec<String>) -> Texts<T> {
    let texts = distinct(texts);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let asked = join_all(texts.chunks(model.size()).map(|batch| split(batch, model)));
    gather(asked.await.into_iter().flatten().collect())
}

/// Asks for a batch; one that is refused for what stands in it is asked for in halves, so that a text that can't be
/// taken fails alone.
fn split<'a, T: 'a>(
    batch: &'a [&'a str],
    model: &'a (impl AskBatch<T> + ?Sized),
) -> LocalBoxFuture<'a, Vec<(Vec<&'a str>, Answer<T>)>> {
    Box::pin(async move {
        let answer = model.ask(batch).await;
        match &answer {
            Err(error) if batch.len() > 1 && is_refused(error) => {
                let (left, right) = batch.split_at(batch.len() / 2);
                let (mut left, right) = join(split(left, model), split(right, model)).await;
                left.extend(right);
                left
            }
            _ => vec![(batch.to_vec(), answer)],
        }
    })
}

/// Whether one of the texts is at fault.
const fn is_refused(error: &ModelError) -> bool {
    matches!(
        error.kind,
        ModelErrorKind::ContextLength | ModelErrorKind::BadRequest | ModelErrorKind::ContentFilter
    )
}

type Answer<T> = Result<(Vec<T>, Usage, bool), ModelError>;

/// Answers of batches by text. A batch's usage counts with its first text.
fn gather<T>(answers: Vec<(Vec<&str>, Answer<T>)>) -> Texts<T> {
    let mut all = Texts::default();
    for (batch, answer) in answers {
        let (values, usage, cached) = match answer {
            Ok((values, usage, cached)) => (Ok(values), usage, cached),
            Err(error) => {
                let usage = error.usage;
                (Err(error), usage, false)
            }
        };
        for (index, text) in batch.iter().enumerate() {
            let usage = if index == 0 { usage } else { Usage::NONE };
            all.used.insert((*text).to_owned(), Used { usage, cached });
        }
        match values {
            Ok(values) => {
                let texts = batch.iter().map(|text| (*text).to_owned());
                all.said.extend(texts.zip(values.into_iter().map(Ok)));
            }
            Err(error) => {
                let texts = batch.iter().map(|text| (*text).to_owned());
                all.said
                    .extend(texts.map(|text| (text, Err(error.clone()))));
            }
        }
    }
    all
}

impl Answered<'_> {
    /// Scores every cell.
    pub(super) fn score<'c>(
        mut self,
        check_at: &dyn Fn(usize, usize) -> Option<&'c Check>,
        bench: &mut Bench,
        put: &mut dyn FnMut(usize, usize, Judged),
    ) {
        for (asked, needs) in std::mem::take(&mut self.cells) {
            let Some(check) = check_at(asked.row, asked.check) else {
                continue;
            };
            if let Some(error) = self.unbound.get(&(asked.row, asked.check)) {
                put(
                    asked.row,
                    asked.check,
                    check.failed(Code::Model(error.kind), &error.message),
                );
                continue;
            }
            let Some(bound) = check.bound() else { continue };
            let spent = self.said.spent(bound, &needs);
            let got = self.said.got(bound);
            let mut judged = check.score_batched(&*asked.scorer, &asked.view, &got, bench);
            judged.spent = Some(Box::new(spent));
            if matches!(judged.cell, Cell::Skipped(_)) {
                judged.spent = None;
            }
            put(asked.row, asked.check, judged);
        }
    }
}

/// Where a model was asked nothing.
static NO_VECTORS: LazyLock<Said<Arc<[f32]>>> = LazyLock::new(HashMap::new);
static NO_TOKENS: LazyLock<Said<Arc<TokenVectors>>> = LazyLock::new(HashMap::new);
static NO_MODERATIONS: LazyLock<Said<Moderation>> = LazyLock::new(HashMap::new);

impl Answers {
    /// What a check's models said.
    fn got<'g>(&'g self, bound: &'g Bound) -> Got<'g> {
        let embedder = bound.embedder.as_deref();
        let moderator = bound.moderator.as_deref();
        let classifier = bound.classifier.as_deref();
        let embedded = identity_of(embedder.map(Embedder::identity));
        let moderated = identity_of(moderator.map(Moderator::identity));
        let classified = identity_of(classifier.map(Classifier::identity));
        Got {
            embedded: said(&self.embedded, embedded, &NO_VECTORS),
            tokens: said(&self.tokens, embedded, &NO_TOKENS),
            moderated: said(&self.moderated, moderated, &NO_MODERATIONS),
            classified: said(&self.classified, classified, &NO_VECTORS),
            names: Names {
                embedder: embedder.map_or("", Embedder::name),
                moderator: moderator.map_or("", Moderator::name),
                classifier: classifier.map_or("", Classifier::name),
            },
            labels: classifier.map_or(&[], Classifier::labels),
        }
    }

    /// What a cell's texts took, as far as no cell before it has it.
    fn spent(&mut self, bound: &Bound, needs: &Needs<'_>) -> Spent {
        let mut all = Took::default();
        let embedder = identity_of(bound.embedder.as_deref().map(Embedder::identity));
        all.count(
            &mut self.embedded,
            embedder,
            needs.embed.iter().map(|text| &**text),
        );
        all.count(
            &mut self.tokens,
            embedder,
            needs.embed_tokens.iter().map(|text| &**text),
        );
        let moderator = identity_of(bound.moderator.as_deref().map(Moderator::identity));
        all.count(
            &mut self.moderated,
            moderator,
            needs.moderate.iter().map(|text| &**text),
        );
        let classifier = identity_of(bound.classifier.as_deref().map(Classifier::identity));
        let keys: Vec<Cow<'_, str>> = needs
            .classify
            .iter()
            .map(|(first, second)| pair_key(first, second.as_deref()))
            .collect();
        all.count(
            &mut self.classified,
            classifier,
            keys.iter().map(|key| &**key),
        );
        Spent {
            usage: all.usage,
            cached: all.texts > 0 && all.cached == all.texts,
            took_ms: 0,
            repeat: 1,
        }
    }
}

fn said<'g, T>(
    by_model: &'g BTreeMap<String, Texts<T>>,
    identity: &str,
    nothing: &'g Said<T>,
) -> &'g Said<T> {
    by_model.get(identity).map_or(nothing, |texts| &texts.said)
}

/// What the texts of one cell took.
#[derive(Default)]
struct Took {
    usage: Usage,
    texts: usize,
    cached: usize,
}

impl Took {
    fn count<'t, T>(
        &mut self,
        by_model: &mut BTreeMap<String, Texts<T>>,
        identity: &str,
        texts: impl Iterator<Item = &'t str>,
    ) {
        let Some(model) = by_model.get_mut(identity) else {
            return;
        };
        for text in texts {
            self.texts += 1;
            match model.used.remove(text) {
                Some(used) => {
                    self.usage.add(&used.usage);
                    self.cached += usize::from(used.cached);
                }
                None => self.cached += 1,
            }
        }
    }
}

fn identity_of(identity: Option<&str>) -> &str {
    identity.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::model::{BoxFuture, Embedded};

    /// Refuses every batch that holds the text `bad`.
    #[derive(Debug)]
    struct Picky;

    impl Embedder for Picky {
        fn identity(&self) -> &'static str {
            "picky"
        }

        fn name(&self) -> &'static str {
            "picky"
        }

        fn batch(&self) -> usize {
            8
        }

        fn embed<'a>(
            &'a self,
            texts: &'a [&'a str],
        ) -> BoxFuture<'a, Result<Embedded, ModelError>> {
            let usage = Usage {
                calls: 1,
                ..Usage::NONE
            };
            let answer = if texts.contains(&"bad") {
                Err(ModelError::new(ModelErrorKind::BadRequest, "no").with_usage(usage))
            } else {
                Ok(Embedded {
                    vectors: texts.iter().map(|_| Arc::from([1.0_f32])).collect(),
                    usage,
                    cached: false,
                })
            };
            Box::pin(std::future::ready(answer))
        }
    }

    #[test]
    fn a_text_that_is_refused_fails_alone() {
        let texts = ["bad", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let model: &dyn Embedder = &Picky;
        let all = ask_all(model, texts).now_or_never().unwrap();
        let failed: Vec<&str> = all
            .said
            .iter()
            .filter(|(_, said)| said.is_err())
            .map(|(text, _)| text.as_str())
            .collect();
        assert_eq!((all.said.len(), failed), (5, vec!["bad"]));
        let mut usage = Usage::default();
        all.used.values().for_each(|used| usage.add(&used.usage));
        // A batch that was split is counted by its halves.
        assert!(usage.calls >= 3, "{usage:?}");
    }
}
