//! Wrong flags, and files that are not what they should be.

use crate::support::{Album, Dir, SUITE, answers};

fn dir() -> Dir {
    Dir::with(&[
        ("lydite.yaml", SUITE),
        ("data.jsonl", &answers(3)),
        ("empty.jsonl", ""),
        ("notes.txt", "some words"),
        ("answers.dat", "\u{1}\u{2}"),
        ("data.parquet", "PAR1\u{0}\u{0}PAR1"),
        ("data.arrow", "ARROW1\u{0}\u{0}"),
        ("object.json", r#"{"output": "a"}"#),
        ("two.json", r#"{"data": [], "records": []}"#),
        ("cut.json", r#"[{"output": "a"}, {"outp"#),
        ("number.json", "42"),
        ("answers.xlsx", "PK\u{3}\u{4}"),
    ])
}

/// Whole command lines; `'` holds an argument with spaces together.
const LINES: &[&str] = &[
    "run --dta data.jsonl",
    "run --data",
    "run --data nothing.jsonl",
    "run --data .",
    "run --data empty.jsonl",
    "run --data notes.txt",
    "run --data answers.dat",
    "run --data data.parquet",
    "run --data data.arrow",
    "run --data answers.xlsx",
    "run --data object.json",
    "run --data two.json",
    "run --data cut.json",
    "run --data number.json",
    "run --data - --data -",
    "run",
    "run nothing.yaml --data data.jsonl",
    "run --data data.jsonl --check equalz",
    "run --data data.jsonl --check 'contains: {phrse: a}'",
    "run --data data.jsonl --check '[a'",
    "run --data data.jsonl --check @nothing.yaml",
    "run --data data.jsonl --where 'metadata.lang ='",
    "run --data data.jsonl --where 'langauge == 1'",
    "run --data data.jsonl --limit many",
    "run --data data.jsonl --limit -1",
    "run --data data.jsonl --seed 3",
    "run --data data.jsonl --sample 0",
    "run --data data.jsonl --shard 0/3",
    "run --data data.jsonl --shard 4/3",
    "run --data data.jsonl --shard half",
    "run --data data.jsonl --max-errors lots",
    "run --data data.jsonl --max-errors 101%",
    "run --data data.jsonl --max-errors -1",
    "run --data data.jsonl --max-errors 0.5",
    "run --data data.jsonl --format yaml",
    "run --data data.jsonl --format parquet",
    "run --data data.jsonl --output report.pdf",
    "run --data data.jsonl --output nowhere/report.json",
    "run --data data.jsonl --output data.jsonl",
    "run --data data.jsonl --output a.json --output a.json",
    "run --data data.jsonl --threads 0",
    "run --data data.jsonl --threads two",
    "run --data data.jsonl --no-store --resume",
    "run --data data.jsonl --resume",
    "run --data data.jsonl --resume=20200101-000000-abcdef",
    "rn",
    "evaluate",
    "eval",
    "eval golden_respnse --output a",
    "eval contains --output a",
    "eval contains --params 'phrase: [1'",
    "eval contains --params '{phrse: a}' --output a",
    "eval contains --params a --output @nothing.txt",
    "eval exact_match --record object.json --reference a --record nothing.json",
    "eval exact_match --record notes.txt",
    "eval exact_match --output a",
    "evaluators",
    "evaluators show containz",
    "validate nothing.yaml",
    "report",
    "report 20200101-000000-abcdef",
    "regrade",
    "runs show",
    "runs delete",
    "runs delete nothing",
    "schema suit",
    "completions cmd",
];

#[test]
fn wrong_command_lines_are_refused_and_say_what_to_do() {
    let dir = dir();
    let mut album = Album::default();
    for line in LINES {
        let ran = dir.args(&words(line));
        let is_verdict = line.starts_with("eval exact_match --output");
        assert_eq!(
            ran.code,
            if is_verdict { 3 } else { 2 },
            "{line}: {}",
            ran.transcript()
        );
        album.add(&format!("lydite {line}"), &ran);
    }
    album.compare("wrong_flags");
    assert_eq!(
        dir.read("data.jsonl"),
        answers(3),
        "the data was written over"
    );
    assert!(
        !dir.path(".lydite").exists()
            || std::fs::read_dir(dir.path(".lydite/runs")).unwrap().count() <= 1
    );
}

/// A file that was there is still there after a run that was refused.
#[test]
fn a_refused_run_leaves_the_outputs_of_the_last_one() {
    let dir = dir();
    dir.write("report.json", "of yesterday");
    dir.run("run --data data.jsonl --check equalz --output report.json")
        .exits(2);
    dir.run("run --data nothing.jsonl --output report.json")
        .exits(2);
    assert_eq!(dir.read("report.json"), "of yesterday");
    dir.run("run --data data.jsonl --no-store --output report.json")
        .exits(1);
    assert!(dir.read("report.json").starts_with('{'));
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = dir();
    dir.write("locked/lydite.yaml", SUITE);
    dir.write("locked/data.jsonl", answers(3));
    let locked = dir.path("locked");
    let chmod =
        |mode| std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(mode)).unwrap();
    chmod(0o555);
    // root may write everywhere.
    let is_root = std::fs::write(locked.join("probe"), "").is_ok();
    let ran = |args: &[&str]| {
        let output = dir.command(args).current_dir(&locked).output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (stored, unstored) = (
        ran(&["run", "--data", "data.jsonl"]),
        ran(&["run", "--data", "data.jsonl", "--no-store"]),
    );
    chmod(0o755);
    assert_eq!(unstored.0, Some(1), "{}", unstored.1);
    if !is_root {
        assert_eq!(stored.0, Some(2));
        assert!(
            stored.1.contains("Permission denied")
                && stored.1.contains(".lydite")
                && stored.1.contains("--no-store"),
            "{}",
            stored.1
        );
    }
}

fn words(line: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for (index, part) in line.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part);
        } else {
            words.extend(part.split_whitespace());
        }
    }
    words
}
