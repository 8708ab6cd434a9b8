//! The head of `attempts_answer` and `refuse_answer`.
//!
//! What counts as a refusal: a full or partial one in `xstest_responses`; every tone but *complied* in
//! `chatgpt_refusals`, as its paper has it, *incoherent* and *dontknow* left out; answers to what is
//! unanswerable or underspecified in `mtragun_answerability`, since they decline or ask back. Beside them stand
//! answers of `halueval_general` and `evouna`, read and marked by us (`refusal/labels.json` has their ids), and
//! texts of our own (`refusal/own.jsonl`): short, playful and grounded refusals, and answers that sound like one.

use super::data::{Data, Record};
use super::task::{Embed, Example, Features, LinearRecipe, Recipe, Set, Task};
use anyhow::{Context as _, Result};
use lydite::heads::Names;
use lydite::heads::hashed::{Kind, Ngrams};
use lydite::heads::refusal::{NAMES, Reading};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use twox_hash::XxHash3_64;

#[derive(Debug)]
pub(crate) struct Refusal;

const XSTEST: &str = "xstest_responses";
const CHATGPT: &str = "chatgpt_refusals";
const MTRAG: &str = "mtragun_answerability";
const HALUEVAL: &str = "halueval_general";
const EVOUNA: &str = "evouna";
const OWN: &str = "own";

const SETS: &[Set] = &[
    Set {
        name: XSTEST,
        licence: "CC-BY-4.0",
        attribution: "P. Röttger et al., XSTest, 2024; labels by two annotators and adjudication",
    },
    Set {
        name: CHATGPT,
        licence: "MIT",
        attribution: "M. Reuter and W. Schulze, I'm Afraid I Can't Do That, 2023",
    },
    Set {
        name: MTRAG,
        licence: "Apache-2.0",
        attribution: "IBM Research, MTRAG-UN",
    },
    Set {
        name: HALUEVAL,
        licence: "MIT",
        attribution: "J. Li et al., HaluEval (general part), 2023; refusals marked by us",
    },
    Set {
        name: EVOUNA,
        licence: "Apache-2.0",
        attribution: "C. Wang et al., EVOUNA, 2023; a part of it, refusals marked by us",
    },
    Set {
        name: OWN,
        licence: "MIT OR Apache-2.0",
        attribution: "written for this head, `xtask/src/train/refusal/own.jsonl`",
    },
];

/// Our marks of one set, by ids.
#[derive(Debug, Default, Deserialize)]
struct Marks {
    refusals: HashSet<String>,
    /// Left out.
    unclear: HashSet<String>,
}

/// A text of our own.
#[derive(Debug, Deserialize)]
struct Own {
    query: String,
    output: String,
    attempts: bool,
}

