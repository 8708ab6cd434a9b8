//! Hard evidence that a response says something else: another number, unit or name in its place, or the opposite.

use std::ops::Range;

use super::align::{Aligned, Asked, dice};
use super::opposites::{are_opposite, has_opposite};
use super::words::{Item, Said, Sentence};
use crate::text::names::Evidence;
use crate::text::quantities::{Relation, Value};

/// What disagrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Unit,
    Name,
    Negation,
    /// Names or numbers are the same, but have changed places.
    Order,
}

/// A check that fired.
#[derive(Clone, Debug)]
pub struct Check {
    pub kind: Kind,
    /// What the reference says, in bytes of it.
    pub wanted: Range<usize>,
    /// What the response says in its place, in bytes of it.
    pub said: Range<usize>,
}

/// A sentence of a reference, and the response.
#[derive(Debug)]
pub(super) struct Pair<'a> {
    pub(super) reference: &'a Said<'a>,
    pub(super) part: &'a Sentence,
    pub(super) output: &'a Said<'a>,
    pub(super) aligned: &'a Aligned,
    pub(super) asked: &'a Asked,
}

pub(super) fn checks(pair: &Pair<'_>) -> Vec<Check> {
    let mut found = quantities(pair);
    found.extend(name(pair).or_else(|| first_word(pair)));
    found.extend(negation(pair));
    found.extend(order(pair));
    found
}

/// Whether a check decides by itself.
///
/// A reference that is a bare count or date and nothing more has other right answers too often (the same event in
/// another country, a count that has grown): there it is a feature of the head like others.
pub(super) fn is_hard(check: &Check, reference: &Said<'_>) -> bool {
    let numbers_only = reference
        .items
        .iter()
        .all(|item| item.small || item.quantity.is_some());
    let quantity = reference
        .items
        .iter()
        .find(|item| item.span == check.wanted);
    let bare = quantity
        .and_then(|item| item.quantity.as_ref())
        .is_some_and(|quantity| {
            quantity.unit.is_none() && !matches!(quantity.value, Value::Time { .. })
        });
    !(check.kind == Kind::Number && numbers_only && bare)
}

impl<'a> Pair<'a> {
    fn wanted(&self) -> &'a [Item] {
        self.reference.of(self.part)
    }

    fn sentence(&self) -> Option<&'a Sentence> {
        self.output.sentences.get(self.aligned.sentence)
    }

    fn said(&self) -> &'a [Item] {
        self.sentence()
            .map_or(&[], |sentence| self.output.of(sentence))
    }

    /// The share of the reference's content words that the response's sentence has, of those that `counts`.
    fn agreement(&self, counts: impl Fn(&Item) -> bool) -> Option<f64> {
        let (mut all, mut hits) = (0.0, 0.0);
        for (item, hit) in self.wanted().iter().zip(&self.aligned.hits) {
            let negates = self
                .part
                .negations
                .iter()
                .any(|span| span.contains(&item.span.start));
            if !item.small && item.quantity.is_none() && !negates && counts(item) {
                all += 1.0;
                hits += hit.score;
            }
        }
        (all > 0.0).then(|| hits / all)
    }
}

/// Quantities that the response nowhere says while another of the kind stands in the sentence that fits best.
fn quantities(pair: &Pair<'_>) -> Vec<Check> {
    let mut found = Vec::new();
    for (item, anywhere) in pair.wanted().iter().zip(&pair.aligned.anywhere) {
        let Some(wanted) = &item.quantity else {
            continue;
        };
        let near = |said: &Item| is_near(item, said, pair) || is_within(item, said, pair);
        if anywhere.score > 0.0 || pair.output.items.iter().any(near) {
            continue;
        }
        let others = pair.said().iter().filter(|said| is_new(said, pair));
        let replaced = others.filter_map(|said| {
            let kind = match wanted.relation(said.quantity.as_ref()?) {
                Relation::OtherValue => Kind::Number,
                Relation::OtherUnit => Kind::Unit,
                Relation::Same | Relation::Unrelated => return None,
            };
            Some((kind, said.span.clone()))
        });
        if let Some((kind, said)) = replaced.min_by_key(|(kind, _)| *kind != Kind::Unit) {
            found.push(Check {
                kind,
                wanted: item.span.clone(),
                said,
            });
        }
    }
    found
}

