//! `starts_with`: see [`StartsWith`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{phrase_finder, quote, yes};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch, text_of,
};
use crate::outcome::{Cell, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::find::Finder;

/// The output starts with a phrase.
///
/// ## When to use it
/// The answer has a fixed opening: a greeting, a label, `{` of a JSON object.
///
/// ## How it is scored
/// 1 and pass where the output begins with the phrase, else 0 and fail. With `case_sensitive: false` both
/// are brought to NFC and fully case-folded first.
///
/// ## Limits
/// White space before the phrase counts; take `regex` with `^\s*` to allow it.
///
/// ## References
/// Unicode Standard, section 3.13, default caseless matching.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartsWith {
    /// The text to look for, not empty.
    #[schemars(length(min = 1))]
    phrase: String,
    /// Whether upper and lower case differ.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

impl Evaluator for StartsWith {
    const INFO: Info = Info {
        id: "starts_with",
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Output]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("phrase"),
        examples: &[
            Example {
                title: "the opening is there",
                params: "phrase: Dear",
                record: r#"{"output": "Dear Ms Okafor, …"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "it stands further on",
                params: "phrase: Dear",
                record: r#"{"output": "My Dear"}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "an answer that is missing is an error",
                params: "phrase: Dear",
                record: r#"{"query": "Hi"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let finder = phrase_finder(&self.phrase, self.case_sensitive, "/phrase")?;
        Ok(Scorer::pure(Opening {
            phrase: self.phrase,
            finder,
        }))
    }
}

struct Opening {
    phrase: String,
    finder: Finder,
}

impl Pure for Opening {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => Cell::binary(self.finder.starts(output, &mut scratch.a)),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        let Ok(output) = text_of(row, Field::Output) else {
            return Explanation::default();
        };
        if cell.score() == Some(1.0) {
            return Explanation::reason(format!("starts with {}", quote(&self.phrase)));
        }
        Explanation::reason(format!(
            "does not start with {}, but {}",
            quote(&self.phrase),
            quote(output)
        ))
    }
}
