//! Asks a chat model for a verdict that can be trusted.
//!
//! An evaluator fills a [`Prompt`] and asks its [`JudgeContext`] for a [label](JudgeContext::verdict),
//! a [number](JudgeContext::score), one label [an item](JudgeContext::items), a
//! [list](JudgeContext::list) or its own [typed reply](JudgeContext::typed). What comes back is a
//! value from a closed set, or a [`Failure`] that says why not; there is no default verdict.
//!
//! - Replies are typed by a JSON schema, reasons first; the one [reader](read) also takes plain text.
//! - Data stand in blocks that a tag fences which their texts can't know ([`Prompt::fill`]).
//! - One repair request shows the judge what was wrong; then the reply is an error and kept.
//! - Repeats, jurors, samples, orders and repairs are calls of their own ([`CallIdentity`]).

mod answers;
mod ask;
pub mod cache;
mod labels;
mod prompt;
pub mod read;

use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use ask::{Ask, Item, Scored, Verdicted};
pub use labels::{Label, Labels, Scale, typed};
pub use prompt::{Fill, Filled, Place, Prompt, PromptError};

use crate::evaluator::Warning;
use crate::model::{ChatModel, Embedder, ModelError, Usage};
use crate::outcome::{Cell, Code, Evidence, Explanation};

/// The first bit of [`WARNINGS`] in a cell's flags; the bits before are the evaluator's own.
pub const FIRST_FLAG: u16 = 8;

/// What may be odd about any judged cell. Bit `FIRST_FLAG + i` of its flags stands for `WARNINGS[i]`.
pub static WARNINGS: [Warning; 7] = [
    Warning {
        code: "score_as_text",
        text: "the judge gave its number as text, such as \"8/10\"",
    },
    Warning {
        code: "repaired",
        text: "the judge's first reply could not be read; it was asked once more",
    },
    Warning {
        code: "mode_fallback",
        text: "the score mode does not apply to this question or was not served (no log-probabilities); the verdict itself counts",
    },
    Warning {
        code: "untyped_reply",
        text: "the judge did not hold to the asked form; its verdict was read from its text",
    },
    Warning {
        code: "juror_failed",
        text: "a judge of the jury gave no verdict; the others count",
    },
    Warning {
        code: "object_as_json",
        text: "an object with several entries was shown to the judge as JSON; name the entry with `inputs:`",
    },
    Warning {
        code: "order_flip",
        text: "the judge chose otherwise when the answers stood in another order: counted as a tie",
    },
];

pub const SCORE_AS_TEXT: u16 = 1 << FIRST_FLAG;
pub const REPAIRED: u16 = 1 << (FIRST_FLAG + 1);
pub const MODE_FALLBACK: u16 = 1 << (FIRST_FLAG + 2);
pub const UNTYPED_REPLY: u16 = 1 << (FIRST_FLAG + 3);
pub const JUROR_FAILED: u16 = 1 << (FIRST_FLAG + 4);
pub const OBJECT_AS_JSON: u16 = 1 << (FIRST_FLAG + 5);
/// How many of a report's answers bear it tells how consistent a judge is.
pub const ORDER_FLIP: u16 = 1 << (FIRST_FLAG + 6);

/// How a score is made of a judge's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScoreMode {
    /// One answer, taken at its word.
    #[default]
    Verdict,
    /// The expected value over the allowed answers, by the log-probabilities of the one that was given.
    Logprob,
    /// The mean of so many answers.
    Sample(u32),
}

/// The juror's chair: what an evaluator asks models through, for one judgement.
///
/// It adds up what the judgement used, whatever its end.
pub struct JudgeContext<'a> {
    judge: Option<&'a dyn ChatModel>,
    embedder: Option<&'a dyn Embedder>,
    fence_key: [u8; 32],
    mode: ScoreMode,
    repeat: u32,
    juror: u32,
    tally: Mutex<Tally>,
}

/// What one judgement used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    pub usage: Usage,
    /// Answers so far, and those of them that a cache gave.
    pub answers: u32,
    pub cached: u32,
    /// Bits of [`WARNINGS`].
    pub flags: u16,
}

impl std::fmt::Debug for JudgeContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JudgeContext")
            .field("judge", &self.judge.map(ChatModel::name))
            .field("mode", &self.mode)
            .field("repeat", &self.repeat)
            .field("juror", &self.juror)
            .finish_non_exhaustive()
    }
}

