//! gzip and zstd, told by their first bytes and not by a name.

use std::fmt;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};

use super::buffer::Buffer;

/// How an input is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// RFC 1952, one or more members.
    Gzip,
    /// RFC 8878, one or more frames.
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

/// Bytes read at a time from a compressed file.
const CHUNK: usize = 64 << 10;

/// The decompressed bytes of a reader, and how it was compressed.
pub(super) fn decompress(
    mut reader: Box<dyn Read + Send>,
) -> io::Result<(Box<dyn Read + Send>, Option<Compression>)> {
    let mut head = Buffer::default();
    head.fill(&mut reader, 4)?;
    let compression = compression_of(head.as_slice());
    let whole = Cursor::new(head.as_slice().to_vec()).chain(reader);
    let buffered = |whole| BufReader::with_capacity(CHUNK, whole);
    let reader: Box<dyn Read + Send> = match compression {
        None => Box::new(whole),
        Some(Compression::Gzip) => Box::new(flate2::bufread::MultiGzDecoder::new(buffered(whole))),
        Some(Compression::Zstd) => {
            Box::new(zstd::stream::read::Decoder::with_buffer(buffered(whole))?)
        }
    };
    Ok((reader, compression))
}

/// Whether a decoder's error says that its input stopped too early.
pub(super) fn is_cut_off(error: &io::Error) -> bool {
    error.kind() == ErrorKind::UnexpectedEof
}

fn compression_of(head: &[u8]) -> Option<Compression> {
    match head {
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        // A frame, or a skippable frame that one may begin with (RFC 8878, 3.1).
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Some(Compression::Zstd),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::format::testing::{gzip, read_all, texts};
    use crate::format::{BlockSize, InputError, Source, open};

    fn lines(count: usize) -> String {
        (0..count)
            .map(|n| format!("{{\"id\":{n},\"output\":\"text {n}\"}}\n"))
            .collect()
    }

    #[test]
    fn compressed_input_reads_like_plain() {
        let plain = lines(20_000);
        let (first, second) = plain.split_at(plain.len() / 3);
        let mut members = gzip(first.as_bytes());
        members.extend(gzip(second.as_bytes()));
        let mut frames = zstd::encode_all(first.as_bytes(), 3).unwrap();
        frames.extend(zstd::encode_all(second.as_bytes(), 1).unwrap());
        let mut skippable = vec![0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 9, 9];
        skippable.extend(&frames);
        let want = read_all(plain.as_bytes(), "plain.jsonl");
        assert_eq!(want.records.len(), 20_000);
        for (name, bytes) in [
            ("one member", gzip(plain.as_bytes())),
            ("two members", members),
            ("two frames", frames),
            ("skippable", skippable),
        ] {
            let got = read_all(&bytes, "named-otherwise.jsonl");
            assert_eq!(got, want, "{name}");
        }
    }

    #[test]
    fn a_cut_or_damaged_stream_is_an_error_after_its_whole_records() {
        let plain = lines(20_000);
        let mut trailing = gzip(plain.as_bytes());
        trailing.extend(b"rubbish, and more of it");
        let mut damaged = zstd::encode_all(plain.as_bytes(), 1).unwrap();
        damaged.extend(b"\x28\xb5\x2f\xfd rubbish after a frame's first bytes");
        let cut = |mut bytes: Vec<u8>| {
            bytes.truncate(bytes.len() * 2 / 3);
            bytes
        };
        for (name, bytes, truncated) in [
            ("gzip cut", cut(gzip(plain.as_bytes())), true),
            (
                "zstd cut",
                cut(zstd::encode_all(plain.as_bytes(), 1).unwrap()),
                true,
            ),
            ("gzip with rubbish", trailing, false),
            ("zstd damaged", damaged, false),
        ] {
            let source = Source::reader("data.jsonl", Cursor::new(bytes));
            let (records, error) = match open(vec![source], BlockSize::default()) {
                Ok(mut reader) => texts(&mut reader),
                Err(error) => (Vec::new(), Some(error)),
            };
            match error {
                Some(InputError::Truncated { bytes, .. }) if truncated => assert!(bytes > 0),
                Some(InputError::Corrupt { .. }) if !truncated => {}
                other => panic!("{name}: {other:?}"),
            }
            let whole: Vec<_> = plain.lines().take(records.len()).collect();
            assert_eq!(records, whole, "{name}");
        }
    }

    #[test]
    fn an_empty_member_is_an_empty_input() {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.flush().unwrap();
        let bytes = encoder.finish().unwrap();
        assert!(read_all(&bytes, "empty.jsonl").records.is_empty());
    }
}
