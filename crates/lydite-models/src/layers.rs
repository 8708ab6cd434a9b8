//! What stands between a model's caller and its wire, one layer a file; `stack` has the order.

pub(crate) mod cache;
pub(crate) mod chat;
pub(crate) mod dry;
pub(crate) mod flight;
pub(crate) mod key;
pub(crate) mod limit;
pub(crate) mod log;
pub(crate) mod meter;
pub(crate) mod retry;
pub(crate) mod stack;
pub(crate) mod texts;
pub(crate) mod verdicts;
