//! Times of day.

use super::{Cursor, Relation, Value, words};

const NOON: u32 = 12 * 3600;
const DAY: u32 = 24 * 3600;

/// A time that begins at a token, and the index after it.
pub(super) fn read(cursor: &Cursor<'_>, at: usize) -> Option<(Value, usize)> {
    named(cursor, at)
        .or_else(|| spoken(cursor, at))
        .or_else(|| written(cursor, at))
}

pub(super) fn relation(a: Value, b: Value) -> Relation {
    let (Some((a, a_known)), Some((b, b_known))) = (parts(a), parts(b)) else {
        return Relation::Unrelated;
    };
    let same = a == b || (!(a_known && b_known) && a % NOON == b % NOON);
    if same {
        Relation::Same
    } else {
        Relation::OtherValue
    }
}

/// A bare number may be the hour: `from 9 to 5 pm`.
pub(super) fn with_number(time: Value, number: f64) -> Relation {
    let Some((seconds, _)) = parts(time) else {
        return Relation::Unrelated;
    };
    let hour = f64::from(seconds % NOON) / 3600.0;
    let same = (0.0..=24.0).contains(&number) && (number % 12.0 - hour).abs() < 1e-9;
    if same {
        Relation::Same
    } else {
        Relation::Unrelated
    }
}

fn parts(time: Value) -> Option<(u32, bool)> {
    match time {
        Value::Time {
            seconds,
            half_known,
        } => Some((seconds, half_known)),
        Value::Number(_) | Value::Date(_) => None,
    }
}

fn named(cursor: &Cursor<'_>, at: usize) -> Option<(Value, usize)> {
    let token = cursor.token(at)?;
    let seconds = match token.text.to_ascii_lowercase().as_str() {
        "noon" | "midday" => NOON,
        "midnight" => 0,
        _ => return None,
    };
    Some((known(seconds), at + 1))
}

/// `half past nine`, `quarter to 6`.
fn spoken(cursor: &Cursor<'_>, at: usize) -> Option<(Value, usize)> {
    let minutes = match cursor.token(at)? {
        token if token.is("half") => 30,
        token if token.is("quarter") => 15,
        _ => return None,
    };
    let to = match cursor.token(at + 1)? {
        token if token.is("past") => false,
        token if token.is("to") && minutes == 15 => true,
        _ => return None,
    };
    let (hour, next) = hour(cursor, at + 2)?;
    let sum = if to {
        hour * 60 + 12 * 60 - minutes
    } else {
        hour * 60 + minutes
    };
    let (half, next) = half(cursor, next).map_or((None, next), |(half, next)| (Some(half), next));
    Some((time(sum % (24 * 60) * 60, half), next))
}

/// `9 pm`, `21:00`, `9:30:15 a.m.`, `nine o'clock`.
fn written(cursor: &Cursor<'_>, at: usize) -> Option<(Value, usize)> {
    let (hour, mut next) = hour(cursor, at)?;
    let mut seconds = hour * 3600;
    let mut is_time = false;
    for (factor, marks) in [(60, &[":", "."][..]), (1, &[":"][..])] {
        let Some(part) = sixtieth(cursor, next, marks) else {
            break;
        };
        seconds += part * factor;
        next += 2;
        is_time = true;
    }
    if !is_time {
        // 9.30 is read as a decimal number, so its minutes are in the number token itself.
        let minutes = pointed(cursor, at).unwrap_or(0);
        seconds += minutes * 60;
    }
    let half = half(cursor, next);
    let o_clock = cursor
        .token(next)
        .is_some_and(|token| token.is("o'clock") || token.is("o’clock"));
    let after = match half {
        Some((_, after)) => after,
        None if o_clock => next + 1,
        None => next,
    };
    let pointed_only = !is_time && pointed(cursor, at).is_some() && half.is_none();
    let valid = seconds <= DAY && (half.is_none() || hour <= 12 || seconds < DAY);
    (valid && !pointed_only && (is_time || half.is_some() || o_clock))
        .then(|| (time(seconds % DAY, half.map(|(half, _)| half)), after))
}

/// A whole hour in digits or words, or the whole part of `9.30`.
fn hour(cursor: &Cursor<'_>, at: usize) -> Option<(u32, usize)> {
    let token = cursor.token(at)?;
    let (value, next) = match token.digits(1..=2) {
        Some(value) => (value, at + 1),
        None if pointed(cursor, at).is_some() => (token.number()?.trunc(), at + 1),
        None => {
            let (value, ordinal, next) = words::number(cursor.tokens, at)?;
            (!ordinal && next == at + 1).then_some((value, next))?
        }
    };
    (0.0..=24.0)
        .contains(&value)
        .then_some((value as u32, next))
}

/// The minutes of `9.30`.
fn pointed(cursor: &Cursor<'_>, at: usize) -> Option<u32> {
    let token = cursor.token(at)?;
    token.number()?;
    let (hour, minutes) = token.text.split_once('.')?;
    let minutes: u32 = minutes
        .parse()
        .ok()
        .filter(|_| minutes.len() == 2 && hour.len() <= 2)?;
    (minutes < 60).then_some(minutes)
}

/// Two digits below 60 after a mark, all without spaces.
fn sixtieth(cursor: &Cursor<'_>, at: usize, marks: &[&str]) -> Option<u32> {
    let (mark, part) = (cursor.token(at)?, cursor.token(at + 1)?);
    let value = part.digits(2..=2)?;
    (marks.contains(&mark.text) && mark.glued && part.glued && value < 60.0).then_some(value as u32)
}

/// `am` (false) or `pm` (true), and the index after it.
fn half(cursor: &Cursor<'_>, at: usize) -> Option<(bool, usize)> {
    const FORMS: [(&str, bool); 8] = [
        ("a.m.", false),
        ("p.m.", true),
        ("a. m.", false),
        ("p. m.", true),
        ("a.m", false),
        ("p.m", true),
        ("am", false),
        ("pm", true),
    ];
    let rest = cursor.rest(at)?;
    let (form, is_pm) = FORMS.iter().find(|(form, _)| {
        let head = rest
            .get(..form.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(form));
        let goes_on = rest
            .get(form.len()..)
            .and_then(|tail| tail.chars().next())
            .is_some_and(char::is_alphanumeric);
        head && !goes_on
    })?;
    Some((
        *is_pm,
        cursor.index_of(cursor.token(at)?.span.start + form.len()),
    ))
}

fn known(seconds: u32) -> Value {
    Value::Time {
        seconds,
        half_known: true,
    }
}

fn time(seconds: u32, half: Option<bool>) -> Value {
    match half {
        Some(pm) => known(seconds % NOON + if pm { NOON } else { 0 }),
        None => Value::Time {
            seconds,
            half_known: !(3600..NOON + 3600).contains(&seconds),
        },
    }
}
