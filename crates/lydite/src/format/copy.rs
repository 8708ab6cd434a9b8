//! A compressed copy of an input, kept while it is read.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::InputError;

/// Level of zstd: the fastest, since the reader waits for it.
const LEVEL: i32 = 1;

/// Writes the decompressed input to a zstd file, as far as blocks of it were handed out.
pub(super) struct InputCopy {
    path: PathBuf,
    /// `None` once it is finished.
    encoder: Option<zstd::stream::write::Encoder<'static, File>>,
}

impl InputCopy {
    /// Creates the file, or empties one that is there.
    pub(super) fn create(path: &Path) -> Result<Self, InputError> {
        let encoder = File::create(path)
            .and_then(|file| {
                let mut encoder = zstd::stream::write::Encoder::new(file, LEVEL)?;
                encoder.include_checksum(true)?;
                Ok(encoder)
            })
            .map_err(|cause| failed(path, cause))?;
        Ok(Self {
            path: path.to_owned(),
            encoder: Some(encoder),
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), InputError> {
        let written = self
            .encoder
            .as_mut()
            .map_or(Ok(()), |encoder| encoder.write_all(bytes));
        written.map_err(|cause| failed(&self.path, cause))
    }

    /// Makes the file hold all that was written so far, on disk, so that it can be read up to
    /// here even if it is never finished.
    pub(super) fn sync(&mut self) -> Result<(), InputError> {
        let synced = self.encoder.as_mut().map_or(Ok(()), |encoder| {
            encoder.flush()?;
            encoder.get_ref().sync_data()
        });
        synced.map_err(|cause| failed(&self.path, cause))
    }

    /// Ends the zstd frame.
    pub(super) fn finish(mut self) -> Result<(), InputError> {
        let finished = self.encoder.take().map_or(Ok(()), |encoder| {
            encoder.finish().and_then(|file| file.sync_data())
        });
        finished.map_err(|cause| failed(&self.path, cause))
    }
}

/// A run that stops early leaves a copy that can be read as far as it goes.
impl Drop for InputCopy {
    fn drop(&mut self) {
        if let Some(encoder) = self.encoder.take() {
            // Nobody is left to tell, and the data itself is still there.
            let _ = encoder.finish();
        }
    }
}

fn failed(path: &Path, cause: io::Error) -> InputError {
    InputError::Copy {
        file: path.display().to_string(),
        cause,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Cursor;

    use crate::format::{Block, BlockReader, BlockSize, Format, InputError, Source, open};

    const CSV: &str = "\u{feff}query,output\r\na,b\r\n\"c\nd\",e\r\n";

    #[test]
    fn the_copy_holds_the_input_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input.zst");
        let source = Source {
            copy: Some(path.clone()),
            ..Source::reader("-", Cursor::new(CSV))
        };
        let mut reader = open(vec![source], BlockSize::default()).unwrap();
        let mut block = Block::new();
        while reader.next_block(&mut block).unwrap() {}
        reader.finish().unwrap();
        let copied = zstd::decode_all(fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(copied, CSV.as_bytes());
        assert_eq!(block.end.bytes, CSV.len() as u64);
    }

    #[test]
    fn a_reader_stopped_early_leaves_what_it_handed_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("input.zst");
        let lines: String = (0..1000).map(|n| format!("{{\"id\":{n}}}\n")).collect();
        let source = Source {
            copy: Some(path.clone()),
            format: Some(Format::Jsonl),
            ..Source::reader("-", Cursor::new(lines.clone()))
        };
        let size = BlockSize {
            records: 10,
            ..BlockSize::default()
        };
        let mut reader = open(vec![source], size).unwrap();
        let mut block = Block::new();
        assert!(reader.next_block(&mut block).unwrap());
        assert!(reader.next_block(&mut block).unwrap());
        reader.sync_copy().unwrap();
        let read = block.end.bytes as usize;
        let mut decoder = zstd::stream::read::Decoder::new(fs::File::open(&path).unwrap()).unwrap();
        let mut copied = vec![0; read];
        std::io::Read::read_exact(&mut decoder, &mut copied).unwrap();
        assert_eq!(copied, &lines.as_bytes()[..read]);
        reader.finish().unwrap();
        assert_eq!(
            zstd::decode_all(fs::File::open(&path).unwrap()).unwrap(),
            copied
        );
    }

    #[test]
    fn a_copy_that_cannot_be_made_is_an_error() {
        let source = Source {
            copy: Some("/nowhere/at/all.zst".into()),
            ..Source::reader("-", Cursor::new("{}\n"))
        };
        let error = open(vec![source], BlockSize::default()).unwrap_err();
        assert!(matches!(error, InputError::Copy { .. }), "{error}");
        assert!(
            error
                .to_string()
                .starts_with("/nowhere/at/all.zst: the copy"),
            "{error}"
        );
    }
}
