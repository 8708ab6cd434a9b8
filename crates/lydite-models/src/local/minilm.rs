//! Vectors of texts by a sentence encoder such as all-MiniLM-L6-v2.

use std::fs;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use pulp::Arch;

use super::bert::{Bert, Work};
use super::config::Config;
use super::error::LocalError;
use super::parallel;
use super::pieces::{Cut, Pieces};
use super::weights::Weights;

/// A sentence encoder of BERT's shape with mean pooling, such as all-MiniLM-L6-v2.
///
/// A text is lower-cased and cut into word pieces, of which the first 256 are read ([CLS] and [SEP] included; fewer
/// where the model knows fewer places). Its vector is the mean over the vectors of all pieces (Reimers and Gurevych
/// 2019, arXiv:1908.10084), scaled to length 1. A text's vector is the same to the last bit whatever texts it is
/// embedded with and by however many threads; processors with other vectors round otherwise, by some 1e-7.
#[derive(Debug)]
pub struct MiniLm {
    pieces: Pieces,
    bert: Bert,
    threads: usize,
}

/// The vectors of a text's word pieces, without [CLS] and [SEP].
#[derive(Debug, Clone, PartialEq)]
pub struct TokenVectors {
    /// Where each piece stands in the text, in Unicode scalar values, in order. A text's pieces behind the 256th are
    /// not there; spaces belong to none.
    pub spans: Vec<Range<usize>>,
    /// [`MiniLm::dimensions`] numbers a piece, piece after piece; each piece's vector is of length 1.
    pub vectors: Vec<f32>,
}

impl MiniLm {
    /// Reads `config.json`, `tokenizer.json` and `model.safetensors` in a folder.
    ///
    /// # Errors
    /// Where a file is missing, damaged, or describes a network that is computed otherwise.
    pub fn load(folder: &Path) -> Result<Self, LocalError> {
        let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self::load_for(folder, Arch::new(), threads)
    }

    /// With so many threads at most for a call, instead of as many as the machine has.
    #[must_use]
    pub fn with_threads(self, threads: NonZeroUsize) -> Self {
        Self {
            threads: threads.get(),
            ..self
        }
    }

    /// How many numbers a vector has.
    pub fn dimensions(&self) -> usize {
        self.bert.config().hidden
    }

    /// One vector a text, in the order of the texts.
    ///
    /// # Errors
    /// Where a text can't be cut into the model's pieces or its vector is not finite, which only damaged files cause.
    pub fn embed(&self, texts: &[&str]) -> Result<Vec<Arc<[f32]>>, LocalError> {
        let cut = |text: &str| self.pieces.ids(text);
        self.each(texts, cut, Vec::as_slice, |_, rows| {
            pool(rows, self.dimensions())
        })
    }

    /// The vectors of each text's pieces, in the order of the texts.
    ///
    /// # Errors
    /// As [`MiniLm::embed`].
    pub fn embed_tokens(&self, texts: &[&str]) -> Result<Vec<TokenVectors>, LocalError> {
        let cut = |text: &str| self.pieces.cut(text);
        self.each(
            texts,
            cut,
            |cut: &Cut| &cut.ids,
            |cut, rows| tokens(cut, rows, self.dimensions()),
        )
    }

    pub(super) fn load_for(folder: &Path, arch: Arch, threads: usize) -> Result<Self, LocalError> {
        let path = folder.join("config.json");
        let config = Config::parse(&path, &read(&path)?)?;
        let weights = Weights::open(folder.join("model.safetensors"))?;
        let path = folder.join("tokenizer.json");
        let (longest, vocabulary) = (config.longest(), config.vocabulary);
        let pieces = || Pieces::parse(&path, &read(&path)?, longest, vocabulary);
        let (pieces, bert) = thread::scope(|scope| {
            let pieces = scope.spawn(pieces);
            let bert = Bert::load(config, &weights, arch, threads);
            (pieces.join(), bert)
        });
        // See there: a panic is that of a malformed file.
        let pieces = pieces.map_err(|_| LocalError::Malformed {
            path: path.clone(),
            reason: "its reader gave up".to_owned(),
        })??;
        Ok(Self {
            pieces,
            bert: bert?,
            threads,
        })
    }