/// A quantity that neither the reference nor the question says.
fn is_new(said: &Item, pair: &Pair<'_>) -> bool {
    let Some(quantity) = &said.quantity else {
        return false;
    };
    let known = pair
        .reference
        .items
        .iter()
        .filter_map(|item| item.quantity.as_ref());
    !known.into_iter().any(|known| known.agrees(quantity)) && !pair.asked.says(said)
}

/// Rounded: `about 4` for 3.9, or fewer decimals.
fn is_near(item: &Item, said: &Item, pair: &Pair<'_>) -> bool {
    let (Some(a), Some(b)) = (number(item), number(said)) else {
        return false;
    };
    let unit = |item: &Item| item.quantity.as_ref()?.unit.map(|unit| unit.name);
    let same_unit = unit(item).is_none() || unit(said).is_none() || unit(item) == unit(said);
    let about = is_about(pair.output, said) || is_about(pair.reference, item);
    let apart = (a - b).abs();
    let rounded = (b == a.round() || a == b.round()) && a != b && apart < 0.5;
    same_unit && (rounded || (about && apart <= 0.03 * a.abs()))
}

/// Whether a number lies in the range that the reference's begins or ends (`10–12 years`).
fn is_within(item: &Item, said: &Item, pair: &Pair<'_>) -> bool {
    let Some(said) = number(said) else {
        return false;
    };
    let mut ranges = pair.wanted().windows(2).filter_map(|ends| match ends {
        [begin, end] if begin.span == item.span || end.span == item.span => {
            let between = pair.reference.slice(&(begin.span.end..end.span.start));
            let range = matches!(between.trim(), "-" | "–" | "—");
            range.then(|| number(begin).zip(number(end))).flatten()
        }
        _ => None,
    });
    ranges.any(|(low, high)| (low..=high).contains(&said))
}

fn number(item: &Item) -> Option<f64> {
    match item.quantity.as_ref()?.value {
        Value::Number(number) => Some(number),
        Value::Time { .. } | Value::Date(_) => None,
    }
}

/// Whether a text says that it isn't exact here.
fn is_about(text: &Said<'_>, item: &Item) -> bool {
    const ABOUT: &[&str] = &[
        "about",
        "approximately",
        "around",
        "roughly",
        "nearly",
        "almost",
        "circa",
        "some",
        "over",
        "c.",
        "~",
        "approx.",
    ];
    let from = text
        .text
        .floor_char_boundary(item.span.start.saturating_sub(20));
    let before = text.slice(&(from..item.span.start)).to_lowercase();
    ABOUT.iter().any(|word| before.trim_end().ends_with(word))
}

/// A name whose words are missing while another name stands in the same sentence.
fn name(pair: &Pair<'_>) -> Option<Check> {
    let no_name = |item: &Item| item.name.is_none_or(|name| name == Evidence::SentenceStart);
    let known = pair
        .wanted()
        .iter()
        .filter(|item| !item.small && no_name(item))
        .all(|item| pair.asked.says(item));
    let agrees = known || pair.agreement(no_name)? >= 0.5;
    if !agrees || !is_statement(pair) {
        return None;
    }
    let new = pair.wanted().iter().zip(&pair.aligned.anywhere).enumerate();
    let new: Vec<(usize, &Item, bool)> = new
        .filter(|(_, (item, _))| is_name(item) && !pair.asked.says(item))
        .map(|(at, (item, anywhere))| (at, item, anywhere.score < 0.5))
        .collect();
    let all = new.iter().all(|(_, _, missing)| *missing);
    let replaced = new
        .iter()
        .filter(|(_, _, missing)| *missing)
        .find_map(|(at, missing, _)| {
            let stands_for = |said: &Item| is_short_for(said, missing, pair);
            let others = pair.said().iter().enumerate();
            let mut others = others.filter(|(_, said)| is_name(said) && is_unknown(said, pair));
            let (_, said) = others.find(|(place, _)| all || same_neighbour(pair, *at, *place))?;
            (!pair.output.items.iter().any(stands_for)).then_some((*missing, said))
        });
    let (missing, said) = replaced?;
    Some(Check {
        kind: Kind::Name,
        wanted: missing.span.clone(),
        said: said.span.clone(),
    })
}

