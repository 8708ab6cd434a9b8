//! Labelled sets on disk: a folder each, with an `open.jsonl` of one JSON object a line.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of all sets.
#[derive(Debug)]
pub(crate) struct Data(PathBuf);

/// A line of a set.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Record {
    #[serde(default)]
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) query: Option<String>,
    #[serde(default)]
    pub(crate) output: Option<String>,
    #[serde(default)]
    pub(crate) reference: Option<String>,
    #[serde(default)]
    pub(crate) contexts: Vec<Context>,
    #[serde(default)]
    pub(crate) label: Value,
    #[serde(default)]
    pub(crate) meta: Value,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Context {
    pub(crate) document: String,
}

impl Data {
    pub(crate) fn new(folder: &Path) -> Self {
        Self(folder.to_owned())
    }

    /// The records of a set, in the order of its file. Lines end with `\n` alone.
    pub(crate) fn read(&self, set: &str) -> Result<Vec<Record>> {
        let path = self.0.join(set).join("open.jsonl");
        let text = fs::read_to_string(&path).with_context(|| {
            format!(
                "cannot read {}; name the sets' folder with --data",
                path.display()
            )
        })?;
        text.split('\n')
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
            .map(|(line, text)| {
                serde_json::from_str(text)
                    .with_context(|| format!("{}:{}", path.display(), line + 1))
            })
            .collect()
    }
}

impl Record {
    pub(crate) fn output(&self) -> &str {
        self.output.as_deref().unwrap_or_default()
    }

    /// A text of `meta`, empty where it is none.
    pub(crate) fn meta(&self, key: &str) -> &str {
        self.meta
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// `meta.split_key`, or the record's own id where there is none.
    pub(crate) fn group(&self) -> String {
        match self.meta("split_key") {
            "" => self.id.clone(),
            key => key.to_owned(),
        }
    }
}
