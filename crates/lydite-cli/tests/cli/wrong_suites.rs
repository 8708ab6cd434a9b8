//! Every kind of wrong suite: what is said, and that nothing is run.

use crate::support::{Album, Dir};

/// Each file of `wrong_suites/` says in a comment what is wrong with it.
#[test]
fn wrong_suites_are_refused_with_place_and_help() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/wrong_suites");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut album = Album::default();
    for file in files {
        let suite = std::fs::read_to_string(&file).unwrap();
        let dir = Dir::with(&[("lydite.yaml", &suite), ("data.jsonl", r#"{"output": "a", "reference": "a"}"#)]);
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let ran = dir.run("run").exits(2);
        assert_eq!(ran.stdout, "", "{name}");
        assert!(!dir.path(".lydite/runs").exists() || std::fs::read_dir(dir.path(".lydite/runs")).unwrap().count() == 0, "{name} left a run");
        album.add(&name, &ran);
    }
    album.compare("wrong_suites");
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
        assert!(validated.stderr.contains(part), "{part}: {}", validated.stderr);
    }
}
