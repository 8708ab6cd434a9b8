//! Models that run in this process, without a key and without a network.
//!
//! [`MiniLm`] turns texts into vectors by a sentence encoder of BERT's shape. From its own folder upwards:
//! `kernel` multiplies packed matrices, `math` has the functions between them, `attention` and `bert` are the forward
//! pass, `weights` and `config` read the files, `pieces` cuts texts into word pieces, and `minilm` puts it together.
//!
//! [`classify`] runs users' own classifiers. [`supply`] is where the files of models come from, `embedder` the wire
//! to the session.

mod attention;
mod bert;
pub mod classify;
mod config;
pub(crate) mod embedder;
mod error;
mod kernel;
mod math;
mod minilm;
mod pack;
mod parallel;
mod pieces;
pub mod supply;
mod weights;

#[cfg(test)]
mod tests;

pub use error::LocalError;
pub use minilm::{MiniLm, TokenVectors};
