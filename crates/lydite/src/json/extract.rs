//! Finding a JSON value inside other text.

use serde_json::value::RawValue;

use super::scan::Scanner;

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

/// Where values end in one text, asked for one opening after the other.
pub(crate) struct ValueEnds<'a>(Scanner<'a>);

impl<'a> ValueEnds<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self(Scanner::new(text))
    }

    /// The byte behind the value that begins at byte `start`, by the grammar alone; `Err` is the
    /// byte that can't stand there.
    pub(crate) fn end_of(&mut self, start: usize) -> Result<usize, usize> {
        self.0.skip_from(start).map_err(|fault| fault.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::{ValueEnds, find_in_text};

    #[test]
    fn ends_are_found_from_any_opening() {
        let mut ends = ValueEnds::new("a [1, {\"b\": \"]\"}] {x} [");
        assert_eq!(ends.end_of(2), Ok(17));
        assert_eq!(ends.end_of(6), Ok(16));
        assert_eq!(ends.end_of(18), Err(19));
        assert_eq!(ends.end_of(22), Err(23));
        assert_eq!(ends.end_of(2), Ok(17));
    }

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
