//! DeBERTa-v2 and v3 (He et al. 2021, "DeBERTa: Decoding-enhanced BERT with Disentangled Attention"; 2023 for v3):
//! scores also take in how far apart two tokens stand, by vectors of distances that all layers share.

use candle_core::{D, DType, Device, Tensor};
use candle_nn::{
    Conv1d, Conv1dConfig, Embedding, LayerNorm, Linear, Module, VarBuilder, conv1d, embedding,
    layer_norm, linear, linear_no_bias, ops::softmax_last_dim,
};
use serde_json::Value;

use super::super::config::Config;
use super::super::error::ClassifierError;
use super::layers::{Activation, Head, Parts, Sizes, bias, first, flag, float, side_by_side};
use super::{BuildError, Model, Plan, Result, Tokens};

const NORM: f64 = 1e-7;

pub(super) fn build(plan: &Plan) -> Result<Box<dyn Model>, BuildError> {
    let config = plan.config;
    let shape = Shape::read(config)?;
    let weights = plan.weights.pp("deberta");
    let encoder = weights.pp("encoder");
    let embeddings = Embeddings::new(config, &shape, &weights.pp("embeddings"))?;
    let distances = shape.distances.as_ref();
    let vectors = distances
        .map(|distances| distances.vectors(&shape, &encoder))
        .transpose()?;
    let layer = |index: usize| Layer::new(&shape, vectors.as_ref(), &encoder.pp("layer").pp(index));
    let layers = (0..shape.sizes.layers).map(layer).collect::<Result<_>>()?;
    let pooled = config.size_or("pooler_hidden_size", shape.sizes.hidden)?;
    let head = Head {
        dense: linear(pooled, pooled, plan.weights.pp("pooler.dense"))?,
        activation: Activation::read(config, "pooler_hidden_act", Activation::Gelu)?,
        norm: None,
        out: linear(pooled, plan.labels, plan.weights.pp("classifier"))?,
    };
    Ok(Box::new(Deberta {
        embeddings,
        layers,
        convolution: Convolution::new(config, &shape, &encoder)?,
        distances: shape.distances,
        head,
    }))
}

struct Deberta {
    embeddings: Embeddings,
    layers: Vec<Layer>,
    /// Beside the first layer.
    convolution: Option<Convolution>,
    distances: Option<Distances>,
    head: Head,
}

impl Model for Deberta {
    fn logits(&self, tokens: &Tokens) -> Result<Tensor> {
        let mask = tokens.mask.to_dtype(DType::F32)?.unsqueeze(2)?;
        let embedded = self.embeddings.forward(tokens, &mask)?;
        let bias = bias(&tokens.mask)?;
        let width = tokens.ids.dim(1)?;
        let apart = self.distances.as_ref();
        let apart = apart.map(|distances| distances.apart(width)).transpose()?;
        let mut states = embedded.clone();
        for (index, layer) in self.layers.iter().enumerate() {
            states = layer.forward(&states, &bias, apart.as_ref())?;
            if let (0, Some(convolution)) = (index, &self.convolution) {
                states = convolution.forward(&embedded, &states, &mask)?;
            }
        }
        self.head.forward(&first(&states)?)
    }
}

/// What `config.json` says of the layers.
struct Shape {
    sizes: Sizes,
    eps: f64,
    activation: Activation,
    distances: Option<Distances>,
}

impl Shape {
    fn read(config: &Config) -> Result<Self, ClassifierError> {
        let names = [
            "hidden_size",
            "num_attention_heads",
            "num_hidden_layers",
            "intermediate_size",
        ];
        let relative = flag(config, "relative_attention", false)?;
        Ok(Self {
            sizes: Sizes::read(config, names)?,
            eps: float(config, "layer_norm_eps", NORM)?,
            activation: Activation::read(config, "hidden_act", Activation::Gelu)?,
            distances: relative.then(|| Distances::read(config)).transpose()?,
        })
    }
}

struct Embeddings {
    words: Embedding,
    positions: Option<Embedding>,
    types: Option<Embedding>,
    projection: Option<Linear>,
    norm: LayerNorm,
}

