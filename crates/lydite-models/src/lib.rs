//! Talks to models: providers over HTTP, programs and files; with caches, limits, retries, a meter.
//!
//! A call passes the layers from top to bottom, each in a file of its own:
//!
//! equal calls under way → record of calls → dry run, replay, offline → reply cache → meter and budget →
//! retry → limits → wire
//!
//! A wire is made of a spec by [`chat_wire`], [`embed_wire`] or [`moderate_wire`] and speaks one protocol,
//! each in a file of its own: `openai`, `anthropic`, `gemini`, `embeddings`, `moderation`, `command`,
//! `scripted`. `chat` has what those over HTTP share, `provider` what is known of each provider.

mod anthropic;
mod application;
mod attempt;
mod cache;
mod chat;
mod command;
mod dry;
mod embeddings;
mod environment;
mod exchange;
mod flight;
mod gemini;
mod http;
mod identity;
mod key;
mod layered_chat;
mod learned;
mod limit;
mod log;
mod meter;
mod moderation;
mod openai;
mod place;
pub mod prices;
mod provider;
mod providers;
mod refusal;
mod retry;
mod schema;
mod scripted;
mod secret;
mod session;
mod stack;
mod sync;
mod texts;
pub mod tokens;
mod verdicts;
mod warn;
mod wires;

#[cfg(test)]
mod tests;

pub use attempt::{Attempt, AttemptError, ChatWire, EmbedWire, ModerateWire};
pub use cache::{Cache, CacheError, CacheStats};
pub use place::cache_dir;
pub use providers::{Providers, Wires};
pub use session::Host;
pub use warn::Warn;
pub use wires::{chat_wire, embed_wire, moderate_wire};
