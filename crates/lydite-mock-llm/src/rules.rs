//! Replies by rules: the first that fits a request answers it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::header::{HeaderName, HeaderValue};
use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use crate::config::ConfigError;

/// When a reply is given, and what it is. All conditions that are there must hold; a rule has exactly one of `reply`,
/// `tool` and `status`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rule {
    /// A part of the prompt (all its messages) or of the input.
    pub contains: Option<String>,
    /// A pattern that is found in it.
    pub regex: Option<String>,
    /// The model's name.
    pub model: Option<String>,
    /// A part of the path.
    pub path: Option<String>,
    /// The rule fits this often, then no longer.
    pub times: Option<u64>,
    /// What the model says: a text, or anything else as JSON text.
    pub reply: Option<Value>,
    /// The arguments with which the model calls the asked tool; without a tool they are its text.
    pub tool: Option<Value>,
    /// An HTTP status, sent with `body`.
    pub status: Option<u16>,
    /// More headers of the response.
    pub headers: BTreeMap<String, String>,
    /// With `status`: a text as it is, or anything else as JSON. Without it, an error in the provider's own shape.
    pub body: Option<Value>,
    /// The token log-probabilities, in OpenAI's shape (`choices[0].logprobs.content`) or, for Gemini, as its
    /// `logprobsResult`.
    pub logprobs: Option<Value>,
    /// In place of the provider's word for a finished reply.
    pub finish_reason: Option<String>,
    /// In place of the latency.
    pub delay_ms: Option<u64>,
}

/// Rules from JSONL; empty lines, and those that begin with `#` or `//`, are passed over.
pub fn parse_rules(text: &str) -> Result<Vec<Rule>, ConfigError> {
    let mut rules = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        if is_rule(line) {
            let rule = serde_json::from_str(line).map_err(|error| ConfigError::Rule {
                number,
                message: format!("not a rule: {error}"),
            })?;
            check(&rule).map_err(|message| ConfigError::Rule { number, message })?;
            rules.push(rule);
        }
    }
    Ok(rules)
}

/// Rules, ready to be asked.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    rules: Vec<Compiled>,
    /// A request without a rule is refused.
    pub(crate) strict: bool,
}

#[derive(Debug)]
struct Compiled {
    rule: Rule,
    regex: Option<Regex>,
    served: AtomicU64,
}

/// What a rule is asked about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question<'q> {
    pub(crate) path: &'q str,
    pub(crate) model: &'q str,
    pub(crate) text: &'q str,
    /// Only a chat has a use for `reply` and `tool`.
    pub(crate) is_chat: bool,
}

impl Rules {
    pub(crate) fn new(rules: Vec<Rule>, strict: bool) -> Result<Self, ConfigError> {
        let rules = (1..)
            .zip(rules)
            .map(|(number, rule)| {
                compile(rule).map_err(|message| ConfigError::Rule { number, message })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { rules, strict })
    }

    pub(crate) fn from_file(path: &Path, strict: bool) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::File {
            path: path.to_owned(),
            source,
        })?;
        Self::new(parse_rules(&text)?, strict)
    }

    /// The first rule that fits, which is counted as served.
    pub(crate) fn find(&self, question: Question<'_>) -> Option<&Rule> {
        self.rules
            .iter()
            .find(|compiled| compiled.fits(question) && compiled.take())
            .map(|compiled| &compiled.rule)
    }
}

impl Compiled {
    fn fits(&self, question: Question<'_>) -> bool {
        let rule = &self.rule;
        let has = |part: &Option<String>, whole: &str| {
            part.as_ref()
                .is_none_or(|part| whole.contains(part.as_str()))
        };
        (question.is_chat || rule.status.is_some())
            && rule
                .model
                .as_ref()
                .is_none_or(|model| model == question.model)
            && has(&rule.path, question.path)
            && has(&rule.contains, question.text)
            && self
                .regex
                .as_ref()
                .is_none_or(|regex| regex.is_match(question.text))
    }

    /// False once the rule has been served as often as it may.
    fn take(&self) -> bool {
        let limit = self.rule.times.unwrap_or(u64::MAX);
        self.served
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |served| {
                (served < limit).then_some(served + 1)
            })
            .is_ok()
    }
}