/// Whether the reference is more than a name or a phrase.
fn is_statement(pair: &Pair<'_>) -> bool {
    const VERBS: [&str; 12] = [
        "is", "are", "was", "were", "has", "have", "had", "will", "can", "does", "do", "did",
    ];
    let ended = pair.reference.slice(&pair.part.span).ends_with(['.', '!']);
    let verb = |item: &Item| VERBS.contains(&item.plain.as_str());
    ended || pair.wanted().len() >= 6 || pair.wanted().iter().any(verb)
}

/// Sentences that are the same but for their first word, which may be a name.
fn first_word(pair: &Pair<'_>) -> Option<Check> {
    const COMMON: [&str; 12] = [
        "s", "ing", "tion", "ment", "ity", "ery", "ry", "age", "ance", "ence", "ness", "al",
    ];
    let ([wanted, next, ..], [said, follows, ..]) = (pair.wanted(), pair.said()) else {
        return None;
    };
    let opens = |item: &Item| {
        let name = matches!(item.name, Some(Evidence::SentenceStart | Evidence::Known));
        name && !COMMON.iter().any(|ending| item.plain.ends_with(ending))
    };
    let replaced =
        opens(wanted) && opens(said) && wanted.stem != said.stem && next.plain == follows.plain;
    let elsewhere = pair
        .output
        .items
        .iter()
        .any(|item| item.stem == wanted.stem);
    let rest = pair.agreement(|item| item.span != wanted.span)?;
    (replaced && !elsewhere && rest >= 0.9 && pair.wanted().len() > 2).then(|| Check {
        kind: Kind::Name,
        wanted: wanted.span.clone(),
        said: said.span.clone(),
    })
}

/// Whether the same content word stands before both, or after both.
fn same_neighbour(pair: &Pair<'_>, wanted: usize, said: usize) -> bool {
    let (w, s) = (pair.wanted(), pair.said());
    let before = |items: &[Item], at: usize| {
        items
            .iter()
            .take(at)
            .rev()
            .find(|item| !item.small)
            .map(|item| item.stem.clone())
    };
    let after = |items: &[Item], at: usize| {
        items
            .iter()
            .skip(at + 1)
            .find(|item| !item.small)
            .map(|item| item.stem.clone())
    };
    let same = |a: Option<String>, b: Option<String>| a.is_some() && a == b;
    same(before(w, wanted), before(s, said)) || same(after(w, wanted), after(s, said))
}

fn is_name(item: &Item) -> bool {
    matches!(item.name, Some(Evidence::Capital | Evidence::Known)) && !item.small
}

/// A word that neither the reference nor the question has, and no title.
fn is_unknown(said: &Item, pair: &Pair<'_>) -> bool {
    const TITLES: [&str; 18] = [
        "mr",
        "mrs",
        "ms",
        "dr",
        "sir",
        "president",
        "king",
        "queen",
        "prince",
        "princess",
        "lord",
        "lady",
        "professor",
        "saint",
        "st",
        "minister",
        "jr",
        "sr",
    ];
    let known = pair
        .reference
        .items
        .iter()
        .any(|item| item.stem == said.stem || dice(&item.plain, &said.plain) >= 0.8);
    !known && !pair.asked.says(said) && !TITLES.contains(&said.plain.as_str())
}

/// Whether `said` holds the first letters of the reference's words, one of them `missing`.
fn is_short_for(said: &Item, missing: &Item, pair: &Pair<'_>) -> bool {
    let initials = |items: &[Item]| -> String {
        let large = items.iter().filter(|item| !item.small);
        large.filter_map(|item| item.plain.chars().next()).collect()
    };
    let short = said.plain.as_str();
    let long = missing.plain.as_str();
    (short.len() >= 2 && initials(pair.wanted()).contains(short))
        || (long.len() >= 2 && initials(pair.said()).contains(long))
}

