//! `contains_any`: see [`ContainsAny`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{phrase_finders, quote, quote_all, yes};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch, text_of,
};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::find::Finder;

/// The output contains at least one of several phrases.
///
/// ## When to use it
/// An answer may say a thing in several known ways: `refund` or `money back`.
///
/// ## How it is scored
/// 1 and pass where some phrase stands in the output, else 0 and fail. The reason names the first phrase
/// of the list that was found. With `case_sensitive: false` all are brought to NFC and case-folded first.
///
/// ## Limits
/// It finds letters, not words. A plain text in place of the list is one phrase; it is not split at commas.
///
/// ## References
/// Unicode Standard, section 3.13, default caseless matching.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContainsAny {
    /// The texts to look for, at least one, none empty.
    #[schemars(length(min = 1))]
    phrases: Vec<String>,
    /// Whether upper and lower case differ.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

impl Evaluator for ContainsAny {
    const INFO: Info = Info {
        id: "contains_any",
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Output]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("phrases"),
        examples: &[
            Example {
                title: "one of them is there",
                params: "phrases: [refund, money back]",
                record: r#"{"output": "You get your money back."}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "none is",
                params: "phrases: [refund, money back]",
                record: r#"{"output": "You get a voucher."}"#,
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
                    .any(|finder| finder.contains(output, &mut scratch.a)),
            ),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, scratch: &mut Scratch) -> Explanation {
        let Ok(output) = text_of(row, Field::Output) else {
            return Explanation::default();
        };
        let found = self
            .phrases
            .iter()
            .zip(&self.finders)
            .find_map(|(phrase, finder)| Some((phrase, finder.locate(output, &mut scratch.a)?)));
        match found {
            Some((phrase, range)) => Explanation::reason(format!("contains {}", quote(phrase)))
                .with(
                    Evidence::span("output", range.start, range.end).set("phrase", phrase.as_str()),
                ),
            None => Explanation::reason(format!(
                "contains none of {}",
                quote_all(self.phrases.iter().map(String::as_str))
            ))
            .with(Evidence::new("missing").set("phrases", self.phrases.clone())),
        }
    }
}
