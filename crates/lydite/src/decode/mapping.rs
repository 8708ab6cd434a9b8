//! Which key means which field, decided once a dataset.
//!
//! Unambiguous names hold always. `answer`, `context`, `outputs` and `labels` mean different things
//! in different tools, so they are settled from the header or the first records and never change
//! their meaning from row to row.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use bumpalo::Bump;

use super::build::raw;
use super::{Found, RecordError, Wanted};
use crate::json::{MemberValue, ObjectWalk};
use crate::path::FieldPath;
use crate::record::{Field, FieldSet};

/// Names of other tools that can mean one field only.
const ALIASES: &[(Field, &[&str])] = &[
    (
        Field::Query,
        &["input", "inputs", "user_input", "question", "prompt"],
    ),
    (
        Field::Output,
        &[
            "prediction",
            "response",
            "actual_output",
            "actualOutput",
            "completion",
            "generation",
            "submission",
            "pregenerated_response",
        ],
    ),
    (
        Field::Reference,
        &[
            "expected",
            "expected_output",
            "expectedOutput",
            "target",
            "ideal",
            "reference_output",
            "reference_outputs",
            "golden_response",
            "ground_truth",
            "ground_truths",
            "gold",
        ],
    ),
    (
        Field::Contexts,
        &[
            "retrieved_contexts",
            "retrieval_context",
            "retrievalContext",
            "documents",
            "chunks",
        ],
    ),
    (Field::Variables, &["vars"]),
];

/// What a key of a record means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) field: Option<Field>,
    /// Position among the wanted raw keys.
    pub(super) key: Option<usize>,
    pub(super) special: Special,
    /// False where the key is known, but nobody asked for it.
    pub(super) wanted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    None,
    OutputB,
    Trajectory,
    TargetError,
}

/// The key that says why a record has no answer.
pub(crate) const TARGET_ERROR: &str = "target_error";

/// The keys that the first records of a dataset hold, as far as their meaning hangs on it.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    keys: BTreeSet<String>,
    outputs_is_list: bool,
    labels_is_list: bool,
}

/// How many records are surveyed at the most.
pub const SURVEY_RECORDS: usize = 1000;

impl Survey {
    /// Adds one record. What can't be read is passed over: it shows when it is decoded.
    pub fn add(&mut self, text: &str) {
        let Ok(Some(mut walk)) = ObjectWalk::new(text) else {
            return;
        };
        let mut keys = Vec::new();
        let mut lists = [false; 2];
        let mut buffer = String::new();
        while let Ok(key) = walk.next_key() {
            let Some(key) = key else {
                self.note(keys, lists);
                return;
            };
            let at = match &*key {
                "outputs" => Some(0),
                "labels" => Some(1),
                _ => None,
            };
            let read = match at.and_then(|at| lists.get_mut(at)) {
                None => walk.skip(),
                Some(is_list) => walk.value(&mut buffer).map(|value| {
                    *is_list =
                        matches!(value, MemberValue::Json(source) if source.starts_with('['));
                }),
            };
            if read.is_err() {
                return;
            }
            keys.push(key);
        }
    }

    fn note(&mut self, keys: Vec<Cow<'_, str>>, [outputs, labels]: [bool; 2]) {
        self.outputs_is_list |= outputs;
        self.labels_is_list |= labels;
        for key in keys {
            if !self.keys.contains(&*key) {
                self.keys.insert(key.into_owned());
            }
        }
    }

    /// Whether some record brings its own checks.
    pub fn brings_checks(&self) -> bool {
        self.keys.contains("evaluators")
    }

    fn has(&self, field: Field) -> bool {
        self.keys.contains(field.as_str()) || self.has_alias(field)
    }

    fn has_alias(&self, field: Field) -> bool {
        ALIASES
            .iter()
            .any(|(of, names)| *of == field && names.iter().any(|name| self.keys.contains(*name)))
    }

    /// Whether the dataset can supply a field, by name, alias or derivation.
    pub fn supplies(&self, field: Field, mapping: &Mapping) -> bool {
        let mapped = self.keys.iter().any(|key| {
            mapping
                .target(key)
                .is_some_and(|target| target.field == Some(field))
        });
        let from_messages =
            matches!(field, Field::Output | Field::Query) && self.keys.contains("messages");
        let candidates = field == Field::Candidates && (self.keys.contains("output_b") || mapped);
        mapped
            || from_messages
            || candidates
            || mapping.has_path(field)
            || (field == Field::Messages && self.keys.contains("trajectory"))
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(String::as_str)
    }
}

/// A key whose meaning can't be settled, or a mapping that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct MappingError {
    pub message: String,
    pub help: String,
}

/// The settled meaning of keys, and what is wanted.
#[derive(Clone, Debug)]
pub struct Mapping {
    targets: HashMap<Box<str>, Target>,
    paths: Vec<(Field, FieldPath)>,
    fields: FieldSet,
    key_count: usize,
}

