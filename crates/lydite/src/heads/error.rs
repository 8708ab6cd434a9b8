//! What can be wrong with a head's file.

use thiserror::Error;

/// Why a head's file can't be used. Each is a defect of the build, never of a user's input.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HeadError {
    #[error("the file is not that of a head: {0}")]
    Json(serde_json::Error),
    #[error(
        "the {kind} of the file and of the code differ: the file has [{file}], the code [{code}]; fit it again with `cargo xtask train`"
    )]
    Names {
        kind: &'static str,
        file: String,
        code: String,
    },
    #[error("{0} has a number that is not finite, or a scale that is not above 0")]
    NotFinite(String),
    #[error("{name} has {found} weights, and {expected} are needed")]
    Length {
        name: String,
        found: usize,
        expected: usize,
    },
    #[error("the weights of {name} are not base64")]
    Base64 { name: String },
    #[error("the levels {0} are not two probabilities with fail below pass")]
    Levels(String),
    #[error("the n-grams of {name} need 1 ≤ min ≤ max ≤ 8 and 4 ≤ bits ≤ 20")]
    Ngrams { name: String },
}
