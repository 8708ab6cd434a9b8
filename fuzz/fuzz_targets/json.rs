//! Two texts as JSON: what we read against serde_json, and the comparisons against each other.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use lydite::json::{
    Booleans, Json, JsonErrorKind, Lists, Missing, NestedWeights, Schema, SchemaOptions,
    SimilarityOptions, canonical, compact, diff, equal, find_in_text, is_valid, parse, python_dump,
    similarity, strip_fence,
};
use lydite_fuzz::two_texts;
use serde::de::IgnoredAny;

fuzz_target!(|data: &[u8]| {
    let Some((a, b)) = two_texts(data) else {
        return;
    };
    for text in [a, b] {
        read(text);
        if let Some(found) = find_in_text(text) {
            assert!(
                is_valid(found).is_ok(),
                "{found:?} was found and is not JSON"
            );
        }
        assert!(text.contains(strip_fence(text)));
    }
    if let (Ok(a), Ok(b)) = (parse(a), parse(b)) {
        compare(&a, &b);
        validate(&a, &b);
    }
});

/// Reads one text in every way there is.
fn read(text: &str) {
    let valid = is_valid(text);
    let theirs: Result<IgnoredAny, _> = serde_json::from_str(text);
    assert_eq!(
        valid.is_ok(),
        theirs.is_ok(),
        "{valid:?} against {theirs:?}"
    );
    match parse(text) {
        Ok(tree) => {
            assert!(valid.is_ok());
            // serde_json refuses numbers beyond f64.
            if let Ok(theirs) = serde_json::from_str::<serde_json::Value>(text) {
                let ours = tree.to_value();
                assert_eq!(ours, theirs, "the values of {text:?}");
            }
            write(&tree);
        }
        Err(error) => {
            assert!(error.offset <= text.len() && error.line > 0 && error.column > 0);
            let allowed = matches!(
                error.kind,
                JsonErrorKind::DuplicateKey | JsonErrorKind::LoneSurrogate | JsonErrorKind::TooDeep
            );
            assert!(valid.is_err() || allowed, "{error:?} for what is JSON");
        }
    }
}

/// Writes a tree in every way there is, and reads it again.
fn write(tree: &Json<'_>) {
    let written = |write: fn(&Json<'_>, &mut String)| {
        let mut out = String::new();
        write(tree, &mut out);
        out
    };
    let (plain, normal) = (written(compact), written(canonical));
    for text in [&plain, &normal] {
        let again = parse(text).unwrap_or_else(|error| panic!("we wrote {text:?}: {error}"));
        assert!(equal(tree, &again, true), "{text:?} is another value");
        let mut twice = String::new();
        canonical(&again, &mut twice);
        assert_eq!(normal, twice, "the canonical text is not");
    }
    let _ = written(python_dump);
}

fn compare(a: &Json<'_>, b: &Json<'_>) {
    let canonical_of = |json: &Json<'_>| {
        let mut out = String::new();
        canonical(json, &mut out);
        out
    };
    assert_eq!(
        equal(a, b, true),
        canonical_of(a) == canonical_of(b),
        "equal values have one canonical text"
    );
    for ordered in [true, false] {
        assert!(equal(a, a, ordered));
        let same = equal(a, b, ordered);
        assert_eq!(same, equal(b, a, ordered), "equality is not symmetric");
        assert_eq!(
            same,
            diff(a, b, ordered, 8).is_empty(),
            "a difference without a place"
        );
    }
    for options in all_options() {
        let score =
            |a, b, weights| similarity(a, b, weights, options, None).map(|scored| scored.score);
        assert_eq!(score(a, a, None), Ok(1.0), "{options:?}");
        let one_way = score(a, b, None).expect("without weights there is no error");
        let other_way = score(b, a, None).expect("without weights there is no error");
        assert!((0.0..=1.0).contains(&one_way), "{options:?}: {one_way}");
        assert!(
            (one_way - other_way).abs() < 1e-9,
            "{options:?}: {one_way} against {other_way}"
        );
        let mut leaves = Vec::new();
        if let Ok(scored) = similarity(a, b, Some(b), options, Some(&mut leaves)) {
            assert!((0.0..=1.0).contains(&scored.score));
            let sum: f64 = leaves.iter().map(|leaf| leaf.score * leaf.weight).sum();
            assert!(
                (sum - scored.score).abs() < 1e-6,
                "{options:?}: the leaves sum to {sum}, not {}",
                scored.score
            );
        }
    }
}

fn all_options() -> impl Iterator<Item = SimilarityOptions> {
    let defaults = SimilarityOptions::default();
    [
        defaults,
        SimilarityOptions {
            lists: Lists::Align,
            ..defaults
        },
        SimilarityOptions {
            lists: Lists::Zip,
            booleans: Booleans::Distinct,
            missing: Missing::Zero,
            nested_weights: NestedWeights::Loopback,
        },
    ]
    .into_iter()
}

/// The first as a schema of the second.
fn validate(schema: &Json<'_>, instance: &Json<'_>) {
    for strict in [false, true] {
        let options = SchemaOptions {
            strict,
            ..SchemaOptions::default()
        };
        if let Ok(schema) = Schema::compile(&schema.to_value(), &BTreeMap::new(), options) {
            assert_eq!(
                schema.is_valid(instance),
                schema.violations(instance).is_empty(),
                "violations of what is valid"
            );
        }
    }
}
