//! Talks to models: providers over HTTP, programs and files; with caches, limits, retries, a meter.
//!
//! A call passes the layers from top to bottom, each in a file of its own:
//!
//! equal calls under way → record of calls → dry run, replay, offline → reply cache → meter and budget →
//! retry → limits → wire

mod attempt;
mod cache;
mod chat;
mod dry;
mod flight;
mod key;
mod limit;
mod log;
mod meter;
mod place;
mod retry;
mod session;
mod stack;
mod sync;
mod texts;
mod warn;
mod wires;

pub use attempt::{Attempt, AttemptError, ChatWire, EmbedWire, ModerateWire};
pub use cache::{Cache, CacheError, CacheStats};
pub use place::cache_dir;
pub use session::Host;
pub use warn::Warn;
pub use wires::{Providers, Wires};
