//! `semantic_similarity`: see [`SemanticSimilarity`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::embeddings::{embedding, why_not};
use super::lynxius::not_blank;
use super::options::rounded;
use crate::evaluator::{
    Batched, Direction, Evaluator, Example, Got, Info, Needs, Origin, ParamErrors, Prepare, Role,
    Scorer, Scratch, best_reference, text_of,
};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::stats::vectors::cosine_similarity;

/// How near the output is to the reference in meaning, by the cosine of their embeddings.
///
/// ## When to use it
/// A cheap number for how much two texts are about the same. Where it has to be right or wrong take
/// `semantic_match`.
///
/// ## How it is scored
/// The cosine of the two embeddings, clipped to [0, 1]: 1 is the same direction, 0 unrelated or opposite. The evidence has
/// the cosine as it was, in [-1, 1]. Of several references the nearest counts. It only measures unless a `threshold` is
/// set; nothing is rounded before it is compared.
///
/// ## Limits
/// Embeddings see subjects, not truth: a changed number or a *not* moves the cosine very little, and what counts as near
/// differs from model to model. An empty output or reference, a zero vector and vectors of different lengths are errors.
///
/// ## References
/// Lynxius, SemanticSimilarity; the raw cosine and several references are Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SemanticSimilarity {}

impl Evaluator for SemanticSimilarity {
    const INFO: Info = Info {
        id: "semantic_similarity",
        origin: Origin::Lynxius,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        natural_verdict: false,
        models: &[Role::Embedder],
        examples: &[
            Example {
                title: "the same text has the same embedding",
                params: "threshold: 0.8",
                record: r#"{"output": "Refunds take 5 days.", "reference": "Refunds take 5 days."}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "opposite vectors are clipped to 0; texts stand for their embeddings here",
                params: "threshold: 0.8",
                record: r#"{"output": "[-1, 0]", "reference": "[1, 0]"}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "an empty output has no meaning to compare",
                params: "threshold: 0.8",
                record: r#"{"output": "", "reference": "Refunds take 5 days."}"#,
                expect: r#"{"verdict": "inconclusive", "error": "empty_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::batched(ByEmbedding))
    }
}

struct ByEmbedding;

impl Batched for ByEmbedding {
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>) {
        if let Ok(output) = output_of(row) {
            needs.embed(output);
            row.references().iter().for_each(|text| needs.embed(*text));
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        match nearest(row, got) {
            Ok((cosine, _)) => Cell::measured(cosine.clamp(0.0, 1.0)),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        let Ok((cosine, index)) = nearest(row, got) else {
            let output = output_of(row).ok();
            return why_not(
                got,
                output.into_iter().chain(row.references().iter().copied()),
            );
        };
        let explanation = Explanation::reason(format!("cosine similarity {}", rounded(cosine)))
            .with(Evidence::new("cosine").set("value", cosine));
        match row.references() {
            [] | [_] => explanation,
            several => explanation.with(
                Evidence::new("alternative")
                    .set("index", index)
                    .set("text", several.get(index).copied()),
            ),
        }
    }
}

/// The output, if it and all references say something.
fn output_of<'r>(row: &Row<'r>) -> Result<&'r str, Cell> {
    let output = not_blank(text_of(row, Field::Output)?, Field::Output)?;
    for reference in row.references() {
        not_blank(reference, Field::Reference)?;
    }
    Ok(output)
}

/// The cosine to the nearest reference, in [-1, 1], and which that is.
fn nearest(row: &Row<'_>, got: &Got<'_>) -> Result<(f64, usize), Cell> {
    let output = embedding(got, output_of(row)?)?;
    let (cell, index) = best_reference(row, Direction::Higher, |reference| {
        let cosine = embedding(got, reference).and_then(|reference| {
            cosine_similarity(output, reference).map_err(|e| Cell::Errored(Code::from(e)))
        });
        match cosine {
            Ok(cosine) => Cell::measured(cosine),
            Err(cell) => cell,
        }
    });
    cell.score().map(|cosine| (cosine, index)).ok_or(cell)
}
