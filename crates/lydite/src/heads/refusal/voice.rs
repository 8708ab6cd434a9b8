//! A text as its writer says it: without code and quotations, lower-cased, contractions written out.
//!
//! A response that quotes "I can't go on", prints an error message or has a character decline does not decline
//! itself, so cues are looked for in what is left.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// What is left of a text, and where each byte of it comes from.
#[derive(Clone, Debug, Default)]
pub(super) struct Voice {
    pub(super) text: String,
    /// For each byte of `text` the byte of the original at which its character or word begins.
    starts: Vec<u32>,
    /// The same for the end.
    ends: Vec<u32>,
    /// Quotations that were left out.
    pub(super) quotations: usize,
    pub(super) has_code: bool,
}

/// Bytes of a text that are read; a response has long said by then whether it answers.
const LONGEST: usize = 16 << 10;

/// Stand for what was left out.
const QUOTATION: &str = "quote";
const CODE: &str = "code";

static FENCED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?s)```.*?(?:```|$)|`[^`\n]*`").ok());
static QUOTED: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#""[^"\n]{2,}"|“[^”\n]{2,}”|«[^»\n]{2,}»"#).ok());

impl Voice {
    /// The writer's own words; where there are none beside code and quotations, all words.
    pub(super) fn own(text: &str) -> Self {
        let text = beginning(text);
        let mut own = Self::without(text, &left_out(text));
        let words = words(&own.text);
        let said = words.filter(|word| {
            let word = own.text.get(word.clone());
            word.is_some_and(|word| word != QUOTATION && word != CODE)
        });
        if said.take(2).count() < 2 {
            own = Self {
                quotations: own.quotations,
                has_code: own.has_code,
                ..Self::all(text)
            };
        }
        own
    }

    /// All words.
    pub(super) fn all(text: &str) -> Self {
        Self::without(beginning(text), &[])
    }

    /// The bytes of the original that a range of the text comes from.
    pub(super) fn original(&self, range: &Range<usize>) -> Range<usize> {
        let start = self.starts.get(range.start).copied().unwrap_or_default();
        let last = range.end.saturating_sub(1);
        let end = self.ends.get(last).copied().unwrap_or(start);
        start as usize..end.max(start) as usize
    }

    fn without(text: &str, left_out: &[(Range<usize>, &'static str)]) -> Self {
        let mut voice = Self::default();
        let mut at = 0;
        for (range, name) in left_out {
            voice.read(text, at..range.start);
            voice.push(" ", range);
            voice.push(name, range);
            voice.push(" ", range);
            voice.quotations += usize::from(*name == QUOTATION);
            voice.has_code |= *name == CODE;
            at = range.end;
        }
        voice.read(text, at..text.len());
        voice
    }

    /// Adds a passage: words in their long form, all else as it is.
    fn read(&mut self, text: &str, passage: Range<usize>) {
        let Some(piece) = text.get(passage.clone()) else {
            return;
        };
        let piece: String = piece.chars().map(plain).collect();
        let mut at = 0;
        // A plain apostrophe is shorter than a typographic one, so places are counted in the original.
        let mut original = Original::new(text, passage);
        for word in words(&piece) {
            let between = piece.get(at..word.start).unwrap_or_default();
            for c in between.chars() {
                self.push(c.encode_utf8(&mut [0; 4]), &original.next(1));
            }
            let word_text = piece.get(word.clone()).unwrap_or_default();
            let range = original.next(word_text.chars().count());
            self.push(&written_out(&word_text.to_lowercase()), &range);
            at = word.end;
        }
        for c in piece.get(at..).unwrap_or_default().chars() {
            self.push(c.encode_utf8(&mut [0; 4]), &original.next(1));
        }
    }

    fn push(&mut self, text: &str, original: &Range<usize>) {
        self.text.push_str(text);
        let places = std::iter::repeat_n((original.start, original.end), text.len());
        for (start, end) in places {
            self.starts.push(start as u32);
            self.ends.push(end as u32);
        }
    }
}

/// Walks over the characters of a passage of the original.
struct Original<'t> {
    characters: std::str::CharIndices<'t>,
    offset: usize,
}

impl<'t> Original<'t> {
    fn new(text: &'t str, passage: Range<usize>) -> Self {
        Self {
            offset: passage.start,
            characters: text.get(passage).unwrap_or_default().char_indices(),
        }
    }

    /// The bytes of the next so many characters.
    fn next(&mut self, count: usize) -> Range<usize> {
        let start = self.offset + self.characters.offset();
        for _ in 0..count {
            self.characters.next();
        }
        start..self.offset + self.characters.offset()
    }
}

/// Where words are: letters and digits, with apostrophes between them.
pub(super) fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = 0;
    std::iter::from_fn(move || {
        let tail = text.get(rest..)?;
        let start = rest + tail.find(char::is_alphanumeric)?;
        let mut end = start;
        let mut characters = text.get(start..)?.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let inner = c == '\'' && characters.peek().is_some_and(|(_, c)| c.is_alphanumeric());
            if !c.is_alphanumeric() && !inner {
                break;
            }
            end = start + at + c.len_utf8();
        }
        rest = end;
        Some(start..end)
    })
}

pub(super) fn count_words(text: &str) -> usize {
    words(text).count()
}

/// Code, and quotations outside of it, in order.
fn left_out(text: &str) -> Vec<(Range<usize>, &'static str)> {
    let found = |regex: &LazyLock<Option<Regex>>, name| -> Vec<(Range<usize>, &'static str)> {
        let matches = regex.as_ref().map(|regex| regex.find_iter(text));
        matches
            .into_iter()
            .flatten()
            .map(|found| (found.range(), name))
            .collect()
    };
    let mut all = found(&FENCED, CODE);
    let code = all.clone();
    let apart = |range: &Range<usize>| {
        let mut others = code.iter();
        !others.any(|(other, _)| range.start < other.end && other.start < range.end)
    };
    all.extend(
        found(&QUOTED, QUOTATION)
            .into_iter()
            .filter(|(range, _)| apart(range)),
    );
    all.sort_by_key(|(range, _)| range.start);
    all
}

fn beginning(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Apostrophes of all kinds as the plain one.
const fn plain(c: char) -> char {
    match c {
        '’' | '‘' | 'ʼ' | '`' => '\'',
        other => other,
    }
}

