//! Where a check finds its fields: a path, or a text with paths in it.

use std::fmt::Write as _;

use bumpalo::Bump;

use super::{CheckErrors, CheckPlace};
use crate::decode::{RowPath, Wanted};
use crate::path::{FieldPath, PathError};
use crate::record::{Field, Raw, Slots};

/// Where a check finds one of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputSource {
    /// The value at a path, as it is.
    Path(FieldPath),
    /// A text with values in it.
    Template(InputTemplate),
}

/// A text with places, `{path}` or `{{ path }}`, that each record fills once. What stands in the
/// values is never read as a place. A value that is not text is inserted as its JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputTemplate {
    parts: Vec<Part<FieldPath>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part<P> {
    Text(String),
    Place(P),
}

/// Why a text is neither a path nor a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error(transparent)]
    Path(#[from] PathError),
    /// Braces around something that is no path.
    #[error(
        "`{{{inside}}}` is no place: {error}; for braces as such write them twice, `{{{{` and `}}}}`"
    )]
    Place { inside: String, error: PathError },
    /// A brace without its other half.
    #[error("a `{0}` stands alone; write it twice, `{0}{0}`, if you mean the brace itself")]
    Lone(char),
}

impl InputSource {
    /// Reads a path, bare or in braces (`{path}`, `{{ path }}`), or a template. `see` may put another
    /// path in the place of each.
    pub fn parse(text: &str, see: &dyn Fn(FieldPath) -> FieldPath) -> Result<Self, InputError> {
        let text = text.trim();
        if !text.contains(['{', '}']) {
            return Ok(Self::Path(see(FieldPath::parse(text)?)));
        }
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, brace, after)) = next_brace(rest) {
            push_text(&mut parts, before);
            rest = match (brace, place(after), after.strip_prefix(brace)) {
                ('{', Some(Ok((path, after))), _) => {
                    parts.push(Part::Place(see(path)));
                    after
                }
                (brace, _, Some(after)) => {
                    push_text(&mut parts, brace.encode_utf8(&mut [0; 4]));
                    after
                }
                ('{', Some(Err(error)), None) => return Err(error),
                (brace, _, None) => return Err(InputError::Lone(brace)),
            };
        }
        push_text(&mut parts, rest);
        Ok(match parts.as_slice() {
            [Part::Place(path)] => Self::Path(path.clone()),
            _ => Self::Template(InputTemplate { parts }),
        })
    }
}

fn next_brace(text: &str) -> Option<(&str, char, &str)> {
    let at = text.find(['{', '}'])?;
    let (before, rest) = text.split_at(at);
    let mut letters = rest.chars();
    Some((before, letters.next()?, letters.as_str()))
}

/// The place that begins after a `{`, and what follows it; `None` where no brace closes it.
fn place(text: &str) -> Option<Result<(FieldPath, &str), InputError>> {
    let (inside, close) = match text.strip_prefix('{') {
        Some(doubled) => (doubled, "}}"),
        None => (text, "}"),
    };
    let (inside, after) = inside.split_once(close)?;
    let path = FieldPath::parse(inside.trim()).map(|path| (path, after));
    Some(path.map_err(|error| InputError::Place {
        inside: inside.trim().to_owned(),
        error,
    }))
}

