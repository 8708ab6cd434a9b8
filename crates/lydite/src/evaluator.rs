//! What an evaluator is, and the registry that suites are parsed against.
//!
//! An evaluator's parameter struct *is* the evaluator. It compiles once into a [`Scorer`]; what
//! then runs for each record allocates nothing that it can avoid.

mod page;
mod parameters;
mod scorer;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use scorer::{Batched, Got, Judged, Needs, PatternCache, Pure, Scorer, Scratch};
pub(crate) use scorer::{Names, Said, pair_key};

use crate::judge;
use crate::node::{Node, NodeValue, Problem, Span, check_against_schema};
use crate::outcome::{Cell, Code};
use crate::record::{Field, FieldSet, Row};

/// What is known of an evaluator before any parameter is given.
#[derive(Debug)]
pub struct Info {
    /// snake_case, the name of its file.
    pub id: &'static str,
    pub aliases: &'static [&'static str],
    pub origin: Origin,
    /// All fields that it may read; only they are parsed.
    pub reads: FieldSet,
    /// The fields that it can't do without, whatever its parameters.
    pub needs: FieldSet,
    /// The parameter that a plain value stands for: `contains: "30 days"`.
    pub principal: Option<&'static str>,
    /// Evaluators that read `reference` take a parameter of that name; this is one more name for it.
    pub reference_alias: Option<&'static str>,
    pub direction: Direction,
    /// Least and greatest score; `None` where it has no bound.
    pub range: (Option<f64>, Option<f64>),
    /// Whether it gives a verdict of its own, without a threshold.
    pub natural_verdict: bool,
    /// The models that it asks.
    pub models: &'static [Role],
    /// How it does without one of them, the best first.
    pub locals: &'static [Local],
    /// What it asks a judge, before places are filled; the first is the one that a check's `prompt` replaces.
    pub prompts: &'static [PromptText],
    /// Raised whenever equal input may give another result.
    pub version: u32,
    /// The warnings that bits of [`Cell::Scored`]'s `flags` stand for.
    pub warnings: &'static [Warning],
    pub examples: &'static [Example],
}

impl Info {
    /// What model-graded evaluators have in common: a judge is asked.
    pub const JUDGED: Self = Self {
        models: &[Role::Judge],
        ..Self::VERDICT
    };

    /// What most evaluators have in common: 1 and pass or 0 and fail. An evaluator says only what is
    /// otherwise with it.
    pub const VERDICT: Self = Self {
        id: "",
        aliases: &[],
        origin: Origin::Field,
        reads: FieldSet::EMPTY,
        needs: FieldSet::EMPTY,
        principal: None,
        reference_alias: None,
        direction: Direction::Higher,
        range: (Some(0.0), Some(1.0)),
        natural_verdict: true,
        models: &[],
        locals: &[],
        prompts: &[],
        version: 1,
        warnings: &[],
        examples: &[],
    };
}

/// A method by which an evaluator works on this machine, where a role that it asks is `local` or left out.
#[derive(Debug)]
pub struct Local {
    /// Its name in results: `refusal-head`.
    pub method: &'static str,
    /// Raised whenever equal input may give another result.
    pub version: u32,
    /// The role that it does without. Where a model of that role is named, this one is asked instead.
    pub replaces: Role,
    /// The models that it asks itself: an embedder is then always the built-in one, others have to be named.
    pub models: &'static [Role],
    /// What its page says of it, in Markdown: how it scores, how far it agrees with people and where it is blind.
    pub docs: &'static str,
    /// Records that show what it does.
    pub examples: &'static [Example],
}

/// The system that an evaluator comes from, and whose names and rules it keeps.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    ContextAi,
    Lynxius,
    #[serde(rename = "langchain")]
    LangChain,
    /// What most tools of the field have in one form or another.
    Field,
}

impl Origin {
    pub const ALL: [Self; 4] = [Self::ContextAi, Self::Lynxius, Self::LangChain, Self::Field];

    /// As it stands over a list.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ContextAi => "Context.ai",
            Self::Lynxius => "Lynxius",
            Self::LangChain => "LangChain",
            Self::Field => "Common in the field",
        }
    }
}

