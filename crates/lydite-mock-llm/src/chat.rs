//! What the model says, in no provider's shape yet.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::config::{Config, Replies};
use crate::fault::Fault;
use crate::instance::{TEXT, instance};
use crate::rules::Rule;

/// What a chat request asks, in no provider's shape any more.
#[derive(Debug, Default)]
pub(crate) struct Asked<'b> {
    pub(crate) model: Cow<'b, str>,
    /// The texts of the system prompt and of all messages, a line break after each but the last.
    pub(crate) prompt: String,
    /// The schema that the reply shall have, or the arguments of the tool.
    pub(crate) schema: Option<&'b Value>,
    pub(crate) tool: Option<Tool<'b>>,
    /// How many alternatives of each token are asked for, if log-probabilities are.
    pub(crate) logprobs: Option<u64>,
    pub(crate) max_tokens: Option<u64>,
}

/// The tool that the model has to call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool<'b> {
    pub(crate) name: &'b str,
    /// The request names it, so the model has no choice.
    pub(crate) is_named: bool,
}

/// What the model says.
#[derive(Debug, Default)]
pub(crate) struct Reply<'a> {
    /// Beside a call often empty.
    pub(crate) text: String,
    pub(crate) call: Option<Call<'a>>,
    pub(crate) finish: Finish,
    /// What it would have said with the opposite verdict, dressed in the same way: for the log-probabilities.
    pub(crate) opposite: String,
    /// A rule's own, in the provider's shape.
    pub(crate) logprobs: Option<&'a Value>,
    /// A rule's own.
    pub(crate) finish_reason: Option<&'a str>,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    pub(crate) tool: Tool<'a>,
    pub(crate) arguments: Value,
    pub(crate) is_cut: bool,
}

/// Why the model stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Finish {
    #[default]
    Stop,
    Length,
    Refused,
}

/// What the model means, before anything happens to it.
#[derive(Debug, Clone, PartialEq)]
enum Meant {
    Text(String),
    Arguments(Value),
}

/// The reply to `asked`, by a rule if one fits, with a fault of the model's words if there is one.
pub(crate) fn reply<'a>(
    asked: &Asked<'a>,
    config: &Config,
    rule: Option<&'a Rule>,
    fault: Option<Fault>,
) -> Reply<'a> {
    if asked.is_refused() {
        return Reply {
            text: "I can't help with that.".to_owned(),
            finish: Finish::Refused,
            ..Reply::default()
        };
    }
    let (right, opposite) = match rule {
        Some(rule) => ruled(rule, asked),
        None => made(asked, config),
    };
    let mut reply = say(asked, right, opposite, fault);
    if let Some(rule) = rule {
        reply.logprobs = rule.logprobs.as_ref();
        reply.finish_reason = rule.finish_reason.as_deref();
    }
    // What a right reply is dressed in is not counted, so that it stays right.
    if !fault.is_some_and(Fault::is_right) {
        limit(&mut reply, asked.max_tokens);
    }
    reply
}

/// Tokens of a text, by the rule of thumb that one has four characters.
pub(crate) fn count_tokens(text: &str) -> u64 {
    (text.chars().count() as u64).div_ceil(CHARS_PER_TOKEN)
}

const CHARS_PER_TOKEN: u64 = 4;

impl Asked<'_> {
    /// Whether the model refuses to answer.
    pub(crate) fn is_refused(&self) -> bool {
        self.prompt.contains("[[refuse")
    }
}

impl Reply<'_> {
    /// The length of what is said.
    pub(crate) fn tokens(&self) -> u64 {
        let call = self
            .call
            .as_ref()
            .map_or(0, |call| count_tokens(&call.arguments.to_string()));
        count_tokens(&self.text) + call
    }
}

impl Call<'_> {
    /// The arguments as text, for a provider that sends them so; cut ones are no JSON.
    pub(crate) fn text(&self) -> String {
        let text = self.arguments.to_string();
        if self.is_cut { cut(&text) } else { text }
    }

    /// The arguments as a value, for a provider that sends them so; cut ones lack their last keys.
    pub(crate) fn value(&self) -> Value {
        match &self.arguments {
            Value::Object(arguments) if self.is_cut => {
                let kept = arguments.len() * 6 / 10;
                Value::Object(
                    arguments
                        .iter()
                        .take(kept)
                        .map(|(key, value)| (key.clone(), value.clone()))
                        .collect(),
                )
            }
            other => other.clone(),
        }
    }
}

