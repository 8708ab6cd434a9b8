//! The forward pass of an encoder of BERT's shape (Devlin et al. 2019, arXiv:1810.04805).
//!
//! Texts stand one after the other as rows, a row a word piece, none padded: linear layers and normalisations do not
//! care where a text ends, and attention goes text by text.

use std::fmt;

use pulp::Arch;

use super::attention::{Attend, Scratch};
use super::config::Config;
use super::error::LocalError;
use super::kernel::{Finish, Multiply};
use super::math::{AddNormalize, Norm};
use super::pack::{Aligned, Matrix, lanes};
use super::parallel;
use super::weights::{Place, Reader, Weights};

/// An encoder's weights.
pub(super) struct Bert {
    arch: Arch,
    config: Config,
    /// `vocabulary` × `hidden`.
    words: Vec<f32>,
    /// `longest` × `hidden`: the vector of a place, plus that of the first segment.
    places: Vec<f32>,
    norm: Norm,
    layers: Vec<Layer>,
}

/// One layer of the encoder.
#[derive(Debug)]
struct Layer {
    /// `hidden` → queries (scaled by 1 / √head), keys, values.
    mix: Matrix,
    mixed: Matrix,
    mixed_norm: Norm,
    /// `hidden` → `inner`.
    up: Matrix,
    /// `inner` → `hidden`.
    down: Matrix,
    norm: Norm,
}

/// A thread's memory, used again for every batch.
#[derive(Debug, Default)]
pub(super) struct Work {
    /// Rows of `hidden`: what goes through the layers.
    rows: Aligned,
    /// Rows of `hidden`: what is added to `rows` next.
    added: Aligned,
    /// Rows of 3 · `hidden`: queries, keys, values.
    mixes: Aligned,
    /// Rows of `hidden`: what attention gives.
    attended: Aligned,
    /// Rows of `inner`.
    inner: Aligned,
    attention: Scratch,
}

impl Bert {
    /// Reads the weights, by `threads` threads.
    pub(super) fn load(
        config: Config,
        weights: &Weights,
        arch: Arch,
        threads: usize,
    ) -> Result<Self, LocalError> {
        let hidden = config.hidden;
        let first = weights.place(
            "embeddings.word_embeddings.weight",
            &[config.vocabulary, hidden],
        )?;
        let mut reader = weights.reader();
        let places = read_places(&mut reader, &config)?;
        let norm = read_norm(&mut reader, "embeddings.LayerNorm", &config)?;
        let mut words = vec![0.0; config.vocabulary * hidden];
        let layers = read_side_by_side(&config, weights, arch, threads, first, &mut words)?;
        Ok(Self {
            arch,
            words,
            places,
            norm,
            layers,
            config,
        })
    }

    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The vectors of all pieces of all texts: a row of `hidden` numbers a piece, text after text.
    ///
    /// Texts have 1 to [`Config::longest`] pieces, whose numbers are below the vocabulary's size.
    pub(super) fn forward<'w>(&self, texts: &[&[u32]], work: &'w mut Work) -> &'w [f32] {
        let (hidden, inner) = (self.config.hidden, self.config.inner);
        let count: usize = texts.iter().map(|text| text.len()).sum();
        let rows = work.rows.at_least(count * hidden);
        let added = work.added.at_least(count * hidden);
        let mixes = work.mixes.at_least(count * 3 * hidden);
        let attended = work.attended.at_least(count * hidden);
        let inner = work.inner.at_least(count * inner);
        self.look_up(texts, rows, added);
        self.add_normalize(rows, added, &self.norm);
        for layer in &self.layers {
            self.linear(rows, &layer.mix, Finish::Nothing, mixes);
            self.attend(texts, mixes, &mut work.attention, attended);
            self.linear(attended, &layer.mixed, Finish::Nothing, added);
            self.add_normalize(rows, added, &layer.mixed_norm);
            self.linear(rows, &layer.up, Finish::Gelu, inner);
            self.linear(inner, &layer.down, Finish::Nothing, added);
            self.add_normalize(rows, added, &layer.norm);
        }
        rows
    }

    fn look_up(&self, texts: &[&[u32]], rows: &mut [f32], added: &mut [f32]) {
        let hidden = self.config.hidden;
        let places = texts
            .iter()
            .flat_map(|text| text.iter().zip(self.places.chunks_exact(hidden)));
        let outs = rows
            .chunks_exact_mut(hidden)
            .zip(added.chunks_exact_mut(hidden));
        for ((id, place), (row, added)) in places.zip(outs) {
            let begin = *id as usize * hidden;
            if let Some(word) = self.words.get(begin..begin + hidden) {
                row.copy_from_slice(word);
            }
            added.copy_from_slice(place);
        }
    }

    fn attend(
        &self,
        texts: &[&[u32]],
        mut mixes: &[f32],
        scratch: &mut Scratch,
        mut out: &mut [f32],
    ) {
        let hidden = self.config.hidden;
        for text in texts {
            let (inputs, later_mixes) = mixes.split_at(text.len() * 3 * hidden);
            let (attended, later_out) = out.split_at_mut(text.len() * hidden);
            self.arch.dispatch(Attend {
                inputs,
                hidden,
                head: self.config.head(),
                scratch: &mut *scratch,
                out: attended,
            });
            (mixes, out) = (later_mixes, later_out);
        }
    }

    fn linear(&self, rows: &[f32], layer: &Matrix, finish: Finish<'_>, out: &mut [f32]) {
        self.arch
            .dispatch(Multiply::linear(rows, layer, finish, out));
    }

    fn add_normalize(&self, rows: &mut [f32], added: &[f32], norm: &Norm) {
        self.arch.dispatch(AddNormalize { rows, added, norm });
    }
}

