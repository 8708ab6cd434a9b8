//! `ends_with`: see [`EndsWith`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{phrase_finder, quote, yes};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch, text_of,
};
use crate::outcome::{Cell, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::find::Finder;

/// The output ends with a phrase.
///
/// ## When to use it
/// The answer has a fixed ending: a signature, a disclaimer, a closing mark.
///
/// ## How it is scored
/// 1 and pass where the output ends with the phrase, else 0 and fail. With `case_sensitive: false` both
/// are brought to NFC and fully case-folded first.
///
/// ## Limits
/// White space after the phrase counts; take `regex` with `\s*$` to allow it.
///
/// ## References
/// Unicode Standard, section 3.13, default caseless matching.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndsWith {
    /// The text to look for, not empty.
    #[schemars(length(min = 1))]
    phrase: String,
    /// Whether upper and lower case differ.
    #[serde(default = "yes")]
    case_sensitive: bool,
}

impl Evaluator for EndsWith {
    const INFO: Info = Info {
        id: "ends_with",
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Output]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("phrase"),
        examples: &[
            Example {
                title: "the ending is there",
                params: "phrase: Kind regards",
                record: r#"{"output": "Done. Kind regards"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "something follows",
                params: "phrase: Kind regards",
                record: r#"{"output": "Kind regards, B."}"#,
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
        Ok(Scorer::pure(Ending {
            phrase: self.phrase,
            finder,
        }))
    }
}

/// Characters of the output that a reason shows.
const LONGEST_TAIL: usize = 40;

struct Ending {
    phrase: String,
    finder: Finder,
}

impl Pure for Ending {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => Cell::binary(self.finder.ends(output, &mut scratch.a)),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        let Ok(output) = text_of(row, Field::Output) else {
            return Explanation::default();
        };
        if cell.score() == Some(1.0) {
            return Explanation::reason(format!("ends with {}", quote(&self.phrase)));
        }
        let cut = output
            .char_indices()
            .rev()
            .nth(LONGEST_TAIL)
            .map(|(index, c)| index + c.len_utf8());
        let tail = quote(output.get(cut.unwrap_or(0)..).unwrap_or_default());
        let dots = if cut.is_some() { "…" } else { "" };
        Explanation::reason(format!(
            "does not end with {}, but {dots}{tail}",
            quote(&self.phrase)
        ))
    }
}
