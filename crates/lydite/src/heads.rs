//! Heads: small models of our own that answer one question about a text, with a probability.
//!
//! A head takes features that our own code computes (how much of the reference is in the answer, what the
//! embedder makes of it, which character n-grams occur) and weighs them by coefficients that were fitted once
//! on labelled data: logistic regression. `cargo xtask train TASK` fits it *with the
//! same code that scores*, and writes `data/<task>.json` (the coefficients) and `docs/heads/<task>.md` (the
//! model card: data, licences, split, figures, limits). No text of the data is in either.
//!
//! A head is *selective*. Its probability is calibrated, and it gives a verdict only from the levels on at
//! which it was right often enough on data left out of the fitting; between them it says inconclusive.
//!
//! # Adding one
//!
//! One file a task beside this one's others: what it needs embedded, its features and their [`Names`], and
//!
//! ```ignore
//! static HEAD: LazyLock<Result<Head, HeadError>> =
//!     LazyLock::new(|| Head::parse(include_str!("data/refusal.json"), &NAMES));
//! ```
//!
//! which the evaluator's `prepare` looks at, so that a broken file is an error before the run and no panic. A
//! test of each task loads its file. Before the first fit the file holds `{}`.

mod error;
pub mod file;
pub mod grounding;
pub mod hashed;
pub mod levels;
pub mod linear;
pub mod matching;
pub mod packed;
pub mod refusal;
pub mod toxicity;

pub use error::HeadError;
pub use file::File;
pub use levels::Levels;

use linear::Linear;

use crate::outcome::{Evidence, Verdict};

/// The names of what a task's code hands to its head, in the order in which it hands it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names<'n> {
    /// Of [`Inputs::dense`].
    pub dense: &'n [&'n str],
    /// Of [`Inputs::embeddings`].
    pub embeddings: &'n [&'n str],
    /// Of [`Inputs::texts`].
    pub texts: &'n [&'n str],
}

/// What one answer gives a head.
///
/// What is missing at the end of a list counts as 0 (a dense feature: as its mean), and what is too much is
/// not looked at; so does a dense feature that is not finite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inputs<'i> {
    pub dense: &'i [f64],
    /// Unit vectors.
    pub embeddings: &'i [&'i [f32]],
    /// Texts whose n-grams are hashed.
    pub texts: &'i [&'i str],
}

/// A fitted model, ready to score.
#[derive(Clone, Debug)]
pub struct Head {
    file: File,
    model: Linear,
}

impl Head {
    /// Reads the JSON text of a head's file and brings its features into the order of the code.
    ///
    /// Fails where the text is no such file, where its features are not exactly those that the code names,
    /// and where its numbers make no model (a scale of 0, levels out of order).
    pub fn parse(json: &str, names: &Names<'_>) -> Result<Self, HeadError> {
        let file: File = serde_json::from_str(json).map_err(HeadError::Json)?;
        Self::new(file, names)
    }

    /// The same from a file that is at hand.
    pub fn new(file: File, names: &Names<'_>) -> Result<Self, HeadError> {
        file.levels.check()?;
        if !(file.calibration.slope.is_finite() && file.calibration.intercept.is_finite()) {
            return Err(HeadError::NotFinite("calibration".into()));
        }
        let file::Model::Linear(model) = &file.model;
        let model = Linear::new(model, names)?;
        Ok(Self { file, model })
    }

    /// The model's own output before calibration: the log of the odds.
    pub fn logit(&self, inputs: &Inputs<'_>) -> f64 {
        self.model.logit(inputs)
    }

    /// The calibrated probability, in `[0, 1]`.
    pub fn probability(&self, inputs: &Inputs<'_>) -> f64 {
        self.file.calibration.probability(self.logit(inputs))
    }

    /// What a probability says where nobody set a threshold.
    pub fn verdict(&self, probability: f64) -> Verdict {
        self.file.levels.verdict(probability)
    }

    /// What it was fitted on, its figures and all else that its file says.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Evidence of kind `method`: which head this is, and how often its verdicts were right where it gave one.
    ///
    /// `verdict` is the head's own, before any negation by the evaluator.
    pub fn evidence(&self, verdict: Verdict) -> Evidence {
        let File {
            id,
            version,
            embedder,
            levels,
            ..
        } = &self.file;
        let accuracy = match verdict {
            Verdict::Pass => levels.accuracy_pass,
            Verdict::Fail => levels.accuracy_fail,
            _ => None,
        };
        let evidence = Evidence::new("method")
            .set("name", id.as_str())
            .set("version", version.as_str())
            .set("embedder", embedder.as_deref())
            .set("coverage", levels.coverage);
        match accuracy {
            Some(accuracy) => evidence.set("accuracy", accuracy),
            None => evidence,
        }
    }
}

/// The logistic function, `1 / (1 + e^-x)`.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// For each name of the code its place in the file; an error unless both hold the same names, once each.
fn places<'f>(
    kind: &'static str,
    file: impl Iterator<Item = &'f str>,
    code: &[&str],
) -> Result<Vec<usize>, HeadError> {
    let file: Vec<&str> = file.collect();
    let mismatch = || HeadError::Names {
        kind,
        file: file.join(", "),
        code: code.join(", "),
    };
    if file.len() != code.len() {
        return Err(mismatch());
    }
    let mut places: Vec<usize> = Vec::with_capacity(code.len());
    for name in code {
        let place = file.iter().position(|other| other == name);
        match place {
            Some(place) if !places.contains(&place) => places.push(place),
            _ => return Err(mismatch()),
        }
    }
    Ok(places)
}

#[cfg(test)]
mod tests;
