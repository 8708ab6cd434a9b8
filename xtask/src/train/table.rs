//! All examples of a task with their features.

use super::embed::Embeddings;
use super::task::{Example, Features, Task};
use anyhow::{Result, bail};
use lydite::heads::file::FittedOn;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug)]
pub(crate) struct Table {
    examples: Vec<Example>,
    features: Vec<Features>,
    /// Of mean 1, with all sets adding up to the same.
    weights: Vec<f64>,
}

impl Table {
    pub(crate) fn new(
        task: &dyn Task,
        examples: Vec<Example>,
        embeddings: &Embeddings,
    ) -> Result<Self> {
        let embed = |text: &str| embeddings.get(text);
        let features = examples
            .iter()
            .map(|example| task.features(&example.record, &embed))
            .collect::<Result<Vec<_>>>()?;
        let table = Self::from_features(examples, features)?;
        let names = task.names();
        for features in &table.features {
            let found = (
                features.dense.len(),
                features.embeddings.len(),
                features.texts.len(),
            );
            if found != (names.dense.len(), names.embeddings.len(), names.texts.len()) {
                bail!(
                    "{}: {found:?} features do not fit their names {names:?}",
                    task.id()
                );
            }
        }
        Ok(table)
    }

    /// The same where the features are at hand.
    pub(crate) fn from_features(examples: Vec<Example>, features: Vec<Features>) -> Result<Self> {
        if examples.is_empty() {
            bail!("there are no examples");
        }
        let weights = balanced(&examples);
        Ok(Self {
            examples,
            features,
            weights,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.examples.len()
    }

    pub(crate) fn examples(&self) -> &[Example] {
        &self.examples
    }

    pub(crate) fn label(&self, row: usize) -> bool {
        self.examples.get(row).is_some_and(|example| example.label)
    }

    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.get(row).copied().unwrap_or_default()
    }

    /// Panics where there is no such row.
    #[expect(
        clippy::indexing_slicing,
        reason = "rows come from this table's own splits"
    )]
    pub(crate) fn features(&self, row: usize) -> &Features {
        &self.features[row]
    }

    /// How many dimensions each embedding has.
    pub(crate) fn dims(&self) -> Vec<usize> {
        let vectors = self.features.first().map(|first| &first.embeddings);
        vectors
            .into_iter()
            .flatten()
            .map(|v: &Arc<[f32]>| v.len())
            .collect()
    }

    /// The sets in the order of the task, each with its count.
    pub(crate) fn fitted_on(&self, task: &dyn Task) -> Vec<FittedOn> {
        let count = |name| self.examples.iter().filter(|e| e.set == name).count();
        task.sets()
            .iter()
            .map(|set| FittedOn {
                set: set.name.to_owned(),
                licence: set.licence.to_owned(),
                n: count(set.name),
            })
            .collect()
    }
}

fn balanced(examples: &[Example]) -> Vec<f64> {
    let mut totals: BTreeMap<&str, f64> = BTreeMap::new();
    for example in examples {
        *totals.entry(example.set).or_default() += example.weight;
    }
    let share = examples.len() as f64 / totals.len() as f64;
    examples
        .iter()
        .map(|example| match totals.get(example.set) {
            Some(total) if *total > 0.0 => example.weight * share / total,
            _ => 0.0,
        })
        .collect()
}
