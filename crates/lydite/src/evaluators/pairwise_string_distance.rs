//! `pairwise_string_distance`: see [`PairwiseStringDistance`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{no_pair, pair, rounded, yes};
use super::string_distance::Measure;
use crate::evaluator::{
    Direction, Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
};
use crate::outcome::{Cell, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::distance::Distance;

/// How far two candidate answers are from each other as strings; 0 is equal.
///
/// ## When to use it
/// To see how much two models, prompts or trials differ in wording, without a reference.
///
/// ## How it is scored
/// As `string_distance`, between the two `candidates` (or `output` and `output_b`). It only measures, unless a
/// `threshold` is set.
///
/// ## Limits
/// It takes exactly two candidates.
///
/// ## References
/// LangChain, PairwiseStringDistanceEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PairwiseStringDistance {
    /// How the distance is counted.
    #[serde(default)]
    distance: Distance,
    /// Whether the distance is brought to [0, 1].
    #[serde(default = "yes")]
    normalize_score: bool,
    /// Bring both texts to NFC first.
    #[serde(default)]
    nfc: bool,
}

impl Evaluator for PairwiseStringDistance {
    const INFO: Info = Info {
        id: "pairwise_string_distance",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Candidates]),
        needs: FieldSet::of(&[Field::Candidates]),
        principal: Some("distance"),
        direction: Direction::Lower,
        range: (Some(0.0), None),
        natural_verdict: false,
        examples: &[
            Example {
                title: "two wordings that are close",
                params: "{distance: indel, threshold: 0.1}",
                record: r#"{"candidates": ["Mindy is the CTO", "Mindy is the CEO"]}"#,
                expect: r#"{"verdict": "pass", "score": 0.0625}"#,
                ..Example::PLAIN
            },
            Example {
                title: "two that are not",
                params: "{distance: indel, threshold: 0.1}",
                record: r#"{"output": "kitten", "output_b": "sitting"}"#,
                expect: r#"{"verdict": "fail", "score": 0.38461538461538464}"#,
                ..Example::PLAIN
            },
            Example {
                title: "three candidates are no pair",
                params: "distance: indel",
                record: r#"{"candidates": ["a", "b", "c"]}"#,
                expect: r#"{"verdict": "inconclusive", "error": "invalid_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::pure(Pair(Measure::new(
            self.distance,
            self.normalize_score,
            self.nfc,
        ))))
    }
}

struct Pair(Measure);

impl Pure for Pair {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match pair(row) {
            Ok((a, b)) => Cell::measured(self.0.of(a, b, &mut scratch.distance)),
            Err(code) => Cell::Errored(code),
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        match (pair(row), cell.score()) {
            (Ok(_), Some(score)) => {
                let shown = rounded(score);
                Explanation::reason(format!(
                    "{} distance {shown} between the two candidates",
                    self.0.name()
                ))
            }
            (Ok(_), None) => Explanation::default(),
            (Err(code), _) => no_pair(row, code),
        }
    }
}
