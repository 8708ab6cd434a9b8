//! What `--help` says, and what a typo is answered.

use crate::support::{Album, Dir, snapshot};

const COMMANDS: &[&str] = &[
    "run",
    "eval",
    "evaluators",
    "validate",
    "init",
    "report",
    "regrade",
    "runs",
    "models",
    "mock-llm",
    "schema",
    "completions",
];

#[test]
fn every_command_says_how_it_is_used() {
    let dir = Dir::new();
    let mut album = Album::default();
    album.add("lydite --help", &dir.run("--help").exits(0));
    for command in COMMANDS {
        album.add(
            &format!("lydite {command} --help"),
            &dir.run(&format!("{command} --help")).exits(0),
        );
    }
    for command in [
        "evaluators list",
        "evaluators show",
        "runs list",
        "runs show",
        "runs delete",
        "models list",
        "models pull",
        "models import",
    ] {
        album.add(
            &format!("lydite {command} -h"),
            &dir.run(&format!("{command} -h")).exits(0),
        );
    }
    album.compare("help");
}

#[test]
fn without_a_command_the_help_goes_to_stderr() {
    let ran = Dir::new().run("").exits(2);
    assert!(
        ran.stdout.is_empty() && ran.stderr.contains("Usage: lydite"),
        "{}",
        ran.transcript()
    );
}

#[test]
fn the_version_is_one_line() {
    let ran = Dir::new().run("--version").exits(0);
    assert_eq!(
        ran.stdout,
        format!("lydite {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn completions_are_scripts_for_each_shell() {
    let dir = Dir::new();
    for (shell, part) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef lydite"),
        ("fish", "complete -c lydite"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion"),
    ] {
        let ran = dir.run(&format!("completions {shell}")).exits(0);
        assert!(
            ran.stdout.contains(part) && ran.stdout.contains("max-errors"),
            "{shell}"
        );
    }
}

#[test]
fn evaluators_are_listed_and_shown() {
    let dir = Dir::new();
    let list = dir.run("evaluators list").exits(0);
    let ids: Vec<&str> = list
        .stdout
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert!(
        ids.contains(&"golden_response") && ids.is_sorted(),
        "{ids:?}"
    );
    let json = dir.run("evaluators list --json").exits(0).json();
    assert_eq!(json.as_array().unwrap().len(), ids.len());
    for id in ids {
        let page = dir.run(&format!("evaluators show {id}")).exits(0).stdout;
        for heading in [
            format!("# {id}\n"),
            "## When to use it".into(),
            "## Examples".into(),
        ] {
            assert!(page.contains(&heading), "{id}: {heading}");
        }
    }
    snapshot(
        "evaluators_show",
        &dir.run("evaluators show contains").stdout,
    );
}
