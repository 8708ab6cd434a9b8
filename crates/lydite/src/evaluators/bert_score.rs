//! `bert_score`: see [`BertScore`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::embeddings::{embedding, why_not};
use super::lynxius::not_blank;
use super::options::rounded;
use crate::evaluator::{
    Batched, Direction, Evaluator, Example, Got, Info, Local, Needs, Origin, ParamErrors, Prepare,
    Role, Scorer, Scratch, best_reference, text_of,
};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::stats::vectors::{VectorError, dot, norm};
use crate::text::segment::{Segment, sentences, words};

/// How well the words of output and reference cover each other, by the similarity of their embeddings.
///
/// ## When to use it
/// To compare a free text with a reference and to see *which* of the reference is missing. Where only nearness as a
/// whole matters `semantic_similarity` is cheaper.
///
/// ## How it is scored
/// Both texts are split into words (punctuation apart) or sentences by Unicode's rules, and each is embedded by
/// itself. With S = cosine clipped to [0, 1], recall is the mean over the reference's tokens of the best S with any of the
/// output's, precision the mean over the output's tokens of the best S with any of the reference's; the score is f1 =
/// 2PR/(P+R), 0 where both are 0. The evidence has precision, recall and `missing_tokens`, the characters [start, end) of
/// the reference's tokens whose best S is under `presence_threshold`. Of several references the one with the best f1
/// counts. It only measures unless a `threshold` is set.
///
/// ## Limits
/// A word that is embedded by itself has no context: *bank* is one bank (the built-in embedder has it in context). Word order does not count. Many models find any two
/// words rather alike, so compare scores of one model only. Costs one embedding a different token.
///
/// ## References
/// Lynxius, BertScore; Zhang and others, *BERTScore: Evaluating Text Generation with BERT*, ICLR 2020; Unicode Standard
/// Annex #29.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BertScore {
    /// What is embedded and compared.
    #[serde(default)]
    level: Level,
    /// A token of the reference whose best similarity is under it is missing.
    #[serde(default = "presence_threshold")]
    #[schemars(range(min = 0.0, max = 1.0))]
    presence_threshold: f64,
}

/// Into what a text is split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Level {
    /// Words, and punctuation marks by themselves.
    #[default]
    Word,
    /// Sentences.
    Sentence,
}

const IN_CONTEXT: &str = "\
With the built-in embedder and `level: word` the tokens are its word pieces, and each has the vector that it gets in \
its sentence: *bank* beside *river* is not *bank* beside *loan*. That is BERTScore as its authors define it, without \
their rescaling and weights. Texts are read up to 256 word pieces; English.";

fn presence_threshold() -> f64 {
    0.65
}

impl Evaluator for BertScore {
    const INFO: Info = Info {
        id: "bert_score",
        origin: Origin::Lynxius,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        principal: Some("level"),
        natural_verdict: false,
        models: &[Role::Embedder],
        locals: &[Local {
            method: "minilm-tokens",
            version: 1,
            replaces: Role::Embedder,
            models: &[Role::Embedder],
            docs: IN_CONTEXT,
            examples: &[Example {
                title: "the same words twice over",
                params: "threshold: 0.99",
                record: r#"{"output": "Refunds take 5 days.", "reference": "Refunds take 5 days."}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            }],
        }],
        examples: &[
            Example {
                title: "the same words in another order",
                params: "threshold: 0.8",
                record: r#"{"output": "two days or one", "reference": "one or two days"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "half of the reference is missing",
                params: "threshold: 0.8",
                record: r#"{"output": "a", "reference": "a b"}"#,
                expect: r#"{"verdict": "fail", "score": 0.6666666666666666}"#,
                ..Example::PLAIN
            },
            Example {
                title: "an empty output has nothing to compare",
                params: "threshold: 0.8",
                record: r#"{"output": "", "reference": "a b"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "empty_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::batched(ByOverlap {
            level: self.level,
            presence_threshold: self.presence_threshold,
            in_context: cx.local.is_some() && self.level == Level::Word,
        }))
    }
}

struct ByOverlap {
    level: Level,
    presence_threshold: f64,
    /// Word pieces with vectors of their own, as the built-in embedder gives them; else each token is embedded by
    /// itself, as models behind an API do.
    in_context: bool,
}

/// A text's tokens and their vectors.
struct Tokens<'g> {
    /// Characters, from and to.
    spans: Vec<[usize; 2]>,
    vectors: Vec<&'g [f32]>,
}

