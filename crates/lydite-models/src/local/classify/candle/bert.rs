//! BERT (Devlin et al. 2019), and what differs from it in names, positions and head alone: RoBERTa, XLM-RoBERTa,
//! DistilBERT.

use candle_core::{D, Tensor};
use candle_nn::{Embedding, LayerNorm, Linear, Module, VarBuilder, embedding, layer_norm, linear};

use super::layers::{Activation, Head, Parts, Sizes, bias, first, float, side_by_side};
use super::{BuildError, Model, Plan, Result, Tokens};

/// What one family calls its parts, in `config.json` and in the weights.
struct Names {
    prefix: &'static str,
    sizes: [&'static str; 4],
    activation: &'static str,
    layer: &'static str,
    attention: [&'static str; 3],
    mixed: &'static str,
    mixed_norm: &'static str,
    up: &'static str,
    down: &'static str,
    norm: &'static str,
    /// The dense layer of the head, which `prefix` comes before or not, and the last layer.
    head: [&'static str; 2],
}

const BERT: Names = Names {
    prefix: "bert",
    sizes: [
        "hidden_size",
        "num_attention_heads",
        "num_hidden_layers",
        "intermediate_size",
    ],
    activation: "hidden_act",
    layer: "encoder.layer",
    attention: [
        "attention.self.query",
        "attention.self.key",
        "attention.self.value",
    ],
    mixed: "attention.output.dense",
    mixed_norm: "attention.output.LayerNorm",
    up: "intermediate.dense",
    down: "output.dense",
    norm: "output.LayerNorm",
    head: ["bert.pooler.dense", "classifier"],
};

const ROBERTA: Names = Names {
    prefix: "roberta",
    head: ["classifier.dense", "classifier.out_proj"],
    ..BERT
};

const DISTILBERT: Names = Names {
    prefix: "distilbert",
    sizes: ["dim", "n_heads", "n_layers", "hidden_dim"],
    activation: "activation",
    layer: "transformer.layer",
    attention: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    mixed: "attention.out_lin",
    mixed_norm: "sa_layer_norm",
    up: "ffn.lin1",
    down: "ffn.lin2",
    norm: "output_layer_norm",
    head: ["pre_classifier", "classifier"],
};

/// DistilBERT has it built in.
const NORM: f64 = 1e-12;

pub(super) fn bert(plan: &Plan) -> Result<Box<dyn Model>, BuildError> {
    build(plan, &BERT, Activation::Tanh, Positions::FromZero)
}

pub(super) fn roberta(plan: &Plan) -> Result<Box<dyn Model>, BuildError> {
    let padding = plan.config.padding()?.unwrap_or(1);
    build(plan, &ROBERTA, Activation::Tanh, Positions::Behind(padding))
}

pub(super) fn distilbert(plan: &Plan) -> Result<Box<dyn Model>, BuildError> {
    build(plan, &DISTILBERT, Activation::Relu, Positions::FromZero)
}

struct Bert {
    words: Embedding,
    positions: Embedding,
    numbering: Positions,
    types: Types,
    norm: LayerNorm,
    layers: Vec<Layer>,
    head: Head,
}

/// How positions are numbered.
#[derive(Clone, Copy)]
enum Positions {
    FromZero,
    /// From the id of padding on, which tokens of padding have themselves.
    Behind(u32),
}

/// What tells the two texts of a pair apart.
enum Types {
    None,
    /// One vector for all.
    One(Tensor),
    ByToken(Embedding),
}

struct Layer {
    heads: usize,
    projection: Linear,
    mixed: Linear,
    mixed_norm: LayerNorm,
    up: Linear,
    activation: Activation,
    down: Linear,
    norm: LayerNorm,
}

fn build(
    plan: &Plan,
    names: &Names,
    head: Activation,
    numbering: Positions,
) -> Result<Box<dyn Model>, BuildError> {
    let config = plan.config;
    if let Some(kind @ ("relative_key" | "relative_key_query")) =
        config.text("position_embedding_type")?
    {
        let problem = format!("`position_embedding_type` is `{kind}`, and only `absolute` is run");
        return Err(config.error(&problem).into());
    }
    let sizes = Sizes::read(config, names.sizes)?;
    let eps = float(config, "layer_norm_eps", NORM)?;
    let activation = Activation::read(config, names.activation, Activation::Gelu)?;
    let weights = plan.weights.pp(names.prefix);
    let embeddings = weights.pp("embeddings");
    let hidden = sizes.hidden;
    let vocabulary = config.size("vocab_size")?;
    let positions = config.size_or("max_position_embeddings", 512)?;
    let layer = |index: usize| {
        let weights = weights.pp(names.layer).pp(index);
        Layer::new(names, &sizes, activation, eps, &weights)
    };
    Ok(Box::new(Bert {
        words: embedding(vocabulary, hidden, embeddings.pp("word_embeddings"))?,
        positions: embedding(positions, hidden, embeddings.pp("position_embeddings"))?,
        numbering,
        types: Types::new(plan, numbering, hidden, &embeddings)?,
        norm: layer_norm(hidden, eps, embeddings.pp("LayerNorm"))?,
        layers: (0..sizes.layers).map(layer).collect::<Result<_>>()?,
        head: Head {
            dense: linear(hidden, hidden, plan.weights.pp(names.head[0]))?,
            activation: head,
            norm: None,
            out: linear(hidden, plan.labels, plan.weights.pp(names.head[1]))?,
        },
    }))
}

impl Model for Bert {
    fn logits(&self, tokens: &Tokens) -> Result<Tensor> {
        let mut states = self.embed(tokens)?;
        let bias = bias(&tokens.mask)?;
        for layer in &self.layers {
            states = layer.forward(&states, &bias)?;
        }
        self.head.forward(&first(&states)?)
    }
}

impl Bert {
    fn embed(&self, tokens: &Tokens) -> Result<Tensor> {
        let words = self.words.forward(&tokens.ids)?;
        let positions = self.positions.forward(&self.numbering.of(&tokens.ids)?)?;
        let sum = words.broadcast_add(&positions)?;
        let sum = match &self.types {
            Types::None => sum,
            Types::One(vector) => sum.broadcast_add(vector)?,
            Types::ByToken(types) => (sum + types.forward(&tokens.types)?)?,
        };
        self.norm.forward(&sum)
    }
}

impl Positions {
    /// \[width\], or \[rows, width\] where they hang on the tokens.
    fn of(self, ids: &Tensor) -> Result<Tensor> {
        let width = ids.dim(D::Minus1)?;
        let Self::Behind(padding) = self else {
            return Tensor::arange(0, width as u32, ids.device());
        };
        let mut positions = Vec::with_capacity(ids.elem_count());
        for row in ids.to_vec2::<u32>()? {
            let mut last = padding;
            positions.extend(row.iter().map(|&id| {
                last += u32::from(id != padding);
                if id == padding { padding } else { last }
            }));
        }
        Tensor::from_vec(positions, ids.shape(), ids.device())
    }
}

impl Types {
    fn new(
        plan: &Plan,
        numbering: Positions,
        hidden: usize,
        weights: &VarBuilder<'_>,
    ) -> Result<Self, BuildError> {
        if !weights.contains_tensor("token_type_embeddings.weight") {
            return Ok(Self::None);
        }
        let count = plan.config.size_or("type_vocab_size", 2)?;
        let types = embedding(count, hidden, weights.pp("token_type_embeddings"))?;
        // Whatever their tokenizers say, RoBERTa's models were trained with type 0 alone.
        if count == 1 || matches!(numbering, Positions::Behind(_)) {
            return Ok(Self::One(types.embeddings().get(0)?));
        }
        Ok(Self::ByToken(types))
    }
}

impl Layer {
    fn new(
        names: &Names,
        sizes: &Sizes,
        activation: Activation,
        eps: f64,
        weights: &VarBuilder<'_>,
    ) -> Result<Self> {
        let Sizes { hidden, inner, .. } = *sizes;
        Ok(Self {
            heads: sizes.heads,
            projection: side_by_side(names.attention, hidden, hidden, true, weights)?,
            mixed: linear(hidden, hidden, weights.pp(names.mixed))?,
            mixed_norm: layer_norm(hidden, eps, weights.pp(names.mixed_norm))?,
            up: linear(hidden, inner, weights.pp(names.up))?,
            activation,
            down: linear(inner, hidden, weights.pp(names.down))?,
            norm: layer_norm(hidden, eps, weights.pp(names.norm))?,
        })
    }

    fn forward(&self, states: &Tensor, bias: &Tensor) -> Result<Tensor> {
        let parts = Parts::of(&self.projection.forward(states)?, self.heads)?;
        let mixed = self.mixed.forward(&parts.attend(parts.scale()?, bias)?)?;
        let states = self.mixed_norm.forward(&(mixed + states)?)?;
        let inner = self.activation.forward(&self.up.forward(&states)?)?;
        self.norm.forward(&(self.down.forward(&inner)? + states)?)
    }
}
