//! Blocks: the unit in which raw records travel from a reader to the workers that parse them.

use std::fmt;
use std::ops::Range;

use memchr::{memchr_iter, memrchr};

use super::ReadError;
use super::buffer::Buffer;

/// How large a block may become.
///
/// Where blocks end depends on these numbers and on the content alone, never on how the operating
/// system hands the bytes out, so a run that is resumed with the same size sees the same blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSize {
    /// Decompressed input bytes a block aims at. A block is larger only where it holds a single
    /// record that is.
    pub bytes: usize,
    /// Most records in a block.
    pub records: usize,
    /// Most bytes of a single record; a longer one ends its file with an error.
    pub record_bytes: usize,
}

impl Default for BlockSize {
    /// 256 KiB, which fits a core's second-level cache; 4,096 records; records of up to 1 GiB.
    fn default() -> Self {
        Self {
            bytes: 256 << 10,
            records: 4096,
            record_bytes: 1 << 30,
        }
    }
}

/// How far the input was read: all of it up to the end of a block, over all files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Position {
    /// Decompressed bytes.
    pub bytes: u64,
    /// Records, the bad ones included.
    pub records: u64,
    /// Line breaks.
    pub lines: u64,
    /// XXH3-128 of the decompressed bytes.
    pub hash: u128,
}

/// A run of raw records of one file; made once and filled again and again.
#[derive(Default)]
pub struct Block {
    /// Counts the blocks of the whole input from 0.
    pub number: u64,
    /// Which of the sources the records come from, counted from 0.
    pub file: u32,
    /// Where the input stands at the end of this block.
    pub end: Position,
    pub(super) raw: Buffer,
    pub(super) found: Found,
}

impl Block {
    /// An empty block, ready to be filled.
    pub fn new() -> Self {
        Self::default()
    }

    /// How many records it holds, the bad ones included. A block may hold none, where a file's
    /// last bytes are blank.
    pub fn len(&self) -> usize {
        self.found.items.len()
    }

    /// Whether it holds no record.
    pub fn is_empty(&self) -> bool {
        self.found.items.is_empty()
    }

    /// The records, in the order of the input.
    ///
    /// UTF-8 is checked here, once for the whole block, so that this work is done by the workers
    /// and not by the one thread that reads. Only in a block that fails is each record checked by
    /// itself: the bad ones come out as [`ReadError::NotUtf8`], their neighbours live.
    pub fn records(&self) -> Records<'_> {
        let bytes = match self.found.origin {
            Origin::Input => self.raw.as_slice(),
            Origin::Made => &self.found.made,
        };
        Records {
            items: self.found.items.iter(),
            bytes,
            text: simdutf8::basic::from_utf8(bytes).ok(),
            origin: self.found.origin,
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Block")
            .field("number", &self.number)
            .field("file", &self.file)
            .field("records", &self.len())
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

/// One record as it stands in the input, not parsed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawRecord<'b> {
    /// The line of its file, from 1, where the record begins; of a bad one, where it went wrong.
    pub line: u64,
    /// The byte of that line, from 1; a byte order mark is not counted.
    pub column: u64,
    /// Its JSON text (not known to be valid JSON), or why there is none.
    pub text: Result<&'b str, ReadError>,
    origin: Origin,
}

impl RawRecord<'_> {
    /// Line and column, both from 1, of a byte offset into the text, for errors found when it is
    /// parsed. Text that was made from a table's row is as a whole at the row's beginning.
    pub fn locate(&self, offset: usize) -> (u64, u64) {
        match (&self.text, self.origin) {
            (Ok(text), Origin::Input) => {
                let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
                advance((self.line, self.column), before)
            }
            _ => (self.line, self.column),
        }
    }
}

/// Iterator over the records of a [`Block`].
#[derive(Debug, Clone)]
pub struct Records<'b> {
    items: std::slice::Iter<'b, Item>,
    bytes: &'b [u8],
    /// The bytes again, where all of them are UTF-8.
    text: Option<&'b str>,
    origin: Origin,
}

impl<'b> Iterator for Records<'b> {
    type Item = RawRecord<'b>;

