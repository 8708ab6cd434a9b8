//! Dates, as exact as the text says them.

use super::lexer::{Kind, Token};
use super::{Cursor, Relation};

/// A date; what the text leaves out is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Date {
    /// Negative before Christ.
    pub year: Option<i32>,
    /// 1 to 12.
    pub month: Option<u8>,
    /// 1 to 31.
    pub day: Option<u8>,
    /// 1 (Monday) to 7.
    pub weekday: Option<u8>,
    /// The year is the first of the decade meant: `the 1990s`.
    pub decade: bool,
    /// Written `4/10/2018`: which of the two is the month is not said.
    pub either_order: bool,
}

impl Date {
    /// Same where all that both say agrees, and both say something in common.
    pub(super) fn relation(&self, other: &Self) -> Relation {
        let swapped = Self {
            month: other.day,
            day: other.month,
            ..*other
        };
        let either =
            (self.either_order || other.either_order) && self.agrees(&swapped) == Some(true);
        match self.agrees(other) {
            None => Relation::Unrelated,
            Some(true) => Relation::Same,
            Some(false) if either => Relation::Same,
            Some(false) => Relation::OtherValue,
        }
    }

    /// `None` where they have nothing in common.
    fn agrees(&self, other: &Self) -> Option<bool> {
        let years = self.year.zip(other.year).map(|(a, b)| {
            let decade = self.decade || other.decade;
            a == b || (decade && a.div_euclid(10) == b.div_euclid(10))
        });
        let same = |pair: Option<(u8, u8)>| pair.map(|(a, b)| a == b);
        let parts = [
            years,
            same(self.month.zip(other.month)),
            same(self.day.zip(other.day)),
            same(self.weekday.zip(other.weekday)),
        ];
        let known: Vec<bool> = parts.into_iter().flatten().collect();
        (!known.is_empty()).then(|| known.into_iter().all(|same| same))
    }
}

/// A date that begins at a token, and the index after it.
pub(super) fn read(cursor: &Cursor<'_>, at: usize) -> Option<(Date, usize)> {
    let token = cursor.token(at)?;
    if let Kind::Dotted { day, month, year } = token.kind {
        return valid(Some(year), Some(month), Some(day)).map(|date| (date, at + 1));
    }
    in_digits(cursor, at)
        .or_else(|| month_first(cursor, at))
        .or_else(|| day_first(cursor, at))
        .or_else(|| year_alone(cursor, at))
        .or_else(|| {
            weekday(token).map(|day| {
                (
                    Date {
                        weekday: Some(day),
                        ..Date::default()
                    },
                    at + 1,
                )
            })
        })
}

fn valid(year: Option<i32>, month: Option<u8>, day: Option<u8>) -> Option<Date> {
    let fits = month.is_none_or(|month| (1..=12).contains(&month))
        && day.is_none_or(|day| (1..=31).contains(&day));
    fits.then(|| Date {
        year,
        month,
        day,
        ..Date::default()
    })
}

/// `2018-04-10`, `4/10/2018`.
fn in_digits(cursor: &Cursor<'_>, at: usize) -> Option<(Date, usize)> {
    let mark = cursor.token(at + 1)?.text;
    let glued = (1..=4).all(|part| cursor.token(at + part).is_some_and(|token| token.glued));
    if !glued || !matches!(mark, "-" | "/") || cursor.token(at + 3)?.text != mark {
        return None;
    }
    let part = |offset: usize, digits| cursor.token(at + offset)?.digits(digits);
    let date = if let Some(year) = part(0, 4..=4) {
        valid(
            Some(year as i32),
            Some(part(2, 1..=2)? as u8),
            Some(part(4, 1..=2)? as u8),
        )?
    } else {
        let (first, second) = (part(0, 1..=2)? as u8, part(2, 1..=2)? as u8);
        let year = part(4, 4..=4).or_else(|| part(4, 2..=2).map(|year| year + 2000.0))?;
        let (month, day) = if first > 12 {
            (second, first)
        } else {
            (first, second)
        };
        Date {
            either_order: first <= 12 && second <= 12 && first != second,
            ..valid(Some(year as i32), Some(month), Some(day))?
        }
    };
    Some((date, at + 5))
}

/// `April 10, 2018`, `April 2018`, `April`.
fn month_first(cursor: &Cursor<'_>, at: usize) -> Option<(Date, usize)> {
    let month = month(cursor.token(at)?)?;
    let mut next = at + 1 + usize::from(is_text(cursor, at + 1, "."));
    let day = day(cursor, next);
    if let Some((_, after)) = day {
        next = after;
    } else if next > at + 1 {
        next = if year(cursor, next).is_some() {
            next
        } else {
            at + 1
        };
    }
    let year = year(cursor, next + usize::from(is_text(cursor, next, ",")));
    let said = match (day.is_some(), year.is_some()) {
        (false, false) => stands_alone(cursor, at),
        (true, true) => true,
        _ => !is_lower_case_word(cursor, at),
    };
    if !said {
        return None;
    }
    let date = valid(
        year.map(|(year, _)| year),
        Some(month),
        day.map(|(day, _)| day),
    )?;
    Some((date, year.map_or(next, |(_, after)| after)))
}

