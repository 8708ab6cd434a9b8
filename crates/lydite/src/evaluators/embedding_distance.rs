//! `embedding_distance`: see [`EmbeddingDistance`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{quote, rounded};
use crate::evaluator::{
    Batched, Direction, Evaluator, Example, Got, Info, Needs, Origin, ParamErrors, Prepare, Role,
    ScoreScale, Scorer, Scratch, best_reference, text_of,
};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::stats::vectors::{self, VectorError};

/// How far the output is from the reference in meaning, by embeddings; 0 is equal.
///
/// ## When to use it
/// To measure nearness of meaning without a judge: cheap, repeatable, in any language that the embedder knows.
///
/// ## How it is scored
/// Both texts are embedded; with a = output and b = reference the distance is `cosine` 1 − a·b/(‖a‖‖b‖), in [0, 2];
/// `euclidean` √Σ(aᵢ−bᵢ)²; `manhattan` Σ|aᵢ−bᵢ|; `chebyshev` max|aᵢ−bᵢ|; or `hamming`, the share of components that
/// differ. Lower is nearer. It only measures, unless a `threshold` says how far is too far. Of several references the
/// nearest counts.
///
/// ## Limits
/// A threshold holds for one embedder only. Texts that contradict each other may be near: "is" and "is not" are. Real
/// embeddings differ in nearly every component, so `hamming` says little of them. Embeddings of different lengths, and
/// the cosine of one that is all zero, are errors.
///
/// ## References
/// LangChain, EmbeddingDistanceEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingDistance {
    /// How the distance is counted; LangChain's `distance_metric`.
    #[serde(default)]
    distance: Metric,
}

/// A distance of two vectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Metric {
    /// By the angle between them, in [0, 2].
    #[default]
    Cosine,
    /// The length of their difference.
    Euclidean,
    /// The sum of the differences of their components.
    Manhattan,
    /// The greatest difference of their components.
    Chebyshev,
    /// The share of components that differ, in [0, 1].
    Hamming,
}

impl Metric {
    fn of(self, a: &[f32], b: &[f32]) -> Result<f64, VectorError> {
        match self {
            Self::Cosine => vectors::cosine_distance(a, b),
            Self::Euclidean => vectors::euclidean_distance(a, b),
            Self::Manhattan => vectors::manhattan_distance(a, b),
            Self::Chebyshev => vectors::chebyshev_distance(a, b),
            Self::Hamming => vectors::hamming_distance(a, b),
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Euclidean => "euclidean",
            Self::Manhattan => "manhattan",
            Self::Chebyshev => "chebyshev",
            Self::Hamming => "hamming",
        }
    }

    /// The evaluator's scale, bounded as far as the distance is.
    pub(super) const fn scale(self, info: &Info) -> ScoreScale {
        let most = match self {
            Self::Cosine => Some(2.0),
            Self::Hamming => Some(1.0),
            Self::Euclidean | Self::Manhattan | Self::Chebyshev => None,
        };
        ScoreScale {
            range: (Some(0.0), most),
            ..ScoreScale::of(info)
        }
    }

    /// The distance of two texts that were embedded.
    pub(super) fn between(self, a: &str, b: &str, got: &Got<'_>) -> Cell {
        match (got.embedding(a), got.embedding(b)) {
            (Ok(a), Ok(b)) => match self.of(a, b) {
                Ok(distance) => Cell::measured(distance),
                Err(error) => Cell::Errored(error.into()),
            },
            (Err(error), _) | (_, Err(error)) => Cell::Errored(Code::Model(error.kind)),
        }
    }

    /// Why two texts have no distance, in more than the code's words.
    pub(super) fn trouble(self, a: &str, b: &str, got: &Got<'_>) -> Option<Explanation> {
        let message = match (got.embedding(a), got.embedding(b)) {
            (Ok(a), Ok(b)) => self.of(a, b).err()?.to_string(),
            (Err(error), _) | (_, Err(error)) => error.message.clone(),
        };
        Some(Explanation::reason(message))
    }
}

impl Evaluator for EmbeddingDistance {
    const INFO: Info = Info {
        id: "embedding_distance",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        principal: Some("distance"),
        direction: Direction::Lower,
        range: (Some(0.0), None),
        natural_verdict: false,
        models: &[Role::Embedder],
        examples: &[
            Example {
                title: "the same letters in another order, to an embedder that counts letters",
                params: "{distance: cosine, threshold: 0.2}",
                record: r#"{"output": "listen", "reference": "silent"}"#,
                expect: r#"{"verdict": "pass", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "far apart",
                params: "{distance: euclidean, threshold: 0.2}",
                record: r#"{"output": "[1, 2]", "reference": "[3, 5]"}"#,
                expect: r#"{"verdict": "fail", "score": 3.605551275463989}"#,
                ..Example::PLAIN
            },
            Example {
                title: "nothing to measure the distance from",
                params: "distance: cosine",
                record: r#"{"output": "listen"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
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
        let Ok(output) = text_of(row, Field::Output) else {
            return;
        };
        if row.references().is_empty() {
            return;
        }
        needs.embed(output);
        for reference in row.references() {
            needs.embed(*reference);
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => {
                let measure = |reference| self.0.between(output, reference, got);
                best_reference(row, Direction::Lower, measure).0
            }
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        let Ok(output) = text_of(row, Field::Output) else {
            return Explanation::default();
        };
        let measure = |reference| self.0.between(output, reference, got);
        let (_, best) = best_reference(row, Direction::Lower, measure);
        let Some(reference) = row.references().get(best).copied() else {
            return Explanation::default();
        };
        let Some(score) = cell.score() else {
            let trouble = self.0.trouble(output, reference, got);
            return trouble.unwrap_or_default();
        };
        let explanation = Explanation::reason(format!(
            "{} distance {} from {}, embedded by {}",
            self.0.as_str(),
            rounded(score),
            quote(reference),
            got.embedder()
        ));
        if row.references().len() > 1 {
            return explanation.with(
                Evidence::new("alternative")
                    .set("index", best)
                    .set("text", reference),
            );
        }
        explanation
    }
}
