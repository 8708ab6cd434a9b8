//! Which records are judged: `--where`, `--sample`, `--limit`, `--shard`, in this order; and on how many threads.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::support::{Dir, SUITE, answers, timeless};

const N: usize = 60;

fn dir() -> Dir {
    Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &answers(N))])
}

/// The ids of the records that are judged, in order.
fn ids(dir: &Dir, flags: &[&str]) -> Vec<String> {
    let args = [
        &[
            "run",
            "--no-store",
            "--format",
            "jsonl",
            "--wide",
            "--data",
            "data.jsonl",
        ],
        flags,
    ]
    .concat();
    let ran = dir.args(&args);
    assert!(ran.code < 2, "{flags:?}: {}", ran.transcript());
    ran.lines()
        .iter()
        .map(|line| line["record"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn where_keeps_what_its_expression_holds_for() {
    let dir = dir();
    assert_eq!(ids(&dir, &["--where", "'t1' in tags"]).len(), N / 2);
    assert_eq!(
        ids(&dir, &["--where", "id == 'r7' or id == 'r5'"]),
        ["r5", "r7"]
    );
    assert_eq!(
        ids(&dir, &["--where", "output | length == 8"]),
        (0..9).map(|i| format!("r{i}")).collect::<Vec<_>>()
    );
    // The dataset's own `where` holds beside it.
    dir.write(
        "lydite.yaml",
        format!("{SUITE}dataset: {{path: data.jsonl, where: \"'t1' in tags\"}}\n"),
    );
    let ran = dir.args(&[
        "run",
        "--no-store",
        "--format",
        "json",
        "--where",
        "id == 'r7' or id == 'r6'",
    ]);
    assert_eq!(ran.json()["records"]["judged"], 1);
    // An expression that fails on a record is an error of that record, not false.
    let ran = dir.args(&[
        "run",
        "--no-store",
        "--data",
        "data.jsonl",
        "--where",
        "metadata.price / 0 > 1",
    ]);
    assert!(ran.code >= 2, "{}", ran.transcript());
}

#[test]
fn a_sample_depends_on_its_seed_alone() {
    let dir = dir();
    let first = ids(&dir, &["--sample", "10", "--seed", "1"]);
    assert_eq!(first.len(), 10);
    assert_eq!(
        first,
        ids(&dir, &["--sample", "10", "--seed", "1", "--threads", "4"])
    );
    assert_ne!(first, ids(&dir, &["--sample", "10", "--seed", "2"]));
    assert_eq!(
        ids(&dir, &["--sample", "10"]),
        ids(&dir, &["--sample", "10", "--seed", "0"])
    );
    // In the order of the data.
    let number = |id: &String| id[1..].parse::<usize>().unwrap();
    assert!(first.iter().map(number).is_sorted());
    // Another order of the records is no other sample.
    let mut lines: Vec<String> = answers(N).lines().map(str::to_owned).collect();
    lines.reverse();
    dir.write("data.jsonl", lines.join("\n"));
    let set = |ids: Vec<String>| ids.into_iter().collect::<BTreeSet<_>>();
    assert_eq!(
        set(first.clone()),
        set(ids(&dir, &["--sample", "10", "--seed", "1"]))
    );
    // A smaller sample of one seed lies within a larger one; more than there are is all.
    assert!(set(ids(&dir, &["--sample", "4", "--seed", "1"])).is_subset(&set(first)));
    assert_eq!(ids(&dir, &["--sample", "1000"]).len(), N);
}

#[test]
fn the_order_is_where_sample_limit_shard() {
    let dir = dir();
    let filter = ["--where", "'t1' in tags"];
    let sample = ids(
        &dir,
        &[&filter[..], &["--sample", "12", "--seed", "5"]].concat(),
    );
    assert_eq!(sample.len(), 12);
    let limited = ids(
        &dir,
        &[
            &filter[..],
            &["--sample", "12", "--seed", "5", "--limit", "5"],
        ]
        .concat(),
    );
    assert_eq!(limited, sample[..5]);
    let mut sharded: Vec<String> = Vec::new();
    for shard in ["1/3", "2/3", "3/3"] {
        sharded.extend(ids(
            &dir,
            &[
                &filter[..],
                &[
                    "--sample", "12", "--seed", "5", "--limit", "5", "--shard", shard,
                ],
            ]
            .concat(),
        ));
    }
    sharded.sort_by_key(|id| limited.iter().position(|other| other == id));
    assert_eq!(sharded, limited);
    assert_eq!(ids(&dir, &["--limit", "3"]), ["r0", "r1", "r2"]);
    // The suite says the same; a flag overrides it.
    dir.write("lydite.yaml", format!("{SUITE}dataset: {{path: data.jsonl, where: \"'t1' in tags\", sample: 12, seed: 5, limit: 5}}\n"));
    let judged = |flags: &str| {
        dir.run(&format!("run --no-store --format jsonl --wide {flags}"))
            .lines()
            .len()
    };
    assert_eq!((judged(""), judged("--limit 2")), (5, 2));
}

/// Seven shards are disjoint and complete, and their reports merge to that of one run.
#[test]
fn shards_merge_to_the_report_of_one_run() {
    let suite = format!(
        "{SUITE}gates: [golden_response.pass_rate >= 0.6, string_distance.median <= 0.2, errors <= 2]\n"
    );
    let data = answers(N) + "no record\n" + &answers(4).replace("\"id\": \"r", "\"id\": \"s");
    let dir = Dir::with(&[("lydite.yaml", &suite), ("data.jsonl", &data)]);
    let whole = dir.run("run --data data.jsonl --format json").exits(0);
    let whole_run = dir
        .only_run()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let mut runs = Vec::new();
    let mut seen = BTreeSet::new();
    for k in 1..=7 {
        let ran = dir.run(&format!(
            "run --data data.jsonl --shard {k}/7 --format jsonl"
        ));
        // Each shard sees the bad line; no gate is judged on a part.
        assert_eq!(ran.code, 0, "{}", ran.transcript());
        for line in ran.lines() {
            assert!(
                seen.insert((line["record"].to_string(), line["check"].to_string())),
                "twice: {line}"
            );
        }
        let kept = ran
            .stderr
            .split_whitespace()
            .last()
            .unwrap()
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        runs.push(kept);
    }
    assert_eq!(seen.len(), (N + 4) * 3);

    let merge = |runs: &[String]| dir.run(&format!("report --format json {}", runs.join(" ")));
    let merged = merge(&runs).exits(0);
    assert_eq!(timeless(&merged.stdout), timeless(&whole.stdout));
    runs.reverse();
    assert_eq!(timeless(&merge(&runs).stdout), timeless(&whole.stdout));

    // Without one of them it is said to be a part.
    let part = merge(&runs[1..]);
    assert!(
        part.json()["run"]["shard"]
            .as_str()
            .unwrap()
            .contains("1/7"),
        "{}",
        part.transcript()
    );
    assert_eq!(part.json()["gates"][0]["status"], "not_judged");
    // What is no set of shards is refused.
    for (names, reason) in [
        (vec![runs[0].clone(), runs[0].clone()], "named twice"),
        (vec![runs[0].clone(), whole_run], "is no shard"),
    ] {
        let ran = merge(&names).exits(2);
        assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    }
}

#[test]
fn an_empty_shard_is_no_error_where_others_have_records() {
    let dir = Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &answers(1))]);
    let codes: Vec<i32> = (1..=3)
        .map(|k| {
            dir.run(&format!("run --no-store --data data.jsonl --shard {k}/3"))
                .code
        })
        .collect();
    assert_eq!(
        codes.iter().filter(|code| **code == 0).count(),
        2,
        "{codes:?}"
    );
    // An empty selection is one, sharded or not.
    let ran = dir.args(&[
        "run",
        "--no-store",
        "--data",
        "data.jsonl",
        "--where",
        "id == 'x'",
        "--shard",
        "1/3",
    ]);
    assert_eq!(ran.code, 2, "{}", ran.transcript());
}