impl Embeddings {
    fn new(config: &Config, shape: &Shape, weights: &VarBuilder<'_>) -> Result<Self, BuildError> {
        let hidden = shape.sizes.hidden;
        let size = config.size_or("embedding_size", hidden)?;
        let table = |rows: usize, name: &str| embedding(rows, size, weights.pp(name));
        let positions = config.size_or("max_position_embeddings", 512)?;
        let has_positions = flag(config, "position_biased_input", true)?;
        // 0 types are a valid number, and the usual one.
        let types = match config.get("type_vocab_size").and_then(Value::as_u64) {
            None | Some(0) => 0,
            Some(_) => config.size("type_vocab_size")?,
        };
        let projection = || linear_no_bias(size, hidden, weights.pp("embed_proj"));
        Ok(Self {
            words: table(config.size("vocab_size")?, "word_embeddings")?,
            positions: has_positions
                .then(|| table(positions, "position_embeddings"))
                .transpose()?,
            types: (types > 0)
                .then(|| table(types, "token_type_embeddings"))
                .transpose()?,
            projection: (size != hidden).then(projection).transpose()?,
            norm: layer_norm(hidden, shape.eps, weights.pp("LayerNorm"))?,
        })
    }

    fn forward(&self, tokens: &Tokens, mask: &Tensor) -> Result<Tensor> {
        let mut sum = self.words.forward(&tokens.ids)?;
        if let Some(positions) = &self.positions {
            let numbers = Tensor::arange(0, tokens.ids.dim(1)? as u32, sum.device())?;
            sum = sum.broadcast_add(&positions.forward(&numbers)?)?;
        }
        if let Some(types) = &self.types {
            sum = (sum + types.forward(&tokens.types)?)?;
        }
        if let Some(projection) = &self.projection {
            sum = projection.forward(&sum)?;
        }
        self.norm.forward(&sum)?.broadcast_mul(mask)
    }
}

/// How distances are told apart, and which scores they enter.
#[expect(
    clippy::struct_excessive_bools,
    reason = "switches of the configuration"
)]
struct Distances {
    /// Distances from −span to span − 1 have a vector each; farther ones share the outermost.
    span: usize,
    /// Far distances share vectors by their logarithm.
    buckets: Option<usize>,
    /// The distance at which the outermost bucket is reached.
    farthest: usize,
    content_to_position: bool,
    position_to_content: bool,
    /// Vectors pass the layers' own projections of queries and keys.
    shares_projections: bool,
    norm: bool,
}

impl Distances {
    fn read(config: &Config) -> Result<Self, ClassifierError> {
        let positions = config.size_or("max_position_embeddings", 512)?;
        let farthest = natural(config, "max_relative_positions")?.unwrap_or(positions);
        let buckets = natural(config, "position_buckets")?;
        let kinds = kinds(config)?;
        let has = |kind: &str| kinds.iter().any(|known| known == kind);
        let norm = config.text("norm_rel_ebd")?.unwrap_or("none");
        // Its logarithm is divided by.
        if buckets.is_some_and(|buckets| buckets < 2 || farthest <= buckets / 2 + 1) {
            return Err(config.error(
                "`position_buckets` must be from 2 to less than twice the farthest distance \
                 (`max_relative_positions`, `max_position_embeddings`), or -1 for none",
            ));
        }
        Ok(Self {
            span: buckets.unwrap_or(farthest),
            buckets,
            farthest,
            content_to_position: has("c2p"),
            position_to_content: has("p2c"),
            shares_projections: flag(config, "share_att_key", false)?,
            norm: norm.split('|').any(|kind| kind.trim() == "layer_norm"),
        })
    }

    /// One vector a distance: \[1, 2 × span, hidden\].
    fn vectors(&self, shape: &Shape, weights: &VarBuilder<'_>) -> Result<Tensor> {
        let hidden = shape.sizes.hidden;
        let table = embedding(2 * self.span, hidden, weights.pp("rel_embeddings"))?;
        let vectors = table.embeddings().unsqueeze(0)?;
        if !self.norm {
            return Ok(vectors);
        }
        layer_norm(hidden, shape.eps, weights.pp("LayerNorm"))?.forward(&vectors)
    }