impl Mapping {
    /// Settles a dataset. `fields` is the suite's own mapping; `needs_reference` says whether some
    /// check reads a reference from the record.
    pub fn new(
        survey: &Survey,
        fields: &BTreeMap<Field, FieldPath>,
        wanted: &Wanted,
        needs_reference: bool,
    ) -> Result<Self, MappingError> {
        let needed = with_sources(wanted.fields);
        let mut mapping = Self {
            targets: HashMap::new(),
            paths: Vec::new(),
            fields: needed,
            key_count: wanted.keys.len(),
        };
        for field in Field::ALL {
            mapping.name(field.as_str(), field, needed);
        }
        for (field, names) in ALIASES {
            for name in *names {
                mapping.name(name, *field, needed);
            }
        }
        mapping.special(
            "output_b",
            Special::OutputB,
            needed.contains(Field::Candidates),
        );
        mapping.special(
            "trajectory",
            Special::Trajectory,
            needed.contains(Field::Messages),
        );
        mapping.special(TARGET_ERROR, Special::TargetError, true);
        mapping.settle(survey, fields, needed, needs_reference)?;
        mapping.map_fields(fields, needed);
        for (index, key) in wanted.keys.iter().enumerate() {
            mapping
                .targets
                .entry(key.as_str().into())
                .or_insert(Target {
                    field: None,
                    key: None,
                    special: Special::None,
                    wanted: true,
                });
            if let Some(target) = mapping.targets.get_mut(key.as_str()) {
                (target.key, target.wanted) = (Some(index), true);
            }
        }
        Ok(mapping)
    }

    /// The same for records in which these fields stand under their own names, whatever the suite mapped.
    pub(crate) fn with_own_names(&self, fields: FieldSet) -> Self {
        let mut mapping = self.clone();
        mapping.paths.retain(|(field, _)| !fields.contains(*field));
        for field in fields.iter() {
            mapping.name(field.as_str(), field, self.fields);
        }
        mapping
    }

    /// The field that a top-level key means.
    pub(crate) fn field_of(&self, key: &str) -> Option<Field> {
        self.target(key)?.field
    }

    /// The fields to build for one record.
    pub(super) const fn fields(&self) -> FieldSet {
        self.fields
    }

    pub(super) const fn key_count(&self) -> usize {
        self.key_count
    }

    pub(super) fn target(&self, key: &str) -> Option<Target> {
        self.targets.get(key).copied()
    }

    pub(super) fn has_path(&self, field: Field) -> bool {
        self.paths.iter().any(|(of, _)| *of == field)
    }

    /// Follows the mapped paths that lead below a top-level key.
    pub(super) fn fill_paths<'r>(
        &self,
        text: &'r str,
        found: &mut Found<'r>,
        arena: &'r Bump,
    ) -> Result<(), Box<RecordError>> {
        for (field, path) in &self.paths {
            let source = path.resolve_in_record(text).ok().flatten();
            let value = source.map_or(Ok(None), |source| raw(source, arena));
            found.set(
                *field,
                value.map_err(|error| RecordError {
                    field: Some(path.to_string()),
                    ..*error
                })?,
            );
        }
        Ok(())
    }

    fn name(&mut self, name: &str, field: Field, needed: FieldSet) {
        let target = Target {
            field: Some(field),
            key: None,
            special: Special::None,
            wanted: needed.contains(field),
        };
        self.targets.insert(name.into(), target);
    }

    fn special(&mut self, name: &str, special: Special, wanted: bool) {
        self.targets.insert(
            name.into(),
            Target {
                field: None,
                key: None,
                special,
                wanted,
            },
        );
    }

    fn settle(
        &mut self,
        survey: &Survey,
        fields: &BTreeMap<Field, FieldPath>,
        needed: FieldSet,
        needs_reference: bool,
    ) -> Result<(), MappingError> {
        let said = |field| fields.contains_key(&field);
        if survey.keys.contains("outputs") {
            let field = if survey.outputs_is_list {
                Field::Candidates
            } else {
                Field::Output
            };
            if !survey.has(field) && !said(field) {
                self.name("outputs", field, needed);
            }
        }
        if survey.keys.contains("labels")
            && survey.labels_is_list
            && !survey.has(Field::Tags)
            && !said(Field::Tags)
        {
            self.name("labels", Field::Tags, needed);
        }
        if survey.keys.contains("context") && !survey.has(Field::Contexts) && !said(Field::Contexts)
        {
            self.name("context", Field::Contexts, needed);
        }
        if survey.keys.contains("answer") && !said(Field::Output) && !said(Field::Reference) {
            self.settle_answer(survey, needed, needs_reference)?;
        }
        Ok(())
    }

    fn settle_answer(
        &mut self,
        survey: &Survey,
        needed: FieldSet,
        needs_reference: bool,
    ) -> Result<(), MappingError> {
        let (output, reference) = (survey.has(Field::Output), survey.has(Field::Reference));
        if output && (reference || !needs_reference) {
            return Ok(());
        }
        if reference || !needs_reference {
            self.name("answer", Field::Output, needed);
            return Ok(());
        }
        Err(MappingError {
            message: "the key `answer` may be the answer under judgement (`output`) or the right answer (`reference`)".into(),
            help: if output {
                "the records have an output already; say `fields: {reference: answer}` in the suite's dataset".into()
            } else {
                "say which in the suite's dataset: `fields: {output: answer}` or `fields: {reference: answer}`".into()
            },
        })
    }

    fn map_fields(&mut self, fields: &BTreeMap<Field, FieldPath>, needed: FieldSet) {
        for (&field, path) in fields {
            // The mapped key takes the place of every other name of the field.
            self.targets
                .retain(|_, target| target.field != Some(field) || target.key.is_some());
            if path.rest().is_empty() {
                self.name(path.root(), field, needed);
            } else if needed.contains(field) {
                self.paths.push((field, path.clone()));
            }
        }
    }
}

/// Wanted fields together with those that they are derived from.
fn with_sources(mut fields: FieldSet) -> FieldSet {
    for (field, source) in [
        (Field::Candidates, Field::Output),
        (Field::Output, Field::Messages),
        (Field::Query, Field::Messages),
    ] {
        if fields.contains(field) {
            fields.insert(source);
        }
    }
    fields
}
