//! What can be wrong with the files of a local model, or with a text for it.

use std::io;
use std::path::PathBuf;

/// Why a local model could not be loaded, or could not embed a text.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// A file of the model is missing or cannot be read.
    #[error("can't read {}: {source}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A file of the model is not what its name says.
    #[error("{} is not usable: {reason}; fetch the model again", path.display())]
    Malformed { path: PathBuf, reason: String },
    /// The model is a sound one, but not of a shape that is computed here.
    #[error("{} describes a model that can't be run: {reason}", path.display())]
    Unsupported { path: PathBuf, reason: String },
    /// A text could not be cut into pieces, or a piece is not in the model's vocabulary.
    #[error("text {text} (counted from 0) can't be cut into word pieces: {reason}")]
    Text { text: usize, reason: String },
    /// The model's weights overflow on this text: its files are damaged.
    #[error(
        "the model gives numbers that aren't finite for text {text} (counted from 0): its weights are damaged; fetch \
         the model again"
    )]
    NotFinite { text: usize },
}
