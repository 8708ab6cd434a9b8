//! A check: an evaluator with parameters, a name, a threshold, and where it finds its fields.
//!
//! [`Check::compile`] does once what can be done once. Parameters that are read from the record
//! (`"{{ extra.phrase }}"`) are filled for each row and prepared through a bounded cache.

mod asks;
mod condition;
mod inputs;
mod judging;
mod reference;
mod spec;
mod template;

use std::sync::Arc;

use bumpalo::Bump;

use crate::decode::{RowPath, Wanted, override_field};
use crate::evaluator::{
    Batched, Compat, Direction, Entry, Got, Info, Judged as JudgedScorer, Local, ParamErrors,
    Prepare, Prepared, ScoreScale, Scorer, Scratch,
};
use crate::model::{ModelError, ModelSession, Usage};
use crate::node::Node;
use crate::outcome::{Cell, Code, Explanation, Verdict};
use crate::path::FieldPath;
use crate::record::{Field, FieldSet, NoAnswer, Raw, Row, Slots};
use crate::stats::summary::Answer;

pub use asks::{Aggregate, Asks, Bound};
pub use condition::Condition;
pub use inputs::{InputError, InputSource, InputTemplate};
pub(crate) use judging::{Asking, collapse_repeats};
pub use spec::{CheckError, CheckErrors, CheckPlace, CheckSpec, OnMissing};

