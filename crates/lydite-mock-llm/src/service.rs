//! One request, from its arrival to its reply.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;

use crate::admin;
use crate::app::App;
use crate::body::ReplyBody;
use crate::chat::{Asked, reply};
use crate::config::{Faults, Prepared};
use crate::fault::{Fault, body_key, mix};
use crate::rules::{Question, Rule};
use crate::stats::Kind;
use crate::wire::{self, Problem, Provider, Refusal, Route, Task};

/// Longer bodies are refused.
const MAX_BODY: usize = 64 << 20;

/// Answers a request; an error closes the connection without a reply.
pub(crate) async fn serve(
    app: Arc<App>,
    request: Request<Incoming>,
) -> io::Result<Response<ReplyBody>> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    if path.starts_with(admin::PREFIX) {
        return match read(body).await? {
            Some(body) => Ok(admin::answer(&app, &parts.method, path, &body)),
            None => Ok(json_response(413, &Value::Null)),
        };
    }
    let mut flight = Flight::start(&app, path);
    let body = read(body).await?;
    let arrived = Instant::now();
    let prepared = app.prepared();
    let answer = match body {
        Some(body) => {
            app.keep(path, &parts.headers, &body, prepared.config.keep_requests);
            flight.key = Some(body_key(path, &body));
            Exchange::new(&app, &prepared, &parts, &body).answer()
        }
        None => refused(
            path,
            &Refusal::new(Problem::Status(413), "the request is longer than 64 MiB"),
        ),
    };
    let wait = answer.after.saturating_sub(arrived.elapsed());
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    flight.end(answer.kind);
    answer
        .response
        .ok_or_else(|| io::Error::other("closed on purpose"))
}

/// A response with a JSON value.
pub(crate) fn json_response(status: u16, value: &Value) -> Response<ReplyBody> {
    response(status, Bytes::from(value.to_string()))
}

