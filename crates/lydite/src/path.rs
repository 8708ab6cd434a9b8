//! Where a value stands in a record: `metadata.passages`, or `/metadata/a~1b`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// A dotted path or a JSON Pointer (RFC 6901), never empty.
///
/// A dotted path is keys and list positions between dots, such as
/// `response.choices.0.message.content`; it has no quoting. A key with a dot, a space, a bracket
/// or a quote in it is written as a JSON Pointer, which begins with `/`. Both forms of a path are
/// equal when they lead to the same place.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct FieldPath {
    text: String,
    root: String,
    rest: Vec<String>,
}

/// Why a text is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// No text at all, or a pointer to nothing.
    #[error("the path is empty; give a field such as `metadata.passages`")]
    Empty,
    /// Two dots in a row, or a dot at an end.
    #[error("the path `{path}` has an empty part; a part stands between single dots")]
    EmptyPart {
        /// The whole path.
        path: String,
    },
    /// A character that a dotted path has no quoting for.
    #[error(
        "the path `{path}` has `{letter}` in it; write a list position as `.0`, an odd key as a JSON Pointer such as `{pointer}`"
    )]
    OddCharacter {
        /// The whole path.
        path: String,
        /// The first odd character, escaped if it is a control character.
        letter: String,
        /// The path as a JSON Pointer with the dots as separators.
        pointer: String,
    },
    /// `~` in a JSON Pointer without `0` or `1` after it.
    #[error(
        "the JSON Pointer `{path}` has a `~` that is neither `~0` (for `~`) nor `~1` (for `/`)"
    )]
    Escape {
        /// The whole path.
        path: String,
    },
}

impl FieldPath {
    /// Reads a path; one that begins with `/` is a JSON Pointer.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let mut segments = match text.strip_prefix('/') {
            Some(pointer) => pointer
                .split('/')
                .map(|segment| {
                    unescape(segment).ok_or_else(|| PathError::Escape {
                        path: text.to_owned(),
                    })
                })
                .collect::<Result<Vec<_>, _>>()?,
            None => text
                .split('.')
                .map(|segment| checked_part(segment, text))
                .collect::<Result<Vec<_>, _>>()?,
        }
        .into_iter();
        match segments.next() {
            Some(root) if !root.is_empty() => Ok(Self {
                text: text.to_owned(),
                root,
                rest: segments.collect(),
            }),
            _ => Err(PathError::Empty),
        }
    }

    /// The record's field.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// The keys and list positions below the field.
    pub fn rest(&self) -> &[String] {
        &self.rest
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The source text of the value below the field, given the field's JSON text; `None` where
    /// something on the way is missing. Without a rest it is the whole text.
    ///
    /// Builds no tree: what is not on the way is only scanned. Of a key that stands twice the last
    /// counts, as for every reader of records.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn resolve<'a>(&self, root_value: &'a str) -> serde_json::Result<Option<&'a str>> {
        find(root_value, &self.rest)
    }

    /// Like [`FieldPath::resolve`], given the JSON text of the whole record.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn resolve_in_record<'a>(&self, record: &'a str) -> serde_json::Result<Option<&'a str>> {
        let mut deserializer = serde_json::Deserializer::from_str(record);
        let found = Find {
            key: &self.root,
            rest: &self.rest,
        }
        .deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(found)
    }
}

impl PartialEq for FieldPath {
    fn eq(&self, other: &Self) -> bool {
        (&self.root, &self.rest) == (&other.root, &other.rest)
    }
}

impl Eq for FieldPath {}

impl std::hash::Hash for FieldPath {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (&self.root, &self.rest).hash(state);
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl FromStr for FieldPath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for FieldPath {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        Self::parse(&text)
    }
}

impl From<FieldPath> for String {
    fn from(path: FieldPath) -> Self {
        path.text
    }
}

/// The source text of the value at the end of `segments` in a JSON text.
///
/// # Errors
/// The text is not JSON.
pub fn find<'a>(json: &'a str, segments: &[String]) -> serde_json::Result<Option<&'a str>> {
    let mut deserializer = serde_json::Deserializer::from_str(json);
    let found = Step(segments).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(found)
}

