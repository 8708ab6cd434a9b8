//! The developer's tool of Lydite: `cargo xtask COMMAND`, one command a file.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool talks to its terminal"
)]

mod accuracy;
mod agree;
mod bench;
mod classifiers;
mod fuzz;
mod generate;
mod measure;
mod real_model;
mod test;
mod tidy;
mod train;
mod workspace;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    about = "Tests, generated files, tidiness, measuring and fuzzing"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything that a change has to pass, in CI's order
    Test,
    /// Check what the compiler does not: arrows between crates, committed files, host names, long files
    Tidy,
    /// Write the schemas and pages that come from the list of evaluators
    Generate(generate::Options),
    /// Measure CPU, memory and results beside an expert's Python script
    Bench(bench::Options),
    /// Compare local methods with people's labels, beside simple rules
    Accuracy(accuracy::Options),
    /// Compare the binary with an outside test suite
    Agree(agree::Options),
    /// Judge some records by a real, tiny model behind a real server
    RealModel,
    /// Test users' own classifiers: safetensors by candle, ONNX files by ONNX Runtime
    Classifiers,
    /// Fit a head on labelled data, and write its coefficients and model card
    Train(train::Options),
    /// Fuzz the parsers
    Fuzz(fuzz::Options),
    /// Run a program and print what it took, as JSON (used by `bench`)
    #[command(hide = true)]
    Measure(measure::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Test => test::run(),
        Command::Tidy => tidy::run(),
        Command::Generate(options) => generate::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Accuracy(options) => accuracy::run(&options),
        Command::Agree(options) => agree::run(&options),
        Command::RealModel => real_model::run(),
        Command::Classifiers => classifiers::run(),
        Command::Train(options) => train::run(&options),
        Command::Fuzz(options) => fuzz::run(&options),
        Command::Measure(options) => measure::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
