//! What can be wrong with a classifier of the user's own.

use std::io;
use std::path::{Path, PathBuf};

/// Each says where and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClassifierError {
    #[error("{}: it can't be read: {cause}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        cause: io::Error,
    },

    #[error("{}: there is no {wanted}; a classifier is a folder with config.json, tokenizer.json, and \
             model.safetensors or model.onnx", .folder.display())]
    Missing {
        folder: PathBuf,
        wanted: &'static str,
    },

    /// A file that is not what it should be: configuration, tokenizer or weights.
    #[error("{}: {problem}", .path.display())]
    File { path: PathBuf, problem: String },

    #[error("{}: to run it, Lydite must be built with the feature `{feature}`, and this one is not; \
             `cargo install lydite-cli --features {feature}` builds one that is", .path.display())]
    NotBuilt {
        path: PathBuf,
        /// Of the crates `lydite-models` and `lydite-cli`.
        feature: &'static str,
    },

    /// ONNX Runtime, which is loaded when it is first needed.
    #[error(
        "ONNX Runtime can't be loaded: {problem}; install it (the Python package `onnxruntime` has it in its \
             folder `capi`) and set ORT_DYLIB_PATH to the path of libonnxruntime.so, libonnxruntime.dylib or onnxruntime.dll"
    )]
    Library { problem: String },

    #[error(
        "the second text of a pair leaves no room for the first within the {limit} tokens that the model takes; shorten it"
    )]
    TooLong {
        /// Its place in what was asked, from 0.
        index: usize,
        limit: usize,
    },

    #[error("the tokenizer can't read a text: {problem}")]
    Tokens {
        /// As for [`ClassifierError::TooLong`].
        index: usize,
        problem: String,
    },

    #[error("{}: the model failed: {problem}", .path.display())]
    Run { path: PathBuf, problem: String },
}

impl ClassifierError {
    pub(super) fn file(path: &Path, problem: impl Into<String>) -> Self {
        Self::File {
            path: path.to_owned(),
            problem: problem.into(),
        }
    }
}

/// The bytes of a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, ClassifierError> {
    std::fs::read(path).map_err(|cause| ClassifierError::Read {
        path: path.to_owned(),
        cause,
    })
}
