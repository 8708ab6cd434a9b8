//! `contains`: see [`Contains`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{phrase_finder, quote, yes};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch, text_of,
};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::find::Finder;

/// The output contains a phrase.
///
/// ## When to use it
/// A fact, a link or a disclaimer must be in the answer, or (with `not: true`) must not. For a phrase
/// anywhere in the conversation or its contexts take `context_contains_phrase`.
///
/// ## How it is scored
/// 1 and pass where the phrase stands in the output, else 0 and fail. With `case_sensitive: false`
/// both are brought to NFC and fully case-folded first, so `STRASSE` is found in `Hauptstraße`.
///
/// ## Limits
/// It finds letters, not words: `art` is in `party`. Take `regex` with `\b` for whole words.
///
/// ## References
/// Unicode Standard, section 3.13, default caseless matching.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contains {
    /// The text to look for, not empty.
    #[schemars(length(min = 1))]
    phrase: String,
    /// Whether upper and lower case differ.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

impl Evaluator for Contains {
    const INFO: Info = Info {
        id: "contains",
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Output]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("phrase"),
        examples: &[
            Example {
                title: "the phrase is there",
                params: "phrase: 30 days",
                record: r#"{"output": "You have 30 days to return it."}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "case counts unless told otherwise",
                params: "phrase: strasse",
                record: r#"{"output": "Hauptstraße 5"}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "an image is no text",
                params: "phrase: 30 days",
                record: r#"{"output": {"parts": [{"type": "image", "uri": "a.png"}]}}"#,
                expect: r#"{"verdict": "inconclusive", "error": "not_text"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let finder = phrase_finder(&self.phrase, self.case_sensitive, "/phrase")?;
        Ok(Scorer::pure(Search {
            phrase: self.phrase,
            finder,
        }))
    }
}

struct Search {
    phrase: String,
    finder: Finder,
}

impl Pure for Search {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => Cell::binary(self.finder.contains(output, &mut scratch.a)),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, scratch: &mut Scratch) -> Explanation {
        let Ok(output) = text_of(row, Field::Output) else {
            return Explanation::default();
        };
        match self.finder.locate(output, &mut scratch.a) {
            Some(range) => Explanation::reason(format!("contains {}", quote(&self.phrase)))
                .with(Evidence::span("output", range.start, range.end)),
            None => Explanation::reason(format!("does not contain {}", quote(&self.phrase))),
        }
    }
}
