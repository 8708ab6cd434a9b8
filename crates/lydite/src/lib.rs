//! Judges the outputs of LLM applications.

pub mod format;
pub mod json;
pub mod node;
pub mod stats;
pub mod text;
