//! A classifier's folder: which weights are there, and which of them are to be run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Runtime;
use super::error::{ClassifierError, read};

/// Files that exist; they are not read yet.
pub(super) struct Folder {
    pub(super) path: PathBuf,
    pub(super) weights: Weights,
}

pub(super) enum Weights {
    /// One file, or all shards in the order of their names.
    Safetensors(Vec<PathBuf>),
    Onnx(PathBuf),
}

/// `model.safetensors.index.json`.
#[derive(Deserialize)]
struct Index {
    weight_map: std::collections::BTreeMap<String, String>,
}

impl Folder {
    pub(super) fn find(path: &Path, runtime: Runtime) -> Result<Self, ClassifierError> {
        if !path.is_dir() {
            return Err(ClassifierError::file(
                path,
                "this is no folder; a classifier is a folder with config.json, tokenizer.json, and \
                 model.safetensors or model.onnx",
            ));
        }
        let folder = Self {
            path: path.to_owned(),
            weights: weights(path, runtime)?,
        };
        for (name, wanted) in [
            ("config.json", "config.json"),
            ("tokenizer.json", TOKENIZER),
        ] {
            if !path.join(name).is_file() {
                return Err(missing(path, wanted));
            }
        }
        Ok(folder)
    }

    pub(super) fn config(&self) -> PathBuf {
        self.path.join("config.json")
    }

    pub(super) fn tokenizer(&self) -> PathBuf {
        self.path.join("tokenizer.json")
    }

    /// Says how long the texts of the model's training were; it may be absent.
    pub(super) fn tokenizer_config(&self) -> PathBuf {
        self.path.join("tokenizer_config.json")
    }
}

const TOKENIZER: &str = "tokenizer.json (older models have only vocab.txt or a SentencePiece file: load the tokenizer \
                         with the Python package `transformers` and save it with `save_pretrained`)";

const WEIGHTS: &str = "model.safetensors, model.safetensors.index.json, model.onnx or onnx/model.onnx (weights of \
                       another form can be saved anew with `save_pretrained` of the Python package `transformers`)";

fn weights(path: &Path, runtime: Runtime) -> Result<Weights, ClassifierError> {
    let safetensors = || safetensors(path);
    let onnx = || onnx(path).map(Weights::Onnx);
    match runtime {
        Runtime::Candle => safetensors()?.ok_or_else(|| missing(path, SAFETENSORS)),
        Runtime::Onnx => onnx().ok_or_else(|| missing(path, ONNX)),
        Runtime::Auto => {
            let found = safetensors()?;
            let other = onnx();
            let second = cfg!(feature = "onnx") && !cfg!(feature = "candle");
            let (found, other) = if second {
                (other, found)
            } else {
                (found, other)
            };
            found.or(other).ok_or_else(|| missing(path, WEIGHTS))
        }
    }
}

const SAFETENSORS: &str = "model.safetensors or model.safetensors.index.json";
const ONNX: &str = "model.onnx or onnx/model.onnx";

fn onnx(path: &Path) -> Option<PathBuf> {
    let places = [
        path.join("model.onnx"),
        path.join("onnx").join("model.onnx"),
    ];
    places.into_iter().find(|place| place.is_file())
}

fn safetensors(path: &Path) -> Result<Option<Weights>, ClassifierError> {
    let whole = path.join("model.safetensors");
    if whole.is_file() {
        return Ok(Some(Weights::Safetensors(vec![whole])));
    }
    let index = path.join("model.safetensors.index.json");
    if !index.is_file() {
        return Ok(None);
    }
    let names = shards(&index)?;
    let files = names.iter().map(|name| path.join(name)).collect();
    Ok(Some(Weights::Safetensors(files)))
}

/// The names of the shards that an index lists. They stand beside it: a name that leads elsewhere is refused.
fn shards(index: &Path) -> Result<BTreeSet<String>, ClassifierError> {
    let parsed: Index = serde_json::from_slice(&read(index)?).map_err(|error| {
        ClassifierError::file(index, format!("it is no index of shards: {error}"))
    })?;
    let names: BTreeSet<String> = parsed.weight_map.into_values().collect();
    let foreign = names.iter().find(|name| !is_plain(name));
    match foreign {
        Some(name) => Err(ClassifierError::file(
            index,
            format!("a shard must be a file of the same folder, and one is named `{name}`"),
        )),
        None => Ok(names),
    }
}

fn is_plain(name: &str) -> bool {
    !name.contains(['/', '\\']) && Path::new(name).file_name().is_some_and(|file| file == name)
}

fn missing(path: &Path, wanted: &'static str) -> ClassifierError {
    ClassifierError::Missing {
        folder: path.to_owned(),
        wanted,
    }
}
