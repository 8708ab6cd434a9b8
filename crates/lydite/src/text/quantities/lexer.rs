//! Numbers, words and signs of a text, before anybody asks what they mean together.

use std::ops::Range;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
    pub span: Range<usize>,
    /// No white space stands before it.
    pub glued: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Digits, with grouping and decimals resolved.
    Number {
        value: f64,
        /// Nothing but digits was written: how many.
        plain: Option<usize>,
    },
    /// `10.04.2018`
    Dotted {
        day: u8,
        month: u8,
        year: i32,
    },
    /// Letters and digits that begin with a letter (`B12`), or numbers with two points (`1.2.3`).
    Word,
    Sign,
}

impl Token<'_> {
    pub(super) fn is(&self, word: &str) -> bool {
        self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn number(&self) -> Option<f64> {
        match self.kind {
            Kind::Number { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The number where it was written as so many digits and nothing else.
    pub(super) fn digits(&self, allowed: std::ops::RangeInclusive<usize>) -> Option<f64> {
        match self.kind {
            Kind::Number {
                value,
                plain: Some(count),
            } if allowed.contains(&count) => Some(value),
            _ => None,
        }
    }
}

pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let spaces = rest.len() - rest.trim_start().len();
        let Some(body) = rest.get(spaces..).filter(|body| !body.is_empty()) else {
            break;
        };
        let in_list = spaces == 0
            && tokens
                .last()
                .is_some_and(|token| token.text == "," && token.glued);
        let (kind, length) = first(body, in_list);
        let start = at + spaces;
        tokens.push(Token {
            kind,
            text: body.get(..length).unwrap_or_default(),
            span: start..start + length,
            glued: spaces == 0 && start > 0,
        });
        at = start + length;
    }
    tokens
}

/// The token that a text without leading space begins with, and its length in bytes. `in_list`: a comma stands
/// directly before it.
fn first(body: &str, in_list: bool) -> (Kind, usize) {
    let Some(start) = body.chars().next() else {
        return (Kind::Sign, 0);
    };
    if start.is_ascii_digit() {
        return numeric(body, in_list);
    }
    if let Some(value) = vulgar(start) {
        return (Kind::Number { value, plain: None }, start.len_utf8());
    }
    if start.is_alphabetic() {
        return (Kind::Word, word_length(body));
    }
    (Kind::Sign, start.len_utf8())
}

/// Letters and digits, with apostrophes between letters.
fn word_length(body: &str) -> usize {
    let mut chars = body.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let inside = c.is_alphanumeric()
            || (matches!(c, '\'' | '’')
                && chars.peek().is_some_and(|(_, next)| next.is_alphabetic()));
        if !inside {
            return at;
        }
    }
    body.len()
}

/// Digits, grouped by commas or narrow spaces, with decimals after a point (or a comma, where no group can be meant).
fn numeric(body: &str, in_list: bool) -> (Kind, usize) {
    let whole = digit_run(body);
    let mut written: String = body.get(..whole).unwrap_or_default().to_owned();
    let mut length = whole;
    while let Some((mark, group)) = group_after(body, length, whole) {
        written.push_str(group);
        length += mark + group.len();
    }
    let grouped = length > whole;
    let decimals = decimals_after(body, length, grouped || in_list);
    if let Some(dotted) = decimals.and_then(|_| dotted(body)) {
        return dotted;
    }
    if let Some(decimals) = decimals {
        written.push('.');
        written.push_str(decimals);
        length += 1 + decimals.len();
    }
    let plain = (!grouped && decimals.is_none()).then_some(whole);
    let value = written.parse().unwrap_or(f64::MAX);
    (Kind::Number { value, plain }, length)
}

/// Three digits after a mark of grouping at `at`, with the length of the mark.
fn group_after(body: &str, at: usize, whole: usize) -> Option<(usize, &str)> {
    let tail = body.get(at..)?;
    let mark = tail
        .chars()
        .next()
        .filter(|c| matches!(c, ',' | '\u{a0}' | '\u{202f}' | '\u{2009}' | '\''))?;
    let group = tail.get(mark.len_utf8()..)?;
    let fits = whole <= 3 && digit_run(group) == 3;
    fits.then(|| (mark.len_utf8(), group.get(..3).unwrap_or_default()))
}

/// `no_comma`: a comma is no decimal mark here.
fn decimals_after(body: &str, at: usize, no_comma: bool) -> Option<&str> {
    let tail = body.get(at..)?;
    let digits = tail.get(1..).map_or(0, digit_run);
    let goes_on = tail.get(1 + digits..).is_some_and(|rest| {
        rest.starts_with(',') && rest.get(1..).is_some_and(|more| digit_run(more) > 0)
    });
    let is_decimal = match tail.as_bytes().first()? {
        b'.' => digits > 0,
        b',' => !no_comma && matches!(digits, 1 | 2) && !goes_on,
        _ => false,
    };
    is_decimal.then(|| tail.get(1..=digits)).flatten()
}

/// A date or a version: digits with two points or more.
fn dotted(body: &str) -> Option<(Kind, usize)> {
    let length = body
        .char_indices()
        .find(|(at, c)| {
            let digit_follows = || body.get(at + 1..).is_some_and(|rest| digit_run(rest) > 0);
            !(c.is_ascii_digit() || (*c == '.' && digit_follows()))
        })
        .map_or(body.len(), |(at, _)| at);
    let parts: Vec<&str> = body.get(..length)?.split('.').collect();
    let kind = match parts.as_slice() {
        [day, month, year] if year.len() == 4 && day.len() <= 2 && month.len() <= 2 => {
            Kind::Dotted {
                day: day.parse().ok()?,
                month: month.parse().ok()?,
                year: year.parse().ok()?,
            }
        }
        [_, _, _, ..] => Kind::Word,
        _ => return None,
    };
    Some((kind, length))
}

fn digit_run(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn vulgar(c: char) -> Option<f64> {
    Some(match c {
        '½' => 0.5,
        '¼' => 0.25,
        '¾' => 0.75,
        '⅓' => 1.0 / 3.0,
        '⅔' => 2.0 / 3.0,
        '⅛' => 0.125,
        _ => return None,
    })
}
