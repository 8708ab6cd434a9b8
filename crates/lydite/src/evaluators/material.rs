//! What a judge is shown of a record, in evaluators that let the suite choose it.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::prompts::prompt;
use super::shown::shown;
use crate::evaluator::{ParamErrors, Prepare};
use crate::judge::{Failure, Fill, JudgeContext, Place, Prompt};
use crate::outcome::{Cell, Code};
use crate::record::{ContextChunk, Field, FieldSet, Row};

/// A field that a judge may be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Shown {
    /// The question or task.
    Query,
    /// The answer under judgement.
    Output,
    /// The right answer.
    Reference,
    /// The retrieved passages, numbered.
    Contexts,
}

impl Shown {
    const ALL: [Self; 4] = [Self::Query, Self::Output, Self::Reference, Self::Contexts];

    const fn field(self) -> Field {
        match self {
            Self::Query => Field::Query,
            Self::Output => Field::Output,
            Self::Reference => Field::Reference,
            Self::Contexts => Field::Contexts,
        }
    }

    const fn place(self) -> Place {
        match self {
            Self::Query => QUERY,
            Self::Output => OUTPUT,
            Self::Reference => REFERENCE,
            Self::Contexts => CONTEXTS,
        }
    }

    /// The part of a prompt that shows it.
    const fn section(self) -> &'static str {
        match self {
            Self::Query => "Request:\n{query}",
            Self::Output => "Output:\n{output}",
            Self::Reference => "Reference:\n{reference}",
            Self::Contexts => "Retrieved passages:\n{contexts}",
        }
    }
}

pub(super) const QUERY: Place = Place {
    name: "query",
    also: &["input", "question"],
};
pub(super) const OUTPUT: Place = Place {
    name: "output",
    also: &["prediction", "answer"],
};
pub(super) const REFERENCE: Place = Place {
    name: "reference",
    also: &["expected"],
};
pub(super) const CONTEXTS: Place = Place {
    name: "contexts",
    also: &["context"],
};

/// What stands where an optional field is missing.
pub(super) const NONE: &str = "(none)";

/// All that some check may show.
pub(super) const READS: FieldSet = FieldSet::of(&[
    Field::Query,
    Field::Output,
    Field::Reference,
    Field::Contexts,
]);

/// The fields that a check shows: those it names, or the output and, where the record has one, the query.
#[derive(Clone, Debug)]
pub(super) struct Material {
    fields: Vec<Shown>,
    is_query_optional: bool,
}

impl Material {
    pub(super) fn new(show: Option<&[Shown]>) -> Result<Self, ParamErrors> {
        let (named, is_query_optional) = match show {
            Some([]) => {
                return Err(ParamErrors::with_help(
                    "/show",
                    "the list of fields is empty, so the judge would see nothing",
                    "name at least one of query, output, reference, contexts",
                ));
            }
            Some(named) => (named, false),
            None => (&[Shown::Query, Shown::Output][..], true),
        };
        let is_named = |field: &Shown| named.contains(field);
        Ok(Self {
            fields: Shown::ALL.into_iter().filter(is_named).collect(),
            is_query_optional,
        })
    }

    /// The fields that a check can't do without.
    pub(super) fn needs(show: Option<&[Shown]>) -> FieldSet {
        let mut needs = FieldSet::EMPTY;
        for field in show.unwrap_or(&[Shown::Output]) {
            needs.insert(field.field());
        }
        needs
    }

    /// The fields' names, in their order.
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.fields.iter().map(|field| field.place().name).collect()
    }

    /// The check's own prompt, or `text` with a section for each field after it. Both may name `places` and the
    /// places of the fields that are shown.
    pub(super) fn prompt(
        &self,
        cx: &Prepare<'_>,
        text: &str,
        places: &[Place],
        needed: &[&str],
    ) -> Result<Prompt, ParamErrors> {
        let sections = self.fields.iter().map(|field| field.section());
        let whole = std::iter::once(text).chain(sections).collect::<Vec<_>>();
        let fields = self.fields.iter().map(|field| field.place());
        let places: Vec<Place> = places.iter().copied().chain(fields).collect();
        let built = prompt(cx, &whole.join("\n\n"), &places, needed)?;
        if self
            .fields
            .iter()
            .any(|field| built.has(field.place().name))
        {
            return Ok(built);
        }
        let shown: Vec<String> = self
            .fields
            .iter()
            .map(|field| format!("{{{}}}", field.place().name))
            .collect();
        Err(ParamErrors::with_help(
            "",
            "the prompt shows the judge nothing of the record",
            format!("write a place of a field into it: {}", shown.join(", ")),
        ))
    }

    /// What stands in the places of the fields.
    pub(super) fn fill<'r>(
        &self,
        row: &Row<'r>,
        cx: &JudgeContext<'_>,
    ) -> Result<Vec<(&'static str, Fill<'r>)>, Failure> {
        let filled = self.fields.iter().map(|field| {
            let value = match field {
                Shown::Query if self.is_query_optional => query_or_none(row, cx)?,
                Shown::Query | Shown::Output => Fill::Data(shown(row, field.field(), cx)?),
                Shown::Reference => references(row, cx)?,
                Shown::Contexts => passages(chunks(row)?),
            };
            Ok((field.place().name, value))
        });
        filled.collect()
    }
}

/// The query, or words that there is none.
pub(super) fn query_or_none<'r>(row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<Fill<'r>, Failure> {
    match row.query() {
        Some(_) => Ok(Fill::Data(shown(row, Field::Query, cx)?)),
        None => Ok(Fill::words(NONE)),
    }
}

/// The reference, or all alternatives of it, numbered.
pub(super) fn references<'r>(row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<Fill<'r>, Failure> {
    match row.references() {
        many @ [_, _, ..] => Ok(Fill::items(many.iter().copied())),
        _ => Ok(Fill::Data(shown(row, Field::Reference, cx)?)),
    }
}

/// The contexts; a record that has an empty list of them has retrieved none, one without the field is an error.
pub(super) fn chunks<'r>(row: &Row<'r>) -> Result<&'r [ContextChunk<'r>], Failure> {
    match row.contexts() {
        [] if row.raw(Field::Contexts).is_none() => {
            Err(Cell::Errored(Code::MissingField(Field::Contexts)).into())
        }
        chunks => Ok(chunks),
    }
}

/// Passages, numbered.
pub(super) fn passages<'r>(chunks: &[ContextChunk<'r>]) -> Fill<'r> {
    if chunks.is_empty() {
        return Fill::words(NONE);
    }
    Fill::items(chunks.iter().map(|chunk| Cow::Borrowed(chunk.document)))
}