use inputs::BoundInputs;
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
    pub scale: ScoreScale,
    /// The models that it asks, and how.
    pub asks: Asks,
    /// A prompt in place of the evaluator's.
    pub prompt: Option<String>,
    pub compat: Option<Compat>,
    /// What every verdict of the check hangs on, for the cache of verdicts.
    pub(crate) cache_head: Vec<u8>,
    bound: asks::Binding,
    inputs: BoundInputs,
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
            .clone()
            .unwrap_or_else(|| Node::from_json(&serde_json::json!({})));
        let mut inputs = BoundInputs::new(&spec.inputs, wanted, &mut errors);
        let mut notes = Vec::new();
        let reference =
            match own_reference(entry, &mut params, spec.references, &mut notes, &mut errors) {
                Some(Reference::Path(path)) => {
                    if let Some(path) = RowPath::new(&path, false, wanted) {
                        inputs.push(Field::Reference, path);
                    }
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
        let cx = Prepare {
            check: &spec.name,
            files: spec.references,
            prompt: spec.prompt.as_deref(),
            compat: spec.compat,
            local: spec.asks.local(entry.info),
        };
        let scorer = CheckScorer::new(entry, &cx, &params, leaves);
        let when = spec
            .when
            .as_deref()
            .map(|source| Condition::new(source, wanted))
            .transpose();
        let when = when.unwrap_or_else(|message| {
            errors.push(CheckPlace::When, message, None);
            None
        });
        let scale = scorer.as_ref().ok().and_then(CheckScorer::scale);
        check_verdict(
            &scale.unwrap_or(ScoreScale::of(entry.info)),
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
        for field in inputs.fields() {
            needs = needs.without(field);
        }
        if reference.is_some() {
            needs = needs.without(Field::Reference);
        }
        Ok(Self {
            scale: scale.unwrap_or(ScoreScale::of(entry.info)),
            cache_head: cache_head(entry, &params, &spec),
            asks: spec.asks,
            prompt: spec.prompt,
            compat: spec.compat,
            bound: asks::Binding::new(),
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
            .paths()
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
            && (self.prompt.is_none() || self.prompt == other.prompt)
            && (self.compat.is_none() || self.compat == other.compat)
            && normal(self).is_some()
            && normal(self) == normal(other)
    }

    pub const fn direction(&self) -> Direction {
        self.scale.direction
    }

    /// Whether it asks models, so that it is judged by [`Check::begin`] and a session.
    pub fn asks_models(&self) -> bool {
        !self.asks.roles(self.info).is_empty()
    }

    /// The local method that it works by, in place of a model that is not named.
    pub fn local(&self) -> Option<&'static Local> {
        self.asks.local(self.info)
    }

    /// The check's models, made at the first call.
    pub fn bind(&self, session: &dyn ModelSession) -> Result<&Bound, &ModelError> {
        self.bound
            .get_or_init(|| self.asks.bind(self.info, session))
            .as_ref()
    }

    /// Judges one record by a check that asks no model.
    pub fn judge<'r>(
        &self,
        slots: &'r Slots<'r>,
        arena: &'r Bump,
        bench: &mut Bench,
        explain: bool,
    ) -> Judged {
        match self.begin(slots, arena, bench, explain) {
            Begun::Done(judged) => judged,
            Begun::Batched(..) | Begun::Asked(..) => self.settle(
                Cell::Errored(Code::Model(crate::model::ModelErrorKind::Config)),
                Some(because(
                    "this check asks models, and there are none".to_owned(),
                )),
            ),
        }
    }

    /// Judges one record as far as that goes without a model.
    pub fn begin<'r>(
        &self,
        slots: &'r Slots<'r>,
        arena: &'r Bump,
        bench: &mut Bench,
        explain: bool,
    ) -> Begun<'r> {
        if let Some(when) = &self.when {
            match when.holds(slots, arena) {
                Ok(true) => {}
                Ok(false) => return self.done(Cell::Skipped(Code::WhenFalse), None),
                Err(message) => {
                    return self.done(Cell::Errored(Code::InvalidExpression), Some(message));
                }
            }
        }
        if let Some(NoAnswer { message, retryable }) = slots.no_answer {
            let reason = format!("the target gave no answer: {message}");
            return self.done(
                Cell::Errored(Code::TargetFailed { retryable }),
                Some(reason),
            );
        }
        if self.inputs.is_empty() && self.reference.is_none() {
            return self.run(Row::new(slots), slots, arena, bench, explain);
        }
        match self.own_view(slots, arena) {
            Ok(view) => self.run(Row::new(arena.alloc(view)), slots, arena, bench, explain),
            Err((field, message)) => {
                self.done(Cell::Errored(Code::InvalidField(field)), Some(message))
            }
        }
    }

    /// The check's models, if they are made and usable.
    pub(crate) fn bound(&self) -> Option<&Bound> {
        self.bound.get()?.as_ref().ok()
    }

    /// An errored cell with its cause.
    pub(crate) fn failed(&self, code: Code, message: &str) -> Judged {
        self.settle(Cell::Errored(code), Some(because(message.to_owned())))
    }

    fn done<'r>(&self, cell: Cell, reason: Option<String>) -> Begun<'r> {
        Begun::Done(self.settle(cell, reason.map(because)))
    }

    /// The record with this check's `inputs` and `reference` in their places.
    fn own_view<'r>(
        &self,
        slots: &Slots<'r>,
        arena: &'r Bump,
    ) -> Result<Slots<'r>, (Field, String)> {
        let mut view = *slots;
        for (field, value) in self.inputs.values(slots, arena) {
            override_field(&mut view, field, value, arena)
                .map_err(|error| (field, error.to_string()))?;
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
        row: Row<'r>,
        slots: &Slots<'r>,
        arena: &'r Bump,
        bench: &mut Bench,
        explain: bool,
    ) -> Begun<'r> {
        match &self.scorer {
            CheckScorer::Ready(prepared) => self.score(prepared, row, &mut bench.scratch, explain),
            CheckScorer::Filled(template) => {
                let Bench {
                    scratch,
                    filled,
                    key,
                } = bench;
                match template.fill(slots, arena, filled, key) {
                    Ok(prepared) if self.is_turned(prepared) => self.done(
                        Cell::Errored(Code::InvalidParameter),
                        Some("the record's parameters turn the direction of the score; write a check of its own for them".to_owned()),
                    ),
                    Ok(prepared) => {
                        let begun = self.score(prepared, row, scratch, explain);
                        match begun {
                            Begun::Asked(scorer, row, _) => {
                                Begun::Asked(scorer, row, arena.alloc_str(key).as_bytes())
                            }
                            other => other,
                        }
                    }
                    Err((code, message)) => self.done(Cell::Errored(code), Some(message)),
                }
            }
        }
    }

    /// Whether parameters of the record mean that the other end of the scale is good, where a threshold stands.
    fn is_turned(&self, prepared: &Prepared) -> bool {
        self.threshold.is_some() && prepared.scale.direction != self.scale.direction
    }

    fn score<'r>(
        &self,
        prepared: &Prepared,
        row: Row<'r>,
        scratch: &mut Scratch,
        explain: bool,
    ) -> Begun<'r> {
        match &prepared.scorer {
            Scorer::Pure(scorer) => {
                let cell = scorer.score(&row, scratch);
                let explanation = explain.then(|| Box::new(scorer.explain(&row, cell, scratch)));
                Begun::Done(self.settle(cell, explanation))
            }
            Scorer::Batched(scorer) => Begun::Batched(Arc::clone(scorer), row),
            Scorer::Judged(scorer) => Begun::Asked(Arc::clone(scorer), row, b""),
        }
    }

    /// Scores a row by what models said of its texts.
    pub(crate) fn score_batched(
        &self,
        scorer: &dyn Batched,
        row: &Row<'_>,
        got: &Got<'_>,
        bench: &mut Bench,
    ) -> Judged {
        let cell = scorer.score(row, got, &mut bench.scratch);
        let explanation = scorer.explain(row, got, cell, &mut bench.scratch);
        self.settle(cell, Some(Box::new(explanation)))
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
                spent: None,
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
                spent: None,
            },
            (cell, _) => {
                let (verdict, natural) =
                    decide(cell, self.scale.direction, self.threshold, self.negate);
                Judged {
                    cell,
                    verdict,
                    natural,
                    explanation,
                    spent: None,
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
    /// What models were asked for it.
    pub spent: Option<Box<Spent>>,
}

impl Judged {
    /// The cell as reports count it.
    #[inline]
    pub(crate) fn answer(&self) -> Answer {
        match self.cell {
            Cell::Scored { .. } => Answer::Judged {
                score: self.cell.score(),
                verdict: self.verdict,
            },
            Cell::Skipped(_) => Answer::Skipped,
            Cell::Errored(_) => Answer::Errored,
        }
    }

    /// A cell that no judgement reached.
    pub(crate) const fn nothing() -> Self {
        Self {
            cell: Cell::Errored(Code::NothingToJudge),
            verdict: Some(Verdict::Inconclusive),
            natural: None,
            explanation: None,
            spent: None,
        }
    }
}

/// What one judgement by models took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    pub usage: Usage,
    /// Every answer came from a cache.
    pub cached: bool,
    pub took_ms: u32,
    /// Which of the check's repeats it is, from 1.
    pub repeat: u32,
}

