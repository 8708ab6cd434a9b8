//! Which words of a response stand for the words of a reference.

use std::collections::HashSet;

use super::words::{Item, Said, Sentence};
use crate::text::negations::negations;
use crate::text::quantities::{Kind, Relation, Value};

/// The words of a question; what they say already says nothing in an answer.
#[derive(Debug, Default)]
pub(super) struct Asked {
    stems: HashSet<String>,
    said: Vec<Item>,
    /// The question says *not*.
    pub(super) negated: bool,
}

impl Asked {
    pub(super) fn new(query: &str) -> Self {
        let said = Said::new(query).items;
        Self {
            stems: said.iter().map(|item| item.stem.clone()).collect(),
            said,
            negated: !negations(query).is_empty(),
        }
    }

    pub(super) fn says(&self, item: &Item) -> bool {
        match &item.quantity {
            Some(quantity) => {
                let asked = self.said.iter().filter_map(|said| said.quantity.as_ref());
                asked.into_iter().any(|asked| asked.agrees(quantity))
            }
            None => self.stems.contains(&item.stem),
        }
    }

    /// How much it counts whether a response says this.
    pub(super) fn weight(&self, item: &Item) -> f64 {
        let kind = match (&item.quantity, item.small, item.name) {
            (Some(_), _, _) => 1.3,
            (None, true, _) => 0.05,
            (None, false, Some(_)) => 1.2,
            (None, false, None) => 1.0,
        };
        if self.says(item) { 0.15 * kind } else { kind }
    }
}

/// Where a reference's item is found in a response: how well, and at which item.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hit {
    /// 0 (not at all) to 1.
    pub(super) score: f64,
    pub(super) at: Option<usize>,
}

/// A sentence of a reference beside the sentence of a response that says most of it.
#[derive(Debug)]
pub(super) struct Aligned {
    /// The place of the response's sentence.
    pub(super) sentence: usize,
    /// One for each item of the reference's sentence, within that sentence of the response.
    pub(super) hits: Vec<Hit>,
    /// The same within the whole response.
    pub(super) anywhere: Vec<Hit>,
}

impl Aligned {
    pub(super) fn new(
        reference: &Said<'_>,
        part: &Sentence,
        output: &Said<'_>,
        asked: &Asked,
    ) -> Option<Self> {
        let items = reference.of(part);
        let table: Vec<Vec<Hit>> = output
            .sentences
            .iter()
            .map(|sentence| {
                items
                    .iter()
                    .map(|item| hit(item, output, sentence))
                    .collect()
            })
            .collect();
        let worth = |hits: &[Hit]| -> f64 {
            let pairs = hits.iter().zip(items);
            pairs
                .map(|(hit, item)| hit.score * asked.weight(item))
                .sum()
        };
        let mut best = (0, f64::MIN);
        for (place, hits) in table.iter().enumerate() {
            let worth = worth(hits);
            if worth > best.1 + 1e-9 {
                best = (place, worth);
            }
        }
        let anywhere = (0..items.len()).map(|item| best_of(&table, item)).collect();
        let hits = table.into_iter().nth(best.0)?;
        Some(Self {
            sentence: best.0,
            hits,
            anywhere,
        })
    }
}

fn best_of(table: &[Vec<Hit>], item: usize) -> Hit {
    let column = table.iter().filter_map(|hits| hits.get(item));
    column.fold(Hit::default(), |best, hit| {
        if hit.score > best.score { *hit } else { best }
    })
}

fn hit(item: &Item, output: &Said<'_>, sentence: &Sentence) -> Hit {
    let mut best = Hit::default();
    for (offset, said) in output.of(sentence).iter().enumerate() {
        let score = likeness(item, said);
        if score > best.score {
            best = Hit {
                score,
                at: Some(sentence.items.start + offset),
            };
        }
        if best.score >= 1.0 {
            break;
        }
    }
    best
}

/// How far one item says the other: 1 the same, 0 nothing of it.
fn likeness(wanted: &Item, said: &Item) -> f64 {
    match (&wanted.quantity, &said.quantity) {
        (Some(a), Some(b)) if a.relation(b) == Relation::Same => {
            if coarser(wanted, said) {
                0.7
            } else {
                1.0
            }
        }
        (Some(_), Some(_)) => 0.0,
        _ if wanted.plain == said.plain => 1.0,
        (None, None) => word_likeness(wanted, said),
        _ => 0.0,
    }
}

/// Whether `said` leaves out part of the date that is wanted.
pub(super) fn coarser(wanted: &Item, said: &Item) -> bool {
    let parts = |item: &Item| match item
        .quantity
        .as_ref()
        .map(|quantity| (quantity.value, quantity.kind))
    {
        Some((Value::Date(date), _)) => {
            usize::from(date.year.is_some() && !date.decade)
                + usize::from(date.month.is_some())
                + usize::from(date.day.is_some())
        }
        Some((_, Kind::Number)) => 1,
        _ => 0,
    };
    let is_date = wanted
        .quantity
        .as_ref()
        .is_some_and(|quantity| quantity.kind == Kind::Date);
    is_date && parts(said) < parts(wanted)
}

fn word_likeness(wanted: &Item, said: &Item) -> f64 {
    if wanted.stem == said.stem {
        return 0.95;
    }
    let (a, b) = (wanted.plain.as_str(), said.plain.as_str());
    if is_initial(wanted, said) || is_initial(said, wanted) {
        return 0.6;
    }
    let shorter = a.chars().count().min(b.chars().count());
    let code = a.chars().chain(b.chars()).any(|c| c.is_ascii_digit());
    if code || shorter < 4 || wanted.small || said.small {
        return 0.0;
    }
    let prefix = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let longer = a.chars().count().max(b.chars().count());
    let by_prefix = if prefix >= 5 && prefix * 10 >= longer * 6 {
        0.85
    } else {
        0.0
    };
    let dice = dice(a, b);
    let by_spelling = if dice >= 0.7 { 0.9 * dice } else { 0.0 };
    f64::max(by_prefix, by_spelling)
}

/// `B.` for `Bhimrao`.
fn is_initial(short: &Item, long: &Item) -> bool {
    let one = short.plain.chars().count() == 1 && long.plain.chars().count() > 1;
    one && short.name.is_some() && long.name.is_some() && long.plain.starts_with(&short.plain)
}

/// The Dice coefficient of the sets of pairs of neighbouring characters, 0 to 1.
pub(super) fn dice(a: &str, b: &str) -> f64 {
    let pairs =
        |text: &str| -> HashSet<(char, char)> { text.chars().zip(text.chars().skip(1)).collect() };
    let (a, b) = (pairs(a), pairs(b));
    let both = a.intersection(&b).count();
    if a.is_empty() || b.is_empty() {
        0.0
    } else {
        2.0 * both as f64 / (a.len() + b.len()) as f64
    }
}
