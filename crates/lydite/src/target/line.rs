//! The line of a made record: the input's own keys, and those that the run and the target give.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::template::{one_line, quote};
use crate::decode::{Mapping, TARGET_ERROR};
use crate::path::FieldPath;
use crate::record::{Field, FieldSet, Raw};
use crate::runner::Picked;

/// What every made record has under its own name, wherever the input has it.
const OWN_NAMES: FieldSet = FieldSet::of(&[
    Field::Id,
    Field::Trial,
    Field::Model,
    Field::Output,
    Field::LatencyMs,
    Field::CostUsd,
    Field::FinishReason,
]);

/// What the lines of one run's records are written by.
#[derive(Debug)]
pub(crate) struct Layout<'m> {
    /// The input's.
    pub(crate) mapping: &'m Mapping,
    /// The suite's own mapping of fields.
    pub(crate) fields: &'m BTreeMap<Field, FieldPath>,
    /// Fields that the target may give beside the output.
    pub(crate) gives: FieldSet,
}

impl Layout<'_> {
    /// The fields that made records have under their own names.
    pub(crate) fn own_names(&self) -> FieldSet {
        OWN_NAMES.union(self.gives)
    }
}

/// What an application is not shown: the answer that is expected, and what is known of one already.
const WITHHELD: FieldSet = FieldSet::of(&[
    Field::Output,
    Field::Candidates,
    Field::Reference,
    Field::RelevantIds,
    Field::Weights,
    Field::ReferenceToolCalls,
    Field::Model,
    Field::Cluster,
    Field::LatencyMs,
    Field::CostUsd,
    Field::FinishReason,
    Field::Evaluators,
]);

/// The members of a record, in their order. Values stand as they are written.
pub(super) struct Members<'r>(IndexMap<String, &'r RawValue>);

impl<'r> Members<'r> {
    /// `None` where the record is no JSON object, which the decoder has refused before.
    pub(super) fn of(text: &'r str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// A record that has its answer, whole.
    pub(super) fn kept(&self, picked: &Picked<'_>, layout: &Layout<'_>) -> Line {
        let mut line = Line::new();
        line.text("id", picked.head.id);
        if picked.trial_given || picked.head.trial > 1 {
            line.json("trial", &picked.head.trial.to_string());
        }
        let own = layout.own_names().without(Field::Id).without(Field::Trial);
        for field in own.iter() {
            if let Some(value) = raw(picked, field) {
                line.raw(field.as_str(), value);
            }
        }
        self.others(&mut line, layout);
        line
    }

    /// The beginning of a record that is to be answered: all that no answer changes.
    pub(super) fn asked(
        &self,
        picked: &Picked<'_>,
        layout: &Layout<'_>,
        trial: u32,
        model: &str,
    ) -> Line {
        let mut line = Line::new();
        line.text("id", picked.head.id);
        line.json("trial", &trial.to_string());
        line.text("model", model);
        self.others(&mut line, layout);
        line
    }

    /// What an application is shown of the record: what was asked, under our names of the fields.
    pub(super) fn shown(&self, picked: &Picked<'_>, layout: &Layout<'_>, trial: u32) -> String {
        let mut line = Line::new();
        line.text("id", picked.head.id);
        line.json("trial", &trial.to_string());
        let hidden = |field| WITHHELD.contains(field) || matches!(field, Field::Id | Field::Trial);
        let below = |path: &&FieldPath| !path.rest().is_empty();
        for (field, _) in layout.fields.iter().filter(|(_, path)| below(path)) {
            if let Some(value) = raw(picked, *field).filter(|_| !hidden(*field)) {
                line.raw(field.as_str(), value);
            }
        }
        let holds_hidden = |key: &str| {
            let mut mapped = layout.fields.iter();
            mapped.any(|(field, path)| hidden(*field) && path.root() == key)
        };
        for (key, value) in &self.0 {
            let field = layout.mapping.field_of(key);
            if key != TARGET_ERROR
                && !field.is_some_and(hidden)
                && !holds_hidden(key)
                && value.get() != "null"
            {
                line.json(
                    field.map_or(key.as_str(), |field| field.as_str()),
                    value.get(),
                );
            }
        }
        line.end()
    }

    fn others(&self, line: &mut Line, layout: &Layout<'_>) {
        let own = layout.own_names();
        for (key, value) in &self.0 {
            let field = layout.mapping.field_of(key);
            if key != TARGET_ERROR && field.is_none_or(|field| !own.contains(field)) {
                line.json(key, value.get());
            }
        }
    }
}

/// What a record has of the fields that the target may give: it stays where the target gives none.
pub(super) fn own_of(picked: &Picked<'_>, layout: &Layout<'_>) -> Vec<(Field, String)> {
    let own = layout.gives.iter().filter_map(|field| {
        let mut line = String::new();
        match raw(picked, field)? {
            Raw::Text(text) => quote(text, &mut line),
            Raw::Json(source) => one_line(source, &mut line),
        }
        Some((field, line))
    });
    own.collect()
}

fn raw<'r>(picked: &Picked<'r>, field: Field) -> Option<Raw<'r>> {
    picked.slots.raw.get(field as usize).copied().flatten()
}

/// A JSON object that is written member by member.
#[derive(Clone, Debug)]
pub(super) struct Line(String);

impl Line {
    pub(super) fn new() -> Self {
        Self("{".to_owned())
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        quote(value, &mut self.0);
    }

    /// A member whose value is JSON.
    pub(super) fn json(&mut self, key: &str, value: &str) {
        self.key(key);
        one_line(value, &mut self.0);
    }

    fn raw(&mut self, key: &str, value: Raw<'_>) {
        match value {
            Raw::Text(text) => self.text(key, text),
            Raw::Json(source) => self.json(key, source),
        }
    }

    /// Whether it has a key.
    pub(super) fn has(&self, key: &str) -> bool {
        let whole = format!("{}}}", self.0);
        serde_json::from_str::<IndexMap<String, IgnoredAny>>(&whole)
            .is_ok_and(|members| members.contains_key(key))
    }

    /// What stands so far.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The whole object, without a line break.
    pub(super) fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }

    fn key(&mut self, key: &str) {
        if self.0.len() > 1 {
            self.0.push(',');
        }
        quote(key, &mut self.0);
        self.0.push(':');
    }
}
