//! Finding the one JSON value of a reply that is an answer.

use serde_json::Value;

use super::thinking::without_thinking;
use super::{Misread, Read, shown};
use crate::json::{self, JsonError, JsonErrorKind, ValueEnds};
use crate::outcome::Code;

/// Work that is spent on openings which turn out to be none, in bytes a byte of the reply.
const EFFORT: usize = 64;

/// What `fits` says of one candidate.
type Fits<'f, T> = &'f dyn Fn(&Value) -> Result<Read<T>, Misread>;

/// Reads the one JSON value of a reply that `fits` takes.
///
/// A reply that is JSON from end to end is that value. Else thinking is left out and every `{` and
/// `[` outside of values that are already read is tried; raw control characters inside strings are
/// taken. Values that `fits` refuses are left out, but for the one inside of a wrapper of a single
/// entry (`[{…}]`, `{"result": {…}}`).
///
/// # Errors
/// - [`Code::AmbiguousReply`] where several values fit and differ, or a key comes twice in one.
/// - [`Code::NonFiniteNumber`] where a number is NaN or infinite.
/// - [`Code::JudgeUnreadable`] where an object breaks off, even if another value fits: that one
///   may be a quotation inside of the broken one. Also where nothing is found.
/// - Else what `fits` said of the last value that it read and refused.
pub fn json<T: PartialEq>(reply: &str, fits: Fits<'_, T>) -> Result<Read<T>, Misread> {
    let mut answers = Answers::new(fits);
    let whole = json::strip_fence(reply).trim();
    match whole.starts_with(['{', '[']).then(|| parse(whole)) {
        Some(Ok(value)) => answers.add(&value),
        _ => search(&without_thinking(reply), &mut answers)?,
    }
    answers.end()
}

/// Whether a reply is one JSON object or array from end to end, but for a fence around it.
pub(super) fn is_whole(reply: &str) -> bool {
    let whole = json::strip_fence(reply).trim();
    whole.starts_with(['{', '[']) && parse(whole).is_ok()
}

/// The candidates of a reply so far.
struct Answers<'f, T> {
    fits: Fits<'f, T>,
    found: Option<Read<T>>,
    differ: bool,
    refused: Option<Misread>,
}

impl<'f, T: PartialEq> Answers<'f, T> {
    fn new(fits: Fits<'f, T>) -> Self {
        Self {
            fits,
            found: None,
            differ: false,
            refused: None,
        }
    }

    fn add(&mut self, value: &Value) {
        match (self.fits)(value) {
            Ok(read) => {
                let differs = |found: &Read<T>| found.value != read.value;
                self.differ |= self.found.as_ref().is_some_and(differs);
                self.found = Some(read);
            }
            Err(misread) => {
                self.refuse(misread);
                if let Some(inner) = unwrapped(value) {
                    self.add(inner);
                }
            }
        }
    }

    /// A verdict that was read and can't be taken says more than a value that holds none.
    fn refuse(&mut self, misread: Misread) {
        let says_more = |known: &Misread| known.code != Code::JudgeUnreadable;
        if misread.code != Code::JudgeUnreadable || !self.refused.as_ref().is_some_and(says_more) {
            self.refused = Some(misread);
        }
    }

    fn end(self) -> Result<Read<T>, Misread> {
        if self.differ {
            return Err(Misread::new(
                Code::AmbiguousReply,
                "the reply holds several JSON values that differ",
            ));
        }
        self.found.ok_or_else(|| {
            self.refused
                .unwrap_or_else(|| Misread::unreadable("the reply holds no JSON value"))
        })
    }
}

/// The object or array that is all there is in another.
fn unwrapped(value: &Value) -> Option<&Value> {
    let inner = match value {
        Value::Array(items) if items.len() == 1 => items.first()?,
        Value::Object(members) if members.len() == 1 => members.values().next()?,
        _ => return None,
    };
    (inner.is_object() || inner.is_array()).then_some(inner)
}

