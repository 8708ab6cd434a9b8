//! A mock of LLM providers, to test what asks them: OpenAI (and what speaks like it, Azure among them), Anthropic and
//! Gemini, with faults that are decided by a seed.
//!
//! ```
//! use lydite_mock_llm::{Config, Faults, MockServer};
//!
//! let server = MockServer::start(Config {
//!     faults: Faults { rate_limited: 0.1, ..Faults::default() },
//!     ..Config::default()
//! })?;
//! println!("set the base URL to {}/v1", server.url());
//! assert_eq!(server.stats().requests, 0);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The wire shapes are written from the providers' public documentation, not recorded. What the mock does is described
//! in `docs/mock-llm.md`; no key's value is ever kept, shown or logged.

mod admin;
mod app;
mod body;
mod chat;
mod config;
mod embedding;
mod fault;
mod instance;
mod logprobs;
mod moderation;
mod rules;
mod server;
mod service;
mod stats;
mod tls;
mod wire;

pub use app::Seen;
pub use config::{ApiKey, Config, ConfigError, Faults, Replies, parse_share};
pub use rules::{Rule, parse_rules};
pub use server::{Listen, MockServer};
pub use stats::Stats;
