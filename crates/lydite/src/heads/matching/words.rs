//! A text as the things it says: words by their stems, and quantities, each with its place.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use crate::text::names::{Evidence, Name, names};
use crate::text::negations::negations;
use crate::text::quantities::{Quantity, quantities};
use crate::text::segment::sentences;

/// Bytes of a text that are looked at.
pub(super) const LONGEST: usize = 16 << 10;

/// What a text says, in its order.
#[derive(Debug)]
pub(super) struct Said<'t> {
    pub(super) text: &'t str,
    pub(super) items: Vec<Item>,
    pub(super) sentences: Vec<Sentence>,
}

/// A word, or a quantity as a whole.
#[derive(Debug)]
pub(super) struct Item {
    /// In bytes of the text.
    pub(super) span: Range<usize>,
    /// Lower case, without accents and inner points: `U.S.` is `us`.
    pub(super) plain: String,
    pub(super) stem: String,
    pub(super) quantity: Option<Quantity>,
    /// The capital that says it is part of a name.
    pub(super) name: Option<Evidence>,
    /// Articles, prepositions, auxiliaries: say little by themselves.
    pub(super) small: bool,
}

#[derive(Debug)]
pub(super) struct Sentence {
    /// In bytes of the text.
    pub(super) span: Range<usize>,
    /// Places in the text's items.
    pub(super) items: Range<usize>,
    /// Where it says *not*, in bytes of the text.
    pub(super) negations: Vec<Range<usize>>,
}

impl<'t> Said<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let text = text
            .get(..text.floor_char_boundary(LONGEST))
            .unwrap_or(text);
        let names = names(text);
        let mut items = items(text, &names);
        let citations = citations(text);
        let is_cited = |item: &Item| {
            let before = citations.partition_point(|cited| cited.start <= item.span.start);
            let cited = before.checked_sub(1).and_then(|at| citations.get(at));
            cited.is_some_and(|cited| item.span.start < cited.end)
        };
        items.retain(|item| !is_cited(item));
        let sentences = parts(text, &items);
        Self {
            text,
            items,
            sentences,
        }
    }

    pub(super) fn of(&self, sentence: &Sentence) -> &[Item] {
        self.items.get(sentence.items.clone()).unwrap_or_default()
    }

    pub(super) fn slice(&self, span: &Range<usize>) -> &'t str {
        self.text.get(span.clone()).unwrap_or_default()
    }
}

/// Marks such as `[3]` and `[plans-3]`, in the order of the text: they say where something stands, not what.
fn citations(text: &str) -> Vec<Range<usize>> {
    const LONGEST_MARK: usize = 40;
    let starts = text.match_indices('[').map(|(start, _)| start);
    starts
        .filter_map(|start| {
            let bytes = text.as_bytes().get(start..)?;
            let end = bytes.iter().take(LONGEST_MARK).position(|b| *b == b']')?;
            let mark = text.get(start..=start + end)?;
            let cites =
                mark.contains(|c: char| c.is_ascii_digit()) && !mark.contains(char::is_whitespace);
            cites.then(|| start..start + mark.len())
        })
        .collect()
}

fn items(text: &str, names: &[Name]) -> Vec<Item> {
    let mut items = Vec::new();
    let mut from = 0;
    for quantity in quantities(text) {
        push_words(text, from..quantity.span.start, names, &mut items);
        from = quantity.span.end;
        let plain = plain(text.get(quantity.span.clone()).unwrap_or_default());
        items.push(Item {
            span: quantity.span.clone(),
            stem: plain.clone(),
            plain,
            quantity: Some(quantity),
            name: None,
            small: false,
        });
    }
    push_words(text, from..text.len(), names, &mut items);
    items
}

fn push_words(text: &str, within: Range<usize>, names: &[Name], items: &mut Vec<Item>) {
    let part = text.get(within.clone()).unwrap_or_default();
    let mut start = None;
    let ends = std::iter::once((part.len(), ' '));
    let mut chars = part.char_indices().chain(ends).peekable();
    while let Some((at, c)) = chars.next() {
        let joins = matches!(c, '\'' | '’' | '.')
            && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
        match (
            start,
            c.is_alphanumeric() || is_combining_mark(c) || (joins && start.is_some()),
        ) {
            (None, true) => start = Some(at),
            (Some(begin), false) => {
                push_word(text, within.start + begin..within.start + at, names, items);
                start = None;
            }
            _ => {}
        }
    }
}

fn push_word(text: &str, span: Range<usize>, names: &[Name], items: &mut Vec<Item>) {
    let written = text.get(span.clone()).unwrap_or_default();
    let plain = plain(written);
    if plain.is_empty() {
        return;
    }
    let name = names.iter().find(|name| name.span.contains(&span.start));
    let capital =
        written.chars().any(char::is_uppercase) || written.chars().any(|c| c.is_ascii_digit());
    items.push(Item {
        span,
        stem: stem(&plain),
        small: is_small(&plain),
        plain,
        quantity: None,
        name: name.filter(|_| capital).map(|name| name.evidence),
    });
}

