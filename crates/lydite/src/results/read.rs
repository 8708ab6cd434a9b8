//! Reads stored result lines, narrow or wide.

use std::io::{self, BufRead};

use super::{CheckResult, WideResult};

/// The lines of a results file, read one after another into one buffer.
///
/// A file that a kill cut short ends in a torn line: it comes as [`LineError::Torn`], after all that
/// is whole.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    number: u64,
    /// The last line was wide; nearly always the next is too.
    wide: bool,
}

/// A line of `results.jsonl`.
#[expect(
    clippy::large_enum_variant,
    reason = "one is alive at a time, and a box would cost an allocation a line"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum StoredLine<'a> {
    /// One answer judged by one check.
    Narrow(CheckResult<'a>),
    /// One answer with all its checks.
    Wide(WideResult<'a>),
}

/// Why a line could not be read. The lines after it still can.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LineError {
    #[error("line {line}, column {column}: is no result line: {message}")]
    NotAResult {
        line: u64,
        column: usize,
        message: String,
    },
    #[error("line {line}: is cut off in its middle, as a kill leaves it; the {} lines before it are whole", .line - 1)]
    Torn { line: u64 },
    #[error("line {line}: can't be read: {source}")]
    Read { line: u64, source: io::Error },
}

impl<R: BufRead> Lines<R> {
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            number: 0,
            wide: false,
        }
    }

    /// The number of the line that was read last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line, or `None` at the end. Blank lines are passed over.
    ///
    /// A line borrows from this reader's buffer, so that it lives until the next call. After
    /// [`LineError::Read`] nothing more should be asked for.
    pub fn next_line(&mut self) -> Option<Result<StoredLine<'_>, LineError>> {
        loop {
            self.buffer.clear();
            self.number += 1;
            match self.reader.read_until(b'\n', &mut self.buffer) {
                Ok(0) => return None,
                Ok(_) if self.buffer.trim_ascii().is_empty() => {}
                Ok(_) => break,
                Err(source) => {
                    return Some(Err(LineError::Read {
                        line: self.number,
                        source,
                    }));
                }
            }
        }
        Some(parse(&self.buffer, &mut self.wide, self.number))
    }
}

fn parse<'b>(bytes: &'b [u8], wide: &mut bool, line: u64) -> Result<StoredLine<'b>, LineError> {
    let error = match parse_as(bytes, *wide) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    if let Ok(found) = parse_as(bytes, !*wide) {
        *wide = !*wide;
        return Ok(found);
    }
    if bytes.last() != Some(&b'\n') && error.is_eof() {
        return Err(LineError::Torn { line });
    }
    Err(LineError::NotAResult {
        line,
        column: error.column(),
        message: without_place(&error),
    })
}

fn parse_as(bytes: &[u8], wide: bool) -> Result<StoredLine<'_>, serde_json::Error> {
    if wide {
        serde_json::from_slice(bytes).map(StoredLine::Wide)
    } else {
        serde_json::from_slice(bytes).map(StoredLine::Narrow)
    }
}

/// serde_json's message without its own line number, which is always 1 here.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ")
        .map_or(text.clone(), |(message, _)| message.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Vec<String> {
        let mut lines = Lines::new(text);
        let mut seen = Vec::new();
        while let Some(line) = lines.next_line() {
            seen.push(match line {
                Ok(StoredLine::Narrow(line)) => format!("{}/{}", line.record, line.check),
                Ok(StoredLine::Wide(line)) => format!("{}:{}", line.record, line.checks.len()),
                Err(error) => error.to_string(),
            });
        }
        seen
    }

    #[test]
    fn narrow_and_wide_lines_bad_ones_and_a_torn_end() {
        let narrow = r#"{"record":"a","check":"c","verdict":"pass","later_field":{"x":1}}"#;
        let wide = r#"{"record":"b","checks":{"c":{"verdict":"fail","score":0.5},"d":{}}}"#;
        let cases: [(&str, &[&str]); 8] = [
            ("", &[]),
            ("\n  \r\n", &[]),
            (narrow, &["a/c"]),
            (wide, &["b:2"]),
            (
                "NARROW\nWIDE\nWIDE\nNARROW\n",
                &["a/c", "b:2", "b:2", "a/c"],
            ),
            (
                "NARROW\n{\"record\":1}\nWIDE\n",
                &[
                    "a/c",
                    "line 2, column 11: is no result line: invalid type: integer `1`, expected a string",
                    "b:2",
                ],
            ),
            (
                "NARROW\n\n{\"record\":\"b\",",
                &[
                    "a/c",
                    "line 3: is cut off in its middle, as a kill leaves it; the 2 lines before it are whole",
                ],
            ),
            (
                "{\"record\":\"b\",\nNARROW",
                &[
                    "line 1, column 0: is no result line: EOF while parsing a value",
                    "a/c",
                ],
            ),
        ];
        for (text, expected) in cases {
            let text = text.replace("NARROW", narrow).replace("WIDE", wide);
            assert_eq!(read(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_utf8_are_an_error_of_their_line() {
        let seen =
            read(b"{\"record\":\"\xff\",\"check\":\"c\"}\n{\"record\":\"a\",\"check\":\"c\"}\n");
        assert!(seen[0].starts_with("line 1, column "), "{seen:?}");
        assert_eq!(seen[1], "a/c");
    }
}
