//! A task whose answer is known, from examples to its file.

use super::data::Record;
use super::table::Table;
use super::task::{Embed, Example, Features, LinearRecipe, Recipe, Set, Task};
use super::*;
use lydite::heads::hashed::{Kind, Ngrams};
use lydite::heads::{Head, Inputs, Names};
use lydite::outcome::Verdict;

/// Two made-up sets: yes where the number in `query` is above 0 or the output says `granted`.
#[derive(Debug)]
struct Granted;

const SETS: [Set; 2] = [set("even"), set("odd")];

const fn set(name: &'static str) -> Set {
    Set {
        name,
        licence: "CC0-1.0",
        attribution: "nobody",
    }
}

impl Task for Granted {
    fn id(&self) -> &'static str {
        "granted"
    }

    fn embedder(&self) -> Option<&'static str> {
        None
    }

    fn question(&self) -> &'static str {
        "it is granted"
    }

    fn limits(&self) -> &'static [&'static str] {
        &["It is made up."]
    }

    fn sets(&self) -> &'static [Set] {
        &SETS
    }

    fn examples(&self, _: &Data) -> Result<Vec<Example>> {
        let mut random = 1_u64;
        let mut next = || {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) as f64 / (1_u64 << 31) as f64
        };
        let example = |row: usize| {
            let (x, said, noise) = (next() * 2.0 - 1.0, next() < 0.3, next() < 0.03);
            Example {
                set: SETS[row % 2].name,
                group: format!("{}", row / 3),
                label: (x > 0.0 || said) != noise,
                weight: 1.0,
                record: Record {
                    query: Some(x.to_string()),
                    output: Some(
                        if said {
                            "this is granted"
                        } else {
                            "this is not so"
                        }
                        .to_owned(),
                    ),
                    ..Record::default()
                },
            }
        };
        Ok((0..600).map(example).collect())
    }

    fn texts(&self, _: &Record) -> Vec<String> {
        Vec::new()
    }

    fn names(&self) -> Names<'static> {
        Names {
            dense: &["number", "constant"],
            embeddings: &[],
            texts: &["output"],
        }
    }

    fn features(&self, record: &Record, _: &Embed<'_>) -> Result<Features> {
        let number = record.query.as_deref().unwrap_or_default().parse()?;
        Ok(Features {
            dense: vec![number, 1.0],
            embeddings: Vec::new(),
            texts: vec![record.output().to_owned()],
        })
    }

    fn recipe(&self) -> Recipe {
        Recipe::Linear(LinearRecipe {
            dense: 0.1,
            embeddings: 1.0,
            ngrams: 0.1,
            blocks: vec![(
                "output",
                Ngrams {
                    kind: Kind::Word,
                    min: 1,
                    max: 2,
                    bits: 8,
                    lower: true,
                },
            )],
        })
    }
}

fn fitted(task: &Granted) -> File {
    let examples = task.examples(&Data::new("nowhere".as_ref())).unwrap();
    let table = Table::new(task, examples, &Embeddings::default()).unwrap();
    train(task, &table, 1).unwrap()
}

#[test]
fn a_fitted_head_tells_what_it_was_shown() {
    let task = Granted;
    let file = fitted(&task);
    let figures = &file.figures["out_of_fold"]["even"];
    assert_eq!(figures["n"], 300);
    assert!(figures["accuracy"].as_f64().unwrap() > 0.9, "{figures}");
    assert!(file.figures["out_of_set"]["odd"]["auroc"].as_f64().unwrap() > 0.93);
    assert!(file.levels.coverage > 0.8, "{:?}", file.levels);
    let head = Head::new(file, &task.names()).unwrap();
    for (number, text, expected) in [
        (0.9, "this is not so", Verdict::Pass),
        (-0.9, "this is not so", Verdict::Fail),
    ] {
        let inputs = Inputs {
            dense: &[number, 1.0],
            embeddings: &[],
            texts: &[text],
        };
        let probability = head.probability(&inputs);
        assert_eq!(
            head.verdict(probability),
            expected,
            "{number} {text} {probability}"
        );
    }
}

#[test]
fn a_fit_gives_the_same_file_again() {
    let task = Granted;
    let text = |file: &File| serde_json::to_string(file).unwrap();
    assert_eq!(text(&fitted(&task)), text(&fitted(&task)));
}

#[test]
fn the_card_says_data_split_figures_and_limits() {
    let task = Granted;
    let card = card::text(&task, &fitted(&task));
    for part in [
        "# The head `granted`, version 1",
        "that it is granted.",
        "2^8 buckets of n-grams of `output`",
        "| `odd` | 300 | CC0-1.0 | nobody |",
        "5 folds by seed 1",
        "Out of set:\n\n| set | n |",
        "- It is made up.",
    ] {
        assert!(card.contains(part), "{card}");
    }
}
