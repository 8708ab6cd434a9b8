//! A suite: what is judged, on which records, and what must be reached.
//!
//! [`Suite::parse`] gives a suite that can no longer be wrong, or everything that is wrong with it,
//! each error with its line, what is allowed, and what was probably meant. Nothing is read or spent
//! before that. What only the data can show is found next, still before the first record is judged:
//! [`Suite::settle`] and [`Suite::missing_fields`].

mod asking;
mod build;
mod custom;
mod dataset;
mod draft;
mod error;
mod forms;
pub mod gate;
mod inputs;
mod keys;
mod langchain;
mod models;
mod names;
pub mod own;
pub mod schema;
mod scope;
mod secrets;
mod target;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use build::SuiteBuilder;
pub use custom::CustomEvaluator;
pub use dataset::{DatasetSpec, FORMATS};
pub use error::{Source, SuiteError, SuiteErrors};
pub use gate::{Allowance, Gate, Metric, Target, required_coverage};
pub use models::SuiteModels;
pub use scope::Definitions;

use crate::check::{Check, Condition, OnMissing};
use crate::decode::{Mapping, Survey, Wanted};
use crate::evaluator::Registry;
use crate::node::Span;
use crate::path::FieldPath;
use crate::record::Field;
use crate::target::TargetSpec;

/// The version of the suite's format.
pub const SUITE_VERSION: u32 = 1;

/// A suite that can no longer be wrong.
#[derive(Debug)]
pub struct Suite {
    pub version: u32,
    pub name: Option<String>,
    pub dataset: Option<DatasetSpec>,
    /// What makes the outputs first.
    pub target: Option<TargetSpec>,
    pub checks: Vec<Check>,
    pub gates: Vec<Gate>,
    /// The models and evaluators that checks, and those of records, may name.
    pub definitions: Definitions,
    /// Only records for which it holds: the dataset's `where` and the given one.
    pub condition: Option<Condition>,
    /// What checks and conditions read.
    pub wanted: Wanted,
    /// Warnings, one line each, with file, line and column.
    pub notes: Vec<String>,
    /// The suite file as read; without one, a suite of the given checks.
    pub source: String,
    /// The checks that were given as text beside the file.
    pub added: Vec<Source>,
    /// Where each check stands.
    places: Vec<Place>,
    /// Where the target stands.
    target_place: Option<Place>,
    /// Errors that records with their own checks would remove.
    unsettled: Vec<SuiteError>,
    /// Notes that records with their own checks would remove.
    unsettled_notes: Vec<String>,
}

/// Where a check stands.
#[derive(Clone, Debug)]
struct Place {
    source: Source,
    span: Span,
}

impl Suite {
    /// Reads a suite whose records bring no checks of their own; else see [`SuiteBuilder`].
    ///
    /// `file` names the source in errors.
    pub fn parse(source: &str, file: &str, registry: &Registry) -> Result<Self, SuiteErrors> {
        SuiteBuilder::new(registry).file(source, file).build()
    }

    /// Settles what hung on the data: without checks of their own in the records, a suite must have
    /// checks, and its gates must name them; with them, every field is wanted.
    pub fn settle(mut self, records_bring_checks: bool) -> Result<Self, SuiteErrors> {
        let errors = std::mem::take(&mut self.unsettled);
        if records_bring_checks {
            self.wanted.fields = self.wanted.fields.union(own::READS);
        } else if !errors.is_empty() {
            return Err(SuiteErrors(errors));
        } else {
            self.notes.append(&mut self.unsettled_notes);
        }
        Ok(self)
    }

    /// Whether some check asks models.
    pub fn asks_models(&self) -> bool {
        self.checks.iter().any(Check::asks_models)
    }

    /// Has every check that asks models judge each answer so often.
    pub fn repeat(&mut self, repeat: u32) {
        for check in self.checks.iter_mut().filter(|check| check.asks_models()) {
            check.asks.repeat = repeat.max(1);
        }
    }

    /// The dataset's own mapping of fields.
    pub fn fields(&self) -> BTreeMap<Field, FieldPath> {
        self.dataset
            .as_ref()
            .map(|dataset| dataset.fields.clone())
            .unwrap_or_default()
    }

