//! Whether a statement stands in the sources that a response may draw on.
//!
//! By what can be counted and checked, not by meaning: how much of the statement's words, pairs of words and content
//! stands in the sources and in the few sentences that have most of it; and checks that refute, each of which names what
//! it goes by: a number, unit or name that the sources do not have, a negation or an antonym where the closest sentence
//! has none, two names that changed places. Logistic regression weighs them; a check that fires caps the probability.

mod claims;
mod coverage;
mod facts;
mod polarity;
mod roles;
mod sources;
mod words;

pub use claims::claims;
pub use sources::{Sentence, Sources};

use std::sync::LazyLock;

use super::{Head, HeadError, Inputs, Names};
use coverage::{Near, Statement};
use facts::Facts;
use polarity::Polarity;

/// What the head is fitted on.
pub const NAMES: Names<'static> = Names {
    dense: &DENSE,
    embeddings: &[],
    texts: &[],
};

const DENSE: [&str; coverage::NAMES.len() + CHECKS.len()] = {
    let mut names = [""; coverage::NAMES.len() + CHECKS.len()];
    let (first, rest) = names.split_at_mut(coverage::NAMES.len());
    first.copy_from_slice(&coverage::NAMES);
    rest.copy_from_slice(&CHECKS);
    names
};

const CHECKS: [&str; 12] = [
    "unseen_numbers",
    "numbers_elsewhere",
    "other_units",
    "unseen_names",
    "other_names",
    "negation",
    "loose_negation",
    "antonym",
    "opposite",
    "absolute",
    "swapped",
    "first_person",
];

/// Features that can only speak for a statement.
pub const RISING: [&str; 9] = [
    "words",
    "content",
    "content_exact",
    "bigrams",
    "in_best",
    "in_window",
    "bigrams_near",
    "trigrams_near",
    "whole",
];

/// Features that can only speak against it: all checks, and signs of words put together anew.
pub const FALLING: [&str; 3 + CHECKS.len()] = {
    let mut names = [""; 3 + CHECKS.len()];
    let (first, rest) = names.split_at_mut(3);
    first.copy_from_slice(&["scattered", "reordered", "only_asked"]);
    rest.copy_from_slice(&CHECKS);
    names
};

static HEAD: LazyLock<Result<Head, HeadError>> =
    LazyLock::new(|| Head::parse(include_str!("data/grounding.json"), &NAMES));

/// The fitted head. An error where its file is broken.
pub fn head() -> Result<&'static Head, &'static HeadError> {
    HEAD.as_ref()
}

/// A check that refutes a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// A number, date or time that no source has.
    UnseenNumber,
    /// The closest sentences count the same to another number.
    OtherNumber,
    /// A number that the sources have with another unit.
    OtherUnit,
    /// A name that no source has.
    UnseenName,
    /// The statement denies what the closest sentence says, or the other way round.
    Negation,
    /// The statement says the opposite of a word of the closest sentence.
    Antonym,
    /// Two names changed places around a verb.
    Swapped,
}

impl Check {
    /// As evidence has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UnseenNumber => "unseen_number",
            Self::OtherNumber => "other_number",
            Self::OtherUnit => "other_unit",
            Self::UnseenName => "unseen_name",
            Self::Negation => "negation",
            Self::Antonym => "antonym",
            Self::Swapped => "swapped_names",
        }
    }

    /// Whether it needs no English: digits are read in any language.
    pub const fn is_of_any_language(self) -> bool {
        matches!(
            self,
            Self::UnseenNumber | Self::OtherNumber | Self::OtherUnit
        )
    }

    /// Whether the sources say otherwise, not merely nothing.
    pub const fn contradicts(self) -> bool {
        !matches!(self, Self::UnseenNumber | Self::UnseenName)
    }
}

/// A check that fired, and on which words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub check: Check,
    pub detail: String,
}

/// A statement measured against sources.
#[derive(Clone, Debug)]
pub struct Measured {
    /// In the order of [`NAMES`].
    pub dense: Vec<f64>,
    pub findings: Vec<Finding>,
    /// The sentence of the sources that has most of it: its place in [`Sources`].
    best: Option<usize>,
}

/// What a statement is worth at most where a check fired.
const REFUTED: f64 = 0.1;

