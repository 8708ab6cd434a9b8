//! Text in XML 1.0.

/// Appends a text between tags.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    push(out, text, |c| match c {
        '\r' => Some("&#13;"),
        _ => None,
    });
}

/// Appends ` name="value"`.
pub(super) fn push_attribute(out: &mut Vec<u8>, name: &str, value: &str) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
    // Readers turn line breaks and tabs in attributes into spaces, unless they stand so.
    push(out, value, |c| match c {
        '\t' => Some("&#9;"),
        '\n' => Some("&#10;"),
        '\r' => Some("&#13;"),
        _ => None,
    });
    out.push(b'"');
}

fn push(out: &mut Vec<u8>, text: &str, special: fn(char) -> Option<&'static str>) {
    let mut buffer = [0; 4];
    for c in text.chars() {
        let written = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            c if !is_allowed(c) => "\u{fffd}",
            c => special(c).unwrap_or_else(|| c.encode_utf8(&mut buffer)),
        };
        out.extend_from_slice(written.as_bytes());
    }
}

/// Whether XML 1.0 allows a character, even escaped (section 2.2, `Char`).
fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes() {
        let cases = [
            ("plain é 🦀", "plain é 🦀", "plain é 🦀"),
            (
                "a < b & \"c\" > ]]>",
                "a &lt; b &amp; &quot;c&quot; &gt; ]]&gt;",
                "a &lt; b &amp; &quot;c&quot; &gt; ]]&gt;",
            ),
            ("a\tb\r\nc", "a\tb&#13;\nc", "a&#9;b&#13;&#10;c"),
            (
                "\0 \u{1b}[31m \u{ffff} \u{85}",
                "\u{fffd} \u{fffd}[31m \u{fffd} \u{85}",
                "\u{fffd} \u{fffd}[31m \u{fffd} \u{85}",
            ),
        ];
        for (text, between, attribute) in cases {
            let mut out = Vec::new();
            push_text(&mut out, text);
            assert_eq!(String::from_utf8(out).unwrap(), between);
            let mut out = Vec::new();
            push_attribute(&mut out, "a", text);
            assert_eq!(
                String::from_utf8(out).unwrap(),
                format!(" a=\"{attribute}\"")
            );
        }
    }
}
