//! `target` of a suite: what makes the outputs before they are judged.
//!
//! Its shape is checked against the schema of the types below; then its model, its address and the places in its
//! texts, each error where it stands.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::error::Desk;
use super::models::{self, SuiteModels};
use super::secrets;
use crate::decode::Wanted;
use crate::model::{ApplicationSpec, HttpApplication, HttpMethod, ModelSpec, Reach, Temperature};
use crate::node::{Node, NodeValue, Span, check_against_schema};
use crate::path::FieldPath;
use crate::target::{Body, HttpTarget, Maker, ModelTarget, TargetSpec, Template};

/// What makes the outputs: `model`, `http` or `command`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TargetShape {
    /// What results name as the model that answered; made of the target where left out.
    name: Option<String>,
    /// Answers a case.
    #[schemars(range(min = 1))]
    trials: Option<u32>,
    /// `provider/model`, a name under `models`, or a model as a mapping.
    #[expect(dead_code, reason = "read from its node, which knows where it stands")]
    model: Option<Value>,
    /// With `model`: the user message, with places such as `{query}` or `{variables.NAME}`. Without it the record's
    /// messages are sent, or its query.
    #[expect(dead_code, reason = "read from its node, which knows where it stands")]
    prompt: Option<String>,
    /// With `model`: the system message, where the record brings none.
    #[expect(dead_code, reason = "read from its node, which knows where it stands")]
    system: Option<String>,
    /// An endpoint.
    http: Option<HttpShape>,
    /// A program and its arguments: it reads a record a line as JSON and writes `{output, …}` a line.
    #[schemars(length(min = 1))]
    command: Option<Vec<String>>,
    /// With `command`: seconds that an answer may take; 60 where left out.
    #[schemars(extend("exclusiveMinimum" = 0))]
    timeout: Option<f64>,
    /// With `command`: how often it is asked at the most; 8 where left out.
    #[schemars(range(min = 1))]
    attempts: Option<u32>,
    /// With `command`: programs that run side by side; 1 where left out.
    #[schemars(range(min = 1))]
    concurrency: Option<usize>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HttpShape {
    /// The address. Places such as `{query}` may stand behind its `?`.
    url: String,
    method: Option<HttpMethod>,
    /// A value `$NAME` is read from the environment.
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// JSON with places in its texts. Without it the record is sent, by GET nothing.
    #[expect(dead_code, reason = "read from its node, which knows where it stands")]
    body: Option<Value>,
    /// Where the answer stands in the reply, such as `answer.text`; the whole reply where left out.
    output: Option<String>,
    /// Where the retrieved passages stand in the reply.
    contexts: Option<String>,
    /// Seconds that one attempt may take; 60 where left out.
    #[schemars(extend("exclusiveMinimum" = 0))]
    timeout: Option<f64>,
    /// Seconds that a call may take with all its attempts; ten time-outs where left out.
    #[schemars(extend("exclusiveMinimum" = 0))]
    deadline: Option<f64>,
    /// Attempts a call at the most; 8 where left out.
    #[schemars(range(min = 1))]
    attempts: Option<u32>,
    /// Calls under way at once; 16 where left out.
    #[schemars(range(min = 1))]
    concurrency: Option<usize>,
    #[schemars(extend("exclusiveMinimum" = 0))]
    requests_per_minute: Option<f64>,
    /// A PEM file of certificates that are trusted beside the system's.
    ca_file: Option<String>,
}

/// The JSON Schema of a target.
pub(super) static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::SchemaGenerator::default()
        .into_root_schema_for::<TargetShape>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
    }
    schema
});

