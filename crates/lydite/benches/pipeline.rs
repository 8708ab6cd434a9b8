//! The steps between a line and its result, each alone and all together, on the load of
//! `cargo xtask bench` (five checks, records of about 600 bytes).

#![expect(clippy::expect_used, reason = "a bench may stop")]

use std::collections::BTreeMap;

use bumpalo::Bump;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use lydite::check::{Bench, Judged};
use lydite::decode::{Decoder, Mapping, Survey, Wanted};
use lydite::evaluator::Registry;
use lydite::record::{Field, FieldSet};
use lydite::results::{RecordHead, WideWriter};
use lydite::suite::Suite;

fn main() {
    divan::main();
}

const SUITE: &str = include_str!("../../../xtask/bench/five.yaml");

/// Half equals its reference but for case and punctuation.
const LINE: &str = r#"{"id": 4711, "query": "question 4711", "output": "{\"id\": 4711, \"answer\": \"alpha river mountain cloud paper silver window garden market bridge omega psi chi phi upsilon tau sigma rho pi omicron xi nu mu lambda kappa iota theta eta zeta epsilon\", \"ok\": true}", "reference": "{\"id\": 4711, \"answer\": \"alpha River, mountain cloud paper silver window garden market Bridge, omega psi chi phi upsilon tau sigma rho pi omicron xi nu mu lambda kappa iota theta eta zeta epsilon\", \"ok\": true} ", "contexts": [], "contains": "CLOUD"}"#;

const FEW: [Field; 3] = [Field::Id, Field::Output, Field::Reference];

/// One line to a row of three fields, or of all.
#[divan::bench(args = [FEW.len(), Field::COUNT])]
fn decode(bencher: Bencher<'_, '_>, fields: usize) {
    let fields = if fields == FEW.len() {
        FieldSet::of(&FEW)
    } else {
        FieldSet::of(&Field::ALL)
    };
    let mapping = mapping(&Wanted {
        fields,
        keys: Vec::new(),
    });
    let mut decoder = Decoder::new(&mapping);
    let mut arena = Bump::new();
    bencher.counter(BytesCount::of_str(LINE)).bench_local(|| {
        arena.reset();
        let slots = decoder
            .decode(black_box(LINE), &arena)
            .expect("the line is valid");
        black_box(slots.output.is_some())
    });
}

/// One row by five checks, without reasons and with them.
#[divan::bench(args = [false, true])]
fn five_checks(bencher: Bencher<'_, '_>, explain: bool) {
    let suite = suite();
    let mapping = mapping(&suite.wanted);
    let (kept, mut arena) = (Bump::new(), Bump::new());
    let slots = Decoder::new(&mapping)
        .decode(LINE, &kept)
        .expect("the line is valid");
    let mut bench = Bench::default();
    bencher
        .counter(ItemsCount::new(suite.checks.len()))
        .bench_local(|| {
            arena.reset();
            for check in &suite.checks {
                black_box(check.judge(black_box(slots), &arena, &mut bench, explain));
            }
        });
}

/// Five cells to one line.
#[divan::bench]
fn wide_line(bencher: Bencher<'_, '_>) {
    let suite = suite();
    let mapping = mapping(&suite.wanted);
    let arena = Bump::new();
    let slots = Decoder::new(&mapping)
        .decode(LINE, &arena)
        .expect("the line is valid");
    let mut bench = Bench::default();
    let cells: Vec<Judged> = suite
        .checks
        .iter()
        .map(|check| check.judge(slots, &arena, &mut bench, false))
        .collect();
    let writer = WideWriter::new(names(&suite));
    let mut out = Vec::new();
    bencher.bench_local(|| {
        out.clear();
        writer.write(&mut out, &HEAD, names(&suite).zip(black_box(&cells)));
        black_box(out.len())
    });
}

/// A line to its wide result line: decoded, judged by five checks, written.
#[divan::bench]
fn line_to_line(bencher: Bencher<'_, '_>) {
    let suite = suite();
    let mapping = mapping(&suite.wanted);
    let mut decoder = Decoder::new(&mapping);
    let mut bench = Bench::default();
    let mut arena = Bump::new();
    let writer = WideWriter::new(names(&suite));
    let (mut out, mut cells) = (Vec::new(), Vec::new());
    bencher.counter(BytesCount::of_str(LINE)).bench_local(|| {
        arena.reset();
        out.clear();
        cells.clear();
        let slots = decoder
            .decode(black_box(LINE), &arena)
            .expect("the line is valid");
        cells.extend(
            suite
                .checks
                .iter()
                .map(|check| check.judge(slots, &arena, &mut bench, false)),
        );
        writer.write(&mut out, &HEAD, names(&suite).zip(&cells));
        black_box(out.len())
    });
}

const HEAD: RecordHead<'_> = RecordHead {
    id: "4711",
    model: None,
    trial: 1,
    tags: &[],
    cluster: None,
    file: 0,
    line: 1,
};

fn names(suite: &Suite) -> impl Iterator<Item = &str> {
    suite.checks.iter().map(|check| check.name.as_str())
}

fn suite() -> Suite {
    Suite::parse(SUITE, "five.yaml", &Registry::builtin()).expect("`cargo xtask bench` runs it")
}

fn mapping(wanted: &Wanted) -> Mapping {
    let mut survey = Survey::default();
    survey.add(LINE);
    Mapping::new(&survey, &BTreeMap::new(), wanted, true).expect("keys are canonical")
}
