//! What a provider says of a request that it refused, and which error that is.

use std::borrow::Cow;
use std::time::Duration;

use lydite::model::ModelErrorKind;
use serde_json::Value;

use crate::AttemptError;
use crate::wires::http::{EndpointFacts, HttpReply};
use crate::wires::secret::Redactor;

/// An error in a provider's body, of whichever of the forms in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) message: String,
    /// `code`, else `type` or `status`.
    pub(crate) code: String,
    pub(crate) param: String,
    retry_after: Option<Duration>,
    /// The body was JSON.
    structured: bool,
}

/// Words that say that a prompt is too long, in lower case.
const TOO_LONG: [&str; 12] = [
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "reduce the length",
    "maximum number of tokens allowed",
    "maximum input length",
];

/// Words that say that a filter has stopped the request or its answer.
const FILTERED: [&str; 6] = [
    "content_filter",
    "content_policy_violation",
    "data_inspection_failed",
    "responsible ai",
    "input was flagged",
    "content policy",
];

/// Words that say that a model failed to keep to the form that it was held to.
const FORM_MISSED: [&str; 3] = [
    "json_validate_failed",
    "tool_use_failed",
    "failed to generate json",
];

impl Refusal {
    pub(crate) fn read(body: &[u8]) -> Self {
        match serde_json::from_slice(body) {
            Ok(Value::Array(list)) => list.first().map(Self::of).unwrap_or_default(),
            Ok(value) => Self::of(&value),
            Err(_) => Self {
                message: String::from_utf8_lossy(body.get(..4096).unwrap_or(body)).into_owned(),
                ..Self::default()
            },
        }
    }

    /// Of a body, or of an object that has `error` or is one.
    pub(crate) fn of(value: &Value) -> Self {
        let error = match value.get("error") {
            Some(error @ Value::Object(_)) => error,
            _ => value,
        };
        let text = |keys: &[&str]| keys.iter().find_map(|key| words(error.get(*key)?));
        let mut message = text(&["message", "error", "detail", "msg"]).unwrap_or_default();
        // OpenRouter: what the provider behind it said.
        if let Some(raw) = error.pointer("/metadata/raw").and_then(words) {
            message = format!("{message}: {raw}");
        }
        Self {
            message,
            code: match (error.get("code"), text(&["type", "status"])) {
                (Some(Value::String(code)), _) => code.clone(),
                (_, Some(kind)) => kind,
                (code, None) => code.and_then(words).unwrap_or_default(),
            },
            param: text(&["param"]).unwrap_or_default(),
            retry_after: retry_delay(error),
            structured: true,
        }
    }

    /// A status among the fields of an error that came with 200.
    pub(crate) fn status_of(value: &Value) -> Option<u16> {
        let error = value.get("error").unwrap_or(value);
        let code = error
            .get("code")
            .or_else(|| error.get("status"))?
            .as_u64()?;
        u16::try_from(code)
            .ok()
            .filter(|code| (400..600).contains(code))
    }

    /// Its message, fit to be shown.
    pub(crate) fn quoted(&self, redactor: &Redactor) -> String {
        redactor.clean(&self.message)
    }

    /// Whether any of some words, in lower case, stands in the error; the model's name apart.
    pub(crate) fn says(&self, model: &str, words: &[&str]) -> bool {
        let text = format!("{} {} {}", self.code, self.param, self.message);
        let text = without_name(&text, model).to_lowercase();
        words.iter().any(|word| text.contains(word))
    }

    /// The error of a reply that is no success.
    pub(crate) fn error(
        &self,
        reply: &HttpReply,
        facts: &EndpointFacts,
        model: &str,
    ) -> AttemptError {
        let context = Context {
            status: reply.status,
            quote: match facts.redactor.clean(&self.message) {
                quote if quote.is_empty() => String::new(),
                quote => format!(": {quote}"),
            },
            location: reply.location.as_deref(),
            facts,
            model,
        };
        AttemptError {
            retry_after: reply.retry_after.or(self.retry_after),
            ..self.classify(&context)
        }
    }

