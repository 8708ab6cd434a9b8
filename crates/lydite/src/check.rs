//! A check: an evaluator with parameters, a name, a threshold, and where it finds its fields.
//!
//! [`Check::compile`] does once what can be done once. Parameters that are read from the record
//! (`"{{ extra.phrase }}"`) are filled for each row and prepared through a bounded cache.

use std::fmt;

use bumpalo::Bump;
use hashbrown::HashTable;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::decode::{RowPath, Wanted, override_field};
use crate::evaluator::{Direction, Entry, Info, ParamErrors, Prepare, Prepared, Scorer, Scratch};
use crate::expr::{Expr, Value, value_from_json};
use crate::node::{DeError, Node, NodeValue, Span};
use crate::outcome::{Cell, Code, Explanation, Verdict};
use crate::path::FieldPath;
use crate::record::{Field, FieldSet, Raw, Row, Slots};

/// What a check does with a record that lacks a field it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnMissing {
    /// An error: inconclusive, counted as errored.
    #[default]
    Error,
    /// A fail without a score, whatever `not` says: in the pass rate, out of the mean.
    Fail,
    /// Skipped: counted, in no rate.
    Skip,
}

/// What a suite, a record or a command line says of one check, before it is compiled.
#[derive(Clone, Debug, Default)]
pub struct CheckSpec {
    pub name: String,
    /// Parameters as a mapping, `reference` among them.
    pub params: Option<Node>,
    pub threshold: Option<f64>,
    pub negate: bool,
    pub on_missing: OnMissing,
    pub when: Option<String>,
    pub inputs: Vec<(Field, FieldPath)>,
    /// False for a record's own checks: their parameters are literal.
    pub references: bool,
}

impl CheckSpec {
    /// A check whose `threshold`, `not` and `on_missing` stand among its parameters.
    pub fn from_flat_params(name: &str, params: &Node) -> Result<Self, CheckErrors> {
        let mut params = params.clone();
        let mut spec = Self {
            name: name.to_owned(),
            references: true,
            ..Self::default()
        };
        if let NodeValue::Mapping(entries) = &mut params.value {
            let mut take = |key: &str| {
                let index = entries
                    .iter()
                    .position(|(name, _)| name.as_str() == Some(key))?;
                Some(entries.remove(index).1)
            };
            if let Some(node) = take("threshold") {
                spec.threshold = Some(
                    node.deserialize_into()
                        .map_err(|error| wrong("threshold", error))?,
                );
            }
            if let Some(node) = take("not") {
                spec.negate = node
                    .deserialize_into()
                    .map_err(|error| wrong("not", error))?;
            }
            if let Some(node) = take("on_missing") {
                spec.on_missing = node
                    .deserialize_into()
                    .map_err(|error| wrong("on_missing", error))?;
            }
        }
        spec.params = Some(params);
        Ok(spec)
    }
}

fn wrong(key: &str, error: DeError) -> CheckErrors {
    let place = CheckPlace::Params(format!("/{key}"));
    CheckErrors(vec![CheckError {
        place,
        span: error.span,
        message: error.message,
        help: None,
    }])
}

/// What is wrong with a check: every error, each with the part of the check it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; "))]
pub struct CheckErrors(pub Vec<CheckError>);

/// One error of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError {
    pub place: CheckPlace,
    /// Where the parameters were read from; unknown where the part as a whole is meant.
    pub span: Span,
    pub message: String,
    pub help: Option<String>,
}

/// A part of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckPlace {
    /// A JSON Pointer inside the parameters; empty for the whole.
    Params(String),
    /// The path that `inputs` gives for a field.
    Input(Field),
    When,
    Threshold,
    Not,
}

impl CheckErrors {
    fn push(&mut self, place: CheckPlace, message: impl Into<String>, help: Option<&str>) {
        self.0.push(CheckError {
            place,
            span: Span::default(),
            message: message.into(),
            help: help.map(str::to_owned),
        });
    }

    fn params(&mut self, errors: ParamErrors) {
        self.0.extend(errors.0.into_iter().map(|error| CheckError {
            place: CheckPlace::Params(error.path),
            span: error.span,
            message: error.message,
            help: error.help,
        }));
    }
}

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

