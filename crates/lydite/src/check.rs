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
use crate::evaluator::{Direction, Entry, Info, ParamError, ParamErrors, Prepare, Prepared, Scorer, Scratch};
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
    pub fn from_flat_params(name: &str, params: &Node) -> Result<Self, ParamErrors> {
        let mut params = params.clone();
        let mut spec = Self { name: name.to_owned(), references: true, ..Self::default() };
        if let NodeValue::Mapping(entries) = &mut params.value {
            let mut take = |key: &str| {
                let index = entries.iter().position(|(name, _)| name.as_str() == Some(key))?;
                Some(entries.remove(index).1)
            };
            if let Some(node) = take("threshold") {
                spec.threshold = Some(node.deserialize_into().map_err(|error| wrong("threshold", error))?);
            }
            if let Some(node) = take("not") {
                spec.negate = node.deserialize_into().map_err(|error| wrong("not", error))?;
            }
            if let Some(node) = take("on_missing") {
                spec.on_missing = node.deserialize_into().map_err(|error| wrong("on_missing", error))?;
            }
        }
        spec.params = Some(params);
        Ok(spec)
    }
}

fn wrong(key: &str, error: DeError) -> ParamErrors {
    ParamErrors::one(format!("/{key}"), error.message)
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
#[derive(Debug)]
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
        let mut condition = Self { fields: Vec::new(), extra: Vec::new(), expr };
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

    fn bind_extra(&mut self, wanted: &mut Wanted) -> Result<(), String> {
        let keys = self.expr.members("extra").ok_or("name a key below `extra`, such as `extra.city`")?;
        for key in keys {
            let path = FieldPath::parse(&format!("extra.{key}")).map_err(|error| error.to_string())?;
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
                let pairs = self.extra.iter().filter_map(|(key, path)| Some((key.as_str(), value(path)?)));
                return Some(Value::from_pairs(pairs));
            }
            self.fields.iter().find(|(known, _)| known == name).and_then(|(_, path)| value(path))
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
        None => format!("`{root}` is no field of a record; keys that are none are reached as `extra.{root}`"),
    }
}

impl Check {
    /// Compiles a check and adds what it reads to `wanted`.
    pub fn compile(entry: &Entry, spec: CheckSpec, wanted: &mut Wanted) -> Result<Self, ParamErrors> {
        let mut params = spec.params.unwrap_or_else(|| Node::from_json(&serde_json::json!({})));
        let mut inputs = Vec::new();
        for (field, path) in &spec.inputs {
            let bound = RowPath::new(path, true, wanted)
                .ok_or_else(|| ParamErrors::one("", format!("`{path}` is no path into a record")))?;
            inputs.push((*field, bound));
        }
        let own = if entry.reads_reference() { take_reference(entry, &mut params)? } else { None };
        let mut reference = None;
        if let Some(node) = own {
            match whole_reference(&node, spec.references) {
                Some(path) => {
                    let bound = RowPath::new(&path, false, wanted).ok_or_else(|| ParamErrors::one("", "is no record path"))?;
                    inputs.push((Field::Reference, bound));
                }
                None => reference = Some(OwnReference::new(&node)),
            }
        }
        let cx = Prepare { check: &spec.name };
        let mut notes = Vec::new();
        let leaves = if spec.references { find_references(&params, wanted, &mut notes) } else { Vec::new() };
        let (scorer, mut needs) = if leaves.is_empty() {
            let prepared = entry.prepare(&params, &cx)?;
            let needs = prepared.needs;
            (CheckScorer::Ready(prepared), needs)
        } else {
            let template = Template::new(entry.clone(), spec.name.clone(), params.clone(), leaves)?;
            let needs = entry.info.needs.without(Field::Reference);
            (CheckScorer::Filled(template), needs)
        };
        wanted.fields = wanted.fields.union(entry.info.reads);
        for (field, _) in &inputs {
            needs = needs.without(*field);
        }
        if reference.is_some() {
            needs = needs.without(Field::Reference);
        }
        let when = match spec.when {
            Some(source) => Some(Condition::new(&source, wanted).map_err(|error| ParamErrors::one("/when", error))?),
            None => None,
        };
        check_verdict(entry.info, &spec.name, spec.negate, spec.threshold)?;
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

    pub const fn direction(&self) -> Direction {
        self.info.direction
    }

    /// Judges one record.
    pub fn judge<'r>(&self, slots: &Slots<'r>, arena: &'r Bump, bench: &mut Bench, explain: bool) -> Judged {
        if let Some(when) = &self.when {
            match when.holds(slots, arena) {
                Ok(true) => {}
                Ok(false) => return self.settle(Cell::Skipped(Code::WhenFalse), None),
                Err(message) => return self.settle(Cell::Errored(Code::InvalidExpression), Some(Explanation::reason(message))),
            }
        }
        if self.inputs.is_empty() && self.reference.is_none() {
            return self.run(&Row::new(slots), slots, arena, bench, explain);
        }
        match self.own_view(slots, arena) {
            Ok(view) => self.run(&Row::new(arena.alloc(view)), slots, arena, bench, explain),
            Err((field, message)) => self.settle(Cell::Errored(Code::InvalidField(field)), Some(Explanation::reason(message))),
        }
    }

