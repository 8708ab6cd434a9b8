//! The cases of local methods, `crates/lydite/tests/cases/local`, and the examples of their pages, by the real embedder.
//!
//! `LYDITE_MODEL_DIR` says where its files lie. Without it the cases are left out, save in CI, which must have them.

#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

#[path = "../../lydite/tests/cases/mod.rs"]
mod cases;

use std::sync::Arc;

use lydite::check::CheckSpec;
use lydite::evaluator::{Entry, Registry};
use lydite::model::{ModelHost, ModelSession, SessionOptions};
use lydite::node::Node;
use lydite::results::CheckResult;
use lydite::single::{self, SingleError};
use lydite_models::Host;
use serde_json::Value;

/// A session whose embedder is the built-in one.
fn session() -> Option<Arc<dyn ModelSession>> {
    let Some(model_dir) = std::env::var_os("LYDITE_MODEL_DIR") else {
        assert!(
            std::env::var_os("CI").is_none(),
            "LYDITE_MODEL_DIR must name the folder of the embedder's files"
        );
        eprintln!("left out: LYDITE_MODEL_DIR is not set");
        return None;
    };
    let options = SessionOptions {
        no_cache: true,
        offline: true,
        model_dir: Some(model_dir.into()),
        ..SessionOptions::default()
    };
    Some(Host::new().cache_dir(None).open(&options).unwrap())
}

fn judge(
    entry: &Entry,
    params: &Node,
    record: &str,
    session: &dyn ModelSession,
) -> Result<CheckResult<'static>, SingleError> {
    let spec = CheckSpec::from_flat_asking_params(entry.info.id, params)?;
    assert!(
        spec.asks.local(entry.info).is_some(),
        "{} has no local method",
        entry.info.id
    );
    single::judge_asking(entry, spec, record, session)
}

#[test]
fn local_cases_hold() {
    let Some(session) = session() else { return };
    let registry = Registry::builtin();
    let failures: Vec<String> = cases::local(&registry)
        .iter()
        .filter_map(|case| {
            let got = judge(case.entry, &case.params, &case.record, &*session);
            case.failure(cases::SCRIPTED, &got)
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn examples_of_local_methods_hold() {
    let Some(session) = session() else { return };
    for entry in Registry::builtin().entries() {
        for example in entry.info.locals.iter().flat_map(|local| local.examples) {
            let params = Node::parse(example.params).unwrap();
            let expect: Value = serde_json::from_str(example.expect).unwrap();
            let got = judge(entry, &params, example.record, &*session);
            if let Some(wrong) = cases::mismatch(&got, &expect, 5e-4) {
                panic!("{} / {}: {wrong}", entry.info.id, example.title);
            }
        }
    }
}