    fn next(&mut self) -> Option<RawRecord<'b>> {
        let item = self.items.next()?;
        let (mut line, mut column) = (item.line, item.column);
        let text = match (&item.found, self.text) {
            (Ok(range), Some(text)) => Ok(text.get(range.clone()).unwrap_or_default()),
            (Ok(range), None) => {
                let bytes = self.bytes.get(range.clone()).unwrap_or_default();
                check_utf8(bytes).map_err(|(valid, error)| {
                    let before = bytes.get(..valid).unwrap_or_default();
                    (line, column) = advance((line, column), before);
                    error
                })
            }
            (Err(error), _) => Err((**error).clone()),
        };
        Some(RawRecord {
            line,
            column,
            text,
            origin: self.origin,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl ExactSizeIterator for Records<'_> {}

/// The bytes as text, or how many of them are, and the error for the next one.
pub(super) fn check_utf8(bytes: &[u8]) -> Result<&str, (usize, ReadError)> {
    simdutf8::compat::from_utf8(bytes).map_err(|error| {
        let valid = error.valid_up_to();
        (
            valid,
            ReadError::NotUtf8 {
                byte: bytes.get(valid).copied().unwrap_or_default(),
            },
        )
    })
}

/// Where a line and column, both from 1, come to lie after `bytes`.
pub(super) fn advance((line, column): (u64, u64), bytes: &[u8]) -> (u64, u64) {
    match memrchr(b'\n', bytes) {
        None => (line, column + bytes.len() as u64),
        Some(last) => (
            line + memchr_iter(b'\n', bytes).count() as u64,
            (bytes.len() - last) as u64,
        ),
    }
}

/// What a format found in a window of the input.
#[derive(Debug, Default)]
pub(super) struct Found {
    items: Vec<Item>,
    /// The texts of records that do not stand in the input as JSON.
    pub(super) made: Vec<u8>,
    origin: Origin,
    /// From how many records or window bytes on the block is full.
    full: (usize, usize),
}

impl Found {
    /// Empties it for a block of this size; made text beyond `keep` bytes is given back.
    pub(super) fn clear(&mut self, size: &BlockSize, keep: usize) {
        self.items.clear();
        self.made.clear();
        self.made.shrink_to(keep);
        self.origin = Origin::Input;
        self.full = (size.records.max(1), size.bytes.max(1));
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether the block ends, once `taken` bytes of the window are taken.
    #[inline]
    pub(super) fn is_full(&self, taken: usize) -> bool {
        self.items.len() >= self.full.0 || taken >= self.full.1
    }

    /// Adds a record that stands in the window.
    #[inline]
    pub(super) fn push(&mut self, range: Range<usize>, (line, column): (u64, u64)) {
        self.items.push(Item {
            line,
            column,
            found: Ok(range),
        });
    }

    /// Adds a record whose text was appended to `made`.
    pub(super) fn push_made(&mut self, range: Range<usize>, at: (u64, u64)) {
        self.origin = Origin::Made;
        self.push(range, at);
    }

    /// Adds a bad record.
    pub(super) fn push_bad(&mut self, error: ReadError, (line, column): (u64, u64)) {
        self.items.push(Item {
            line,
            column,
            found: Err(Box::new(error)),
        });
    }
}

#[derive(Debug)]
struct Item {
    line: u64,
    column: u64,
    found: Result<Range<usize>, Box<ReadError>>,
}

/// Where the texts of a block stand.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Origin {
    #[default]
    Input,
    Made,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_move_by_bytes_and_line_breaks() {
        for (from, bytes, to) in [
            ((1, 1), "", (1, 1)),
            ((1, 1), "abc", (1, 4)),
            ((3, 5), "a\n", (4, 1)),
            ((3, 5), "a\n\nbc", (5, 3)),
            ((1, 1), "\u{e9}", (1, 3)),
        ] {
            assert_eq!(advance(from, bytes.as_bytes()), to, "{bytes:?}");
        }
    }

    #[test]
    fn errors_inside_a_record_are_located_in_the_file() {
        let record = RawRecord {
            line: 7,
            column: 3,
            text: Ok("{\n \"a\": x}"),
            origin: Origin::Input,
        };
        assert_eq!(record.locate(0), (7, 3));
        assert_eq!(record.locate(8), (8, 7));
        assert_eq!(record.locate(999), (8, 9));
        let made = RawRecord {
            origin: Origin::Made,
            ..record
        };
        assert_eq!(made.locate(8), (7, 3));
    }
}
