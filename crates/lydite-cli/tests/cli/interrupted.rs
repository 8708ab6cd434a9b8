//! Runs that end before their time, and `--resume`.

#![cfg(unix)]

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Dir, Ran, answers, timeless};

/// Enough for a dozen blocks.
const N: usize = 12_000;

const SUITE: &str = "\
version: 1
name: sums
checks:
  - golden_response
  - {evaluator: string_distance, threshold: 0.1}
  - {evaluator: contains, params: {phrase: '9'}, not: true, name: no_nine}
gates: [golden_response.pass_rate >= 0.6, errors <= 1%]
";

/// [`answers`] with bad lines, repeated questions and other trials among them.
fn data() -> String {
    let mut lines: Vec<String> = answers(N).lines().map(str::to_owned).collect();
    for at in [10, N / 4, N / 2, N - 5] {
        lines[at] = "no record".into();
    }
    for at in [20, N / 3, N - 20] {
        lines[at] =
            r#"{"query": "asked again", "output": "9", "reference": "9", "tags": ["again"]}"#
                .into();
        lines[at + 1] = r#"{"id": "r0", "output": "0", "reference": "9"}"#.into();
    }
    lines.join("\n") + "\n"
}

fn dir() -> Dir {
    Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &data())])
}

/// A run that reads a pipe which is fed a part of the data and then left open.
struct Halted {
    child: Child,
    run: PathBuf,
}

impl Halted {
    /// Waits until some of the results are on disk.
    fn start(dir: &Dir, flags: &[&str], part: &str) -> Self {
        let args = [&["run", "--data", "-", "--threads", "1"], flags].concat();
        let mut child = dir
            .command(&args)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Whoever reads a pipe is read to the end of what there is; the rest never comes.
        child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(part.as_bytes())
            .unwrap();
        let run = wait_for(|| {
            let run = std::fs::read_dir(dir.path(".lydite/runs"))
                .ok()?
                .next()?
                .ok()?
                .path();
            let lines = std::fs::read_to_string(run.join("checkpoints.jsonl")).ok()?;
            (lines.lines().count() >= 2).then_some(run)
        });
        Self { child, run }
    }

    fn kill(mut self) -> PathBuf {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.run
    }

    /// Sends a signal as a terminal does, and gives the exit code and stderr.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("sh")
            .args(["-c", &format!("kill -INT {id}")])
            .status()
            .unwrap();
        assert!(sent.success());
        std::thread::sleep(Duration::from_millis(50));
        // The reader waits for the pipe; with its end it notices.
        drop(self.child.stdin.take());
        let mut stderr = String::new();
        self.child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut stderr)
            .unwrap();
        (self.child.wait().unwrap().code(), stderr)
    }
}

