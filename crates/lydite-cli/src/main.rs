//! The command `lydite`: judges the outputs of LLM applications.
//!
//! One command a file under [`commands`]; what they do is in the library.

mod commands;
mod fetching;
mod models;
mod outputs;
mod terminal;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Judge the outputs of LLM applications, with results that can be trusted.
#[derive(Debug, Parser)]
#[command(
    name = "lydite",
    version,
    max_term_width = 100,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(commands::run::Args),
    Eval(commands::eval::Args),
    Evaluators(commands::evaluators::Args),
    Validate(commands::validate::Args),
    Init(commands::init::Args),
    Report(commands::report::Args),
    Regrade(commands::regrade::Args),
    Replay(commands::replay::Args),
    Runs(commands::runs::Args),
    Models(commands::models::Args),
    Cache(commands::cache::Args),
    MockLlm(commands::mock_llm::Args),
    Schema(commands::schema::Args),
    Completions(commands::completions::Args),
}

/// Usage, configuration, unreadable input, nothing to run.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Run(args) => commands::run::run(args),
        Command::Eval(args) => commands::eval::run(&args),
        Command::Evaluators(args) => commands::evaluators::run(&args),
        Command::Validate(args) => commands::validate::run(&args),
        Command::Init(args) => commands::init::run(&args),
        Command::Report(args) => commands::report::run(&args),
        Command::Regrade(args) => commands::regrade::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Cache(args) => commands::cache::run(&args),
        Command::Runs(args) => commands::runs::run(&args),
        Command::Models(args) => commands::models::run(&args),
        Command::MockLlm(args) => commands::mock_llm::run(args),
        Command::Schema(args) => commands::schema::run(&args),
        Command::Completions(args) => commands::completions::run(&args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(message) => {
            terminal::error(&message);
            ExitCode::from(USAGE)
        }
    }
}

/// What a command gives: an exit code, or an error of usage that goes to stderr.
type CommandResult = Result<u8, String>;

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        super::Cli::command().debug_assert();
    }
}
