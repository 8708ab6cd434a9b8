//! Words and sentences of a text, by Unicode Standard Annex #29, with their places.

use unicode_segmentation::UnicodeSegmentation;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'t> {
    pub text: &'t str,
    /// Where it begins, in characters (code points).
    pub start: usize,
    /// Where it has ended.
    pub end: usize,
}

/// Words, and each mark of punctuation or symbol by itself. White space is left out.
pub fn words(text: &str) -> Vec<Segment<'_>> {
    placed(text.split_word_bounds())
}

/// Sentences without the white space around them. Blank ones are left out.
pub fn sentences(text: &str) -> Vec<Segment<'_>> {
    placed(text.split_sentence_bounds())
}

/// The segments of pieces that make up a whole text.
fn placed<'t>(pieces: impl Iterator<Item = &'t str>) -> Vec<Segment<'t>> {
    let mut at = 0;
    let mut segments = Vec::new();
    for piece in pieces {
        let text = piece.trim();
        if !text.is_empty() {
            let before = piece.len() - piece.trim_start().len();
            let start = at + piece.get(..before).map_or(0, characters);
            segments.push(Segment {
                text,
                start,
                end: start + characters(text),
            });
        }
        at += characters(piece);
    }
    segments
}

fn characters(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts<'t>(segments: &[Segment<'t>]) -> Vec<&'t str> {
        segments.iter().map(|segment| segment.text).collect()
    }

    /// The first is the example of UAX #29, section 4.
    #[test]
    fn words_are_those_of_the_standard() {
        let table: [(&str, &[&str]); 5] = [
            (
                "The quick (“brown”) fox can’t jump 32.3 feet, right?",
                &[
                    "The", "quick", "(", "“", "brown", "”", ")", "fox", "can’t", "jump", "32.3",
                    "feet", ",", "right", "?",
                ],
            ),
            ("e\u{301}te\u{301} …", &["e\u{301}te\u{301}", "…"]),
            ("日本", &["日", "本"]),
            (" \n\t", &[]),
            ("", &[]),
        ];
        for (text, expected) in table {
            assert_eq!(texts(&words(text)), expected, "{text:?}");
        }
    }

    #[test]
    fn sentences_lose_the_space_around_them() {
        let found = sentences("  Ein Haus. Zwei – oder 3.5?\n\nÉtait-ce?  ");
        assert_eq!(
            texts(&found),
            ["Ein Haus.", "Zwei – oder 3.5?", "Était-ce?"]
        );
        assert_eq!((found[1].start, found[1].end), (12, 28));
    }

    proptest! {
        #[test]
        fn places_are_characters_of_the_text(text in r"[a-cé日\u{301}👍. \n]{0,30}") {
            for segment in words(&text).into_iter().chain(sentences(&text)) {
                let length = segment.end - segment.start;
                let there: String = text.chars().skip(segment.start).take(length).collect();
                prop_assert_eq!(there, segment.text);
            }
        }
    }
}
