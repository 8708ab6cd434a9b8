//! `config.json`: the sizes of an encoder of BERT's shape.

use std::path::Path;

use serde::Deserialize;

use super::error::LocalError;

/// Longest text in word pieces with [CLS] and [SEP], as the encoder was made for (`max_seq_length` of its card).
const LONGEST: usize = 256;

/// The sizes of an encoder. All are at least 1; `heads` divides `hidden`.
#[derive(Debug, Clone)]
pub(super) struct Config {
    pub(super) hidden: usize,
    pub(super) layers: usize,
    pub(super) heads: usize,
    pub(super) inner: usize,
    pub(super) vocabulary: usize,
    /// Rows of the table of positions.
    pub(super) positions: usize,
    /// Rows of the table of segments.
    pub(super) segments: usize,
    pub(super) epsilon: f32,
}

impl Config {
    /// Reads the file's text.
    ///
    /// # Errors
    /// Where it is no such JSON, a size is 0, or it describes a network that is computed otherwise.
    pub(super) fn parse(path: &Path, text: &[u8]) -> Result<Self, LocalError> {
        let file: File = serde_json::from_slice(text).map_err(|error| LocalError::Malformed {
            path: path.to_owned(),
            reason: error.to_string(),
        })?;
        file.check().map_err(|reason| LocalError::Unsupported {
            path: path.to_owned(),
            reason,
        })?;
        Ok(Self {
            hidden: file.hidden_size,
            layers: file.num_hidden_layers,
            heads: file.num_attention_heads,
            inner: file.intermediate_size,
            vocabulary: file.vocab_size,
            positions: file.max_position_embeddings,
            segments: file.type_vocab_size,
            epsilon: file.layer_norm_eps,
        })
    }

    /// How many word pieces of a text are read, [CLS] and [SEP] included.
    pub(super) fn longest(&self) -> usize {
        self.positions.min(LONGEST)
    }

    /// Columns of one attention head.
    pub(super) fn head(&self) -> usize {
        self.hidden / self.heads
    }
}

#[derive(Deserialize)]
struct File {
    model_type: String,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    type_vocab_size: usize,
    layer_norm_eps: f32,
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl File {
    fn check(&self) -> Result<(), String> {
        expect("model_type", &self.model_type, "bert")?;
        expect("hidden_act", &self.hidden_act, "gelu")?;
        expect(
            "position_embedding_type",
            &self.position_embedding_type,
            "absolute",
        )?;
        for (name, size) in self.sizes() {
            if size == 0 {
                return Err(format!("{name} is 0"));
            }
        }
        if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            return Err(format!(
                "hidden_size {} is no multiple of num_attention_heads {}",
                self.hidden_size, self.num_attention_heads
            ));
        }
        if !(self.layer_norm_eps >= 0.0 && self.layer_norm_eps < 1.0) {
            return Err(format!(
                "layer_norm_eps {} is not in 0 to 1",
                self.layer_norm_eps
            ));
        }
        Ok(())
    }

    fn sizes(&self) -> [(&'static str, usize); 7] {
        [
            ("hidden_size", self.hidden_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("intermediate_size", self.intermediate_size),
            ("vocab_size", self.vocab_size),
            ("max_position_embeddings", self.max_position_embeddings),
            ("type_vocab_size", self.type_vocab_size),
        ]
    }
}

fn expect(name: &str, found: &str, wanted: &str) -> Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{name} is {found:?}, only {wanted:?} is computed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINILM: &str = r#"{"model_type": "bert", "hidden_act": "gelu", "hidden_size": 384, "num_hidden_layers": 6,
        "num_attention_heads": 12, "intermediate_size": 1536, "vocab_size": 30522, "max_position_embeddings": 512,
        "type_vocab_size": 2, "layer_norm_eps": 1e-12, "transformers_version": "4.8.2"}"#;

    #[test]
    fn reads_sizes() {
        let config = Config::parse(Path::new("config.json"), MINILM.as_bytes()).unwrap();
        assert_eq!((config.hidden, config.layers, config.head()), (384, 6, 32));
        assert_eq!(
            (config.inner, config.vocabulary, config.longest()),
            (1536, 30522, 256)
        );
    }

    #[test]
    fn refuses_what_is_computed_otherwise() {
        for (from, to, told) in [
            (
                "\"bert\"",
                "\"distilbert\"",
                "model_type is \"distilbert\", only \"bert\"",
            ),
            ("\"gelu\"", "\"relu\"", "hidden_act is \"relu\""),
            (
                "\"layer_norm_eps\"",
                "\"position_embedding_type\": \"relative_key\", \"layer_norm_eps\"",
                "relative_key",
            ),
            (
                "\"num_hidden_layers\": 6",
                "\"num_hidden_layers\": 0",
                "num_hidden_layers is 0",
            ),
            (
                "\"num_attention_heads\": 12",
                "\"num_attention_heads\": 7",
                "no multiple of num_attention_heads 7",
            ),
            ("1e-12", "-1.0", "layer_norm_eps -1"),
            (
                "\"hidden_size\": 384",
                "\"hidden_size\": -384",
                "invalid value",
            ),
            ("\"hidden_size\": 384, ", "", "missing field `hidden_size`"),
        ] {
            let text = MINILM.replace(from, to);
            let error = Config::parse(Path::new("m/config.json"), text.as_bytes())
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(told) && error.contains("m/config.json"),
                "{error}"
            );
        }
    }
}
