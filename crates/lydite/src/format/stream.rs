//! The walk that all formats share: read a window, let the format find records in it, end the
//! block, keep the rest.

use std::io::{self, Read};
use std::sync::Arc;

use twox_hash::xxhash3_128::Hasher;

use super::block::{Block, BlockSize, Found, Position};
use super::buffer::Buffer;
use super::compress::{Compression, is_cut_off};
use super::copy::InputCopy;
use super::error::InputError;

/// Bytes of a file's beginning that its format is told from.
pub(super) const PEEK: usize = 64 << 10;
/// Bytes read before records are looked for, so that they are still in a near cache then.
const STEP: usize = 128 << 10;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A format: finds records at the beginning of a window.
pub(super) trait Split: Send {
    /// Takes records from `window.text[*cut..]` until `found` is full or no whole one is left, and
    /// moves `cut` behind what it took. What it does not take it is shown again, in a larger window
    /// or at the beginning of the next block, so only what is behind `cut` may change its state.
    fn split(
        &mut self,
        window: &Window<'_>,
        cut: &mut usize,
        found: &mut Found,
    ) -> Result<(), InputError>;

    /// Line and byte in it, both from 1, at which the last `cut` stands in the file.
    fn place(&self) -> (u64, u64);
}

/// A stretch of the input.
#[derive(Clone, Copy)]
pub(super) struct Window<'w> {
    pub(super) text: &'w [u8],
    /// Whether the file ends with it.
    pub(super) last: bool,
}

/// One file, read block by block.
pub(super) struct FileReader {
    pub(super) bytes: Bytes,
    pub(super) format: Box<dyn Split>,
    /// An error met behind records that had to be handed out first.
    pub(super) failed: Option<InputError>,
    pub(super) size: BlockSize,
}

impl FileReader {
    /// Fills the block with the next records; false when the file has ended. After an error
    /// nothing more of the file can be read.
    pub(super) fn next_block(
        &mut self,
        block: &mut Block,
        progress: &mut Progress,
    ) -> Result<bool, InputError> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut cut = 0;
        let lines_before = self.format.place().0;
        let walked = self.walk(block, &mut cut);
        self.bytes.keep_rest(&mut block.raw, cut);
        progress.take(block.raw.as_slice())?;
        progress.records += block.found.len() as u64;
        progress.lines += self.format.place().0 - lines_before;
        let any = cut > 0 || !block.is_empty();
        match walked {
            Err(error) if any => self.failed = Some(error),
            Err(error) => return Err(error),
            Ok(()) => {}
        }
        Ok(any)
    }

    fn walk(&mut self, block: &mut Block, cut: &mut usize) -> Result<(), InputError> {
        let target = self.size.bytes.max(1);
        let limit = self.size.record_bytes.max(target);
        let Block { raw, found, .. } = block;
        raw.clear(target.saturating_mul(2));
        found.clear(&self.size, target.saturating_mul(8));
        let mut want = 0;
        loop {
            want = next_window(want, target, limit);
            let filled = self.bytes.fill(raw, want);
            let last = filled.is_ok() && raw.len() < want;
            let window = Window {
                text: raw.as_slice(),
                last,
            };
            self.format.split(&window, cut, found)?;
            if let Err(error) = filled {
                if !found.is_full(*cut) {
                    return Err(error);
                }
                // Records that the block has no room for are handed out before it.
                self.bytes.failed = Some(error);
                return Ok(());
            }
            // Blank input alone makes a block only once there is much of it.
            let enough = found.len() > 0 || *cut >= target.div_ceil(2);
            if last || found.is_full(*cut) || (want >= target && enough) {
                return Ok(());
            }
            if want > limit {
                let (line, column) = self.format.place();
                let file = self.bytes.name.to_string();
                return Err(InputError::RecordTooLong {
                    file,
                    line,
                    column,
                    limit,
                });
            }
        }
    }
}

/// Steps up to the block's size, then doubles, up to just over the limit.
fn next_window(window: usize, target: usize, limit: usize) -> usize {
    if window < target {
        (window + STEP).min(target)
    } else {
        window.saturating_mul(2).min(limit.saturating_add(1))
    }
}

