use proptest::prelude::*;

use super::super::parse;
use super::super::tests::json_text;
use super::*;

const BOTH: [NestedWeights; 2] = [NestedWeights::Sum, NestedWeights::Loopback];

fn measure(
    reference: &str,
    output: &str,
    weights: Option<&str>,
    options: SimilarityOptions,
) -> Result<(Scored, Vec<Leaf>), WeightError> {
    let json = |text| parse(text).expect("JSON");
    let (reference, output, weights) = (json(reference), json(output), weights.map(json));
    let mut leaves = Vec::new();
    let scored = similarity(
        &reference,
        &output,
        weights.as_ref(),
        options,
        Some(&mut leaves),
    )?;
    let alone = similarity(&reference, &output, weights.as_ref(), options, None)?;
    assert_eq!(scored, alone, "leaves do not change the score");
    Ok((scored, leaves))
}

fn with_lists(lists: Lists) -> SimilarityOptions {
    SimilarityOptions {
        lists,
        ..Default::default()
    }
}

/// The table of `json_diff`, measured on Lynxius 1.1.0 (sum) and 1.2.0 (loopback) with zipped lists.
#[test]
fn measured_values() {
    for line in include_str!("measured.jsonl").lines() {
        let row = parse(line).expect("JSON");
        let field = |name: &str| row.get(name).map(ToString::to_string);
        let (reference, output) = (field("reference"), field("output"));
        for (nested_weights, name) in BOTH.into_iter().zip(["sum", "loopback"]) {
            let options = SimilarityOptions {
                nested_weights,
                ..with_lists(Lists::Zip)
            };
            let expected = field(name).or_else(|| field("score")).expect("a score");
            let found = measure(
                reference.as_deref().expect("reference"),
                output.as_deref().expect("output"),
                field("weights").as_deref(),
                options,
            );
            match found {
                Ok((scored, leaves)) => {
                    let expected: f64 = expected.parse().expect(line);
                    assert!(
                        (scored.score - expected).abs() < 1e-12,
                        "{line}: {}",
                        scored.score
                    );
                    let sum: f64 = leaves.iter().map(|leaf| leaf.score * leaf.weight).sum();
                    assert!(
                        (sum - expected).abs() < 1e-12,
                        "{line}: leaves sum to {sum}"
                    );
                }
                Err(error) => assert_eq!(expected, "\"error\"", "{line}: {error}"),
            }
        }
    }
}

