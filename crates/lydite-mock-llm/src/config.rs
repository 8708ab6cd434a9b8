//! What a mock does: how it replies, and which faults it gives.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer};

use crate::rules::{Rule, Rules};

/// What a mock does. As JSON every key is optional; an unknown key is an error.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each a key of the configuration"
)]
pub struct Config {
    /// Milliseconds from a request's last byte to its reply.
    pub latency_ms: u64,
    /// Decides, with a request's body, which fault it meets.
    pub seed: u64,
    /// Which faults are given, and how often.
    pub faults: Faults,
    /// What the model says.
    pub replies: Replies,
    /// Whether log-probabilities are given where they are asked for; many servers ignore the wish.
    pub logprobs: bool,
    /// The probability of a verdict's token, from 0 to 1; the opposite verdict's has the rest.
    pub certainty: f64,
    /// Whether replies tell the tokens used.
    pub usage: bool,
    /// The length of an embedding, where the request names none.
    pub dimension: usize,
    /// How many of the last requests are kept for [`MockServer::requests`](crate::MockServer::requests).
    pub keep_requests: usize,
    /// The only key that is accepted. Without it every request is let in.
    pub api_key: Option<ApiKey>,
    /// The only models that exist. Without it all do.
    pub models: Option<Vec<String>>,
    /// A prompt of more characters is refused, as one that exceeds the model's context.
    pub max_prompt_chars: Option<usize>,
    /// The model answers in prose, although a schema or a tool was asked for.
    pub ignore_schema: bool,
    /// A schema that OpenAI's strict mode doesn't take is refused, as OpenAI does.
    pub check_strict_schemas: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            latency_ms: 0,
            seed: 0,
            faults: Faults::default(),
            replies: Replies::default(),
            logprobs: true,
            certainty: 0.9,
            usage: true,
            dimension: 256,
            keep_requests: 100,
            api_key: None,
            models: None,
            max_prompt_chars: None,
            ignore_schema: false,
            check_strict_schemas: true,
        }
    }
}

/// Which faults are given. Shares are numbers from 0 to 1 of all requests (in JSON also texts such as `"10%"`); a
/// request meets one fault at most, so they sum to 1 at most.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// 429 with `Retry-After`, at once.
    #[serde(deserialize_with = "share")]
    pub rate_limited: f64,
    /// What `Retry-After` says, in seconds; fractions are sent as they are.
    pub retry_after_s: f64,
    /// More requests than these in flight at once are answered by 429 too.
    pub max_in_flight: Option<u64>,
    /// [`server_error_status`](Self::server_error_status), at once.
    #[serde(deserialize_with = "share")]
    pub server_error: f64,
    /// 500 to 599; 529 is how Anthropic says that it is overloaded.
    pub server_error_status: u16,
    /// Nothing is sent for [`hang_s`](Self::hang_s), then the connection is closed.
    #[serde(deserialize_with = "share")]
    pub hang: f64,
    /// Seconds.
    pub hang_s: f64,
    /// The connection is closed after the latency, half of the times after part of the reply.
    #[serde(deserialize_with = "share")]
    pub cut: f64,
    /// 200, but the model's text or arguments are cut at 60 % *and* carry the opposite verdict, so that a client which
    /// makes do with them is seen.
    #[serde(deserialize_with = "share")]
    pub malformed: f64,
    /// As `malformed`, and the provider says that the limit of tokens was reached.
    #[serde(deserialize_with = "share")]
    pub truncated: f64,
    /// The right reply, in a Markdown fence with prose around it.
    #[serde(deserialize_with = "share")]
    pub fenced: f64,
    /// The right reply, after `<think>` text that holds the opposite verdict as JSON.
    #[serde(deserialize_with = "share")]
    pub thinking: f64,
    /// The right reply, after prose that quotes the opposite verdict as JSON.
    #[serde(deserialize_with = "share")]
    pub injected: f64,
    /// A request that meets a fault meets it at every attempt. Else each attempt is decided anew.
    pub lasting: bool,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            rate_limited: 0.0,
            retry_after_s: 1.0,
            max_in_flight: None,
            server_error: 0.0,
            server_error_status: 500,
            hang: 0.0,
            hang_s: 60.0,
            cut: 0.0,
            malformed: 0.0,
            truncated: 0.0,
            fenced: 0.0,
            thinking: 0.0,
            injected: 0.0,
            lasting: false,
        }
    }
}

