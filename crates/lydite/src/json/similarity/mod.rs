//! How alike two JSON values are: the weighted recursive similarity of Lynxius' `json_diff`.
//!
//! Objects are compared key by key over the union of their keys and averaged with weights, lists
//! element by element, strings by normalised Levenshtein similarity in code points, numbers by
//! 1 − |a−b| / (|a|+|b|); values of different types have nothing in common. Every similarity lies
//! in [0, 1], and a value has similarity 1 with itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Json, Lookup, Member, number, push_index};
use crate::path::push_segment;
use crate::text::distance::{Distance, DistanceScratch};

/// What `json_diff` leaves to choose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimilarityOptions {
    /// How the elements of two lists find each other.
    pub lists: Lists,
    /// Whether true and false are also the numbers 1 and 0.
    pub booleans: Booleans,
    /// What a key that is not there is worth against null.
    pub missing: Missing,
    /// Where the weight of an object stands that has weights inside.
    pub nested_weights: NestedWeights,
}

/// How the elements of two lists find each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lists {
    /// By position, over the shorter list: surplus elements are not looked at. Where one list is
    /// empty the similarity is 0.
    Zip,
    /// By position, over the longer list: a surplus element scores 0.
    #[default]
    Pad,
    /// By the assignment with the best total, over the longer list: a surplus element scores 0.
    Align,
}

/// Whether true and false are also the numbers 1 and 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Booleans {
    /// They are: true and 1 are alike.
    #[default]
    Number,
    /// They are not: true and 1 are of different types.
    Distinct,
}

/// What a key that is not there is worth against null.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// It counts as null: 1.
    // Not `null`, which YAML would not read as text.
    #[default]
    AsNull,
    /// It is like nothing: 0.
    Zero,
}

/// Where the weight of an object stands that has weights inside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NestedWeights {
    /// It is the sum of the weights given inside, at all levels; at most 1.
    #[default]
    Sum,
    /// It stands inside, under the object's own key with two underscores before it; 1 if it does not.
    Loopback,
}

/// A similarity in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scored {
    pub score: f64,
    /// Somewhere all weights of a level were 0, and its keys were weighed equally instead.
    pub zero_weight: bool,
    /// Two lists were too long to look for the best assignment; they were compared by position.
    pub too_long_to_align: bool,
}

/// One comparison that went no deeper. Weights sum to 1, and the sum of `score`·`weight` is the
/// similarity of the whole.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leaf {
    /// JSON Pointer into the reference; into the output for what only the output has.
    pub path: String,
    /// JSON Pointer into the output, where an aligned list has it at another place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_path: Option<String>,
    pub score: f64,
    /// The share this comparison has in the score of the whole.
    pub weight: f64,
}

/// A weight that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the weight at `{path}` {message}")]
pub struct WeightError {
    /// JSON Pointer into the weights.
    pub path: String,
    /// What it is and what it should be.
    pub message: String,
}

/// The similarity of an output to its reference.
///
/// `weights` mirrors the shape of the data: a number weighs the key it stands under, an object goes
/// down with it, and passes lists unchanged; whatever is not mentioned weighs 1. With `leaves` every
/// comparison is appended to it.
///
/// # Errors
/// A weight that is neither a number nor an object, or a number, or a sum under
/// [`NestedWeights::Sum`], outside [0, 1] by more than 1e-9.
pub fn similarity(
    reference: &Json<'_>,
    output: &Json<'_>,
    weights: Option<&Json<'_>>,
    options: SimilarityOptions,
    leaves: Option<&mut Vec<Leaf>>,
) -> Result<Scored, WeightError> {
    if let Some(weights) = weights {
        check_weights(weights, options.nested_weights)?;
    }
    let mut walk = Walk {
        options,
        distance: DistanceScratch::default(),
        zero_weight: false,
        too_long_to_align: false,
        trail: leaves.map(|leaves| Trail {
            leaves,
            path: String::new(),
            output_path: String::new(),
        }),
    };
    let score = walk.values(reference, output, weights, 1.0);
    Ok(Scored {
        score,
        zero_weight: walk.zero_weight,
        too_long_to_align: walk.too_long_to_align,
    })
}

