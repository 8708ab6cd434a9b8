//! Statements that say the opposite of the sentence that they are closest to.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::coverage::{Near, Statement};
use super::sources::{Sentence, Sources};
use super::words::{Kind, Token, stem, tokens};
use super::{Check, Finding};
use crate::text::negations::negations;

/// What the checks of polarity found: features (0 or 1) and findings.
#[derive(Debug, Default)]
pub(super) struct Polarity {
    pub negation: f64,
    /// A negation that nothing around the counterpart answers to, of words that it does not have.
    pub loose_negation: f64,
    pub antonym: f64,
    /// A word there that a prefix turns round (`suitable`, `unsuitable`).
    pub opposite: f64,
    /// "All", "only", "always" where nothing of the kind stands.
    pub absolute: f64,
    pub findings: Vec<Finding>,
}

/// The share of a statement that a sentence has where a word of it may be held against one of the sentence, where a
/// negation of it may, and where a negation that it lacks may.
const ALIKE: f64 = 0.5;
const MORE_ALIKE: f64 = 0.6;
const MUCH_ALIKE: f64 = 0.75;

impl Polarity {
    pub(super) fn new(statement: &Statement<'_>, sources: &Sources<'_>, near: &Near) -> Self {
        let mut polarity = Self::default();
        let Some(best) = near.best(sources) else {
            return polarity;
        };
        let around = near.sentences(sources);
        polarity.negations(statement, best, around, near.in_best);
        if near.in_best >= ALIKE {
            polarity.antonyms(statement, best, around);
        }
        polarity.opposites(statement, around);
        polarity.absolute = f64::from(u8::from(
            is_absolute(&statement.tokens) && !around.iter().any(|s| is_absolute(&s.tokens)),
        ));
        polarity
    }

    fn found(&mut self, check: Check, detail: impl Into<String>) {
        self.findings.push(Finding {
            check,
            detail: detail.into(),
        });
    }

    fn negations(
        &mut self,
        statement: &Statement<'_>,
        best: &Sentence<'_>,
        around: &[Sentence<'_>],
        alike: f64,
    ) {
        let denies = |tokens: &[Token<'_>], text: &str| {
            !negations(text).is_empty()
                || tokens.iter().any(|token| {
                    DENYING.contains(&&*stem(&token.text.to_lowercase()))
                        || token.bare.is_some_and(|bare| {
                            statement.has_stem(bare) || best.tokens.iter().any(|t| t.stem == bare)
                        })
                })
        };
        let said = negated(&statement.tokens, statement.text);
        if !said.is_empty() && !around.iter().any(|s| denies(&s.tokens, s.text)) {
            let known = said
                .iter()
                .find(|n| best.tokens.iter().any(|t| t.stem == n.stem));
            match known {
                Some(word) if alike >= MORE_ALIKE => {
                    self.negation = 1.0;
                    self.found(Check::Negation, word.text);
                }
                _ => self.loose_negation = 1.0,
            }
        } else if alike >= MUCH_ALIKE && !denies(&statement.tokens, statement.text) {
            let theirs = negated(&best.tokens, best.text);
            let all_said = theirs.iter().all(|n| statement.has_stem(n.stem));
            if let Some(word) = theirs.first().filter(|_| all_said) {
                self.negation = 1.0;
                self.found(Check::Negation, word.text);
            }
        }
    }

    /// `higher` where the closest sentence says `lower`, of the same.
    fn antonyms(
        &mut self,
        statement: &Statement<'_>,
        best: &Sentence<'_>,
        around: &[Sentence<'_>],
    ) {
        let words: Vec<&Token<'_>> = statement.words().collect();
        let denied = denied(statement, around);
        for (at, word) in words.iter().enumerate() {
            if denied.contains(&word.stem) {
                continue;
            }
            let has = |s: &Sentence<'_>| s.tokens.iter().any(|t| t.stem == word.stem);
            if has(best) {
                continue;
            }
            let Some(opposites) = ANTONYMS.get(&word.stem) else {
                continue;
            };
            let beside = neighbours(&words, at);
            let mut others = around
                .iter()
                .filter_map(|s| other_than(s, statement, opposites, &beside));
            if let Some(other) = others.find(|other| !denied.contains(&other.stem)) {
                self.antonym = 1.0;
                self.found(Check::Antonym, format!("{} / {}", word.text, other.text));
            }
        }
    }

    fn opposites(&mut self, statement: &Statement<'_>, around: &[Sentence<'_>]) {
        let theirs = || around.iter().flat_map(|s| &s.tokens);
        let denied = denied(statement, around);
        for word in statement
            .content()
            .filter(|word| !denied.contains(&word.stem))
        {
            if theirs().any(|other| other.stem == word.stem) {
                continue;
            }
            let turned = |other: &&Token<'_>| {
                other.is_content()
                    && (word.bare == Some(other.stem) || other.bare == Some(word.stem))
                    && !statement.has_stem(other.stem)
                    && !denied.contains(&other.stem)
            };
            if let Some(other) = theirs().find(turned) {
                self.opposite = 1.0;
                self.found(Check::Antonym, format!("{} / {}", word.text, other.text));
            }
        }
    }
}

