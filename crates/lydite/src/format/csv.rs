//! CSV and TSV (RFC 4180 with any delimiter): a header, then a record a row, handed out as the text
//! of a JSON object so that all later stages see one form.
//!
//! Rows are split here and not by `csv-core`, because that accepts stray quotes in silence and does
//! not tell where a cell began; both are what a person needs to repair a table.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use memchr::{memchr, memchr2, memchr3};
use serde::de::IgnoredAny;

use super::block::{Found, advance, check_utf8};
use super::detect::Format;
use super::error::{InputError, ReadError};
use super::stream::{Split, Window};

/// How a table is written, where its first lines shall not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// The ASCII byte between cells; found out by default (comma, semicolon, tab or bar).
    pub delimiter: Option<u8>,
    /// The byte around cells that hold delimiters, line breaks or quotes.
    pub quote: Quote,
}

/// The quote of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Quote {
    /// `"`, or `'` where the header begins with that and has no `"`.
    #[default]
    Sniff,
    /// This ASCII byte.
    Byte(u8),
    /// None: every quote is text, and no cell holds a delimiter or a line break.
    None,
}

/// Splits rows.
pub(super) struct Csv {
    file: Arc<str>,
    dialect: Dialect,
    /// The columns, once the header was read.
    header: Option<Vec<Column>>,
    /// Line and byte of the cut.
    place: (u64, u64),
    /// The cells of the current row.
    cells: Vec<Cell>,
}

impl Csv {
    /// A reader for a table with this beginning.
    pub(super) fn new(
        file: Arc<str>,
        head: &Window<'_>,
        format: Format,
        options: CsvOptions,
    ) -> Self {
        let options = CsvOptions {
            delimiter: options
                .delimiter
                .or((format == Format::Tsv).then_some(b'\t')),
            ..options
        };
        let dialect = Dialect::sniff(head, options);
        Self {
            file,
            dialect,
            header: None,
            place: (1, 1),
            cells: Vec::new(),
        }
    }

    /// Takes the row that `row` holds, without its line break.
    fn row(&mut self, row: &[u8], fault: Option<Fault>, found: &mut Found) {
        let blank = match &*self.cells {
            [only] if !only.quoted => {
                row.is_empty() || (self.is_wide() && row.trim_ascii().is_empty())
            }
            _ => false,
        };
        if blank {
            return;
        }
        let Some(header) = self.header.take() else {
            let header = self.read_header(row, fault, found);
            self.header = Some(header);
            return;
        };
        let start = found.made.len();
        match self.write_object(row, fault, &header, &mut found.made) {
            Ok(()) => found.push_made(start..found.made.len(), self.place),
            Err((at, error)) => {
                found.made.truncate(start);
                found.push_bad(error, self.locate(row, at));
            }
        }
        self.header = Some(header);
    }

    fn is_wide(&self) -> bool {
        self.header.as_ref().is_none_or(|header| header.len() > 1)
    }

    fn read_header(&self, row: &[u8], fault: Option<Fault>, found: &mut Found) -> Vec<Column> {
        if let Some(Fault { at, kind }) = fault {
            found.push_bad(self.explain(row, kind), self.locate(row, at));
        }
        if let Err((at, error)) = check_utf8(row) {
            found.push_bad(error, self.locate(row, at));
        }
        let mut header = Vec::with_capacity(self.cells.len());
        let mut names = HashSet::new();
        for (index, cell) in self.cells.iter().enumerate() {
            let text = String::from_utf8_lossy(row.get(cell.range.clone()).unwrap_or_default());
            let name = self.dialect.unescape(&text, cell.doubled).trim().to_owned();
            let number = index + 1;
            let error = if name.is_empty() {
                Some(ReadError::UnnamedColumn { number })
            } else if !names.insert(name.clone()) {
                Some(ReadError::DuplicateColumn {
                    number,
                    name: name.clone(),
                })
            } else {
                None
            };
            let used = error.is_none();
            if let Some(error) = error {
                found.push_bad(error, self.locate(row, cell.start));
            }
            header.push(Column {
                reading: Reading::of(&name),
                name,
                used,
            });
        }
        header
    }