/// The check's own `reference` parameter.
#[derive(Debug, PartialEq, Eq)]
struct OwnReference {
    source: String,
    is_text: bool,
}

/// A compiled `when` or `where` and the fields it reads.
#[derive(Debug)]
pub struct Condition {
    expr: Expr,
    fields: Vec<(String, RowPath)>,
    /// Keys below `extra`.
    extra: Vec<(String, RowPath)>,
}

impl Condition {
    /// Compiles an expression over a record's fields (`extra.<key>` for the other keys).
    pub fn new(source: &str, wanted: &mut Wanted) -> Result<Self, String> {
        let expr = Expr::compile(source).map_err(|error| error.to_string())?;
        let mut condition = Self {
            fields: Vec::new(),
            extra: Vec::new(),
            expr,
        };
        let roots: Vec<String> = condition.expr.roots().iter().cloned().collect();
        for root in roots {
            if root == "extra" {
                condition.bind_extra(wanted)?;
                continue;
            }
            let path = FieldPath::parse(&root).map_err(|error| error.to_string())?;
            let path = RowPath::new(&path, false, wanted).ok_or_else(|| unknown_root(&root))?;
            condition.fields.push((root, path));
        }
        Ok(condition)
    }

    /// Whether it looks at the record's id.
    pub fn reads_id(&self) -> bool {
        self.fields
            .iter()
            .any(|(root, _)| root == Field::Id.as_str())
    }

    fn bind_extra(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        let keys = self
            .expr
            .members("extra")
            .ok_or("name a key below `extra`, such as `extra.city`")?;
        for key in keys {
            let path =
                FieldPath::parse(&format!("extra.{key}")).map_err(|error| error.to_string())?;
            if let Some(path) = RowPath::new(&path, false, wanted) {
                self.extra.push((key.to_owned(), path));
            }
        }
        Ok(())
    }

    /// Whether it holds for a record; an error where it gives no boolean.
    pub fn holds(&self, slots: &Slots<'_>, arena: &Bump) -> Result<bool, String> {
        let value = |path: &RowPath| match path.resolve(slots, arena)? {
            Raw::Text(text) => Some(Value::from(text)),
            Raw::Json(source) => value_from_json(source).ok(),
        };
        let lookup = |name: &str| {
            if name == "extra" {
                let pairs = self
                    .extra
                    .iter()
                    .filter_map(|(key, path)| Some((key.as_str(), value(path)?)));
                return Some(Value::from_pairs(pairs));
            }
            self.fields
                .iter()
                .find(|(known, _)| known == name)
                .and_then(|(_, path)| value(path))
        };
        self.expr.eval(&lookup).map_err(|error| error.to_string())
    }
}

