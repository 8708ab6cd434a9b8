//! Where caches stand on this machine, and the random key that is kept beside them.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

const FENCE_KEY: &str = "fence.key";

/// `$LYDITE_CACHE_DIR`, else the platform's folder for caches; `None` where the environment names none.
pub fn cache_dir() -> Option<PathBuf> {
    cache_dir_of(|name| std::env::var_os(name))
}

/// The key of the tags that fence data in prompts: 32 random bytes in a file of the folder, made where
/// there is none. Processes that make it at once agree on one.
pub(crate) fn fence_key(dir: &Path) -> io::Result<[u8; 32]> {
    make_dir(dir)?;
    let path = dir.join(FENCE_KEY);
    if let Some(key) = read_key(&path)? {
        return Ok(key);
    }
    let key = random_key()?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(&key)?;
    let Err(taken) = file.persist_noclobber(&path) else {
        return Ok(key);
    };
    match read_key(&path)? {
        Some(key) => Ok(key),
        // What stands there is no key: a disk was full once, or another program's file.
        None => taken.file.persist(&path).map(|_| key).map_err(|e| e.error),
    }
}

pub(crate) fn random_key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    Ok(key)
}

/// Makes a folder that only its owner can read.
pub(crate) fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Opens a file for writing, made where it is missing such that only its owner can read it.
pub(crate) fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn read_key(path: &Path) -> io::Result<Option<[u8; 32]>> {
    match fs::read(path) {
        Ok(bytes) => Ok(bytes.try_into().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn cache_dir_of(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let named = |name: &str| {
        variable(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(dir) = named("LYDITE_CACHE_DIR") {
        return Some(dir);
    }
    let base = if cfg!(windows) {
        named("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        named("HOME").map(|home| home.join("Library").join("Caches"))
    } else {
        // The XDG base directory specification: paths that are not absolute are to be ignored.
        named("XDG_CACHE_HOME")
            .filter(|dir| dir.is_absolute())
            .or_else(|| named("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("lydite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(all(unix, not(target_os = "macos")))]
    #[test]
    fn folders() {
        let table = [
            (vec![("LYDITE_CACHE_DIR", "x"), ("HOME", "/h")], Some("x")),
            (
                vec![("LYDITE_CACHE_DIR", ""), ("HOME", "/h")],
                Some("/h/.cache/lydite"),
            ),
            (
                vec![("XDG_CACHE_HOME", "/c"), ("HOME", "/h")],
                Some("/c/lydite"),
            ),
            (
                vec![("XDG_CACHE_HOME", "c"), ("HOME", "/h")],
                Some("/h/.cache/lydite"),
            ),
            (vec![], None),
        ];
        for (environment, expected) in table {
            let dir = cache_dir_of(|name| {
                let value = environment.iter().find(|(key, _)| *key == name);
                value.map(|(_, value)| OsString::from(value))
            });
            assert_eq!(dir, expected.map(PathBuf::from), "{environment:?}");
        }
    }

    #[test]
    fn all_agree_on_one_fence_key() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("deep").join("er");
        let keys: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| fence_key(&dir).unwrap()))
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(keys.iter().all(|key| *key == keys[0] && *key != [0; 32]));
        fs::write(dir.join(FENCE_KEY), "torn").unwrap();
        let healed = fence_key(&dir).unwrap();
        assert_eq!(fence_key(&dir).unwrap(), healed);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_reads() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("lydite");
        fence_key(&dir).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&dir), mode(&dir.join(FENCE_KEY))), (0o700, 0o600));
    }
}
