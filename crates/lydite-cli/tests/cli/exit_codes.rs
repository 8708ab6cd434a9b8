//! The exit codes of a run, first that fits: 2, 130 (see `interrupted`), 3, 1, 0.

use crate::support::{Dir, Ran, SUITE};

/// What a run comes to: its checks and gates, its data, flags, and the code with its reason.
struct Case {
    title: &'static str,
    suite: &'static str,
    data: &'static str,
    flags: &'static str,
    code: i32,
    reason: &'static str,
}

const PASS: &str = r#"{"output": "a", "reference": "a"}"#;
const FAIL: &str = r#"{"output": "b", "reference": "a"}"#;
const NO_REFERENCE: &str = r#"{"output": "b"}"#;
const BAD: &str = "no JSON";

const CHECK: &str = "checks: [exact_match]\n";

#[test]
fn a_run_ends_with_the_first_code_that_fits() {
    let join = |lines: &[&str]| lines.join("\n");
    let cases = [
        // 2: nothing to run.
        Case { title: "an empty file", suite: CHECK, data: "", flags: "", code: 2, reason: "the data has no record" },
        Case { title: "blank lines alone", suite: CHECK, data: "\n  \n\n", flags: "", code: 2, reason: "the data has no record" },
        Case { title: "nothing readable", suite: CHECK, data: BAD, flags: "", code: 2, reason: "no record is left, and 1 could not be judged" },
        Case { title: "nothing readable, all allowed", suite: CHECK, data: BAD, flags: "--max-errors 100%", code: 2, reason: "no record is left" },
        // pf-agg-06: an empty selection is not green.
        Case { title: "a filter that selects nothing", suite: CHECK, data: PASS, flags: "--where output==\"z\"", code: 2, reason: "none of 1 records was selected" },
        Case { title: "no check", suite: "name: x\n", data: PASS, flags: "", code: 2, reason: "there is no check" },
        // 3 before 1: no verdict.
        Case { title: "an errored cell", suite: CHECK, data: &join(&[PASS, NO_REFERENCE]).leak()[..], flags: "", code: 3, reason: "1 error where 0 are allowed" },
        Case { title: "a bad line", suite: CHECK, data: &join(&[PASS, BAD]).leak()[..], flags: "", code: 3, reason: "1 error where 0 are allowed" },
        Case { title: "a bad line beside a failure", suite: CHECK, data: &join(&[FAIL, BAD]).leak()[..], flags: "", code: 3, reason: "1 error where 0" },
        Case { title: "as many as allowed", suite: CHECK, data: &join(&[PASS, BAD]).leak()[..], flags: "--max-errors 1", code: 0, reason: "nothing failed" },
        Case { title: "more than allowed", suite: CHECK, data: &join(&[PASS, BAD, BAD]).leak()[..], flags: "--max-errors 1", code: 3, reason: "2 errors where 1 are allowed" },
        Case { title: "as great a share as allowed", suite: CHECK, data: &join(&[PASS, BAD]).leak()[..], flags: "--max-errors 50%", code: 0, reason: "nothing failed" },
        Case { title: "a greater share", suite: CHECK, data: &join(&[PASS, BAD]).leak()[..], flags: "--max-errors 49.9%", code: 3, reason: "1 error where 49.9% are allowed" },
        Case { title: "an errored cell that is allowed", suite: CHECK, data: &join(&[PASS, NO_REFERENCE]).leak()[..], flags: "--max-errors 1", code: 0, reason: "nothing failed" },
        Case { title: "an errored cell that is allowed beside a failure", suite: CHECK, data: &join(&[FAIL, NO_REFERENCE]).leak()[..], flags: "--max-errors 1", code: 1, reason: "1 failed" },
        Case { title: "a gate allows errors", suite: "checks: [exact_match]\ngates: [errors <= 50%]\n", data: &join(&[PASS, BAD]).leak()[..], flags: "", code: 0, reason: "the gate is met" },
        Case { title: "a gate without a value", suite: "checks: [{evaluator: exact_match, on_missing: skip}]\ngates: [exact_match.pass_rate >= 0]\n", data: NO_REFERENCE, flags: "", code: 3, reason: "no value for exact_match.pass_rate >= 0" },
        // 1: not good enough.
        Case { title: "a failure", suite: CHECK, data: &join(&[PASS, FAIL]).leak()[..], flags: "", code: 1, reason: "1 failed" },
        Case { title: "a missed gate", suite: "checks: [exact_match]\ngates: [exact_match.pass_rate >= 90%]\n", data: &join(&[PASS, FAIL]).leak()[..], flags: "", code: 1, reason: "missed: exact_match.pass_rate >= 90%" },
        // 0.
        Case { title: "all pass", suite: CHECK, data: PASS, flags: "", code: 0, reason: "nothing failed" },
        Case { title: "failures that gates can live with", suite: "checks: [exact_match]\ngates: [exact_match.pass_rate >= 50%]\n", data: &join(&[PASS, FAIL]).leak()[..], flags: "", code: 0, reason: "the gate is met" },
        Case { title: "measured only", suite: "checks: [string_distance]\n", data: FAIL, flags: "", code: 0, reason: "nothing failed" },
        Case { title: "all skipped", suite: "checks: [{evaluator: exact_match, on_missing: skip}]\n", data: NO_REFERENCE, flags: "", code: 0, reason: "nothing failed" },
    ];
    for case in cases {
        let suite = format!("version: 1\n{}", case.suite);
        let dir = Dir::with(&[("lydite.yaml", &suite), ("data.jsonl", case.data)]);
        let ran = dir.run(&format!("run --no-store --data data.jsonl {}", case.flags));
        assert_eq!(ran.code, case.code, "{}: {}", case.title, ran.transcript());
        assert!((ran.stdout.clone() + &ran.stderr).contains(case.reason), "{}: {}", case.title, ran.transcript());
    }
}