fn checked_part(segment: &str, path: &str) -> Result<String, PathError> {
    if path.is_empty() {
        return Err(PathError::Empty);
    }
    if segment.is_empty() {
        return Err(PathError::EmptyPart {
            path: path.to_owned(),
        });
    }
    let odd = |letter: char| {
        letter.is_whitespace() || letter.is_control() || "/~[](){}\"'`\\,|".contains(letter)
    };
    match segment.chars().find(|&letter| odd(letter)) {
        None => Ok(segment.to_owned()),
        Some(letter) => Err(PathError::OddCharacter {
            path: path.to_owned(),
            letter: if letter.is_control() {
                letter.escape_default().to_string()
            } else {
                letter.into()
            },
            pointer: as_pointer(path),
        }),
    }
}

fn as_pointer(dotted: &str) -> String {
    let escaped = dotted.replace('~', "~0").replace('/', "~1");
    format!("/{}", escaped.replace(']', "").replace(['.', '['], "/"))
}

/// Appends one segment to a JSON Pointer, `/` first, with its escapes.
pub(crate) fn push_segment(pointer: &mut String, segment: &str) {
    pointer.push('/');
    for letter in segment.chars() {
        match letter {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            letter => pointer.push(letter),
        }
    }
}

/// A segment of a JSON Pointer without its escapes; `None` where one is wrong.
fn unescape(segment: &str) -> Option<String> {
    let mut parts = segment.split('~');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (letter, rest) = match part.as_bytes().first()? {
            b'0' => ('~', part.get(1..)?),
            b'1' => ('/', part.get(1..)?),
            _ => return None,
        };
        text.push(letter);
        text.push_str(rest);
    }
    Some(text)
}

/// The rest of the way from the value that comes next.
struct Step<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Step<'_> {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0.split_first() {
            Some((key, rest)) => Find { key, rest }.deserialize(deserializer),
            None => <&RawValue>::deserialize(deserializer).map(|raw| Some(raw.get())),
        }
    }
}