fn is_rule(line: &str) -> bool {
    let line = line.trim_start();
    !(line.is_empty() || line.starts_with('#') || line.starts_with("//"))
}

fn compile(rule: Rule) -> Result<Compiled, String> {
    let regex = check(&rule)?;
    Ok(Compiled {
        rule,
        regex,
        served: AtomicU64::new(0),
    })
}

/// Gives the compiled pattern of a rule that can be used.
fn check(rule: &Rule) -> Result<Option<Regex>, String> {
    let answers = [
        rule.reply.is_some(),
        rule.tool.is_some(),
        rule.status.is_some(),
    ];
    if answers.iter().filter(|given| **given).count() != 1 {
        return Err("expected exactly one of `reply`, `tool` and `status`".to_owned());
    }
    if rule.body.is_some() && rule.status.is_none() {
        return Err("`body` goes with `status`; what the model says is `reply`".to_owned());
    }
    if let Some(status) = rule.status.filter(|status| !(200..600).contains(status)) {
        return Err(format!("status: expected 200 to 599, found {status}"));
    }
    for (name, value) in &rule.headers {
        if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
            return Err(format!("headers: `{name}` can't be sent"));
        }
    }
    match &rule.regex {
        Some(pattern) => Regex::new(pattern)
            .map(Some)
            .map_err(|error| format!("regex: {error}")),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: Question<'_> = Question {
        path: "/v1/chat/completions",
        model: "m",
        text: "Is 12 even?",
        is_chat: true,
    };

    fn rules(lines: &str) -> Rules {
        Rules::new(parse_rules(lines).unwrap(), false).unwrap()
    }

    #[test]
    fn conditions_are_all_asked() {
        let cases = [
            (r#"{"reply": "x"}"#, true),
            (r#"{"contains": "even", "reply": "x"}"#, true),
            (r#"{"contains": "odd", "reply": "x"}"#, false),
            (r#"{"regex": "\\d+ even", "reply": "x"}"#, true),
            (r#"{"regex": "^even", "reply": "x"}"#, false),
            (r#"{"model": "m", "path": "chat", "reply": "x"}"#, true),
            (r#"{"model": "mm", "path": "chat", "reply": "x"}"#, false),
            (
                r#"{"contains": "even", "path": "messages", "reply": "x"}"#,
                false,
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(rules(line).find(CHAT).is_some(), expected, "{line}");
        }
    }

    #[test]
    fn the_first_wins_until_it_is_used_up() {
        let rules = rules("# a comment\n\n{\"times\": 2, \"reply\": \"a\"}\n{\"reply\": \"b\"}\n");
        let said: Vec<_> = (0..3)
            .filter_map(|_| rules.find(CHAT)?.reply.as_ref()?.as_str())
            .collect();
        assert_eq!(said, ["a", "a", "b"]);
    }

    #[test]
    fn only_a_status_answers_what_is_no_chat() {
        let question = Question {
            is_chat: false,
            ..CHAT
        };
        assert!(rules(r#"{"reply": "x"}"#).find(question).is_none());
        assert!(rules(r#"{"status": 503}"#).find(question).is_some());
    }

    #[test]
    fn what_is_no_rule_is_told_with_its_line() {
        let cases = [
            ("{}", "exactly one of"),
            (r#"{"reply": "x", "status": 500}"#, "exactly one of"),
            (r#"{"replies": "x"}"#, "unknown field"),
            (r#"{"status": 99}"#, "expected 200 to 599"),
            (r#"{"reply": "x", "regex": "("}"#, "regex"),
            (r#"{"reply": "x", "body": "y"}"#, "`body` goes with"),
            (r#"{"status": 500, "headers": {"a b": "c"}}"#, "headers"),
            ("reply", "not a rule"),
        ];
        for (line, part) in cases {
            let error = parse_rules(&format!("\n{line}")).unwrap_err().to_string();
            assert!(
                error.starts_with("rule 2: ") && error.contains(part),
                "{line}: {error}"
            );
        }
    }
}
