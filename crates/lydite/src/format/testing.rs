//! What the readers' tests share.

use std::io::{self, Cursor, Read, Write};

use super::{Block, BlockReader, BlockSize, InputError, Position, ReadError, Reader, Source, open};

/// A record that outlives its block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) line: u64,
    pub(super) column: u64,
    pub(super) text: Result<String, ReadError>,
}

pub(super) fn good(line: u64, column: u64, text: &str) -> Item {
    Item {
        line,
        column,
        text: Ok(text.to_owned()),
    }
}

pub(super) fn bad(line: u64, column: u64, error: ReadError) -> Item {
    Item {
        line,
        column,
        text: Err(error),
    }
}

/// All that a reader gave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Got {
    pub(super) records: Vec<Item>,
    /// Bytes and records of each block.
    pub(super) blocks: Vec<(u64, usize)>,
    pub(super) ends: Vec<Position>,
    pub(super) end: Position,
    pub(super) error: Option<String>,
}

pub(super) fn read_all(bytes: &[u8], name: &str) -> Got {
    read_sized(bytes, name, BlockSize::default())
}

pub(super) fn read_sized(bytes: &[u8], name: &str, size: BlockSize) -> Got {
    read_source(Source::reader(name, Cursor::new(bytes.to_vec())), size)
}

pub(super) fn read_source(source: Source, size: BlockSize) -> Got {
    let mut got = Got::default();
    let mut reader = match open(vec![source], size) {
        Ok(reader) => reader,
        Err(error) => {
            got.error = Some(error.to_string());
            return got;
        }
    };
    let mut block = Block::new();
    loop {
        match reader.next_block(&mut block) {
            Ok(false) => break,
            Err(error) => {
                got.error = Some(error.to_string());
                break;
            }
            Ok(true) => {}
        }
        got.blocks
            .push((block.end.bytes - got.end.bytes, block.len()));
        got.ends.push(block.end);
        got.end = block.end;
        got.records.extend(block.records().map(|record| Item {
            line: record.line,
            column: record.column,
            text: record.text.map(str::to_owned),
        }));
    }
    got
}

/// The texts of all records up to the end or the first error.
pub(super) fn texts(reader: &mut Reader) -> (Vec<String>, Option<InputError>) {
    let mut block = Block::new();
    let mut all = Vec::new();
    loop {
        match reader.next_block(&mut block) {
            Ok(true) => all.extend(
                block
                    .records()
                    .map(|record| record.text.unwrap().to_owned()),
            ),
            Ok(false) => return (all, None),
            Err(error) => return (all, Some(error)),
        }
    }
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Gives its bytes in steps of the given sizes, over and over.
pub(super) struct Stutter {
    bytes: Cursor<Vec<u8>>,
    steps: Vec<usize>,
    next: usize,
}

impl Stutter {
    pub(super) fn new(bytes: Vec<u8>, steps: Vec<usize>) -> Self {
        Self {
            bytes: Cursor::new(bytes),
            steps,
            next: 0,
        }
    }
}

impl Read for Stutter {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let step = self.steps[self.next % self.steps.len()].min(into.len());
        self.next += 1;
        if self.next % 7 == 3 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        self.bytes.read(&mut into[..step])
    }
}