/// What a model is asked for.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A chat model that grades.
    Judge,
    Embedder,
    Moderator,
    /// A classifier of texts, on this machine.
    Classifier,
    /// A classifier of pairs: does the first text entail the second?
    Nli,
}

impl Role {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Judge => "judge",
            Self::Embedder => "embedder",
            Self::Moderator => "moderator",
            Self::Classifier => "classifier",
            Self::Nli => "nli",
        }
    }
}

/// Another system whose parser and quirks a check restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compat {
    LangchainJs,
    LangchainPy,
}

/// Which end of the scale is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Higher is better: a threshold is met from `>=`.
    Higher,
    /// Lower is better, as for a distance: a threshold is met by `<=`.
    Lower,
}

impl Direction {
    pub fn meets(self, score: f64, threshold: f64) -> bool {
        match self {
            Self::Higher => score >= threshold,
            Self::Lower => score <= threshold,
        }
    }

    fn better(self, score: f64, than: f64) -> bool {
        match self {
            Self::Higher => score > than,
            Self::Lower => score < than,
        }
    }
}

/// One of an evaluator's prompts, for its page.
#[derive(Clone, Copy, Debug)]
pub struct PromptText {
    /// What it is asked for, in a few words.
    pub of: &'static str,
    pub text: &'static str,
}

impl PromptText {
    pub const fn new(of: &'static str, text: &'static str) -> Self {
        Self { of, text }
    }
}

/// A warning that a result may carry.
#[derive(Debug)]
pub struct Warning {
    pub code: &'static str,
    pub text: &'static str,
}

/// One example: shown in the docs and by `lydite evaluators show`, and a test that must hold.
#[derive(Debug)]
pub struct Example {
    pub title: &'static str,
    /// YAML of the parameters, as they stand in a suite.
    pub params: &'static str,
    /// A record as JSON.
    pub record: &'static str,
    /// What the models answer, as [`ScriptedSession`](crate::model::scripted::ScriptedSession) reads it: a JSON list.
    pub replies: &'static str,
    /// The expected result as JSON: `verdict`, `score`, `error` (a code), `warnings` (codes).
    pub expect: &'static str,
}

impl Example {
    /// An example that asks no model.
    pub const PLAIN: Self = Self {
        title: "",
        params: "{}",
        record: "{}",
        replies: "[]",
        expect: "{}",
    };
}

/// The typed way to make an [`Entry`]. The doc comment of the parameter struct is the evaluator's
/// documentation: its first line is its line in lists; then When to use it, How it is scored,
/// Limits, References.
pub trait Evaluator: Serialize + DeserializeOwned + JsonSchema + 'static {
    const INFO: Info;

    /// The fields that it can't do without, with these parameters.
    fn needs(&self) -> FieldSet {
        Self::INFO.needs
    }

    /// Which end of its scale is good, the range of its scores and whether it gives a verdict of its own, with these
    /// parameters.
    fn scale(&self) -> ScoreScale {
        ScoreScale::of(&Self::INFO)
    }

    /// Compiles patterns, schemas, tables and prompts, once.
    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors>;
}

/// The scale of a check's scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreScale {
    pub direction: Direction,
    /// Least and greatest score; `None` where it has no bound.
    pub range: (Option<f64>, Option<f64>),
    pub natural_verdict: bool,
}

impl ScoreScale {
    pub const fn of(info: &Info) -> Self {
        Self {
            direction: info.direction,
            range: info.range,
            natural_verdict: info.natural_verdict,
        }
    }
}

/// What surrounds the preparation of a check.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prepare<'a> {
    /// The check's name, for messages.
    pub check: &'a str,
    /// Whether parameters may name files: they may where the suite's author wrote them, never where a record
    /// brought them.
    pub files: bool,
    /// The check's own prompt, in place of the evaluator's.
    pub prompt: Option<&'a str>,
    pub compat: Option<Compat>,
    /// The local method by which the check works, one of [`Info::locals`].
    pub local: Option<&'static Local>,
}

/// What is wrong with a check's parameters: every error, each with its place.
#[derive(Debug, Default, thiserror::Error)]
#[error("{}", self.0.iter().map(|p| p.message.as_str()).collect::<Vec<_>>().join("; "))]
pub struct ParamErrors(pub Vec<ParamError>);