/// A cell, or what is still to be asked of models.
pub enum Begun<'r> {
    Done(Judged),
    Batched(Arc<dyn Batched>, Row<'r>),
    /// With what the record filled parameters with.
    Asked(Arc<dyn JudgedScorer>, Row<'r>, &'r [u8]),
}

impl std::fmt::Debug for Begun<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Done(judged) => f.debug_tuple("Done").field(judged).finish(),
            Self::Batched(..) => f.write_str("Batched"),
            Self::Asked(..) => f.write_str("Asked"),
        }
    }
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
        cx: &Prepare<'_>,
        params: &Node,
        leaves: Vec<(String, RowPath)>,
    ) -> Result<Self, ParamErrors> {
        if leaves.is_empty() {
            return entry.prepare(params, cx).map(Self::Ready);
        }
        Template::new(entry.clone(), cx, params.clone(), leaves).map(Self::Filled)
    }

    /// The scale of its scores, where no record has a say in it.
    const fn scale(&self) -> Option<ScoreScale> {
        match self {
            Self::Ready(prepared) => Some(prepared.scale),
            Self::Filled(_) => None,
        }
    }

    /// The fields that it can't do without.
    const fn needs(&self, entry: &Entry) -> FieldSet {
        match self {
            Self::Ready(prepared) => prepared.needs,
            Self::Filled(_) => entry.info.needs.without(Field::Reference),
        }
    }
}

/// The evaluator, its parameters and all else that a verdict hangs on beside the row and the models.
fn cache_head(entry: &Entry, params: &Node, spec: &CheckSpec) -> Vec<u8> {
    let params = entry
        .normalise_params(params)
        .unwrap_or_else(|_| params.to_json());
    let local = spec.asks.local(entry.info);
    let head = (
        (entry.info.id, entry.info.version),
        local.map(|local| (local.method, local.version)),
        params,
        &spec.prompt,
        spec.compat,
        spec.asks.mode,
    );
    serde_json::to_vec(&head).unwrap_or_default()
}

fn check_verdict(
    scale: &ScoreScale,
    name: &str,
    negate: bool,
    threshold: Option<f64>,
    errors: &mut CheckErrors,
) {
    if negate && threshold.is_none() && !scale.natural_verdict {
        let message = format!("`{name}` only measures, so there is no verdict for `not` to negate");
        errors.push(CheckPlace::Not, message, Some("set a `threshold`"));
    }
    let Some(threshold) = threshold else { return };
    let (least, most) = scale.range;
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