fn response(status: u16, body: Bytes) -> Response<ReplyBody> {
    let mut response = Response::new(ReplyBody::whole(body));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A whole body; `None` where it is too long.
async fn read(body: Incoming) -> io::Result<Option<Bytes>> {
    match Limited::new(body, MAX_BODY).collect().await {
        Ok(body) => Ok(Some(body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => Ok(None),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Counts a request as in flight until it is dropped, also where its client goes away.
struct Flight {
    app: Arc<App>,
    key: Option<u64>,
    kind: Option<Kind>,
}

impl Flight {
    fn start(app: &Arc<App>, path: &str) -> Self {
        app.counters.arrived(path);
        Self {
            app: Arc::clone(app),
            key: None,
            kind: None,
        }
    }

    fn end(mut self, kind: Kind) {
        self.kind = Some(kind);
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.app.counters.ended(self.key, self.kind);
    }
}

/// What is done about a request.
struct Answer {
    kind: Kind,
    /// Counted from the request's last byte.
    after: Duration,
    /// Without one the connection is closed.
    response: Option<Response<ReplyBody>>,
}

/// A request and all that its answer depends on.
struct Exchange<'e> {
    app: &'e App,
    prepared: &'e Prepared,
    parts: &'e Parts,
    body: &'e Bytes,
    key: u64,
    attempt: u64,
    in_flight: u64,
}

/// A request's content, read.
enum Content<'b> {
    Chat(Asked<'b>),
    Texts(Vec<Cow<'b, str>>),
}

impl<'e> Exchange<'e> {
    fn new(app: &'e App, prepared: &'e Prepared, parts: &'e Parts, body: &'e Bytes) -> Self {
        let key = body_key(parts.uri.path(), body);
        let (attempt, in_flight) = app.counters.attempt(key);
        Self {
            app,
            prepared,
            parts,
            body,
            key,
            attempt,
            in_flight,
        }
    }

    fn answer(&self) -> Answer {
        self.try_answer()
            .unwrap_or_else(|refusal| refused(self.parts.uri.path(), &refusal))
    }

    fn try_answer(&self) -> Result<Answer, Refusal> {
        let route = self.route()?;
        let body: Value = serde_json::from_slice(self.body)
            .map_err(|error| Refusal::invalid(format!("the body is not JSON: {error}")))?;
        let content = match route.task {
            Task::Chat => Content::Chat(route.asked(&body, &self.prepared.config)?),
            Task::Embed | Task::EmbedBatch | Task::Moderate => Content::Texts(route.inputs(&body)?),
        };
        self.check_model(&route, &body)?;
        self.check_length(&content)?;
        let fault = self.fault(&content);
        if let Some(answer) = self.fault_of_the_network(route.provider, fault) {
            return Ok(answer);
        }
        let rule = self.rule(&route, &body, &content)?;
        if let Some((rule, status)) = rule.and_then(|rule| Some((rule, rule.status?))) {
            return Ok(self.ruled(route.provider, rule, status));
        }
        let bytes = self.reply(&route, &body, &content, rule, fault)?;
        if let Some(fault) = fault {
            self.note(fault);
        }
        Ok(self.send(bytes, rule, fault))
    }

    /// The route of a request that is let in.
    fn route(&self) -> Result<Route<'e>, Refusal> {
        let path = self.parts.uri.path();
        let query = self.parts.uri.query().unwrap_or_default();
        let route = wire::route(path).ok_or_else(|| {
            Refusal::new(
                Problem::UnknownPath,
                format!("this mock has nothing at {path}; see docs/mock-llm.md"),
            )
        })?;
        if self.parts.method != Method::POST {
            return Err(Refusal::new(
                Problem::Status(405),
                format!("{path} takes POST"),
            ));
        }
        if let Some(wanted) = &self.prepared.config.api_key {
            let given = route.key(&self.parts.headers, query);
            if !given.is_some_and(|given| wanted.is(&given)) {
                return Err(Refusal::new(
                    Problem::Unauthorized,
                    "the API key is missing or wrong",
                ));
            }
        }
        route.check(path, &self.parts.headers, query)?;
        Ok(route)
    }

    fn check_model(&self, route: &Route<'_>, body: &Value) -> Result<(), Refusal> {
        let model = route.model_of(body);
        if model.is_empty() && route.task != Task::Moderate {
            return Err(Refusal::invalid("model: field required"));
        }
        match &self.prepared.config.models {
            Some(models) if !model.is_empty() && !models.iter().any(|known| known == model) => {
                Err(Refusal::new(
                    Problem::UnknownModel,
                    format!("the model `{model}` does not exist"),
                ))
            }
            _ => Ok(()),
        }
    }

    fn check_length(&self, content: &Content<'_>) -> Result<(), Refusal> {
        let Some(most) = self.prepared.config.max_prompt_chars else {
            return Ok(());
        };
        let longest = match content {
            Content::Chat(asked) => asked.prompt.chars().count(),
            Content::Texts(texts) => texts
                .iter()
                .map(|text| text.chars().count())
                .max()
                .unwrap_or(0),
        };
        if longest <= most {
            return Ok(());
        }
        let (tokens, limit) = (longest.div_ceil(4), most.div_ceil(4));
        Err(Refusal::new(
            Problem::TooLong,
            format!(
                "the prompt is too long: {tokens} tokens, and the context of the model takes {limit}"
            ),
        ))
    }

    /// The fault that is met.
    fn fault(&self, content: &Content<'_>) -> Option<Fault> {
        let faults = &self.prepared.config.faults;
        if faults
            .max_in_flight
            .is_some_and(|most| self.in_flight > most)
        {
            return Some(Fault::RateLimited);
        }
        let fault = Fault::pick(faults, self.prepared.config.seed, self.key, self.attempt)?;
        let can_be_met = match content {
            Content::Chat(asked) => !(asked.is_refused() && fault.is_of_the_model()),
            Content::Texts(_) => fault == Fault::Malformed || !fault.is_of_the_model(),
        };
        can_be_met.then_some(fault)
    }

    /// Counts a fault as given.
    fn note(&self, fault: Fault) {
        let retry_after = retry_after(&self.prepared.config.faults);
        self.app.counters.gave(fault, self.key, retry_after);
    }

    /// The answer where the model is not even asked.
    fn fault_of_the_network(&self, provider: Provider, fault: Option<Fault>) -> Option<Answer> {
        let fault = fault?;
        let faults = &self.prepared.config.faults;
        let (after, response) = match fault {
            Fault::RateLimited => (Duration::ZERO, Some(rate_limited(provider, faults))),
            Fault::ServerError => (Duration::ZERO, Some(server_error(provider, faults))),
            Fault::Hang => (
                Duration::try_from_secs_f64(faults.hang_s).unwrap_or_default(),
                None,
            ),
            Fault::Cut if !self.is_cut_within() => (self.latency(None), None),
            _ => return None,
        };
        self.note(fault);
        Some(Answer {
            kind: Kind::Fault(fault),
            after,
            response,
        })
    }

    /// Whether a connection that is cut is cut within its reply.
    fn is_cut_within(&self) -> bool {
        mix(&[self.prepared.config.seed, self.key, self.attempt, 1]) & 1 == 1
    }

    fn rule(
        &self,
        route: &Route<'_>,
        body: &Value,
        content: &Content<'_>,
    ) -> Result<Option<&'e Rule>, Refusal> {
        let text = match content {
            Content::Chat(asked) => Cow::Borrowed(asked.prompt.as_str()),
            Content::Texts(texts) => Cow::Owned(texts.join("\n")),
        };
        let rules = &self.prepared.rules;
        let rule = rules.find(Question {
            path: self.parts.uri.path(),
            model: route.model_of(body),
            text: &text,
            is_chat: route.task == Task::Chat,
        });
        if rule.is_none() && rules.strict {
            return Err(Refusal::new(
                Problem::Status(404),
                "no rule of this mock fits the request, and its rules are strict",
            ));
        }
        Ok(rule)
    }

    /// The answer with a rule's status.
    fn ruled(&self, provider: Provider, rule: &Rule, status: u16) -> Answer {
        let body = match &rule.body {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => {
                let message = format!("a rule of this mock says {status}");
                provider
                    .error(&Refusal::new(Problem::Status(status), message), None)
                    .to_string()
            }
        };
        let mut response = response(status, Bytes::from(body));
        add_headers(&mut response, rule);
        Answer {
            kind: Kind::Ruled,
            after: self.latency(Some(rule)),
            response: Some(response),
        }
    }

    /// The bytes of a reply of the model.
    fn reply(
        &self,
        route: &Route<'_>,
        body: &Value,
        content: &Content<'_>,
        rule: Option<&Rule>,
        fault: Option<Fault>,
    ) -> Result<Vec<u8>, Refusal> {
        let config = &self.prepared.config;
        let mut bytes = match (content, route.task) {
            (Content::Chat(asked), _) => {
                let reply = reply(asked, config, rule, fault);
                return Ok(to_bytes(&route.render(
                    asked,
                    &reply,
                    config,
                    self.app.next_number(),
                )));
            }
            (Content::Texts(texts), Task::Moderate) => {
                to_bytes(&route.moderations(body, texts, self.app.next_number()))
            }
            (Content::Texts(texts), _) => route.embeddings(body, texts, config)?,
        };
        if fault == Some(Fault::Malformed) {
            bytes.truncate(bytes.len() * 6 / 10);
        }
        Ok(bytes)
    }

    fn send(&self, bytes: Vec<u8>, rule: Option<&Rule>, fault: Option<Fault>) -> Answer {
        let mut response = response(200, Bytes::from(bytes));
        if fault == Some(Fault::Cut) {
            response = response.map(ReplyBody::into_cut);
        }
        if let Some(rule) = rule {
            add_headers(&mut response, rule);
        }
        Answer {
            kind: fault.map_or(Kind::Ok, Kind::Fault),
            after: self.latency(rule),
            response: Some(response),
        }
    }

    fn latency(&self, rule: Option<&Rule>) -> Duration {
        let delay = rule.and_then(|rule| rule.delay_ms);
        Duration::from_millis(delay.unwrap_or(self.prepared.config.latency_ms))
    }
}

fn to_bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// A refusal, at once. What has no provider is told in OpenAI's shape.
fn refused(path: &str, refusal: &Refusal) -> Answer {
    let provider = wire::route(path).map_or(Provider::OpenAi, |route| route.provider);
    Answer {
        kind: Kind::Refused,
        after: Duration::ZERO,
        response: Some(json_response(
            refusal.problem.status(),
            &provider.error(refusal, None),
        )),
    }
}

fn retry_after(faults: &Faults) -> Duration {
    Duration::try_from_secs_f64(faults.retry_after_s).unwrap_or_default()
}

fn rate_limited(provider: Provider, faults: &Faults) -> Response<ReplyBody> {
    let seconds = faults.retry_after_s;
    let refusal = Refusal::new(
        Problem::RateLimited,
        format!("the rate limit is reached; try again in {seconds} s"),
    );
    let mut response = json_response(429, &provider.error(&refusal, Some(seconds)));
    if let Ok(value) = HeaderValue::try_from(seconds.to_string()) {
        response.headers_mut().insert(RETRY_AFTER, value);
    }
    response
}

fn server_error(provider: Provider, faults: &Faults) -> Response<ReplyBody> {
    let status = faults.server_error_status;
    let message = match status {
        503 | 529 => "the server is overloaded",
        _ => "the server had an error",
    };
    json_response(
        status,
        &provider.error(&Refusal::new(Problem::Status(status), message), None),
    )
}

fn add_headers(response: &mut Response<ReplyBody>, rule: &Rule) {
    for (name, value) in &rule.headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().insert(name, value);
        }
    }
}
