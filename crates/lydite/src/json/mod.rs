//! JSON as a borrowed tree whose numbers keep their source text, and what Lydite asks of it:
//! strict parsing, canonical text, equality, similarity and JSON Schema.
//!
//! The reader is our own, some 300 lines in `scan.rs`, because the evaluators need four things at
//! once that no kept-up crate gives together: the *text* of every number (9007199254740993 and
//! 9007199254740992 are different answers), strings borrowed from the source, refusal of what is
//! ambiguous (duplicate keys, lone surrogates), and errors that say line and column in characters.
//! `serde_json` and `sonic-rs` turn numbers into binary ones or buffer them, `jiter` copies every
//! string to a tape and reports byte columns, `hifijson` knows no positions.

mod canonical;
mod equal;
mod extract;
pub mod number;
mod scan;
mod schema;
mod similarity;
mod walk;

use std::borrow::Cow;
use std::fmt;

pub use canonical::{canonical, compact, python_dump};
pub use equal::{Difference, DifferenceKind, diff, equal};
pub(crate) use extract::ValueEnds;
pub use extract::find_in_text;
pub use schema::{Schema, SchemaError, SchemaOptions, Violation};
pub use similarity::{
    Booleans, Leaf, Lists, Missing, NestedWeights, Scored, SimilarityOptions, WeightError,
    similarity,
};
pub(crate) use walk::{MemberValue, ObjectWalk};

/// How deep arrays and objects may nest in a parsed tree, so that every walk over it may recurse.
pub const MAX_DEPTH: usize = 128;

/// A JSON value borrowed from its source text.
///
/// Objects keep the order of their members and hold each key once.
// A tag of a whole word keeps the payloads aligned; with a byte, the parser's moves of them stall.
#[repr(u64)]
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    /// The number as it was written: what it is worth is [`number`]'s business.
    Number(&'a str),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    Object(Vec<Member<'a>>),
}

/// A key of an object with its value.
pub type Member<'a> = (Cow<'a, str>, Json<'a>);

impl<'a> Json<'a> {
    /// `null`, `boolean`, `number`, `string`, `array` or `object`, as JSON Schema says them.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Number(_) => "number",
            Self::String(_) => "string",
            Self::Array(_) => "array",
            Self::Object(_) => "object",
        }
    }

    /// The member `key` of an object.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Self::Object(members) => find(members, key),
            _ => None,
        }
    }

    /// The same value as a [`serde_json::Value`], where a number that fits neither 64-bit integers
    /// nor `f64` becomes the nearest finite `f64`.
    pub fn to_value(&self) -> serde_json::Value {
        use serde_json::Value;
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Number(text) => Value::Number(number::to_number(text)),
            Self::String(text) => Value::String(text.to_string()),
            Self::Array(items) => items.iter().map(Json::to_value).collect(),
            Self::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(key, value)| (key.to_string(), value.to_value()))
                    .collect(),
            ),
        }
    }
}

/// Compact JSON in the order and the spelling of the source.
impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        compact(self, &mut out);
        f.write_str(&out)
    }
}

/// Reads one JSON text by RFC 8259, and nothing else: no NaN, Infinity, comments, trailing commas,
/// byte order mark or raw control characters.
///
/// # Errors
/// The first thing that is not JSON, with its position. Three things RFC 8259 lets a reader decide
/// are refused too, because they leave open which value was meant: a key that comes twice in an
/// object, half of a surrogate pair, and nesting beyond [`MAX_DEPTH`].
pub fn parse(text: &str) -> Result<Json<'_>, JsonError> {
    parse_with(text, DuplicateKeys::Refuse)
}

/// [`parse`], with a say in what becomes of a key that comes twice.
///
/// # Errors
/// As for [`parse`].
pub fn parse_with(text: &str, duplicates: DuplicateKeys) -> Result<Json<'_>, JsonError> {
    scan::parse(text, duplicates).map_err(|fault| JsonError::at(text, &fault))
}

/// What becomes of a key that an object has twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// An error at the second, since readers differ in what they would see.
    Refuse,
    /// The last value counts, at the place of the first: what most readers do.
    LastWins,
}

/// Whether the text is JSON by the grammar of RFC 8259, in constant stack and without building it.
///
/// Unlike [`parse`] it minds neither depth, duplicate keys nor lone surrogates: the grammar has
/// them.
///
/// # Errors
/// The first thing that is not JSON, with its position.
pub fn is_valid(text: &str) -> Result<(), JsonError> {
    scan::check(text).map_err(|fault| JsonError::at(text, &fault))
}

/// The text inside a markdown code fence that stands around the whole of it, trimmed; a text
/// without one is returned as it is.
///
/// The fence may name its language, on its own line or, for `json`, before the text on the same.
pub fn strip_fence(text: &str) -> &str {
    fenced(text.trim()).unwrap_or(text)
}

