//! The command line as its users meet it: exit code, stdout, stderr and files.
//!
//! One binary, so that it is linked once; a file for each part of the contract.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::format_push_string,
    reason = "a test fails by panicking; its helpers are no test functions"
)]

mod stage;
mod support;

mod cases;
mod exit_codes;
mod formats;
mod help;
mod ids;
mod inputs;
mod interrupted;
mod judging_budget;
mod judging_cache;
mod judging_faults;
mod judging_replay;
mod judging_resume;
mod local_models;
mod mock_llm;
mod models;
mod regrade;
mod runs;
mod schemas;
mod selection;
mod wrong_flags;
mod wrong_records;
mod wrong_suites;
