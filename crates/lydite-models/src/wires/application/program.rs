//! An application that is a program: it reads a record a line and writes an answer a line.
//!
//! One program answers one call at a time, so that its next line is that call's answer; several calls at once
//! have several programs. One that failed or was too slow is ended, and a later call starts another.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lydite::model::{BoxFuture, ChatReply, ChatRequest, ModelError, ModelErrorKind, Usage};
use serde::Deserialize;
use serde_json::json;

use super::message;
use crate::wires::command::{Process, Refused, Turns};
use crate::wires::secret::Redactor;
use crate::{Attempt, AttemptError, ChatWire};

#[derive(Debug)]
pub(super) struct ProgramWire {
    name: String,
    identity: String,
    command: Vec<String>,
    /// Programs that wait for a call.
    idle: Mutex<Vec<Process>>,
}

/// What every answer may have; the rest is read by who asked.
#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    error: Option<Refused>,
}

impl ProgramWire {
    pub(super) fn new(name: String, command: &[String]) -> Result<Self, ModelError> {
        if command.is_empty() {
            let message =
                format!("{name}: no program is named; write `command: [program, argument, …]`");
            return Err(ModelError::new(ModelErrorKind::Config, message));
        }
        Ok(Self {
            name,
            identity: json!({"role": "application", "command": command}).to_string(),
            command: command.to_vec(),
            idle: Mutex::default(),
        })
    }

    async fn run(
        &self,
        request: &ChatRequest,
        timeout: Duration,
    ) -> Result<ChatReply, AttemptError> {
        let mut program = match self.idle().pop() {
            Some(program) => program,
            None => Process::start(&self.command, Turns::OneByOne)?,
        };
        let waiting = program.ask(|_| Ok(format!("{}\n", message(request)).into_bytes()))?;
        // Where this ends early, the program is dropped and so ended: its next line would be this call's.
        let line = match tokio::time::timeout(timeout, waiting).await {
            Ok(Ok(line)) => line?,
            Ok(Err(_)) => {
                let message = "the program was ended";
                return Err(AttemptError::lasting(ModelErrorKind::Local, message));
            }
            Err(_) => {
                let message = format!(
                    "no answer from the program within {} s; a longer `timeout` can be set in the target",
                    timeout.as_secs_f64()
                );
                return Err(AttemptError::passing(ModelErrorKind::Timeout, message));
            }
        };
        let answer: Answer = serde_json::from_str(&line).map_err(|_| {
            let start = Redactor::default().clean(&line);
            let message = format!(
                "the program wrote a line that is no JSON object: `{start}`; logs belong on its standard error"
            );
            AttemptError::lasting(ModelErrorKind::Protocol, message)
        })?;
        self.idle().push(program);
        match answer.error {
            Some(refused) => Err(refused.into_error()),
            None => Ok(ChatReply {
                text: line.trim_end().to_owned(),
                ..ChatReply::default()
            }),
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ChatWire for ProgramWire {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn logprobs(&self) -> bool {
        false
    }

    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>> {
        Box::pin(async move {
            let started = Instant::now();
            let outcome = self.run(request, timeout).await;
            Attempt {
                outcome,
                status: None,
                took: started.elapsed(),
                usage: Usage {
                    calls: 1,
                    ..Usage::default()
                },
                request_id: None,
            }
        })
    }
}
