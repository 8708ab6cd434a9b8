//! Stands in for what is not built in: errors that say how to get it.

use std::path::Path;

use super::Forward;
use super::error::ClassifierError;

#[cfg(not(feature = "candle"))]
pub(super) mod candle {
    use std::path::{Path, PathBuf};

    use super::super::config::Config;
    use super::{ClassifierError, Forward, not_built};

    pub(in super::super) fn load(
        files: &[PathBuf],
        _: &Config,
        _: usize,
        _: &mut blake3::Hasher,
    ) -> Result<Box<dyn Forward>, ClassifierError> {
        not_built(
            files.first().map_or(Path::new(""), PathBuf::as_path),
            "candle",
        )
    }
}

#[cfg(not(feature = "onnx"))]
pub(super) mod onnx {
    use super::{ClassifierError, Forward, Path, not_built};

    pub(in super::super) fn load(
        file: &Path,
        _: &mut blake3::Hasher,
    ) -> Result<Box<dyn Forward>, ClassifierError> {
        not_built(file, "onnx")
    }
}

fn not_built(path: &Path, feature: &'static str) -> Result<Box<dyn Forward>, ClassifierError> {
    Err(ClassifierError::NotBuilt {
        path: path.to_owned(),
        feature,
    })
}
