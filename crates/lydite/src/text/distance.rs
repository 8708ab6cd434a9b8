//! Distances between two strings, over code points. 0 means equal, and "" equals "".
//!
//! Levenshtein and indel distances are ours, since they run on every record: the common ends are
//! taken off, then the cheapest of three exact methods finishes (see [`levenshtein`]). Nothing is
//! allocated once the [`DistanceScratch`] has grown. Strings are compared as they are; for canonical
//! equivalence pass them through [`nfc`](super::normalize::nfc) first.

use std::cmp::{max, min};

use rapidfuzz::distance::{jaro, jaro_winkler};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod bits;
mod damerau;
mod diagonals;
mod symbols;

use bits::BitScratch;
use damerau::DamerauScratch;
use diagonals::{DiagonalScratch, Diagonals};
use symbols::{Symbol, SymbolScratch, Symbols};

/// How the distance of two strings is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Distance {
    /// Insertions, deletions and substitutions; normalised by the longer length.
    Levenshtein,
    /// As Levenshtein, and a swap of neighbours is one edit, also where more is edited between them
    /// (the unrestricted distance); normalised by the longer length.
    DamerauLevenshtein,
    /// Positions that differ, the shorter string padded; normalised by the longer length.
    Hamming,
    /// Insertions and deletions only, |a| + |b| − 2·LCS; normalised by |a| + |b|.
    Indel,
    /// 1 − Jaro similarity; always in [0, 1].
    Jaro,
    /// 1 − Jaro-Winkler similarity: a Jaro similarity above 0.7 gains 0.1 of what is missing to 1 for
    /// each of up to four equal first characters; always in [0, 1].
    #[default]
    JaroWinkler,
}

/// Buffers that are reused from call to call.
#[derive(Debug, Clone, Default)]
pub struct DistanceScratch {
    symbols: SymbolScratch,
    kernels: Kernels,
}

impl Distance {
    pub const ALL: [Self; 6] = [
        Self::Levenshtein,
        Self::DamerauLevenshtein,
        Self::Hamming,
        Self::Indel,
        Self::Jaro,
        Self::JaroWinkler,
    ];

    /// The number of edits; for the two Jaro distances the same as [`normalized`](Self::normalized).
    pub fn raw(self, a: &str, b: &str, scratch: &mut DistanceScratch) -> f64 {
        match self {
            Self::Levenshtein => levenshtein(a, b, scratch) as f64,
            Self::DamerauLevenshtein => damerau_levenshtein(a, b, scratch) as f64,
            Self::Hamming => hamming(a, b) as f64,
            Self::Indel => indel(a, b, scratch) as f64,
            Self::Jaro | Self::JaroWinkler => self.normalized(a, b, scratch),
        }
    }

    /// The distance in [0, 1].
    pub fn normalized(self, a: &str, b: &str, scratch: &mut DistanceScratch) -> f64 {
        if a == b {
            return 0.0;
        }
        let limit = match self {
            Self::Jaro => return jaro(a, b, scratch),
            Self::JaroWinkler => return jaro_winkler(a, b, scratch),
            Self::Indel => char_count(a) + char_count(b),
            Self::Levenshtein | Self::DamerauLevenshtein | Self::Hamming => {
                max(char_count(a), char_count(b))
            }
        };
        self.raw(a, b, scratch) / limit as f64
    }
}

/// Levenshtein distance.
///
/// Few edits are found along the diagonals of the edit matrix (Ukkonen 1985; Landau and Vishkin
/// 1989), up to 31 by a bit-parallel band in one word, any number by bit-parallel columns (Myers
/// 1999, both as in Hyyrö 2003). How far the diagonals come with the first edits tells which is
/// cheapest.
pub fn levenshtein(a: &str, b: &str, scratch: &mut DistanceScratch) -> usize {
    let DistanceScratch { symbols, kernels } = scratch;
    match symbols.read_apart(a, b) {
        Symbols::Narrow(a, b) => levenshtein_of(a, b, kernels),
        Symbols::Wide(a, b) => levenshtein_of(a, b, kernels),
    }
}

