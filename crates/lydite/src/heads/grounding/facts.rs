//! Numbers and names of a statement that the sources do not have.

use super::claims::citations;
use super::coverage::{Near, Statement};
use super::sources::{Sentence, Sources};
use super::words::{Kind, Token};
use super::{Check, Finding};
use crate::text::names::{Evidence, names};
use crate::text::quantities::{Kind as Counted, Quantity, Relation, Value, quantities};

/// What the checks of numbers and names found, as counts (features) and as findings.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Numbers of the statement that the sources do not have. What could be said in passing counts less.
    pub unseen_numbers: f64,
    /// Numbers that the sources have, but where the statement has its counterpart stands another.
    pub numbers_elsewhere: f64,
    pub other_units: f64,
    /// As for numbers; a name that the question has counts less.
    pub unseen_names: f64,
    /// Names in the place of another name.
    pub other_names: f64,
    pub findings: Vec<Finding>,
}

/// What an uncertain sign counts.
const WEAK: f64 = 0.3;

/// Features count no further.
const MOST: f64 = 3.0;

/// Numbers of one statement that are looked up: more are a table without full stops.
const MOST_NUMBERS: usize = 100;

impl Facts {
    pub(super) fn new(statement: &Statement<'_>, sources: &Sources<'_>, near: &Near) -> Self {
        let mut facts = Self::default();
        let said = quantities(statement.text);
        for quantity in said
            .iter()
            .filter(|q| !is_label(statement.text, q))
            .take(MOST_NUMBERS)
        {
            facts.number(statement, sources, near, &said, quantity);
        }
        facts.names(statement, sources);
        facts.swapped_names(statement, sources, near);
        for count in [
            &mut facts.unseen_numbers,
            &mut facts.numbers_elsewhere,
            &mut facts.unseen_names,
            &mut facts.other_names,
        ] {
            *count = count.min(MOST);
        }
        facts
    }

    fn found(&mut self, check: Check, detail: impl Into<String>) {
        let finding = Finding {
            check,
            detail: detail.into(),
        };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    fn number(
        &mut self,
        statement: &Statement<'_>,
        sources: &Sources<'_>,
        near: &Near,
        said: &[Quantity],
        quantity: &Quantity,
    ) {
        let text = statement
            .text
            .get(quantity.span.clone())
            .unwrap_or_default();
        let all = sources.sentences(0..sources.len());
        let relates = |relation| any(all, |other| quantity.relation(other) == relation);
        if relates(Relation::Same) || has_bare(statement, sources, quantity) {
            let close_by = near.sentences(sources);
            let same = any(close_by, |other| quantity.agrees(other));
            // Another number of the kind there that the statement does not give either.
            let other = any(close_by, |other| {
                quantity.relation(other) == Relation::OtherValue
                    && quantity.unit.is_some()
                    && !said.iter().any(|said| said.agrees(other))
            });
            self.numbers_elsewhere += f64::from(u8::from(!same && other));
            if counts_otherwise(statement, sources, near, quantity) {
                self.found(Check::OtherNumber, text);
            }
        } else if relates(Relation::OtherUnit) {
            self.other_units = 1.0;
            self.found(Check::OtherUnit, text);
        } else if is_rounded(statement, all, quantity) {
            self.unseen_numbers += WEAK;
        } else if is_small_word(text, quantity) {
            self.unseen_numbers += WEAK;
            if counts_otherwise(statement, sources, near, quantity) {
                self.found(Check::OtherNumber, text);
            }
        } else {
            self.unseen_numbers += 1.0;
            self.found(Check::UnseenNumber, text);
        }
    }

    fn names(&mut self, statement: &Statement<'_>, sources: &Sources<'_>) {
        let title = title_end(statement.text);
        for name in names(statement.text) {
            if name.evidence == Evidence::SentenceStart || name.span.start < title {
                continue;
            }
            let words = statement.tokens.iter().filter(|token| {
                token.start >= name.span.start
                    && token.end() <= name.span.end
                    && token.is_name_like()
            });
            for word in words.filter(|word| !sources.has_name(word)) {
                if sources.was_asked(word) {
                    self.unseen_names += WEAK;
                } else {
                    self.unseen_names += 1.0;
                    self.found(Check::UnseenName, word.text);
                }
            }
        }
    }

    /// `Anna closes` where `Maria closes` stands.
    fn swapped_names(&mut self, statement: &Statement<'_>, sources: &Sources<'_>, near: &Near) {
        if near.in_best < LIKE || is_headline(statement) {
            return;
        }
        let words: Vec<&Token<'_>> = statement.words().collect();
        for (at, word) in words
            .iter()
            .enumerate()
            .filter(|(_, word)| word.is_name_like())
        {
            let known = sources.cover(word, &near.window) > 0.0;
            if known || is_adverb_or_verb(word.text) {
                continue;
            }
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            let after = words.get(at + 1);
            let opens = before.is_none();
            if opens && (after.is_none_or(|w| w.is_one_of(&AFTER_VERBS)) || sources.has_stem(word))
            {
                continue;
            }
            let other = near
                .sentences(sources)
                .iter()
                .any(|sentence| name_between(sentence, before, after, statement));
            if other {
                self.other_names += 1.0;
                if opens && !sources.has_name(word) {
                    self.found(Check::UnseenName, word.text);
                }
            }
        }
    }
}

/// The share of a statement that a sentence has where the two speak of the same.
const LIKE: f64 = 0.4;

fn any(sentences: &[Sentence<'_>], is: impl Fn(&Quantity) -> bool) -> bool {
    sentences.iter().flat_map(|s| &s.quantities).any(is)
}

/// Whether the closest sentence, where it has most of the statement, counts what the quantity counts (the word behind it)
/// to another number.
fn counts_otherwise(
    statement: &Statement<'_>,
    sources: &Sources<'_>,
    near: &Near,
    quantity: &Quantity,
) -> bool {
    let counted = word_behind(&statement.tokens, quantity);
    let best = near.best(sources).filter(|_| near.in_best >= MOSTLY);
    let Some((counted, best)) = counted.zip(best) else {
        return false;
    };
    let counts_it = |other: &&Quantity| {
        word_behind(&best.tokens, other).is_some_and(|word| word.stem == counted.stem)
    };
    let mut others = best.quantities.iter().filter(counts_it).peekable();
    others.peek().is_some() && others.all(|other| quantity.relation(other) == Relation::OtherValue)
}

/// The share of a statement that the closest sentence has where its numbers may be held against those of the sentence.
const MOSTLY: f64 = 0.7;

/// The content word right behind a quantity.
fn word_behind<'s, 't>(tokens: &'s [Token<'t>], quantity: &Quantity) -> Option<&'s Token<'t>> {
    let behind = tokens
        .iter()
        .find(|token| token.start >= quantity.span.end)?;
    behind.is_content().then_some(behind)
}

/// A number without unit whose digits stand in the sources as part of something else (`COVID-19`).
fn has_bare(statement: &Statement<'_>, sources: &Sources<'_>, quantity: &Quantity) -> bool {
    let within = |token: &&Token<'_>| {
        token.start >= quantity.span.start
            && token.end() <= quantity.span.end
            && token.kind != Kind::Mark
    };
    let mut words = statement.tokens.iter().filter(within).peekable();
    quantity.unit.is_none()
        && quantity.kind == Counted::Number
        && words.peek().is_some()
        && words.all(|token| sources.has_word(token))
}

