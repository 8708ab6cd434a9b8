//! Models that run in this process.

pub mod supply;
