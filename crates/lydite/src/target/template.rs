//! Texts with places that a record fills: `Answer briefly: {query}`.
//!
//! A place is a path into the record between braces; `{{` and `}}` are braces. Places are filled once, values
//! stand as they are: it is the application's own prompt, and nothing in a value is read as a place.

use std::fmt::Write as _;

use bumpalo::Bump;
use serde_json::Value;

use crate::decode::{RowPath, Wanted};
use crate::path::FieldPath;
use crate::record::{Field, Raw, Slots};

/// A text with places.
#[derive(Clone, Debug)]
pub struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Place(Place),
}

#[derive(Clone, Debug)]
struct Place {
    path: FieldPath,
    row: RowPath,
}

/// JSON whose texts have places. A text that is one place and nothing else takes the value as it is, lists and
/// numbers too.
#[derive(Clone, Debug)]
pub enum Body {
    /// Without places.
    Plain(Value),
    Text(Template),
    List(Vec<Body>),
    Object(Vec<(String, Body)>),
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    pub message: String,
    pub help: String,
}

/// A place that a record has nothing for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfilled(pub(super) String);

impl Template {
    /// Reads a text and adds what its places read to `wanted`.
    pub fn parse(text: &str, wanted: &mut Wanted) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = from.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = from.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else {
                let inside = from
                    .strip_prefix('{')
                    .and_then(|inside| inside.split_once('}'));
                let (path, after) = inside.ok_or_else(|| lone_brace(from))?;
                if !plain.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                }
                pieces.push(Piece::Place(Place::new(path, wanted)?));
                rest = after;
            }
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self(pieces))
    }

    pub(super) fn places(&self) -> impl Iterator<Item = FieldPath> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Place(place) => Some(place.path.clone()),
        })
    }

    /// Whether it has no place.
    pub fn is_plain(&self) -> bool {
        self.places().next().is_none()
    }

    /// The text with a record's values; `escape` writes each into it.
    pub(super) fn fill(
        &self,
        slots: &Slots<'_>,
        arena: &Bump,
        escape: fn(&str, &mut String),
    ) -> Result<String, Unfilled> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Place(place) => escape(&place.text(slots, arena)?, &mut text),
            }
        }
        Ok(text)
    }

    fn is_one_place(&self) -> Option<&Place> {
        match self.0.as_slice() {
            [Piece::Place(place)] => Some(place),
            _ => None,
        }
    }
}

impl Place {
    fn new(text: &str, wanted: &mut Wanted) -> Result<Self, TemplateError> {
        let error = |message: String, help: &str| TemplateError {
            message,
            help: help.to_owned(),
        };
        let path = FieldPath::parse(text.trim()).map_err(|problem| {
            error(
                format!("`{{{text}}}` is no place: {problem}"),
                "a place is a path into the record, such as `{query}`; write a brace of the text itself twice: `{{` or `}}`",
            )
        })?;
        if let "output" | "candidates" = path.root() {
            return Err(error(
                format!("`{{{text}}}` is what the target has to make"),
                "take a field that the records bring, such as `{query}` or `{variables.NAME}`",
            ));
        }
        let row = RowPath::new(&path, true, wanted).ok_or_else(|| {
            error(
                format!("`{{{text}}}` is no path into a record"),
                "name a key after `extra.`",
            )
        })?;
        Ok(Self { path, row })
    }

    fn value<'r>(&self, slots: &Slots<'r>, arena: &'r Bump) -> Result<Raw<'r>, Unfilled> {
        let value = self.row.resolve(slots, arena);
        value.ok_or_else(|| Unfilled(self.path.to_string()))
    }

    /// The value as text: passages one below the other, other JSON as it is written.
    fn text(&self, slots: &Slots<'_>, arena: &Bump) -> Result<String, Unfilled> {
        let whole = self
            .path
            .rest()
            .is_empty()
            .then(|| Field::from_name(self.path.root()));
        match whole.flatten() {
            Some(Field::Contexts) if !slots.contexts.is_empty() => {
                let documents = slots.contexts.iter().map(|chunk| chunk.document);
                Ok(documents.collect::<Vec<_>>().join("\n\n"))
            }
            Some(Field::Query) => {
                let content = slots
                    .query
                    .and_then(|query| query.text().or(query.json_source()));
                match content {
                    Some(text) => Ok(text.to_owned()),
                    None => self
                        .value(slots, arena)
                        .map(|value| value.source().to_owned()),
                }
            }
            _ => self
                .value(slots, arena)
                .map(|value| value.source().to_owned()),
        }
    }
}

