//! Cases in which other tools went wrong, at the command line: the right answer, and whose case it is.
//!
//! Not here, each with its reason:
//! - pf-neg-04, -05, -14: perplexity, rubrics and classifiers ask a model; they come with model-graded evaluators.
//!   That what only measures can't be negated is in `wrong_suites/not-without-verdict.yaml`.
//! - pf-neg-08: `contains_json` is not among this version's evaluators; the negation that was lost is `negations`.
//! - pf-csv-01, -02: a CSV cell holds no check with a threshold here, so none can be dropped; BLEU and GLEU come later.
//! - pf-type-02, -11: there is no prompt to fill yet; that record values are data is `a_value_of_a_record_is_never_read_as_anything_else`.
//! - pf-agg-02 is `wrong_suites/checks-empty.yaml`, pf-agg-06 and py-039 to py-041 are in `exit_codes`,
//!   pf-csv-03 to -05 in `inputs`, pf-type-06 is `wrong_suites/null-value.yaml`.

use crate::support::Dir;

/// Whose case it is, a check as YAML, a record, and the exit code.
type Case = (&'static str, &'static str, &'static str, i32);

const CASES: &[Case] = &[
    // Scalars of YAML keep their source text.
    (
        "pf-type-01",
        "equals: {value: 2024-01-01}",
        r#"{"output": "2024-01-01"}"#,
        0,
    ),
    (
        "pf-type-03",
        "equals: {value: 1e3}",
        r#"{"output": "1e3"}"#,
        0,
    ),
    (
        "pf-type-04",
        "equals: {value: 0x1F}",
        r#"{"output": "0x1F"}"#,
        0,
    ),
    (
        "pf-type-07",
        "equals: {value: 1.10}",
        r#"{"output": "1.10"}"#,
        0,
    ),
    (
        "pf-type-07, other spelling",
        "equals: {value: 1.1}",
        r#"{"output": "1.10"}"#,
        0,
    ),
    ("pf-type-08", "contains: 0", r#"{"output": "0 errors"}"#, 0),
    (
        "pf-type-08, a list",
        "contains_any: [0]",
        r#"{"output": "0 errors"}"#,
        0,
    ),
    (
        "pf-type-16",
        "contains: 1.10",
        r#"{"output": "use v1.15"}"#,
        1,
    ),
    (
        "pf-type-16, turned",
        "contains: 1.10",
        r#"{"output": "use v1.10"}"#,
        0,
    ),
    (
        "leading zeros",
        "equals: {value: 01234}",
        r#"{"output": "01234"}"#,
        0,
    ),
    (
        "yes is a word",
        "equals: {value: yes}",
        r#"{"output": "yes"}"#,
        0,
    ),
    ("no is a word", "contains: no", r#"{"output": "no way"}"#, 0),
    // Expected text is never a template, but where the whole of it is one place.
    (
        "pf-type-13",
        "equals: {value: '100 {% off'}",
        r#"{"output": "100 {% off"}"#,
        0,
    ),
    (
        "pf-type-14",
        "equals: {value: 'Hello {{name}}'}",
        r#"{"output": "Hello {{name}}"}"#,
        0,
    ),
    (
        "pf-type-15",
        "regex: '^a{{2}}$'",
        r#"{"output": "a{2}"}"#,
        1,
    ),
    (
        "pf-type-15, matching",
        "regex: '^a{2}$'",
        r#"{"output": "aa"}"#,
        0,
    ),
    // Negations hold.
    (
        "pf-neg-06",
        "{evaluator: equals, params: {value: Hello}, not: true}",
        r#"{"output": "Hello"}"#,
        1,
    ),
    (
        "pf-neg-07",
        "{evaluator: equals, params: {value: {foo: bar}}, not: true}",
        r#"{"output": "hello world"}"#,
        0,
    ),
    // An answer that was never made is not judged, and not green under `not` either.
    (
        "pf-agg-08",
        "{evaluator: contains, params: {phrase: 'Error: '}, not: true}",
        r#"{"query": "q", "metadata": {"error": "exit 1"}}"#,
        2,
    ),
    (
        "pf-agg-08, null",
        "{evaluator: contains, params: {phrase: 'Error: '}, not: true}",
        r#"{"query": "q", "output": null}"#,
        3,
    ),
];

#[test]
fn cases_of_types_templates_and_negations() {
    for (id, check, record, code) in CASES {
        let dir = Dir::with(&[
            (
                "lydite.yaml",
                &format!("version: 1\ndataset: data.jsonl\nchecks:\n  - {check}\n"),
            ),
            ("data.jsonl", record),
        ]);
        let ran = dir.run("run --no-store");
        assert_eq!(
            ran.code,
            *code,
            "{id}: {check} on {record}: {}",
            ran.transcript()
        );
    }
}

/// pf-type-14: the reader is told of a place that is none.
#[test]
fn braces_that_name_no_field_are_told_of() {
    let dir = Dir::with(&[
        (
            "lydite.yaml",
            "version: 1\ndataset: data.jsonl\nchecks: [{evaluator: equals, params: {value: '{{city}}'}}]\n",
        ),
        (
            "data.jsonl",
            r#"{"output": "{{city}}", "variables": {"city": "Kisumu"}}"#,
        ),
    ]);
    let ran = dir.run("run --no-store").exits(0);
    assert!(
        ran.stderr.contains("{{ variables.city }}"),
        "{}",
        ran.stderr
    );
    dir.write("lydite.yaml", "version: 1\ndataset: data.jsonl\nchecks: [{evaluator: equals, params: {value: '{{ variables.city }}'}}]\n");
    dir.run("run --no-store").exits(1);
}

/// pf-agg-03: what only measures keeps its own result and is left out of the verdict.
#[test]
fn a_check_without_weight_in_the_verdict_keeps_its_own() {
    let dir = Dir::with(&[
        (
            "lydite.yaml",
            "version: 1\ndataset: data.jsonl\nchecks: [{evaluator: equals, params: {value: y}, name: aside}, {evaluator: contains, params: {phrase: x}}]\ngates: [contains.pass_rate >= 1]\n",
        ),
        ("data.jsonl", r#"{"output": "x"}"#),
    ]);
    let report = dir.run("run --no-store --format json").exits(0).json();
    assert_eq!(
        (
            &report["checks"][0]["failed"],
            &report["checks"][0]["passed"]
        ),
        (&1.into(), &0.into())
    );
}

/// pf-type-10, pf-type-11: a value of a record is never read as anything else.
#[test]
fn a_value_of_a_record_is_never_read_as_anything_else() {
    let dir = Dir::with(&[(
        "data.jsonl",
        concat!(
            r#"{"output": "file://nothere.txt", "reference": "file://nothere.txt"}"#,
            "\n",
            r#"{"output": "{{7*7}}", "reference": "{{7*7}}"}"#,
            "\n",
            r#"{"output": "@data.jsonl", "reference": "@data.jsonl"}"#,
            "\n",
            r#"{"output": "{{ env.HOME }}", "reference": "{{ env.HOME }}"}"#,
            "\n",
        ),
    )]);
    let report = dir
        .run("run --check exact_match --data data.jsonl --no-store --format json")
        .exits(0)
        .json();
    assert_eq!(report["records"]["passed"], 4);
}

/// pf-type-12: a list among the variables is a value, not several tests.
#[test]
fn a_list_variable_is_one_record() {
    let dir = Dir::with(&[(
        "data.jsonl",
        r#"{"output": "soup", "variables": {"ingredients": ["popcorn", "beef"]}}"#,
    )]);
    let report = dir
        .args(&[
            "run",
            "--check",
            "contains: soup",
            "--data",
            "data.jsonl",
            "--no-store",
            "--format",
            "json",
        ])
        .exits(0)
        .json();
    assert_eq!(report["records"]["judged"], 1);
}

/// pf-flt-01: what did not pass is found by its id and run again, no more and no less.
#[test]
fn the_answers_that_did_not_pass_are_selected_by_their_ids() {
    let mut data = String::new();
    for i in 0..74 {
        // 49 pass, 19 fail, 6 have no reference; ids are computed.
        let reference = if i % 12 == 5 {
            String::new()
        } else {
            format!(
                ", \"reference\": \"{}\"",
                if i % 4 == 1 { "other" } else { "same" }
            )
        };
        data += &format!("{{\"query\": \"question {i}\", \"output\": \"same\"{reference}}}\n");
    }
    let dir = Dir::with(&[("data.jsonl", &data)]);
    let lines = dir
        .run("run --check exact_match --data data.jsonl --no-store --format jsonl")
        .exits(3)
        .lines();
    let wanted: Vec<String> = lines
        .iter()
        .filter(|line| line["verdict"] != "pass")
        .map(|line| line["record"].as_str().unwrap().to_owned())
        .collect();
    assert!(wanted.len() > 15 && wanted.len() < 40, "{}", wanted.len());
    let condition = format!("id in {}", serde_json::to_string(&wanted).unwrap());
    let again = dir.args(&[
        "run",
        "--check",
        "exact_match",
        "--data",
        "data.jsonl",
        "--no-store",
        "--format",
        "jsonl",
        "--where",
        &condition,
    ]);
    let ran: Vec<String> = again
        .lines()
        .iter()
        .map(|line| line["record"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(ran, wanted, "{}", again.stderr);
}
