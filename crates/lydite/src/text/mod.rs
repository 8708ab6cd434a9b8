//! Pure functions over text, one topic a file.

pub mod distance;
pub mod find;
pub mod names;
pub mod negations;
pub mod normalize;
pub mod quantities;
pub mod regex;
pub mod segment;

/// The first `most` characters of a longer text; `None` where it is not longer.
pub(crate) fn beginning(text: &str, most: usize) -> Option<&str> {
    let (cut, _) = text.char_indices().nth(most)?;
    text.get(..cut)
}
