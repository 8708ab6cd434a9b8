//! From texts to batches of tokens, by the folder's own tokenizer.

use std::ops::Range;

use serde::Deserialize;
use serde_json::Value;
use tokenizers::{
    EncodeInput, PostProcessor, Tokenizer, TruncationDirection, TruncationParams,
    TruncationStrategy,
};

use super::config::Config;
use super::error::{ClassifierError, read};
use super::folder::Folder;

/// The most tokens of a batch, padding included, and the most rows. A longer text stands alone.
const TOKENS: usize = 4096;
const ROWS: usize = 32;

pub(super) struct Encoder {
    tokenizer: Tokenizer,
    limit: usize,
    padding: u32,
}

/// The tokens of one text or pair.
pub(super) struct Encoded {
    ids: Vec<u32>,
    /// 0 for the first text, 1 for the second, where the tokenizer tells them apart.
    types: Vec<u32>,
}

/// Rows of one width: short ones are filled up on the right, where `mask` is 0.
#[cfg_attr(
    not(any(test, feature = "candle", feature = "onnx")),
    expect(dead_code, reason = "only what runs models reads tokens")
)]
pub(super) struct Batch {
    /// Which of the texts each row is.
    pub(super) texts: Vec<usize>,
    pub(super) width: usize,
    /// Each of rows × width.
    pub(super) ids: Vec<u32>,
    pub(super) types: Vec<u32>,
    pub(super) mask: Vec<u32>,
}

/// What is read of `tokenizer_config.json`.
#[derive(Deserialize)]
struct TokenizerConfig {
    /// Some 1e30 where nobody set it.
    model_max_length: Option<f64>,
}

