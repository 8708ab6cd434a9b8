//! `docs/accuracy.md`.

use super::at;
use super::judged::Figures;
use super::pairs::{self, Caught};
use super::{Row, pairs::Count};
use anyhow::{Context as _, Result};
use serde_json::Value;
use std::fs;

use crate::workspace;

const HEAD: &str = "\
<!-- Written by `cargo xtask accuracy --data DIR --write`: change that, not this file. -->
# How often local methods are right

Without a judge, some evaluators work by small models of this machine ([local models](local-models.md)). This page says \
how often they agree with people, on sets that people labelled. None of the sets is part of Lydite.

How to read it:

- *forced* figures call every score from 0.5 a yes; *balanced* is the mean of the shares of right answers among the yes \
and among the no; AUROC is 0.5 for a coin.
- Methods are selective: *coverage* is the share of records that got pass or fail, *right* the share of these that \
people agree with. The rest is inconclusive. Without a score a record counts as 0.5 in forced figures.
- **Left out** is what counts for sets that a head was fitted on: figures of records whose group it had not seen, then \
of a set that it had not seen at all. The other columns are of the shipped head, which has seen the open part of the \
sets that are marked so; for sets that are not marked they are out of domain.
- Rules are what people write in an afternoon, on the same records in the same run.
- Speed is records a second of CPU, the whole run counted, embedding included.

";

/// One row, for the terminal.
pub(crate) fn line(row: &Row) -> String {
    format!(
        "{} on {}: n {}, forced {}, balanced {}, AUROC {}, AP of no {}, coverage {}, right {}, ECE {}, false alarms {}, r {}, rho {}, {:.0}/s{}\n",
        row.measure.check,
        row.measure.set,
        row.ours.n,
        figure(row.ours.accuracy),
        figure(row.ours.balanced),
        figure(row.ours.auroc),
        figure(row.ours.average_precision_of_no),
        figure(row.ours.coverage),
        figure(row.ours.right),
        figure(row.ours.calibration_error),
        figure(row.ours.false_alarms),
        figure(row.ours.pearson),
        figure(row.ours.spearman),
        row.speed,
        row.rules
            .iter()
            .map(|(name, of)| format!(
                "; {name}: {} / {} / {} / {}",
                figure(of.accuracy),
                figure(of.balanced),
                figure(of.auroc),
                figure(of.spearman)
            ))
            .collect::<String>()
    )
}

/// The whole page.
pub(crate) fn page(rows: &[Row], pairs: &Caught) -> Result<String> {
    let mut page = HEAD.to_owned();
    for of_check in rows.chunk_by(|a, b| a.measure.check == b.measure.check) {
        let Some(first) = of_check.first() else {
            continue;
        };
        let figures = match first.measure.head {
            Some(head) => head_figures(head)?,
            None => Value::Null,
        };
        page += &format!("## `{}`\n\n", first.measure.check);
        if let Some(head) = first.measure.head {
            page += &format!(
                "The head `{head}`; its [card](heads/{head}.md) tells what it was fitted on.\n\n"
            );
        }
        page += &told(of_check, &figures);
        page += &rated(of_check);
        page += &rules(of_check);
    }
    page += "## Minimal pairs\n\nA fact, the same in other words, and the fact with one thing changed; all of our own, and not used to fit anything. \
        What was changed has to fail.\n\n";
    page += &pairs::table(pairs);
    page += &summary(pairs);
    Ok(page)
}

/// The figures of the head's file.
fn head_figures(head: &str) -> Result<Value> {
    let path = workspace::root().join(format!("crates/lydite/src/heads/data/{head}.json"));
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let file: Value = serde_json::from_str(&text).context("the head's file is no JSON")?;
    Ok(at(&file, "figures").clone())
}

/// Sets with a yes and a no.
fn told(rows: &[Row], figures: &Value) -> String {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.ours.yes.is_some()).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "| set | yes means | n | forced | balanced | AUROC | coverage | right | ECE | false alarms | left out: balanced, of folds / of sets | left out: right, of folds / of sets | records/s |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let left_out = |key: &str| {
            let of = |way: &str| figure(at(at(at(figures, way), row.measure.set), key).as_f64());
            format!("{} / {}", of("out_of_fold"), of("out_of_set"))
        };
        let is_fitted = at(at(figures, "out_of_fold"), row.measure.set).is_object();
        let Figures { n, .. } = row.ours;
        text += &format!(
            "| `{}`{} | {} | {n} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {:.0} |\n",
            row.measure.set,
            if is_fitted { " (fitted on)" } else { "" },
            row.measure.question,
            figure(row.ours.accuracy),
            figure(row.ours.balanced),
            figure(row.ours.auroc),
            figure(row.ours.coverage),
            figure(row.ours.right),
            figure(row.ours.calibration_error),
            figure(row.ours.false_alarms),
            left_out("balanced_accuracy"),
            left_out("accuracy_covered"),
            row.speed,
        );
    }
    text + "\n"
}

/// Sets whose labels are ratings.
fn rated(rows: &[Row]) -> String {
    let rows: Vec<&Row> = rows
        .iter()
        .filter(|row| row.ours.spearman.is_some())
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "| set | rating | n | Pearson | Spearman | records/s |\n|---|---|---|---|---|---|\n",
    );
    for row in rows {
        text += &format!(
            "| `{}` | {} | {} | {} | {} | {:.0} |\n",
            row.measure.set,
            row.measure.question,
            row.ours.n,
            figure(row.ours.pearson),
            figure(row.ours.spearman),
            row.speed
        );
    }
    text + "\n"
}

/// What rules reach.
fn rules(rows: &[Row]) -> String {
    let all: Vec<(&Row, &(&str, Figures))> = rows
        .iter()
        .flat_map(|row| row.rules.iter().map(move |rule| (row, rule)))
        .collect();
    if all.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "| set | rule | forced | balanced | AUROC | false alarms | Spearman |\n|---|---|---|---|---|---|---|\n",
    );
    for (row, (name, of)) in all {
        text += &format!(
            "| `{}` | {name} | {} | {} | {} | {} | {} |\n",
            row.measure.set,
            figure(of.accuracy),
            figure(of.balanced),
            figure(of.auroc),
            figure(of.false_alarms),
            figure(of.spearman),
        );
    }
    text + "\n"
}

/// The share of edits that failed, of the kinds that the methods promise to see.
fn summary(pairs: &Caught) -> String {
    const PROMISED: [&str; 4] = ["number", "negation", "name", "unit"];
    let mut text = String::new();
    for (check, kinds) in pairs {
        let counts = || {
            kinds
                .iter()
                .filter(|(kind, _)| PROMISED.contains(&kind.as_str()))
        };
        let sum = |of: fn(&Count) -> usize| counts().map(|(_, count)| of(count)).sum::<usize>();
        let (failed, n) = (sum(|count| count.failed), sum(|count| count.n));
        text += &format!(
            "\n`{check}`: {failed} of {n} edits of a number, a negation, a name or a unit fail ({:.1} %).\n",
            100.0 * failed as f64 / n.max(1) as f64
        );
    }
    text
}

fn figure(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"))
}
