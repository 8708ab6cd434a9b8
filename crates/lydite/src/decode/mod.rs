//! From the JSON text of one record to [`Slots`], parsing only what some check asked for.
//!
//! [`Mapping`] decides once a dataset which key means which field; [`Decoder`] then reads records.
//! Values are borrowed from the text where they hold no escape, else unescaped into an arena that
//! is reused from block to block. What nobody asked for is skipped, but its grammar is checked.

mod build;
mod mapping;

use std::collections::BTreeSet;

use bumpalo::Bump;
use serde::de::{DeserializeSeed, Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

pub use mapping::{Mapping, MappingError, SURVEY_RECORDS, Survey};

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
    fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { offset: 0, field: Some(field.into()), message: message.into(), hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
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
}

impl<'m> Decoder<'m> {
    pub fn new(mapping: &'m Mapping) -> Self {
        Self { mapping, fields: mapping.fields(), shape: Vec::new(), unknown: BTreeSet::new() }
    }

    /// Keys seen so far that are no field; they are reachable as `extra.<key>`.
    pub fn unknown_keys(&self) -> impl Iterator<Item = &str> {
        self.unknown.iter().map(|key| &**key)
    }

    /// Reads one record. `arena` holds what had to be unescaped or derived.
    pub fn decode<'r>(&mut self, text: &'r str, arena: &'r Bump) -> Result<Slots<'r>, RecordError> {
        let mut found = Found::new(self.mapping);
        let mut reader = serde_json::Deserializer::from_str(text);
        let seed = RecordSeed { decoder: self, found: &mut found };
        reader
            .deserialize_any(seed)
            .and_then(|()| reader.end())
            .map_err(|error| self.explain(text, &found, &error))?;
        if let Some(field) = found.twice {
            return Err(self.two_names(text, field));
        }
        self.mapping.fill_paths(text, &mut found);
        build::slots(&found, self.fields, arena)
    }

    fn explain(&self, text: &str, found: &Found<'_>, error: &serde_json::Error) -> RecordError {
        if found.not_object {
            return RecordError {
                offset: 0,
                field: None,
                message: format!("expected a JSON object, found {}", kind_of_json(text)),
                hint: Some("each record is one JSON object".into()),
            };
        }
        let message = error.to_string();
        let cause = message.rfind(" at line ").and_then(|at| message.get(..at)).unwrap_or(&message);
        let hint = (cause.starts_with("expected value") && has_non_finite(text))
            .then(|| "NaN and Infinity are not JSON; write null or leave the field out".to_owned());
        RecordError {
            offset: offset_of(text, error.line(), error.column()),
            field: None,
            message: format!("not JSON: {cause}"),
            hint,
        }
    }

    /// The slow path of an error: which two keys stand for one field.
    fn two_names(&self, text: &str, field: Field) -> RecordError {
        let keys: Vec<String> = top_level_keys(text)
            .into_iter()
            .filter(|key| self.mapping.target(key).is_some_and(|target| target.field == Some(field)))
            .collect();
        let message = match keys.as_slice() {
            [first, second, ..] if first == second => format!("the key `{first}` stands twice in the record"),
            [first, second, ..] => format!("`{first}` and `{second}` are two names for `{field}`"),
            _ => format!("`{field}` stands twice in the record"),
        };
        RecordError::field(field.as_str(), message).hint("keep one of them, or say which with the dataset's `fields:`")
    }
}

/// The source texts of a record's wanted values, before they are built.
#[derive(Debug)]
struct Found<'r> {
    fields: [Option<&'r str>; Field::COUNT],
    keys: Vec<Option<&'r str>>,
    output_b: Option<&'r str>,
    trajectory: Option<&'r str>,
    twice: Option<Field>,
    seen: FieldSet,
    not_object: bool,
}

impl Found<'_> {
    fn new(mapping: &Mapping) -> Self {
        Self {
            fields: [None; Field::COUNT],
            keys: vec![None; mapping.key_count()],
            output_b: None,
            trajectory: None,
            twice: None,
            seen: FieldSet::EMPTY,
            not_object: false,
        }
    }
}

struct RecordSeed<'d, 'm, 'r> {
    decoder: &'d mut Decoder<'m>,
    found: &'d mut Found<'r>,
}

