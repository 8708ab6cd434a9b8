//! Boosted decision trees over dense features.

use super::file::{Leaf, Node, Split};
use super::{HeadError, Inputs, Names, file, places};

/// The trees, whose splits refer to features by the code's order.
#[derive(Clone, Debug)]
pub(super) struct Trees {
    bias: f64,
    trees: Vec<Vec<Node>>,
}

impl Trees {
    /// Fails unless every split refers to a feature and to nodes behind it, so that every walk ends.
    pub(super) fn new(model: &file::Trees, names: &Names<'_>) -> Result<Self, HeadError> {
        places("embeddings", std::iter::empty(), names.embeddings)?;
        places("texts of n-grams", std::iter::empty(), names.texts)?;
        let in_file = model.features.iter().map(String::as_str);
        let order = places("dense features", in_file, names.dense)?;
        if !model.bias.is_finite() {
            return Err(HeadError::NotFinite("the bias".into()));
        }
        let trees = model
            .trees
            .iter()
            .enumerate()
            .map(|(tree, nodes)| reordered(nodes, &order).ok_or(HeadError::Tree { tree }))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            bias: model.bias,
            trees,
        })
    }

    pub(super) fn logit(&self, inputs: &Inputs<'_>) -> f64 {
        let leaves = self.trees.iter().map(|tree| leaf(tree, inputs.dense));
        self.bias + leaves.sum::<f64>()
    }
}

/// The value of the leaf that a row of features ends in.
///
/// A feature that is missing or not a number goes right at each split.
pub fn leaf(tree: &[Node], dense: &[f64]) -> f64 {
    let mut at = 0;
    loop {
        match tree.get(at) {
            Some(Node::Split(split)) => {
                let value = dense.get(split.feature).copied().unwrap_or(f64::NAN);
                at = if value <= split.threshold {
                    split.left
                } else {
                    split.right
                };
            }
            Some(Node::Leaf(Leaf { value })) => return *value,
            None => return 0.0,
        }
    }
}

/// The nodes with features by their place in the code; `None` where one refers to what is not behind it.
fn reordered(nodes: &[Node], order: &[usize]) -> Option<Vec<Node>> {
    if nodes.is_empty() {
        return None;
    }
    nodes
        .iter()
        .enumerate()
        .map(|(at, node)| match node {
            Node::Leaf(leaf) => leaf.value.is_finite().then_some(*node),
            Node::Split(split) => {
                let behind = |child: usize| child > at && child < nodes.len();
                let feature = order.iter().position(|place| *place == split.feature)?;
                (behind(split.left) && behind(split.right) && split.threshold.is_finite())
                    .then_some(Node::Split(Split { feature, ..*split }))
            }
        })
        .collect()
}
