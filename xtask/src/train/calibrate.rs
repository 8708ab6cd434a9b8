//! Probabilities from logits.

use super::logistic::{Problem, Row, fit};
use super::table::Table;
use anyhow::Result;
use lydite::heads::file::Calibration;

/// Platt scaling of the logits that are there, every set weighing the same.
///
/// The targets are Platt's `(n₊ + 1) / (n₊ + 2)` and `1 / (n₋ + 2)`, which keep separable logits finite.
pub(crate) fn platt(table: &Table, logits: &[Option<f64>]) -> Result<Calibration> {
    let mut problem = Problem {
        penalties: vec![1e-9],
        ..Problem::default()
    };
    let scored = || {
        (0..)
            .zip(logits)
            .filter_map(|(row, logit)| Some((row, (*logit)?)))
    };
    let yes = scored().filter(|(row, _)| table.label(*row)).count() as f64;
    let no = scored().count() as f64 - yes;
    for (row, logit) in scored() {
        problem.rows.push(Row {
            dense: vec![logit],
            sparse: Vec::new(),
        });
        problem.targets.push(if table.label(row) {
            (yes + 1.0) / (yes + 2.0)
        } else {
            1.0 / (no + 2.0)
        });
        problem.weights.push(table.weight(row));
    }
    let fitted = fit(&problem)?;
    Ok(Calibration {
        slope: fitted.weights.first().copied().unwrap_or(1.0),
        intercept: fitted.bias,
    })
}