fn unknown_root(root: &str) -> String {
    let nearest = Field::ALL
        .into_iter()
        .map(Field::as_str)
        .max_by(|a, b| strsim::jaro_winkler(a, root).total_cmp(&strsim::jaro_winkler(b, root)))
        .filter(|name| strsim::jaro_winkler(name, root) > 0.8);
    match nearest {
        Some(name) => format!("`{root}` is no field of a record; did you mean `{name}`?"),
        None => format!(
            "`{root}` is no field of a record; keys that are none are reached as `extra.{root}`"
        ),
    }
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
        let scorer = CheckScorer::new(entry, &spec.name, &params, leaves);
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
    ) -> Result<Self, ParamErrors> {
        if leaves.is_empty() {
            return entry.prepare(params, &Prepare { check }).map(Self::Ready);
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

/// Where a check's reference comes from, if a parameter says so.
enum Reference {
    Own(OwnReference),
    /// `{{ path }}`.
    Path(FieldPath),
}

fn own_reference(
    entry: &Entry,
    params: &mut Node,
    references: bool,
    notes: &mut Vec<String>,
    errors: &mut CheckErrors,
) -> Option<Reference> {
    if !entry.reads_reference() {
        return None;
    }
    let node = take_reference(entry, params).unwrap_or_else(|wrong| {
        errors.params(wrong);
        None
    })?;
    if let Some(path) = whole_reference(&node, references) {
        return Some(Reference::Path(path));
    }
    notes.extend(literal_place(&node).filter(|_| references));
    Some(Reference::Own(OwnReference::new(&node)))
}

/// Takes `reference` and its alias out of the parameters.
fn take_reference(entry: &Entry, params: &mut Node) -> Result<Option<Node>, ParamErrors> {
    let NodeValue::Mapping(entries) = &mut params.value else {
        return Ok(None);
    };
    let names: Vec<&str> = std::iter::once("reference")
        .chain(entry.info.reference_alias)
        .collect();
    let own_key = |key: &str| {
        entry
            .schema
            .pointer(&format!("/properties/{key}"))
            .is_some()
    };
    let mut taken: Option<(String, Node)> = None;
    let mut index = 0;
    while let Some((key, _)) = entries.get(index) {
        let name = key.as_str().unwrap_or_default().to_owned();
        if !names.contains(&name.as_str()) {
            index += 1;
            continue;
        }
        let is_null = entries.get(index).is_some_and(|(_, value)| value.is_null());
        if own_key(&name) && !is_null {
            index += 1;
            continue;
        }
        let (_, value) = entries.remove(index);
        if is_null {
            return Err(ParamErrors::with_help(
                format!("/{name}"),
                "value is null",
                "quote it if you mean the text, or leave it out",
            ));
        }
        if let Some((first, _)) = &taken {
            return Err(ParamErrors::one(
                format!("/{name}"),
                format!("`{first}` and `{name}` are two names for the reference"),
            ));
        }
        taken = Some((name, value));
    }
    Ok(taken.map(|(_, value)| value))
}

impl OwnReference {
    /// Scalars keep their source text: a plain `1.10` is that text, and the number for JSON evaluators.
    fn new(node: &Node) -> Self {
        if let Some(text) = node.as_str() {
            return Self {
                source: text.to_owned(),
                is_text: !is_json_scalar(node),
            };
        }
        let mut source = String::new();
        write_json(node, &mut source);
        Self {
            source,
            is_text: false,
        }
    }
}

/// Whether a plain scalar is written as JSON writes numbers and booleans.
fn is_json_scalar(node: &Node) -> bool {
    let is_json = |text: &str| !text.starts_with('"') && crate::json::is_valid(text).is_ok();
    node.is_plain() && node.as_str().is_some_and(is_json)
}

/// A node as JSON whose numbers keep their source text, however many digits they have.
fn write_json(node: &Node, out: &mut String) {
    let comma = |out: &mut String, index: usize| out.push_str(if index > 0 { "," } else { "" });
    match &node.value {
        NodeValue::Scalar(scalar) if is_json_scalar(node) => out.push_str(&scalar.text),
        NodeValue::Scalar(_) | NodeValue::Null(_) => out.push_str(&node.to_json().to_string()),
        NodeValue::Sequence(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                comma(out, index);
                write_json(item, out);
            }
            out.push(']');
        }
        NodeValue::Mapping(entries) => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                comma(out, index);
                out.push_str(
                    &serde_json::Value::from(key.as_str().unwrap_or_default()).to_string(),
                );
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
    }
}

/// `{{ path }}` where it is the whole text and the path begins with a record field.
fn whole_reference(node: &Node, allowed: bool) -> Option<FieldPath> {
    let inner = placeholder(node.as_str()?)?;
    let path = FieldPath::parse(inner).ok()?;
    (allowed && (path.root() == "extra" || Field::from_name(path.root()).is_some())).then_some(path)
}

fn placeholder(text: &str) -> Option<&str> {
    let inner = text.strip_prefix("{{")?.strip_suffix("}}")?.trim();
    (!inner.is_empty() && !inner.contains(['{', '}'])).then_some(inner)
}

/// A warning for braces that look like a place and are none.
fn literal_place(node: &Node) -> Option<String> {
    let text = node.as_str()?;
    if let Some(inner) = placeholder(text) {
        return is_path(inner).then(|| {
            format!("`{{{{ {inner} }}}}` names no record field and is taken as it is; did you mean `{{{{ extra.{inner} }}}}` or `{{{{ variables.{inner} }}}}`?")
        });
    }
    let (_, rest) = text.split_once("{{")?;
    let (inner, _) = rest.split_once("}}")?;
    let inner = inner.trim();
    is_path(inner).then(|| {
        format!("`{{{{ {inner} }}}}` within a text is taken as it is; a parameter is read from the record where the whole of it is such a place")
    })
}

fn is_path(inner: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/');
    !inner.starts_with(|c: char| c.is_ascii_digit())
        && inner.bytes().all(is_part)
        && FieldPath::parse(inner).is_ok()
}

fn find_references(
    params: &Node,
    wanted: &mut Wanted,
    notes: &mut Vec<String>,
) -> Vec<(String, RowPath)> {
    let mut leaves = Vec::new();
    params.walk(&mut |pointer, node| {
        if let Some(path) = whole_reference(node, true)
            && let Some(path) = RowPath::new(&path, false, wanted)
        {
            leaves.push((pointer.to_owned(), path));
        } else {
            notes.extend(literal_place(node));
        }
    });
    leaves
}

/// Parameters with places that each record fills.
struct Template {
    entry: Entry,
    check: String,
    params: Node,
    leaves: Vec<(String, RowPath)>,
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Template")
            .field("check", &self.check)
            .field("leaves", &self.leaves)
            .finish_non_exhaustive()
    }
}