    /// The record with this check's `inputs` and `reference` in their places.
    fn own_view<'r>(&self, slots: &Slots<'r>, arena: &'r Bump) -> Result<Slots<'r>, (Field, String)> {
        let mut view = *slots;
        for (field, path) in &self.inputs {
            let value = path.resolve(slots, arena);
            override_field(&mut view, *field, value, arena).map_err(|error| (*field, error.to_string()))?;
        }
        if let Some(reference) = &self.reference {
            let source: &'r str = arena.alloc_str(&reference.source);
            let value = if reference.is_text { Raw::Text(source) } else { Raw::Json(source) };
            override_field(&mut view, Field::Reference, Some(value), arena)
                .map_err(|error| (Field::Reference, error.to_string()))?;
        }
        Ok(view)
    }

    fn run<'r>(&self, row: &Row<'_>, slots: &Slots<'r>, arena: &'r Bump, bench: &mut Bench, explain: bool) -> Judged {
        match &self.scorer {
            CheckScorer::Ready(prepared) => self.score(prepared, row, &mut bench.scratch, explain),
            CheckScorer::Filled(template) => {
                let Bench { scratch, filled, key } = bench;
                match template.fill(slots, arena, filled, key) {
                    Ok(prepared) => self.score(prepared, row, scratch, explain),
                    Err((code, message)) => self.settle(Cell::Errored(code), Some(Explanation::reason(message))),
                }
            }
        }
    }

    fn score(&self, prepared: &Prepared, row: &Row<'_>, scratch: &mut Scratch, explain: bool) -> Judged {
        let Scorer::Pure(scorer) = &prepared.scorer;
        let cell = scorer.score(row, scratch);
        let explanation = explain.then(|| scorer.explain(row, cell, scratch));
        self.settle(cell, explanation)
    }

    /// The one place where a cell gets its verdict: missing field, threshold, then `not`.
    fn settle(&self, cell: Cell, explanation: Option<Explanation>) -> Judged {
        let missing = matches!(cell, Cell::Errored(Code::MissingField(_) | Code::MissingPath));
        match (cell, self.on_missing) {
            (Cell::Errored(code), OnMissing::Skip) if missing => Judged { cell: Cell::Skipped(code), verdict: None, natural: None, explanation: None },
            (Cell::Errored(code), OnMissing::Fail) if missing => Judged {
                cell: Cell::Scored { score: None, natural: None, flags: 0 },
                verdict: Some(Verdict::Fail),
                natural: None,
                explanation: Some(explanation.filter(|e| e.reason.is_some()).unwrap_or_else(|| Explanation::reason(code.message()))),
            },
            (cell, _) => {
                let (verdict, natural) = decide(cell, self.info.direction, self.threshold, self.negate);
                Judged { cell, verdict, natural, explanation }
            }
        }
    }
}

/// One answer judged by one check.
#[derive(Clone, Debug)]
pub struct Judged {
    pub cell: Cell,
    pub verdict: Option<Verdict>,
    /// The evaluator's own verdict where a threshold or `not` replaced it.
    pub natural: Option<Verdict>,
    pub explanation: Option<Explanation>,
}

/// The verdict of a cell under a threshold and `not`, and the natural verdict where that differs
/// in kind (a threshold or `not` stands on the check).
pub fn decide(cell: Cell, direction: Direction, threshold: Option<f64>, negate: bool) -> (Option<Verdict>, Option<Verdict>) {
    let (score, natural) = match cell {
        Cell::Scored { score, natural, .. } => (score, natural),
        Cell::Skipped(_) => return (None, None),
        Cell::Errored(_) => return (Some(Verdict::Inconclusive), None),
    };
    let graded = match (threshold, score) {
        (Some(threshold), Some(score)) => Some(Verdict::from_bool(direction.meets(score.get(), threshold))),
        (Some(_), None) => Some(Verdict::Inconclusive),
        (None, _) => natural,
    };
    let verdict = if negate { graded.map(Verdict::negated) } else { graded };
    (verdict, if threshold.is_some() || negate { natural } else { None })
}

/// What one thread keeps between rows.
#[derive(Debug, Default)]
pub struct Bench {
    scratch: Scratch,
    filled: Filled,
    key: String,
}

