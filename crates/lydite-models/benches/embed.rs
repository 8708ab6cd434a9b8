//! Times of the embedder that runs in this process:
//! `LYDITE_MODEL_DIR=FOLDER cargo bench -p lydite-models --bench embed`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a bench may fail by panicking, and says why it is left out"
)]

use std::env;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use lydite_models::local::MiniLm;

fn main() {
    if env::var_os("LYDITE_MODEL_DIR").is_none() {
        eprintln!("left out: LYDITE_MODEL_DIR is not set");
        return;
    }
    divan::main();
}

#[divan::bench(sample_count = 10)]
fn load() -> MiniLm {
    model()
}

/// One text of so many words, by one thread.
#[divan::bench(args = [1, 20, 180], sample_count = 20)]
fn one_text(bencher: Bencher<'_, '_>, words: usize) {
    let model = model().with_threads(NonZeroUsize::MIN);
    let text = sentence(1, words);
    bencher.bench(|| model.embed(black_box(&[&text])).unwrap());
}

/// 100 texts of 15 to 21 words, some 20 pieces each, by so many threads.
#[divan::bench(args = [1, 2], sample_count = 5)]
fn sentences(bencher: Bencher<'_, '_>, threads: usize) {
    many(bencher, threads, |index| sentence(index, 15 + index % 7));
}

/// 100 texts of 4 to 151 words.
#[divan::bench(args = [1, 2], sample_count = 5)]
fn mixed(bencher: Bencher<'_, '_>, threads: usize) {
    many(bencher, threads, |index| {
        sentence(index, 4 + index * 37 % 148)
    });
}

fn many(bencher: Bencher<'_, '_>, threads: usize, text: impl Fn(usize) -> String) {
    let model = model().with_threads(NonZeroUsize::new(threads).unwrap());
    let texts: Vec<String> = (0..100).map(text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let bencher = bencher.counter(ItemsCount::new(texts.len()));
    bencher.bench(|| model.embed(black_box(&texts)).unwrap());
}

fn sentence(seed: usize, words: usize) -> String {
    const WORDS: [&str; 24] = [
        "the",
        "parcel",
        "of",
        "a",
        "customer",
        "was",
        "delivered",
        "late",
        "and",
        "refund",
        "in",
        "seven",
        "days",
        "to",
        "river",
        "engineers",
        "answer",
        "question",
        "is",
        "faithful",
        "growth",
        "percent",
        "because",
        "misunderstanding",
    ];
    let mut random = fastrand::Rng::with_seed(seed as u64);
    let words: Vec<&str> = (0..words).filter_map(|_| random.choice(WORDS)).collect();
    words.join(" ") + "."
}

fn model() -> MiniLm {
    let folder = PathBuf::from(env::var_os("LYDITE_MODEL_DIR").unwrap());
    let own = folder.join("all-MiniLM-L6-v2");
    MiniLm::load(if own.is_dir() { &own } else { &folder }).unwrap()
}
