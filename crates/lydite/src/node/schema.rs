//! Checks a node against a generated JSON Schema, and reports everything at once.
//!
//! Covers what schemars 1 writes for serde types (draft 2020-12 with `$defs`). A keyword that is
//! not known here accepts everything: the deserialiser has the last word.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::{NULL_AS_TEXT, Node, NodeValue, Resolved, Scalar, Shortened, Span};
use crate::path::push_segment;

/// How many references and alternatives are followed without going further into the node.
const MAX_REFERENCES: usize = 64;

/// One error of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// JSON Pointer from the checked node.
    pub path: String,
    /// Place of the offending node: a key if the key is wrong, a mapping if it lacks one.
    pub span: Span,
    /// What is wrong, with the nearest allowed name where one is near.
    pub message: String,
    /// What is allowed.
    pub help: Option<String>,
}

/// Every error of the node under the schema, in source order of the nodes.
///
/// `skip` says which nodes are filled in later (field references) and so are not checked.
pub fn check_against_schema(
    node: &Node,
    schema: &Value,
    skip: &dyn Fn(&Node) -> bool,
) -> Vec<Problem> {
    let mut checker = Checker {
        root: schema,
        skip,
        path: String::new(),
        problems: Vec::new(),
    };
    checker.check(node, schema, 0);
    checker.problems
}

/// The candidate that a misspelt word most probably means: within a third of its letters by
/// optimal string alignment, capitals, `-` and `_` aside.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = plain_letters(word);
    let furthest = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::osa_distance(&word, &plain_letters(candidate)),
                candidate,
            )
        })
        .filter(|&(distance, candidate)| distance <= furthest && distance < candidate.len())
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, candidate)| candidate)
}

/// "allowed: a, b, c", cut where there are very many.
pub(super) fn allowed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 40;
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        return "none is allowed here".to_owned();
    }
    let mut text = format!(
        "allowed: {}",
        names.get(..MOST).unwrap_or(&names).join(", ")
    );
    if names.len() > MOST {
        let _ = write!(text, " and {} more", names.len() - MOST);
    }
    text
}

struct Checker<'a> {
    root: &'a Value,
    skip: &'a dyn Fn(&Node) -> bool,
    path: String,
    problems: Vec<Problem>,
}

impl<'a> Checker<'a> {
    fn check(&mut self, node: &Node, schema: &'a Value, references: usize) {
        if (self.skip)(node) {
            return;
        }
        let Value::Object(schema) = schema else {
            if schema == &Value::Bool(false) {
                self.report(
                    node.span,
                    "nothing is allowed here; remove it".to_owned(),
                    None,
                );
            }
            return;
        };
        if references > MAX_REFERENCES {
            return;
        }
        if let Some(target) = schema
            .get("$ref")
            .and_then(|reference| self.resolve(reference))
        {
            self.check(node, target, references + 1);
        }
        for part in schema_list(schema, "allOf") {
            self.check(node, part, references + 1);
        }
        if !self.has_type(node, schema) {
            return;
        }
        for keyword in ["oneOf", "anyOf"] {
            if schema.contains_key(keyword) {
                self.check_alternatives(node, schema_list(schema, keyword), references + 1);
            }
        }
        self.check_values(node, schema);
        match &node.value {
            NodeValue::Scalar(scalar) => self.check_scalar(node, scalar, schema),
            NodeValue::Sequence(items) => self.check_list(node, items, schema),
            NodeValue::Mapping(entries) => self.check_mapping(node, entries, schema),
            NodeValue::Null(_) => {}
        }
    }