/// Reads a target, and adds to `wanted` what its places read.
pub(super) fn read(
    desk: &mut Desk,
    node: &Node,
    wanted: &mut Wanted,
    models: &SuiteModels,
) -> Option<TargetSpec> {
    let before = desk.errors.len();
    if !matches!(node.value, NodeValue::Mapping(_)) {
        desk.error(
            node.span,
            format!(
                "`target` must be a mapping, found {}",
                super::error::found(node)
            ),
            EXAMPLES,
        );
        return None;
    }
    for secret in node
        .get("http")
        .map(secrets::of_endpoint)
        .unwrap_or_default()
    {
        desk.error(secret.span, secret.message, secret.help);
    }
    for problem in check_against_schema(node, &SCHEMA, &|_| false) {
        desk.error(
            problem.span,
            problem.message,
            problem.help.unwrap_or_default(),
        );
    }
    one_maker(desk, node);
    if desk.errors.len() > before {
        return None;
    }
    let shape: TargetShape = match node.deserialize_into() {
        Ok(shape) => shape,
        Err(error) => {
            desk.error(error.span, error.message, "");
            return None;
        }
    };
    let mut reader = Reader { desk, wanted };
    let maker = reader.maker(node, &shape, models);
    if reader.desk.errors.len() > before {
        return None;
    }
    let maker = maker?;
    let made_name = || match &maker {
        Maker::Model(model) => model.spec.name(),
        Maker::Http(http) => http.spec.name(),
        Maker::Command(spec) => spec.name(),
    };
    Some(TargetSpec {
        name: shape.name.unwrap_or_else(made_name),
        trials: shape.trials.unwrap_or(1),
        maker,
    })
}

const EXAMPLES: &str = "write `{model: openai/gpt-4.1-mini}`, `{http: {url: …, output: …}}` or `{command: [python3, app.py]}`";

const MAKERS: [&str; 3] = ["model", "http", "command"];

/// Keys that belong to one way of making outputs only.
const BELONGS: [(&str, &[&str]); 2] = [
    ("model", &["prompt", "system"]),
    ("command", &["timeout", "attempts", "concurrency"]),
];

/// Exactly one way of making outputs, and no keys of another.
fn one_maker(desk: &mut Desk, node: &Node) {
    let there: Vec<&str> = MAKERS
        .into_iter()
        .filter(|key| node.get(key).is_some())
        .collect();
    match there.as_slice() {
        [_] => {}
        [] => desk.error(
            node.span,
            "`target` says nothing that makes outputs",
            EXAMPLES,
        ),
        [first, second, ..] => {
            let span = key_span(node, second).unwrap_or(node.span);
            desk.error(
                span,
                format!("`{first}` and `{second}` both make the outputs"),
                "keep one of the two",
            );
        }
    }
    for (maker, keys) in BELONGS {
        for key in keys
            .iter()
            .filter(|_| !there.is_empty() && !there.contains(&maker))
        {
            if let Some(span) = key_span(node, key) {
                let other = there.first().copied().unwrap_or_default();
                desk.error(
                    span,
                    format!("`{key}` belongs to a target by `{maker}`, not by `{other}`"),
                    match other {
                        "http" if maker == "command" => "put it inside of `http`",
                        "model" if maker == "command" => {
                            "set it on the model, such as `{provider: …, model: …, timeout: 30}`"
                        }
                        _ => "leave it out",
                    },
                );
            }
        }
    }
}

struct Reader<'a> {
    desk: &'a mut Desk,
    wanted: &'a mut Wanted,
}

