//! What is kept between runs, and how many requests each form of asking makes.

use lydite_mock_llm::Config;
use serde_json::Value;

use crate::stage::{CHECK, SETTINGS, Stage, latest_run, results, right_and_errored, settled};
use crate::support::{Dir, Ran, json_lines};

const N: usize = 30;

fn stage() -> Stage {
    let stage = Stage::new(Config::default());
    stage.records(N, "", &[]);
    stage
}

/// Requests since the last look, by a run of the suite as it stands.
#[track_caller]
fn asked(stage: &Stage, flags: &str) -> u64 {
    let before = stage.stats().requests;
    let ran = stage.run(flags);
    assert!(matches!(ran.code, 0 | 1), "{}", ran.transcript());
    stage.stats().requests - before
}

#[test]
fn the_same_run_asks_nothing_the_second_time() {
    let stage = stage();
    assert_eq!(asked(&stage, ""), N as u64);
    let first = results(&stage.dir.only_run());
    assert!(first.iter().all(|line| line["cached"].is_null()));
    assert_eq!(asked(&stage, ""), 0);
    let second = results(&latest_run(&stage.dir));
    assert!(
        second.iter().all(|line| line["cached"] == true),
        "{}",
        second[0]
    );
    assert_eq!(settled(&first), settled(&second));
    assert_eq!(right_and_errored(&second), (N, 0));
}

#[test]
fn a_change_asks_again_for_what_hangs_on_it() {
    let thirds = N as u64;
    let stage = stage();
    assert_eq!(asked(&stage, ""), thirds);
    let with = |extra: &str| format!("{CHECK}{extra}\n");
    // Settings of the judge, checks, requests. Each is run twice: the second time nothing is asked.
    let table = [
        (SETTINGS, with("    threshold: 0.5"), 0),
        (SETTINGS, with("    not: true"), 0),
        (SETTINGS, CHECK.replace("holds\n", "renamed\n"), 0),
        (
            "timeout: 9, concurrency: 3, price: {input: 9, output: 9}",
            CHECK.into(),
            0,
        ),
        (
            SETTINGS,
            with("    prompt: '{criteria} {query} {output} Y or N?'"),
            thirds,
        ),
        (SETTINGS, CHECK.replace("facts", "laws"), thirds),
        ("temperature: 0.5", CHECK.into(), thirds),
        ("seed: 5", CHECK.into(), thirds),
        ("max_output_tokens: 500", CHECK.into(), thirds),
        ("parameters: {top_p: 0.5}", CHECK.into(), thirds),
        ("structured: text", CHECK.into(), thirds),
        // Of three repeats the first is known.
        (SETTINGS, with("    repeat: 3"), 2 * thirds),
        (SETTINGS, with("    mode: {sample: 2}"), 2 * thirds),
        (SETTINGS, with("    mode: logprob"), thirds),
    ];
    for (settings, checks, requests) in table {
        stage.suite(settings, &checks);
        assert_eq!(asked(&stage, ""), requests, "{settings}\n{checks}");
        assert_eq!(asked(&stage, ""), 0, "{settings}\n{checks}");
    }
    stage.suite(SETTINGS, CHECK);
    stage.dir.write(
        "lydite.yaml",
        stage
            .dir
            .read("lydite.yaml")
            .replace("model: mock", "model: other"),
    );
    assert_eq!(asked(&stage, ""), thirds);
}

#[test]
fn repeats_juries_and_orders_make_all_their_calls() {
    let n = N as u64;
    let jury = |stage: &Stage, second: &str| {
        let judge = stage.judge("");
        let other = judge.replace("model: mock", &format!("model: {second}"));
        format!("{CHECK}    judge: [{judge}, {other}]\n    aggregate: majority\n")
    };
    let repeated = stage();
    repeated.suite(SETTINGS, &format!("{CHECK}    repeat: 3\n"));
    assert_eq!(asked(&repeated, ""), 3 * n);
    assert_eq!(results(&repeated.dir.only_run()).len(), 3 * N);

    let by_flag = stage();
    assert_eq!(asked(&by_flag, "--repeat 2"), 2 * n);

    let judged = stage();
    judged.suite(SETTINGS, &jury(&judged, "second"));
    assert_eq!(asked(&judged, ""), 2 * n);
    // A jury of one model twice asks it twice.
    let twice = stage();
    twice.suite(SETTINGS, &jury(&twice, "mock"));
    assert_eq!(asked(&twice, ""), 2 * n);

    let sampled = stage();
    sampled.suite(
        SETTINGS,
        &format!("{CHECK}    mode: {{sample: 3}}\n    repeat: 2\n"),
    );
    assert_eq!(asked(&sampled, ""), 6 * n);

    let paired = stage();
    paired.suite(
        SETTINGS,
        "  - evaluator: pairwise_string\n    name: better\n",
    );
    let pairs: String = (0..N)
        .map(|i| format!("{{\"id\": \"p{i}\", \"query\": \"{i}?\", \"candidates\": [\"yes {i}\", \"no {i}\"]}}\n"))
        .collect();
    paired.dir.write("data.jsonl", pairs);
    let ran: Ran = paired.run("");
    assert!(matches!(ran.code, 0 | 1), "{}", ran.transcript());
    assert_eq!(paired.stats().requests, 2 * n);
    assert_eq!(asked(&paired, ""), 0);
}

