//! From texts to a suite: reads every source, names the checks, compiles them, reads the gates.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::dataset::{self, DatasetSpec};
use super::draft::{Draft, known, note_idle_inputs, report, spec};
use super::error::{Desk, Source, SuiteError, SuiteErrors, key_text};
use super::forms;
use super::gate::{Gate, Known};
use super::inputs::{self, Input};
use super::scope::{Author, Definitions, Scope};
use super::{Place, Suite, custom, keys, models, secrets, target};
use crate::check::{Check, Condition};
use crate::decode::Wanted;
use crate::evaluator::Registry;
use crate::node::{Node, NodeValue, Span};
use crate::record::Field;
use crate::target::TargetSpec;

/// Makes a suite of a file, of checks given as text, or of both.
#[derive(Debug)]
pub struct SuiteBuilder<'r> {
    registry: &'r Registry,
    file: Option<Source>,
    checks: Vec<Source>,
    filter: Option<String>,
    stored: bool,
    openai_key: Option<bool>,
}

impl<'r> SuiteBuilder<'r> {
    pub fn new(registry: &'r Registry) -> Self {
        Self {
            registry,
            file: None,
            checks: Vec::new(),
            filter: None,
            stored: false,
            openai_key: None,
        }
    }

    /// A suite file's text and path.
    pub fn file(mut self, text: &str, path: &str) -> Self {
        self.file = Some(Source::new(path, text));
        self
    }

    /// One more check: an id, or `ID: {parameters}` or the long form as YAML. The text of `--check`.
    pub fn check_text(mut self, text: &str) -> Self {
        self.checks.push(Source::new("", text));
        self
    }

    /// One more condition on records, beside the suite's own `where`. The text of `--where`.
    pub fn filter(mut self, expression: &str) -> Self {
        self.filter = Some(expression.to_owned());
        self
    }

    /// The suite of a run that is over: prompts in files are not read again.
    pub fn stored(mut self) -> Self {
        self.stored = true;
        self
    }

    /// Whether `OpenAI`'s key is at hand, for `moderator: auto`; else the environment says so.
    pub fn openai_key(mut self, is_set: bool) -> Self {
        self.openai_key = Some(is_set);
        self
    }

    /// The whole suite, or all that is wrong with it. No record may bring checks of its own.
    pub fn build(self) -> Result<Suite, SuiteErrors> {
        self.build_before_data()?.settle(false)
    }

    /// The same where records may yet bring their own checks: a suite without checks and gates on
    /// unknown ones are settled by [`Suite::settle`], once the first records are known.
    pub fn build_before_data(self) -> Result<Suite, SuiteErrors> {
        let mut draft = SuiteDraft::new(self.registry);
        draft.stored = self.stored;
        draft.definitions.openai_key = self.openai_key.unwrap_or_else(has_openai_key);
        if let Some(file) = self.file {
            draft.read_file(file);
        }
        let many = self.checks.len() > 1;
        for (index, check) in self.checks.into_iter().enumerate() {
            let name = if many {
                format!("--check (number {})", index + 1)
            } else {
                "--check".to_owned()
            };
            draft.read_check_text(Source::new(name, check.text));
        }
        if let Some(filter) = self.filter {
            draft.read_filter(&filter);
        }
        draft.finish()
    }
}

fn has_openai_key() -> bool {
    std::env::var_os("OPENAI_API_KEY").is_some_and(|key| !key.is_empty())
}

/// The source name of a given condition.
const WHERE: &str = "--where";

/// A check and the source it stands in, by position in [`SuiteDraft::desks`].
struct Placed {
    draft: Draft,
    desk: usize,
}

struct SuiteDraft<'r> {
    registry: &'r Registry,
    /// One a source, the suite's file first.
    desks: Vec<Desk>,
    has_file: bool,
    name: Option<String>,
    dataset: Option<DatasetSpec>,
    /// Read last: it may name a model that stands after it.
    target: Option<Node>,
    checks: Vec<Placed>,
    inputs: Vec<Input>,
    gates: Vec<(String, Span)>,
    /// Where a missing list of checks is reported.
    root: Span,
    /// Some check could not be read, and may have the name that a gate asks for.
    unread: bool,
    filter: Option<(String, usize)>,
    definitions: Definitions,
    /// The suite file's folder; empty where there is none.
    folder: PathBuf,
    stored: bool,
}