/// Unrestricted Damerau-Levenshtein distance (Lowrance and Wagner 1975).
pub fn damerau_levenshtein(a: &str, b: &str, scratch: &mut DistanceScratch) -> usize {
    let DistanceScratch { symbols, kernels } = scratch;
    match symbols.read_apart(a, b) {
        Symbols::Narrow(a, b) => damerau_of(a, b, kernels),
        Symbols::Wide(a, b) => damerau_of(a, b, kernels),
    }
}

/// Hamming distance, the shorter string padded with what equals nothing.
pub fn hamming(a: &str, b: &str) -> usize {
    if a.is_ascii() && b.is_ascii() {
        return differing_bytes(a.as_bytes(), b.as_bytes()) + a.len().abs_diff(b.len());
    }
    let (mut rest_a, mut rest_b) = (a.chars(), b.chars());
    let mut differing = 0;
    loop {
        match (rest_a.next(), rest_b.next()) {
            (None, None) => return differing,
            (x, y) => differing += usize::from(x != y),
        }
    }
}

/// Indel distance: |a| + |b| − 2·LCS(a, b), the LCS bit-parallel (Hyyrö 2004).
pub fn indel(a: &str, b: &str, scratch: &mut DistanceScratch) -> usize {
    let DistanceScratch { symbols, kernels } = scratch;
    match symbols.read_apart(a, b) {
        Symbols::Narrow(a, b) => indel_of(a, b, kernels),
        Symbols::Wide(a, b) => indel_of(a, b, kernels),
    }
}

#[derive(Debug, Clone, Default)]
struct Kernels {
    bits: BitScratch,
    diagonals: DiagonalScratch,
    damerau: DamerauScratch,
}

fn jaro(a: &str, b: &str, scratch: &mut DistanceScratch) -> f64 {
    match scratch.symbols.read_whole(a, b) {
        Symbols::Narrow(a, b) => jaro::distance(a.iter().copied(), b.iter().copied()),
        Symbols::Wide(a, b) => jaro::distance(a.iter().copied(), b.iter().copied()),
    }
}

fn jaro_winkler(a: &str, b: &str, scratch: &mut DistanceScratch) -> f64 {
    match scratch.symbols.read_whole(a, b) {
        Symbols::Narrow(a, b) => jaro_winkler::distance(a.iter().copied(), b.iter().copied()),
        Symbols::Wide(a, b) => jaro_winkler::distance(a.iter().copied(), b.iter().copied()),
    }
}

/// Levenshtein distance of strings whose first symbols differ, and whose last ones do.
fn levenshtein_of<S: Symbol>(a: &[S], b: &[S], kernels: &mut Kernels) -> usize {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.is_empty() {
        return long.len();
    }
    let costs = Costs {
        short: short.len(),
        long: long.len(),
    };
    let mut band_open = true;
    let mut least = long.len() - short.len();
    let mut stop = least + costs.first_stop();
    if costs.cheapest(least, band_open) != Method::Columns {
        let mut diagonals = Diagonals::new(short, long, stop, &mut kernels.diagonals);
        loop {
            if let Some(distance) = diagonals.advance(stop) {
                return distance;
            }
            least = max(stop + 1, diagonals.projected());
            match costs.cheapest(least, band_open) {
                Method::Diagonals => stop *= 2,
                Method::Band => {
                    if let Some(distance) = bits::banded(long, short, &mut kernels.bits) {
                        return distance;
                    }
                    band_open = false;
                }
                Method::Columns => break,
            }
        }
    }
    bits::levenshtein(short, long, &mut kernels.bits)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Diagonals,
    Band,
    Columns,
}

/// What each method costs for strings of these lengths, in tenths of a nanosecond as measured by
/// `benches/distances.rs`; only the ratios matter.
struct Costs {
    short: usize,
    long: usize,
}

impl Costs {
    /// Edits to look for along the diagonals before anything is known: as many as cost a quarter of
    /// the alternative.
    fn first_stop(&self) -> usize {
        max(2, (min(self.band(), self.columns()) / 4 / 20).isqrt())
    }

    /// The method that takes least time for about `edits` edits.
    fn cheapest(&self, edits: usize, band_open: bool) -> Method {
        let band = if band_open && edits <= bits::BAND {
            self.band()
        } else {
            usize::MAX
        };
        let diagonals = 20 * edits.saturating_mul(edits) + self.long;
        if diagonals < min(band, self.columns()) {
            Method::Diagonals
        } else if band < self.columns() {
            Method::Band
        } else {
            Method::Columns
        }
    }

