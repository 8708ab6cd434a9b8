//! How much of a statement stands in the sources, and where the most of it does.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::claims::citations;
use super::sources::{Sentence, Sources};
use super::words::{Kind, Token, tokens};

/// A statement as the checks see it.
pub(super) struct Statement<'t> {
    pub text: &'t str,
    pub tokens: Vec<Token<'t>>,
}

impl<'t> Statement<'t> {
    /// Marks of sources are left out.
    pub(super) fn new(text: &'t str) -> Self {
        let citations = citations(text);
        let mut tokens = tokens(text);
        tokens.retain(|token| !citations.iter().any(|span| span.contains(&token.start)));
        Self { text, tokens }
    }

    /// All but the marks.
    pub(super) fn words(&self) -> impl Iterator<Item = &Token<'t>> {
        self.tokens.iter().filter(|token| token.kind != Kind::Mark)
    }

    pub(super) fn content(&self) -> impl Iterator<Item = &Token<'t>> {
        self.tokens.iter().filter(|token| token.is_content())
    }

    /// Whether it has a word or one of its family.
    pub(super) fn has(&self, other: &Token<'_>) -> bool {
        self.tokens.iter().any(|token| {
            token.stem == other.stem || (token.head.is_some() && token.head == other.head)
        })
    }

    pub(super) fn has_stem(&self, stem: u64) -> bool {
        self.tokens.iter().any(|token| token.stem == stem)
    }
}

/// Where in the sources a statement has its counterpart.
pub(super) struct Near {
    /// The sentence with the most telling words of the statement.
    pub best: Option<usize>,
    /// Up to [`WINDOW`] sentences of one source that cover the most of it.
    pub window: Range<usize>,
    /// The share of the statement's content words that the sentence and the window cover, in `[0, 1]`.
    pub in_best: f64,
    pub in_window: f64,
}

const WINDOW: usize = 3;

/// How many sentences are tried as part of a window.
const TRIED: usize = 6;

impl Near {
    pub(super) fn new(statement: &Statement<'_>, sources: &Sources<'_>) -> Self {
        let mut near = Self {
            best: None,
            window: 0..0,
            in_best: 0.0,
            in_window: 0.0,
        };
        for at in likely(statement, sources) {
            if near.best.is_none() {
                near.best = Some(at);
                near.in_best = covered(statement, sources, &(at..at + 1));
            }
            for first in at.saturating_sub(WINDOW - 1)..=at {
                let window = one_source(sources, first, at);
                let share = covered(statement, sources, &window);
                if share > near.in_window + 1e-9 {
                    (near.in_window, near.window) = (share, window);
                }
            }
        }
        near
    }

    pub(super) fn best<'s, 't>(&self, sources: &'s Sources<'t>) -> Option<&'s Sentence<'t>> {
        sources.sentence(self.best?)
    }

    pub(super) fn sentences<'s, 't>(&self, sources: &'s Sources<'t>) -> &'s [Sentence<'t>] {
        sources.sentences(self.window.clone())
    }
}

/// The sentences that share the most telling words, best first; of equals the shorter, then the earlier.
fn likely(statement: &Statement<'_>, sources: &Sources<'_>) -> Vec<usize> {
    let mut mass: HashMap<u32, f64> = HashMap::new();
    let mut counted = HashSet::new();
    for token in statement.content().filter(|t| counted.insert(t.stem)) {
        let weight = sources.weight(token);
        for place in sources.places(token) {
            *mass.entry(*place).or_default() += weight;
        }
    }
    let length = |at: u32| sources.sentence(at as usize).map_or(0, |s| s.tokens.len());
    let mut order: Vec<(u32, f64)> = mass.into_iter().collect();
    order.sort_by(|(a, x), (b, y)| {
        y.total_cmp(x)
            .then_with(|| length(*a).cmp(&length(*b)))
            .then(a.cmp(b))
    });
    order.truncate(TRIED);
    order.into_iter().map(|(at, _)| at as usize).collect()
}

/// The window that begins at `first`, cut to the source that `at` is of.
fn one_source(sources: &Sources<'_>, first: usize, at: usize) -> Range<usize> {
    let source = |at: usize| sources.sentence(at).map(|sentence| sentence.source);
    let mut window = (first..first + WINDOW).filter(|i| source(*i) == source(at));
    let begin = window.next().unwrap_or(at);
    begin..window.next_back().unwrap_or(begin) + 1
}

