//! The pieces of a text that are judged each by itself.

use std::ops::Range;

/// A window ends with the sentence in which it reaches so many words.
const ENOUGH: usize = 20;

/// No window has more words, or more bytes.
const MOST_WORDS: usize = 40;
const MOST_BYTES: usize = 600;

/// Windows of whole sentences as byte ranges, in order; together they hold all but white space.
pub(super) fn windows(text: &str) -> Vec<Range<usize>> {
    let mut windows = Vec::new();
    let mut start = 0;
    let mut words = 0;
    let mut in_word = false;
    let mut ended = false;
    for (at, c) in text.char_indices() {
        let full = words >= MOST_WORDS || at - start >= MOST_BYTES;
        if c.is_whitespace() {
            ended |= c == '\n';
            if (ended && words >= ENOUGH) || full {
                push(text, start..at, &mut windows);
                (start, words) = (at, 0);
            }
            in_word = false;
            ended = false;
            continue;
        }
        if at - start >= 2 * MOST_BYTES {
            push(text, start..at, &mut windows);
            (start, words) = (at, 0);
        }
        words += usize::from(!in_word);
        in_word = true;
        ended = match c {
            '.' | '!' | '?' | '…' | '。' | '！' | '？' => true,
            '"' | '\'' | '”' | '’' | ')' | '*' => ended,
            _ => false,
        };
    }
    push(text, start..text.len(), &mut windows);
    windows
}

/// Leaves out white space at both ends, and what is nothing else.
fn push(text: &str, range: Range<usize>, windows: &mut Vec<Range<usize>>) {
    let piece = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (piece.len() - piece.trim_start().len());
    let piece = piece.trim();
    if !piece.is_empty() {
        windows.push(start..start + piece.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn windows_are_whole_sentences_of_enough_words() {
        let ten = "one two three four five six seven eight nine ten. ";
        let text = ten.repeat(5);
        let lengths: Vec<usize> = windows(&text)
            .into_iter()
            .map(|window| text[window].split_whitespace().count())
            .collect();
        assert_eq!(lengths, [20, 20, 10]);
    }

    #[test]
    fn short_texts_are_one_window_and_blank_ones_none() {
        assert_eq!(windows(" Women? I like them. ").first(), Some(&(1..20)));
        assert!(windows(" \n ").is_empty());
    }

    #[test]
    fn endless_sentences_and_words_are_cut() {
        let words = "word ".repeat(100);
        assert!(
            windows(&words)
                .into_iter()
                .all(|window| words[window].split_whitespace().count() <= MOST_WORDS)
        );
        let letters = "字".repeat(2000);
        assert!(
            windows(&letters)
                .into_iter()
                .all(|window| window.len() <= 2 * MOST_BYTES + 4)
        );
    }

    proptest! {
        #[test]
        fn nothing_but_white_space_is_left_out(text in "(\\PC|\n|\\. |a b){0,300}") {
            let mut at = 0;
            for window in windows(&text) {
                prop_assert!(window.start >= at && window.end > window.start);
                prop_assert!(text[at..window.start].trim().is_empty());
                at = window.end;
            }
            prop_assert!(text[at..].trim().is_empty());
        }
    }
}