/// One wrong parameter.
#[derive(Clone, Debug)]
pub struct ParamError {
    /// JSON Pointer inside the parameters; empty for the whole.
    pub path: String,
    /// Where it stands in the text, if that is known better than by the path.
    pub span: Span,
    pub message: String,
    pub help: Option<String>,
}

impl ParamErrors {
    pub fn one(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self(vec![ParamError {
            path: path.into(),
            span: Span::default(),
            message: message.into(),
            help: None,
        }])
    }

    /// The same with advice on what to do.
    pub fn with_help(
        path: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self(vec![ParamError {
            path: path.into(),
            span: Span::default(),
            message: message.into(),
            help: Some(help.into()),
        }])
    }
}

/// A check's evaluator with its parameters compiled.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub scorer: Scorer,
    pub needs: FieldSet,
    pub scale: ScoreScale,
}

type PrepareFn = dyn Fn(&Node, &Prepare<'_>) -> Result<Prepared, ParamErrors> + Send + Sync;

/// An evaluator in the registry.
#[derive(Clone)]
pub struct Entry {
    pub info: &'static Info,
    /// JSON Schema of its parameters; its `description` is the documentation.
    pub schema: Arc<serde_json::Value>,
    prepare: Arc<PrepareFn>,
    round_trip: fn(&Node) -> Result<serde_json::Value, String>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("id", &self.info.id)
            .finish_non_exhaustive()
    }
}

impl Entry {
    pub fn of<E: Evaluator>() -> Self {
        const {
            assert!(
                E::INFO.warnings.len() <= judge::FIRST_FLAG as usize,
                "the judges' own warnings begin there"
            );
        };
        Self {
            info: const { &E::INFO },
            schema: Arc::new(params_schema::<E>()),
            prepare: Arc::new(prepare::<E>),
            round_trip: |node| {
                let params = E::deserialize(node).map_err(|error| error.to_string())?;
                serde_json::to_value(params).map_err(|error| error.to_string())
            },
        }
    }

    /// Checks parameters against the schema (all errors at once), then compiles them.
    ///
    /// `params` is a mapping; `reference` and its alias are the caller's to take out first.
    pub fn prepare(&self, params: &Node, cx: &Prepare<'_>) -> Result<Prepared, ParamErrors> {
        let params = self.with_lists(params);
        self.check(&params, &|_| false)?;
        (self.prepare)(&params, cx)
    }

    /// Checks parameters against the schema; `is_place` tells those that each record fills.
    pub fn check(
        &self,
        params: &Node,
        is_place: &dyn Fn(&Node) -> bool,
    ) -> Result<(), ParamErrors> {
        let params = self.with_lists(params);
        let problems = check_against_schema(&params, &self.schema, is_place);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ParamErrors(
                problems.into_iter().map(ParamError::from).collect(),
            ))
        }
    }

    /// A plain value where a list is expected is a list of that one: `phrases: "Hello, world"`.
    fn with_lists<'n>(&self, params: &'n Node) -> Cow<'n, Node> {
        let is_list = |key: &Node| {
            let kind = key
                .as_str()
                .and_then(|key| self.schema.get("properties")?.get(key)?.get("type"));
            kind.is_some_and(|kind| kind == "array")
        };
        let is_single = |(key, value): &(Node, Node)| {
            matches!(value.value, NodeValue::Scalar(_)) && is_list(key)
        };
        if !params.entries().iter().any(is_single) {
            return Cow::Borrowed(params);
        }
        let mut params = params.clone();
        if let NodeValue::Mapping(entries) = &mut params.value {
            for (_, value) in entries.iter_mut().filter(|entry| is_single(entry)) {
                *value = Node {
                    span: value.span,
                    value: NodeValue::Sequence(vec![value.clone()]),
                };
            }
        }
        Cow::Owned(params)
    }

    /// The parameters read and written again, defaults filled in.
    pub fn normalise_params(&self, params: &Node) -> Result<serde_json::Value, String> {
        (self.round_trip)(&self.with_lists(params))
    }

    /// The whole documentation in Markdown.
    pub fn docs(&self) -> &str {
        self.schema
            .get("description")
            .and_then(serde_json::Value::as_str)
            .unwrap_or_default()
    }

    /// The documentation's first line.
    pub fn summary(&self) -> &str {
        self.docs().lines().next().unwrap_or_default()
    }

    pub fn has_name(&self, name: &str) -> bool {
        self.info.id == name || self.info.aliases.contains(&name)
    }

    pub fn reads_reference(&self) -> bool {
        self.info.reads.contains(Field::Reference)
    }
}