impl<'r> Visitor<'r> for RecordSeed<'_, '_, 'r> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'r>>(self, mut map: A) -> Result<(), A::Error> {
        let mut position = 0;
        while let Some(target) = map.next_key_seed(KeySeed { decoder: &mut *self.decoder, position })? {
            position += 1;
            match target {
                Some(target) if target.wanted => store(self.found, target, map.next_value::<&'r RawValue>()?.get()),
                Some(Target { field: Some(field), .. }) => {
                    note(self.found, field);
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(self, _: bool) -> Result<(), E> {
        self.no_object()
    }
    fn visit_i64<E: serde::de::Error>(self, _: i64) -> Result<(), E> {
        self.no_object()
    }
    fn visit_u64<E: serde::de::Error>(self, _: u64) -> Result<(), E> {
        self.no_object()
    }
    fn visit_f64<E: serde::de::Error>(self, _: f64) -> Result<(), E> {
        self.no_object()
    }
    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<(), E> {
        self.no_object()
    }
    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.no_object()
    }
    fn visit_seq<A: serde::de::SeqAccess<'r>>(self, _: A) -> Result<(), A::Error> {
        self.no_object()
    }
}

impl RecordSeed<'_, '_, '_> {
    fn no_object<E: serde::de::Error>(self) -> Result<(), E> {
        self.found.not_object = true;
        Err(E::custom("no object"))
    }
}

fn note(found: &mut Found<'_>, field: Field) {
    if found.seen.contains(field) {
        found.twice.get_or_insert(field);
    }
    found.seen.insert(field);
}

fn store<'r>(found: &mut Found<'r>, target: Target, source: &'r str) {
    if let Some(index) = target.key
        && let Some(slot) = found.keys.get_mut(index)
    {
        *slot = Some(source);
    }
    match (target.field, target.special) {
        (_, mapping::Special::OutputB) => found.output_b = Some(source),
        (_, mapping::Special::Trajectory) => found.trajectory = Some(source),
        (Some(field), mapping::Special::None) => {
            note(found, field);
            if let Some(slot) = found.fields.get_mut(field as usize) {
                *slot = Some(source);
            }
        }
        (None, mapping::Special::None) => {}
    }
}

/// Reads a key and looks it up; records of one file mostly have their keys in one order.
struct KeySeed<'d, 'm> {
    decoder: &'d mut Decoder<'m>,
    position: usize,
}

impl<'r> DeserializeSeed<'r> for KeySeed<'_, '_> {
    type Value = Option<Target>;

    fn deserialize<D: serde::Deserializer<'r>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'r> Visitor<'r> for KeySeed<'_, '_> {
    type Value = Option<Target>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: serde::de::Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.decoder.look_up(key, self.position))
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
pub(crate) fn top_level_keys(text: &str) -> Vec<String> {
    struct Keys(Vec<String>);
    impl<'r> Visitor<'r> for &mut Keys {
        type Value = ();
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a JSON object")
        }
        fn visit_map<A: MapAccess<'r>>(self, mut map: A) -> Result<(), A::Error> {
            while let Some(key) = map.next_key::<String>()? {
                self.0.push(key);
                map.next_value::<IgnoredAny>()?;
            }
            Ok(())
        }
    }
    let mut keys = Keys(Vec::new());
    // What can't be read shows as a bad record when it is decoded.
    let _ = serde_json::Deserializer::from_str(text).deserialize_map(&mut keys);
    keys.0
}

pub(crate) fn kind_of_json(text: &str) -> &'static str {
    match text.trim_start().bytes().next() {
        Some(b'[') => "an array",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "something else",
    }
}

/// The byte at a line and column, both from 1, as serde_json counts them.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start = match line {
        0 | 1 => 0,
        _ => memchr::memchr_iter(b'\n', text.as_bytes()).nth(line - 2).map_or(0, |end| end + 1),
    };
    (start + column.saturating_sub(1)).min(text.len())
}

fn has_non_finite(text: &str) -> bool {
    ["NaN", "Infinity"].iter().any(|word| text.contains(word))
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
            return Some(Self { root: Root::Key(wanted.key(key)), rest: rest.to_vec(), text });
        }
        if let Some(field) = Field::from_name(path.root()) {
            wanted.fields.insert(field);
            return Some(Self { root: Root::Field(field), rest, text });
        }
        raw_keys.then(|| Self { root: Root::Key(wanted.key(path.root())), rest, text })
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
