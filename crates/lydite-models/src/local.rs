//! Models that run in this process: nothing leaves the machine.

pub mod classify;