    fn write_object(
        &self,
        row: &[u8],
        fault: Option<Fault>,
        header: &[Column],
        out: &mut Vec<u8>,
    ) -> Result<(), (usize, ReadError)> {
        let text = check_utf8(row)?;
        if let Some(Fault { at, kind }) = fault {
            return Err((at, self.explain(row, kind)));
        }
        let (expected, cells) = (header.len(), self.cells.len());
        if expected != cells {
            let at = self
                .cells
                .get(expected)
                .map_or(row.len(), |extra| extra.start);
            return Err((
                at,
                ReadError::CellCount {
                    expected,
                    found: cells,
                },
            ));
        }
        out.push(b'{');
        let mut separator = None;
        for (column, cell) in header
            .iter()
            .zip(&self.cells)
            .filter(|(column, _)| column.used)
        {
            let raw = text.get(cell.range.clone()).unwrap_or_default();
            let value = self.dialect.unescape(raw, cell.doubled);
            if column.reading != Reading::Text && value.trim().is_empty() {
                continue;
            }
            out.extend(separator);
            separator = Some(b',');
            write_text(&column.name, out);
            out.push(b':');
            column
                .write(&value, out)
                .map_err(|error| (cell.start, error))?;
        }
        out.push(b'}');
        Ok(())
    }

    fn explain(&self, row: &[u8], kind: FaultKind) -> ReadError {
        match kind {
            FaultKind::BareQuote => ReadError::BareQuote,
            FaultKind::TextAfterQuote { opened } => {
                let (line, column) = self.locate(row, opened);
                ReadError::TextAfterQuote { line, column }
            }
        }
    }

    fn locate(&self, row: &[u8], at: usize) -> (u64, u64) {
        advance(self.place, row.get(..at).unwrap_or(row))
    }
}

impl Split for Csv {
    fn split(
        &mut self,
        window: &Window<'_>,
        cut: &mut usize,
        found: &mut Found,
    ) -> Result<(), InputError> {
        while !found.is_full(*cut) {
            let text = window.text.get(*cut..).unwrap_or_default();
            let rest = Window {
                text,
                last: window.last,
            };
            match self.dialect.row(&rest, &mut self.cells) {
                Row::More => break,
                Row::Unclosed { at } => {
                    let (line, column) = self.locate(text, at);
                    let file = self.file.to_string();
                    return Err(InputError::UnclosedQuote { file, line, column });
                }
                Row::Whole { end, next, fault } => {
                    self.row(text.get(..end).unwrap_or_default(), fault, found);
                    self.place = advance(self.place, text.get(..next).unwrap_or_default());
                    *cut += next;
                }
            }
        }
        Ok(())
    }

    fn place(&self) -> (u64, u64) {
        self.place
    }
}

/// A column of the table.
struct Column {
    name: String,
    reading: Reading,
    /// Whether its cells are handed out.
    used: bool,
}

impl Column {
    /// Appends a cell as a JSON value.
    fn write(&self, value: &str, out: &mut Vec<u8>) -> Result<(), ReadError> {
        let json = value.trim();
        match self.reading {
            Reading::Json if is_json(json) => out.extend(json.as_bytes()),
            Reading::List | Reading::ListOrText if json.starts_with('[') && is_json(json) => {
                out.extend(json.as_bytes());
            }
            Reading::List | Reading::ListOrText if is_python_list(json) => {
                return Err(ReadError::PythonList {
                    column: self.name.clone(),
                });
            }
            Reading::Text | Reading::Json | Reading::ListOrText => write_text(value, out),
            Reading::List => {
                out.push(b'[');
                if json.starts_with('{') && is_json(json) {
                    out.extend(json.as_bytes());
                } else {
                    write_text(value, out);
                }
                out.push(b']');
            }
        }
        Ok(())
    }
}

/// How the cells of a column are read. Only fields of a record that are not text are ever read as
/// JSON, so that an answer `42` or `{"a":1}` stays the text that it is. An empty cell is an empty
/// text, and of any other field it is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Text,
    /// JSON where it is JSON, else text.
    Json,
    /// A JSON list, or else a list of this one object or text.
    List,
    /// A JSON list, or else text: the name has both meanings.
    ListOrText,
}

