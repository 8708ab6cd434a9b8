//! Embeddings of a training run, kept on disk so that the next one takes seconds.
//!
//! The cache is one file a model, `<cache>/lydite/train/<model>.f32`: 16 bytes of the text's XXH3-128 (little
//! endian) and the vector's floats (little endian), text after text. It is only ever added to.

use anyhow::{Context as _, Result, bail};
#[cfg(feature = "train")]
use lydite_models::local::MiniLm;
#[cfg(feature = "train")]
use lydite_models::local::supply::{MINILM, Supply};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// Dimensions of each embedding.
const DIMS: usize = 384;

#[derive(Debug, Default)]
pub(crate) struct Embeddings(HashMap<u128, Arc<[f32]>>);

impl Embeddings {
    /// The embeddings of these texts, from the cache or by the model, whose files are in `folder` or wherever else
    /// they are found; `None` where some are missing and this build links no models.
    pub(crate) fn of(
        model: Option<&str>,
        folder: Option<&Path>,
        texts: &[String],
    ) -> Result<Option<Self>> {
        let Some(model) = model else {
            return Ok(Some(Self::default()));
        };
        let path = cache()?.join(format!("{model}.f32"));
        let mut known = Self(read(&path)?);
        let missing: BTreeSet<&str> = texts
            .iter()
            .map(String::as_str)
            .filter(|text| known.get(text).is_none())
            .collect();
        let missing: Vec<&str> = missing.into_iter().collect();
        if !missing.is_empty() && !cfg!(feature = "train") {
            return Ok(None);
        }
        embed(folder, &missing, |texts, vectors| {
            append(&path, texts, &vectors)?;
            let keys = texts.iter().map(|text| key(text));
            known.0.extend(keys.zip(vectors));
            Ok(())
        })?;
        Ok(Some(known))
    }

    pub(crate) fn get(&self, text: &str) -> Option<Arc<[f32]>> {
        self.0.get(&key(text)).cloned()
    }
}

/// Embeds texts, some hundred at a time, so that what is done is kept where the rest is not waited for.
#[cfg(feature = "train")]
fn embed(
    folder: Option<&Path>,
    texts: &[&str],
    mut keep: impl FnMut(&[&str], Vec<Arc<[f32]>>) -> Result<()>,
) -> Result<()> {
    if texts.is_empty() {
        return Ok(());
    }
    let supply = Supply::from_environment().model_dir(folder.map(Path::to_owned));
    let model = MiniLm::load(&supply.find(&MINILM)?.folder)?;
    for (batch, texts_of_it) in texts.chunks(512).enumerate() {
        eprintln!(
            "embedding: {} of {} texts are done",
            batch * 512,
            texts.len()
        );
        keep(texts_of_it, model.embed(texts_of_it)?)?;
    }
    Ok(())
}

/// Nothing is asked of a build without models.
#[cfg(not(feature = "train"))]
#[expect(
    clippy::unnecessary_wraps,
    reason = "the same as where there are models"
)]
fn embed(
    _: Option<&Path>,
    _: &[&str],
    _: impl FnMut(&[&str], Vec<Arc<[f32]>>) -> Result<()>,
) -> Result<()> {
    Ok(())
}

/// The folder of caches: `$XDG_CACHE_HOME`, or `~/.cache`.
fn cache() -> Result<PathBuf> {
    let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = named.or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let folder = folder
        .context("no home folder; set XDG_CACHE_HOME")?
        .join("lydite/train");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

fn key(text: &str) -> u128 {
    XxHash3_128::oneshot(text.as_bytes())
}

/// All vectors of a cache, none where there is no file; a piece that was cut off at its end is left.
fn read(path: &Path) -> Result<HashMap<u128, Arc<[f32]>>> {
    if !path.exists() {
        return Ok(HashMap::new());
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let entries = bytes.chunks_exact(16 + 4 * DIMS);
    let vector = |floats: &[u8]| {
        let (floats, _) = floats.as_chunks::<4>();
        floats
            .iter()
            .map(|float| f32::from_le_bytes(*float))
            .collect()
    };
    Ok(entries
        .filter_map(|entry| entry.split_first_chunk::<16>())
        .map(|(key, floats)| (u128::from_le_bytes(*key), vector(floats)))
        .collect())
}

/// Adds vectors by one write, so that two runs at a time don't mix theirs.
fn append(path: &Path, texts: &[&str], vectors: &[Arc<[f32]>]) -> Result<()> {
    let mut bytes = Vec::with_capacity(texts.len() * (16 + 4 * DIMS));
    for (text, vector) in texts.iter().zip(vectors) {
        if vector.len() != DIMS {
            bail!("the model gave {} dimensions, not {DIMS}", vector.len());
        }
        bytes.extend(key(text).to_le_bytes());
        bytes.extend(vector.iter().flat_map(|value| value.to_le_bytes()));
    }
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .and_then(|mut file| file.write_all(&bytes))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_is_read_again_but_for_a_cut_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.f32");
        assert!(read(&path).unwrap().is_empty());
        let vector = |x: f32| Arc::from(vec![x; DIMS]);
        append(&path, &["a", "b"], &[vector(0.5), vector(-1.0)]).unwrap();
        append(&path, &["c"], &[vector(2.0)]).unwrap();
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let known = Embeddings(read(&path).unwrap());
        assert_eq!(known.get("a"), Some(vector(0.5)));
        assert_eq!(known.get("b"), Some(vector(-1.0)));
        assert_eq!(known.get("c"), None);
        assert!(append(&path, &["d"], &[Arc::from([1.0].as_slice())]).is_err());
    }
}