/// One key or list position, and the way from there.
struct Find<'p> {
    key: &'p str,
    rest: &'p [String],
}

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = Option<&'de str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<&'de str>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(is_it) = entries.next_key_seed(IsKey(self.key))? {
            if is_it {
                found = entries.next_value_seed(Step(self.rest))?;
            } else {
                entries.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        if let Some(position) = list_position(self.key) {
            let mut before = 0;
            while before < position && items.next_element::<IgnoredAny>()?.is_some() {
                before += 1;
            }
            if before == position {
                found = items.next_element_seed(Step(self.rest))?.flatten();
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// Digits without a leading zero, as RFC 6901 wants them.
fn list_position(segment: &str) -> Option<usize> {
    let canonical = segment == "0" || !segment.starts_with(['0', '+']);
    if canonical {
        segment.parse().ok()
    } else {
        None
    }
}

/// Whether the key that comes next is this one.
struct IsKey<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn parts_of_paths() {
        let table: &[(&str, &str, &[&str])] = &[
            ("query", "query", &[]),
            ("metadata.passages", "metadata", &["passages"]),
            (
                "response.choices.0.message.content",
                "response",
                &["choices", "0", "message", "content"],
            ),
            ("/metadata/a~1b", "metadata", &["a/b"]),
            ("/m/a.b/c d/~01/", "m", &["a.b", "c d", "~1", ""]),
            ("größe.日本", "größe", &["日本"]),
            ("a-b.@id.$x", "a-b", &["@id", "$x"]),
        ];
        for (text, root, rest) in table {
            let path = FieldPath::parse(text).unwrap();
            assert_eq!(
                (path.root(), path.rest()),
                (
                    *root,
                    rest.iter()
                        .map(|&s| s.to_owned())
                        .collect::<Vec<_>>()
                        .as_slice()
                )
            );
            assert_eq!(path.to_string(), *text);
            assert_eq!(
                serde_json::from_value::<FieldPath>(json!(text)).unwrap(),
                path
            );
            assert_eq!(serde_json::to_value(&path).unwrap(), json!(text));
        }
        assert_eq!(FieldPath::parse("a.b"), FieldPath::parse("/a/b"));
    }

    #[test]
    fn texts_that_are_no_paths() {
        let table = [
            (
                "",
                "the path is empty; give a field such as `metadata.passages`",
            ),
            (
                "/",
                "the path is empty; give a field such as `metadata.passages`",
            ),
            (
                "//a",
                "the path is empty; give a field such as `metadata.passages`",
            ),
            (
                "a..b",
                "the path `a..b` has an empty part; a part stands between single dots",
            ),
            (
                ".a",
                "the path `.a` has an empty part; a part stands between single dots",
            ),
            (
                "a.",
                "the path `a.` has an empty part; a part stands between single dots",
            ),
            (
                "a[0].b",
                "the path `a[0].b` has `[` in it; write a list position as `.0`, an odd key as a JSON Pointer such as `/a/0/b`",
            ),
            (
                "my key",
                "the path `my key` has ` ` in it; write a list position as `.0`, an odd key as a JSON Pointer such as `/my key`",
            ),
            (
                "a.b/c",
                "the path `a.b/c` has `/` in it; write a list position as `.0`, an odd key as a JSON Pointer such as `/a/b~1c`",
            ),
            (
                "/a/~2",
                "the JSON Pointer `/a/~2` has a `~` that is neither `~0` (for `~`) nor `~1` (for `/`)",
            ),
            (
                "/a/~",
                "the JSON Pointer `/a/~` has a `~` that is neither `~0` (for `~`) nor `~1` (for `/`)",
            ),
        ];
        for (text, message) in table {
            assert_eq!(
                FieldPath::parse(text).unwrap_err().to_string(),
                message,
                "{text}"
            );
        }
    }

    #[test]
    fn values_keep_their_source_text() {
        let record = r#" {"a": {"b" : [1.10, {"c\/d": "x\u00e9"}, null ], "0": "zero", "": 7}, "n": 1e999, "t": "x", "dup": 1, "dup": {"k": 2}} "#;
        let table = [
            ("a.b.0", Some("1.10")),
            ("/a/b/1/c~1d", Some(r#""x\u00e9""#)),
            ("a.b.2", Some("null")),
            ("a.b", Some(r#"[1.10, {"c\/d": "x\u00e9"}, null ]"#)),
            ("a.0", Some("\"zero\"")),
            ("/a/", Some("7")),
            ("n", Some("1e999")),
            ("dup.k", Some("2")),
            ("dup", Some(r#"{"k": 2}"#)),
            ("a.b.3", None),
            ("a.b.00", None),
            ("a.b.+1", None),
            ("a.b.x", None),
            ("a.b.99999999999999999999", None),
            ("a.missing.deep", None),
            ("t.0", None),
            ("a.b.2.x", None),
            ("none", None),
        ];
        let fields: std::collections::HashMap<String, &RawValue> =
            serde_json::from_str(record).unwrap();
        for (text, found) in table {
            let path = FieldPath::parse(text).unwrap();
            assert_eq!(path.resolve_in_record(record).unwrap(), found, "{text}");
            let below = fields
                .get(path.root())
                .and_then(|field| path.resolve(field.get()).unwrap());
            assert_eq!(below, found, "{text}");
        }
    }

    #[test]
    fn what_is_not_json_is_an_error() {
        let path = FieldPath::parse("a.b").unwrap();
        for json in [
            "",
            "{",
            r#"{"b": }"#,
            r#"{"b": 1} x"#,
            r#"{"b": 1, "c": tru}"#,
            r#"{"b": 01}"#,
        ] {
            assert!(path.resolve(json).is_err(), "{json}");
        }
        let deep = format!(
            r#"{{"x": {}1{}, "b": 2}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(path.resolve(&deep).unwrap(), Some("2"));
    }

    fn json_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i32>().prop_map(Value::from),
            "[ab~/ü]{0,3}".prop_map(Value::from)
        ];
        leaf.prop_recursive(4, 30, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[ab01~/]{0,2}", inner), 0..4)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn agrees_with_the_pointers_of_serde_json(value in json_value(), pointer in "(/(a|b|0|1|~0|~1|ab){1,2}){1,4}") {
            let path = FieldPath::parse(&pointer).unwrap();
            let text = value.to_string();
            let found = path.resolve_in_record(&text).unwrap().map(|text| serde_json::from_str(text).unwrap());
            prop_assert_eq!(found.as_ref(), value.pointer(&pointer));
        }

        #[test]
        fn parsing_never_panics(text in "(?s).{0,40}", json in "(?s).{0,40}") {
            if let Ok(path) = FieldPath::parse(&text) {
                let _ = path.resolve(&json);
            }
        }
    }
}
