//! JSON Lines: a record a line, ended by `\n` or `\r\n`. Blank lines are passed over; the last line
//! needs no end; U+2028, U+0085 and the like are text.

use memchr::memchr_iter;

use super::block::Found;
use super::error::InputError;
use super::stream::{Split, Window};

/// Splits lines.
pub(super) struct Jsonl {
    /// The line at the cut, from 1.
    line: u64,
}

impl Jsonl {
    pub(super) fn new() -> Self {
        Self { line: 1 }
    }
}

impl Split for Jsonl {
    fn split(
        &mut self,
        window: &Window<'_>,
        cut: &mut usize,
        found: &mut Found,
    ) -> Result<(), InputError> {
        let from = *cut;
        let unread = window.text.get(from..).unwrap_or_default();
        let mut start = 0;
        for end in memchr_iter(b'\n', unread) {
            push_line(unread, start, end, from, self.line, found);
            self.line += 1;
            start = end + 1;
            if found.is_full(from + start) {
                *cut = from + start;
                return Ok(());
            }
        }
        if window.last {
            push_line(unread, start, unread.len(), from, self.line, found);
            start = unread.len();
        }
        *cut = from + start;
        Ok(())
    }

    fn place(&self) -> (u64, u64) {
        (self.line, 1)
    }
}

