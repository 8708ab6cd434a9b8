//! What the head looks at: how much of a reference a response says, and what speaks against it.

use std::collections::HashSet;

use super::align::{Aligned, Asked, Hit, coarser};
use super::checks::{Check, Kind};
use super::words::{Item, Said, Sentence};
use crate::text::names::Evidence;

/// Names and values of the features of words, in the order in which the head takes them.
pub(super) const FEATURES: &[(&str, fn(&View<'_>) -> f64)] = &[
    ("exact", |v| {
        flag(v.output_words == v.reference_words.as_slice())
    }),
    ("contains", |v| {
        flag(has(v.output_words, &v.reference_words))
    }),
    ("contained", |v| {
        flag(has(&v.reference_words, v.output_words))
    }),
    ("recall", |v| share(v.shares.found, v.shares.weight)),
    ("recall_anywhere", |v| {
        share(v.shares.anywhere, v.shares.weight)
    }),
    ("recall_new", |v| v.recall_new()),
    ("worst_sentence", |v| v.worst),
    ("precision", |v| v.precision()),
    ("f1", |v| v.f1()),
    ("soft_recall", |v| share(v.shares.soft, v.shares.weight)),
    ("trigram_recall", |v| {
        overlap(&v.reference_text, v.output_text).0
    }),
    ("trigram_dice", |v| {
        overlap(&v.reference_text, &v.sentence_text).1
    }),
    ("missing", |v| v.shares.missing.ln_1p()),
    ("extra", |v| count(v.new.len() - v.new_found)),
    ("extra_names", |v| v.extra_names()),
    ("reference_length", |v| count(v.reference_content())),
    ("output_length", |v| count(v.output_content())),
    ("sentences", |v| (v.output.sentences.len() as f64).ln()),
    ("not_first", |v| flag(v.best > 0)),
    ("first_recall", |v| v.first_recall()),
    ("hedges", |v| v.hedges),
    ("alternatives", |v| v.alternatives()),
    ("acronym", |v| {
        flag(is_acronym(&v.reference.items, &v.output.items))
    }),
    ("numbers", |v| flag(v.numbers() > 0)),
    ("numbers_absent", |v| {
        v.numbers_absent() as f64 / v.numbers().max(1) as f64
    }),
    ("numbers_same", |v| {
        flag(v.numbers() > 0 && v.numbers_absent() == 0)
    }),
    ("coarser_date", |v| v.coarser_date()),
    ("names", |v| flag(v.names() > 0)),
    ("names_absent", |v| v.names_absent()),
    ("other_number", |v| v.other_number()),
    ("short_output", |v| flag(v.output_content() <= 3)),
    ("parts", |v| (v.parts.len() as f64).ln()),
    ("only_number", |v| flag(v.is_only_number())),
    ("only_name", |v| {
        flag(v.names() > 0 && v.names() >= v.reference_content())
    }),
    ("asked_share", |v| v.asked_share()),
    ("negated_output", |v| {
        v.sentence.negations.len().min(2) as f64
    }),
    ("found_words", |v| {
        v.new_found as f64 / v.reference_content() as f64
    }),
    ("echo", |v| v.echo()),
    ("in_order", |v| v.in_order()),
    ("only_other_number", |v| {
        flag(v.is_only_number()) * v.other_number()
    }),
];

/// A reference beside a response, with what several features need.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) reference: &'a Said<'a>,
    pub(super) output: &'a Said<'a>,
    pub(super) asked: &'a Asked,
    pub(super) parts: &'a [(&'a Sentence, Aligned)],
    pub(super) checks: &'a [Check],
    /// The response's words without articles, and as one text.
    pub(super) output_words: &'a [String],
    pub(super) output_text: &'a str,
    pub(super) hedges: f64,
    /// The place of the response's sentence that says most of the reference.
    pub(super) best: usize,
    pub(super) sentence: &'a Sentence,
    reference_words: Vec<String>,
    reference_text: String,
    sentence_text: String,
    shares: Shares,
    /// The lowest recall of a sentence of the reference.
    worst: f64,
    /// What the sentences that fit say beside the question, and how much of that is the reference's.
    new: Vec<&'a Item>,
    new_found: usize,
}

/// What a view is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides<'a> {
    pub(super) reference: &'a Said<'a>,
    pub(super) output: &'a Said<'a>,
    pub(super) asked: &'a Asked,
    pub(super) parts: &'a [(&'a Sentence, Aligned)],
    pub(super) checks: &'a [Check],
    pub(super) output_words: &'a [String],
    pub(super) output_text: &'a str,
    pub(super) hedges: f64,
}