fn push_text<P>(parts: &mut Vec<Part<P>>, text: &str) {
    match parts.last_mut() {
        Some(Part::Text(before)) => before.push_str(text),
        _ if text.is_empty() => {}
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

/// A check's fields and where they are found, ready to be looked up.
#[derive(Debug)]
pub(super) struct BoundInputs(Vec<(Field, BoundInput)>);

#[derive(Debug)]
enum BoundInput {
    Path(RowPath),
    Template(Vec<Part<RowPath>>),
}

impl BoundInputs {
    /// Looks the roots of all paths up, and adds what they read to `wanted`.
    pub(super) fn new(
        inputs: &[(Field, InputSource)],
        wanted: &mut Wanted,
        errors: &mut CheckErrors,
    ) -> Self {
        let mut bound = Vec::with_capacity(inputs.len());
        for (field, source) in inputs {
            match BoundInput::new(source, wanted) {
                Ok(input) => bound.push((*field, input)),
                Err(path) => errors.push(
                    CheckPlace::Input(*field),
                    format!("`{path}` is no path into a record"),
                    Some("name a key after `extra.`"),
                ),
            }
        }
        Self(bound)
    }

    /// One more, which stands over the others.
    pub(super) fn push(&mut self, field: Field, path: RowPath) {
        self.0.push((field, BoundInput::Path(path)));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn fields(&self) -> impl Iterator<Item = Field> {
        self.0.iter().map(|(field, _)| *field)
    }

    /// Every path with the field that it is for.
    pub(super) fn paths(&self) -> impl Iterator<Item = (Field, &RowPath)> {
        self.0.iter().flat_map(|(field, input)| {
            let (one, many) = match input {
                BoundInput::Path(path) => (Some(path), [].as_slice()),
                BoundInput::Template(parts) => (None, parts.as_slice()),
            };
            let many = many.iter().filter_map(|part| match part {
                Part::Place(path) => Some(path),
                Part::Text(_) => None,
            });
            one.into_iter().chain(many).map(|path| (*field, path))
        })
    }

    /// Each field's value in a record; `None` where the record lacks it, or a part of it.
    pub(super) fn values<'s, 'r>(
        &'s self,
        slots: &'s Slots<'r>,
        arena: &'r Bump,
    ) -> impl Iterator<Item = (Field, Option<Raw<'r>>)> + 's {
        self.0
            .iter()
            .map(|(field, input)| (*field, input.value(slots, arena)))
    }
}

impl BoundInput {
    /// The first path that leads nowhere is the error.
    fn new<'s>(source: &'s InputSource, wanted: &mut Wanted) -> Result<Self, &'s FieldPath> {
        let mut bind = |path: &'s FieldPath| RowPath::new(path, true, wanted).ok_or(path);
        Ok(match source {
            InputSource::Path(path) => Self::Path(bind(path)?),
            InputSource::Template(template) => {
                let parts = template.parts.iter().map(|part| match part {
                    Part::Text(text) => Ok(Part::Text(text.clone())),
                    Part::Place(path) => bind(path).map(Part::Place),
                });
                Self::Template(parts.collect::<Result<_, _>>()?)
            }
        })
    }

    fn value<'r>(&self, slots: &Slots<'r>, arena: &'r Bump) -> Option<Raw<'r>> {
        match self {
            Self::Path(path) => path.resolve(slots, arena),
            Self::Template(parts) => {
                let mut text = bumpalo::collections::String::new_in(arena);
                for part in parts {
                    let written = match part {
                        Part::Text(literal) => text.write_str(literal),
                        Part::Place(path) => text.write_str(path.resolve(slots, arena)?.source()),
                    };
                    written.ok()?;
                }
                Some(Raw::Text(text.into_bump_str()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, String> {
        let see = |path: FieldPath| path;
        match InputSource::parse(text, &see) {
            Ok(InputSource::Path(path)) => Ok(path.to_string()),
            Ok(InputSource::Template(template)) => Ok(template
                .parts
                .iter()
                .map(|part| match part {
                    Part::Text(text) => format!("{text:?}"),
                    Part::Place(path) => format!("<{path}>"),
                })
                .collect()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn paths_and_templates() {
        for (text, read) in [
            ("a.b", "a.b"),
            (" {{ a.b }} ", "a.b"),
            ("{a.b}", "a.b"),
            ("{/a~1b}", "/a~1b"),
            ("{a.b} ({lang})", r#"<a.b>" ("<lang>")""#),
            ("Q: {{ a }}, {b}", r#""Q: "<a>", "<b>"#),
            ("{a}{b}", "<a><b>"),
            ("{{{{ {a} }}}}", r#""{{ "<a>" }}""#),
            ("{{ not a place }} {a}", r#""{ not a place } "<a>"#),
            ("ü {a} ü", r#""ü "<a>" ü""#),
        ] {
            assert_eq!(parse(text).as_deref(), Ok(read), "{text}");
        }
    }

    #[test]
    fn what_is_neither() {
        for (text, words) in [
            ("", "the path is empty"),
            ("a b", "a b"),
            ("{a", "a `{` stands alone"),
            ("a}", "a `}` stands alone"),
            ("x {a b}", "`{a b}` is no place"),
            ("x {}", "`{}` is no place"),
            ("{\"a\": {b}}", "is no place"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