impl<'r> SuiteDraft<'r> {
    fn new(registry: &'r Registry) -> Self {
        Self {
            registry,
            desks: Vec::new(),
            has_file: false,
            name: None,
            dataset: None,
            target: None,
            checks: Vec::new(),
            inputs: Vec::new(),
            gates: Vec::new(),
            root: Span::default(),
            unread: false,
            filter: None,
            definitions: Definitions::default(),
            folder: PathBuf::new(),
            stored: false,
        }
    }

    fn read_file(&mut self, source: Source) {
        let mut desk = Desk::new(source);
        self.has_file = true;
        if let Some(folder) = Path::new(&*desk.source.name).parent() {
            folder.clone_into(&mut self.folder);
        }
        match Node::parse(&desk.source.text) {
            Ok(root) => {
                secrets::hide(&mut desk, &root);
                self.read_root(&mut desk, &root);
            }
            Err(error) => desk.error(error.span, error.message, ""),
        }
        self.desks.push(desk);
    }

    fn read_root(&mut self, desk: &mut Desk, root: &Node) {
        let entries = match &root.value {
            NodeValue::Mapping(entries) => entries,
            NodeValue::Null(_) => {
                return desk.error(Span::default(), "the suite is empty", EXAMPLE);
            }
            NodeValue::Sequence(_) => {
                return desk.error(
                    root.span,
                    "a suite is a mapping, not a list",
                    "put the list under `checks:`",
                );
            }
            NodeValue::Scalar(_) => {
                return desk.error(root.span, "a suite is a mapping, not a text", EXAMPLE);
            }
        };
        self.root = Span {
            end_byte: root.span.start_byte,
            ..root.span
        };
        self.read_definitions(desk, entries);
        let mut lists: Vec<&Node> = Vec::new();
        let mut key_inputs = Vec::new();
        for (key, value) in entries {
            match key_text(key) {
                "version" => read_version(desk, value),
                "name" => self.name = desk.text("name", value).map(str::to_owned),
                "dataset" => self.dataset = dataset::read(desk, value),
                "target" => self.target = Some(value.clone()).filter(|target| !target.is_null()),
                "checks" | "evaluators" => {
                    lists.push(key);
                    self.read_checks(desk, key_text(key), value);
                }
                "gates" => self.read_gates(desk, value),
                name @ ("inputs" | "formatEvaluatorInputs") => {
                    let read = inputs::read(desk, name, value);
                    inputs::fill_up(&mut self.inputs, read);
                }
                name @ "input_key" => {
                    key_inputs.extend(inputs::read_key(desk, name, Field::Query, value));
                }
                name @ "prediction_key" => {
                    key_inputs.extend(inputs::read_key(desk, name, Field::Output, value));
                }
                name @ "reference_key" => {
                    key_inputs.extend(inputs::read_key(desk, name, Field::Reference, value));
                }
                "models" | "eval_llm" | "custom_evaluators" => {}
                name => unknown_root_key(desk, key, name),
            }
        }
        inputs::fill_up(&mut self.inputs, key_inputs);
        if let [_, second, ..] = lists.as_slice() {
            desk.error(
                second.span,
                "`checks` and `evaluators` are two names for one list",
                "join them under `checks:`",
            );
        }
        if root.get("version").is_none() && root.get("checks").is_some() {
            desk.note(
                self.root,
                "the suite names no `version` and is read as version 1",
            );
        }
    }

    fn read_checks(&mut self, desk: &mut Desk, what: &str, node: &Node) {
        if node.is_null() {
            return;
        }
        let Some(items) = desk.list(what, node, "put `- ` before each check") else {
            self.unread = true;
            return;
        };
        for item in items {
            self.read_check(desk, item);
        }
    }

    fn read_check(&mut self, desk: &mut Desk, node: &Node) {
        let scope = Scope {
            registry: self.registry,
            definitions: &self.definitions,
            author: if self.stored {
                Author::Stored
            } else {
                Author::Suite(&self.folder)
            },
        };
        match forms::read(desk, &scope, node) {
            Some(draft) => self.checks.push(Placed {
                draft,
                desk: self.desks.len(),
            }),
            None => self.unread = true,
        }
    }

