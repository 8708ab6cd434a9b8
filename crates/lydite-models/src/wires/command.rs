//! A model that is a program.
//!
//! It is started once, by its first call, and reads one JSON line a call:
//! `{id, model, messages, schema_name?, schema?, temperature?, seed?, max_output_tokens?, top_logprobs?, parameters?}`.
//! It writes one JSON line a call, in any order:
//! `{id, text | json | error, finish?, logprobs?, usage?: {input_tokens, output_tokens}}`.
//! `error` is a text, or `{message, retry?}`. Its standard error is kept for messages. It may end when
//! its standard input ends, and is killed when the run ends.

mod process;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lydite::model::{
    BoxFuture, ChatMessage, ChatReply, ChatRequest, Finish, ModelError, ModelErrorKind, ModelSpec,
    ReplyFormat, TokenLogprob, Usage,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wires::chat::{temperature, unwritable};
use crate::wires::http::config_error;
use crate::wires::prices::{self, KnownPrice};
use crate::wires::secret::Redactor;
use crate::wires::{identity, tokens};
use crate::{Attempt, AttemptError, ChatWire};
pub(crate) use process::{Process, Turns};

/// A program that answers.
#[derive(Debug)]
pub(crate) struct CommandChat {
    name: String,
    identity: String,
    spec: ModelSpec,
    temperature: Option<f64>,
    process: Mutex<Option<Process>>,
    price: Option<KnownPrice>,
}

impl CommandChat {
    pub(crate) fn new(spec: &ModelSpec) -> Result<Self, ModelError> {
        if spec.command.is_empty() {
            return Err(config_error(
                spec,
                "no program is named; set `command: [program, argument, …]`",
            ));
        }
        Ok(Self {
            name: spec.name(),
            identity: identity::of_chat(spec),
            temperature: temperature(spec),
            process: Mutex::new(None),
            price: prices::price(spec),
            spec: spec.clone(),
        })
    }

    async fn run(
        &self,
        request: &ChatRequest,
        timeout: Duration,
        usage: &mut Usage,
    ) -> Result<ChatReply, AttemptError> {
        let waiting = self.ask(request)?;
        let line = match tokio::time::timeout(timeout, waiting).await {
            Ok(Ok(line)) => line?,
            Ok(Err(_)) => {
                return Err(AttemptError::lasting(
                    ModelErrorKind::Local,
                    "the program was ended",
                ));
            }
            Err(_) => return Err(crate::wires::http::timed_out("the program", timeout)),
        };
        let answer: Answer = serde_json::from_str(&line).map_err(|error| {
            let start = Redactor::default().clean(&line);
            AttemptError::passing(
                ModelErrorKind::Protocol,
                format!("the program's line can't be read: {error}: `{start}`"),
            )
        })?;
        answer.reply(request, usage)
    }

    /// Sends a call; starts the program where none runs yet.
    fn ask(&self, request: &ChatRequest) -> Result<process::Waiting, AttemptError> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let running = match process.take() {
            Some(running) => running,
            None => Process::start(&self.spec.command, Turns::AtOnce)?,
        };
        process
            .insert(running)
            .ask(|id| self.line(id, request).map_err(unwritable))
    }

    fn line(&self, id: u64, request: &ChatRequest) -> Result<Vec<u8>, serde_json::Error> {
        let (schema_name, schema) = match &request.format {
            ReplyFormat::Text => (None, None),
            ReplyFormat::Json { name, schema } => (Some(*name), Some(&**schema)),
        };
        let call = Call {
            id,
            model: &self.spec.model,
            messages: &request.messages,
            schema_name,
            schema,
            temperature: self
                .temperature
                .map(|own| request.temperature.unwrap_or(own)),
            seed: self.spec.seed,
            max_output_tokens: self.spec.max_output_tokens,
            top_logprobs: request.top_logprobs,
            parameters: (!self.spec.parameters.is_empty()).then_some(&self.spec.parameters),
        };
        let mut line = serde_json::to_vec(&call)?;
        line.push(b'\n');
        Ok(line)
    }
}

