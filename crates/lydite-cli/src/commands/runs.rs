//! `lydite runs`: what is kept under `.lydite/runs`.

use lydite::run_folder::RunFolder;

use super::runs_root;
use crate::CommandResult;
use crate::terminal::outln;

/// List, show or delete stored runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// One line each, oldest first.
    List,
    /// A run's manifest.
    Show {
        /// By id, folder or `latest`.
        #[arg(default_value = "latest")]
        run: String,
    },
    /// Delete runs with all that is in their folders.
    Delete {
        /// By id or folder.
        #[arg(required = true)]
        runs: Vec<String>,
    },
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let root = runs_root();
    let find = |name: &str| RunFolder::find(&root, name).map_err(|error| error.to_string());
    match &args.command {
        Command::List => {
            for run in RunFolder::list(&root).map_err(|error| error.to_string())? {
                outln!("{}", line(&run));
            }
        }
        Command::Show { run } => {
            let manifest = find(run)?.manifest().map_err(|error| error.to_string())?;
            outln!(
                "{}",
                serde_json::to_string_pretty(&manifest).map_err(|error| error.to_string())?
            );
        }
        Command::Delete { runs } => {
            // All are found before any is deleted.
            let found = runs
                .iter()
                .map(|name| find(name))
                .collect::<Result<Vec<_>, _>>()?;
            for run in found {
                run.delete().map_err(|error| error.to_string())?;
                outln!("deleted {}", run.id());
            }
        }
    }
    Ok(0)
}

fn line(run: &RunFolder) -> String {
    let suite = run
        .manifest()
        .ok()
        .and_then(|manifest| manifest.suite)
        .and_then(|suite| suite.name)
        .unwrap_or_default();
    match run.report() {
        Ok(report) => format!(
            "{}  exit {:>3}  {:>8} records  {suite}  {}",
            run.id(),
            report.exit.code,
            report.records.judged,
            report.exit.reason
        ),
        Err(_) => format!(
            "{}  unfinished  {suite}  (go on with `lydite run … --resume={}`)",
            run.id(),
            run.id()
        ),
    }
}