impl Reading {
    fn of(name: &str) -> Self {
        match name {
            "contexts" | "retrieved_contexts" | "retrieval_context" | "retrievalContext"
            | "documents" | "chunks" | "candidates" | "relevant_ids" | "tags" => Self::List,
            "context" | "outputs" | "labels" => Self::ListOrText,
            "messages"
            | "variables"
            | "vars"
            | "weights"
            | "metadata"
            | "tools"
            | "reference_tool_calls"
            | "trajectory"
            | "evaluators"
            | "trial"
            | "latency_ms"
            | "cost_usd" => Self::Json,
            _ => Self::Text,
        }
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether it is a list of texts that Python printed: read as one text it would be a wrong value.
fn is_python_list(text: &str) -> bool {
    (text.starts_with("['") || text.starts_with("[\""))
        && (text.ends_with("']") || text.ends_with("\"]"))
}

/// Appends a JSON string.
fn write_text(text: &str, out: &mut Vec<u8>) {
    // Without an early end the loop runs on vectors: most cells need no escape.
    let escapes = |byte: &u8| matches!(byte, ..b' ' | b'"' | b'\\');
    if text
        .as_bytes()
        .iter()
        .fold(false, |any, byte| any | escapes(byte))
    {
        let written = serde_json::to_writer(out, text);
        debug_assert!(written.is_ok(), "writing to memory does not fail");
    } else {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    }
}

/// A cell of a row.
struct Cell {
    /// Where it begins, its quote included.
    start: usize,
    /// Its content, without the quotes around it.
    range: Range<usize>,
    quoted: bool,
    /// Whether there are doubled quotes in it.
    doubled: bool,
}

enum Row {
    /// The window ends first.
    More,
    /// The file ends inside the quotes opened at this offset.
    Unclosed { at: usize },
    /// The row ends at `end`, the next one begins at `next`.
    Whole {
        end: usize,
        next: usize,
        fault: Option<Fault>,
    },
}

#[derive(Clone, Copy)]
struct Fault {
    at: usize,
    kind: FaultKind,
}

#[derive(Clone, Copy)]
enum FaultKind {
    BareQuote,
    TextAfterQuote { opened: usize },
}

/// The bytes that give a table its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Dialect {
    delimiter: u8,
    quote: Option<u8>,
}

impl Dialect {
    /// The delimiter that splits the header, and the first rows into as many cells; of several the
    /// one that makes more cells. A header of one column is taken for comma separated.
    fn sniff(head: &Window<'_>, options: CsvOptions) -> Self {
        const ROWS: usize = 20;
        let blank = head
            .text
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        let text = head.text.get(blank..).unwrap_or_default();
        let header = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let quote = match options.quote {
            Quote::Byte(byte) => Some(byte).filter(u8::is_ascii),
            Quote::None => None,
            Quote::Sniff if header.first() == Some(&b'\'') && !header.contains(&b'"') => {
                Some(b'\'')
            }
            Quote::Sniff => Some(b'"'),
        };
        if let Some(delimiter) = options.delimiter.filter(u8::is_ascii) {
            return Self { delimiter, quote };
        }
        let mut best = (
            Self {
                delimiter: b',',
                quote,
            },
            (0, 1),
        );
        for delimiter in [b',', b';', b'\t', b'|'] {
            let dialect = Self { delimiter, quote };
            let counts = dialect.cell_counts(
                Window {
                    text,
                    last: head.last,
                },
                ROWS,
            );
            let columns = counts.first().copied().unwrap_or_default();
            let alike = counts.iter().filter(|count| **count == columns).count();
            if columns > 1 && (alike, columns) > best.1 {
                best = (dialect, (alike, columns));
            }
        }
        best.0
    }

    /// The number of cells of each of the first rows.
    fn cell_counts(self, mut rest: Window<'_>, rows: usize) -> Vec<usize> {
        let (mut counts, mut cells) = (Vec::new(), Vec::new());
        while counts.len() < rows
            && let Row::Whole { end, next, .. } = self.row(&rest, &mut cells)
        {
            if end > 0 {
                counts.push(cells.len());
            }
            rest.text = rest.text.get(next..).unwrap_or_default();
        }
        counts
    }