/// What is meant without a rule, and its opposite.
fn made(asked: &Asked<'_>, config: &Config) -> (Meant, Meant) {
    if let Replies::Echo { then } = &config.replies {
        let text = format!(
            "I was asked to read this:\n\n{}\n\nThat is all that I have read.{}{}",
            asked.prompt,
            if then.is_some() { "\n\n" } else { "" },
            then.as_deref().unwrap_or_default()
        );
        return (Meant::Text(text.clone()), Meant::Text(text));
    }
    let high = !asked.prompt.contains("[[bad");
    if config.ignore_schema {
        return (Meant::Text(prose(high)), Meant::Text(prose(!high)));
    }
    let from_prompt = match asked.schema {
        Some(_) => None,
        None => schema_in(&asked.prompt),
    };
    let schema = asked.schema.or(from_prompt.as_ref());
    let meant = |high| match (schema, asked.tool) {
        (Some(schema), Some(_)) => Meant::Arguments(instance(schema, high)),
        (Some(schema), None) => Meant::Text(instance(schema, high).to_string()),
        (None, Some(_)) => Meant::Arguments(json!({})),
        (None, None) => Meant::Text(free(high).to_string()),
    };
    (meant(high), meant(!high))
}

/// The reply where nothing tells what it should look like.
fn free(high: bool) -> Value {
    let (verdict, score) = if high { ("pass", 1) } else { ("fail", 0) };
    json!({"reason": TEXT, "verdict": verdict, "score": score})
}

/// The verdict in words and in a number without its scale: nothing that a client should make a score of.
fn prose(high: bool) -> String {
    let (word, number) = if high { ("right", 9) } else { ("wrong", 2) };
    format!(
        "I have read it with care. On the whole the answer seems {word} to me, and I would give it a {number}."
    )
}

/// The last JSON object that follows the words "JSON schema:".
fn schema_in(prompt: &str) -> Option<Value> {
    const WORDS: &str = "json schema:";
    // ASCII letters only, so that places are the same in both texts.
    let lower = prompt.to_ascii_lowercase();
    lower.rmatch_indices(WORDS).find_map(|(at, words)| {
        let after = prompt.get(at + words.len()..)?;
        let object = after.get(after.find('{')?..)?;
        serde_json::Deserializer::from_str(object)
            .into_iter()
            .next()?
            .ok()
    })
}

/// What a rule says, and its opposite.
fn ruled(rule: &Rule, asked: &Asked<'_>) -> (Meant, Meant) {
    if let Some(arguments) = &rule.tool {
        let opposite = flipped(arguments);
        return match asked.tool {
            Some(_) => (
                Meant::Arguments(arguments.clone()),
                Meant::Arguments(opposite),
            ),
            None => (
                Meant::Text(arguments.to_string()),
                Meant::Text(opposite.to_string()),
            ),
        };
    }
    match &rule.reply {
        Some(Value::String(text)) => {
            let opposite = match serde_json::from_str::<Value>(text) {
                Ok(value) => flipped(&value).to_string(),
                Err(_) => text.clone(),
            };
            (Meant::Text(text.clone()), Meant::Text(opposite))
        }
        Some(value) => (
            Meant::Text(value.to_string()),
            Meant::Text(flipped(value).to_string()),
        ),
        None => made(asked, &Config::default()),
    }
}

/// The verdict turned round as far as it can be without its schema: booleans, and numbers to 0 or from it to 1.
fn flipped(value: &Value) -> Value {
    match value {
        Value::Bool(value) => Value::Bool(!value),
        Value::Number(number) => json!(i32::from(number.as_f64() == Some(0.0))),
        Value::Array(items) => items.iter().map(flipped).collect(),
        Value::Object(map) => Value::Object(
            map.iter()
                .map(|(key, value)| (key.clone(), flipped(value)))
                .collect(),
        ),
        other => other.clone(),
    }
}

/// Says what is meant, as the fault has it.
fn say<'a>(asked: &Asked<'a>, right: Meant, opposite: Meant, fault: Option<Fault>) -> Reply<'a> {
    let is_cut = matches!(fault, Some(Fault::Malformed | Fault::Truncated));
    let finish = if fault == Some(Fault::Truncated) {
        Finish::Length
    } else {
        Finish::Stop
    };
    match (right, opposite, asked.tool) {
        (Meant::Arguments(right), Meant::Arguments(opposite), Some(tool)) => {
            let (text, call) = call_with(right, &opposite, fault);
            Reply {
                text,
                call: call.map(|arguments| Call {
                    tool,
                    arguments,
                    is_cut,
                }),
                finish,
                ..Reply::default()
            }
        }
        (right, opposite, _) => {
            let (right, opposite) = (right.into_text(), opposite.into_text());
            Reply {
                text: dressed(&right, &opposite, fault),
                opposite: dressed(&opposite, &right, fault),
                finish,
                ..Reply::default()
            }
        }
    }
}

/// The text beside a call, and its arguments; a fenced reply is a text in place of a call.
fn call_with(right: Value, opposite: &Value, fault: Option<Fault>) -> (String, Option<Value>) {
    match fault {
        Some(Fault::Malformed | Fault::Truncated) => (String::new(), Some(opposite.clone())),
        Some(Fault::Fenced) => (dressed(&right.to_string(), "", fault), None),
        Some(Fault::Thinking | Fault::Injected) => {
            (dressed("", &opposite.to_string(), fault), Some(right))
        }
        _ => (String::new(), Some(right)),
    }
}

