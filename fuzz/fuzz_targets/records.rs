//! Bytes as a file of records: every format, whole and in pieces, then each record decoded with every
//! field wanted, and judged by the checks that it brings itself.
//!
//! The first byte chooses the format and the size of the pieces.
#![no_main]

use std::collections::BTreeMap;
use std::io::Read;

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use lydite::check::Bench;
use lydite::decode::{Decoder, Mapping, Survey, Wanted};
use lydite::format::{Block, BlockReader, BlockSize, Format, RawRecord, Source, open};
use lydite::identity::computed_id;
use lydite::json;
use lydite::record::{Field, FieldSet};
use lydite::suite::own::OwnChecks;
use lydite_fuzz::REGISTRY;

const FORMATS: [Option<Format>; 5] = [
    None,
    Some(Format::Jsonl),
    Some(Format::Json),
    Some(Format::Csv),
    Some(Format::Tsv),
];

/// Most bytes of a record.
const RECORD: usize = 64 << 10;

/// Most decompressed bytes that are looked at.
const MOST: u64 = 256 << 10;

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else {
        return;
    };
    let format = FORMATS[usize::from(choice) % FORMATS.len()];
    // Of a damaged stream how much comes out before the error hangs on how it is fed.
    let compressed = bytes.starts_with(b"\x1f\x8b") || bytes.starts_with(b"\x28\xb5\x2f\xfd");
    let piece = 1 << (usize::from(choice) / FORMATS.len() % 12);
    let whole = read(
        bytes,
        format,
        BlockSize {
            record_bytes: RECORD,
            ..BlockSize::default()
        },
        usize::MAX,
    );
    let pieces = read(
        bytes,
        format,
        BlockSize {
            bytes: piece,
            records: 4096,
            record_bytes: RECORD,
        },
        if compressed { usize::MAX } else { piece },
    );
    if let (Some(whole), Some(pieces)) = (&whole, &pieces) {
        assert_eq!(whole, pieces, "the size of a block changes what is read");
    }
    let records: Vec<&str> = whole
        .iter()
        .flatten()
        .filter_map(|record| record.text.as_deref().ok())
        .collect();
    decode(&records);
});

/// A record with its place, or what went wrong there; place 0 is the end of the input.
#[derive(Debug, PartialEq)]
struct Seen {
    place: (u64, u64),
    text: Result<String, String>,
}

/// All records, and the error that ended them; `None` where there is more than is looked at.
fn read(bytes: &[u8], format: Option<Format>, size: BlockSize, piece: usize) -> Option<Vec<Seen>> {
    let pieces = Pieces {
        bytes: bytes.to_vec(),
        at: 0,
        piece,
    };
    let mut source = Source::reader("fuzz", pieces);
    source.format = format;
    let end = |error: String| Seen {
        place: (0, 0),
        text: Err(error),
    };
    let mut seen = Vec::new();
    let mut reader = match open(vec![source], size) {
        Ok(reader) => reader,
        Err(error) => return Some(vec![end(error.to_string())]),
    };
    let mut block = Block::new();
    loop {
        match reader.next_block(&mut block) {
            Ok(true) if block.end.bytes > MOST => return None,
            Ok(true) => seen.extend(block.records().map(look)),
            Ok(false) => return Some(seen),
            Err(lydite::format::InputError::RecordTooLong { .. }) => return None,
            Err(error) => {
                seen.push(end(error.to_string()));
                return Some(seen);
            }
        }
    }
}

fn look(record: RawRecord<'_>) -> Seen {
    assert!(record.line > 0 && record.column > 0);
    let place = (record.line, record.column);
    assert!(
        record.locate(usize::MAX) >= place,
        "the end of a record lies before its beginning"
    );
    Seen {
        place,
        text: record
            .text
            .map(str::to_owned)
            .map_err(|error| error.to_string()),
    }
}

fn decode(records: &[&str]) {
    let wanted = Wanted {
        fields: FieldSet::of(&Field::ALL),
        keys: vec!["x".to_owned(), "question".to_owned()],
    };
    let mut survey = Survey::default();
    for record in records {
        survey.add(record);
    }
    let mapping =
        [true, false].map(|needs| Mapping::new(&survey, &BTreeMap::new(), &wanted, needs));
    let Some(mapping) = mapping.into_iter().find_map(Result::ok) else {
        return;
    };
    let mut decoder = Decoder::new(&mapping);
    let (mut bench, mut own) = (Bench::default(), OwnChecks::new());
    for record in records {
        let arena = Bump::new();
        let slots = match decoder.decode(record, &arena) {
            Ok(slots) => slots,
            Err(error) => {
                assert!(
                    error.offset <= record.len(),
                    "{error:?} is beyond the record"
                );
                continue;
            }
        };
        assert!(
            json::is_valid(record).is_ok(),
            "a record that is not JSON was taken"
        );
        assert_eq!(computed_id(slots), computed_id(slots));
        let Some(evaluators) = slots.raw[Field::Evaluators as usize] else {
            continue;
        };
        for check in own.of(evaluators, &REGISTRY, &[]).into_iter().flatten() {
            let with_reason = check.judge(slots, &arena, &mut bench, true);
            let without = check.judge(slots, &arena, &mut bench, false);
            assert_eq!(
                with_reason.cell, without.cell,
                "explaining changes the cell"
            );
        }
    }
}

/// Gives a few bytes at a time.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    piece: usize,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let count = rest.len().min(out.len()).min(self.piece);
        out[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}
