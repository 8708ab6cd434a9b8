//! Parameters that each record fills: `"{{ extra.phrase }}"`.

use std::fmt;

use bumpalo::Bump;
use hashbrown::HashTable;

use crate::decode::{RowPath, Wanted};
use crate::evaluator::{Compat, Entry, Local, ParamErrors, Prepare, Prepared};
use crate::node::{Node, Span};
use crate::outcome::Code;
use crate::path::FieldPath;
use crate::record::{Field, Raw, Slots};

/// `{{ path }}` where it is the whole text and the path begins with a record field.
pub(super) fn whole_reference(node: &Node, allowed: bool) -> Option<FieldPath> {
    let inner = placeholder(node.as_str()?)?;
    let path = FieldPath::parse(inner).ok()?;
    (allowed && (path.root() == "extra" || Field::from_name(path.root()).is_some())).then_some(path)
}

pub(super) fn placeholder(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("{{")?.strip_suffix("}}")?.trim();
    (!inner.is_empty() && !inner.contains(['{', '}'])).then_some(inner)
}

/// A warning for braces that look like a place and are none.
pub(super) fn literal_place(node: &Node) -> Option<String> {
    let text = node.as_str()?;
    if let Some(inner) = placeholder(text) {
        return is_path(inner).then(|| {
            format!("`{{{{ {inner} }}}}` names no record field and is taken as it is; did you mean `{{{{ extra.{inner} }}}}` or `{{{{ variables.{inner} }}}}`?")
        });
    }
    let (_, rest) = text.split_once("{{")?;
    let (inner, _) = rest.split_once("}}")?;
    let inner = inner.trim();
    is_path(inner).then(|| {
        format!("`{{{{ {inner} }}}}` within a text is taken as it is; a parameter is read from the record where the whole of it is such a place")
    })
}

pub(super) fn is_path(inner: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/');
    !inner.starts_with(|c: char| c.is_ascii_digit())
        && inner.bytes().all(is_part)
        && FieldPath::parse(inner).is_ok()
}

pub(super) fn find_references(
    params: &Node,
    wanted: &mut Wanted,
    notes: &mut Vec<String>,
) -> Vec<(String, RowPath)> {
    let mut leaves = Vec::new();
    params.walk(&mut |pointer, node| {
        if let Some(path) = whole_reference(node, true)
            && let Some(path) = RowPath::new(&path, false, wanted)
        {
            leaves.push((pointer.to_owned(), path));
        } else {
            notes.extend(literal_place(node));
        }
    });
    leaves
}

/// Parameters with places that each record fills.
pub(super) struct Template {
    entry: Entry,
    check: String,
    prompt: Option<String>,
    compat: Option<Compat>,
    local: Option<&'static Local>,
    params: Node,
    pub(super) leaves: Vec<(String, RowPath)>,
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template")
            .field("check", &self.check)
            .field("leaves", &self.leaves)
            .finish_non_exhaustive()
    }
}

/// Filled parameter sets that are kept ready, by hash of what filled them.
const MAX_FILLED: usize = 1024;

pub(super) type Filled = HashTable<FilledEntry>;

#[derive(Debug)]
pub(super) struct FilledEntry {
    hash: u64,
    key: Box<str>,
    prepared: Result<Prepared, String>,
}

impl Template {
    pub(super) fn new(
        entry: Entry,
        cx: &Prepare<'_>,
        params: Node,
        leaves: Vec<(String, RowPath)>,
    ) -> Result<Self, ParamErrors> {
        entry.check(&params, &|node| whole_reference(node, true).is_some())?;
        Ok(Self {
            entry,
            check: cx.check.to_owned(),
            prompt: cx.prompt.map(str::to_owned),
            compat: cx.compat,
            local: cx.local,
            params,
            leaves,
        })
    }

    pub(super) fn fill<'c, 'r>(
        &self,
        slots: &Slots<'r>,
        arena: &'r Bump,
        filled: &'c mut Filled,
        key: &mut String,
    ) -> Result<&'c Prepared, (Code, String)> {
        key.clear();
        key.push_str(&self.check);
        for (_, path) in &self.leaves {
            let value = path.resolve(slots, arena).ok_or_else(|| {
                (
                    Code::MissingPath,
                    format!("the record has no `{path}`, which this check's parameters name"),
                )
            })?;
            key.push(if matches!(value, Raw::Text(_)) {
                '\u{1}'
            } else {
                '\u{2}'
            });
            // With its length, so that no value can look like the end of one and the beginning of the next.
            key.push_str(&value.source().len().to_string());
            key.push(':');
            key.push_str(value.source());
        }
        let hash = twox_hash::XxHash3_64::oneshot(key.as_bytes());
        if filled.len() >= MAX_FILLED && filled.find(hash, |entry| *entry.key == **key).is_none() {
            filled.clear();
        }
        let entry = filled
            .entry(hash, |entry| *entry.key == **key, |entry| entry.hash)
            .or_insert_with(|| self.prepare(slots, arena, key, hash))
            .into_mut();
        entry
            .prepared
            .as_ref()
            .map_err(|message| (Code::InvalidParameter, message.clone()))
    }

    fn prepare(&self, slots: &Slots<'_>, arena: &Bump, key: &str, hash: u64) -> FilledEntry {
        let mut params = self.params.clone();
        let mut places = Vec::new();
        for (pointer, path) in &self.leaves {
            let Some(value) = path.resolve(slots, arena) else {
                continue;
            };
            places.push(path.to_string());
            if let Some(node) = params.pointer_mut(pointer) {
                *node = match value {
                    Raw::Text(text) => Node::text(text, Span::default()),
                    Raw::Json(source) => json_node(source),
                };
            }
        }
        let cx = Prepare {
            check: &self.check,
            // A record fills `schema`, say, and never the list of files beside it.
            files: !self
                .leaves
                .iter()
                .any(|(pointer, _)| pointer.starts_with("/schemas")),
            prompt: self.prompt.as_deref(),
            compat: self.compat,
            local: self.local,
        };
        let prepared = self
            .entry
            .prepare(&params, &cx)
            .map_err(|errors| format!("{} (read from {})", errors, places.join(", ")));
        FilledEntry {
            hash,
            key: key.into(),
            prepared,
        }
    }
}

/// A record's JSON as parameters; scalars keep their source text.
pub(super) fn json_node(source: &str) -> Node {
    Node::parse(source).unwrap_or_else(|_| Node::text(source, Span::default()))
}
