//! Counting tokens where no provider does: for estimates, limits and servers that send no usage.
//!
//! An exact count needs the model's own vocabulary: some megabytes a family, unknown for most local
//! models, and still only near for the rest. What hangs on the number here (a dry run, a token bucket, a
//! cost marked as estimated) bears some per cent of error, so tokens are estimated by the kinds of
//! characters, after the pre-tokenisation of byte-pair vocabularies (GPT-4's `cl100k_base` pattern):
//! words of letters, numbers in groups of three digits, runs of punctuation, line breaks.

use lydite::model::ChatMessage;

/// Letters of a Latin word that one token holds, on average over running text with its long words.
const LATIN_WORD: usize = 7;
/// The same in other alphabets, which vocabularies cover less.
const OTHER_WORD: usize = 3;
/// What a message's role and its borders take.
const MESSAGE: u64 = 4;

/// About how many tokens a text has. Empty texts have none.
pub fn estimate(text: &str) -> u64 {
    let mut tokens = 0;
    let mut run = Run::default();
    for c in text.chars() {
        let kind = Kind::of(c);
        if kind != run.kind {
            tokens += run.tokens();
            run = Run { kind, length: 0 };
        }
        run.length += 1;
    }
    (tokens + run.tokens()) as u64
}

/// About how many input tokens messages have.
pub fn estimate_messages(messages: &[ChatMessage]) -> u64 {
    messages
        .iter()
        .map(|message| estimate(&message.content) + MESSAGE)
        .sum()
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Kind {
    /// Goes with the word after it.
    #[default]
    Space,
    Break,
    Latin,
    Digit,
    /// Alphabets other than Latin.
    Letter,
    /// Scripts without spaces: about a token a character.
    Ideograph,
    Mark,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            '\n' | '\r' => Self::Break,
            c if c.is_whitespace() => Self::Space,
            c if c.is_ascii_digit() => Self::Digit,
            'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => Self::Latin,
            '\u{2e80}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
            | '\u{e00}'..='\u{eff}' => Self::Ideograph,
            c if c.is_alphabetic() => Self::Letter,
            _ => Self::Mark,
        }
    }
}

/// Neighbouring characters of one kind.
#[derive(Debug, Default)]
struct Run {
    kind: Kind,
    length: usize,
}

impl Run {
    fn tokens(&self) -> usize {
        match self.kind {
            // One space belongs to the word; indentation is a token.
            Kind::Space => usize::from(self.length > 1),
            Kind::Break => usize::from(self.length > 0),
            Kind::Latin => self.length.div_ceil(LATIN_WORD),
            Kind::Digit | Kind::Letter => self.length.div_ceil(OTHER_WORD),
            Kind::Ideograph => self.length,
            Kind::Mark => self.length.div_ceil(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts of `cl100k_base`, as OpenAI's tokenizer page and cookbook show them.
    #[test]
    fn known_counts_are_near() {
        for (text, tokens) in [
            ("tiktoken is great!", 6),
            ("antidisestablishmentarianism", 6),
            ("2 + 2 = 4", 7),
            ("お誕生日おめでとう", 9),
            ("The quick brown fox jumps over the lazy dog.", 10),
            ("Hello, world!", 4),
        ] {
            let estimate = estimate(text);
            assert!(
                estimate.abs_diff(tokens) <= 2,
                "{text}: {estimate} instead of {tokens}"
            );
        }
    }

    #[test]
    fn nothing_has_no_tokens_and_messages_have_borders() {
        assert_eq!(estimate(""), 0);
        assert_eq!(estimate_messages(&[ChatMessage::user("hello")]), 5);
    }
}