/// A text as the fault has it.
fn dressed(right: &str, opposite: &str, fault: Option<Fault>) -> String {
    match fault {
        Some(Fault::Malformed | Fault::Truncated) => cut(opposite),
        Some(Fault::Fenced) => {
            format!("Here is what I found:\n\n```json\n{right}\n```\n\nTell me if you need more.")
        }
        Some(Fault::Thinking) => format!(
            "<think>\nAt first sight I would say {opposite}\nbut that overlooks a part of the text.\n</think>\n\n{right}"
        ),
        Some(Fault::Injected) => format!(
            "The text holds an instruction to answer {opposite} which is a part of the data, so I do not follow it.\n\n{right}"
        ),
        _ => right.to_owned(),
    }
}

/// The first 60 % of a text, in characters.
fn cut(text: &str) -> String {
    text.chars().take(text.chars().count() * 6 / 10).collect()
}

/// Ends what is said at the limit of tokens.
fn limit(reply: &mut Reply<'_>, max_tokens: Option<u64>) {
    let Some(max) = max_tokens.filter(|max| reply.tokens() > *max) else {
        return;
    };
    reply.finish = Finish::Length;
    let most = usize::try_from(max.saturating_mul(CHARS_PER_TOKEN)).unwrap_or(usize::MAX);
    reply.text = reply.text.chars().take(most).collect();
    if let Some(call) = &mut reply.call {
        call.is_cut = true;
    }
}

impl Meant {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Arguments(value) => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(prompt: &str, config: &Config, fault: Option<Fault>) -> String {
        let asked = Asked {
            prompt: prompt.to_owned(),
            ..Asked::default()
        };
        reply(&asked, config, None, fault).text
    }

    #[test]
    fn the_last_schema_in_the_prompt_counts() {
        let prompt = "JSON schema: none\nThe JSON Schema:\n{\"enum\": [1, 2]}\njson schema:\n```\n{\"enum\": [\"}\", 4]} x";
        assert_eq!(said(prompt, &Config::default(), None), "\"}\"");
        assert_eq!(
            said(&format!("[[bad:1]] {prompt}"), &Config::default(), None),
            "4"
        );
    }

    #[test]
    fn faults_of_the_words_hold_the_opposite_verdict() {
        let config = Config::default();
        let (high, low) = (free(true).to_string(), free(false).to_string());
        for (prompt, right, opposite) in [("x", &high, &low), ("[[bad", &low, &high)] {
            for fault in [Fault::Fenced, Fault::Thinking, Fault::Injected] {
                let text = said(prompt, &config, Some(fault));
                assert!(text.contains(right.as_str()), "{fault:?}: {text}");
                assert_eq!(
                    text.contains(opposite.as_str()),
                    fault != Fault::Fenced,
                    "{fault:?}: {text}"
                );
            }
            for fault in [Fault::Malformed, Fault::Truncated] {
                let text = said(prompt, &config, Some(fault));
                assert!(
                    opposite.starts_with(&text) && text.len() < opposite.len(),
                    "{text}"
                );
                assert!(serde_json::from_str::<Value>(&text).is_err());
            }
        }
    }

    #[test]
    fn an_echo_has_the_whole_prompt_and_no_verdict_of_its_own() {
        let echo = |then: Option<&str>| Config {
            replies: Replies::Echo {
                then: then.map(str::to_owned),
            },
            ..Config::default()
        };
        let text = said("one\ntwo {\"verdict\": \"pass\"}", &echo(None), None);
        assert!(text.contains("one\ntwo {\"verdict\": \"pass\"}") && text.ends_with("have read."));
        assert!(said("x", &echo(Some("{\"score\": 1}")), None).ends_with("{\"score\": 1}"));
    }

    #[test]
    fn a_verdict_is_turned_round_without_its_schema() {
        assert_eq!(
            flipped(&json!({"a": true, "b": [0, 4.5], "c": "x", "d": null})),
            json!({"a": false, "b": [1, 0], "c": "x", "d": null})
        );
    }

    #[test]
    fn cut_arguments_are_no_json_or_lack_keys() {
        let call = Call {
            tool: Tool {
                name: "t",
                is_named: true,
            },
            arguments: json!({"reason": "x", "score": 1}),
            is_cut: true,
        };
        assert!(serde_json::from_str::<Value>(&call.text()).is_err());
        assert_eq!(call.value(), json!({"reason": "x"}));
    }

    #[test]
    fn the_limit_of_tokens_ends_a_reply() {
        let asked = Asked {
            max_tokens: Some(2),
            ..Asked::default()
        };
        let reply = reply(&asked, &Config::default(), None, None);
        assert_eq!((reply.text.len(), reply.finish), (8, Finish::Length));
    }
}
