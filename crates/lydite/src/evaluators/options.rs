//! Options and words that several evaluators share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evaluator::ParamErrors;
use crate::outcome::{Code, Explanation};
use crate::record::{Field, Row};
use crate::text::beginning;
use crate::text::find::Finder;
use crate::text::normalize::{Normalization, Normalizer};

/// How strictly one dimension of two texts is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Strictness {
    /// Differences in it do not count.
    Agnostic,
    /// It is compared as it stands.
    Full,
}

impl Strictness {
    pub(super) const fn is_agnostic(self) -> bool {
        matches!(self, Self::Agnostic)
    }
}

pub(super) fn agnostic() -> Strictness {
    Strictness::Agnostic
}

pub(super) fn full() -> Strictness {
    Strictness::Full
}

pub(super) fn yes() -> bool {
    true
}

pub(super) fn normalization(
    capitalization: Strictness,
    punctuation: Strictness,
    whitespace: Strictness,
) -> Normalization {
    Normalization {
        fold_case: capitalization.is_agnostic(),
        drop_punctuation: punctuation.is_agnostic(),
        drop_whitespace: whitespace.is_agnostic(),
    }
}

/// A search for a phrase of the parameter at `path`; an empty one would be found everywhere.
pub(super) fn phrase_finder(
    phrase: &str,
    case_sensitive: bool,
    path: &str,
) -> Result<Finder, ParamErrors> {
    if phrase.is_empty() {
        return Err(empty_phrase(path));
    }
    if case_sensitive {
        return Ok(Finder::exact(phrase));
    }
    Ok(Finder::normalized(
        phrase,
        Normalizer::new(Normalization {
            fold_case: true,
            ..Normalization::default()
        }),
    ))
}

/// One search a phrase; the list and its phrases must not be empty.
pub(super) fn phrase_finders(
    phrases: &[String],
    case_sensitive: bool,
) -> Result<Vec<Finder>, ParamErrors> {
    if phrases.is_empty() {
        return Err(ParamErrors::with_help(
            "/phrases",
            "the list of phrases is empty",
            "name at least one phrase",
        ));
    }
    phrases
        .iter()
        .enumerate()
        .map(|(index, phrase)| phrase_finder(phrase, case_sensitive, &format!("/phrases/{index}")))
        .collect()
}

pub(super) fn empty_phrase(path: &str) -> ParamErrors {
    ParamErrors::with_help(
        path,
        "the phrase is empty, and an empty phrase is in every text",
        "write the text to look for",
    )
}

/// The two candidates' texts, or why there are none.
pub(super) fn pair<'r>(row: &Row<'r>) -> Result<(&'r str, &'r str), Code> {
    match row.candidates() {
        [] => Err(Code::MissingField(Field::Candidates)),
        [a, b] => a
            .text()
            .zip(b.text())
            .ok_or(Code::NotText(Field::Candidates)),
        _ => Err(Code::InvalidField(Field::Candidates)),
    }
}

/// Words for a row without a [`pair`], where they say more than the code.
pub(super) fn no_pair(row: &Row<'_>, code: Code) -> Explanation {
    match code {
        Code::InvalidField(_) => Explanation::reason(format!(
            "a pair needs two candidates, found {}",
            row.candidates().len()
        )),
        _ => Explanation::default(),
    }
}

/// A text as it is quoted in a reason: whole if short, else its beginning.
pub(super) fn quote(text: &str) -> String {
    const LONGEST: usize = 80;
    match beginning(text, LONGEST) {
        Some(beginning) => format!("{beginning:?}…"),
        None => format!("{text:?}"),
    }
}

/// A score as a reason says it: with four decimals at the most.
pub(super) fn rounded(score: f64) -> f64 {
    (score * 10_000.0).round() / 10_000.0
}

/// Several texts as they are quoted in a reason: the first few of a long list.
pub(super) fn quote_all<'t>(texts: impl ExactSizeIterator<Item = &'t str>) -> String {
    const MOST: usize = 5;
    let more = texts.len().saturating_sub(MOST);
    let shown: Vec<String> = texts.take(MOST).map(quote).collect();
    let shown = shown.join(", ");
    if more > 0 {
        format!("{shown} and {more} more")
    } else {
        shown
    }
}

/// Where two texts first differ, quoted, for a reason.
pub(super) fn first_difference(expected: &str, actual: &str) -> String {
    let same = expected
        .chars()
        .zip(actual.chars())
        .take_while(|(a, b)| a == b)
        .count();
    if same < 40 {
        return format!("expected {}, found {}", quote(expected), quote(actual));
    }
    let from = |text: &str| {
        quote(
            &text
                .chars()
                .skip(same.saturating_sub(10))
                .collect::<String>(),
        )
    };
    format!(
        "differs from character {same}: expected …{}, found …{}",
        from(expected),
        from(actual)
    )
}
