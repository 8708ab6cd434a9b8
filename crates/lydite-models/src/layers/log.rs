//! `calls.jsonl`: the calls of one run, a JSON line each.
//!
//! A line is written by one unbuffered write as soon as its reply is there, so a killed run has lost
//! nothing that it had received. What stands in the file answers later calls with the same key, by which
//! runs are resumed and repeated; in memory are places alone.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::{fs, io};

use lydite::model::{
    CallIdentity, ChatMessage, ChatReply, ModelError, ModelErrorKind, Moderation, ReplyFormat,
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use crate::layers::key::{self, Key};
use crate::layers::retry::AttemptRecord;
use crate::place;
use crate::sync::lock;

/// Whether a log grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Append,
    /// Grows, and answers no call whose reply could not be used.
    AppendAnew,
    ReadOnly,
}

/// The log of one run.
#[derive(Debug)]
pub(crate) struct CallLog {
    path: PathBuf,
    places: Mutex<HashMap<Key, Place>>,
    reader: Mutex<File>,
    writer: Option<Mutex<Writer>>,
    /// Whether verdicts stood in it when it was opened.
    has_verdicts: bool,
}

/// Where a line stands.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: u64,
    length: usize,
    failed: bool,
    /// A later line says that the reply could not be used.
    refused: bool,
}

#[derive(Debug)]
struct Writer {
    file: File,
    end: u64,
    buffer: Vec<u8>,
    problem: Option<String>,
}

/// One line. Members that do not apply are left out.
#[derive(Debug, Serialize)]
pub(crate) struct Line<'a> {
    pub(crate) key: String,
    pub(crate) kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(crate) model: &'a str,
    #[serde(flatten)]
    pub(crate) asked: Asked<'a>,
    #[serde(flatten)]
    pub(crate) answer: Answer<'a>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) attempts: &'a [AttemptRecord],
    pub(crate) cached: bool,
    pub(crate) took_ms: u64,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Asked<'a> {
    Chat {
        messages: &'a [ChatMessage],
        /// The name of the schema.
        #[serde(skip_serializing_if = "Option::is_none")]
        format: Option<&'static str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        temperature: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        top_logprobs: Option<u8>,
        identity: &'a CallIdentity,
    },
    /// The BLAKE3 hash of the text.
    Text { text: String },
    /// What a verdict hangs on, its key says.
    Nothing {},
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Answer<'a> {
    Reply(&'a ChatReply),
    /// Little-endian 32-bit floats in Base64.
    Vector(String),
    Moderation(&'a Moderation),
    /// A judged cell as the cache of verdicts keeps it, as JSON text: its numbers stay as they are.
    Verdict(&'a str),
    Error {
        code: &'static str,
        message: &'a str,
    },
}

/// A line that says of an earlier one that its reply could not be used.
#[derive(Serialize)]
struct Refusal {
    key: String,
    refused: bool,
}

/// What is read back of a line.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Kept {
    pub(crate) reply: Option<ChatReply>,
    pub(crate) vector: Option<String>,
    pub(crate) moderation: Option<Moderation>,
    pub(crate) verdict: Option<String>,
    pub(crate) error: Option<KeptError>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct KeptError {
    code: String,
    message: String,
}

/// What is read of every line when a log is opened.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    key: &'a str,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    verdict: Option<IgnoredAny>,
    #[serde(default)]
    refused: bool,
}

impl CallLog {
    /// Opens a log, made where it is missing and grows. A last line that was cut short is taken off.
    pub(crate) fn open(path: &Path, access: Access) -> Result<Self, ModelError> {
        let fail = |error: io::Error| {
            ModelError::new(
                ModelErrorKind::Config,
                format!(
                    "the record of calls {} can't be opened: {error}",
                    path.display()
                ),
            )
        };
        let writer = match access {
            Access::Append | Access::AppendAnew => {
                Some(place::private_file().write(true).open(path).map_err(fail)?)
            }
            Access::ReadOnly => None,
        };
        let reader = File::open(path).map_err(fail)?;
        let Scanned {
            mut places,
            end,
            has_verdicts,
        } = scan(&reader).map_err(fail)?;
        if access == Access::AppendAnew {
            places.retain(|_, place| !place.refused);
        }
        let writer = match writer {
            Some(file) => {
                file.set_len(end).map_err(fail)?;
                let mut file = file;
                file.seek(SeekFrom::Start(end)).map_err(fail)?;
                Some(Mutex::new(Writer {
                    file,
                    end,
                    buffer: Vec::new(),
                    problem: None,
                }))
            }
            None => None,
        };
        Ok(Self {
            path: path.to_owned(),
            places: Mutex::new(places),
            reader: Mutex::new(reader),
            writer,
            has_verdicts,
        })
    }

    /// Opens a log for reading where there is one.
    pub(crate) fn open_if_there(path: &Path) -> Result<Option<Self>, ModelError> {
        let there = fs::exists(path).unwrap_or(true);
        there
            .then(|| Self::open(path, Access::ReadOnly))
            .transpose()
    }

    /// Whether verdicts stood here when the log was opened.
    pub(crate) fn has_verdicts(&self) -> bool {
        self.has_verdicts
    }

    /// The answer of a call that went well, or with `failed` of one that did not.
    pub(crate) fn get(&self, key: &Key, failed: bool) -> Option<Kept> {
        let place = *lock(&self.places).get(key)?;
        (place.failed == failed).then(|| self.read(place).ok())?
    }

    /// Writes a line. What goes wrong is told by [`CallLog::check`].
    pub(crate) fn write(&self, key: &Key, line: &Line<'_>) {
        let Some(writer) = &self.writer else { return };
        let failed = matches!(line.answer, Answer::Error { .. });
        let mut writer = lock(writer);
        match writer.write(line) {
            Ok((offset, length)) => {
                let place = Place {
                    offset,
                    length,
                    failed,
                    refused: false,
                };
                insert(&mut lock(&self.places), *key, place);
            }
            Err(error) => self.went_wrong(&mut writer, &error),
        }
    }

    /// Notes that the reply under this key could not be used. In this run it stands all the same.
    pub(crate) fn refuse(&self, key: &Key) {
        let Some(writer) = &self.writer else { return };
        let line = Refusal {
            key: key::hex(key),
            refused: true,
        };
        let mut writer = lock(writer);
        if let Err(error) = writer.write(&line) {
            self.went_wrong(&mut writer, &error);
        }
    }

    fn went_wrong(&self, writer: &mut Writer, error: &io::Error) {
        writer.problem.get_or_insert_with(|| {
            format!(
                "the record of calls {} can't be written: {error}; the run can't be resumed from it in full",
                self.path.display()
            )
        });
    }

    /// Whether every line was written.
    pub(crate) fn check(&self) -> Result<(), ModelError> {
        let problem = self.writer.as_ref().and_then(|w| lock(w).problem.clone());
        problem.map_or(Ok(()), |problem| {
            Err(ModelError::new(ModelErrorKind::Local, problem))
        })
    }

    fn read<T: DeserializeOwned>(&self, place: Place) -> io::Result<T> {
        let mut line = vec![0; place.length];
        {
            let mut reader = lock(&self.reader);
            reader.seek(SeekFrom::Start(place.offset))?;
            reader.read_exact(&mut line)?;
        }
        Ok(serde_json::from_slice(&line)?)
    }
}

impl KeptError {
    pub(crate) fn into_error(self) -> ModelError {
        ModelError::new(kind_of(&self.code), self.message)
    }
}

impl Writer {
    /// The line's offset and length.
    fn write(&mut self, line: &impl Serialize) -> io::Result<(u64, usize)> {
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, line)?;
        self.buffer.push(b'\n');
        if let Err(error) = self.file.write_all(&self.buffer) {
            // So that the next line does not stand behind half of this one.
            let _ = self.file.set_len(self.end);
            let _ = self.file.seek(SeekFrom::Start(self.end));
            return Err(error);
        }
        let offset = self.end;
        self.end += self.buffer.len() as u64;
        Ok((offset, self.buffer.len()))
    }
}

