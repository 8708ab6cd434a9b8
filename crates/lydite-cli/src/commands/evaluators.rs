//! `lydite evaluators`: what can be asked of an answer.

use lydite::evaluator::{Direction, Entry, Registry};

use super::eval::unknown;
use crate::CommandResult;
use crate::terminal::{out, outln};

/// List the evaluators, or show one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// One line each.
    List {
        /// As JSON, with parameters.
        #[arg(long)]
        json: bool,
    },
    /// The whole documentation of one, with its parameters and examples.
    Show {
        id: String,
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let registry = Registry::builtin();
    match &args.command {
        Command::List { json: false } => list(&registry),
        Command::List { json: true } => {
            let all: Vec<serde_json::Value> =
                registry.entries().iter().map(Entry::to_json).collect();
            print_json(&all.into())?;
        }
        Command::Show { id, json } => {
            let entry = registry.get(id).ok_or_else(|| unknown(&registry, id))?;
            if *json {
                print_json(&entry.to_json())?;
            } else {
                out!("{}", entry.page());
            }
        }
    }
    Ok(0)
}

fn list(registry: &Registry) {
    let widest = registry
        .entries()
        .iter()
        .map(|entry| entry.info.id.len())
        .max()
        .unwrap_or(0);
    for entry in registry.entries() {
        let gives = match (entry.info.natural_verdict, entry.info.direction) {
            (true, _) => "verdict",
            (false, Direction::Higher) => "score ↑",
            (false, Direction::Lower) => "score ↓",
        };
        outln!("{:widest$}  {gives}  {}", entry.info.id, entry.summary());
    }
}

fn print_json(value: &serde_json::Value) -> Result<(), String> {
    outln!(
        "{}",
        serde_json::to_string_pretty(value).map_err(|error| error.to_string())?
    );
    Ok(())
}
