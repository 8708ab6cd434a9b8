//! The one tolerant reader of judges' replies.
//!
//! A reply is read or it is an error: there is no default verdict, and no unlabelled number is
//! picked out of prose. Thinking (`<think>…</think>`) is never read, and neither is what a reply
//! quotes of the texts under judgement ([`own_words`], [`without_material`]). Where two readings are
//! possible the reply is unreadable: asking once more costs a call, a wrong verdict costs trust.
//!
//! | reply | read by |
//! |---|---|
//! | JSON, bare, fenced or amid prose | [`json`], whose values [`label`] and [`number`] read |
//! | one verdict in plain text | [`verdict`] |
//! | one rating in plain text | [`rating`] |
//! | one verdict an item in plain text | [`items`] |
//! | log-probabilities of its tokens | [`expected_rating`], [`label_shares`] |
//!
//! All of them do work in proportion to the reply's length, whatever it holds.

mod items;
mod json;
mod logprob;
mod number;
mod plain;
mod quotes;
#[cfg(test)]
mod tests;
mod thinking;
mod vocabulary;
mod words;

pub use items::items;
pub use json::json;
pub use logprob::{Expected, expected_rating, label_shares};
pub use number::number;
pub use plain::{label, rating, verdict};
pub use quotes::{own_words, without_material};

use crate::outcome::Code;

/// Why a reply can't be read, in words that a repair request shows to the judge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Misread {
    pub code: Code,
    pub message: String,
}

impl Misread {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    fn unreadable(message: impl Into<String>) -> Self {
        Self::new(Code::JudgeUnreadable, message)
    }
}

/// What was read, and what was odd about it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Read<T> {
    pub value: T,
    /// Bits of [`super::WARNINGS`].
    pub flags: u16,
}

impl<T> Read<T> {
    const fn plain(value: T) -> Self {
        Self { value, flags: 0 }
    }
}

/// A piece of a reply for an error message.
fn shown(text: &str) -> String {
    match crate::text::beginning(text, 60) {
        Some(cut) => format!("`{cut}…`"),
        None => format!("`{text}`"),
    }
}
