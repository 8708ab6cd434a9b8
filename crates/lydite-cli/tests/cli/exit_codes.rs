//! The exit codes of a run, first that fits: 2, 130 (see `interrupted`), 3, 1, 0.

use crate::support::{Dir, Ran, SUITE};

/// A title, checks and gates, lines of data, flags; the exit code and what is said of it.
type Case = (
    &'static str,
    &'static str,
    &'static [&'static str],
    &'static str,
    i32,
    &'static str,
);

const PASS: &str = r#"{"output": "a", "reference": "a"}"#;
const FAIL: &str = r#"{"output": "b", "reference": "a"}"#;
const NO_REFERENCE: &str = r#"{"output": "b"}"#;
const BAD: &str = "no JSON";

const CHECK: &str = "checks: [exact_match]\n";

#[test]
fn a_run_ends_with_the_first_code_that_fits() {
    let cases: &[Case] = &[
        // 2: nothing to run.
        ("an empty file", CHECK, &[], "", 2, "the data has no record"),
        (
            "blank lines alone",
            CHECK,
            &["", "  ", ""],
            "",
            2,
            "the data has no record",
        ),
        (
            "nothing readable",
            CHECK,
            &[BAD],
            "",
            2,
            "no record is left, and 1 could not be judged",
        ),
        (
            "nothing readable, all allowed",
            CHECK,
            &[BAD],
            "--max-errors 100%",
            2,
            "no record is left",
        ),
        // pf-agg-06: an empty selection is not green.
        (
            "a filter that selects nothing",
            CHECK,
            &[PASS],
            "--where output==\"z\"",
            2,
            "none of 1 records was selected",
        ),
        ("no check", "name: x\n", &[PASS], "", 2, "there is no check"),
        // 3 before 1: no verdict.
        (
            "an errored cell",
            CHECK,
            &[PASS, NO_REFERENCE],
            "",
            3,
            "1 error where 0 are allowed",
        ),
        (
            "a bad line",
            CHECK,
            &[PASS, BAD],
            "",
            3,
            "1 error where 0 are allowed",
        ),
        (
            "a bad line beside a failure",
            CHECK,
            &[FAIL, BAD],
            "",
            3,
            "1 error where 0",
        ),
        (
            "as many as allowed",
            CHECK,
            &[PASS, BAD],
            "--max-errors 1",
            0,
            "nothing failed",
        ),
        (
            "more than allowed",
            CHECK,
            &[PASS, BAD, BAD],
            "--max-errors 1",
            3,
            "2 errors where 1 are allowed",
        ),
        (
            "as great a share as allowed",
            CHECK,
            &[PASS, BAD],
            "--max-errors 50%",
            0,
            "nothing failed",
        ),
        (
            "a greater share",
            CHECK,
            &[PASS, BAD],
            "--max-errors 49.9%",
            3,
            "1 error where 49.9% are allowed",
        ),
        (
            "an errored cell that is allowed",
            CHECK,
            &[PASS, NO_REFERENCE],
            "--max-errors 1",
            0,
            "nothing failed",
        ),
        (
            "an errored cell that is allowed beside a failure",
            CHECK,
            &[FAIL, NO_REFERENCE],
            "--max-errors 1",
            1,
            "1 failed",
        ),
        (
            "a gate allows errors",
            "checks: [exact_match]\ngates: [errors <= 50%]\n",
            &[PASS, BAD],
            "",
            0,
            "the gate is met",
        ),
        (
            "a gate without a value",
            "checks: [{evaluator: exact_match, on_missing: skip}]\ngates: [exact_match.pass_rate >= 0]\n",
            &[NO_REFERENCE],
            "",
            3,
            "no value for exact_match.pass_rate >= 0",
        ),
        // 1: not good enough.
        ("a failure", CHECK, &[PASS, FAIL], "", 1, "1 failed"),
        (
            "a missed gate",
            "checks: [exact_match]\ngates: [exact_match.pass_rate >= 90%]\n",
            &[PASS, FAIL],
            "",
            1,
            "missed: exact_match.pass_rate >= 90%",
        ),
        // 0.
        ("all pass", CHECK, &[PASS], "", 0, "nothing failed"),
        (
            "failures that gates can live with",
            "checks: [exact_match]\ngates: [exact_match.pass_rate >= 50%]\n",
            &[PASS, FAIL],
            "",
            0,
            "the gate is met",
        ),
        (
            "measured only",
            "checks: [string_distance]\n",
            &[FAIL],
            "",
            0,
            "nothing failed",
        ),
        (
            "all skipped",
            "checks: [{evaluator: exact_match, on_missing: skip}]\n",
            &[NO_REFERENCE],
            "",
            0,
            "nothing failed",
        ),
    ];
    for (title, suite, data, flags, code, reason) in cases {
        let suite = format!("version: 1\n{suite}");
        let dir = Dir::with(&[("lydite.yaml", &suite), ("data.jsonl", &data.join("\n"))]);
        let ran = dir.run(&format!("run --no-store --data data.jsonl {flags}"));
        assert_eq!(ran.code, *code, "{title}: {}", ran.transcript());
        let said = ran.stdout.clone() + &ran.stderr;
        assert!(said.contains(reason), "{title}: {}", ran.transcript());
    }
}

