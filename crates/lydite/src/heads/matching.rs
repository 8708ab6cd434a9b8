//! Whether a response says what a reference says: features of words, two cosines, and checks that decide by themselves.
//!
//! A reference's words are looked for in the response, sentence by sentence, by stem, spelling and value; what the
//! question says already counts little. The head weighs that with the nearness of both texts as the embedder sees
//! them. Since neither sees a changed number or a *not* well, [`Kind`] names what is checked apart: where such a check
//! fires, the probability is [`CONTRADICTED`].

mod align;
mod checks;
mod features;
mod opposites;
mod repair;
mod words;

use std::ops::Range;
use std::sync::LazyLock;

pub use checks::{Check, Kind};

use align::{Aligned, Asked};
use checks::{Pair, checks, is_hard};
use features::{FEATURES, Sides, View};
use words::Said;

use super::{Head, HeadError, Inputs, Names};

/// The probability of a response that says something else in the reference's place; below the level of fail.
pub const CONTRADICTED: f64 = 0.02;

/// Texts to be embedded of each comparison.
pub const TEXTS: usize = 4;

pub const NAMES: Names<'static> = Names {
    dense: &DENSE,
    embeddings: &[],
    texts: &[],
};

const COSINES: [&str; 2] = ["cosine_in_context", "cosine_of_cores"];

const DENSE: [&str; FEATURES.len() + COSINES.len()] = dense();

static HEAD: LazyLock<Result<Head, HeadError>> =
    LazyLock::new(|| Head::parse(include_str!("data/matching.json"), &NAMES));

pub fn head() -> Result<&'static Head, &'static HeadError> {
    HEAD.as_ref()
}

/// A response, read once for all its references.
#[derive(Debug)]
pub struct Response<'t> {
    said: Said<'t>,
    asked: Asked,
    query: &'t str,
    words: Vec<String>,
    text: String,
    hedges: f64,
}

/// A reference beside a response.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The place of the reference among those given.
    pub reference: usize,
    /// The sentence of the response that says most of the reference, in bytes of the response.
    pub sentence: Range<usize>,
    /// What speaks against it for sure.
    pub checks: Vec<Check>,
    /// The reference's words stand in the response as they are.
    pub verbatim: bool,
    /// The share of what the reference says beyond the question that the response has, 0 to 1.
    pub coverage: f64,
    /// What has to be embedded: two texts of the reference's side and the response's each.
    pub texts: [String; TEXTS],
    dense: Vec<f64>,
    rank: f64,
}

impl<'t> Response<'t> {
    /// The question may be empty.
    pub fn new(query: &'t str, output: &'t str) -> Self {
        let said = Said::new(output);
        let words = features::words(&said.items);
        Self {
            text: words.join(" "),
            words,
            hedges: features::hedges(said.text),
            asked: Asked::new(query),
            said,
            query,
        }
    }

    /// The references that fit best by their words, the best first, at most `most`.
    ///
    /// Those without a word or number say nothing and are left out, and a response without one has none.
    pub fn nearest<'r>(
        &self,
        references: impl IntoIterator<Item = &'r str>,
        most: usize,
    ) -> Vec<Comparison> {
        let references = references.into_iter().enumerate();
        let mut all: Vec<Comparison> = references
            .filter_map(|(at, text)| self.compare(at, text))
            .collect();
        all.sort_by(|a, b| b.rank.total_cmp(&a.rank));
        all.truncate(most);
        all
    }

    fn compare(&self, place: usize, reference: &str) -> Option<Comparison> {
        let repaired = repair::repaired(reference);
        let reference = Said::new(repaired.as_deref().unwrap_or(reference));
        let output = &self.said;
        let align = |part| Some((part, Aligned::new(&reference, part, output, &self.asked)?));
        let parts: Vec<_> = reference
            .sentences
            .iter()
            .filter(|part| !part.items.is_empty())
            .filter_map(align)
            .collect();
        let checks: Vec<Check> = parts
            .iter()
            .flat_map(|(part, aligned)| {
                checks(&Pair {
                    reference: &reference,
                    part,
                    output,
                    aligned,
                    asked: &self.asked,
                })
            })
            .collect();
        let view = View::new(&Sides {
            reference: &reference,
            output,
            asked: &self.asked,
            parts: &parts,
            checks: &checks,
            output_words: &self.words,
            output_text: &self.text,
            hedges: self.hedges,
        })?;
        Some(Comparison {
            reference: place,
            sentence: view.sentence.span.clone(),
            verbatim: view.is_verbatim(),
            coverage: view.recall_new(),
            texts: self.texts(&view),
            dense: FEATURES.iter().map(|(_, value)| value(&view)).collect(),
            rank: view.rank(),
            checks: checks
                .iter()
                .filter(|check| is_hard(check, &reference))
                .cloned()
                .collect(),
        })
    }

    fn texts(&self, view: &View<'_>) -> [String; TEXTS] {
        let (reference, output) = (view.reference, &self.said);
        let sentence = output.slice(&view.sentence.span);
        let core = |items, said: &Said<'_>| clipped(&features::core(items, said, &self.asked));
        [
            clipped(&format!("{} {}", self.query, reference.text)),
            clipped(&format!("{} {sentence}", self.query)),
            core(&reference.items, reference),
            core(output.of(view.sentence), output),
        ]
    }
}

impl Comparison {
    /// The features, in the order of [`NAMES`]. `cosines` are those of the first two and of the last two texts.
    pub fn features(&self, cosines: [f64; 2]) -> Vec<f64> {
        self.dense.iter().copied().chain(cosines).collect()
    }

    /// The probability that the response says what the reference says.
    pub fn probability(&self, head: &Head, cosines: [f64; 2]) -> f64 {
        let dense = self.features(cosines);
        let probability = head.probability(&Inputs {
            dense: &dense,
            ..Inputs::default()
        });
        if self.checks.is_empty() {
            probability
        } else {
            probability.min(CONTRADICTED)
        }
    }
}

/// The first 400 characters: what the embedder reads of a text, about.
fn clipped(text: &str) -> String {
    text.trim().chars().take(400).collect()
}

#[expect(clippy::indexing_slicing, reason = "computed while compiling")]
const fn dense() -> [&'static str; FEATURES.len() + COSINES.len()] {
    let mut names = [""; FEATURES.len() + COSINES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = match at.checked_sub(FEATURES.len()) {
            Some(cosine) => COSINES[cosine],
            None => FEATURES[at].0,
        };
        at += 1;
    }
    names
}
