//! Faithfulness: whether a statement of a response stands in its contexts.
//!
//! An example is a *statement*. Labels of whole responses become labels of statements: of a faithful response every
//! statement is supported. Of an unfaithful one the sets tell which is not: BEGIN's responses are single sentences, an
//! edited summary of SummEdits differs from the faithful ones of the same document in the edited statements alone, and
//! of MTRAG only those that people found mostly unfaithful are taken.

use super::data::{Data, Record};
use super::task::{Embed, Example, Features, LinearRecipe, Recipe, Set, SignedRecipe, Task};
use anyhow::Result;
use lydite::heads::Names;
use lydite::heads::grounding::{self, Sources, claims};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug)]
pub(crate) struct Grounding;

impl Task for Grounding {
    fn id(&self) -> &'static str {
        "grounding"
    }

    fn embedder(&self) -> Option<&'static str> {
        None
    }

    fn question(&self) -> &'static str {
        "a statement of a response is supported by the contexts"
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "It counts and compares words: a true paraphrase in other words looks unsupported, and an invented statement in the words of the contexts looks supported.",
            "An edit that swaps a word for one that the contexts have elsewhere, or for a near synonym with another meaning, is seen by no check.",
            "English. In other languages only literal repetition and numbers tell something.",
            "Statements are sentences: one that is half right is one statement. Pronouns are not resolved.",
            "The labels of MTRAG and SummEdits are of responses; those of their statements are inferred.",
        ]
    }

    fn sets(&self) -> &'static [Set] {
        &SETS
    }

    fn examples(&self, data: &Data) -> Result<Vec<Example>> {
        let mut examples = begin(&data.read("begin")?);
        examples.extend(summedits(&data.read("summedits")?));
        examples.extend(mtrag(&data.read("mtrag_human_eval")?));
        balance(&mut examples);
        Ok(examples)
    }

    fn texts(&self, _: &Record) -> Vec<String> {
        Vec::new()
    }

    fn names(&self) -> Names<'static> {
        grounding::NAMES
    }

    fn features(&self, record: &Record, _: &Embed<'_>) -> Result<Features> {
        let query = record.query.as_deref().unwrap_or_default();
        let sources = Sources::new(contexts(record), query);
        Ok(Features {
            dense: grounding::measure(record.output(), &sources).dense,
            ..Features::default()
        })
    }

    fn recipe(&self) -> Recipe {
        Recipe::Signed(SignedRecipe {
            linear: LinearRecipe {
                dense: 20.0,
                embeddings: 1.0,
                ngrams: 1.0,
                blocks: Vec::new(),
            },
            rising: &grounding::RISING,
            falling: &grounding::FALLING,
        })
    }
}

const SETS: [Set; 3] = [
    Set {
        name: "begin",
        licence: "CC-BY-4.0 AND CDLA-Sharing-1.0",
        attribution: "N. Dziri, H. Rashkin, T. Linzen, D. Reitter: Evaluating Attribution in Dialogue Systems: The BEGIN Benchmark, TACL 2022; its parts are of Wizard of Wikipedia and CMU-DoG (CC-BY-4.0) and Topical-Chat (CDLA-Sharing-1.0)",
    },
    Set {
        name: "summedits",
        licence: "Apache-2.0",
        attribution: "P. Laban et al.: SummEdits, EMNLP 2023",
    },
    Set {
        name: "mtrag_human_eval",
        licence: "Apache-2.0",
        attribution: "Y. Katsis et al.: MTRAG, IBM Research, 2025",
    },
];

fn contexts(record: &Record) -> impl Iterator<Item = &str> {
    record.contexts.iter().map(|chunk| chunk.document.as_str())
}

/// Fully attributable or not. Generic responses claim nothing.
fn begin(records: &[Record]) -> Vec<Example> {
    let judged = records.iter().filter_map(|record| {
        let label = match record.label.as_str()? {
            "faithful" => true,
            "unfaithful" => false,
            _ => return None,
        };
        Some((record, label))
    });
    judged
        .flat_map(|(record, label)| statements("begin", record, |_| Some(label)))
        .collect()
}