impl ByOverlap {
    fn tokens<'g>(&self, text: &str, got: &Got<'g>) -> Result<Tokens<'g>, Cell> {
        if self.in_context {
            return in_context(text, got);
        }
        let tokens = self.level.split(text);
        let vectors = tokens.iter().map(|token| embedding(got, token.text));
        Ok(Tokens {
            vectors: vectors.collect::<Result<_, _>>()?,
            spans: tokens
                .iter()
                .map(|token| [token.start, token.end])
                .collect(),
        })
    }

    /// The overlap with the reference that fits best, and which that is.
    fn best(&self, row: &Row<'_>, got: &Got<'_>) -> Result<(Overlap, usize), Cell> {
        let output = self.tokens(output_of(row)?, got)?;
        let overlap_with = |reference: &str| {
            let reference = self.tokens(reference, got)?;
            overlap(&reference.vectors, &output.vectors)
                .map_err(|error| Cell::Errored(error.into()))
        };
        let mut best: Option<Overlap> = None;
        let (cell, index) =
            best_reference(row, Direction::Higher, |reference| {
                match overlap_with(reference) {
                    Ok(overlap) => {
                        let f1 = overlap.f1();
                        if f1.is_finite() && best.as_ref().is_none_or(|best| f1 > best.f1()) {
                            best = Some(overlap);
                        }
                        Cell::measured(f1)
                    }
                    Err(cell) => cell,
                }
            });
        best.map(|best| (best, index)).ok_or(cell)
    }

    fn evidence(&self, overlap: &Overlap, reference: &str, got: &Got<'_>) -> Evidence {
        let spans = self.tokens(reference, got).map(|tokens| tokens.spans);
        let missing: Vec<[usize; 2]> = spans
            .unwrap_or_default()
            .into_iter()
            .zip(&overlap.reference)
            .filter(|(_, best)| **best < self.presence_threshold)
            .map(|(span, _)| span)
            .collect();
        Evidence::new("bert_score")
            .set("precision", overlap.precision())
            .set("recall", overlap.recall())
            .set("missing_tokens", serde_json::json!(missing))
    }
}

/// The word pieces of a text, each with the vector that it has in its context.
fn in_context<'g>(text: &str, got: &Got<'g>) -> Result<Tokens<'g>, Cell> {
    match got.tokens(text) {
        Some(Ok(said)) => Ok(Tokens {
            spans: said
                .spans
                .iter()
                .map(|span| [span.start, span.end])
                .collect(),
            vectors: said.vectors.iter().map(|vector| &**vector).collect(),
        }),
        Some(Err(error)) => Err(Cell::Errored(Code::Model(error.kind))),
        None => Err(Cell::Errored(Code::NothingToJudge)),
    }
}

