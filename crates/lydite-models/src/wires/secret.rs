//! Keys, and texts from outside that must not show them.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The most characters of a provider's text that an error repeats.
const LONGEST_QUOTE: usize = 300;

/// How keys begin, at the providers known here.
const KEY_BEGINNINGS: [&str; 8] = [
    "sk-", "sk_", "AIza", "gsk_", "xai-", "tgp_", "hf_", "eyJhbGci",
];

/// A key. Neither printed nor compared with others.
#[derive(Clone)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The key itself, for a header.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Makes texts of a provider fit to be shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redactor {
    secrets: Vec<Secret>,
}

impl Redactor {
    /// Texts shorter than 4 bytes are no secrets: to replace them would spoil every message.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= 4 {
            self.secrets.push(Secret::new(secret));
        }
    }

    /// On one line, without keys and control characters, cut at 300 characters.
    pub(crate) fn clean(&self, text: &str) -> String {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            if text.contains(secret.expose()) {
                text = Cow::Owned(text.replace(secret.expose(), "[key]"));
            }
        }
        cut(&one_line(&without_keys(&text)))
    }

    /// [`Redactor::clean`] of bytes that may be no UTF-8.
    pub(crate) fn clean_bytes(&self, bytes: &[u8]) -> String {
        let start = bytes.get(..bytes.len().min(4 * 1024)).unwrap_or(bytes);
        self.clean(&String::from_utf8_lossy(start))
    }
}

/// Replaces what looks like a key of a known provider, whole or masked by it.
fn without_keys(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*' | '.');
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_part) {
        let (before, word) = rest.split_at(start);
        let (word, after) = word.split_at(word.find(|c| !is_part(c)).unwrap_or(word.len()));
        let is_key = word.len() >= 8
            && KEY_BEGINNINGS
                .iter()
                .any(|beginning| word.starts_with(beginning));
        clean.push_str(before);
        clean.push_str(if is_key { "[key]" } else { word });
        rest = after;
    }
    clean.push_str(rest);
    clean
}

/// Runs of white space and control characters become one space.
fn one_line(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn keys_are_replaced() {
        let mut redactor = Redactor::default();
        redactor.add("hunter-2-key");
        redactor.add("abc");
        for (text, expected) in [
            ("bad key hunter-2-key!", "bad key [key]!"),
            (
                "Incorrect API key provided: sk-proj-ab***************yz. Go on",
                "Incorrect API key provided: [key] Go on",
            ),
            ("key AIzaSyA1234567890 refused", "key [key] refused"),
            ("abc sk-1 task-force", "abc sk-1 task-force"),
            ("two\nlines\u{1b}[31m", "two lines [31m"),
        ] {
            assert_eq!(redactor.clean(text), expected);
        }
    }

    #[test]
    fn debug_shows_nothing() {
        let mut redactor = Redactor::default();
        redactor.add("hunter-2-key");
        let shown = format!("{redactor:?} {:?}", Secret::new("hunter-2-key"));
        assert!(!shown.contains("hunter"), "{shown}");
    }

    proptest! {
        #[test]
        fn no_text_shows_the_key_or_is_long(before in ".{0,400}", after in ".{0,400}") {
            let mut redactor = Redactor::default();
            redactor.add("q9-key-that-is-secret");
            let clean = redactor.clean(&format!("{before}q9-key-that-is-secret{after}"));
            prop_assert!(!clean.contains("q9-key-that"));
            prop_assert!(clean.chars().count() <= LONGEST_QUOTE + 1);
        }
    }
}