impl fmt::Debug for Bert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bert")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

/// Rows of the vocabulary's table that one thread reads at a time.
const TABLE_PART: usize = 4096;

/// Reads the layers and the vocabulary's table at the same time.
fn read_side_by_side(
    config: &Config,
    weights: &Weights,
    arch: Arch,
    threads: usize,
    first_word: Place,
    words: &mut [f32],
) -> Result<Vec<Layer>, LocalError> {
    enum Task<'a> {
        Layer(usize),
        Words(Place, &'a mut [f32]),
    }
    let part = TABLE_PART * config.hidden;
    let layers = (0..config.layers).map(Task::Layer);
    let parts = words.chunks_mut(part).enumerate();
    let parts = parts.map(|(index, words)| Task::Words(first_word.skip(index * part), words));
    let read = |reader: &mut Reader<'_>, task: Task<'_>| match task {
        Task::Layer(index) => read_layer(reader, config, lanes(arch), index).map(Some),
        Task::Words(place, words) => reader.fill(place, words).map(|()| None),
    };
    let done = parallel::map(
        threads,
        layers.chain(parts).collect(),
        || weights.reader(),
        read,
    );
    done.into_iter().filter_map(Result::transpose).collect()
}

fn read_places(reader: &mut Reader<'_>, config: &Config) -> Result<Vec<f32>, LocalError> {
    let hidden = config.hidden;
    let segments = reader.tensor(
        "embeddings.token_type_embeddings.weight",
        &[config.segments, hidden],
    )?;
    let mut places = reader.tensor(
        "embeddings.position_embeddings.weight",
        &[config.positions, hidden],
    )?;
    places.truncate(config.longest() * hidden);
    for place in places.chunks_exact_mut(hidden) {
        place
            .iter_mut()
            .zip(&segments)
            .for_each(|(number, segment)| *number += segment);
    }
    Ok(places)
}

fn read_norm(reader: &mut Reader<'_>, name: &str, config: &Config) -> Result<Norm, LocalError> {
    Ok(Norm {
        gain: reader.tensor(&format!("{name}.weight"), &[config.hidden])?,
        shift: reader.tensor(&format!("{name}.bias"), &[config.hidden])?,
        epsilon: config.epsilon,
    })
}

fn read_layer(
    reader: &mut Reader<'_>,
    config: &Config,
    lanes: usize,
    index: usize,
) -> Result<Layer, LocalError> {
    let (hidden, inner) = (config.hidden, config.inner);
    let name = |part: &str| format!("encoder.layer.{index}.{part}");
    let scale = (config.head() as f32).sqrt().recip();
    let mut linear = |inputs: usize, outputs: usize, parts: &[(&str, f32)]| {
        let mut matrix = Matrix::new(lanes, inputs, outputs * parts.len());
        for (place, (part, scale)) in parts.iter().enumerate() {
            let weight = reader.tensor(&name(&format!("{part}.weight")), &[outputs, inputs])?;
            let bias = reader.tensor(&name(&format!("{part}.bias")), &[outputs])?;
            matrix.put(place * outputs, &weight, &bias, *scale);
        }
        Ok::<_, LocalError>(matrix)
    };
    let mix = [
        ("attention.self.query", scale),
        ("attention.self.key", 1.0),
        ("attention.self.value", 1.0),
    ];
    Ok(Layer {
        mix: linear(hidden, hidden, &mix)?,
        mixed: linear(hidden, hidden, &[("attention.output.dense", 1.0)])?,
        up: linear(hidden, inner, &[("intermediate.dense", 1.0)])?,
        down: linear(inner, hidden, &[("output.dense", 1.0)])?,
        mixed_norm: read_norm(reader, &name("attention.output.LayerNorm"), config)?,
        norm: read_norm(reader, &name("output.LayerNorm"), config)?,
    })
}
