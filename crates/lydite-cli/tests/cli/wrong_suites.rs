//! Every kind of wrong suite: what is said, and that nothing is run.

use crate::support::{Album, Dir};

/// Each file of `wrong_suites/` says in a comment what is wrong with it.
#[test]
fn wrong_suites_are_refused_with_place_and_help() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/wrong_suites");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut album = Album::default();
    for file in files {
        let suite = std::fs::read_to_string(&file).unwrap();
        let dir = Dir::with(&[
            ("lydite.yaml", &suite),
            ("data.jsonl", r#"{"output": "a", "reference": "a"}"#),
        ]);
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let ran = dir.run("run").exits(2);
        assert_eq!(ran.stdout, "", "{name}");
        assert!(
            !dir.path(".lydite/runs").exists()
                || std::fs::read_dir(dir.path(".lydite/runs")).unwrap().count() == 0,
            "{name} left a run"
        );
        album.add(&name, &ran);
    }
    album.compare("wrong_suites");
}

/// A suite that is no text.
#[test]
fn a_suite_is_a_file_of_utf8() {
    let dir = Dir::with(&[("data.jsonl", r#"{"output": "a", "reference": "a"}"#)]);
    dir.write("latin1.yaml", b"version: 1\nname: caf\xe9\n");
    let ran = dir.run("run latin1.yaml --data data.jsonl").exits(2);
    assert_eq!(
        ran.stderr,
        "error: the suite `latin1.yaml` is not UTF-8 (byte 20)\n"
    );
    let ran = dir.run("run . --data data.jsonl").exits(2);
    assert!(
        ran.stderr.contains("can't read the suite `.`"),
        "{}",
        ran.stderr
    );
    // A byte order mark and Windows' line ends are no reason to refuse one.
    dir.write(
        "windows.yaml",
        "\u{feff}version: 1\r\nchecks:\r\n  - exact_match\r\n",
    );
    dir.run("run windows.yaml --data data.jsonl --no-store")
        .exits(0);
    // JSON is YAML.
    dir.write("suite.json", r#"{"version": 1, "checks": ["exact_match"]}"#);
    dir.run("run suite.json --data data.jsonl --no-store")
        .exits(0);
}

/// What is not wrong but of no effect, or read with care, is told.
#[test]
fn notes_go_to_stderr_and_the_run_goes_on() {
    let mut album = Album::default();
    for (title, suite) in [
        ("no version", "checks: [exact_match]\n"),
        (
            "repeat and judge",
            "version: 1\nchecks: [{evaluator: exact_match, judge: main, repeat: 3}]\n",
        ),
        (
            "a place that is none",
            "version: 1\nchecks: [{equals: {value: 'in {{ city }}'}}]\n",
        ),
        (
            "models",
            "version: 1\nmodels: {judge: openai/x}\nchecks: [exact_match]\n",
        ),
    ] {
        let dir = Dir::with(&[
            ("lydite.yaml", suite),
            (
                "data.jsonl",
                r#"{"output": "a", "reference": "a", "variables": {"city": "b"}}"#,
            ),
        ]);
        let mut ran = dir.run("run --data data.jsonl --no-store");
        assert!(ran.code < 2, "{title}: {}", ran.transcript());
        ran.stdout.clear();
        album.add(title, &ran);
    }
    album.compare("notes");
}

/// `validate` says the same, but for what only the data can tell.
#[test]
fn validate_finds_the_same_errors_without_data() {
    let suite = "version: 1\nname: x\nchekcs: [equals]\nchecks:\n  - contians: a\n  - regex: '('\ngates: [equals.pass_rat >= 1]\n";
    let dir = Dir::with(&[("lydite.yaml", suite)]);
    let validated = dir.run("validate").exits(2);
    let ran = dir.run("run --data nothing-there.jsonl").exits(2);
    assert_eq!(validated, ran);
    for part in ["3:1", "5:5", "6:12", "7:"] {
        assert!(
            validated.stderr.contains(part),
            "{part}: {}",
            validated.stderr
        );
    }
}