fn wait_for<T>(mut ready: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = ready() {
            return found;
        }
        assert!(Instant::now() < end, "nothing came");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a finished run left: its results, its report, its `--output` files.
fn left(dir: &Dir, run: &Path) -> (String, Value, String, String) {
    let read = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
    let report = |text: &str| timeless(text);
    let junit: String = dir
        .read("out.xml")
        .lines()
        .filter(|line| !line.contains("timestamp="))
        .collect();
    assert_eq!(report(&read("report.json")), report(&dir.read("out.json")));
    (
        read("results.jsonl"),
        report(&read("report.json")),
        dir.read("out.jsonl"),
        junit,
    )
}

const OUTPUTS: &[&str] = &["-o", "out.jsonl", "-o", "out.json", "-o", "out.xml"];

fn piped(dir: &Dir, flags: &[&str]) -> Ran {
    dir.piped(&[&["run", "--data", "-"], flags, OUTPUTS].concat(), data())
}

/// kill -9, again and again, and the run that is resumed is the run that was never disturbed.
#[test]
fn a_killed_run_is_resumed_to_the_same_results() {
    let whole = data();
    let undisturbed = {
        let dir = dir();
        piped(&dir, &[]).exits(0);
        left(&dir, &dir.only_run())
    };
    let dir = dir();
    let run = Halted::start(&dir, OUTPUTS, &whole[..whole.len() * 2 / 3]).kill();
    assert!(!run.join("report.json").exists());
    let listed = dir.run("runs list").exits(0);
    assert!(
        listed.stdout.contains("unfinished") && listed.stdout.contains("--resume"),
        "{}",
        listed.stdout
    );
    // What is known so far can be seen.
    let so_far = dir.run("report").exits(130);
    assert!(so_far.stdout.contains("interrupted"), "{}", so_far.stdout);
    // A last write that was torn.
    for (name, torn) in [
        ("results.jsonl", "{\"record\": \"torn"),
        ("checkpoints.jsonl", "{\"blocks\": 99, \"inp"),
        ("bad_records.jsonl", "{\"fi"),
    ] {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(run.join(name))
            .unwrap();
        file.write_all(torn.as_bytes()).unwrap();
    }
    // Killed once more while it goes on.
    let args = [&["run", "--data", "-", "--resume"], OUTPUTS].concat();
    let mut again = dir
        .command(&args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    again
        .stdin
        .as_mut()
        .unwrap()
        .write_all(&whole.as_bytes()[..whole.len() / 2])
        .unwrap();
    std::thread::sleep(Duration::from_millis(150));
    again.kill().unwrap();
    again.wait().unwrap();

    let ran = piped(&dir, &["--resume", "--threads", "4"]).exits(0);
    assert!(ran.stderr.contains("going on with run"), "{}", ran.stderr);
    assert_eq!(left(&dir, &dir.only_run()), undisturbed);
    // A run that is done can be resumed, too: nothing changes.
    piped(&dir, &["--resume"]).exits(0);
    assert_eq!(left(&dir, &dir.only_run()), undisturbed);
    // The copy of the records is whole.
    let copy = std::fs::File::open(dir.only_run().join("records/0.zst")).unwrap();
    assert!(zstd::decode_all(copy).unwrap() == whole.as_bytes());
}

/// The same for wide lines; their reasons are not stored, so those of the samples alone may lack.
#[test]
fn a_killed_wide_run_is_resumed_to_the_same_lines() {
    let whole = data();
    let expected = {
        let dir = dir();
        dir.piped(
            &["run", "--data", "-", "--wide", "-o", "out.jsonl"],
            whole.as_str(),
        )
        .exits(0);
        dir.read("out.jsonl")
    };
    let dir = dir();
    let run = Halted::start(
        &dir,
        &["--wide", "-o", "out.jsonl"],
        &whole[..whole.len() * 2 / 3],
    )
    .kill();
    dir.piped(
        &[
            "run",
            "--data",
            "-",
            "--wide",
            "-o",
            "out.jsonl",
            "--resume",
        ],
        whole.as_str(),
    )
    .exits(0);
    assert_eq!(dir.read("out.jsonl"), expected);
    assert_eq!(
        std::fs::read_to_string(run.join("results.jsonl")).unwrap(),
        expected
    );
}

/// Ctrl-C: 130, what was done is kept and shown, and `--resume` does the rest.
#[test]
fn an_interrupted_run_keeps_what_was_done() {
    let whole = data();
    let undisturbed = {
        let dir = dir();
        piped(&dir, &[]).exits(0);
        left(&dir, &dir.only_run())
    };
    let dir = dir();
    let halted = Halted::start(&dir, OUTPUTS, &whole[..whole.len() / 2]);
    let run = halted.run.clone();
    let (code, stderr) = halted.interrupt();
    assert_eq!(code, Some(130), "{stderr}");
    assert!(
        stderr.contains("--resume") || stderr.contains("run kept in"),
        "{stderr}"
    );
    let report: Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("report.json")).unwrap()).unwrap();
    assert_eq!(
        (&report["exit"]["code"], &report["run"]["stopped"]),
        (&130.into(), &"interrupted".into())
    );
    assert!(report["records"]["judged"].as_u64().unwrap() > 0);
    assert!(
        report["records"]["planned"].is_null(),
        "the end of the data was not seen"
    );
    assert_eq!(report["gates"][0]["status"], "not_judged");
    // Report, JUnit and lines of what was done are whole files.
    assert!(dir.read("out.xml").trim_end().ends_with("</testsuites>"));
    let listed = dir.run("runs list").exits(0);
    assert!(listed.stdout.contains("exit 130"), "{}", listed.stdout);

    piped(&dir, &["--resume"]).exits(0);
    assert_eq!(left(&dir, &dir.only_run()), undisturbed);
}