#[inline]
fn push_line(text: &[u8], start: usize, end: usize, offset: usize, line: u64, found: &mut Found) {
    let bytes = text.get(start..end).unwrap_or_default();
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let blank = match bytes.first() {
        Some(first) if *first > b' ' => false,
        _ => bytes
            .iter()
            .all(|byte| matches!(byte, b' ' | b'\t' | b'\r')),
    };
    if !blank {
        let start = offset + start;
        found.push(start..start + bytes.len(), (line, 1));
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use crate::format::testing::{Stutter, bad, good, read_all, read_sized, read_source, texts};
    use crate::format::{Block, BlockReader, BlockSize, Format, ReadError, Source, open};

    #[test]
    fn lines_are_records() {
        let cases: &[(&str, &[u8], &[(u64, u64, &str)])] = &[
            ("empty", b"", &[]),
            ("blank lines", b"\n \t\r\n\r\n", &[]),
            ("one line without end", b"{}", &[(1, 1, "{}")]),
            (
                "ends",
                b"{}\n[]\r\n1\n",
                &[(1, 1, "{}"), (2, 1, "[]"), (3, 1, "1")],
            ),
            (
                "blanks between",
                b"\n{}\n\n \r\n[]\n",
                &[(2, 1, "{}"), (5, 1, "[]")],
            ),
            (
                "byte order mark",
                b"\xef\xbb\xbf{}\n{}",
                &[(1, 1, "{}"), (2, 1, "{}")],
            ),
            ("only a byte order mark", b"\xef\xbb\xbf", &[]),
            (
                "mark further on",
                b"{}\n\xef\xbb\xbf{}",
                &[(1, 1, "{}"), (2, 1, "\u{feff}{}")],
            ),
            (
                "other line ends are text",
                "\"a\u{2028}b\u{85}c\u{b}d\re\"\n".as_bytes(),
                &[(1, 1, "\"a\u{2028}b\u{85}c\u{b}d\re\"")],
            ),
            (
                "NUL is left to the parser",
                b"\0\n{}\n",
                &[(1, 1, "\0"), (2, 1, "{}")],
            ),
            ("indented", b"  {}  \n", &[(1, 1, "  {}  ")]),
        ];
        for (name, bytes, want) in cases {
            let got = read_all(bytes, "t.jsonl");
            let want: Vec<_> = want.iter().map(|(l, c, text)| good(*l, *c, text)).collect();
            assert_eq!(got.records, want, "{name}");
        }
    }

    #[test]
    fn a_line_that_is_not_utf8_is_an_event_and_its_neighbours_live() {
        let bytes = b"{\"a\":1}\n{\"a\":\"\xff\"}\r\n{\"a\":\"\xc3\xa9\"}\n\xe2\x82\n{}\n";
        let want = vec![
            good(1, 1, "{\"a\":1}"),
            bad(2, 7, ReadError::NotUtf8 { byte: 0xff }),
            good(3, 1, "{\"a\":\"\u{e9}\"}"),
            bad(4, 1, ReadError::NotUtf8 { byte: 0xe2 }),
            good(5, 1, "{}"),
        ];
        let got = read_all(bytes, "t.jsonl");
        assert_eq!(got.records, want);
        assert_eq!((got.end.records, got.end.lines), (5, 5));
    }

    #[test]
    fn a_huge_line_is_read_and_its_memory_given_back() {
        let mut bytes = b"{}\n\"".to_vec();
        bytes.resize(50 << 20, b'x');
        bytes.extend(b"\"\n{}\n[]");
        let source = Source::reader("t.jsonl", Cursor::new(bytes));
        let mut reader = open(vec![source], BlockSize::default()).unwrap();
        let mut block = Block::new();
        let mut lengths = Vec::new();
        while reader.next_block(&mut block).unwrap() {
            let of_block: Vec<_> = block.records().map(|r| r.text.unwrap().len()).collect();
            lengths.push(of_block);
        }
        assert_eq!(lengths, vec![vec![2], vec![(50 << 20) - 2], vec![2, 2]]);
        assert!(block.raw.capacity() < 1 << 20, "{}", block.raw.capacity());
    }

    #[test]
    fn a_line_beyond_the_limit_ends_the_file() {
        let size = BlockSize {
            bytes: 64,
            records: 10,
            record_bytes: 1000,
        };
        let long = "x".repeat(1001);
        let text = format!("{{}}\n{long}\n{{}}\n");
        let source = Source::reader("t.jsonl", Cursor::new(text));
        let (records, error) = texts(&mut open(vec![source], size).unwrap());
        assert_eq!(records, ["{}"]);
        assert_eq!(
            error.unwrap().to_string(),
            "t.jsonl:2:1: the record that begins here is longer than 1000 bytes; look for a quote \
             that is not closed"
        );
    }

    #[test]
    fn blocks_end_with_the_last_line_that_fits_or_with_the_record_limit() {
        let text = "aaaa\nbbbb\ncc\n\n\ndddddddddddddddd\ne\n";
        let blocks = |bytes, records| {
            let size = BlockSize {
                bytes,
                records,
                record_bytes: 1000,
            };
            read_sized(text.as_bytes(), "t.jsonl", size).blocks
        };
        assert_eq!(blocks(12, 100), [(10, 2), (5, 1), (17, 1), (2, 1)]);
        assert_eq!(blocks(1000, 2), [(10, 2), (22, 2), (2, 1)]);
        assert_eq!(blocks(1, 100).iter().map(|block| block.1).sum::<usize>(), 5);
    }

    proptest! {
        #[test]
        fn blocks_depend_on_content_and_size_alone(
            lines in prop::collection::vec(
                prop_oneof![
                    "[a-z\u{e9}\u{4e16}]{0,40}\r?",
                    Just("x".repeat(300)),
                ],
                0..60,
            ),
            ended in any::<bool>(),
            steps in prop::collection::vec(1..50_usize, 1..6),
            bytes in 1..400_usize,
            records in 1..20_usize,
        ) {
            let mut text = lines.join("\n");
            if ended {
                text.push('\n');
            }
            let size = BlockSize { bytes, records, record_bytes: 1 << 20 };
            let whole = read_sized(text.as_bytes(), "t.jsonl", size);
            let stutter = Stutter::new(text.clone().into_bytes(), steps);
            let source = Source { format: Some(Format::Jsonl), ..Source::reader("t", stutter) };
            let stuttered = read_source(source, size);
            prop_assert_eq!(&whole, &stuttered);

            let naive: Vec<_> = text
                .split('\n')
                .enumerate()
                .map(|(n, line)| (n as u64 + 1, line.strip_suffix('\r').unwrap_or(line)))
                .filter(|(_, line)| !line.is_empty())
                .map(|(n, line)| good(n, 1, line))
                .collect();
            prop_assert_eq!(whole.records, naive);
            prop_assert_eq!(whole.end.lines, text.matches('\n').count() as u64);
        }
    }
}
