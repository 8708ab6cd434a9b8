//! The JSON Schemas: valid themselves, and what the product reads and writes is valid against them.

use serde_json::Value;

use crate::support::{Dir, json_lines, repository};

fn schema(of: &str) -> Value {
    Dir::new().run(&format!("schema {of}")).exits(0).json()
}

#[track_caller]
fn valid(schema: &Value, values: &[Value]) {
    let validator = jsonschema::validator_for(schema).unwrap();
    assert!(!values.is_empty());
    for value in values {
        if let Some(error) = validator.iter_errors(value).next() {
            panic!(
                "{} at {}: {error}: {value}",
                schema["title"],
                error.instance_path()
            );
        }
    }
}

#[test]
fn schemas_are_valid_against_their_meta_schema() {
    for of in ["record", "suite", "result", "report"] {
        let schema = schema(of);
        assert!(jsonschema::meta::validate(&schema).is_ok(), "{of}");
        assert!(
            schema["$schema"].as_str().unwrap().contains("2020-12"),
            "{of}"
        );
        assert!(schema["title"].is_string(), "{of}");
    }
}

#[test]
fn the_quickstart_is_valid_and_so_is_what_comes_of_it() {
    let dir = Dir::new();
    let suite = repository("examples/quickstart/lydite.yaml");
    let records = std::fs::read_to_string(repository("examples/quickstart/support.jsonl")).unwrap();
    valid(&schema("record"), &json_lines(&records));
    let results = schema("result");
    let path = suite.to_str().unwrap();
    valid(
        &results,
        &dir.args(&["run", path, "--no-store", "--format", "jsonl"])
            .lines(),
    );
    valid(
        &results,
        &dir.args(&["run", path, "--no-store", "--format", "jsonl", "--wide"])
            .lines(),
    );
    valid(
        &schema("report"),
        &[dir
            .args(&["run", path, "--no-store", "--format", "json"])
            .json()],
    );
}

/// Runs with errors, gates that are missed, samples and shards write valid files too.
#[test]
fn reports_of_every_kind_are_valid() {
    let suite = "version: 1\nchecks: [golden_response, {evaluator: string_distance, on_missing: skip}, {evaluator: contains, params: a, not: true}]\ngates: [golden_response.pass_rate >= 0.9, string_distance.mean.low >= 0]\n"
        .replace("params: a", "params: {phrase: a}");
    let data = "{\"id\": 1, \"output\": \"a\", \"reference\": \"b\", \"model\": \"m\", \"tags\": [\"t\"], \"cluster\": 3}\n{\"output\": \"x\"}\nbad\n{\"output\": {\"parts\": [{\"type\": \"image\", \"uri\": \"a\"}]}, \"reference\": \"c\"}\n";
    let dir = Dir::with(&[("lydite.yaml", &suite), ("data.jsonl", data)]);
    let (report, result) = (schema("report"), schema("result"));
    for flags in [
        "",
        "--max-errors 100%",
        "--shard 1/2",
        "--where id=='1'",
        "--where id=='none'",
        "--wide",
    ] {
        valid(
            &report,
            &[dir
                .run(&format!(
                    "run --data data.jsonl --no-store --format json {flags}"
                ))
                .json()],
        );
        let lines = dir
            .run(&format!(
                "run --data data.jsonl --no-store --format jsonl {flags}"
            ))
            .lines();
        if !lines.is_empty() {
            valid(&result, &lines);
        }
    }
}

/// Suites that `validate` takes and refuses, the schema takes and refuses.
#[test]
fn the_suite_schema_agrees_with_validate() {
    let validator = jsonschema::validator_for(&schema("suite")).unwrap();
    for (suite, fits) in [
        (
            serde_json::json!({"version": 1, "dataset": "a.jsonl", "checks": ["exact_match", {"contains": "a"}, {"regex": {"pattern": "a"}}]}),
            true,
        ),
        (
            serde_json::json!({"version": 1, "checks": [{"evaluator": "string_distance", "threshold": 0.5, "not": true, "on_missing": "skip"}], "gates": ["errors <= 1%"]}),
            true,
        ),
        (
            serde_json::json!({"version": 2, "checks": ["exact_match"]}),
            false,
        ),
        (
            serde_json::json!({"version": 1, "checkz": ["exact_match"]}),
            false,
        ),
        (
            serde_json::json!({"version": 1, "checks": [{"contains": {"phrse": "a"}}]}),
            false,
        ),
        (
            serde_json::json!({"version": 1, "checks": [{"evaluator": "exact_match", "treshold": 1}]}),
            false,
        ),
        (
            serde_json::json!({"version": 1, "checks": ["exact_mach"]}),
            false,
        ),
    ] {
        assert_eq!(validator.is_valid(&suite), fits, "{suite}");
        // JSON is YAML.
        let dir = Dir::with(&[("lydite.yaml", &suite.to_string())]);
        dir.run("validate").exits(if fits { 0 } else { 2 });
    }
}
