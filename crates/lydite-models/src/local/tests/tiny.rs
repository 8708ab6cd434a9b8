//! A tiny random encoder of BERT's shape, written as the files of a real one.

use std::collections::BTreeMap;
use std::fs;

use safetensors::tensor::{Dtype, TensorView};
use serde_json::json;
use tempfile::TempDir;

/// Numbers of the special pieces.
pub(super) const UNKNOWN: usize = 1;
pub(super) const BEGIN: usize = 2;
pub(super) const END: usize = 3;

#[derive(Debug, Clone, Copy)]
pub(super) struct Tiny {
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    pub(super) positions: usize,
    pub(super) prefix: &'static str,
    /// Stands in the vector of each place.
    pub(super) bad: Option<f32>,
}

impl Default for Tiny {
    fn default() -> Self {
        Self {
            hidden: 32,
            layers: 2,
            heads: 4,
            inner: 48,
            positions: 64,
            prefix: "",
            bad: None,
        }
    }
}

impl Tiny {
    /// Sizes that are no multiples of any vector.
    pub(super) fn odd() -> Self {
        Self {
            hidden: 57,
            layers: 1,
            heads: 3,
            inner: 101,
            positions: 40,
            ..Self::default()
        }
    }

    /// All pieces by their numbers.
    pub(super) fn pieces() -> Vec<String> {
        let special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].map(str::to_owned);
        let words =
            ["the", "cat", "hat", "##t", "##at", ".", ",", ";", "(", ")"].map(str::to_owned);
        let letters = ('a'..='h')
            .chain(['s'])
            .flat_map(|letter| [letter.to_string(), format!("##{letter}")]);
        let all = special.into_iter().chain(words).chain(letters);
        all.scan(std::collections::HashSet::new(), |seen, piece| {
            Some(seen.insert(piece.clone()).then_some(piece))
        })
        .flatten()
        .collect()
    }

    /// The tensors by name, without the prefix: shape and numbers.
    pub(super) fn tensors(&self) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
        let mut random = fastrand::Rng::with_seed(42);
        let mut tensors = BTreeMap::new();
        let mut put = |name: &str, shape: &[usize], middle: f32, width: f32| {
            let count = shape.iter().product();
            let numbers: Vec<f32> = (0..count)
                .map(|_| middle + width * (random.f32() - 0.5))
                .collect();
            tensors.insert(name.to_owned(), (shape.to_vec(), numbers));
        };
        let (hidden, inner) = (self.hidden, self.inner);
        put(
            "embeddings.word_embeddings.weight",
            &[Self::pieces().len(), hidden],
            0.0,
            2.0,
        );
        put(
            "embeddings.position_embeddings.weight",
            &[self.positions, hidden],
            0.0,
            1.0,
        );
        put(
            "embeddings.token_type_embeddings.weight",
            &[2, hidden],
            0.0,
            1.0,
        );
        put("embeddings.LayerNorm.weight", &[hidden], 1.0, 0.5);
        put("embeddings.LayerNorm.bias", &[hidden], 0.0, 0.5);
        for layer in 0..self.layers {
            for (part, outputs, inputs) in [
                ("attention.self.query", hidden, hidden),
                ("attention.self.key", hidden, hidden),
                ("attention.self.value", hidden, hidden),
                ("attention.output.dense", hidden, hidden),
                ("intermediate.dense", inner, hidden),
                ("output.dense", hidden, inner),
            ] {
                put(
                    &format!("encoder.layer.{layer}.{part}.weight"),
                    &[outputs, inputs],
                    0.0,
                    0.8,
                );
                put(
                    &format!("encoder.layer.{layer}.{part}.bias"),
                    &[outputs],
                    0.0,
                    0.5,
                );
            }
            for part in ["attention.output.LayerNorm", "output.LayerNorm"] {
                put(
                    &format!("encoder.layer.{layer}.{part}.weight"),
                    &[hidden],
                    1.0,
                    0.5,
                );
                put(
                    &format!("encoder.layer.{layer}.{part}.bias"),
                    &[hidden],
                    0.0,
                    0.5,
                );
            }
        }
        if let (Some(bad), Some((_, places))) = (
            self.bad,
            tensors.get_mut("embeddings.position_embeddings.weight"),
        ) {
            places
                .iter_mut()
                .step_by(hidden)
                .for_each(|number| *number = bad);
        }
        tensors
    }

    pub(super) fn write(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("config.json"), self.config()).unwrap();
        fs::write(folder.path().join("tokenizer.json"), tokenizer()).unwrap();
        let tensors = self.tensors();
        let bytes: BTreeMap<String, (Vec<usize>, Vec<u8>)> = tensors
            .into_iter()
            .map(|(name, (shape, numbers))| {
                let bytes = numbers
                    .iter()
                    .flat_map(|number| number.to_le_bytes())
                    .collect();
                (format!("{}{name}", self.prefix), (shape, bytes))
            })
            .collect();
        let views = bytes.iter().map(|(name, (shape, bytes))| {
            (
                name,
                TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap(),
            )
        });
        fs::write(
            folder.path().join("model.safetensors"),
            safetensors::serialize(views, None).unwrap(),
        )
        .unwrap();
        folder
    }

    fn config(&self) -> String {
        json!({
            "model_type": "bert", "hidden_act": "gelu", "hidden_size": self.hidden,
            "num_hidden_layers": self.layers, "num_attention_heads": self.heads, "intermediate_size": self.inner,
            "vocab_size": Self::pieces().len(), "max_position_embeddings": self.positions, "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
        })
        .to_string()
    }
}

fn tokenizer() -> String {
    let pieces = Tiny::pieces();
    let vocabulary: serde_json::Map<String, serde_json::Value> = pieces
        .iter()
        .enumerate()
        .map(|(id, piece)| (piece.clone(), id.into()))
        .collect();
    let added: Vec<_> = pieces.iter().take(4).enumerate().map(|(id, piece)| {
        json!({"id": id, "content": piece, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true})
    }).collect();
    let special = |piece: &str, id: usize| json!({"id": piece, "ids": [id], "tokens": [piece]});
    json!({
        "version": "1.0",
        "truncation": {"max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 8}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}},
                {"SpecialToken": {"id": "[SEP]", "type_id": 1}}],
            "special_tokens": {"[CLS]": special("[CLS]", BEGIN), "[SEP]": special("[SEP]", END)}},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary},
    })
    .to_string()
}
