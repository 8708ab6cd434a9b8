//! Formulas of a run's report against reference values (SciPy, statsmodels): `vectors/statistics.jsonl`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may panic"
)]

use std::collections::BTreeMap;

use lydite::stats::IdTable;
use lydite::stats::clusters::{Case, Clusters};
use lydite::stats::interval::{
    Confidence, Interval, clustered_mean, mean_t, standard_error, wilson,
};
use lydite::stats::sum::Moments;
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Vector {
    id: String,
    input: Value,
    expected: Value,
    tolerance: f64,
}

#[test]
fn formulas_agree_with_their_vectors() {
    let checks: BTreeMap<&str, fn(&Vector)> = BTreeMap::from([
        ("bernoulli_se", bernoulli_se as fn(&Vector)),
        ("binomial_intervals", binomial_intervals),
        ("clt_se_degenerate", clt_se_degenerate),
        ("clt_se_mean", clt_se_mean),
        ("clustered_se", clustered_se),
        ("epochs_resampling_se", epochs_resampling_se),
    ]);
    let vectors: Vec<Vector> = include_str!("vectors/statistics.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(vectors.len(), checks.len());
    for vector in &vectors {
        checks[vector.id.as_str()](vector);
    }
}

fn clt_se_mean(vector: &Vector) {
    let moments = moments(&numbers(&vector.input["scores"]));
    vector.close("mean", moments.mean());
    vector.close("se", standard_error(&moments));
    let confidence = vector.confidence();
    vector.close_interval(&vector.expected["t_ci"], mean_t(&moments, confidence));
    let margin = confidence.z() * standard_error(&moments).unwrap();
    let mean = moments.mean().unwrap();
    vector.close_interval(
        &vector.expected["normal_ci"],
        Some(Interval {
            low: mean - margin,
            high: mean + margin,
        }),
    );
}

fn clt_se_degenerate(vector: &Vector) {
    let cases: Vec<Vec<f64>> = vector.input["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(numbers)
        .collect();
    let errors: Vec<Option<f64>> = cases
        .iter()
        .map(|case| standard_error(&moments(case)))
        .collect();
    assert_eq!(serde_json::to_value(errors).unwrap(), vector.expected["se"]);
    let all = cases[1].len() as u64;
    vector.close_interval(
        &vector.expected["wilson_ci_for_second"],
        wilson(all, all, Confidence::default()),
    );
}

fn bernoulli_se(vector: &Vector) {
    let n = vector.input["n"].as_u64().unwrap();
    let successes = vector.input["successes"].as_u64().unwrap();
    let scores: Vec<f64> = (0..n)
        .map(|turn| f64::from(u8::from(turn < successes)))
        .collect();
    vector.close("p", moments(&scores).mean());
    vector.close("se_sample", standard_error(&moments(&scores)));
}

fn clustered_se(vector: &Vector) {
    let scores = numbers(&vector.input["scores"]);
    let names = vector.input["clusters"].as_array().unwrap();
    let (mut clusters, mut ids) = (Clusters::default(), IdTable::new());
    for (score, name) in scores.iter().zip(names) {
        let key = u64::from(name.as_str().unwrap().as_bytes()[0]) << 8;
        let case = Case {
            key,
            repeated: ids.seen(key) > 0,
        };
        clusters.push(case, Some(*score), None);
    }
    let moments = moments(&scores);
    vector.close("mean", moments.mean());
    vector.close("se_naive", standard_error(&moments));
    let mean = moments.mean().unwrap();
    let deviations = clusters.score_deviations(mean);
    assert_eq!(vector.expected["n_clusters"], deviations.clusters);
    vector.close("se_clustered_corrected", deviations.standard_error());
    let interval = clustered_mean(mean, &deviations, Confidence::default());
    vector.close_interval(&vector.expected["t_ci95_corrected"], interval);
}

/// With as many trials of each case, the mean of the cases' means is the mean of all, and the clustered
/// error is that of the cases' means.
fn epochs_resampling_se(vector: &Vector) {
    let rows: Vec<Vec<f64>> = vector.input["rows_are_questions_cols_are_epochs"]
        .as_array()
        .unwrap()
        .iter()
        .map(numbers)
        .collect();
    let means: Vec<f64> = rows
        .iter()
        .map(|row| moments(row).mean().unwrap())
        .collect();
    vector.close("mean", moments(&means).mean());
    vector.close("se", standard_error(&moments(&means)));

    let mut clusters = Clusters::default();
    for (key, row) in (0_u64..).zip(&rows) {
        for (trial, score) in row.iter().enumerate() {
            clusters.push(
                Case {
                    key: key << 8,
                    repeated: trial > 0,
                },
                Some(*score),
                None,
            );
        }
    }
    let mean = moments(&rows.concat()).mean();
    vector.close("mean", mean);
    vector.close(
        "se",
        clusters.score_deviations(mean.unwrap()).standard_error(),
    );
}

fn binomial_intervals(vector: &Vector) {
    let rows = vector.input["rows"].as_array().unwrap();
    for (row, expected) in rows
        .iter()
        .zip(vector.expected["wilson"].as_array().unwrap())
    {
        let (passed, n) = (row[0].as_u64().unwrap(), row[1].as_u64().unwrap());
        vector.close_interval(expected, wilson(passed, n, vector.confidence()));
    }
}

impl Vector {
    fn close(&self, key: &str, found: Option<f64>) {
        self.close_number(&self.expected[key], found.unwrap());
    }

    fn close_interval(&self, expected: &Value, found: Option<Interval>) {
        let Interval { low, high } = found.unwrap();
        self.close_number(&expected[0], low);
        self.close_number(&expected[1], high);
    }

    fn close_number(&self, expected: &Value, found: f64) {
        let expected = expected.as_f64().unwrap();
        assert!(
            (found - expected).abs() <= self.tolerance,
            "{}: {found}, expected {expected}",
            self.id
        );
    }

    fn confidence(&self) -> Confidence {
        Confidence::new(self.input["level"].as_f64().unwrap()).unwrap()
    }
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap())
        .collect()
}

fn moments(values: &[f64]) -> Moments {
    let mut moments = Moments::new();
    for &value in values {
        moments.push(value);
    }
    moments
}
