//! What JSON numbers are worth, exactly, from their text: 1 = 1.0 = 1e0, -0 = 0,
//! 9007199254740993 ≠ 9007199254740992.
//!
//! A number is brought to (sign, digits without leading and trailing zeros, decimal exponent),
//! which is unique, without building anything: the digits stay slices of the text.

use std::cmp::Ordering;
use std::fmt::Write;

/// Whether two JSON numbers have the same value.
///
/// Texts must be numbers of RFC 8259; for others the answer means nothing.
pub fn equal(a: &str, b: &str) -> bool {
    if a == b {
        return true;
    }
    if is_plain_integer(a) && is_plain_integer(b) {
        return is_zero_digit(a) && is_zero_digit(b);
    }
    Decimal::new(a) == Decimal::new(b)
}

/// Compares two JSON numbers by value.
pub fn compare(a: &str, b: &str) -> Ordering {
    Decimal::new(a).compare(&Decimal::new(b))
}

/// Whether the number is a whole one: 1, 1.0 and 1.5e1 are.
pub fn is_integer(text: &str) -> bool {
    is_plain_integer(text) || Decimal::new(text).exponent >= 0
}

/// The nearest `f64`; ±∞ beyond its range.
pub fn to_f64(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// The value of a whole number, however it is written, if it fits.
pub fn to_integer(text: &str) -> Option<i128> {
    let decimal = Decimal::new(text);
    let power = u32::try_from(decimal.exponent).ok()?;
    let magnitude = decimal.digits().try_fold(0_i128, |value, digit| {
        value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))
    })?;
    let value = magnitude.checked_mul(10_i128.checked_pow(power)?)?;
    Some(if decimal.negative { -value } else { value })
}

/// The number for `serde_json`, as an integer where it is written as one that fits in 64 bits.
pub(super) fn to_number(text: &str) -> serde_json::Number {
    if text != "-0" {
        if let Ok(value) = text.parse::<u64>() {
            return value.into();
        }
        if let Ok(value) = text.parse::<i64>() {
            return value.into();
        }
    }
    let value = to_f64(text).clamp(f64::MIN, f64::MAX);
    serde_json::Number::from_f64(value).unwrap_or_else(|| 0.into())
}

/// Appends the one text that all spellings of a value share, laid out as ECMAScript prints numbers
/// (RFC 8785 takes it from there), but with all digits: 1, 1.0, 1e0 → `1`; 1e21 → `1e+21`.
pub(super) fn write_canonical(text: &str, out: &mut String) {
    if is_plain_integer(text) && text.len() <= 15 {
        out.push_str(if text == "-0" { "0" } else { text });
        return;
    }
    let decimal = Decimal::new(text);
    if decimal.negative {
        out.push('-');
    }
    let digits: String = decimal.digits().map(char::from).collect();
    write_decimal(&digits, decimal.exponent, -6, 21, out);
}

/// Appends a float as Python's `repr` spells it: the shortest digits that give the same binary64,
/// always with a point or an exponent; `inf` is `Infinity`, as `json.dumps` writes it.
pub(super) fn write_python_float(value: f64, out: &mut String) {
    if value.is_sign_negative() {
        out.push('-');
    }
    if !value.is_finite() {
        out.push_str("Infinity");
        return;
    }
    let shortest = format!("{:e}", value.abs());
    let decimal = Decimal::new(&shortest);
    let digits: String = decimal.digits().map(char::from).collect();
    let point = digits.len() as i128 + decimal.exponent;
    if digits.is_empty() {
        out.push_str("0.0");
    } else if (-3..=16).contains(&point) {
        write_decimal(&digits, decimal.exponent, -4, 16, out);
        if decimal.exponent >= 0 {
            out.push_str(".0");
        }
    } else {
        write_mantissa(&digits, out);
        let exponent = point - 1;
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "e{sign}{:02}", exponent.unsigned_abs());
    }
}