/// The words that negations stand before: up to two content words within the clause.
fn negated<'t, 's>(tokens: &'s [Token<'t>], text: &str) -> Vec<&'s Token<'t>> {
    let mut found = Vec::new();
    for span in negations(text) {
        let behind = tokens.iter().skip_while(|token| token.start < span.end);
        let clause = behind.take_while(|token| {
            !matches!(token.text, "," | ";" | ":" | "." | "(") && !token.is("but")
        });
        found.extend(clause.filter(|token| token.is_content()).take(2));
    }
    found
}

/// The stems that a negation stands before, here or there: "not high" may be "low".
fn denied(statement: &Statement<'_>, around: &[Sentence<'_>]) -> Vec<u64> {
    let here = negated(&statement.tokens, statement.text);
    let there = around.iter().flat_map(|s| negated(&s.tokens, s.text));
    here.into_iter()
        .chain(there)
        .map(|word| word.stem)
        .collect()
}

/// Stems of words that deny without a negation.
const DENYING: [&str; 26] = [
    "prevent",
    "avoid",
    "refus",
    "deni",
    "few",
    "littl",
    "bypass",
    "discourag",
    "inactiv",
    "miss",
    "absenc",
    "except",
    "unlik",
    "rare",
    "seldom",
    "unless",
    "stop",
    "exclud",
    "reject",
    "prohibit",
    "forbid",
    "forbidden",
    "declin",
    "instead",
    "rather",
    "less",
];

/// How far words are from each other that belong together.
const BESIDE: usize = 3;

/// The stems of the content words beside one.
fn neighbours(words: &[&Token<'_>], at: usize) -> Vec<u64> {
    let first = at.saturating_sub(BESIDE);
    let around = words
        .iter()
        .enumerate()
        .skip(first)
        .take(at + BESIDE + 1 - first);
    around
        .filter(|(place, word)| *place != at && word.is_content())
        .map(|(_, word)| word.stem)
        .collect()
}

/// The words of a sentence with one of some stems that the statement lacks, beside some others.
fn other_than<'s, 't>(
    sentence: &'s Sentence<'t>,
    statement: &Statement<'_>,
    stems: &[u64],
    beside: &[u64],
) -> Option<&'s Token<'t>> {
    let words: Vec<&Token<'t>> = sentence
        .tokens
        .iter()
        .filter(|t| t.kind != Kind::Mark)
        .collect();
    let fits = |at: usize, word: &Token<'_>| {
        stems.contains(&word.stem)
            && !statement.has_stem(word.stem)
            && neighbours(&words, at)
                .iter()
                .any(|stem| beside.contains(stem))
    };
    sentence.tokens.iter().find(|token| {
        let at = words.iter().position(|word| word.start == token.start);
        at.is_some_and(|at| fits(at, token))
    })
}

fn is_absolute(tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|token| token.is_one_of(&ABSOLUTE))
}

const ABSOLUTE: [&str; 9] = [
    "all", "every", "always", "only", "each", "entire", "must", "any", "everyone",
];

/// Both ways, by stem.
static ANTONYMS: LazyLock<HashMap<u64, Vec<u64>>> = LazyLock::new(|| {
    let mut antonyms: HashMap<u64, Vec<u64>> = HashMap::new();
    for (a, b) in pairs() {
        let [a, b] = [a, b].map(|word| tokens(word).first().map_or(0, |token| token.stem));
        antonyms.entry(a).or_default().push(b);
        antonyms.entry(b).or_default().push(a);
    }
    antonyms
});

/// A pair a line.
fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = include_str!("antonyms.txt").lines();
    lines.filter_map(|line| line.split_once(' '))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn pairs_are_two_words_and_stand_once() {
        let mut seen = HashSet::new();
        for (a, b) in pairs() {
            assert_ne!(stem(a), stem(b), "{a} {b}");
            assert!(seen.insert((a, b)) && !seen.contains(&(b, a)), "{a} {b}");
            let words = format!("{a}{b}");
            assert!(words.chars().all(|c| c.is_ascii_lowercase()), "{a} {b}");
        }
        assert!(seen.len() > 300);
    }
}