impl Batched for ByOverlap {
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>) {
        let Ok(output) = output_of(row) else { return };
        for text in std::iter::once(output).chain(row.references().iter().copied()) {
            if self.in_context {
                needs.embed_tokens(text);
                continue;
            }
            for token in self.level.split(text) {
                needs.embed(token.text);
            }
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        match self.best(row, got) {
            Ok((overlap, _)) => Cell::measured(overlap.f1()),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        let Ok((overlap, index)) = self.best(row, got) else {
            let texts = output_of(row)
                .into_iter()
                .chain(row.references().iter().copied());
            if self.in_context {
                let failed = texts.into_iter().find_map(|text| got.tokens(text)?.err());
                return failed.map_or_else(Explanation::default, |error| {
                    Explanation::reason(error.message.clone())
                });
            }
            let tokens = texts.flat_map(|text| self.level.split(text));
            return why_not(got, tokens.map(|token| token.text));
        };
        let reference = row.references().get(index).copied().unwrap_or_default();
        let reason = format!(
            "f1 {}, precision {}, recall {}",
            rounded(overlap.f1()),
            rounded(overlap.precision()),
            rounded(overlap.recall())
        );
        let explanation = Explanation::reason(reason).with(self.evidence(&overlap, reference, got));
        if row.references().len() < 2 {
            return explanation;
        }
        explanation.with(
            Evidence::new("alternative")
                .set("index", index)
                .set("text", reference),
        )
    }
}

impl Level {
    fn split(self, text: &str) -> Vec<Segment<'_>> {
        match self {
            Self::Word => words(text),
            Self::Sentence => sentences(text),
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

/// The best similarity of each token with any of the other text's, in [0, 1].
#[derive(Debug)]
struct Overlap {
    reference: Vec<f64>,
    output: Vec<f64>,
}

impl Overlap {
    fn recall(&self) -> f64 {
        mean(&self.reference)
    }

    fn precision(&self) -> f64 {
        mean(&self.output)
    }

    fn f1(&self) -> f64 {
        let (precision, recall) = (self.precision(), self.recall());
        if precision + recall == 0.0 {
            return 0.0;
        }
        2.0 * precision * recall / (precision + recall)
    }
}

/// Compares each vector of one text with each of the other, whatever embedded them.
fn overlap(reference: &[&[f32]], output: &[&[f32]]) -> Result<Overlap, VectorError> {
    let (reference_norms, output_norms) = (norms(reference)?, norms(output)?);
    let mut best = Overlap {
        reference: vec![0.0; reference.len()],
        output: vec![0.0; output.len()],
    };
    let rows = reference
        .iter()
        .zip(reference_norms)
        .zip(&mut best.reference);
    for ((a, a_norm), row_best) in rows {
        let columns = output.iter().zip(&output_norms).zip(&mut best.output);
        for ((b, b_norm), column_best) in columns {
            if a.len() != b.len() {
                return Err(VectorError::Lengths {
                    a: a.len(),
                    b: b.len(),
                });
            }
            let similarity = (dot(a, b) / (a_norm * b_norm)).clamp(0.0, 1.0);
            *row_best = greater(*row_best, similarity);
            *column_best = greater(*column_best, similarity);
        }
    }
    Ok(best)
}

/// The greater of two; NaN stays, so that it becomes an error and no score.
fn greater(most: f64, value: f64) -> f64 {
    if most.is_nan() || value <= most {
        most
    } else {
        value
    }
}

fn norms(vectors: &[&[f32]]) -> Result<Vec<f64>, VectorError> {
    let norms: Vec<f64> = vectors.iter().map(|vector| norm(vector)).collect();
    if norms.contains(&0.0) {
        return Err(VectorError::Zero);
    }
    Ok(norms)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let overlap = overlap(&[&[1.0, 0.0], &[0.0, 1.0]], &[&[1.0, 0.0]]).unwrap();
        assert_eq!((overlap.recall(), overlap.precision()), (0.5, 1.0));
        assert!((overlap.f1() - 0.6667).abs() < 1e-4);
        assert_eq!(overlap.reference, [1.0, 0.0]);
    }

    #[test]
    fn what_has_nothing_in_common_scores_0() {
        let overlap = overlap(&[&[1.0, 0.0]], &[&[-1.0, 0.0], &[0.0, 1.0]]).unwrap();
        assert_eq!(overlap.f1(), 0.0);
    }

    #[test]
    fn vectors_that_cannot_be_compared_are_errors() {
        let unlike = overlap(&[&[1.0, 0.0]], &[&[1.0]]);
        assert_eq!(unlike.unwrap_err(), VectorError::Lengths { a: 2, b: 1 });
        let zero = overlap(&[&[1.0, 0.0]], &[&[0.0, 0.0]]);
        assert_eq!(zero.unwrap_err(), VectorError::Zero);
        let infinite = overlap(&[&[1.0, 0.0]], &[&[f32::INFINITY, 0.0]]).unwrap();
        assert_eq!(
            Cell::measured(infinite.f1()),
            Cell::Errored(Code::NonFiniteNumber)
        );
    }
}