    /// What checks name is read before them.
    fn read_definitions(&mut self, desk: &mut Desk, entries: &[(Node, Node)]) {
        let find = |name: &str| entries.iter().find(|(key, _)| key_text(key) == name);
        let openai_key = self.definitions.openai_key;
        if let Some((_, node)) = find("models") {
            self.definitions.models = models::read(desk, node, openai_key);
        }
        if let Some((key, value)) = find("eval_llm") {
            models::read_eval_llm(desk, &mut self.definitions.models, key, value);
        }
        if let Some((_, node)) = find("custom_evaluators") {
            let models = &self.definitions.models;
            self.definitions.custom_evaluators = custom::read(desk, self.registry, models, node);
        }
    }

    fn read_gates(&mut self, desk: &mut Desk, node: &Node) {
        const HELP: &str = "write a gate as text, such as `- golden_response.pass_rate >= 90%`";
        if node.is_null() {
            return;
        }
        let Some(items) = desk.list("gates", node, HELP) else {
            return;
        };
        for item in items {
            match item.as_str() {
                Some(text) => self.gates.push((text.to_owned(), item.span)),
                None => desk.error(
                    item.span,
                    format!("a gate must be text, found a {}", item.kind_name()),
                    HELP,
                ),
            }
        }
    }

    fn read_check_text(&mut self, source: Source) {
        let mut desk = Desk::new(source);
        match Node::parse(&desk.source.text) {
            Ok(node) => {
                secrets::hide(&mut desk, &node);
                self.read_check(&mut desk, &node);
            }
            Err(error) => desk.error(
                error.span,
                error.message,
                "write an id, or `ID: {parameter: value}`",
            ),
        }
        self.desks.push(desk);
    }

    fn read_filter(&mut self, expression: &str) {
        self.filter = Some((expression.to_owned(), self.desks.len()));
        self.desks.push(Desk::new(Source::new(WHERE, expression)));
    }

    fn finish(mut self) -> Result<Suite, SuiteErrors> {
        self.name_checks();
        let mut wanted = Wanted::default();
        let condition = self.compile_condition(&mut wanted);
        let checks = self.compile_checks(&mut wanted);
        let target = self.compile_target(&mut wanted);
        let target_place = self.target_place();
        let (gates, mut unsettled) = self.compile_gates(checks.as_deref());
        let wrong = self.desks.iter().any(|desk| !desk.errors.is_empty());
        let Some(checks) = checks.filter(|_| !wrong) else {
            if let Some(desk) = self.desks.first_mut() {
                desk.errors.append(&mut unsettled);
            }
            return Err(SuiteErrors(
                self.desks
                    .into_iter()
                    .flat_map(|desk| in_order(desk.errors))
                    .collect(),
            ));
        };
        if checks.is_empty() {
            unsettled.insert(0, self.no_check());
        }
        let unsettled_notes = self.unused_models();
        Ok(Suite {
            version: super::SUITE_VERSION,
            places: self
                .checks
                .iter()
                .filter_map(|placed| self.place(placed))
                .collect(),
            source: self.source(),
            added: self.added().map(|desk| desk.source.clone()).collect(),
            notes: self
                .desks
                .iter()
                .flat_map(|desk| in_order(desk.notes.clone()))
                .map(|note| note_line(&note.source, note.span, &note.message))
                .collect(),
            name: self.name,
            target_place,
            target,
            dataset: self.dataset,
            checks,
            gates,
            condition,
            wanted,
            definitions: self.definitions,
            unsettled,
            unsettled_notes,
        })
    }

    /// A line for each model that was named for nothing.
    fn unused_models(&self) -> Vec<String> {
        let Some(desk) = self.desks.first() else {
            return Vec::new();
        };
        let of_target = self
            .target
            .as_ref()
            .and_then(|target| target.get("model")?.as_str());
        let used: BTreeSet<&str> = self
            .checks
            .iter()
            .flat_map(|placed| &placed.draft.names_models)
            .map(String::as_str)
            .chain(of_target)
            .collect();
        let unused = self.definitions.models.unused(|name| used.contains(name));
        let lines = unused.map(|(span, message)| note_line(&desk.source, span, &message));
        lines.collect()
    }

