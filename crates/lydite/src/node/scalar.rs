//! What a plain scalar is under the core schema of YAML 1.2.2, section 10.3.2.

/// A plain scalar that is not null, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Resolved {
    /// `true`, `True`, `TRUE` and the same for false.
    Bool(bool),
    /// A whole number from 0 to 2^64 − 1, in decimal, octal (`0o`) or hexadecimal (`0x`).
    Unsigned(u64),
    /// A whole number from −2^63 to −1.
    Signed(i64),
    /// A finite number with point or exponent, or a whole one past 64 bits.
    Float(f64),
    /// A number by its form, but not one that a finite 64-bit float holds.
    NotFinite,
    /// Everything else.
    Text,
}

/// Whether a plain scalar is null.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Resolves a plain scalar that is not null.
pub(super) fn resolve(text: &str) -> Resolved {
    match text.as_bytes() {
        [b't' | b'T' | b'f' | b'F', ..] => boolean(text).map_or(Resolved::Text, Resolved::Bool),
        [b'0', b'x', digits @ ..] => radix(text, digits, 16),
        [b'0', b'o', digits @ ..] => radix(text, digits, 8),
        [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => number(text),
        _ => Resolved::Text,
    }
}

fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

fn radix(text: &str, digits: &[u8], radix: u32) -> Resolved {
    if digits.is_empty()
        || !digits
            .iter()
            .all(|&digit| char::from(digit).is_digit(radix))
    {
        return Resolved::Text;
    }
    text.get(2..)
        .and_then(|digits| u64::from_str_radix(digits, radix).ok())
        .map_or(Resolved::NotFinite, Resolved::Unsigned)
}

fn number(text: &str) -> Resolved {
    match form(text.as_bytes()) {
        Form::Text => Resolved::Text,
        Form::NotFinite => Resolved::NotFinite,
        Form::Integer => match (text.parse(), text.parse()) {
            (Ok(value), _) => Resolved::Unsigned(value),
            (_, Ok(0)) => Resolved::Unsigned(0),
            (_, Ok(value)) => Resolved::Signed(value),
            _ => float(text),
        },
        Form::Float => float(text),
    }
}

fn float(text: &str) -> Resolved {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Resolved::Float(value),
        _ => Resolved::NotFinite,
    }
}

enum Form {
    Integer,
    Float,
    NotFinite,
    Text,
}

/// Matches `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?` and the names of
/// the numbers that are not finite.
fn form(text: &[u8]) -> Form {
    let unsigned = text
        .strip_prefix(b"-")
        .or_else(|| text.strip_prefix(b"+"))
        .unwrap_or(text);
    if matches!(unsigned, b".inf" | b".Inf" | b".INF")
        || matches!(text, b".nan" | b".NaN" | b".NAN")
    {
        return Form::NotFinite;
    }
    let (whole, rest) = split_digits(unsigned);
    if rest.is_empty() {
        return if whole == 0 {
            Form::Text
        } else {
            Form::Integer
        };
    }
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => split_digits(rest),
        _ => (0, rest),
    };
    let exponent_fits = match rest {
        [] => true,
        [b'e' | b'E', b'-' | b'+', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    };
    if whole + fraction > 0 && exponent_fits {
        Form::Float
    } else {
        Form::Text
    }
}

/// How many digits the text starts with, and what follows them.
fn split_digits(text: &[u8]) -> (usize, &[u8]) {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count, text.get(count..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_numbers() {
        let table = [
            ("-0", Resolved::Unsigned(0)),
            ("+0", Resolved::Unsigned(0)),
            ("-9223372036854775808", Resolved::Signed(i64::MIN)),
            (
                "-9223372036854775809",
                Resolved::Float(-9_223_372_036_854_775_809.0),
            ),
            ("1E+2", Resolved::Float(100.0)),
            ("-.5e-1", Resolved::Float(-0.05)),
            ("+12.", Resolved::Float(12.0)),
            ("-.INF", Resolved::NotFinite),
            ("-1e400", Resolved::NotFinite),
            ("0xFFFFFFFFFFFFFFFFF", Resolved::NotFinite),
            ("0x", Resolved::Text),
            ("0x+1", Resolved::Text),
            ("0o8", Resolved::Text),
            ("-0x1", Resolved::Text),
            ("-.nan", Resolved::Text),
            ("inf", Resolved::Text),
            ("infinity", Resolved::Text),
            ("nan", Resolved::Text),
            (".", Resolved::Text),
            ("-", Resolved::Text),
            ("+", Resolved::Text),
            ("e3", Resolved::Text),
            (".e3", Resolved::Text),
            ("1e", Resolved::Text),
            ("1e+", Resolved::Text),
            ("1.2.3", Resolved::Text),
            ("1 000", Resolved::Text),
            ("١", Resolved::Text),
            ("True", Resolved::Bool(true)),
            ("FALSE", Resolved::Bool(false)),
            ("truE", Resolved::Text),
        ];
        for (text, expected) in table {
            assert_eq!(resolve(text), expected, "{text}");
        }
    }
}