/// What the model says.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Replies {
    /// An instance of the schema that is asked for. `[[bad` in the prompt gives the low verdict, else it is the high
    /// one; `[[refuse` a refusal.
    #[default]
    FromSchema,
    /// The first rule that fits; where none does, as [`FromSchema`](Self::FromSchema).
    Rules {
        /// In the order in which they are tried.
        rules: Vec<Rule>,
        /// 404 where no rule fits.
        #[serde(default)]
        strict: bool,
    },
    /// [`Rules`](Self::Rules) from a file, a rule a line; see [`parse_rules`](crate::parse_rules).
    File {
        /// JSONL.
        path: PathBuf,
        /// 404 where no rule fits.
        #[serde(default)]
        strict: bool,
    },
    /// Prose that repeats the whole prompt, as a judge does that an attack has taken over.
    Echo {
        /// What stands after it. Without it the reply ends without a verdict.
        #[serde(default)]
        then: Option<String>,
    },
}

/// A key. Its value is in no output of `{:?}`.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct ApiKey(String);

impl ApiKey {
    /// Whether a request's key is this one.
    pub(crate) fn is(&self, given: &str) -> bool {
        self.0 == given
    }
}

impl From<&str> for ApiKey {
    fn from(key: &str) -> Self {
        Self(key.to_owned())
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self(key)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A value out of its range.
    #[error("{key}: expected {expected}, found {found}")]
    Range {
        /// The key in the configuration.
        key: &'static str,
        /// What would be right.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// The shares sum to more than 1.
    #[error(
        "faults: the shares sum to {0}; a request meets one fault at most, so the sum may be 1 at most"
    )]
    Shares(f64),
    /// A rule that can't be used.
    #[error("rule {number}: {message}")]
    Rule {
        /// From 1; of a file the line.
        number: usize,
        /// What is wrong with it.
        message: String,
    },
    /// A file of rules that can't be read.
    #[error("can't read the rules `{path}`: {source}")]
    File {
        /// As it was given.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// A share from 0 to 1: `0.1`, or `10%`.
pub fn parse_share(text: &str) -> Result<f64, String> {
    let (number, divisor) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim_end(), 100.0),
        None => (text.trim(), 1.0),
    };
    number
        .parse::<f64>()
        .ok()
        .map(|number| number / divisor)
        .filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("expected a share from 0 to 1 or from 0% to 100%, found `{text}`"))
}

/// A configuration that was checked, with its rules read and compiled.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) config: Config,
    /// Empty without rules.
    pub(crate) rules: Rules,
}

impl Prepared {
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        check(&config)?;
        let rules = match &config.replies {
            Replies::Rules { rules, strict } => Rules::new(rules.clone(), *strict)?,
            Replies::File { path, strict } => Rules::from_file(path, *strict)?,
            Replies::FromSchema | Replies::Echo { .. } => Rules::default(),
        };
        Ok(Self { config, rules })
    }
}

