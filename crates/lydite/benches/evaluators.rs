//! What each evaluator costs a record, over the whole list: scoring its first example, scoring a
//! record of about 30 words, and putting that score into words.
//!
//! One evaluator: `cargo bench -p lydite --bench evaluators -- string_distance`.

#![expect(clippy::expect_used, reason = "a bench may stop")]

use std::collections::BTreeMap;

use bumpalo::Bump;
use divan::{Bencher, black_box};
use lydite::check::{Bench, Check, CheckSpec};
use lydite::decode::{Decoder, Mapping, Survey, Wanted};
use lydite::evaluator::{Entry, Registry};
use lydite::node::Node;
use lydite::record::Field;

fn main() {
    divan::main();
}

/// An answer as support assistants give it, with the fields that some evaluator reads.
const SENTENCES: &str = r#"{
    "query": "I sent my parcel back on Monday. When do I get my money, and on which account?",
    "messages": [{"role": "system", "content": "You answer for a shop. Refunds: five working days."}, {"role": "user", "content": "When do I get my money?"}],
    "contexts": ["Refunds are paid within five working days after the parcel has reached us.", "Refunds go to the account that paid."],
    "output": "Dear Ms Okafor, the refund takes five working days once the parcel has reached us (order 2026-11-30); the money goes back to the card you paid with, never to another one.",
    "reference": "The refund takes five working days after the parcel has reached us; the money goes back to the card that you paid with, never to another one.",
    "candidates": ["The refund takes five working days once the parcel has reached us; the money goes to the card you paid with.", "Your refund takes about a week after the parcel has reached us. The money goes back to your card."]
}"#;

/// The same for evaluators that read JSON.
const JSON: &str = r#"{
    "output": "{\"name\": \"Ada Okafor\", \"order\": 4711, \"items\": [{\"sku\": \"bike-7\", \"count\": 1, \"price\": 89.5}, {\"sku\": \"lock-2\", \"count\": 2, \"price\": 19}], \"refund\": {\"days\": 5, \"to\": \"the card that paid\", \"note\": \"once the parcel has reached us\"}}",
    "reference": {"name": "Ada Okafor", "order": 4711, "items": [{"sku": "bike-7", "count": 1, "price": 89.5}, {"sku": "lock-2", "count": 2, "price": 19}], "refund": {"days": 5, "to": "the card you paid with", "note": "once the parcel reached us"}}
}"#;

/// Each evaluator's first example.
#[divan::bench(args = ids())]
fn first_example(bencher: Bencher<'_, '_>, id: &str) {
    let registry = Registry::builtin();
    let entry = registry.get(id).expect("it is of the list");
    let example = entry.info.examples.first().expect("each has some");
    bench(bencher, entry, example.record, false);
}

#[divan::bench(args = ids())]
fn thirty_words(bencher: Bencher<'_, '_>, id: &str) {
    let registry = Registry::builtin();
    bench(
        bencher,
        registry.get(id).expect("it is of the list"),
        realistic(id),
        false,
    );
}

#[divan::bench(args = ids())]
fn thirty_words_with_reason(bencher: Bencher<'_, '_>, id: &str) {
    let registry = Registry::builtin();
    bench(
        bencher,
        registry.get(id).expect("it is of the list"),
        realistic(id),
        true,
    );
}

fn ids() -> Vec<&'static str> {
    Registry::builtin()
        .entries()
        .iter()
        .map(|entry| entry.info.id)
        .collect()
}

fn realistic(id: &str) -> &'static str {
    if id.starts_with("json") {
        JSON
    } else {
        SENTENCES
    }
}

/// Judges the record again and again with the parameters of the first example. What the record lacks
/// is measured as the error that it is.
fn bench(bencher: Bencher<'_, '_>, entry: &Entry, record: &str, explain: bool) {
    let params = entry
        .info
        .examples
        .first()
        .map_or("{}", |example| example.params);
    let params = Node::parse(params).expect("a test reads every example");
    let spec =
        CheckSpec::from_flat_params(entry.info.id, &params).expect("a test reads every example");
    let mut wanted = Wanted::default();
    let check = Check::compile(entry, spec, &mut wanted).expect("a test compiles every example");
    let mut survey = Survey::default();
    survey.add(record);
    let needs_reference = check.needs.contains(Field::Reference);
    let mapping = Mapping::new(&survey, &BTreeMap::new(), &wanted, needs_reference)
        .expect("keys are canonical");
    let arena = Bump::new();
    let slots = Decoder::new(&mapping)
        .decode(record, &arena)
        .expect("the record is valid");
    let mut desk = Bench::default();
    // What a check derives from a row, its own reference say, is given back with the block's arena.
    let mut derived = Bump::new();
    bencher.bench_local(|| {
        derived.reset();
        black_box(check.judge(black_box(slots), &derived, &mut desk, explain)).verdict
    });
}