impl<'a> View<'a> {
    /// `None` where the response has no sentence, or the reference none.
    pub(super) fn new(sides: &Sides<'a>) -> Option<Self> {
        let Sides {
            reference,
            output,
            asked,
            parts,
            ..
        } = *sides;
        let shares: Vec<Shares> = parts
            .iter()
            .map(|(part, aligned)| Shares::of(reference.of(part), aligned, output, asked))
            .collect();
        let most = |a: &(&Shares, usize), b: &(&Shares, usize)| a.0.found.total_cmp(&b.0.found);
        let places = parts.iter().map(|(_, aligned)| aligned.sentence);
        let (_, best) = shares.iter().zip(places).max_by(most)?;
        let sentence = output.sentences.get(best)?;
        let worst = shares.iter().map(|part| share(part.found, part.weight));
        let (new, new_found) = new_words(output, asked, parts);
        let reference_words = words(&reference.items);
        Some(Self {
            reference,
            output,
            asked,
            parts,
            checks: sides.checks,
            output_words: sides.output_words,
            output_text: sides.output_text,
            hedges: sides.hedges,
            best,
            sentence,
            reference_text: reference_words.join(" "),
            reference_words,
            sentence_text: words(output.of(sentence)).join(" "),
            worst: worst.fold(1.0, f64::min),
            shares: shares.iter().fold(Shares::default(), Shares::plus),
            new,
            new_found,
        })
    }

    /// Whether all words of the reference stand in the response, in one run.
    pub(super) fn is_verbatim(&self) -> bool {
        has(self.output_words, &self.reference_words)
    }

    /// How well the response fits by words alone; of several references the highest is looked at first.
    pub(super) fn rank(&self) -> f64 {
        3.0 * flag(self.is_verbatim())
            + 2.0 * self.recall_new()
            + share(self.shares.found, self.shares.weight)
            + self.f1()
            + overlap(&self.reference_text, &self.sentence_text).1
            + 0.5 * flag(has(&self.reference_words, self.output_words))
            - self.checks.len() as f64
    }

    pub(super) fn recall_new(&self) -> f64 {
        if self.shares.new_weight > 0.0 {
            self.shares.new_found / self.shares.new_weight
        } else {
            share(self.shares.found, self.shares.weight)
        }
    }

    fn precision(&self) -> f64 {
        share(self.new_found as f64, self.new.len() as f64)
    }

    fn f1(&self) -> f64 {
        let (precision, recall) = (
            self.precision(),
            share(self.shares.found, self.shares.weight),
        );
        share(2.0 * precision * recall, precision + recall)
    }

    fn extra_names(&self) -> f64 {
        let known = |item: &Item| {
            self.reference
                .items
                .iter()
                .any(|other| other.stem == item.stem)
        };
        count(
            self.new
                .iter()
                .filter(|item| is_name(item) && !known(item))
                .count(),
        )
    }

    fn reference_content(&self) -> usize {
        content(&self.reference.items).count().max(1)
    }

    fn output_content(&self) -> usize {
        content(&self.output.items).count().max(1)
    }

    /// Recall by stems of the first sentence alone.
    fn first_recall(&self) -> f64 {
        let first = self
            .output
            .sentences
            .first()
            .map_or(&[][..], |first| self.output.of(first));
        let (mut found, mut all) = (0.0, 0.0);
        for item in &self.reference.items {
            let weight = self.asked.weight(item);
            all += weight;
            if first.iter().any(|said| said.stem == item.stem) {
                found += weight;
            }
        }
        share(found, all)
    }

    fn alternatives(&self) -> f64 {
        let said = self.output.of(self.sentence).iter();
        said.filter(|item| item.plain == "or").count().min(3) as f64
    }

    fn numbers(&self) -> usize {
        self.reference
            .items
            .iter()
            .filter(|item| item.quantity.is_some())
            .count()
    }

    fn numbers_absent(&self) -> usize {
        let absent = |(item, hit): &(&Item, Hit)| item.quantity.is_some() && hit.score == 0.0;
        self.anywhere().filter(absent).count()
    }

    fn names(&self) -> usize {
        self.reference
            .items
            .iter()
            .filter(|item| is_name(item))
            .count()
    }

