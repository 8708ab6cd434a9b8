//! A check's own `reference` parameter.

use super::CheckErrors;
use super::template::{literal_place, whole_reference};
use crate::evaluator::{Entry, ParamErrors};
use crate::node::{Node, NodeValue};
use crate::path::FieldPath;

/// The check's own `reference` parameter.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OwnReference {
    pub(super) source: String,
    pub(super) is_text: bool,
}

/// Where a check's reference comes from, if a parameter says so.
pub(super) enum Reference {
    Own(OwnReference),
    /// `{{ path }}`.
    Path(FieldPath),
}

pub(super) fn own_reference(
    entry: &Entry,
    params: &mut Node,
    references: bool,
    notes: &mut Vec<String>,
    errors: &mut CheckErrors,
) -> Option<Reference> {
    if !entry.reads_reference() {
        return None;
    }
    let node = take_reference(entry, params).unwrap_or_else(|wrong| {
        errors.params(wrong);
        None
    })?;
    if let Some(path) = whole_reference(&node, references) {
        return Some(Reference::Path(path));
    }
    notes.extend(literal_place(&node).filter(|_| references));
    Some(Reference::Own(OwnReference::new(&node)))
}

/// Takes `reference` and its alias out of the parameters.
pub(super) fn take_reference(
    entry: &Entry,
    params: &mut Node,
) -> Result<Option<Node>, ParamErrors> {
    let NodeValue::Mapping(entries) = &mut params.value else {
        return Ok(None);
    };
    let names: Vec<&str> = std::iter::once("reference")
        .chain(entry.info.reference_alias)
        .collect();
    let own_key = |key: &str| {
        entry
            .schema
            .pointer(&format!("/properties/{key}"))
            .is_some()
    };
    let mut taken: Option<(String, Node)> = None;
    let mut index = 0;
    while let Some((key, _)) = entries.get(index) {
        let name = key.as_str().unwrap_or_default().to_owned();
        if !names.contains(&name.as_str()) {
            index += 1;
            continue;
        }
        let is_null = entries.get(index).is_some_and(|(_, value)| value.is_null());
        if own_key(&name) && !is_null {
            index += 1;
            continue;
        }
        let (_, value) = entries.remove(index);
        if is_null {
            return Err(ParamErrors::with_help(
                format!("/{name}"),
                "value is null",
                "quote it if you mean the text, or leave it out",
            ));
        }
        if let Some((first, _)) = &taken {
            return Err(ParamErrors::one(
                format!("/{name}"),
                format!("`{first}` and `{name}` are two names for the reference"),
            ));
        }
        taken = Some((name, value));
    }
    Ok(taken.map(|(_, value)| value))
}

impl OwnReference {
    /// Scalars keep their source text: a plain `1.10` is that text, and the number for JSON evaluators.
    fn new(node: &Node) -> Self {
        if let Some(text) = node.as_str() {
            return Self {
                source: text.to_owned(),
                is_text: !is_json_scalar(node),
            };
        }
        let mut source = String::new();
        write_json(node, &mut source);
        Self {
            source,
            is_text: false,
        }
    }
}

/// Whether a plain scalar is written as JSON writes numbers and booleans.
pub(super) fn is_json_scalar(node: &Node) -> bool {
    let is_json = |text: &str| !text.starts_with('"') && crate::json::is_valid(text).is_ok();
    node.is_plain() && node.as_str().is_some_and(is_json)
}

/// A node as JSON whose numbers keep their source text, however many digits they have.
pub(super) fn write_json(node: &Node, out: &mut String) {
    let comma = |out: &mut String, index: usize| out.push_str(if index > 0 { "," } else { "" });
    match &node.value {
        NodeValue::Scalar(scalar) if is_json_scalar(node) => out.push_str(&scalar.text),
        NodeValue::Scalar(_) | NodeValue::Null(_) => out.push_str(&node.to_json().to_string()),
        NodeValue::Sequence(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                comma(out, index);
                write_json(item, out);
            }
            out.push(']');
        }
        NodeValue::Mapping(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                comma(out, index);
                out.push_str(
                    &serde_json::Value::from(key.as_str().unwrap_or_default()).to_string(),
                );
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
    }
}
