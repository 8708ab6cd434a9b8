//! Finding a JSON value inside other text.

use serde_json::value::RawValue;

/// Openings that are tried before the search gives up, since each may be read to the text's end.
const MOST_OPENINGS: usize = 256;

/// The first object or array in a text: in a code fence, or amid prose.
pub fn find_in_text(text: &str) -> Option<&str> {
    let inside = super::strip_fence(text);
    if super::is_valid(inside).is_ok() {
        return Some(inside);
    }
    let openings = memchr::memchr2_iter(b'{', b'[', text.as_bytes());
    openings.take(MOST_OPENINGS).find_map(|start| {
        let rest = text.get(start..)?;
        let value = serde_json::Deserializer::from_str(rest)
            .into_iter::<&RawValue>()
            .next()?
            .ok()?;
        Some(value.get())
    })
}

#[cfg(test)]
mod tests {
    use super::find_in_text;

    #[test]
    fn finds_the_first_value() {
        for (text, found) in [
            ("{\"a\": 1}", Some("{\"a\": 1}")),
            ("```json\n[1]\n```", Some("[1]")),
            (
                "Use {name}. See [1, {\"b\": \"}\"}] and {}",
                Some("[1, {\"b\": \"}\"}]"),
            ),
            ("f(x) = {x: x > 0}", None),
            ("{\"a\": 1", None),
            ("", None),
        ] {
            assert_eq!(find_in_text(text), found, "{text}");
        }
    }
}
