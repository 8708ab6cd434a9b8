//! `context_contains_phrase`: see [`ContextContainsPhrase`].

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::options::{Strictness, empty_phrase, full, normalization, quote};
use crate::decode::texts_of_parts;
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch,
};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Content, Field, FieldSet, Row};
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
/// Exact and case-sensitive unless `capitalization`, `punctuation` or `whitespace` is `agnostic`. Of parts only
/// the texts are searched; a response without text in which nothing was found is an error (`not_text`).
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
        origin: Origin::ContextAi,
        reads: FieldSet::of(&[
            Field::Output,
            Field::Query,
            Field::Messages,
            Field::Contexts,
        ]),
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("phrase"),
        examples: &[
            Example {
                title: "found in a system message",
                params: "phrase: 5 days",
                record: r#"{"messages": [{"role": "system", "content": "Doc A: refunds take 5 days"}, {"role": "user", "content": "When?"}], "output": "Soon."}"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "but not said in the response",
                params: "{phrase: 5 days, context: model_response_only}",
                record: r#"{"messages": [{"role": "system", "content": "Doc A: refunds take 5 days"}, {"role": "user", "content": "When?"}], "output": "Soon."}"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a record without a response is an error",
                params: "phrase: 5 days",
                record: r#"{"query": "When?"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
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
        Ok(Scorer::pure(Search {
            phrase: self.phrase,
            window: self.context,
            finder,
        }))
    }
}

struct Search {
    phrase: String,
    window: Window,
    finder: Finder,
}

/// A text that holds the phrase, and its place in the record.
struct Found<'r> {
    place: String,
    text: Cow<'r, str>,
}

impl Search {
    /// The first place that holds the phrase.
    fn find<'r>(&self, row: Row<'r>, scratch: &mut Scratch) -> Result<Option<Found<'r>>, Cell> {
        let output = row
            .output()
            .ok_or(Cell::Errored(Code::MissingField(Field::Output)))?;
        let mut found = self.in_content(output, || "output".into(), scratch);
        if found.is_none() && self.window == Window::ContextWindow {
            found = self.in_context(row, scratch);
        }
        if found.is_none() && output.text().is_none() {
            return Err(Cell::Errored(Code::NotText(Field::Output)));
        }
        Ok(found)
    }

    /// Messages, contexts and the query.
    fn in_context<'r>(&self, row: Row<'r>, scratch: &mut Scratch) -> Option<Found<'r>> {
        for (index, turn) in row.messages().iter().enumerate() {
            if let Some(content) = turn.content
                && let Some(found) =
                    self.in_content(content, || format!("messages[{index}]"), scratch)
            {
                return Some(found);
            }
        }
        for (index, chunk) in row.contexts().iter().enumerate() {
            if self.finder.contains(chunk.document, &mut scratch.a) {
                return Some(Found {
                    place: format!("contexts[{index}]"),
                    text: chunk.document.into(),
                });
            }
        }
        self.in_content(row.query()?, || "query".into(), scratch)
    }

    /// A text, or the texts among parts, each on its own.
    fn in_content<'r>(
        &self,
        content: Content<'r>,
        place: impl FnOnce() -> String,
        scratch: &mut Scratch,
    ) -> Option<Found<'r>> {
        match content {
            Content::Parts { source, text: None } => texts_of_parts(source)
                .into_iter()
                .find(|(_, text)| self.finder.contains(text, &mut scratch.a))
                .map(|(index, text)| Found {
                    place: format!("{}.parts[{index}]", place()),
                    text,
                }),
            other => other
                .text()
                .filter(|text| self.finder.contains(text, &mut scratch.a))
                .map(|text| Found {
                    place: place(),
                    text: text.into(),
                }),
        }
    }
}

impl Pure for Search {
    fn score(&self, row: &Row<'_>, scratch: &mut Scratch) -> Cell {
        match self.find(*row, scratch) {
            Ok(found) => Cell::binary(found.is_some()),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, _: Cell, scratch: &mut Scratch) -> Explanation {
        let phrase = quote(&self.phrase);
        match self.find(*row, scratch) {
            Ok(Some(Found { place, text })) => {
                let explanation = Explanation::reason(format!("{phrase} is in {place}"));
                match self.finder.locate(&text, &mut scratch.a) {
                    Some(range) => explanation.with(Evidence::span(&place, range.start, range.end)),
                    None => explanation,
                }
            }
            Ok(None) if self.window == Window::ModelResponseOnly => {
                Explanation::reason(format!("{phrase} is not in the response"))
            }
            Ok(None) => Explanation::reason(format!(
                "{phrase} is in no message, context, query or response"
            )),
            Err(_) => Explanation::default(),
        }
    }
}
