//! What a text counts and measures: numbers, percentages, money, times of day, dates, durations, ordinals.
//!
//! Written forms are resolved, so that `thirty`, `30` and `30.0` are one value, and so are `21:00` and `9 p.m.`,
//! `1,000 m` and `1 km`, `10 April 2018` and `2018-04-10`. Words are read in English; digits, signs and symbols of
//! units are read in any language. What would need an exchange rate or a rounded factor is never converted.
//!
//! Time and memory grow with the length of the text alone.

use std::ops::Range;

mod clock;
mod dates;
mod lexer;
mod units;
mod words;

pub use dates::Date;
pub use units::{Family, Unit};

use lexer::{Token, tokens};

/// One quantity of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity {
    /// Where it stands, in bytes of the text, with its unit.
    pub span: Range<usize>,
    pub value: Value,
    /// As written, or that of the end of the range that it begins (`5 to 7 days`).
    pub unit: Option<Unit>,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// In the quantity's unit, finite.
    Number(f64),
    /// Seconds since midnight, below 86,400. `half_known` is false where neither am nor pm nor an hour above 12 is said.
    Time {
        seconds: u32,
        half_known: bool,
    },
    Date(Date),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Number,
    Percent,
    Money,
    Time,
    Date,
    Duration,
    Ordinal,
}

/// How two quantities stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They say the same, one of them perhaps less exactly (`2018` and `April 2018`, `30` and `30 days`).
    Same,
    /// Quantities of one kind, with another value.
    OtherValue,
    /// The same number of another unit: `5 kg` and `5 g`.
    OtherUnit,
    /// Neither speaks for or against the other: `5 km` and `3 people`.
    Unrelated,
}

/// The quantities of a text, in order, never overlapping.
pub fn quantities(text: &str) -> Vec<Quantity> {
    let tokens = tokens(text);
    let cursor = Cursor {
        text,
        tokens: &tokens,
    };
    let mut found: Vec<Quantity> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match cursor.quantity(at) {
            Some((mut quantity, next)) if next > at => {
                share_unit(text, &mut found, &quantity);
                end_of_years(text, found.last(), &mut quantity);
                match found
                    .last_mut()
                    .and_then(|begin| begin.joined(text, &quantity))
                {
                    Some(whole) => found.last_mut().map_or((), |begin| *begin = whole),
                    None => found.push(quantity),
                }
                at = next;
            }
            _ => at += 1,
        }
    }
    found
}

impl Quantity {
    pub fn relation(&self, other: &Self) -> Relation {
        match (self.value, other.value) {
            (Value::Date(date), Value::Date(other)) => date.relation(&other),
            (Value::Time { .. }, Value::Time { .. }) => clock::relation(self.value, other.value),
            (Value::Number(number), Value::Number(_))
                if self.unit.is_none() && other.unit.is_none() =>
            {
                self.of_numbers(number, other)
            }
            (Value::Number(_), Value::Number(_)) => self.of_measures(other),
            (Value::Date(date), Value::Number(number)) => with_date(date, number, other),
            (Value::Number(number), Value::Date(date)) => with_date(date, number, self),
            (time @ Value::Time { .. }, Value::Number(number)) if other.unit.is_none() => {
                clock::with_number(time, number)
            }
            (Value::Number(number), time @ Value::Time { .. }) if self.unit.is_none() => {
                clock::with_number(time, number)
            }
            _ => Relation::Unrelated,
        }
    }

    /// Whether both say the same, one of them perhaps less exactly.
    pub fn agrees(&self, other: &Self) -> bool {
        self.relation(other) == Relation::Same
    }

    /// `3 hours and 48 minutes` is one quantity of minutes, and `5 ft 6 in` one of inches.
    fn joined(&self, text: &str, part: &Self) -> Option<Self> {
        let between = text.get(self.span.end..part.span.start)?.trim();
        let (large, number) = (self.unit?, part.number()?);
        let inches = large.name == "foot" && number < 12.0;
        let small = part.unit.or(units::INCH.filter(|_| inches))?;
        let fits = large.family == small.family
            && large.factor > small.factor
            && matches!(between, "" | "and" | ",");
        let compound = matches!(
            large.family,
            Family::Duration | Family::Months | Family::ImperialLength | Family::ImperialMass
        );
        let value = self.number()? * large.factor / small.factor + number;
        (fits && compound).then_some(Self {
            span: self.span.start..part.span.end,
            value: Value::Number(value),
            unit: Some(small),
            ..*part
        })
    }

