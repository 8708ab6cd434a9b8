//! From the JSON text of one record to [`Slots`], parsing only what some check asked for.
//!
//! [`Mapping`] decides once a dataset which key means which field; [`Decoder`] then reads records.
//! Values are borrowed from the text where they hold no escape, else unescaped into an arena that
//! is reused from block to block. What nobody asked for is skipped, but its grammar is checked.

#![expect(
    clippy::unnecessary_box_returns,
    reason = "errors are passed on in their box"
)]

mod build;
mod mapping;

use std::collections::BTreeSet;

use bumpalo::Bump;

pub(crate) use mapping::TARGET_ERROR;
pub use mapping::{Mapping, MappingError, SURVEY_RECORDS, Survey};

use crate::json::{self, JsonError, MemberValue, ObjectWalk};
use crate::path::FieldPath;
use crate::record::{Field, FieldSet, Raw, Slots};
use mapping::Target;

/// What some check, expression or reference asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub fields: FieldSet,
    /// Top-level keys as they stand in the record, for paths that begin with none of our fields.
    pub keys: Vec<String>,
}

impl Wanted {
    /// The position of a raw key, added if it is new.
    pub fn key(&mut self, name: &str) -> usize {
        if let Some(index) = self.keys.iter().position(|key| key == name) {
            return index;
        }
        self.keys.push(name.to_owned());
        self.keys.len() - 1
    }
}

/// A record that can't be read: where, what, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RecordError {
    /// Byte of the record's text where it goes wrong; 0 where the record as a whole is meant.
    pub offset: usize,
    pub field: Option<String>,
    pub message: String,
    pub hint: Option<String>,
}

impl RecordError {
    fn field(field: impl Into<String>, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            offset: 0,
            field: Some(field.into()),
            message: message.into(),
            hint: None,
        })
    }

    fn hint(mut self: Box<Self>, hint: impl Into<String>) -> Box<Self> {
        self.hint = Some(hint.into());
        self
    }
}

/// Reads records of one dataset. One a thread: it learns the order of keys as it goes.
#[derive(Debug)]
pub struct Decoder<'m> {
    mapping: &'m Mapping,
    /// The fields to build, with what they are derived from.
    fields: FieldSet,
    shape: Vec<(Box<str>, Option<Target>)>,
    unknown: BTreeSet<Box<str>>,
    buffer: String,
}

impl<'m> Decoder<'m> {
    pub fn new(mapping: &'m Mapping) -> Self {
        Self {
            mapping,
            fields: mapping.fields(),
            shape: Vec::new(),
            unknown: BTreeSet::new(),
            buffer: String::new(),
        }
    }

    /// Keys seen so far that are no field; they are reachable as `extra.<key>`.
    pub fn unknown_keys(&self) -> impl Iterator<Item = &str> {
        self.unknown.iter().map(|key| &**key)
    }

    /// Reads one record. `arena` holds what had to be unescaped or derived.
    pub fn decode<'r>(
        &mut self,
        text: &'r str,
        arena: &'r Bump,
    ) -> Result<&'r Slots<'r>, Box<RecordError>> {
        let found = arena.alloc_with(|| Found::new(self.mapping, arena));
        self.read(text, arena, found)?;
        if let Some(field) = found.twice {
            return Err(self.two_names(text, field));
        }
        self.mapping.fill_paths(text, found, arena)?;
        build::slots(found, self.fields, arena)?;
        Ok(&found.slots)
    }

    fn read<'r>(
        &mut self,
        text: &'r str,
        arena: &'r Bump,
        found: &mut Found<'r>,
    ) -> Result<(), Box<RecordError>> {
        let not_json = |error: JsonError| not_json(text, &error);
        let Some(mut walk) = ObjectWalk::new(text).map_err(not_json)? else {
            return Err(no_object(text).into());
        };
        let mut position = 0;
        let mut unescaped = "";
        while let Some(key) = walk.next_key().map_err(not_json)? {
            let target = self.look_up(&key, position);
            position += 1;
            match target {
                Some(target) if target.wanted => {
                    let value = match walk.value(&mut self.buffer) {
                        Ok(MemberValue::Null) => None,
                        Ok(MemberValue::Text(text)) => Some(Raw::Text(text)),
                        Ok(MemberValue::Escaped) => {
                            unescaped = arena.alloc_str(&self.buffer);
                            Some(Raw::Text(unescaped))
                        }
                        Ok(MemberValue::Same) => Some(Raw::Text(unescaped)),
                        Ok(MemberValue::Json(source)) => Some(Raw::Json(source)),
                        Err(error) if error.is_lone_surrogate() => {
                            return Err(RecordError {
                                offset: error.offset,
                                ..build::lone_surrogate(target.field)
                            }
                            .into());
                        }
                        Err(error) => return Err(not_json(error).into()),
                    };
                    found.store(target, value);
                }
                Some(Target {
                    field: Some(field), ..
                }) => {
                    found.note(field);
                    walk.skip().map_err(not_json)?;
                }
                _ => walk.skip().map_err(not_json)?,
            }
        }
        Ok(())
    }

    /// The slow path of an error: which two keys stand for one field.
    fn two_names(&self, text: &str, field: Field) -> Box<RecordError> {
        let keys: Vec<String> = top_level_keys(text)
            .into_iter()
            .filter(|key| {
                self.mapping
                    .target(key)
                    .is_some_and(|target| target.field == Some(field))
            })
            .collect();
        let message = match keys.as_slice() {
            [first, second, ..] if first == second => {
                format!("the key `{first}` stands twice in the record")
            }
            [first, second, ..] => format!("`{first}` and `{second}` are two names for `{field}`"),
            _ => format!("`{field}` stands twice in the record"),
        };
        RecordError::field(field.as_str(), message)
            .hint("keep one of them, or say which with the dataset's `fields:`")
    }
}

