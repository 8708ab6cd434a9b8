//! Embeddings of a training run, kept on disk so that the next one takes seconds.
//!
//! The cache is one file a model, `<cache>/lydite/train/<model>.f32`: 16 bytes of the text's XXH3-128 (little
//! endian) and the vector's floats (little endian), text after text.

use anyhow::{Context as _, Result, bail};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use twox_hash::XxHash3_128;

/// Dimensions of each embedding.
const DIMS: usize = 384;

#[derive(Debug, Default)]
pub(crate) struct Embeddings(HashMap<u128, Arc<[f32]>>);

impl Embeddings {
    /// The embeddings of these texts, from the cache or the model; `None` where some are missing and this
    /// build has no model.
    pub(crate) fn of(model: Option<&str>, texts: &[String]) -> Result<Option<Self>> {
        let Some(model) = model else {
            return Ok(Some(Self::default()));
        };
        let path = cache()?.join(format!("{model}.f32"));
        let mut known = Self(read(&path)?);
        let mut missing: Vec<&str> = Vec::new();
        for text in texts {
            if known.get(text).is_none() {
                missing.push(text);
            }
        }
        missing.sort_unstable();
        missing.dedup();
        if missing.is_empty() {
            return Ok(Some(known));
        }
        eprintln!("embedding {} texts with {model}", missing.len());
        let vectors = embeddings(model, &missing)?;
        append(&path, &missing, &vectors)?;
        let new = missing.iter().map(|text| key(text)).zip(vectors);
        known
            .0
            .extend(new.map(|(key, vector)| (key, vector.into())));
        Ok(Some(known))
    }

    pub(crate) fn get(&self, text: &str) -> Option<Arc<[f32]>> {
        self.0.get(&key(text)).cloned()
    }
}

/// The one place where the model is called.
fn embeddings(model: &str, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
    let path = cache()?.join(format!("{model}.missing.{}.jsonl", std::process::id()));
    let lines: Vec<String> = texts
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()?;
    fs::write(&path, lines.join("\n"))?;
    bail!(
        "{model} can't be run yet; the texts to be embedded are in {}",
        path.display()
    )
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

/// All vectors of a cache; a piece that was cut off at its end is left.
fn read(path: &PathBuf) -> Result<HashMap<u128, Arc<[f32]>>> {
    if !path.exists() {
        return Ok(HashMap::new());
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let entries = bytes.chunks_exact(16 + 4 * DIMS);
    Ok(entries
        .filter_map(|entry| {
            let (key, floats) = entry.split_first_chunk::<16>()?;
            let (floats, _) = floats.as_chunks::<4>();
            let vector = floats
                .iter()
                .map(|float| f32::from_le_bytes(*float))
                .collect();
            Some((u128::from_le_bytes(*key), vector))
        })
        .collect())
}

fn append(path: &PathBuf, texts: &[&str], vectors: &[Vec<f32>]) -> Result<()> {
    let file = File::options().create(true).append(true).open(path);
    let mut file =
        BufWriter::new(file.with_context(|| format!("cannot write {}", path.display()))?);
    for (text, vector) in texts.iter().zip(vectors) {
        if vector.len() != DIMS {
            bail!("the model gave {} dimensions, not {DIMS}", vector.len());
        }
        file.write_all(&key(text).to_le_bytes())?;
        for value in vector {
            file.write_all(&value.to_le_bytes())?;
        }
    }
    file.flush()?;
    Ok(())
}
