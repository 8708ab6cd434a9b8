//! The texts that a response may draw on, indexed once a row.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::claims::sentences;
use super::words::{Kind, Token, fold, head, key, tokens};
use crate::text::quantities::{Quantity, quantities};

/// A sentence of a source.
#[derive(Debug)]
pub struct Sentence<'t> {
    /// Which source, from 0.
    pub source: usize,
    pub text: &'t str,
    /// In characters of the source.
    pub range: Range<usize>,
    pub(super) tokens: Vec<Token<'t>>,
    pub(super) quantities: Vec<Quantity>,
}

/// All sentences of the sources, and where which word stands. Time and memory are linear in the texts.
#[derive(Debug, Default)]
pub struct Sources<'t> {
    sentences: Vec<Sentence<'t>>,
    /// In which sentences, ascending, a stem stands.
    stems: HashMap<u64, Vec<u32>>,
    heads: HashMap<u64, Vec<u32>>,
    words: HashSet<u64>,
    bigrams: HashSet<(u64, u64)>,
    /// The first letters of names and other words, shorter than a token's own.
    name_heads: HashSet<u64>,
    /// Stems of the question, which is no source.
    asked: HashSet<u64>,
    /// The first letters of all words of each sentence, and those of its content words.
    initials: OnceCell<Vec<[String; 2]>>,
}

/// Letters that a name shares with words that come from it (`China`, `Chinese`).
const NAME_HEAD: usize = 4;

impl<'t> Sources<'t> {
    /// Indexes texts; `query` is what was asked.
    pub fn new(texts: impl IntoIterator<Item = &'t str>, query: &str) -> Self {
        let mut sources = Self {
            asked: tokens(query).into_iter().map(|token| token.stem).collect(),
            ..Self::default()
        };
        for (source, text) in texts.into_iter().enumerate() {
            for sentence in sentences(text) {
                sources.add(Sentence {
                    source,
                    text: sentence.text,
                    range: sentence.start..sentence.end,
                    tokens: tokens(sentence.text),
                    quantities: quantities(sentence.text),
                });
            }
        }
        sources
    }

    fn add(&mut self, sentence: Sentence<'t>) {
        let at = u32::try_from(self.sentences.len()).unwrap_or(u32::MAX);
        let mut before: Option<u64> = None;
        for token in sentence.tokens.iter().filter(|t| t.kind != Kind::Mark) {
            place(&mut self.stems, token.stem, at);
            if let Some(head) = token.head {
                place(&mut self.heads, head, at);
            }
            if token.is_content() {
                self.name_heads.extend(head(&fold(token.text), NAME_HEAD));
            }
            self.words.insert(token.folded);
            if let Some(before) = before {
                self.bigrams.insert((before, token.folded));
            }
            before = Some(token.folded);
        }
        self.sentences.push(sentence);
    }

    /// Whether there is nothing to hold a response against.
    pub fn is_empty(&self) -> bool {
        self.sentences.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.sentences.len()
    }