/// A gate on a check asks for results too, and says what would settle it.
#[test]
fn a_rate_over_few_of_the_answers_is_not_met_and_the_line_that_allows_it_is_printed() {
    let suite = "version: 1\nchecks: [exact_match]\ngates: [exact_match.pass_rate >= 90%, errors <= 100%]\n";
    let data = [PASS, NO_REFERENCE, NO_REFERENCE].join("\n");
    let dir = Dir::with(&[("lydite.yaml", suite), ("data.jsonl", &data)]);
    dir.run("run --data data.jsonl --no-store").exits(0);
    dir.write("lydite.yaml", suite.replace("errors <= 100%", "errors <= 2"));
    // What `errors` allows is what coverage may lack.
    dir.run("run --data data.jsonl --no-store").exits(0);
    dir.write("lydite.yaml", suite.replace(", errors <= 100%", ""));
    let ran = dir.run("run --data data.jsonl --no-store").exits(3);
    assert!(ran.stdout.contains("`exact_match.coverage >= 33%`"), "{}", ran.stdout);
}

/// The text report says the same as the code.
#[test]
fn the_reason_stands_in_every_report() {
    let dir = Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &format!("{PASS}\n{FAIL}\n"))]);
    let text = dir.run("run --data data.jsonl --no-store").exits(1);
    assert!(text.stdout.contains("\nexit 1: 2 failed\n") || text.stdout.contains("\nexit 1: "), "{}", text.stdout);
    let json = dir.run("run --data data.jsonl --no-store --format json").exits(1);
    assert_eq!(json.json()["exit"]["code"], 1);
    assert!(json.stderr.contains(json.json()["exit"]["reason"].as_str().unwrap()), "{}", json.stderr);
}

/// A strict run ends at the first record that can't be read.
#[test]
fn strict_ends_at_the_first_bad_record_whatever_is_allowed() {
    let dir = Dir::with(&[("data.jsonl", &format!("{PASS}\n{BAD}\n{PASS}\n"))]);
    let ran: Ran = dir.run("run --check exact_match --data data.jsonl --no-store --strict --max-errors 100%").exits(2);
    assert_eq!(ran.stderr, "error: data.jsonl:2:1: not JSON: found `n` where a JSON value was expected (--strict ends the run at the first bad record)\n");
    dir.run("run --check exact_match --data data.jsonl --no-store --max-errors 1").exits(0);
}

/// Errors and gates: what py-039, py-040 and py-041 ask of an aggregate.
#[test]
fn a_mean_never_stands_without_its_counts() {
    // py-039: one of three has a score.
    let suite = "version: 1\nchecks: [{evaluator: string_distance, threshold: 0.1}]\ngates: [string_distance.mean <= 0.5]\n";
    let data = [PASS, NO_REFERENCE, NO_REFERENCE].join("\n");
    let dir = Dir::with(&[("lydite.yaml", suite), ("data.jsonl", &data)]);
    let report = dir.run("run --data data.jsonl --no-store --format json --max-errors 0").exits(3).json();
    let check = &report["checks"][0];
    assert_eq!((&check["n"], &check["scored"], &check["errored"]), (&3.into(), &1.into(), &2.into()), "{check}");
    assert_eq!(check["mean"]["value"], 0.0);
    assert!((check["coverage"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(report["gates"][0]["status"], "missed");
    assert!(report["gates"][0]["reason"].as_str().unwrap().contains("33.3%"), "{report}");

    // py-040, py-041: errors leave the mean a number, over those that were scored, and are counted.
    let half = [FAIL, PASS, NO_REFERENCE, PASS, FAIL].join("\n");
    dir.write("data.jsonl", half);
    let text = dir.run("run --data data.jsonl --no-store --max-errors 20%");
    assert!(text.stdout.contains("coverage 80% (1 errored)"), "{}", text.stdout);
    let report = dir.run("run --data data.jsonl --no-store --format json --max-errors 20%").json();
    let check = &report["checks"][0];
    assert_eq!((&check["n"], &check["scored"], &check["errored"], &check["mean"]["value"]), (&5.into(), &4.into(), &1.into(), &0.5.into()));
}
