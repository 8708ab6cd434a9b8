//! New thresholds, `not` and gates on a stored run.

use crate::support::{Dir, answers, timeless};

const SUITE: &str = "\
version: 1
name: sums
checks:
  - golden_response
  - {evaluator: string_distance, threshold: 0.03}
gates: [string_distance.pass_rate >= 0.9]
";

fn dir() -> Dir {
    let dir = Dir::with(&[
        ("lydite.yaml", SUITE),
        (
            "data.jsonl",
            &(answers(30) + "{\"output\": \"no reference\"}\nbad\n"),
        ),
    ]);
    dir.run("run --data data.jsonl --max-errors 20% -o first.json -o first.jsonl")
        .exits(1);
    dir
}

#[test]
fn report_gives_the_stored_run_again() {
    let dir = dir();
    let again = dir.run("report --format json").exits(1);
    assert_eq!(timeless(&again.stdout), timeless(&dir.read("first.json")));
    assert_eq!(
        dir.run("report --format jsonl").stdout,
        dir.read("first.jsonl")
    );
    // What the run was given holds, unless another allowance is given.
    dir.run("report --max-errors 0").exits(3);
    // The suite's file may be gone.
    std::fs::remove_file(dir.path("lydite.yaml")).unwrap();
    dir.run("report --max-errors 20%").exits(1);
}

#[test]
fn new_thresholds_not_and_gates_hold_without_judging_again() {
    let dir = dir();
    std::fs::remove_file(dir.path("data.jsonl")).unwrap();
    for (suite, code) in [
        (SUITE.to_owned(), 1),
        (SUITE.replace("threshold: 0.03", "threshold: 0.2"), 0),
        (SUITE.replace(">= 0.9", ">= 0.5"), 0),
        (
            SUITE
                .replace("threshold: 0.03", "threshold: 0.03, not: true")
                .replace(">= 0.9", "<= 0.4"),
            0,
        ),
        (
            SUITE
                .replace("gates", "# gates")
                .replace(", threshold: 0.03", ""),
            1,
        ),
    ] {
        dir.write("lydite.yaml", &suite);
        let ran = dir.run("regrade");
        assert_eq!(ran.code, code, "{suite}{}", ran.transcript());
    }
    // The run itself is as it was.
    assert_eq!(
        timeless(&dir.run("report --max-errors 20% --format json").stdout),
        timeless(&dir.read("first.json"))
    );
}

/// A regraded run is the run that the changed suite would have made.
#[test]
fn a_regraded_run_is_the_run_of_the_new_suite() {
    let dir = dir();
    let changed = SUITE
        .replace("threshold: 0.03", "threshold: 0.01, not: true")
        .replace(
            "- golden_response",
            "- {evaluator: golden_response, not: true}",
        )
        .replace(">= 0.9", ">= 0.2");
    dir.write("new.yaml", &changed);
    let regraded =
        dir.run("regrade --suite new.yaml --max-errors 20% --format json -o regraded.jsonl");
    let fresh = dir.run("run new.yaml --data data.jsonl --no-store --max-errors 20% --format json -o fresh.jsonl").exits(regraded.code);
    assert_eq!(timeless(&regraded.stdout), timeless(&fresh.stdout));
    assert_eq!(dir.read("regraded.jsonl"), dir.read("fresh.jsonl"));
}

#[test]
fn what_needs_judging_is_refused() {
    let dir = dir();
    for (suite, reason) in [
        (
            SUITE.replace("golden_response\n", "golden_response: {ignore: []}\n"),
            "",
        ),
        (
            SUITE.replace(
                "string_distance, ",
                "string_distance, params: {distance: levenshtein}, ",
            ),
            "the check `string_distance` changed more than its threshold or `not`; run it anew",
        ),
        (
            SUITE.replace("  - golden_response\n", ""),
            "the suite has no check `golden_response` any more; run it anew",
        ),
        (
            SUITE.replace("checks:\n", "checks:\n  - exact_match\n"),
            "the check `exact_match` was not in the run; run it anew",
        ),
        (
            SUITE.replace(
                "- golden_response",
                "- {evaluator: exact_match, name: golden_response}",
            ),
            "the check `golden_response` changed more than",
        ),
        (
            SUITE.replace("string_distance.pass_rate", "string_distanc.pass_rate"),
            "no check is named `string_distanc`",
        ),
    ] {
        dir.write("lydite.yaml", &suite);
        let ran = dir.run("regrade").exits(2);
        assert!(ran.stderr.contains(reason), "{suite}{}", ran.stderr);
    }
}
