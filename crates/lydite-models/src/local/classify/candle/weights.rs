//! Safetensors from files to candle's tensors.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;

use super::super::error::{ClassifierError, read};
use super::told;

/// All floating-point tensors of a model, in 32 bits.
pub(super) struct Stored {
    tensors: HashMap<String, Tensor>,
    /// The first file, for errors.
    place: PathBuf,
}

impl Stored {
    pub(super) fn read(
        files: &[PathBuf],
        hasher: &mut blake3::Hasher,
    ) -> Result<Self, ClassifierError> {
        let mut stored = Self {
            tensors: HashMap::new(),
            place: files.first().cloned().unwrap_or_default(),
        };
        for file in files {
            let bytes = read(file)?;
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(&bytes);
            stored.add(file, &bytes)?;
        }
        Ok(stored)
    }

    fn add(&mut self, file: &Path, bytes: &[u8]) -> Result<(), ClassifierError> {
        let wrong = |problem: String| ClassifierError::file(file, problem);
        let tensors = candle_core::safetensors::load_buffer(bytes, &Device::Cpu);
        let tensors = tensors.map_err(|error| {
            wrong(format!(
                "it is no safetensors file, or cut off: {}",
                told(&error)
            ))
        })?;
        for (name, tensor) in tensors {
            match tensor.dtype() {
                DType::F32 | DType::F16 | DType::BF16 | DType::F64 => {
                    let tensor = tensor.to_dtype(DType::F32);
                    let tensor = tensor.map_err(|error| wrong(told(&error)))?;
                    self.tensors.insert(modern(name), tensor);
                }
                // Numbers of positions and the like, which are no weights.
                DType::I64 | DType::I32 | DType::U8 => {}
                other => {
                    return Err(wrong(format!(
                        "`{name}` is stored as {}; save the weights with 32 or 16 bits",
                        other.as_str()
                    )));
                }
            }
        }
        Ok(())
    }

    pub(super) fn place(&self) -> &Path {
        &self.place
    }

    /// The tensor of this name has a row a label.
    pub(super) fn check_labels(&self, name: &str, labels: usize) -> Result<(), ClassifierError> {
        let wrong = |problem: String| Err(ClassifierError::file(&self.place, problem));
        match self.tensors.get(name).map(Tensor::dims) {
            Some([rows, _]) if *rows == labels => Ok(()),
            Some([rows, _]) => wrong(format!(
                "`{name}` has {rows} labels, and config.json has {labels} (`id2label`)"
            )),
            Some(shape) => wrong(format!(
                "`{name}` must be a matrix, and its shape is {shape:?}"
            )),
            None => wrong(format!(
                "there is no tensor `{name}`: the model has no head for the classification of texts"
            )),
        }
    }

    pub(super) fn into_builder(self) -> VarBuilder<'static> {
        VarBuilder::from_tensors(self.tensors, DType::F32, &Device::Cpu)
    }
}

/// Norms of old checkpoints are named as in TensorFlow.
fn modern(name: String) -> String {
    let renamed = |old: &str, new: &str| name.strip_suffix(old).map(|stem| format!("{stem}{new}"));
    renamed("LayerNorm.gamma", "LayerNorm.weight")
        .or_else(|| renamed("LayerNorm.beta", "LayerNorm.bias"))
        .unwrap_or(name)
}