impl ChatWire for CommandChat {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// Whatever the program gives.
    fn logprobs(&self) -> bool {
        true
    }

    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>> {
        Box::pin(async move {
            let started = Instant::now();
            let mut usage = Usage {
                calls: 1,
                ..Usage::default()
            };
            let outcome = self.run(request, timeout, &mut usage).await;
            crate::wires::exchange::with_usage(Attempt {
                outcome,
                status: None,
                took: started.elapsed(),
                usage: prices::with_cost(usage, self.price),
                request_id: None,
            })
        })
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    model: &'a str,
    messages: &'a [ChatMessage],
    #[serde(skip_serializing_if = "Option::is_none")]
    schema_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_logprobs: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<&'a std::collections::BTreeMap<String, Value>>,
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    json: Option<Value>,
    #[serde(default)]
    error: Option<Refused>,
    #[serde(default)]
    finish: Finish,
    #[serde(default)]
    logprobs: Option<Vec<TokenLogprob>>,
    #[serde(default)]
    usage: Option<Counted>,
}

/// Why a program gave no answer, in its own words.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Refused {
    Text(String),
    Whole {
        message: String,
        #[serde(default)]
        retry: bool,
    },
}

#[derive(Debug, Deserialize)]
struct Counted {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
}

impl Refused {
    pub(crate) fn into_error(self) -> AttemptError {
        let (message, retry) = match self {
            Self::Text(message) => (message, false),
            Self::Whole { message, retry } => (message, retry),
        };
        let message = Redactor::default().clean(&message);
        AttemptError {
            retry,
            ..AttemptError::lasting(
                ModelErrorKind::Local,
                format!("the program says: {message}"),
            )
        }
    }
}

