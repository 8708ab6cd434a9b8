//! Whether files are the pinned ones: by size and SHA-256.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::pins::{PinnedFile, PinnedModel};
use crate::place;

/// Read at a time.
const BLOCK: usize = 256 * 1024;

/// Why a file or folder is not the pinned one.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    #[error("not there")]
    Absent,
    /// Some of a model's files are there, but not this one.
    #[error("`{0}` is missing")]
    Lacks(String),
    #[error("`{file}` has {found} bytes in place of {expected}")]
    Size {
        file: String,
        expected: u64,
        found: u64,
    },
    #[error("`{file}` has the SHA-256 {found} in place of {expected}")]
    Hash {
        file: String,
        expected: String,
        found: String,
    },
    #[error("`{file}` can't be read: {error}")]
    Unreadable { file: String, error: io::Error },
}

/// Checks one file.
pub(super) fn file(path: &Path, pin: &PinnedFile<'_>) -> Result<(), Fault> {
    size(path, pin)?;
    let found = fingerprint(path).map_err(|error| unreadable(pin, error))?;
    if found == pin.sha256 {
        return Ok(());
    }
    Err(Fault::Hash {
        file: pin.name.to_owned(),
        expected: pin.sha256.to_owned(),
        found,
    })
}

/// The SHA-256 of a file, in hexadecimal digits.
pub(crate) fn fingerprint(path: &Path) -> io::Result<String> {
    File::open(path).and_then(sha256)
}

/// Checks a model's files in a folder; what else is there is left alone.
pub(super) fn folder(dir: &Path, model: &PinnedModel<'_>) -> Result<(), Fault> {
    for pin in model.files {
        match size(&dir.join(pin.name), pin) {
            Err(Fault::Lacks(_)) if holds_none(dir, model) => return Err(Fault::Absent),
            checked => checked?,
        }
    }
    model
        .files
        .iter()
        .try_for_each(|pin| file(&dir.join(pin.name), pin))
}

/// Remembers which folders were checked, as long as their files stay untouched.
///
/// A stamp is an empty file whose name is a hash of the folder's path and of each file's pin, size and times. It
/// spares 91 MB of hashing a start.
#[derive(Clone, Debug)]
pub(super) struct Stamps(pub(super) Option<PathBuf>);

impl Stamps {
    /// [`folder`], by the stamp where there is one.
    pub(super) fn folder(&self, dir: &Path, model: &PinnedModel<'_>) -> Result<(), Fault> {
        let stamp = self.path(dir, model);
        if stamp.as_ref().is_some_and(|stamp| stamp.exists()) {
            return Ok(());
        }
        folder(dir, model)?;
        if let Some(stamp) = stamp {
            // Without it the next start hashes again.
            let _ = stamp.parent().map_or(Ok(()), place::make_dir);
            let _ = File::create(stamp);
        }
        Ok(())
    }

    fn path(&self, dir: &Path, model: &PinnedModel<'_>) -> Option<PathBuf> {
        let mut hash = blake3::Hasher::new();
        let dir = dir.canonicalize().ok()?;
        hash.update(dir.as_os_str().as_encoded_bytes());
        for pin in model.files {
            let found = fs::metadata(dir.join(pin.name)).ok()?;
            if found.len() != pin.bytes {
                return None;
            }
            let times = times(&found)?;
            hash.update(format!("\0{} {} {times}", pin.name, pin.sha256).as_bytes());
        }
        Some(self.0.as_ref()?.join(hash.finalize().to_hex().as_str()))
    }
}

/// When a file's content and, where the system tells it, its entry were last changed.
fn times(file: &Metadata) -> Option<String> {
    let modified = file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    #[cfg(unix)]
    let changed = {
        use std::os::unix::fs::MetadataExt;
        (file.ctime(), file.ctime_nsec())
    };
    #[cfg(not(unix))]
    let changed = ();
    Some(format!("{modified:?} {changed:?} {}", file.len()))
}

fn size(path: &Path, pin: &PinnedFile<'_>) -> Result<(), Fault> {
    let found = match fs::metadata(path) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Fault::Lacks(pin.name.to_owned()));
        }
        Err(error) => return Err(unreadable(pin, error)),
    };
    if found == pin.bytes {
        return Ok(());
    }
    Err(Fault::Size {
        file: pin.name.to_owned(),
        expected: pin.bytes,
        found,
    })
}

fn holds_none(dir: &Path, model: &PinnedModel<'_>) -> bool {
    model.files.iter().all(|pin| !dir.join(pin.name).exists())
}

fn unreadable(pin: &PinnedFile<'_>, error: io::Error) -> Fault {
    Fault::Unreadable {
        file: pin.name.to_owned(),
        error,
    }
}

fn sha256(mut file: impl Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(HEXLOWER.encode(&hash.finalize())),
            Ok(read) => hash.update(block.get(..read).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::supply::tests::Small;

    /// FIPS 180-4's examples, as NIST publishes them.
    #[test]
    fn hashes() {
        for (text, expected) in [
            (
                "",
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                "abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
        ] {
            assert_eq!(sha256(text.as_bytes()).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_wrong_with_a_folder() {
        let small = Small::new();
        let dir = tempfile::tempdir().unwrap();
        let said = || {
            let checked = folder(dir.path(), &small.model());
            checked.map_err(|fault| fault.to_string()).err()
        };
        assert_eq!(said().as_deref(), Some("not there"));
        fs::write(dir.path().join("config.json"), "{}").unwrap();
        assert_eq!(said().as_deref(), Some("`model.safetensors` is missing"));
        small.write_to(dir.path());
        assert_eq!(said(), None);
        fs::write(dir.path().join("config.json"), "{}").unwrap();
        let size = small.model().files[2].bytes;
        let expected = format!("`config.json` has 2 bytes in place of {size}");
        assert_eq!(said(), Some(expected));
        small.write_damaged_to(dir.path());
        let fault = said().unwrap();
        assert!(
            fault.starts_with("`model.safetensors` has the SHA-256 "),
            "{fault}"
        );
    }

    #[test]
    fn a_stamp_holds_until_a_file_is_touched() {
        let small = Small::new();
        let dir = tempfile::tempdir().unwrap();
        let stamps = Stamps(Some(dir.path().join("checked")));
        small.write_to(dir.path());
        let weights = dir.path().join("model.safetensors");
        assert!(!stamps.path(dir.path(), &small.model()).unwrap().exists());
        stamps.folder(dir.path(), &small.model()).unwrap();
        let stamp = stamps.path(dir.path(), &small.model()).unwrap();
        assert!(stamp.exists());
        std::thread::sleep(std::time::Duration::from_millis(20));
        let before = fs::metadata(&weights).unwrap().modified().unwrap();
        small.write_damaged_to(dir.path());
        File::options()
            .write(true)
            .open(&weights)
            .unwrap()
            .set_modified(before)
            .unwrap();
        // Where the system tells when the entry was changed, a forged time of the content does not help.
        if cfg!(unix) {
            assert!(stamps.folder(dir.path(), &small.model()).is_err());
        }
    }
}
