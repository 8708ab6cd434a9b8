//! JSON back to text: as read, as the one canonical text of a value, and as Python dumps it.

use std::cmp::Ordering;
use std::fmt::Write;

use super::{Json, Member, number};

/// Appends compact JSON, members and numbers as they were read.
pub fn compact(json: &Json<'_>, out: &mut String) {
    write::<AsRead>(json, out);
}

/// Appends the text that all spellings of a value share, for hashing: RFC 8785 (keys sorted by
/// UTF-16 units, no spaces, as few escapes as can be), but for numbers, which keep all their
/// digits, so that 1, 1.0 and 1e0 are one text and 9007199254740993 stays itself.
pub fn canonical(json: &Json<'_>, out: &mut String) {
    write::<Canonical>(json, out);
}

/// Appends what Python's `json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))`
/// gives: keys sorted by code point, everything but ASCII escaped as `\uXXXX`, whole numbers
/// written as such kept, all others as the `repr` of their nearest binary64.
pub fn python_dump(json: &Json<'_>, out: &mut String) {
    write::<Python>(json, out);
}

/// How one dialect spells what JSON leaves free.
trait Style {
    /// The order of an object's keys, if not that of the source.
    const ORDER: Option<fn(&str, &str) -> Ordering>;
    /// Writes the escape of a character; false where it stands as it is.
    fn escape(c: char, out: &mut String) -> bool;
    fn number(text: &str, out: &mut String);
}

struct AsRead;
struct Canonical;
struct Python;

impl Style for AsRead {
    const ORDER: Option<fn(&str, &str) -> Ordering> = None;

    fn escape(c: char, out: &mut String) -> bool {
        escape_minimal(c, out)
    }

    fn number(text: &str, out: &mut String) {
        out.push_str(text);
    }
}

impl Style for Canonical {
    const ORDER: Option<fn(&str, &str) -> Ordering> = Some(by_utf16);

    fn escape(c: char, out: &mut String) -> bool {
        escape_minimal(c, out)
    }

    fn number(text: &str, out: &mut String) {
        number::write_canonical(text, out);
    }
}

impl Style for Python {
    const ORDER: Option<fn(&str, &str) -> Ordering> = Some(Ord::cmp);

    fn escape(c: char, out: &mut String) -> bool {
        if escape_minimal(c, out) {
            return true;
        }
        if (' '..='~').contains(&c) {
            return false;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
        true
    }

    fn number(text: &str, out: &mut String) {
        if text.contains(['.', 'e', 'E']) {
            number::write_python_float(number::to_f64(text), out);
        } else {
            out.push_str(if text == "-0" { "0" } else { text });
        }
    }
}

fn write<S: Style>(json: &Json<'_>, out: &mut String) {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(text) => S::number(text, out),
        Json::String(text) => write_string::<S>(text, out),
        Json::Array(items) => {
            let mut separator = '[';
            for item in items {
                out.push(separator);
                separator = ',';
                write::<S>(item, out);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Json::Object(members) => write_object::<S>(members, out),
    }
}

fn write_object<S: Style>(members: &[Member<'_>], out: &mut String) {
    let mut separator = '{';
    let mut member = |(key, value): &Member<'_>| {
        out.push(separator);
        separator = ',';
        write_string::<S>(key, out);
        out.push(':');
        write::<S>(value, out);
    };
    match S::ORDER {
        Some(order) if !members.is_sorted_by(|(a, _), (b, _)| order(a, b).is_le()) => {
            let mut sorted: Vec<&Member<'_>> = members.iter().collect();
            sorted.sort_unstable_by(|(a, _), (b, _)| order(a, b));
            sorted.into_iter().for_each(member);
        }
        _ => members.iter().for_each(&mut member),
    }
    out.push_str(if members.is_empty() { "{}" } else { "}" });
}

fn write_string<S: Style>(text: &str, out: &mut String) {
    let plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    out.push('"');
    if text.bytes().all(plain) {
        out.push_str(text);
    } else {
        for c in text.chars() {
            if !S::escape(c, out) {
                out.push(c);
            }
        }
    }
    out.push('"');
}

/// The escapes that JSON demands, in their short form where they have one.
fn escape_minimal(c: char, out: &mut String) -> bool {
    let short = match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\0'..='\u{1f}' => {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
            return true;
        }
        _ => return false,
    };
    out.push_str(short);
    true
}

fn by_utf16(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn dump(text: &str, dialect: fn(&Json<'_>, &mut String)) -> String {
        let mut out = String::new();
        dialect(&parse(text).expect("JSON"), &mut out);
        out
    }

    #[test]
    fn dialects() {
        // source, as read, canonical, python
        let cases = [
            ("[ ]", "[]", "[]", "[]"),
            ("{ }", "{}", "{}", "{}"),
            (
                r#"{"b": 1.0, "a": [1e2, -0, null]}"#,
                r#"{"b":1.0,"a":[1e2,-0,null]}"#,
                r#"{"a":[100,0,null],"b":1}"#,
                r#"{"a":[100.0,0,null],"b":1.0}"#,
            ),
            (
                r#""\u00e9\u007f\u0001\n\/😀""#,
                "\"é\u{7f}\\u0001\\n/😀\"",
                "\"é\u{7f}\\u0001\\n/😀\"",
                r#""\u00e9\u007f\u0001\n/\ud83d\ude00""#,
            ),
            (
                "123456789012345678901",
                "123456789012345678901",
                "123456789012345678901",
                "123456789012345678901",
            ),
            // U+FB33 sorts before U+1F600 by code point, after it by UTF-16 unit.
            (
                "{\"\u{1f600}\":1,\"\u{fb33}\":2}",
                "{\"\u{1f600}\":1,\"\u{fb33}\":2}",
                "{\"\u{1f600}\":1,\"\u{fb33}\":2}",
                r#"{"\ufb33":2,"\ud83d\ude00":1}"#,
            ),
        ];
        for (text, as_read, one, python) in cases {
            assert_eq!(dump(text, compact), as_read);
            assert_eq!(dump(text, canonical), one);
            assert_eq!(dump(text, python_dump), python);
        }
    }

    /// langchain.md: canonical dump, then Damerau-Levenshtein over the longer length.
    #[test]
    fn json_edit_distance_rows() {
        let cases = [
            (
                r#"{"a": 1, "b": 2}"#,
                r#"{"a": 1, "b": 3}"#,
                0.076_923_076_9,
            ),
            (r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "a": 1}"#, 0.0),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, 0.461_538_461_5),
            ("{}", "[]", 1.0),
            (r#"{"é":1}"#, r#"{"e":1}"#, 0.416_666_666_7),
            ("[1,2]", "[2,1]", 0.4),
        ];
        for (a, b, expected) in cases {
            let (a, b) = (dump(a, python_dump), dump(b, python_dump));
            let distance =
                rapidfuzz::distance::damerau_levenshtein::normalized_distance(a.chars(), b.chars());
            assert!((distance - expected).abs() < 1e-9, "{a} {b}: {distance}");
        }
    }
}