/// Filled parameter sets that are kept ready, by hash of what filled them.
const MAX_FILLED: usize = 1024;

type Filled = HashTable<FilledEntry>;

#[derive(Debug)]
struct FilledEntry {
    hash: u64,
    key: Box<str>,
    prepared: Result<Prepared, String>,
}

impl Template {
    fn new(
        entry: Entry,
        check: String,
        params: Node,
        leaves: Vec<(String, RowPath)>,
    ) -> Result<Self, ParamErrors> {
        entry.check(&params, &|node| whole_reference(node, true).is_some())?;
        Ok(Self {
            entry,
            check,
            params,
            leaves,
        })
    }

    fn fill<'c, 'r>(
        &self,
        slots: &Slots<'r>,
        arena: &'r Bump,
        filled: &'c mut Filled,
        key: &mut String,
    ) -> Result<&'c Prepared, (Code, String)> {
        key.clear();
        key.push_str(&self.check);
        for (_, path) in &self.leaves {
            let value = path.resolve(slots, arena).ok_or_else(|| {
                (
                    Code::MissingPath,
                    format!("the record has no `{path}`, which this check's parameters name"),
                )
            })?;
            key.push(if matches!(value, Raw::Text(_)) {
                '\u{1}'
            } else {
                '\u{2}'
            });
            key.push_str(value.source());
        }
        let hash = twox_hash::XxHash3_64::oneshot(key.as_bytes());
        if filled.len() >= MAX_FILLED && filled.find(hash, |entry| *entry.key == **key).is_none() {
            filled.clear();
        }
        let entry = filled
            .entry(hash, |entry| *entry.key == **key, |entry| entry.hash)
            .or_insert_with(|| self.prepare(slots, arena, key, hash))
            .into_mut();
        entry
            .prepared
            .as_ref()
            .map_err(|message| (Code::InvalidParameter, message.clone()))
    }

    fn prepare(&self, slots: &Slots<'_>, arena: &Bump, key: &str, hash: u64) -> FilledEntry {
        let mut params = self.params.clone();
        let mut places = Vec::new();
        for (pointer, path) in &self.leaves {
            let Some(value) = path.resolve(slots, arena) else {
                continue;
            };
            places.push(path.to_string());
            if let Some(node) = params.pointer_mut(pointer) {
                *node = match value {
                    Raw::Text(text) => Node::text(text, Span::default()),
                    Raw::Json(source) => json_node(source),
                };
            }
        }
        let prepared = self
            .entry
            .prepare(&params, &Prepare { check: &self.check })
            .map_err(|errors| format!("{} (read from {})", errors, places.join(", ")));
        FilledEntry {
            hash,
            key: key.into(),
            prepared,
        }
    }
}

/// A record's JSON as parameters; scalars keep their source text.
fn json_node(source: &str) -> Node {
    Node::parse(source).unwrap_or_else(|_| Node::text(source, Span::default()))
}
