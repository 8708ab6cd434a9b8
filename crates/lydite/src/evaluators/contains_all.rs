//! `contains_all`: see [`ContainsAll`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{phrase_finders, quote_all, yes};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch, text_of,
};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::find::Finder;

/// The output contains every one of several phrases.
///
/// ## When to use it
/// An answer must mention each of several facts.
///
/// ## How it is scored
/// Pass where every phrase stands in the output, else fail; the score is 1 or 0. The reason names the
/// phrases that are missing. With `case_sensitive: false` all are brought to NFC and case-folded first.
///
/// ## Limits
/// It finds letters, not words. A plain text in place of the list is one phrase; it is not split at commas.
///
/// ## References
/// Unicode Standard, section 3.13, default caseless matching.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContainsAll {
    /// The texts to look for, at least one, none empty.
    #[schemars(length(min = 1))]
    phrases: Vec<String>,
    /// Whether upper and lower case differ.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

impl Evaluator for ContainsAll {
    const INFO: Info = Info {
        id: "contains_all",
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Output]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("phrases"),
        examples: &[
            Example {
                title: "both are there",
                params: "phrases: [30 days, receipt]",
                record: r#"{"output": "Bring the receipt within 30 days."}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "one is missing",
                params: "phrases: [30 days, receipt]",
                record: r#"{"output": "Within 30 days."}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "an answer that is missing is an error",
                params: "phrases: [a]",
                record: r#"{"query": "Hi"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let finders = phrase_finders(&self.phrases, self.case_sensitive)?;
        Ok(Scorer::pure(Search {
            phrases: self.phrases,
            finders,
        }))
    }
}

struct Search {
    phrases: Vec<String>,
    finders: Vec<Finder>,
}

impl Pure for Search {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => Cell::binary(
                self.finders
                    .iter()
                    .all(|finder| finder.contains(output, &mut scratch.a)),
            ),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, scratch: &mut Scratch) -> Explanation {
        let Ok(output) = text_of(row, Field::Output) else {
            return Explanation::default();
        };
        let mut explanation = Explanation::default();
        let mut missing = Vec::new();
        for (phrase, finder) in self.phrases.iter().zip(&self.finders) {
            match finder.locate(output, &mut scratch.a) {
                Some(range) => {
                    let span = Evidence::span("output", range.start, range.end)
                        .set("phrase", phrase.as_str());
                    explanation.evidence.push(span);
                }
                None => missing.push(phrase.as_str()),
            }
        }
        if missing.is_empty() {
            let named = quote_all(self.phrases.iter().map(String::as_str));
            explanation.reason = Some(format!("contains {named}").into());
            return explanation;
        }
        explanation.reason =
            Some(format!("does not contain {}", quote_all(missing.iter().copied())).into());
        explanation.with(Evidence::new("missing").set("phrases", missing))
    }
}
