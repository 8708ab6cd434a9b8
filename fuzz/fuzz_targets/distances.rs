//! Two texts: the distances as metrics and against plain definitions, normal forms, and searches.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lydite::text::distance::{
    Distance, DistanceScratch, damerau_levenshtein, hamming, indel, levenshtein,
};
use lydite::text::find::Finder;
use lydite::text::normalize::{Normalization, Normalizer};
use lydite_fuzz::two_texts;

/// Cells of the largest matrix that is filled plainly.
const LARGEST: usize = 1 << 13;

fuzz_target!(|data: &[u8]| {
    let Some((a, b)) = two_texts(data) else {
        return;
    };
    distances(a, b);
    for bits in 0..8 {
        normal_forms(
            a,
            b,
            Normalization {
                fold_case: bits & 1 != 0,
                drop_punctuation: bits & 2 != 0,
                drop_whitespace: bits & 4 != 0,
            },
        );
    }
    search(&Finder::exact(b), a, a, b);
});

fn distances(a: &str, b: &str) {
    let mut scratch = DistanceScratch::default();
    for distance in Distance::ALL {
        assert_eq!(distance.normalized(a, a, &mut scratch), 0.0, "{distance:?}");
        assert_eq!(distance.raw(a, a, &mut scratch), 0.0, "{distance:?}");
        for one_way in [
            distance.normalized(a, b, &mut scratch),
            distance.raw(a, b, &mut scratch),
        ] {
            assert!(
                one_way.is_finite() && one_way >= 0.0,
                "{distance:?}: {one_way}"
            );
            assert!(a == b || one_way > 0.0, "{distance:?} of unlike texts is 0");
        }
        let (there, back) = (
            distance.normalized(a, b, &mut scratch),
            distance.normalized(b, a, &mut scratch),
        );
        assert!(there <= 1.0, "{distance:?}: {there}");
        assert!(
            (there - back).abs() < 1e-12,
            "{distance:?}: {there} against {back}"
        );
    }
    let edits = levenshtein(a, b, &mut scratch);
    assert!(damerau_levenshtein(a, b, &mut scratch) <= edits);
    assert!(edits <= hamming(a, b) && edits <= indel(a, b, &mut scratch));
    let (left, right) = (a, b);
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() * b.len() <= LARGEST {
        assert_eq!(edits, plain(&a, &b, 1), "Levenshtein of {a:?} and {b:?}");
        assert_eq!(
            indel(left, right, &mut scratch),
            plain(&a, &b, 2),
            "indel of {a:?} and {b:?}"
        );
        assert_eq!(
            damerau_levenshtein(left, right, &mut scratch),
            strsim::damerau_levenshtein(left, right),
            "Damerau of {a:?} and {b:?}"
        );
    }
}

/// The edit matrix row by row, where a substitution costs this much.
fn plain(a: &[char], b: &[char], substitution: usize) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = corner + if x == y { 0 } else { substitution };
            corner = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

fn normal_forms(a: &str, b: &str, options: Normalization) {
    let normalizer = Normalizer::new(options);
    let (mut form_a, mut form_b, mut scratch, mut other) =
        (String::new(), String::new(), String::new(), String::new());
    normalizer.normalize_into(a, &mut form_a);
    normalizer.normalize_into(b, &mut form_b);
    assert_eq!(
        normalizer.eq(a, b, &mut scratch, &mut other),
        form_a == form_b,
        "{options:?}"
    );
    assert!(normalizer.eq(a, a, &mut scratch, &mut other));
    assert_eq!(
        normalizer.empties(a, &mut scratch),
        !a.trim().is_empty() && form_a.trim().is_empty(),
        "{options:?}"
    );
    search(&Finder::normalized(b, normalizer), a, &form_a, &form_b);
}

/// `form` is what is searched of `text`, and `phrase` what is searched for.
fn search(finder: &Finder, text: &str, form: &str, phrase: &str) {
    let mut scratch = String::new();
    assert_eq!(
        finder.starts(text, &mut scratch),
        form.starts_with(phrase),
        "starts"
    );
    assert_eq!(
        finder.ends(text, &mut scratch),
        form.ends_with(phrase),
        "ends"
    );
    assert_eq!(
        finder.contains(text, &mut scratch),
        form.contains(phrase),
        "contains"
    );
    assert_eq!(finder.is_empty(), phrase.is_empty());
    let (bytes, chars) = (
        finder.find(text, &mut scratch),
        finder.locate(text, &mut scratch),
    );
    assert_eq!(bytes.is_some(), form.contains(phrase), "find");
    assert_eq!(chars.is_some(), bytes.is_some());
    if let (Some(bytes), Some(chars)) = (bytes, chars) {
        let found = text.get(bytes).expect("whole characters of the text");
        assert_eq!(found.chars().count(), chars.len());
        assert!(chars.end <= text.chars().count());
    }
}
