//! Talks to models: providers over HTTP, programs and files; with caches, limits, retries, a meter.
//!
//! A call passes the layers from top to bottom, each in a file of its own, and each a model itself:
//!
//! record of calls → reply cache → equal calls under way → meter and budget → limits → retry → wire
//!
//! A wire is made of a spec by [`chat_wire`], [`embed_wire`] or [`moderate_wire`] and speaks one protocol,
//! each in a file of its own: `openai`, `anthropic`, `gemini`, `embeddings`, `moderation`, `command`,
//! `scripted`. `chat` has what those over HTTP share, `provider` what is known of each provider.

mod anthropic;
mod attempt;
mod chat;
mod command;
mod embeddings;
mod environment;
mod exchange;
mod gemini;
mod http;
mod identity;
mod learned;
mod moderation;
mod openai;
pub mod prices;
mod provider;
mod refusal;
mod schema;
mod scripted;
mod secret;
pub mod tokens;
mod wires;

#[cfg(test)]
mod tests;

pub use attempt::{Attempt, AttemptError, ChatWire, EmbedWire, ModerateWire};
pub use wires::{chat_wire, embed_wire, moderate_wire};