impl<'a> Asked<'a> {
    pub(crate) fn chat(request: &'a lydite::model::ChatRequest) -> Self {
        Self::Chat {
            messages: &request.messages,
            format: match &request.format {
                ReplyFormat::Text => None,
                ReplyFormat::Json { name, .. } => Some(name),
            },
            temperature: request.temperature,
            top_logprobs: request.top_logprobs,
            identity: &request.identity,
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Text {
            text: key::hex(blake3::hash(text.as_bytes()).as_bytes()),
        }
    }
}

impl<'a> Answer<'a> {
    pub(crate) fn error(error: &'a ModelError) -> Self {
        Self::Error {
            code: error.kind.as_str(),
            message: &error.message,
        }
    }
}

/// What stands in a log.
#[derive(Default)]
struct Scanned {
    places: HashMap<Key, Place>,
    /// Where the last whole line ends.
    end: u64,
    has_verdicts: bool,
}

impl Scanned {
    fn line(&mut self, head: &Head<'_>, offset: u64, length: usize) {
        let Some(key) = key::from_hex(head.key) else {
            return;
        };
        self.has_verdicts |= head.verdict.is_some();
        if head.refused {
            let place = self.places.entry(key);
            place.and_modify(|place| place.refused = true);
            return;
        }
        let place = Place {
            offset,
            length,
            failed: head.error.is_some(),
            refused: false,
        };
        insert(&mut self.places, key, place);
    }
}

/// Reads all whole lines. Those that are no calls are passed over.
fn scan(file: &File) -> io::Result<Scanned> {
    let mut scanned = Scanned::default();
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        if line.last() != Some(&b'\n') {
            return Ok(scanned);
        }
        if let Ok(head) = serde_json::from_slice::<Head<'_>>(&line) {
            scanned.line(&head, scanned.end, length);
        }
        scanned.end += length as u64;
    }
}

