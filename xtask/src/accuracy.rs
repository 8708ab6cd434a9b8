//! `cargo xtask accuracy --data DIR`: how often local methods are right, by the shipped binary, beside what simple rules
//! reach on the same records.
//!
//! Each labelled set becomes a file of records, which `lydite run` judges as it would anybody's; its result lines are
//! compared with people's labels. A head has seen the open part of the sets that it was fitted on, so for those the
//! figures that count are the ones of records left out of the fitting: they stand in the head's file and are shown
//! beside. The page `docs/accuracy.md` is what this command writes.

mod baselines;
mod judged;
mod page;
mod pairs;
mod sets;

use crate::train::data::Data;
use crate::workspace::{self, Profile};
use anyhow::{Context as _, Result};
use judged::{Binary, Figures};
use serde_json::Value;
use sets::{MEASURES, Measure};
use std::fs;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The folder of the labelled sets, each a folder with an `open.jsonl`
    #[arg(long)]
    data: PathBuf,
    /// Only these sets
    #[arg(long, value_delimiter = ',')]
    sets: Vec<String>,
    /// The binary; built in release where it is left out
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Write docs/accuracy.md
    #[arg(long, conflicts_with = "sets")]
    write: bool,
}

/// A set with what our method and the rules made of it.
pub(crate) struct Row {
    pub(crate) measure: &'static Measure,
    pub(crate) ours: Figures,
    pub(crate) rules: Vec<(&'static str, Figures)>,
    /// Records a second of CPU, all of the run counted.
    pub(crate) speed: f64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let binary = match &options.binary {
        Some(path) => path
            .canonicalize()
            .with_context(|| format!("no program {}", path.display()))?,
        None => workspace::build_lydite(Profile::Release)?,
    };
    let binary = Binary::new(binary)?;
    let data = Data::new(&options.data);
    let is_wanted = |measure: &&Measure| {
        options.sets.is_empty() || options.sets.iter().any(|set| set == measure.set)
    };
    let mut rows = Vec::new();
    for measure in MEASURES.iter().filter(is_wanted) {
        let row = row(measure, &data, &binary)?;
        print!("{}", page::line(&row));
        rows.push(row);
    }
    let pairs = pairs::caught(&binary)?;
    print!("{}", pairs::table(&pairs));
    if options.write {
        let path = workspace::root().join("docs/accuracy.md");
        fs::write(&path, page::page(&rows, &pairs)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// A member of an object; null where it has none.
fn at<'v>(value: &'v Value, key: &str) -> &'v Value {
    value.get(key).unwrap_or(&Value::Null)
}

fn row(measure: &'static Measure, data: &Data, binary: &Binary) -> Result<Row> {
    let records = measure.records(data)?;
    let judged = binary.judge(measure.check, records.iter().map(|(record, _)| record))?;
    let truths = records.iter().map(|(_, truth)| *truth);
    let rule = |rule: &baselines::Rule| {
        let scores = records
            .iter()
            .map(|(record, _)| judged::Judged::forced((rule.score)(record)));
        (rule.name, Figures::of(scores.zip(truths.clone())))
    };
    Ok(Row {
        measure,
        ours: Figures::of(judged.results.iter().copied().zip(truths.clone())),
        rules: measure.rules.iter().map(rule).collect(),
        speed: records.len() as f64 / judged.cpu.max(1e-3),
    })
}
