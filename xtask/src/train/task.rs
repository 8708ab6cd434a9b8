//! What a task tells the fit: its data, its features, and how to fit them.

use super::data::{Data, Record};
use anyhow::Result;
use lydite::heads::hashed::Ngrams;
use lydite::heads::{Inputs, Names};
use std::sync::Arc;

/// One head to be fitted.
pub(crate) trait Task: Sync {
    /// The file's name, `data/<id>.json`.
    fn id(&self) -> &'static str;

    /// Counted up by hand with each change of the coefficients.
    fn version(&self) -> &'static str {
        "1"
    }

    /// The model whose embeddings it takes.
    fn embedder(&self) -> Option<&'static str>;

    /// What a label of true means, as the model card says it.
    fn question(&self) -> &'static str;

    /// Where it is blind, for the card.
    fn limits(&self) -> &'static [&'static str];

    /// The sets that it is fitted on.
    fn sets(&self) -> &'static [Set];

    /// Whether a set's figures decide on the levels, those of folds or those where the whole set was left out.
    ///
    /// One that was made to be hard says where a head is blind, not how often it is right; and one whose labels
    /// follow a rule of their own says out of set how far the rules differ.
    fn decides(&self, _set: &str, _out_of_set: bool) -> bool {
        true
    }

    /// Labelled examples of all sets.
    fn examples(&self, data: &Data) -> Result<Vec<Example>>;

    /// The texts of a record that have to be embedded.
    fn texts(&self, record: &Record) -> Vec<String>;

    /// The names of the features, as `lydite::heads::<task>` has them.
    fn names(&self) -> Names<'static>;

    /// The features of a record, by `lydite::heads::<task>`.
    fn features(&self, record: &Record, embed: &Embed<'_>) -> Result<Features>;

    fn recipe(&self) -> Recipe;

    /// A bound of the level of fail, where the sets' own shares of right verdicts allow too much.
    fn highest_fail(&self) -> Option<f64> {
        None
    }
}

/// Gives the embedding of a text that [`Task::texts`] named.
pub(crate) type Embed<'e> = dyn Fn(&str) -> Option<Arc<[f32]>> + 'e;

/// A set of labelled data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    /// The name of its folder.
    pub(crate) name: &'static str,
    /// An SPDX expression.
    pub(crate) licence: &'static str,
    /// Whose it is and where it was published.
    pub(crate) attribution: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Example {
    /// One of [`Task::sets`].
    pub(crate) set: &'static str,
    /// Examples of one group are never on both sides of a split.
    pub(crate) group: String,
    pub(crate) label: bool,
    /// Relative within its set: all sets count the same.
    pub(crate) weight: f64,
    pub(crate) record: Record,
}

/// [`Inputs`] that own their parts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Features {
    pub(crate) dense: Vec<f64>,
    pub(crate) embeddings: Vec<Arc<[f32]>>,
    pub(crate) texts: Vec<String>,
}

/// The borrowed lists that [`Inputs`] point to.
#[derive(Debug)]
pub(crate) struct Borrowed<'f> {
    dense: &'f [f64],
    embeddings: Vec<&'f [f32]>,
    texts: Vec<&'f str>,
}

impl Features {
    pub(crate) fn inputs(&self) -> Borrowed<'_> {
        Borrowed {
            dense: &self.dense,
            embeddings: self.embeddings.iter().map(|vector| &**vector).collect(),
            texts: self.texts.iter().map(String::as_str).collect(),
        }
    }
}

impl Borrowed<'_> {
    pub(crate) fn borrow(&self) -> Inputs<'_> {
        Inputs {
            dense: self.dense,
            embeddings: &self.embeddings,
            texts: &self.texts,
        }
    }
}

/// Which model, and how strongly it is held back.
#[derive(Clone, Debug)]
pub(crate) enum Recipe {
    Linear(LinearRecipe),
    Signed(SignedRecipe),
}

/// Logistic regression. A penalty λ is that of `Σ wᵢ lossᵢ + ½ λ β²` with weights of mean 1: scikit-learn's
/// `1 / C`.
#[derive(Clone, Debug)]
pub(crate) struct LinearRecipe {
    /// λ of the standardised dense features.
    pub(crate) dense: f64,
    /// λ of the dimensions of embeddings.
    pub(crate) embeddings: f64,
    /// λ of the buckets of n-grams.
    pub(crate) ngrams: f64,
    /// Which n-grams of which text, by its name in [`Names::texts`].
    pub(crate) blocks: Vec<(&'static str, Ngrams)>,
}

/// Logistic regression whose dense features may speak in one direction only, as is known of them beforehand: what then
/// holds on one set alone can't turn them round.
#[derive(Clone, Debug)]
pub(crate) struct SignedRecipe {
    pub(crate) linear: LinearRecipe,
    /// Dense features whose weight is not negative.
    pub(crate) rising: &'static [&'static str],
    /// Those whose weight is not positive.
    pub(crate) falling: &'static [&'static str],
}
