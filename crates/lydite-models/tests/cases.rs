//! Every case of `crates/lydite/tests/cases` whose models answer, by the real client: over HTTP, in each protocol and
//! each form of reply, with the mock as the server (its shapes are written from documentation). What comes out must be
//! what the list of replies alone gives.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

#[path = "../../lydite/tests/cases/mod.rs"]
mod cases;

use std::sync::Arc;

use cases::Case;
use lydite::check::CheckSpec;
use lydite::evaluator::Registry;
use lydite::model::scripted::ScriptedSession;
use lydite::model::{
    ChatRequest, ModelHost, ModelSession, ModelSpec, Provider, SessionOptions, Structured,
};
use lydite::results::CheckResult;
use lydite::single::{self, SingleError};
use lydite_mock_llm::{Config, MockServer, Replies, Rule};
use lydite_models::Host;
use serde_json::{Value, json};

#[test]
fn cases_over_openai_by_schema() {
    compare(Provider::OpenAi, Structured::JsonSchema);
}

#[test]
fn cases_over_openai_by_tool() {
    compare(Provider::OpenAi, Structured::Tool);
}

#[test]
fn cases_over_openai_by_words() {
    compare(Provider::OpenAi, Structured::Text);
}

#[test]
fn cases_over_anthropic_by_tool() {
    compare(Provider::Anthropic, Structured::Tool);
}

#[test]
fn cases_over_anthropic_by_words() {
    compare(Provider::Anthropic, Structured::Text);
}

#[test]
fn cases_over_gemini_by_schema() {
    compare(Provider::Gemini, Structured::JsonSchema);
}

#[test]
fn cases_over_gemini_by_words() {
    compare(Provider::Gemini, Structured::Text);
}