/// Writes `digits`·10^`exponent` in plain decimals where the point, counted from the first digit,
/// lies in `after..=before`, else with an exponent.
fn write_decimal(digits: &str, exponent: i128, after: i128, before: i128, out: &mut String) {
    let point = digits.len() as i128 + exponent;
    if digits.is_empty() {
        out.push('0');
    } else if exponent >= 0 && point <= before {
        out.push_str(digits);
        out.extend(std::iter::repeat_n('0', exponent as usize));
    } else if 0 < point && point <= before {
        let (whole, fraction) = digits.split_at_checked(point as usize).unwrap_or_default();
        let _ = write!(out, "{whole}.{fraction}");
    } else if after < point && point <= 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', point.unsigned_abs() as usize));
        out.push_str(digits);
    } else {
        write_mantissa(digits, out);
        let _ = write!(out, "e{:+}", point - 1);
    }
}

fn write_mantissa(digits: &str, out: &mut String) {
    let (first, rest) = digits.split_at_checked(1).unwrap_or_default();
    out.push_str(first);
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
}

/// ± (`head` then `tail`, read as one whole number) · 10^`exponent`, in lowest terms: neither the
/// first nor the last digit is 0; zero has no digits, no sign and exponent 0.
#[derive(Debug, Clone, Copy)]
struct Decimal<'a> {
    negative: bool,
    head: &'a [u8],
    tail: &'a [u8],
    /// The point of a number farther away than [`FARTHEST`] is held there: such numbers of equal
    /// digits are taken as equal.
    exponent: i128,
}

/// How many places the point may lie from the first digit. A text that names more is none that
/// anybody could write out, and sums of places stay far from the ends of `i128`.
const FARTHEST: i128 = 1 << 100;

impl<'a> Decimal<'a> {
    fn new(text: &'a str) -> Self {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, saturating_exponent(exponent)),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        Self::reduce(negative, whole, fraction, exponent)
    }

    fn reduce(negative: bool, whole: &'a str, fraction: &'a str, exponent: i128) -> Self {
        let mut head = whole.trim_start_matches('0');
        let mut tail = fraction.trim_end_matches('0');
        let mut exponent = exponent.saturating_sub(tail.len() as i128);
        if tail.is_empty() {
            let trimmed = head.trim_end_matches('0');
            exponent = exponent.saturating_add((head.len() - trimmed.len()) as i128);
            head = trimmed;
        } else if head.is_empty() {
            tail = tail.trim_start_matches('0');
        }
        let len = (head.len() + tail.len()) as i128;
        let point = exponent.saturating_add(len).clamp(-FARTHEST, FARTHEST);
        Self {
            negative: negative && len > 0,
            head: head.as_bytes(),
            tail: tail.as_bytes(),
            exponent: if len > 0 { point - len } else { 0 },
        }
    }

    fn digits(&self) -> impl Iterator<Item = u8> + use<'a> {
        self.head.iter().chain(self.tail).copied()
    }

    fn len(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    fn sign(&self) -> i8 {
        match (self.len(), self.negative) {
            (0, _) => 0,
            (_, true) => -1,
            (_, false) => 1,
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign != Ordering::Equal || self.sign() == 0 {
            return by_sign;
        }
        let point = |number: &Self| number.exponent + number.len() as i128;
        let magnitude = point(self)
            .cmp(&point(other))
            .then_with(|| self.digits().cmp(other.digits()));
        if self.negative {
            magnitude.reverse()
        } else {
            magnitude
        }
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.negative == other.negative
            && self.exponent == other.exponent
            && self.len() == other.len()
            && self.digits().eq(other.digits())
    }
}

fn saturating_exponent(text: &str) -> i128 {
    let held = if text.starts_with('-') {
        i128::MIN
    } else {
        i128::MAX
    };
    text.parse().unwrap_or(held)
}

/// Whether the number has neither a fraction nor an exponent.
pub(super) fn is_plain_integer(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte == b'-' || byte.is_ascii_digit())
}