/// Lines, bad records and reports do not depend on the number of threads.
#[test]
fn four_threads_write_the_bytes_of_one() {
    let mut data = answers(6000);
    data.insert_str(data.len() / 2 / 100 * 100, "");
    let mut lines: Vec<&str> = data.lines().collect();
    lines.insert(2000, "not a record");
    lines.insert(4000, r#"{"output": "lacks its reference"}"#);
    lines.insert(5000, r#"{"query": "q", "output": "one"}"#);
    lines.insert(5500, r#"{"query": "q", "output": "two"}"#);
    let dir = Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", &lines.join("\n"))]);
    let run = |threads: u32, wide: &str| {
        let files = format!(
            "-o t{threads}.jsonl -o t{threads}.csv -o t{threads}.json -o t{threads}.xml -o t{threads}.md"
        );
        let ran = dir.run(&format!(
            "run --no-store --max-errors 50% --data data.jsonl --threads {threads} {wide} {files}"
        ));
        assert_eq!(ran.code, 1, "{}", ran.transcript());
        let text = |ending: &str| dir.read(&format!("t{threads}.{ending}"));
        let xml: String = text("xml")
            .lines()
            .filter(|line| !line.contains("timestamp="))
            .collect();
        (
            without_took(&text("jsonl")),
            text("csv"),
            timeless(&text("json")),
            xml,
            text("md"),
            ran.stdout,
        )
    };
    assert_eq!(run(1, ""), run(4, ""));
    assert_eq!(run(1, "--wide"), run(4, "--wide"));
}

fn without_took(lines: &str) -> Vec<Value> {
    crate::support::json_lines(lines)
        .into_iter()
        .map(|mut line| {
            line.as_object_mut().unwrap().remove("took_ms");
            line
        })
        .collect()
}