    fn classify(&self, context: &Context<'_>) -> AttemptError {
        use ModelErrorKind as Kind;
        let Context { status, quote, .. } = context;
        let lasting = AttemptError::lasting;
        let passing = AttemptError::passing;
        match status {
            401 => lasting(Kind::Unauthorized, context.unauthorized()),
            403 if !self.says("", &FILTERED) => lasting(Kind::Unauthorized, context.forbidden()),
            402 => lasting(Kind::BadRequest, context.no_credit()),
            429 if self.says("", &["insufficient_quota", "billing_hard_limit"]) => {
                lasting(Kind::BadRequest, context.no_credit())
            }
            429 => passing(Kind::RateLimited, format!("too many requests (429){quote}")),
            407 => lasting(Kind::Connection, context.proxy_refused()),
            300..400 => lasting(Kind::NotFound, context.redirect()),
            400 | 404 | 413 | 422 | 500
                if self.says(context.model, &TOO_LONG) || self.counts_tokens() =>
            {
                lasting(
                    Kind::ContextLength,
                    format!(
                        "the prompt is longer than the model takes ({status}){quote}; shorten the record, or take a model with a longer context"
                    ),
                )
            }
            404 => lasting(Kind::NotFound, self.not_found(context)),
            413 => lasting(
                Kind::ContextLength,
                format!("the request is larger than the server takes (413){quote}"),
            ),
            400..500 if self.says("", &FILTERED) => lasting(
                Kind::ContentFilter,
                format!("the provider's content filter stopped the call ({status}){quote}"),
            ),
            400..500 if self.says("", &FORM_MISSED) => passing(
                Kind::Protocol,
                format!("the model's reply was not of the form asked for ({status}){quote}"),
            ),
            // Google says a wrong key by 400.
            400 if self.says("", &["api key not valid", "api_key_invalid"]) => {
                lasting(Kind::Unauthorized, context.unauthorized())
            }
            408 => passing(
                Kind::Timeout,
                format!("the server gave up waiting (408){quote}"),
            ),
            409 | 425 | 499 => passing(
                Kind::Server,
                format!("the server could not answer now ({status}){quote}"),
            ),
            501 => lasting(
                Kind::Unsupported,
                format!("the server does not have this (501){quote}"),
            ),
            500.. => passing(Kind::Server, format!("the server failed ({status}){quote}")),
            _ => lasting(
                Kind::BadRequest,
                format!("the request was refused ({status}){quote}"),
            ),
        }
    }

    /// Gemini: "The input token count (1200000) exceeds the maximum number of tokens allowed".
    fn counts_tokens(&self) -> bool {
        self.says("", &["token count"]) && self.says("", &["exceed"])
    }

    fn not_found(&self, context: &Context<'_>) -> String {
        let Context { model, quote, .. } = context;
        let url = &context.facts.shown_url;
        let names_model = self.structured
            && (self.says("", &["model", "deployment"])
                || !model.is_empty() && self.message.contains(model));
        if names_model {
            return format!(
                "the model `{model}` was not found (404){quote}; check its name, and that the key may use it"
            );
        }
        let advice = if url.contains("/v1") {
            "check `base_url`"
        } else {
            "check `base_url`; with most servers it ends with `/v1`"
        };
        format!("there is nothing at {url} (404){quote}; {advice}")
    }
}

/// What an error's text is made of.
#[derive(Debug)]
struct Context<'r> {
    status: u16,
    /// Empty, or `: ` and the provider's words.
    quote: String,
    location: Option<&'r str>,
    facts: &'r EndpointFacts,
    model: &'r str,
}

impl Context<'_> {
    fn unauthorized(&self) -> String {
        let Self {
            status,
            quote,
            facts,
            ..
        } = self;
        let url = &facts.shown_url;
        match &facts.key_variable {
            Some(variable) => format!(
                "the API key in the environment variable {variable} was refused ({status}){quote}; check the key, and that it is one for {url}"
            ),
            None => format!(
                "{url} asks for an API key ({status}){quote}; name the environment variable that holds it by `api_key_env` in the model's settings"
            ),
        }
    }

    fn forbidden(&self) -> String {
        let Self {
            quote,
            facts,
            model,
            ..
        } = self;
        match &facts.key_variable {
            Some(variable) => format!(
                "the API key in the environment variable {variable} may not use `{model}` (403){quote}; check its permissions, its project and its region"
            ),
            None => format!(
                "{} forbids the call (403){quote}; if it wants an API key, name its environment variable by `api_key_env` in the model's settings",
                facts.shown_url
            ),
        }
    }

    fn no_credit(&self) -> String {
        format!(
            "the account's quota or credit is used up ({}){}; waiting does not help: check plan and billing at the provider",
            self.status, self.quote
        )
    }

    fn proxy_refused(&self) -> String {
        match &self.facts.proxy {
            Some((variable, proxy)) => format!(
                "the proxy {proxy} of the environment variable {variable} wants other credentials (407); check the user name and password in that variable"
            ),
            None => "a proxy on the way wants credentials (407); set HTTPS_PROXY or HTTP_PROXY with them".to_owned(),
        }
    }

    fn redirect(&self) -> String {
        let to = match self.location {
            Some(location) => format!(" to {location}"),
            None => String::new(),
        };
        format!(
            "{} redirects{to} ({}), and requests with keys are not sent on; set `base_url` to the new address",
            self.facts.shown_url, self.status
        )
    }
}