    fn apart(&self, width: usize) -> Result<Apart> {
        let span = self.span as i64;
        let index = |distance: i64| (distance + span).clamp(0, 2 * span - 1) as u32;
        let tensor = |of: &dyn Fn(i64, i64) -> u32| {
            let width = width as i64;
            let rows = (0..width).flat_map(|row| (0..width).map(move |column| (row, column)));
            let values: Vec<u32> = rows.map(|(row, column)| of(row, column)).collect();
            Tensor::from_vec(values, (width as usize, width as usize), &Device::Cpu)
        };
        Ok(Apart {
            of_keys: tensor(&|query, key| index(self.bucket(query - key)))?,
            of_queries: tensor(&|key, query| index(-self.bucket(key - query)))?,
        })
    }

    /// The distance itself up to half of the buckets, from there on by its logarithm. In 32 bits, as the models were
    /// trained: another rounding may be another bucket.
    fn bucket(&self, distance: i64) -> i64 {
        let Some(buckets) = self.buckets else {
            return distance;
        };
        let middle = (buckets / 2) as i64;
        if distance.abs() <= middle {
            return distance;
        }
        let half = middle as f32;
        let far = (distance.abs() as f32 / half).ln();
        let farthest = ((self.farthest as f32 - 1.0) / half).ln();
        let bucket = (far / farthest * (half - 1.0)).ceil() + half;
        bucket as i64 * distance.signum()
    }
}

/// Which vector of distance stands between two tokens.
struct Apart {
    /// \[queries, keys\].
    of_keys: Tensor,
    /// \[keys, queries\].
    of_queries: Tensor,
}

struct Layer {
    heads: usize,
    projection: Linear,
    keys: Option<Tensor>,
    queries: Option<Tensor>,
    mixed: Linear,
    mixed_norm: LayerNorm,
    up: Linear,
    activation: Activation,
    down: Linear,
    norm: LayerNorm,
}

impl Layer {
    fn new(shape: &Shape, vectors: Option<&Tensor>, weights: &VarBuilder<'_>) -> Result<Self> {
        let Sizes {
            hidden,
            heads,
            inner,
            ..
        } = shape.sizes;
        let own = weights.pp("attention.self");
        let names = ["query_proj", "key_proj", "value_proj"];
        let distances = shape.distances.as_ref().zip(vectors);
        // The distances are the same for every text, so they are projected once.
        let project = |asked: fn(&Distances) -> bool, shared: &str, separate: &str| {
            let Some((distances, vectors)) = distances.filter(|(distances, _)| asked(distances))
            else {
                return Ok(None);
            };
            let name = if distances.shares_projections {
                shared
            } else {
                separate
            };
            let projected = linear(hidden, hidden, own.pp(name))?.forward(vectors)?;
            let (_, count, _) = projected.dims3()?;
            let by_head = projected.reshape((1, count, heads, hidden / heads))?;
            by_head.permute((0, 2, 3, 1))?.contiguous().map(Some)
        };
        Ok(Self {
            heads,
            projection: side_by_side(names, hidden, hidden, true, &own)?,
            keys: project(
                |asked| asked.content_to_position,
                "key_proj",
                "pos_key_proj",
            )?,
            queries: project(
                |asked| asked.position_to_content,
                "query_proj",
                "pos_query_proj",
            )?,
            mixed: linear(hidden, hidden, weights.pp("attention.output.dense"))?,
            mixed_norm: layer_norm(hidden, shape.eps, weights.pp("attention.output.LayerNorm"))?,
            up: linear(hidden, inner, weights.pp("intermediate.dense"))?,
            activation: shape.activation,
            down: linear(inner, hidden, weights.pp("output.dense"))?,
            norm: layer_norm(hidden, shape.eps, weights.pp("output.LayerNorm"))?,
        })
    }

    fn forward(&self, states: &Tensor, bias: &Tensor, apart: Option<&Apart>) -> Result<Tensor> {
        let parts = Parts::of(&self.projection.forward(states)?, self.heads)?;
        let mixed = self.mixed.forward(&self.attend(&parts, bias, apart)?)?;
        let states = self.mixed_norm.forward(&(mixed + states)?)?;
        let inner = self.activation.forward(&self.up.forward(&states)?)?;
        self.norm.forward(&(self.down.forward(&inner)? + states)?)
    }