impl Task for Refusal {
    fn id(&self) -> &'static str {
        "refusal"
    }

    fn embedder(&self) -> Option<&'static str> {
        None
    }

    fn question(&self) -> &'static str {
        "a response attempts to answer what was asked; a partial refusal counts as a refusal"
    }

    fn limits(&self) -> &'static [&'static str] {
        &[
            "English only: the evaluators say nothing of other languages.",
            "It reads the response and the query's first words, not the sources: whether \"the document does not say\" is true is not seen.",
            "People draw the border differently: an answer behind \"As an AI I have no opinion\" is an attempt in some sets and a refusal in others. There the probability is near the middle.",
            "A refusal in character, by a moral lecture alone or without any set phrase is often taken for an answer; a letter or story that declines in the first person, if its query does not ask for one, for a refusal.",
            "A partial refusal is no class of its own.",
            "The levels rest on left-out examples of all sets but `own`, and on whole sets left out but `chatgpt_refusals`: where labels follow a rule that the head never saw, as there, fewer than 9 in 10 verdicts are right (the second table).",
        ]
    }

    fn sets(&self) -> &'static [Set] {
        SETS
    }

    /// All but our own texts, which are traps, and `chatgpt_refusals` as a set never seen: its labels count most
    /// answers behind a disclaimer as refusals, which no other set tells.
    fn decides(&self, set: &str, out_of_set: bool) -> bool {
        set != OWN && !(out_of_set && set == CHATGPT)
    }

    fn examples(&self, data: &Data) -> Result<Vec<Example>> {
        let marks: BTreeMap<String, Marks> =
            serde_json::from_str(include_str!("refusal/labels.json"))?;
        let mut examples = Vec::new();
        for set in SETS.iter().filter(|set| set.name != OWN) {
            let none = Marks::default();
            let marks = marks.get(set.name).unwrap_or(&none);
            for record in data.read(set.name)? {
                if let Some(label) = attempts(set.name, &record, marks) {
                    examples.push(example(set.name, record.group(), label, record));
                }
            }
        }
        examples.extend(own()?);
        balance(&mut examples);
        Ok(examples)
    }

    fn texts(&self, _: &Record) -> Vec<String> {
        Vec::new()
    }

    fn names(&self) -> Names<'static> {
        NAMES
    }

    fn features(&self, record: &Record, _: &Embed<'_>) -> Result<Features> {
        let query = record.query.as_deref().unwrap_or_default();
        let reading = Reading::new(query, record.output());
        Ok(Features {
            dense: reading.dense().to_vec(),
            embeddings: Vec::new(),
            texts: reading.texts().to_vec(),
        })
    }

    fn recipe(&self) -> Recipe {
        let words = |max, bits| Ngrams {
            kind: Kind::Word,
            min: 1,
            max,
            bits,
            lower: false,
        };
        Recipe::Linear(LinearRecipe {
            dense: 7.0,
            embeddings: 1.0,
            ngrams: 0.017,
            blocks: vec![("response", words(3, 15)), ("query", words(2, 11))],
        })
    }
}

/// Whether a response attempts an answer; `None` where the label does not say.
fn attempts(set: &str, record: &Record, marks: &Marks) -> Option<bool> {
    let label = record.label.as_str().unwrap_or_default();
    if marks.unclear.contains(&record.id) {
        return None;
    }
    match set {
        XSTEST => Some(label == "answer"),
        CHATGPT => match record.meta("paper_binary") {
            "" => None,
            binary => Some(binary == "complied"),
        },
        MTRAG => match label {
            "ANSWERABLE" => Some(true),
            "UNANSWERABLE" | "UNDERSPECIFIED" => Some(false),
            _ => None,
        },
        EVOUNA if marks.refusals.contains(&record.id) => Some(false),
        EVOUNA => is_taken(record).then_some(true),
        _ => Some(!marks.refusals.contains(&record.id)),
    }
}

/// Short answers abound: all that sound like a refusal, and one in eight of the others.
fn is_taken(record: &Record) -> bool {
    const CUES: [&str; 10] = [
        "sorry",
        "language model",
        "couldn",
        "cannot",
        "can't",
        "unable",
        "unclear",
        "don't",
        "do not",
        "without",
    ];
    let output = record.output().to_lowercase().replace('’', "'");
    CUES.iter().any(|cue| output.contains(cue))
        || XxHash3_64::oneshot(record.id.as_bytes()).is_multiple_of(8)
}

fn own() -> Result<Vec<Example>> {
    include_str!("refusal/own.jsonl")
        .lines()
        .enumerate()
        .map(|(line, text)| {
            let own: Own = serde_json::from_str(text)
                .with_context(|| format!("refusal/own.jsonl:{}", line + 1))?;
            let record = Record {
                id: format!("own/{line}"),
                query: Some(own.query.clone()),
                output: Some(own.output),
                ..Record::default()
            };
            Ok(example(OWN, own.query, own.attempts, record))
        })
        .collect()
}

fn example(set: &'static str, group: String, label: bool, record: Record) -> Example {
    Example {
        set,
        group,
        label,
        weight: 1.0,
        record,
    }
}

/// Gives both classes of a set the same weight.
fn balance(examples: &mut [Example]) {
    let mut counts: BTreeMap<(&str, bool), f64> = BTreeMap::new();
    for example in examples.iter() {
        *counts.entry((example.set, example.label)).or_default() += 1.0;
    }
    for example in examples {
        let count = counts.get(&(example.set, example.label));
        example.weight = 1.0 / count.copied().unwrap_or(1.0);
    }
}
