//! Checks that records bring themselves: the `evaluators` of a record.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::build::Names;
use super::draft::{Draft, report, spec};
use super::error::{Desk, Source};
use super::forms;
use super::scope::{Author, Definitions, Scope};
use crate::check::{Check, CheckSpec};
use crate::decode::Wanted;
use crate::evaluator::{Entry, Registry};
use crate::node::Node;
use crate::record::{Field, FieldSet, Raw};

/// The fields to parse where records bring checks: they may read any.
pub const READS: FieldSet = FieldSet::of(&Field::ALL);

/// One entry of a record's `evaluators`, read.
#[derive(Clone, Debug)]
pub struct OwnSpec {
    pub entry: Entry,
    /// Its parameters are literal: nothing in them is read from the record.
    pub spec: CheckSpec,
    /// Whether the record names it; else it bears its evaluator's name.
    pub named: bool,
}

/// Reads one entry: an id, `{id: parameters}`, Context.ai's `{evaluator, options}`, or LangChain's form.
///
/// It may name the models and custom evaluators that the suite defines, and no others.
pub fn read(json: &str, registry: &Registry, definitions: &Definitions) -> Result<OwnSpec, String> {
    let (desk, draft) = draft(json, registry, definitions)?;
    finish(&desk)?;
    Ok(OwnSpec {
        spec: spec(&draft, false),
        named: draft.name.is_some(),
        entry: draft.entry,
    })
}

/// Compiled checks of records, kept by their JSON text. One a thread.
#[derive(Debug, Default)]
pub struct OwnChecks {
    compiled: HashMap<Box<str>, Compiled>,
}

/// Compiled entries that are kept.
const MAX_KEPT: usize = 1024;

type Compiled = Result<Own, Arc<str>>;

#[derive(Clone, Debug)]
struct Own {
    check: Arc<Check>,
    named: bool,
    /// Whether it says itself which models it asks, and how.
    asks: bool,
}

impl OwnChecks {
    pub fn new() -> Self {
        Self::default()
    }

    /// The checks that a record's `evaluators` adds to the suite's: one with a suite check's name
    /// and equal parameters is left out, since the suite runs it already.
    ///
    /// An error says which entry is wrong and why.
    pub fn of(
        &mut self,
        evaluators: Raw<'_>,
        registry: &Registry,
        definitions: &Definitions,
        suite: &[Check],
    ) -> Result<Vec<Arc<Check>>, String> {
        let Raw::Json(source) = evaluators else {
            return Err(NO_LIST.to_owned());
        };
        let items: Vec<&RawValue> = serde_json::from_str(source).map_err(|_| NO_LIST.to_owned())?;
        let place = |index: usize, message: &str| format!("entry {}: {message}", index + 1);
        let mut names = Names::default();
        let mut added: Vec<(usize, &str, Own)> = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let own = self
                .compiled(item.get(), None, registry, definitions)
                .map_err(|message| place(index, &message))?;
            if let Some(check) = suite.iter().find(|check| check.name == own.check.name) {
                same_as_suite(&own, check, registry).map_err(|message| place(index, &message))?;
            } else if own.named && !names.take(&own.check.name) {
                let message = format!("the name `{}` is given twice", own.check.name);
                return Err(place(index, &message));
            } else {
                added.push((index, item.get(), own));
            }
        }
        for check in suite {
            names.take(&check.name);
        }
        let settle = |(index, json, own): (usize, &str, Own)| {
            if own.named {
                return Ok(own.check);
            }
            let name = names.free(&own.check.name);
            if name == own.check.name {
                return Ok(own.check);
            }
            let renamed = self.compiled(json, Some(&name), registry, definitions);
            renamed
                .map(|own| own.check)
                .map_err(|message| place(index, &message))
        };
        added.into_iter().map(settle).collect()
    }

    /// An entry's check, under another name where one is given.
    fn compiled(
        &mut self,
        json: &str,
        name: Option<&str>,
        registry: &Registry,
        definitions: &Definitions,
    ) -> Compiled {
        let key = match name {
            Some(name) => format!("{json}\n{name}"),
            None => json.to_owned(),
        };
        if let Some(known) = self.compiled.get(key.as_str()) {
            return known.clone();
        }
        if self.compiled.len() >= MAX_KEPT {
            self.compiled.clear();
        }
        let compiled = compile(json, name, registry, definitions).map_err(Arc::from);
        self.compiled.insert(key.into(), compiled.clone());
        compiled
    }
}

const NO_LIST: &str = "expected a list of checks, such as `[\"exact_match\", {\"evaluator\": \"contains\", \"options\": {…}}]`";

fn compile(
    json: &str,
    name: Option<&str>,
    registry: &Registry,
    definitions: &Definitions,
) -> Result<Own, String> {
    let (mut desk, draft) = draft(json, registry, definitions)?;
    let mut wanted = Wanted::default();
    let mut spec = spec(&draft, false);
    if let Some(name) = name {
        name.clone_into(&mut spec.name);
    }
    let check = Check::compile(&draft.entry, spec, &mut wanted)
        .map_err(|errors| report(&mut desk, &draft, errors))
        .ok();
    finish(&desk)?;
    if let Some(key) = wanted.keys.first() {
        return Err(format!(
            "a record's own check reads the fields of records only, and `{key}` is none"
        ));
    }
    match check {
        Some(check) => Ok(Own {
            asks: draft.says_asks,
            check: Arc::new(check),
            named: draft.name.is_some(),
        }),
        None => Err("the check can't be read".to_owned()),
    }
}

fn draft(
    json: &str,
    registry: &Registry,
    definitions: &Definitions,
) -> Result<(Desk, Draft), String> {
    let node = Node::parse(json).map_err(|error| error.to_string())?;
    let mut desk = Desk::new(Source::new("evaluators", json));
    let scope = Scope {
        registry,
        definitions,
        author: Author::Record,
    };
    match forms::read(&mut desk, &scope, &node) {
        Some(draft) => Ok((desk, draft)),
        None => Err(finish(&desk)
            .err()
            .unwrap_or_else(|| "the check can't be read".to_owned())),
    }
}

/// All errors on one line.
fn finish(desk: &Desk) -> Result<(), String> {
    if desk.errors.is_empty() {
        return Ok(());
    }
    Err(desk
        .errors
        .iter()
        .map(super::SuiteError::one_line)
        .collect::<Vec<_>>()
        .join("; "))
}

fn same_as_suite(own: &Own, suite: &Check, registry: &Registry) -> Result<(), String> {
    let check = &own.check;
    let entry = registry.get(check.info.id);
    let same_asks = !own.asks || check.asks == suite.asks;
    if same_asks && entry.is_some_and(|entry| check.same_measure(suite, entry)) {
        return Ok(());
    }
    Err(format!(
        "the suite has a check `{}` with other parameters; give the record's check a `name` of its own",
        check.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_names_no_files() {
        let evaluators = r#"[{"evaluator": "json_schema_validation", "options": {"schemas": {"http://x/y": "/etc/hostname"}}}]"#;
        let registry = Registry::builtin();
        let error = OwnChecks::new()
            .of(
                Raw::Json(evaluators),
                &registry,
                &Definitions::default(),
                &[],
            )
            .unwrap_err();
        assert!(error.contains("a record can't name files"), "{error}");
    }
}