fn search<T: PartialEq>(text: &str, answers: &mut Answers<'_, T>) -> Result<(), Misread> {
    let spaced = text.replace(|c: char| c < ' ', " ");
    let mut ends = ValueEnds::new(&spaced);
    let mut effort = EFFORT * text.len();
    let (mut at, mut last_end) = (0, None);
    while let Some(start) = next_opening(text, at) {
        match ends.end_of(start) {
            Ok(end) => {
                add_slice(text.get(start..end).unwrap_or_default(), answers)?;
                at = end;
                last_end = Some(end);
            }
            Err(stopped) => {
                refuse_broken(&spaced, start, stopped)?;
                effort = effort
                    .checked_sub(stopped - start)
                    .ok_or_else(|| Misread::unreadable("the reply opens JSON too often"))?;
                at = start + 1;
            }
        }
    }
    refuse_tail(
        text.get(last_end.unwrap_or(text.len())..)
            .unwrap_or_default(),
    )
}

/// Where a key of an object stands behind the values that were read: they may be quotations that
/// closed the object around them.
fn refuse_tail(tail: &str) -> Result<(), Misread> {
    let is_key = |at: usize| {
        let after = tail.get(at + 1..).unwrap_or_default();
        after.trim_start_matches(' ').starts_with(':')
    };
    if memchr::memchr_iter(b'"', tail.as_bytes()).any(is_key) {
        return Err(Misread::unreadable(
            "the reply's JSON is broken: a key stands outside of any object",
        ));
    }
    Ok(())
}

fn next_opening(text: &str, from: usize) -> Option<usize> {
    let rest = text.as_bytes().get(from..)?;
    memchr::memchr2(b'{', b'[', rest).map(|at| from + at)
}

/// A value that is whole by the grammar; an array that can't be read all the same is no answer.
fn add_slice<T: PartialEq>(slice: &str, answers: &mut Answers<'_, T>) -> Result<(), Misread> {
    match parse(slice) {
        Ok(value) => answers.add(&value),
        Err(error) if slice.starts_with('{') => return Err(broken(slice, &error)),
        Err(_) => {}
    }
    Ok(())
}

/// Strictly, but for raw control characters inside of strings.
fn parse(text: &str) -> Result<Value, JsonError> {
    match json::parse(text) {
        Ok(tree) => Ok(tree.to_value()),
        Err(error) if error.kind == JsonErrorKind::ControlCharacter => {
            json::parse(&escape_controls(text)).map(|tree| tree.to_value())
        }
        Err(error) => Err(error),
    }
}

/// Raw control characters inside of strings become escapes.
fn escape_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars() {
        if quoted && c < ' ' {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
        quoted ^= c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
    }
    out
}

/// Where what stands at `start` begins as an object with a key and breaks off at `stopped`.
fn refuse_broken(text: &str, start: usize, stopped: usize) -> Result<(), Misread> {
    let rest = text.get(start..).unwrap_or_default();
    let key_end = key_end(rest).map(|end| start + end);
    if key_end.is_none_or(|end| stopped < end) {
        return Ok(());
    }
    match json::parse(rest) {
        Err(error) => Err(broken(rest, &error)),
        Ok(_) => Ok(()),
    }
}

/// Behind the colon of `{"key":`.
fn key_end(object: &str) -> Option<usize> {
    let key = object.strip_prefix('{')?.trim_start().strip_prefix('"')?;
    let (_, after) = key.split_once('"')?;
    let value = after.trim_start().strip_prefix(':')?;
    Some(object.len() - value.len())
}

fn broken(object: &str, error: &JsonError) -> Misread {
    let rest = object.get(error.offset..).unwrap_or_default();
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    if ["NaN", "Infinity", "nan", "inf"]
        .iter()
        .any(|word| rest.starts_with(word))
    {
        return Misread::new(
            Code::NonFiniteNumber,
            "a number of the reply is not finite; give a number",
        );
    }
    let code = match error.kind {
        JsonErrorKind::DuplicateKey => Code::AmbiguousReply,
        _ => Code::JudgeUnreadable,
    };
    let near = shown(rest.trim_end());
    Misread::new(
        code,
        format!("the reply's JSON is broken: {}, at {near}", error.message),
    )
}