    fn place(&self, placed: &Placed) -> Option<Place> {
        let desk = self.desks.get(placed.desk)?;
        Some(Place {
            source: desk.source.clone(),
            span: placed.draft.places.check,
        })
    }

    fn target_place(&self) -> Option<Place> {
        Some(Place {
            source: self.desks.first()?.source.clone(),
            span: self.target.as_ref()?.span,
        })
    }

    fn compile_target(&mut self, wanted: &mut Wanted) -> Option<TargetSpec> {
        let node = self.target.as_ref()?;
        let desk = self.desks.first_mut()?;
        target::read(desk, node, wanted, &self.definitions.models)
    }

    /// The checks given as text.
    fn added(&self) -> impl Iterator<Item = &Desk> {
        self.desks
            .iter()
            .skip(usize::from(self.has_file))
            .filter(|desk| &*desk.source.name != WHERE)
    }

    /// Gives every check its name: first the given ones, which may not clash, then the others,
    /// which make room.
    fn name_checks(&mut self) {
        let mut names = Names::default();
        let mut given: HashMap<String, (usize, Span)> = HashMap::new();
        for placed in &self.checks {
            let Some((name, span)) = &placed.draft.name else {
                continue;
            };
            let Some((desk, first)) = given.get(name) else {
                names.take(name);
                given.insert(name.clone(), (placed.desk, *span));
                continue;
            };
            let place = match self.desks.get(*desk) {
                Some(other) if *desk != placed.desk => {
                    format!("{}:{}", other.source.name, first.line)
                }
                _ => format!("line {}", first.line),
            };
            if let Some(desk) = self.desks.get_mut(placed.desk) {
                desk.error(
                    *span,
                    format!("the name `{name}` is taken by the check at {place}"),
                    "give one of the two another name",
                );
            }
        }
        for placed in &mut self.checks {
            if placed.draft.name.is_some() {
                continue;
            }
            placed.draft.name = Some((
                names.free(&placed.draft.default_name),
                placed.draft.places.evaluator,
            ));
        }
    }

    /// All checks, or `None` where one has an error.
    fn compile_checks(&mut self, wanted: &mut Wanted) -> Option<Vec<Check>> {
        let mut checks = Vec::with_capacity(self.checks.len());
        let mut complete = true;
        for placed in &mut self.checks {
            let Some(desk) = self.desks.get_mut(placed.desk) else {
                continue;
            };
            let draft = &mut placed.draft;
            note_idle_inputs(desk, draft);
            if draft.incomplete {
                complete = false;
                continue;
            }
            let defaults = self
                .inputs
                .iter()
                .filter(|input| draft.entry.info.reads.contains(input.field))
                .cloned();
            inputs::fill_up(&mut draft.inputs, defaults);
            match Check::compile(&draft.entry, spec(draft, true), wanted) {
                Ok(check) => {
                    for note in &check.notes {
                        desk.note(draft.places.check, note.clone());
                    }
                    checks.push(check);
                }
                Err(errors) => {
                    complete = false;
                    report(desk, draft, errors);
                }
            }
        }
        complete.then_some(checks)
    }

    /// The suite's own `where` and the given one, joined.
    fn compile_condition(&mut self, wanted: &mut Wanted) -> Option<Condition> {
        let own = self
            .dataset
            .as_ref()
            .and_then(|dataset| Some((dataset.filter.clone()?, dataset.filter_span)));
        let mut parts: Vec<String> = Vec::new();
        let own = own.map(|(text, span)| (text, 0, span, "`where`: "));
        let given = self
            .filter
            .take()
            .map(|(text, desk)| (text, desk, Span::default(), ""));
        for (text, desk, span, what) in own.into_iter().chain(given) {
            match (
                Condition::new(&text, &mut Wanted::default()),
                self.desks.get_mut(desk),
            ) {
                (Err(message), Some(desk)) => desk.error(span, format!("{what}{message}"), ""),
                _ => parts.push(text),
            }
        }
        let whole = match parts.as_slice() {
            [one] => one.clone(),
            [] => return None,
            many => many
                .iter()
                .map(|part| format!("({part})"))
                .collect::<Vec<_>>()
                .join(" and "),
        };
        Condition::new(&whole, wanted).ok()
    }

