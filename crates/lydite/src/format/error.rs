//! What can be wrong with an input, and with one record of it.

use std::io;

use super::compress::Compression;

/// Why one record could not be read. It is an event in the stream of records, at the line and
/// column where it went wrong; the records after it are still read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A byte that UTF-8 does not allow here.
    #[error("byte {byte:#04x} is not UTF-8 here; convert the file to UTF-8")]
    NotUtf8 {
        /// The first byte that does not fit.
        byte: u8,
    },
    /// JSON: two elements of the array stand side by side.
    #[error("expected a comma between two records; the records around it were read")]
    MissingComma,
    /// JSON: a comma with no element before or after it.
    #[error("expected a record beside this comma; remove the comma")]
    MissingElement,
    /// JSON: something stands between the end of an element and the next comma.
    #[error("unexpected text after a record; expected a comma or the end of the array")]
    UnexpectedText,
    /// JSON: a string runs over the end of its line.
    #[error(
        "the string that begins here has a line break in it; write it as \\n, or close the quote"
    )]
    LineBreakInString,
    /// JSON: a bracket that closes another one than was opened last.
    #[error("`{found}` does not close the bracket opened last; expected `{expected}`")]
    Mismatched {
        /// The bracket that stands there.
        found: char,
        /// The one that was due.
        expected: char,
    },
    /// CSV: a row with another number of cells than the header.
    #[error(
        "the row has {found} cells where the header has {expected}; put quotes around a cell that \
         holds the delimiter or a line break"
    )]
    CellCount {
        /// Cells of the header.
        expected: usize,
        /// Cells of the row.
        found: usize,
    },
    /// CSV: a quote inside a cell that does not begin with one.
    #[error(
        "a quote inside a cell without quotes; put the whole cell in quotes, right after the \
         delimiter, and double the quotes inside it"
    )]
    BareQuote,
    /// CSV: text between a closing quote and the next delimiter.
    #[error(
        "text after the closing quote of the cell opened at line {line}, column {column}; double \
         the quotes inside a cell"
    )]
    TextAfterQuote {
        /// Line of the opening quote.
        line: u64,
        /// Column of the opening quote.
        column: u64,
    },
    /// CSV: two columns of one name; the second one is left out.
    #[error(
        "column {number} has the name `{name}` of an earlier one and is left out; rename one of \
         them"
    )]
    DuplicateColumn {
        /// Which column, counted from 1.
        number: usize,
        /// The name of both.
        name: String,
    },
    /// CSV: a column without a name; it is left out.
    #[error(
        "column {number} has no name and is left out; name it or remove it (pandas writes its \
         index so, unless told index=False)"
    )]
    UnnamedColumn {
        /// Which column, counted from 1.
        number: usize,
    },
    /// CSV: a list in Python's notation where a JSON list is due.
    #[error("the cell of `{column}` is a list in Python's notation; write it as JSON (json.dumps)")]
    PythonList {
        /// The column's name.
        column: String,
    },
}