    fn names_absent(&self) -> f64 {
        let absent = self
            .anywhere()
            .filter(|(item, hit)| is_name(item) && hit.score < 0.5);
        absent.count() as f64 / self.names().max(1) as f64
    }

    fn coarser_date(&self) -> f64 {
        let coarse = |(item, hit): (&Item, Hit)| {
            let said = hit.at.and_then(|at| self.output.items.get(at));
            hit.score > 0.0 && said.is_some_and(|said| coarser(item, said))
        };
        flag(self.anywhere().any(coarse))
    }

    fn other_number(&self) -> f64 {
        flag(self.checks.iter().any(|check| check.kind == Kind::Number))
    }

    fn is_only_number(&self) -> bool {
        self.numbers() > 0 && self.reference_content() <= self.numbers()
    }

    fn asked_share(&self) -> f64 {
        let asked = content(&self.reference.items).filter(|item| self.asked.says(item));
        asked.count() as f64 / self.reference_content() as f64
    }

    fn echo(&self) -> f64 {
        let asked = content(&self.output.items).filter(|item| self.asked.says(item));
        asked.count() as f64 / self.output_content() as f64
    }

    /// The share of neighbouring content words of the reference that stand in the same order in the response.
    fn in_order(&self) -> f64 {
        let places: Vec<usize> = self
            .parts
            .iter()
            .flat_map(|(part, aligned)| self.reference.of(part).iter().zip(&aligned.hits))
            .filter(|(item, hit)| !item.small && hit.score > 0.5)
            .filter_map(|(_, hit)| hit.at)
            .collect();
        let pairs = places.len().saturating_sub(1);
        let kept = places
            .windows(2)
            .filter(|pair| pair.first() < pair.last())
            .count();
        if pairs == 0 {
            1.0
        } else {
            kept as f64 / pairs as f64
        }
    }

    /// The reference's items with where they are found in the whole response.
    fn anywhere(&self) -> impl Iterator<Item = (&Item, Hit)> {
        let parts = self.parts.iter();
        parts.flat_map(|(part, aligned)| {
            let items = self.reference.of(part).iter();
            items.zip(aligned.anywhere.iter().copied())
        })
    }
}

/// Sums of weights over the items of a reference.
#[derive(Clone, Copy, Debug, Default)]
struct Shares {
    weight: f64,
    /// In the sentence that fits best.
    found: f64,
    /// In the whole response.
    anywhere: f64,
    /// Like `anywhere`, with the share of its trigrams where a word is not there itself.
    soft: f64,
    missing: f64,
    /// Of content words that the question doesn't say.
    new_weight: f64,
    new_found: f64,
}

impl Shares {
    fn of(items: &[Item], aligned: &Aligned, output: &Said<'_>, asked: &Asked) -> Self {
        let there: HashSet<[char; 3]> = content(&output.items)
            .filter(|item| item.quantity.is_none())
            .flat_map(|item| trigrams(&item.plain))
            .collect();
        let mut sums = Self::default();
        for ((item, hit), anywhere) in items.iter().zip(&aligned.hits).zip(&aligned.anywhere) {
            let weight = asked.weight(item);
            let spelled = spelled(item, &there);
            sums.weight += weight;
            sums.found += weight * hit.score;
            sums.anywhere += weight * anywhere.score;
            sums.soft += weight * anywhere.score.max(spelled);
            sums.missing += weight * (1.0 - anywhere.score);
            if !item.small && !asked.says(item) {
                sums.new_weight += weight;
                sums.new_found += weight * anywhere.score;
            }
        }
        sums
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            weight: self.weight + other.weight,
            found: self.found + other.found,
            anywhere: self.anywhere + other.anywhere,
            soft: self.soft + other.soft,
            missing: self.missing + other.missing,
            new_weight: self.new_weight + other.new_weight,
            new_found: self.new_found + other.new_found,
        }
    }
}

/// Words without articles, as SQuAD's metrics compare them.
pub(super) fn words(items: &[Item]) -> Vec<String> {
    let articles = |item: &&Item| !matches!(item.plain.as_str(), "a" | "an" | "the");
    items
        .iter()
        .filter(articles)
        .map(|item| item.plain.clone())
        .collect()
}

/// What a text says beside the question; all of it where that is nothing.
pub(super) fn core(items: &[Item], said: &Said<'_>, asked: &Asked) -> String {
    let join = |items: Vec<&Item>| -> String {
        let words: Vec<&str> = items
            .into_iter()
            .take(30)
            .map(|item| said.slice(&item.span))
            .collect();
        words.join(" ")
    };
    let new: Vec<&Item> = content(items).filter(|item| !asked.says(item)).collect();
    if new.is_empty() {
        join(items.iter().collect())
    } else {
        join(new)
    }
}

