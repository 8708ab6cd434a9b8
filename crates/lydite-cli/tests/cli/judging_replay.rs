//! Runs again from their kept calls, offline.

use lydite_mock_llm::{Config, Faults, Replies};
use serde_json::{Value, json};

use crate::stage::{
    CHECK, SETTINGS, Stage, by_error, results, right_and_errored, settled, settled_report,
};
use crate::support::json_lines;

fn report_of(run: &std::path::Path) -> Value {
    settled_report(&std::fs::read_to_string(run.join("report.json")).unwrap())
}

fn checks() -> String {
    format!(
        "{CHECK}    repeat: 2\n  - evaluator: closed_qa\n    name: polite\n    params: {{criteria: is polite}}\n    threshold: 0.5\n  - contains: It\n"
    )
}

/// The mock is gone: a replay gives the same lines, report and exit code, errors included.
#[test]
fn a_replay_is_the_run_again() {
    for lasting in [false, true] {
        let stage = Stage::new(Config {
            faults: Faults {
                server_error: 0.1,
                malformed: if lasting { 0.3 } else { 0.1 },
                lasting,
                ..Faults::default()
            },
            ..Config::default()
        });
        let attempts = if lasting { 2 } else { 8 };
        stage.suite(&format!("timeout: 2, attempts: {attempts}"), &checks());
        stage.records(40, "", &[]);
        let ran = stage.run("");
        let run = stage.dir.only_run();
        let errors = by_error(&results(&run));
        assert_eq!(errors.len() > 1, lasting, "{}", ran.transcript());
        let Stage { dir, mock } = stage;
        drop(mock);
        let replayed = dir
            .run("replay -o again.jsonl --format json")
            .exits(ran.code);
        assert_eq!(settled_report(&replayed.stdout), report_of(&run));
        let (now, then) = (json_lines(&dir.read("again.jsonl")), results(&run));
        assert_eq!(settled(&now), settled(&then));
        // By name, too, and no run is added.
        let id = run.file_name().unwrap().to_str().unwrap().to_owned();
        dir.run(&format!("replay {id}")).exits(ran.code);
        dir.only_run();
    }
}

/// A run that took all from the cache is whole in itself, too.
#[test]
fn a_replay_needs_no_cache() {
    let stage = Stage::new(Config::default());
    stage.suite(SETTINGS, &checks());
    stage.records(20, "", &[]);
    stage.run("--no-store").exits(1);
    let asked = stage.stats().requests;
    stage.run("").exits(1);
    assert_eq!(stage.stats().requests, asked, "all was cached");
    let run = stage.dir.only_run();
    let Stage { dir, mock } = stage;
    drop(mock);
    std::fs::remove_dir_all(dir.path("cache")).unwrap();
    let replayed = dir.run("replay --format json").exits(1);
    assert_eq!(settled_report(&replayed.stdout), report_of(&run));
}

#[test]
fn a_call_that_is_missing_is_told() {
    let stage = Stage::new(Config::default());
    stage.records(10, "", &[]);
    stage.run("").exits(1);
    let calls = stage.dir.only_run().join("calls.jsonl");
    let text = std::fs::read_to_string(&calls).unwrap();
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("good:4"))
        .collect();
    assert_eq!(kept.len(), 9);
    std::fs::write(&calls, kept.join("\n") + "\n").unwrap();
    let asked = stage.stats().requests;
    let replayed = stage.dir.run("replay -o again.jsonl").exits(3);
    assert_eq!(stage.stats().requests, asked, "a replay sends nothing");
    let lines = json_lines(&stage.dir.read("again.jsonl"));
    assert_eq!(right_and_errored(&lines), (9, 1));
    assert_eq!(lines[4]["error"]["code"], "offline");
    let said = lines[4]["error"]["message"].as_str().unwrap();
    assert!(said.contains("record of calls"), "{said}");
    assert!(
        replayed.stdout.contains("record of calls"),
        "{}",
        replayed.stdout
    );

    std::fs::remove_file(&calls).unwrap();
    let none = stage.dir.run("replay").exits(2);
    assert!(none.stderr.contains("calls.jsonl"), "{}", none.stderr);
    let unknown = stage.dir.run("replay 20200101-000000-aaaaaa").exits(2);
    assert!(unknown.stderr.contains("20200101"), "{}", unknown.stderr);
}

/// Without the network, kept replies count, and what would leave the machine is an error. The mock stands on
/// this machine, so a model of a provider stands in for what does not.
#[test]
fn offline_sends_nothing_beyond_this_machine() {
    let stage = Stage::new(Config::default());
    stage.records(6, "", &[]);
    stage.dir.write(
        "lydite.yaml",
        format!("version: 1\nmodels: {{judge: openai/gpt-4.1-mini}}\nchecks:\n{CHECK}"),
    );
    let mut command = stage.dir.command(&[
        "run",
        "--data",
        "data.jsonl",
        "--offline",
        "--format",
        "jsonl",
    ]);
    let output = command.env("OPENAI_API_KEY", "sk-none").output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let lines = json_lines(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(right_and_errored(&lines), (0, 6));
    for line in &lines {
        assert_eq!(line["error"]["code"], json!("offline"));
        assert!(
            line["error"]["message"]
                .as_str()
                .unwrap()
                .contains("--offline")
        );
    }
    // A server on this machine is asked all the same.
    stage.suite(SETTINGS, CHECK);
    stage.run("--offline").exits(1);
    assert_eq!(stage.stats().requests, 6);
}

/// A replay or a dry run sends nothing, so it needs no key.
#[test]
fn a_replay_and_a_dry_run_need_no_key() {
    let stage = Stage::new(Config::default());
    stage.suite(&format!("{SETTINGS}, api_key_env: KEY_OF_TEST"), CHECK);
    stage.records(10, "", &[]);
    let run = "run --data data.jsonl";
    let dry = stage.run("--dry-run").exits(0);
    assert!(dry.stdout.contains("openai/mock"), "{}", dry.stdout);
    assert!(stage.run("").exits(2).stderr.contains("KEY_OF_TEST"));
    let key = [("KEY_OF_TEST", "a-key")];
    let ran = stage.dir.run_in(&key, run);
    let report = report_of(&stage.dir.only_run());
    let replayed = stage.dir.run("replay --format json").exits(ran.code);
    assert_eq!(settled_report(&replayed.stdout), report);
}

/// What a stopped run did not reach, its replay does not reach either.
#[test]
fn a_replay_ends_where_the_run_did() {
    let stage = Stage::new(Config {
        replies: Replies::Rules {
            rules: serde_json::from_value(
                json!([{"contains": " stop", "status": 401, "body": {}}]),
            )
            .unwrap(),
            strict: false,
        },
        ..Config::default()
    });
    stage.records(400, " stop", &[300]);
    let ran = stage.run("--concurrency 4").exits(3);
    let report = report_of(&stage.dir.only_run());
    assert!(
        report["records"]["judged"].as_u64().unwrap() < 300,
        "{}",
        ran.transcript()
    );
    let replayed = stage.dir.run("replay --format json").exits(3);
    assert_eq!(settled_report(&replayed.stdout), report);
}