/// Why an input, or the rest of it, could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// There is no file of this name.
    #[error("{file}: no such file; check the path")]
    Missing {
        /// Its path.
        file: String,
    },
    /// The path names a directory.
    #[error("{file}: is a directory; name the files in it")]
    Directory {
        /// Its path.
        file: String,
    },
    /// The file is there but cannot be opened.
    #[error("{file}: cannot be opened ({cause})")]
    Open {
        /// Its path.
        file: String,
        /// The operating system's answer.
        cause: io::Error,
    },
    /// Reading broke off.
    #[error("{file}: cannot be read beyond byte {bytes} ({cause})")]
    Read {
        /// The source's name.
        file: String,
        /// Decompressed bytes read before.
        bytes: u64,
        /// The operating system's answer.
        cause: io::Error,
    },
    /// A compressed stream that stops before its end.
    #[error(
        "{file}: the {compression} stream is cut off after {bytes} decompressed bytes; copy the \
         file again"
    )]
    Truncated {
        /// The source's name.
        file: String,
        /// How it is compressed.
        compression: Compression,
        /// Decompressed bytes read before.
        bytes: u64,
    },
    /// A compressed stream that does not decode.
    #[error(
        "{file}: the {compression} stream is damaged after {bytes} decompressed bytes ({cause}); \
         copy the file again, and check that nothing was appended to it"
    )]
    Corrupt {
        /// The source's name.
        file: String,
        /// How it is compressed.
        compression: Compression,
        /// Decompressed bytes read before.
        bytes: u64,
        /// The decoder's answer.
        cause: io::Error,
    },
    /// A kind of file that is recognised and not read.
    #[error("{file}: is {found}, which is not read here; {hint}")]
    Refused {
        /// The source's name.
        file: String,
        /// What it is.
        found: &'static str,
        /// What to do.
        hint: &'static str,
    },
    /// Neither name nor content tells the format.
    #[error(
        "{file}: neither the name nor the first bytes tell the format; end its name in .jsonl, \
         .json, .csv or .tsv, or say `dataset: {{path: …, format: …}}` in the suite"
    )]
    UnknownFormat {
        /// The source's name.
        file: String,
    },
    /// A record beyond [`BlockSize::record_bytes`](super::BlockSize::record_bytes).
    #[error(
        "{file}:{line}:{column}: the record that begins here is longer than {limit} bytes; look \
         for a quote that is not closed"
    )]
    RecordTooLong {
        /// The source's name.
        file: String,
        /// Where the record begins.
        line: u64,
        /// Where the record begins.
        column: u64,
        /// The limit.
        limit: usize,
    },
    /// JSON whose structure ends the reading: nothing sensible can follow.
    #[error("{file}:{line}:{column}: {problem}")]
    Json {
        /// The source's name.
        file: String,
        /// Where it went wrong.
        line: u64,
        /// Where it went wrong.
        column: u64,
        /// What is wrong and what is accepted.
        problem: JsonProblem,
    },
    /// CSV: a quoted cell that is never closed, so that all rows after it are lost in it.
    #[error(
        "{file}:{line}:{column}: the quote that opens this cell is never closed; close it, and \
         double the quotes inside a cell"
    )]
    UnclosedQuote {
        /// The source's name.
        file: String,
        /// Line of the quote.
        line: u64,
        /// Column of the quote.
        column: u64,
    },
    /// The copy of the input could not be written.
    #[error("{file}: the copy of the input cannot be written ({cause})")]
    Copy {
        /// The copy's path.
        file: String,
        /// The operating system's answer.
        cause: io::Error,
    },
}

impl InputError {
    /// The source (or, for a copy, the file) it is about.
    pub fn file(&self) -> &str {
        match self {
            Self::Missing { file }
            | Self::Directory { file }
            | Self::Open { file, .. }
            | Self::Read { file, .. }
            | Self::Truncated { file, .. }
            | Self::Corrupt { file, .. }
            | Self::Refused { file, .. }
            | Self::UnknownFormat { file }
            | Self::RecordTooLong { file, .. }
            | Self::Json { file, .. }
            | Self::UnclosedQuote { file, .. }
            | Self::Copy { file, .. } => file,
        }
    }

    /// Line and column, both from 1, where they are known.
    pub fn place(&self) -> Option<(u64, u64)> {
        match self {
            Self::RecordTooLong { line, column, .. }
            | Self::Json { line, column, .. }
            | Self::UnclosedQuote { line, column, .. } => Some((*line, *column)),
            _ => None,
        }
    }
}

/// What is wrong with the structure of a JSON file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonProblem {
    /// Neither an array nor an object.
    #[error(
        "expected an array of records, or an object with one array under records, data, tests, \
         examples, samples or test_cases; found {found}"
    )]
    Shape {
        /// What the file begins with.
        found: &'static str,
    },
    /// An object without an array of records.
    #[error(
        "expected an object with one array under records, data, tests, examples, samples or \
         test_cases; found the keys {keys}"
    )]
    NoRecords {
        /// The keys, quoted, the first few.
        keys: String,
    },
    /// An object that is itself a record.
    #[error(
        "this object looks like one record (it has the key `{key}`), not like a list of them; \
         wrap it in [ ], or end the file's name in .jsonl for a record a line"
    )]
    OneRecord {
        /// The key that says so.
        key: String,
    },
    /// An object with two arrays of records.
    #[error("two arrays of records, `{first}` and `{second}`; keep one")]
    TwoArrays {
        /// Key of the first.
        first: String,
        /// Key of the second.
        second: String,
    },
    /// Something else than the grammar allows.
    #[error("expected {0}")]
    Expected(&'static str),
    /// Text after the end.
    #[error(
        "text after the end of the JSON value; remove it, or end the file's name in .jsonl for a \
         record a line"
    )]
    Trailing,
    /// The file ends inside a value.
    #[error("the {0} that begins here is not closed before the file ends; is the file cut off?")]
    Unclosed(&'static str),
}
