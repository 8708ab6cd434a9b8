//! `pairwise_embedding_distance`: see [`PairwiseEmbeddingDistance`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::embedding_distance::Metric;
use super::options::{no_pair, pair, rounded};
use crate::evaluator::{
    Batched, Direction, Evaluator, Example, Got, Info, Needs, Origin, ParamErrors, Prepare, Role,
    ScoreScale, Scorer, Scratch,
};
use crate::outcome::{Cell, Explanation};
use crate::record::{Field, FieldSet, Row};

/// How far two candidate answers are from each other in meaning, by embeddings; 0 is equal.
///
/// ## When to use it
/// To see how much two models, prompts or trials differ in what they say, without a reference.
///
/// ## How it is scored
/// As `embedding_distance`, between the two `candidates` (or `output` and `output_b`). It only measures, unless a
/// `threshold` is set.
///
/// ## Limits
/// It takes exactly two candidates; else as `embedding_distance`.
///
/// ## References
/// LangChain, PairwiseEmbeddingDistanceEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairwiseEmbeddingDistance {
    /// How the distance is counted; LangChain's `distance_metric`.
    #[serde(default)]
    distance: Metric,
}

impl Evaluator for PairwiseEmbeddingDistance {
    const INFO: Info = Info {
        id: "pairwise_embedding_distance",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Candidates]),
        needs: FieldSet::of(&[Field::Candidates]),
        principal: Some("distance"),
        direction: Direction::Lower,
        range: (Some(0.0), None),
        natural_verdict: false,
        models: &[Role::Embedder],
        examples: &[
            Example {
                title: "the same letters in another order, to an embedder that counts letters",
                params: "{distance: cosine, threshold: 0.2}",
                record: r#"{"candidates": ["listen", "silent"]}"#,
                expect: r#"{"verdict": "pass", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "at right angles",
                params: "{distance: cosine, threshold: 0.2}",
                record: r#"{"output": "[1, 0]", "output_b": "[0, 1]"}"#,
                expect: r#"{"verdict": "fail", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "three candidates are no pair",
                params: "distance: cosine",
                record: r#"{"candidates": ["a", "b", "c"]}"#,
                expect: r#"{"verdict": "inconclusive", "error": "invalid_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn scale(&self) -> ScoreScale {
        self.distance.scale(&Self::INFO)
    }

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::batched(ByEmbedder(self.distance)))
    }
}

struct ByEmbedder(Metric);

impl Batched for ByEmbedder {
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>) {
        if let Ok((a, b)) = pair(row) {
            needs.embed(a);
            needs.embed(b);
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        match pair(row) {
            Ok((a, b)) => self.0.between(a, b, got),
            Err(code) => Cell::Errored(code),
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        match (pair(row), cell.score()) {
            (Ok(_), Some(score)) => Explanation::reason(format!(
                "{} distance {} between the two candidates, embedded by {}",
                self.0.as_str(),
                rounded(score),
                got.embedder()
            )),
            (Ok((a, b)), None) => self.0.trouble(a, b, got).unwrap_or_default(),
            (Err(code), _) => no_pair(row, code),
        }
    }
}
