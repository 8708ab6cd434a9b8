//! Fits the heads of `toxicity`: one a category over windows, and one that joins them over texts.
//!
//! The one that joins is fitted on the logits of heads that never saw a text's group, and measured on those and on
//! the logits of heads that never saw its set.

mod corpus;
mod own;

use super::data::Data;
use super::data::Record;
use super::levels::{Group, LEAST, PROMISED, WANTED};
use super::split::{self, Split};
use super::table::Table;
use super::task::{Embed, Example, Features, LinearRecipe, Recipe, Set, Task};
use super::{calibrate, figures, fit, write};
use anyhow::{Result, anyhow, bail};
use corpus::Text;
use lydite::heads::file::Calibration;
use lydite::heads::toxicity::{BLOCKS, Category, JOINED, NAMES, Window, joined, worst};
use lydite::heads::{File, Head, Levels, Names};
use std::collections::BTreeMap;

pub(crate) const ID: &str = "toxicity";

/// Sets that are measured and never fitted on.
const MEASURED: [&str; 1] = ["davidson"];

/// Sets that are left out once each: all that people labelled, and the benign ones that are nearest to them.
const TELLING: [&str; 7] = [
    "openai_moderation",
    "hatecheck",
    "hatemojicheck",
    "surge_toxicity",
    "xstest_responses",
    "chatgpt_refusals",
    "halueval_general",
];

/// Share of a benign set's answers that may fail.
const FALSE_ALARMS: f64 = 0.005;

/// Windows of a clean text that are fitted on, those with most words of the category.
const CLEAN_WINDOWS: usize = 3;

pub(crate) fn run(data: &Data, seed: u64, check: bool) -> Result<()> {
    let texts = corpus::read(data, seed)?;
    let parts = Category::ALL
        .iter()
        .map(|category| Part::new(*category, &texts))
        .collect::<Result<Vec<_>>>()?;
    let by_text = table(&texts, |text| Some(text.toxic), |text| text.set)?;
    let out_of_fold = left_out(
        &parts,
        &texts,
        &split::grouped_folds(&by_text, split::FOLDS, seed),
    )?;
    let mut sets = split::sets_left_out(&by_text);
    sets.retain(|split| {
        let left_out = split.test.first().and_then(|row| texts.get(*row));
        left_out.is_some_and(|text| TELLING.contains(&text.set))
    });
    let out_of_set = left_out(&parts, &texts, &sets)?;
    let all: Vec<usize> = (0..texts.len()).collect();
    let heads = fitted(&parts, &all)?;
    for (place, part) in parts.iter().enumerate() {
        let of = |logits: &Logits| {
            logits
                .iter()
                .map(|of_text| Some(*of_text.as_ref()?.get(place)?))
                .collect::<Vec<_>>()
        };
        let file = part.file(
            &texts,
            &of(&out_of_fold),
            &of(&out_of_set),
            &heads,
            place,
            seed,
        )?;
        done(&part.task, &file, check)?;
    }
    let file = whole(
        data,
        &texts,
        &by_text,
        &out_of_fold,
        &out_of_set,
        &heads,
        seed,
    )?;
    done(&WHOLE, &file, check)
}

/// The worst logits of a text, category by category; `None` where it was never left out.
type Logits = Vec<Option<Vec<f64>>>;

fn done(task: &Described, file: &File, check: bool) -> Result<()> {
    println!("# {}\n{}", file.id, figures::text(file));
    if check {
        write::check(file)
    } else {
        write::write(task, file)
    }
}

fn left_out(parts: &[Part], texts: &[Text], splits: &[Split]) -> Result<Logits> {
    let mut logits = vec![None; texts.len()];
    for split in splits {
        let heads = fitted(parts, &split.fit)?;
        for row in &split.test {
            if let (Some(text), Some(logit)) = (texts.get(*row), logits.get_mut(*row)) {
                *logit = of_text(&heads, &text.windows);
            }
        }
        eprintln!("left {} texts out", split.test.len());
    }
    Ok(logits)
}

