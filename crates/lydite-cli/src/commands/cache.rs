//! `lydite cache`: the replies and verdicts that are kept between runs.

use std::path::PathBuf;
use std::time::Duration;

use clap::Subcommand;
use lydite_models::{Cache, Warn, cache_dir};

use crate::terminal::outln;
use crate::{CommandResult, terminal};

/// Show or clear the cache of models' replies and of verdicts.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Where the cache is, and what it holds.
    Show,
    /// Forget what is kept.
    Clear {
        /// Only what has not been used for so many days.
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
}

pub(crate) fn run(args: &Args) -> CommandResult {
    let dir: PathBuf = cache_dir().ok_or("there is no folder for a cache; set LYDITE_CACHE_DIR")?;
    let cache = Cache::open(&dir, Warn::new(terminal::note)).map_err(|error| error.to_string())?;
    match &args.command {
        Command::Show => {
            let stats = cache.stats().map_err(|error| error.to_string())?;
            outln!("{}", cache.path().display());
            outln!("{} replies, {} verdicts", stats.chats, stats.verdicts);
            outln!(
                "{} embeddings, {} moderations",
                stats.embeddings,
                stats.moderations
            );
            outln!("{:.1} MB", stats.bytes as f64 / 1e6);
        }
        Command::Clear { older_than } => {
            let age = older_than.map(|days| Duration::from_secs(u64::from(days) * 24 * 60 * 60));
            let removed = cache.clear(age).map_err(|error| error.to_string())?;
            outln!("{removed} entries removed");
        }
    }
    Ok(0)
}
