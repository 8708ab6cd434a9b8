//! `lydite completions`: for the shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::terminal::out;
use crate::{Cli, CommandResult};

/// Print a completion script for a shell.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

#[expect(clippy::unnecessary_wraps, reason = "all commands have one shape")]
pub(crate) fn run(args: &Args) -> CommandResult {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "lydite", &mut script);
    out!("{}", String::from_utf8_lossy(&script));
    Ok(0)
}
