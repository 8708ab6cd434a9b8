//! `string_distance`: see [`StringDistance`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{quote, rounded, yes};
use crate::evaluator::{
    Direction, Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
    best_reference, text_of,
};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::distance::{Distance, DistanceScratch};
use crate::text::normalize::nfc;

/// How far the output is from the reference as a string; 0 is equal.
///
/// ## When to use it
/// Answers that must be close to a given wording: extraction, correction, transcription. It measures
/// letters, not meaning.
///
/// ## How it is scored
/// The chosen distance over code points, normalised to [0, 1] unless `normalize_score: false` gives the count
/// of edits (no effect on jaro and jaro_winkler). Lower is nearer; two empty texts have distance 0. It only
/// measures, unless a `threshold` says how far is too far. Of several references the nearest counts.
///
/// ## Limits
/// Canonically equal texts (`é` in one or two code points) differ unless `nfc: true`. Long texts make small
/// distances: the default, jaro_winkler, favours equal beginnings.
///
/// ## References
/// LangChain, StringDistanceEvalChain; Levenshtein 1966, Damerau 1964, Jaro 1989, Winkler 1990.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StringDistance {
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

impl Evaluator for StringDistance {
    const INFO: Info = Info {
        id: "string_distance",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        principal: Some("distance"),
        direction: Direction::Lower,
        range: (Some(0.0), None),
        natural_verdict: false,
        examples: &[
            Example {
                title: "one letter of sixteen",
                params: "{distance: levenshtein, threshold: 0.1}",
                record: r#"{"output": "Mindy is the CTO", "reference": "Mindy is the CEO"}"#,
                expect: r#"{"verdict": "pass", "score": 0.0625}"#,
                ..Example::PLAIN
            },
            Example {
                title: "three edits of seven letters are too many",
                params: "{distance: levenshtein, threshold: 0.1}",
                record: r#"{"output": "kitten", "reference": "sitting"}"#,
                expect: r#"{"verdict": "fail", "score": 0.42857142857142855}"#,
                ..Example::PLAIN
            },
            Example {
                title: "nothing to measure the distance from",
                params: "distance: levenshtein",
                record: r#"{"output": "kitten"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::pure(Measure::new(
            self.distance,
            self.normalize_score,
            self.nfc,
        )))
    }
}

/// A distance with its options; `pairwise_string_distance` measures with it too.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    distance: Distance,
    normalized: bool,
    nfc: bool,
}

impl Measure {
    pub(super) const fn new(distance: Distance, normalized: bool, nfc: bool) -> Self {
        Self {
            distance,
            normalized,
            nfc,
        }
    }

    pub(super) fn of(self, a: &str, b: &str, scratch: &mut DistanceScratch) -> f64 {
        if self.nfc {
            return self.plain(&nfc(a), &nfc(b), scratch);
        }
        self.plain(a, b, scratch)
    }

    fn plain(self, a: &str, b: &str, scratch: &mut DistanceScratch) -> f64 {
        if self.normalized {
            self.distance.normalized(a, b, scratch)
        } else {
            self.distance.raw(a, b, scratch)
        }
    }

    pub(super) fn name(self) -> String {
        serde_json::to_value(self.distance)
            .ok()
            .and_then(|name| name.as_str().map(str::to_owned))
            .unwrap_or_default()
    }
}

impl Pure for Measure {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => {
                let measure =
                    |reference| Cell::measured(self.of(output, reference, &mut scratch.distance));
                best_reference(row, Direction::Lower, measure).0
            }
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, scratch: &mut Scratch) -> Explanation {
        let (Some(score), Ok(output)) = (cell.score(), text_of(row, Field::Output)) else {
            return Explanation::default();
        };
        let measure = |reference| Cell::measured(self.of(output, reference, &mut scratch.distance));
        let (_, best) = best_reference(row, Direction::Lower, measure);
        let reference = row.references().get(best).copied().unwrap_or_default();
        let shown = rounded(score);
        let explanation = Explanation::reason(format!(
            "{} distance {shown} from {}",
            self.name(),
            quote(reference)
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
