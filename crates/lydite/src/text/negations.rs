//! Words that turn a statement into its opposite.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

/// Where a text says *not*, in bytes. English only.
///
/// What negates in form alone (*not only*, *no doubt*, *nothing but*, *No. 5*) is left out, and so is an answer's
/// opening *No,*: it speaks of the question.
pub fn negations(text: &str) -> Vec<Range<usize>> {
    let words: Vec<(usize, &str)> = text.unicode_word_indices().collect();
    let mut found = Vec::new();
    for (index, (at, word)) in words.iter().enumerate() {
        let span = *at..at + word.len();
        let next = words.get(index + 1).map(|(_, next)| *next);
        let after = text.get(span.end..).unwrap_or_default();
        if is_negation(word) && !in_form_alone(word, next, after) {
            found.push(span);
        }
    }
    found
}

fn is_negation(word: &str) -> bool {
    let word = word.to_lowercase().replace('’', "'");
    WORDS.contains(&word.as_str()) || word.ends_with("n't")
}

fn in_form_alone(word: &str, next: Option<&str>, after: &str) -> bool {
    let is = |text: &str| word.eq_ignore_ascii_case(text);
    let followed_by = |words: &[&str]| {
        next.is_some_and(|next| words.iter().any(|word| next.eq_ignore_ascii_case(word)))
    };
    (is("not") && followed_by(&["only", "just", "merely", "simply", "least"]))
        || (is("nothing") && followed_by(&["but", "less", "more"]))
        || (is("none") && followed_by(&["other"]))
        || (is("no") && (followed_by(&["doubt", "matter", "wonder"]) || is_mark(word, after)))
        || (is("without") && followed_by(&["doubt"]))
}

/// `No,` as an answer, and `No. 5`.
fn is_mark(word: &str, after: &str) -> bool {
    let numbered = after
        .strip_prefix('.')
        .is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_ascii_digit()));
    numbered || (word.starts_with('N') && after.starts_with([',', '.', '!', ';', ':']))
}

const WORDS: &[&str] = &[
    "not",
    "no",
    "never",
    "none",
    "nobody",
    "nothing",
    "nowhere",
    "neither",
    "nor",
    "cannot",
    "cant",
    "dont",
    "doesnt",
    "isnt",
    "wont",
    "didnt",
    "wasnt",
    "arent",
    "without",
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
        let table: [(&str, &[&str]); 14] = [
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
            ("See No. 5 of the list.", &[]),
            ("No, it is closed.", &[]),
            ("There is no. Nothing less.", &["no"]),
            ("No refunds are given.", &["No"]),
            ("DO NOT ENTER", &["NOT"]),
            ("A notable knot, noted north.", &[]),
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
