//! Substring search with a phrase that is prepared once.
//!
//! [`Finder::exact`] compares bytes. [`Finder::normalized`] searches in the normal form of the
//! text, which it builds in the caller's buffer; ASCII text keeps to byte tables. Whether there is a
//! match is cheap; where it stands in the original text is worked out on demand.

use std::ops::Range;

use memchr::memmem;
use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick};

use super::normalize::Normalizer;

/// A phrase to look for in many texts.
#[derive(Debug, Clone)]
pub struct Finder {
    searcher: memmem::Finder<'static>,
    normalizer: Option<Normalizer>,
}

impl Finder {
    /// Looks for the bytes of `phrase`.
    pub fn exact(phrase: &str) -> Self {
        Self {
            searcher: memmem::Finder::new(phrase).into_owned(),
            normalizer: None,
        }
    }

    /// Looks for the normal form of `phrase` in the normal form of each text.
    pub fn normalized(phrase: &str, normalizer: Normalizer) -> Self {
        let mut normal = String::new();
        normalizer.normalize_into(phrase, &mut normal);
        Self {
            searcher: memmem::Finder::new(&normal).into_owned(),
            normalizer: Some(normalizer),
        }
    }

    /// Whether nothing is left to look for, so that every text matches.
    pub fn is_empty(&self) -> bool {
        self.searcher.needle().is_empty()
    }

    pub fn contains(&self, text: &str, scratch: &mut String) -> bool {
        self.find_in_form(text, scratch).is_some()
    }

    /// Whether the (normal form of the) text starts with the phrase.
    pub fn starts(&self, text: &str, scratch: &mut String) -> bool {
        let needle = self.searcher.needle();
        match &self.normalizer {
            None => text.as_bytes().starts_with(needle),
            Some(normalizer) if text.is_ascii() => {
                let mut bytes = normalizer.ascii_bytes(text.as_bytes());
                needle.iter().all(|&b| bytes.next() == Some(b))
            }
            Some(normalizer) => {
                normalizer.normalize_into(text, scratch);
                scratch.as_bytes().starts_with(needle)
            }
        }
    }

    /// Whether the (normal form of the) text ends with the phrase.
    pub fn ends(&self, text: &str, scratch: &mut String) -> bool {
        let needle = self.searcher.needle();
        match &self.normalizer {
            None => text.as_bytes().ends_with(needle),
            Some(normalizer) if text.is_ascii() => {
                let mut bytes = normalizer.ascii_bytes(text.as_bytes()).rev();
                needle.iter().rev().all(|&b| bytes.next() == Some(b))
            }
            Some(normalizer) => {
                normalizer.normalize_into(text, scratch);
                scratch.as_bytes().ends_with(needle)
            }
        }
    }

    /// Byte range of the first match in the original text, on character boundaries.
    ///
    /// In a normalised search a match covers whole characters with their combining marks, even if
    /// the phrase only meets a part of one (`s` in `ß`), and deleted characters only between others.
    pub fn find(&self, text: &str, scratch: &mut String) -> Option<Range<usize>> {
        let found = self.find_in_form(text, scratch)?;
        match &self.normalizer {
            None => Some(found),
            Some(normalizer) => Some(original_range(normalizer, text, &found, scratch)),
        }
    }

    /// Range of the first match in the original text, in characters (code points). See
    /// [`find`](Self::find).
    pub fn locate(&self, text: &str, scratch: &mut String) -> Option<Range<usize>> {
        self.find(text, scratch)
            .map(|range| char_range(text, &range))
    }

    /// Byte range of the first match in the text that is searched.
    fn find_in_form(&self, text: &str, scratch: &mut String) -> Option<Range<usize>> {
        let searched = match &self.normalizer {
            None => text,
            Some(normalizer) => {
                normalizer.normalize_into(text, scratch);
                scratch
            }
        };
        let start = self.searcher.find(searched.as_bytes())?;
        Some(start..start + self.searcher.needle().len())
    }
}

/// The range in characters (code points) that a byte range of `text` stands for.
pub fn char_range(text: &str, bytes: &Range<usize>) -> Range<usize> {
    let before = text.get(..bytes.start).unwrap_or(text).chars().count();
    let within = text.get(bytes.clone()).unwrap_or("").chars().count();
    before..before + within
}

/// Maps a byte range of the normal form back to the bytes of `text`: from the start of the first
/// segment that gave something to the range, to the end of the last.
fn original_range(
    normalizer: &Normalizer,
    text: &str,
    found: &Range<usize>,
    scratch: &mut String,
) -> Range<usize> {
    let mut start = None;
    let mut end = 0;
    let mut length = 0;
    for segment in segments(text) {
        normalizer.normalize_into(text.get(segment.clone()).unwrap_or(""), scratch);
        let from = length;
        length += scratch.len();
        if length > found.start && from < found.end {
            start = start.or(Some(segment.start));
            end = segment.end;
        }
        if length >= found.end {
            break;
        }
    }
    start.map_or(0..0, |start| start..end)
}

/// Byte ranges of the pieces of `text` that normalise on their own: a character together with what
/// may compose with it.
fn segments(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut starts = text
        .char_indices()
        .filter(|&(at, c)| at == 0 || is_boundary(c))
        .map(|(at, _)| at)
        .peekable();
    std::iter::from_fn(move || {
        let start = starts.next()?;
        Some(start..starts.peek().copied().unwrap_or(text.len()))
    })
}