impl Answer {
    fn reply(self, request: &ChatRequest, usage: &mut Usage) -> Result<ChatReply, AttemptError> {
        let text = self.text.or_else(|| self.json.map(|json| json.to_string()));
        if let Some(counted) = self.usage {
            usage.input_tokens = counted.input_tokens;
            usage.output_tokens = counted.output_tokens;
        } else {
            usage.input_tokens = tokens::estimate_messages(&request.messages);
            usage.output_tokens = tokens::estimate(text.as_deref().unwrap_or_default());
            usage.estimated = true;
        }
        if let Some(refused) = self.error {
            return Err(refused.into_error());
        }
        let text = text.ok_or_else(|| {
            AttemptError::passing(
                ModelErrorKind::Protocol,
                "the program's line has neither `text` nor `json` nor `error`",
            )
        })?;
        Ok(ChatReply {
            text,
            finish: self.finish,
            logprobs: self.logprobs,
            ..ChatReply::default()
        })
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn program(script: &str) -> Arc<CommandChat> {
        let mut spec = ModelSpec::new(lydite::model::Provider::Command, "m");
        spec.command = ["sh", "-c", script].map(str::to_owned).to_vec();
        Arc::new(CommandChat::new(&spec).unwrap())
    }

    fn request(text: &str) -> ChatRequest {
        ChatRequest {
            messages: vec![ChatMessage::user(text)],
            ..ChatRequest::default()
        }
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
            .block_on(future)
    }

    const TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    fn replies_find_their_calls_in_any_order() {
        // Reads two calls, answers the second first.
        let model = program(concat!(
            "read a; read b; ",
            r#"echo '{"id": 2, "json": {"n": 2}, "usage": {"input_tokens": 5, "output_tokens": 1}}'; "#,
            r#"echo '{"id": 1, "text": "one"}'; cat > /dev/null"#,
        ));
        let (first, second) = (request("a"), request("b"));
        let (first, second) = block_on(async {
            tokio::join!(
                model.attempt(&first, TIMEOUT),
                model.attempt(&second, TIMEOUT)
            )
        });
        assert_eq!(first.outcome.unwrap().text, "one");
        assert!(first.usage.estimated);
        let second = second.outcome.unwrap();
        assert_eq!(second.text, r#"{"n":2}"#);
        assert_eq!((second.usage.calls, second.usage.input_tokens), (1, 5));
    }

    #[test]
    fn the_call_stands_on_one_line() {
        let model = program(r#"read -r line; printf '%s' "$line" >&2; exit 3"#);
        let schema = Arc::new(serde_json::json!({"type": "object"}));
        let request = ChatRequest {
            format: ReplyFormat::Json {
                name: "verdict",
                schema,
            },
            ..request("two\nlines")
        };
        let error = block_on(model.attempt(&request, TIMEOUT))
            .outcome
            .unwrap_err();
        let expected = r#"{"id":1,"model":"m","messages":[{"role":"user","content":"two\nlines"}],"schema_name":"verdict","schema":{"type":"object"},"temperature":0.0}"#;
        assert!(error.message.contains(expected), "{}", error.message);
        assert!(
            error.message.contains("exit status: 3"),
            "{}",
            error.message
        );
    }

    #[test]
    fn what_goes_wrong_is_said() {
        for (script, kind, retry, words) in [
            (
                "echo 'no CUDA' >&2; exit 1",
                ModelErrorKind::Local,
                false,
                "no CUDA",
            ),
            (
                "echo hello; cat",
                ModelErrorKind::Protocol,
                false,
                "`hello`",
            ),
            (
                r#"echo '{"id": 1, "error": "too hard"}'; cat >&2"#,
                ModelErrorKind::Local,
                false,
                "too hard",
            ),
            (
                r#"echo '{"id": 1, "error": {"message": "busy", "retry": true}}'; cat >&2"#,
                ModelErrorKind::Local,
                true,
                "busy",
            ),
            (
                r#"echo '{"id": 1}'; cat >&2"#,
                ModelErrorKind::Protocol,
                true,
                "neither `text`",
            ),
        ] {
            let model = program(&format!("read line; {script}"));
            let error = block_on(model.attempt(&request("a"), TIMEOUT))
                .outcome
                .unwrap_err();
            assert_eq!(
                (error.kind, error.retry),
                (kind, retry),
                "{script}: {}",
                error.message
            );
            assert!(error.message.contains(words), "{script}: {}", error.message);
        }
    }

    #[test]
    fn a_silent_program_is_a_timeout_and_a_missing_one_is_named() {
        let model = program("cat > /dev/null");
        let call = request("a");
        let attempt = model.attempt(&call, Duration::from_millis(50));
        assert_eq!(
            block_on(attempt).outcome.unwrap_err().kind,
            ModelErrorKind::Timeout
        );
        let mut spec = ModelSpec::new(lydite::model::Provider::Command, "");
        spec.command = vec!["/no/such/program".to_owned()];
        let model = CommandChat::new(&spec).unwrap();
        let error = block_on(model.attempt(&request("a"), TIMEOUT))
            .outcome
            .unwrap_err();
        assert!(
            error.message.contains("/no/such/program"),
            "{}",
            error.message
        );
    }

    #[test]
    fn the_program_ends_with_its_model() {
        let folder = tempfile::tempdir().unwrap();
        let pid = folder.path().join("pid");
        let model = program(&format!(
            r#"echo $$ > {}; read line; echo '{{"id": 1, "text": "x"}}'; exec sleep 600"#,
            pid.display()
        ));
        block_on(model.attempt(&request("a"), TIMEOUT))
            .outcome
            .unwrap();
        let pid = std::fs::read_to_string(pid).unwrap();
        drop(model);
        let alive = std::process::Command::new("kill")
            .args(["-0", pid.trim()])
            .stderr(std::process::Stdio::null())
            .status()
            .unwrap();
        assert!(!alive.success());
    }
}
