//! The mock as a client sees it, through real connections.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

mod access;
mod faults;
mod replies;
mod shapes;
mod stats;
mod support;
