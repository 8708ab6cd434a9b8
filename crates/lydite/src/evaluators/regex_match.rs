//! `regex_match`: see [`RegexMatch`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::quote;
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch, text_of,
};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::regex::{Anchor, FlagSpec, Flags, Pattern};

/// The output matches, from its start, the regular expression that the reference gives.
///
/// ## When to use it
/// LangChain suites whose records bring a pattern each. With one pattern for all records take `regex`.
///
/// ## How it is scored
/// 1 and pass where the pattern matches at the start of the output (as Python's `re.match`; `.` excludes the
/// line break), else 0 and fail. Of several references it is enough that one matches.
///
/// ## Limits
/// A reference that is no regular expression is an error of that record (`invalid_field`), one given as the
/// parameter `reference` an error of the suite. Compiled patterns are kept for the records to come.
///
/// ## References
/// LangChain, RegexMatchStringEvaluator.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegexMatch {
    /// How the pattern is read: IGNORECASE, MULTILINE, DOTALL, or Python's integer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    flags: Option<FlagSpec>,
    /// The regular expression, in place of the record's reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
}

impl Evaluator for RegexMatch {
    const INFO: Info = Info {
        id: "regex_match",
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        principal: Some("reference"),
        examples: &[
            Example {
                title: "anchored at the start only",
                params: "{}",
                record: r#"{"output": "abc", "reference": "a"}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "not found further on",
                params: "{}",
                record: r#"{"output": "abc", "reference": "b"}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a record's bad pattern is an error, not a fail",
                params: "{}",
                record: r#"{"output": "abc", "reference": "(a"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "invalid_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn needs(&self) -> FieldSet {
        if self.reference.is_some() {
            FieldSet::of(&[Field::Output])
        } else {
            Self::INFO.needs
        }
    }

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let flags = match &self.flags {
            Some(spec) => spec
                .flags()
                .map_err(|error| ParamErrors::one("/flags", error.to_string()))?,
            None => Flags::default(),
        };
        let own = match &self.reference {
            Some(source) => Some(
                compile(source, flags).map_err(|error| ParamErrors::one("/reference", error))?,
            ),
            None => None,
        };
        Ok(Scorer::pure(Match {
            flags,
            own,
            source: self.reference,
        }))
    }
}

fn compile(source: &str, flags: Flags) -> Result<Pattern, String> {
    Pattern::new(source, flags, Anchor::Start).map_err(|error| error.to_string())
}

struct Match {
    flags: Flags,
    own: Option<Pattern>,
    source: Option<String>,
}

impl Match {
    /// Position of the first pattern that matches, or the code and cause of the first that can't tell.
    fn matches(
        &self,
        row: &Row<'_>,
        output: &str,
        scratch: &mut Scratch,
    ) -> Result<Option<usize>, (Code, String)> {
        if let Some(own) = &self.own {
            let matched = own
                .is_match(output)
                .map_err(|error| (Code::PatternLimit, error.to_string()))?;
            return Ok(matched.then_some(0));
        }
        if row.references().is_empty() {
            let code = if row.reference().is_some() {
                Code::NotText
            } else {
                Code::MissingField
            };
            let code = code(Field::Reference);
            return Err((code, code.message().into_owned()));
        }
        let mut matched = None;
        for (index, reference) in row.references().iter().enumerate() {
            let pattern = scratch
                .patterns
                .get(reference, self.flags, Anchor::Start)
                .map_err(|error| (Code::InvalidField(Field::Reference), error.to_string()))?;
            if pattern
                .is_match(output)
                .map_err(|error| (Code::PatternLimit, error.to_string()))?
            {
                matched = matched.or(Some(index));
            }
        }
        Ok(matched)
    }
}

impl Pure for Match {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match text_of(row, Field::Output) {
            Ok(output) => match self.matches(row, output, scratch) {
                Ok(matched) => Cell::binary(matched.is_some()),
                Err((code, _)) => Cell::Errored(code),
            },
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, scratch: &mut Scratch) -> Explanation {
        let Ok(output) = text_of(row, Field::Output) else {
            return Explanation::default();
        };
        let patterns: Vec<&str> = self
            .source
            .as_deref()
            .map_or_else(|| row.references().to_vec(), |own| vec![own]);
        match self.matches(row, output, scratch) {
            Ok(Some(index)) => {
                let pattern = patterns.get(index).copied().unwrap_or_default();
                let explanation = Explanation::reason(format!("`{pattern}` matches at the start"));
                if patterns.len() > 1 {
                    return explanation.with(
                        Evidence::new("alternative")
                            .set("index", index)
                            .set("text", pattern),
                    );
                }
                explanation
            }
            Ok(None) => {
                let named: Vec<String> = patterns
                    .iter()
                    .map(|pattern| format!("`{pattern}`"))
                    .collect();
                Explanation::reason(format!(
                    "{} does not match at the start of {}",
                    named.join(" or "),
                    quote(output)
                ))
            }
            Err((_, message)) => Explanation::reason(message),
        }
    }
}