    fn number(&self) -> Option<f64> {
        match self.value {
            Value::Number(number) => Some(number),
            Value::Time { .. } | Value::Date(_) => None,
        }
    }

    fn of_numbers(&self, number: f64, other: &Self) -> Relation {
        let same = other.number().is_some_and(|other| close(number, other));
        let both = (self.kind == Kind::Ordinal) == (other.kind == Kind::Ordinal);
        match (same, both) {
            (true, _) => Relation::Same,
            (false, true) => Relation::OtherValue,
            (false, false) => Relation::Unrelated,
        }
    }

    /// At least one has a unit.
    fn of_measures(&self, other: &Self) -> Relation {
        let (Some(a), Some(b)) = (self.number(), other.number()) else {
            return Relation::Unrelated;
        };
        let (Some(mine), Some(its)) = (self.unit, other.unit) else {
            let same = close(a, b) || self.is_share_of(a, b, other);
            return if same {
                Relation::Same
            } else {
                Relation::Unrelated
            };
        };
        if mine.family == its.family {
            return match (
                close(a * mine.factor, b * its.factor),
                mine.name == its.name,
            ) {
                (true, _) => Relation::Same,
                (false, false) if close(a, b) => Relation::OtherUnit,
                (false, _) => Relation::OtherValue,
            };
        }
        match (close(a, b), mine.family.may_be(its.family)) {
            (true, true) => Relation::Same,
            (false, true) => Relation::OtherValue,
            (true, false) => Relation::OtherUnit,
            (false, false) if mine.family.is_money() && its.family.is_money() => {
                Relation::OtherValue
            }
            (false, false) => Relation::Unrelated,
        }
    }

    /// `0.05` and `5 %`.
    fn is_share_of(&self, a: f64, b: f64, other: &Self) -> bool {
        match (self.kind, other.kind) {
            (Kind::Percent, _) => close(a, b * 100.0),
            (_, Kind::Percent) => close(a * 100.0, b),
            _ => false,
        }
    }
}

/// Equal but for the rounding of the conversion.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

/// A number beside a date may be its year or its day.
fn with_date(date: Date, number: f64, quantity: &Quantity) -> Relation {
    if quantity.unit.is_some() {
        return Relation::Unrelated;
    }
    let is = |part: Option<f64>| part.is_some_and(|part| close(part, number));
    let year_like =
        quantity.kind == Kind::Number && (1000.0..=2100.0).contains(&number) && number % 1.0 == 0.0;
    let same = is(date.year.map(f64::from)) || is(date.day.map(f64::from));
    match (same, year_like && date.year.is_some()) {
        (true, _) => Relation::Same,
        (false, true) => Relation::OtherValue,
        (false, false) => Relation::Unrelated,
    }
}

/// The number before the end of a range has the unit of that end.
fn share_unit(text: &str, found: &mut [Quantity], end: &Quantity) {
    let Some(begin) = found.last_mut().filter(|begin| begin.unit.is_none()) else {
        return;
    };
    let between = text
        .get(begin.span.end..end.span.start)
        .unwrap_or_default()
        .trim();
    let range = matches!(between, "-" | "–" | "—" | "to" | "or" | "and" | "through");
    if range && begin.kind == Kind::Number && end.number().is_some() && end.unit.is_some() {
        (begin.unit, begin.kind) = (end.unit, end.kind);
    }
}

/// The second year of `1979–80` is 1980.
fn end_of_years(text: &str, begin: Option<&Quantity>, end: &mut Quantity) {
    let Some(begin) = begin else { return };
    let between = text.get(begin.span.end..end.span.start).unwrap_or_default();
    let year = match begin.value {
        Value::Number(number) if begin.unit.is_none() => number,
        Value::Date(Date {
            year: Some(year),
            month: None,
            ..
        }) => f64::from(year),
        _ => return,
    };
    let short = end.unit.is_none() && end.kind == Kind::Number && end.span.len() == 2;
    let range = matches!(between, "-" | "–" | "/") && (1000.0..2100.0).contains(&year);
    if let Some(last) = end
        .number()
        .filter(|last| short && range && *last > year % 100.0)
    {
        end.value = Value::Number(year - year % 100.0 + last);
    }
}

