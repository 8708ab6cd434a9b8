//! A record: one case with an answer, seen through borrowed rows.
//!
//! [`Row`] is what evaluators read: `Copy`, `Sync`, covariant, and the same over a JSON line, an
//! Arrow slice or a Python string. [`decode`](crate::decode) makes rows from JSON text and parses
//! only the fields that some check asked for.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The fields of a record, by their one canonical name.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Field {
    Id,
    Query,
    Output,
    Candidates,
    Reference,
    Contexts,
    RelevantIds,
    Variables,
    Weights,
    Messages,
    Tools,
    ReferenceToolCalls,
    Model,
    Trial,
    Tags,
    Cluster,
    LatencyMs,
    CostUsd,
    FinishReason,
    Metadata,
    Evaluators,
}

impl Field {
    pub const ALL: [Self; 21] = [
        Self::Id,
        Self::Query,
        Self::Output,
        Self::Candidates,
        Self::Reference,
        Self::Contexts,
        Self::RelevantIds,
        Self::Variables,
        Self::Weights,
        Self::Messages,
        Self::Tools,
        Self::ReferenceToolCalls,
        Self::Model,
        Self::Trial,
        Self::Tags,
        Self::Cluster,
        Self::LatencyMs,
        Self::CostUsd,
        Self::FinishReason,
        Self::Metadata,
        Self::Evaluators,
    ];
    pub const COUNT: usize = Self::ALL.len();

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Query => "query",
            Self::Output => "output",
            Self::Candidates => "candidates",
            Self::Reference => "reference",
            Self::Contexts => "contexts",
            Self::RelevantIds => "relevant_ids",
            Self::Variables => "variables",
            Self::Weights => "weights",
            Self::Messages => "messages",
            Self::Tools => "tools",
            Self::ReferenceToolCalls => "reference_tool_calls",
            Self::Model => "model",
            Self::Trial => "trial",
            Self::Tags => "tags",
            Self::Cluster => "cluster",
            Self::LatencyMs => "latency_ms",
            Self::CostUsd => "cost_usd",
            Self::FinishReason => "finish_reason",
            Self::Metadata => "metadata",
            Self::Evaluators => "evaluators",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|field| field.as_str() == name)
    }

    /// Whether the field holds text first of all: a CSV cell of it stays text whatever it looks like.
    pub const fn is_text(self) -> bool {
        matches!(
            self,
            Self::Id
                | Self::Query
                | Self::Output
                | Self::Reference
                | Self::Model
                | Self::Cluster
                | Self::FinishReason
        )
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A set of fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldSet(u32);

impl FieldSet {
    pub const EMPTY: Self = Self(0);

    pub const fn of(fields: &[Field]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < fields.len() {
            #[expect(
                clippy::indexing_slicing,
                reason = "i < fields.len() in this const loop"
            )]
            let field = fields[i];
            bits |= 1 << field as u32;
            i += 1;
        }
        Self(bits)
    }

    pub const fn contains(self, field: Field) -> bool {
        self.0 & 1 << field as u32 != 0
    }

    pub const fn insert(&mut self, field: Field) {
        self.0 |= 1 << field as u32;
    }

    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    #[must_use]
    pub const fn without(self, field: Field) -> Self {
        Self(self.0 & !(1 << field as u32))
    }

    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = Field> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let field = Field::ALL.get(left.trailing_zeros() as usize).copied();
            left &= left.wrapping_sub(1);
            field
        })
    }
}

/// A value as it came: text (unescaped), or the source text of any other JSON but null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raw<'r> {
    Text(&'r str),
    Json(&'r str),
}

impl<'r> Raw<'r> {
    pub const fn source(self) -> &'r str {
        match self {
            Self::Text(text) | Self::Json(text) => text,
        }
    }

    /// The value as a tree. Text stays text.
    pub fn to_value(self) -> Option<serde_json::Value> {
        match self {
            Self::Text(text) => Some(serde_json::Value::from(text)),
            Self::Json(source) => serde_json::from_str(source).ok(),
        }
    }
}

/// A query, an output, a reference or a turn: text, JSON, or parts (text, images, audio, files).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'r> {
    Text(&'r str),
    /// JSON that is no string. `text` is its reading as text where it has one: a scalar's source
    /// text, or the one scalar of an object with a single entry.
    Json {
        source: &'r str,
        text: Option<&'r str>,
    },
    /// `{"parts": […]}`. `text` is there where all parts are text.
    Parts {
        source: &'r str,
        text: Option<&'r str>,
    },
}

