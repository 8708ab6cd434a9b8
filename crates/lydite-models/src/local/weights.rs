//! `model.safetensors`: named tensors of 32-bit floats, read one by one, so that the file is never in memory twice.
//!
//! The format: 8 bytes with the length of a JSON header, the header (name → type, shape, begin and end), the numbers
//! (<https://github.com/huggingface/safetensors#format>).

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, Metadata};

use super::error::LocalError;

/// What is in the file, and where.
#[derive(Debug)]
pub(super) struct Weights {
    path: PathBuf,
    tensors: Metadata,
    /// Where in the file the numbers begin.
    begin: u64,
    /// What the names begin with.
    prefix: &'static str,
}

/// A tensor's place among the numbers, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place(u64);

/// A thread's own way into the file.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    weights: &'a Weights,
    file: Result<File, Option<io::Error>>,
}

impl Weights {
    /// Reads the header, and checks that it fits the file's length.
    pub(super) fn open(path: PathBuf) -> Result<Self, LocalError> {
        let (header, length) = header(&path)?;
        let malformed = |reason: String| LocalError::Malformed {
            path: path.clone(),
            reason,
        };
        let tensors: Metadata =
            serde_json::from_slice(&header).map_err(|error| malformed(error.to_string()))?;
        let begin = header.len() as u64 + LENGTH;
        let wanted = begin.saturating_add(tensors.data_len() as u64);
        if wanted != length {
            return Err(malformed(format!(
                "its header tells of {wanted} bytes, the file has {length}"
            )));
        }
        let bare = tensors.info("embeddings.word_embeddings.weight").is_some();
        Ok(Self {
            path,
            tensors,
            begin,
            prefix: if bare { "" } else { "bert." },
        })
    }

    /// Where the numbers of a tensor of this shape begin.
    ///
    /// # Errors
    /// Where there is no such tensor, or it has another shape or other numbers.
    pub(super) fn place(&self, name: &str, shape: &[usize]) -> Result<Place, LocalError> {
        let tensor = self.tensors.info(&format!("{}{name}", self.prefix));
        let tensor = tensor.ok_or_else(|| self.malformed(format!("tensor {name} is missing")))?;
        if tensor.dtype != Dtype::F32 {
            return Err(self.malformed(format!(
                "tensor {name} is of {:?}, only F32 is computed",
                tensor.dtype
            )));
        }
        if tensor.shape != shape {
            let told = format!(
                "tensor {name} has shape {:?}, config.json asks for {shape:?}",
                tensor.shape
            );
            return Err(self.malformed(told));
        }
        Ok(Place(self.begin + tensor.data_offsets.0 as u64))
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        Reader {
            weights: self,
            file: File::open(&self.path).map_err(Some),
        }
    }

    fn malformed(&self, reason: String) -> LocalError {
        LocalError::Malformed {
            path: self.path.clone(),
            reason,
        }
    }
}

impl Place {
    /// The place so many numbers further on.
    pub(super) fn skip(self, numbers: usize) -> Self {
        Self(self.0 + (numbers * size_of::<f32>()) as u64)
    }
}

impl Reader<'_> {
    /// A tensor's numbers.
    pub(super) fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>, LocalError> {
        let place = self.weights.place(name, shape)?;
        let mut numbers = vec![0.0; shape.iter().product()];
        self.fill(place, &mut numbers)?;
        Ok(numbers)
    }

    /// As many numbers as there is room for, from a place on.
    pub(super) fn fill(&mut self, place: Place, numbers: &mut [f32]) -> Result<(), LocalError> {
        self.read(place, numbers)
            .map_err(|source| LocalError::Read {
                path: self.weights.path.clone(),
                source,
            })
    }

    fn read(&mut self, place: Place, numbers: &mut [f32]) -> io::Result<()> {
        let file = match &mut self.file {
            Ok(file) => file,
            Err(error) => return Err(error.take().unwrap_or_else(|| io::ErrorKind::Other.into())),
        };
        file.seek(SeekFrom::Start(place.0))?;
        file.read_exact(bytemuck::cast_slice_mut(numbers))?;
        if cfg!(target_endian = "big") {
            for number in numbers {
                *number = f32::from_bits(number.to_bits().swap_bytes());
            }
        }
        Ok(())
    }
}

/// Bytes of the header's length.
const LENGTH: u64 = 8;

/// The header's JSON, and the length of the file.
fn header(path: &Path) -> Result<(Vec<u8>, u64), LocalError> {
    let read = |source| LocalError::Read {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(read)?;
    let length = file.metadata().map_err(read)?.len();
    let mut bytes = [0; LENGTH as usize];
    file.read_exact(&mut bytes).map_err(read)?;
    let wanted = u64::from_le_bytes(bytes);
    if wanted > length.saturating_sub(LENGTH) {
        return Err(LocalError::Malformed {
            path: path.to_owned(),
            reason: format!("its header should have {wanted} bytes, the whole file has {length}"),
        });
    }
    let mut header = vec![0; wanted as usize];
    file.read_exact(&mut header).map_err(read)?;
    Ok((header, length))
}
