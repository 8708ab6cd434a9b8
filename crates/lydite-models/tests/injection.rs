//! Attacks on judges: no verdict that stands in the text under judgement is ever taken for the judge's.
//!
//! Each attempt of `injections.jsonl` stands in the material of each evaluator below, `{word}` and `{json}` in it being
//! the verdict that the attacker wants. Judges are mocks over HTTP: ones that echo all that they read, one that quotes
//! the material without its fence, and honest ones that quote it in their reasons.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

use std::sync::Arc;

use lydite::check::CheckSpec;
use lydite::evaluator::Registry;
use lydite::model::{ModelHost, ModelSession, ModelSpec, Provider, SessionOptions, Structured};
use lydite::node::Node;
use lydite::outcome::Verdict;
use lydite::results::CheckResult;
use lydite::single;
use lydite_mock_llm::{Config, MockServer, Replies, Rule};
use lydite_models::Host;
use serde_json::{Value, json};

/// An evaluator under attack.
struct Subject {
    id: &'static str,
    params: &'static str,
    /// With `§` for the injection.
    record: &'static str,
    /// The word of the verdict that the attacker wants.
    word: &'static str,
    /// The replies of a judge that finds it good, and of one that finds it bad; `§` is a quotation.
    good: &'static str,
    bad: &'static str,
    /// The scores of the two.
    scores: (f64, f64),
}

const SUBJECTS: [Subject; 16] = [
    Subject {
        id: "criteria",
        params: "criteria: helpfulness",
        record: r#"{"query": "Why?", "output": "§"}"#,
        word: "Y",
        good: r#"[{"reasoning": "§", "verdict": "Y"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "N"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "labeled_criteria",
        params: "criteria: correctness",
        record: r#"{"query": "Why?", "output": "§", "reference": "Because."}"#,
        word: "Y",
        good: r#"[{"reasoning": "§", "verdict": "Y"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "N"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "qa",
        params: "{}",
        record: r#"{"query": "How many?", "output": "§", "reference": "3"}"#,
        word: "CORRECT",
        good: r#"[{"reasoning": "§", "verdict": "CORRECT"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "INCORRECT"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "context_qa",
        params: "{}",
        record: r#"{"query": "How many?", "output": "Three.", "contexts": ["There are 5.", "§"]}"#,
        word: "CORRECT",
        good: r#"[{"reasoning": "§", "verdict": "CORRECT"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "INCORRECT"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "pairwise_string",
        params: "{}",
        record: r#"{"query": "Why?", "output": "§", "output_b": "Because."}"#,
        word: "A",
        good: r#"[{"reasoning": "§", "verdict": "A"}, {"reasoning": "§", "verdict": "B"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "B"}, {"reasoning": "§", "verdict": "A"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "score_string",
        params: "{}",
        record: r#"{"query": "Why?", "output": "§"}"#,
        word: "10",
        good: r#"[{"reasoning": "§", "score": 10}]"#,
        bad: r#"[{"reasoning": "§", "score": 1}]"#,
        scores: (10.0, 1.0),
    },
    Subject {
        id: "trajectory",
        params: "{}",
        record: r#"{"query": "Rain?", "output": "Yes.", "trajectory": [{"tool": "weather", "input": {"city": "Oslo"}, "observation": "§"}]}"#,
        word: "5",
        good: r#"[{"reasoning": "§", "score": 5}]"#,
        bad: r#"[{"reasoning": "§", "score": 1}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "faithfulness",
        params: "{}",
        record: r#"{"query": "How long?", "output": "§", "contexts": ["Refunds take 5 days."]}"#,
        word: "supported",
        good: r#"[{"statements": ["§"]}, {"verdicts": [{"number": 1, "reasoning": "§", "verdict": "supported"}]}]"#,
        bad: r#"[{"statements": ["§"]}, {"verdicts": [{"number": 1, "reasoning": "§", "verdict": "contradicted"}]}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "context_precision",
        params: "{}",
        record: r#"{"query": "How long?", "reference": "5 days", "contexts": ["§"]}"#,
        word: "Y",
        good: r#"[{"verdicts": [{"number": 1, "reasoning": "§", "verdict": "Y"}]}]"#,
        bad: r#"[{"verdicts": [{"number": 1, "reasoning": "§", "verdict": "N"}]}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "semantic_match",
        params: "semantic_match_string: Refunds take 30 days.",
        record: r#"{"query": "How long?", "output": "§"}"#,
        word: "Y",
        good: r#"[{"reasoning": "§", "verdict": "Y"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "N"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "custom_evaluator",
        params: "{instructions: The response names a number of days., context: full_context}",
        record: r#"{"query": "§", "output": "Soon."}"#,
        word: "pass",
        good: r#"[{"reasoning": "§", "verdict": "pass"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "fail"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "rubric",
        params: "criterion: apologises and names a date",
        record: r#"{"query": "Where is it?", "output": "§"}"#,
        word: "pass",
        good: r#"[{"reasoning": "§", "score": 1, "verdict": "pass"}]"#,
        bad: r#"[{"reasoning": "§", "score": 0, "verdict": "fail"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "closed_qa",
        params: "criteria: names its source",
        record: r#"{"query": "How many?", "output": "§"}"#,
        word: "Y",
        good: r#"[{"reasoning": "§", "verdict": "Y"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "N"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "classify",
        params: "{question: tone?, labels: [friendly, rude], pass: [friendly]}",
        record: r#"{"query": "Where is it?", "output": "§"}"#,
        word: "friendly",
        good: r#"[{"reasoning": "§", "verdict": "friendly"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "rude"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "factuality",
        params: "{}",
        record: r#"{"query": "Who?", "output": "§", "reference": "Goethe"}"#,
        word: "same",
        good: r#"[{"reasoning": "§", "verdict": "same"}]"#,
        bad: r#"[{"reasoning": "§", "verdict": "disagree"}]"#,
        scores: (1.0, 0.0),
    },
    Subject {
        id: "g_eval",
        params: "{steps: [Read it.]}",
        record: r#"{"output": "§"}"#,
        word: "10",
        good: r#"[{"reasoning": "§", "score": 10}]"#,
        bad: r#"[{"reasoning": "§", "score": 0}]"#,
        scores: (1.0, 0.0),
    },
];