struct Cursor<'t> {
    text: &'t str,
    tokens: &'t [Token<'t>],
}

impl<'t> Cursor<'t> {
    fn token(&self, at: usize) -> Option<&'t Token<'t>> {
        self.tokens.get(at)
    }

    /// The text from a token on.
    fn rest(&self, at: usize) -> Option<&'t str> {
        self.text.get(self.token(at)?.span.start..)
    }

    /// The index of the first token that begins at a byte or after it.
    fn index_of(&self, byte: usize) -> usize {
        self.tokens.partition_point(|token| token.span.start < byte)
    }

    /// From the beginning of one token to the end of the one before `next`.
    fn span(&self, at: usize, next: usize) -> Range<usize> {
        let start = self.token(at).map_or(0, |token| token.span.start);
        let end = next.checked_sub(1).and_then(|last| self.token(last));
        start..end.map_or(start, |token| token.span.end)
    }

    fn quantity(&self, at: usize) -> Option<(Quantity, usize)> {
        let whole = |(value, next): (Value, usize), kind| {
            let quantity = Quantity {
                span: self.span(at, next),
                value,
                unit: None,
                kind,
            };
            (quantity, next)
        };
        dates::read(self, at)
            .map(|(date, next)| whole((Value::Date(date), next), Kind::Date))
            .or_else(|| clock::read(self, at).map(|found| whole(found, Kind::Time)))
            .or_else(|| self.measure(at))
    }

    /// A number with the currency before it and the unit after it.
    fn measure(&self, at: usize) -> Option<(Quantity, usize)> {
        let currency = units::leading_currency(self.rest(at)?);
        let start = match currency {
            Some((_, length)) => self.index_of(self.token(at)?.span.start + length),
            None => at,
        };
        let read = self.number(start)?;
        let mut next = read.next;
        let mut unit = currency.map(|(unit, _)| unit);
        let mut value = read.value;
        if let Some((factor, after)) =
            self.scale(next, unit.is_some_and(|unit| unit.family.is_money()))
        {
            (value, next) = (value * factor, after);
        }
        let ordinal = read.ordinal || self.suffix(next, &["st", "nd", "rd", "th"]);
        if ordinal && !read.ordinal {
            next += 1;
        }
        if !ordinal && unit.is_none() {
            (unit, next) = self
                .unit(next)
                .map_or((None, next), |(unit, next)| (Some(unit), next));
        }
        let code = unit.is_none() && !ordinal && self.is_code(start, next);
        if code
            || !value.is_finite()
            || (unit.is_none() && !ordinal && self.is_pronoun(start, next))
        {
            return None;
        }
        let quantity = Quantity {
            span: self.span(at, next),
            value: Value::Number(value),
            unit,
            kind: kind(unit, ordinal),
        };
        Some((quantity, next))
    }

    fn number(&self, at: usize) -> Option<Read> {
        let token = self.token(at)?;
        if let Some(value) = token.number() {
            let (value, next) = self.fraction(value, at + 1);
            return Some(Read {
                value,
                next,
                ordinal: false,
            });
        }
        if matches!(token.text, "-" | "−") {
            let loose = !token.glued
                || at
                    .checked_sub(1)
                    .and_then(|at| self.token(at))
                    .is_some_and(|t| t.text == "(");
            let number = self.token(at + 1).filter(|number| loose && number.glued)?;
            return number.number().map(|value| Read {
                value: -value,
                next: at + 2,
                ordinal: false,
            });
        }
        if let Some((value, ordinal, next)) = words::number(self.tokens, at) {
            return Some(Read {
                value,
                next,
                ordinal,
            });
        }
        words::ordinal(token).map(|value| Read {
            value,
            next: at + 1,
            ordinal: true,
        })
    }

    /// What follows a number: `1/2`, `2 ½`.
    fn fraction(&self, value: f64, next: usize) -> (f64, usize) {
        let over = |at| {
            let token: &Token<'_> = self.token(at)?;
            token.glued.then(|| token.digits(1..=2)).flatten()
        };
        let Some(token) = self.token(next) else {
            return (value, next);
        };
        let divides = token.text == "/" && token.glued && value < 100.0;
        let below = over(next + 1).filter(|below| divides && *below > 0.0);
        let part = token
            .number()
            .filter(|part| *part < 1.0 && !token.text.is_ascii());
        match (below, part) {
            (Some(below), _) => (value / below, next + 2),
            (None, Some(part)) => (value + part, next + 1),
            (None, None) => (value, next),
        }
    }

    /// `thousand`, `k`, `M` and the like after a number.
    fn scale(&self, at: usize, money: bool) -> Option<(f64, usize)> {
        let token = self.token(at)?;
        let short = match token.text {
            "k" | "K" if token.glued => Some(1e3),
            "M" if token.glued || money => Some(1e6),
            "m" if token.glued && money => Some(1e6),
            "B" | "b" if token.glued && (money || token.text == "B") => Some(1e9),
            _ => None,
        };
        short
            .or_else(|| words::scale(token))
            .map(|factor| (factor, at + 1))
    }

    /// A unit, after a space or a hyphen or none.
    fn unit(&self, at: usize) -> Option<(Unit, usize)> {
        let at = match self.token(at)? {
            token if token.text == "-" && token.glued && self.token(at + 1)?.glued => at + 1,
            _ => at,
        };
        let token = self.token(at)?;
        let (unit, length) = units::leading(self.rest(at)?, token.glued)?;
        Some((unit, self.index_of(token.span.start + length)))
    }

    fn suffix(&self, at: usize, of: &[&str]) -> bool {
        self.token(at)
            .is_some_and(|token| token.glued && of.iter().any(|suffix| token.is(suffix)))
    }

    /// Digits with letters directly after them, as in `3D` or `4x4`.
    fn is_code(&self, start: usize, next: usize) -> bool {
        let digits = self
            .token(start)
            .is_some_and(|token| token.number().is_some());
        let letters = self
            .token(next)
            .is_some_and(|token| token.glued && token.kind == lexer::Kind::Word);
        digits && letters
    }

    /// `one` where it counts nothing: *no one*, *one of them*, *the one*.
    fn is_pronoun(&self, start: usize, next: usize) -> bool {
        const BEFORE: [&str; 12] = [
            "no", "the", "this", "that", "which", "any", "each", "every", "some", "another",
            "other", "first",
        ];
        const AFTER: [&str; 5] = ["of", "another", "or", "is", "can"];
        let one = next == start + 1 && self.token(start).is_some_and(|token| token.is("one"));
        let stands = |at: Option<usize>, among: &[&str]| {
            at.and_then(|at| self.token(at))
                .is_some_and(|token| among.iter().any(|word| token.is(word)))
        };
        one && (stands(start.checked_sub(1), &BEFORE) || stands(Some(next), &AFTER))
    }
}