fn check_verdict(info: &Info, name: &str, negate: bool, threshold: Option<f64>) -> Result<(), ParamErrors> {
    if negate && threshold.is_none() && !info.natural_verdict {
        return Err(ParamErrors::with_help(
            "/not",
            format!("`{name}` only measures, so there is no verdict for `not` to negate"),
            "set a `threshold`",
        ));
    }
    if let Some(threshold) = threshold {
        let (least, most) = info.range;
        if !threshold.is_finite() || least.is_some_and(|least| threshold < least) || most.is_some_and(|most| threshold > most) {
            let bound = |side: Option<f64>, open: &str| side.map_or_else(|| open.to_owned(), |side| side.to_string());
            return Err(ParamErrors::one(
                "/threshold",
                format!("threshold {threshold} is outside the evaluator's range, {} to {}", bound(least, "-∞"), bound(most, "∞")),
            ));
        }
    }
    Ok(())
}

/// Takes `reference` and its alias out of the parameters.
fn take_reference(entry: &Entry, params: &mut Node) -> Result<Option<Node>, ParamErrors> {
    let NodeValue::Mapping(entries) = &mut params.value else { return Ok(None) };
    let names: Vec<&str> = std::iter::once("reference").chain(entry.info.reference_alias).collect();
    let own_key = |key: &str| entry.schema.pointer(&format!("/properties/{key}")).is_some();
    let mut taken: Option<(String, Node)> = None;
    let mut index = 0;
    while let Some((key, _)) = entries.get(index) {
        let name = key.as_str().unwrap_or_default().to_owned();
        if !names.contains(&name.as_str()) || own_key(&name) {
            index += 1;
            continue;
        }
        let (_, value) = entries.remove(index);
        if let Some((first, _)) = &taken {
            return Err(ParamErrors::one(format!("/{name}"), format!("`{first}` and `{name}` are two names for the reference")));
        }
        if matches!(value.value, NodeValue::Null(_)) {
            return Err(ParamErrors::with_help(format!("/{name}"), "value is null", "quote it if you mean the text, or leave it out"));
        }
        taken = Some((name, value));
    }
    Ok(taken.map(|(_, value)| value))
}

impl OwnReference {
    /// Scalars keep their source text: a plain `1.10` is that text, and the number for JSON evaluators.
    fn new(node: &Node) -> Self {
        match node.as_str() {
            Some(text) if !node.is_plain() || crate::json::is_valid(text).is_err() || text.starts_with('"') => {
                Self { source: text.to_owned(), is_text: true }
            }
            Some(text) => Self { source: text.to_owned(), is_text: false },
            None => Self { source: node.to_json().to_string(), is_text: false },
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

fn find_references(params: &Node, wanted: &mut Wanted, notes: &mut Vec<String>) -> Vec<(String, RowPath)> {
    let mut leaves = Vec::new();
    params.walk(&mut |pointer, node| {
        if let Some(path) = whole_reference(node, true)
            && let Some(path) = RowPath::new(&path, false, wanted)
        {
            leaves.push((pointer.to_owned(), path));
        } else if let Some(inner) = node.as_str().and_then(placeholder)
            && FieldPath::parse(inner).is_ok()
            && inner.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'/'))
        {
            notes.push(format!("`{{{{ {inner} }}}}` names no record field and is taken as it is; did you mean `{{{{ extra.{inner} }}}}` or `{{{{ variables.{inner} }}}}`?"));
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
        f.debug_struct("Template").field("check", &self.check).field("leaves", &self.leaves).finish_non_exhaustive()
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
    fn new(entry: Entry, check: String, params: Node, leaves: Vec<(String, RowPath)>) -> Result<Self, ParamErrors> {
        let is_place = |node: &Node| whole_reference(node, true).is_some();
        let problems = crate::node::check_against_schema(&params, &entry.schema, &is_place);
        if problems.is_empty() {
            return Ok(Self { entry, check, params, leaves });
        }
        Err(ParamErrors(problems.into_iter().map(ParamError::from).collect()))
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
            let value = path
                .resolve(slots, arena)
                .ok_or_else(|| (Code::MissingPath, format!("the record has no `{path}`, which this check's parameters name")))?;
            key.push(if matches!(value, Raw::Text(_)) { '\u{1}' } else { '\u{2}' });
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
        entry.prepared.as_ref().map_err(|message| (Code::InvalidParameter, message.clone()))
    }

    fn prepare(&self, slots: &Slots<'_>, arena: &Bump, key: &str, hash: u64) -> FilledEntry {
        let mut params = self.params.clone();
        let mut places = Vec::new();
        for (pointer, path) in &self.leaves {
            let Some(value) = path.resolve(slots, arena) else { continue };
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
        FilledEntry { hash, key: key.into(), prepared }
    }
}

/// A record's JSON as parameters; scalars keep their source text.
fn json_node(source: &str) -> Node {
    Node::parse(source).unwrap_or_else(|_| Node::text(source, Span::default()))
}