/// Whether normalisation never joins `c` with what stands before it (UAX #15, section 9).
fn is_boundary(c: char) -> bool {
    c.is_ascii()
        || canonical_combining_class(c) == 0
            && is_nfc_quick(std::iter::once(c)) == IsNormalized::Yes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::normalize::Normalization;

    const FOLD: Normalization = Normalization {
        fold_case: true,
        drop_punctuation: false,
        drop_whitespace: false,
    };
    const ALL: Normalization = Normalization {
        fold_case: true,
        drop_punctuation: true,
        drop_whitespace: true,
    };

    fn finder(phrase: &str, options: Option<Normalization>) -> Finder {
        match options {
            None => Finder::exact(phrase),
            Some(options) => Finder::normalized(phrase, Normalizer::new(options)),
        }
    }

    #[test]
    fn locates_in_characters_of_the_original() {
        let rows: [(&str, Option<Normalization>, &str, Option<Range<usize>>); 16] = [
            ("5 days", None, "Doc A: refunds take 5 days", Some(20..26)),
            ("Soon", None, "Soon.", Some(0..4)),
            ("soon", None, "Soon.", None),
            ("soon", Some(FOLD), "Very SOON.", Some(5..9)),
            ("days", None, "5 päivää, 5 days", Some(12..16)),
            ("strasse", Some(FOLD), "Die Straße hier", Some(4..10)),
            ("s", Some(FOLD), "ß", Some(0..1)),
            ("STRAẞE", Some(FOLD), "die strasse", Some(4..11)),
            ("café", Some(FOLD), "le cafe\u{301} noir", Some(3..8)),
            ("cafe\u{301}", Some(FOLD), "le café noir", Some(3..7)),
            ("cafe", Some(FOLD), "le cafe\u{301} noir", None),
            ("helloworld", Some(ALL), "«Hello, World!»", Some(1..13)),
            ("!?", Some(ALL), "abc", Some(0..0)),
            ("한", Some(FOLD), "a\u{1112}\u{1161}\u{11ab}b", Some(1..4)),
            ("", None, "abc", Some(0..0)),
            ("x", Some(ALL), "", None),
        ];
        let mut scratch = String::new();
        for (phrase, options, text, expected) in rows {
            let found = finder(phrase, options).locate(text, &mut scratch);
            assert_eq!(found, expected, "{phrase:?} in {text:?}");
        }
    }

    #[test]
    fn compares_both_ends() {
        let rows = [
            ("Hello", None, "Hello you", true, false),
            ("hello", Some(FOLD), "Hello you", true, false),
            ("YOU", Some(FOLD), "Hello you", false, true),
            ("you!", Some(ALL), "hello, Y-O U", false, true),
            ("hello", Some(ALL), "  \"HELLO\" é", true, false),
            ("ÉTÉ", Some(FOLD), "l'été", false, true),
            ("hello you too", Some(ALL), "hello you", false, false),
        ];
        let mut scratch = String::new();
        for (phrase, options, text, starts, ends) in rows {
            let finder = finder(phrase, options);
            assert_eq!(
                finder.starts(text, &mut scratch),
                starts,
                "{phrase:?} starts {text:?}"
            );
            assert_eq!(
                finder.ends(text, &mut scratch),
                ends,
                "{phrase:?} ends {text:?}"
            );
        }
    }

    #[test]
    fn knows_when_nothing_is_left_to_find() {
        assert!(finder("!!!", Some(ALL)).is_empty());
        assert!(!finder("!!!", Some(FOLD)).is_empty());
    }

    proptest! {
        #[test]
        fn a_slice_is_found_again(text in "\\PC{0,40}", from in 0usize..40, len in 1usize..10) {
            let phrase: String = text.chars().skip(from).take(len).collect();
            let mut scratch = String::new();
            prop_assert!(finder(&phrase, None).contains(&text, &mut scratch));
            let range = finder(&phrase, None).locate(&text, &mut scratch).unwrap();
            let found: String = text.chars().skip(range.start).take(range.len()).collect();
            prop_assert_eq!(found, phrase);
        }

        #[test]
        fn segments_normalise_to_the_whole(text in "[a-zA-Zßé\u{300}-\u{345}\u{1100}-\u{11ff}ΐ. ]{0,24}") {
            let normalizer = Normalizer::new(FOLD);
            let (mut whole, mut part, mut joined) = (String::new(), String::new(), String::new());
            normalizer.normalize_into(&text, &mut whole);
            for segment in segments(&text) {
                normalizer.normalize_into(&text[segment], &mut part);
                joined.push_str(&part);
            }
            prop_assert_eq!(joined, whole);
        }

        #[test]
        fn ends_agree_with_the_normal_form(text in "[aA. é]{0,8}", phrase in "[aA. é]{0,3}") {
            let finder = finder(&phrase, Some(ALL));
            let normalizer = Normalizer::new(ALL);
            let (mut a, mut b, mut scratch) = (String::new(), String::new(), String::new());
            normalizer.normalize_into(&text, &mut a);
            normalizer.normalize_into(&phrase, &mut b);
            prop_assert_eq!(finder.starts(&text, &mut scratch), a.starts_with(&b));
            prop_assert_eq!(finder.ends(&text, &mut scratch), a.ends_with(&b));
            prop_assert_eq!(finder.contains(&text, &mut scratch), a.contains(&b));
        }
    }
}