fn is_zero_digit(text: &str) -> bool {
    text == "0" || text == "-0"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_by_value_and_exact() {
        let equal_ones = [
            ("1", "1.0"),
            ("1", "1e0"),
            ("1", "10E-1"),
            ("1", "0.1e+1"),
            ("-0", "0"),
            ("-0.0", "0e99999999999999999999999999999999999999999999"),
            ("0.1", "0.10"),
            ("100", "1e2"),
            ("120", "1.20e2"),
            ("0.00120", "12e-4"),
            ("1e400", "10e399"),
            (
                "123456789012345678901234567890",
                "1.2345678901234567890123456789e29",
            ),
        ];
        let unequal_ones = [
            ("9007199254740993", "9007199254740992"),
            ("0.1", "0.1000000000000000055511151231257827"),
            ("1", "-1"),
            ("1", "10"),
            ("12", "1.02e1"),
            ("1e400", "1e401"),
            ("1e-400", "0"),
        ];
        for (a, b) in equal_ones {
            assert!(equal(a, b) && equal(b, a), "{a} = {b}");
            assert_eq!(compare(a, b), Ordering::Equal, "{a} = {b}");
            let (mut x, mut y) = (String::new(), String::new());
            write_canonical(a, &mut x);
            write_canonical(b, &mut y);
            assert_eq!(x, y, "{a} = {b}");
        }
        for (a, b) in unequal_ones {
            assert!(!equal(a, b) && !equal(b, a), "{a} ≠ {b}");
            assert_ne!(compare(a, b), Ordering::Equal, "{a} ≠ {b}");
        }
    }

    #[test]
    fn order_is_by_value() {
        let ascending = [
            "-1e400",
            "-12.5",
            "-12",
            "-1e-9",
            "-0.0",
            "1e-400",
            "0.09",
            "0.1",
            "0.11",
            "9.99",
            "10",
            "10.01",
            "9007199254740992",
            "9007199254740993",
            "1e100",
        ];
        for (i, a) in ascending.iter().enumerate() {
            for (j, b) in ascending.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a} against {b}");
            }
        }
    }

    #[test]
    fn whole_numbers() {
        for text in ["1", "-3", "1.0", "1.50e1", "1e400", "0.0", "-0", "0e-5"] {
            assert!(is_integer(text), "{text}");
        }
        for text in ["1.5", "1e-1", "12e-1", "1e-400"] {
            assert!(!is_integer(text), "{text}");
        }
    }

    #[test]
    fn integers_however_written() {
        let cases = [
            ("12", Some(12)),
            ("-1.20e1", Some(-12)),
            ("0e9", Some(0)),
            ("9007199254740993.0", Some(9_007_199_254_740_993)),
            ("1.8446744073709551615e19", Some(u64::MAX.into())),
            ("1.5", None),
            ("1e-1", None),
            ("1e99", None),
            ("1e999999999999999999999999999999999999999999", None),
        ];
        for (text, expected) in cases {
            assert_eq!(to_integer(text), expected, "{text}");
        }
    }

    #[test]
    fn canonical_layout() {
        let cases = [
            ("100", "100"),
            ("1e2", "100"),
            ("-0.0", "0"),
            ("1E21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1e-7"),
            ("1.50e-9", "1.5e-9"),
            ("-12.340", "-12.34"),
            ("123456789.5e-3", "123456.7895"),
            ("1234567890123456789012.5", "1.2345678901234567890125e+21"),
        ];
        for (text, expected) in cases {
            let mut out = String::new();
            write_canonical(text, &mut out);
            assert_eq!(out, expected, "{text}");
        }
    }

    /// Found by fuzzing.
    #[test]
    fn exponents_that_no_integer_holds() {
        let nines = "9".repeat(60);
        for text in [
            format!("1.5e{nines}"),
            format!("15e-{nines}"),
            format!("{nines}e170141183460469231731687303715884105727"),
            format!("0.{nines}e-170141183460469231731687303715884105728"),
        ] {
            let (mut once, mut twice) = (String::new(), String::new());
            write_canonical(&text, &mut once);
            write_canonical(&once, &mut twice);
            assert_eq!(once, twice, "{text}");
            assert!(equal(&text, &once), "{text} = {once}");
            assert_eq!(compare(&text, &once), Ordering::Equal, "{text} = {once}");
        }
    }

    #[test]
    fn python_repr() {
        let cases = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (100.0, "100.0"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e22, "1.25e+22"),
            (1234.5, "1234.5"),
            (1e300, "1e+300"),
            (f64::INFINITY, "Infinity"),
            (9_007_199_254_740_993.0, "9007199254740992.0"),
        ];
        for (value, expected) in cases {
            let mut out = String::new();
            write_python_float(value, &mut out);
            assert_eq!(out, expected);
        }
    }
}
