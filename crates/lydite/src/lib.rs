//! Judges the outputs of LLM applications.

pub mod expr;
pub mod format;
pub mod json;
pub mod node;
pub mod path;
pub mod stats;
pub mod text;