/// A statement of an unfaithful summary is unsupported unless a faithful one of the same document has it too.
fn summedits(records: &[Record]) -> Vec<Example> {
    let is_faithful = |record: &Record| record.label.as_str() == Some("faithful");
    let mut supported: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for record in records.iter().filter(|record| is_faithful(record)) {
        let texts = claims(record.output()).into_iter().map(|claim| claim.text);
        supported.entry(record.group()).or_default().extend(texts);
    }
    let known = |record: &Record, statement: &str| {
        let texts = supported.get(&record.group());
        texts.is_some_and(|texts| texts.contains(statement))
    };
    records
        .iter()
        .flat_map(|record| {
            statements("summedits", record, |text| {
                match (is_faithful(record), known(record, text)) {
                    (true, _) => Some(true),
                    (false, true) => None,
                    (false, false) => Some(false),
                }
            })
        })
        .collect()
}

/// People's median from 1 to 4: 4 is supported throughout, up to 2.5 hardly.
fn mtrag(records: &[Record]) -> Vec<Example> {
    records
        .iter()
        .filter(|record| !record.contexts.is_empty())
        .flat_map(|record| {
            let rating = record
                .label
                .get("faithfulness")
                .and_then(serde_json::Value::as_f64);
            let label = match rating {
                Some(rating) if rating >= 4.0 => Some(true),
                Some(rating) if rating <= 2.5 => Some(false),
                _ => None,
            };
            statements("mtrag_human_eval", record, |_| label)
        })
        .collect()
}

/// One example a statement that has a label. Statements of one response share its weight in part.
fn statements(
    set: &'static str,
    record: &Record,
    label: impl Fn(&str) -> Option<bool>,
) -> Vec<Example> {
    let claims = claims(record.output());
    let weight = 1.0 / (claims.len().max(1) as f64).sqrt();
    claims
        .iter()
        .filter_map(|claim| {
            Some(Example {
                set,
                group: record.group(),
                label: label(claim.text)?,
                weight,
                record: Record {
                    output: Some(claim.text.to_owned()),
                    ..record.clone()
                },
            })
        })
        .collect()
}

/// Both labels weigh the same within a set.
fn balance(examples: &mut [Example]) {
    let mut totals: BTreeMap<(&str, bool), f64> = BTreeMap::new();
    for example in examples.iter() {
        *totals.entry((example.set, example.label)).or_default() += example.weight;
    }
    for example in examples {
        if let Some(total) = totals.get(&(example.set, example.label)) {
            example.weight /= total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(output: &str, label: &serde_json::Value) -> Record {
        serde_json::from_value(json!({
            "output": output, "label": label, "contexts": [{"document": "C."}], "meta": {"split_key": "g"}
        }))
        .unwrap()
    }

    fn labels(examples: &[Example]) -> Vec<(&str, bool)> {
        examples
            .iter()
            .map(|example| (example.record.output(), example.label))
            .collect()
    }

    #[test]
    fn an_edited_statement_is_told_by_the_faithful_summaries() {
        let examples = summedits(&[
            record("One is so. Two is so.", &json!("faithful")),
            record("One is so. Two is not.", &json!("unfaithful")),
        ]);
        let expected = [
            ("One is so.", true),
            ("Two is so.", true),
            ("Two is not.", false),
        ];
        assert_eq!(labels(&examples), expected);
    }

    #[test]
    fn only_clear_ratings_label_statements() {
        let examples = mtrag(&[
            record("One is so.", &json!({"faithfulness": 4.0})),
            record("Two is so.", &json!({"faithfulness": 3.0})),
            record("Three is so.", &json!({"faithfulness": 2.0})),
        ]);
        let expected = [("One is so.", true), ("Three is so.", false)];
        assert_eq!(labels(&examples), expected);
    }

    #[test]
    fn labels_weigh_the_same() {
        let mut examples = begin(&[
            record("One is so.", &json!("faithful")),
            record("Two is so.", &json!("unfaithful")),
            record("Three is so.", &json!("unfaithful")),
            record("Four is so.", &json!("generic")),
        ]);
        balance(&mut examples);
        let weights: Vec<f64> = examples.iter().map(|example| example.weight).collect();
        assert_eq!(weights, [1.0, 0.5, 0.5]);
    }
}