impl Body {
    /// Reads JSON. `at` is told where an error stands: its JSON Pointer.
    pub fn parse(
        value: &Value,
        wanted: &mut Wanted,
        errors: &mut Vec<(String, TemplateError)>,
    ) -> Self {
        parse(value, wanted, &mut String::new(), errors)
    }

    pub(super) fn places(&self, into: &mut Vec<FieldPath>) {
        match self {
            Self::Plain(_) => {}
            Self::Text(template) => into.extend(template.places()),
            Self::List(items) => items.iter().for_each(|item| item.places(into)),
            Self::Object(members) => members.iter().for_each(|(_, member)| member.places(into)),
        }
    }

    /// Writes the JSON with a record's values; numbers of the record keep their text.
    pub(super) fn fill(
        &self,
        slots: &Slots<'_>,
        arena: &Bump,
        out: &mut String,
    ) -> Result<(), Unfilled> {
        match self {
            Self::Plain(value) => out.push_str(&value.to_string()),
            Self::Text(template) => match template.is_one_place() {
                Some(place) => whole(place.value(slots, arena)?, out),
                None => quote(&template.fill(slots, arena, plain)?, out),
            },
            Self::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    out.push(if index == 0 { '[' } else { ',' });
                    item.fill(slots, arena, out)?;
                }
                out.push_str(if items.is_empty() { "[]" } else { "]" });
            }
            Self::Object(members) => {
                for (index, (name, member)) in members.iter().enumerate() {
                    out.push(if index == 0 { '{' } else { ',' });
                    quote(name, out);
                    out.push(':');
                    member.fill(slots, arena, out)?;
                }
                out.push_str(if members.is_empty() { "{}" } else { "}" });
            }
        }
        Ok(())
    }
}

fn parse(
    value: &Value,
    wanted: &mut Wanted,
    pointer: &mut String,
    errors: &mut Vec<(String, TemplateError)>,
) -> Body {
    let length = pointer.len();
    match value {
        Value::String(text) => match Template::parse(text, wanted) {
            Ok(template) => Body::Text(template),
            Err(error) => {
                errors.push((pointer.clone(), error));
                Body::Plain(Value::Null)
            }
        },
        Value::Array(items) => {
            let items = items.iter().enumerate().map(|(index, item)| {
                // Writing to a string cannot fail.
                let _ = write!(pointer, "/{index}");
                let item = parse(item, wanted, pointer, errors);
                pointer.truncate(length);
                item
            });
            Body::List(items.collect())
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| {
                crate::path::push_segment(pointer, name);
                let member = parse(member, wanted, pointer, errors);
                pointer.truncate(length);
                (name.clone(), member)
            });
            Body::Object(members.collect())
        }
        other => Body::Plain(other.clone()),
    }
}

/// Writes a value as it is.
pub(super) fn plain(value: &str, into: &mut String) {
    into.push_str(value);
}

/// Writes a value percent-encoded: all but the unreserved characters of RFC 3986, section 2.3.
pub(super) fn percent_encoded(value: &str, into: &mut String) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            into.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(into, "%{byte:02X}");
        }
    }
}

/// Writes a text as JSON.
pub(super) fn quote(text: &str, out: &mut String) {
    out.push_str(&Value::from(text).to_string());
}

/// Writes a record's value as JSON, on one line.
fn whole(value: Raw<'_>, out: &mut String) {
    match value {
        Raw::Text(text) => quote(text, out),
        Raw::Json(source) => one_line(source, out),
    }
}

/// Writes JSON without its line breaks, which stand between its tokens alone.
pub(super) fn one_line(source: &str, out: &mut String) {
    out.extend(
        source
            .chars()
            .map(|c| if matches!(c, '\n' | '\r') { ' ' } else { c }),
    );
}