/// How many ways a response has of saying that it gives no answer, at most 3.
pub(super) fn hedges(output: &str) -> f64 {
    let text = output.to_lowercase().replace('’', "'");
    HEDGES
        .iter()
        .filter(|hedge| text.contains(**hedge))
        .count()
        .min(3) as f64
}

/// The content words of the sentences that fit which the question doesn't say, and how many of them stand for one of
/// the reference.
fn new_words<'a>(
    output: &'a Said<'_>,
    asked: &Asked,
    parts: &[(&Sentence, Aligned)],
) -> (Vec<&'a Item>, usize) {
    let sentences: HashSet<usize> = parts.iter().map(|(_, aligned)| aligned.sentence).collect();
    let hits = parts.iter().flat_map(|(_, aligned)| &aligned.hits);
    let found: HashSet<usize> = hits
        .filter(|hit| hit.score > 0.5)
        .filter_map(|hit| hit.at)
        .collect();
    let mut new = Vec::new();
    let mut new_found = 0;
    for (place, sentence) in output.sentences.iter().enumerate() {
        if !sentences.contains(&place) {
            continue;
        }
        for (at, item) in sentence.items.clone().zip(output.of(sentence)) {
            if !item.small && !asked.says(item) {
                new.push(item);
                new_found += usize::from(found.contains(&at));
            }
        }
    }
    (new, new_found)
}

fn content(items: &[Item]) -> impl Iterator<Item = &Item> {
    items.iter().filter(|item| !item.small)
}

fn is_name(item: &Item) -> bool {
    matches!(item.name, Some(Evidence::Capital | Evidence::Known))
}

/// Whether `long` has all of `short` in one run.
fn has(long: &[String], short: &[String]) -> bool {
    !short.is_empty() && long.windows(short.len()).any(|window| window == short)
}

/// The share of a word's trigrams that the response has.
fn spelled(item: &Item, there: &HashSet<[char; 3]>) -> f64 {
    if item.small || item.quantity.is_some() {
        return 0.0;
    }
    let own: HashSet<[char; 3]> = trigrams(&item.plain).collect();
    share(own.intersection(there).count() as f64, own.len() as f64)
}

/// Of trigrams of characters: the share of the first's that the second has, and the Dice coefficient.
fn overlap(a: &str, b: &str) -> (f64, f64) {
    let (a, b): (HashSet<_>, HashSet<_>) = (trigrams(a).collect(), trigrams(b).collect());
    let both = a.intersection(&b).count() as f64;
    (
        share(both, a.len() as f64),
        share(2.0 * both, (a.len() + b.len()) as f64),
    )
}

/// Three characters in a row, of the text with a blank before and behind it.
fn trigrams(text: &str) -> impl Iterator<Item = [char; 3]> {
    let mut last = ['\0', ' '];
    let chars = text.chars().chain(std::iter::once(' '));
    chars.filter_map(move |c| {
        let [first, second] = last;
        last = [second, c];
        (first != '\0').then_some([first, second, c])
    })
}

/// Whether one text has the initials of words of the other.
fn is_acronym(a: &[Item], b: &[Item]) -> bool {
    let initials = |items: &[Item]| -> String {
        let firsts = content(items).filter_map(|item| item.plain.chars().next());
        firsts.collect()
    };
    let has = |short: &[Item], initials: &str| {
        let mut short = short
            .iter()
            .filter(|item| item.name.is_some() && (2..=6).contains(&item.plain.len()));
        short.any(|item| initials.contains(&item.plain))
    };
    has(a, &initials(b)) || has(b, &initials(a))
}

fn flag(it_is: bool) -> f64 {
    f64::from(it_is)
}

fn count(number: usize) -> f64 {
    (number as f64).ln_1p()
}

/// 0 of nothing.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[rustfmt::skip]
const HEDGES: &[&str] = &[
    "i don't know", "i do not know", "i couldn't find", "i could not find", "unable to find", "i'm not sure",
    "i am not sure", "no information", "i don't have", "i do not have", "not enough information", "cannot determine",
    "can't determine", "unknown", "as an ai", "i'm sorry", "i apologize", "unclear", "no specific", "cannot provide",
    "not specified", "not mentioned", "does not exist", "there is no ", "not available", "depends on", "no answer",
];
