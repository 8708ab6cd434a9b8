//! Readers and writers, one a file.
//!
//! Reading turns bytes (files, standard input, anything that implements [`Read`]) into [`Block`]s
//! of raw record texts, each with its line and column. It is one thread's work and kept cheap:
//! records are found, not parsed; workers parse them, in parallel. A record that cannot be read is
//! an event among the others and never ends the stream, unless nothing sensible can follow.
//!
//! ```no_run
//! use lydite::format::{Block, BlockReader, BlockSize, Source, open};
//!
//! let sources = vec![Source::path("support.jsonl"), Source::path("more.csv.gz")];
//! let mut reader = open(sources, BlockSize::default())?;
//! let mut block = Block::new();
//! while reader.next_block(&mut block)? {
//!     for record in block.records() {
//!         match record.text {
//!             Ok(json) => println!("{}:{}: {json}", record.line, record.column),
//!             Err(error) => println!("{}:{}: {error}", record.line, record.column),
//!         }
//!     }
//! }
//! reader.finish()?;
//! # Ok::<(), lydite::format::InputError>(())
//! ```
//!
//! Writing goes through a [`Renderer`]: the records of a block are rendered side by side with those
//! of other blocks, and the pieces are put together in order.

mod block;
mod buffer;
mod compress;
mod copy;
mod csv;
mod detect;
mod error;
mod json;
mod jsonl;
mod junit;
mod langsmith;
mod markdown;
mod output;
mod render;
mod report_json;
mod results_csv;
mod results_jsonl;
mod shown;
mod stream;
#[cfg(test)]
mod testing;
mod text;
mod wide_jsonl;
#[cfg(test)]
mod written;
mod xml;

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use block::{Block, BlockSize, Position, RawRecord, Records};
pub use compress::Compression;
pub use csv::{CsvOptions, Quote};
pub use detect::Format;
pub use error::{InputError, JsonProblem, ReadError};
pub use junit::Junit;
pub use langsmith::LangSmith;
pub use markdown::Markdown;
pub use output::{OutputContext, OutputFormat};
pub use render::Renderer;
pub use report_json::ReportJson;
pub use results_csv::{ResultsCsv, WideCsv};
pub use results_jsonl::ResultsJsonl;
pub use text::Text;
pub use wide_jsonl::WideJsonl;

use copy::InputCopy;
use csv::Csv;
use json::Json;
use jsonl::Jsonl;
use stream::{Bytes, FileReader, Progress, Split, Window};

/// Something that gives blocks of raw records.
pub trait BlockReader: Send {
    /// Fills the block with the next records; false at the end of the input.
    ///
    /// # Errors
    /// [`InputError`] where a file, or the rest of it, cannot be read; records before that were
    /// handed out. Calling again goes on with the next file.
    fn next_block(&mut self, block: &mut Block) -> Result<bool, InputError>;
}

/// An input, and what is known about it.
#[derive(Debug)]
pub struct Source {
    /// Where the bytes come from.
    pub input: Input,
    /// How records stand in it; told by name or content where it is not given.
    pub format: Option<Format>,
    /// How a table is written.
    pub csv: CsvOptions,
    /// A file to keep a copy of the input in, decompressed and then compressed by zstd. It holds
    /// what was handed out in blocks: the bytes up to [`Position::bytes`] of this source.
    pub copy: Option<PathBuf>,
}

impl Source {
    /// A file.
    pub fn path(path: impl Into<PathBuf>) -> Self {
        Self::new(Input::Path(path.into()))
    }

    /// The standard input.
    pub fn stdin() -> Self {
        Self::new(Input::Stdin)
    }

    /// Any reader; the name stands in errors, and its ending tells the format.
    pub fn reader(name: impl Into<String>, reader: impl Read + Send + 'static) -> Self {
        Self::new(Input::Reader {
            name: name.into(),
            reader: Box::new(reader),
        })
    }

    fn new(input: Input) -> Self {
        Self {
            input,
            format: None,
            csv: CsvOptions::default(),
            copy: None,
        }
    }

    /// Its name in errors.
    pub fn name(&self) -> String {
        match &self.input {
            Input::Path(path) => path.display().to_string(),
            Input::Stdin => "stdin".to_owned(),
            Input::Reader { name, .. } => name.clone(),
        }
    }
}

/// Where the bytes of a [`Source`] come from.
pub enum Input {
    /// A file, or a named pipe.
    Path(PathBuf),
    /// The standard input.
    Stdin,
    /// Anything else.
    Reader {
        /// Stands in errors.
        name: String,
        /// Gives the bytes.
        reader: Box<dyn Read + Send>,
    },
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Stdin => f.write_str("Stdin"),
            Self::Reader { name, .. } => f
                .debug_struct("Reader")
                .field("name", name)
                .finish_non_exhaustive(),
        }
    }
}