    /// Cuts the texts, runs them in batches of like length, and makes something of each text's rows.
    fn each<C: Send + Sync, T: Send>(
        &self,
        texts: &[&str],
        cut: impl Fn(&str) -> Result<C, String> + Sync,
        ids: impl Fn(&C) -> &[u32] + Sync,
        make: impl Fn(&C, &[f32]) -> Option<T> + Sync,
    ) -> Result<Vec<T>, LocalError> {
        let cuts = self.cut_all(texts, cut)?;
        let lengths: Vec<usize> = cuts.iter().map(|cut| ids(cut).len()).collect();
        let batches = batches(&lengths, self.threads);
        let run = |work: &mut Work, batch: Vec<usize>| -> Vec<(usize, Option<T>)> {
            let cuts = || batch.iter().filter_map(|text| cuts.get(*text));
            let inputs: Vec<&[u32]> = cuts().map(&ids).collect();
            let mut rows = self.bert.forward(&inputs, work);
            let made = cuts().zip(&inputs).map(|(cut, input)| {
                let (own, later) = rows.split_at(input.len() * self.dimensions());
                rows = later;
                make(cut, own)
            });
            batch.iter().copied().zip(made).collect()
        };
        let made = parallel::map(self.threads, batches, Work::default, run);
        let mut made: Vec<(usize, Option<T>)> = made.into_iter().flatten().collect();
        made.sort_unstable_by_key(|(text, _)| *text);
        let finite = |(text, made): (usize, Option<T>)| made.ok_or(LocalError::NotFinite { text });
        made.into_iter().map(finite).collect()
    }

    fn cut_all<C: Send>(
        &self,
        texts: &[&str],
        cut: impl Fn(&str) -> Result<C, String> + Sync,
    ) -> Result<Vec<C>, LocalError> {
        let cuts = parallel::map(self.threads, texts.to_vec(), || (), |(), text| cut(text));
        let told = |(text, cut): (usize, Result<C, String>)| {
            cut.map_err(|reason| LocalError::Text { text, reason })
        };
        cuts.into_iter().enumerate().map(told).collect()
    }
}

fn read(path: &Path) -> Result<Vec<u8>, LocalError> {
    fs::read(path).map_err(|source| LocalError::Read {
        path: path.to_owned(),
        source,
    })
}

/// Texts by falling length in batches of some 256 pieces, of fewer where not every thread would have one otherwise.
fn batches(lengths: &[usize], threads: usize) -> Vec<Vec<usize>> {
    const FULL: usize = 256;
    const SMALL: usize = 64;
    let total: usize = lengths.iter().sum();
    let most = total.div_ceil(threads.max(1)).clamp(SMALL, FULL);
    let mut texts: Vec<(usize, usize)> = lengths.iter().copied().enumerate().collect();
    texts.sort_by_key(|(_, length)| std::cmp::Reverse(*length));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut filled = most;
    for (text, length) in texts {
        if filled + length > most {
            batches.push(Vec::new());
            filled = 0;
        }
        filled += length;
        if let Some(batch) = batches.last_mut() {
            batch.push(text);
        }
    }
    batches
}

/// The mean of the rows, scaled to length 1; nothing where that isn't finite.
fn pool(rows: &[f32], width: usize) -> Option<Arc<[f32]>> {
    let mut sum = vec![0.0; width];
    for row in rows.chunks_exact(width) {
        sum.iter_mut()
            .zip(row)
            .for_each(|(sum, number)| *sum += number);
    }
    scale_to_one(&mut sum)?;
    Some(sum.into())
}

fn tokens(cut: &Cut, rows: &[f32], width: usize) -> Option<TokenVectors> {
    let mut made = TokenVectors {
        spans: Vec::with_capacity(cut.spans.len()),
        vectors: Vec::with_capacity(rows.len()),
    };
    for (span, row) in cut.spans.iter().zip(rows.chunks_exact(width)) {
        let Some(span) = span else { continue };
        let begin = made.vectors.len();
        made.spans.push(span.clone());
        made.vectors.extend_from_slice(row);
        scale_to_one(made.vectors.get_mut(begin..)?)?;
    }
    Some(made)
}

/// Scales a vector to length 1; nothing where that can't be.
fn scale_to_one(vector: &mut [f32]) -> Option<()> {
    let squares: f64 = vector
        .iter()
        .map(|number| f64::from(*number) * f64::from(*number))
        .sum();
    let factor = squares.sqrt().recip();
    vector
        .iter_mut()
        .for_each(|number| *number = (f64::from(*number) * factor) as f32);
    (squares.is_finite() && squares > 0.0).then_some(())
}
