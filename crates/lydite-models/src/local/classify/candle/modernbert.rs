//! ModernBERT (Warner et al. 2024): rotary positions, gated layers, norms before the layers; most layers see
//! only what is near.

use candle_core::{D, DType, Device, Tensor};
use candle_nn::{
    Embedding, LayerNorm, Linear, Module, VarBuilder, embedding, layer_norm, layer_norm_no_bias,
    linear, linear_b, rotary_emb::rope,
};
use serde_json::Value;

use super::super::config::Config;
use super::super::error::ClassifierError;
use super::layers::{Activation, Head, Parts, Sizes, bias, first, flag, float};
use super::{BuildError, Model, Plan, Result, Tokens};

const NORM: f64 = 1e-5;

pub(super) fn build(plan: &Plan) -> Result<Box<dyn Model>, BuildError> {
    let config = plan.config;
    let shape = Shape::read(config)?;
    let weights = plan.weights.pp("model");
    let hidden = shape.sizes.hidden;
    let vocabulary = config.size("vocab_size")?;
    let reaches = reaches(config, shape.sizes.layers)?;
    let layer = |(index, &reach): (usize, &Reach)| {
        Layer::new(&shape, index, reach, &weights.pp("layers").pp(index))
    };
    let layers = reaches
        .iter()
        .enumerate()
        .map(layer)
        .collect::<Result<_>>()?;
    let head = Head {
        dense: linear_b(
            hidden,
            hidden,
            flag(config, "classifier_bias", false)?,
            plan.weights.pp("head.dense"),
        )?,
        activation: Activation::read(config, "classifier_activation", Activation::Gelu)?,
        norm: Some(shape.norm(plan.weights.pp("head.norm"))?),
        out: linear(hidden, plan.labels, plan.weights.pp("classifier"))?,
    };
    Ok(Box::new(ModernBert {
        words: embedding(vocabulary, hidden, weights.pp("embeddings.tok_embeddings"))?,
        words_norm: shape.norm(weights.pp("embeddings.norm"))?,
        layers,
        norm: shape.norm(weights.pp("final_norm"))?,
        everywhere: Rotation::new(config, EVERYWHERE, &shape)?,
        near: Rotation::new(config, NEAR, &shape)?,
        takes_mean: takes_mean(config)?,
        head,
    }))
}

struct ModernBert {
    words: Embedding,
    words_norm: LayerNorm,
    layers: Vec<Layer>,
    norm: LayerNorm,
    everywhere: Rotation,
    near: Rotation,
    /// The head reads the mean of all tokens instead of the first.
    takes_mean: bool,
    head: Head,
}

impl Model for ModernBert {
    fn logits(&self, tokens: &Tokens) -> Result<Tensor> {
        let mut states = self.words_norm.forward(&self.words.forward(&tokens.ids)?)?;
        let bias = bias(&tokens.mask)?;
        let width = tokens.ids.dim(1)?;
        let everywhere = self.everywhere.angles(width)?;
        let near = self.near.angles(width)?;
        for layer in &self.layers {
            let angles = match layer.reach {
                Reach::Everywhere => &everywhere,
                Reach::Near(_) => &near,
            };
            states = layer.forward(&states, &bias, angles)?;
        }
        let states = self.norm.forward(&states)?;
        let pooled = if self.takes_mean {
            mean(&states, &tokens.mask)?
        } else {
            first(&states)?
        };
        self.head.forward(&pooled)
    }
}

struct Shape {
    sizes: Sizes,
    eps: f64,
    activation: Activation,
    attention_bias: bool,
    inner_bias: bool,
    norm_bias: bool,
}

impl Shape {
    fn read(config: &Config) -> Result<Self, ClassifierError> {
        let names = [
            "hidden_size",
            "num_attention_heads",
            "num_hidden_layers",
            "intermediate_size",
        ];
        let sizes = Sizes::read(config, names)?;
        if !(sizes.hidden / sizes.heads).is_multiple_of(2) {
            return Err(config
                .error("`hidden_size` over `num_attention_heads` must be even, to be rotated"));
        }
        Ok(Self {
            sizes,
            eps: float(config, "norm_eps", NORM)?,
            activation: Activation::read(config, "hidden_activation", Activation::Gelu)?,
            attention_bias: flag(config, "attention_bias", false)?,
            inner_bias: flag(config, "mlp_bias", false)?,
            norm_bias: flag(config, "norm_bias", false)?,
        })
    }

    fn norm(&self, weights: VarBuilder<'_>) -> Result<LayerNorm> {
        if self.norm_bias {
            layer_norm(self.sizes.hidden, self.eps, weights)
        } else {
            layer_norm_no_bias(self.sizes.hidden, self.eps, weights)
        }
    }
}

/// How far a layer sees.
#[derive(Clone, Copy)]
enum Reach {
    Everywhere,
    /// So many tokens to either side.
    Near(usize),
}

/// By `layer_types`, or as older configurations have it: each n-th layer sees everything, from the first on.
fn reaches(config: &Config, layers: usize) -> Result<Vec<Reach>, ClassifierError> {
    let near = Reach::Near(config.size_or("local_attention", 128)? / 2);
    let every = config.size_or("global_attn_every_n_layers", 3)?;
    let reach = |everywhere: bool| if everywhere { Reach::Everywhere } else { near };
    let Some(types) = config.get("layer_types") else {
        return Ok((0..layers)
            .map(|index| reach(index.is_multiple_of(every)))
            .collect());
    };
    let wrong = || {
        config.wrong(
            "layer_types",
            "one of full_attention, sliding_attention for each layer",
            types,
        )
    };
    let types = types
        .as_array()
        .filter(|types| types.len() == layers)
        .ok_or_else(wrong)?;
    let read = |kind: &Value| match kind.as_str() {
        Some("full_attention") => Ok(reach(true)),
        Some("sliding_attention") => Ok(reach(false)),
        _ => Err(wrong()),
    };
    types.iter().map(read).collect()
}

