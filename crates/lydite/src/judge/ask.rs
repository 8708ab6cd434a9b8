//! The questions that a judge can be asked, and how one is asked: typed, read, repaired once.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::answers::{
    SameScore, majority, missing, read_items, read_list, read_score, read_verdict, short,
    unreadable, value_start, whole,
};
use super::labels::{Labels, Scale, typed};
use super::prompt::{Fill, Filled, Prompt};
use super::read::{self, Misread, Read};
use super::{Failure, JudgeContext, MODE_FALLBACK, REPAIRED, ScoreMode};
use crate::model::{
    CallIdentity, ChatMessage, ChatModel, ChatReply, ChatRequest, ModelErrorKind, Order,
    ReplyFormat, TokenLogprob,
};
use crate::outcome::{Code, Evidence};

/// One question: a prompt and what stands in its places.
#[derive(Debug)]
pub struct Ask<'q> {
    /// Letters and `_`; names the schema or tool on the wire.
    pub name: &'static str,
    pub prompt: &'q Prompt,
    pub fill: &'q [(&'q str, Fill<'q>)],
    /// The order in which two answers stand in the prompt.
    pub order: Order,
}

/// A label with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdicted {
    /// Index into the labels.
    pub label: usize,
    pub reason: String,
    /// A share for each label, summing to 1: by log-probabilities or over samples; all on `label` else.
    pub shares: Vec<f64>,
    /// How `shares` came about, where it took more than one answer's word.
    pub evidence: Vec<Evidence>,
}

impl Verdicted {
    pub fn share(&self, label: usize) -> f64 {
        self.shares.get(label).copied().unwrap_or_default()
    }
}

/// A number with its reasons.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// On the asked scale.
    pub score: f64,
    pub reason: String,
    pub evidence: Vec<Evidence>,
}

/// The verdict on one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Index into the labels.
    pub label: usize,
    pub reason: String,
}

/// How many alternatives a token are asked for: the most that OpenAI's protocol gives.
const TOP_LOGPROBS: u8 = 20;

/// The temperature of samples: at 0 they would all say the same.
const SAMPLE_TEMPERATURE: f64 = 1.0;