    /// The gates, and errors that records' own checks may yet remove. Where the checks have errors,
    /// only their names are known.
    fn compile_gates(&mut self, checks: Option<&[Check]>) -> (Vec<Gate>, Vec<SuiteError>) {
        let known: Vec<Known<'_>> = match checks {
            Some(checks) => checks.iter().map(Known::from).collect(),
            None => self
                .checks
                .iter()
                .filter_map(|placed| known(&placed.draft))
                .collect(),
        };
        let (mut gates, mut unsettled) = (Vec::new(), Vec::new());
        let Some(desk) = self.desks.first_mut() else {
            return (gates, unsettled);
        };
        for (text, span) in &self.gates {
            match Gate::parse(text, *span, &known) {
                Ok((gate, late)) => {
                    gates.push(gate);
                    let late = late.filter(|_| !self.unread);
                    unsettled.extend(late.map(|error| SuiteError {
                        source: desk.source.clone(),
                        span: *span,
                        message: error.message,
                        help: error.help,
                    }));
                }
                Err(error) => desk.error(*span, error.message, error.help.unwrap_or_default()),
            }
        }
        (gates, unsettled)
    }

    fn no_check(&self) -> SuiteError {
        let source = self
            .desks
            .first()
            .map_or_else(|| Source::new("lydite", ""), |desk| desk.source.clone());
        SuiteError {
            source,
            span: self.root,
            message: "there is no check".to_owned(),
            help: Some("name evaluators under `checks:`, give `--check`, or let the records bring theirs as `evaluators`".to_owned()),
        }
    }

    /// The suite file's text; without one, a suite with the given checks.
    fn source(&self) -> String {
        if let Some(desk) = self.desks.first().filter(|_| self.has_file) {
            return desk.source.text.to_string();
        }
        let mut text = "version: 1\nchecks:\n".to_owned();
        for desk in self.added() {
            text.push_str("  - ");
            text.push_str(&desk.source.text.trim().replace('\n', "\n    "));
            text.push('\n');
        }
        text
    }
}

const EXAMPLE: &str = "the least is\n  version: 1\n  checks:\n    - exact_match";

/// The names of checks that are taken.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    /// The last number that was tried for a name.
    numbers: HashMap<String, u64>,
}

impl Names {
    /// Takes a given name; false where it is taken already.
    pub(super) fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_owned())
    }

    /// Takes the name itself, or the first of `name_2`, `name_3`, … that is free.
    pub(super) fn free(&mut self, name: &str) -> String {
        if self.take(name) {
            return name.to_owned();
        }
        let number = self.numbers.entry(name.to_owned()).or_insert(1);
        loop {
            *number += 1;
            let numbered = format!("{name}_{number}");
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

fn read_version(desk: &mut Desk, node: &Node) {
    if node.as_str() == Some("1") {
        return;
    }
    let found = node.as_str().map_or_else(
        || format!("a {}", node.kind_name()),
        |text| format!("`{text}`"),
    );
    desk.error(
        node.span,
        format!("this version of lydite reads suites of version 1, not {found}"),
        "write `version: 1`",
    );
}

fn unknown_root_key(desk: &mut Desk, key: &Node, name: &str) {
    if let Some((_, message, help)) = keys::NOT_YET.iter().find(|(known, _, _)| *known == name) {
        return desk.error(key.span, *message, *help);
    }
    desk.unknown_key(
        key,
        &keys::names(keys::SUITE),
        keys::meant(keys::SUITE, name),
    );
}

/// Errors or notes of one source in the order of its text.
fn in_order(mut errors: Vec<SuiteError>) -> Vec<SuiteError> {
    errors.sort_by_key(|error| error.span.start_byte);
    errors
}

fn note_line(source: &Source, span: Span, message: &str) -> String {
    let place = if span.is_known() {
        format!(":{}:{}", span.line, span.column)
    } else {
        String::new()
    };
    format!("{}{place}: {message}", source.name)
}
