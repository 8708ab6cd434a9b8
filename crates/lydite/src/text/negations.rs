//! Words that turn a statement into its opposite.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Where a text says *not*, in bytes. English only.
///
/// What negates in form alone (*not only*, *no doubt*, *no more than*, *not until*, *No. 5*) is left out, and so is an answer's
/// opening *No,*: it speaks of the question.
pub fn negations(text: &str) -> Vec<Range<usize>> {
    let words: Vec<(usize, &str)> = text.unicode_word_indices().collect();
    let mut found = Vec::new();
    for (index, (at, word)) in words.iter().enumerate() {
        let span = *at..at + word.len();
        let next = words.get(index + 1).map(|(_, next)| *next);
        let after = text.get(span.end..).unwrap_or_default();
        let later: Vec<&str> = words
            .iter()
            .skip(index + 1)
            .take(5)
            .map(|(_, word)| *word)
            .collect();
        if is_negation(word) && !in_form_alone(word, next, after) && !is_limit(&later) {
            found.push(span);
        }
    }
    found
}

fn is_negation(word: &str) -> bool {
    let lower = word.to_lowercase().replace('’', "'");
    let by_meaning = BY_MEANING.contains(&word);
    by_meaning || WORDS.contains(&lower.as_str()) || lower.ends_with("n't")
}

fn in_form_alone(word: &str, next: Option<&str>, after: &str) -> bool {
    let is = |text: &str| word.eq_ignore_ascii_case(text);
    let followed_by = |words: &[&str]| {
        next.is_some_and(|next| words.iter().any(|word| next.eq_ignore_ascii_case(word)))
    };
    (is("not")
        && followed_by(&[
            "only", "just", "merely", "simply", "least", "hesitate", "forget", "worry",
        ]))
        || (is("nothing") && followed_by(&["but", "less", "more"]))
        || (is("none") && followed_by(&["other"]))
        || (is("no") && (followed_by(&["doubt", "matter", "wonder"]) || is_mark(word, after)))
        || (is("without") && followed_by(&["doubt"]))
}

/// What follows makes the negation a limit: *no more than five*, *must not exceed five*, *not until nine*.
fn is_limit(later: &[&str]) -> bool {
    let than = later
        .get(1)
        .is_some_and(|word| word.eq_ignore_ascii_case("than"));
    let until = later.iter().any(|word| word.eq_ignore_ascii_case("until"));
    let exceeds = later
        .first()
        .is_some_and(|word| word.eq_ignore_ascii_case("exceed"));
    than || until || exceeds
}

/// `No,` as an answer, and `No. 5`.
fn is_mark(word: &str, after: &str) -> bool {
    let rest = after.strip_prefix('.').unwrap_or(after).trim_start();
    let numbered = word.starts_with('N') && rest.starts_with(|c: char| c.is_ascii_digit());
    numbered || (word.starts_with('N') && after.starts_with([',', '.', '!', ';', ':']))
}

const WORDS: &[&str] = &[
    "not", "no", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "cannot",
    "cant", "dont", "doesnt", "isnt", "wont", "didnt", "wasnt", "arent", "without",
];

/// In lower case only: with a capital they are parts of titles.
const BY_MEANING: &[&str] = &[
    "unable",
    "impossible",
    "hardly",
    "scarcely",
    "lacks",
    "lack",
    "lacking",
    "fails",
    "failed",
    "false",
    "incorrect",
    "untrue",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_that_negate_are_found_and_those_in_form_alone_are_not() {
        let table: [(&str, &[&str]); 16] = [
            ("The store does not close.", &["not"]),
            ("It isn't open, and it doesn’t ship.", &["isn't", "doesn’t"]),
            (
                "They never refund without a receipt.",
                &["never", "without"],
            ),
            (
                "Neither is free; nobody cannot pay.",
                &["Neither", "nobody", "cannot"],
            ),
            ("Not only is it cheap, it is fast.", &[]),
            ("No doubt it works, no matter what.", &[]),
            (
                "See No. 5 of the list, a No 1 hit: Mission Impossible.",
                &[],
            ),
            ("No, it is closed.", &[]),
            ("There is no. Nothing less.", &["no"]),
            ("No refunds are given.", &["No"]),
            ("DO NOT ENTER", &["NOT"]),
            ("A notable knot, noted north.", &[]),
            ("It takes no more than 5 days and must not exceed 6.", &[]),
            ("It does not close until 9, but is no longer free.", &["no"]),
            ("The claim is false.", &["false"]),
            ("", &[]),
        ];
        for (text, expected) in table {
            let found: Vec<&str> = negations(text)
                .into_iter()
                .map(|span| &text[span])
                .collect();
            assert_eq!(found, expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn spans_are_slices_of_any_text(text in r"(not|no|n't|[a-c’'é日., ]){0,12}") {
            for span in negations(&text) {
                prop_assert!(text.get(span).is_some());
            }
        }
    }
}