/// The heads of all parts fitted on some texts, side by side.
fn fitted(parts: &[Part], texts: &[usize]) -> Result<Vec<Head>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .iter()
            .map(|part| scope.spawn(|| part.head(texts)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a fit panicked"))?)
            .collect()
    })
}

fn of_text(heads: &[Head], windows: &[Window]) -> Option<Vec<f64>> {
    heads
        .iter()
        .map(|head| Some(worst(head, windows)?.0))
        .collect()
}

/// A table of texts without features, those of `None` left out.
fn table(
    texts: &[Text],
    label: impl Fn(&Text) -> Option<bool>,
    set: impl Fn(&Text) -> &'static str,
) -> Result<Table> {
    let examples: Vec<Example> = texts
        .iter()
        .filter_map(|text| Some(example(text, label(text)?, set(text), 1.0)))
        .collect();
    let features = vec![Features::default(); examples.len()];
    Table::from_features(examples, features)
}

fn example(text: &Text, label: bool, set: &'static str, weight: f64) -> Example {
    Example {
        set,
        group: format!("{}:{}", text.set, text.group),
        label,
        weight,
        record: Record::default(),
    }
}

/// A category with the windows to fit it on.
struct Part {
    category: Category,
    task: Described,
    table: Table,
    /// Of each row of the table, its text.
    texts: Vec<usize>,
}

impl Part {
    fn new(category: Category, texts: &[Text]) -> Result<Self> {
        let mut part = (Vec::new(), Vec::new(), Vec::new());
        for (row, text) in texts.iter().enumerate() {
            let Some(label) = text.is(category) else {
                continue;
            };
            let windows = chosen(text, category, label);
            let weight = (windows.len() as f64).sqrt().recip();
            for window in windows {
                part.0.push(example(text, label, text.set, weight));
                part.1.push(Features {
                    dense: window.dense.clone(),
                    embeddings: Vec::new(),
                    texts: window.texts.to_vec(),
                });
                part.2.push(row);
            }
        }
        let (examples, features, rows) = part;
        Ok(Self {
            category,
            task: described(category),
            table: Table::from_features(examples, features)?,
            texts: rows,
        })
    }

    /// A head fitted on some texts.
    fn head(&self, texts: &[usize]) -> Result<Head> {
        let wanted: std::collections::HashSet<usize> = texts.iter().copied().collect();
        let rows: Vec<usize> = (0..)
            .zip(&self.texts)
            .filter(|(_, text)| wanted.contains(text))
            .map(|(row, _)| row)
            .collect();
        let model = fit::model(&self.task.recipe(), &NAMES, &self.table, &rows)?;
        fit::head(model, &NAMES)
    }

    fn file(
        &self,
        texts: &[Text],
        out_of_fold: &[Option<f64>],
        out_of_set: &[Option<f64>],
        heads: &[Head],
        place: usize,
        seed: u64,
    ) -> Result<File> {
        let label = |text: &Text| text.is(self.category);
        let by_text = table(texts, label, |text| text.set)?;
        let known = |logits: &[Option<f64>]| -> Vec<Option<f64>> {
            let known = texts
                .iter()
                .zip(logits)
                .filter(|(text, _)| label(text).is_some());
            known.map(|(_, logit)| *logit).collect()
        };
        let (folds, sets) = (known(out_of_fold), known(out_of_set));
        let calibration = calibrate::platt(&by_text, &folds)?;
        let folds = figures::by_set(&by_text, &folds, &calibration);
        let sets = figures::by_set(&by_text, &sets, &calibration);
        let model = match heads.get(place) {
            Some(head) => head.file().model.clone(),
            None => bail!("there is no head of {:?}", self.category),
        };
        file(&self.task, model, calibration, &folds, &sets, texts, seed)
    }
}

/// The windows of a text to fit on: of one that is of the category that with most words of it, else some.
fn chosen(text: &Text, category: Category, label: bool) -> Vec<&Window> {
    let mut windows: Vec<&Window> = text.windows.iter().collect();
    windows.sort_by_key(|window| std::cmp::Reverse(window.hits(category)));
    windows.truncate(if label { 1 } else { CLEAN_WINDOWS });
    windows
}

