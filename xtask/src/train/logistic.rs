//! Logistic regression with a quadratic penalty, over rows that are partly dense and partly sparse.
//!
//! Minimises `Σ wᵢ (ln(1 + e^zᵢ) − tᵢ zᵢ) + ½ Σ λⱼ βⱼ²` with `z = b + Xβ`; the bias is free. By Newton's method,
//! whose step is found by conjugate gradients (C.-J. Lin, R. Weng and S. Keerthi, "Trust region Newton method
//! for large-scale logistic regression", JMLR 9, 2008, with a line search in place of the trust region). The
//! function is strictly convex in β, so what is found does not hang on the way.

use anyhow::{Result, bail};
use lydite::heads::sigmoid;

/// Rows, targets and how strongly each column is held back.
#[derive(Debug, Default)]
pub(crate) struct Problem {
    pub(crate) rows: Vec<Row>,
    /// Each in `[0, 1]`.
    pub(crate) targets: Vec<f64>,
    /// Above 0.
    pub(crate) weights: Vec<f64>,
    /// λ of each column, dense ones first.
    pub(crate) penalties: Vec<f64>,
}

/// The values of a row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// Of the first columns.
    pub(crate) dense: Vec<f64>,
    /// Columns, counted from the first behind the dense ones, and their values.
    pub(crate) sparse: Vec<(u32, f32)>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fitted {
    pub(crate) bias: f64,
    /// One a column.
    pub(crate) weights: Vec<f64>,
}

/// Steps of Newton's method and of conjugate gradients within one.
const MOST_STEPS: usize = 100;
const MOST_INNER: usize = 500;

/// Ends where the gradient is so small beside the one at 0.
const PRECISION: f64 = 1e-8;

/// Fits. Fails where it does not converge or the rows hold what is no number.
pub(crate) fn fit(problem: &Problem) -> Result<Fitted> {
    let columns = problem.penalties.len();
    // The bias is the last coefficient.
    let mut beta = vec![0.0; columns + 1];
    let mut at = Point::new(problem, &beta);
    let start = norm(&at.gradient).max(f64::MIN_POSITIVE);
    for _ in 0..MOST_STEPS {
        let size = norm(&at.gradient);
        if size <= PRECISION * start {
            let bias = beta.pop().unwrap_or_default();
            return Ok(Fitted {
                bias,
                weights: beta,
            });
        }
        let step = newton_step(problem, &at, (size / start).sqrt().min(0.1));
        let Some(next) = line_search(problem, &beta, &at, &step) else {
            bail!(
                "logistic regression found no way down (gradient {size:e}); is a feature not finite?"
            );
        };
        (beta, at) = next;
    }
    bail!("logistic regression did not converge in {MOST_STEPS} steps")
}

/// The function's value, gradient and curvature at some coefficients.
struct Point {
    value: f64,
    gradient: Vec<f64>,
    /// `wᵢ pᵢ (1 − pᵢ)` of each row.
    curvature: Vec<f64>,
    /// The diagonal of the Hessian.
    diagonal: Vec<f64>,
}

impl Point {
    fn new(problem: &Problem, beta: &[f64]) -> Self {
        let mut point = Self {
            value: 0.0,
            gradient: vec![0.0; beta.len()],
            curvature: Vec::with_capacity(problem.rows.len()),
            diagonal: vec![0.0; beta.len()],
        };
        for ((beta, penalty), (gradient, diagonal)) in beta
            .iter()
            .zip(&problem.penalties)
            .zip(point.gradient.iter_mut().zip(&mut point.diagonal))
        {
            point.value += 0.5 * penalty * beta * beta;
            *gradient = penalty * beta;
            *diagonal = *penalty;
        }
        for ((row, target), weight) in problem
            .rows
            .iter()
            .zip(&problem.targets)
            .zip(&problem.weights)
        {
            let z = row.dot(beta);
            let probability = sigmoid(z);
            point.value += weight * (softplus(z) - target * z);
            row.add_to(weight * (probability - target), &mut point.gradient);
            let curvature = weight * probability * (1.0 - probability);
            row.add_squares_to(curvature, &mut point.diagonal);
            point.curvature.push(curvature);
        }
        point
    }

    /// The Hessian times a vector.
    fn hessian_times(&self, problem: &Problem, vector: &[f64]) -> Vec<f64> {
        let mut product: Vec<f64> = problem
            .penalties
            .iter()
            .zip(vector)
            .map(|(penalty, v)| penalty * v)
            .collect();
        product.push(0.0);
        for (row, curvature) in problem.rows.iter().zip(&self.curvature) {
            row.add_to(curvature * row.dot(vector), &mut product);
        }
        product
    }
}

/// Solves `H s = −g` by preconditioned conjugate gradients, until the rest is `precision` of the gradient.
fn newton_step(problem: &Problem, at: &Point, precision: f64) -> Vec<f64> {
    let scaled = |rest: &[f64]| -> Vec<f64> {
        let diagonal = at.diagonal.iter().map(|d| d.max(1e-12));
        rest.iter().zip(diagonal).map(|(r, d)| r / d).collect()
    };
    let mut step = vec![0.0; at.gradient.len()];
    let mut rest: Vec<f64> = at.gradient.iter().map(|g| -g).collect();
    let mut direction = scaled(&rest);
    let mut product = dot(&rest, &direction);
    let enough = precision * norm(&rest);
    for _ in 0..MOST_INNER {
        let curved = at.hessian_times(problem, &direction);
        let along = product / dot(&direction, &curved);
        if !along.is_finite() {
            break;
        }
        add(&mut step, along, &direction);
        add(&mut rest, -along, &curved);
        if norm(&rest) <= enough {
            break;
        }
        let next = scaled(&rest);
        let next_product = dot(&rest, &next);
        let turn = next_product / product;
        for (d, n) in direction.iter_mut().zip(&next) {
            *d = turn * *d + n;
        }
        product = next_product;
    }
    step
}

