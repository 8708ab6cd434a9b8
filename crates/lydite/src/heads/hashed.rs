//! Hashed n-grams of a text: which occur, as places of a vector of 2^bits numbers.
//!
//! Each gram is hashed (XXH3, 64 bits, seed 0) and counted in the bucket of its lowest bits; collisions are
//! left to the fit (K. Weinberger et al., "Feature hashing for large scale multitask learning", 2009). A count
//! `c` weighs `1 + ln c`, and the vector has length 1, so long texts weigh as much as short ones.

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;
use unicode_segmentation::UnicodeSegmentation;

use super::HeadError;

/// Bytes of a text that are looked at.
pub const LONGEST: usize = 16 << 10;

/// Which n-grams, and into how many buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ngrams {
    pub kind: Kind,
    /// The shortest gram, in units of its kind.
    pub min: usize,
    pub max: usize,
    /// 2^bits buckets.
    pub bits: u32,
    /// Whether the text is lower-cased first.
    pub lower: bool,
}

/// What a gram is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Characters within a word (between white space) that has one blank put before and one behind it. A
    /// padded word that is shorter than a gram is one gram itself.
    Char,
    /// Words by UAX #29, joined by one blank.
    Word,
}

/// Room that is used again from text to text.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The text as it is hashed: words with blanks between.
    text: String,
    /// Where the pieces of a gram begin and end in `text`.
    places: Vec<(usize, usize)>,
    buckets: Vec<u32>,
    values: Vec<(u32, f32)>,
}

impl Ngrams {
    /// How many buckets there are.
    pub const fn buckets(&self) -> usize {
        1 << self.bits
    }

    /// An error unless 1 ≤ min ≤ max ≤ 8 and 4 ≤ bits ≤ 20.
    pub fn check(&self, name: &str) -> Result<(), HeadError> {
        let good =
            self.min >= 1 && self.min <= self.max && self.max <= 8 && (4..=20).contains(&self.bits);
        if good {
            Ok(())
        } else {
            Err(HeadError::Ngrams {
                name: name.to_owned(),
            })
        }
    }

    /// The buckets that are not 0, in ascending order, each with its value; the values' squares add up to 1.
    ///
    /// Empty for a text without a gram. Only the first [`LONGEST`] bytes count.
    pub fn of<'s>(&self, text: &str, scratch: &'s mut Scratch) -> &'s [(u32, f32)] {
        let text = beginning(text);
        scratch.buckets.clear();
        match self.kind {
            Kind::Char => self.characters(text, scratch),
            Kind::Word => self.words(text, scratch),
        }
        weigh(&mut scratch.buckets, &mut scratch.values);
        &scratch.values
    }

    fn characters(&self, text: &str, scratch: &mut Scratch) {
        for word in text.split_whitespace() {
            scratch.text.clear();
            scratch.text.push(' ');
            self.write(word, &mut scratch.text);
            scratch.text.push(' ');
            let characters = scratch.text.char_indices();
            scratch.places.clear();
            scratch
                .places
                .extend(characters.map(|(start, c)| (start, start + c.len_utf8())));
            for n in self.min..=self.max {
                if n >= scratch.places.len() {
                    scratch.buckets.push(self.bucket(&scratch.text));
                    break;
                }
                self.windows(n, scratch);
            }
        }
    }

    fn words(&self, text: &str, scratch: &mut Scratch) {
        scratch.text.clear();
        scratch.places.clear();
        for word in text.unicode_words() {
            if !scratch.text.is_empty() {
                scratch.text.push(' ');
            }
            let start = scratch.text.len();
            self.write(word, &mut scratch.text);
            scratch.places.push((start, scratch.text.len()));
        }
        for n in self.min..=self.max {
            self.windows(n, scratch);
        }
    }

    /// The buckets of all runs of `n` places.
    fn windows(&self, n: usize, scratch: &mut Scratch) {
        let Scratch {
            text,
            places,
            buckets,
            ..
        } = scratch;
        for window in places.windows(n) {
            if let [(start, _), .., (_, end)] | [(start, end)] = window {
                buckets.push(self.bucket(text.get(*start..*end).unwrap_or_default()));
            }
        }
    }

    fn write(&self, word: &str, into: &mut String) {
        if self.lower {
            into.extend(word.chars().flat_map(char::to_lowercase));
        } else {
            into.push_str(word);
        }
    }

    fn bucket(&self, gram: &str) -> u32 {
        let hash = XxHash3_64::oneshot(gram.as_bytes());
        hash as u32 & ((1 << self.bits) - 1)
    }
}

