//! The questions that a judge can be asked, and how one is asked: typed, read, repaired once.

use std::borrow::Cow;
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::labels::{Labels, Scale, typed};
use super::prompt::{Fill, Filled, Prompt};
use super::read::{self, Misread, Read};
use super::{Failure, JudgeContext, MODE_FALLBACK, REPAIRED, ScoreMode, UNTYPED_REPLY};
use crate::model::{
    CallIdentity, ChatMessage, ChatModel, ChatReply, ChatRequest, Finish, ModelErrorKind, Order,
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
        let question = Question::new(ask, self, labels.schema(), "verdict");
        let read = |reply: &str| read_verdict(reply, labels);
        match self.mode() {
            ScoreMode::Verdict => {
                let (verdict, _) = self.answer(&question, 0, &read).await?;
                Ok(verdict.certain(labels.len()))
            }
            ScoreMode::Logprob => {
                let (verdict, reply) = self.answer(&question, 0, &read).await?;
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
        let question = Question::new(ask, self, scale.schema(), "score");
        let read = |reply: &str| read_score(reply, scale);
        match self.mode() {
            ScoreMode::Verdict => Ok(self.answer(&question, 0, &read).await?.0.0),
            ScoreMode::Logprob => {
                let (SameScore(mut scored), reply) = self.answer(&question, 0, &read).await?;
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
        let question = Question::new(ask, self, labels.items_schema(count), "verdicts");
        let read = |reply: &str| read_items(reply, count, labels);
        let request = question.request(self, 0);
        let reply = self.send(&request).await?;
        let (mut items, wrong) = match question.read(&reply, &read) {
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
        let wrong = match question.read(&again, &read) {
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
        self.typed(ask, schema, &|value| read_list(value, key))
            .await
    }

    /// Asks for a reply of a schema of the evaluator's own, read by `fits`.
    pub async fn typed<T: PartialEq>(
        &self,
        ask: &Ask<'_>,
        schema: Arc<Value>,
        fits: &(dyn Fn(&Value) -> Result<Read<T>, Misread> + Sync),
    ) -> Result<T, Failure> {
        let question = Question::new(ask, self, schema, "");
        let read = |reply: &str| read::json(reply, fits);
        Ok(self.answer(&question, 0, &read).await?.0)
    }

    /// Asks for plain text and gives it as it came, but for [quotations](read::own_words): for parsers of other
    /// systems.
    pub async fn text(&self, ask: &Ask<'_>) -> Result<String, Failure> {
        let mut question = Question::new(ask, self, Arc::new(Value::Null), "");
        question.format = ReplyFormat::Text;
        let reply = self.send(&question.request(self, 0)).await?;
        Ok(read::own_words(&reply.text, &question.filled.fence).into_owned())
    }

    /// Several answers to one question, all of them or the first failure.
    async fn samples<T: PartialEq>(
        &self,
        question: &Question,
        k: u32,
        read: &(dyn Fn(&str) -> Result<Read<T>, Misread> + Sync + '_),
    ) -> Result<Vec<T>, Failure> {
        let asked = (0..k.max(1)).map(|sample| self.answer(question, sample, read));
        let answers = join_all(asked).await;
        answers
            .into_iter()
            .map(|answer| answer.map(|(value, _)| value))
            .collect()
    }

    /// One answer, repaired once.
    async fn answer<T: PartialEq>(
        &self,
        question: &Question,
        sample: u32,
        read: &(dyn Fn(&str) -> Result<Read<T>, Misread> + Sync + '_),
    ) -> Result<(T, ChatReply), Failure> {
        let request = question.request(self, sample);
        let reply = self.send(&request).await?;
        let wrong = match question.read(&reply, read) {
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
        match question.read(&again, read) {
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
    /// The key that an unlabelled reply is asked to name.
    key: &'static str,
}

impl Question {
    fn new(ask: &Ask<'_>, cx: &JudgeContext<'_>, schema: Arc<Value>, key: &'static str) -> Self {
        Self {
            filled: ask.prompt.fill(ask.fill, &cx.fence_key),
            format: ReplyFormat::Json {
                name: ask.name,
                schema,
            },
            order: ask.order,
            key,
        }
    }

    fn request(&self, cx: &JudgeContext<'_>, sample: u32) -> ChatRequest {
        let sampled = matches!(cx.mode(), ScoreMode::Sample(_));
        let weighed = cx.mode() == ScoreMode::Logprob
            && !self.key.is_empty()
            && cx.judge.is_some_and(ChatModel::logprobs);
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
    ) -> Result<Read<T>, Misread> {
        whole(reply)?;
        let Filled { user, fence, .. } = &self.filled;
        let own = read::own_words(&reply.text, fence);
        let found = read(&own)?;
        match read::without_material(&own, user, fence) {
            Some(rest) if !read(&rest).is_ok_and(|other| other.value == found.value) => {
                Err(Misread::new(
                    Code::AmbiguousReply,
                    "the reply repeats the material, and its verdict may be a part of that; give the verdict alone",
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

/// A reply that ended at its token limit is not read: its verdict may be cut off.
fn whole(reply: &ChatReply) -> Result<(), Misread> {
    match reply.finish {
        Finish::Stop => Ok(()),
        Finish::Length => Err(Misread::new(
            Code::Model(crate::model::ModelErrorKind::Truncated),
            "the reply ended at its token limit; raise `max_output_tokens`",
        )),
    }
}

fn unreadable(wrong: &Misread, reply: &ChatReply) -> Failure {
    Failure {
        raw: Some(reply.text.clone()),
        ..Failure::new(wrong.code, wrong.message.clone())
    }
}

/// A verdict of one reply. Two are equal where their labels are: reasons may differ.
#[derive(Debug)]
struct Verdict {
    label: usize,
    reason: String,
}

impl PartialEq for Verdict {
    fn eq(&self, other: &Self) -> bool {
        self.label == other.label
    }
}

impl Verdict {
    fn certain(self, labels: usize) -> Verdicted {
        let shares = (0..labels)
            .map(|label| f64::from(u8::from(label == self.label)))
            .collect();
        Verdicted {
            label: self.label,
            reason: self.reason,
            shares,
            evidence: Vec::new(),
        }
    }

    /// The likeliest label stands, also where the reply's own word is another.
    fn with_shares(self, shares: Vec<f64>, evidence: Evidence) -> Verdicted {
        let likeliest = shares
            .iter()
            .enumerate()
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .map_or(self.label, |(label, _)| label);
        Verdicted {
            label: likeliest,
            reason: self.reason,
            evidence: vec![evidence.set("shares", shares.clone())],
            shares,
        }
    }
}

fn majority(answers: &[Verdict], labels: &Labels) -> Result<Verdicted, Failure> {
    let mut counts = vec![0_u32; labels.len()];
    for answer in answers {
        if let Some(count) = counts.get_mut(answer.label) {
            *count += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or_default();
    let mut winners = (0..counts.len()).filter(|&label| counts.get(label) == Some(&most));
    let named: Vec<&str> = answers
        .iter()
        .map(|answer| labels.name(answer.label))
        .collect();
    let evidence = Evidence::new("sample").set("verdicts", named);
    match (winners.next(), winners.next()) {
        (Some(label), None) => Ok(Verdicted {
            label,
            reason: answers
                .iter()
                .find(|answer| answer.label == label)
                .map(|answer| answer.reason.clone())
                .unwrap_or_default(),
            shares: counts
                .iter()
                .map(|&count| f64::from(count) / answers.len().max(1) as f64)
                .collect(),
            evidence: vec![evidence],
        }),
        _ => Err(Failure {
            evidence: vec![evidence],
            ..Failure::new(
                Code::NoMajority,
                "the samples of the judge agree on no verdict",
            )
        }),
    }
}

fn read_verdict(reply: &str, labels: &Labels) -> Result<Read<Verdict>, Misread> {
    let fits = |value: &Value| {
        let verdict = value.get("verdict").ok_or_else(|| no_key("verdict"))?;
        let read = read::label(verdict, labels)?;
        Ok(Read {
            value: Verdict {
                label: read.value,
                reason: reason_of(value),
            },
            flags: read.flags,
        })
    };
    or_plain(read::json(reply, &fits), || {
        let read = read::verdict(reply, labels)?;
        let reason = reply.trim().to_owned();
        Ok(Read {
            value: Verdict {
                label: read.value,
                reason,
            },
            flags: read.flags,
        })
    })
}

fn read_score(reply: &str, scale: &Scale) -> Result<Read<SameScore>, Misread> {
    let scored = |score, reason| {
        SameScore(Scored {
            score,
            reason,
            evidence: Vec::new(),
        })
    };
    let fits = |value: &Value| {
        let score = value.get("score").ok_or_else(|| no_key("score"))?;
        let read = read::number(score, scale)?;
        Ok(Read {
            value: scored(read.value, reason_of(value)),
            flags: read.flags,
        })
    };
    or_plain(read::json(reply, &fits), || {
        let read = read::rating(reply, scale)?;
        Ok(Read {
            value: scored(read.value, reply.trim().to_owned()),
            flags: read.flags,
        })
    })
}

/// Equal where the scores are: reasons may differ.
#[derive(Debug)]
struct SameScore(Scored);

impl PartialEq for SameScore {
    fn eq(&self, other: &Self) -> bool {
        self.0.score == other.0.score
    }
}

/// A reply without any JSON that fits may still hold its verdict in words.
fn or_plain<T>(
    typed: Result<Read<T>, Misread>,
    plain: impl FnOnce() -> Result<Read<T>, Misread>,
) -> Result<Read<T>, Misread> {
    match typed {
        Err(misread) if misread.code == Code::JudgeUnreadable => {
            // What is wrong with the asked form is what a repair can mend.
            let read = plain().map_err(|plain| match plain.code {
                Code::JudgeUnreadable => misread,
                _ => plain,
            })?;
            Ok(Read {
                value: read.value,
                flags: read.flags | UNTYPED_REPLY,
            })
        }
        other => other,
    }
}

/// Verdicts of items. Equal where the labels are: reasons may differ.
struct Items(Vec<Option<Item>>);

impl PartialEq for Items {
    fn eq(&self, other: &Self) -> bool {
        let label = |item: &Option<Item>| item.as_ref().map(|item| item.label);
        self.0.iter().map(label).eq(other.0.iter().map(label))
    }
}

fn read_items(reply: &str, count: usize, labels: &Labels) -> Result<Read<Items>, Misread> {
    let fits = |value: &Value| typed_items(value, count, labels);
    or_plain(read::json(reply, &fits), || {
        let read = read::items(reply, count, labels)?;
        let item = |label| Item {
            label,
            reason: String::new(),
        };
        let items = read.value.into_iter().map(|label| label.map(item));
        Ok(Read {
            value: Items(items.collect()),
            flags: read.flags,
        })
    })
}

fn typed_items(value: &Value, count: usize, labels: &Labels) -> Result<Read<Items>, Misread> {
    let list = value
        .get("verdicts")
        .unwrap_or(value)
        .as_array()
        .ok_or_else(|| no_key("verdicts"))?;
    let mut items: Vec<Option<Item>> = vec![None; count];
    let mut flags = 0;
    for entry in list {
        let number = entry.get("number").ok_or_else(|| no_key("number"))?;
        let number = number
            .as_u64()
            .or_else(|| number.as_str()?.trim().parse().ok());
        let place = number
            .and_then(|number| usize::try_from(number).ok()?.checked_sub(1))
            .and_then(|index| items.get_mut(index))
            .ok_or_else(|| {
                Misread::new(
                    Code::VerdictCountMismatch,
                    format!("there are {count} items, numbered from 1, and the reply has a verdict for {}", entry["number"]),
                )
            })?;
        let verdict = entry.get("verdict").ok_or_else(|| no_key("verdict"))?;
        let read = read::label(verdict, labels)?;
        flags |= read.flags;
        let item = Item {
            label: read.value,
            reason: reason_of(entry),
        };
        if place
            .as_ref()
            .is_some_and(|before| before.label != item.label)
        {
            return Err(Misread::new(
                Code::AmbiguousReply,
                format!("item {} has two verdicts that differ", entry["number"]),
            ));
        }
        *place = Some(item);
    }
    Ok(Read {
        value: Items(items),
        flags,
    })
}

/// What is said of items that have no verdict.
fn missing(items: &[Option<Item>]) -> Option<Misread> {
    let without: Vec<String> = items
        .iter()
        .enumerate()
        .filter(|(_, item)| item.is_none())
        .map(|(index, _)| (index + 1).to_string())
        .collect();
    (!without.is_empty()).then(|| {
        Misread::new(
            Code::VerdictCountMismatch,
            format!(
                "{} items were asked and {} have a verdict; missing: {}",
                items.len(),
                items.len() - without.len(),
                without.join(", ")
            ),
        )
    })
}

/// The failure of items, with the bounds of the first label's share.
fn short(wrong: &Misread, items: &[Option<Item>], reply: &ChatReply) -> Failure {
    let asked = items.len().max(1) as f64;
    let good = items
        .iter()
        .flatten()
        .filter(|item| item.label == 0)
        .count();
    let open = items.iter().filter(|item| item.is_none()).count();
    let bounds = Evidence::new("bounds")
        .set("asked", items.len())
        .set("answered", items.len() - open)
        .set("low", good as f64 / asked)
        .set("high", (good + open) as f64 / asked);
    Failure {
        evidence: vec![bounds],
        ..unreadable(wrong, reply)
    }
}

fn read_list(value: &Value, key: &str) -> Result<Read<Vec<String>>, Misread> {
    let list = value
        .get(key)
        .unwrap_or(value)
        .as_array()
        .ok_or_else(|| no_key(key))?;
    let mut texts = Vec::with_capacity(list.len());
    for entry in list {
        let text = entry.as_str().ok_or_else(|| {
            Misread::new(
                Code::JudgeUnreadable,
                format!("`{key}` must be a list of texts"),
            )
        })?;
        if !text.trim().is_empty() {
            texts.push(text.trim().to_owned());
        }
    }
    Ok(Read {
        value: texts,
        flags: 0,
    })
}

fn no_key(key: &str) -> Misread {
    Misread::new(
        Code::JudgeUnreadable,
        format!("the reply is no JSON object with `{key}`"),
    )
}

fn reason_of(value: &Value) -> String {
    let text = value.get("reasoning").or_else(|| value.get("reason"));
    text.and_then(Value::as_str)
        .map(str::trim)
        .unwrap_or_default()
        .to_owned()
}

/// Where the value of the last `"key":` of the tokens begins, past an opening quote, as a byte of their
/// joined text. The reply's own text may be cut otherwise.
fn value_start(tokens: &[TokenLogprob], key: &str) -> Option<usize> {
    let text: String = tokens.iter().map(|token| &*token.token).collect();
    let quoted = format!("\"{key}\"");
    let at = text.rfind(&quoted)? + quoted.len();
    let value = text.get(at..)?.trim_start().strip_prefix(':')?;
    let value = value.trim_start();
    let value = value.strip_prefix('"').unwrap_or(value);
    Some(text.len() - value.len())
}