fn takes_mean(config: &Config) -> Result<bool, ClassifierError> {
    match config.text("classifier_pooling")? {
        None | Some("cls") => Ok(false),
        Some("mean") => Ok(true),
        Some(other) => Err(config.error(&format!(
            "`classifier_pooling` must be cls or mean, and is `{other}`"
        ))),
    }
}

/// Where the base of a rotation stands in `config.json`: under its kind of layer, or by itself in older ones.
#[derive(Clone, Copy)]
struct Base {
    kind: &'static str,
    key: &'static str,
    default: f64,
}

const EVERYWHERE: Base = Base {
    kind: "full_attention",
    key: "global_rope_theta",
    default: 160_000.0,
};

const NEAR: Base = Base {
    kind: "sliding_attention",
    key: "local_rope_theta",
    default: 10_000.0,
};

/// Rotary positions (Su et al. 2021): pairs of numbers are turned by angles that grow with the position.
struct Rotation {
    /// Angle a position, one a pair: base^(−2i / size).
    steps: Vec<f32>,
}

impl Rotation {
    fn new(config: &Config, base: Base, shape: &Shape) -> Result<Self, ClassifierError> {
        let parameters = config
            .get("rope_parameters")
            .and_then(|all| all.get(base.kind));
        let theta = match parameters {
            None => float(config, base.key, base.default)?,
            Some(own) => {
                let theta = own.get("rope_theta").and_then(Value::as_f64);
                let plain = own.get("rope_type").is_none_or(|kind| kind == "default");
                theta.filter(|theta| plain && *theta > 0.0).ok_or_else(|| {
                    config.wrong(
                        "rope_parameters",
                        "of type default with a `rope_theta` above 0",
                        own,
                    )
                })?
            }
        };
        let size = shape.sizes.hidden / shape.sizes.heads;
        let step = |index: usize| theta.powf(-(index as f64) / size as f64) as f32;
        Ok(Self {
            steps: (0..size).step_by(2).map(step).collect(),
        })
    }

    fn angles(&self, width: usize) -> Result<Angles> {
        let step = Tensor::from_slice(&self.steps, (1, self.steps.len()), &Device::Cpu)?;
        let positions = Tensor::arange(0u32, width as u32, &Device::Cpu)?;
        let positions = positions.to_dtype(DType::F32)?.reshape((width, 1))?;
        let angles = positions.broadcast_mul(&step)?;
        Ok(Angles {
            cos: angles.cos()?,
            sin: angles.sin()?,
        })
    }
}

/// Each of \[width, size / 2\].
struct Angles {
    cos: Tensor,
    sin: Tensor,
}

struct Layer {
    reach: Reach,
    heads: usize,
    /// The first layer has none.
    norm: Option<LayerNorm>,
    projection: Linear,
    mixed: Linear,
    inner_norm: LayerNorm,
    up: Linear,
    activation: Activation,
    down: Linear,
}

impl Layer {
    fn new(shape: &Shape, index: usize, reach: Reach, weights: &VarBuilder<'_>) -> Result<Self> {
        let Sizes {
            hidden,
            heads,
            inner,
            ..
        } = shape.sizes;
        let norm = || shape.norm(weights.pp("attn_norm"));
        Ok(Self {
            reach,
            heads,
            norm: (index > 0).then(norm).transpose()?,
            projection: linear_b(
                hidden,
                3 * hidden,
                shape.attention_bias,
                weights.pp("attn.Wqkv"),
            )?,
            mixed: linear_b(hidden, hidden, shape.attention_bias, weights.pp("attn.Wo"))?,
            inner_norm: shape.norm(weights.pp("mlp_norm"))?,
            up: linear_b(hidden, 2 * inner, shape.inner_bias, weights.pp("mlp.Wi"))?,
            activation: shape.activation,
            down: linear_b(inner, hidden, shape.inner_bias, weights.pp("mlp.Wo"))?,
        })
    }

    fn forward(&self, states: &Tensor, bias: &Tensor, angles: &Angles) -> Result<Tensor> {
        let normed = match &self.norm {
            Some(norm) => norm.forward(states)?,
            None => states.clone(),
        };
        let states = (states + self.mixed.forward(&self.attend(&normed, bias, angles)?)?)?;
        let gated = self.up.forward(&self.inner_norm.forward(&states)?)?;
        let half = gated.dim(D::Minus1)? / 2;
        let inner = self
            .activation
            .forward(&gated.narrow(D::Minus1, 0, half)?)?;
        let inner = (inner * gated.narrow(D::Minus1, half, half)?)?;
        states + self.down.forward(&inner)?
    }

    fn attend(&self, states: &Tensor, bias: &Tensor, angles: &Angles) -> Result<Tensor> {
        let parts = Parts::of(&self.projection.forward(states)?, self.heads)?;
        let parts = Parts {
            query: rope(&parts.query, &angles.cos, &angles.sin)?,
            key: rope(&parts.key, &angles.cos, &angles.sin)?,
            value: parts.value,
        };
        match self.reach {
            Reach::Everywhere => parts.attend(parts.scale()?, bias),
            Reach::Near(window) => parts.attend_near(parts.scale()?, bias, window),
        }
    }
}

/// Of the tokens that the mask counts.
fn mean(states: &Tensor, mask: &Tensor) -> Result<Tensor> {
    let mask = mask.to_dtype(DType::F32)?;
    let sum = states.broadcast_mul(&mask.unsqueeze(2)?)?.sum(1)?;
    sum.broadcast_div(&mask.sum_keepdim(1)?)
}
