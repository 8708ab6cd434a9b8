//! Talks to models: providers over HTTP, programs and files; with caches, limits, retries, a meter.
//!
//! A call passes the layers from top to bottom, each in a file of its own, and each a model itself:
//!
//! record of calls → reply cache → equal calls under way → meter and budget → limits → retry → wire

mod attempt;
mod environment;
mod http;
pub mod prices;
mod provider;
mod secret;
pub mod tokens;

pub use attempt::{Attempt, AttemptError, ChatWire, EmbedWire, ModerateWire};
