//! `tokenizer.json`: cuts texts into word pieces.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokenizers::{Encoding, PostProcessor, Tokenizer, TruncationDirection};

use super::error::LocalError;

/// Cuts texts into the pieces of one vocabulary.
pub(super) struct Pieces {
    tokenizer: Tokenizer,
    /// Pieces of a text that are read, [CLS] and [SEP] included.
    longest: usize,
    /// How many of these are [CLS], [SEP] and the like.
    added: usize,
    /// Numbers of pieces are below it.
    vocabulary: usize,
}

/// A text in word pieces.
#[derive(Debug)]
pub(super) struct Cut {
    /// The pieces' numbers, [CLS] and [SEP] included.
    pub(super) ids: Vec<u32>,
    /// Where each piece stands in the text, in Unicode scalar values; nothing for [CLS] and [SEP].
    pub(super) spans: Vec<Option<Range<usize>>>,
}

impl Pieces {
    /// Reads the file's text.
    ///
    /// The crate that does it panics on some malformed files, here at the latest and never while texts are cut.
    pub(super) fn parse(
        path: &Path,
        text: &[u8],
        longest: usize,
        vocabulary: usize,
    ) -> Result<Self, LocalError> {
        let malformed = |reason: String| LocalError::Malformed {
            path: path.to_owned(),
            reason,
        };
        let kept = Kept::of(text).map_err(|error| malformed(error.to_string()))?;
        let tokenizer =
            Tokenizer::from_bytes(kept).map_err(|error| malformed(error.to_string()))?;
        let processor = tokenizer.get_post_processor();
        let added = processor.map_or(0, |processor| processor.added_tokens(false));
        if added >= longest {
            return Err(malformed(format!(
                "it adds {added} pieces to each text, of at most {longest}"
            )));
        }
        let pieces = Self {
            tokenizer,
            longest,
            added,
            vocabulary,
        };
        // Pieces that are added but not told of are missed by any text.
        drop(pieces.ids("a"));
        Ok(pieces)
    }

    /// The numbers of a text's pieces.
    pub(super) fn ids(&self, text: &str) -> Result<Vec<u32>, String> {
        let encoding = self.encode(text, |part| self.tokenizer.encode_fast(part, false))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// The pieces of a text, and where they stand.
    pub(super) fn cut(&self, text: &str) -> Result<Cut, String> {
        let encoding = self.encode(text, |part| self.tokenizer.encode_char_offsets(part, false))?;
        let special = encoding.get_special_tokens_mask().iter();
        let spans = special.zip(encoding.get_offsets());
        Ok(Cut {
            ids: encoding.get_ids().to_vec(),
            spans: spans
                .map(|(special, (begin, end))| (*special == 0).then_some(*begin..*end))
                .collect(),
        })
    }

    /// The encoding of as much of a text as is read.
    fn encode(
        &self,
        text: &str,
        encode: impl Fn(&str) -> tokenizers::Result<Encoding>,
    ) -> Result<Encoding, String> {
        let told = |error: tokenizers::Error| error.to_string();
        let room = self.longest - self.added;
        let mut encoding = self.encode_begin(text, room, &encode).map_err(told)?;
        encoding.truncate(room, 0, TruncationDirection::Right);
        let encoding = self
            .tokenizer
            .post_process(encoding, None, true)
            .map_err(told)?;
        let ids = encoding.get_ids();
        if ids.is_empty() {
            return Err("it has none".to_owned());
        }
        match ids.iter().find(|id| **id as usize >= self.vocabulary) {
            Some(id) => Err(format!(
                "piece {id} is not in the model's vocabulary of {}",
                self.vocabulary
            )),
            None => Ok(encoding),
        }
    }

    /// At least the first `room` pieces of a text, or all.
    ///
    /// Of a long text only the begin is cut. A word gives at most 100 pieces (BERT's `max_input_chars_per_word`; a
    /// longer one is unknown as a whole), so what lies that far before the end of a part hangs on nothing behind it.
    fn encode_begin(
        &self,
        text: &str,
        room: usize,
        encode: &impl Fn(&str) -> tokenizers::Result<Encoding>,
    ) -> tokenizers::Result<Encoding> {
        const WORD: usize = 128;
        let mut end = text.floor_char_boundary(64 * self.longest);
        loop {
            let (part, rest) = text.split_at(end);
            let encoding = encode(part)?;
            if rest.is_empty() || encoding.len() >= room + WORD {
                return Ok(encoding);
            }
            end = text.floor_char_boundary(4 * end);
        }
    }
}

/// What of the file is used. Padding and truncation are not, and the decoder's reader panics on what it doesn't know.
#[derive(Deserialize, Serialize)]
struct Kept<'a> {
    #[serde(borrow)]
    version: &'a RawValue,
    #[serde(borrow)]
    added_tokens: &'a RawValue,
    #[serde(borrow)]
    normalizer: &'a RawValue,
    #[serde(borrow)]
    pre_tokenizer: &'a RawValue,
    #[serde(borrow)]
    post_processor: &'a RawValue,
    #[serde(borrow)]
    model: &'a RawValue,
}

impl Kept<'_> {
    /// The file's text with nothing else in it.
    fn of(text: &[u8]) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&serde_json::from_slice::<Kept<'_>>(text)?)
    }
}

impl fmt::Debug for Pieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pieces")
            .field("longest", &self.longest)
            .field("vocabulary", &self.vocabulary)
            .finish_non_exhaustive()
    }
}
