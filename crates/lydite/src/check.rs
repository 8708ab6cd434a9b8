//! A check: an evaluator with parameters, a name, a threshold, and where it finds its fields.
//!
//! [`Check::compile`] does once what can be done once. Parameters that are read from the record
//! (`"{{ extra.phrase }}"`) are filled for each row and prepared through a bounded cache.

mod condition;
mod reference;
mod spec;
mod template;

use bumpalo::Bump;

use crate::decode::{RowPath, Wanted, override_field};
use crate::evaluator::{Direction, Entry, Info, ParamErrors, Prepare, Prepared, Scorer, Scratch};
use crate::node::Node;
use crate::outcome::{Cell, Code, Explanation, Verdict};
use crate::path::FieldPath;
use crate::record::{Field, FieldSet, Raw, Row, Slots};

pub use condition::Condition;
pub use spec::{CheckError, CheckErrors, CheckPlace, CheckSpec, OnMissing};

use reference::{OwnReference, Reference, own_reference};
use template::{Filled, Template, find_references};

/// A check that is ready to run.
#[derive(Debug)]
pub struct Check {
    pub name: String,
    pub info: &'static Info,
    pub params: Node,
    pub threshold: Option<f64>,
    pub negate: bool,
    pub on_missing: OnMissing,
    pub when: Option<Condition>,
    /// The fields that the record must bring: needed, and neither mapped nor given.
    pub needs: FieldSet,
    /// Literal-looking places that name no record field, with the nearest path.
    pub notes: Vec<String>,
    inputs: Vec<(Field, RowPath)>,
    reference: Option<OwnReference>,
    scorer: CheckScorer,
}

#[derive(Debug)]
enum CheckScorer {
    Ready(Prepared),
    Filled(Template),
}

impl Check {
    /// Compiles a check and adds what it reads to `wanted`. Gives all errors at once.
    pub fn compile(
        entry: &Entry,
        spec: CheckSpec,
        wanted: &mut Wanted,
    ) -> Result<Self, CheckErrors> {
        let mut errors = CheckErrors::default();
        let mut params = spec
            .params
            .unwrap_or_else(|| Node::from_json(&serde_json::json!({})));
        let mut inputs = bind_inputs(&spec.inputs, wanted, &mut errors);
        let mut notes = Vec::new();
        let reference =
            match own_reference(entry, &mut params, spec.references, &mut notes, &mut errors) {
                Some(Reference::Path(path)) => {
                    inputs.extend(
                        RowPath::new(&path, false, wanted).map(|path| (Field::Reference, path)),
                    );
                    None
                }
                Some(Reference::Own(own)) => Some(own),
                None => None,
            };
        let leaves = if spec.references {
            find_references(&params, wanted, &mut notes)
        } else {
            Vec::new()
        };
        let scorer = CheckScorer::new(entry, &spec.name, &params, leaves, spec.references);
        let when = spec
            .when
            .map(|source| Condition::new(&source, wanted))
            .transpose();
        let when = when.unwrap_or_else(|message| {
            errors.push(CheckPlace::When, message, None);
            None
        });
        check_verdict(
            entry.info,
            &spec.name,
            spec.negate,
            spec.threshold,
            &mut errors,
        );
        let scorer = match scorer {
            Ok(scorer) if errors.0.is_empty() => scorer,
            scorer => {
                scorer.map_err(|wrong| errors.params(wrong)).ok();
                return Err(errors);
            }
        };
        wanted.fields = wanted.fields.union(entry.info.reads);
        let mut needs = scorer.needs(entry);
        for (field, _) in &inputs {
            needs = needs.without(*field);
        }
        if reference.is_some() {
            needs = needs.without(Field::Reference);
        }
        Ok(Self {
            name: spec.name,
            info: entry.info,
            params,
            threshold: spec.threshold,
            negate: spec.negate,
            on_missing: spec.on_missing,
            when,
            needs,
            notes,
            inputs,
            reference,
            scorer,
        })
    }

    /// The paths into the record that fields and parameters are taken from, each with what takes it.
    pub fn record_paths(&self) -> impl Iterator<Item = (String, FieldPath)> {
        let inputs = self
            .inputs
            .iter()
            .map(|(field, path)| (format!("`{field}`"), path));
        let leaves = match &self.scorer {
            CheckScorer::Ready(_) => &[],
            CheckScorer::Filled(template) => template.leaves.as_slice(),
        };
        let params = leaves.iter().map(|(pointer, path)| {
            (
                format!("the parameter `{}`", pointer.trim_start_matches('/')),
                path,
            )
        });
        inputs
            .chain(params)
            .filter_map(|(what, path)| Some((what, FieldPath::parse(&path.to_string()).ok()?)))
    }

