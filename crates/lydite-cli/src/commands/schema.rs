//! `lydite schema`: the JSON Schemas of what goes in and comes out.

use clap::ValueEnum;
use lydite::schemas;

use crate::CommandResult;
use crate::terminal::out;

/// Print a JSON Schema, for editors and other programs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Of what.
    of: Of,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Of {
    /// A record: a line of the data.
    Record,
    /// A suite file.
    Suite,
    /// A result line.
    Result,
    /// A report.
    Report,
}

#[expect(clippy::unnecessary_wraps, reason = "all commands have one shape")]
pub(crate) fn run(args: &Args) -> CommandResult {
    let schema = match args.of {
        Of::Record => schemas::record(),
        Of::Suite => schemas::suite(),
        Of::Result => schemas::result(),
        Of::Report => schemas::report(),
    };
    out!("{}", schemas::to_text(&schema));
    Ok(0)
}