/// Equal calls under way are one call.
#[test]
fn a_thousand_equal_records_are_one_request() {
    let stage = Stage::new(Config {
        latency_ms: 200,
        ..Config::default()
    });
    let equal: String = (0..1000)
        .map(|i| format!("{{\"id\": \"r{i}\", \"query\": \"2 + 2?\", \"output\": \"4\"}}\n"))
        .collect();
    stage.dir.write("data.jsonl", equal);
    let ran = stage.run("--concurrency 64 --format json").exits(0);
    assert_eq!(stage.stats().requests, 1);
    let report = ran.json();
    assert_eq!(report["checks"][0]["passed"], 1000, "{report}");
    // Also where nothing is kept from run to run.
    stage.run("--concurrency 64 --no-cache").exits(0);
    assert_eq!(stage.stats().requests, 2);
}

#[test]
fn two_processes_share_the_cache() {
    let stage = Stage::new(Config {
        latency_ms: 5,
        ..Config::default()
    });
    stage.records(200, "", &[]);
    let spawn = || {
        let mut command = stage
            .dir
            .command(&["run", "--data", "data.jsonl", "--format", "jsonl"]);
        command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [spawn(), spawn(), spawn()];
    let mut lines: Vec<Vec<Value>> = Vec::new();
    for child in both {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(!said.contains("cache"), "{said}");
        lines.push(settled(&json_lines(
            &String::from_utf8(output.stdout).unwrap(),
        )));
    }
    assert!(lines.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(right_and_errored(&lines[0]), (200, 0));
    let before = stage.stats().requests;
    assert!((200..=600).contains(&before), "{before}");
    stage.run("").exits(1);
    assert_eq!(stage.stats().requests, before);
}

#[test]
fn without_a_cache_everything_is_asked_again() {
    let stage = stage();
    assert_eq!(asked(&stage, ""), N as u64);
    assert_eq!(asked(&stage, "--no-cache"), N as u64);
    assert_eq!(asked(&stage, "--no-cache"), N as u64);
    assert_eq!(asked(&stage, ""), 0);
}

/// What is no cache is told, with what to do, and the run goes on.
#[test]
fn a_damaged_cache_is_told_and_gone_without() {
    let stage = stage();
    stage.dir.write(
        "cache/cache.sqlite",
        "this is no database, and never was one".repeat(100),
    );
    let ran = stage.run("").exits(1);
    assert!(
        ran.stderr.contains("cache.sqlite") && ran.stderr.contains("goes on without"),
        "{}",
        ran.stderr
    );
    assert_eq!(right_and_errored(&stage.results()), (N, 0));
    let told = stage.dir.run("cache show").exits(2);
    assert!(told.stderr.contains("delete"), "{}", told.stderr);
}

/// A cache cut in its middle is no reason to fail either.
#[test]
fn a_torn_cache_is_gone_without() {
    let stage = stage();
    assert_eq!(asked(&stage, ""), N as u64);
    let path = stage.dir.path("cache/cache.sqlite");
    let mut bytes = std::fs::read(&path).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0xa5);
    bytes[100..half]
        .iter_mut()
        .step_by(7)
        .for_each(|byte| *byte ^= 0x5a);
    for beside in ["cache.sqlite-wal", "cache.sqlite-shm"] {
        let _ = std::fs::remove_file(stage.dir.path("cache").join(beside));
    }
    std::fs::write(&path, bytes).unwrap();
    let ran = stage.run("").exits(1);
    assert!(ran.stderr.contains("cache"), "{}", ran.stderr);
    assert_eq!(right_and_errored(&results(&latest_run(&stage.dir))), (N, 0));
}

#[test]
fn the_cache_is_shown_and_cleared() {
    let stage = stage();
    let empty = stage.dir.run("cache show").exits(0);
    assert!(
        empty.stdout.contains("0 replies, 0 verdicts"),
        "{}",
        empty.stdout
    );
    assert_eq!(asked(&stage, ""), N as u64);
    let full = stage.dir.run("cache show").exits(0);
    assert!(
        full.stdout.contains(&format!("{N} replies, {N} verdicts")),
        "{}",
        full.stdout
    );
    assert!(full.stdout.contains("cache.sqlite"), "{}", full.stdout);
    let kept = stage.dir.run("cache clear --older-than 1").exits(0);
    assert!(kept.stdout.contains("0 entries removed"), "{}", kept.stdout);
    assert_eq!(asked(&stage, ""), 0);
    let cleared = stage.dir.run("cache clear").exits(0);
    assert!(
        cleared
            .stdout
            .contains(&format!("{} entries removed", 2 * N)),
        "{}",
        cleared.stdout
    );
    assert_eq!(asked(&stage, ""), N as u64);
}

/// The dir's other folders hold no cache of their own.
#[test]
fn nothing_is_kept_elsewhere() {
    let stage = stage();
    asked(&stage, "--no-store");
    let names: Vec<String> = walk(&stage.dir);
    assert!(
        names
            .iter()
            .all(|name| name.starts_with("cache") || name == "data.jsonl" || name == "lydite.yaml"),
        "{names:?}"
    );
}

fn walk(dir: &Dir) -> Vec<String> {
    let entries = std::fs::read_dir(dir.path("")).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn a_verdict_hangs_on_what_the_record_fills_parameters_with() {
    let stage = Stage::new(Config::default());
    stage.suite(
        SETTINGS,
        "  - evaluator: custom_evaluator\n    name: rule\n    params: {instructions: '{{ variables.rule }}'}\n",
    );
    let line = |id: &str, rule: &str| {
        format!(
            "{{\"id\": \"{id}\", \"query\": \"q\", \"output\": \"o\", \"variables\": {{\"rule\": \"{rule}\"}}}}\n"
        )
    };
    stage.dir.write(
        "data.jsonl",
        line("a", "is polite") + &line("b", "is short"),
    );
    assert_eq!(asked(&stage, ""), 2);
    assert_eq!(asked(&stage, ""), 0);
    stage
        .dir
        .write("data.jsonl", line("a", "is kind") + &line("b", "is short"));
    assert_eq!(asked(&stage, ""), 1);
}
