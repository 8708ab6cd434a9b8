//! Logistic regression over dense features, embeddings and hashed n-grams.

use super::hashed::{Ngrams, Scratch};
use super::{HeadError, Inputs, Names, file, places};

/// The weights, in the order of the code's inputs.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    bias: f64,
    features: Vec<file::Feature>,
    embeddings: Vec<Vec<f32>>,
    ngrams: Vec<Block>,
}

#[derive(Clone, Debug)]
struct Block {
    /// Which of the texts.
    text: usize,
    grams: Ngrams,
    weights: Vec<f32>,
}

impl Linear {
    pub(super) fn new(model: &file::Linear, names: &Names<'_>) -> Result<Self, HeadError> {
        if !model.bias.is_finite() {
            return Err(HeadError::NotFinite("the bias".into()));
        }
        Ok(Self {
            bias: model.bias,
            features: features(model, names.dense)?,
            embeddings: embeddings(model, names.embeddings)?,
            ngrams: blocks(model, names.texts)?,
        })
    }

    pub(super) fn logit(&self, inputs: &Inputs<'_>) -> f64 {
        self.bias + self.dense(inputs.dense) + self.embedded(inputs.embeddings) + self.grams(inputs)
    }

    fn dense(&self, values: &[f64]) -> f64 {
        self.features
            .iter()
            .zip(values)
            .filter(|(_, value)| value.is_finite())
            .map(|(feature, value)| feature.weight * (value - feature.mean) / feature.scale)
            .sum()
    }

    fn embedded(&self, vectors: &[&[f32]]) -> f64 {
        self.embeddings
            .iter()
            .zip(vectors)
            .map(|(weights, vector)| dot(weights, vector))
            .sum()
    }

    fn grams(&self, inputs: &Inputs<'_>) -> f64 {
        let mut scratch = Scratch::default();
        let mut sum = 0.0;
        for block in &self.ngrams {
            let text = inputs.texts.get(block.text).copied().unwrap_or_default();
            for (bucket, value) in block.grams.of(text, &mut scratch) {
                let weight = block.weights.get(*bucket as usize).copied();
                sum += f64::from(weight.unwrap_or_default()) * f64::from(*value);
            }
        }
        sum
    }
}

fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum()
}

fn features(model: &file::Linear, names: &[&str]) -> Result<Vec<file::Feature>, HeadError> {
    let in_file = model.features.iter().map(|feature| feature.name.as_str());
    let order = places("dense features", in_file, names)?;
    let features: Vec<file::Feature> = order
        .into_iter()
        .filter_map(|place| model.features.get(place).cloned())
        .collect();
    for feature in &features {
        let file::Feature {
            mean,
            scale,
            weight,
            ..
        } = feature;
        let finite = mean.is_finite() && scale.is_finite() && weight.is_finite();
        if !finite || *scale <= 0.0 {
            return Err(HeadError::NotFinite(feature.name.clone()));
        }
    }
    Ok(features)
}

fn embeddings(model: &file::Linear, names: &[&str]) -> Result<Vec<Vec<f32>>, HeadError> {
    let in_file = model.embeddings.iter().map(|block| block.name.as_str());
    places("embeddings", in_file, names)?
        .into_iter()
        .filter_map(|place| model.embeddings.get(place))
        .map(|block| block.weights.unpack(&block.name, block.dims))
        .collect()
}

/// The n-gram blocks; every text of the code needs one or more, and each one a text of the code.
fn blocks(model: &file::Linear, names: &[&str]) -> Result<Vec<Block>, HeadError> {
    let mut texts: Vec<&str> = Vec::new();
    for block in &model.ngrams {
        if !texts.contains(&block.name.as_str()) {
            texts.push(&block.name);
        }
    }
    places("texts of n-grams", texts.into_iter(), names)?;
    let mut blocks = Vec::with_capacity(model.ngrams.len());
    for block in &model.ngrams {
        block.grams.check(&block.name)?;
        blocks.push(Block {
            text: names
                .iter()
                .position(|name| *name == block.name)
                .unwrap_or_default(),
            grams: block.grams,
            weights: block.weights.unpack(&block.name, block.grams.buckets())?,
        });
    }
    Ok(blocks)
}
