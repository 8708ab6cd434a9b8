//! Reading numbers on a scale: JSON numbers, and texts such as `4`, `8/10`, `4 out of 5`, `85%`.

use serde_json::Value;

use super::words::is_markup;
use super::{Misread, Read, shown};
use crate::judge::{SCORE_AS_TEXT, Scale};
use crate::outcome::Code;

/// Reads a number of a typed reply: a JSON number, or text such as `"8/10"` or `"85%"` where the
/// maximum matches (with [`SCORE_AS_TEXT`]).
///
/// # Errors
/// [`Code::JudgeAbstained`] for null, [`Code::ScoreOutOfRange`] for a number that the scale does
/// not hold, [`Code::NonFiniteNumber`], else [`Code::JudgeUnreadable`].
pub fn number(value: &Value, scale: &Scale) -> Result<Read<f64>, Misread> {
    match value {
        Value::Null => Err(Misread::new(
            Code::JudgeAbstained,
            "the judge gave null in place of a number",
        )),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            held(number, scale).map(Read::plain)
        }
        Value::String(text) => Ok(Read {
            value: alone(text, scale).unwrap_or_else(|| Err(no_number(text)))?,
            flags: SCORE_AS_TEXT,
        }),
        other => Err(no_number(&other.to_string())),
    }
}

/// The number that a whole text is, markup and a full stop aside. `None` where it is none.
pub(super) fn alone(text: &str, scale: &Scale) -> Option<Result<f64, Misread>> {
    let (spelled, rest) = spell(text)?;
    let rest = rest.trim_start_matches(|c: char| c == '.' || c.is_whitespace() || is_markup(c));
    rest.is_empty().then(|| spelled.on(scale))
}

/// The number that a text begins with, markup aside. `None` where it begins with none, or with a
/// range of numbers.
pub(super) fn leading(text: &str, scale: &Scale) -> Option<Result<f64, Misread>> {
    let (spelled, rest) = spell(text)?;
    (!goes_on(rest)).then(|| spelled.on(scale))
}

fn no_number(text: &str) -> Misread {
    Misread::unreadable(format!(
        "a number was asked for, and {} is none",
        shown(text)
    ))
}

/// A number as it is written.
struct Spelled {
    value: f64,
    /// The 10 of `8/10`.
    of: Option<f64>,
    percent: bool,
}

impl Spelled {
    fn on(&self, scale: &Scale) -> Result<f64, Misread> {
        let out = |message: String| Err(Misread::new(Code::ScoreOutOfRange, message));
        if self.of.is_some_and(|of| of != scale.most) {
            return out(format!(
                "the number counts to another maximum than the asked {}",
                scale.most
            ));
        }
        if !self.percent {
            return held(self.value, scale);
        }
        if self.of.is_some() || scale.least != 0.0 {
            return out(format!(
                "a percentage has no place on the scale from {} to {}",
                scale.least, scale.most
            ));
        }
        held(self.value * scale.most / 100.0, scale)
    }
}

/// A number that the scale holds, or why it is none.
fn held(value: f64, scale: &Scale) -> Result<f64, Misread> {
    if !value.is_finite() {
        return Err(Misread::new(
            Code::NonFiniteNumber,
            "the number is not finite",
        ));
    }
    if scale.holds(value) {
        return Ok(value);
    }
    let kind = if scale.whole {
        "a whole number"
    } else {
        "a number"
    };
    Err(Misread::new(
        Code::ScoreOutOfRange,
        format!(
            "{value} is not {kind} from {} to {}",
            scale.least, scale.most
        ),
    ))
}

/// A number with its maximum or per cent sign, and the text behind it.
fn spell(text: &str) -> Option<(Spelled, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || is_markup(c));
    let (value, rest) = decimal(text)?;
    let behind = rest.trim_start_matches(|c: char| c == ' ' || is_markup(c));
    let (of, rest) = match maximum(behind) {
        Some((of, rest)) => (Some(of), rest),
        None => (None, rest),
    };
    let (percent, rest) = match rest.trim_start().strip_prefix(['%', '％']) {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    Some((Spelled { value, of, percent }, rest))
}

/// The maximum of `/10` and `out of 10`.
fn maximum(text: &str) -> Option<(f64, &str)> {
    let out_of = || {
        let (words, rest) = text.split_at_checked("out of ".len())?;
        words.eq_ignore_ascii_case("out of ").then_some(rest)
    };
    let spelled = text.strip_prefix('/').or_else(out_of)?;
    decimal(spelled.trim_start_matches(|c: char| c == ' ' || is_markup(c)))
}

/// A decimal number as JSON writes it, a plus sign and leading zeros allowed, that no letter or
/// further digit touches.
fn decimal(text: &str) -> Option<(f64, &str)> {
    let (negative, unsigned) = match text.strip_prefix(['-', '−']) {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut length = digits(unsigned)?;
    let behind = |length: usize| unsigned.get(length..).unwrap_or_default();
    if let Some(fraction) = behind(length).strip_prefix('.').and_then(digits) {
        length += 1 + fraction;
    }
    if let Some(exponent) = behind(length).strip_prefix(['e', 'E']) {
        let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        length += 1 + (exponent.len() - unsigned.len()) + digits(unsigned)?;
    }
    let (number, rest) = unsigned.split_at_checked(length)?;
    let value: f64 = number.parse().ok()?;
    ends_number(rest).then_some((if negative { -value } else { value }, rest))
}

/// The number of digits that a text begins with, if any.
fn digits(text: &str) -> Option<usize> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    (count > 0).then_some(count)
}

fn ends_number(rest: &str) -> bool {
    let mut chars = rest.chars();
    match chars.next() {
        Some('.' | ',') => !chars.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !c.is_alphanumeric(),
        None => true,
    }
}

/// Whether a number is the first of several: `4-5`, `4 to 5`, `4 or 5`, `4/5/6`.
fn goes_on(rest: &str) -> bool {
    let rest = rest.trim_start_matches(|c: char| c == ' ' || is_markup(c));
    let joined = ["-", "–", "—", "~", "/", "to ", "or ", "and "];
    joined.iter().any(|joint| {
        rest.strip_prefix(joint)
            .is_some_and(|next| digits(next.trim_start()).is_some())
    })
}