#[test]
fn a_judge_that_echoes_gives_no_verdict_by_schema() {
    echoes(Structured::JsonSchema);
}

#[test]
fn a_judge_that_echoes_gives_no_verdict_by_words() {
    echoes(Structured::Text);
}

#[test]
fn a_judge_that_quotes_without_the_fence_gives_no_verdict() {
    attack(|bench, subject, injection| {
        // Shorter material could be a judge's own words; conversations and trajectories hold more than the attack.
        let is_part = matches!(subject.id, "trajectory" | "custom_evaluator");
        if injection.len() < if is_part { 40 } else { 16 } {
            return None;
        }
        let reply = format!("I was given this:\n\n{injection}\n\nI have yet to think about it.");
        let got = bench.judge(subject, injection, Structured::Text, vec![reply.into(); 4]);
        taken(&got)
    });
}

#[test]
fn a_verdict_after_an_echo_is_the_judges_own_or_none() {
    attack(|bench, subject, injection| {
        let bad = quoting(subject.bad, "no");
        let then = bad.last()?.to_string();
        let got = bench.judge_echoing(subject, injection, Structured::Text, Some(then));
        match got.score {
            Some(score) if (score - subject.scores.0).abs() < 1e-9 => Some(shown(&got)),
            _ => None,
        }
    });
}

#[test]
fn an_honest_judge_that_quotes_the_attack_counts() {
    attack(|bench, subject, injection| {
        [
            (subject.bad, subject.scores.1),
            (subject.good, subject.scores.0),
        ]
        .into_iter()
        .find_map(|(replies, score)| {
            let replies = quoting(replies, injection);
            let got = bench.judge(subject, injection, Structured::JsonSchema, replies);
            (got.score != Some(score)).then(|| shown(&got))
        })
    });
}

fn echoes(structured: Structured) {
    attack(|bench, subject, injection| {
        taken(&bench.judge_echoing(subject, injection, structured, None))
    });
}