/// The sentence that fits says *not* where the reference doesn't, or the other way round.
fn negation(pair: &Pair<'_>) -> Option<Check> {
    let sentence = pair.sentence()?;
    if let Some(check) = yes_or_no(pair) {
        return Some(check);
    }
    if both_deny(pair) {
        return None;
    }
    let turned = opposites(pair);
    let is_turned = |item: &Item| turned.iter().any(|(wanted, _)| *wanted == item.span);
    if pair.agreement(|item| !is_turned(item))? < 0.6 {
        return None;
    }
    let clause = clause(pair)?;
    let counts =
        |said: &Said<'_>, span: &Range<usize>| !said.slice(span).eq_ignore_ascii_case("without");
    let wanted = pair
        .part
        .negations
        .iter()
        .filter(|span| counts(pair.reference, span))
        .count();
    let within: Vec<&Range<usize>> = sentence
        .negations
        .iter()
        .filter(|negation| {
            clause.contains(&negation.start)
                && counts(pair.output, negation)
                && bears(pair, negation)
        })
        .collect();
    let said = within.len() + turned.len();
    // *Without a fee* is *no fee*.
    let withouts = |said: &Said<'_>, negations: &[Range<usize>]| {
        negations.iter().filter(|span| !counts(said, span)).count()
    };
    let spare = if said > wanted {
        withouts(pair.reference, &pair.part.negations)
    } else {
        withouts(pair.output, &sentence.negations)
    };
    if said.abs_diff(wanted) <= spare {
        return None;
    }
    if wanted % 2 == said % 2 || (pair.asked.negated && said >= wanted) || excused(pair, &turned) {
        return None;
    }
    let said = within
        .first()
        .map(|span| (*span).clone())
        .or_else(|| turned.first().map(|(_, said)| said.clone()))
        .unwrap_or(clause);
    Some(Check {
        kind: Kind::Negation,
        wanted: pair
            .part
            .negations
            .first()
            .cloned()
            .unwrap_or_else(|| pair.part.span.clone()),
        said,
    })
}

/// Whether a negation is of something that the reference speaks of: *no* is of the word after it.
fn bears(pair: &Pair<'_>, negation: &Range<usize>) -> bool {
    let word = pair.output.slice(negation);
    if !["no", "nor", "none"]
        .iter()
        .any(|of_next| word.eq_ignore_ascii_case(of_next))
    {
        return true;
    }
    let after = pair
        .output
        .items
        .iter()
        .find(|item| item.span.start >= negation.end && !item.small);
    after.is_some_and(|after| pair.wanted().iter().any(|wanted| wanted.stem == after.stem))
}

/// From a few words before the first word that was found to a few after the last, within the clause.
fn clause(pair: &Pair<'_>) -> Option<Range<usize>> {
    let content = pair
        .wanted()
        .iter()
        .zip(&pair.aligned.hits)
        .filter(|(item, _)| !item.small);
    let places: Vec<usize> = content.filter_map(|(_, hit)| hit.at).collect();
    let sentence = pair.sentence()?;
    let (first, last) = (*places.iter().min()?, *places.iter().max()?);
    let begin = first.saturating_sub(4).max(sentence.items.start);
    let end = (last + 4).min(sentence.items.end.saturating_sub(1));
    let place = |item: usize| pair.output.items.get(item).map(|item| item.span.clone());
    let (first_span, last_span) = (place(first)?, place(last)?);
    let before = pair.output.slice(&(place(begin)?.start..first_span.start));
    let after = pair.output.slice(&(last_span.end..place(end)?.end));
    let start = before
        .rfind([',', ';', ':', '(', '–', '—'])
        .map_or(first_span.start - before.len(), |at| {
            first_span.start - before.len() + at
        });
    let stop = after
        .find([',', ';', ':', '(', ')', '.', '–', '—'])
        .map_or(last_span.end + after.len(), |at| last_span.end + at);
    Some(start..stop)
}

/// Words of the reference, each with its opposite in the response.
fn opposites(pair: &Pair<'_>) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found = Vec::new();
    for (wanted, hit) in pair.wanted().iter().zip(&pair.aligned.hits) {
        if hit.score > 0.8 || (wanted.small && !has_opposite(&wanted.plain)) {
            continue;
        }
        let said = pair.said().iter().filter(|said| {
            !pair
                .wanted()
                .iter()
                .any(|wanted| wanted.plain == said.plain)
        });
        found.extend(
            said.into_iter()
                .find(|said| are_opposite((&wanted.plain, &wanted.stem), (&said.plain, &said.stem)))
                .map(|said| (wanted.span.clone(), said.span.clone())),
        );
    }
    found
}