impl JudgeContext<'_> {
    /// Asks for one of `labels`, in the check's score mode.
    pub async fn verdict(&self, ask: &Ask<'_>, labels: &Labels) -> Result<Verdicted, Failure> {
        let question = Question::new(ask, self, labels.schema(), true);
        let read = |reply: &str| read_verdict(reply, labels);
        match self.mode() {
            ScoreMode::Verdict => {
                let (verdict, _) = self.answer(&question, 0, &read, &PartialEq::eq).await?;
                Ok(verdict.certain(labels.len()))
            }
            ScoreMode::Logprob => {
                let (verdict, reply) = self.answer(&question, 0, &read, &PartialEq::eq).await?;
                let shares = question.tokens(&reply).and_then(|tokens| {
                    read::label_shares(tokens, value_start(tokens, "verdict")?, labels)
                });
                let Some((shares, mass)) = shares else {
                    self.warn(MODE_FALLBACK);
                    return Ok(verdict.certain(labels.len()));
                };
                Ok(verdict.with_shares(shares, Evidence::new("logprob").set("mass", mass)))
            }
            ScoreMode::Sample(k) => {
                let answers = self.samples(&question, k, &read).await?;
                majority(&answers, labels)
            }
        }
    }

    /// Asks for a number of `scale`, in the check's score mode.
    pub async fn score(&self, ask: &Ask<'_>, scale: &Scale) -> Result<Scored, Failure> {
        let question = Question::new(ask, self, scale.schema(), true);
        let read = |reply: &str| read_score(reply, scale);
        match self.mode() {
            ScoreMode::Verdict => Ok(self.answer(&question, 0, &read, &PartialEq::eq).await?.0.0),
            ScoreMode::Logprob => {
                let (SameScore(mut scored), reply) =
                    self.answer(&question, 0, &read, &PartialEq::eq).await?;
                let expected = question.tokens(&reply).and_then(|tokens| {
                    read::expected_rating(tokens, value_start(tokens, "score")?, scale)
                });
                match expected {
                    Some(expected) => {
                        let evidence = Evidence::new("logprob")
                            .set("said", scored.score)
                            .set("expected", expected.mean)
                            .set("mass", expected.mass);
                        scored.score = expected.mean;
                        scored.evidence.push(evidence);
                    }
                    None => self.warn(MODE_FALLBACK),
                }
                Ok(scored)
            }
            ScoreMode::Sample(k) => {
                let answers = self.samples(&question, k, &read).await?;
                let scores: Vec<f64> = answers.iter().map(|answer| answer.0.score).collect();
                let reason = answers.into_iter().next().map(|answer| answer.0.reason);
                Ok(Scored {
                    score: scores.iter().sum::<f64>() / scores.len().max(1) as f64,
                    reason: reason.unwrap_or_default(),
                    evidence: vec![Evidence::new("sample").set("scores", scores)],
                })
            }
        }
    }

    /// Asks for one of `labels` for each of `count` numbered items of the prompt.
    ///
    /// What the first reply leaves out is asked for once more. What is then missing is
    /// [`Code::VerdictCountMismatch`], with the bounds of the share of the first label in the evidence.
    pub async fn items(
        &self,
        ask: &Ask<'_>,
        count: usize,
        labels: &Labels,
    ) -> Result<Vec<Item>, Failure> {
        self.note_idle_mode();
        let question = Question::new(ask, self, labels.items_schema(count), false);
        let read = |reply: &str| read_items(reply, count, labels);
        let request = question.request(self, 0);
        let reply = self.send(&request).await?;
        let (mut items, wrong) = match question.read(&reply, &read, &PartialEq::eq) {
            Ok(read) => {
                self.warn(read.flags);
                let wrong = missing(&read.value.0);
                (read.value.0, wrong)
            }
            Err(misread) => (vec![None; count], Some(misread)),
        };
        let Some(wrong) = wrong else {
            return Ok(items.into_iter().flatten().collect());
        };
        let repair = question.repair(self, 0, &reply, &wrong);
        let again = self.send(&repair).await?;
        self.warn(REPAIRED);
        let wrong = match question.read(&again, &read, &PartialEq::eq) {
            Ok(read) => {
                self.warn(read.flags);
                for (item, new) in items.iter_mut().zip(read.value.0) {
                    if item.is_none() {
                        *item = new;
                    }
                }
                missing(&items)
            }
            Err(misread) => Some(misread),
        };
        let Some(wrong) = wrong else {
            return Ok(items.into_iter().flatten().collect());
        };
        self.refuse(&[&request, &repair]);
        Err(short(&wrong, &items, &again))
    }

    /// Asks for a list of texts. Blank ones are left out.
    pub async fn list(&self, ask: &Ask<'_>, key: &'static str) -> Result<Vec<String>, Failure> {
        let schema = typed(json!({key: {"type": "array", "items": {"type": "string"}}}));
        self.typed(ask, schema, &|value| read_list(value, key), &|a, b| {
            a.len() == b.len()
        })
        .await
    }

    /// Asks for a reply of a schema of the evaluator's own, read by `fits`.
    pub async fn typed<T: PartialEq>(
        &self,
        ask: &Ask<'_>,
        schema: Arc<Value>,
        fits: &(dyn Fn(&Value) -> Result<Read<T>, Misread> + Sync),
        alike: &(dyn Fn(&T, &T) -> bool + Sync),
    ) -> Result<T, Failure> {
        self.note_idle_mode();
        let question = Question::new(ask, self, schema, false);
        let read = |reply: &str| read::json(reply, fits);
        Ok(self.answer(&question, 0, &read, alike).await?.0)
    }

    /// Asks for plain text and gives it as it came, but for [quotations](read::own_words): for parsers of other
    /// systems.
    pub async fn text(&self, ask: &Ask<'_>) -> Result<String, Failure> {
        let mut question = Question::new(ask, self, Arc::new(Value::Null), false);
        question.format = ReplyFormat::Text;
        let request = question.request(self, 0);
        let reply = self.send(&request).await?;
        whole(&reply).map_err(|wrong| {
            self.refuse(&[&request]);
            unreadable(&wrong, &reply)
        })?;
        Ok(read::own_words(&reply.text, &question.filled.fence).into_owned())
    }

    /// Several answers to one question, all of them or the first failure.
    async fn samples<T: PartialEq>(
        &self,
        question: &Question,
        k: u32,
        read: &(dyn Fn(&str) -> Result<Read<T>, Misread> + Sync + '_),
    ) -> Result<Vec<T>, Failure> {
        let asked = (0..k.max(1)).map(|sample| self.answer(question, sample, read, &PartialEq::eq));
        let answers = join_all(asked).await;
        answers
            .into_iter()
            .map(|answer| answer.map(|(value, _)| value))
            .collect()
    }

    /// One answer, repaired once. `alike` says whether it still is the same answer without what the reply repeats of
    /// the material.
    async fn answer<T: PartialEq>(
        &self,
        question: &Question,
        sample: u32,
        read: &(dyn Fn(&str) -> Result<Read<T>, Misread> + Sync + '_),
        alike: &(dyn Fn(&T, &T) -> bool + Sync + '_),
    ) -> Result<(T, ChatReply), Failure> {
        let request = question.request(self, sample);
        let reply = self.send(&request).await?;
        let wrong = match question.read(&reply, read, alike) {
            Ok(read) => {
                self.warn(read.flags);
                return Ok((read.value, reply));
            }
            Err(misread) => misread,
        };
        if wrong.code == Code::JudgeAbstained {
            self.refuse(&[&request]);
            return Err(unreadable(&wrong, &reply));
        }
        let repair = question.repair(self, sample, &reply, &wrong);
        let again = self.send(&repair).await?;
        self.warn(REPAIRED);
        match question.read(&again, read, alike) {
            Ok(read) => {
                self.warn(read.flags);
                Ok((read.value, again))
            }
            Err(misread) => {
                self.refuse(&[&request, &repair]);
                Err(self.asked_twice(unreadable(&misread, &again)))
            }
        }
    }

    /// Warns where the check has a score mode and this question is asked without it.
    fn note_idle_mode(&self) {
        if self.mode() != ScoreMode::Verdict {
            self.warn(MODE_FALLBACK);
        }
    }

    /// Says of a failure that one repair did not help, and whom to look at.
    fn asked_twice(&self, failure: Failure) -> Failure {
        let judge = self.judge.map_or("the judge", ChatModel::name);
        Failure {
            message: format!(
                "{}; {judge} was asked once more in vain: look at its reply in `raw`, and try another model or `structured: text`",
                failure.message
            ),
            ..failure
        }
    }

    /// Has replies that came to nothing asked for again by later runs.
    fn refuse(&self, requests: &[&ChatRequest]) {
        if let Some(judge) = self.judge {
            for request in requests {
                judge.refuse(request);
            }
        }
    }

    async fn send(&self, request: &ChatRequest) -> Result<ChatReply, Failure> {
        let judge = self.judge.ok_or_else(|| Failure::no_model("judge"))?;
        let mut answer = judge.chat(request).await;
        if let Err(error) = &answer
            && error.kind == ModelErrorKind::Unsupported
            && request.top_logprobs.is_some()
        {
            // That it gives no log-probabilities shows late with some; `mode_fallback` tells it.
            self.with_tally(|tally| tally.usage.add(&error.usage));
            let plain = ChatRequest {
                top_logprobs: None,
                ..request.clone()
            };
            answer = judge.chat(&plain).await;
        }
        match answer {
            Ok(reply) => {
                self.count(&reply.usage, reply.cached);
                Ok(reply)
            }
            Err(error) => Err(self.model_failed(error)),
        }
    }
}

/// A filled prompt with the form of its reply.
struct Question {
    filled: Filled,
    format: ReplyFormat,
    order: Order,
    /// Whether the check's score mode holds for it.
    in_mode: bool,
}

impl Question {
    fn new(ask: &Ask<'_>, cx: &JudgeContext<'_>, schema: Arc<Value>, in_mode: bool) -> Self {
        Self {
            filled: ask.prompt.fill(ask.fill, &cx.fence_key),
            format: ReplyFormat::Json {
                name: ask.name,
                schema,
            },
            order: ask.order,
            in_mode,
        }
    }

    fn request(&self, cx: &JudgeContext<'_>, sample: u32) -> ChatRequest {
        let mode = if self.in_mode {
            cx.mode()
        } else {
            ScoreMode::Verdict
        };
        let sampled = matches!(mode, ScoreMode::Sample(_));
        let weighed = mode == ScoreMode::Logprob && cx.judge.is_some_and(ChatModel::logprobs);
        ChatRequest {
            messages: vec![
                ChatMessage::system(self.filled.system.as_str()),
                ChatMessage::user(self.filled.user.as_str()),
            ],
            format: self.format.clone(),
            top_logprobs: weighed.then_some(TOP_LOGPROBS),
            temperature: sampled.then_some(SAMPLE_TEMPERATURE),
            fence: Some(Arc::clone(&self.filled.fence)),
            identity: CallIdentity {
                repeat: cx.repeat,
                sample,
                juror: cx.juror,
                order: self.order,
                repair: false,
                trial: 0,
            },
        }
    }

    /// Reads a whole reply by the judge's own words. A verdict that hangs on what the reply repeats of the material
    /// is nobody's.
    fn read<T: PartialEq>(
        &self,
        reply: &ChatReply,
        read: &dyn Fn(&str) -> Result<Read<T>, Misread>,
        alike: &dyn Fn(&T, &T) -> bool,
    ) -> Result<Read<T>, Misread> {
        whole(reply)?;
        let Filled { user, fence, .. } = &self.filled;
        let own = read::own_words(&reply.text, fence);
        let found = read(&own)?;
        match read::without_material(&own, user, fence) {
            Some(rest) if !read(&rest).is_ok_and(|other| alike(&other.value, &found.value)) => {
                Err(Misread::new(
                    Code::AmbiguousReply,
                    "the reply repeats the material, and its answer may be a part of that; give the answer alone",
                ))
            }
            _ => Ok(found),
        }
    }

    /// The log-probabilities of a reply, unless it quotes: the tokens of a verdict must be the judge's own.
    fn tokens<'r>(&self, reply: &'r ChatReply) -> Option<&'r [TokenLogprob]> {
        let tokens = reply.logprobs.as_deref()?;
        let Filled { user, fence, .. } = &self.filled;
        let quotes = matches!(read::own_words(&reply.text, fence), Cow::Owned(_))
            || read::without_material(&reply.text, user, fence).is_some();
        (!quotes).then_some(tokens)
    }

    /// The same request with the reply that could not be read, and why.
    fn repair(
        &self,
        cx: &JudgeContext<'_>,
        sample: u32,
        reply: &ChatReply,
        wrong: &Misread,
    ) -> ChatRequest {
        let mut request = self.request(cx, sample);
        request
            .messages
            .push(ChatMessage::assistant(reply.text.as_str()));
        request.messages.push(ChatMessage::user(format!(
            "This reply can't be used: {wrong}. Answer the request again, whole, in the asked form and with nothing beside it."
        )));
        request.identity.repair = true;
        request
    }
}
