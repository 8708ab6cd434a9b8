//! A model for some rows of a table, by a recipe.

use super::logistic::{self, Fitted, Problem, Row};
use super::table::Table;
use super::task::{LinearRecipe, Recipe, SignedRecipe};
use anyhow::{Result, bail};
use lydite::heads::file::{self, Calibration, Embedding, Feature, File, Model, NgramBlock};
use lydite::heads::hashed::Scratch;
use lydite::heads::packed::{Packed, Width};
use lydite::heads::{Head, Levels, Names};
use std::collections::BTreeMap;

/// Fits on some rows.
pub(crate) fn model(
    recipe: &Recipe,
    names: &Names<'_>,
    table: &Table,
    rows: &[usize],
) -> Result<Model> {
    match recipe {
        Recipe::Linear(recipe) => {
            let any = |_: &str, _: f64| true;
            Ok(Model::Linear(linear(recipe, names, table, rows, any)?))
        }
        Recipe::Signed(recipe) => {
            let fits = |name: &str, weight: f64| recipe.allows(name, weight);
            Ok(Model::Linear(linear(
                &recipe.linear,
                names,
                table,
                rows,
                fits,
            )?))
        }
    }
}

/// A head that scores with a model, not calibrated and without levels.
pub(crate) fn head(model: Model, names: &Names<'_>) -> Result<Head> {
    let file = File {
        id: String::new(),
        version: String::new(),
        embedder: None,
        model,
        calibration: Calibration {
            slope: 1.0,
            intercept: 0.0,
        },
        levels: Levels {
            pass: None,
            fail: None,
            accuracy_pass: None,
            accuracy_fail: None,
            coverage: 0.0,
        },
        figures: BTreeMap::new(),
        fitted_on: Vec::new(),
        seed: 0,
    };
    Ok(Head::new(file, names)?)
}

fn linear(
    recipe: &LinearRecipe,
    names: &Names<'_>,
    table: &Table,
    rows: &[usize],
    allows: impl Fn(&str, f64) -> bool,
) -> Result<file::Linear> {
    let standards: Vec<(f64, f64)> = (0..names.dense.len())
        .map(|column| standard(table, rows, column))
        .collect();
    let problem = problem(recipe, names, table, rows, &standards)?;
    let fitted = signed(problem, names.dense, allows)?;
    let mut weights = fitted.weights.as_slice();
    let mut take = |n: usize| weights.split_off(..n).unwrap_or_default();
    let dense = take(names.dense.len());
    let features = names.dense.iter().zip(&standards).zip(dense);
    let embeddings = names.embeddings.iter().zip(table.dims());
    Ok(file::Linear {
        bias: fitted.bias,
        features: features
            .map(|((name, (mean, scale)), weight)| Feature {
                name: (*name).to_owned(),
                mean: *mean,
                scale: *scale,
                weight: *weight,
            })
            .collect(),
        embeddings: embeddings
            .map(|(name, dims)| Embedding {
                name: (*name).to_owned(),
                dims,
                weights: Packed::pack(take(dims), Width::I16),
            })
            .collect(),
        ngrams: recipe
            .blocks
            .iter()
            .map(|(name, grams)| NgramBlock {
                name: (*name).to_owned(),
                grams: *grams,
                weights: Packed::pack(take(grams.buckets()), Width::I8),
            })
            .collect(),
    })
}

impl SignedRecipe {
    fn allows(&self, name: &str, weight: f64) -> bool {
        let falls = weight < 0.0 && self.rising.contains(&name);
        let rises = weight > 0.0 && self.falling.contains(&name);
        !falls && !rises
    }
}

/// Fits, and again without the dense features whose weight is not allowed, until all are.
fn signed(
    mut problem: Problem,
    names: &[&str],
    allows: impl Fn(&str, f64) -> bool,
) -> Result<Fitted> {
    loop {
        let fitted = logistic::fit(&problem)?;
        let weights = names.iter().zip(&fitted.weights).enumerate();
        let wrong: Vec<usize> = weights
            .filter(|(_, (name, weight))| !allows(name, **weight))
            .map(|(column, _)| column)
            .collect();
        if wrong.is_empty() {
            return Ok(fitted);
        }
        for row in &mut problem.rows {
            for column in &wrong {
                if let Some(value) = row.dense.get_mut(*column) {
                    *value = 0.0;
                }
            }
        }
    }
}

/// Weighted mean and standard deviation of a dense feature; 1 in place of a deviation of 0.
fn standard(table: &Table, rows: &[usize], column: usize) -> (f64, f64) {
    let (mut total, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for (value, weight) in rows.iter().filter_map(|row| {
        let value = *table.features(*row).dense.get(column)?;
        value.is_finite().then(|| (value, table.weight(*row)))
    }) {
        total += weight;
        sum += weight * value;
        squares += weight * value * value;
    }
    if total <= 0.0 {
        return (0.0, 1.0);
    }
    let mean = sum / total;
    let deviation = (squares / total - mean * mean).max(0.0).sqrt();
    (mean, if deviation > 1e-9 { deviation } else { 1.0 })
}

/// Columns: dense features, dimensions of embeddings, buckets block by block.
fn problem(
    recipe: &LinearRecipe,
    names: &Names<'_>,
    table: &Table,
    rows: &[usize],
    standards: &[(f64, f64)],
) -> Result<Problem> {
    let mut blocks = Vec::with_capacity(recipe.blocks.len());
    for (name, grams) in &recipe.blocks {
        match names.texts.iter().position(|text| text == name) {
            Some(text) => blocks.push((text, *grams)),
            None => bail!("the recipe's n-grams are of `{name}`, which is none of the texts"),
        }
    }
    let dims: usize = table.dims().iter().sum();
    let buckets: usize = blocks.iter().map(|(_, grams)| grams.buckets()).sum();
    let mut problem = Problem::default();
    for (count, penalty) in [
        (names.dense.len(), recipe.dense),
        (dims, recipe.embeddings),
        (buckets, recipe.ngrams),
    ] {
        problem
            .penalties
            .extend(std::iter::repeat_n(penalty, count));
    }
    let mut scratch = Scratch::default();
    for row in rows {
        let features = table.features(*row);
        let standardised = features.dense.iter().zip(standards);
        let mut values = Row {
            dense: standardised
                .map(|(value, (mean, scale))| {
                    if value.is_finite() {
                        (value - mean) / scale
                    } else {
                        0.0
                    }
                })
                .collect(),
            sparse: Vec::new(),
        };
        for vector in &features.embeddings {
            values
                .dense
                .extend(vector.iter().map(|value| f64::from(*value)));
        }
        let mut first = 0;
        for (text, grams) in &blocks {
            let text = features.texts.get(*text).map_or("", String::as_str);
            let found = grams.of(text, &mut scratch);
            values
                .sparse
                .extend(found.iter().map(|(bucket, value)| (first + bucket, *value)));
            first += grams.buckets() as u32;
        }
        problem.rows.push(values);
        problem.targets.push(f64::from(u8::from(table.label(*row))));
        problem.weights.push(table.weight(*row));
    }
    Ok(problem)
}