/// An answer stands over an error, whichever came first.
fn insert(places: &mut HashMap<Key, Place>, key: Key, place: Place) {
    let answered = places.get(&key).is_some_and(|place| !place.failed);
    if !(place.failed && answered) {
        places.insert(key, place);
    }
}

fn kind_of(code: &str) -> ModelErrorKind {
    use ModelErrorKind as Kind;
    const KINDS: [ModelErrorKind; 17] = [
        Kind::Unauthorized,
        Kind::NotFound,
        Kind::ContextLength,
        Kind::BadRequest,
        Kind::RateLimited,
        Kind::Server,
        Kind::Timeout,
        Kind::Connection,
        Kind::Tls,
        Kind::Protocol,
        Kind::ContentFilter,
        Kind::Truncated,
        Kind::Unsupported,
        Kind::Budget,
        Kind::Offline,
        Kind::Local,
        Kind::Config,
    ];
    let known = KINDS.into_iter().find(|kind| kind.as_str() == code);
    known.unwrap_or(Kind::Protocol)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn write(log: &CallLog, key: Key, answer: Answer<'_>) {
        let line = Line {
            key: key::hex(&key),
            kind: "chat",
            model: "openai/m",
            asked: Asked::Chat {
                messages: &[ChatMessage::user("line\nbreak")],
                format: Some("verdict"),
                temperature: None,
                top_logprobs: None,
                identity: &CallIdentity::default(),
            },
            answer,
            attempts: &[],
            cached: false,
            took_ms: 3,
        };
        log.write(&key, &line);
    }

    fn reply(text: &str) -> ChatReply {
        ChatReply {
            text: text.to_owned(),
            ..ChatReply::default()
        }
    }

    fn text(log: &CallLog, key: Key) -> Option<String> {
        Some(log.get(&key, false)?.reply?.text)
    }

    #[test]
    fn a_torn_line_is_cut_back_and_the_rest_answers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.jsonl");
        let log = CallLog::open(&path, Access::Append).unwrap();
        write(&log, [1; 32], Answer::Reply(&reply("one")));
        write(&log, [2; 32], Answer::Reply(&reply("two")));
        assert_eq!(text(&log, [1; 32]).unwrap(), "one");
        log.check().unwrap();
        // Nothing is closed: each line stands in the file at once.
        let whole = fs::read(&path).unwrap();
        let second = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        for end in second..=whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let log = CallLog::open(&path, Access::Append).unwrap();
            assert_eq!(text(&log, [1; 32]).unwrap(), "one");
            assert_eq!(text(&log, [2; 32]).is_some(), end == whole.len());
            write(&log, [3; 32], Answer::Reply(&reply("three")));
            let log = CallLog::open(&path, Access::ReadOnly).unwrap();
            assert_eq!(text(&log, [3; 32]).unwrap(), "three");
            assert_eq!(text(&log, [1; 32]).unwrap(), "one");
            write(&log, [4; 32], Answer::Reply(&reply("four")));
            assert!(text(&log, [4; 32]).is_none(), "it was opened for reading");
        }
    }

    #[test]
    fn lines_that_are_no_calls_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.jsonl");
        fs::write(&path, b"{}\n\n[1]\n\xff\0\n{\"key\":\"00\"}\n{\"key\":7}\n").unwrap();
        let log = CallLog::open(&path, Access::Append).unwrap();
        write(&log, [1; 32], Answer::Reply(&reply("one")));
        let log = CallLog::open(&path, Access::ReadOnly).unwrap();
        assert_eq!(text(&log, [1; 32]).unwrap(), "one");
        assert_eq!(lock(&log.places).len(), 1);
    }

    #[test]
    fn an_answer_stands_over_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.jsonl");
        let log = CallLog::open(&path, Access::Append).unwrap();
        let error = ModelError::new(ModelErrorKind::Server, "it broke");
        write(&log, [1; 32], Answer::error(&error));
        assert!(log.get(&[1; 32], false).is_none());
        let kept = log.get(&[1; 32], true).unwrap().error.unwrap();
        assert_eq!(kept.into_error(), error);
        write(&log, [1; 32], Answer::Reply(&reply("one")));
        write(&log, [1; 32], Answer::error(&error));
        for log in [log, CallLog::open(&path, Access::ReadOnly).unwrap()] {
            assert_eq!(text(&log, [1; 32]).unwrap(), "one");
        }
    }

    #[test]
    fn how_a_line_reads() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.jsonl");
        let log = CallLog::open(&path, Access::Append).unwrap();
        write(&log, [1; 32], Answer::Reply(&reply("one")));
        let line: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(line["key"], "01".repeat(32));
        assert_eq!(
            line["messages"],
            json!([{"role": "user", "content": "line\nbreak"}])
        );
        assert_eq!(
            (&line["format"], &line["cached"]),
            (&json!("verdict"), &json!(false))
        );
        assert_eq!(line["identity"]["order"], "AB");
        assert_eq!(line["reply"]["text"], "one");
    }
}
