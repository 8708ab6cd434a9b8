//! `context_contains_phrase`: see [`ContextContainsPhrase`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{Strictness, empty_phrase, full, normalization, quote};
use crate::evaluator::{Direction, Evaluator, Example, Info, ParamErrors, Prepare, Pure, Scorer, Scratch};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::text::find::Finder;
use crate::text::normalize::{Normalization, Normalizer};

/// A phrase stands in the response, or anywhere in what the model saw and said.
///
/// ## When to use it
/// To see that a passage reached the model at all, or (with `context: model_response_only`) that the
/// response says it.
///
/// ## How it is scored
/// `context_window` looks into each input message, each context, the query and the response, each on its
/// own and never across a border; `model_response_only` looks into the response. Found: 1 and pass, else
/// 0 and fail. The reason names the first place; the evidence gives its characters.
///
/// ## Limits
/// Exact and case-sensitive unless `capitalization`, `punctuation` or `whitespace` is `agnostic`.
///
/// ## References
/// Context.ai, Default Evaluators, Context Contains Phrase; contexts and the three options are Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextContainsPhrase {
    /// The text to look for, not empty.
    #[schemars(length(min = 1))]
    phrase: String,
    /// Where to look.
    #[serde(default)]
    context: Window,
    /// Whether upper and lower case differ.
    #[serde(default = "full")]
    capitalization: Strictness,
    /// Whether punctuation counts.
    #[serde(default = "full")]
    punctuation: Strictness,
    /// Whether white space counts.
    #[serde(default = "full")]
    whitespace: Strictness,
}

/// Which texts of a record are searched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Window {
    /// Input messages, contexts, the query and the response.
    #[default]
    ContextWindow,
    /// The response.
    ModelResponseOnly,
}

impl Evaluator for ContextContainsPhrase {
    const INFO: Info = Info {
        id: "context_contains_phrase",
        aliases: &[],
        reads: FieldSet::of(&[Field::Output, Field::Query, Field::Messages, Field::Contexts]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("phrase"),
        reference_alias: None,
        direction: Direction::Higher,
        range: (Some(0.0), Some(1.0)),
        natural_verdict: true,
        version: 1,
        warnings: &[],
        examples: &[
            Example {
                title: "found in a system message",
                params: "phrase: 5 days",
                record: r#"{"messages": [{"role": "system", "content": "Doc A: refunds take 5 days"}, {"role": "user", "content": "When?"}], "output": "Soon."}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "but not said in the response",
                params: "{phrase: 5 days, context: model_response_only}",
                record: r#"{"messages": [{"role": "system", "content": "Doc A: refunds take 5 days"}, {"role": "user", "content": "When?"}], "output": "Soon."}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "a record without a response is an error",
                params: "phrase: 5 days",
                record: r#"{"query": "When?"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
            },
        ],
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if self.phrase.is_empty() {
            return Err(empty_phrase("/phrase"));
        }
        let options = normalization(self.capitalization, self.punctuation, self.whitespace);
        let finder = if options == Normalization::default() {
            Finder::exact(&self.phrase)
        } else {
            Finder::normalized(&self.phrase, Normalizer::new(options))
        };
        if finder.is_empty() {
            return Err(ParamErrors::with_help(
                "/phrase",
                "nothing is left of the phrase without its punctuation and white space",
                "set `punctuation: full` or `whitespace: full`",
            ));
        }
        Ok(Scorer::pure(Search { phrase: self.phrase, window: self.context, finder }))
    }
}

struct Search {
    phrase: String,
    window: Window,
    finder: Finder,
}

impl Search {
    /// The first place that holds the phrase, with its text.
    fn find<'r>(&self, row: &Row<'r>, scratch: &mut Scratch) -> Result<Option<(String, &'r str)>, Cell> {
        let output = row.output().ok_or(Cell::Errored(Code::MissingField(Field::Output)))?;
        let mut holds = |text: &str| self.finder.contains(text, &mut scratch.a);
        if let Some(text) = output.text()
            && holds(text)
        {
            return Ok(Some(("output".into(), text)));
        }
        if self.window == Window::ModelResponseOnly {
            return if output.text().is_some() { Ok(None) } else { Err(Cell::Errored(Code::NotText(Field::Output))) };
        }
        for (index, turn) in row.messages().iter().enumerate() {
            if let Some(text) = turn.content.and_then(|content| content.text())
                && holds(text)
            {
                return Ok(Some((format!("messages[{index}]"), text)));
            }
        }
        for (index, chunk) in row.contexts().iter().enumerate() {
            if holds(chunk.document) {
                return Ok(Some((format!("contexts[{index}]"), chunk.document)));
            }
        }
        match row.query().and_then(|query| query.text()) {
            Some(text) if holds(text) => Ok(Some(("query".into(), text))),
            _ => Ok(None),
        }
    }
}

impl Pure for Search {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match self.find(row, scratch) {
            Ok(found) => Cell::binary(found.is_some()),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, scratch: &mut Scratch) -> Explanation {
        let phrase = quote(&self.phrase);
        match self.find(row, scratch) {
            Ok(Some((place, text))) => {
                let explanation = Explanation::reason(format!("{phrase} is in {place}"));
                match self.finder.locate(text, &mut scratch.a) {
                    Some(range) => explanation.with(Evidence::span(&place, range.start, range.end)),
                    None => explanation,
                }
            }
            Ok(None) if self.window == Window::ModelResponseOnly => Explanation::reason(format!("{phrase} is not in the response")),
            Ok(None) => Explanation::reason(format!("{phrase} is in no message, context, query or response")),
            Err(_) => Explanation::default(),
        }
    }
}
