//! The kept runs; a first suite; one record and one evaluator.

use crate::support::{Album, Dir, SUITE, answers};

#[test]
fn runs_are_listed_shown_and_deleted() {
    let dir = Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &answers(3))]);
    assert_eq!(dir.run("runs list").exits(0).stdout, "");
    dir.run("run --data data.jsonl").exits(1);
    std::thread::sleep(std::time::Duration::from_millis(1100));
    dir.run("run --data data.jsonl --where id!='r0'").exits(0);
    let mut album = Album::default();
    album.add("runs list", &dir.run("runs list").exits(0));
    album.add("runs show", &dir.run("runs show").exits(0));
    album.compare("runs");
    let list = dir.run("runs list").stdout;
    let ids: Vec<&str> = list
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(dir.run("runs show latest").json()["id"], ids[1]);
    assert_eq!(
        dir.run(&format!("runs show .lydite/runs/{}", ids[0]))
            .json()["id"],
        ids[0]
    );
    // All are found before any is deleted.
    dir.run(&format!("runs delete {} nothing", ids[0])).exits(2);
    assert_eq!(dir.run("runs list").stdout.lines().count(), 2);
    let ran = dir.run(&format!("runs delete {}", ids[0])).exits(0);
    assert_eq!(ran.stdout, format!("deleted {}\n", ids[0]));
    assert_eq!(dir.run("runs list").stdout.lines().count(), 1);
}

#[test]
fn a_run_is_files_that_any_tool_reads() {
    let dir = Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &answers(3))]);
    dir.run("run --data data.jsonl").exits(1);
    let run = dir.only_run();
    let mut names: Vec<String> = std::fs::read_dir(&run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "bad_records.jsonl",
            "checkpoints.jsonl",
            "manifest.json",
            "records",
            "report.json",
            "results.jsonl",
            "suite.yaml"
        ]
    );
    assert_eq!(
        std::fs::read_to_string(run.join("suite.yaml")).unwrap(),
        SUITE
    );
    assert_eq!(
        std::fs::read_to_string(run.join("results.jsonl"))
            .unwrap()
            .lines()
            .count(),
        9
    );
    let copy = std::fs::File::open(run.join("records/0.zst")).unwrap();
    assert_eq!(zstd::decode_all(copy).unwrap(), answers(3).as_bytes());
}

#[test]
fn no_store_keeps_nothing() {
    let dir = Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &answers(3))]);
    let ran = dir.run("run --data data.jsonl --no-store").exits(1);
    assert_eq!(ran.stderr, "");
    assert!(!dir.path(".lydite").exists());
}

#[test]
fn where_no_run_can_be_kept_it_is_said() {
    let dir = Dir::with(&[
        ("lydite.yaml", SUITE),
        ("data.jsonl", &answers(3)),
        (".lydite", "a file in the way"),
    ]);
    let ran = dir.run("run --data data.jsonl").exits(2);
    assert!(
        ran.stderr.contains("can't keep the run in .lydite/runs/")
            && ran.stderr.contains("--no-store"),
        "{}",
        ran.stderr
    );
    dir.run("run --data data.jsonl --no-store").exits(1);
}

/// `init`, then `run`: green, and nothing of the user's is written over.
#[test]
fn the_first_suite_runs_and_is_green() {
    let dir = Dir::new();
    let mut album = Album::default();
    album.add("init", &dir.run("init").exits(0));
    album.add("validate", &dir.run("validate").exits(0));
    album.add("run", &dir.run("run").exits(0));
    album.add("init, again", &dir.run("init").exits(2));
    album.add("init elsewhere", &dir.run("init new/project").exits(0));
    album.add(
        "run elsewhere",
        &dir.run("run new/project/lydite.yaml --no-store --format json -o report.json")
            .exits(0),
    );
    album.compare("init");
    let half = Dir::with(&[("answers.jsonl", "mine")]);
    half.run("init").exits(2);
    assert!(!half.path("lydite.yaml").exists());
    assert_eq!(half.read("answers.jsonl"), "mine");
}

/// The quickstart of the repository, as its README has it.
#[test]
fn the_quickstart_is_green_and_its_report_readable() {
    let dir = Dir::new();
    for name in ["lydite.yaml", "support.jsonl"] {
        dir.write(
            name,
            std::fs::read(crate::support::repository("examples/quickstart").join(name)).unwrap(),
        );
    }
    let ran = dir.run("run lydite.yaml --no-store").exits(0);
    assert!(
        ran.stdout
            .contains("25 gates: 25 met\nexit 0: all 25 gates are met\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout.lines().all(|line| line.chars().count() <= 100),
        "{}",
        ran.stdout
    );
}

#[test]
fn eval_judges_one_record() {
    let dir = Dir::with(&[
        (
            "record.json",
            r#"{"output": "You have 30 days.", "contexts": ["c"]}"#,
        ),
        ("long.txt", "it says 30 days\n"),
    ]);
    let mut album = Album::default();
    let mut eval = |args: &[&str], stdin: &str, code: i32| {
        let ran = dir.piped(&[&["eval"], args].concat(), stdin).exits(code);
        album.add(&format!("eval {}", args.join(" ")), &ran);
    };
    eval(
        &[
            "golden_response",
            "--output",
            "Nairobi.",
            "--reference",
            "nairobi",
        ],
        "",
        0,
    );
    eval(
        &[
            "golden_response",
            "--output",
            "Mombasa",
            "--reference",
            "nairobi",
        ],
        "",
        1,
    );
    eval(
        &["contains", "--params", "30 days", "--record", "record.json"],
        "",
        0,
    );
    eval(
        &[
            "contains",
            "--params",
            "{phrase: 30 days, not: true}",
            "--record",
            "-",
        ],
        r#"{"output": "30 days"}"#,
        1,
    );
    eval(
        &["contains", "--params", "30 days", "--output", "@long.txt"],
        "",
        0,
    );
    eval(
        &[
            "string_distance",
            "--output",
            "abc",
            "--reference",
            "abd",
            "--params",
            "{distance: levenshtein, threshold: 0.5}",
            "--json",
        ],
        "",
        0,
    );
    eval(
        &["string_distance", "--output", "abc", "--reference", "abd"],
        "",
        0,
    );
    eval(
        &[
            "context_contains_phrase",
            "--params",
            "needle",
            "--output",
            "x",
            "--context",
            "hay",
            "--context",
            "a needle",
        ],
        "",
        0,
    );
    eval(
        &[
            "exact_match",
            "--output",
            "x",
            "--params",
            "{on_missing: skip}",
        ],
        "",
        0,
    );
    eval(
        &[
            "exact_match",
            "--output",
            "x",
            "--params",
            "{on_missing: fail}",
        ],
        "",
        1,
    );
    album.compare("eval");
}
