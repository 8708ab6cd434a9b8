//! What is written: every format, to stdout and to files.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::{Dir, json_lines, snapshot, timeless};

/// Each verdict, each kind of check, a quote and a line break that CSV and XML must escape, and a bad line.
const DATA: &str = r#"{"id": "right", "query": "Capital of Kenya?", "output": "Nairobi.", "reference": "Nairobi", "tags": ["geo"], "model": "m1"}
{"id": "wrong", "query": "Say \"<b>&\"", "output": "line 1\nline \"2\" <b>&amp;</b>, ünï 🙂", "reference": "x", "tags": ["markup"]}
{"id": "lacking", "output": "no reference here"}
not a record
{"id": "skipped", "output": "short", "reference": "Short", "metadata": {"lang": "de"}}
"#;

const SUITE: &str = "\
version: 1
name: formats
checks:
  - golden_response
  - {evaluator: string_distance, name: near, threshold: 0.5, when: 'metadata.lang != \"de\"', on_missing: skip}
  - {evaluator: contains_any, name: no_markup, params: {phrases: ['<b>']}, not: true}
gates:
  - golden_response.pass_rate >= 0.9
  - no_markup.pass_rate >= 0.5
  - near.median <= 1
";

const FORMATS: &[(&str, &str)] = &[
    ("text", "txt"),
    ("json", "json"),
    ("jsonl", "jsonl"),
    ("csv", "csv"),
    ("junit", "xml"),
    ("markdown", "md"),
];

fn dir() -> Dir {
    Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", DATA)])
}

#[test]
fn every_format_goes_to_stdout() {
    let dir = dir();
    for format in [
        "text",
        "json",
        "jsonl",
        "csv",
        "junit",
        "markdown",
        "langsmith",
    ] {
        let ran = dir
            .run(&format!(
                "run --data data.jsonl --no-store --max-errors 2 --format {format}"
            ))
            .exits(1);
        snapshot(&format!("format_{format}"), &ran.transcript());
    }
}

#[test]
fn wide_results_have_a_line_a_record() {
    let dir = dir();
    for format in ["jsonl", "csv"] {
        let ran = dir
            .run(&format!(
                "run --data data.jsonl --no-store --wide --format {format}"
            ))
            .exits(3);
        snapshot(&format!("format_{format}_wide"), &ran.transcript());
    }
}

/// One run writes them all; each file is what stdout would have had.
#[test]
fn files_get_what_their_ending_says() {
    let dir = dir();
    let mut line = "run --data data.jsonl --max-errors 2 --no-store".to_owned();
    for (format, ending) in FORMATS {
        write!(line, " --output {format}.{ending}").unwrap();
    }
    let ran = dir.run(&line).exits(1);
    // Text went to a file, so stdout has nothing.
    assert_eq!(ran.stdout, "");
    for (format, ending) in FORMATS {
        let written = dir.read(&format!("{format}.{ending}"));
        let said = dir
            .run(&format!(
                "run --data data.jsonl --max-errors 2 --no-store --format {format}"
            ))
            .stdout;
        if *format == "json" {
            assert_eq!(timeless(&written), timeless(&said));
        } else {
            assert_eq!(without_times(&written), without_times(&said), "{format}");
        }
    }
    // A name without a known ending takes --format.
    dir.run("run --data data.jsonl --max-errors 2 --no-store --format langsmith -o feedback.out")
        .exits(1);
    assert!(json_lines(&dir.read("feedback.out")).len() > 4);
}

#[test]
fn csv_has_the_same_results_as_jsonl() {
    let dir = dir();
    let lines = dir
        .run("run --data data.jsonl --no-store --format jsonl")
        .lines();
    let table = dir
        .run("run --data data.jsonl --no-store --format csv")
        .stdout;
    assert!(table.starts_with("record,model,trial,check"), "{table}");
    for line in &lines {
        let start = format!(
            "{},{},1,{}",
            line["record"].as_str().unwrap(),
            line["model"].as_str().unwrap_or(""),
            line["check"].as_str().unwrap()
        );
        assert!(table.contains(&start), "{start}: {table}");
    }
    assert_eq!(lines.len(), 12);
}

