//! Gradient boosting of the logistic loss by shallow trees.
//!
//! Each tree fits the gradients `g` and curvatures `h` of the loss at what the trees before it say. A split is
//! worth `G₁²/(H₁+λ) + G₂²/(H₂+λ) − G²/(H+λ)`, a leaf says `−rate · G/(H+λ)` (T. Chen and C. Guestrin,
//! "XGBoost: a scalable tree boosting system", KDD 2016). All splits between different values are tried, and of
//! equal ones the first feature's and lowest threshold's is taken, so the trees hang on nothing but the data.

use super::task::TreesRecipe;
use lydite::heads::file::{Leaf, Node, Split};
use lydite::heads::sigmoid;
use lydite::heads::trees::leaf;

/// Bias and trees.
#[derive(Debug)]
pub(crate) struct Boosted {
    pub(crate) bias: f64,
    pub(crate) trees: Vec<Vec<Node>>,
}

/// Examples with their features, all rows as long as each other.
#[derive(Debug)]
pub(crate) struct Examples<'e> {
    pub(crate) rows: Vec<&'e [f64]>,
    pub(crate) labels: Vec<bool>,
    pub(crate) weights: Vec<f64>,
}

/// A node that is still to be split, or to be made a leaf.
struct Open {
    node: usize,
    depth: usize,
    /// Each feature's rows of this node, by value.
    sorted: Vec<Vec<usize>>,
}

/// Sums over the rows of a node.
#[derive(Clone, Copy, Default)]
struct Sums {
    gradient: f64,
    curvature: f64,
    n: usize,
}

struct Best {
    gain: f64,
    feature: usize,
    threshold: f64,
}

/// A gain below this is none.
const LEAST_GAIN: f64 = 1e-9;

pub(crate) fn boost(examples: &Examples<'_>, recipe: &TreesRecipe) -> Boosted {
    let bias = log_odds(examples);
    let mut logits = vec![bias; examples.rows.len()];
    let sorted = sorted(&examples.rows);
    let mut trees = Vec::with_capacity(recipe.trees);
    for _ in 0..recipe.trees {
        let slopes = slopes(examples, &logits);
        let tree = grow(&examples.rows, &slopes, &sorted, recipe);
        for (logit, row) in logits.iter_mut().zip(&examples.rows) {
            *logit += leaf(&tree, row);
        }
        trees.push(tree);
    }
    Boosted { bias, trees }
}

/// The logit of the weighted share of yes.
fn log_odds(examples: &Examples<'_>) -> f64 {
    let total: f64 = examples.weights.iter().sum();
    let weighted = examples.labels.iter().zip(&examples.weights);
    let yes: f64 = weighted.filter(|(label, _)| **label).map(|(_, w)| w).sum();
    let share = (yes / total).clamp(1e-6, 1.0 - 1e-6);
    (share / (1.0 - share)).ln()
}

/// Gradient and curvature of each row's loss.
fn slopes(examples: &Examples<'_>, logits: &[f64]) -> Vec<Sums> {
    let labelled = examples.labels.iter().zip(&examples.weights);
    labelled
        .zip(logits)
        .map(|((label, weight), logit)| {
            let probability = sigmoid(*logit);
            Sums {
                gradient: weight * (probability - f64::from(u8::from(*label))),
                curvature: weight * probability * (1.0 - probability),
                n: 1,
            }
        })
        .collect()
}

/// For each feature the rows in the order of its values.
fn sorted(rows: &[&[f64]]) -> Vec<Vec<usize>> {
    let features = rows.first().map_or(0, |row| row.len());
    (0..features)
        .map(|feature| {
            let mut order: Vec<usize> = (0..rows.len()).collect();
            order.sort_by(|a, b| value(rows, *a, feature).total_cmp(&value(rows, *b, feature)));
            order
        })
        .collect()
}

