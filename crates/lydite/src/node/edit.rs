//! Walking and changing a node tree, for parameters that records fill.

use super::{Node, NodeValue, Scalar, Span};
use crate::path::push_segment;

impl Node {
    /// A text that stands for itself, whatever it looks like.
    pub fn text(text: impl Into<String>, span: Span) -> Self {
        Self {
            value: Scalar::quoted(text.into()),
            span,
        }
    }

    /// Whether it is a scalar that may be read as a number or a boolean.
    pub fn is_plain(&self) -> bool {
        matches!(&self.value, NodeValue::Scalar(scalar) if scalar.plain)
    }

    /// Calls `visit` with every node below and its JSON Pointer, this one first.
    pub fn walk(&self, visit: &mut dyn FnMut(&str, &Self)) {
        self.walk_from(&mut String::new(), visit);
    }

    fn walk_from(&self, path: &mut String, visit: &mut dyn FnMut(&str, &Self)) {
        visit(path, self);
        let length = path.len();
        for (index, item) in self.items().iter().enumerate() {
            push_segment(path, &index.to_string());
            item.walk_from(path, visit);
            path.truncate(length);
        }
        for (key, value) in self.entries() {
            push_segment(path, key.scalar_text());
            value.walk_from(path, visit);
            path.truncate(length);
        }
    }

    /// The node at a JSON Pointer, to be changed.
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        let mut node = self;
        for segment in pointer.split('/').skip(1) {
            let segment = segment.replace("~1", "/").replace("~0", "~");
            node = match &mut node.value {
                NodeValue::Sequence(items) => items.get_mut(segment.parse::<usize>().ok()?)?,
                NodeValue::Mapping(entries) => {
                    &mut entries
                        .iter_mut()
                        .find(|(key, _)| key.scalar_text() == segment)?
                        .1
                }
                _ => return None,
            };
        }
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walks_with_pointers_that_lead_back() {
        let mut node = Node::parse("a: [1, {b/c: x}]").unwrap();
        let mut paths = Vec::new();
        node.walk(&mut |path, _| paths.push(path.to_owned()));
        assert_eq!(paths, ["", "/a", "/a/0", "/a/1", "/a/1/b~1c"]);
        for path in &paths {
            assert!(node.pointer_mut(path).is_some(), "{path}");
        }
        *node.pointer_mut("/a/1/b~1c").unwrap() = Node::text("1", Span::default());
        assert_eq!(node.to_json(), serde_json::json!({"a": [1, {"b/c": "1"}]}));
    }
}
