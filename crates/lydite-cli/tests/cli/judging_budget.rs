//! What a run would cost, and runs that end before they cost more.

use lydite_mock_llm::{Config, Replies, Rule};
use serde_json::Value;

use crate::stage::{CHECK, Stage, answered_calls, right_and_errored};

const N: usize = 60;

/// Every reply is as long, so that a call's price is known.
fn config() -> Config {
    let rule = |contains: &str, verdict: &str| Rule {
        contains: Some(contains.into()),
        reply: Some(Value::String(format!(
            r#"{{"reasoning": "forty characters and not a single more.", "verdict": "{verdict}"}}"#
        ))),
        ..Rule::default()
    };
    Config {
        latency_ms: 5,
        replies: Replies::Rules {
            rules: vec![rule("[[bad", "N"), rule("[[good", "Y")],
            strict: true,
        },
        ..Config::default()
    }
}

/// Tokens of such a reply: the mock counts characters through four.
const REPLY_TOKENS: f64 = 18.0;

/// US dollars a million tokens of a reply; those of the prompt are free.
const PRICE: f64 = 1000.0;

const CALL: f64 = REPLY_TOKENS * PRICE / 1e6;

fn stage() -> Stage {
    let stage = Stage::new(config());
    stage.suite(
        "concurrency: 8, max_output_tokens: 40, price: {input: 0, output: 1000}",
        CHECK,
    );
    stage.records(N, "", &[]);
    stage
}

#[test]
fn a_dry_run_asks_nothing_and_counts_the_calls() {
    let n = N as u64;
    for (extra, calls) in [
        ("", n),
        ("    repeat: 3\n", 3 * n),
        ("    mode: {sample: 2}\n", 2 * n),
        (
            "  - evaluator: closed_qa\n    name: polite\n    params: {criteria: is polite}\n",
            2 * n,
        ),
        ("  - contains: It\n", n),
    ] {
        let stage = stage();
        stage.suite(
            "price: {input: 1, output: 1000}",
            &format!("{CHECK}{extra}"),
        );
        let ran = stage.run("--dry-run").exits(0);
        assert_eq!(stage.stats().requests, 0);
        assert!(!stage.dir.path(".lydite").exists(), "a dry run is kept");
        let line = ran
            .stdout
            .lines()
            .find(|line| line.starts_with("openai/mock"))
            .unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[1], calls.to_string(), "{extra}: {}", ran.stdout);
        assert!(words[5].starts_with('$'), "{}", ran.stdout);
        let cost: f64 = words[5][1..].parse().unwrap();
        assert!(cost >= calls as f64 * 0.001, "{}", ran.stdout);
        stage.run("");
        assert_eq!(stage.stats().requests, calls, "{extra}");
        // What is cached is not counted again.
        let again = stage.run("--dry-run").exits(0);
        let line = again
            .stdout
            .lines()
            .find(|line| line.starts_with("openai/mock"));
        assert!(
            line.is_none_or(|line| line.split_whitespace().nth(1) == Some("0")),
            "{}",
            again.stdout
        );
    }
    let stage = stage();
    stage.suite("", CHECK);
    let unknown = stage.run("--dry-run").exits(0);
    assert!(unknown.stdout.contains("unknown"), "{}", unknown.stdout);
}

/// The budget is never passed; what was not reached is counted; with more money the run is finished.
#[test]
fn a_budget_ends_the_run_before_it_is_passed() {
    let stage = stage();
    let budget = 25.0 * CALL;
    let ran = stage.run(&format!("--budget {budget}")).exits(3);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("budget") && said.contains("--budget"),
        "{said}"
    );
    let first = stage.stats();
    assert!(first.requests as f64 * CALL <= budget, "{first:?}");
    // A call is thought to cost 40 tokens, so the last ones may not fit, but no more than those.
    assert!(first.requests >= 22, "{first:?}");
    let run = stage.dir.only_run();
    assert_eq!(
        answered_calls(&run).len() as u64,
        first.ok,
        "a paid reply was lost"
    );
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("report.json")).unwrap()).unwrap();
    assert_eq!(report["run"]["stopped"], "budget", "{report}");
    let cost = report["models"][0]["cost_usd"].as_f64().unwrap();
    assert!(
        (cost - first.requests as f64 * CALL).abs() < 1e-9,
        "{cost}: {first:?}"
    );
    let check = &report["checks"][0];
    assert!(check["errored"] == 0, "{check}");

    // Two thirds of the rest are too little, too.
    stage
        .run(&format!("--resume --budget {}", 15.0 * CALL))
        .exits(3);
    let second = stage.stats();
    assert!(
        (second.requests - first.requests) as f64 <= 15.0,
        "{second:?}"
    );

    stage.run("--resume --budget 1000").exits(1);
    let last = stage.stats();
    assert_eq!((last.requests, last.duplicate_after_ok), (N as u64, 0));
    assert_eq!(right_and_errored(&stage.results()), (N, 0));
}

/// A longer run keeps results before the block in which the money ends.
#[test]
fn what_was_not_reached_is_counted() {
    let stage = stage();
    let many = 400;
    stage.records(many, "", &[]);
    let ran = stage
        .run(&format!("--budget {} --format json", 250.0 * CALL))
        .exits(3);
    let report = ran.json();
    let check = &report["checks"][0];
    let judged = check["n"].as_u64().unwrap();
    assert!(judged > 0 && judged < many as u64, "{check}");
    assert!(
        check["not_run"].is_null() || check["not_run"].as_u64().unwrap() + judged == many as u64,
        "{check}"
    );
    stage.run("--resume --budget 1000").exits(1);
    assert_eq!(stage.stats().requests, many as u64);
    assert_eq!(right_and_errored(&stage.results()), (many, 0));
}

#[test]
fn a_budget_asks_for_a_price() {
    let stage = stage();
    stage.suite("", CHECK);
    let ran = stage.run("--budget 1").exits(2);
    assert!(
        ran.stderr.contains("price") && ran.stderr.contains("openai/mock"),
        "{}",
        ran.stderr
    );
    assert_eq!(stage.stats().requests, 0);
    assert!(
        !stage.dir.path(".lydite/runs").exists()
            || std::fs::read_dir(stage.dir.path(".lydite/runs"))
                .unwrap()
                .next()
                .is_none()
    );
}