    /// Splits the first row of the window. Stray quotes are taken as text, and the first of them is
    /// reported.
    fn row(self, window: &Window<'_>, cells: &mut Vec<Cell>) -> Row {
        cells.clear();
        if window.text.is_empty() {
            return Row::More;
        }
        let (mut start, mut fault) = (0, None);
        loop {
            let ended = match window.text.get(start) {
                Some(byte) if Some(*byte) == self.quote => {
                    self.quoted(window, start, cells, &mut fault)
                }
                _ => self.unquoted(window, start, start, cells, &mut fault),
            };
            match ended {
                CellEnd::Delimiter { next } => start = next,
                CellEnd::Row { end, next } => return Row::Whole { end, next, fault },
                CellEnd::More => return Row::More,
                CellEnd::Unclosed => return Row::Unclosed { at: start },
            }
        }
    }

    fn quoted(
        self,
        window: &Window<'_>,
        start: usize,
        cells: &mut Vec<Cell>,
        fault: &mut Option<Fault>,
    ) -> CellEnd {
        let Window { text, last } = *window;
        let quote = self.quote.unwrap_or(b'"');
        let (mut at, mut doubled) = (start + 1, false);
        let close = loop {
            match text.get(at..).and_then(|rest| memchr(quote, rest)) {
                None if last => return CellEnd::Unclosed,
                None => return CellEnd::More,
                Some(found) => at += found,
            }
            match text.get(at + 1) {
                None if !last => return CellEnd::More,
                Some(next) if *next == quote => {
                    doubled = true;
                    at += 2;
                }
                _ => break at,
            }
        };
        let cell = Cell {
            start,
            range: start + 1..close,
            quoted: true,
            doubled,
        };
        let ended = match text.get(close + 1..).unwrap_or_default() {
            [] => CellEnd::Row {
                end: close + 1,
                next: close + 1,
            },
            [b'\n', ..] => CellEnd::Row {
                end: close + 1,
                next: close + 2,
            },
            [b'\r', b'\n', ..] => CellEnd::Row {
                end: close + 1,
                next: close + 3,
            },
            [b'\r'] if last => CellEnd::Row {
                end: close + 1,
                next: close + 2,
            },
            [b'\r'] => CellEnd::More,
            [byte, ..] if *byte == self.delimiter => CellEnd::Delimiter { next: close + 2 },
            _ => {
                let kind = FaultKind::TextAfterQuote { opened: start };
                fault.get_or_insert(Fault {
                    at: close + 1,
                    kind,
                });
                return self.unquoted(window, start, close + 1, cells, fault);
            }
        };
        cells.push(cell);
        ended
    }

    /// A cell whose content begins at `start` and holds no delimiter before `from`.
    fn unquoted(
        self,
        window: &Window<'_>,
        start: usize,
        from: usize,
        cells: &mut Vec<Cell>,
        fault: &mut Option<Fault>,
    ) -> CellEnd {
        let Window { text, last } = *window;
        let mut at = from;
        let (end, ended) = loop {
            let rest = text.get(at..).unwrap_or_default();
            // Between tabs a quote inside a cell can only be text.
            let found = match self.quote.filter(|_| self.delimiter != b'\t') {
                Some(quote) => memchr3(self.delimiter, b'\n', quote, rest),
                None => memchr2(self.delimiter, b'\n', rest),
            };
            let Some(found) = found else {
                if !last {
                    return CellEnd::More;
                }
                let end = without_return(text, start, text.len());
                break (
                    end,
                    CellEnd::Row {
                        end,
                        next: text.len(),
                    },
                );
            };
            at += found;
            match text.get(at) {
                Some(b'\n') => {
                    let end = without_return(text, start, at);
                    break (end, CellEnd::Row { end, next: at + 1 });
                }
                Some(byte) if *byte == self.delimiter => {
                    break (at, CellEnd::Delimiter { next: at + 1 });
                }
                _ => {
                    fault.get_or_insert(Fault {
                        at,
                        kind: FaultKind::BareQuote,
                    });
                    at += 1;
                }
            }
        };
        cells.push(Cell {
            start,
            range: start..end,
            quoted: false,
            doubled: false,
        });
        ended
    }

    fn unescape(self, text: &str, doubled: bool) -> Cow<'_, str> {
        match self.quote {
            Some(quote) if doubled => {
                let quote = char::from(quote);
                let twice: String = [quote, quote].iter().collect();
                Cow::Owned(text.replace(&twice, quote.encode_utf8(&mut [0; 4])))
            }
            _ => Cow::Borrowed(text),
        }
    }
}

