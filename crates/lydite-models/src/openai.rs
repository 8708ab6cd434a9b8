//! Chat completions: OpenAI's protocol, and all who serve it.
//!
//! Protocol: OpenAI, API reference, "Chat", <https://platform.openai.com/docs/api-reference/chat>;
//! Azure OpenAI, "Data plane inference", 2024-10-21. What a server refuses by name (a form of replies,
//! `temperature`, `seed`, `max_tokens`) is left out or replaced for the rest of the run.

mod body;
mod learned;
mod reply;

use std::sync::Arc;
use std::time::Duration;

use lydite::model::{
    BoxFuture, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelSpec, Provider,
    ReplyFormat, Structured,
};

use crate::environment::{self, Environment};
use crate::exchange::{self, Exchange, Tokens};
use crate::http::{Endpoint, HttpReply, config_error};
use crate::identity;
use crate::prices::{self, KnownPrice};
use crate::refusal::Refusal;
use crate::schema::{self, Made, Schemas};
use crate::{Attempt, AttemptError, ChatWire, provider, tokens};
use body::Dialect;
pub(crate) use body::{in_words, size, tail, with_tail};
use learned::{Form, Learned, Plan};
use reply::{Answer, Choice};

/// The newest version of Azure's interface that is no preview and has JSON schemas.
const AZURE_VERSION: &str = "2024-10-21";
/// Requests of one attempt: the first, and one for each thing that a server can refuse.
const MOST_REQUESTS: usize = 6;

/// A model behind the chat protocol.
#[derive(Debug)]
pub(crate) struct OpenAiChat {
    name: String,
    identity: String,
    model: String,
    endpoint: Endpoint,
    dialect: Dialect,
    temperature: Temperature,
    seed: Option<u64>,
    max_tokens: Option<u32>,
    tail: Vec<u8>,
    schemas: Schemas,
    learned: Learned,
    price: Option<KnownPrice>,
}

impl OpenAiChat {
    pub(crate) fn new(spec: &ModelSpec, environment: Environment<'_>) -> Result<Self, ModelError> {
        check_parameters(spec, &body::OWN)?;
        let facts = provider::facts(spec.provider);
        let reasoning = provider::is_reasoning(spec.provider, &spec.model);
        let free = spec.structured == Structured::Auto;
        let structured = if free {
            facts.structured
        } else {
            spec.structured
        };
        let strict = matches!(
            spec.provider,
            Provider::OpenAi | Provider::Azure | Provider::OpenRouter
        );
        let dialect = if strict {
            schema::Dialect::Strict
        } else {
            schema::Dialect::Plain
        };
        let own = |name: &str| spec.parameters.contains_key(name);
        Ok(Self {
            name: spec.name(),
            identity: identity::of_chat(spec),
            model: spec.model.clone(),
            endpoint: endpoint(spec, "/chat/completions", environment)?,
            dialect: Dialect::of(spec.provider),
            temperature: Temperature::of(spec),
            seed: spec.seed.filter(|_| !own("seed") && !own("random_seed")),
            max_tokens: spec
                .max_output_tokens
                .filter(|_| !own("max_tokens") && !own("max_completion_tokens")),
            tail: tail(spec).map_err(|error| config_error(spec, &error.to_string()))?,
            schemas: Schemas::new(dialect),
            learned: Learned::new(
                Form::of(structured),
                free,
                reasoning,
                facts.logprobs && !reasoning,
            ),
            price: prices::price(spec),
        })
    }

    async fn run(
        &self,
        request: &ChatRequest,
        exchange: &mut Exchange<'_>,
    ) -> Result<ChatReply, AttemptError> {
        let schema = match &request.format {
            ReplyFormat::Json { schema, .. } => Some(self.schemas.get(schema)),
            ReplyFormat::Text => None,
        };
        let schema = schema.as_deref();
        for _ in 0..MOST_REQUESTS {
            if request.top_logprobs.is_some() && !self.learned.logprobs() {
                return Err(no_logprobs());
            }
            let plan = self.plan(request, schema);
            let body = body::render(
                &self.model,
                self.dialect,
                request,
                &plan,
                schema,
                &self.tail,
            )
            .map_err(unwritable)?;
            let reply = exchange.send(body).await?;
            if reply.is_success() {
                match self.read(&reply, request, schema, &plan, exchange)? {
                    Some(reply) => return Ok(reply),
                    None => continue,
                }
            }
            let refusal = Refusal::read(&reply.body);
            if !self
                .learned
                .learn(&plan, reply.status, &refusal, &self.model)
            {
                return Err(self.refused(&plan, &reply, &refusal));
            }
        }
        Err(AttemptError::passing(
            ModelErrorKind::Protocol,
            "the server refused every form of the request in turn; try `structured: text`",
        ))
    }