    /// Whether two checks of one evaluator measure the same: equal parameters, defaults filled in,
    /// and what the verdict hangs on. `self` is a record's own; what it leaves out it takes over.
    pub fn same_measure(&self, other: &Self, entry: &Entry) -> bool {
        let literal =
            |check: &Self| matches!(check.scorer, CheckScorer::Ready(_)) && check.inputs.is_empty();
        let normal = |check: &Self| entry.normalise_params(&check.params).ok();
        self.info.id == other.info.id
            && literal(self)
            && literal(other)
            && self.reference == other.reference
            && (self.threshold.is_none() || self.threshold == other.threshold)
            && (!self.negate || other.negate)
            && normal(self).is_some()
            && normal(self) == normal(other)
    }

    pub const fn direction(&self) -> Direction {
        self.info.direction
    }

    /// Judges one record.
    pub fn judge<'r>(
        &self,
        slots: &Slots<'r>,
        arena: &'r Bump,
        bench: &mut Bench,
        explain: bool,
    ) -> Judged {
        if let Some(when) = &self.when {
            match when.holds(slots, arena) {
                Ok(true) => {}
                Ok(false) => return self.settle(Cell::Skipped(Code::WhenFalse), None),
                Err(message) => {
                    return self.settle(
                        Cell::Errored(Code::InvalidExpression),
                        Some(because(message)),
                    );
                }
            }
        }
        if self.inputs.is_empty() && self.reference.is_none() {
            return self.run(&Row::new(slots), slots, arena, bench, explain);
        }
        match self.own_view(slots, arena) {
            Ok(view) => self.run(&Row::new(arena.alloc(view)), slots, arena, bench, explain),
            Err((field, message)) => self.settle(
                Cell::Errored(Code::InvalidField(field)),
                Some(because(message)),
            ),
        }
    }

    /// The record with this check's `inputs` and `reference` in their places.
    fn own_view<'r>(
        &self,
        slots: &Slots<'r>,
        arena: &'r Bump,
    ) -> Result<Slots<'r>, (Field, String)> {
        let mut view = *slots;
        for (field, path) in &self.inputs {
            let value = path.resolve(slots, arena);
            override_field(&mut view, *field, value, arena)
                .map_err(|error| (*field, error.to_string()))?;
        }
        if let Some(reference) = &self.reference {
            let source: &'r str = arena.alloc_str(&reference.source);
            let value = if reference.is_text {
                Raw::Text(source)
            } else {
                Raw::Json(source)
            };
            override_field(&mut view, Field::Reference, Some(value), arena)
                .map_err(|error| (Field::Reference, error.to_string()))?;
        }
        Ok(view)
    }

    fn run<'r>(
        &self,
        row: &Row<'_>,
        slots: &Slots<'r>,
        arena: &'r Bump,
        bench: &mut Bench,
        explain: bool,
    ) -> Judged {
        match &self.scorer {
            CheckScorer::Ready(prepared) => self.score(prepared, row, &mut bench.scratch, explain),
            CheckScorer::Filled(template) => {
                let Bench {
                    scratch,
                    filled,
                    key,
                } = bench;
                match template.fill(slots, arena, filled, key) {
                    Ok(prepared) => self.score(prepared, row, scratch, explain),
                    Err((code, message)) => {
                        self.settle(Cell::Errored(code), Some(because(message)))
                    }
                }
            }
        }
    }

    fn score(
        &self,
        prepared: &Prepared,
        row: &Row<'_>,
        scratch: &mut Scratch,
        explain: bool,
    ) -> Judged {
        let Scorer::Pure(scorer) = &prepared.scorer;
        let cell = scorer.score(row, scratch);
        let explanation = explain.then(|| Box::new(scorer.explain(row, cell, scratch)));
        self.settle(cell, explanation)
    }

    /// The one place where a cell gets its verdict: missing field, threshold, then `not`.
    fn settle(&self, cell: Cell, explanation: Option<Box<Explanation>>) -> Judged {
        let missing = matches!(
            cell,
            Cell::Errored(Code::MissingField(_) | Code::MissingPath)
        );
        match (cell, self.on_missing) {
            (Cell::Errored(code), OnMissing::Skip) if missing => Judged {
                cell: Cell::Skipped(code),
                verdict: None,
                natural: None,
                explanation: None,
            },
            (Cell::Errored(code), OnMissing::Fail) if missing => Judged {
                cell: Cell::Scored {
                    score: None,
                    natural: None,
                    flags: 0,
                },
                verdict: Some(Verdict::Fail),
                natural: None,
                explanation: Some(
                    explanation
                        .filter(|e| e.reason.is_some())
                        .unwrap_or_else(|| Box::new(Explanation::reason(code.message()))),
                ),
            },
            (cell, _) => {
                let (verdict, natural) =
                    decide(cell, self.info.direction, self.threshold, self.negate);
                Judged {
                    cell,
                    verdict,
                    natural,
                    explanation,
                }
            }
        }
    }
}

