//! Times of the string distances and of text normalisation: `cargo bench -p lydite --bench distances`.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

use divan::{Bencher, black_box};
use lydite::text::distance::{Distance, DistanceScratch};
use lydite::text::find::Finder;
use lydite::text::normalize::{Normalization, Normalizer};

fn main() {
    divan::main();
}

const SENTENCE: &str = "The refund takes five working days once the parcel has reached us; \
    we will write to you as soon as it has been checked, and the money goes back to the card \
    you paid with, never to another one. Thanks for asking!";

/// `SENTENCE` with this many edits spread over it.
fn edited(edits: usize) -> String {
    let mut text: Vec<char> = SENTENCE.chars().collect();
    for edit in 0..edits {
        let at = (2 * edit + 1) * text.len() / (2 * edits);
        match edit % 3 {
            0 => text[at] = '#',
            1 => drop(text.remove(at)),
            _ => text.insert(at, '#'),
        }
    }
    text.into_iter().collect()
}

const OTHER: &str = "Nobody at our desk could find an order under that number, so please look \
    again at the mail which confirmed it: it begins with two letters, and six digits follow. If \
    it is lost, your name and address will do.";

#[divan::bench(args = [1, 2, 4, 8, 16, 24, 48])]
fn levenshtein_edits(bencher: Bencher<'_, '_>, edits: usize) {
    let other = edited(edits);
    let mut scratch = DistanceScratch::default();
    bencher.bench_local(|| {
        Distance::Levenshtein.normalized(black_box(SENTENCE), black_box(&other), &mut scratch)
    });
}

#[divan::bench(args = [4, 8])]
fn levenshtein_rapidfuzz(bencher: Bencher<'_, '_>, edits: usize) {
    let other = edited(edits);
    bencher.bench_local(|| {
        rapidfuzz::distance::levenshtein::normalized_distance(
            black_box(SENTENCE).bytes(),
            black_box(&other).bytes(),
        )
    });
}

#[divan::bench(args = [20, 200, 2000])]
fn levenshtein_unlike(bencher: Bencher<'_, '_>, length: usize) {
    let a: String = SENTENCE.chars().cycle().take(length).collect();
    let b: String = OTHER.chars().cycle().take(length).collect();
    let mut scratch = DistanceScratch::default();
    bencher.bench_local(|| {
        Distance::Levenshtein.normalized(black_box(&a), black_box(&b), &mut scratch)
    });
}

#[divan::bench(args = [10, 100, 400])]
fn levenshtein_long(bencher: Bencher<'_, '_>, edits: usize) {
    let a = [OTHER, SENTENCE].repeat(10).concat();
    let mut b: Vec<char> = a.chars().collect();
    for edit in 0..edits {
        let at = (2 * edit + 1) * b.len() / (2 * edits);
        b[at] = '#';
    }
    let b: String = b.into_iter().collect();
    let mut scratch = DistanceScratch::default();
    bencher.bench_local(|| {
        Distance::Levenshtein.normalized(black_box(&a), black_box(&b), &mut scratch)
    });
}

#[divan::bench]
fn levenshtein_cyrillic(bencher: Bencher<'_, '_>) {
    let a = "Возврат занимает пять рабочих дней с тех пор, как посылка дошла до нас.".repeat(3);
    let b = a.replace("пять", "шесть").replace("дошла", "пришла");
    let mut scratch = DistanceScratch::default();
    bencher.bench_local(|| {
        Distance::Levenshtein.normalized(black_box(&a), black_box(&b), &mut scratch)
    });
}

#[divan::bench(args = Distance::ALL.map(|d| format!("{d:?}")))]
fn all_at_8_edits(bencher: Bencher<'_, '_>, name: &str) {
    let distance = Distance::ALL
        .into_iter()
        .find(|d| format!("{d:?}") == name)
        .unwrap();
    let other = edited(8);
    let mut scratch = DistanceScratch::default();
    bencher
        .bench_local(|| distance.normalized(black_box(SENTENCE), black_box(&other), &mut scratch));
}

fn agnostic() -> Normalizer {
    Normalizer::new(Normalization {
        fold_case: true,
        drop_punctuation: true,
        drop_whitespace: true,
    })
}

#[divan::bench]
fn normalize_ascii(bencher: Bencher<'_, '_>) {
    let (normalizer, text, mut out) = (agnostic(), SENTENCE.repeat(10), String::new());
    bencher
        .counter(divan::counter::BytesCount::of_str(&text))
        .bench_local(|| normalizer.normalize_into(black_box(&text), &mut out));
}

#[divan::bench]
fn normalize_mixed(bencher: Bencher<'_, '_>) {
    let (normalizer, mut out) = (agnostic(), String::new());
    let text = SENTENCE.replace(';', " — “é”").repeat(10);
    bencher
        .counter(divan::counter::BytesCount::of_str(&text))
        .bench_local(|| normalizer.normalize_into(black_box(&text), &mut out));
}

#[divan::bench]
fn equal_ascii(bencher: Bencher<'_, '_>) {
    let normalizer = agnostic();
    let (mut a, mut b) = (String::new(), String::new());
    let other = SENTENCE.replace(',', "").to_uppercase();
    bencher.bench_local(|| normalizer.eq(black_box(SENTENCE), black_box(&other), &mut a, &mut b));
}

#[divan::bench]
fn contains_folded(bencher: Bencher<'_, '_>) {
    let fold = Normalization {
        fold_case: true,
        drop_punctuation: false,
        drop_whitespace: false,
    };
    let finder = Finder::normalized("THANKS FOR", Normalizer::new(fold));
    let mut scratch = String::new();
    bencher.bench_local(|| finder.contains(black_box(SENTENCE), &mut scratch));
}

#[divan::bench]
fn contains_exact(bencher: Bencher<'_, '_>) {
    let finder = Finder::exact("Thanks for");
    let mut scratch = String::new();
    bencher.bench_local(|| finder.contains(black_box(SENTENCE), &mut scratch));
}
