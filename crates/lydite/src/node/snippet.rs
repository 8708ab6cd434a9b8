//! An error with the line it is about.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar;

use super::Span;

/// Columns of source shown at most.
const WIDTH: usize = 100;
/// Columns kept before the place when a long line is cut.
const BEFORE: usize = 30;

/// The error as a terminal shows it, ending in a line break:
///
/// ```text
/// lydite.yaml:12:5: unknown key `tresholdd` (did you mean `threshold`?)
///    12 |     tresholdd: 0.5
///       |     ^^^^^^^^^
/// allowed: …
/// ```
///
/// `span` must come from `source`; one without a place gives the message and the help alone.
/// Tabs are shown as spaces, control characters as `�`, long lines are cut around the place.
pub fn render(file: &str, source: &str, span: Span, message: &str, help: Option<&str>) -> String {
    let mut out = String::with_capacity(256);
    if span.is_known() {
        let _ = writeln!(out, "{file}:{}:{}: {message}", span.line, span.column);
        underline(&mut out, source, span);
    } else {
        let _ = writeln!(out, "{file}: {message}");
    }
    if let Some(help) = help {
        let _ = writeln!(out, "{help}");
    }
    out
}

fn underline(out: &mut String, source: &str, span: Span) {
    let Some((before, marked, after)) = split_line(source, span) else {
        return;
    };
    let (before, marked, after) = (shown(before), shown(marked), shown(after));
    let (before, cut) = last_columns(
        &before,
        BEFORE.max(WIDTH.saturating_sub(width(&marked) + width(&after))),
    );
    let left = if cut { "…" } else { "" };
    let room = WIDTH.saturating_sub(width(before));
    let marked = first_columns(&marked, room);
    let after = first_columns(&after, room.saturating_sub(width(&marked)));
    let _ = writeln!(out, "{:5} | {left}{before}{marked}{after}", span.line);
    let indent = " ".repeat(width(left) + width(before));
    let _ = writeln!(out, "      | {indent}{}", "^".repeat(width(&marked).max(1)));
}

/// The line of the span, without its break: before, inside and after the span.
fn split_line(source: &str, span: Span) -> Option<(&str, &str, &str)> {
    let is_break = |letter| matches!(letter, '\n' | '\r');
    let head = source.get(..span.start_byte)?;
    let tail = source.get(span.start_byte..)?;
    let start = head.rfind(is_break).map_or(0, |at| at + 1);
    let line_end = tail.find(is_break).unwrap_or(tail.len());
    let marked = span.end_byte.saturating_sub(span.start_byte).min(line_end);
    let before = head.get(start..)?;
    let before = before.strip_prefix('\u{feff}').unwrap_or(before);
    Some((before, tail.get(..marked)?, tail.get(marked..line_end)?))
}

/// The text as a terminal can show it.
fn shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\t' => out.push_str("    "),
            letter if letter.is_control() || is_bidi_control(letter) => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// Characters that would turn the rest of the line around.
fn is_bidi_control(letter: char) -> bool {
    matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{feff}')
}

fn columns(letter: char) -> usize {
    letter.width().unwrap_or_default()
}

fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// The longest end of the text that fits, and whether something was cut.
fn last_columns(text: &str, room: usize) -> (&str, bool) {
    let mut used = 0;
    for (at, letter) in text.char_indices().rev() {
        used += columns(letter);
        if used > room {
            return (text.get(at + letter.len_utf8()..).unwrap_or_default(), true);
        }
    }
    (text, false)
}

/// The longest start of the text that fits, with `…` for what was cut.
fn first_columns(text: &str, room: usize) -> String {
    let mut used = 0;
    for (at, letter) in text.char_indices() {
        used += columns(letter);
        if used > room {
            return format!("{}…", text.get(..at).unwrap_or_default());
        }
    }
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &str, needle: &str) -> Span {
        let start_byte = source.find(needle).unwrap();
        let head = &source[..start_byte];
        let line_start = head.rfind('\n').map_or(0, |at| at + 1);
        Span {
            start_byte,
            end_byte: start_byte + needle.len(),
            line: head.matches('\n').count() + 1,
            column: head[line_start..].chars().count() + 1,
        }
    }

    #[test]
    fn lines_as_a_terminal_shows_them() {
        let long = format!("{}key: {}{}", "a, ".repeat(60), "value", ", b".repeat(60));
        let longer = format!("key: {}", "v".repeat(300));
        let wide = format!("{}key: 値", "日本語".repeat(40));
        let table: Vec<(&str, &str)> = vec![
            ("a: 1\n    tresholdd: 0.5\nb: 2\n", "tresholdd"),
            ("a: 1\r\nb:\ttwo\tthree\r\nc: 3\r\n", "three"),
            ("\u{feff}a: 1", "a"),
            ("日本: x\u{7}y\u{202e}z", "y"),
            ("a: |\n  b\n  c\n", "|\n  b\n  c\n"),
            ("a:", ""),
            (&long, "value"),
            (&longer, &longer[5..]),
            (&wide, "値"),
        ];
        let shown: String = table
            .iter()
            .map(|(source, needle)| {
                render(
                    "suite.yaml",
                    source,
                    at(source, needle),
                    "wrong",
                    Some("allowed: a, b"),
                )
            })
            .collect();
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_place_outside_of_the_source_shows_no_line() {
        let span = Span {
            start_byte: 50,
            end_byte: 60,
            line: 9,
            column: 1,
        };
        assert_eq!(render("f", "é", span, "wrong", None), "f:9:1: wrong\n");
        let inside = Span {
            start_byte: 1,
            end_byte: 2,
            line: 1,
            column: 1,
        };
        assert_eq!(render("f", "é", inside, "wrong", None), "f:1:1: wrong\n");
        assert_eq!(
            render("f", "é", Span::default(), "wrong", Some("help")),
            "f: wrong\nhelp\n"
        );
    }
}
