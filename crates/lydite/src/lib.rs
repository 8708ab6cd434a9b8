//! Judges the outputs of LLM applications.

pub mod check;
pub mod decode;
pub mod evaluator;
pub mod evaluators;
pub mod expr;
pub mod fold;
pub mod format;
pub mod identity;
pub mod job;
pub mod json;
pub mod judge;
pub mod model;
pub mod node;
pub mod outcome;
pub mod path;
pub mod record;
pub mod report;
pub mod results;
pub mod run_folder;
pub mod runner;
pub mod schemas;
pub mod single;
pub mod stats;
pub mod stored;
pub mod suite;
pub mod text;