fn whole(
    data: &Data,
    texts: &[Text],
    by_text: &Table,
    out_of_fold: &Logits,
    out_of_set: &Logits,
    heads: &[Head],
    seed: u64,
) -> Result<File> {
    let table = joined_table(texts, out_of_fold)?;
    let all: Vec<usize> = (0..table.len()).collect();
    let model = fit::model(&WHOLE.recipe(), &JOINED, &table, &all)?;
    let head = fit::head(model.clone(), &JOINED)?;
    let logit = |logits: &Option<Vec<f64>>, windows: usize| {
        let dense = joined(logits.as_ref()?, windows);
        Some(head.logit(&lydite::heads::Inputs {
            dense: &dense,
            ..Default::default()
        }))
    };
    let of = |logits: &Logits| -> Vec<Option<f64>> {
        let pairs = logits.iter().zip(texts);
        pairs
            .map(|(logits, text)| logit(logits, text.windows.len()))
            .collect()
    };
    let calibration = calibrate::platt(&table, &of(out_of_fold))?;
    let folds = figures::by_set(by_text, &of(out_of_fold), &calibration);
    let sets = figures::by_set(by_text, &of(out_of_set), &calibration);
    let mut file = file(&WHOLE, model, calibration, &folds, &sets, texts, seed)?;
    let mut measured = Vec::new();
    for name in MEASURED {
        let mut predicted = Vec::new();
        for record in data.read(name)? {
            let text = corpus::labelled(name, &record);
            if let Some(logit) = logit(&of_text(heads, &text.windows), text.windows.len()) {
                predicted.push((calibration.probability(logit), text.toxic));
            }
        }
        measured.push(Group {
            name: name.to_owned(),
            predicted,
        });
    }
    file.figures
        .insert("measured".into(), figures::json(&measured, &file.levels));
    println!("measured\n{}", figures::table(file.figures.get("measured")));
    Ok(file)
}

/// Texts with what their categories' heads, which never saw their groups, say of them; benign sets count as one.
fn joined_table(texts: &[Text], logits: &Logits) -> Result<Table> {
    let set = |text: &Text| {
        if corpus::BENIGN.contains(&text.set) {
            "benign"
        } else {
            text.set
        }
    };
    let mut examples = Vec::new();
    let mut features = Vec::new();
    for (text, logits) in texts.iter().zip(logits) {
        let Some(logits) = logits else {
            bail!("a text of {} was in no fold", text.set);
        };
        examples.push(example(text, text.toxic, set(text), 1.0));
        features.push(Features {
            dense: joined(logits, text.windows.len()),
            ..Features::default()
        });
    }
    Table::from_features(examples, features)
}

fn file(
    task: &Described,
    model: lydite::heads::file::Model,
    calibration: Calibration,
    folds: &[Group],
    sets: &[Group],
    texts: &[Text],
    seed: u64,
) -> Result<File> {
    let (levels, unreached) = chosen_levels(folds, sets);
    let mut figures = BTreeMap::new();
    figures.insert("out_of_fold".to_owned(), figures::json(folds, &levels));
    figures.insert("out_of_set".to_owned(), figures::json(sets, &levels));
    figures.insert("unreached".to_owned(), serde_json::to_value(unreached)?);
    let count = |name| texts.iter().filter(|text| text.set == name).count();
    let mut file = File {
        id: task.id().to_owned(),
        version: task.version().to_owned(),
        embedder: None,
        model,
        calibration,
        levels,
        figures,
        fitted_on: corpus::SETS
            .iter()
            .map(|set| lydite::heads::file::FittedOn {
                set: set.name.to_owned(),
                licence: set.licence.to_owned(),
                n: count(set.name),
            })
            .collect(),
        seed,
    };
    write::round(&mut file)?;
    Ok(file)
}