fn because(message: String) -> Box<Explanation> {
    Box::new(Explanation::reason(message))
}

/// One answer judged by one check.
#[derive(Clone, Debug)]
pub struct Judged {
    pub cell: Cell,
    pub verdict: Option<Verdict>,
    /// The evaluator's own verdict where a threshold or `not` replaced it.
    pub natural: Option<Verdict>,
    /// Boxed, since most cells go without.
    pub explanation: Option<Box<Explanation>>,
}

/// The verdict of a cell under a threshold and `not`, and the natural verdict where that differs
/// in kind (a threshold or `not` stands on the check).
pub fn decide(
    cell: Cell,
    direction: Direction,
    threshold: Option<f64>,
    negate: bool,
) -> (Option<Verdict>, Option<Verdict>) {
    let (score, natural) = match cell {
        Cell::Scored { score, natural, .. } => (score, natural),
        Cell::Skipped(_) => return (None, None),
        Cell::Errored(_) => return (Some(Verdict::Inconclusive), None),
    };
    let graded = match (threshold, score) {
        (Some(threshold), Some(score)) => {
            Some(Verdict::from_bool(direction.meets(score.get(), threshold)))
        }
        (Some(_), None) => Some(Verdict::Inconclusive),
        (None, _) => natural,
    };
    let verdict = if negate {
        graded.map(Verdict::negated)
    } else {
        graded
    };
    (
        verdict,
        if threshold.is_some() || negate {
            natural
        } else {
            None
        },
    )
}

/// What one thread keeps between rows.
#[derive(Debug, Default)]
pub struct Bench {
    scratch: Scratch,
    filled: Filled,
    key: String,
}

impl CheckScorer {
    fn new(
        entry: &Entry,
        check: &str,
        params: &Node,
        leaves: Vec<(String, RowPath)>,
        files: bool,
    ) -> Result<Self, ParamErrors> {
        if leaves.is_empty() {
            let cx = Prepare { check, files };
            return entry.prepare(params, &cx).map(Self::Ready);
        }
        Template::new(entry.clone(), check.to_owned(), params.clone(), leaves).map(Self::Filled)
    }

    /// The fields that it can't do without.
    const fn needs(&self, entry: &Entry) -> FieldSet {
        match self {
            Self::Ready(prepared) => prepared.needs,
            Self::Filled(_) => entry.info.needs.without(Field::Reference),
        }
    }
}

fn bind_inputs(
    inputs: &[(Field, FieldPath)],
    wanted: &mut Wanted,
    errors: &mut CheckErrors,
) -> Vec<(Field, RowPath)> {
    let mut bound = Vec::with_capacity(inputs.len());
    for (field, path) in inputs {
        match RowPath::new(path, true, wanted) {
            Some(row_path) => bound.push((*field, row_path)),
            None => errors.push(
                CheckPlace::Input(*field),
                format!("`{path}` is no path into a record"),
                Some("name a key after `extra.`"),
            ),
        }
    }
    bound
}

fn check_verdict(
    info: &Info,
    name: &str,
    negate: bool,
    threshold: Option<f64>,
    errors: &mut CheckErrors,
) {
    if negate && threshold.is_none() && !info.natural_verdict {
        let message = format!("`{name}` only measures, so there is no verdict for `not` to negate");
        errors.push(CheckPlace::Not, message, Some("set a `threshold`"));
    }
    let Some(threshold) = threshold else { return };
    let (least, most) = info.range;
    if !threshold.is_finite()
        || least.is_some_and(|least| threshold < least)
        || most.is_some_and(|most| threshold > most)
    {
        let bound = |side: Option<f64>, open: &str| {
            side.map_or_else(|| open.to_owned(), |side| side.to_string())
        };
        let message = format!(
            "the threshold {threshold} is outside the evaluator's range, {} to {}",
            bound(least, "-∞"),
            bound(most, "∞")
        );
        errors.push(CheckPlace::Threshold, message, None);
    }
}
