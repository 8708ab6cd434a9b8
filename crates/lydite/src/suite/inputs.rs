//! Where a check finds its fields: `inputs`, and LangChain's `formatEvaluatorInputs` and keys.

use super::error::{Desk, found, key_text};
use crate::check::InputSource;
use crate::node::{Node, Span};
use crate::path::{FieldPath, push_segment};
use crate::record::Field;

/// One field and where it is found in a record.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) field: Field,
    pub(super) source: InputSource,
    pub(super) span: Span,
}

/// LangChain's word for a field, and the field.
pub(super) const WORDS: &[(&str, Field)] =
    &[("input", Field::Query), ("prediction", Field::Output)];

/// LangChain's views of a run and the fields of a record that they are.
const VIEWS: &[(&[&str], Field)] = &[
    (&["rawInput"], Field::Query),
    (&["rawPrediction"], Field::Output),
    (&["rawReferenceOutput"], Field::Reference),
    (&["run", "inputs"], Field::Query),
    (&["run", "outputs"], Field::Output),
];

/// Reads a mapping of fields to paths and templates.
pub(super) fn read(desk: &mut Desk, what: &str, node: &Node) -> Vec<Input> {
    let help = "write it as `{field: path}`, such as `{query: metadata.question}`";
    let Some(entries) = desk.mapping(what, node, help) else {
        return Vec::new();
    };
    let mut inputs: Vec<Input> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        let (field, source) = (field(desk, key), source(desk, key_text(key), value));
        let (Some(field), Some(source)) = (field, source) else {
            continue;
        };
        if inputs.iter().any(|input| input.field == field) {
            desk.error(
                key.span,
                format!("`{}` gives `{field}` a second time", key_text(key)),
                "keep one of the two",
            );
            continue;
        }
        inputs.push(Input {
            field,
            source,
            span: value.span,
        });
    }
    inputs
}

/// Reads a mapping of fields to paths alone.
pub(super) fn read_paths(
    desk: &mut Desk,
    what: &str,
    node: &Node,
) -> impl Iterator<Item = (Field, FieldPath)> {
    let inputs = read(desk, what, node);
    inputs
        .into_iter()
        .filter_map(move |input| match input.source {
            InputSource::Path(path) => Some((input.field, path)),
            InputSource::Template(_) => {
                desk.error(
                    input.span,
                    format!(
                        "`{what}` takes `{}` from one path, not from a template",
                        input.field
                    ),
                    "templates stand in the `inputs` of the suite or of a check",
                );
                None
            }
        })
}

/// LangChain's `input_key` and the like: one key inside a field.
pub(super) fn read_key(desk: &mut Desk, what: &str, field: Field, node: &Node) -> Option<Input> {
    let key = desk.text(what, node)?;
    let path = from_segments(field.as_str(), std::iter::once(key))?;
    Some(Input {
        field,
        source: InputSource::Path(path),
        span: node.span,
    })
}

/// Adds what `weaker` says of fields that `inputs` does not name.
pub(super) fn fill_up(inputs: &mut Vec<Input>, weaker: impl IntoIterator<Item = Input>) {
    for input in weaker {
        if !inputs.iter().any(|given| given.field == input.field) {
            inputs.push(input);
        }
    }
}

fn field(desk: &mut Desk, key: &Node) -> Option<Field> {
    let name = key_text(key);
    let known = Field::from_name(name).or_else(|| {
        WORDS
            .iter()
            .find(|(word, _)| *word == name)
            .map(|(_, field)| *field)
    });
    if known.is_none() {
        let names = Field::ALL.map(Field::as_str);
        let meant = match name {
            "answer" | "response" | "actual_output" | "completion" => Some("output"),
            "question" | "prompt" | "inputs" | "user_input" => Some("query"),
            "expected" | "expected_output" | "ground_truth" | "target" | "ideal" => {
                Some("reference")
            }
            "context" | "retrieved_contexts" | "retrieval_context" | "documents" => {
                Some("contexts")
            }
            _ => None,
        };
        desk.unknown_key(key, &names, meant);
    }
    known
}

fn source(desk: &mut Desk, what: &str, node: &Node) -> Option<InputSource> {
    let Some(text) = node.as_str() else {
        desk.error(
            node.span,
            format!(
                "`{what}` must be a path into the record, found {}",
                found(node)
            ),
            "such as `metadata.question`",
        );
        return None;
    };
    match InputSource::parse(text, &through_view) {
        Ok(source) => Some(source),
        Err(error) => {
            desk.error(node.span, error.to_string(), "");
            None
        }
    }
}

/// `rawInput.question` as `query.question`; any other path as it is.
fn through_view(path: FieldPath) -> FieldPath {
    let segments: Vec<&str> = std::iter::once(path.root())
        .chain(path.rest().iter().map(String::as_str))
        .collect();
    let seen = VIEWS.iter().find_map(|(view, field)| {
        let rest = segments.strip_prefix(*view)?;
        from_segments(field.as_str(), rest.iter().copied())
    });
    seen.unwrap_or(path)
}

fn from_segments<'a>(root: &str, rest: impl Iterator<Item = &'a str>) -> Option<FieldPath> {
    let mut pointer = format!("/{root}");
    for segment in rest {
        push_segment(&mut pointer, segment);
    }
    FieldPath::parse(&pointer).ok()
}
