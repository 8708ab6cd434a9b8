//! The models of a command: flags, the host, and what a dry run tells.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use lydite::model::{ModelHost, ModelTotals, SessionOptions};
use lydite_models::local::supply::Supply;
use lydite_models::{Host, Warn};

use crate::commands::parse_count;
use crate::fetching::Fetching;
use crate::terminal;

/// Flags of commands that ask models.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ModelArgs {
    /// Calls under way at once, a provider [default: 16, or the model's `concurrency`].
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    concurrency: Option<u64>,
    /// Stop before models have cost more than this, in US dollars.
    #[arg(long, value_name = "USD", value_parser = parse_budget, allow_negative_numbers = true)]
    budget: Option<f64>,
    /// Take no reply from the cache, and keep none in it.
    #[arg(long)]
    no_cache: bool,
    #[command(flatten)]
    local: LocalArgs,
}

/// Flags of commands that need the files of models that run on this machine.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct LocalArgs {
    /// A folder with the files of local models, directly or in one named by the model; also LYDITE_MODEL_DIR.
    #[arg(long, value_name = "DIR")]
    model_dir: Option<PathBuf>,
    /// Ask no model beyond this machine, and fetch none: what is not cached is an error.
    #[arg(long)]
    offline: bool,
}

impl LocalArgs {
    /// Where models' files come from; tells of fetches on stderr.
    pub(crate) fn supply(&self) -> Supply {
        Supply::from_environment()
            .model_dir(self.model_dir.clone())
            .offline(self.offline)
            .progress(Arc::new(Fetching::default()))
            .warn(Warn::new(terminal::note))
    }
}

impl ModelArgs {
    pub(crate) fn options(&self) -> SessionOptions {
        SessionOptions {
            concurrency: self
                .concurrency
                .map(|calls| usize::try_from(calls).unwrap_or(usize::MAX)),
            budget: self.budget,
            no_cache: self.no_cache,
            offline: self.local.offline,
            model_dir: self.local.model_dir.clone(),
            ..SessionOptions::default()
        }
    }
}

fn parse_budget(text: &str) -> Result<f64, String> {
    let amount = text.strip_prefix('$').unwrap_or(text).parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount >= 0.0)
        .ok_or_else(|| format!("expected US dollars such as `2.50`, found `{text}`"))
}

/// All providers, with the cache in its usual place; warnings go to stderr.
pub(crate) fn host() -> Arc<dyn ModelHost> {
    let supply = LocalArgs::default().supply();
    Arc::new(Host::new().supply(supply).warn(Warn::new(terminal::note)))
}

/// What a run would ask of models, as a table.
pub(crate) fn estimate(models: &[ModelTotals]) -> String {
    if models.is_empty() {
        return "no check asks a model: the run would make no call and cost nothing\n".to_owned();
    }
    let mut table = String::new();
    let _ = writeln!(
        table,
        "{:<40} {:>10} {:>10} {:>14} {:>14} {:>12}",
        "model", "calls", "cached", "input tokens", "output tokens", "cost"
    );
    for model in models {
        let _ = writeln!(
            table,
            "{:<40} {:>10} {:>10} {:>14} {:>14} {:>12}",
            model.model,
            model.calls,
            model.cached,
            model.input_tokens,
            model.output_tokens,
            cost(model.cost_usd)
        );
    }
    let sum = models
        .iter()
        .map(|model| model.cost_usd)
        .sum::<Option<f64>>();
    let _ = writeln!(
        table,
        "estimated cost: {}; tokens are estimates: replies are taken as about 150 tokens long, and lists as 3 items",
        cost(sum)
    );
    table
}

/// US dollars with four decimals; an unknown price is said, never taken as nothing.
pub(crate) fn cost(cost: Option<f64>) -> String {
    cost.map_or_else(|| "unknown".to_owned(), |usd| format!("${usd:.4}"))
}