/// The first [`LONGEST`] bytes, cut between characters.
fn beginning(text: &str) -> &str {
    let end = text.floor_char_boundary(LONGEST);
    text.get(..end).unwrap_or(text)
}

/// Counts equal buckets and turns the counts into a vector of length 1.
fn weigh(buckets: &mut [u32], values: &mut Vec<(u32, f32)>) {
    buckets.sort_unstable();
    values.clear();
    let mut squares = 0.0_f64;
    for run in buckets.chunk_by(|a, b| a == b) {
        let [bucket, ..] = run else { continue };
        let value = 1.0 + (run.len() as f64).ln();
        squares += value * value;
        values.push((*bucket, value as f32));
    }
    let length = squares.sqrt() as f32;
    for (_, value) in values {
        *value /= length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;

    /// Values by another implementation of XXH3 and of the grams:
    ///
    /// ```python
    /// grams = CountVectorizer(analyzer="char_wb", ngram_range=(min, max), lowercase=lower).build_analyzer()(text)
    /// # words: [" ".join(words[i:i+n]) for n in range(min, max + 1) for i in range(len(words) - n + 1)]
    /// counts = Counter(xxhash.xxh3_64_intdigest(gram.encode()) & (2**bits - 1) for gram in grams)
    /// values = {bucket: 1 + math.log(n) for bucket, n in sorted(counts.items())}
    /// length = math.sqrt(sum(x * x for x in values.values()))
    /// [[bucket, x / length] for bucket, x in values.items()]
    /// ```
    #[derive(Deserialize)]
    struct Case {
        text: String,
        ngrams: Ngrams,
        expected: Vec<(u32, f32)>,
    }

    #[test]
    fn buckets_and_values_are_those_of_the_reference() {
        let text = include_str!("hashed.reference.json");
        let cases: Vec<Case> = serde_json::from_str(text).unwrap();
        let mut scratch = Scratch::default();
        for case in cases {
            let found = case.ngrams.of(&case.text, &mut scratch);
            assert_eq!(found.len(), case.expected.len(), "{}", case.text);
            for ((bucket, value), (expected_bucket, expected)) in found.iter().zip(&case.expected) {
                assert_eq!(bucket, expected_bucket, "{}", case.text);
                assert!((value - expected).abs() < 1e-6, "{}", case.text);
            }
        }
    }

    #[test]
    fn only_the_beginning_of_a_long_text_counts() {
        let grams = Ngrams {
            kind: Kind::Char,
            min: 2,
            max: 3,
            bits: 10,
            lower: true,
        };
        let start = "é ".repeat(LONGEST);
        let of = |text: &str| grams.of(text, &mut Scratch::default()).to_vec();
        assert_eq!(of(&start), of(&(start.clone() + "more words")));
        assert_ne!(of("é "), of("é more words"));
    }

    #[test]
    fn bounds_are_checked() {
        for (min, max, bits, good) in [
            (1, 1, 4, true),
            (2, 8, 20, true),
            (0, 1, 10, false),
            (3, 2, 10, false),
            (1, 9, 10, false),
            (1, 2, 3, false),
            (1, 2, 21, false),
        ] {
            let grams = Ngrams {
                kind: Kind::Word,
                min,
                max,
                bits,
                lower: true,
            };
            assert_eq!(grams.check("x").is_ok(), good, "{grams:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_gives_ascending_buckets_of_length_one(
            text in "\\PC{0,60}|( |\u{2028}|\n|ß|İ|👩‍🚀|a){0,30}",
            min in 1..4_usize, more in 0..3_usize, word: bool, lower: bool,
        ) {
            let kind = if word { Kind::Word } else { Kind::Char };
            let grams = Ngrams { kind, min, max: min + more, bits: 6, lower };
            let mut scratch = Scratch::default();
            let values = grams.of(&text, &mut scratch);
            prop_assert!(values.windows(2).all(|pair| pair[0].0 < pair[1].0));
            prop_assert!(values.iter().all(|(bucket, _)| *bucket < 64));
            let length: f64 = values.iter().map(|(_, v)| f64::from(*v).powi(2)).sum();
            prop_assert!(values.is_empty() || (length - 1.0).abs() < 1e-5);
        }
    }
}