impl Reader<'_> {
    fn maker(&mut self, node: &Node, shape: &TargetShape, models: &SuiteModels) -> Option<Maker> {
        if let Some(name) = shape.name.as_deref().filter(|name| name.trim().is_empty()) {
            let span = node.get("name").map_or(node.span, |name| name.span);
            self.desk.error(
                span,
                format!("`{name}` is no name"),
                "name the target, or leave `name` out",
            );
        }
        if let Some(model_node) = node.get("model") {
            let system = self.template(node.get("system"));
            let prompt = self.template(node.get("prompt"));
            let spec = models::read_one(self.desk, models, "model", model_node)?;
            return Some(Maker::Model(Box::new(ModelTarget {
                spec: as_application(spec),
                system,
                prompt,
            })));
        }
        if let (Some(http), Some(node)) = (&shape.http, node.get("http")) {
            return self
                .http(node, http)
                .map(|http| Maker::Http(Box::new(http)));
        }
        let command = shape.command.clone()?;
        Some(Maker::Command(ApplicationSpec {
            timeout: shape.timeout,
            attempts: shape.attempts,
            concurrency: shape.concurrency,
            ..ApplicationSpec::new(Reach::Command(command))
        }))
    }

    fn http(&mut self, node: &Node, shape: &HttpShape) -> Option<HttpTarget> {
        let at = |key: &str| node.get(key).map_or(node.span, |node| node.span);
        let (url, query) = self.address(&shape.url, at("url"))?;
        let body = node.get("body").map(|body| self.body(body));
        let output = self.path("output", shape.output.as_deref(), at("output"));
        let contexts = self.path("contexts", shape.contexts.as_deref(), at("contexts"));
        Some(HttpTarget {
            spec: ApplicationSpec {
                reach: Reach::Http(HttpApplication {
                    url,
                    method: shape.method.unwrap_or_default(),
                    headers: shape.headers.clone(),
                    ca_file: shape.ca_file.clone(),
                }),
                timeout: shape.timeout,
                deadline: shape.deadline,
                attempts: shape.attempts,
                concurrency: shape.concurrency,
                requests_per_minute: shape.requests_per_minute,
            },
            query,
            body,
            output,
            contexts,
        })
    }

    /// An address, and its query where that has places. Records have no say in where a call goes.
    fn address(&mut self, url: &str, span: Span) -> Option<(String, Option<Template>)> {
        let (place, query) = match url.split_once('?') {
            Some((place, query)) => (place, Some(query)),
            None => (url, None),
        };
        if !(place.starts_with("http://") || place.starts_with("https://")) {
            self.desk.error(
                span,
                format!("`{place}` is no address"),
                "it has to begin with `http://` or `https://`",
            );
            return None;
        }
        if place.contains('{') {
            self.desk.error(
                span,
                "a place stands before the `?` of the address",
                "records may fill the query alone, such as `http://localhost:8000/answer?q={query}`",
            );
            return None;
        }
        let Some(query) = query else {
            return Some((place.to_owned(), None));
        };
        let template = self.parsed(query, span)?;
        Some(if template.is_plain() {
            (url.to_owned(), None)
        } else {
            (place.to_owned(), Some(template))
        })
    }

    fn body(&mut self, node: &Node) -> Body {
        let mut errors = Vec::new();
        let body = Body::parse(&node.to_json(), self.wanted, &mut errors);
        for (pointer, error) in errors {
            let span = node.pointer(&pointer).map_or(node.span, |node| node.span);
            self.desk.error(span, error.message, error.help);
        }
        body
    }

    fn path(&mut self, what: &str, text: Option<&str>, span: Span) -> Option<FieldPath> {
        match FieldPath::parse(text?) {
            Ok(path) => Some(path),
            Err(error) => {
                self.desk.error(span, format!("`{what}`: {error}"), "");
                None
            }
        }
    }

    fn template(&mut self, node: Option<&Node>) -> Option<Template> {
        let node = node?;
        let text = node.as_str()?;
        self.parsed(text, node.span)
    }

    fn parsed(&mut self, text: &str, span: Span) -> Option<Template> {
        match Template::parse(text, self.wanted) {
            Ok(template) => Some(template),
            Err(error) => {
                self.desk.error(span, error.message, error.help);
                None
            }
        }
    }
}

/// A model under test answers as its provider has it, not as a judge: without a temperature of its own.
fn as_application(mut spec: ModelSpec) -> ModelSpec {
    if spec.temperature == Temperature::Unset {
        spec.temperature = Temperature::Provider;
    }
    spec
}

fn key_span(node: &Node, key: &str) -> Option<Span> {
    let entries = node.entries().iter();
    let mut keys = entries.map(|(name, _)| name);
    keys.find(|name| name.as_str() == Some(key))
        .map(|name| name.span)
}