/// A lower-case word with its contraction written out: *can't* is *can not*.
fn written_out(word: &str) -> String {
    match word {
        "can't" | "cannot" | "cant" => return "can not".into(),
        "won't" => return "will not".into(),
        "it's" | "that's" | "there's" | "this's" | "here's" | "what's" | "he's" | "she's" => {
            return format!("{} is", word.trim_end_matches("'s"));
        }
        _ => {}
    }
    for (ending, long) in [
        ("n't", " not"),
        ("'m", " am"),
        ("'re", " are"),
        ("'ve", " have"),
        ("'ll", " will"),
        ("'d", " would"),
    ] {
        if let Some(stem) = word.strip_suffix(ending)
            && !stem.is_empty()
        {
            return format!("{stem}{long}");
        }
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn own_words_leave_out_code_and_quotations() {
        for (text, own) in [
            ("I can't. I WON'T!", "i can not. i will not!"),
            ("It’s fine, they’re here", "it is fine, they are here"),
            (
                "She said \"no way, sir\" and left.",
                "she said  quote  and left.",
            ),
            ("He said “no way” and left", "he said  quote  and left"),
            (
                "Run this:\n```\nraise \"x y\"\n```\nthen stop",
                "run this:\n code \nthen stop",
            ),
            ("Call `can't()` on it", "call  code  on it"),
            ("a 5\" pipe and a\n6\" one", "a 5\" pipe and a\n6\" one"),
            // Nothing else is said.
            ("\"I can't help.\"", "\"i can not help.\""),
            ("", ""),
        ] {
            assert_eq!(Voice::own(text).text, own, "{text}");
        }
    }

    #[test]
    fn places_lead_back_to_the_original() {
        let text = "Ünd “so to say” we can’t HELP";
        let voice = Voice::own(text);
        for (phrase, expected) in [
            ("can not", "can’t"),
            ("not help", "can’t HELP"),
            ("we", "we"),
        ] {
            let start = voice.text.find(phrase).unwrap();
            let original = voice.original(&(start..start + phrase.len()));
            assert_eq!(&text[original], expected);
        }
    }

    proptest! {
        #[test]
        fn every_place_is_one_of_the_original(text in "\\PC{0,40}[\"`’']{0,3}\\PC{0,40}") {
            let voice = Voice::own(&text);
            prop_assert_eq!(voice.text.len(), voice.starts.len());
            for (at, c) in voice.text.char_indices() {
                let range = voice.original(&(at..at + c.len_utf8()));
                prop_assert!(text.get(range).is_some());
            }
        }
    }
}
