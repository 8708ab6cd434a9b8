//! A chat model over HTTP: what is the same for all protocols.
//!
//! One attempt is mostly one request. Where a server refuses a form of replies or a parameter by name,
//! the request goes out again without it, at once, and later calls don't send it either. Where the asked
//! JSON ends in its middle, it goes out once more as it is.

use std::time::Duration;

use lydite::model::{
    BoxFuture, ChatReply, ChatRequest, Finish, ModelError, ModelErrorKind, ModelSpec, ReplyFormat,
    TokenLogprob,
};
use serde::Serialize;
use serde::de::IgnoredAny;

use crate::wires::exchange::{self, Exchange, Tokens};
use crate::wires::http::{Endpoint, HttpReply, config_error};
use crate::wires::learned::{Form, Learned, Plan};
use crate::wires::prices::{self, KnownPrice};
use crate::wires::refusal::Refusal;
use crate::wires::schema::{Dialect, Made, Schemas};
use crate::wires::{identity, tokens};
use crate::{Attempt, AttemptError, ChatWire};

/// Requests of one attempt: the first, one for each thing that a server can refuse, and one after a cut reply.
const MOST_REQUESTS: usize = 7;

/// How a provider writes calls and answers.
pub(crate) trait Protocol: Send + Sync + std::fmt::Debug {
    /// The body of a call.
    fn body(&self, call: &Call<'_>) -> Result<Vec<u8>, serde_json::Error>;

    /// What stands in an answer of success. An error where it is of another protocol, or holds an error
    /// alone; what the model or a filter withheld is in [`Answer::finish`], as its tokens count.
    fn read(&self, reply: &HttpReply, endpoint: &Endpoint) -> Result<Answer, AttemptError>;
}

/// One call and what it is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call<'a> {
    pub(crate) model: &'a str,
    pub(crate) request: &'a ChatRequest,
    pub(crate) plan: &'a Plan,
    /// Where a form is asked for.
    pub(crate) schema: Option<&'a Made>,
    /// Further parameters; see [`tail`].
    pub(crate) tail: &'a [u8],
}

/// What stands in an answer.
#[derive(Debug)]
pub(crate) struct Answer {
    /// `None` where there is none, which is an error unless the limit was reached.
    pub(crate) text: Option<String>,
    pub(crate) finish: Result<Finish, AttemptError>,
    pub(crate) logprobs: Option<Vec<TokenLogprob>>,
    pub(crate) served_by: Option<String>,
    /// As the provider counted them.
    pub(crate) tokens: Option<Tokens>,
}

/// A model behind a protocol.
#[derive(Debug)]
pub(crate) struct HttpChat<P> {
    name: String,
    identity: String,
    model: String,
    endpoint: Endpoint,
    protocol: P,
    temperature: Option<f64>,
    seed: Option<u64>,
    max_tokens: Option<u32>,
    tail: Vec<u8>,
    schemas: Schemas,
    learned: Learned,
    price: Option<KnownPrice>,
}

/// What a provider's file knows of a model beside its spec.
#[derive(Debug)]
pub(crate) struct Setup<P> {
    pub(crate) protocol: P,
    pub(crate) endpoint: Endpoint,
    pub(crate) learned: Learned,
    pub(crate) schemas: Dialect,
    /// The longest reply where the spec names none.
    pub(crate) max_tokens: Option<u32>,
    pub(crate) seeds: bool,
    /// Names of parameters that stand for `max_output_tokens` and `seed`.
    pub(crate) limit_names: &'static [&'static str],
    pub(crate) seed_names: &'static [&'static str],
}