/// Everything read so far, over all files.
pub(super) struct Progress {
    hasher: Hasher,
    pub(super) bytes: u64,
    pub(super) records: u64,
    pub(super) lines: u64,
    pub(super) copy: Option<InputCopy>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            hasher: Hasher::new(),
            bytes: 0,
            records: 0,
            lines: 0,
            copy: None,
        }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), InputError> {
        self.hasher.write(bytes);
        self.bytes += bytes.len() as u64;
        self.copy.as_mut().map_or(Ok(()), |copy| copy.write(bytes))
    }

    pub(super) fn position(&self) -> Position {
        Position {
            bytes: self.bytes,
            records: self.records,
            lines: self.lines,
            hash: self.hasher.finish_128(),
        }
    }
}

/// The decompressed bytes of one file, of which the end of one block is given back for the next.
pub(super) struct Bytes {
    pub(super) name: Arc<str>,
    reader: Box<dyn Read + Send>,
    compression: Option<Compression>,
    /// Bytes that were read and are not handed out, from `rest_from` on.
    rest: Buffer,
    rest_from: usize,
    /// Bytes that came out of the reader.
    read: u64,
    /// An error met while peeking, due once the bytes before it are handed out.
    failed: Option<InputError>,
}

impl Bytes {
    pub(super) fn new(
        name: Arc<str>,
        reader: Box<dyn Read + Send>,
        compression: Option<Compression>,
    ) -> Self {
        Self {
            name,
            reader,
            compression,
            rest: Buffer::default(),
            rest_from: 0,
            read: 0,
            failed: None,
        }
    }

    /// The file's beginning, which is not taken, without a byte order mark.
    pub(super) fn peek(&mut self) -> Result<Window<'_>, InputError> {
        let mut rest = std::mem::take(&mut self.rest);
        let filled = self.fill(&mut rest, PEEK);
        self.rest = rest;
        match filled {
            Err(error) if self.rest.len() == 0 => return Err(error),
            filled => self.failed = filled.err(),
        }
        let text = self.rest.as_slice();
        let last = text.len() < PEEK && self.failed.is_none();
        Ok(Window {
            text: text.strip_prefix(BOM).unwrap_or(text),
            last,
        })
    }

    /// Takes a byte order mark; to be called before the first block.
    pub(super) fn take_mark(&mut self, progress: &mut Progress) -> Result<(), InputError> {
        if self.rest.as_slice().starts_with(BOM) {
            self.rest_from = BOM.len();
            progress.take(BOM)?;
        }
        Ok(())
    }

    /// Adds bytes to the buffer until it holds `want`, or the file ends.
    fn fill(&mut self, buffer: &mut Buffer, want: usize) -> Result<(), InputError> {
        let rest = self
            .rest
            .as_slice()
            .get(self.rest_from..)
            .unwrap_or_default();
        let given = rest.len().min(want.saturating_sub(buffer.len()));
        buffer.extend(rest.get(..given).unwrap_or_default());
        self.rest_from += given;
        if buffer.len() < want
            && let Some(error) = self.failed.take()
        {
            return Err(error);
        }
        let before = buffer.len();
        let filled = buffer.fill(&mut self.reader, want);
        self.read += (buffer.len() - before) as u64;
        filled.map_err(|cause| self.explain(cause))
    }

    /// Ends the buffer at `cut` and keeps what it held beyond.
    fn keep_rest(&mut self, buffer: &mut Buffer, cut: usize) {
        let unused = buffer.as_slice().get(cut..).unwrap_or_default();
        if self.rest_from < self.rest.len() {
            // All of the buffer came from there.
            self.rest_from -= unused.len();
        } else {
            self.rest.clear(buffer.len().min(2 * PEEK));
            self.rest.extend(unused);
            self.rest_from = 0;
        }
        buffer.truncate(cut);
    }

    fn explain(&self, cause: io::Error) -> InputError {
        let (file, bytes) = (self.name.to_string(), self.read);
        match self.compression {
            None => InputError::Read { file, bytes, cause },
            Some(compression) if is_cut_off(&cause) => InputError::Truncated {
                file,
                compression,
                bytes,
            },
            Some(compression) => InputError::Corrupt {
                file,
                compression,
                bytes,
                cause,
            },
        }
    }
}