/// Opens sources that are read one after the other. Line numbers start anew in each; an empty one
/// has no records.
///
/// # Errors
/// [`InputError`] if the first source cannot be read, or any path is missing or a directory: all
/// are looked at before anything is read.
pub fn open(sources: Vec<Source>, size: BlockSize) -> Result<Reader, InputError> {
    for source in &sources {
        if let Input::Path(path) = &source.input {
            check_path(path)?;
        }
    }
    let mut reader = Reader {
        sources: sources.into_iter(),
        current: None,
        progress: Progress::new(),
        size,
        opened: 0,
        blocks: 0,
    };
    reader.open_next()?;
    Ok(reader)
}

/// Reads sources one after the other.
pub struct Reader {
    sources: std::vec::IntoIter<Source>,
    current: Option<FileReader>,
    progress: Progress,
    size: BlockSize,
    opened: u32,
    blocks: u64,
}

impl Reader {
    /// Makes sure that the current source's copy holds, on disk, all that was handed out: to be
    /// called before a checkpoint is written that relies on it.
    ///
    /// # Errors
    /// [`InputError::Copy`].
    pub fn sync_copy(&mut self) -> Result<(), InputError> {
        self.progress.copy.as_mut().map_or(Ok(()), InputCopy::sync)
    }

    /// Ends the copy of a source that was not read to its end.
    ///
    /// # Errors
    /// [`InputError::Copy`].
    pub fn finish(mut self) -> Result<(), InputError> {
        self.close()
    }

    /// Opens the next source; false if there is none.
    fn open_next(&mut self) -> Result<bool, InputError> {
        let Some(source) = self.sources.next() else {
            return Ok(false);
        };
        self.opened += 1;
        self.current = Some(open_source(source, self.size, &mut self.progress)?);
        Ok(true)
    }

    fn close(&mut self) -> Result<(), InputError> {
        self.current = None;
        self.progress.copy.take().map_or(Ok(()), InputCopy::finish)
    }
}

impl BlockReader for Reader {
    fn next_block(&mut self, block: &mut Block) -> Result<bool, InputError> {
        loop {
            let Some(file) = &mut self.current else {
                if self.open_next()? {
                    continue;
                }
                return Ok(false);
            };
            match file.next_block(block, &mut self.progress) {
                Ok(true) => break,
                Ok(false) => self.close()?,
                Err(error) => {
                    // The first error is the one to tell.
                    let _ = self.close();
                    return Err(error);
                }
            }
        }
        block.number = self.blocks;
        block.file = self.opened - 1;
        block.end = self.progress.position();
        self.blocks += 1;
        Ok(true)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("sources", &self.sources)
            .field("size", &self.size)
            .field("blocks", &self.blocks)
            .finish_non_exhaustive()
    }
}

fn open_source(
    source: Source,
    size: BlockSize,
    progress: &mut Progress,
) -> Result<FileReader, InputError> {
    let name: Arc<str> = source.name().into();
    let mut bytes = open_input(source.input, name.clone())?;
    let head = bytes.peek()?;
    let format: Box<dyn Split> = match choose_format(source.format, &name, &head)? {
        Format::Jsonl => Box::new(Jsonl::new()),
        Format::Json => Box::new(Json::new(name)),
        format @ (Format::Csv | Format::Tsv) => Box::new(Csv::new(name, &head, format, source.csv)),
    };
    progress.copy = source.copy.as_deref().map(InputCopy::create).transpose()?;
    bytes.take_mark(progress)?;
    Ok(FileReader {
        bytes,
        format,
        failed: None,
        size,
    })
}

fn open_input(input: Input, name: Arc<str>) -> Result<Bytes, InputError> {
    let reader: Box<dyn Read + Send> = match input {
        Input::Path(path) => Box::new(File::open(&path).map_err(|cause| path_error(&path, cause))?),
        Input::Stdin => Box::new(io::stdin()),
        Input::Reader { reader, .. } => reader,
    };
    let (reader, compression) = compress::decompress(reader).map_err(|cause| InputError::Open {
        file: name.to_string(),
        cause,
    })?;
    Ok(Bytes::new(name, reader, compression))
}

/// The format that was named, or else found out; what cannot be read in it is refused.
fn choose_format(
    named: Option<Format>,
    name: &str,
    head: &Window<'_>,
) -> Result<Format, InputError> {
    let refused = |(found, hint)| InputError::Refused {
        file: name.to_owned(),
        found,
        hint,
    };
    if let Some(why) = detect::refusal(head.text) {
        return Err(refused(why));
    }
    let format = named
        .or_else(|| detect::format_of(name, head))
        .ok_or_else(|| InputError::UnknownFormat {
            file: name.to_owned(),
        })?;
    match format {
        Format::Csv | Format::Tsv if detect::has_bare_returns(head.text) => Err(refused((
            "a table whose lines are ended by carriage returns alone",
            "convert its line ends (tr '\\r' '\\n')",
        ))),
        format => Ok(format),
    }
}

fn check_path(path: &Path) -> Result<(), InputError> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(InputError::Directory {
            file: path.display().to_string(),
        }),
        Ok(_) => Ok(()),
        Err(cause) => Err(path_error(path, cause)),
    }
}