/// A run goes on with nothing else than what it began with, and says what changed.
#[test]
fn a_resume_with_something_else_is_refused() {
    let whole = data();
    let dir = dir();
    let run = Halted::start(&dir, &[], &whole[..whole.len() * 2 / 3]).kill();
    let before = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let copy = std::fs::read(run.join("records/0.zst")).unwrap();
    let refused = |flags: &[&str], suite: &str, stdin: &str| {
        dir.write("lydite.yaml", suite);
        let ran = dir
            .piped(&[&["run", "--resume"], flags].concat(), stdin)
            .exits(2);
        assert!(!run.join("report.json").exists());
        ran.stderr
    };
    let threshold = SUITE.replace("0.1", "0.2");
    for (title, stderr, reason) in [
        (
            "suite",
            refused(&["--data", "-"], &threshold, &whole),
            "the suite changed since",
        ),
        (
            "checks",
            refused(&["--data", "-", "--check", "exact_match"], SUITE, &whole),
            "the suite changed since",
        ),
        (
            "where",
            refused(&["--data", "-", "--where", "id != 'r1'"], SUITE, &whole),
            "the selection or --wide changed since",
        ),
        (
            "limit",
            refused(&["--data", "-", "--limit", "5"], SUITE, &whole),
            "the selection or --wide changed since",
        ),
        (
            "sample",
            refused(&["--data", "-", "--sample", "5"], SUITE, &whole),
            "the selection or --wide changed since",
        ),
        (
            "wide",
            refused(&["--data", "-", "--wide"], SUITE, &whole),
            "the selection or --wide changed since",
        ),
        (
            "files",
            refused(&["--data", "data.jsonl"], SUITE, ""),
            "the list of data files changed since",
        ),
    ] {
        assert!(
            stderr.contains(reason) && stderr.contains("can't resume run"),
            "{title}: {stderr}"
        );
        assert_eq!(
            std::fs::read(run.join("records/0.zst")).unwrap(),
            copy,
            "{title}: the copy was written over"
        );
    }
    for (title, data) in [
        ("changed", whole.replacen("r3", "R3", 1)),
        ("shorter", whole[..whole.len() / 4].to_owned()),
    ] {
        let stderr = refused(&["--data", "-"], SUITE, &data);
        assert!(
            stderr.contains("the data changed within its first"),
            "{title}: {stderr}"
        );
    }
    assert_eq!(
        std::fs::read_to_string(run.join("results.jsonl")).unwrap(),
        before,
        "results were lost"
    );
    // What comes after the checkpoint may change: the rest was not read yet.
    dir.write("lydite.yaml", SUITE);
    dir.piped(
        &["run", "--resume", "--data", "-"],
        whole + "{\"output\": \"9\", \"reference\": \"9\"}\n",
    )
    .exits(0);
}

/// A second Ctrl-C ends at once.
#[test]
fn a_second_interrupt_ends_the_process() {
    let whole = data();
    let dir = dir();
    let mut halted = Halted::start(&dir, &[], &whole[..whole.len() / 2]);
    let id = halted.child.id();
    let kill = || {
        std::process::Command::new("sh")
            .args(["-c", &format!("kill -INT {id}")])
            .status()
            .unwrap()
    };
    kill();
    std::thread::sleep(Duration::from_millis(50));
    kill();
    assert_eq!(halted.child.wait().unwrap().code(), Some(130));
}
