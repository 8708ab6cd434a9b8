//! What the architectures share: attention, activations, reading sizes.

use candle_core::{D, DType, Tensor};
use candle_nn::{LayerNorm, Linear, Module, VarBuilder, ops::softmax_last_dim};
use serde_json::Value;

use super::super::config::Config;
use super::super::error::ClassifierError;
use super::Result;

/// Added to scores that must not count. Finite, so that a row where nothing counts is no NaN; half of the range, so
/// that two may add up.
const MASKED: f64 = -1e38;

/// Queries that are scored at once, where a text is long: bounds the matrix of scores.
const QUERIES: usize = 512;

/// The width of a model, its heads, layers, and the width between.
pub(super) struct Sizes {
    pub(super) hidden: usize,
    pub(super) heads: usize,
    pub(super) layers: usize,
    pub(super) inner: usize,
}

impl Sizes {
    /// By the names that `config.json` has for these four, in their order.
    pub(super) fn read(config: &Config, names: [&str; 4]) -> Result<Self, ClassifierError> {
        let [hidden, heads, layers, inner] = names;
        let sizes = Self {
            hidden: config.size(hidden)?,
            heads: config.size(heads)?,
            layers: config.size(layers)?,
            inner: config.size(inner)?,
        };
        if sizes.hidden.is_multiple_of(sizes.heads) {
            return Ok(sizes);
        }
        Err(config.error(&format!(
            "`{hidden}` is {}, which {} heads (`{heads}`) can't share out evenly",
            sizes.hidden, sizes.heads
        )))
    }
}

pub(super) fn float(config: &Config, key: &str, default: f64) -> Result<f64, ClassifierError> {
    let Some(value) = config.get(key) else {
        return Ok(default);
    };
    let number = value.as_f64().filter(|number| *number > 0.0);
    number.ok_or_else(|| config.wrong(key, "a number above 0", value))
}

pub(super) fn flag(config: &Config, key: &str, default: bool) -> Result<bool, ClassifierError> {
    match config.get(key) {
        None => Ok(default),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(value) => Err(config.wrong(key, "true or false", value)),
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Activation {
    Gelu,
    /// By tanh.
    GeluNew,
    Relu,
    Silu,
    Tanh,
}

impl Activation {
    pub(super) fn read(config: &Config, key: &str, default: Self) -> Result<Self, ClassifierError> {
        match config.text(key)? {
            None => Ok(default),
            Some("gelu") => Ok(Self::Gelu),
            Some("gelu_new" | "gelu_pytorch_tanh" | "gelu_fast") => Ok(Self::GeluNew),
            Some("relu") => Ok(Self::Relu),
            Some("silu" | "swish") => Ok(Self::Silu),
            Some("tanh") => Ok(Self::Tanh),
            Some(other) => Err(config.error(&format!(
                "`{key}` must be gelu, gelu_new, relu, silu or tanh, and is `{other}`"
            ))),
        }
    }
}

impl Module for Activation {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Gelu => x.gelu_erf(),
            Self::GeluNew => x.gelu(),
            Self::Relu => x.relu(),
            Self::Silu => x.silu(),
            Self::Tanh => x.tanh(),
        }
    }
}

/// Two layers and a function between.
pub(super) struct Head {
    pub(super) dense: Linear,
    pub(super) activation: Activation,
    pub(super) norm: Option<LayerNorm>,
    pub(super) out: Linear,
}

impl Module for Head {
    fn forward(&self, x: &Tensor) -> Result<Tensor> {
        let x = self.activation.forward(&self.dense.forward(x)?)?;
        let x = match &self.norm {
            Some(norm) => norm.forward(&x)?,
            None => x,
        };
        self.out.forward(&x)
    }
}

/// Queries, keys and values of all heads, each of \[rows, heads, width, size\].
pub(super) struct Parts {
    pub(super) query: Tensor,
    pub(super) key: Tensor,
    pub(super) value: Tensor,
}

