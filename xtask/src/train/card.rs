//! The model card of a head, for people.

use super::figures;
use super::levels::{LEAST, PROMISED, WANTED};
use super::split::FOLDS;
use super::task::Task;
use lydite::heads::file::Model;
use lydite::heads::{File, Levels};
use serde_json::Value;

pub(crate) fn text(task: &dyn Task, file: &File) -> String {
    let sections = [
        format!(
            "<!-- Written by `cargo xtask train {0}`; not to be edited. -->\n\n# The head `{0}`, version {1}\n",
            file.id, file.version
        ),
        format!("It says how probable it is that {}.\n", task.question()),
        model(file),
        data(task, file),
        split(file),
        measured(file),
        limits(task, file),
    ];
    sections.join("\n")
}

fn model(file: &File) -> String {
    let embedder = match &file.embedder {
        Some(embedder) => format!(" It takes embeddings of `{embedder}`."),
        None => String::new(),
    };
    let Model::Linear(model) = &file.model;
    let mut parts = vec![format!("{} features", model.features.len())];
    parts.extend(model.embeddings.iter().map(|block| {
        format!(
            "{} dimensions of the embedding `{}`",
            block.dims, block.name
        )
    }));
    parts.extend(model.ngrams.iter().map(|block| {
        format!(
            "2^{} buckets of n-grams of `{}`",
            block.grams.bits, block.name
        )
    }));
    let names = model.features.iter();
    let features: Vec<String> = names.map(|feature| format!("`{}`", feature.name)).collect();
    let list = if features.is_empty() {
        String::new()
    } else {
        format!(" Features: {}.", features.join(", "))
    };
    format!(
        "## Model\n\nLogistic regression over {}.{embedder}{list} The probability is calibrated by Platt scaling of left-out logits.\n",
        parts.join(", ")
    )
}

fn data(task: &dyn Task, file: &File) -> String {
    let mut text = "## Data\n\nThe coefficients were fitted on these sets, each weighing the same; no text of them is in this repository.\n\n| set | examples | licence | by |\n|---|---|---|---|\n".to_owned();
    for (set, fitted) in task.sets().iter().zip(&file.fitted_on) {
        text += &format!(
            "| `{}` | {} | {} | {} |\n",
            set.name, fitted.n, set.licence, set.attribution
        );
    }
    text
}

fn split(file: &File) -> String {
    format!(
        "## Split\n\n*Out of fold*: {FOLDS} folds by seed {}, groups of examples (the same prompt, question or document) kept together. *Out of set*: fitted on the other sets alone.\n",
        file.seed
    )
}

fn measured(file: &File) -> String {
    let Levels {
        pass,
        fail,
        coverage,
        accuracy_pass,
        accuracy_fail,
    } = file.levels;
    let level = |name: &str, level: Option<f64>, sign: &str, right: Option<f64>| match level {
        Some(level) => format!(
            "{name} at {sign} {level:.3} (right {:.3})",
            right.unwrap_or_default()
        ),
        None => format!("never a {name}"),
    };
    let mut text = format!(
        "## Figures\n\n`accuracy` to `ECE` count every example, with 0.5 as the level. A verdict is given only at levels where, of at least {LEAST} verdicts on each set, {WANTED} were right out of fold and {PROMISED} out of set: {}, {}; else it is inconclusive. Coverage out of fold is {coverage:.3}.\n\nOut of fold:\n\n{}",
        level("pass", pass, "≥", accuracy_pass),
        level("fail", fail, "≤", accuracy_fail),
        figures::table(file.figures.get("out_of_fold")),
    );
    if file
        .figures
        .get("out_of_set")
        .and_then(Value::as_object)
        .is_some_and(|sets| !sets.is_empty())
    {
        text += &format!(
            "\nOut of set:\n\n{}",
            figures::table(file.figures.get("out_of_set"))
        );
    }
    text
}

fn limits(task: &dyn Task, file: &File) -> String {
    let mut text = "## Limits\n\n".to_owned();
    for limit in task.limits() {
        text += &format!("- {limit}\n");
    }
    for unreached in file
        .figures
        .get("unreached")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        text += &format!(
            "- The wanted share of right verdicts is reached at no level on {}.\n",
            unreached.as_str().unwrap_or_default()
        );
    }
    text
}
