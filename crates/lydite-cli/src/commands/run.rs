//! `lydite run`: judges a file of answers.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lydite::evaluator::Registry;
use lydite::job::{self, Request, Started};
use lydite::model::SessionOptions;
use lydite::runner::Progress;
use lydite::stored::SAMPLES;
use lydite::suite::gate::Allowance;

use super::{
    DEFAULT_SUITE, parse_allowance, parse_count, parse_shard, parse_small_count, read_suite,
    runs_root, text_or_file,
};
use crate::CommandResult;
use crate::models::{self, ModelArgs};
use crate::outputs::OutputArgs;
use crate::terminal::{self, Follower, out};

/// Judge a file of answers with a suite of checks.
///
/// Exit codes: 0 all gates met (without gates: nothing failed), 1 a gate missed (without gates: something failed),
/// 2 usage, configuration, unreadable input or nothing to run, 3 no verdict (errors beyond what is allowed, a gate
/// without a value), 130 interrupted.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// The suite [default: lydite.yaml, where no --check is given].
    suite: Option<PathBuf>,
    /// Input file in place of the suite's dataset; `-` is stdin; may be given several times.
    #[arg(long, value_name = "FILE")]
    data: Vec<String>,
    /// A check beside the suite's: an id, or `id: {parameters}` as YAML; `@FILE` reads it.
    #[arg(long = "check", value_name = "CHECK")]
    checks: Vec<String>,
    /// Only records for which the expression holds, such as `metadata.lang == "en"`.
    #[arg(long = "where", value_name = "EXPR")]
    condition: Option<String>,
    /// At most this many records.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    limit: Option<u64>,
    /// A random sample of this many records.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    sample: Option<u64>,
    /// The seed of the sample [default: 0].
    #[arg(long, value_name = "S", requires = "sample")]
    seed: Option<u64>,
    /// The k-th of n parts, cut by the hash of the id; merge them with `lydite report RUN RUN…`.
    #[arg(long, value_name = "K/N", value_parser = parse_shard)]
    shard: Option<(u32, u32)>,
    /// Go on with an interrupted run: its id, its folder, or the latest.
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, default_missing_value = "latest")]
    resume: Option<String>,
    /// Errors (errored cells and bad records) that still allow a verdict: a number or a per cent [default: 0, or what
    /// a gate on `errors` allows].
    #[arg(long, value_name = "N|%", value_parser = parse_allowance, allow_negative_numbers = true)]
    max_errors: Option<Allowance>,
    /// End at the first record that can't be read.
    #[arg(long)]
    strict: bool,
    /// One line a record in place of one a check, without reasons: for large data.
    #[arg(long)]
    wide: bool,
    /// Keep no run under .lydite/runs.
    #[arg(long, conflicts_with = "resume")]
    no_store: bool,
    /// Threads that judge [default: all cores].
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, env = "LYDITE_THREADS")]
    threads: Option<u64>,
    /// Judge each answer so often by models, in place of the checks' own `repeat`.
    #[arg(long, value_name = "K", value_parser = parse_small_count, allow_negative_numbers = true)]
    repeat: Option<u32>,
    /// Answers that the suite's target makes of each case, in place of its own `trials`.
    #[arg(long, value_name = "K", value_parser = parse_small_count, allow_negative_numbers = true)]
    trials: Option<u32>,
    /// With --resume: what to judge anew. Calls that were answered are not made again.
    #[arg(long, value_name = "WHAT", requires = "resume")]
    rerun: Option<Rerun>,
    /// Tell how many calls and tokens the run would take and what it would cost; ask nothing.
    #[arg(long, conflicts_with_all = ["resume", "format", "output"])]
    dry_run: bool,
    #[command(flatten)]
    models: ModelArgs,
    #[command(flatten)]
    outputs: OutputArgs,
}

/// What a resumed run judges anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Rerun {
    /// Cells that are errored.
    Errors,
}

pub(crate) fn run(args: Args) -> CommandResult {
    let dry_run = args.dry_run;
    let outputs = if dry_run {
        Vec::new()
    } else {
        args.outputs.open()?
    };
    let stdout_is_data = args.outputs.stdout_is_data();
    let request = request(args)?;
    let stop = Arc::new(AtomicBool::new(false));
    catch_interrupts(&stop)?;
    let progress = Arc::new(Progress::default());
    let mut follower = None;
    let mut started = |start: &Started<'_>| {
        announce(start);
        follower = Some(Follower::start(&progress, start.input_bytes));
    };
    let outcome = job::run(
        request,
        &Registry::builtin(),
        outputs,
        &stop,
        &progress,
        &mut started,
    );
    drop(follower);
    let outcome = outcome.map_err(|error| error.to_string())?;
    for note in &outcome.notes {
        terminal::note(note);
    }
    if dry_run {
        out!("{}", models::estimate(&outcome.report.models));
        return Ok(0);
    }
    if stdout_is_data || outcome.report.exit.code == 2 {
        terminal::say(&outcome.report.exit.reason);
    }
    if let Some(folder) = &outcome.folder {
        terminal::say(&format!("run kept in {}", folder.path().display()));
    }
    Ok(outcome.report.exit_code())
}

fn request(args: Args) -> Result<Request, String> {
    let path = match (&args.suite, args.checks.is_empty()) {
        (Some(path), _) => Some(path.clone()),
        (None, true) => Some(PathBuf::from(DEFAULT_SUITE)),
        (None, false) => None,
    };
    // Records may bring their own checks, so data alone is enough where no suite lies about.
    let path = path.filter(|path| args.suite.is_some() || args.data.is_empty() || path.is_file());
    let suite = path
        .map(|path| Ok::<_, String>((read_suite(&path)?, path)))
        .transpose()?;
    Ok(Request {
        suite,
        checks: args
            .checks
            .iter()
            .map(|check| text_or_file(check))
            .collect::<Result<_, _>>()?,
        data: args.data,
        data_names: Vec::new(),
        condition: args.condition.as_deref().map(text_or_file).transpose()?,
        limit: args.limit,
        sample: args.sample,
        seed: args.seed,
        shard: args.shard,
        max_errors: args.max_errors,
        strict: args.strict,
        wide: args.wide,
        threads: args
            .threads
            .map_or_else(all_cores, |threads| threads.min(MOST_THREADS) as usize),
        store: (!args.no_store && !args.dry_run).then(runs_root),
        resume: args.resume,
        samples: SAMPLES,
        host: Some(models::host()),
        models: SessionOptions {
            dry_run: args.dry_run,
            ..args.models.options()
        },
        repeat: args.repeat,
        trials: args.trials,
        until: None,
        rerun_errors: args.rerun == Some(Rerun::Errors),
    })
}

/// More threads than any machine has cores only cost memory.
const MOST_THREADS: u64 = 1024;

fn all_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn announce(start: &Started<'_>) {
    for note in start.notes {
        terminal::note(note);
    }
    if let (true, Some(folder)) = (start.resumed, start.folder) {
        terminal::say(&format!("going on with run {}", folder.id()));
    }
}

/// The first Ctrl-C ends the run after the blocks in flight; the second ends the process.
fn catch_interrupts(stop: &Arc<AtomicBool>) -> Result<(), String> {
    let stop = Arc::clone(stop);
    ctrlc::set_handler(move || {
        if stop.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| format!("can't listen for Ctrl-C: {error}"))
}