impl Parts {
    /// Of \[rows, width, 3 × hidden\].
    pub(super) fn of(projected: &Tensor, heads: usize) -> Result<Self> {
        let (rows, width, size) = projected.dims3()?;
        let parts = projected
            .reshape((rows, width, 3, heads, size / 3 / heads))?
            .permute((2, 0, 3, 1, 4))?;
        Ok(Self {
            query: parts.get(0)?.contiguous()?,
            key: parts.get(1)?.contiguous()?,
            value: parts.get(2)?.contiguous()?,
        })
    }

    /// One over the square root of a head's size.
    pub(super) fn scale(&self) -> Result<f64> {
        Ok((self.query.dim(D::Minus1)? as f64).sqrt().recip())
    }

    /// softmax(q kᵀ × scale + bias) v, as \[rows, width, hidden\] ("Attention Is All You Need", formula 1). The bias
    /// is broadcast over \[rows, heads, queries, keys\].
    pub(super) fn attend(&self, scale: f64, bias: &Tensor) -> Result<Tensor> {
        let width = self.query.dim(2)?;
        self.in_pieces(scale, bias, width)
    }

    /// The same where each token sees those at most `window` away. Needs the memory of some queries at a time.
    pub(super) fn attend_near(&self, scale: f64, bias: &Tensor, window: usize) -> Result<Tensor> {
        self.in_pieces(scale, bias, window)
    }

    fn in_pieces(&self, scale: f64, bias: &Tensor, window: usize) -> Result<Tensor> {
        let width = self.query.dim(2)?;
        let piece =
            |start: usize| {
                let queries = QUERIES.min(width - start);
                let first = start.saturating_sub(window);
                let keys = width.min(start + queries + window) - first;
                let query = self.query.narrow(2, start, queries)?.contiguous()?;
                let key = self.key.narrow(2, first, keys)?.contiguous()?;
                let value = self.value.narrow(2, first, keys)?.contiguous()?;
                let mut scores = (query.matmul(&key.t()?)? * scale)?
                    .broadcast_add(&bias.narrow(D::Minus1, first, keys)?)?;
                if window < width {
                    let far = far(start..start + queries, first..first + keys, window, &scores)?;
                    scores = scores.broadcast_add(&far)?;
                }
                softmax_last_dim(&scores)?.matmul(&value)
            };
        let pieces = (0..width).step_by(QUERIES).map(piece);
        let mixed = Tensor::cat(&pieces.collect::<Result<Vec<_>>>()?, 2)?;
        mixed.transpose(1, 2)?.contiguous()?.flatten_from(2)
    }
}

/// \[queries, keys\]: 0 where they stand at most `window` apart.
fn far(
    queries: std::ops::Range<usize>,
    keys: std::ops::Range<usize>,
    window: usize,
    like: &Tensor,
) -> Result<Tensor> {
    let shape = (queries.len(), keys.len());
    let bias: Vec<f32> = queries
        .flat_map(|query| {
            keys.clone().map(move |key| {
                if query.abs_diff(key) > window {
                    MASKED as f32
                } else {
                    0.0
                }
            })
        })
        .collect();
    Tensor::from_vec(bias, shape, like.device())
}

/// A mask of \[rows, width\] as a bias of scores: \[rows, 1, 1, width\].
pub(super) fn bias(mask: &Tensor) -> Result<Tensor> {
    let absent = (1.0 - mask.to_dtype(DType::F32)?)?;
    (absent * MASKED)?.unsqueeze(1)?.unsqueeze(1)
}

/// Layers of one input as one: their outputs side by side.
pub(super) fn side_by_side(
    names: [&str; 3],
    input: usize,
    output: usize,
    has_bias: bool,
    weights: &VarBuilder<'_>,
) -> Result<Linear> {
    let gather = |shape: &[usize], part: &str| {
        let parts = names.map(|name| weights.pp(name).get(shape, part));
        let parts = parts.into_iter().collect::<Result<Vec<_>>>()?;
        Tensor::cat(&parts, 0)
    };
    let bias = has_bias.then(|| gather(&[output], "bias")).transpose()?;
    Ok(Linear::new(gather(&[output, input], "weight")?, bias))
}

/// The first token of each row: \[rows, hidden\].
pub(super) fn first(states: &Tensor) -> Result<Tensor> {
    states.narrow(1, 0, 1)?.squeeze(1)?.contiguous()
}