#[test]
fn lists_pad_and_align() {
    // reference, output, zip, pad, align
    let cases = [
        ("[]", "[]", 1.0, 1.0, 1.0),
        ("[]", "[1]", 0.0, 0.0, 0.0),
        ("[1,2,3]", "[1,2]", 1.0, 2.0 / 3.0, 2.0 / 3.0),
        (r#"["a","b","c"]"#, r#"["x","a","b","c"]"#, 0.0, 0.0, 0.75),
        (r#"["x","a","b","c"]"#, r#"["a","b","c"]"#, 0.0, 0.0, 0.75),
        (r#"["a","b"]"#, r#"["b","a"]"#, 0.0, 0.0, 1.0),
        // A greedy choice takes the pair of 2/3 and is left with nothing: (2/3 + 0)/2.
        (
            r#"[{"a":1,"b":1,"c":1},{"a":0,"b":1,"c":0}]"#,
            r#"[{"a":1,"b":1,"c":0},{"a":1,"b":1,"c":1}]"#,
            0.5,
            0.5,
            f64::midpoint(2.0 / 3.0, 1.0),
        ),
        ("[[1,2],[3]]", "[[3],[2,1]]", 0.65, 0.325, 1.0),
    ];
    for (a, b, zip, pad, align) in cases {
        for (lists, expected) in [(Lists::Zip, zip), (Lists::Pad, pad), (Lists::Align, align)] {
            let (scored, _) = measure(a, b, None, with_lists(lists)).expect("no weights");
            assert!(
                (scored.score - expected).abs() < 1e-12,
                "{a} {b} {lists:?}: {}",
                scored.score
            );
        }
    }
}

#[test]
fn booleans_and_missing_keys() {
    let distinct = SimilarityOptions {
        booleans: Booleans::Distinct,
        ..Default::default()
    };
    let zero = SimilarityOptions {
        missing: Missing::Zero,
        ..Default::default()
    };
    let cases = [
        (r#"{"b":true}"#, r#"{"b":1}"#, distinct, 0.0),
        (r#"{"b":true}"#, r#"{"b":true}"#, distinct, 1.0),
        (r#"{"b":true}"#, r#"{"b":false}"#, distinct, 0.0),
        (r#"{"a":1,"b":null}"#, r#"{"a":1}"#, zero, 0.5),
        (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, zero, 0.5),
        (r#"{"a":null}"#, r#"{"a":null}"#, zero, 1.0),
        (r#"{"tags":[]}"#, r#"{"tags":[]}"#, zero, 1.0),
        ("1e400", "-1e400", SimilarityOptions::default(), 0.0),
        (
            "1e308",
            "1.7e308",
            SimilarityOptions::default(),
            1.0 - 0.7 / 2.7,
        ),
    ];
    for (a, b, options, expected) in cases {
        let (scored, _) = measure(a, b, None, options).expect("no weights");
        assert!(
            (scored.score - expected).abs() < 1e-12,
            "{a} {b}: {}",
            scored.score
        );
    }
}

#[test]
fn leaves_say_where_and_how_much() {
    let (_, leaves) = measure(
        r#"{"a":{"x/y":"ab","z":[]},"l":[1,2]}"#,
        r#"{"a":{"x/y":"ax","z":[]},"l":[2,1,3]}"#,
        Some(r#"{"a":0.5,"l":1.0}"#),
        with_lists(Lists::Align),
    )
    .expect("good weights");
    let found: Vec<_> = leaves
        .iter()
        .map(|leaf| {
            (
                &*leaf.path,
                leaf.output_path.as_deref(),
                leaf.score,
                leaf.weight,
            )
        })
        .collect();
    let third = 0.5 / 1.5 / 2.0;
    let ninth = 1.0 / 1.5 / 3.0;
    assert_eq!(
        found,
        [
            ("/a/x~1y", None, 0.5, third),
            ("/a/z", None, 1.0, third),
            ("/l/0", Some("/l/1"), 1.0, ninth),
            ("/l/1", Some("/l/0"), 1.0, ninth),
            ("/l/2", None, 0.0, ninth),
        ]
    );
}

#[test]
fn bad_weights_name_their_path() {
    let cases = [
        (r#"{"a":1.5}"#, "/a", "is 1.5"),
        (r#"{"a":{"b":-0.1}}"#, "/a/b", "is -0.1"),
        (r#"{"a":{"b/c":true}}"#, "/a/b~1c", "is a boolean"),
        (r#"{"a":"1"}"#, "/a", "is a string"),
        (r#"{"a":null}"#, "/a", "is null"),
        (r#"{"a":1e999}"#, "/a", "is 1e999"),
        (r#"{"a":{"b":0.6,"c":{"d":0.6}}}"#, "/a", "sum to 1.2"),
        ("[1]", "", "is an array"),
    ];
    for (weights, path, message) in cases {
        let error = measure("{}", "{}", Some(weights), SimilarityOptions::default()).unwrap_err();
        assert_eq!(error.path, path, "{weights}");
        assert!(error.message.contains(message), "{weights}: {error}");
    }
}

#[test]
fn weights_of_zero_are_told() {
    let zero = |weights| {
        measure(
            r#"{"a":1,"b":"x"}"#,
            r#"{"a":1,"b":"y"}"#,
            Some(weights),
            SimilarityOptions::default(),
        )
        .expect("good weights")
        .0
        .zero_weight
    };
    assert!(zero(r#"{"a":0,"b":0}"#));
    assert!(!zero(r#"{"a":0}"#));
}

#[test]
fn long_lists_are_not_aligned_and_deep_ones_quickly() {
    let long = format!("[{}0]", "0,".repeat(2100));
    let (scored, _) = measure(&long, &long, None, with_lists(Lists::Align)).expect("no weights");
    assert!(scored.too_long_to_align && scored.score == 1.0);
    let deep = "[".repeat(100) + "1,2" + &"]".repeat(100);
    let (scored, _) = measure(&deep, &deep, None, with_lists(Lists::Align)).expect("no weights");
    assert_eq!(scored.score, 1.0);
}

fn brute_force(rows: usize, columns: usize, scores: &[f64], taken: &mut Vec<usize>) -> f64 {
    if taken.len() == rows {
        return taken
            .iter()
            .enumerate()
            .map(|(row, column)| scores[row * columns + column])
            .sum();
    }
    let mut best = f64::NEG_INFINITY;
    for column in 0..columns {
        if !taken.contains(&column) {
            taken.push(column);
            best = best.max(brute_force(rows, columns, scores, taken));
            taken.pop();
        }
    }
    best
}

proptest! {
    #[test]
    fn assignments_are_the_best(rows in 1_usize..5, more in 0_usize..3, scores in prop::collection::vec(0_u8..6, 48)) {
        let columns = rows + more;
        let scores: Vec<f64> = scores.iter().map(|score| f64::from(*score) / 5.0).collect();
        let total = |partner: &[Option<usize>], value: &dyn Fn(usize, usize) -> f64| -> f64 {
            partner.iter().enumerate().filter_map(|(row, column)| Some(value(row, (*column)?))).sum()
        };
        let wide = best_assignment(rows, columns, &scores[..rows * columns]);
        let best = brute_force(rows, columns, &scores, &mut Vec::new());
        prop_assert!((total(&wide, &|row, column| scores[row * columns + column]) - best).abs() < 1e-9);
        let turned: Vec<f64> = (0..columns).flat_map(|c| (0..rows).map(move |r| (r, c))).map(|(r, c)| scores[r * columns + c]).collect();
        let tall = best_assignment(columns, rows, &turned);
        prop_assert_eq!(tall.iter().flatten().count(), rows);
        prop_assert!((total(&tall, &|row, column| turned[row * rows + column]) - best).abs() < 1e-9);
    }

    #[test]
    fn similarity_of_a_value_with_itself_is_one(text in json_text()) {
        for lists in [Lists::Zip, Lists::Pad, Lists::Align] {
            for missing in [Missing::AsNull, Missing::Zero] {
                let options = SimilarityOptions { lists, missing, ..Default::default() };
                let (scored, _) = measure(&text, &text, None, options).expect("no weights");
                prop_assert!((scored.score - 1.0).abs() < 1e-12, "{} {:?}", text, options);
            }
        }
    }

    #[test]
    fn similarity_is_within_bounds_and_symmetric(a in json_text(), b in json_text()) {
        for lists in [Lists::Zip, Lists::Pad, Lists::Align] {
            for booleans in [Booleans::Number, Booleans::Distinct] {
                let options = SimilarityOptions { lists, booleans, ..Default::default() };
                let (there, leaves) = measure(&a, &b, None, options).expect("no weights");
                let (back, _) = measure(&b, &a, None, options).expect("no weights");
                prop_assert!((0.0..=1.0).contains(&there.score));
                prop_assert!((there.score - back.score).abs() < 1e-9, "{} {}", a, b);
                let weight: f64 = leaves.iter().map(|leaf| leaf.weight).sum();
                let score: f64 = leaves.iter().map(|leaf| leaf.weight * leaf.score).sum();
                prop_assert!((weight - 1.0).abs() < 1e-9);
                prop_assert!((score - there.score).abs() < 1e-9);
            }
        }
    }
}