    fn plan(&self, request: &ChatRequest, schema: Option<&Made>) -> Plan {
        let mut plan = Plan {
            form: schema.map(|schema| match self.learned.form() {
                form if schema.is_object => form,
                _ => Form::Text,
            }),
            temperature: self.temperature.of_request(request),
            seed: self.seed,
            max_tokens: self.max_tokens,
            completion_tokens: false,
            top_logprobs: request.top_logprobs,
        };
        self.learned.apply(&mut plan);
        plan
    }

    fn refused(&self, plan: &Plan, reply: &HttpReply, refusal: &Refusal) -> AttemptError {
        let error = refusal.error(reply, &self.endpoint.facts, &self.model);
        if plan.top_logprobs.is_some() && !self.learned.logprobs() {
            return AttemptError {
                message: format!("{}: {}", no_logprobs().message, error.message),
                ..no_logprobs()
            };
        }
        error
    }

    /// Reads an answer; `None` where the call is to be asked again in another form.
    fn read(
        &self,
        reply: &HttpReply,
        request: &ChatRequest,
        schema: Option<&Made>,
        plan: &Plan,
        exchange: &mut Exchange<'_>,
    ) -> Result<Option<ChatReply>, AttemptError> {
        let answer: Answer<'_> = serde_json::from_slice(&reply.body)
            .map_err(|error| not_the_protocol(&self.endpoint, &reply.body, &error))?;
        let choice = answer.choices.as_ref().and_then(|choices| choices.first());
        if let Some(error) = answer.error.or(choice.and_then(|choice| choice.error)) {
            return Err(self.error_inside(&reply::tree(error)));
        }
        let text = choice.and_then(Choice::text);
        exchange.count(
            answer
                .tokens()
                .unwrap_or_else(|| estimated(request, schema, text.as_deref().unwrap_or_default())),
        );
        let choice = choice.ok_or_else(|| {
            AttemptError::passing(ModelErrorKind::Protocol, "the answer has no `choices`")
        })?;
        self.withheld(choice)?;
        let finish = choice.finish();
        let text = match (text, finish) {
            (Some(text), _) => text,
            (None, lydite::model::Finish::Length) => String::new(),
            (None, _) => return Err(no_text()),
        };
        if let Some(form) = plan.form
            && finish == lydite::model::Finish::Stop
            && self.learned.check(form, &text)
        {
            return Ok(None);
        }
        Ok(Some(ChatReply {
            text,
            finish,
            logprobs: choice.logprobs(),
            served_by: answer.model.map(std::borrow::Cow::into_owned),
            ..ChatReply::default()
        }))
    }

    /// The error of an answer that the model refused to give, or a filter withheld.
    fn withheld(&self, choice: &Choice<'_>) -> Result<(), AttemptError> {
        let clean = |text: &str| self.endpoint.facts.redactor.clean(text);
        if let Some(refusal) = choice.refusal() {
            return Err(AttemptError::lasting(
                ModelErrorKind::ContentFilter,
                format!("the model refused to answer: {}", clean(refusal)),
            ));
        }
        match choice.finish_reason.as_deref() {
            Some("content_filter") => Err(AttemptError::lasting(
                ModelErrorKind::ContentFilter,
                "the provider's content filter withheld the answer",
            )),
            Some("error") => Err(AttemptError::passing(
                ModelErrorKind::Server,
                "the server broke the answer off with an error",
            )),
            _ => Ok(()),
        }
    }

    /// The error of an answer with status 200 that holds an error.
    fn error_inside(&self, error: &serde_json::Value) -> AttemptError {
        let error = match error {
            serde_json::Value::String(text) => serde_json::json!({ "message": text }),
            other => other.clone(),
        };
        let reply = HttpReply {
            status: Refusal::status_of(&error).unwrap_or(500),
            ..HttpReply::default()
        };
        Refusal::of(&error).error(&reply, &self.endpoint.facts, &self.model)
    }
}

