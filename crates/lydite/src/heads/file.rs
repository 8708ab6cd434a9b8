//! The file of a head, `data/<task>.json`, as `cargo xtask train` writes it and [`super::Head`] reads it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::hashed::Ngrams;
use super::levels::Levels;
use super::packed::Packed;
use super::sigmoid;

/// All that is in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The task.
    pub id: String,
    /// Grows with each change of the coefficients.
    pub version: String,
    /// The model whose embeddings it needs.
    pub embedder: Option<String>,
    pub model: Model,
    pub calibration: Calibration,
    pub levels: Levels,
    /// Measured agreement, by data set and way of leaving data out.
    pub figures: BTreeMap<String, serde_json::Value>,
    pub fitted_on: Vec<FittedOn>,
    pub seed: u64,
}

/// A set that coefficients were fitted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FittedOn {
    pub set: String,
    /// An SPDX expression.
    pub licence: String,
    /// How many labelled examples.
    pub n: usize,
}

/// Platt scaling: the probability of a logit `x` is `sigmoid(slope · x + intercept)`.
///
/// J. Platt, "Probabilistic outputs for support vector machines" (1999), fitted on out-of-fold logits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub slope: f64,
    pub intercept: f64,
}

impl Calibration {
    pub fn probability(&self, logit: f64) -> f64 {
        sigmoid(self.slope.mul_add(logit, self.intercept))
    }
}

/// The kinds of models, of which there is one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Model {
    Linear(Linear),
}

/// Logistic regression: the logit is the bias and the sum of what the blocks give.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linear {
    pub bias: f64,
    #[serde(default)]
    pub features: Vec<Feature>,
    #[serde(default)]
    pub embeddings: Vec<Embedding>,
    #[serde(default)]
    pub ngrams: Vec<NgramBlock>,
}

/// A dense feature, which adds `weight · (value − mean) / scale`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feature {
    pub name: String,
    pub mean: f64,
    pub scale: f64,
    pub weight: f64,
}

/// Weights of the dimensions of a unit embedding, which adds their dot product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Embedding {
    pub name: String,
    pub dims: usize,
    pub weights: Packed,
}

/// Weights of the buckets of a text's hashed n-grams; `name` is that of the text.
///
/// A text may have several blocks, of words and of characters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NgramBlock {
    pub name: String,
    pub grams: Ngrams,
    pub weights: Packed,
}