fn covered(statement: &Statement<'_>, sources: &Sources<'_>, within: &Range<usize>) -> f64 {
    share(statement.content().map(|t| sources.cover(t, within)))
}

/// The mean of shares; 1 of none.
fn share(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, n) = values.fold((0.0, 0), |(sum, n), value| (sum + value, n + 1));
    if n == 0 { 1.0 } else { sum / f64::from(n) }
}

fn share_of(values: impl Iterator<Item = bool>) -> f64 {
    share(values.map(|value| f64::from(u8::from(value))))
}

pub(super) const NAMES: [&str; 13] = [
    "words",
    "content",
    "content_exact",
    "bigrams",
    "in_best",
    "in_window",
    "bigrams_near",
    "trigrams_near",
    "whole",
    "scattered",
    "reordered",
    "only_asked",
    "length",
];

/// Places in [`NAMES`].
pub(super) const WORDS: usize = 0;
pub(super) const CONTENT: usize = 1;
pub(super) const BIGRAMS: usize = 3;
pub(super) const WHOLE: usize = 8;

/// The features of [`NAMES`]: shares in `[0, 1]`, but for the logarithm of the number of content words.
pub(super) fn features(
    statement: &Statement<'_>,
    sources: &Sources<'_>,
    near: &Near,
) -> [f64; NAMES.len()] {
    let words: Vec<&Token<'_>> = statement.words().collect();
    let everywhere = 0..sources.len();
    let content = covered(statement, sources, &everywhere);
    let around: Vec<u64> = near_words(near, sources);
    let n = statement.content().count();
    [
        share_of(words.iter().map(|t| sources.has_word(t))),
        content,
        share_of(statement.content().map(|t| sources.has_stem(t))),
        share_of(pairs(&words).map(|(a, b)| sources.has_bigram(a, b))),
        near.in_best,
        near.in_window,
        share_of(runs::<2>(&words, &around)),
        share_of(runs::<3>(&words, &around)),
        f64::from(u8::from(statement.content().all(|t| sources.has(t)))),
        content - near.in_window,
        reordered(statement, &around),
        share_asked(statement, sources),
        (1.0 + n as f64).ln(),
    ]
}

fn pairs<'w, 't>(
    words: &'w [&'w Token<'t>],
) -> impl Iterator<Item = (&'w Token<'t>, &'w Token<'t>)> {
    words
        .iter()
        .zip(words.iter().skip(1))
        .map(|(a, b)| (*a, *b))
}

fn near_words(near: &Near, sources: &Sources<'_>) -> Vec<u64> {
    let tokens = near.sentences(sources).iter().flat_map(|s| &s.tokens);
    tokens
        .filter(|token| token.kind != Kind::Mark)
        .map(|token| token.stem)
        .collect()
}

/// Which runs of `N` stems stand around as they do in the statement.
fn runs<const N: usize>(
    words: &[&Token<'_>],
    around: &[u64],
) -> impl Iterator<Item = bool> + use<N> {
    let known: HashSet<&[u64]> = around.windows(N).collect();
    let stems: Vec<u64> = words.iter().map(|token| token.stem).collect();
    let found: Vec<bool> = stems.windows(N).map(|run| known.contains(run)).collect();
    found.into_iter()
}

/// The share of neighbouring content words that stand in the other order around.
fn reordered(statement: &Statement<'_>, around: &[u64]) -> f64 {
    let mut first: HashMap<u64, usize> = HashMap::new();
    for (at, stem) in around.iter().enumerate() {
        first.entry(*stem).or_insert(at);
    }
    let places: Vec<usize> = statement
        .content()
        .filter_map(|token| first.get(&token.stem).copied())
        .collect();
    let later = places.iter().skip(1);
    let turned = places.iter().zip(later).filter(|(a, b)| b < a).count();
    turned as f64 / places.len().saturating_sub(1).max(1) as f64
}

/// The share of content words that only the question has.
fn share_asked(statement: &Statement<'_>, sources: &Sources<'_>) -> f64 {
    let asked = statement
        .content()
        .map(|t| !sources.has(t) && sources.was_asked(t));
    let (asked, n) = asked.fold((0, 0), |(asked, n), is| (asked + i32::from(is), n + 1));
    f64::from(asked) / f64::from(n.max(1))
}