impl<'r> Content<'r> {
    pub const fn text(self) -> Option<&'r str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Json { text, .. } | Self::Parts { text, .. } => text,
        }
    }

    /// The text that a JSON evaluator parses: a text's own content, or the JSON as it stands. `None`
    /// for parts that are not all text.
    pub const fn json_source(self) -> Option<&'r str> {
        match self {
            Self::Text(source) | Self::Json { source, .. } => Some(source),
            Self::Parts { text, .. } => text,
        }
    }

    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// A retrieved passage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContextChunk<'r> {
    pub document: &'r str,
    pub id: Option<&'r str>,
    /// In [-1, 1].
    pub relevance: Option<f64>,
    /// The retriever's own number, any finite one.
    pub score: Option<f64>,
    /// A person's grade, 0 and up.
    pub grade: Option<f64>,
}

/// One message of a conversation, or one step of an agent's work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn<'r> {
    pub role: Role,
    pub content: Option<Content<'r>>,
    /// The JSON list of calls as it stands.
    pub tool_calls: Option<&'r str>,
    pub tool_call_id: Option<&'r str>,
    pub name: Option<&'r str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// The parsed fields of one record. Evaluators read them through [`Row`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Slots<'r> {
    pub id: Option<&'r str>,
    pub query: Option<Content<'r>>,
    pub output: Option<Content<'r>>,
    pub reference: Option<Content<'r>>,
    /// The reference as a list of texts: one for a text, several for a list of alternatives.
    pub references: &'r [&'r str],
    pub candidates: &'r [Content<'r>],
    pub contexts: &'r [ContextChunk<'r>],
    /// The messages before the answer.
    pub messages: &'r [Turn<'r>],
    pub model: Option<&'r str>,
    pub trial: Option<u32>,
    pub tags: &'r [&'r str],
    pub cluster: Option<&'r str>,
    /// Every wanted field as it came, by [`Field`].
    pub raw: [Option<Raw<'r>>; Field::COUNT],
    /// The wanted raw keys, in the order of `Wanted::keys`.
    pub keys: &'r [Option<Raw<'r>>],
    /// Why there is no answer: `target_error`.
    pub no_answer: Option<NoAnswer<'r>>,
}

/// Why a record has no answer: `target_error: {code, message, retryable}`, which stands in the answer's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAnswer<'r> {
    pub message: &'r str,
    pub retryable: bool,
}

impl<'r> Slots<'r> {
    /// The same record with an id.
    pub fn named(&self, id: &'r str) -> Self {
        let mut named = *self;
        named.id = Some(id);
        if let Some(raw) = named.raw.get_mut(Field::Id as usize) {
            *raw = Some(Raw::Text(id));
        }
        named
    }
}

/// What an evaluator sees of a record.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r>(&'r Slots<'r>);

impl<'r> Row<'r> {
    pub const fn new(slots: &'r Slots<'r>) -> Self {
        Self(slots)
    }

    pub const fn slots(self) -> &'r Slots<'r> {
        self.0
    }

    pub const fn query(self) -> Option<Content<'r>> {
        self.0.query
    }

    pub const fn output(self) -> Option<Content<'r>> {
        self.0.output
    }

    pub const fn reference(self) -> Option<Content<'r>> {
        self.0.reference
    }

    /// The reference as alternatives for text evaluators; empty where there is none or it is no text.
    pub const fn references(self) -> &'r [&'r str] {
        self.0.references
    }

    pub const fn candidates(self) -> &'r [Content<'r>] {
        self.0.candidates
    }

    pub const fn contexts(self) -> &'r [ContextChunk<'r>] {
        self.0.contexts
    }

    /// The messages before the answer.
    pub const fn messages(self) -> &'r [Turn<'r>] {
        self.0.messages
    }

    /// The messages after the last user turn: what an agent did about it, tool calls and their results.
    pub fn work(self) -> &'r [Turn<'r>] {
        let turns = self.0.messages;
        let last_user = turns.iter().rposition(|turn| turn.role == Role::User);
        turns
            .get(last_user.map_or(0, |index| index + 1)..)
            .unwrap_or_default()
    }

    pub fn raw(self, field: Field) -> Option<Raw<'r>> {
        self.0.raw.get(field as usize).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_to_one() {
        for (i, field) in Field::ALL.into_iter().enumerate() {
            assert_eq!(field as usize, i);
            assert_eq!(Field::from_name(field.as_str()), Some(field));
            assert_eq!(serde_json::to_value(field).unwrap(), field.as_str());
        }
    }

    #[test]
    fn sets() {
        let set = FieldSet::of(&[Field::Output, Field::Evaluators]);
        assert!(set.contains(Field::Output) && !set.contains(Field::Id));
        assert_eq!(
            set.iter().collect::<Vec<_>>(),
            [Field::Output, Field::Evaluators]
        );
        assert_eq!(
            set.without(Field::Output),
            FieldSet::of(&[Field::Evaluators])
        );
    }

    fn shorten<'a>(row: Row<'static>) -> Row<'a> {
        row
    }

    #[test]
    fn rows_are_sync_copy_and_covariant() {
        fn check<T: Sync + Send + Copy>() {}
        check::<Row<'static>>();
        let _ = shorten;
    }
}
