//! What is read of a judge's reply to each kind of question, and what several answers come to.

use serde_json::Value;

use super::ask::{Item, Scored, Verdicted};
use super::labels::{Labels, Scale};
use super::read::{self, Misread, Read};
use super::{Failure, UNTYPED_REPLY};
use crate::model::{ChatReply, Finish, TokenLogprob};
use crate::outcome::{Code, Evidence};

/// A reply that ended at its token limit is not read: its verdict may be cut off.
pub(super) fn whole(reply: &ChatReply) -> Result<(), Misread> {
    match reply.finish {
        Finish::Stop => Ok(()),
        Finish::Length => Err(Misread::new(
            Code::Model(crate::model::ModelErrorKind::Truncated),
            "the reply ended at its token limit; raise `max_output_tokens`",
        )),
    }
}

pub(super) fn unreadable(wrong: &Misread, reply: &ChatReply) -> Failure {
    Failure {
        raw: Some(reply.text.clone()),
        ..Failure::new(wrong.code, wrong.message.clone())
    }
}

/// A verdict of one reply. Two are equal where their labels are: reasons may differ.
#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) label: usize,
    reason: String,
}

impl PartialEq for Verdict {
    fn eq(&self, other: &Self) -> bool {
        self.label == other.label
    }
}

impl Verdict {
    pub(super) fn certain(self, labels: usize) -> Verdicted {
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
    pub(super) fn with_shares(self, shares: Vec<f64>, evidence: Evidence) -> Verdicted {
        let share = |label: usize| shares.get(label).copied().unwrap_or_default();
        let likeliest = (0..shares.len()).fold(self.label, |best, label| {
            if share(label) > share(best) {
                label
            } else {
                best
            }
        });
        Verdicted {
            label: likeliest,
            reason: self.reason,
            evidence: vec![
                evidence
                    .set("said", self.label)
                    .set("shares", shares.clone()),
            ],
            shares,
        }
    }
}

pub(super) fn majority(answers: &[Verdict], labels: &Labels) -> Result<Verdicted, Failure> {
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

pub(super) fn read_verdict(reply: &str, labels: &Labels) -> Result<Read<Verdict>, Misread> {
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

pub(super) fn read_score(reply: &str, scale: &Scale) -> Result<Read<SameScore>, Misread> {
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
pub(super) struct SameScore(pub(super) Scored);

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
pub(super) struct Items(pub(super) Vec<Option<Item>>);

impl PartialEq for Items {
    fn eq(&self, other: &Self) -> bool {
        let label = |item: &Option<Item>| item.as_ref().map(|item| item.label);
        self.0.iter().map(label).eq(other.0.iter().map(label))
    }
}

pub(super) fn read_items(
    reply: &str,
    count: usize,
    labels: &Labels,
) -> Result<Read<Items>, Misread> {
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
pub(super) fn missing(items: &[Option<Item>]) -> Option<Misread> {
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
pub(super) fn short(wrong: &Misread, items: &[Option<Item>], reply: &ChatReply) -> Failure {
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

pub(super) fn read_list(value: &Value, key: &str) -> Result<Read<Vec<String>>, Misread> {
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
pub(super) fn value_start(tokens: &[TokenLogprob], key: &str) -> Option<usize> {
    let text: String = tokens.iter().map(|token| &*token.token).collect();
    let quoted = format!("\"{key}\"");
    let at = text.rfind(&quoted)? + quoted.len();
    let value = text.get(at..)?.trim_start().strip_prefix(':')?;
    let value = value.trim_start();
    let value = value.strip_prefix('"').unwrap_or(value);
    Some(text.len() - value.len())
}
