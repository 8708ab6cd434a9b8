//! The words that a closed set of labels may be said in, negated and hedged ones among them.

use super::words::{Word, words};
use crate::judge::Labels;

/// What the words at a place claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// No label.
    Absent,
    /// A label that is hedged, or negated where that leaves open which other is meant.
    Unclear,
    Label(Hit),
}

/// A label as it stands in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) label: usize,
    /// How many words say it.
    pub(super) words: usize,
    /// It is one letter, which may be a word of its own (`a`, `y`) or a name (`C`).
    pub(super) letter: bool,
    /// It is written as the label's name is, or longer than a letter.
    pub(super) own_case: bool,
}

/// Labels with their words, ready to be looked for.
#[derive(Debug)]
pub(super) struct Vocabulary {
    /// The longest first.
    phrases: Vec<Phrase>,
    labels: usize,
}

#[derive(Debug)]
struct Phrase {
    label: usize,
    /// Lower case.
    words: Vec<String>,
    name: String,
}

/// Words that turn a label into its opposite. Any word in `n't` does too.
const NEGATORS: [&str; 24] = [
    "not", "never", "no", "cannot", "neither", "nor", "without", "hardly", "nowhere", "nothing",
    "none", "isnt", "nicht", "kein", "keine", "pas", "non", "não", "niet", "geen", "inte", "ikke",
    "не", "nie",
];

/// Words that leave a label half said.
const HEDGES: [&str; 27] = [
    "partially",
    "partly",
    "mostly",
    "somewhat",
    "almost",
    "nearly",
    "largely",
    "mainly",
    "half",
    "whether",
    "if",
    "unless",
    "would",
    "should",
    "could",
    "might",
    "may",
    "perhaps",
    "maybe",
    "probably",
    "possibly",
    "likely",
    "unclear",
    "unsure",
    "teilweise",
    "partiellement",
    "parcialmente",
];

/// Words that make a hedge of a negation: `not entirely`.
const DEGREES: [&str; 9] = [
    "entirely",
    "fully",
    "completely",
    "totally",
    "wholly",
    "quite",
    "always",
    "necessarily",
    "100",
];

/// Words between a negation and its label that change nothing.
const FILLERS: [&str; 5] = ["really", "at", "all", "actually", "the"];

/// How many words may stand before a label and still belong to it.
const REACH: usize = 3;

impl Vocabulary {
    pub(super) fn new(labels: &Labels) -> Self {
        let mut phrases = Vec::new();
        for (index, label) in labels.iter().enumerate() {
            let names = std::iter::once(&label.name).chain(&label.also);
            phrases.extend(names.map(|name| Phrase {
                label: index,
                words: words(name).map(|word| word.text.to_lowercase()).collect(),
                name: name.clone(),
            }));
        }
        phrases.retain(|phrase| !phrase.words.is_empty());
        phrases.sort_by_key(|phrase| std::cmp::Reverse(phrase.words.len()));
        Self {
            phrases,
            labels: labels.len(),
        }
    }