/// A text without a name, where it stands as a word of its own.
fn without_name<'t>(text: &'t str, name: &str) -> Cow<'t, str> {
    if name.is_empty() || !text.contains(name) {
        return Cow::Borrowed(text);
    }
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    let mut without = String::with_capacity(text.len());
    while let Some((before, after)) = rest.split_once(name) {
        without.push_str(before);
        if before.ends_with(is_part) || after.starts_with(is_part) {
            without.push_str(name);
        }
        rest = after;
    }
    without.push_str(rest);
    Cow::Owned(without)
}

/// A value as words: a text, the messages of a list of errors, or its JSON.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(list) => {
            let parts: Vec<_> = list.iter().filter_map(validation).collect();
            Some(parts.join("; "))
        }
        Value::Object(object) => match object.get("detail").or_else(|| object.get("message")) {
            Some(inner) => words(inner),
            None => Some(value.to_string()),
        },
        other => Some(other.to_string()),
    }
}

/// One item of FastAPI's `detail`: `{loc: [body, x], msg}`.
fn validation(item: &Value) -> Option<String> {
    let Some(message) = item.get("msg").and_then(Value::as_str) else {
        return words(item);
    };
    let place = item.get("loc").and_then(Value::as_array);
    let place: Vec<_> = place
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .filter(|part| *part != "body")
        .collect();
    Some(format!("{} {message}", place.join(".")).trim().to_owned())
}

/// Google's `RetryInfo`: `details: [{retryDelay: "34.07s"}]`.
fn retry_delay(error: &Value) -> Option<Duration> {
    error
        .get("details")?
        .as_array()?
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())
        .and_then(|delay| delay.strip_suffix('s')?.parse().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Written from the providers' documentation; none was recorded.
    #[test]
    fn forms_of_errors() {
        for (body, message, code, param) in [
            (
                json!({"error": {"message": "No", "type": "t", "code": "c", "param": "temperature"}}),
                "No",
                "c",
                "temperature",
            ),
            (
                json!({"error": {"message": "No", "type": "t", "code": null}}),
                "No",
                "t",
                "",
            ),
            (json!({"error": "No"}), "No", "", ""),
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "No"}}),
                "No",
                "overloaded_error",
                "",
            ),
            (
                json!([{"error": {"code": 400, "message": "No", "status": "INVALID_ARGUMENT"}}]),
                "No",
                "INVALID_ARGUMENT",
                "",
            ),
            (
                json!({"object": "error", "message": "No", "type": "t", "code": 40301}),
                "No",
                "t",
                "",
            ),
            (
                json!({"detail": [{"loc": ["body", "seed"], "msg": "No"}]}),
                "seed No",
                "",
                "",
            ),
            (
                json!({"message": {"detail": [{"loc": ["body", "seed"], "msg": "No"}]}}),
                "seed No",
                "",
                "",
            ),
            (
                json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "No"}}}),
                "Provider returned error: No",
                "400",
                "",
            ),
        ] {
            let refusal = Refusal::read(body.to_string().as_bytes());
            assert_eq!(
                (
                    refusal.message.as_str(),
                    refusal.code.as_str(),
                    refusal.param.as_str()
                ),
                (message, code, param),
                "{body}"
            );
        }
        assert_eq!(
            Refusal::read(b"<html>Bad gateway").message,
            "<html>Bad gateway"
        );
    }

    #[test]
    fn google_says_how_long_to_wait_in_the_body() {
        let body = json!({"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED",
            "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}});
        let refusal = Refusal::of(&body);
        assert_eq!(refusal.retry_after, Some(Duration::from_millis(34_500)));
    }

    #[test]
    fn a_models_name_says_nothing() {
        let refusal = Refusal::of(&json!({"error": {"message": "unknown model toolbench"}}));
        assert!(!refusal.says("toolbench", &["tool"]));
        assert!(refusal.says("", &["tool"]));
        assert!(refusal.says("odel", &["model"]));
    }
}