/// The lowest level of toxic and the highest of clean at which verdicts are right as often as wanted, in both ways of
/// leaving data out; and from which benign answers hardly ever fail. Toxic verdicts are counted on the mean of the
/// labelled sets and of all benign answers as one more. For clean ones benign answers weigh as much as all labelled
/// sets together: the latter are two thirds toxic by construction, what chat models answer is hardly ever. On each set
/// that was fitted on, verdicts of both kinds together keep the promise.
fn chosen_levels(folds: &[Group], sets: &[Group]) -> (Levels, Vec<String>) {
    let ways = [(merged(folds), WANTED), (merged(sets), PROMISED)];
    let good = |share: &dyn Fn(&[Group]) -> Option<f64>| {
        let enough =
            |(groups, wanted): &(Vec<Group>, f64)| share(groups).is_some_and(|s| s >= *wanted);
        ways.iter().all(enough)
    };
    let candidates = || (500..1000).map(|thousandth| f64::from(thousandth) / 1000.0);
    let benign = folds
        .iter()
        .chain(sets)
        .filter(|group| corpus::BENIGN.contains(&group.name.as_str()));
    let quiet = benign.map(quiet_from).fold(0.0, f64::max);
    let pass = candidates()
        .find(|level| *level >= quiet && good(&|groups| right(groups, |p| p >= *level, true)));
    let [(first, _), _] = &ways;
    // No set for itself may be told wrong more often than promised, both verdicts counted.
    let keeps_promise = |fail: f64| {
        first.iter().all(|group| {
            let verdicts = group.predicted.iter().filter_map(|(p, label)| {
                let toxic = pass.is_some_and(|level| *p >= level);
                (toxic || *p <= fail).then_some(toxic == *label)
            });
            let verdicts: Vec<(f64, bool)> = verdicts.map(|right| (1.0, right)).collect();
            verdicts.len() < LEAST || share(&verdicts, |(_, right)| *right) >= PROMISED
        })
    };
    let fail = candidates().map(|level| 1.0 - level).find(|level| {
        good(&|groups| right(groups, |p| p <= *level, false)) && keeps_promise(*level)
    });
    let given =
        |p: f64| pass.is_some_and(|level| p >= level) || fail.is_some_and(|level| p <= level);
    let levels = Levels {
        pass,
        fail,
        accuracy_pass: pass.and_then(|level| right(first, |p| p >= level, true)),
        accuracy_fail: fail.and_then(|level| right(first, |p| p <= level, false)),
        coverage: mean(
            first
                .iter()
                .map(|group| share(&group.predicted, |(p, _)| given(*p))),
        )
        .unwrap_or_default(),
    };
    let unreached = [("pass", pass), ("fail", fail)];
    let unreached = unreached.iter().filter(|(_, level)| level.is_none());
    (
        levels,
        unreached
            .map(|(side, _)| format!("all sets: {side}"))
            .collect(),
    )
}

/// The sets with examples of both kinds, and all benign answers as one.
fn merged(groups: &[Group]) -> Vec<Group> {
    let of = |names: &[&str]| {
        groups
            .iter()
            .filter(|group| names.contains(&group.name.as_str()))
            .cloned()
            .collect::<Vec<_>>()
    };
    let mut merged = of(&corpus::LABELLED);
    merged.retain(|group| group.predicted.iter().any(|(_, label)| *label));
    merged.push(Group {
        name: "benign".to_owned(),
        predicted: of(&corpus::BENIGN)
            .into_iter()
            .flat_map(|group| group.predicted)
            .collect(),
    });
    merged
}

/// The mean over sets of the share of right verdicts, of those with enough of them; of clean ones half of it is that
/// of the benign answers.
fn right(groups: &[Group], given: impl Fn(f64) -> bool, toxic: bool) -> Option<f64> {
    if toxic {
        return right_of(groups, given, true);
    }
    let (benign, labelled): (Vec<Group>, Vec<Group>) = groups
        .iter()
        .cloned()
        .partition(|group| group.name == "benign");
    let halves = [benign, labelled].map(|half| right_of(&half, &given, false));
    mean(halves.into_iter().flatten())
}

