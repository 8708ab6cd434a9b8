//! `cargo xtask train TASK --data DIR`: fits a head of `lydite::heads` and writes its file and its model card.
//!
//! The examples of all sets of a task become features by the code that scores them later. Five folds that
//! keep groups together give each example a logit of a model that never saw its group; leaving one set out at
//! a time gives it one of a model that never saw its set. The former calibrate, both choose the levels, and
//! the model of the file is fitted on all examples. Equal data, seed and code give an equal file.

mod calibrate;
mod card;
pub(crate) mod data;
mod embed;
mod figures;
mod fit;
mod grounding;
mod levels;
mod logistic;
mod matching;
mod refusal;
mod split;
mod table;
mod task;
mod toxicity;
mod write;

use crate::workspace;
use anyhow::{Context as _, Result, bail};
use data::Data;
use embed::Embeddings;
use levels::{Group, PROMISED, WANTED, Way};
use lydite::heads::File;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use table::Table;
use task::Task;

/// The one list of tasks.
const TASKS: &[&dyn Task] = &[
    &grounding::Grounding,
    &matching::Matching,
    &refusal::Refusal,
];

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The head to fit
    task: String,
    /// The folder of the labelled sets, each a folder with an `open.jsonl`
    #[arg(long)]
    data: PathBuf,
    /// The folder of the embedder's files, in place of the usual places
    #[arg(long)]
    model_dir: Option<PathBuf>,
    /// Chooses the folds
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Compare with the committed file instead of writing it
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let data = Data::new(&options.data);
    if options.task == toxicity::ID {
        return toxicity::run(&data, options.seed, options.check);
    }
    let task = find(&options.task)?;
    let examples = task.examples(&data)?;
    let texts: Vec<String> = examples
        .iter()
        .flat_map(|example| task.texts(&example.record))
        .collect();
    let Some(embeddings) = Embeddings::of(task.embedder(), options.model_dir.as_deref(), &texts)?
    else {
        return with_models(options);
    };
    let table = Table::new(task, examples, &embeddings)?;
    let file = train(task, &table, options.seed)?;
    print!("{}", figures::text(&file));
    if options.check {
        write::check(&file)
    } else {
        write::write(task, &file)
    }
}

/// Everything from features to a file.
fn train(task: &dyn Task, table: &Table, seed: u64) -> Result<File> {
    let recipe = task.recipe();
    let names = task.names();
    let logits = |splits: &[split::Split]| -> Result<Vec<Option<f64>>> {
        let mut logits = vec![None; table.len()];
        for split in splits {
            let model = fit::model(&recipe, &names, table, &split.fit)?;
            let head = fit::head(model, &names)?;
            for row in &split.test {
                if let Some(logit) = logits.get_mut(*row) {
                    *logit = Some(head.logit(&table.features(*row).inputs().borrow()));
                }
            }
        }
        Ok(logits)
    };
    let out_of_fold = logits(&split::grouped_folds(table, split::FOLDS, seed))?;
    let out_of_set = logits(&split::sets_left_out(table))?;
    let calibration = calibrate::platt(table, &out_of_fold)?;
    let folds = figures::by_set(table, &out_of_fold, &calibration);
    let sets = figures::by_set(table, &out_of_set, &calibration);
    let deciding = |groups: &[Group], out_of_set: bool| -> Vec<Group> {
        let decides = |group: &&Group| task.decides(&group.name, out_of_set);
        groups.iter().filter(decides).cloned().collect()
    };
    let (mut levels, unreached) = levels::choose(&[
        Way {
            groups: &deciding(&folds, false),
            wanted: WANTED,
        },
        Way {
            groups: &deciding(&sets, true),
            wanted: PROMISED,
        },
    ]);
    if let Some(highest) = task.highest_fail() {
        levels = levels::with_fail_at_most(levels, highest, &folds);
    }
    let mut figures = BTreeMap::new();
    figures.insert("out_of_fold".to_owned(), figures::json(&folds, &levels));
    figures.insert("out_of_set".to_owned(), figures::json(&sets, &levels));
    figures.insert("unreached".to_owned(), serde_json::to_value(unreached)?);
    let everything: Vec<usize> = (0..table.len()).collect();
    let mut file = File {
        id: task.id().to_owned(),
        version: task.version().to_owned(),
        embedder: task.embedder().map(str::to_owned),
        model: fit::model(&recipe, &names, table, &everything)?,
        calibration,
        levels,
        figures,
        fitted_on: table.fitted_on(task),
        seed,
    };
    write::round(&mut file)?;
    Ok(file)
}

fn find(id: &str) -> Result<&'static dyn Task> {
    if let Some(task) = TASKS.iter().find(|task| task.id() == id) {
        Ok(*task)
    } else {
        let mut known: Vec<&str> = TASKS.iter().map(|task| task.id()).collect();
        known.push(toxicity::ID);
        bail!("there is no task `{id}`; there are {}", known.join(", "))
    }
}

/// The same command by an xtask that links the models, in release because it embeds.
fn with_models(options: &Options) -> Result<()> {
    let absolute = |path: &Path| {
        path.canonicalize()
            .with_context(|| format!("there is no folder {}", path.display()))
    };
    let mut command = workspace::cargo(["run", "--quiet", "--package", "xtask"]);
    command.args(["--features", "train", "--release", "--", "train"]);
    command.arg(&options.task);
    command.arg("--data").arg(absolute(&options.data)?);
    if let Some(folder) = &options.model_dir {
        command.arg("--model-dir").arg(absolute(folder)?);
    }
    command.args(["--seed", &options.seed.to_string()]);
    if options.check {
        command.arg("--check");
    }
    workspace::must_succeed(&mut command)
}

#[cfg(test)]
mod tests;
