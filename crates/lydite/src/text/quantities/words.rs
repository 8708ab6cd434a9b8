//! Numbers written as English words.

use super::lexer::{Kind, Token};

/// A number in words that begins at `at`: its value, whether it is an ordinal, and the index after it.
pub(super) fn number(tokens: &[Token<'_>], at: usize) -> Option<(f64, bool, usize)> {
    let (mut sum, mut low, mut next) = begin(tokens, at)?;
    let mut ordinal = false;
    let mut last = Step::Small(low);
    while let Some((step, after)) = follow(tokens, next, last) {
        match step {
            Step::Small(value) => low += value,
            Step::YearEnd(value) => low = low * 100.0 + value,
            Step::Hundred => low *= 100.0,
            Step::Scale(value) => {
                sum += low * value;
                low = 0.0;
            }
            Step::Ordinal(value) => {
                low += value;
                ordinal = true;
            }
        }
        (last, next) = (step, after);
        if ordinal {
            break;
        }
    }
    Some((sum + low, ordinal, next))
}

/// The value of a word that multiplies: `million`, and its short forms where a number stands before them.
pub(super) fn scale(token: &Token<'_>) -> Option<f64> {
    Some(match token.text.to_ascii_lowercase().as_str() {
        "hundred" => 1e2,
        "thousand" => 1e3,
        "million" | "millions" | "mn" | "mio" => 1e6,
        "billion" | "billions" | "bn" => 1e9,
        "trillion" | "trillions" | "tn" => 1e12,
        "dozen" => 12.0,
        _ => return None,
    })
}

/// `first` … `thousandth`.
pub(super) fn ordinal(token: &Token<'_>) -> Option<f64> {
    let word = token.text.to_ascii_lowercase();
    let place = ORDINALS.iter().position(|ordinal| *ordinal == word);
    place.map(|place| place as f64 + 1.0).or_else(|| {
        let place = TENTHS.iter().position(|tenth| *tenth == word)?;
        Some(20.0 + 10.0 * place as f64)
    })
}

#[derive(Clone, Copy)]
enum Step {
    Small(f64),
    /// The second half of a year: nineteen *eighty*.
    YearEnd(f64),
    Hundred,
    Scale(f64),
    Ordinal(f64),
}

/// The first word: a sum so far, what has no scale yet, the index after it.
fn begin(tokens: &[Token<'_>], at: usize) -> Option<(f64, f64, usize)> {
    let token = tokens.get(at)?;
    if let Some(value) = small(token) {
        return Some((0.0, value, at + 1));
    }
    let counts = tokens.get(at + 1).is_some_and(|next| scale(next).is_some());
    (counts && (token.is("a") || token.is("an"))).then_some((0.0, 1.0, at + 1))
}

fn follow(tokens: &[Token<'_>], at: usize, last: Step) -> Option<(Step, usize)> {
    let token = tokens.get(at)?;
    let after_large = matches!(last, Step::Hundred | Step::Scale(_));
    if token.text == "-" || (token.is("and") && after_large) {
        let (step, after) = follow_word(tokens.get(at + 1)?, last)?;
        let joins = matches!(step, Step::Small(_) | Step::Ordinal(_));
        return joins.then_some((step, at + 1 + after));
    }
    follow_word(token, last).map(|(step, after)| (step, at + after))
}

fn follow_word(token: &Token<'_>, last: Step) -> Option<(Step, usize)> {
    let step = match (last, small(token), ordinal(token)) {
        (Step::Small(tens), Some(unit), _) if is_tens(tens) && (1.0..10.0).contains(&unit) => {
            Step::Small(unit)
        }
        (Step::YearEnd(tens), Some(unit), _) if is_tens(tens) && (1.0..10.0).contains(&unit) => {
            Step::Small(unit)
        }
        (Step::Small(century), Some(end), _) if (13.0..=20.0).contains(&century) && end >= 10.0 => {
            Step::YearEnd(end)
        }
        (Step::Hundred | Step::Scale(_), Some(value), _) => Step::Small(value),
        (Step::Small(tens), _, Some(unit)) if is_tens(tens) && unit < 10.0 => Step::Ordinal(unit),
        (Step::Small(_) | Step::YearEnd(_) | Step::Hundred, _, _) => match scale(token)? {
            100.0 => Step::Hundred,
            value => Step::Scale(value),
        },
        _ => return None,
    };
    Some((step, 1))
}

fn is_tens(value: f64) -> bool {
    value >= 20.0 && value % 10.0 == 0.0
}

fn small(token: &Token<'_>) -> Option<f64> {
    if token.kind != Kind::Word {
        return None;
    }
    let word = token.text.to_ascii_lowercase();
    let low = SMALL.iter().position(|name| *name == word);
    low.map(|value| value as f64).or_else(|| {
        let tens = TENS.iter().position(|name| *name == word)?;
        Some(20.0 + 10.0 * tens as f64)
    })
}

const SMALL: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 8] = [
    "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
];

const ORDINALS: [&str; 19] = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
];

const TENTHS: [&str; 8] = [
    "twentieth",
    "thirtieth",
    "fortieth",
    "fiftieth",
    "sixtieth",
    "seventieth",
    "eightieth",
    "ninetieth",
];
