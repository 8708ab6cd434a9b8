//! A model whose replies stand in a file: for demonstrations, tests and tutorials.
//!
//! One JSON object a line, a rule: `{contains?, regex?, model?, times?, reply | error, logprobs?, usage?}`.
//! `contains` (a text or a list of texts, all of which have to be there) and `regex` are looked for in
//! the call's messages, each apart; `model` is the spec's `model`. The first rule that fits answers, at
//! most `times` times. `reply` is a text, or JSON that is given as text; `error` is a text, or
//! `{status, message, retry_after?}` as a provider would have refused the call.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lydite::model::{
    BoxFuture, ChatReply, ChatRequest, ModelError, ModelErrorKind, ModelSpec, TokenLogprob, Usage,
};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::wires::http::config_error;
use crate::wires::prices::{self, KnownPrice};
use crate::wires::secret::Redactor;
use crate::wires::{identity, tokens};
use crate::{Attempt, AttemptError, ChatWire};

/// A file's rules.
#[derive(Debug)]
pub(crate) struct ScriptedChat {
    name: String,
    identity: String,
    file: String,
    model: String,
    rules: Vec<Rule>,
    price: Option<KnownPrice>,
}

#[derive(Debug)]
struct Rule {
    written: Written,
    regex: Option<Regex>,
    /// How often it has answered.
    used: AtomicU64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    contains: Option<OneOrMany>,
    #[serde(default)]
    regex: Option<String>,
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    times: Option<u64>,
    #[serde(default)]
    reply: Option<Value>,
    #[serde(default)]
    error: Option<Refused>,
    #[serde(default)]
    logprobs: Option<Vec<TokenLogprob>>,
    #[serde(default)]
    usage: Option<Counted>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Refused {
    Text(String),
    Status {
        status: u16,
        #[serde(default)]
        message: String,
        /// Seconds.
        #[serde(default)]
        retry_after: Option<f64>,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Counted {
    input_tokens: u64,
    output_tokens: u64,
}

impl ScriptedChat {
    pub(crate) fn new(spec: &ModelSpec) -> Result<Self, ModelError> {
        let file = spec.file.as_deref().unwrap_or(&spec.model);
        if file.is_empty() {
            return Err(config_error(
                spec,
                "no file of replies is named; set `file`",
            ));
        }
        let text = fs::read_to_string(file)
            .map_err(|error| config_error(spec, &format!("{file} can't be read: {error}")))?;
        let mut rules = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if !line.trim().is_empty() {
                let rule = Rule::parse(line).map_err(|problem| {
                    config_error(spec, &format!("{file}:{}: {problem}", index + 1))
                })?;
                rules.push(rule);
            }
        }
        Ok(Self {
            name: spec.name(),
            identity: identity::of_file(spec, text.as_bytes()),
            file: file.to_owned(),
            model: spec.model.clone(),
            rules,
            price: prices::price(spec),
        })
    }

    fn answer(&self, request: &ChatRequest) -> Attempt<ChatReply> {
        let started = Instant::now();
        let rule = self
            .rules
            .iter()
            .find(|rule| rule.takes(request, &self.model));
        let outcome = match rule {
            Some(rule) => rule.outcome(request),
            None => Err(self.no_rule(request)),
        };
        let mut usage = Usage {
            calls: 1,
            ..Usage::default()
        };
        if let Ok(reply) = &outcome {
            let counted = rule.and_then(|rule| rule.written.usage);
            usage.estimated = counted.is_none();
            let counted = counted.unwrap_or_else(|| Counted {
                input_tokens: tokens::estimate_messages(&request.messages),
                output_tokens: tokens::estimate(&reply.text),
            });
            (usage.input_tokens, usage.output_tokens) =
                (counted.input_tokens, counted.output_tokens);
        }
        crate::wires::exchange::with_usage(Attempt {
            outcome,
            status: rule.and_then(Rule::status),
            took: started.elapsed(),
            usage: prices::with_cost(usage, self.price),
            request_id: None,
        })
    }

    fn no_rule(&self, request: &ChatRequest) -> AttemptError {
        let last = request.messages.last();
        let start = Redactor::default().clean(last.map_or("", |message| &message.content));
        AttemptError::lasting(
            ModelErrorKind::Local,
            format!(
                "no rule of {} fits the call whose last message is `{start}`; add one, or `{{\"reply\": …}}` as the last line for all others",
                self.file
            ),
        )
    }
}

impl ChatWire for ScriptedChat {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn logprobs(&self) -> bool {
        self.rules
            .iter()
            .any(|rule| rule.written.logprobs.is_some())
    }

    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        _timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>> {
        Box::pin(async move { self.answer(request) })
    }
}

impl Rule {
    fn parse(line: &str) -> Result<Self, String> {
        let written: Written =
            serde_json::from_str(line).map_err(|error| format!("a rule can't be read: {error}"))?;
        if written.reply.is_some() == written.error.is_some() {
            return Err("a rule has either `reply` or `error`".to_owned());
        }
        let regex = written.regex.as_deref().map(Regex::new).transpose();
        Ok(Self {
            regex: regex.map_err(|error| format!("`regex` can't be read: {error}"))?,
            written,
            used: AtomicU64::new(0),
        })
    }

    /// Whether the rule fits and is not used up; it is used once more then.
    fn takes(&self, request: &ChatRequest, model: &str) -> bool {
        self.fits(request, model)
            && match self.written.times {
                None => true,
                Some(times) => self
                    .used
                    .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                        (used < times).then_some(used + 1)
                    })
                    .is_ok(),
            }
    }