    /// Content to content, content to position and position to content, each over √(size × how many there are).
    fn attend(&self, parts: &Parts, bias: &Tensor, apart: Option<&Apart>) -> Result<Tensor> {
        let kinds = 1 + usize::from(self.keys.is_some()) + usize::from(self.queries.is_some());
        let scale = parts.scale()? / (kinds as f64).sqrt();
        let mut scores = parts.query.matmul(&parts.key.t()?)?;
        if let (Some(keys), Some(apart)) = (&self.keys, apart) {
            scores = (scores + gather(&parts.query, keys, &apart.of_keys)?)?;
        }
        if let (Some(queries), Some(apart)) = (&self.queries, apart) {
            let positions = gather(&parts.key, queries, &apart.of_queries)?;
            scores = (scores + positions.transpose(D::Minus1, D::Minus2)?)?;
        }
        let scores = (scores * scale)?.broadcast_add(bias)?;
        let mixed = softmax_last_dim(&scores)?.matmul(&parts.value)?;
        mixed.transpose(1, 2)?.contiguous()?.flatten_from(2)
    }
}

/// The product of each token with the vector that `index` (\[width, width\]) names for it and another token, of
/// vectors as \[1, heads, size, count\].
fn gather(tokens: &Tensor, vectors: &Tensor, index: &Tensor) -> Result<Tensor> {
    let (rows, heads, width, _) = tokens.dims4()?;
    let products = tokens.broadcast_matmul(vectors)?;
    let index = index
        .broadcast_as((rows, heads, width, width))?
        .contiguous()?;
    products.gather(&index, D::Minus1)
}

/// Neighbours of each token, added to the first layer's output.
struct Convolution {
    layer: Conv1d,
    activation: Activation,
    norm: LayerNorm,
}

impl Convolution {
    fn new(
        config: &Config,
        shape: &Shape,
        weights: &VarBuilder<'_>,
    ) -> Result<Option<Self>, BuildError> {
        let Some(kernel) = natural(config, "conv_kernel_size")? else {
            return Ok(None);
        };
        let hidden = shape.sizes.hidden;
        let groups = config.size_or("conv_groups", 1)?;
        if kernel.is_multiple_of(2) || !hidden.is_multiple_of(groups) {
            let problem = format!(
                "`conv_kernel_size` must be odd, and is {kernel}; `conv_groups` must share out `hidden_size` evenly, \
                 and is {groups}"
            );
            return Err(config.error(&problem).into());
        }
        let weights = weights.pp("conv");
        let options = Conv1dConfig {
            padding: (kernel - 1) / 2,
            groups,
            ..Conv1dConfig::default()
        };
        Ok(Some(Self {
            layer: conv1d(hidden, hidden, kernel, options, weights.pp("conv"))?,
            activation: Activation::read(config, "conv_act", Activation::Tanh)?,
            norm: layer_norm(hidden, shape.eps, weights.pp("LayerNorm"))?,
        }))
    }

    fn forward(&self, embedded: &Tensor, states: &Tensor, mask: &Tensor) -> Result<Tensor> {
        let channels = embedded.transpose(1, 2)?.contiguous()?;
        let near = self.layer.forward(&channels)?.transpose(1, 2)?;
        let near = self
            .activation
            .forward(&near.contiguous()?.broadcast_mul(mask)?)?;
        self.norm.forward(&(states + near)?)?.broadcast_mul(mask)
    }
}

/// A number where one below 1 stands for none.
fn natural(config: &Config, key: &str) -> Result<Option<usize>, ClassifierError> {
    let none = config
        .get(key)
        .and_then(Value::as_i64)
        .is_some_and(|number| number < 1);
    if none || config.get(key).is_none() {
        return Ok(None);
    }
    config.size(key).map(Some)
}

/// `pos_att_type`: a list, or a text with `|` between.
fn kinds(config: &Config) -> Result<Vec<String>, ClassifierError> {
    let split = |text: &str| text.split('|').map(|kind| kind.trim().to_owned()).collect();
    match config.get("pos_att_type") {
        None => Ok(Vec::new()),
        Some(Value::String(kinds)) => Ok(split(kinds)),
        Some(Value::Array(kinds)) => Ok(kinds
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()),
        Some(value) => Err(config.wrong("pos_att_type", "a list of `c2p` and `p2c`", value)),
    }
}
