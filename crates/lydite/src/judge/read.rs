//! The one tolerant reader of judges' replies.
//!
//! A reply is read or it is an error: there is no default verdict, and no unlabelled number is
//! picked out of prose. Thinking (`<think>…</think>`) is never read.

use serde_json::Value;

use super::labels::{Labels, Scale};
use crate::model::TokenLogprob;
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
}

/// What was read, and what was odd about it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Read<T> {
    pub value: T,
    /// Bits of [`super::WARNINGS`].
    pub flags: u16,
}

/// Reads the one JSON value of a reply that `fits` takes.
///
/// Thinking and code fences are stripped; every `{` and `[` outside of strings that are already
/// read is tried, raw control characters inside strings allowed; candidates that `fits` refuses are
/// left out. One distinct value left is the reply; several that differ are ambiguous
/// ([`Code::AmbiguousReply`]); none is [`Code::JudgeUnreadable`], or what `fits` said of the only or
/// last candidate.
pub fn json<T: PartialEq>(
    reply: &str,
    fits: &dyn Fn(&Value) -> Result<Read<T>, Misread>,
) -> Result<Read<T>, Misread> {
    let _ = (reply, fits);
    Err(Misread::new(Code::JudgeUnreadable, ""))
}

/// Reads the final verdict of a plain-text reply: gives the label's index.
pub fn verdict(reply: &str, labels: &Labels) -> Result<Read<usize>, Misread> {
    let _ = (reply, labels);
    Err(Misread::new(Code::JudgeUnreadable, ""))
}

/// Reads the labelled or bracketed rating of a plain-text reply.
pub fn rating(reply: &str, scale: &Scale) -> Result<Read<f64>, Misread> {
    let _ = (reply, scale);
    Err(Misread::new(Code::JudgeUnreadable, ""))
}

/// Reads one verdict an item of a plain-text reply: numbered lines that end in a (bracketed) verdict, or a final
/// list `Yes, No, Yes` after a label. `None` where an item has none.
pub fn items(
    reply: &str,
    count: usize,
    labels: &Labels,
) -> Result<Read<Vec<Option<usize>>>, Misread> {
    let _ = (reply, count, labels);
    Err(Misread::new(Code::JudgeUnreadable, ""))
}

/// A number of a typed reply: a JSON number, or text such as `"8/10"` or `"85%"` where the maximum matches (with
/// [`super::SCORE_AS_TEXT`]). Outside the scale: [`Code::ScoreOutOfRange`]. Null: [`Code::JudgeAbstained`].
pub fn number(value: &Value, scale: &Scale) -> Result<Read<f64>, Misread> {
    let _ = (value, scale);
    Err(Misread::new(Code::JudgeUnreadable, ""))
}

/// A label of a typed reply, in any case, under its name or another word for it, or with a reason after it (`Yes, the
/// assistant …`). Null: [`Code::JudgeAbstained`].
pub fn label(value: &Value, labels: &Labels) -> Result<Read<usize>, Misread> {
    let _ = (value, labels);
    Err(Misread::new(Code::JudgeUnreadable, ""))
}

/// The distribution over the whole numbers of a scale at the place of a number in a reply.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// The mean over the values that the scale holds.
    pub mean: f64,
    /// The probability that was kept: the rest fell on tokens that are no value of the scale. In (0, 1].
    pub mass: f64,
}

/// The expected rating from the log-probabilities of a reply's tokens, where the number begins at byte `start` of the
/// tokens' joined text. `None` where no alternative is a value of the scale.
pub fn expected_rating(tokens: &[TokenLogprob], start: usize, scale: &Scale) -> Option<Expected> {
    let _ = (tokens, start, scale);
    None
}

/// The probability of each label where the verdict begins at byte `start` of the tokens' joined text, scaled to sum
/// to 1, and the mass that was kept.
pub fn label_shares(
    tokens: &[TokenLogprob],
    start: usize,
    labels: &Labels,
) -> Option<(Vec<f64>, f64)> {
    let _ = (tokens, start, labels);
    None
}
