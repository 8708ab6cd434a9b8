//! Heads of files that are written here.

use super::*;
use serde_json::{Value, json};

const NAMES: Names<'static> = Names {
    dense: &["recall", "length"],
    embeddings: &["answer"],
    texts: &["answer"],
};

/// A file with two features, an embedding of two dimensions and 16 buckets, of which the gram `yes` is in one.
fn linear() -> Value {
    let mut buckets = [0_i8; 16];
    let grams = hashed::Ngrams {
        kind: hashed::Kind::Word,
        min: 1,
        max: 1,
        bits: 4,
        lower: true,
    };
    let mut scratch = hashed::Scratch::default();
    buckets[grams.of("yes", &mut scratch)[0].0 as usize] = 100;
    let buckets: Vec<f64> = buckets.iter().map(|unit| f64::from(*unit)).collect();
    json!({
        "id": "test", "version": "3", "embedder": "mini",
        "model": {
            "kind": "linear",
            "bias": 0.5,
            // In another order than the code's.
            "features": [
                {"name": "length", "mean": 10.0, "scale": 5.0, "weight": 2.0},
                {"name": "recall", "mean": 0.5, "scale": 0.25, "weight": -1.0},
            ],
            "embeddings": [{"name": "answer", "dims": 2, "weights": packed::Packed::pack(&[1.0, -2.0], packed::Width::I16)}],
            "ngrams": [{"name": "answer", "grams": grams, "weights": packed::Packed::pack(&buckets, packed::Width::I8)}],
        },
        "calibration": {"slope": 2.0, "intercept": -1.0},
        "levels": {"pass": 0.8, "fail": 0.2, "accuracy_pass": 0.95, "accuracy_fail": 0.93, "coverage": 0.7},
        "figures": {}, "fitted_on": [{"set": "ours", "licence": "MIT", "n": 12}], "seed": 1,
    })
}

fn parse(file: &Value, names: &Names<'_>) -> Result<Head, HeadError> {
    Head::parse(&file.to_string(), names)
}

fn inputs<'i>(dense: &'i [f64], embeddings: &'i [&'i [f32]], texts: &'i [&'i str]) -> Inputs<'i> {
    Inputs {
        dense,
        embeddings,
        texts,
    }
}

#[test]
fn a_linear_head_adds_its_blocks() {
    let head = parse(&linear(), &NAMES).unwrap();
    let half = 0.5_f64.sqrt() * 100.0;
    for (inputs, expected) in [
        (inputs(&[0.5, 10.0], &[&[0.0, 0.0]], &[""]), 0.5),
        (inputs(&[1.0, 10.0], &[&[0.0, 0.0]], &[""]), 0.5 - 2.0),
        (inputs(&[0.5, 15.0], &[&[0.0, 0.0]], &[""]), 0.5 + 2.0),
        (inputs(&[0.5, 10.0], &[&[0.6, 0.8]], &[""]), 0.5 + 0.6 - 1.6),
        (inputs(&[0.5, 10.0], &[], &["Yes"]), 0.5 + 100.0),
        (inputs(&[0.5, 10.0], &[], &["yes ok"]), 0.5 + half),
        (inputs(&[f64::NAN, f64::INFINITY], &[], &[]), 0.5),
        (inputs(&[], &[], &[]), 0.5),
    ] {
        let found = head.logit(&inputs);
        assert!(
            (found - expected).abs() < 1e-3,
            "{inputs:?}: {found} {expected}"
        );
    }
}

#[test]
fn the_probability_is_calibrated() {
    let head = parse(&linear(), &NAMES).unwrap();
    assert_eq!(head.probability(&Inputs::default()), 0.5);
    let sure = head.probability(&inputs(&[], &[], &["yes"]));
    assert_eq!((sure, head.verdict(sure)), (1.0, Verdict::Pass));
}

#[test]
fn evidence_names_the_method_and_how_often_it_is_right() {
    let head = parse(&linear(), &NAMES).unwrap();
    let accuracy = |verdict| head.evidence(verdict).data.get("accuracy").cloned();
    assert_eq!(accuracy(Verdict::Pass), Some(json!(0.95)));
    assert_eq!(accuracy(Verdict::Fail), Some(json!(0.93)));
    assert_eq!(accuracy(Verdict::Inconclusive), None);
    let evidence = head.evidence(Verdict::Pass);
    assert_eq!(evidence.kind, "method");
    assert_eq!(
        Value::Object(evidence.data),
        json!({"name": "test", "version": "3", "embedder": "mini", "coverage": 0.7, "accuracy": 0.95})
    );
}

#[test]
fn a_file_that_is_written_is_read_as_it_was() {
    let head = parse(&linear(), &NAMES).unwrap();
    assert_eq!(serde_json::to_value(head.file()).unwrap(), linear());
}

/// The names that the code has, changes of the file and what the error says.
#[test]
fn what_makes_no_model_is_an_error() {
    let set = |pointer: &'static str, value: Value| {
        move |file: &mut Value| *file.pointer_mut(pointer).unwrap() = value
    };
    let cases: Vec<(Box<dyn FnOnce(&mut Value)>, &str)> = vec![
        (Box::new(|file| *file = json!({})), "not that of a head"),
        (
            Box::new(|file| file["extra"] = json!(1)),
            "unknown field `extra`",
        ),
        (
            Box::new(|file| file["model"]["extra"] = json!(1)),
            "unknown field `extra`",
        ),
        (
            Box::new(set("/model/features/0/name", json!("width"))),
            "the file has [width, recall], the code [recall, length]",
        ),
        (
            Box::new(set("/model/features/0/name", json!("recall"))),
            "dense features",
        ),
        (
            Box::new(set("/model/features", json!([]))),
            "dense features",
        ),
        (
            Box::new(set("/model/features/0/scale", json!(0.0))),
            "length has a number",
        ),
        (
            Box::new(set("/model/embeddings/0/name", json!("query"))),
            "embeddings of the file",
        ),
        (
            Box::new(set("/model/embeddings/0/dims", json!(3))),
            "2 weights, and 3 are needed",
        ),
        (
            Box::new(set("/model/embeddings/0/weights/base64", json!("?"))),
            "not base64",
        ),
        (
            Box::new(set("/model/ngrams/0/name", json!("query"))),
            "texts of n-grams",
        ),
        (
            Box::new(set("/model/ngrams/0/grams/bits", json!(5))),
            "16 weights, and 32 are needed",
        ),
        (
            Box::new(set("/model/ngrams/0/grams/min", json!(0))),
            "1 ≤ min",
        ),
        (Box::new(set("/levels/pass", json!(0.1))), "levels"),
        (
            Box::new(set("/calibration/slope", json!(null))),
            "not that of a head",
        ),
    ];
    for (change, expected) in cases {
        let mut file = linear();
        change(&mut file);
        let error = parse(&file, &NAMES).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} lacks {expected}");
    }
}
