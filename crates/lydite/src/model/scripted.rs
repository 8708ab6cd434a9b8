//! A session whose models answer from a list: for examples, cases and tests, without any socket.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Wake, Waker};

use futures_util::future::{BoxFuture, ready};
use serde_json::Value;

use super::{
    ApplicationSpec, ChatModel, ChatReply, ChatRequest, Embedded, Embedder, Finish, ModelError,
    ModelErrorKind, ModelSession, ModelSpec, ModelTotals, Moderated, Moderation,
    ModerationCategory, Moderator, Usage, VerdictCache,
};

/// Replies in their order, for every chat model of the session.
///
/// A reply is a text; or `{text, finish?, logprobs?}` as [`ChatReply`] has it; or `{error: MESSAGE}`. Any other JSON
/// is the reply's text. The embedding of a text that is a JSON list of numbers is that list, of any other text its
/// letters' counts. A moderator flags texts that hold the word `harmful`.
#[derive(Debug, Default)]
pub struct ScriptedSession(Arc<Script>);

#[derive(Debug, Default)]
struct Script {
    replies: Mutex<std::vec::IntoIter<Value>>,
    asked: Mutex<Vec<ChatRequest>>,
}

impl ScriptedSession {
    pub fn new(replies: Vec<Value>) -> Self {
        Self(Arc::new(Script {
            replies: Mutex::new(replies.into_iter()),
            asked: Mutex::default(),
        }))
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<ChatRequest> {
        lock(&self.0.asked).clone()
    }

    /// Replies that nobody has asked for.
    pub fn left(&self) -> usize {
        lock(&self.0.replies).len()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One model of the session.
#[derive(Debug)]
struct Scripted {
    script: Arc<Script>,
    name: String,
}

impl ChatModel for Scripted {
    fn identity(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn logprobs(&self) -> bool {
        true
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        lock(&self.script.asked).push(request.clone());
        let reply = lock(&self.script.replies).next();
        Box::pin(ready(answer(reply)))
    }
}

fn answer(reply: Option<Value>) -> Result<ChatReply, ModelError> {
    let usage = Usage {
        calls: 1,
        ..Usage::NONE
    };
    match reply {
        None => Err(ModelError::new(
            ModelErrorKind::Local,
            "the script has no further reply",
        )),
        Some(Value::String(text)) => Ok(ChatReply {
            text,
            usage,
            ..ChatReply::default()
        }),
        Some(value) => {
            if let Some(message) = value.get("error").and_then(Value::as_str) {
                let error = ModelError::new(ModelErrorKind::Server, message);
                return Err(error.with_usage(usage));
            }
            let text = value.get("text").and_then(Value::as_str);
            Ok(ChatReply {
                text: text.map_or_else(|| value.to_string(), str::to_owned),
                finish: match value.get("finish").and_then(Value::as_str) {
                    Some("length") => Finish::Length,
                    _ => Finish::Stop,
                },
                logprobs: text
                    .and(value.get("logprobs"))
                    .and_then(|tokens| serde_json::from_value(tokens.clone()).ok()),
                usage,
                ..ChatReply::default()
            })
        }
    }
}

impl Embedder for Scripted {
    fn identity(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        64
    }

    fn embed<'a>(&'a self, texts: &'a [&'a str]) -> BoxFuture<'a, Result<Embedded, ModelError>> {
        let vectors = texts.iter().map(|text| embedding(text)).collect();
        let usage = Usage {
            calls: 1,
            ..Usage::NONE
        };
        Box::pin(ready(Ok(Embedded {
            vectors,
            usage,
            cached: false,
        })))
    }
}

fn embedding(text: &str) -> Arc<[f32]> {
    if let Ok(vector) = serde_json::from_str::<Vec<f32>>(text) {
        return vector.into();
    }
    let mut counts = [0.0_f32; 26];
    for letter in text.bytes().map(|byte| byte.to_ascii_lowercase()) {
        let index = usize::from(letter.wrapping_sub(b'a'));
        if let Some(count) = counts.get_mut(index) {
            *count += 1.0;
        }
    }
    Arc::new(counts)
}

impl Moderator for Scripted {
    fn identity(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        32
    }

    fn moderate<'a>(
        &'a self,
        texts: &'a [&'a str],
    ) -> BoxFuture<'a, Result<Moderated, ModelError>> {
        let said = |text: &&str| {
            let flagged = text.contains("harmful");
            Moderation {
                flagged,
                categories: vec![ModerationCategory {
                    name: "harassment".into(),
                    flagged,
                    score: if flagged { 0.9 } else { 0.1 },
                }],
            }
        };
        let usage = Usage {
            calls: 1,
            ..Usage::NONE
        };
        Box::pin(ready(Ok(Moderated {
            texts: texts.iter().map(said).collect(),
            usage,
            cached: false,
        })))
    }
}

impl ScriptedSession {
    fn model(&self, spec: &ModelSpec) -> Arc<Scripted> {
        Arc::new(Scripted {
            script: Arc::clone(&self.0),
            name: spec.name(),
        })
    }
}

impl ModelSession for ScriptedSession {
    fn chat(&self, spec: &ModelSpec) -> Result<Arc<dyn ChatModel>, ModelError> {
        Ok(self.model(spec))
    }

    fn embedder(&self, spec: &ModelSpec) -> Result<Arc<dyn Embedder>, ModelError> {
        Ok(self.model(spec))
    }

    fn moderator(&self, spec: &ModelSpec) -> Result<Arc<dyn Moderator>, ModelError> {
        Ok(self.model(spec))
    }

    fn application(&self, spec: &ApplicationSpec) -> Result<Arc<dyn ChatModel>, ModelError> {
        Ok(Arc::new(Scripted {
            script: Arc::clone(&self.0),
            name: spec.name(),
        }))
    }

    fn verdicts(&self) -> Option<Arc<dyn VerdictCache>> {
        None
    }

    fn fence_key(&self) -> [u8; 32] {
        [0; 32]
    }

    fn parallelism(&self) -> usize {
        8
    }

    fn block_on(&self, mut future: Pin<&mut (dyn Future<Output = ()> + '_)>) {
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut cx = Context::from_waker(&waker);
        while future.as_mut().poll(&mut cx).is_pending() {
            std::thread::park();
        }
    }

    fn totals(&self) -> Vec<ModelTotals> {
        Vec::new()
    }

    fn close(&self) -> Result<(), ModelError> {
        Ok(())
    }
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