    fn band(&self) -> usize {
        500 + 33 * self.short
    }

    fn columns(&self) -> usize {
        400 + self.long * (20 + 15 * self.short.div_ceil(64))
    }
}

fn damerau_of<S: Symbol>(a: &[S], b: &[S], kernels: &mut Kernels) -> usize {
    // No more than the Levenshtein distance, of which one swap saves at most half.
    let most = levenshtein_of(a, b, kernels);
    if most <= 1 {
        most
    } else {
        damerau::distance(a, b, most, &mut kernels.damerau)
    }
}

fn indel_of<S: Symbol>(a: &[S], b: &[S], kernels: &mut Kernels) -> usize {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    short.len() + long.len() - 2 * bits::common_subsequence(short, long, &mut kernels.bits)
}

/// Positions that differ, up to the shorter length. Counted in bytes, which the compiler turns into
/// vector code.
fn differing_bytes(a: &[u8], b: &[u8]) -> usize {
    let chunks = a
        .chunks(usize::from(u8::MAX))
        .zip(b.chunks(usize::from(u8::MAX)));
    chunks
        .map(|(a, b)| {
            let differing = a.iter().zip(b).fold(0_u8, |n, (x, y)| n + u8::from(x != y));
            usize::from(differing)
        })
        .sum()
}

