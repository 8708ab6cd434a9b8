//! `lydite regrade`: new thresholds and gates on a stored run, without judging again.

use std::path::PathBuf;

use lydite::stored;
use lydite::suite::gate::Allowance;

use super::report::{find, suite_of};
use super::{parse_allowance, read_suite};
use crate::CommandResult;
use crate::outputs::OutputArgs;

/// Apply a changed suite's thresholds, `not` and gates to a stored run.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run, by id, folder or `latest`.
    #[arg(default_value = "latest")]
    run: String,
    /// The changed suite [default: the file that the run was made with].
    #[arg(long, value_name = "FILE")]
    suite: Option<PathBuf>,
    /// Errors that still allow a verdict: a number or a per cent [default: what the run was given].
    #[arg(long, value_name = "N|%", value_parser = parse_allowance, allow_negative_numbers = true)]
    max_errors: Option<Allowance>,
    #[command(flatten)]
    outputs: OutputArgs,
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let runs = find(std::slice::from_ref(&args.run))?;
    let Some(run) = runs.first() else {
        return Err("no run was named".into());
    };
    let manifest = run.manifest().map_err(|error| error.to_string())?;
    let path = match (&args.suite, manifest.suite.and_then(|suite| suite.path)) {
        (Some(path), _) => path.clone(),
        (None, Some(path)) => PathBuf::from(path),
        (None, None) => {
            return Err("the run was made without a suite file; name one with --suite".into());
        }
    };
    let suite = suite_of(run, &read_suite(&path)?, &path)?;
    let report = stored::report(&runs, &suite, args.max_errors, args.outputs.open()?)
        .map_err(|error| error.to_string())?;
    Ok(report.exit_code())
}
