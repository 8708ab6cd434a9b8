//! The cache of verdicts: what a judged cell hangs on, and how it is kept.
//!
//! In the key: the evaluator and its version, its parameters, the fields that it reads, the judge and
//! the embedder (provider, model, base URL, parameters, seed), the prompt, the score mode, the compat
//! switch, the juror's place and the repeat. Not in it: name, threshold and `not` of the check, so a
//! new threshold costs no call. Errors are not kept.

use serde::{Deserialize, Serialize};

use super::Outcome;
use crate::check::Check;
use crate::model::{ChatModel, Embedder};
use crate::outcome::{Cell, Evidence, Explanation, Score, Verdict};
use crate::record::{Content, Field, Row};

/// Raised with every change of what stands in keys or values.
const FORMAT: u32 = 1;

/// What a judgement of this row by this check hangs on. `filled_with` is what the record filled parameters with.
pub fn key(
    check: &Check,
    filled_with: &[u8],
    row: &Row<'_>,
    judge: Option<&dyn ChatModel>,
    embedder: Option<&dyn Embedder>,
    repeat: u32,
    juror: usize,
) -> [u8; 32] {
    let mut key = Key(blake3::Hasher::new());
    key.number(u64::from(FORMAT));
    key.bytes(&check.cache_head);
    key.bytes(filled_with);
    key.text(judge.map_or("", ChatModel::identity));
    key.text(embedder.map_or("", Embedder::identity));
    key.number(u64::from(repeat));
    key.number(juror as u64);
    for field in check.info.reads.iter() {
        key.number(field as u64);
        // An empty list is not a missing one.
        key.number(u64::from(row.raw(field).is_some()));
        key.field(row, field);
    }
    *key.0.finalize().as_bytes()
}

/// Parts with their lengths, so that no two lists of parts are one.
struct Key(blake3::Hasher);

impl Key {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn content(&mut self, content: Option<Content<'_>>) {
        match content {
            None => self.number(0),
            Some(Content::Text(text)) => {
                self.number(1);
                self.text(text);
            }
            Some(Content::Json { source, .. }) => {
                self.number(2);
                self.text(source);
            }
            Some(Content::Parts { source, .. }) => {
                self.number(3);
                self.text(source);
            }
        }
    }

    /// A field as evaluators see it, after mappings and parameters of its name.
    fn field(&mut self, row: &Row<'_>, field: Field) {
        match field {
            Field::Query => self.content(row.query()),
            Field::Output => self.content(row.output()),
            Field::Reference => self.content(row.reference()),
            Field::Candidates => {
                self.number(row.candidates().len() as u64);
                row.candidates()
                    .iter()
                    .for_each(|&content| self.content(Some(content)));
            }
            Field::Contexts => {
                self.number(row.contexts().len() as u64);
                for chunk in row.contexts() {
                    self.text(chunk.document);
                    self.text(chunk.id.unwrap_or_default());
                }
            }
            Field::Messages => {
                self.number(row.messages().len() as u64);
                for turn in row.messages() {
                    self.text(turn.role.as_str());
                    self.content(turn.content);
                    self.text(turn.tool_calls.unwrap_or_default());
                    self.text(turn.tool_call_id.unwrap_or_default());
                    self.text(turn.name.unwrap_or_default());
                }
                self.text(row.raw(field).map_or("", crate::record::Raw::source));
            }
            _ => self.text(row.raw(field).map_or("", crate::record::Raw::source)),
        }
    }
}

/// A scored cell with its words, as it is kept.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    natural: Option<Verdict>,
    #[serde(default)]
    flags: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<Evidence>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raw: Option<serde_json::Value>,
}

/// A scored outcome as bytes; `None` for errors and skips, which are not kept.
pub fn write(outcome: &Outcome) -> Option<Vec<u8>> {
    let Cell::Scored {
        score,
        natural,
        flags,
    } = outcome.cell
    else {
        return None;
    };
    let Explanation {
        label,
        reason,
        evidence,
        raw,
    } = &outcome.explanation;
    let stored = Stored {
        score: score.map(Score::get),
        natural,
        flags,
        label: label.as_deref().map(str::to_owned),
        reason: reason.as_deref().map(str::to_owned),
        evidence: evidence.clone(),
        raw: raw.clone(),
    };
    serde_json::to_vec(&stored).ok()
}

/// What [`write`] wrote; `None` for anything else, which is then judged anew.
pub fn read(bytes: &[u8]) -> Option<Outcome> {
    let stored: Stored = serde_json::from_slice(bytes).ok()?;
    let score = match stored.score {
        Some(score) => Some(Score::new(score)?),
        None => None,
    };
    Some(Outcome::new(
        Cell::Scored {
            score,
            natural: stored.natural,
            flags: stored.flags,
        },
        Explanation {
            label: stored.label.map(Into::into),
            reason: stored.reason.map(Into::into),
            evidence: stored.evidence,
            raw: stored.raw,
        },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Code;

    #[test]
    fn what_is_kept_comes_back_and_errors_are_not_kept() {
        let outcome = Outcome::new(
            Cell::Scored {
                score: Score::new(0.75),
                natural: Some(Verdict::Partial),
                flags: 1 << 9,
            },
            Explanation {
                label: Some("Y".into()),
                reason: Some("because".into()),
                evidence: vec![Evidence::new("statement").set("text", "x")],
                raw: Some(serde_json::json!({"a": 1})),
            },
        );
        assert_eq!(read(&write(&outcome).unwrap()), Some(outcome));
        assert_eq!(write(&Outcome::errored(Code::JudgeUnreadable)), None);
        assert_eq!(read(b"{\"score\": \"x\"}"), None);
    }
}
