//! Every kind of wrong record: it is counted and shown with its place, and the others are judged.

use crate::support::{Album, Dir, shortened};

const GOOD: &str = r#"{"output": "a", "reference": "a"}"#;

/// Records that can't be read, each between two that can.
const REFUSED: &[(&str, &str)] = &[
    ("no JSON", "output: a"),
    ("a key without quotes", r#"{output: "a"}"#),
    ("single quotes", r"{'output': 'a'}"),
    ("a trailing comma", r#"{"output": "a",}"#),
    ("cut off", r#"{"output": "a", "refer"#),
    (
        "two records in one line",
        r#"{"output": "a"} {"output": "b"}"#,
    ),
    ("a list", r#"["output", "a"]"#),
    ("a text", r#""output""#),
    ("null", "null"),
    ("a key twice", r#"{"output": "a", "output": "b"}"#),
    (
        "a key of metadata twice",
        r#"{"output": "a", "metadata": {"k": 1, "k": 2}}"#,
    ),
    (
        "two names of one field",
        r#"{"output": "a", "prediction": "b"}"#,
    ),
    ("NaN", r#"{"output": "a", "latency_ms": NaN}"#),
    (
        "a number beyond f64",
        r#"{"output": "a", "latency_ms": 1e999}"#,
    ),
    ("a lone surrogate", r#"{"output": "\ud800"}"#),
    ("a control character", "{\"output\": \"a\u{1}b\"}"),
    ("an escape that JSON has not", r#"{"output": "\x41"}"#),
    (
        "relevance above 1",
        r#"{"output": "a", "contexts": [{"document": "d", "relevance": 1.2}]}"#,
    ),
    (
        "a context without document",
        r#"{"output": "a", "contexts": [{"id": "1"}]}"#,
    ),
    (
        "contexts that are a number",
        r#"{"output": "a", "contexts": 3}"#,
    ),
    (
        "grade below 0",
        r#"{"output": "a", "contexts": [{"document": "d", "grade": -1}]}"#,
    ),
    ("an id that is a list", r#"{"id": ["a"], "output": "a"}"#),
    ("an empty id", r#"{"id": "", "output": "a"}"#),
    ("trial 0", r#"{"id": "t", "trial": 0, "output": "a"}"#),
    (
        "a trial that is a text",
        r#"{"id": "t", "trial": "first", "output": "a"}"#,
    ),
    (
        "tags that are an object",
        r#"{"output": "a", "tags": {"a": 1}}"#,
    ),
    (
        "metadata that is a text",
        r#"{"output": "a", "metadata": "en"}"#,
    ),
    (
        "an unknown role",
        r#"{"messages": [{"role": "robot", "content": "a"}]}"#,
    ),
    (
        "messages that are no list",
        r#"{"messages": {"role": "user", "content": "a"}}"#,
    ),
    (
        "a part of an unknown type",
        r#"{"output": {"parts": [{"type": "smell", "text": "a"}]}}"#,
    ),
    (
        "a chat completion as output",
        r#"{"output": {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}}]}}"#,
    ),
    (
        "an own check that is unknown",
        r#"{"output": "a", "evaluators": ["equalz"]}"#,
    ),
    (
        "an own check with a wrong parameter",
        r#"{"output": "a", "evaluators": [{"contains": {"phrse": "a"}}]}"#,
    ),
    (
        "own checks that are no list",
        r#"{"output": "a", "evaluators": "equals"}"#,
    ),
    (
        "an own check with a suite check's name and other parameters",
        r#"{"output": "a", "evaluators": [{"exact_match": {"reference": "b"}}]}"#,
    ),
    (
        "one trial twice",
        "{\"id\": \"t\", \"trial\": 1, \"output\": \"a\", \"reference\": \"a\"}\n{\"id\": \"t\", \"trial\": 1, \"output\": \"b\", \"reference\": \"a\"}",
    ),
];

/// The part of the text report that lists what could not be read, with the exit code.
fn judged(data: &[u8]) -> crate::support::Ran {
    let dir = Dir::new();
    dir.write("data.jsonl", data);
    dir.run("run --check exact_match --data data.jsonl --no-store")
}

#[test]
fn a_record_that_cannot_be_read_is_shown_and_the_others_are_judged() {
    let mut album = Album::default();
    for (title, text) in REFUSED {
        let mut ran = judged(
            format!("{GOOD}\n{text}\n{{\"output\": \"b\", \"reference\": \"b\"}}\n").as_bytes(),
        );
        assert_eq!(ran.code, 3, "{title}: {}", ran.transcript());
        ran.stdout = ran
            .stdout
            .lines()
            .filter(|line| !line.starts_with("in parentheses"))
            .fold(String::new(), |text, line| text + line + "\n");
        album.add(&format!("{title}\n{}", shortened(text, 200)), &ran);
    }
    album.compare("wrong_records");
}

/// Nothing grows with the depth or the length of a value but the memory that it takes itself.
#[test]
fn very_deep_and_very_long_records_do_no_harm() {
    const DEEP: usize = 100_000;
    let deep = |open: &str, close: &str| open.repeat(DEEP) + "1" + &close.repeat(DEEP);
    let deep_values = [
        deep("[", "]"),
        deep("{\"a\": ", "}"),
        "[".repeat(DEEP),
        deep("[{\"a\": ", "}]"),
    ];
    for check in [
        "exact_match",
        "json_equality",
        "json_validity",
        "json_schema_validation",
        "json_diff",
        "json_edit_distance",
        "golden_response",
    ] {
        let dir = Dir::new();
        let mut data = String::new();
        for value in &deep_values {
            data += &format!("{{\"output\": {value}, \"reference\": {value}}}\n");
            data += &format!(
                "{{\"output\": {}, \"reference\": \"[]\", \"metadata\": {value}}}\n",
                serde_json::to_string(value).unwrap()
            );
        }
        data += GOOD;
        dir.write("data.jsonl", &data);
        let ran = dir.args(&[
            "run",
            "--check",
            check,
            "--data",
            "data.jsonl",
            "--no-store",
        ]);
        assert!(
            (0..=3).contains(&ran.code),
            "{check}: {}",
            shortened(&ran.transcript(), 2000)
        );
        assert!(
            !ran.stderr.contains("panicked") && ran.stderr.len() < 2000,
            "{check}: {}",
            shortened(&ran.stderr, 2000)
        );
        assert!(
            ran.stdout.len() < 20_000,
            "{check} prints {} bytes",
            ran.stdout.len()
        );
    }
}

#[test]
fn a_line_of_50_megabytes_is_a_record_like_others() {
    let dir = Dir::new();
    let long = "a".repeat(50 << 20);
    dir.write(
        "data.jsonl",
        format!("{GOOD}\n{{\"output\": \"{long}\", \"reference\": \"b\"}}\n{GOOD}\n"),
    );
    let ran = dir
        .run("run --check exact_match --data data.jsonl --no-store")
        .exits(1);
    assert!(
        ran.stdout.contains("2 passed, 1 failed"),
        "{}",
        shortened(&ran.stdout, 2000)
    );
    assert!(ran.stdout.len() < 5000, "prints {} bytes", ran.stdout.len());
}