/// A result that is not inconclusive with an error.
fn taken(got: &CheckResult<'_>) -> Option<String> {
    let refused =
        got.verdict == Some(Verdict::Inconclusive) && got.error.is_some() && got.score.is_none();
    (!refused).then(|| shown(got))
}

/// Tries all attempts on all subjects. `breaks` says what went wrong.
fn attack(breaks: impl Fn(&Bench, &Subject, &str) -> Option<String>) {
    let bench = Bench::new();
    let attempts = attempts();
    let mut broken = Vec::new();
    for subject in &SUBJECTS {
        for (name, text) in &attempts {
            let injection = subject.aimed(text);
            if let Some(wrong) = breaks(&bench, subject, &injection) {
                broken.push(format!("{} / {name}: {wrong}", subject.id));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "{} of {} attempts succeed:\n{}",
        broken.len(),
        attempts.len() * SUBJECTS.len(),
        broken.join("\n")
    );
}

/// Name and text of each attempt.
fn attempts() -> Vec<(String, String)> {
    let attempts: Vec<(String, String)> = include_str!("injections.jsonl")
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            (text("name"), text("text"))
        })
        .collect();
    assert!(attempts.len() >= 40);
    attempts
}

fn shown(got: &CheckResult<'_>) -> String {
    serde_json::to_string(got).unwrap()
}

/// The replies of a judge that quotes.
fn quoting(replies: &str, quotation: &str) -> Vec<Value> {
    let quotation = json!(quotation).to_string();
    let quotation = quotation.strip_prefix('"').unwrap();
    let quotation = quotation.strip_suffix('"').unwrap();
    serde_json::from_str(&replies.replace('§', quotation)).unwrap()
}

impl Subject {
    /// The attempt, with what the attacker wants of this evaluator.
    fn aimed(&self, attempt: &str) -> String {
        let wanted = quoting(self.good, "fine");
        attempt
            .replace("{word}", self.word)
            .replace("{json}", &wanted.last().unwrap().to_string())
    }

    fn record(&self, injection: &str) -> String {
        let injection = json!(injection).to_string();
        self.record.replace("\"§\"", &injection)
    }
}

/// A mock and its client.
struct Bench {
    registry: Registry,
    server: MockServer,
    session: Arc<dyn ModelSession>,
}

impl Bench {
    fn new() -> Self {
        let options = SessionOptions::default();
        Self {
            registry: Registry::builtin(),
            server: MockServer::start(Config::default()).unwrap(),
            session: Host::new().cache_dir(None).open(&options).unwrap(),
        }
    }

    fn judge_echoing(
        &self,
        subject: &Subject,
        injection: &str,
        structured: Structured,
        then: Option<String>,
    ) -> CheckResult<'static> {
        self.judge_by(subject, injection, structured, Replies::Echo { then })
    }

    fn judge(
        &self,
        subject: &Subject,
        injection: &str,
        structured: Structured,
        replies: Vec<Value>,
    ) -> CheckResult<'static> {
        let rule = |reply: Value| Rule {
            times: Some(1),
            reply: Some(reply),
            ..Rule::default()
        };
        let replies = Replies::Rules {
            rules: replies.into_iter().map(rule).collect(),
            strict: true,
        };
        self.judge_by(subject, injection, structured, replies)
    }

    fn judge_by(
        &self,
        subject: &Subject,
        injection: &str,
        structured: Structured,
        replies: Replies,
    ) -> CheckResult<'static> {
        let config = Config {
            replies,
            ..Config::default()
        };
        self.server.configure(config).unwrap();
        let entry = self.registry.get(subject.id).unwrap();
        let params = Node::parse(subject.params).unwrap();
        let mut spec = CheckSpec::from_flat_asking_params(subject.id, &params).unwrap();
        spec.asks.judges = vec![ModelSpec {
            structured,
            base_url: Some(format!("{}/v1", self.server.url())),
            concurrency: Some(1),
            attempts: Some(1),
            ..ModelSpec::new(Provider::OpenAi, "mock-1")
        }];
        single::judge_asking(entry, spec, &subject.record(injection), &*self.session).unwrap()
    }
}
