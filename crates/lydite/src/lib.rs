//! Judges the outputs of LLM applications.

pub mod check;
pub mod decode;
pub mod evaluator;
pub mod evaluators;
pub mod expr;
pub mod format;
pub mod json;
pub mod node;
pub mod outcome;
pub mod path;
pub mod record;
pub mod results;
pub mod single;
pub mod stats;
pub mod suite;
pub mod text;
