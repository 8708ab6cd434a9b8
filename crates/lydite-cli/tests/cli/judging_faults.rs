//! Judges that fail now and then, and those that fail for good.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use lydite_mock_llm::{Config, Faults, Replies, Rule};
use serde_json::json;

use crate::stage::{CHECK, Stage, by_error, right_and_errored};
use crate::support::Ran;

/// In seconds.
const TIMEOUT: f64 = 2.0;

/// 1,000 calls of which a fifth meets a fault: every verdict is right, no request is made for nothing.
#[test]
fn passing_faults_lose_nothing() {
    let stage = Stage::new(Config {
        faults: Faults {
            rate_limited: 0.1,
            retry_after_s: 0.3,
            server_error: 0.05,
            hang: 0.02,
            malformed: 0.02,
            cut: 0.01,
            ..Faults::default()
        },
        ..Config::default()
    });
    stage.records(1000, "", &[]);
    let began = Instant::now();
    stage.run("--concurrency 256").exits(1);
    let took = began.elapsed();

    let results = stage.results();
    assert_eq!(right_and_errored(&results), (1000, 0));
    let stats = stage.stats();
    let faults = [
        stats.rate_limited,
        stats.server_error,
        stats.hang,
        stats.malformed,
        stats.cut,
    ];
    assert!(faults.iter().all(|count| *count > 0), "{stats:?}");
    // Each fault costs one further request: another attempt, or the judge's repair of a malformed reply.
    let least = 1000 + faults.iter().sum::<u64>();
    assert!(
        stats.requests as f64 <= least as f64 * 1.005,
        "{} in place of {least}: {stats:?}",
        stats.requests
    );
    assert_eq!(stats.retried_before_retry_after, 0);
    assert_eq!(stats.duplicate_after_ok, 0);
    let most = Duration::from_secs_f64(2.0 * TIMEOUT + 3.0);
    assert!(took <= most, "{took:?}: {stats:?}");
}

/// A fault of the answers that hold `[[poison]]`.
fn poison(rule: &str) -> Config {
    let mut rule: Rule = serde_json::from_str(rule).unwrap();
    rule.contains = Some("[[poison]]".into());
    Config {
        replies: Replies::Rules {
            rules: vec![rule],
            strict: false,
        },
        ..Config::default()
    }
}

