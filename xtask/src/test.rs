//! `cargo xtask test`: all that a change has to pass. CI runs this command and nothing else.

use crate::workspace::{Profile, build_lydite, cargo, must_succeed, output_of, program, succeeds};
use crate::{generate, real_model, tidy};
use anyhow::{Context, Result};
use std::time::{Duration, Instant};

/// A thing to pass.
struct Step {
    name: &'static str,
    /// What it does, said before it does it.
    says: &'static str,
    run: fn() -> Result<()>,
}

/// Where tests of local models find their files.
const MODEL_DIR: &str = "LYDITE_MODEL_DIR";

/// Quick ones first. The tests come last, so that their summary stands at the end of a log.
const STEPS: [Step; 8] = [
    Step {
        name: "formatting",
        says: "cargo fmt --all --check",
        run: formatting,
    },
    Step {
        name: "tidiness",
        says: "arrows between crates, committed files, host names, long files",
        run: tidy::run,
    },
    Step {
        name: "lints",
        says: "cargo clippy --workspace --all-targets, with all that is off by default, -- -D warnings",
        run: lints,
    },
    Step {
        name: "generated files",
        says: "schemas and pages against the list of evaluators",
        run: generated,
    },
    Step {
        name: "quick start",
        says: "examples/quickstart by the built binary",
        run: quick_start,
    },
    Step {
        name: "real model",
        says: "a run judged by SmolLM2-135M behind llama.cpp's server",
        run: real_model::run,
    },
    Step {
        name: "examples in documentation",
        says: "cargo test --workspace --doc",
        run: doc_tests,
    },
    Step {
        name: "tests",
        says: "cargo nextest run --workspace",
        run: tests,
    },
];

pub(crate) fn run() -> Result<()> {
    let mut done = Vec::new();
    for (index, step) in STEPS.iter().enumerate() {
        println!(
            "\n── {} of {}: {} ({})",
            index + 1,
            STEPS.len(),
            step.name,
            step.says
        );
        let start = Instant::now();
        let outcome = (step.run)();
        done.push((step.name, start.elapsed(), outcome.is_ok()));
        if let Err(error) = outcome {
            print_summary(&done);
            return Err(error).with_context(|| format!("step \"{}\" failed", step.name));
        }
    }
    print_summary(&done);
    Ok(())
}

fn formatting() -> Result<()> {
    must_succeed(&mut cargo(["fmt", "--all", "--check"])).context("run `cargo fmt --all`")
}

fn lints() -> Result<()> {
    must_succeed(&mut cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--features",
        "xtask/train,lydite-cli/candle,lydite-cli/onnx",
        "--",
        "-D",
        "warnings",
    ]))
}

fn generated() -> Result<()> {
    generate::run(&generate::Options { check: true })
}

/// Runs the quick start as its README says, but keeps no run.
fn quick_start() -> Result<()> {
    let mut lydite = program(build_lydite(Profile::Debug)?);
    must_succeed(lydite.args(["run", "examples/quickstart/lydite.yaml", "--no-store"]))
}

fn doc_tests() -> Result<()> {
    must_succeed(&mut cargo(["test", "--quiet", "--workspace", "--doc"]))
}

/// The folder of the built-in embedder's files, which are fetched once.
fn model_dir() -> Result<String> {
    let lydite = build_lydite(Profile::Debug)?;
    must_succeed(program(&lydite).args(["models", "pull"]))?;
    let listed = output_of(program(&lydite).args(["models", "list", "--json"]))?;
    let listed: serde_json::Value = serde_json::from_str(&listed).context("no list of models")?;
    let folder = listed.pointer("/0/found/folder");
    let folder = folder.and_then(serde_json::Value::as_str);
    folder
        .map(str::to_owned)
        .context("the embedder was fetched and is not there")
}

/// nextest where it is or can be had, else cargo's own runner.
fn tests() -> Result<()> {
    let model_dir = model_dir()?;
    if !has_nextest() {
        println!("cargo-nextest is missing: installing it, once");
        if must_succeed(&mut cargo(["install", "--locked", "cargo-nextest"])).is_err()
            || !has_nextest()
        {
            println!("cargo-nextest cannot be installed: the tests run with `cargo test` instead");
            let all = ["test", "--workspace", "--lib", "--bins", "--tests"];
            return must_succeed(cargo(all).env(MODEL_DIR, model_dir));
        }
    }
    must_succeed(cargo(["nextest", "run", "--workspace"]).env(MODEL_DIR, model_dir))
}

fn has_nextest() -> bool {
    succeeds(&mut cargo(["nextest", "--version"]))
}

fn print_summary(done: &[(&str, Duration, bool)]) {
    println!();
    for step in &STEPS {
        let state = match done.iter().find(|(name, ..)| *name == step.name) {
            None => "not reached".to_owned(),
            Some((_, took, true)) => format!("ok      {:>6.1} s", took.as_secs_f64()),
            Some((_, took, false)) => format!("FAILED  {:>6.1} s", took.as_secs_f64()),
        };
        println!("{:<26} {state}", step.name);
    }
}