/// `10 April 2018`, `the 10th of April`.
fn day_first(cursor: &Cursor<'_>, at: usize) -> Option<(Date, usize)> {
    let (day, mut next) = day(cursor, at)?;
    next += usize::from(cursor.token(next).is_some_and(|token| token.is("of")));
    let month = month(cursor.token(next)?)?;
    next += 1;
    let dot = usize::from(is_text(cursor, next, "."));
    let year = year(cursor, next + dot)
        .or_else(|| year(cursor, next + usize::from(is_text(cursor, next, ","))));
    let date = valid(year.map(|(year, _)| year), Some(month), Some(day))?;
    Some((date, year.map_or(next, |(_, after)| after)))
}

/// `in 1996`, `44 BC`, `the 1990s`.
fn year_alone(cursor: &Cursor<'_>, at: usize) -> Option<(Date, usize)> {
    const BEFORE: [&str; 14] = [
        "in", "since", "by", "until", "till", "during", "before", "after", "circa", "year",
        "early", "late", "mid", "spring",
    ];
    let token = cursor.token(at)?;
    let number = token.digits(1..=4)?;
    let era = cursor.token(at + 1).map_or(0, |era| match era.text {
        "BC" | "BCE" => -1,
        "AD" | "CE" => 1,
        _ => 0,
    });
    if era != 0 {
        return Some((of_year(era * number as i32, false), at + 2));
    }
    let year = token
        .digits(4..=4)
        .filter(|year| (1000.0..=2100.0).contains(year))? as i32;
    let decade = cursor
        .token(at + 1)
        .is_some_and(|s| s.glued && s.text == "s")
        || (is_text(cursor, at + 1, "'") && is_text(cursor, at + 2, "s"));
    if decade {
        let after = at + if is_text(cursor, at + 1, "s") { 2 } else { 3 };
        return Some((of_year(year, year % 10 == 0), after));
    }
    let before = at.checked_sub(1).and_then(|before| cursor.token(before))?;
    let is_year = BEFORE.iter().any(|word| before.is(word)) && cursor.unit(at + 1).is_none();
    is_year.then(|| (of_year(year, false), at + 1))
}

fn of_year(year: i32, decade: bool) -> Date {
    Date {
        year: Some(year),
        decade,
        ..Date::default()
    }
}

/// 1 to 31 in digits, perhaps as an ordinal; never the begin of a longer number or a time.
fn day(cursor: &Cursor<'_>, at: usize) -> Option<(u8, usize)> {
    let number = cursor
        .token(at)?
        .digits(1..=2)
        .filter(|day| (1.0..=31.0).contains(day))?;
    if is_text(cursor, at + 1, ":") {
        return None;
    }
    let ordinal = cursor.suffix(at + 1, &["st", "nd", "rd", "th"]);
    Some((number as u8, at + 1 + usize::from(ordinal)))
}

fn year(cursor: &Cursor<'_>, at: usize) -> Option<(i32, usize)> {
    let year = cursor.token(at)?.digits(4..=4)?;
    (1000.0..=2999.0)
        .contains(&year)
        .then_some((year as i32, at + 1))
}

/// A mark; a comma may have a space before it, as tokenised texts do (`May 7 , 2018`).
fn is_text(cursor: &Cursor<'_>, at: usize, text: &str) -> bool {
    let token = cursor.token(at);
    token.is_some_and(|token| token.text == text && (token.glued || text == ","))
}

/// A month without day or year. `May`, `March` and `August` are other words too, so they need a preposition.
fn stands_alone(cursor: &Cursor<'_>, at: usize) -> bool {
    const BEFORE: [&str; 17] = [
        "in", "of", "since", "until", "till", "by", "early", "late", "mid", "from", "to",
        "through", "last", "next", "this", "during", "every",
    ];
    let Some(token) = cursor
        .token(at)
        .filter(|token| token.text.starts_with(char::is_uppercase))
    else {
        return false;
    };
    let before = at.checked_sub(1).and_then(|before| cursor.token(before));
    let long = token.text.len() > 4 && !token.is("march") && !token.is("august");
    long || before.is_some_and(|before| BEFORE.iter().any(|word| before.is(word)))
}

/// `may` and `march` are verbs.
fn is_lower_case_word(cursor: &Cursor<'_>, at: usize) -> bool {
    cursor
        .token(at)
        .is_some_and(|token| matches!(token.text, "may" | "march"))
}

/// English names, and their short forms of three letters (and `Sept`).
fn month(token: &Token<'_>) -> Option<u8> {
    named(token, &MONTHS).or_else(|| token.is("sept").then_some(9))
}

fn weekday(token: &Token<'_>) -> Option<u8> {
    let capital = token.text.starts_with(char::is_uppercase);
    let singular = token
        .text
        .strip_suffix('s')
        .filter(|_| token.text.ends_with("days"))
        .unwrap_or(token.text);
    WEEKDAYS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(singular) && (capital || name.len() > 3))
        .map(|place| place as u8 + 1)
}

fn named(token: &Token<'_>, names: &[&str]) -> Option<u8> {
    let is = |name: &&str| {
        let short = token.text.len() == 3 && name.get(..3).is_some_and(|short| token.is(short));
        token.is(name) || (short && token.text.starts_with(char::is_uppercase))
    };
    names.iter().position(is).map(|place| place as u8 + 1)
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