/// A fault that lasts is an error with its cause, never a score; the others are judged. When it is gone, only
/// what had met it is asked again.
#[test]
fn lasting_faults_are_errors_until_they_are_gone() {
    let poisoned = [1, 6, 13];
    // The fault, its code, and words of its cause.
    let table = [
        (
            r#"{"status": 429, "headers": {"Retry-After": "0.2"}, "body": {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}}"#,
            "rate_limited",
            "429",
        ),
        (r#"{"status": 500}"#, "model_server_error", "500"),
        (
            r#"{"reply": "late", "delay_ms": 60000}"#,
            "model_timeout",
            "within 0.4 s",
        ),
        (
            r#"{"status": 200, "body": "no JSON"}"#,
            "model_protocol",
            "",
        ),
        (
            r#"{"reply": "{\"reasoning\": \"x\", \"verdict\": \"Y"}"#,
            "judge_unreadable",
            "",
        ),
        (
            r#"{"reply": {"reasoning": "x", "verdict": "Y"}, "finish_reason": "length"}"#,
            "reply_truncated",
            "max_output_tokens",
        ),
        (r#"{"status": 404}"#, "model_not_found", "404"),
    ];
    for (rule, code, words) in table {
        let stage = Stage::new(poison(rule));
        stage.suite("timeout: 0.4, attempts: 2, concurrency: 64", CHECK);
        stage.records(20, "[[poison]]", &poisoned);
        let ran = stage.run("").exits(3);
        let results = stage.results();
        assert_eq!(right_and_errored(&results), (17, 3), "{rule}");
        let codes = BTreeMap::from([(String::new(), 17), (code.to_owned(), 3)]);
        assert_eq!(by_error(&results), codes, "{rule}");
        let said = results[1]["error"]["message"].as_str().unwrap();
        assert!(said.contains(words), "{rule}: {said}");
        assert!(
            ran.stdout.contains("3 errored") || ran.stdout.contains(code),
            "{}",
            ran.stdout
        );
        assert_heals(&stage, 3);
    }
}

/// Cut connections have no rule: a share of the requests meets them.
#[test]
fn connections_that_are_always_cut_are_errors() {
    let stage = Stage::new(Config {
        faults: Faults {
            cut: 0.3,
            lasting: true,
            ..Faults::default()
        },
        ..Config::default()
    });
    stage.suite("timeout: 2, attempts: 2", CHECK);
    stage.records(40, "", &[]);
    stage.run("").exits(3);
    let results = stage.results();
    let (right, errored) = right_and_errored(&results);
    assert!(right > 0 && errored > 0 && right + errored == 40);
    assert_eq!(by_error(&results)["model_connection"], errored);
    assert_heals(&stage, errored);
}

/// A malformed or truncated share that lasts, too: what was right at the first repair is no error.
#[test]
fn words_that_are_always_cut_are_errors() {
    for (faults, code) in [
        (
            Faults {
                malformed: 0.6,
                lasting: true,
                ..Faults::default()
            },
            "judge_unreadable",
        ),
        (
            Faults {
                truncated: 0.6,
                lasting: true,
                ..Faults::default()
            },
            "reply_truncated",
        ),
    ] {
        let stage = Stage::new(Config {
            faults,
            ..Config::default()
        });
        stage.records(40, "", &[]);
        stage.run("").exits(3);
        let results = stage.results();
        let (right, errored) = right_and_errored(&results);
        assert!(right > 0 && errored > 0 && right + errored == 40);
        assert_eq!(by_error(&results)[code], errored);
        assert_heals(&stage, errored);
    }
}

/// The fault goes, and `--rerun errors` asks once for each of the errored cells and for nothing else.
#[track_caller]
fn assert_heals(stage: &Stage, errored: usize) {
    let before = stage.results();
    stage.configure(Config::default());
    let ran: Ran = stage.run("--resume").exits(3);
    assert_eq!(stage.stats().requests, 0, "errors are kept: {}", ran.stderr);
    stage.run("--resume --rerun errors").exits(1);
    let healed = stage.results();
    assert_eq!(right_and_errored(&healed), (before.len(), 0));
    assert_eq!(stage.stats().requests, errored as u64);
    let report = stage.dir.run("report --format json").exits(1).json();
    assert_eq!(report["checks"][0]["errored"], json!(0), "{report}");
}

/// A key that is refused in the middle ends the run at once; with a right one it goes on where it stopped.
#[test]
fn a_refused_key_ends_the_run_at_once() {
    let stage = Stage::new(Config {
        latency_ms: 20,
        ..poison(r#"{"status": 401}"#)
    });
    stage.suite("timeout: 2", CHECK);
    stage.records(400, "[[poison]]", &[200]);
    let ran = stage.run("--concurrency 4").exits(3);
    let before = stage.stats();
    assert!(before.requests < 300, "{before:?}");
    assert_eq!(before.ruled, 1, "a refused key was tried again");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("api_key_env"), "{said}");
    let report = stage.dir.run("report --format json").exits(3).json();
    assert_eq!(report["run"]["stopped"], "unauthorized", "{report}");

    stage.configure(Config::default());
    stage.run("--resume").exits(1);
    let results = stage.results();
    assert_eq!(right_and_errored(&results), (400, 0));
    let after = stage.stats();
    // Replies that were under way at the end are the only ones that may be asked for again.
    let twice = before.ok + after.ok - 400;
    assert!(twice <= 4, "{before:?} {after:?}");
}
