//! Judging that is killed or interrupted, and what the resumed run asks again.

#![cfg(unix)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use lydite_mock_llm::{Config, Faults, Replies};
use serde_json::Value;

use crate::stage::{
    CHECK, Stage, answered_calls, results, right_and_errored, settled, settled_report,
};

const N: usize = 240;
const CONCURRENCY: u64 = 8;

/// Some faults, so that what is under way at the end is of all kinds; none that leaves a trace in results.
fn config() -> Config {
    Config {
        latency_ms: 15,
        faults: Faults {
            rate_limited: 0.05,
            retry_after_s: 0.1,
            server_error: 0.05,
            ..Faults::default()
        },
        ..Config::default()
    }
}

fn stage() -> Stage {
    let stage = Stage::new(config());
    stage.suite(
        &format!("timeout: 5, concurrency: {CONCURRENCY}"),
        // Two calls a record that differ: the mock knows equal ones by their bodies alone.
        &format!("{CHECK}{}", CHECK.replace("holds", "keeps")),
    );
    stage.records(N, "", &[]);
    stage
}

/// What a whole run without a disturbance leaves.
fn undisturbed() -> (Vec<Value>, Value) {
    let stage = stage();
    stage.run("").exits(1);
    left(&stage.dir.only_run())
}

fn left(run: &Path) -> (Vec<Value>, Value) {
    let report = std::fs::read_to_string(run.join("report.json")).unwrap();
    (settled(&results(run)), settled_report(&report))
}

/// A run under way, and its folder.
struct UnderWay {
    child: Child,
    run: PathBuf,
}

impl UnderWay {
    /// Waits until the mock has given `ok` further replies.
    fn until(stage: &Stage, flags: &[&str], ok: u64) -> Self {
        let from = stage.stats().ok;
        let child = stage
            .dir
            .command(&[&["run", "--data", "data.jsonl"], flags].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let end = Instant::now() + Duration::from_mins(1);
        while stage.stats().ok < from + ok {
            assert!(Instant::now() < end, "{:?}", stage.stats());
            std::thread::sleep(Duration::from_millis(2));
        }
        let run = stage.dir.only_run();
        Self { child, run }
    }

    fn kill(mut self) -> PathBuf {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.run
    }

    fn interrupt(mut self) -> (Option<i32>, PathBuf) {
        let id = self.child.id();
        let sent = std::process::Command::new("sh")
            .args(["-c", &format!("kill -INT {id}")])
            .status();
        assert!(sent.unwrap().success());
        (self.child.wait().unwrap().code(), self.run)
    }
}

/// Waits until the mock has noticed that nobody waits for its replies any more.
fn settle(stage: &Stage) {
    let end = Instant::now() + Duration::from_secs(10);
    while stage.stats().in_flight > 0 {
        assert!(Instant::now() < end, "{:?}", stage.stats());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// kill -9 early, in the middle, late, and while it is resumed.
#[test]
fn a_killed_run_asks_nothing_again_that_was_answered() {
    let expected = undisturbed();
    let stage = stage();
    let (mut flags, mut lost): (&[&str], u64) = (&[], 0);
    for ok in [10, 120, 200] {
        let run = UnderWay::until(&stage, flags, ok).kill();
        settle(&stage);
        let kept: BTreeSet<String> = answered_calls(&run).into_iter().collect();
        lost = stage.stats().ok - kept.len() as u64;
        flags = &["--resume"];
        assert!(!run.join("report.json").exists());
    }
    // Of all three kills: each run keeps what it had received.
    assert!(lost <= 3 * CONCURRENCY, "{lost}");
    stage.run("--resume").exits(1);
    let run = stage.dir.only_run();
    assert_eq!(left(&run), expected);
    assert_eq!(right_and_errored(&results(&run)), (2 * N, 0));
    let stats = stage.stats();
    assert!(stats.duplicate_after_ok <= lost, "{lost}: {stats:?}");
    let keys = answered_calls(&run);
    let distinct: BTreeSet<&String> = keys.iter().collect();
    assert_eq!(keys.len(), distinct.len(), "a call was made twice");
}

/// Ctrl-C ends at once with 130, and what had come by then is kept.
#[test]
fn an_interrupted_run_goes_on_where_it_stopped() {
    let expected = undisturbed();
    for ok in [5, 250] {
        let stage = stage();
        let (code, run) = UnderWay::until(&stage, &[], ok).interrupt();
        assert_eq!(code, Some(130));
        settle(&stage);
        let kept = answered_calls(&run).len() as u64;
        let report: Value =
            serde_json::from_str(&std::fs::read_to_string(run.join("report.json")).unwrap())
                .unwrap();
        assert_eq!(report["run"]["stopped"], "interrupted");
        stage.run("--resume").exits(1);
        assert_eq!(left(&stage.dir.only_run()), expected);
        let stats = stage.stats();
        let lost = stats.ok - answered_calls(&run).len() as u64;
        assert!(kept > 0 && lost <= CONCURRENCY, "{lost}: {stats:?}");
        assert!(stats.duplicate_after_ok <= lost, "{stats:?}");
    }
}

#[test]
fn a_rerun_that_stops_early_leaves_the_run_as_it_was() {
    let stage = Stage::new(Config::default());
    stage.records(200, " once", &[150]);
    stage.configure(Config {
        replies: rules(
            r#"[{"contains": "once", "status": 400, "body": {"error": {"message": "no"}}}]"#,
        ),
        ..Config::default()
    });
    stage.run("").exits(3);
    let before = stage.results();
    assert_eq!(right_and_errored(&before), (199, 1));
    stage.configure(Config {
        replies: rules(
            r#"[{"contains": "once", "status": 401, "body": {"error": {"message": "no"}}}]"#,
        ),
        ..Config::default()
    });
    let stopped = stage.run("--resume --rerun errors").exits(3);
    assert!(
        stopped.stderr.contains("401") || stopped.stdout.contains("401"),
        "{}",
        stopped.transcript()
    );
    assert_eq!(stage.results(), before);
    stage.configure(Config::default());
    stage.run("--resume --rerun errors").exits(1);
    assert_eq!(right_and_errored(&stage.results()), (200, 0));
    // Answered calls were not made again.
    assert_eq!(stage.stats().requests, 1);
}

fn rules(text: &str) -> Replies {
    Replies::Rules {
        rules: serde_json::from_str(text).unwrap(),
        strict: false,
    }
}