/// Lower case, without accents, marks and a possessive's ending.
pub(super) fn plain(word: &str) -> String {
    let word = word
        .strip_suffix("'s")
        .or_else(|| word.strip_suffix("’s"))
        .unwrap_or(word);
    word.nfkd()
        .filter(|c| c.is_alphanumeric() && !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .map(|c| if c == 'ß' { 's' } else { c })
        .collect()
}

/// A word without its English endings of number, tense and manner.
fn stem(word: &str) -> String {
    if !word.is_ascii() || word.len() < 4 {
        return word.to_owned();
    }
    let ends = [
        ("ies", "y"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
        ("ly", ""),
    ];
    let (cut, ending) = ends
        .iter()
        .find(|(end, _)| {
            word.ends_with(end) && word.len() - end.len() >= 3 && !word.ends_with("ss")
        })
        .map_or((word, ""), |(end, put)| {
            (word.strip_suffix(end).unwrap_or(word), *put)
        });
    let cut = cut
        .strip_suffix('e')
        .filter(|cut| cut.len() >= 3)
        .unwrap_or(cut);
    let mut stem = cut.to_owned();
    let mut last = cut.chars().rev();
    if let (Some(a), Some(b)) = (last.next(), last.next())
        && a == b
        && !matches!(a, 'a' | 'e' | 'i' | 'o' | 'u' | 's' | 'l')
    {
        stem.pop();
    }
    stem + ending
}

/// Sentences, those joined again that were cut at an initial or a title (`J. K.`, `Dr.`).
fn parts(text: &str, items: &[Item]) -> Vec<Sentence> {
    let mut spans: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for sentence in sentences(text) {
        let start = text
            .get(from..)
            .and_then(|rest| rest.find(sentence.text))
            .map_or(from, |at| from + at);
        from = start + sentence.text.len();
        match spans.last_mut() {
            Some(last) if is_cut(text.get(last.clone()).unwrap_or_default()) => last.end = from,
            _ => spans.push(start..from),
        }
    }
    spans
        .into_iter()
        .map(|span| part(text, items, span))
        .collect()
}

fn part(text: &str, items: &[Item], span: Range<usize>) -> Sentence {
    let first = items.partition_point(|item| item.span.start < span.start);
    let end = items.partition_point(|item| item.span.start < span.end);
    let negations = negations(text.get(span.clone()).unwrap_or_default());
    let moved = |negation: Range<usize>| span.start + negation.start..span.start + negation.end;
    Sentence {
        negations: negations.into_iter().map(moved).collect(),
        items: first..end,
        span,
    }
}

/// Whether a sentence ends in a point that ends no sentence.
fn is_cut(sentence: &str) -> bool {
    const SHORT: [&str; 14] = [
        "Mr", "Mrs", "Ms", "Dr", "St", "Prof", "Sr", "Jr", "Gen", "Lt", "vs", "No", "approx", "Mt",
    ];
    let Some(body) = sentence.strip_suffix('.') else {
        return false;
    };
    let last = body
        .rsplit(|c: char| c.is_whitespace() || c == '(')
        .next()
        .unwrap_or_default();
    let letters = last.chars().filter(|c| c.is_alphabetic()).count();
    let initial = letters == 1 && last.chars().next_back().is_some_and(char::is_uppercase);
    let number = !last.is_empty()
        && last.len() <= 2
        && last.bytes().all(|b| b.is_ascii_digit())
        && body.len() == last.len();
    initial || number || SHORT.contains(&last)
}

fn is_small(word: &str) -> bool {
    SMALL.contains(&word)
}

#[rustfmt::skip]
const SMALL: &[&str] = &[
    "a", "an", "the", "of", "in", "on", "at", "to", "for", "from", "by", "with", "as", "and", "or", "but", "is", "are",
    "was", "were", "be", "been", "being", "am", "do", "does", "did", "have", "has", "had", "it", "its", "this", "that",
    "these", "those", "there", "he", "she", "they", "his", "her", "their", "him", "them", "we", "you", "i", "your",
    "my", "our", "us", "me", "which", "who", "whom", "whose", "what", "when", "where", "why", "how", "will", "would", "can",
    "could", "may", "might", "shall", "should", "must", "also", "so", "than", "then", "if", "about", "into", "over",
    "s", "t", "such", "some", "any", "up", "out", "very", "just", "both", "each", "other", "more", "most", "while",
    "de", "la", "le", "el", "der", "die", "das", "und", "et", "y", "en", "un", "une", "les", "los", "il",
];
