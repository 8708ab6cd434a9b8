//! The closed sets that a judge answers from, labels and scales, and the schemas of their replies.

use std::sync::Arc;

use serde_json::{Value, json};

/// A verdict that a judge may give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// As it stands in the schema and in results.
    pub name: String,
    /// Other words for it in replies that are plain text, lower case.
    pub also: Vec<String>,
}

impl Label {
    pub fn new(name: &str, also: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            also: also.iter().map(|&word| word.to_owned()).collect(),
        }
    }
}

/// A closed set of verdicts, the best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    labels: Vec<Label>,
    schema: Arc<Value>,
}

impl Labels {
    pub fn new(labels: Vec<Label>) -> Self {
        let names: Vec<&str> = labels.iter().map(|label| &*label.name).collect();
        let schema = typed(json!({
            "reasoning": {"type": "string"},
            "verdict": {"type": "string", "enum": names},
        }));
        Self { labels, schema }
    }

    /// `{reasoning, verdict}`.
    pub fn schema(&self) -> Arc<Value> {
        Arc::clone(&self.schema)
    }

    /// `{verdicts: [{number, reasoning, verdict}]}` with `count` items.
    pub fn items_schema(&self, count: usize) -> Arc<Value> {
        let names: Vec<&str> = self.labels.iter().map(|label| &*label.name).collect();
        let item = typed(json!({
            "number": {"type": "integer"},
            "reasoning": {"type": "string"},
            "verdict": {"type": "string", "enum": names},
        }));
        typed(json!({
            "verdicts": {"type": "array", "minItems": count, "maxItems": count, "items": *item},
        }))
    }

    /// `Y` and `N`, with yes, true, no and false.
    pub fn yes_no() -> Self {
        Self::new(vec![
            Label::new("Y", &["yes", "true"]),
            Label::new("N", &["no", "false"]),
        ])
    }

    /// `CORRECT` and `INCORRECT`.
    pub fn correct() -> Self {
        Self::new(vec![
            Label::new("CORRECT", &["right"]),
            Label::new("INCORRECT", &["wrong"]),
        ])
    }

    pub fn get(&self, index: usize) -> Option<&Label> {
        self.labels.get(index)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Label> {
        self.labels.iter()
    }

    pub fn len(&self) -> usize {
        self.labels.len()
    }

    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The name of a label; empty for an index outside.
    pub fn name(&self, index: usize) -> &str {
        self.get(index).map_or("", |label| &label.name)
    }

    /// The label that a whole text is, in any case and under any of its words.
    pub fn find(&self, text: &str) -> Option<usize> {
        let text = text.trim();
        let same = |word: &str| word.to_lowercase() == text.to_lowercase();
        self.labels
            .iter()
            .position(|label| same(&label.name) || label.also.iter().any(|word| same(word)))
    }
}

/// The numbers that a judge may give, ends included.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    pub least: f64,
    pub most: f64,
    /// Whole numbers only.
    pub whole: bool,
    schema: Arc<Value>,
}

impl Scale {
    /// Whole numbers from `least` to `most`.
    pub fn whole(least: i32, most: i32) -> Self {
        let schema = typed(json!({
            "reasoning": {"type": "string"},
            "score": {"type": "integer", "minimum": least, "maximum": most},
        }));
        Self {
            least: f64::from(least),
            most: f64::from(most),
            whole: true,
            schema,
        }
    }

    /// Any number from `least` to `most`.
    pub fn real(least: f64, most: f64) -> Self {
        let schema = typed(json!({
            "reasoning": {"type": "string"},
            "score": {"type": "number", "minimum": least, "maximum": most},
        }));
        Self {
            least,
            most,
            whole: false,
            schema,
        }
    }

    /// `{reasoning, score}`.
    pub fn schema(&self) -> Arc<Value> {
        Arc::clone(&self.schema)
    }

    pub fn holds(&self, value: f64) -> bool {
        value >= self.least && value <= self.most && (!self.whole || value.fract() == 0.0)
    }

    /// A value of the scale as a share of it, in [0, 1].
    pub fn share(&self, value: f64) -> f64 {
        (value - self.least) / (self.most - self.least)
    }
}

/// A closed object schema in which every property is required, as strict modes of providers ask.
#[expect(
    clippy::needless_pass_by_value,
    reason = "called with `json!` in place"
)]
pub fn typed(properties: Value) -> Arc<Value> {
    let required: Vec<String> = properties
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys().cloned())
        .collect();
    Arc::new(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}