fn fenced(text: &str) -> Option<&str> {
    let ticks = text.bytes().take_while(|byte| *byte == b'`').count();
    let (fence, rest) = text.split_at_checked(ticks).filter(|_| ticks >= 3)?;
    let inside = rest.strip_suffix(fence)?;
    let (first, body) = inside.split_once('\n').unwrap_or((inside, ""));
    let language = first.trim();
    if !body.is_empty()
        && language
            .chars()
            .all(|c| c.is_alphanumeric() || "_-+.".contains(c))
    {
        return Some(body.trim());
    }
    let inline = match inside.split_at_checked(4) {
        Some((tag, after)) if tag.eq_ignore_ascii_case("json") => after,
        _ => inside,
    };
    Some(inline.trim())
}

/// Why a text is not JSON that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} at line {line}, column {column}")]
pub struct JsonError {
    pub kind: JsonErrorKind,
    /// Bytes before the place.
    pub offset: usize,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What was found and what was expected, without the position.
    pub message: String,
}

/// What is wrong with a JSON text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// Nothing but white space.
    Empty,
    /// The text starts with U+FEFF.
    ByteOrderMark,
    /// The text stops in the middle of a value.
    UnexpectedEnd,
    /// A character that cannot stand there: NaN, comments and trailing commas end here.
    UnexpectedCharacter,
    /// Something follows the value.
    TrailingCharacters,
    /// A raw control character in a string.
    ControlCharacter,
    /// A backslash followed by something that is no escape.
    InvalidEscape,
    /// `\ud800`–`\udfff` without its other half: no text can hold it.
    LoneSurrogate,
    /// A key that its object has already.
    DuplicateKey,
    /// Nested beyond [`MAX_DEPTH`].
    TooDeep,
}

impl JsonError {
    #[cold]
    fn at(text: &str, fault: &scan::Fault) -> Self {
        let before = text.get(..fault.offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Self {
            kind: fault.kind,
            offset: fault.offset,
            line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
            column: 1 + before.get(line_start..).unwrap_or("").chars().count(),
            message: message(text.get(fault.offset..).unwrap_or(""), fault),
        }
    }
}

/// `rest` is the text from the place of the fault on.
fn message(rest: &str, fault: &scan::Fault) -> String {
    let found = match rest.chars().next() {
        Some(c) if c.is_control() => format!("the character U+{:04X}", u32::from(c)),
        Some(c) => format!("`{c}`"),
        None => "the end of the text".to_owned(),
    };
    let expected = fault.expected;
    match fault.kind {
        JsonErrorKind::Empty => "no JSON: the text is empty".to_owned(),
        JsonErrorKind::ByteOrderMark => {
            "a byte order mark (U+FEFF) is not JSON: remove it".to_owned()
        }
        JsonErrorKind::UnexpectedEnd => format!("the text ends where {expected} was expected"),
        JsonErrorKind::UnexpectedCharacter | JsonErrorKind::InvalidEscape => {
            format!("found {found} where {expected} was expected")
        }
        JsonErrorKind::TrailingCharacters => format!("found {found} after the JSON value"),
        JsonErrorKind::ControlCharacter => {
            format!("{found} must be written as an escape in a string")
        }
        JsonErrorKind::LoneSurrogate => {
            "half of a surrogate pair stands alone in a string".to_owned()
        }
        JsonErrorKind::DuplicateKey => {
            let key = scan::first_string(rest).unwrap_or_default();
            format!("the key {key:?} comes twice in one object")
        }
        JsonErrorKind::TooDeep => format!("nested more than {MAX_DEPTH} levels deep"),
    }
}

/// The value of `key` among the members of an object.
fn find<'j, 'a>(members: &'j [Member<'a>], key: &str) -> Option<&'j Json<'a>> {
    members
        .iter()
        .find(|(name, _)| name == key)
        .map(|(_, value)| value)
}

/// Members of one object looked up by the keys of another, in about one step a key where both
/// objects have the same order, and without a quadratic walk where large ones differ.
struct Lookup<'j, 'a> {
    members: &'j [Member<'a>],
    next: usize,
    index: Option<std::collections::HashMap<&'j str, usize>>,
}

impl<'j, 'a> Lookup<'j, 'a> {
    /// Objects up to this many members are searched one by one.
    const SMALL: usize = 16;

    fn new(members: &'j [Member<'a>]) -> Self {
        Self {
            members,
            next: 0,
            index: None,
        }
    }

    fn get(&mut self, key: &str) -> Option<&'j Json<'a>> {
        if let Some((name, value)) = self.members.get(self.next)
            && name == key
        {
            self.next += 1;
            return Some(value);
        }
        let at = self.position(key)?;
        self.next = at + 1;
        self.members.get(at).map(|(_, value)| value)
    }

    fn position(&mut self, key: &str) -> Option<usize> {
        if self.members.len() <= Self::SMALL {
            return self.members.iter().position(|(name, _)| name == key);
        }
        let members = self.members;
        let index = self.index.get_or_insert_with(|| {
            let keys = members.iter().enumerate();
            keys.map(|(at, (name, _))| (&**name, at)).collect()
        });
        index.get(key).copied()
    }
}

/// Appends `/index` to a JSON Pointer.
fn push_index(pointer: &mut String, index: usize) {
    use fmt::Write;
    let _ = write!(pointer, "/{index}");
}

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod tests;
