//! Classifiers of the user's own: a folder as model hubs lay them out, by candle (safetensors) or ONNX Runtime.
//!
//! A text, or a premise with a hypothesis, goes through the folder's own tokenizer and its model, and comes out as one
//! probability a label. Nothing is downloaded. `folder` finds and hashes the files, `config` reads `config.json`,
//! `encode` makes batches of tokens, `candle` and `onnx` are the two ways to run the model, `model` is
//! what a run asks.

#[cfg(not(all(feature = "candle", feature = "onnx")))]
mod absent;
#[cfg(feature = "candle")]
mod candle;
mod config;
mod encode;
mod error;
mod folder;
pub(crate) mod model;
#[cfg(feature = "onnx")]
mod onnx;

use std::fmt;
use std::path::PathBuf;

pub use error::ClassifierError;

#[cfg(not(feature = "candle"))]
use absent::candle;
#[cfg(not(feature = "onnx"))]
use absent::onnx;
use config::{Config, Outputs};
use encode::{Batch, Encoder};
use folder::{Folder, Weights};

/// Where a classifier stands, and what runs it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ClassifierFiles {
    /// A folder with `config.json`, `tokenizer.json`, and `model.safetensors` (also in shards) or `model.onnx`.
    pub path: PathBuf,
    pub runtime: Runtime,
}

/// What runs a model.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Runtime {
    /// candle for safetensors, else ONNX Runtime: the first for which there are weights and that is built in.
    #[default]
    Auto,
    /// Needs the feature `candle`.
    Candle,
    /// Needs the feature `onnx`.
    Onnx,
}

/// A model that gives each of its labels a probability. Loaded once; it may be asked from several threads.
pub struct Classifier {
    labels: Vec<String>,
    outputs: Outputs,
    encoder: Encoder,
    model: Box<dyn Forward>,
    identity: String,
    path: PathBuf,
}

impl Classifier {
    /// Reads the files and builds the model; everything that is wrong with them is said here.
    pub fn load(files: &ClassifierFiles) -> Result<Self, ClassifierError> {
        let folder = Folder::find(&files.path, files.runtime)?;
        let config = Config::read(&folder.config())?;
        let labels = config.labels()?;
        let outputs = config.outputs(labels.len())?;
        let (encoder, tokenizer_hash) = Encoder::read(&folder, &config)?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(config.hash().as_bytes());
        hasher.update(tokenizer_hash.as_bytes());
        let (name, model) = build(&folder, &config, labels.len(), &mut hasher)?;
        let identity = format!("{name}/{}@{}", config.model_type()?, hasher.finalize());
        Ok(Self {
            labels,
            outputs,
            encoder,
            model,
            identity,
            path: files.path.clone(),
        })
    }

    /// The labels in the model's order.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// What the probabilities depend on: runtime, architecture, and a hash over weights, configuration and tokenizer.
    /// The folder's place is no part of it.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// One probability in \[0, 1\] a label, for each text or pair (premise, hypothesis), in their order. They add up
    /// to 1 where the model knows one of several labels (softmax), and stand each for itself where several may hold
    /// or there is one label alone (sigmoid).
    ///
    /// What is too long loses the end of its first text (or the start, if `tokenizer.json` truncates so), and never
    /// of the second: [`ClassifierError::TooLong`] where that leaves no room.
    pub fn classify(
        &self,
        texts: &[(&str, Option<&str>)],
    ) -> Result<Vec<Vec<f32>>, ClassifierError> {
        let encoded = self.encoder.encode(texts)?;
        let mut answers = vec![Vec::new(); texts.len()];
        for batch in self.encoder.batches(&encoded) {
            let logits = self.logits(&batch)?;
            let rows = logits.chunks_exact(self.labels.len());
            for (&text, logits) in batch.texts.iter().zip(rows) {
                if let Some(answer) = answers.get_mut(text) {
                    *answer = self.outputs.probabilities(logits);
                }
            }
        }
        Ok(answers)
    }

    /// Row by row, all of them finite.
    fn logits(&self, batch: &Batch) -> Result<Vec<f32>, ClassifierError> {
        let logits = self
            .model
            .logits(batch)
            .map_err(|problem| self.failed(problem))?;
        let expected = batch.texts.len() * self.labels.len();
        if logits.len() != expected {
            let got = logits.len();
            return Err(self.failed(format!(
                "the model gave {got} numbers for {} texts, and {expected} were expected: one a label of config.json",
                batch.texts.len()
            )));
        }
        if logits.iter().all(|logit| logit.is_finite()) {
            return Ok(logits);
        }
        Err(self.failed(
            "the model gave a number that is not finite; its weights may be damaged".to_owned(),
        ))
    }

    fn failed(&self, problem: String) -> ClassifierError {
        ClassifierError::Run {
            path: self.path.clone(),
            problem,
        }
    }
}

impl fmt::Debug for Classifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Classifier")
            .field("path", &self.path)
            .field("labels", &self.labels)
            .field("identity", &self.identity)
            .finish_non_exhaustive()
    }
}

/// A model from tokens to logits.
trait Forward: Send + Sync {
    /// One logit a label, row after row; else what went wrong.
    fn logits(&self, batch: &Batch) -> Result<Vec<f32>, String>;
}

/// The model, with the name of what runs it. Its weights go into the hash.
fn build(
    folder: &Folder,
    config: &Config,
    labels: usize,
    hasher: &mut blake3::Hasher,
) -> Result<(&'static str, Box<dyn Forward>), ClassifierError> {
    match &folder.weights {
        Weights::Safetensors(files) => Ok(("candle", candle::load(files, config, labels, hasher)?)),
        Weights::Onnx(file) => Ok(("onnx", onnx::load(file, hasher)?)),
    }
}