    pub(super) fn sentence(&self, at: usize) -> Option<&Sentence<'t>> {
        self.sentences.get(at)
    }

    pub(super) fn sentences(&self, range: Range<usize>) -> &[Sentence<'t>] {
        self.sentences.get(range).unwrap_or_default()
    }

    /// The sentences that have a token: its stem, or else a word that begins like it.
    pub(super) fn places(&self, token: &Token<'_>) -> &[u32] {
        let of = |index: &'_ HashMap<u64, Vec<u32>>, key| index.get(&key).map_or(0, Vec::len);
        match token.head {
            Some(head) if of(&self.stems, token.stem) == 0 => list(&self.heads, head),
            _ => list(&self.stems, token.stem),
        }
    }

    /// How much of a token some sentences have: 1 its stem, 0.8 a word of its family, else 0.
    pub(super) fn cover(&self, token: &Token<'_>, within: &Range<usize>) -> f64 {
        let stands = |places: &[u32]| {
            let first = places.partition_point(|place| (*place as usize) < within.start);
            places
                .get(first)
                .is_some_and(|place| (*place as usize) < within.end)
        };
        let related = |head| stands(list(&self.heads, head));
        if stands(list(&self.stems, token.stem)) {
            1.0
        } else if token.head.is_some_and(related) {
            0.8
        } else {
            0.0
        }
    }

    pub(super) fn has(&self, token: &Token<'_>) -> bool {
        !self.places(token).is_empty()
    }

    pub(super) fn has_stem(&self, token: &Token<'_>) -> bool {
        self.stems.contains_key(&token.stem) || self.has_word(token)
    }

    pub(super) fn has_word(&self, token: &Token<'_>) -> bool {
        self.words.contains(&token.folded)
    }

    pub(super) fn has_bigram(&self, a: &Token<'_>, b: &Token<'_>) -> bool {
        self.bigrams.contains(&(a.folded, b.folded))
    }

    pub(super) fn was_asked(&self, token: &Token<'_>) -> bool {
        self.asked.contains(&token.stem)
    }

    /// How telling a token is: `ln(1 + n / df)` over the sentences.
    pub(super) fn weight(&self, token: &Token<'_>) -> f64 {
        let sentences = self.places(token).len().max(1);
        (1.0 + self.len() as f64 / sentences as f64).ln()
    }

    /// Whether the sources have a name, or what it is another form of: `American` of `America`, `UK` of `United Kingdom`,
    /// `U.S.` of `US`.
    pub(super) fn has_name(&self, token: &Token<'_>) -> bool {
        let word = fold(token.text);
        let kin = (word.chars().count() > NAME_HEAD)
            .then(|| head(&word, NAME_HEAD))
            .flatten();
        self.has(token)
            || self.has_word(token)
            || kin.is_some_and(|head| self.name_heads.contains(&head))
            || (word.contains('.') && self.words.contains(&key(&word.replace('.', ""))))
            || self.has_spelled_out(token.text)
            || quarter(&word).is_some_and(|word| self.words.contains(&key(word)))
    }

    /// Whether words that follow each other begin with the letters of an abbreviation.
    fn has_spelled_out(&self, name: &str) -> bool {
        let letters: Vec<char> = name.chars().filter(|c| *c != '.').collect();
        let plural = letters.last() == Some(&'s');
        let capitals = letters.get(..letters.len() - usize::from(plural));
        let capitals = capitals.unwrap_or_default();
        if !(2..=6).contains(&capitals.len()) || !capitals.iter().all(|c| c.is_uppercase()) {
            return false;
        }
        let wanted: String = capitals.iter().flat_map(|c| c.to_lowercase()).collect();
        let initials = self.initials.get_or_init(|| self.initials());
        initials
            .iter()
            .flatten()
            .any(|initials| initials.contains(&wanted))
    }

    fn initials(&self) -> Vec<[String; 2]> {
        let sentences = self.sentences.iter();
        sentences
            .map(|sentence| {
                let words = sentence.tokens.iter().filter(|t| t.kind != Kind::Mark);
                let content = sentence.tokens.iter().filter(|t| t.is_content());
                [first_letters(words), first_letters(content)]
            })
            .collect()
    }
}

fn first_letters<'s>(tokens: impl Iterator<Item = &'s Token<'s>>) -> String {
    let letters = tokens.filter_map(|token| token.text.chars().next());
    letters.flat_map(char::to_lowercase).collect()
}

fn place(index: &mut HashMap<u64, Vec<u32>>, key: u64, at: u32) {
    let places = index.entry(key).or_default();
    if places.last() != Some(&at) {
        places.push(at);
    }
}

fn list(index: &HashMap<u64, Vec<u32>>, key: u64) -> &[u32] {
    index.get(&key).map_or(&[], Vec::as_slice)
}

/// The word for a quarter of a year (`Q3`).
fn quarter(word: &str) -> Option<&'static str> {
    match word {
        "q1" => Some("first"),
        "q2" => Some("second"),
        "q3" => Some("third"),
        "q4" => Some("fourth"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has_name(text: &str, name: &str) -> bool {
        Sources::new([text], "").has_name(&tokens(name)[0])
    }

    #[test]
    fn other_forms_of_a_name_are_the_name() {
        let table = [
            ("It opened in China.", "Chinese", true),
            ("Exports of the United Kingdom fell.", "UK", true),
            ("The US and Canada.", "U.S", true),
            ("In the fourth quarter sales rose.", "Q4", true),
            ("Maria runs the store.", "Anna", false),
            ("The market closed.", "Mark", false),
            ("The United States.", "UK", false),
        ];
        for (text, name, expected) in table {
            assert_eq!(has_name(text, name), expected, "{name} in {text}");
        }
    }

    #[test]
    fn sentences_stand_where_they_say() {
        let texts = ["Ä first. A second one.", "Third: no. Fourth?"];
        let sources = Sources::new(texts, "");
        assert_eq!(sources.len(), 4);
        for sentence in sources.sentences(0..4) {
            let cut: String = texts[sentence.source]
                .chars()
                .skip(sentence.range.start)
                .take(sentence.range.len())
                .collect();
            assert_eq!(cut, sentence.text);
        }
    }

    #[test]
    fn words_of_a_family_count_less_than_the_word() {
        let sources = Sources::new(["Legally binding.", "Closed on Monday."], "");
        let cover = |word: &str, within| sources.cover(&tokens(word)[0], &within);
        assert!((cover("legal", 0..2) - 1.0).abs() < 1e-9);
        assert!((cover("legality", 0..1) - 0.8).abs() < 1e-9);
        assert!(cover("legal", 1..2).abs() < 1e-9);
        assert!((cover("closes", 0..2) - 1.0).abs() < 1e-9);
        assert!(cover("opens", 0..2).abs() < 1e-9);
    }
}