impl From<Problem> for ParamError {
    fn from(problem: Problem) -> Self {
        Self {
            path: problem.path,
            span: problem.span,
            message: problem.message,
            help: problem.help,
        }
    }
}

fn prepare<E: Evaluator>(params: &Node, cx: &Prepare<'_>) -> Result<Prepared, ParamErrors> {
    let evaluator = E::deserialize(params).map_err(|error| {
        ParamErrors(vec![ParamError {
            path: error.path,
            span: error.span,
            message: error.message,
            help: None,
        }])
    })?;
    let needs = evaluator.needs();
    let scale = evaluator.scale();
    Ok(Prepared {
        scorer: evaluator.prepare(cx)?,
        needs,
        scale,
    })
}

fn params_schema<E: Evaluator>() -> serde_json::Value {
    let mut schema = schemars::SchemaGenerator::default()
        .into_root_schema_for::<E>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
    }
    schema
}

/// The evaluators that suites may name.
#[derive(Clone, Debug)]
pub struct Registry {
    entries: Vec<Entry>,
    by_name: BTreeMap<&'static str, usize>,
}

impl Registry {
    /// All evaluators that Lydite ships.
    pub fn builtin() -> Self {
        crate::evaluators::ALL
            .iter()
            .fold(Self::empty(), |registry, entry| registry.with(entry()))
    }

    /// No evaluator at all, to be filled by [`Registry::with`].
    pub fn empty() -> Self {
        Self {
            entries: Vec::new(),
            by_name: BTreeMap::new(),
        }
    }

    /// The same with one more; an equal id or alias is replaced.
    #[must_use]
    pub fn with(mut self, entry: Entry) -> Self {
        for name in std::iter::once(&entry.info.id).chain(entry.info.aliases) {
            self.by_name.insert(name, self.entries.len());
        }
        self.entries.push(entry);
        self
    }

    /// By id or alias.
    pub fn get(&self, name: &str) -> Option<&Entry> {
        self.by_name
            .get(name)
            .and_then(|&index| self.entries.get(index))
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Every id and alias.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.by_name.keys().copied()
    }
}

/// A required field as text.
pub fn text_of<'r>(row: &Row<'r>, field: Field) -> Result<&'r str, Cell> {
    let content = match field {
        Field::Query => row.query(),
        Field::Output => row.output(),
        Field::Reference => row.reference(),
        _ => None,
    };
    let content = content.ok_or(Cell::Errored(Code::MissingField(field)))?;
    content.text().ok_or(Cell::Errored(Code::NotText(field)))
}

/// Scores `output` against each alternative of the reference; the best one counts.
///
/// Gives the cell and the position of the alternative that gave it.
pub fn best_reference<'r>(
    row: &Row<'r>,
    direction: Direction,
    mut score: impl FnMut(&'r str) -> Cell,
) -> (Cell, usize) {
    let references = row.references();
    let Some(first) = references.first() else {
        let code = if row.reference().is_some() {
            Code::NotText
        } else {
            Code::MissingField
        };
        return (Cell::Errored(code(Field::Reference)), 0);
    };
    let mut best = (score(first), 0);
    for (index, reference) in references.iter().enumerate().skip(1) {
        if matches!(best.0, Cell::Errored(Code::Model(_))) {
            break;
        }
        let cell = score(reference);
        // Which one is best can't be told where a model failed on one.
        if matches!(cell, Cell::Errored(Code::Model(_))) {
            return (cell, index);
        }
        let better = match (cell.score(), best.0.score()) {
            (Some(score), Some(than)) => direction.better(score, than),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if better {
            best = (cell, index);
        }
    }
    best
}