impl Faults {
    /// Name and share of each fault that is decided by the seed, in the order of
    /// [`Fault::SHARED`](crate::fault::Fault::SHARED).
    pub(crate) fn shares(&self) -> [(&'static str, f64); 9] {
        [
            ("faults.rate_limited", self.rate_limited),
            ("faults.server_error", self.server_error),
            ("faults.hang", self.hang),
            ("faults.cut", self.cut),
            ("faults.malformed", self.malformed),
            ("faults.truncated", self.truncated),
            ("faults.fenced", self.fenced),
            ("faults.thinking", self.thinking),
            ("faults.injected", self.injected),
        ]
    }
}

/// The longest embedding, a day of waiting: beyond them stand mistakes, not wishes.
const MAX_DIMENSION: usize = 65_536;
const MAX_SECONDS: f64 = 86_400.0;

fn check(config: &Config) -> Result<(), ConfigError> {
    let faults = &config.faults;
    for (key, share) in faults.shares() {
        within(key, share, 1.0, "a share from 0 to 1")?;
    }
    let sum: f64 = faults.shares().iter().map(|(_, share)| share).sum();
    if sum > 1.0 + 1e-9 {
        return Err(ConfigError::Shares(sum));
    }
    within(
        "certainty",
        config.certainty,
        1.0,
        "a probability from 0 to 1",
    )?;
    let seconds = "seconds from 0 to 86400";
    within(
        "faults.retry_after_s",
        faults.retry_after_s,
        MAX_SECONDS,
        seconds,
    )?;
    within("faults.hang_s", faults.hang_s, MAX_SECONDS, seconds)?;
    if !(500..600).contains(&faults.server_error_status) {
        return Err(ConfigError::Range {
            key: "faults.server_error_status",
            expected: "a status from 500 to 599",
            found: faults.server_error_status.to_string(),
        });
    }
    if !(1..=MAX_DIMENSION).contains(&config.dimension) {
        return Err(ConfigError::Range {
            key: "dimension",
            expected: "a length from 1 to 65536",
            found: config.dimension.to_string(),
        });
    }
    Ok(())
}

fn within(
    key: &'static str,
    value: f64,
    max: f64,
    expected: &'static str,
) -> Result<(), ConfigError> {
    if (0.0..=max).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::Range {
        key,
        expected,
        found: value.to_string(),
    })
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Share {
        Number(f64),
        Text(String),
    }
    match Share::deserialize(deserializer)? {
        Share::Number(share) => Ok(share),
        Share::Text(text) => parse_share(&text).map_err(serde::de::Error::custom),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_per_cents() {
        for (text, expected) in [
            ("0.1", 0.1),
            ("10%", 0.1),
            (" 2.5 % ", 0.025),
            ("0", 0.0),
            ("100%", 1.0),
        ] {
            assert_eq!(parse_share(text), Ok(expected), "{text}");
        }
        for text in ["", "%", "-1%", "101%", "1.1", "ten", "NaN", "inf"] {
            assert!(parse_share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key() {
        let cases = [
            (r#"{"faults": {"hang": 1.5}}"#, "faults.hang"),
            (r#"{"faults": {"hang": -0.1}}"#, "faults.hang"),
            (r#"{"faults": {"hang": "60%", "cut": "50%"}}"#, "sum to 1.1"),
            (
                r#"{"faults": {"retry_after_s": -1}}"#,
                "faults.retry_after_s",
            ),
            (
                r#"{"faults": {"server_error_status": 404}}"#,
                "faults.server_error_status",
            ),
            (r#"{"dimension": 0}"#, "dimension"),
            (r#"{"certainty": 2}"#, "certainty"),
            (
                r#"{"replies": {"file": {"path": "/no/such/file"}}}"#,
                "/no/such/file",
            ),
            (
                r#"{"replies": {"rules": {"rules": [{"contains": "x"}]}}}"#,
                "rule 1",
            ),
        ];
        for (json, part) in cases {
            let config: Config = serde_json::from_str(json).unwrap();
            let error = Prepared::new(config).unwrap_err().to_string();
            assert!(error.contains(part), "{json}: {error}");
        }
    }

    #[test]
    fn unknown_keys_are_errors() {
        for json in [
            r#"{"latency": 3}"#,
            r#"{"faults": {"429": 0.1}}"#,
            r#"{"faults": {"hang": "x"}}"#,
        ] {
            assert!(serde_json::from_str::<Config>(json).is_err(), "{json}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let config = Config {
            api_key: Some("sk-very-secret".into()),
            ..Config::default()
        };
        assert!(!format!("{config:?}").contains("very"));
    }
}