/// Halves the step until the value falls enough (Armijo's rule).
fn line_search(
    problem: &Problem,
    beta: &[f64],
    at: &Point,
    step: &[f64],
) -> Option<(Vec<f64>, Point)> {
    let slope = dot(&at.gradient, step);
    // What rounding may add to a sum of this size.
    let slack = 1e-12 * at.value.abs().max(1.0);
    let mut length = 1.0;
    for _ in 0..40 {
        let mut moved = beta.to_vec();
        add(&mut moved, length, step);
        let point = Point::new(problem, &moved);
        if point.value <= at.value + 1e-4 * length * slope + slack {
            return Some((moved, point));
        }
        length /= 2.0;
    }
    None
}

impl Row {
    /// With coefficients of dense columns, sparse columns and the bias.
    fn dot(&self, beta: &[f64]) -> f64 {
        let (dense, behind) = beta.split_at(self.dense.len().min(beta.len()));
        let sparse = self.sparse.iter().map(|(column, value)| {
            f64::from(*value) * behind.get(*column as usize).copied().unwrap_or_default()
        });
        beta.last().copied().unwrap_or_default() + dot(dense, &self.dense) + sparse.sum::<f64>()
    }

    /// Adds `factor` times this row; the bias counts as a column of ones.
    fn add_to(&self, factor: f64, sums: &mut [f64]) {
        self.each(sums, |sum, value| *sum += factor * value);
    }

    fn add_squares_to(&self, factor: f64, sums: &mut [f64]) {
        self.each(sums, |sum, value| *sum += factor * value * value);
    }

    fn each(&self, sums: &mut [f64], mut change: impl FnMut(&mut f64, f64)) {
        let Some((bias, columns)) = sums.split_last_mut() else {
            return;
        };
        change(bias, 1.0);
        let (dense, behind) = columns.split_at_mut(self.dense.len().min(columns.len()));
        for (sum, value) in dense.iter_mut().zip(&self.dense) {
            change(sum, *value);
        }
        for (column, value) in &self.sparse {
            if let Some(sum) = behind.get_mut(*column as usize) {
                change(sum, f64::from(*value));
            }
        }
    }
}

/// `ln(1 + e^x)` without overflow.
fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn add(to: &mut [f64], factor: f64, from: &[f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += factor * from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// `logistic` of `reference.json`, by scikit-learn; columns are scaled to give each its own penalty:
    ///
    /// ```python
    /// a = np.hstack([dense, sparse]) / np.sqrt(penalties)
    /// m = LogisticRegression(C=1.0, tol=1e-12, solver="newton-cholesky").fit(a, targets, sample_weight=weights)
    /// coefficients, bias = m.coef_[0] / np.sqrt(penalties), m.intercept_[0]
    /// ```
    #[derive(Deserialize)]
    struct Reference {
        logistic: Case,
    }

    #[derive(Deserialize)]
    struct Case {
        dense: Vec<Vec<f64>>,
        sparse: Vec<Vec<f32>>,
        targets: Vec<f64>,
        weights: Vec<f64>,
        penalties: Vec<f64>,
        coefficients: Vec<f64>,
        bias: f64,
    }

    fn case() -> (Problem, Fitted) {
        let reference: Reference = serde_json::from_str(include_str!("reference.json")).unwrap();
        let case = reference.logistic;
        let sparse = |values: Vec<f32>| (0..).zip(values).filter(|(_, v)| *v != 0.0).collect();
        let rows = case.dense.into_iter().zip(case.sparse);
        let problem = Problem {
            rows: rows
                .map(|(dense, values)| Row {
                    dense,
                    sparse: sparse(values),
                })
                .collect(),
            targets: case.targets,
            weights: case.weights,
            penalties: case.penalties,
        };
        let expected = Fitted {
            bias: case.bias,
            weights: case.coefficients,
        };
        (problem, expected)
    }

    #[test]
    fn coefficients_are_those_of_scikit_learn() {
        let (problem, expected) = case();
        let found = fit(&problem).unwrap();
        assert!(
            (found.bias - expected.bias).abs() < 1e-6,
            "{found:?} {expected:?}"
        );
        assert_eq!(found.weights.len(), expected.weights.len());
        for (found, expected) in found.weights.iter().zip(&expected.weights) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn the_order_of_rows_does_not_matter() {
        let (mut problem, _) = case();
        let before = fit(&problem).unwrap();
        problem.rows.reverse();
        problem.targets.reverse();
        problem.weights.reverse();
        let after = fit(&problem).unwrap();
        for (before, after) in before.weights.iter().zip(&after.weights) {
            assert!((before - after).abs() < 1e-7, "{before} {after}");
        }
    }

    #[test]
    fn separable_and_constant_columns_converge() {
        let row = |x: f64| Row {
            dense: vec![x, 0.0],
            sparse: Vec::new(),
        };
        let problem = Problem {
            rows: [-3.0, -1.0, 1.0, 2.0].map(row).to_vec(),
            targets: vec![0.0, 0.0, 1.0, 1.0],
            weights: vec![1.0; 4],
            penalties: vec![1e-3, 1e-3],
        };
        let found = fit(&problem).unwrap();
        assert!(found.weights[0] > 1.0);
        assert_eq!(found.weights[1], 0.0);
    }

    #[test]
    fn a_feature_that_is_no_number_is_an_error() {
        let (mut problem, _) = case();
        problem.rows[0].dense[0] = f64::NAN;
        assert!(fit(&problem).is_err());
    }
}
