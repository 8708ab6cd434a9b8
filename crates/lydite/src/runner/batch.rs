//! Embeddings and moderations of a block: every text once, in batches, for all checks that need it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::future::{join, join_all};

use crate::check::{Bench, Bound, Check, Judged, Spent};
use crate::evaluator::{Batched, Got, Needs};
use crate::model::{Embedder, ModelError, ModelSession, Moderation, Moderator, Usage};
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
    /// Checks whose models could not be made.
    unbound: HashMap<usize, ModelError>,
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
                    unbound.insert(asked.check, error.clone());
                }
                None => {}
            }
            cells.push((asked, needs));
        }
        let embedding = join_all(
            embed
                .into_iter()
                .map(|(identity, (model, texts))| async move {
                    (identity, embed_all(&*model, texts).await)
                }),
        );
        let moderating = join_all(
            moderate
                .into_iter()
                .map(|(identity, (model, texts))| async move {
                    (identity, moderate_all(&*model, texts).await)
                }),
        );
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

async fn embed_all(model: &dyn Embedder, texts: Vec<String>) -> Texts<Arc<[f32]>> {
    let texts = distinct(texts);
    let batches = texts.chunks(model.batch().max(1));
    let asked = join_all(batches.map(|batch| async move {
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        let answer = model.embed(&batch).await;
        (
            batch,
            answer.map(|answer| (answer.vectors, answer.usage, answer.cached)),
        )
    }));
    gather(asked.await)
}

async fn moderate_all(model: &dyn Moderator, texts: Vec<String>) -> Texts<Moderation> {
    let texts = distinct(texts);
    let batches = texts.chunks(model.batch().max(1));
    let asked = join_all(batches.map(|batch| async move {
        let batch: Vec<&str> = batch.iter().map(String::as_str).collect();
        let answer = model.moderate(&batch).await;
        (
            batch,
            answer.map(|answer| (answer.texts, answer.usage, answer.cached)),
        )
    }));
    gather(asked.await)
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
            if let Some(error) = self.unbound.get(&asked.check) {
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