fn grow(
    rows: &[&[f64]],
    slopes: &[Sums],
    sorted: &[Vec<usize>],
    recipe: &TreesRecipe,
) -> Vec<Node> {
    let mut nodes = vec![Node::Leaf(Leaf { value: 0.0 })];
    let mut open = vec![Open {
        node: 0,
        depth: 0,
        sorted: sorted.to_vec(),
    }];
    while let Some(at) = open.pop() {
        let sums = sums(slopes, at.sorted.first().map_or(&[], Vec::as_slice));
        let best = (at.depth < recipe.depth)
            .then(|| best_split(rows, slopes, &at.sorted, sums, recipe))
            .flatten();
        let node = match best {
            None => Node::Leaf(Leaf {
                value: -recipe.rate * sums.gradient / (sums.curvature + recipe.penalty),
            }),
            Some(best) => {
                let (left, right) = (nodes.len(), nodes.len() + 1);
                nodes.extend([Node::Leaf(Leaf { value: 0.0 }); 2]);
                let goes_left = |row: usize| value(rows, row, best.feature) <= best.threshold;
                for (node, side) in [(right, false), (left, true)] {
                    open.push(Open {
                        node,
                        depth: at.depth + 1,
                        sorted: at
                            .sorted
                            .iter()
                            .map(|order| {
                                order
                                    .iter()
                                    .copied()
                                    .filter(|row| goes_left(*row) == side)
                                    .collect()
                            })
                            .collect(),
                    });
                }
                Node::Split(Split {
                    feature: best.feature,
                    threshold: best.threshold,
                    left,
                    right,
                })
            }
        };
        if let Some(place) = nodes.get_mut(at.node) {
            *place = node;
        }
    }
    nodes
}

fn best_split(
    rows: &[&[f64]],
    slopes: &[Sums],
    sorted: &[Vec<usize>],
    all: Sums,
    recipe: &TreesRecipe,
) -> Option<Best> {
    let worth = |sums: Sums| sums.gradient.powi(2) / (sums.curvature + recipe.penalty);
    let mut best: Option<Best> = None;
    for (feature, order) in sorted.iter().enumerate() {
        let mut left = Sums::default();
        for pair in order.windows(2) {
            let [row, next] = pair else { continue };
            left.add(slopes.get(*row).copied().unwrap_or_default());
            let (below, above) = (value(rows, *row, feature), value(rows, *next, feature));
            let right = all.without(left);
            if below == above || left.n.min(right.n) < recipe.smallest_leaf {
                continue;
            }
            let gain = worth(left) + worth(right) - worth(all);
            if gain
                > best
                    .as_ref()
                    .map_or(LEAST_GAIN, |best| best.gain + LEAST_GAIN)
            {
                best = Some(Best {
                    gain,
                    feature,
                    threshold: f64::midpoint(below, above),
                });
            }
        }
    }
    best
}

fn sums(slopes: &[Sums], rows: &[usize]) -> Sums {
    let mut sums = Sums::default();
    for row in rows {
        sums.add(slopes.get(*row).copied().unwrap_or_default());
    }
    sums
}

impl Sums {
    fn add(&mut self, other: Self) {
        self.gradient += other.gradient;
        self.curvature += other.curvature;
        self.n += other.n;
    }

    fn without(self, part: Self) -> Self {
        Self {
            gradient: self.gradient - part.gradient,
            curvature: self.curvature - part.curvature,
            n: self.n - part.n,
        }
    }
}

fn value(rows: &[&[f64]], row: usize, feature: usize) -> f64 {
    rows.get(row)
        .and_then(|row| row.get(feature))
        .copied()
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    /// `trees` of `reference.json`, by scikit-learn, which computes gradients as 32-bit floats:
    ///
    /// ```python
    /// HistGradientBoostingClassifier(max_iter=10, learning_rate=.2, max_depth=3, max_leaf_nodes=None,
    ///     min_samples_leaf=5, l2_regularization=1.0, early_stopping=False
    /// ).fit(rows, labels, sample_weight=weights).decision_function(rows)
    /// ```
    #[derive(Deserialize)]
    struct Reference {
        trees: Case,
    }

    #[derive(Deserialize)]
    struct Case {
        rows: Vec<Vec<f64>>,
        labels: Vec<bool>,
        weights: Vec<f64>,
        trees: usize,
        depth: usize,
        rate: f64,
        penalty: f64,
        smallest_leaf: usize,
        logits: Vec<f64>,
    }

    #[test]
    fn logits_are_those_of_scikit_learn() {
        let reference: Reference = serde_json::from_str(include_str!("reference.json")).unwrap();
        let case = reference.trees;
        let examples = Examples {
            rows: case.rows.iter().map(Vec::as_slice).collect(),
            labels: case.labels,
            weights: case.weights,
        };
        let recipe = TreesRecipe {
            trees: case.trees,
            depth: case.depth,
            rate: case.rate,
            penalty: case.penalty,
            smallest_leaf: case.smallest_leaf,
        };
        let boosted = boost(&examples, &recipe);
        assert_eq!(boosted.trees.len(), 10);
        for (row, expected) in case.rows.iter().zip(case.logits) {
            let leaves = boosted.trees.iter().map(|tree| leaf(tree, row));
            let found = boosted.bias + leaves.sum::<f64>();
            assert!((found - expected).abs() < 1e-4, "{found} {expected}");
        }
    }
}