impl Encoder {
    /// Reads and checks the tokenizer; the hash tells it from others.
    pub(super) fn read(
        folder: &Folder,
        config: &Config,
    ) -> Result<(Self, blake3::Hash), ClassifierError> {
        let path = folder.tokenizer();
        let bytes = read(&path)?;
        let wrong = |problem: String| ClassifierError::file(&path, problem);
        let mut tokenizer = Tokenizer::from_bytes(&bytes)
            .map_err(|error| wrong(format!("it is no tokenizer: {error}")))?;
        check_vocabulary(&tokenizer, config).map_err(wrong)?;
        check_template(&tokenizer).map_err(wrong)?;
        let limit = limit(folder, config)?;
        check_room(&tokenizer, limit).map_err(wrong)?;
        let direction = tokenizer
            .get_truncation()
            .map_or(TruncationDirection::Right, |own| own.direction);
        tokenizer.with_padding(None);
        let truncation = TruncationParams {
            direction,
            max_length: limit,
            strategy: TruncationStrategy::OnlyFirst,
            stride: 0,
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(|error| wrong(error.to_string()))?;
        let encoder = Self {
            tokenizer,
            limit,
            padding: config.padding()?.unwrap_or(0),
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes).update(&limit.to_le_bytes());
        Ok((encoder, hasher.finalize()))
    }

    pub(super) fn encode(
        &self,
        texts: &[(&str, Option<&str>)],
    ) -> Result<Vec<Encoded>, ClassifierError> {
        let encode = |(index, &(first, second)): (usize, &(&str, Option<&str>))| {
            let input = match second {
                Some(second) => EncodeInput::from((first, second)),
                None => EncodeInput::from(first),
            };
            let encoding = self
                .tokenizer
                .encode_fast(input, true)
                .map_err(|error| self.refused(index, error.as_ref()))?;
            Ok(Encoded {
                ids: encoding.get_ids().to_vec(),
                types: encoding.get_type_ids().to_vec(),
            })
        };
        texts.iter().enumerate().map(encode).collect()
    }

    /// Texts of like length together, so that little is padding.
    pub(super) fn batches(&self, encoded: &[Encoded]) -> impl Iterator<Item = Batch> {
        let mut order: Vec<usize> = (0..encoded.len()).collect();
        let length = |index: &usize| encoded.get(*index).map_or(0, |text| text.ids.len());
        order.sort_by_key(length);
        let lengths: Vec<usize> = order.iter().map(length).collect();
        let ranges = ranges(&lengths);
        ranges.into_iter().map(move |range| {
            let texts = order.get(range).unwrap_or_default().to_vec();
            Batch::new(texts, encoded, self.padding)
        })
    }

    fn refused(
        &self,
        index: usize,
        error: &(dyn std::error::Error + Send + Sync + 'static),
    ) -> ClassifierError {
        use tokenizers::utils::truncation::TruncationError;
        if matches!(
            error.downcast_ref(),
            Some(TruncationError::SequenceTooShort)
        ) {
            let limit = self.limit;
            return ClassifierError::TooLong { index, limit };
        }
        ClassifierError::Tokens {
            index,
            problem: error.to_string(),
        }
    }
}

impl Batch {
    fn new(texts: Vec<usize>, encoded: &[Encoded], padding: u32) -> Self {
        let rows: Vec<&Encoded> = texts.iter().filter_map(|&text| encoded.get(text)).collect();
        // A model may not know what to do with no token at all.
        let width = rows
            .iter()
            .map(|row| row.ids.len())
            .max()
            .unwrap_or(0)
            .max(1);
        let mut batch = Self {
            width,
            ids: Vec::with_capacity(rows.len() * width),
            types: Vec::with_capacity(rows.len() * width),
            mask: Vec::with_capacity(rows.len() * width),
            texts,
        };
        for (row, end) in rows.iter().zip((1..).map(|row| row * width)) {
            batch.ids.extend_from_slice(&row.ids);
            batch.types.extend_from_slice(&row.types);
            batch.mask.resize(batch.ids.len(), 1);
            batch.ids.resize(end, padding);
            batch.types.resize(end, 0);
            batch.mask.resize(end, 0);
        }
        batch
    }
}

/// Cuts ascending lengths into runs of at most [`ROWS`] rows and [`TOKENS`] tokens.
fn ranges(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for (index, &length) in lengths.iter().enumerate() {
        match ranges.last_mut() {
            Some(range) if range.len() < ROWS && (range.len() + 1) * length <= TOKENS => {
                range.end += 1;
            }
            _ => ranges.push(index..index + 1),
        }
    }
    ranges
}

/// The positions that the architecture has, or fewer where `tokenizer_config.json` says that it was trained on fewer.
fn limit(folder: &Folder, config: &Config) -> Result<usize, ClassifierError> {
    let positions = config.positions()?;
    let path = folder.tokenizer_config();
    if !path.is_file() {
        return Ok(positions);
    }
    let own: TokenizerConfig = serde_json::from_slice(&read(&path)?).map_err(|error| {
        ClassifierError::file(&path, format!("it can't be understood: {error}"))
    })?;
    let own = own.model_max_length.unwrap_or(f64::INFINITY);
    Ok(positions.min(own as usize))
}

fn check_vocabulary(tokenizer: &Tokenizer, config: &Config) -> Result<(), String> {
    let vocabulary = tokenizer.get_vocab(true);
    let largest = vocabulary.values().max().copied();
    let largest = largest.ok_or("the tokenizer has no tokens")?;
    match config.size("vocab_size") {
        Ok(size) if largest as usize >= size => Err(format!(
            "it has tokens up to {largest}, and the model of config.json knows {size} (`vocab_size`): they don't \
             belong together"
        )),
        _ => Ok(()),
    }
}

/// Special tokens and at least one other of each text must fit.
fn check_room(tokenizer: &Tokenizer, limit: usize) -> Result<(), String> {
    let special = tokenizer
        .get_post_processor()
        .map_or(0, |processor| processor.added_tokens(true));
    if limit >= special + 2 {
        return Ok(());
    }
    Err(format!(
        "it adds {special} tokens to a pair of texts, and the model takes {limit} in all (`max_position_embeddings`, \
         `model_max_length`)"
    ))
}

/// The tokens that a template names must be among its own: the crate `tokenizers` takes that for granted.
fn check_template(tokenizer: &Tokenizer) -> Result<(), String> {
    let processor = serde_json::to_value(tokenizer.get_post_processor());
    check_processor(&processor.unwrap_or_default())
}

fn check_processor(processor: &Value) -> Result<(), String> {
    let list = |key: &str| {
        processor
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    list("processors").try_for_each(check_processor)?;
    for piece in list("single").chain(list("pair")) {
        let id = piece.pointer("/SpecialToken/id").and_then(Value::as_str);
        let known = id.is_none_or(|id| {
            let special = processor.get("special_tokens");
            special.is_some_and(|special| special.get(id).is_some())
        });
        if !known {
            return Err(format!(
                "its `post_processor` names the token {}, which is not among its `special_tokens`",
                id.unwrap_or_default()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_what_fits() {
        let cases: [(&[usize], &[Range<usize>]); 5] = [
            (&[], &[]),
            (&[9000, 9000], &[0..1, 1..2]),
            (&[1, 2, 4096], &[0..2, 2..3]),
            (&[2048, 2048, 2049], &[0..2, 2..3]),
            (&[0; 33], &[0..32, 32..33]),
        ];
        for (lengths, expected) in cases {
            assert_eq!(ranges(lengths), expected, "{lengths:?}");
        }
    }

    #[test]
    fn short_rows_are_filled_up() {
        let text = |ids: &[u32]| Encoded {
            ids: ids.to_vec(),
            types: vec![1; ids.len()],
        };
        let encoded = [text(&[5, 6, 7]), text(&[]), text(&[8])];
        let batch = Batch::new(vec![2, 0], &encoded, 9);
        assert_eq!(batch.width, 3);
        assert_eq!(batch.ids, [8, 9, 9, 5, 6, 7]);
        assert_eq!(batch.types, [1, 0, 0, 1, 1, 1]);
        assert_eq!(batch.mask, [1, 0, 0, 1, 1, 1]);
        assert_eq!(Batch::new(vec![1], &encoded, 9).ids, [9]);
    }
}