/// A record's wanted values as they came, then what is built from them.
#[derive(Debug)]
struct Found<'r> {
    slots: Slots<'r>,
    keys: &'r mut [Option<Raw<'r>>],
    output_b: Option<Raw<'r>>,
    trajectory: Option<Raw<'r>>,
    target_error: Option<Raw<'r>>,
    twice: Option<Field>,
    seen: FieldSet,
}

impl<'r> Found<'r> {
    fn new(mapping: &Mapping, arena: &'r Bump) -> Self {
        Self {
            slots: Slots::default(),
            keys: arena.alloc_slice_fill_copy(mapping.key_count(), None),
            output_b: None,
            trajectory: None,
            target_error: None,
            twice: None,
            seen: FieldSet::EMPTY,
        }
    }

    fn note(&mut self, field: Field) {
        if self.seen.contains(field) {
            self.twice.get_or_insert(field);
        }
        self.seen.insert(field);
    }

    fn store(&mut self, target: Target, value: Option<Raw<'r>>) {
        if let Some(slot) = target.key.and_then(|index| self.keys.get_mut(index)) {
            *slot = value;
        }
        match (target.field, target.special) {
            (_, mapping::Special::OutputB) => self.output_b = value,
            (_, mapping::Special::Trajectory) => self.trajectory = value,
            (_, mapping::Special::TargetError) => self.target_error = value,
            (Some(field), mapping::Special::None) => {
                self.note(field);
                self.set(field, value);
            }
            (None, mapping::Special::None) => {}
        }
    }

    fn set(&mut self, field: Field, value: Option<Raw<'r>>) {
        if let Some(slot) = self.slots.raw.get_mut(field as usize) {
            *slot = value;
        }
    }
}

fn no_object(text: &str) -> RecordError {
    if let Err(error) = json::is_valid(text) {
        return not_json(text, &error);
    }
    RecordError {
        offset: 0,
        field: None,
        message: format!("expected a JSON object, found {}", kind_of_json(text)),
        hint: Some("each record is one JSON object".into()),
    }
}

fn not_json(text: &str, error: &JsonError) -> RecordError {
    let rest = text.get(error.offset..).unwrap_or_default();
    let hint = ["NaN", "Infinity", "-Infinity"]
        .iter()
        .any(|word| rest.starts_with(word))
        .then(|| "NaN and Infinity are not JSON; write null or leave the field out".to_owned());
    RecordError {
        offset: error.offset,
        field: None,
        message: format!("not JSON: {}", error.message),
        hint,
    }
}

/// Key orders longer than this are not learnt.
const MAX_SHAPE: usize = 64;

impl Decoder<'_> {
    fn look_up(&mut self, key: &str, position: usize) -> Option<Target> {
        if let Some((known, target)) = self.shape.get(position)
            && **known == *key
        {
            return *target;
        }
        let target = self.mapping.target(key);
        if target.is_none() && !self.unknown.contains(key) {
            self.unknown.insert(key.into());
        }
        if position == self.shape.len() && position < MAX_SHAPE {
            self.shape.push((key.into(), target));
        } else if let Some(slot) = self.shape.get_mut(position) {
            *slot = (key.into(), target);
        }
        target
    }
}

/// The keys of a record in order, as far as it can be read.
fn top_level_keys(text: &str) -> Vec<String> {
    let mut keys = Vec::new();
    if let Ok(Some(mut walk)) = ObjectWalk::new(text) {
        while let Ok(Some(key)) = walk.next_key() {
            keys.push(key.into_owned());
            if walk.skip().is_err() {
                break;
            }
        }
    }
    keys
}

pub(crate) fn kind_of_json(text: &str) -> &'static str {
    match text.trim_start().bytes().next() {
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "something else",
    }
}

/// A path whose root was looked up: from a row to a value.
#[derive(Clone, Debug)]
pub struct RowPath {
    root: Root,
    rest: Vec<String>,
    text: String,
}

#[derive(Clone, Copy, Debug)]
enum Root {
    Field(Field),
    Key(usize),
}

impl RowPath {
    /// Looks the root up: a field of the record, `extra.<key>`, or (where `raw_keys`) any key as it
    /// stands in the record. Adds what it reads to `wanted`. `None` where it is none of these.
    pub fn new(path: &FieldPath, raw_keys: bool, wanted: &mut Wanted) -> Option<Self> {
        let rest = path.rest().to_vec();
        let text = path.to_string();
        if path.root() == "extra" {
            let (key, rest) = rest.split_first()?;
            return Some(Self {
                root: Root::Key(wanted.key(key)),
                rest: rest.to_vec(),
                text,
            });
        }
        if let Some(field) = Field::from_name(path.root()) {
            wanted.fields.insert(field);
            return Some(Self {
                root: Root::Field(field),
                rest,
                text,
            });
        }
        raw_keys.then(|| Self {
            root: Root::Key(wanted.key(path.root())),
            rest,
            text,
        })
    }

    /// The value, or `None` where the record has none there (or null).
    pub fn resolve<'r>(&self, slots: &Slots<'r>, arena: &'r Bump) -> Option<Raw<'r>> {
        let root = match self.root {
            Root::Field(field) => build::raw_of(slots, field)?,
            Root::Key(index) => slots.keys.get(index).copied().flatten()?,
        };
        if self.rest.is_empty() {
            return Some(root);
        }
        let Raw::Json(source) = root else { return None };
        let found = crate::path::find(source, &self.rest).ok().flatten()?;
        build::raw(found, arena).ok().flatten()
    }
}

impl std::fmt::Display for RowPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

pub use build::{content_of_raw, override_field, texts_of_parts};