fn path_error(path: &Path, cause: io::Error) -> InputError {
    let file = path.display().to_string();
    match cause.kind() {
        ErrorKind::NotFound => InputError::Missing { file },
        _ => InputError::Open { file, cause },
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use twox_hash::XxHash3_128;

    use super::*;

    fn source(name: &str, text: &str) -> Source {
        Source::reader(name, Cursor::new(text.to_owned()))
    }

    #[test]
    fn sources_follow_one_another() {
        let texts = [
            "{\"id\":1}\n{\"id\":2}",
            "\n \n",
            "",
            "id\n3\n",
            "\u{feff}[{\"id\":4}]\n",
        ];
        let names = ["a.jsonl", "b.jsonl", "c.jsonl", "d.csv", "e.json"];
        let sources = names
            .iter()
            .zip(texts)
            .map(|(name, text)| source(name, text))
            .collect();
        let mut reader = open(sources, BlockSize::default()).unwrap();
        let mut block = Block::new();
        let mut got = Vec::new();
        let mut number = 0;
        while reader.next_block(&mut block).unwrap() {
            assert_eq!(block.number, number);
            number += 1;
            for record in block.records() {
                got.push((
                    block.file,
                    record.line,
                    record.column,
                    record.text.unwrap().to_owned(),
                ));
            }
        }
        let want = [
            (0, 1, 1, "{\"id\":1}"),
            (0, 2, 1, "{\"id\":2}"),
            (3, 2, 1, "{\"id\":\"3\"}"),
            (4, 1, 2, "{\"id\":4}"),
        ];
        let want: Vec<_> = want
            .iter()
            .map(|(f, l, c, t)| (*f, *l, *c, (*t).to_owned()))
            .collect();
        assert_eq!(got, want);
        let all = texts.concat();
        let end = Position {
            bytes: all.len() as u64,
            records: 4,
            lines: all.matches('\n').count() as u64,
            hash: XxHash3_128::oneshot(all.as_bytes()),
        };
        assert_eq!(block.end, end);
        assert!(!reader.next_block(&mut block).unwrap());
    }

    #[test]
    fn the_hash_is_that_of_the_bytes_up_to_the_end_of_the_block() {
        let text: String = (0..5000).map(|n| format!("{{\"id\":{n}}}\n")).collect();
        let size = BlockSize {
            bytes: 1000,
            ..BlockSize::default()
        };
        let mut reader = open(vec![source("a.jsonl", &text)], size).unwrap();
        let mut block = Block::new();
        while reader.next_block(&mut block).unwrap() {
            let read = text.get(..block.end.bytes as usize).unwrap();
            assert_eq!(block.end.hash, XxHash3_128::oneshot(read.as_bytes()));
            assert_eq!(block.end.records, read.matches('\n').count() as u64);
            assert_eq!(block.end.lines, block.end.records);
        }
    }

    #[test]
    fn after_an_error_the_next_source_is_read() {
        let sources = vec![
            source("a.json", "[{}, {"),
            source("b.jsonl", "PAR1\x01"),
            source("c.jsonl", "{}\n"),
        ];
        let mut reader = open(sources, BlockSize::default()).unwrap();
        let mut block = Block::new();
        assert!(reader.next_block(&mut block).unwrap());
        assert_eq!((block.file, block.len()), (0, 1));
        assert_eq!(reader.next_block(&mut block).unwrap_err().file(), "a.json");
        assert_eq!(reader.next_block(&mut block).unwrap_err().file(), "b.jsonl");
        assert!(reader.next_block(&mut block).unwrap());
        assert_eq!((block.file, block.len()), (2, 1));
        assert!(!reader.next_block(&mut block).unwrap());
    }

    #[test]
    fn a_failing_reader_is_an_error_after_its_whole_records() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the cable"))
            }
        }
        // Also where the error is met long before a block has room for the records.
        for bytes in [BlockSize::default().bytes, 1] {
            let reader = Cursor::new("{}\n{}\n{").chain(Failing);
            let size = BlockSize {
                bytes,
                ..BlockSize::default()
            };
            let mut reader = open(vec![Source::reader("a.jsonl", reader)], size).unwrap();
            let (records, error) = testing::texts(&mut reader);
            assert_eq!(records, ["{}", "{}"], "blocks of {bytes} bytes");
            let error = error.unwrap().to_string();
            assert_eq!(error, "a.jsonl: cannot be read beyond byte 7 (the cable)");
        }
        let error = open(
            vec![Source::reader("a.jsonl", Failing)],
            BlockSize::default(),
        );
        assert!(matches!(error, Err(InputError::Open { .. })));
    }

    #[test]
    fn the_same_blocks_come_out_on_any_thread() {
        let text: String = (0..3000).map(|n| format!("{{\"id\":{n}}}\n")).collect();
        let size = BlockSize {
            bytes: 500,
            records: 17,
            record_bytes: 1000,
        };
        let here = testing::read_sized(text.as_bytes(), "a.jsonl", size);
        let there =
            std::thread::spawn(move || testing::read_sized(text.as_bytes(), "a.jsonl", size));
        assert_eq!(there.join().unwrap(), here);
    }

    #[test]
    fn no_source_has_no_block() {
        let mut reader = open(Vec::new(), BlockSize::default()).unwrap();
        assert!(!reader.next_block(&mut Block::new()).unwrap());
    }
}