enum CellEnd {
    /// Another cell follows.
    Delimiter { next: usize },
    /// It was the row's last.
    Row { end: usize, next: usize },
    /// The window ends first.
    More,
    /// The file ends inside its quotes.
    Unclosed,
}

/// `end`, or one less where a carriage return stands before it.
fn without_return(text: &[u8], start: usize, end: usize) -> usize {
    let cell = text.get(start..end).unwrap_or_default();
    start + cell.strip_suffix(b"\r").unwrap_or(cell).len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::testing::{Item, Stutter, bad, good, read_all, read_sized, read_source};
    use crate::format::{BlockSize, Source};

    fn read(text: &str) -> Vec<Item> {
        let got = read_all(text.as_bytes(), "t.csv");
        assert_eq!(got.error, None, "{text}");
        got.records
    }

    #[test]
    fn rows_are_objects() {
        let cases: &[(&str, &str, &[(u64, &str)])] = &[
            ("nothing", "", &[]),
            ("a header alone", "query,output\n", &[]),
            (
                "plain",
                "query,output\nq1,o1\r\nq2,o2",
                &[
                    (2, r#"{"query":"q1","output":"o1"}"#),
                    (3, r#"{"query":"q2","output":"o2"}"#),
                ],
            ),
            (
                "blank lines",
                "\n\nquery,output\n\n \nq,\n\r\n,o\n",
                &[
                    (6, r#"{"query":"q","output":""}"#),
                    (8, r#"{"query":"","output":"o"}"#),
                ],
            ),
            (
                "quotes",
                "query,output\n\"a, \"\"b\"\"\",\"c\r\nd\"\n\"\",\"\"\"\"\n",
                &[
                    (2, r#"{"query":"a, \"b\"","output":"c\r\nd"}"#),
                    (4, r#"{"query":"","output":"\""}"#),
                ],
            ),
            (
                "single quotes",
                "'query','output'\n'a, \"b\"','it''s'\n",
                &[(2, r#"{"query":"a, \"b\"","output":"it's"}"#)],
            ),
            (
                "one column",
                "query\nhello\n\n\"a, b\"\n \n",
                &[
                    (2, r#"{"query":"hello"}"#),
                    (4, r#"{"query":"a, b"}"#),
                    (5, r#"{"query":" "}"#),
                ],
            ),
            (
                "header spaces",
                " query , output\n q,o \n",
                &[(2, r#"{"query":" q","output":"o "}"#)],
            ),
            (
                "bars",
                "id|output\n1|a,b;c\n",
                &[(2, r#"{"id":"1","output":"a,b;c"}"#)],
            ),
            (
                "tabs, bare quotes",
                "id\toutput\n1\tsay \"hi\", now\n",
                &[(2, r#"{"id":"1","output":"say \"hi\", now"}"#)],
            ),
            // The header has commas too, but the rows agree with the semicolon.
            (
                "which delimiter",
                "id;query, please, now;output\n1;q;o\n2;q, r;o\n",
                &[
                    (2, r#"{"id":"1","query, please, now":"q","output":"o"}"#),
                    (3, r#"{"id":"2","query, please, now":"q, r","output":"o"}"#),
                ],
            ),
            // promptfoo pull 2230 (pf-csv-03): Excel's mark became part of the first name.
            (
                "pf-csv-03",
                "\u{feff}o,__expected\nhello,hello\n",
                &[(2, r#"{"o":"hello","__expected":"hello"}"#)],
            ),
            // promptfoo testCaseReader.ts (pf-csv-05): no detection of semicolons.
            (
                "pf-csv-05",
                "o;__expected\n\"a,b\";\"a,b\"\n",
                &[(2, r#"{"o":"a,b","__expected":"a,b"}"#)],
            ),
        ];
        for (name, text, want) in cases {
            let want: Vec<_> = want
                .iter()
                .map(|(line, text)| good(*line, 1, text))
                .collect();
            assert_eq!(read(text), want, "{name}");
        }
        let tsv = read_all(b"a,b\tc\n1\t2\n", "t.tsv");
        assert_eq!(tsv.records, [good(2, 1, r#"{"a,b":"1","c":"2"}"#)]);
    }

    #[test]
    fn only_fields_that_are_not_text_are_read_as_json() {
        let list = r#"[""a"",""b""]"#;
        for (column, cell, want) in [
            ("output", "42", r#"{"id":"1","output":"42"}"#),
            (
                "answer",
                "\"{\"\"a\"\":1}\"",
                r#"{"id":"1","answer":"{\"a\":1}"}"#,
            ),
            (
                "ground_truths",
                "\"[\"\"a\"\"]\"",
                r#"{"id":"1","ground_truths":"[\"a\"]"}"#,
            ),
            ("unknown", "true", r#"{"id":"1","unknown":"true"}"#),
            ("expected", "", r#"{"id":"1","expected":""}"#),
            (
                "contexts",
                &format!("\"{list}\""),
                r#"{"id":"1","contexts":["a","b"]}"#,
            ),
            (
                "contexts",
                "\"{\"\"document\"\":\"\"a\"\"}\"",
                r#"{"id":"1","contexts":[{"document":"a"}]}"#,
            ),
            (
                "retrieved_contexts",
                "one text",
                r#"{"id":"1","retrieved_contexts":["one text"]}"#,
            ),
            ("contexts", "42", r#"{"id":"1","contexts":["42"]}"#),
            (
                "contexts",
                "[1] see below",
                r#"{"id":"1","contexts":["[1] see below"]}"#,
            ),
            ("contexts", "", r#"{"id":"1"}"#),
            ("tags", "fr", r#"{"id":"1","tags":["fr"]}"#),
            ("tags", "  ", r#"{"id":"1"}"#),
            ("context", "a text", r#"{"id":"1","context":"a text"}"#),
            (
                "context",
                &format!("\"{list}\""),
                r#"{"id":"1","context":["a","b"]}"#,
            ),
            ("outputs", "42", r#"{"id":"1","outputs":"42"}"#),
            (
                "metadata",
                "\"{\"\"a\"\": [1]}\"",
                r#"{"id":"1","metadata":{"a": [1]}}"#,
            ),
            ("metadata", "oops", r#"{"id":"1","metadata":"oops"}"#),
            ("trial", "3", r#"{"id":"1","trial":3}"#),
            ("latency_ms", " 12.5", r#"{"id":"1","latency_ms":12.5}"#),
            ("latency_ms", "007", r#"{"id":"1","latency_ms":"007"}"#),
            ("cost_usd", "", r#"{"id":"1"}"#),
        ] {
            let text = format!("id,{column}\n1,{cell}\n");
            assert_eq!(read(&text), [good(2, 1, want)], "{column}: {cell}");
        }
        let deep = "[".repeat(100_000);
        let rows = read(&format!("metadata,id\n{deep},1\n"));
        assert_eq!(
            rows,
            [good(2, 1, &format!(r#"{{"metadata":"{deep}","id":"1"}}"#))]
        );
    }

    #[test]
    fn a_bad_row_is_an_event_and_its_neighbours_live() {
        let count = |expected, found| ReadError::CellCount { expected, found };
        let row = |line| good(line, 1, r#"{"a":"1","b":"2"}"#);
        let cases: Vec<(&str, Vec<Item>)> = vec![
            (
                "a,b\n1,2\n1\n1,2\n",
                vec![row(2), bad(3, 2, count(2, 1)), row(4)],
            ),
            ("a,b\n1,2,3,4\n1,2\n", vec![bad(2, 5, count(2, 4)), row(3)]),
            (
                "a,b\n\"x\ny\",2,3\n1,2",
                vec![bad(3, 6, count(2, 3)), row(4)],
            ),
            // promptfoo issue 3069 (pf-csv-04)
            (
                "label,query,answer\nlbl,What date?,{\"answer\":\"\"}\nl,q,a\n",
                vec![
                    bad(2, 17, ReadError::BareQuote),
                    good(3, 1, r#"{"label":"l","query":"q","answer":"a"}"#),
                ],
            ),
            (
                "a,b\n1, \"2\"\n1,2\n",
                vec![bad(2, 4, ReadError::BareQuote), row(3)],
            ),
            (
                "a,b\n1,\"x\ny\"z\n1,2\n",
                vec![
                    bad(3, 3, ReadError::TextAfterQuote { line: 2, column: 3 }),
                    row(4),
                ],
            ),
            (
                "a,a,,b\n1,8,9,2\n",
                vec![
                    bad(
                        1,
                        3,
                        ReadError::DuplicateColumn {
                            number: 2,
                            name: "a".into(),
                        },
                    ),
                    bad(1, 5, ReadError::UnnamedColumn { number: 3 }),
                    row(2),
                ],
            ),
            (
                "contexts,b\n\"['x', 'y']\",2\n[],2\n",
                vec![
                    bad(
                        2,
                        1,
                        ReadError::PythonList {
                            column: "contexts".into(),
                        },
                    ),
                    good(3, 1, r#"{"contexts":[],"b":"2"}"#),
                ],
            ),
            ("a\nx,y\n", vec![bad(2, 3, count(1, 2))]),
        ];
        for (text, want) in cases {
            assert_eq!(read(text), want, "{text}");
        }
        let got = read_all(b"a,b\n1,\xff\n\"\n\xc3\",2\n1,2\n", "t.csv");
        let want = [
            bad(2, 3, ReadError::NotUtf8 { byte: 0xff }),
            bad(4, 1, ReadError::NotUtf8 { byte: 0xc3 }),
            row(5),
        ];
        assert_eq!(got.records, want);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_an_error_where_it_opened() {
        let got = read_all(b"a,b\n1,2\n1,\"x\ny,z\n1,2\n", "t.csv");
        assert_eq!(got.records.len(), 1);
        assert_eq!(
            got.error.unwrap(),
            "t.csv:3:3: the quote that opens this cell is never closed; close it, and double the \
             quotes inside a cell"
        );
    }

    #[test]
    fn the_table_can_be_described_instead() {
        let text = "a,b;c\n\"1;2\n";
        let csv = CsvOptions {
            delimiter: Some(b';'),
            quote: Quote::None,
        };
        let source = Source {
            csv,
            ..Source::reader("t.csv", text.as_bytes())
        };
        let got = read_source(source, BlockSize::default());
        assert_eq!(got.records, [good(2, 1, r#"{"a,b":"\"1","c":"2"}"#)]);
    }

    proptest! {
        #[test]
        fn blocks_depend_on_content_and_size_alone(
            text in "(id,output\n)?[a\",;\r\n\u{e9}]{0,200}",
            steps in prop::collection::vec(1..50_usize, 1..6),
            bytes in 1..100_usize,
            records in 1..20_usize,
        ) {
            let size = BlockSize { bytes, records, record_bytes: 1 << 20 };
            let whole = read_sized(text.as_bytes(), "t.csv", size);
            let stutter = Stutter::new(text.clone().into_bytes(), steps);
            prop_assert_eq!(&whole, &read_source(Source::reader("t.csv", stutter), size));
            let large = read_all(text.as_bytes(), "t.csv");
            prop_assert_eq!(whole.records, large.records);
            prop_assert_eq!(whole.error, large.error);
        }

        #[test]
        fn what_is_quoted_comes_back(
            rows in prop::collection::vec(["[a\",\r\n\u{e9}\\\\]{0,9}", "[a\",\r\n ]{0,9}"], 0..20),
            bytes in 1..100_usize,
        ) {
            let mut text = "query,output\r\n".to_owned();
            for [query, output] in &rows {
                let quoted = |cell: &str| format!("\"{}\"", cell.replace('"', "\"\""));
                text += &format!("{},{}\r\n", quoted(query), quoted(output));
            }
            let size = BlockSize { bytes, ..BlockSize::default() };
            let got = read_sized(text.as_bytes(), "t.csv", size);
            prop_assert_eq!(got.error, None);
            let read: Vec<[String; 2]> = got
                .records
                .iter()
                .map(|record| {
                    let text = record.text.as_ref().unwrap();
                    let value: serde_json::Value = serde_json::from_str(text).unwrap();
                    ["query", "output"].map(|name| value[name].as_str().unwrap().to_owned())
                })
                .collect();
            prop_assert_eq!(read, rows);
            prop_assert_eq!(got.end.lines, text.matches('\n').count() as u64);
        }
    }
}