struct Read {
    value: f64,
    next: usize,
    ordinal: bool,
}

fn kind(unit: Option<Unit>, ordinal: bool) -> Kind {
    match unit.map(|unit| unit.family) {
        _ if ordinal => Kind::Ordinal,
        Some(Family::Percent) => Kind::Percent,
        Some(family) if family.is_money() => Kind::Money,
        Some(family) if family.is_duration() => Kind::Duration,
        _ => Kind::Number,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each quantity as text: what was written, kind, value, unit.
    fn told(text: &str) -> Vec<String> {
        let tell = |quantity: Quantity| {
            let value = match quantity.value {
                Value::Number(number) => format!("{number}"),
                Value::Time {
                    seconds,
                    half_known,
                } => {
                    let mark = if half_known { "" } else { "?" };
                    format!("{:02}:{:02}{mark}", seconds / 3600, seconds / 60 % 60)
                }
                Value::Date(date) => {
                    let part =
                        |part: Option<i32>| part.map_or("_".to_owned(), |part| part.to_string());
                    let decade = if date.decade { "s" } else { "" };
                    let (month, day) = (date.month.map(i32::from), date.day.map(i32::from));
                    let weekday = date.weekday.map_or(String::new(), |day| format!(" w{day}"));
                    format!(
                        "{}{decade}-{}-{}{weekday}",
                        part(date.year),
                        part(month),
                        part(day)
                    )
                }
            };
            let unit = quantity
                .unit
                .map_or(String::new(), |unit| format!(" {}", unit.name));
            format!("{}|{:?} {value}{unit}", &text[quantity.span], quantity.kind)
        };
        quantities(text).into_iter().map(tell).collect()
    }

    #[test]
    fn quantities_are_read_as_written() {
        let table: &[(&str, &[&str])] = &[
            ("thirty days", &["thirty days|Duration 30 day"]),
            ("a 5-year plan", &["5-year|Duration 5 year"]),
            (
                "1,000 and 1,234,567.5",
                &["1,000|Number 1000", "1,234,567.5|Number 1234567.5"],
            ),
            (
                "3,5 of 1\u{202f}000",
                &["3,5|Number 3.5", "1\u{202f}000|Number 1000"],
            ),
            ("1,2,3", &["1|Number 1", "2|Number 2", "3|Number 3"]),
            (
                "-5 °C, 70 degrees F",
                &["-5 °C|Number -5 °C", "70 degrees F|Number 70 °F"],
            ),
            (
                "5 %, five percent",
                &["5 %|Percent 5 %", "five percent|Percent 5 %"],
            ),
            ("$3.5 million", &["$3.5 million|Money 3500000 dollar"]),
            (
                "€5bn or 20 euros, 50 cents",
                &[
                    "€5bn|Money 5000000000 euro",
                    "20 euros|Money 20 euro",
                    "50 cents|Money 50 cent",
                ],
            ),
            (
                "USD 5 or 7 USD",
                &["USD 5|Money 5 dollar", "7 USD|Money 7 dollar"],
            ),
            ("5 to 7 kg", &["5|Number 5 kg", "7 kg|Number 7 kg"]),
            ("10k users", &["10k|Number 10000"]),
            (
                "5kg, 100 km/h, 16 GB",
                &[
                    "5kg|Number 5 kg",
                    "100 km/h|Number 100 km/h",
                    "16 GB|Number 16 GB",
                ],
            ),
            (
                "2 ½ cups, 1/2 cup",
                &["2 ½ cups|Number 2.5 cup", "1/2 cup|Number 0.5 cup"],
            ),
            ("two hundred and five", &["two hundred and five|Number 205"]),
            (
                "three thousand four hundred twenty-one",
                &["three thousand four hundred twenty-one|Number 3421"],
            ),
            (
                "a hundred, two dozen",
                &["a hundred|Number 100", "two dozen|Number 24"],
            ),
            (
                "nineteen eighty-four",
                &["nineteen eighty-four|Number 1984"],
            ),
            (
                "the 3rd and the twenty-first",
                &["3rd|Ordinal 3", "twenty-first|Ordinal 21"],
            ),
            (
                "No one but one of them; one day",
                &["one day|Duration 1 day"],
            ),
            (
                "5 in the room, 5in wide",
                &["5|Number 5", "5in|Number 5 inch"],
            ),
            ("vitamin B12, 3D, version 1.2.3", &[]),
            (
                "9 pm, 9:30 a.m., 21:00",
                &[
                    "9 pm|Time 21:00",
                    "9:30 a.m.|Time 09:30",
                    "21:00|Time 21:00",
                ],
            ),
            (
                "at 9:30 or nine o'clock",
                &["9:30|Time 09:30?", "nine o'clock|Time 09:00?"],
            ),
            (
                "12 am, 12 pm, noon, midnight",
                &[
                    "12 am|Time 00:00",
                    "12 pm|Time 12:00",
                    "noon|Time 12:00",
                    "midnight|Time 00:00",
                ],
            ),
            (
                "half past nine, quarter to 6 pm",
                &["half past nine|Time 09:30?", "quarter to 6 pm|Time 17:45"],
            ),
            (
                "11.30 pm but 11.30 dollars",
                &["11.30 pm|Time 23:30", "11.30 dollars|Money 11.3 dollar"],
            ),
            ("April 10, 2018", &["April 10, 2018|Date 2018-4-10"]),
            ("10th of April 2018", &["10th of April 2018|Date 2018-4-10"]),
            (
                "april\u{a0}10,\u{a0}2018",
                &["april\u{a0}10,\u{a0}2018|Date 2018-4-10"],
            ),
            (
                "2018-04-10, 10.04.2018",
                &["2018-04-10|Date 2018-4-10", "10.04.2018|Date 2018-4-10"],
            ),
            ("13/4/2018", &["13/4/2018|Date 2018-4-13"]),
            (
                "Sept. 2018, in May",
                &["Sept. 2018|Date 2018-9-_", "May|Date _-5-_"],
            ),
            ("you may 10 times march", &["10|Number 10"]),
            (
                "in 1996, the 1990s, 44 BC",
                &[
                    "1996|Date 1996-_-_",
                    "1990s|Date 1990s-_-_",
                    "44 BC|Date -44-_-_",
                ],
            ),
            (
                "Monday and fridays",
                &["Monday|Date _-_-_ w1", "fridays|Date _-_-_ w5"],
            ),
            (
                "1996 people, 1996",
                &["1996|Number 1996", "1996|Number 1996"],
            ),
            (
                "3 hours and 48 minutes",
                &["3 hours and 48 minutes|Duration 228 min"],
            ),
            ("5 ft 10 in.", &["5 ft 10|Number 70 inch"]),
            (
                "the 1979–80 season",
                &["1979|Number 1979", "80|Number 1980"],
            ),
            ("May 7 , 2018", &["May 7 , 2018|Date 2018-5-7"]),
            ("It costs 5.", &["5|Number 5"]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(told(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn what_says_the_same_is_told_from_what_does_not() {
        use Relation::{OtherUnit, OtherValue, Same, Unrelated};
        let table = [
            ("thirty days", "30 days", Same),
            ("30 days", "30", Same),
            ("30 days", "20 days", OtherValue),
            ("30 days", "30 hours", OtherUnit),
            ("30 days", "30 months", OtherUnit),
            ("30 days", "20 months", Unrelated),
            ("1 km", "1,000 m", Same),
            ("60 minutes", "one hour", Same),
            ("5 km", "3.1 miles", Unrelated),
            ("5 kg", "5 g", OtherUnit),
            ("5 %", "0.05", Same),
            ("5 %", "6 percent", OtherValue),
            ("$5", "€5", OtherUnit),
            ("$5", "€4", OtherValue),
            ("50 cents", "$0.50", Same),
            ("20 °C", "20 degrees", Same),
            ("20 °C", "20 °F", OtherUnit),
            ("9 pm", "21:00", Same),
            ("9 pm", "9:00", Same),
            ("9 pm", "11 pm", OtherValue),
            ("9 pm", "9 am", OtherValue),
            ("9 pm", "9", Same),
            ("April 2018", "10 April 2018", Same),
            ("April 10, 2018", "2018", Same),
            ("April 2018", "May 2018", OtherValue),
            ("4/10/2018", "10 April 2018", Same),
            ("4/10/2018", "11 April 2018", OtherValue),
            ("in 1994", "the 1990s", Same),
            ("in 1984", "the 1990s", OtherValue),
            ("Monday", "Friday", OtherValue),
            ("Monday", "10 April", Unrelated),
            ("the third", "3", Same),
            ("the third", "4", Unrelated),
            ("3 people", "4", OtherValue),
        ];
        for (a, b, expected) in table {
            let (first, second) = (&quantities(a)[0], &quantities(b)[0]);
            assert_eq!(first.relation(second), expected, "{a:?} and {b:?}");
            assert_eq!(second.relation(first), expected, "{b:?} and {a:?}");
        }
    }

    proptest! {
        #[test]
        fn spans_are_slices_in_order(text in r"([0-9]{1,4}|one|twenty|hundred| |-|,|\.|:|/|½|\$|kg|pm|st|May|of|é|日){0,14}") {
            let mut end = 0;
            for quantity in quantities(&text) {
                prop_assert!(quantity.span.start >= end);
                prop_assert!(text.get(quantity.span.clone()).is_some_and(|text| !text.is_empty()));
                end = quantity.span.end;
            }
        }

        #[test]
        fn whole_numbers_are_read_in_digits(number in 0_u32..2_000_000) {
            let text = number.to_string();
            let found = quantities(&text);
            prop_assert_eq!(found.len(), 1);
            prop_assert_eq!(found[0].value, Value::Number(f64::from(number)));
        }
    }
}