impl<P: Protocol> HttpChat<P> {
    pub(crate) fn new(spec: &ModelSpec, setup: Setup<P>) -> Result<Self, ModelError> {
        let by_parameters =
            |names: &[&str]| names.iter().any(|name| spec.parameters.contains_key(*name));
        let own_limit = spec.max_output_tokens.or(setup.max_tokens);
        Ok(Self {
            name: spec.name(),
            identity: identity::of_chat(spec),
            model: spec.model.clone(),
            temperature: temperature(spec),
            seed: spec
                .seed
                .filter(|_| setup.seeds && !by_parameters(setup.seed_names)),
            max_tokens: own_limit.filter(|_| !by_parameters(setup.limit_names)),
            tail: tail(spec).map_err(|error| config_error(spec, &error.to_string()))?,
            schemas: Schemas::new(setup.schemas),
            endpoint: setup.endpoint,
            protocol: setup.protocol,
            learned: setup.learned,
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
        let mut was_cut = false;
        for _ in 0..MOST_REQUESTS {
            if request.top_logprobs.is_some() && !self.learned.logprobs() {
                return Err(no_logprobs());
            }
            let plan = self.plan(request, schema);
            let call = Call {
                model: &self.model,
                request,
                plan: &plan,
                schema,
                tail: &self.tail,
            };
            let reply = exchange
                .send(self.protocol.body(&call).map_err(unwritable)?)
                .await?;
            if reply.is_success() {
                match self.read(&reply, &call, exchange)? {
                    Some(reply) if !was_cut && is_cut(&reply, &plan) => was_cut = true,
                    Some(reply) => return Ok(reply),
                    None => {}
                }
                continue;
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
            temperature: self
                .temperature
                .map(|own| request.temperature.unwrap_or(own)),
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
        call: &Call<'_>,
        exchange: &mut Exchange<'_>,
    ) -> Result<Option<ChatReply>, AttemptError> {
        let answer = self.protocol.read(reply, &self.endpoint)?;
        exchange.count(
            answer
                .tokens
                .unwrap_or_else(|| estimated(call, answer.text.as_deref())),
        );
        let finish = answer.finish?;
        let text = match (answer.text, finish) {
            (Some(text), _) => text,
            (None, Finish::Length) => String::new(),
            (None, Finish::Stop) => {
                return Err(AttemptError::passing(
                    ModelErrorKind::Protocol,
                    "the answer holds no text",
                ));
            }
        };
        if let Some(form) = call.plan.form
            && finish == Finish::Stop
            && self.learned.check(form, &text)
        {
            return Ok(None);
        }
        Ok(Some(ChatReply {
            text,
            finish,
            logprobs: answer.logprobs,
            served_by: answer.served_by,
            ..ChatReply::default()
        }))
    }
}

impl<P: Protocol> ChatWire for HttpChat<P> {
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

impl<'a> Call<'a> {
    /// The schema, where it is asked for in a form.
    pub(crate) fn in_form(&self, form: Form) -> Option<&'a Made> {
        self.schema.filter(|_| self.plan.form == Some(form))
    }

    /// What is added to the prompt where a form is asked for in words.
    pub(crate) fn addition(&self) -> Option<String> {
        let schema = self.in_form(Form::Text)?;
        Some(format!(
            "\n\nAnswer with one JSON value of this schema and nothing else.\nJSON schema:\n{}",
            schema.json
        ))
    }

    /// What names the schema.
    pub(crate) fn format_name(&self) -> &'static str {
        match self.request.format {
            ReplyFormat::Json { name, .. } => name,
            ReplyFormat::Text => "reply",
        }
    }

    /// About how many bytes the body has.
    pub(crate) fn size(&self) -> usize {
        let messages = &self.request.messages;
        let texts: usize = messages.iter().map(|message| message.content.len()).sum();
        let schema = self
            .schema
            .map_or(0, |schema| schema.json.get().len() + 200);
        texts + texts / 8 + messages.len() * 40 + schema + self.tail.len() + 200
    }
}

/// Whether the JSON that was asked for ends in its middle, though the model was not stopped: something on the
/// way lost the rest, so the same request is worth a second one before anybody tries to make sense of half a reply.
fn is_cut(reply: &ChatReply, plan: &Plan) -> bool {
    let text = reply.text.trim_start();
    plan.form.is_some()
        && reply.finish == Finish::Stop
        && text.starts_with(['{', '['])
        && serde_json::from_str::<IgnoredAny>(text).is_err_and(|error| error.is_eof())
}

/// The temperature of calls that name none; `None` where the provider's default holds, or `parameters` sets it.
pub(crate) fn temperature(spec: &ModelSpec) -> Option<f64> {
    let by_parameters = spec.parameters.contains_key("temperature");
    spec.temperature.or(0.0).filter(|_| !by_parameters)
}

/// Further parameters as the end of a body: `,"top_p":0.9`. Those that are null are left out, and
/// leave out the field of their name.
pub(crate) fn tail(spec: &ModelSpec) -> Result<Vec<u8>, serde_json::Error> {
    let mut tail = Vec::new();
    for (name, value) in spec.parameters.iter().filter(|(_, value)| !value.is_null()) {
        tail.push(b',');
        serde_json::to_writer(&mut tail, name)?;
        tail.push(b':');
        serde_json::to_writer(&mut tail, value)?;
    }
    Ok(tail)
}

/// The JSON of an object with a tail before its closing brace.
pub(crate) fn with_tail<T: Serialize>(
    value: &T,
    tail: &[u8],
    size: usize,
) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = Vec::with_capacity(size);
    serde_json::to_writer(&mut body, value)?;
    if !tail.is_empty() {
        let empty = body.ends_with(b"{}");
        body.pop();
        body.extend_from_slice(tail.get(usize::from(empty)..).unwrap_or_default());
        body.push(b'}');
    }
    Ok(body)
}

/// An error where `parameters` has what other settings or Lydite itself decide.
pub(crate) fn check_parameters(spec: &ModelSpec, own: &[&str]) -> Result<(), ModelError> {
    let mut names = spec.parameters.keys();
    match names.find(|name| own.contains(&name.as_str())) {
        Some(name) => Err(config_error(
            spec,
            &format!("`parameters` may not set `{name}`, which each call sets itself"),
        )),
        None => Ok(()),
    }
}

/// The error of an answer that is no JSON, or JSON of another form.
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

#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn unwritable(error: serde_json::Error) -> AttemptError {
    AttemptError::lasting(
        ModelErrorKind::BadRequest,
        format!("the request can't be written as JSON: {error}"),
    )
}

/// Tokens of a call whose server counts none.
fn estimated(call: &Call<'_>, text: Option<&str>) -> Tokens {
    let schema = call
        .schema
        .map_or(0, |schema| tokens::estimate(schema.json.get()));
    Tokens {
        input: tokens::estimate_messages(&call.request.messages) + schema,
        output: tokens::estimate(text.unwrap_or_default()),
        estimated: true,
    }
}

fn no_logprobs() -> AttemptError {
    AttemptError::lasting(
        ModelErrorKind::Unsupported,
        "the model gives no log-probabilities",
    )
}