    fn resolve(&self, reference: &Value) -> Option<&'a Value> {
        self.root.pointer(reference.as_str()?.strip_prefix('#')?)
    }

    /// The schema with its references followed, for a look at its shape.
    fn followed(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..MAX_REFERENCES {
            match schema
                .get("$ref")
                .and_then(|reference| self.resolve(reference))
            {
                Some(target) => schema = target,
                None => break,
            }
        }
        schema
    }

    fn has_type(&mut self, node: &Node, schema: &Map<String, Value>) -> bool {
        let types = types_of(schema);
        if types.is_empty() || types.iter().any(|name| fits_type(node, name)) {
            return true;
        }
        let expected = types
            .iter()
            .filter(|&&name| name != "null" || types.len() == 1)
            .map(|name| expected_of_type(name, schema))
            .collect::<Vec<_>>()
            .join(" or ");
        self.report_unexpected(node, &expected, types.contains(&"string"));
        false
    }

    fn report_unexpected(&mut self, node: &Node, expected: &str, text_is_allowed: bool) {
        let message = if node.is_null() && text_is_allowed {
            NULL_AS_TEXT.to_owned()
        } else {
            format!("expected {expected}, found {}", node.describe())
        };
        self.report(node.span, message, quoting_hint(node, expected));
    }

    fn check_values(&mut self, node: &Node, schema: &'a Map<String, Value>) {
        let values: Vec<&Value> = match (schema.get("const"), schema.get("enum")) {
            (Some(value), _) => vec![value],
            (None, Some(Value::Array(values))) => values.iter().collect(),
            _ => return,
        };
        if !values.iter().any(|value| is_value(node, value)) {
            self.report_unknown_value(node, &values);
        }
    }

    fn report_unknown_value(&mut self, node: &Node, values: &[&Value]) {
        let names: Vec<String> = values
            .iter()
            .filter(|value| !value.is_null())
            .map(|value| {
                value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned)
            })
            .collect();
        let names = || names.iter().map(String::as_str);
        let message = match node.as_str() {
            Some(text) => format!(
                "unknown value {}{}",
                Shortened(text),
                suggestion(text, names())
            ),
            None if node.is_null() => NULL_AS_TEXT.to_owned(),
            None => format!(
                "expected one of the allowed values, found {}",
                node.describe()
            ),
        };
        self.report(node.span, message, Some(allowed(names())));
    }

    fn check_scalar(&mut self, node: &Node, scalar: &Scalar, schema: &Map<String, Value>) {
        let types = types_of(schema);
        if let Some(number) = as_number(scalar).filter(|_| !types.contains(&"string")) {
            if !Bounds::of(schema).hold(number) {
                let wanted = types
                    .iter()
                    .find(|&&name| name == "number" || name == "integer");
                let expected = expected_of_type(wanted.unwrap_or(&"number"), schema);
                let message = format!("expected {expected}, found {}", Shortened(&scalar.text));
                self.report(node.span, message, None);
            }
            return;
        }
        let length = scalar.text.chars().count() as u64;
        if size(schema, "minLength").is_some_and(|least| length < least) {
            let message = match size(schema, "minLength") {
                Some(1) | None => "the text is empty".to_owned(),
                Some(least) => format!("expected at least {least} characters, found {length}"),
            };
            self.report(node.span, message, None);
        }
        if let Some(most) = size(schema, "maxLength").filter(|&most| length > most) {
            let message = format!("expected at most {most} characters, found {length}");
            self.report(node.span, message, None);
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
            let matches = regex::Regex::new(pattern).map(|regex| regex.is_match(&scalar.text));
            if matches == Ok(false) {
                let message = format!(
                    "{} does not match the pattern `{pattern}`",
                    Shortened(&scalar.text)
                );
                self.report(node.span, message, None);
            }
        }
    }

    fn check_list(&mut self, node: &Node, items: &[Node], schema: &'a Map<String, Value>) {
        let found = items.len() as u64;
        let (least, most) = (size(schema, "minItems"), size(schema, "maxItems"));
        if least.is_some_and(|least| found < least) || most.is_some_and(|most| found > most) {
            let expected = match (least, most) {
                (Some(least), Some(most)) if least == most => counted(least),
                (Some(least), Some(most)) => format!("{least} to {}", counted(most)),
                (Some(least), None) => format!("at least {}", counted(least)),
                (None, most) => format!("at most {}", counted(most.unwrap_or_default())),
            };
            let message = format!("expected a list of {expected}, found {found}");
            self.report(node.span, message, None);
        }
        let first = schema_list(schema, "prefixItems");
        for (position, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(position).or_else(|| schema.get("items")) {
                self.inside(&position.to_string(), |checker| {
                    checker.check(item, schema, 0);
                });
            }
        }
    }

    fn check_mapping(
        &mut self,
        node: &Node,
        entries: &[(Node, Node)],
        schema: &'a Map<String, Value>,
    ) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties");
        let patterns = schema.contains_key("patternProperties");
        for (key, value) in entries {
            let name = key.scalar_text();
            match (
                properties.and_then(|properties| properties.get(name)),
                others,
            ) {
                (Some(schema), _) => self.inside(name, |checker| checker.check(value, schema, 0)),
                (None, _) if patterns => {}
                (None, Some(Value::Bool(false))) => {
                    let names = || {
                        properties
                            .into_iter()
                            .flat_map(Map::keys)
                            .map(String::as_str)
                    };
                    self.report_unknown_key(key, names());
                }
                (None, Some(schema)) => {
                    self.inside(name, |checker| checker.check(value, schema, 0));
                }
                (None, None) => {}
            }
        }
        for name in schema_list(schema, "required")
            .iter()
            .filter_map(Value::as_str)
        {
            if node.get(name).is_none() {
                let property = properties.and_then(|properties| properties.get(name));
                let help = property.and_then(|property| self.summary(property));
                self.report(
                    node.span,
                    format!("missing key `{name}`"),
                    help.map(|help| format!("{name}: {help}")),
                );
            }
        }
    }

    fn report_unknown_key<'n>(&mut self, key: &Node, names: impl Iterator<Item = &'n str> + Clone) {
        let name = key.scalar_text();
        let message = format!(
            "unknown key {}{}",
            Shortened(name),
            suggestion(name, names.clone())
        );
        self.inside(name, |checker| {
            checker.report(key.span, message, Some(allowed(names)));
        });
    }

    /// The first line of a property's description.
    fn summary(&self, schema: &'a Value) -> Option<&'a str> {
        let description = schema
            .get("description")
            .or_else(|| self.followed(schema).get("description"))?;
        description.as_str()?.lines().next()
    }

    /// `oneOf` and `anyOf`: an enum, an `Option`, or types side by side.
    fn check_alternatives(&mut self, node: &Node, alternatives: &'a [Value], references: usize) {
        if let Some(values) = self.all_values(alternatives, 0) {
            if !values.iter().any(|value| is_value(node, value)) {
                self.report_unknown_value(node, &values);
            }
            return;
        }
        let fitting: Vec<&'a Value> = alternatives
            .iter()
            .filter(|schema| self.may_be(node, schema, 0))
            .collect();
        if fitting.is_empty() {
            let expected = self.expected_of(alternatives);
            let text = alternatives
                .iter()
                .any(|schema| self.kinds_of(schema, 0).contains(&"string"));
            self.report_unexpected(node, &expected, text);
            return;
        }
        if self.check_variants(node, &fitting, references) {
            return;
        }
        let found: Vec<Vec<Problem>> = fitting
            .iter()
            .map(|schema| self.problems_of(node, schema, references))
            .collect();
        if found.iter().any(Vec::is_empty) {
            return;
        }
        if let Some((values, names)) = self.values_and_names(node, &fitting, alternatives) {
            self.report_unknown_variant(node, &values, &names);
        } else {
            let nearest = found.into_iter().min_by_key(Vec::len);
            self.problems.extend(nearest.into_iter().flatten());
        }
    }

    fn report_unknown_variant(&mut self, node: &Node, values: &[&Value], names: &[&str]) {
        let values = || values.iter().filter_map(|value| value.as_str());
        let text = node.as_str().unwrap_or_default();
        let near = suggestion(text, values().chain(names.iter().copied()));
        let help = format!(
            "{}, or a mapping of one of: {}",
            allowed(values()),
            names.join(", ")
        );
        self.report(
            node.span,
            format!("unknown value {}{near}", Shortened(text)),
            Some(help),
        );
    }

    /// The problems under one alternative, kept apart.
    fn problems_of(&mut self, node: &Node, schema: &'a Value, references: usize) -> Vec<Problem> {
        let before = std::mem::take(&mut self.problems);
        self.check(node, schema, references);
        std::mem::replace(&mut self.problems, before)
    }

    /// Mappings that stand for the variants of an enum: says which one is meant, or that none is.
    fn check_variants(&mut self, node: &Node, schemas: &[&'a Value], references: usize) -> bool {
        if schemas.len() < 2 || !matches!(node.value, NodeValue::Mapping(_)) {
            return false;
        }
        if let Some(tag) = self.common_tag(schemas) {
            self.check_tagged(node, schemas, tag, references);
            return true;
        }
        let Some(names) = schemas
            .iter()
            .map(|schema| only_key(self.followed(schema)))
            .collect::<Option<Vec<_>>>()
        else {
            return false;
        };
        let variants = node.entries().iter().filter_map(|(key, _)| {
            let position = names.iter().position(|&name| name == key.scalar_text())?;
            schemas.get(position).copied()
        });
        let variants: Vec<&'a Value> = variants.collect();
        match (variants.as_slice(), node.entries()) {
            ([], [(key, _)]) => self.report_unknown_key(key, names.iter().copied()),
            ([] | [_, _, ..], _) => {
                let message = format!(
                    "expected a mapping of one key, found {} keys",
                    node.entries().len()
                );
                self.report(node.span, message, Some(allowed(names.iter().copied())));
            }
            ([schema], _) => self.check(node, schema, references),
        }
        true
    }

    /// For a scalar where an enum has both plain names and names with content: both lists.
    fn values_and_names(
        &self,
        node: &Node,
        fitting: &[&'a Value],
        alternatives: &'a [Value],
    ) -> Option<(Vec<&'a Value>, Vec<&'a str>)> {
        node.as_str()?;
        let mut values = Vec::new();
        for schema in fitting {
            values.extend(self.all_values(std::slice::from_ref(*schema), 0)?);
        }
        let names: Vec<&str> = alternatives
            .iter()
            .filter_map(|schema| only_key(self.followed(schema)))
            .collect();
        (!values.is_empty() && !names.is_empty()).then_some((values, names))
    }

    /// The key that holds another constant in each of the schemas.
    fn common_tag(&self, schemas: &[&'a Value]) -> Option<&'a str> {
        let (first, rest) = schemas.split_first()?;
        let mut names = self.followed(first).get("properties")?.as_object()?.keys();
        names
            .find(|name| {
                std::iter::once(first)
                    .chain(rest)
                    .all(|schema| tag_value(self.followed(schema), name).is_some())
            })
            .map(String::as_str)
    }

    fn check_tagged(
        &mut self,
        node: &Node,
        schemas: &[&'a Value],
        tag: &'a str,
        references: usize,
    ) {
        let values: Vec<&Value> = schemas
            .iter()
            .filter_map(|schema| tag_value(self.followed(schema), tag))
            .collect();
        let Some(found) = node.get(tag) else {
            let names = allowed(values.iter().filter_map(|value| value.as_str()));
            self.report(
                node.span,
                format!("missing key `{tag}`"),
                Some(format!("{tag}: {names}")),
            );
            return;
        };
        match values
            .iter()
            .position(|value| is_value(found, value))
            .and_then(|at| schemas.get(at))
        {
            Some(schema) => self.check(node, schema, references),
            None => self.inside(tag, |checker| checker.report_unknown_value(found, &values)),
        }
    }

    /// The values of alternatives that are nothing but values (and null).
    fn all_values(&self, alternatives: &'a [Value], depth: usize) -> Option<Vec<&'a Value>> {
        const NULL: &Value = &Value::Null;
        if depth > MAX_REFERENCES {
            return None;
        }
        let mut values = Vec::new();
        for schema in alternatives {
            let schema = self.followed(schema).as_object()?;
            if let Some(value) = schema.get("const") {
                values.push(value);
            } else if let Some(Value::Array(listed)) = schema.get("enum") {
                values.extend(listed);
            } else if types_of(schema) == ["null"] {
                values.push(NULL);
            } else {
                let inner = schema
                    .get("oneOf")
                    .or_else(|| schema.get("anyOf"))?
                    .as_array()?;
                values.extend(self.all_values(inner, depth + 1)?);
            }
        }
        Some(values)
    }

    /// The type names a schema allows at its top, through references and alternatives.
    fn kinds_of(&self, schema: &'a Value, depth: usize) -> Vec<&'a str> {
        let Some(map) = self
            .followed(schema)
            .as_object()
            .filter(|_| depth < MAX_REFERENCES)
        else {
            return Vec::new();
        };
        let types = types_of(map);
        if !types.is_empty() {
            return types;
        }
        ["oneOf", "anyOf"]
            .into_iter()
            .flat_map(|keyword| schema_list(map, keyword))
            .flat_map(|schema| self.kinds_of(schema, depth + 1))
            .collect()
    }

    fn may_be(&self, node: &Node, schema: &'a Value, depth: usize) -> bool {
        let kinds = self.kinds_of(schema, depth);
        kinds.is_empty() || kinds.iter().any(|name| fits_type(node, name))
    }

    fn expected_of(&self, alternatives: &'a [Value]) -> String {
        let mut names: Vec<String> = Vec::new();
        for schema in alternatives {
            let map = self.followed(schema).as_object();
            for kind in self
                .kinds_of(schema, 0)
                .into_iter()
                .filter(|&kind| kind != "null")
            {
                let name = map.map_or_else(|| kind.to_owned(), |map| expected_of_type(kind, map));
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names.join(" or ")
    }

    fn inside(&mut self, segment: &str, check: impl FnOnce(&mut Self)) {
        let before = self.path.len();
        push_segment(&mut self.path, segment);
        check(self);
        self.path.truncate(before);
    }

    fn report(&mut self, span: Span, message: String, help: Option<String>) {
        self.problems.push(Problem {
            path: self.path.clone(),
            span,
            message,
            help,
        });
    }
}

/// Bounds of a number.
#[derive(Default)]
struct Bounds {
    least: Option<f64>,
    most: Option<f64>,
    above: Option<f64>,
    below: Option<f64>,
}

impl Bounds {
    fn of(schema: &Map<String, Value>) -> Self {
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        Self {
            least: bound("minimum"),
            most: bound("maximum"),
            above: bound("exclusiveMinimum"),
            below: bound("exclusiveMaximum"),
        }
    }

    fn hold(&self, number: f64) -> bool {
        self.least.is_none_or(|least| number >= least)
            && self.most.is_none_or(|most| number <= most)
            && self.above.is_none_or(|above| number > above)
            && self.below.is_none_or(|below| number < below)
    }

    /// "", " from 0 to 1", " of at least 0", " above 0 and at most 1"…
    fn words(&self) -> String {
        if let (Some(least), Some(most), None, None) =
            (self.least, self.most, self.above, self.below)
        {
            return format!(" from {least} to {most}");
        }
        let parts: Vec<String> = [
            self.above.map(|above| format!("above {above}")),
            self.least.map(|least| format!("of at least {least}")),
            self.below.map(|below| format!("below {below}")),
            self.most.map(|most| format!("of at most {most}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        if parts.is_empty() {
            String::new()
        } else {
            format!(" {}", parts.join(" and "))
        }
    }
}

fn schema_list<'s>(schema: &'s Map<String, Value>, keyword: &str) -> &'s [Value] {
    schema
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn types_of(schema: &Map<String, Value>) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Whether the deserialiser would give the node to a field of that JSON type: text takes any
/// scalar, numbers and booleans take plain ones.
fn fits_type(node: &Node, name: &str) -> bool {
    match (name, &node.value) {
        ("null", NodeValue::Null(_))
        | ("string", NodeValue::Scalar(_))
        | ("array", NodeValue::Sequence(_))
        | ("object", NodeValue::Mapping(_)) => true,
        ("boolean", NodeValue::Scalar(scalar)) => matches!(scalar.resolve(), Resolved::Bool(_)),
        ("number", NodeValue::Scalar(scalar)) => as_number(scalar).is_some(),
        ("integer", NodeValue::Scalar(scalar)) => {
            matches!(
                scalar.resolve(),
                Resolved::Unsigned(_) | Resolved::Signed(_)
            )
        }
        ("null" | "string" | "array" | "object" | "boolean" | "number" | "integer", _) => false,
        _ => true,
    }
}

fn expected_of_type(name: &str, schema: &Map<String, Value>) -> String {
    match name {
        "string" => "a text".to_owned(),
        "number" => format!("a number{}", Bounds::of(schema).words()),
        "integer" => format!("a whole number{}", Bounds::of(schema).words()),
        "boolean" => "`true` or `false`".to_owned(),
        "array" => "a list".to_owned(),
        "object" => "a mapping".to_owned(),
        other => other.to_owned(),
    }
}

/// Help for a quoted scalar that would fit without its quotes.
fn quoting_hint(node: &Node, expected: &str) -> Option<String> {
    let NodeValue::Scalar(scalar) = &node.value else {
        return None;
    };
    let plain = Scalar {
        text: scalar.text.clone(),
        plain: true,
    };
    let would_fit = match plain.resolve() {
        Resolved::Text | Resolved::NotFinite => false,
        Resolved::Bool(_) => expected.contains("`true`"),
        _ => expected.contains("number"),
    };
    (!scalar.plain && would_fit).then(|| "remove the quotes".to_owned())
}

fn as_number(scalar: &Scalar) -> Option<f64> {
    match scalar.resolve() {
        Resolved::Unsigned(value) => Some(value as f64),
        Resolved::Signed(value) => Some(value as f64),
        Resolved::Float(value) => Some(value),
        Resolved::Bool(_) | Resolved::NotFinite | Resolved::Text => None,
    }
}

fn is_value(node: &Node, value: &Value) -> bool {
    match (value, &node.value) {
        (Value::String(text), NodeValue::Scalar(scalar)) => text == &scalar.text,
        (Value::Number(number), NodeValue::Scalar(scalar)) => {
            as_number(scalar).is_some_and(|found| Number::as_f64(number) == Some(found))
        }
        _ => &node.to_json() == value,
    }
}

/// The name of an externally tagged variant.
fn only_key(schema: &Value) -> Option<&str> {
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required")?.as_array()?;
    match (properties.len(), required.as_slice()) {
        (1, [Value::String(name)]) => Some(name),
        _ => None,
    }
}

fn tag_value<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    let property = schema.get("properties")?.get(name)?;
    property
        .get("const")
        .or_else(|| match property.get("enum")?.as_array()?.as_slice() {
            [only] => Some(only),
            _ => None,
        })
}

fn size(schema: &Map<String, Value>, keyword: &str) -> Option<u64> {
    schema.get(keyword).and_then(Value::as_u64)
}

fn counted(items: u64) -> String {
    if items == 1 {
        "1 item".to_owned()
    } else {
        format!("{items} items")
    }
}

fn suggestion<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    did_you_mean(word, names).map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"))
}

fn plain_letters(word: &str) -> String {
    word.chars()
        .filter(|letter| !matches!(letter, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use schemars::JsonSchema;
    use serde::{Deserialize, Serialize};

    use super::super::render;
    use super::*;

    /// Parameters of every shape that evaluators have.
    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Params {
        /// The phrase that must be found.
        ///
        /// It may have several lines.
        #[schemars(length(min = 1))]
        phrase: String,
        /// Least score that passes.
        #[schemars(range(min = 0.0, max = 1.0))]
        #[serde(default)]
        threshold: Option<f64>,
        /// How often.
        #[serde(default)]
        max_tokens: Option<u32>,
        #[serde(default)]
        case_sensitive: bool,
        #[serde(default)]
        mode: Mode,
        #[serde(default)]
        unit: Option<Unit>,
        #[serde(default)]
        measure: Option<Measure>,
        #[serde(default)]
        model: Option<Model>,
        #[serde(default)]
        #[schemars(length(min = 2))]
        labels: Option<Vec<String>>,
        #[serde(default)]
        weights: BTreeMap<String, f64>,
        #[serde(default)]
        range: Option<(i64, i64)>,
        #[serde(default)]
        one_or_many: Option<OneOrMany>,
        #[serde(default)]
        schema: serde_json::Value,
    }

    #[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        /// Quick.
        #[default]
        Fast,
        /// Slow.
        Exact,
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Unit {
        Words,
        Characters,
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    enum Measure {
        /// Without parameters.
        Levenshtein,
        /// With.
        JaroWinkler {
            prefix: f64,
        },
        Custom(String),
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(tag = "provider", rename_all = "snake_case", deny_unknown_fields)]
    enum Model {
        Openai {
            model: String,
        },
        Local {
            path: String,
            #[serde(default)]
            threads: u8,
        },
    }

    #[derive(Debug, Serialize, Deserialize, JsonSchema)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }

    fn schema() -> Value {
        schemars::schema_for!(Params).to_value()
    }

    fn problems(source: &str) -> Vec<Problem> {
        let node = Node::parse(source).unwrap();
        check_against_schema(&node, &schema(), &|node| {
            node.as_str().is_some_and(|text| text.starts_with("{{"))
        })
    }

    #[test]
    fn right_parameters_pass_and_deserialise() {
        for source in [
            "phrase: 1.10",
            "phrase: true\nthreshold: 1\nmax_tokens: 0x10\ncase_sensitive: true\nmode: exact",
            "{phrase: x, threshold: ~, unit: words, measure: levenshtein, labels: [1, no]}",
            "{phrase: x, unit: null, measure: {jaro_winkler: {prefix: .1}}, weights: {a: 1, b: 0.5}}",
            "{phrase: x, measure: {custom: 007}, range: [-1, +2], one_or_many: five, schema: {type: [a]}}",
            "{phrase: x, model: {provider: local, path: /x, threads: 3}, one_or_many: [a, b]}",
        ] {
            assert_eq!(problems(source), [], "{source}");
            Node::parse(source)
                .unwrap()
                .deserialize_into::<Params>()
                .expect(source);
        }
    }

    #[test]
    fn field_references_are_skipped() {
        let source =
            "phrase: '{{ variables.city }}'\nthreshold: '{{ metadata.least }}'\nrange: '{{ x }}'";
        assert_eq!(problems(source), []);
    }

    /// Every error of each source, as a terminal shows it.
    #[test]
    fn wrong_parameters() {
        let table = [
            "phrase: x\nTreshold: 0.5\nmaxTokens: 3\nwhatever: 1",
            "threshold: 0.5",
            "phrase: ''\nthreshold: 1.5\nmax_tokens: -1",
            "phrase: ~\nthreshold: abc\nmax_tokens: 1.5\ncase_sensitive: yes",
            "phrase: [a]\nthreshold: '0.5'\nmax_tokens: .inf\ncase_sensitive: 'true'",
            "phrase: x\nmode: exakt\nunit: wrods\nmeasure: levenstein",
            "phrase: x\nmode: 1\nunit: [words]",
            "phrase: x\nmeasure: {jaro_winkler: {prefix: high}}",
            "phrase: x\nmeasure: {jaro: {prefix: 1}}",
            "phrase: x\nmeasure: {jaro_winkler: {}, custom: a}",
            "phrase: x\nmeasure: jaro-winkler",
            "phrase: x\nmeasure: [custom]",
            "phrase: x\nmodel: {provider: opena, model: y}",
            "phrase: x\nmodel: {model: y}",
            "phrase: x\nmodel: {provider: local, path: ~, threads: 300, model: y}",
            "phrase: x\nlabels: [a]\nweights: {a: b, c: '1'}\nrange: [1, 2, 3]\none_or_many: {a: 1}",
            "phrase: x\none_or_many: [a, [b]]",
            "just text",
            "- phrase: x",
            "",
        ];
        let mut told = String::new();
        for source in table {
            let found = problems(source);
            assert!(!found.is_empty(), "{source}");
            for problem in found {
                told += &problem.path;
                told += "\n";
                told += &render(
                    "lydite.yaml",
                    source,
                    problem.span,
                    &problem.message,
                    problem.help.as_deref(),
                );
                told += "\n";
            }
        }
        insta::assert_snapshot!(told);
    }

    #[test]
    fn near_words() {
        let table = [
            ("tresholdd", Some("threshold")),
            ("maxTokens", Some("max_tokens")),
            ("max-tokens", Some("max_tokens")),
            ("lables", Some("labels")),
            ("x", None),
            ("q", None),
            ("completely", None),
        ];
        let names = ["threshold", "max_tokens", "labels", "k"];
        for (word, near) in table {
            assert_eq!(did_you_mean(word, names), near, "{word}");
        }
    }

    #[test]
    fn odd_schemas_accept_and_end() {
        let node = Node::parse("{a: {a: {a: 1}}}").unwrap();
        for schema in [
            serde_json::json!(true),
            serde_json::json!({}),
            serde_json::json!({"$ref": "#"}),
            serde_json::json!({"$ref": "#/$defs/none", "not": {}, "if": true, "type": "tuple"}),
            serde_json::json!({"properties": {"a": {"$ref": "#"}}, "additionalProperties": false}),
            serde_json::json!({"anyOf": [{"$ref": "#"}]}),
        ] {
            assert_eq!(
                check_against_schema(&node, &schema, &|_| false),
                [],
                "{schema}"
            );
        }
    }
}
