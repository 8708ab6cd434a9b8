//! Embeddings and moderations of a block: every text once, in batches, for all checks that need it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::future::{LocalBoxFuture, join, join_all};

use crate::check::{Bench, Bound, Check, Judged, Spent};
use crate::evaluator::{Batched, Got, Needs};
use crate::model::{
    Embedder, ModelError, ModelErrorKind, ModelSession, Moderation, Moderator, Usage,
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
    /// By the model's identity.
    embedded: BTreeMap<String, Texts<Arc<[f32]>>>,
    moderated: BTreeMap<String, Texts<Moderation>>,
    /// Cells whose models could not be made, by row and check.
    unbound: HashMap<(usize, usize), ModelError>,
}

/// What one model said of texts.
struct Texts<T> {
    said: HashMap<String, Result<T, ModelError>>,
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
        let mut embed: BTreeMap<String, (Arc<dyn Embedder>, Vec<String>)> = BTreeMap::new();
        let mut moderate: BTreeMap<String, (Arc<dyn Moderator>, Vec<String>)> = BTreeMap::new();
        for asked in self.0 {
            let mut needs = Needs::default();
            match check_at(asked.row, asked.check).map(|check| check.bind(session)) {
                Some(Ok(bound)) => {
                    asked.scorer.needs(&asked.view, &mut needs);
                    if let Some(model) = &bound.embedder {
                        let texts = embed
                            .entry(model.identity().to_owned())
                            .or_insert_with(|| (Arc::clone(model), Vec::new()));
                        texts
                            .1
                            .extend(needs.embed.iter().map(|text| text.clone().into_owned()));
                    }
                    if let Some(model) = &bound.moderator {
                        let texts = moderate
                            .entry(model.identity().to_owned())
                            .or_insert_with(|| (Arc::clone(model), Vec::new()));
                        texts
                            .1
                            .extend(needs.moderate.iter().map(|text| text.clone().into_owned()));
                    }
                }
                Some(Err(error)) => {
                    unbound.insert((asked.row, asked.check), error.clone());
                }
                None => {}
            }
            cells.push((asked, needs));
        }
        let embedding = join_all(
            embed
                .into_iter()
                .map(|(identity, (model, texts))| async move {
                    (identity, ask_all(&*model, texts).await)
                }),
        );
        let moderating = join_all(moderate.into_iter().map(
            |(identity, (model, texts))| async move { (identity, ask_all(&*model, texts).await) },
        ));
        let (embedded, moderated) = join(embedding, moderating).await;
        Answered {
            cells,
            embedded: embedded.into_iter().collect(),
            moderated: moderated.into_iter().collect(),
            unbound,
        }
    }
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
        let refused = |error: &ModelError| {
            matches!(
                error.kind,
                ModelErrorKind::ContextLength
                    | ModelErrorKind::BadRequest
                    | ModelErrorKind::ContentFilter
            )
        };
        match &answer {
            Err(error) if batch.len() > 1 && refused(error) => {
                let (left, right) = batch.split_at(batch.len() / 2);
                let (mut left, right) = join(split(left, model), split(right, model)).await;
                left.extend(right);
                left
            }
            _ => vec![(batch.to_vec(), answer)],
        }
    })
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
        let (no_vectors, no_moderations) = (HashMap::new(), HashMap::new());
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
            let spent = self.spent(bound, &needs);
            let embedded = identity_of(bound.embedder.as_deref().map(Embedder::identity));
            let moderated = identity_of(bound.moderator.as_deref().map(Moderator::identity));
            let got = Got {
                embedded: self
                    .embedded
                    .get(embedded)
                    .map_or(&no_vectors, |texts| &texts.said),
                moderated: self
                    .moderated
                    .get(moderated)
                    .map_or(&no_moderations, |texts| &texts.said),
                names: (
                    bound.embedder.as_deref().map_or("", Embedder::name),
                    bound.moderator.as_deref().map_or("", Moderator::name),
                ),
            };
            let mut judged = check.score_batched(&*asked.scorer, &asked.view, &got, bench);
            judged.spent = Some(Box::new(spent));
            if matches!(judged.cell, Cell::Skipped(_)) {
                judged.spent = None;
            }
            put(asked.row, asked.check, judged);
        }
    }

    /// What a cell's texts took, as far as no cell before it has it.
    fn spent(&mut self, bound: &Bound, needs: &Needs<'_>) -> Spent {
        let mut usage = Usage::default();
        let (mut texts, mut cached) = (0, 0);
        let mut count = |used: Option<Used>| {
            texts += 1;
            match used {
                Some(used) => {
                    usage.add(&used.usage);
                    cached += usize::from(used.cached);
                }
                None => cached += 1,
            }
        };
        let embedded = identity_of(bound.embedder.as_deref().map(Embedder::identity));
        if let Some(model) = self.embedded.get_mut(embedded) {
            needs
                .embed
                .iter()
                .for_each(|text| count(model.used.remove(&**text)));
        }
        let moderated = identity_of(bound.moderator.as_deref().map(Moderator::identity));
        if let Some(model) = self.moderated.get_mut(moderated) {
            needs
                .moderate
                .iter()
                .for_each(|text| count(model.used.remove(&**text)));
        }
        Spent {
            usage,
            cached: texts > 0 && cached == texts,
            took_ms: 0,
            repeat: 1,
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