impl Measured {
    /// The probability that the sources support the statement.
    pub fn probability(&self, head: &Head) -> f64 {
        let inputs = Inputs {
            dense: &self.dense,
            ..Inputs::default()
        };
        let probability = head.probability(&inputs);
        if self.findings.is_empty() {
            probability
        } else {
            probability.min(REFUTED)
        }
    }

    /// Whether the sources have every content word, or one of its family.
    pub fn is_whole(&self) -> bool {
        self.of(coverage::WHOLE) > 0.5
    }

    /// Whether all words stand in the sources, each beside the same ones.
    pub fn is_literal(&self) -> bool {
        self.of(coverage::WORDS) > 0.999 && self.of(coverage::BIGRAMS) > 0.999
    }

    /// The share of content words that the sources have, in `[0, 1]`.
    pub fn covered(&self) -> f64 {
        self.of(coverage::CONTENT)
    }

    fn of(&self, feature: usize) -> f64 {
        self.dense.get(feature).copied().unwrap_or_default()
    }

    /// The sentence of the sources that has most of the statement.
    pub fn best<'s, 't>(&self, sources: &'s Sources<'t>) -> Option<&'s Sentence<'t>> {
        sources.sentence(self.best?)
    }
}

/// Measures a statement, a sentence of a response.
pub fn measure(statement: &str, sources: &Sources<'_>) -> Measured {
    let statement = Statement::new(statement);
    let near = Near::new(&statement, sources);
    let coverage = coverage::features(&statement, sources, &near);
    let mut facts = Facts::new(&statement, sources, &near);
    let mut polarity = Polarity::new(&statement, sources, &near);
    let swapped = near
        .best(sources)
        .and_then(|best| roles::swapped(&statement, best));
    let mut findings = std::mem::take(&mut facts.findings);
    findings.append(&mut polarity.findings);
    findings.extend(swapped.map(|(a, b)| Finding {
        check: Check::Swapped,
        detail: format!("{a} / {b}"),
    }));
    let checks: [f64; CHECKS.len()] = [
        facts.unseen_numbers,
        facts.numbers_elsewhere,
        facts.other_units,
        facts.unseen_names,
        facts.other_names,
        polarity.negation,
        polarity.loose_negation,
        polarity.antonym,
        polarity.opposite,
        polarity.absolute,
        f64::from(u8::from(swapped.is_some())),
        first_person(&statement),
    ];
    Measured {
        dense: coverage.into_iter().chain(checks).collect(),
        findings,
        best: near.best,
    }
}

/// Whether a text is English, as far as its function words tell: not where those of other languages are more than half as
/// many, and not in other scripts.
pub fn is_english(text: &str) -> bool {
    let words = words::tokens(text);
    let words = words
        .iter()
        .filter(|t| t.text.starts_with(char::is_alphabetic));
    let (mut english, mut foreign, mut other_script, mut all) = (0, 0, 0, 0);
    for word in words {
        all += 1;
        english += usize::from(!word.is_content());
        foreign += usize::from(word.is_one_of(&FOREIGN));
        other_script += usize::from(!word.text.starts_with(|c: char| c < '\u{250}'));
    }
    2 * foreign <= english && 2 * other_script <= all
}

/// Frequent words of German, French, Spanish, Italian, Portuguese, Dutch and Scandinavian languages that are none in
/// English.
const FOREIGN: [&str; 84] = [
    "der", "das", "und", "ist", "nicht", "ein", "eine", "einen", "mit", "von", "zu", "im", "den",
    "dem", "auf", "für", "sich", "auch", "wird", "sind", "le", "la", "les", "des", "du", "est",
    "et", "une", "dans", "pour", "pas", "que", "qui", "sur", "avec", "ce", "sont", "el", "los",
    "las", "y", "es", "un", "una", "con", "por", "para", "del", "se", "su", "il", "che", "di", "è",
    "della", "sono", "os", "da", "em", "não", "uma", "dos", "het", "een", "en", "van", "niet",
    "zijn", "voor", "och", "att", "det", "är", "som", "på", "af", "og", "ikke", "til", "ett",
    "die", "de", "wie", "aus",
];

/// How much a statement is about its speaker, which no source knows: in `[0, 1]`.
fn first_person(statement: &Statement<'_>) -> f64 {
    let words = statement.words().count().max(1);
    let own = statement
        .words()
        .filter(|token| token.is_one_of(&OWN))
        .count();
    (5.0 * own as f64 / words as f64).min(1.0)
}

