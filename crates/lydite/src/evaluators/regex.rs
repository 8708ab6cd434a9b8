//! `regex`: see [`Regex`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::quote;
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch, text_of,
};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::find::char_range;
use crate::text::regex::{Anchor, FlagSpec, Flags, Pattern};

/// The output matches a regular expression.
///
/// ## When to use it
/// A format that words can't name: dates, numbers, identifiers, whole words (`\b`).
///
/// ## How it is scored
/// 1 and pass where the pattern matches, else 0 and fail. `mode: search` (the default) finds it anywhere,
/// `full` asks that it covers the whole output. Flags: IGNORECASE, MULTILINE, DOTALL, VERBOSE, ASCII, as
/// names or as Python's integer; inline ones such as `(?i)` work too.
///
/// ## Limits
/// Matching takes linear time; look-around and backreferences run with a bound on backtracking, past which
/// the cell is an error (`pattern_limit`). `$` is the end of the text, not also before a last line break.
///
/// ## References
/// The syntax of the Rust crates `regex` and, for look-around, `fancy-regex`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regex {
    /// The regular expression, as written: braces are never a template.
    #[schemars(length(min = 1))]
    pattern: String,
    /// Which part of the output has to match.
    #[serde(default)]
    mode: Mode,
    /// How the pattern is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flags: Option<FlagSpec>,
}

/// Which part of the output has to match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Any part.
    #[default]
    Search,
    /// All of it.
    Full,
}

impl Evaluator for Regex {
    const INFO: Info = Info {
        id: "regex",
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Output]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("pattern"),
        examples: &[
            Example {
                title: "a date is somewhere in the answer",
                params: r"pattern: '\d{4}-\d{2}-\d{2}'",
                record: r#"{"output": "Due on 2026-12-01."}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "the answer is more than a date",
                params: r"{pattern: '\d{4}-\d{2}-\d{2}', mode: full}",
                record: r#"{"output": "Due on 2026-12-01."}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "an answer that is missing is an error",
                params: r"pattern: '\d'",
                record: r#"{"query": "When is it due?"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let flags = match &self.flags {
            Some(spec) => spec
                .flags()
                .map_err(|error| ParamErrors::one("/flags", error.to_string()))?,
            None => Flags::default(),
        };
        let anchor = match self.mode {
            Mode::Search => Anchor::Search,
            Mode::Full => Anchor::Full,
        };
        let pattern = Pattern::new(&self.pattern, flags, anchor)
            .map_err(|error| ParamErrors::one("/pattern", error.to_string()))?;
        Ok(Scorer::pure(Match {
            source: self.pattern,
            pattern,
        }))
    }
}

struct Match {
    source: String,
    pattern: Pattern,
}

impl Pure for Match {
    fn score(&self, row: &Row<'_>, _: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => self
                .pattern
                .is_match(output)
                .map_or(Cell::Errored(Code::PatternLimit), Cell::binary),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        let (Some(_), Ok(output)) = (cell.score(), text_of(row, Field::Output)) else {
            return Explanation::default();
        };
        match self.pattern.find(output) {
            Ok(Some(range)) => {
                let text = output.get(range.clone()).unwrap_or_default();
                let range = char_range(output, &range);
                Explanation::reason(format!("matches at {}", quote(text))).with(Evidence::span(
                    "output",
                    range.start,
                    range.end,
                ))
            }
            _ => Explanation::reason(format!(
                "`{}` does not match {}",
                self.source,
                quote(output)
            )),
        }
    }
}