/// The number of a list's item or of a citation (`2. …`, `[3]`).
fn is_label(text: &str, quantity: &Quantity) -> bool {
    let before = text.get(..quantity.span.start).unwrap_or_default();
    let after = text.get(quantity.span.end..).unwrap_or_default();
    let item = before
        .trim_matches(|c: char| c.is_whitespace() || "*-(#".contains(c))
        .is_empty()
        && after.starts_with(['.', ')'])
        && after.len() > 2;
    item || citations(text)
        .iter()
        .any(|span| span.contains(&quantity.span.start))
}

/// `one`, `two`, `first`: said without counting.
fn is_small_word(text: &str, quantity: &Quantity) -> bool {
    let small = matches!(quantity.value, Value::Number(number) if number <= 3.0);
    small && !text.contains(|c: char| c.is_ascii_digit())
}

/// `about 2,000` where 1,987 stands.
fn is_rounded(statement: &Statement<'_>, all: &[Sentence<'_>], quantity: &Quantity) -> bool {
    let Value::Number(number) = quantity.value else {
        return false;
    };
    let before = statement
        .tokens
        .iter()
        .rfind(|t| t.end() <= quantity.span.start);
    let hedged = before.is_some_and(|token| token.is_one_of(&HEDGES));
    hedged
        && any(all, |other| match other.value {
            Value::Number(other) => (other - number).abs() <= 0.1 * number.abs(),
            _ => false,
        })
}

const HEDGES: [&str; 8] = [
    "about",
    "around",
    "approximately",
    "nearly",
    "almost",
    "over",
    "roughly",
    "than",
];

/// Where a title before a colon ends (`**Lower Upfront Costs:** …`), in bytes; 0 where there is none.
fn title_end(text: &str) -> usize {
    match text.find(':') {
        Some(at)
            if text
                .get(..at)
                .is_some_and(|t| t.split_whitespace().count() <= 8) =>
        {
            at
        }
        _ => 0,
    }
}

fn is_headline(statement: &Statement<'_>) -> bool {
    let words = statement.content().count();
    let capitals = statement.content().filter(|token| token.capital).count();
    words > 2 && capitals * 10 > words * 7
}

fn is_adverb_or_verb(word: &str) -> bool {
    word.ends_with("ly") || word.ends_with("ing")
}

/// What follows a verb that opens a sentence, and no name.
const AFTER_VERBS: [&str; 22] = [
    "the", "a", "an", "your", "you", "this", "that", "these", "those", "all", "any", "it", "its",
    "if", "we", "they", "their", "our", "some", "each", "for", "sure",
];

/// Whether a sentence has a name that the statement lacks between the same words.
fn name_between(
    sentence: &Sentence<'_>,
    before: Option<&&Token<'_>>,
    after: Option<&&Token<'_>>,
    statement: &Statement<'_>,
) -> bool {
    let words: Vec<&Token<'_>> = sentence
        .tokens
        .iter()
        .filter(|t| t.kind != Kind::Mark)
        .collect();
    let same = |a: Option<&&Token<'_>>, b: Option<&&Token<'_>>| {
        a.zip(b).is_some_and(|(a, b)| a.stem == b.stem)
    };
    words.iter().enumerate().any(|(at, word)| {
        let left = at.checked_sub(1).and_then(|at| words.get(at));
        word.is_name_like()
            && !statement.has(word)
            && (same(left, before) || same(words.get(at + 1), after))
    })
}
