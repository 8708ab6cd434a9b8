//! Runs safetensors by candle, on the processor and in 32 bits, whatever the width that the weights are stored in.
//!
//! Written on candle's layers alone: its ready-made models have no head for classification (BERT, RoBERTa,
//! DistilBERT), panic on configurations that exist (DeBERTa with a convolution), or take other formulas than the
//! models were trained with (DistilBERT's GELU). Names of tensors and formulas are those of `transformers`.

mod bert;
mod deberta;
mod layers;
mod modernbert;
mod weights;

use std::path::PathBuf;

use candle_core::{Device, Tensor};
use candle_nn::VarBuilder;

use super::Forward;
use super::config::Config;
use super::encode::Batch;
use super::error::ClassifierError;
use weights::Stored;

/// candle's, which may fail otherwise too.
type Result<T, E = candle_core::Error> = std::result::Result<T, E>;

/// What makes a model of one architecture, and the tensor whose rows are the labels.
struct Architecture {
    names: &'static [&'static str],
    classifier: &'static str,
    build: fn(&Plan) -> Result<Box<dyn Model>, BuildError>,
}

const ARCHITECTURES: [Architecture; 5] = [
    Architecture {
        names: &["bert"],
        classifier: "classifier.weight",
        build: bert::bert,
    },
    Architecture {
        names: &["roberta", "xlm-roberta"],
        classifier: "classifier.out_proj.weight",
        build: bert::roberta,
    },
    Architecture {
        names: &["distilbert"],
        classifier: "classifier.weight",
        build: bert::distilbert,
    },
    Architecture {
        names: &["deberta-v2"],
        classifier: "classifier.weight",
        build: deberta::build,
    },
    Architecture {
        names: &["modernbert"],
        classifier: "classifier.weight",
        build: modernbert::build,
    },
];

/// What a model is built of.
struct Plan<'a> {
    config: &'a Config,
    labels: usize,
    weights: VarBuilder<'static>,
}

/// A model from tokens to logits.
trait Model: Send + Sync {
    /// \[rows, labels\].
    fn logits(&self, tokens: &Tokens) -> Result<Tensor>;
}

/// A batch as tensors, each of \[rows, width\].
struct Tokens {
    ids: Tensor,
    types: Tensor,
    /// 1 where there is a token, 0 where a row is filled up.
    mask: Tensor,
}

/// Why a model can't be built: its configuration, or weights that don't fit it.
enum BuildError {
    Config(ClassifierError),
    Weights(candle_core::Error),
}

pub(super) fn load(
    files: &[PathBuf],
    config: &Config,
    labels: usize,
    hasher: &mut blake3::Hasher,
) -> Result<Box<dyn Forward>, ClassifierError> {
    let architecture = architecture(config)?;
    let stored = Stored::read(files, hasher)?;
    stored.check_labels(architecture.classifier, labels)?;
    let place = stored.place().to_owned();
    let plan = Plan {
        config,
        labels,
        weights: stored.into_builder(),
    };
    let model = (architecture.build)(&plan).map_err(|error| match error {
        BuildError::Config(error) => error,
        BuildError::Weights(error) => {
            let problem = format!("the weights don't fit config.json: {}", told(&error));
            ClassifierError::file(&place, problem)
        }
    })?;
    Ok(Box::new(Candle(model)))
}

fn architecture(config: &Config) -> Result<&'static Architecture, ClassifierError> {
    let name = config.model_type()?;
    let mut all = ARCHITECTURES.iter();
    let found = all.find(|architecture| architecture.names.contains(&name));
    found.ok_or_else(|| {
        let known = ARCHITECTURES.map(|architecture| architecture.names.join(", "));
        config.error(&format!(
            "`model_type` is `{name}`, and of safetensors these are run: {}; export it to ONNX",
            known.join(", ")
        ))
    })
}

struct Candle(Box<dyn Model>);

impl Forward for Candle {
    fn logits(&self, batch: &Batch) -> Result<Vec<f32>, String> {
        let logits = || {
            let tokens = Tokens::new(batch)?;
            self.0.logits(&tokens)?.flatten_all()?.to_vec1()
        };
        logits().map_err(|error: candle_core::Error| told(&error))
    }
}

impl Tokens {
    fn new(batch: &Batch) -> Result<Self> {
        let shape = (batch.texts.len(), batch.width);
        let tensor = |values: &[u32]| Tensor::from_slice(values, shape, &Device::Cpu);
        Ok(Self {
            ids: tensor(&batch.ids)?,
            types: tensor(&batch.types)?,
            mask: tensor(&batch.mask)?,
        })
    }
}

impl From<ClassifierError> for BuildError {
    fn from(error: ClassifierError) -> Self {
        Self::Config(error)
    }
}

impl From<candle_core::Error> for BuildError {
    fn from(error: candle_core::Error) -> Self {
        Self::Weights(error)
    }
}

/// Its first line: a backtrace may follow.
fn told(error: &candle_core::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