    fn fits(&self, request: &ChatRequest, model: &str) -> bool {
        let anywhere = |found: &dyn Fn(&str) -> bool| {
            request
                .messages
                .iter()
                .any(|message| found(&message.content))
        };
        let contains = |text: &String| anywhere(&|content| content.contains(text.as_str()));
        let contained = match &self.written.contains {
            None => true,
            Some(OneOrMany::One(text)) => contains(text),
            Some(OneOrMany::Many(texts)) => texts.iter().all(contains),
        };
        contained
            && self
                .written
                .model
                .as_deref()
                .is_none_or(|name| name == model)
            && self
                .regex
                .as_ref()
                .is_none_or(|regex| anywhere(&|content| regex.is_match(content)))
    }

    fn outcome(&self, request: &ChatRequest) -> Result<ChatReply, AttemptError> {
        if let Some(refused) = &self.written.error {
            return Err(refused.error());
        }
        let logprobs = self.written.logprobs.clone();
        Ok(ChatReply {
            text: match &self.written.reply {
                Some(Value::String(text)) => text.clone(),
                other => other.as_ref().map(Value::to_string).unwrap_or_default(),
            },
            logprobs: logprobs.filter(|_| request.top_logprobs.is_some()),
            ..ChatReply::default()
        })
    }

    fn status(&self) -> Option<u16> {
        match self.written.error {
            Some(Refused::Status { status, .. }) => Some(status),
            _ => None,
        }
    }
}

impl Refused {
    fn error(&self) -> AttemptError {
        use ModelErrorKind as Kind;
        let (status, message, retry_after) = match self {
            Self::Text(text) => return AttemptError::lasting(Kind::Local, text.clone()),
            Self::Status {
                status,
                message,
                retry_after,
            } => (*status, message, *retry_after),
        };
        let (kind, retry) = match status {
            401 | 403 => (Kind::Unauthorized, false),
            404 => (Kind::NotFound, false),
            408 => (Kind::Timeout, true),
            429 => (Kind::RateLimited, true),
            500.. => (Kind::Server, true),
            _ => (Kind::BadRequest, false),
        };
        AttemptError {
            kind,
            message: format!("scripted error ({status}): {message}"),
            retry,
            retry_after: retry_after.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite::model::{ChatMessage, Provider};
    use std::io::Write;

    fn scripted(lines: &str) -> Result<ScriptedChat, ModelError> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(lines.as_bytes()).unwrap();
        let mut spec = ModelSpec::new(Provider::Scripted, "m");
        spec.file = Some(file.path().to_str().unwrap().to_owned());
        ScriptedChat::new(&spec)
    }

    fn ask(model: &ScriptedChat, text: &str) -> Attempt<ChatReply> {
        model.answer(&ChatRequest {
            messages: vec![ChatMessage::system("Be brief."), ChatMessage::user(text)],
            ..ChatRequest::default()
        })
    }

    #[test]
    fn the_first_rule_that_fits_answers() {
        let model = scripted(concat!(
            r#"{"contains": ["Be brief", "Paris"], "reply": {"verdict": "yes"}}"#, "\n",
            r#"{"regex": "^\\d+$", "times": 1, "reply": "a number"}"#, "\n\n",
            r#"{"model": "other", "reply": "never"}"#, "\n",
            r#"{"contains": "busy", "error": {"status": 429, "message": "slow down", "retry_after": 1.5}}"#, "\n",
            r#"{"contains": "broken", "error": "no"}"#, "\n",
            r#"{"contains": "exact", "reply": "x", "usage": {"input_tokens": 7, "output_tokens": 3}}"#, "\n",
        ))
        .unwrap();
        for (text, expected) in [
            ("Is Paris a city?", Ok(r#"{"verdict":"yes"}"#)),
            ("42", Ok("a number")),
            ("42", Err(ModelErrorKind::Local)),
            ("busy", Err(ModelErrorKind::RateLimited)),
            ("broken", Err(ModelErrorKind::Local)),
        ] {
            let outcome = ask(&model, text).outcome;
            let found = outcome.as_ref().map(|reply| reply.text.as_str());
            assert_eq!(found.map_err(|error| error.kind), expected, "{text}");
        }
        let busy = ask(&model, "busy");
        let error = busy.outcome.unwrap_err();
        assert!(error.retry);
        assert_eq!(error.retry_after, Some(Duration::from_millis(1500)));
        assert_eq!(busy.status, Some(429));
        let exact = ask(&model, "exact").usage;
        assert_eq!((exact.input_tokens, exact.output_tokens), (7, 3));
        assert_eq!((exact.cost_usd, exact.estimated), (Some(0.0), false));
    }

    #[test]
    fn what_is_wrong_with_a_file() {
        for (lines, words) in [
            (
                "{\"reply\": 1}\n{\"answer\": 1}",
                ":2: a rule can't be read: unknown field `answer`",
            ),
            ("{}", "either `reply` or `error`"),
            ("{\"regex\": \"(\", \"reply\": 1}", "`regex` can't be read"),
        ] {
            let error = scripted(lines).unwrap_err();
            assert_eq!(error.kind, ModelErrorKind::Config);
            assert!(error.message.contains(words), "{}", error.message);
        }
    }

    #[test]
    fn other_contents_are_another_identity() {
        let one = scripted("{\"reply\": 1}").unwrap();
        let two = scripted("{\"reply\": 2}").unwrap();
        assert_ne!(one.identity, two.identity);
    }
}
