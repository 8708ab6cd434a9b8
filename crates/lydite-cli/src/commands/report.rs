//! `lydite report`: a stored run's report again, or the shards of a run as one.

use std::path::Path;

use lydite::evaluator::Registry;
use lydite::run_folder::RunFolder;
use lydite::stored;
use lydite::suite::gate::Allowance;
use lydite::suite::{Suite, SuiteBuilder};

use super::{parse_allowance, runs_root};
use crate::CommandResult;
use crate::outputs::OutputArgs;

/// Report a stored run again, or merge the shards of one run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Runs by id, folder or `latest`; several are merged as the shards of one.
    #[arg(default_value = "latest")]
    runs: Vec<String>,
    /// Errors that still allow a verdict: a number or a per cent [default: what the run was given].
    #[arg(long, value_name = "N|%", value_parser = parse_allowance, allow_negative_numbers = true)]
    max_errors: Option<Allowance>,
    #[command(flatten)]
    outputs: OutputArgs,
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let runs = find(&args.runs)?;
    let suite = match runs.first() {
        Some(run) => stored_suite(run)?,
        None => return Err("no run was named".into()),
    };
    let report = stored::report(&runs, &suite, args.max_errors, args.outputs.open()?)
        .map_err(|error| error.to_string())?;
    Ok(report.exit_code())
}

pub(crate) fn find(names: &[String]) -> Result<Vec<RunFolder>, String> {
    let root = runs_root();
    names
        .iter()
        .map(|name| RunFolder::find(&root, name).map_err(|error| error.to_string()))
        .collect()
}

/// The suite as the run had it, checks that were added on the command line included.
pub(crate) fn stored_suite(run: &RunFolder) -> Result<Suite, String> {
    let text = run.suite().map_err(|error| error.to_string())?;
    suite_of(run, &text, &run.path().join("suite.yaml"))
}

/// A suite's text with the checks that were added to a run.
pub(crate) fn suite_of(run: &RunFolder, text: &str, path: &Path) -> Result<Suite, String> {
    let manifest = run.manifest().map_err(|error| error.to_string())?;
    let facts = manifest.suite.unwrap_or_default();
    let registry = Registry::builtin();
    let mut builder = SuiteBuilder::new(&registry).stored();
    if facts.path.is_some() {
        builder = builder.file(text, &path.to_string_lossy());
    }
    for check in &facts.added {
        builder = builder.check_text(check);
    }
    // Gates may name checks that the records brought; the report of a killed run does not say which those are.
    let brought = run
        .report()
        .map_or(true, |report| report.checks.len() > manifest.checks.len());
    let suite = builder
        .build_before_data()
        .and_then(|suite| suite.settle(brought));
    suite.map_err(|errors| errors.to_string())
}