const OWN: [&str; 9] = [
    "i", "my", "me", "mine", "myself", "i'm", "i've", "i'll", "i'd",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn checks(source: &str, statement: &str) -> Vec<&'static str> {
        let sources = Sources::new([source], "");
        let measured = measure(statement, &sources);
        measured
            .findings
            .iter()
            .map(|finding| finding.check.name())
            .collect()
    }

    #[test]
    fn each_check_fires_on_its_edit_and_not_without() {
        let table: [(&str, &str, &[&str]); 16] = [
            ("Refunds take 5 days.", "Refunds take 5 days.", &[]),
            (
                "Refunds take 5 days.",
                "Refunds take 7 days.",
                &["unseen_number"],
            ),
            ("Refunds take 5 days.", "Refunds take five days.", &[]),
            (
                "The pool is 50 m long.",
                "The pool is 50 km long.",
                &["other_unit"],
            ),
            (
                "It has 3 doors and 5 windows.",
                "It has 5 doors and 3 windows.",
                &["other_number", "other_number"],
            ),
            (
                "Ms Okafor paid the fee.",
                "Ms Lindqvist paid the fee.",
                &["unseen_name"],
            ),
            (
                "Maria sings in the choir.",
                "Anna sings in the choir.",
                &["unseen_name"],
            ),
            ("Checks are made daily.", "Daily checks are made.", &[]),
            (
                "The lamp works outdoors.",
                "The lamp does not work outdoors.",
                &["negation"],
            ),
            (
                "The lamp does not work outdoors.",
                "The lamp works outdoors.",
                &["negation"],
            ),
            (
                "The lamp cannot work outdoors.",
                "The lamp does not work outdoors.",
                &[],
            ),
            ("Prices rose in May.", "Prices fell in May.", &["antonym"]),
            (
                "The bridge is stable.",
                "The bridge is unstable.",
                &["antonym"],
            ),
            ("The bridge is unstable.", "The bridge is not stable.", &[]),
            (
                "Ana praised Tomas.",
                "Tomas praised Ana.",
                &["swapped_names"],
            ),
            (
                "Ana and Tomas praised it.",
                "Tomas and Ana praised it.",
                &[],
            ),
        ];
        for (source, statement, expected) in table {
            assert_eq!(
                checks(source, statement),
                expected,
                "{statement} ({source})"
            );
        }
    }

    #[test]
    fn a_refuted_statement_is_improbable_however_much_of_it_stands_there() {
        let sources = Sources::new(["The store in Leeds closes at 9 pm on Sundays."], "");
        let of = |statement: &str| measure(statement, &sources).probability(head().unwrap());
        assert!(of("The store in Leeds closes at 9 pm on Sundays.") > 0.5);
        assert!(of("The store in Leeds closes at 8 pm on Sundays.") <= REFUTED);
    }

    #[test]
    fn languages_are_told_by_their_small_words() {
        let table = [
            ("The store closes at nine.", true),
            ("Penguins huddle together.", true),
            (
                "La Rochelle and de Gaulle are names in this sentence.",
                true,
            ),
            ("Der Laden schließt um neun und öffnet nicht mehr.", false),
            ("Le magasin est fermé et la cour aussi.", false),
            ("店は九時に閉まります。", false),
            ("Магазин закрывается в девять.", false),
        ];
        for (text, expected) in table {
            assert_eq!(is_english(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_texts_give_finite_features(source in "\\PC{0,80}", statement in "\\PC{0,80}") {
            let sources = Sources::new([source.as_str()], &statement);
            let measured = measure(&statement, &sources);
            prop_assert_eq!(measured.dense.len(), NAMES.dense.len());
            prop_assert!(measured.dense.iter().all(|value| value.is_finite()));
        }

        #[test]
        fn what_stands_there_word_for_word_is_never_refuted(
            words in prop::collection::vec("[a-z]{2,9}|[A-Z][a-z]{2,8}|[0-9]{1,4}", 1..12)
        ) {
            let text = format!("{}.", words.join(" "));
            prop_assert_eq!(checks(&text, &text), Vec::<&str>::new());
        }
    }
}