    /// The label that the words from `at` on begin with.
    pub(super) fn hit(&self, words: &[Word<'_>], at: usize) -> Option<Hit> {
        let here = words.get(at..)?;
        let first = here.first()?.text.to_lowercase();
        let phrase = self
            .phrases
            .iter()
            .find(|phrase| phrase.begins(here, &first))?;
        let letter = phrase.name.chars().count() == 1 && !phrase.name.chars().all(char::is_numeric);
        Some(Hit {
            label: phrase.label,
            words: phrase.words.len(),
            letter,
            own_case: !letter || here.first()?.text == phrase.name,
        })
    }

    /// The label that the last words say.
    pub(super) fn last_hit(&self, words: &[Word<'_>]) -> Option<(usize, Hit)> {
        let longest = self.phrases.first()?.words.len().min(words.len());
        (1..=longest).rev().find_map(|length| {
            let at = words.len() - length;
            let hit = self.hit(words, at)?;
            (hit.words == length).then_some((at, hit))
        })
    }

    /// What the words from `at` on claim, with the words that negate or hedge it before the label.
    pub(super) fn claim(&self, words: &[Word<'_>], at: usize) -> Claim {
        let mut before = Before::default();
        for lead in 0..=REACH {
            if let Some(mut hit) = self.hit(words, at + lead) {
                hit.words += lead;
                return self.judge(hit, before);
            }
            match words.get(at + lead) {
                Some(word) if before.take(word) => {}
                _ => return Claim::Absent,
            }
        }
        Claim::Absent
    }

    /// What a text that holds a label and nothing else claims.
    pub(super) fn whole(&self, text: &str) -> Claim {
        let most = self.phrases.first().map_or(0, |phrase| phrase.words.len()) + REACH + 1;
        let words: Vec<_> = words(text).take(most).collect();
        match self.claim(&words, 0) {
            Claim::Label(hit) if hit.words < words.len() => Claim::Absent,
            claim => claim,
        }
    }

    /// What a label claims that ends a sentence, by the words before it in the sentence.
    pub(super) fn at_end(&self, sentence: &[Word<'_>], hit: Hit) -> Claim {
        let mut before = Before::default();
        for (index, word) in sentence.iter().enumerate() {
            let other = self
                .hit(sentence, index)
                .is_some_and(|other| other.own_case && other.label != hit.label);
            let far = sentence.len() - index > REACH;
            if other || before.take(word) && far && before.negations > 0 {
                return Claim::Unclear;
            }
        }
        self.judge(hit, before)
    }

    fn judge(&self, hit: Hit, before: Before) -> Claim {
        match before.negations {
            _ if before.hedged => Claim::Unclear,
            0 => Claim::Label(hit),
            1 if self.labels == 2 && !hit.letter && !before.by_degree => Claim::Label(Hit {
                label: 1 - hit.label.min(1),
                ..hit
            }),
            _ => Claim::Unclear,
        }
    }
}

impl Phrase {
    /// `first` is the first of the words in lower case.
    fn begins(&self, words: &[Word<'_>], first: &str) -> bool {
        let same = |(mine, word): (&String, &Word<'_>)| *mine == word.text.to_lowercase();
        self.words.first().is_some_and(|mine| mine == first)
            && self.words.len() <= words.len()
            && self.words.iter().zip(words).skip(1).all(same)
    }
}

/// What stands before a label.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    negations: u32,
    hedged: bool,
    by_degree: bool,
}

impl Before {
    /// Whether the word belongs to a label that follows.
    fn take(&mut self, word: &Word<'_>) -> bool {
        let word = word.text.to_lowercase();
        let is_one_of = |known: &[&str]| known.contains(&&*word);
        if is_one_of(&NEGATORS) || word.ends_with("n't") || word.ends_with("n’t") {
            self.negations += 1;
        } else if is_one_of(&HEDGES) {
            self.hedged = true;
        } else if is_one_of(&DEGREES) {
            self.by_degree = true;
        } else {
            return is_one_of(&FILLERS);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The index of the label, `?` for an unclear one, nothing for none.
    fn claim(text: &str, labels: &Labels) -> String {
        match Vocabulary::new(labels).whole(text) {
            Claim::Absent => String::new(),
            Claim::Unclear => "?".to_owned(),
            Claim::Label(hit) => hit.label.to_string(),
        }
    }

    #[test]
    fn negated_and_hedged_words() {
        let labels = Labels::correct();
        for (text, expected) in [
            ("Correct", "0"),
            ("**INCORRECT**", "1"),
            ("wrong", "1"),
            ("not correct", "1"),
            ("Not really correct.", "1"),
            ("isn't correct", "1"),
            ("never wrong", "0"),
            ("not not correct", "?"),
            ("not entirely correct", "?"),
            ("partially correct", "?"),
            ("mostly not correct", "?"),
            ("corrected", ""),
            ("un-correct", ""),
            ("correct answer", ""),
            ("", ""),
        ] {
            assert_eq!(claim(text, &labels), expected, "{text}");
        }
    }

    #[test]
    fn longer_phrases_come_first() {
        let labels = Labels::new(vec![
            crate::judge::Label::new("attributed", &[]),
            crate::judge::Label::new("not_attributed", &[]),
            crate::judge::Label::new("not found", &["unknown"]),
        ]);
        for (text, expected) in [
            ("Not Attributed", "1"),
            ("Attributed", "0"),
            ("not unknown", "?"),
            ("NOT FOUND", "2"),
            ("not", ""),
        ] {
            assert_eq!(claim(text, &labels), expected, "{text}");
        }
    }
}
