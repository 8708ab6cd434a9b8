//! The `dataset` of a suite.

use std::collections::BTreeMap;

use super::error::{Desk, found, key_text};
use super::{inputs, keys};
use crate::node::{Node, NodeValue, Span, did_you_mean};
use crate::path::FieldPath;
use crate::record::Field;

/// Where a suite's records are and how they are read.
#[derive(Clone, Debug, Default)]
pub struct DatasetSpec {
    /// Files, relative to the suite's folder; `-` is the standard input. Never empty.
    pub paths: Vec<String>,
    /// One of [`FORMATS`]; the files' endings tell where it is left out.
    pub format: Option<String>,
    /// Where a field is found in the records, for those that stand under another key.
    pub fields: BTreeMap<Field, FieldPath>,
    /// Compiled as [`Suite::condition`](super::Suite::condition).
    pub filter: Option<String>,
    pub limit: Option<u64>,
    pub sample: Option<u64>,
    pub seed: Option<u64>,
    /// Where `where` stands.
    pub(super) filter_span: Span,
}

/// The formats that can be read.
pub const FORMATS: &[&str] = &["jsonl", "json", "csv", "tsv"];

/// Other names of formats.
const OTHER_NAMES: &[(&str, &str)] = &[
    ("jsonlines", "jsonl"),
    ("json_lines", "jsonl"),
    ("ndjson", "jsonl"),
    ("tab", "tsv"),
];

/// Formats that come later.
const FORMATS_TO_COME: &[&str] = &["parquet", "arrow"];

/// Reads a path, a list of paths, or the mapping. `None` where nothing of it can be used.
pub(super) fn read(desk: &mut Desk, node: &Node) -> Option<DatasetSpec> {
    if let NodeValue::Mapping(entries) = &node.value {
        return Some(read_mapping(desk, node, entries));
    }
    let paths = read_paths(desk, "dataset", node);
    (!paths.is_empty()).then(|| DatasetSpec {
        paths,
        ..DatasetSpec::default()
    })
}

fn read_mapping(desk: &mut Desk, node: &Node, entries: &[(Node, Node)]) -> DatasetSpec {
    let mut spec = DatasetSpec::default();
    let (mut seed_span, mut misspelt) = (None, false);
    for (key, value) in entries {
        match key_text(key) {
            "path" => spec.paths = read_paths(desk, "path", value),
            "format" => spec.format = read_format(desk, value),
            "fields" => {
                spec.fields = inputs::read_paths(desk, "fields", value).collect();
            }
            "where" => {
                spec.filter = desk.text("where", value).map(str::to_owned);
                spec.filter_span = value.span;
            }
            "limit" => spec.limit = positive(desk, "limit", value),
            "sample" => spec.sample = positive(desk, "sample", value),
            "seed" => {
                spec.seed = desk.scalar("seed", "a whole number from 0 up", value);
                seed_span = Some(key.span);
            }
            name => {
                desk.unknown_key(
                    key,
                    &keys::names(keys::DATASET),
                    keys::meant(keys::DATASET, name),
                );
                misspelt = true;
            }
        }
    }
    if node.get("path").is_none() && !misspelt {
        desk.error(node.span, "`dataset` has no `path`", "add `path: <file>`");
    }
    if let Some(span) = seed_span.filter(|_| node.get("sample").is_none()) {
        desk.note(span, "`seed` has no effect without `sample`");
    }
    spec
}

fn read_paths(desk: &mut Desk, what: &str, node: &Node) -> Vec<String> {
    let NodeValue::Sequence(items) = &node.value else {
        return desk
            .text(what, node)
            .map(str::to_owned)
            .into_iter()
            .collect();
    };
    if items.is_empty() {
        desk.error(
            node.span,
            format!("`{what}` is an empty list"),
            "name at least one file",
        );
    }
    items
        .iter()
        .filter_map(|item| desk.text(what, item).map(str::to_owned))
        .collect()
}

fn read_format(desk: &mut Desk, node: &Node) -> Option<String> {
    let format = desk.text("format", node)?;
    if FORMATS.contains(&format) {
        return Some(format.to_owned());
    }
    let allowed = format!("allowed: {}", FORMATS.join(", "));
    let message = if FORMATS_TO_COME.contains(&format) {
        format!("`{format}` files can't be read in this version")
    } else {
        let other = OTHER_NAMES
            .iter()
            .find(|(name, _)| *name == format)
            .map(|(_, format)| *format);
        match other.or_else(|| did_you_mean(format, FORMATS.iter().copied())) {
            Some(nearest) => format!("unknown format `{format}` (did you mean `{nearest}`?)"),
            None => format!("unknown format `{format}`"),
        }
    };
    desk.error(node.span, message, allowed);
    None
}

fn positive(desk: &mut Desk, what: &str, node: &Node) -> Option<u64> {
    match node.deserialize_into::<u64>() {
        Ok(count) if count > 0 => Some(count),
        _ => {
            desk.error(
                node.span,
                format!(
                    "`{what}` must be a whole number from 1 up, found {}",
                    found(node)
                ),
                "",
            );
            None
        }
    }
}