/// Runs all cases over one wire.
fn compare(provider: Provider, structured: Structured) {
    let registry = Registry::builtin();
    let bench = Bench::new(provider, structured);
    let mut count = 0;
    let mut failures = Vec::new();
    for case in cases::all(&registry) {
        if let Some(replies) = case
            .replies
            .as_deref()
            .filter(|replies| bench.can_say(replies))
        {
            count += 1;
            failures.extend(case.failure(bench.judge_name(), &bench.judge(&case, replies)));
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {count} cases fail:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(count > 50, "only {count} cases were run");
}

/// A mock and a client of one wire, for one case after the other.
struct Bench {
    provider: Provider,
    structured: Structured,
    server: MockServer,
    session: Arc<dyn ModelSession>,
}

impl Bench {
    fn new(provider: Provider, structured: Structured) -> Self {
        // The key of a scripted session's fences, so that prompts are the same here and there.
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("fence.key"), [0; 32]).unwrap();
        let options = SessionOptions {
            no_cache: true,
            ..SessionOptions::default()
        };
        let host = Host::new().cache_dir(Some(folder.path().to_owned()));
        Self {
            provider,
            structured,
            server: MockServer::start(Config::default()).unwrap(),
            session: host.open(&options).unwrap(),
        }
    }

    fn judge_name(&self) -> &'static str {
        match self.provider {
            Provider::Anthropic => "anthropic/mock-1",
            Provider::Gemini => "gemini/mock-1",
            _ => "openai/mock-1",
        }
    }

    /// Anthropic gives no log-probabilities, and an answer without a text is none there and with Gemini.
    fn can_say(&self, replies: &[Value]) -> bool {
        match self.provider {
            Provider::Anthropic => {
                !with_logprobs(replies) && !replies.iter().any(|said| said == "")
            }
            Provider::Gemini => !replies.iter().any(|said| said == ""),
            _ => true,
        }
    }

    fn judge(
        &self,
        case: &Case<'_>,
        replies: &[Value],
    ) -> Result<CheckResult<'static>, SingleError> {
        let mut spec = CheckSpec::from_flat_asking_params(case.entry.info.id, &case.params)?;
        spec.asks.judges = vec![ModelSpec {
            structured: self.structured,
            ..self.model(self.provider)
        }];
        let embeds = match self.provider {
            Provider::Gemini => Provider::Gemini,
            _ => Provider::OpenAi,
        };
        spec.asks.embedder = Some(self.model(embeds));
        spec.asks.moderator = Some(self.model(Provider::OpenAi));
        let script = ScriptedSession::new(replies.to_vec());
        single::judge_asking(case.entry, spec.clone(), &case.record, &script)?;
        let config = self.config(&script.asked(), replies);
        self.server.configure(config).unwrap();
        let got = single::judge_asking(case.entry, spec, &case.record, &*self.session);
        got.map(unequal_lengths)
    }

    fn model(&self, provider: Provider) -> ModelSpec {
        let version = match provider {
            Provider::OpenAi => "/v1",
            _ => "",
        };
        ModelSpec {
            base_url: Some(format!("{}{version}", self.server.url())),
            // Equal requests in the order of the list.
            concurrency: Some(1),
            attempts: Some(1),
            ..ModelSpec::new(provider, "mock-1")
        }
    }

    /// Each reply once, to the request that the list of replies alone gave it to; then nothing more.
    fn config(&self, asked: &[ChatRequest], replies: &[Value]) -> Config {
        let chat = match self.provider {
            Provider::Anthropic => "/messages",
            Provider::Gemini => ":generateContent",
            _ => "/chat/completions",
        };
        let on_chat = |rule: Rule| Rule {
            path: Some(chat.to_owned()),
            ..rule
        };
        let mut rules: Vec<Rule> = asked
            .iter()
            .zip(replies)
            .map(|(request, reply)| {
                on_chat(Rule {
                    contains: Some(prompt(request)),
                    ..self.rule(reply)
                })
            })
            .collect();
        rules.push(on_chat(Rule {
            status: Some(404),
            ..Rule::default()
        }));
        rules.extend(moderations());
        Config {
            logprobs: with_logprobs(replies),
            replies: Replies::Rules {
                rules,
                strict: false,
            },
            ..Config::default()
        }
    }

    /// One reply of a case, as the provider says it.
    fn rule(&self, reply: &Value) -> Rule {
        let once = Rule {
            times: Some(1),
            ..Rule::default()
        };
        if let Some(message) = reply["error"].as_str() {
            return Rule {
                status: Some(500),
                body: Some(json!({"error": {"message": message}})),
                ..once
            };
        }
        let Some(text) = reply["text"].as_str().or(reply.as_str()) else {
            return match self.structured {
                Structured::Tool if reply.is_object() => Rule {
                    tool: Some(reply.clone()),
                    ..once
                },
                _ => Rule {
                    reply: Some(reply.to_string().into()),
                    ..once
                },
            };
        };
        let cut = match self.provider {
            Provider::Anthropic => "max_tokens",
            Provider::Gemini => "MAX_TOKENS",
            _ => "length",
        };
        Rule {
            reply: Some(text.into()),
            finish_reason: (reply["finish"] == "length").then(|| cut.to_owned()),
            logprobs: reply["logprobs"]
                .as_array()
                .map(|tokens| self.logprobs(tokens)),
            ..once
        }
    }

    /// Log-probabilities in the provider's words.
    fn logprobs(&self, tokens: &[Value]) -> Value {
        let alternatives = |token: &Value| token["top"].as_array().cloned().unwrap_or_default();
        if self.provider == Provider::Gemini {
            let one = |token: &Value| json!({"token": token["token"], "logProbability": token["logprob"]});
            let best = |token: &Value| {
                let candidates: Vec<Value> = alternatives(token).iter().map(one).collect();
                json!({"candidates": candidates})
            };
            return json!({
                "chosenCandidates": tokens.iter().map(one).collect::<Vec<_>>(),
                "topCandidates": tokens.iter().map(best).collect::<Vec<_>>(),
            });
        }
        tokens
            .iter()
            .map(|token| {
                let mut one = token.clone();
                let top = one.as_object_mut().unwrap().remove("top");
                one["top_logprobs"] = top.unwrap_or_default();
                one
            })
            .collect()
    }
}

/// The texts of all messages, as the mock joins them.
fn prompt(request: &ChatRequest) -> String {
    let texts: Vec<&str> = request
        .messages
        .iter()
        .map(|message| message.content.as_str())
        .collect();
    texts.join("\n")
}

/// The client itself refuses vectors of unequal length in one answer, before an evaluator sees them.
fn unequal_lengths(mut got: CheckResult<'static>) -> CheckResult<'static> {
    if let Some(error) = &mut got.error
        && error.code == "model_protocol"
        && error.message.contains("unequal length")
    {
        error.code = "dimension_mismatch".into();
    }
    got
}

fn with_logprobs(replies: &[Value]) -> bool {
    replies.iter().any(|reply| reply.get("logprobs").is_some())
}

/// As a scripted session moderates: what holds the word `harmful` is harassment.
fn moderations() -> [Rule; 2] {
    let rule = |contains: &str, flagged: bool| {
        let score = if flagged { 0.9 } else { 0.1 };
        Rule {
            path: Some("/moderations".to_owned()),
            contains: Some(contains.to_owned()),
            status: Some(200),
            body: Some(json!({"id": "modr-1", "model": "mock-1", "results": [{
                "flagged": flagged,
                "categories": {"harassment": flagged},
                "category_scores": {"harassment": score},
            }]})),
            ..Rule::default()
        }
    };
    [rule("harmful", true), rule("", false)]
}