/// A gate on a check asks for results too, and says what would settle it.
#[test]
fn a_rate_over_few_of_the_answers_is_not_met_and_the_line_that_allows_it_is_printed() {
    let suite = "version: 1\nchecks: [exact_match]\ngates: [exact_match.pass_rate >= 90%, errors <= 100%]\n";
    let data = [PASS, NO_REFERENCE, NO_REFERENCE].join("\n");
    let dir = Dir::with(&[("lydite.yaml", suite), ("data.jsonl", &data)]);
    dir.run("run --data data.jsonl --no-store").exits(0);
    dir.write(
        "lydite.yaml",
        suite.replace("errors <= 100%", "errors <= 2"),
    );
    // What `errors` allows is what coverage may lack.
    dir.run("run --data data.jsonl --no-store").exits(0);
    dir.write("lydite.yaml", suite.replace(", errors <= 100%", ""));
    let ran = dir.run("run --data data.jsonl --no-store").exits(3);
    assert!(
        ran.stdout.contains("`exact_match.coverage >= 33%`"),
        "{}",
        ran.stdout
    );
}

/// The text report says the same as the code.
#[test]
fn the_reason_stands_in_every_report() {
    let dir = Dir::with(&[
        ("lydite.yaml", SUITE),
        ("data.jsonl", &format!("{PASS}\n{FAIL}\n")),
    ]);
    let text = dir.run("run --data data.jsonl --no-store").exits(1);
    assert!(
        text.stdout.contains("\nexit 1: 2 failed\n") || text.stdout.contains("\nexit 1: "),
        "{}",
        text.stdout
    );
    let json = dir
        .run("run --data data.jsonl --no-store --format json")
        .exits(1);
    assert_eq!(json.json()["exit"]["code"], 1);
    assert!(
        json.stderr
            .contains(json.json()["exit"]["reason"].as_str().unwrap()),
        "{}",
        json.stderr
    );
}

/// A strict run ends at the first record that can't be read.
#[test]
fn strict_ends_at_the_first_bad_record_whatever_is_allowed() {
    let dir = Dir::with(&[("data.jsonl", &format!("{PASS}\n{BAD}\n{PASS}\n"))]);
    let ran: Ran = dir
        .run("run --check exact_match --data data.jsonl --no-store --strict --max-errors 100%")
        .exits(2);
    assert_eq!(
        ran.stderr,
        "error: data.jsonl:2:1: not JSON: found `n` where a JSON value was expected (--strict ends the run at the first bad record)\n"
    );
    dir.run("run --check exact_match --data data.jsonl --no-store --max-errors 1")
        .exits(0);
}

/// Errors and gates: what py-039, py-040 and py-041 ask of an aggregate.
#[test]
fn a_mean_never_stands_without_its_counts() {
    // py-039: one of three has a score.
    let suite = "version: 1\nchecks: [{evaluator: string_distance, threshold: 0.1}]\ngates: [string_distance.mean <= 0.5]\n";
    let data = [PASS, NO_REFERENCE, NO_REFERENCE].join("\n");
    let dir = Dir::with(&[("lydite.yaml", suite), ("data.jsonl", &data)]);
    let report = dir
        .run("run --data data.jsonl --no-store --format json --max-errors 0")
        .exits(3)
        .json();
    let check = &report["checks"][0];
    assert_eq!(
        (&check["n"], &check["scored"], &check["errored"]),
        (&3.into(), &1.into(), &2.into()),
        "{check}"
    );
    assert_eq!(check["mean"]["value"], 0.0);
    assert!((check["coverage"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(report["gates"][0]["status"], "missed");
    assert!(
        report["gates"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("33.3%"),
        "{report}"
    );

    // py-040, py-041: errors leave the mean a number, over those that were scored, and are counted.
    let half = [FAIL, PASS, NO_REFERENCE, PASS, FAIL].join("\n");
    dir.write("data.jsonl", half);
    let text = dir.run("run --data data.jsonl --no-store --max-errors 20%");
    assert!(
        text.stdout.contains("coverage 80% (1 errored)"),
        "{}",
        text.stdout
    );
    let report = dir
        .run("run --data data.jsonl --no-store --format json --max-errors 20%")
        .json();
    let check = &report["checks"][0];
    assert_eq!(
        (
            &check["n"],
            &check["scored"],
            &check["errored"],
            &check["mean"]["value"]
        ),
        (&5.into(), &4.into(), &1.into(), &0.5.into())
    );
}
