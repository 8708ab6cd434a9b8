//! `config.json`: the labels, what the logits mean, and the numbers of an architecture, each checked when it is read.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::{ClassifierError, read};

/// The largest size that is taken for one: wider than any vocabulary, and products of three still fit a `usize`.
const LARGEST: u64 = 1 << 20;

/// The tokens of a text where nothing says how many a model takes.
const POSITIONS: usize = 512;

/// Models whose positions begin behind the id of padding.
const OFFSET: [&str; 5] = [
    "roberta",
    "xlm-roberta",
    "xlm-roberta-xl",
    "camembert",
    "mpnet",
];

pub(super) struct Config {
    path: PathBuf,
    hash: blake3::Hash,
    values: Map<String, Value>,
}

/// What a model's logits mean.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Outputs {
    /// One of the labels holds.
    OneOf,
    /// Each label holds or not.
    Each,
}

impl Outputs {
    pub(super) fn probabilities(self, logits: &[f32]) -> Vec<f32> {
        match self {
            Self::OneOf => softmax(logits),
            Self::Each => logits.iter().map(|&logit| sigmoid(logit)).collect(),
        }
    }
}

impl Config {
    pub(super) fn read(path: &Path) -> Result<Self, ClassifierError> {
        let bytes = read(path)?;
        let values = serde_json::from_slice(&bytes).map_err(|error| {
            ClassifierError::file(path, format!("it is no object of JSON: {error}"))
        })?;
        Ok(Self {
            path: path.to_owned(),
            hash: blake3::hash(&bytes),
            values,
        })
    }

    pub(super) fn hash(&self) -> blake3::Hash {
        self.hash
    }

    /// The architecture, as `bert`.
    pub(super) fn model_type(&self) -> Result<&str, ClassifierError> {
        self.text("model_type")?
            .ok_or_else(|| self.error("`model_type` is missing, which names the architecture"))
    }

    /// The names of `id2label` in the order of their ids. `transformers` leaves it out where a model has just two
    /// labels without names: `LABEL_0` and `LABEL_1`.
    pub(super) fn labels(&self) -> Result<Vec<String>, ClassifierError> {
        let Some(names) = self.get("id2label") else {
            let count = self.size_or("num_labels", 2)?;
            return Ok((0..count).map(|id| format!("LABEL_{id}")).collect());
        };
        let names = names.as_object().filter(|names| !names.is_empty());
        let names =
            names.ok_or_else(|| self.error("`id2label` must be an object from ids to names"))?;
        (0..names.len())
            .map(|id| match names.get(&id.to_string()) {
                Some(Value::String(name)) => Ok(name.clone()),
                Some(Value::Number(name)) => Ok(name.to_string()),
                _ => Err(self.error(&format!(
                    "`id2label` has {} labels, so it must name those from 0 to {}, and {id} has no name",
                    names.len(),
                    names.len() - 1
                ))),
            })
            .collect()
    }

    /// `problem_type`; without one, one label alone stands for itself, and of several one holds.
    pub(super) fn outputs(&self, labels: usize) -> Result<Outputs, ClassifierError> {
        let problem = self.text("problem_type")?;
        match problem {
            Some("multi_label_classification") => Ok(Outputs::Each),
            _ if labels == 1 => Ok(Outputs::Each),
            None | Some("single_label_classification") => Ok(Outputs::OneOf),
            Some(other) => Err(self.error(&format!(
                "`problem_type` must be single_label_classification or multi_label_classification, and is `{other}`"
            ))),
        }
    }

    /// The most tokens of a text.
    pub(super) fn positions(&self) -> Result<usize, ClassifierError> {
        let positions = self.size_or("max_position_embeddings", POSITIONS)?;
        let offset = if OFFSET.contains(&self.model_type()?) {
            self.padding()?.unwrap_or(1) as usize + 1
        } else {
            0
        };
        Ok(positions.saturating_sub(offset))
    }

    /// The id of the token that fills up short rows.
    pub(super) fn padding(&self) -> Result<Option<u32>, ClassifierError> {
        let Some(value) = self.get("pad_token_id") else {
            return Ok(None);
        };
        let id = value.as_u64().filter(|&id| id < LARGEST);
        let id = id.ok_or_else(|| self.wrong("pad_token_id", "the id of a token", value))?;
        Ok(Some(id as u32))
    }

    /// A whole number from 1 up.
    pub(super) fn size(&self, key: &str) -> Result<usize, ClassifierError> {
        self.optional_size(key)?
            .ok_or_else(|| self.error(&format!("`{key}` is missing")))
    }

    pub(super) fn size_or(&self, key: &str, default: usize) -> Result<usize, ClassifierError> {
        Ok(self.optional_size(key)?.unwrap_or(default))
    }

    fn optional_size(&self, key: &str) -> Result<Option<usize>, ClassifierError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let size = value.as_u64().filter(|size| (1..=LARGEST).contains(size));
        let size =
            size.ok_or_else(|| self.wrong(key, "a whole number from 1 to 1048576", value))?;
        Ok(Some(size as usize))
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, ClassifierError> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let text = value.as_str();
        text.map_or_else(
            || Err(self.wrong(key, "a text", value)),
            |text| Ok(Some(text)),
        )
    }

    /// A value that is there and not null.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn error(&self, problem: &str) -> ClassifierError {
        ClassifierError::file(&self.path, problem)
    }

    pub(super) fn wrong(&self, key: &str, expected: &str, value: &Value) -> ClassifierError {
        let mut shown = value.to_string();
        shown.truncate(shown.floor_char_boundary(80));
        self.error(&format!("`{key}` must be {expected}, and is {shown}"))
    }
}

/// exp(x) / Σ exp(x), from the largest on so that nothing overflows.
fn softmax(logits: &[f32]) -> Vec<f32> {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f64> = logits
        .iter()
        .map(|&logit| f64::from(logit - largest).exp())
        .collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| (power / sum) as f32).collect()
}

fn sigmoid(logit: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(logit)).exp())) as f32
}
