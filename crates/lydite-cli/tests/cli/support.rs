//! A folder of one's own, the product in it, and what it answered.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// A folder in which the product runs; it goes with the test.
pub(crate) struct Dir(TempDir);

/// What a command answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Dir {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder with files in it.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let dir = Self::new();
        for (name, text) in files {
            dir.write(name, text);
        }
        dir
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Runs `lydite` with the words of `line` as arguments.
    pub(crate) fn run(&self, line: &str) -> Ran {
        self.args(&line.split_whitespace().collect::<Vec<_>>())
    }

    pub(crate) fn args(&self, args: &[&str]) -> Ran {
        self.piped(args, "")
    }

    /// The same with something on stdin.
    pub(crate) fn piped(&self, args: &[&str], stdin: impl Into<Vec<u8>>) -> Ran {
        let mut command = Command::from_std(self.command(args));
        Ran::of(&command.write_stdin(stdin).output().unwrap())
    }

    /// Runs the words of `line` with variables of the environment.
    pub(crate) fn run_in(&self, environment: &[(&str, &str)], line: &str) -> Ran {
        let mut command = self.command(&line.split_whitespace().collect::<Vec<_>>());
        Ran::of(&command.envs(environment.iter().copied()).output().unwrap())
    }

    /// The command itself, for tests that do something while it runs.
    pub(crate) fn command(&self, args: &[&str]) -> std::process::Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_lydite"));
        command
            .args(args)
            .current_dir(self.0.path())
            .env("NO_COLOR", "1")
            .env("LYDITE_CACHE_DIR", self.path("cache"));
        command
            .env_remove("COLUMNS")
            .env_remove("LYDITE_THREADS")
            .env_remove("CLICOLOR_FORCE");
        // Nor this machine's local models.
        command.env("HF_HOME", self.path("huggingface"));
        for name in [
            "HF_ENDPOINT",
            "HF_HUB_CACHE",
            "HUGGINGFACE_HUB_CACHE",
            "HF_HUB_OFFLINE",
            "HF_TOKEN",
            "LYDITE_MODEL_DIR",
        ] {
            command.env_remove(name);
        }
        // Neither this machine's cache nor its keys and proxies.
        command.env("LYDITE_CACHE_DIR", self.path("cache"));
        for name in [
            "OPENAI_API_KEY",
            "HTTP_PROXY",
            "http_proxy",
            "ALL_PROXY",
            "all_proxy",
        ] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// The folder of the only kept run.
    pub(crate) fn only_run(&self) -> PathBuf {
        let runs: Vec<PathBuf> = std::fs::read_dir(self.path(".lydite/runs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.into_iter().next().unwrap()
    }
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            code: output
                .status
                .code()
                .unwrap_or_else(|| panic!("killed: {}", output.status)),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// The exit code and what was said, for a snapshot.
    pub(crate) fn transcript(&self) -> String {
        let mut text = format!("exit {}\n", self.code);
        for (name, said) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !said.is_empty() {
                write!(text, "--- {name}\n{said}").unwrap();
            }
        }
        text
    }

    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.transcript());
        self
    }

    /// Stdout as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", self.transcript()))
    }

    /// Stdout as JSON, a value a line.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        json_lines(&self.stdout)
    }
}

/// JSON, a value a line.
#[track_caller]
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// What differs from run to run and from machine to machine, and what stands for it.
const FILTERS: &[(&str, &str)] = &[
    (r"\d{8}-\d{6}-[0-9a-f]{6}", "[run]"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z?", "[time]"),
    (r#""lydite": "\d+\.\d+\.\d+""#, r#""lydite": "[version]""#),
    (r#""took_ms":( ?)[\d.e-]+"#, r#""took_ms":$1"[ms]""#),
    (r"(/[\w.-]+)*/\.tmp\w+", "[dir]"),
    (r"127\.0\.0\.1:\d+", "[host]"),
    // A new evaluator is not to change a snapshot of something else.
    (r"evaluators: [a-z_]+(,\s+[a-z_]+)+…?", "evaluators: [all]"),
];

/// Compares with `snapshots/NAME.snap`.
#[track_caller]
pub(crate) fn snapshot(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    for (pattern, replacement) in FILTERS {
        settings.add_filter(pattern, *replacement);
    }
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

/// Many transcripts in one snapshot, each under its title.
#[derive(Default)]
pub(crate) struct Album(String);

impl Album {
    pub(crate) fn add(&mut self, title: &str, ran: &Ran) {
        writeln!(self.0, "═══ {title}\n{}", ran.transcript()).unwrap();
    }

    #[track_caller]
    pub(crate) fn compare(self, name: &str) {
        snapshot(name, &self.0);
    }
}

/// A text cut to a screen's length.
pub(crate) fn shortened(text: &str, characters: usize) -> String {
    let mut short: String = text.chars().take(characters).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// The repository's own files.
pub(crate) fn repository(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

/// A report without what differs from run to run: times and the paths of the data.
pub(crate) fn timeless(report: &str) -> Value {
    let mut report: Value = serde_json::from_str(report).unwrap();
    let run = report
        .get_mut("run")
        .and_then(Value::as_object_mut)
        .unwrap();
    for key in ["started_at", "finished_at", "data"] {
        run.remove(key);
    }
    report
}

/// `n` records, of which two in three are right.
pub(crate) fn answers(n: usize) -> String {
    let mut text = String::new();
    for i in 0..n {
        let output = if i % 3 == 0 { i + 1 } else { i };
        writeln!(
            text,
            r#"{{"id": "r{i}", "query": "What is {i} + 0?", "output": "It is {output}.", "reference": "It is {i}.", "tags": ["t{}"]}}"#,
            i % 2
        )
        .unwrap();
    }
    text
}

/// A suite without a dataset that judges [`answers`].
pub(crate) const SUITE: &str = "\
version: 1
name: sums
checks:
  - golden_response
  - string_distance
  - regex: {pattern: '\\d+'}
";
