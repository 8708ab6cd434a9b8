//! `lydite validate`: checks a suite without running it.

use std::path::PathBuf;

use lydite::evaluator::Registry;
use lydite::suite::SuiteBuilder;

use super::{DEFAULT_SUITE, read_suite};
use crate::CommandResult;
use crate::terminal;
use crate::terminal::outln;

/// Check a suite: all errors at once, with their places.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The suite.
    #[arg(default_value = DEFAULT_SUITE)]
    suite: PathBuf,
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let text = read_suite(&args.suite)?;
    let registry = Registry::builtin();
    // Whether the records bring checks of their own is not known without them.
    let suite = SuiteBuilder::new(&registry)
        .file(&text, &args.suite.to_string_lossy())
        .build_before_data()
        .map_err(|errors| errors.to_string())?;
    for note in &suite.notes {
        terminal::note(note);
    }
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (checks, gates) = (
        count(suite.checks.len(), "check"),
        count(suite.gates.len(), "gate"),
    );
    outln!("{}: {checks}, {gates}; no errors", args.suite.display());
    Ok(0)
}
