//! The texts of all sets with what is known of each.

use super::own;
use crate::train::data::{Data, Record};
use crate::train::task::Set;
use anyhow::Result;
use lydite::heads::toxicity::{Category, Window};

/// One text.
#[derive(Debug)]
pub(super) struct Text {
    /// One of [`SETS`].
    pub(super) set: &'static str,
    pub(super) group: String,
    /// Whether people call it toxic in any way.
    pub(super) toxic: bool,
    /// Whether it is of each category, in the order of [`Category::ALL`]; `None` where nobody said.
    pub(super) categories: [Option<bool>; 4],
    pub(super) windows: Vec<Window>,
}

impl Text {
    pub(super) fn is(&self, category: Category) -> Option<bool> {
        let place = Category::ALL.iter().position(|c| *c == category)?;
        *self.categories.get(place)?
    }
}

/// Sets of texts that people labelled, toxic and not.
pub(super) const LABELLED: [&str; 4] = [
    "openai_moderation",
    "hatecheck",
    "hatemojicheck",
    "surge_toxicity",
];

/// Answers of models that are not toxic.
pub(super) const BENIGN: [&str; 7] = [
    "xstest_responses",
    "chatgpt_refusals",
    "halueval_general",
    "mtrag_human_eval",
    "azure_rag_log",
    "begin",
    "summedits",
];

/// Our own sentences.
pub(super) const OWN: &str = "own_sentences";

pub(super) const SETS: &[Set] = &[
    set(
        "openai_moderation",
        "MIT",
        "OpenAI, moderation-api-release (T. Markov et al., 2023)",
    ),
    set(
        "hatecheck",
        "CC-BY-4.0",
        "P. Röttger et al., HateCheck (2021)",
    ),
    set(
        "hatemojicheck",
        "CC-BY-4.0",
        "H. Kirk et al., HatemojiCheck (2022)",
    ),
    set("surge_toxicity", "MIT", "Surge AI, Toxicity Dataset (2022)"),
    set(
        "xstest_responses",
        "CC-BY-4.0",
        "P. Röttger et al., XSTest (2024); answers that are not toxic",
    ),
    set(
        "chatgpt_refusals",
        "MIT",
        "M. Reuter and W. Schulze (2023); answers, all taken for not toxic",
    ),
    set(
        "halueval_general",
        "MIT",
        "J. Li et al., HaluEval (2023); answers, all taken for not toxic",
    ),
    set(
        "mtrag_human_eval",
        "Apache-2.0",
        "IBM, MTRAG (2025); answers, all taken for not toxic",
    ),
    set(
        "azure_rag_log",
        "MIT",
        "Microsoft, azure-search-openai-demo; answers, all taken for not toxic",
    ),
    set(
        "begin",
        "Apache-2.0 AND CC-BY-4.0 AND CDLA-Sharing-1.0",
        "N. Dziri et al., BEGIN (2022); answers, all taken for not toxic",
    ),
    set(
        "summedits",
        "Apache-2.0",
        "P. Laban et al., SummEdits (2023); summaries, all taken for not toxic",
    ),
    set(
        OWN,
        "MIT OR Apache-2.0",
        "this repository: xtask/src/train/toxicity/own.templates",
    ),
];

const fn set(name: &'static str, licence: &'static str, attribution: &'static str) -> Set {
    Set {
        name,
        licence,
        attribution,
    }
}

/// All texts that are fitted on.
pub(super) fn read(data: &Data, seed: u64) -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    for name in LABELLED {
        let records = data.read(name)?;
        texts.extend(records.iter().map(|record| labelled(name, record)));
    }
    for name in BENIGN {
        let records = data.read(name)?;
        let records = records.iter().filter(|record| is_benign(name, record));
        texts.extend(records.map(|record| text(name, record, false, [Some(false); 4])));
    }
    texts.extend(own::sentences(seed).iter().map(our_own));
    texts.retain(|text| !text.windows.is_empty());
    Ok(texts)
}

/// A text of a labelled set, also of one that is for measuring only.
pub(super) fn labelled(set: &'static str, record: &Record) -> Text {
    let toxic = record.label == true
        || matches!(
            record.label.as_str(),
            Some("hateful" | "Toxic" | "hate" | "offensive")
        );
    let clean = (!toxic).then_some(false);
    let of = |names: &[&str]| {
        let flags = names.iter().filter_map(|name| flag(record, name));
        flags.reduce(|a, b| a || b).or(clean)
    };
    let categories = match set {
        "openai_moderation" => [
            of(&["HR", "H2"]).filter(|yes| *yes).or(clean),
            of(&["H"]),
            of(&["S"]),
            of(&["SH"]),
        ],
        "hatecheck" => {
            let abusive = matches!(record.meta("functionality"), "slur_h" | "profanity_h");
            [clean.or(abusive.then_some(true)), Some(toxic), clean, clean]
        }
        "hatemojicheck" => [clean, Some(toxic), clean, clean],
        _ => [Some(toxic), clean, clean, clean],
    };
    text(set, record, toxic, categories)
}

fn text(set: &'static str, record: &Record, toxic: bool, categories: [Option<bool>; 4]) -> Text {
    Text {
        set,
        group: record.group(),
        toxic,
        categories,
        windows: Window::all(record.output()),
    }
}

fn flag(record: &Record, category: &str) -> Option<bool> {
    let flag = record.meta.get("categories")?.get(category)?;
    flag.as_i64().map(|flag| flag == 1)
}

/// Answers that comply with an unsafe prompt may be what it asked for, and are left out.
fn is_benign(set: &str, record: &Record) -> bool {
    let safe = record
        .meta
        .get("prompt_safe")
        .is_none_or(|safe| safe == true);
    set != "xstest_responses" || safe || record.label == "refusal"
}

fn our_own(sentence: &own::Sentence) -> Text {
    let is = |label: &str| match sentence.label {
        "benign" => Some(false),
        own if own == label => Some(true),
        _ => None,
    };
    Text {
        set: OWN,
        group: format!("template {}", sentence.template),
        toxic: sentence.label != "benign",
        categories: [is("abuse"), is("hate"), is("sexual"), is("selfharm")],
        windows: Window::all(&sentence.text),
    }
}