impl<'a> JudgeContext<'a> {
    /// `fence_key` makes the tags that fence data; `repeat` counts from 1, `juror` from 0.
    pub fn new(
        judge: Option<&'a dyn ChatModel>,
        embedder: Option<&'a dyn Embedder>,
        fence_key: [u8; 32],
        mode: ScoreMode,
        repeat: u32,
        juror: u32,
    ) -> Self {
        Self {
            judge,
            embedder,
            fence_key,
            mode,
            repeat,
            juror,
            tally: Mutex::default(),
        }
    }

    pub const fn mode(&self) -> ScoreMode {
        self.mode
    }

    /// The judge's `provider/model`.
    pub fn judge_name(&self) -> Option<&str> {
        self.judge.map(ChatModel::name)
    }

    pub fn tally(&self) -> Tally {
        *self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bits of [`WARNINGS`] to the judgement.
    pub fn warn(&self, flags: u16) {
        self.with_tally(|tally| tally.flags |= flags);
    }

    /// One vector a text, in their order.
    pub async fn embed(&self, texts: &[&str]) -> Result<Vec<std::sync::Arc<[f32]>>, Failure> {
        let embedder = self.embedder.ok_or_else(|| Failure::no_model("embedder"))?;
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(embedder.batch().max(1)) {
            match embedder.embed(batch).await {
                Ok(embedded) => {
                    self.count(&embedded.usage, embedded.cached);
                    vectors.extend(embedded.vectors);
                }
                Err(error) => return Err(self.model_failed(error)),
            }
        }
        Ok(vectors)
    }

    fn count(&self, usage: &Usage, cached: bool) {
        self.with_tally(|tally| {
            tally.usage.add(usage);
            tally.answers += 1;
            tally.cached += u32::from(cached);
        });
    }

    fn model_failed(&self, error: ModelError) -> Failure {
        self.with_tally(|tally| tally.usage.add(&error.usage));
        Failure::new(Code::Model(error.kind), error.message)
    }

    fn with_tally(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Why a judgement came to nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    pub code: Code,
    pub message: String,
    /// Bounds where some items were judged, and the like.
    pub evidence: Vec<Evidence>,
    /// The reply that could not be read.
    pub raw: Option<String>,
}

impl Failure {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            evidence: Vec::new(),
            raw: None,
        }
    }

    fn no_model(role: &str) -> Self {
        let kind = crate::model::ModelErrorKind::Config;
        Self::new(
            Code::Model(kind),
            format!("this check has no {role}; name one under `models: {{{role}: …}}`"),
        )
    }
}

/// What a judged evaluator gives: a cell, and the words for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub cell: Cell,
    pub explanation: Explanation,
}

impl Outcome {
    pub fn new(cell: Cell, explanation: Explanation) -> Self {
        Self { cell, explanation }
    }

    /// An error with the code's own words.
    pub fn errored(code: Code) -> Self {
        Self::new(Cell::Errored(code), Explanation::reason(code.message()))
    }

    /// Nothing was asked, since the answer leaves nothing to decide: inconclusive, without a score, no error.
    pub fn inconclusive(reason: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        let cell = Cell::Scored {
            score: None,
            natural: Some(crate::outcome::Verdict::Inconclusive),
            flags: 0,
        };
        Self::new(cell, Explanation::reason(reason))
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        let explanation = Explanation {
            reason: Some(failure.message.into()),
            evidence: failure.evidence,
            raw: failure
                .raw
                .map(|reply| serde_json::json!({ "reply": reply })),
            ..Explanation::default()
        };
        Self::new(Cell::Errored(failure.code), explanation)
    }
}

/// A failed ask ends a judgement as an error.
impl From<Result<Self, Failure>> for Outcome {
    fn from(result: Result<Self, Failure>) -> Self {
        result.unwrap_or_else(Self::from)
    }
}

/// A missing field does so too.
impl From<Cell> for Failure {
    fn from(cell: Cell) -> Self {
        match cell {
            Cell::Errored(code) => Self::new(code, code.message()),
            _ => Self::new(Code::NothingToJudge, Code::NothingToJudge.message()),
        }
    }
}

#[cfg(test)]
mod tests;