struct Walk<'l> {
    options: SimilarityOptions,
    distance: DistanceScratch,
    zero_weight: bool,
    too_long_to_align: bool,
    trail: Option<Trail<'l>>,
}

/// Where the walk stands, kept only if leaves are asked for.
struct Trail<'l> {
    leaves: &'l mut Vec<Leaf>,
    path: String,
    output_path: String,
}

/// One key of two objects.
struct Pair<'j, 'a> {
    key: &'j str,
    reference: Option<&'j Json<'a>>,
    output: Option<&'j Json<'a>>,
    /// The weights below the key.
    below: Option<&'j Json<'a>>,
    weight: f64,
}

impl Walk<'_> {
    /// `share` is the part of the whole that this comparison decides.
    fn values(
        &mut self,
        a: &Json<'_>,
        b: &Json<'_>,
        weights: Option<&Json<'_>>,
        share: f64,
    ) -> f64 {
        match (a, b) {
            (Json::Object(a), Json::Object(b)) if !(a.is_empty() && b.is_empty()) => {
                self.objects(a, b, weights, share)
            }
            (Json::Array(a), Json::Array(b)) if !(a.is_empty() && b.is_empty()) => {
                self.lists(a, b, weights, share)
            }
            _ => {
                let score = scalars(a, b, self.options.booleans, &mut self.distance);
                self.leaf(score, share)
            }
        }
    }

    /// One of the two may not be there.
    fn optional(
        &mut self,
        a: Option<&Json<'_>>,
        b: Option<&Json<'_>>,
        weights: Option<&Json<'_>>,
        share: f64,
    ) -> f64 {
        match (a, b) {
            (Some(a), Some(b)) => self.values(a, b, weights, share),
            (Some(Json::Null), None) | (None, Some(Json::Null))
                if self.options.missing == Missing::AsNull =>
            {
                self.leaf(1.0, share)
            }
            _ => self.leaf(0.0, share),
        }
    }

    fn leaf(&mut self, score: f64, share: f64) -> f64 {
        if let Some(trail) = &mut self.trail {
            let elsewhere = trail.path != trail.output_path;
            trail.leaves.push(Leaf {
                path: trail.path.clone(),
                output_path: elsewhere.then(|| trail.output_path.clone()),
                score,
                weight: share,
            });
        }
        score
    }

    fn objects(
        &mut self,
        a: &[Member<'_>],
        b: &[Member<'_>],
        weights: Option<&Json<'_>>,
        share: f64,
    ) -> f64 {
        let mut pairs = union(a, b, weights, self.options.nested_weights);
        let mut total: f64 = pairs.iter().map(|pair| pair.weight).sum();
        if total <= 0.0 {
            self.zero_weight = true;
            for pair in &mut pairs {
                pair.weight = 1.0;
            }
            total = pairs.len() as f64;
        }
        let mut sum = 0.0;
        for pair in &pairs {
            let part = share * pair.weight / total;
            let score = self.below(
                |path| push_segment(path, pair.key),
                |path| push_segment(path, pair.key),
                |walk| walk.optional(pair.reference, pair.output, pair.below, part),
            );
            sum += pair.weight * score;
        }
        unit(sum / total)
    }

    fn lists(
        &mut self,
        a: &[Json<'_>],
        b: &[Json<'_>],
        weights: Option<&Json<'_>>,
        share: f64,
    ) -> f64 {
        match self.options.lists {
            Lists::Zip => self.by_position(a, b, a.len().min(b.len()), weights, share),
            Lists::Pad => self.by_position(a, b, a.len().max(b.len()), weights, share),
            Lists::Align if a.len().saturating_mul(b.len()) > MAX_PAIRS => {
                self.too_long_to_align = true;
                self.by_position(a, b, a.len().max(b.len()), weights, share)
            }
            Lists::Align => self.aligned(a, b, weights, share),
        }
    }

    /// The mean over the first `length` positions, where one list may have ended.
    fn by_position(
        &mut self,
        a: &[Json<'_>],
        b: &[Json<'_>],
        length: usize,
        weights: Option<&Json<'_>>,
        share: f64,
    ) -> f64 {
        if length == 0 {
            return self.leaf(0.0, share);
        }
        let part = share / length as f64;
        let sum: f64 = (0..length)
            .map(|index| self.elements(a, b, (Some(index), Some(index)), weights, part))
            .sum();
        unit(sum / length as f64)
    }

    /// The elements at two indices; where there is none on either side the score is 0.
    fn elements(
        &mut self,
        a: &[Json<'_>],
        b: &[Json<'_>],
        (i, j): (Option<usize>, Option<usize>),
        weights: Option<&Json<'_>>,
        share: f64,
    ) -> f64 {
        let at = i.or(j).unwrap_or_default();
        self.below(
            |path| push_index(path, at),
            |path| push_index(path, j.unwrap_or(at)),
            |walk| match (i.and_then(|i| a.get(i)), j.and_then(|j| b.get(j))) {
                (Some(a), Some(b)) => walk.values(a, b, weights, share),
                _ => walk.leaf(0.0, share),
            },
        )
    }

    /// Scores every pair once, without leaves, and then goes down the chosen ones for theirs.
    fn aligned(
        &mut self,
        a: &[Json<'_>],
        b: &[Json<'_>],
        weights: Option<&Json<'_>>,
        share: f64,
    ) -> f64 {
        let trail = self.trail.take();
        let scores: Vec<f64> = a
            .iter()
            .flat_map(|a| b.iter().map(move |b| (a, b)))
            .map(|(a, b)| self.values(a, b, weights, 0.0))
            .collect();
        self.trail = trail;
        let partner = best_assignment(a.len(), b.len(), &scores);
        let score = |(i, j): (usize, &Option<usize>)| {
            j.and_then(|j| scores.get(i * b.len() + j))
                .copied()
                .unwrap_or(0.0)
        };
        let length = a.len().max(b.len()) as f64;
        let sum: f64 = partner.iter().enumerate().map(score).sum();
        if self.trail.is_some() {
            self.aligned_leaves(a, b, &partner, weights, share / length);
        }
        unit(sum / length)
    }

    fn aligned_leaves(
        &mut self,
        a: &[Json<'_>],
        b: &[Json<'_>],
        partner: &[Option<usize>],
        weights: Option<&Json<'_>>,
        share: f64,
    ) {
        for (i, j) in partner.iter().enumerate() {
            self.elements(a, b, (Some(i), *j), weights, share);
        }
        let taken: std::collections::HashSet<usize> = partner.iter().flatten().copied().collect();
        for j in (0..b.len()).filter(|j| !taken.contains(j)) {
            self.elements(a, b, (None, Some(j)), weights, share);
        }
    }

    /// Runs `inside` one step further down, if anybody asks where that is.
    fn below(
        &mut self,
        step: impl FnOnce(&mut String),
        output_step: impl FnOnce(&mut String),
        inside: impl FnOnce(&mut Self) -> f64,
    ) -> f64 {
        let Some(trail) = &mut self.trail else {
            return inside(self);
        };
        let lengths = (trail.path.len(), trail.output_path.len());
        step(&mut trail.path);
        output_step(&mut trail.output_path);
        let score = inside(self);
        if let Some(trail) = &mut self.trail {
            trail.path.truncate(lengths.0);
            trail.output_path.truncate(lengths.1);
        }
        score
    }
}

/// The keys of both objects, those of the reference first.
fn union<'j, 'a>(
    a: &'j [Member<'a>],
    b: &'j [Member<'a>],
    weights: Option<&'j Json<'a>>,
    nested: NestedWeights,
) -> Vec<Pair<'j, 'a>> {
    let pair = |key: &'j str, reference, output| {
        let below = weights.and_then(|weights| weights.get(key));
        Pair {
            key,
            reference,
            output,
            below,
            weight: below.map_or(1.0, |below| weight(key, below, nested)),
        }
    };
    let (mut in_a, mut in_b) = (Lookup::new(a), Lookup::new(b));
    let mut pairs = Vec::with_capacity(a.len().max(b.len()));
    pairs.extend(
        a.iter()
            .map(|(key, value)| pair(key, Some(value), in_b.get(key))),
    );
    for (key, value) in b {
        if in_a.get(key).is_none() {
            pairs.push(pair(key, None, Some(value)));
        }
    }
    pairs
}

/// Everything but two objects and two lists that are not both empty.
fn scalars(a: &Json<'_>, b: &Json<'_>, booleans: Booleans, scratch: &mut DistanceScratch) -> f64 {
    match (a, b) {
        (Json::Null, Json::Null)
        | (Json::Object(_), Json::Object(_))
        | (Json::Array(_), Json::Array(_)) => 1.0,
        (Json::String(a), Json::String(b)) => 1.0 - Distance::Levenshtein.normalized(a, b, scratch),
        (Json::Bool(a), Json::Bool(b)) => f64::from(u8::from(a == b)),
        (Json::Number(a), Json::Number(b)) => {
            if number::equal(a, b) {
                return 1.0;
            }
            numbers(number::to_f64(a), number::to_f64(b))
        }
        (Json::Bool(truth), Json::Number(number)) | (Json::Number(number), Json::Bool(truth))
            if booleans == Booleans::Number =>
        {
            numbers(f64::from(u8::from(*truth)), number::to_f64(number))
        }
        _ => 0.0,
    }
}

/// 1 − |a−b| / (|a|+|b|); numbers beyond `f64` count as its ends.
fn numbers(a: f64, b: f64) -> f64 {
    // Halved, so that neither sum nor difference leaves the range.
    let half = |value: f64| value.clamp(f64::MIN, f64::MAX) / 2.0;
    let (x, y) = (half(a), half(b));
    let sum = x.abs() + y.abs();
    if sum == 0.0 {
        f64::from(u8::from(a == b))
    } else {
        unit(1.0 - (x - y).abs() / sum)
    }
}

/// Takes away what rounding adds beyond the ends.
fn unit(score: f64) -> f64 {
    score.clamp(0.0, 1.0)
}

/// How much a key counts among its siblings, by its checked weights.
fn weight(key: &str, weights: &Json<'_>, nested: NestedWeights) -> f64 {
    match (weights, nested) {
        (Json::Number(text), _) => unit(number::to_f64(text)),
        (Json::Object(_), NestedWeights::Loopback) => match weights.get(&format!("__{key}")) {
            Some(Json::Number(text)) => unit(number::to_f64(text)),
            _ => 1.0,
        },
        (Json::Object(_), NestedWeights::Sum) => unit(sum(weights)),
        _ => 1.0,
    }
}

/// All numbers at any depth.
fn sum(weights: &Json<'_>) -> f64 {
    match weights {
        Json::Number(text) => number::to_f64(text),
        Json::Object(members) => members.iter().map(|(_, weights)| sum(weights)).sum(),
        _ => 0.0,
    }
}

/// Every weight given, whether the data have its key or not. The sum of the outermost object is
/// nobody's weight.
fn check_weights(weights: &Json<'_>, nested: NestedWeights) -> Result<(), WeightError> {
    let mut path = String::new();
    match weights {
        Json::Object(members) => check_members(members, nested, &mut path),
        other => check_weight(other, nested, &mut path),
    }
}

fn check_members(
    members: &[Member<'_>],
    nested: NestedWeights,
    path: &mut String,
) -> Result<(), WeightError> {
    for (key, weights) in members {
        let length = path.len();
        push_segment(path, key);
        check_weight(weights, nested, path)?;
        path.truncate(length);
    }
    Ok(())
}

fn check_weight(
    weights: &Json<'_>,
    nested: NestedWeights,
    path: &mut String,
) -> Result<(), WeightError> {
    const TOLERANCE: f64 = 1e-9;
    let fits = |value: f64| (-TOLERANCE..=1.0 + TOLERANCE).contains(&value);
    let error = |path: &str, message: String| {
        Err(WeightError {
            path: path.to_owned(),
            message,
        })
    };
    match weights {
        Json::Number(text) if fits(number::to_f64(text)) => Ok(()),
        Json::Number(text) => error(path, format!("is {text}: give a number from 0 to 1")),
        Json::Object(members) => {
            check_members(members, nested, path)?;
            let sum = sum(weights);
            if nested == NestedWeights::Sum && !fits(sum) {
                return error(
                    path,
                    format!(
                        "has weights inside that sum to {sum}: scale them to at most 1, or set nested_weights to loopback"
                    ),
                );
            }
            Ok(())
        }
        other => error(
            path,
            format!(
                "is {}: give a number from 0 to 1, or an object of weights",
                match other {
                    Json::Bool(_) => "a boolean",
                    Json::String(_) => "a string",
                    Json::Array(_) => "an array",
                    _ => "null",
                }
            ),
        ),
    }
}

/// Lists whose lengths multiply to more than this are not aligned (32 MB of scores).
const MAX_PAIRS: usize = 1 << 22;

/// For each of `rows` rows the column it gets, so that the sum of the chosen `scores` (rows ×
/// columns, row by row) is the greatest there is; as many pairs are made as can be.
fn best_assignment(rows: usize, columns: usize, scores: &[f64]) -> Vec<Option<usize>> {
    let score =
        |row: usize, column: usize| scores.get(row * columns + column).copied().unwrap_or(0.0);
    if rows <= columns {
        let columns = cheapest_columns(rows, columns, |row, column| -score(row, column));
        return columns.into_iter().map(Some).collect();
    }
    let mut partner = vec![None; rows];
    let rows = cheapest_columns(columns, rows, |column, row| -score(row, column));
    for (column, row) in rows.into_iter().enumerate() {
        if let Some(found) = partner.get_mut(row) {
            *found = Some(column);
        }
    }
    partner
}

/// The Hungarian algorithm by shortest augmenting paths (Jonker and Volgenant, 1987) in
/// O(rows² · columns), for `rows` ≤ `columns`: the column of each row in a cheapest assignment.
///
/// Our own because the crates that have it take integers only (`pathfinding`) or are left alone
/// (`lsap`).
#[expect(
    clippy::indexing_slicing,
    reason = "all vectors have columns + 1 elements, the end included"
)]
fn cheapest_columns(rows: usize, columns: usize, cost: impl Fn(usize, usize) -> f64) -> Vec<usize> {
    // Column number `columns` stands for the row that is looking for its place.
    let mut row_of: Vec<Option<usize>> = vec![None; columns + 1];
    let mut row_price = vec![0.0; rows];
    let mut column_price = vec![0.0; columns + 1];
    for row in 0..rows {
        row_of[columns] = Some(row);
        let mut at = columns;
        let mut distance = vec![f64::INFINITY; columns];
        let mut previous = vec![columns; columns];
        let mut visited = vec![false; columns + 1];
        while let Some(row) = row_of[at] {
            visited[at] = true;
            let (mut nearest, mut step) = (columns, f64::INFINITY);
            for column in (0..columns).filter(|column| !visited[*column]) {
                let reduced = cost(row, column) - row_price[row] - column_price[column];
                if reduced < distance[column] {
                    (distance[column], previous[column]) = (reduced, at);
                }
                if distance[column] < step {
                    (nearest, step) = (column, distance[column]);
                }
            }
            for column in 0..=columns {
                match row_of[column] {
                    Some(row) if visited[column] => {
                        row_price[row] += step;
                        column_price[column] -= step;
                    }
                    _ if column < columns => distance[column] -= step,
                    _ => {}
                }
            }
            at = nearest;
        }
        while at != columns {
            row_of[at] = row_of[previous[at]];
            at = previous[at];
        }
    }
    let mut column_of = vec![0; rows];
    for (column, row) in row_of.iter().take(columns).enumerate() {
        if let Some(row) = row {
            column_of[*row] = column;
        }
    }
    column_of
}

#[cfg(test)]
mod tests;