impl ChatWire for OpenAiChat {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn logprobs(&self) -> bool {
        self.learned.logprobs()
    }

    fn notes(&self) -> Vec<String> {
        self.learned.notes()
    }

    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>> {
        Box::pin(async move {
            let mut exchange = Exchange::new(&self.endpoint, timeout);
            let outcome = self.run(request, &mut exchange).await;
            exchange::with_usage(exchange.finish(self.price, outcome))
        })
    }
}

/// The temperature that a model's settings ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Temperature {
    own: f64,
    /// `parameters` sets it, or leaves it out by null.
    by_parameters: bool,
}

impl Temperature {
    pub(crate) fn of(spec: &ModelSpec) -> Self {
        Self {
            own: spec.temperature.unwrap_or(0.0),
            by_parameters: spec.parameters.contains_key("temperature"),
        }
    }

    pub(crate) fn of_request(self, request: &ChatRequest) -> Option<f64> {
        (!self.by_parameters).then(|| request.temperature.unwrap_or(self.own))
    }
}

/// Where a model of the protocol is: below its base URL, or in Azure's older form by deployment.
pub(crate) fn endpoint(
    spec: &ModelSpec,
    path: &str,
    environment: Environment<'_>,
) -> Result<Endpoint, ModelError> {
    let key = environment::key(spec, environment)?;
    let azure = spec.provider == Provider::Azure;
    let base = provider::base_url(spec).unwrap_or_default();
    let path = if azure && !base.ends_with("/v1") {
        let version = spec.api_version.as_deref().unwrap_or(AZURE_VERSION);
        let base = if base.ends_with("/openai") {
            ""
        } else {
            "/openai"
        };
        let deployment = path_segment(&spec.model);
        Arc::from(format!(
            "{base}/deployments/{deployment}{path}?api-version={version}"
        ))
    } else {
        Arc::<str>::from(path)
    };
    let header = if azure { api_key } else { bearer };
    Endpoint::new(spec, &path, key.as_ref(), header, environment)
}

fn bearer(key: &str) -> (&'static str, String) {
    ("authorization", format!("Bearer {key}"))
}

fn api_key(key: &str) -> (&'static str, String) {
    ("api-key", key.to_owned())
}

/// A name as one segment of a path.
pub(crate) fn path_segment(name: &str) -> String {
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' | b'@' => {
                segment.push(char::from(byte));
            }
            _ => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

/// An error where `parameters` has what other settings or Lydite itself decide.
pub(crate) fn check_parameters(spec: &ModelSpec, own: &[&str]) -> Result<(), ModelError> {
    match spec
        .parameters
        .keys()
        .find(|name| own.contains(&name.as_str()))
    {
        Some(name) => Err(config_error(
            spec,
            &format!("`parameters` may not set `{name}`, which each call sets itself"),
        )),
        None => Ok(()),
    }
}

/// Tokens of a call whose server counts none.
pub(crate) fn estimated(request: &ChatRequest, schema: Option<&Made>, text: &str) -> Tokens {
    let schema = schema.map_or(0, |schema| tokens::estimate(schema.json.get()));
    Tokens {
        input: tokens::estimate_messages(&request.messages) + schema,
        output: tokens::estimate(text),
        estimated: true,
    }
}

pub(crate) fn not_the_protocol(
    endpoint: &Endpoint,
    body: &[u8],
    error: &serde_json::Error,
) -> AttemptError {
    let start = match endpoint.facts.redactor.clean_bytes(body) {
        start if start.is_empty() => "nothing".to_owned(),
        start => format!("`{start}`"),
    };
    let what = if error.is_data() {
        "JSON of another form"
    } else {
        "no JSON"
    };
    AttemptError::passing(
        ModelErrorKind::Protocol,
        format!(
            "the answer of {} is {what}: it begins with {start}; check `base_url` and `provider`",
            endpoint.facts.shown_url
        ),
    )
}

pub(crate) fn no_text() -> AttemptError {
    AttemptError::passing(ModelErrorKind::Protocol, "the answer holds no text")
}

pub(crate) fn no_logprobs() -> AttemptError {
    AttemptError::lasting(
        ModelErrorKind::Unsupported,
        "the model gives no log-probabilities",
    )
}

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn unwritable(error: serde_json::Error) -> AttemptError {
    AttemptError::lasting(
        ModelErrorKind::BadRequest,
        format!("the request can't be written as JSON: {error}"),
    )
}
