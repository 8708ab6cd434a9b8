//! The loads that `bench` measures with: made up, the same for ever, no file of anybody else's.

use anyhow::{Context, Result};
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

const WORDS: [&str; 33] = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi",
    "psi", "omega", "river", "mountain", "cloud", "paper", "silver", "window", "garden", "market",
    "bridge",
];

/// Words in an answer.
const LENGTH: usize = 30;

/// What the answers are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nine of ten outputs equal their reference byte for byte; the tenth fails.
    Det,
    /// No output equals its reference, so that no shortcut for equal texts helps. Half differ in case
    /// and punctuation alone, half in one to four words.
    Near,
    /// A question, an answer of about 40 words and two contexts, all with a marker that the mock's verdict follows.
    Judge,
}

/// Whether the mock judges a record of the judge load as bad: one in four.
pub(super) const fn is_bad(index: usize) -> bool {
    index % 4 == 3
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Det => "det",
            Self::Near => "near",
            Self::Judge => "judge",
        }
    }
}

/// Writes `count` records, one a line. The same kind and count give the same bytes.
pub(super) fn write(kind: Kind, count: usize, path: &Path) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut file = BufWriter::with_capacity(1 << 18, file);
    let mut random = SplitMix(20_261_130);
    for index in 0..count {
        file.write_all(line(kind, index, &mut random).as_bytes())?;
    }
    file.flush()
        .with_context(|| format!("cannot write {}", path.display()))
}

fn line(kind: Kind, index: usize, random: &mut SplitMix) -> String {
    if kind == Kind::Judge {
        return judge_line(index, random);
    }
    let words: Vec<&str> = (0..LENGTH).map(|_| random.pick(&WORDS)).collect();
    let output = answer(index, &words.join(" "), true);
    let reference = match kind {
        Kind::Det if !index.is_multiple_of(10) => output.clone(),
        Kind::Det => answer(index, &words.join(" ").replace("alpha", "beta"), false) + " ",
        Kind::Near | Kind::Judge => answer(index, &changed(&words, index, random), true) + " ",
    };
    let contains = words.get(3).copied().unwrap_or_default().to_uppercase();
    let record = json!({
        "id": index,
        "query": format!("question {index}"),
        "output": output,
        "reference": reference,
        "contexts": [],
        "contains": contains,
    });
    format!("{record}\n")
}

fn judge_line(index: usize, random: &mut SplitMix) -> String {
    let marker = format!("[[{}:{index}]]", if is_bad(index) { "bad" } else { "good" });
    let mut words = |count: usize| {
        let words: Vec<&str> = (0..count).map(|_| random.pick(&WORDS)).collect();
        words.join(" ")
    };
    let record = json!({
        "id": index,
        "query": format!("Where does the {} flow? {marker}", words(8)),
        "output": format!("The {}. {marker}", words(40)),
        "reference": format!("The {}.", words(20)),
        "contexts": [format!("{} {marker}", words(60)), words(60)],
    });
    format!("{record}\n")
}

/// The text of an answer: JSON with spaces, as Python writes it.
fn answer(index: usize, words: &str, ok: bool) -> String {
    format!(r#"{{"id": {index}, "answer": "{words}", "ok": {ok}}}"#)
}

/// Odd records: one to four other words. Even ones: three words with a capital and a comma.
fn changed(words: &[&str], index: usize, random: &mut SplitMix) -> String {
    let mut places: Vec<usize> = (0..words.len()).collect();
    let count = if index.is_multiple_of(2) {
        3
    } else {
        1 + random.below(4)
    };
    let mut chosen = Vec::with_capacity(count);
    for _ in 0..count {
        chosen.push(places.swap_remove(random.below(places.len())));
    }
    let words = words.iter().enumerate().map(|(place, word)| {
        if !chosen.contains(&place) {
            (*word).to_owned()
        } else if index.is_multiple_of(2) {
            capitalised(word) + ","
        } else {
            let others: Vec<&str> = WORDS.into_iter().filter(|other| other != word).collect();
            random.pick(&others).to_owned()
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_ascii_uppercase().to_string() + letters.as_str()
    })
}

/// SplitMix64 (Steele, Lea and Flood 2014): four lines that no version of a crate changes.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number under `bound`, 0 where that is 0. The bias, under 2⁻⁵⁸ here, does not matter.
    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap_or(0)
    }

    fn pick<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words
            .get(self.below(words.len()))
            .copied()
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn records(kind: Kind, count: usize) -> Vec<Value> {
        let mut random = SplitMix(1);
        (0..count)
            .map(|index| serde_json::from_str(&line(kind, index, &mut random)).unwrap())
            .collect()
    }

    fn normal(text: &Value) -> String {
        text.as_str()
            .unwrap()
            .chars()
            .filter(|c| c.is_alphanumeric())
            .collect::<String>()
            .to_lowercase()
    }

    #[test]
    fn splitmix_gives_the_published_numbers() {
        let mut random = SplitMix(1_234_567);
        assert_eq!(
            [random.next(), random.next()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }

    #[test]
    fn one_det_record_in_ten_fails() {
        for (index, record) in records(Kind::Det, 200).iter().enumerate() {
            assert_eq!(record["output"] == record["reference"], index % 10 != 0);
            assert_eq!(
                normal(&record["output"]) == normal(&record["reference"]),
                index % 10 != 0
            );
        }
    }

    #[test]
    fn near_records_differ_in_bytes_and_half_in_words() {
        for (index, record) in records(Kind::Near, 200).iter().enumerate() {
            assert_ne!(
                record["output"].as_str().unwrap().trim(),
                record["reference"].as_str().unwrap().trim()
            );
            assert_eq!(
                normal(&record["output"]) == normal(&record["reference"]),
                index % 2 == 0
            );
        }
    }

    #[test]
    fn answers_are_json_and_contain_their_word() {
        for kind in [Kind::Det, Kind::Near] {
            for record in records(kind, 50) {
                let output = record["output"].as_str().unwrap();
                let answer: Value = serde_json::from_str(output).unwrap();
                assert_eq!(
                    answer["answer"].as_str().unwrap().split(' ').count(),
                    LENGTH
                );
                assert!(
                    output
                        .to_uppercase()
                        .contains(record["contains"].as_str().unwrap())
                );
            }
        }
    }

    #[test]
    fn the_same_load_has_the_same_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = |name: &str| {
            let path = folder.path().join(name);
            write(Kind::Near, 100, &path).unwrap();
            std::fs::read(path).unwrap()
        };
        assert_eq!(bytes("a"), bytes("b"));
    }
}
