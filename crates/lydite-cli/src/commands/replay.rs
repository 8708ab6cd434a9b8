//! `lydite replay`: a run again from its kept calls, offline.

use std::sync::atomic::AtomicBool;

use lydite::evaluator::Registry;
use lydite::job;
use lydite::runner::Progress;
use lydite::stored;

use super::report::find;
use crate::outputs::OutputArgs;
use crate::{CommandResult, models, terminal};

/// Repeat a run from its kept calls, offline: the same records, checks and replies, and so the same report.
///
/// Nothing is sent, and no run is kept. Exit codes as for `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run, by id, folder or `latest`.
    #[arg(default_value = "latest")]
    run: String,
    #[command(flatten)]
    outputs: OutputArgs,
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let runs = find(std::slice::from_ref(&args.run))?;
    let Some(run) = runs.first() else {
        return Err("no run was named".into());
    };
    let mut request = stored::replay_request(run).map_err(|error| error.to_string())?;
    request.host = Some(models::host());
    let outcome = job::run(
        request,
        &Registry::builtin(),
        args.outputs.open()?,
        &AtomicBool::new(false),
        &Progress::default(),
        &mut |_| {},
    )
    .map_err(|error| error.to_string())?;
    for note in &outcome.notes {
        terminal::note(note);
    }
    Ok(outcome.report.exit_code())
}