    /// Whether some check reads its reference from the record.
    pub fn needs_reference(&self) -> bool {
        self.checks
            .iter()
            .any(|check| check.needs.contains(Field::Reference))
    }

    /// Places in the target's texts that no surveyed record can fill.
    pub fn unfillable_places(&self, survey: &Survey, mapping: &Mapping) -> Vec<SuiteError> {
        let keys: Vec<&str> = survey.keys().collect();
        let (Some(target), Some(place)) = (&self.target, &self.target_place) else {
            return Vec::new();
        };
        if keys.is_empty() {
            return Vec::new();
        }
        let error = |path: FieldPath| SuiteError {
            source: place.source.clone(),
            span: place.span,
            message: format!(
                "the target takes `{{{path}}}`, and no record has `{}`",
                key_of(&path)
            ),
            help: Some(format!("the records have: {}", listed(&keys))),
        };
        let unfillable = target.unfillable(survey, mapping);
        unfillable.into_iter().map(error).collect()
    }

    /// Fields and values that a check can't do without and that no surveyed record can supply.
    ///
    /// Only checks that would make an error of it in every record are looked at: not those with
    /// another `on_missing`, nor those with `when`, which may keep them from such records.
    pub fn missing_fields(&self, survey: &Survey, mapping: &Mapping) -> Vec<SuiteError> {
        let keys: Vec<&str> = survey.keys().collect();
        if keys.is_empty() {
            return Vec::new();
        }
        let looked_at =
            |check: &Check| check.on_missing == OnMissing::Error && check.when.is_none();
        let mut errors = Vec::new();
        for (check, place) in self
            .checks
            .iter()
            .zip(&self.places)
            .filter(|(check, _)| looked_at(check))
        {
            let mut error = |message, help| {
                errors.push(SuiteError {
                    source: place.source.clone(),
                    span: place.span,
                    message,
                    help: Some(help),
                });
            };
            for field in check
                .needs
                .iter()
                .filter(|field| !survey.supplies(*field, mapping))
            {
                error(missing_field(check, field), field_help(field, &keys));
            }
            for (what, path) in check
                .record_paths()
                .filter(|(_, path)| !supplies_root(survey, mapping, path))
            {
                error(
                    format!(
                        "the check `{}` takes {what} from `{path}`, and no record has `{}`",
                        check.name,
                        key_of(&path)
                    ),
                    format!(
                        "the records have: {}; or set `on_missing: skip`",
                        listed(&keys)
                    ),
                );
            }
        }
        errors
    }
}

fn missing_field(check: &Check, field: Field) -> String {
    let evaluator = if check.name == check.info.id {
        String::new()
    } else {
        format!(" ({})", check.info.id)
    };
    format!(
        "the check `{}`{evaluator} needs `{field}`, and no record has it",
        check.name
    )
}

fn field_help(field: Field, keys: &[&str]) -> String {
    let parameter = if field == Field::Reference {
        " give the check a parameter `reference`;"
    } else {
        ""
    };
    format!(
        "name the key that holds it, `dataset: {{fields: {{{field}: <key>}}}}` (the records have: {});{parameter} or set `on_missing: skip`",
        listed(keys)
    )
}

/// The keys of the records, cut where there are many.
fn listed(keys: &[&str]) -> String {
    const MOST: usize = 20;
    let mut text = keys
        .iter()
        .take(MOST)
        .copied()
        .collect::<Vec<_>>()
        .join(", ");
    if keys.len() > MOST {
        text.push_str(", …");
    }
    text
}

/// The record's own key that a path begins with.
fn key_of(path: &FieldPath) -> &str {
    match path.rest().first() {
        Some(key) if path.root() == "extra" => key,
        _ => path.root(),
    }
}

pub(crate) fn supplies_root(survey: &Survey, mapping: &Mapping, path: &FieldPath) -> bool {
    match Field::from_name(path.root()) {
        Some(field) => survey.supplies(field, mapping),
        None => survey.keys().any(|key| key == key_of(path)),
    }
}
