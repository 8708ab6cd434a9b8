//! Talks to models: providers over HTTP, programs and files; with caches, limits, retries, a meter.
//!
//! - [`Host`] opens a [session](session) for a run, which makes each model once.
//! - A call passes the `layers`, one a file: equal calls under way → record of calls → dry run, replay, offline →
//!   reply cache → meter and budget → retry → limits → wire.
//! - [`local`] models run in this process.
//! - A wire is one protocol, one a file under `wires`: one attempt, no retries, no limits.

mod attempt;
mod layers;
pub mod local;
mod place;
mod providers;
mod session;
mod sync;
mod warn;
mod wires;

#[cfg(test)]
mod tests;

pub use attempt::{Attempt, AttemptError, ChatWire, EmbedWire, ModerateWire};
pub use layers::cache::{Cache, CacheError, CacheStats};
pub use place::cache_dir;
pub use providers::{Providers, Wires};
pub use session::Host;
pub use warn::Warn;
pub use wires::{chat_wire, embed_wire, moderate_wire, prices, tokens};