fn char_count(s: &str) -> usize {
    if s.is_ascii() {
        s.len()
    } else {
        s.chars().count()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::TestCaseResult;

    use super::*;
    use crate::text::normalize::nfc;

    /// The rows of section "String distances" of langchain.md: the pair, the normalised distances
    /// (Damerau-Levenshtein, Levenshtein, Jaro, Jaro-Winkler, Hamming, indel), the raw counts
    /// (Damerau-Levenshtein, Levenshtein, Hamming, indel).
    type Row = (&'static str, &'static str, [f64; 6], [u32; 4]);
    const TABLE: [Row; 8] = [
        (
            "kitten",
            "sitting",
            [
                0.428_571, 0.428_571, 0.253_968, 0.253_968, 0.428_571, 0.384_615,
            ],
            [3, 3, 3, 5],
        ),
        (
            "ca",
            "abc",
            [0.666_667, 1.0, 1.0, 1.0, 1.0, 0.6],
            [2, 3, 3, 3],
        ),
        (
            "abcd",
            "abdc",
            [0.25, 0.5, 0.083_333, 0.066_667, 0.5, 0.25],
            [1, 2, 2, 2],
        ),
        (
            "MARTHA",
            "MARHTA",
            [
                0.166_667, 0.333_333, 0.055_556, 0.038_889, 0.333_333, 0.166_667,
            ],
            [1, 2, 2, 2],
        ),
        (
            "Mindy is the CTO",
            "Mindy is the CEO",
            [0.0625, 0.0625, 0.041_667, 0.025, 0.0625, 0.0625],
            [1, 1, 1, 2],
        ),
        ("", "abc", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [3, 3, 3, 3]),
        (
            "ab",
            "abcd",
            [0.5, 0.5, 0.166_667, 0.133_333, 0.5, 0.333_333],
            [2, 2, 2, 2],
        ),
        (
            "DIXON",
            "DICKSONX",
            [0.5, 0.5, 0.233_333, 0.186_667, 0.75, 0.384_615],
            [4, 4, 6, 5],
        ),
    ];

    #[test]
    fn agrees_with_the_table() {
        use Distance::{DamerauLevenshtein, Hamming, Indel, Jaro, JaroWinkler, Levenshtein};
        let mut scratch = DistanceScratch::default();
        for (a, b, normalized, raw) in TABLE {
            for (a, b) in [(a, b), (b, a)] {
                let order = [
                    DamerauLevenshtein,
                    Levenshtein,
                    Jaro,
                    JaroWinkler,
                    Hamming,
                    Indel,
                ];
                for (distance, expected) in order.into_iter().zip(normalized) {
                    let got = distance.normalized(a, b, &mut scratch);
                    assert!(
                        (got - expected).abs() < 1e-6,
                        "{distance:?} {a:?} {b:?}: {got}"
                    );
                }
                let order = [DamerauLevenshtein, Levenshtein, Hamming, Indel];
                for (distance, expected) in order.into_iter().zip(raw) {
                    assert_eq!(
                        distance.raw(a, b, &mut scratch),
                        f64::from(expected),
                        "{distance:?} {a:?} {b:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn counts_code_points() {
        let mut scratch = DistanceScratch::default();
        let rows = [
            ("café", "cafe\u{301}", 2),
            ("日本語", "日本国", 1),
            ("“quoted”", "\"quoted\"", 2),
            ("naïve approach", "naive approach", 1),
            ("é", "è", 1),
            ("aé", "bè", 2),
            ("😀a", "😁a", 1),
        ];
        for (a, b, expected) in rows {
            assert_eq!(levenshtein(a, b, &mut scratch), expected, "{a:?} {b:?}");
        }
        assert_eq!(
            levenshtein(&nfc("café"), &nfc("cafe\u{301}"), &mut scratch),
            0
        );
    }

    #[test]
    fn names_are_snake_case() {
        let names = Distance::ALL.map(|d| serde_json::to_string(&d).unwrap());
        let expected = [
            "levenshtein",
            "damerau_levenshtein",
            "hamming",
            "indel",
            "jaro",
            "jaro_winkler",
        ];
        assert_eq!(names, expected.map(|name| format!("{name:?}")));
        assert_eq!(Distance::default(), Distance::JaroWinkler);
    }

    /// Compares with the labels of string_metrics/open.jsonl below the folder LYDITE_DATA.
    #[test]
    fn agrees_with_measured_data() {
        let Some(folder) = std::env::var_os("LYDITE_DATA") else {
            return;
        };
        let path = std::path::Path::new(&folder).join("string_metrics/open.jsonl");
        let text = std::fs::read_to_string(path).unwrap();
        let mut scratch = DistanceScratch::default();
        let mut rows = 0;
        for line in text.lines() {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            if !row["id"].as_str().unwrap().starts_with("strsim/") {
                continue;
            }
            let (a, b) = (
                row["output"].as_str().unwrap(),
                row["reference"].as_str().unwrap(),
            );
            let label = |name: &str| row["label"][name].as_f64().unwrap();
            let mut check = |distance: Distance, raw: bool, expected: f64| {
                let got = if raw {
                    distance.raw(a, b, &mut scratch)
                } else {
                    distance.normalized(a, b, &mut scratch)
                };
                assert!(
                    (got - expected).abs() < 1e-9,
                    "{} {distance:?} {got} {expected}",
                    row["id"]
                );
            };
            check(Distance::Levenshtein, true, label("levenshtein"));
            check(
                Distance::Levenshtein,
                false,
                1.0 - label("levenshtein_normalized_similarity"),
            );
            check(
                Distance::DamerauLevenshtein,
                true,
                label("damerau_levenshtein_unrestricted"),
            );
            check(
                Distance::DamerauLevenshtein,
                false,
                1.0 - label("damerau_levenshtein_normalized_similarity"),
            );
            check(Distance::Indel, true, label("indel"));
            check(
                Distance::Indel,
                false,
                1.0 - label("indel_normalized_similarity"),
            );
            check(Distance::Hamming, true, label("hamming_padded"));
            check(Distance::Jaro, false, 1.0 - label("jaro"));
            check(
                Distance::JaroWinkler,
                false,
                1.0 - label("jaro_winkler_p0.1"),
            );
            rows += 1;
        }
        assert!(rows > 100, "{rows} rows");
    }

    /// Edit distance by the whole matrix, after the textbook.
    fn plain_levenshtein(a: &[char], b: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, y) in b.iter().enumerate() {
                let best = (diagonal + usize::from(x != y))
                    .min(row[j] + 1)
                    .min(row[j + 1] + 1);
                diagonal = std::mem::replace(&mut row[j + 1], best);
            }
        }
        row[b.len()]
    }

    fn plain_subsequence(a: &[char], b: &[char]) -> usize {
        let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
        for (i, x) in a.iter().enumerate() {
            for (j, y) in b.iter().enumerate() {
                rows[i + 1][j + 1] = if x == y {
                    rows[i][j] + 1
                } else {
                    rows[i][j + 1].max(rows[i + 1][j])
                };
            }
        }
        rows[a.len()][b.len()]
    }

    /// Applies random edits, each an operation at a relative place.
    fn edit(text: &str, edits: &[(u8, f64, char)]) -> String {
        let mut chars: Vec<char> = text.chars().collect();
        for &(operation, place, c) in edits {
            let at = (place * chars.len() as f64) as usize;
            match operation % 4 {
                0 => chars.insert(at, c),
                1 if at < chars.len() => drop(chars.remove(at)),
                2 if at + 1 < chars.len() => chars.swap(at, at + 1),
                _ if at < chars.len() => chars[at] = c,
                _ => {}
            }
        }
        chars.into_iter().collect()
    }

    /// Two strings that are unlike, or some edits apart; short and long, Latin and not.
    fn pairs() -> impl Strategy<Value = (String, String)> {
        let text = || {
            prop_oneof![
                "[ab]{0,12}",
                "[a-e ]{0,90}",
                "[a-z ]{100,600}",
                "[а-яё ]{0,150}",
                "[ぁ-ん一-龥]{0,400}",
                ".{0,20}",
            ]
        };
        let edits = prop::collection::vec((0u8..4, 0.0..1.0, prop::char::any()), 0..60);
        prop_oneof![
            (text(), text()),
            (text(), edits).prop_map(|(text, edits)| {
                let edited = edit(&text, &edits);
                (text, edited)
            }),
        ]
    }

    fn agree_with_plain(a: &str, b: &str) -> TestCaseResult {
        let (x, y): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
        let mut scratch = DistanceScratch::default();
        let plain = plain_levenshtein(&x, &y);
        prop_assert_eq!(levenshtein(a, b, &mut scratch), plain);
        let plain_indel = x.len() + y.len() - 2 * plain_subsequence(&x, &y);
        prop_assert_eq!(indel(a, b, &mut scratch), plain_indel);
        let plain_damerau = rapidfuzz::distance::damerau_levenshtein::distance(
            x.iter().copied(),
            y.iter().copied(),
        );
        prop_assert_eq!(damerau_levenshtein(a, b, &mut scratch), plain_damerau);
        // Each kernel on its own, whatever the lengths and the distance.
        if let Symbols::Narrow(a, b) = scratch.symbols.read_whole(a, b) {
            let kernels = &mut scratch.kernels;
            let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
            prop_assert_eq!(bits::levenshtein(short, long, &mut kernels.bits), plain);
            prop_assert_eq!(bits::levenshtein(long, short, &mut kernels.bits), plain);
            let expected = Some(plain).filter(|&d| d <= bits::BAND && d <= short.len());
            let band = bits::banded(long, short, &mut kernels.bits);
            prop_assert!(
                band == expected || band == Some(plain),
                "{:?} {:?}",
                band,
                expected
            );
            let mut diagonals = Diagonals::new(short, long, 1, &mut kernels.diagonals);
            if plain > 0 {
                prop_assert_eq!(diagonals.advance(plain - 1), None);
                prop_assert_eq!(diagonals.advance(plain), Some(plain));
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn all_methods_agree_with_the_plain_matrix((a, b) in pairs()) {
            agree_with_plain(&a, &b)?;
        }

        #[test]
        fn is_a_symmetric_share((a, b) in pairs()) {
            let mut scratch = DistanceScratch::default();
            for distance in Distance::ALL {
                let there = distance.normalized(&a, &b, &mut scratch);
                let back = distance.normalized(&b, &a, &mut scratch);
                prop_assert!((0.0..=1.0).contains(&there), "{:?} {}", distance, there);
                prop_assert_eq!(there == 0.0, a == b, "{:?}", distance);
                prop_assert!((there - back).abs() < 1e-12, "{:?} {} {}", distance, there, back);
                prop_assert_eq!(distance.raw(&a, &a, &mut scratch), 0.0);
            }
        }

        #[test]
        fn keeps_the_triangle_inequality((a, b) in pairs(), (c, _) in pairs()) {
            let mut scratch = DistanceScratch::default();
            for distance in [levenshtein, damerau_levenshtein, indel] {
                let whole = distance(&a, &c, &mut scratch);
                prop_assert!(whole <= distance(&a, &b, &mut scratch) + distance(&b, &c, &mut scratch));
            }
        }
    }
}