/// Words that refuse or leave out without saying *not*: then the count of negations tells nothing, unless an opposite was
/// found.
fn excused(pair: &Pair<'_>, turned: &[(Range<usize>, Range<usize>)]) -> bool {
    const REFUSE: &[&str] = &[
        "refus",
        "deny",
        "denied",
        "declin",
        "reject",
        "prevent",
        "avoid",
        "stop",
        "ceas",
        "exclud",
        "except",
        "ban",
        "prohibit",
        "forbid",
        "forbidden",
        "unless",
        "non",
        "free",
        "miss",
        "stay",
        "remain",
        "instead",
        "zero",
        "rather",
        "lose",
        "exempt",
        "other",
        "else",
        "anywhere",
    ];
    let has = |items: &[Item], other: &[Item]| {
        items.iter().any(|item| {
            let refuses =
                REFUSE.contains(&item.stem.as_str()) || REFUSE.contains(&item.plain.as_str());
            refuses && !other.iter().any(|other| other.stem == item.stem)
        })
    };
    turned.is_empty() && (has(pair.said(), pair.wanted()) || has(pair.wanted(), pair.said()))
}

/// The reference begins with yes or no, the response with the other.
fn yes_or_no(pair: &Pair<'_>) -> Option<Check> {
    let answer = |said: &Said<'_>| -> Option<(bool, Range<usize>)> {
        let first = said.items.first()?;
        match first.plain.as_str() {
            "yes" | "yeah" | "yep" | "correct" | "true" => Some((true, first.span.clone())),
            "no" | "nope" | "incorrect" | "false"
                if said
                    .slice(&(first.span.end..first.span.end + 1))
                    .trim_start_matches([',', '.', '!', ';', ':'])
                    .is_empty() =>
            {
                Some((false, first.span.clone()))
            }
            _ => None,
        }
    };
    let ((wanted, wanted_at), (said, said_at)) = (answer(pair.reference)?, answer(pair.output)?);
    (wanted != said).then_some(Check {
        kind: Kind::Negation,
        wanted: wanted_at,
        said: said_at,
    })
}

/// Whether the reference begins with *no* and the response denies in its first words: *Sorry, no*, *Not at all*.
fn both_deny(pair: &Pair<'_>) -> bool {
    const FIRST: usize = 4;
    let denies = |item: &Item| matches!(item.plain.as_str(), "no" | "not" | "nope" | "never");
    pair.reference.items.first().is_some_and(denies)
        && pair.output.items.iter().take(FIRST).any(denies)
}

/// Two names that have changed places in an otherwise equal sentence.
fn order(pair: &Pair<'_>) -> Option<Check> {
    let names: Vec<(&Item, usize)> = pair
        .wanted()
        .iter()
        .zip(&pair.aligned.hits)
        .filter(|(item, hit)| (is_name(item) || item.quantity.is_some()) && hit.score > 0.9)
        .filter_map(|(item, hit)| Some((item, hit.at?)))
        .collect();
    let apart = |first: &Item, second: &Item| {
        let between = pair
            .reference
            .slice(&(first.span.end..second.span.start))
            .trim();
        !matches!(between, "" | "and" | "or" | "," | "&" | ", and" | ", or")
    };
    let turned = names.windows(2).find_map(|pair| match pair {
        [(first, at), (second, next)] if at > next && apart(first, second) => {
            Some((first.span.clone(), *at))
        }
        _ => None,
    })?;
    let others = |items: &[Item]| -> Vec<String> {
        let is_name = |item: &Item| names.iter().any(|(name, _)| name.stem == item.stem);
        items
            .iter()
            .filter(|item| !is_name(item) && item.quantity.is_none())
            .map(|item| item.plain.clone())
            .collect()
    };
    let said = pair.output.items.get(turned.1)?;
    (others(pair.wanted()) == others(pair.said())).then(|| Check {
        kind: Kind::Order,
        wanted: turned.0,
        said: said.span.clone(),
    })
}