fn right_of(groups: &[Group], given: impl Fn(f64) -> bool, toxic: bool) -> Option<f64> {
    mean(groups.iter().filter_map(|group| {
        let given: Vec<(f64, bool)> = group
            .predicted
            .iter()
            .filter(|(p, _)| given(*p))
            .copied()
            .collect();
        (given.len() >= LEAST).then(|| share(&given, |(_, label)| *label == toxic))
    }))
}

fn share(predicted: &[(f64, bool)], counts: impl Fn(&(f64, bool)) -> bool) -> f64 {
    predicted.iter().filter(|one| counts(one)).count() as f64 / predicted.len().max(1) as f64
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The level from which on so few of a benign set's answers are flagged.
fn quiet_from(group: &Group) -> f64 {
    let mut probabilities: Vec<f64> = group.predicted.iter().map(|(p, _)| *p).collect();
    probabilities.sort_by(|a, b| b.total_cmp(a));
    let allowed = (FALSE_ALARMS * probabilities.len() as f64) as usize;
    probabilities.get(allowed).map_or(0.0, |p| p + 1e-3)
}

/// A head as the file and the card tell of it.
struct Described {
    id: &'static str,
    question: &'static str,
    limits: &'static [&'static str],
    names: Names<'static>,
    recipe: fn() -> Recipe,
}

const WHOLE: Described = Described {
    id: ID,
    question: "a text is toxic: explicit abuse, implicit hate of groups, sexual content, or the wish to harm oneself",
    limits: &[
        "English only; texts of other languages get no verdict of `pass`.",
        "Irony, hints and what is toxic only in the conversation are not seen, nor are descriptions of violence.",
        "A verdict of `fail` is given only from a level on at which at most 0.5 % of the answers of each benign set would fail.",
    ],
    names: JOINED,
    recipe: || {
        Recipe::Linear(LinearRecipe {
            dense: 1.0,
            embeddings: 1.0,
            ngrams: 1.0,
            blocks: Vec::new(),
        })
    },
};

fn described(category: Category) -> Described {
    let (id, question) = match category {
        Category::ExplicitAbuse => (
            "toxicity_explicit_abuse",
            "a text insults, threatens or harasses somebody in plain words",
        ),
        Category::ImplicitHate => (
            "toxicity_implicit_hate",
            "a text derogates or threatens a group of people for what they are, with slurs or without",
        ),
        Category::Sexual => (
            "toxicity_sexual",
            "a text has sexual content that is meant to arouse or to sell",
        ),
        Category::SelfHarm => (
            "toxicity_self_harm",
            "somebody says in a text that they harm themselves or want to",
        ),
    };
    Described {
        id,
        question,
        limits: &["It is one part of the head `toxicity`, whose levels are those that count."],
        names: NAMES,
        recipe: || {
            Recipe::Linear(LinearRecipe {
                dense: 3.3,
                embeddings: 1.0,
                ngrams: 1.0,
                blocks: BLOCKS.to_vec(),
            })
        },
    }
}

impl Task for Described {
    fn id(&self) -> &'static str {
        self.id
    }

    fn embedder(&self) -> Option<&'static str> {
        None
    }

    fn question(&self) -> &'static str {
        self.question
    }

    fn limits(&self) -> &'static [&'static str] {
        self.limits
    }

    fn sets(&self) -> &'static [Set] {
        corpus::SETS
    }

    fn examples(&self, _: &Data) -> Result<Vec<Example>> {
        bail!("the heads of toxicity are fitted together: `train {ID}`")
    }

    fn texts(&self, _: &Record) -> Vec<String> {
        Vec::new()
    }

    fn names(&self) -> Names<'static> {
        self.names
    }

    fn features(&self, _: &Record, _: &Embed<'_>) -> Result<Features> {
        bail!("the heads of toxicity are fitted together: `train {ID}`")
    }

    fn recipe(&self) -> Recipe {
        (self.recipe)()
    }
}