fn lone_brace(from: &str) -> TemplateError {
    let brace = from.get(..1).unwrap_or("{");
    TemplateError {
        message: if brace == "{" {
            "`{` begins a place, and no `}` ends it".to_owned()
        } else {
            "`}` ends a place that nothing begins".to_owned()
        },
        help: format!("write a brace of the text itself twice: `{brace}{brace}`"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::decode::{Decoder, Mapping, Survey};

    /// Fills texts and a body from one record.
    fn with_record<T>(
        record: &str,
        wanted: &Wanted,
        then: impl FnOnce(&Slots<'_>, &Bump) -> T,
    ) -> T {
        let mut survey = Survey::default();
        survey.add(record);
        let mapping = Mapping::new(&survey, &BTreeMap::new(), wanted, false).unwrap();
        let arena = Bump::new();
        let mut decoder = Decoder::new(&mapping);
        then(decoder.decode(record, &arena).unwrap(), &arena)
    }

    fn fill(text: &str, record: &str) -> Result<String, Unfilled> {
        let mut wanted = Wanted::default();
        let template = Template::parse(text, &mut wanted).unwrap();
        with_record(record, &wanted, |slots, arena| {
            template.fill(slots, arena, plain)
        })
    }

    #[test]
    fn places_are_filled_once() {
        let record = r#"{"question": "Is {output} }} \"so\"?", "variables": {"n": 1.10, "who": "Ada"}, "contexts": ["a", {"document": "b"}], "lang": "en"}"#;
        for (text, expected) in [
            ("{query}", Ok(r#"Is {output} }} "so"?"#)),
            ("{{query}} {lang}", Ok("{query} en")),
            ("{variables.who} has { variables.n }", Ok("Ada has 1.10")),
            ("<{contexts}>", Ok("<a\n\nb>")),
            ("{contexts.1.document}", Ok("b")),
            ("", Ok("")),
            ("{variables.gone}", Err("variables.gone")),
        ] {
            let expected = expected
                .map(str::to_owned)
                .map_err(|path| Unfilled(path.to_owned()));
            assert_eq!(fill(text, record), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_text() {
        for (text, words) in [
            ("a { b", "begins a place"),
            ("a } b", "ends a place"),
            ("{}", "is no place"),
            (r#"{"a": 1}"#, "is no place"),
            ("{output}", "has to make"),
            ("{extra}", "no path into a record"),
        ] {
            let error = Template::parse(text, &mut Wanted::default()).unwrap_err();
            assert!(error.message.contains(words), "{text}: {error}");
            assert!(!error.help.is_empty());
        }
    }

    #[test]
    fn a_body_takes_whole_values() {
        let mut wanted = Wanted::default();
        let mut errors = Vec::new();
        let body =
            json!({"q": "{query}!", "docs": "{contexts}", "n": ["{variables.n}", 7], "k": "{{k}}"});
        let body = Body::parse(&body, &mut wanted, &mut errors);
        assert!(errors.is_empty());
        let record =
            r#"{"query": "a\"b", "contexts": [{"document": "d"}], "variables": {"n": 3.10}}"#;
        let mut filled = String::new();
        with_record(record, &wanted, |slots, arena| {
            body.fill(slots, arena, &mut filled)
        })
        .unwrap();
        assert_eq!(
            filled,
            r#"{"q":"a\"b!","docs":[{"document": "d"}],"n":[3.10,7],"k":"{k}"}"#
        );
        Body::parse(&json!({"a/b": ["{"]}), &mut wanted, &mut errors);
        assert_eq!(
            errors.first().map(|(pointer, _)| pointer.as_str()),
            Some("/a~1b/0")
        );
    }

    proptest! {
        #[test]
        fn no_value_is_read_as_a_place(value in "[{}a-z\"]{0,12}") {
            let record = json!({"query": value}).to_string();
            prop_assert_eq!(fill("<{query}>", &record).unwrap(), format!("<{value}>"));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[{}a-z.]{0,20}") {
            let _ = Template::parse(&text, &mut Wanted::default());
        }

        #[test]
        fn an_encoded_value_stays_in_its_place(value in ".{0,20}") {
            let mut encoded = String::new();
            percent_encoded(&value, &mut encoded);
            prop_assert!(encoded.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
        }
    }
}