#[test]
fn defaults_are_left_out_of_a_line_and_not_nan() {
    let dir = dir();
    let lines = dir
        .run("run --data data.jsonl --no-store --format jsonl")
        .lines();
    let right = &lines[0];
    assert_eq!(
        (
            &right["record"],
            &right["check"],
            &right["verdict"],
            &right["score"]
        ),
        (
            &"right".into(),
            &"golden_response".into(),
            &"pass".into(),
            &1.0.into()
        )
    );
    for key in [
        "warnings", "error", "skipped", "usage", "cached", "natural", "repeat",
    ] {
        assert_eq!(right.get(key), None, "{key}");
    }
    let negated = lines
        .iter()
        .find(|line| line["record"] == "wrong" && line["check"] == "no_markup")
        .unwrap();
    assert_eq!(
        (&negated["verdict"], &negated["natural"], &negated["score"]),
        (&"fail".into(), &"pass".into(), &1.0.into())
    );
    let errored = lines
        .iter()
        .find(|line| line["record"] == "lacking" && line["check"] == "golden_response")
        .unwrap();
    assert_eq!(
        (&errored["verdict"], &errored["error"]["code"]),
        (&"inconclusive".into(), &"missing_field".into())
    );
    assert!(errored["score"].is_null());
}

/// JUnit, as CI reads it: counts that fit, the reasons in it, errors told from failures.
#[test]
fn junit_counts_what_it_lists() {
    let dir = dir();
    let xml = dir
        .run("run --data data.jsonl --no-store --format junit")
        .stdout;
    let count = |what: &str| xml.matches(what).count();
    let root = xml
        .lines()
        .find(|line| line.contains("<testsuites"))
        .unwrap();
    assert!(
        root.contains(&format!("failures=\"{}\"", count("<failure"))),
        "{root}"
    );
    assert!(
        root.contains(&format!("errors=\"{}\"", count("<error"))),
        "{root}"
    );
    assert!(
        root.contains(&format!("tests=\"{}\"", count("<testcase"))),
        "{root}"
    );
    assert!(xml.contains("&lt;b&gt;"), "{xml}");
}

/// A reader that has gone (`| head`) is no error of the run.
#[cfg(unix)]
#[test]
fn a_closed_pipe_does_not_end_the_run() {
    let dir = dir();
    dir.write("many.jsonl", crate::support::answers(20_000));
    let command = format!(
        "{} run --check golden_response --data many.jsonl --format jsonl -o report.json | head -n 1",
        env!("CARGO_BIN_EXE_lydite")
    );
    let output = std::process::Command::new("sh")
        .args(["-c", &command])
        .current_dir(dir.path(""))
        .output()
        .unwrap();
    assert_eq!(
        json_lines(&String::from_utf8(output.stdout).unwrap()).len(),
        1
    );
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        !stderr.contains("panicked") && !stderr.contains("error"),
        "{stderr}"
    );
    let report: Value = serde_json::from_str(&dir.read("report.json")).unwrap();
    assert_eq!(report["records"]["judged"], 20_000);
    // Commands that only print do not panic either.
    for line in [
        "evaluators list",
        "schema suite",
        "completions bash",
        "runs list",
        "evaluators show contains",
    ] {
        let command = format!("{} {line} | true", env!("CARGO_BIN_EXE_lydite"));
        let output = std::process::Command::new("sh")
            .args(["-c", &command])
            .current_dir(dir.path(""))
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(!stderr.contains("panicked"), "{line}: {stderr}");
    }
}

/// Text without the times that a report shows.
fn without_times(text: &str) -> String {
    text.lines()
        .filter(|line| !line.contains("timestamp=\""))
        .fold(String::new(), |text, line| text + line + "\n")
}
