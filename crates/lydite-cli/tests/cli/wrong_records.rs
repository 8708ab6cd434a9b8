//! Every kind of wrong record: it is counted and shown with its place, and the others are judged.

use crate::support::{Album, Dir, shortened};

const GOOD: &str = r#"{"id": "good", "output": "a", "reference": "a"}"#;

/// Records that can't be read, each between two that can.
const REFUSED: &[(&str, &str)] = &[
    ("no JSON", "output: a"),
    ("a key without quotes", r#"{output: "a"}"#),
    ("single quotes", r"{'output': 'a'}"),
    ("a trailing comma", r#"{"output": "a",}"#),
    ("cut off", r#"{"output": "a", "refer"#),
    ("two records in one line", r#"{"output": "a"} {"output": "b"}"#),
    ("a list", r#"["output", "a"]"#),
    ("a text", r#""output""#),
    ("null", "null"),
    ("a key twice", r#"{"output": "a", "output": "b"}"#),
    ("a key of metadata twice", r#"{"output": "a", "metadata": {"k": 1, "k": 2}}"#),
    ("two names of one field", r#"{"output": "a", "prediction": "b"}"#),
    ("NaN", r#"{"output": "a", "latency_ms": NaN}"#),
    ("a number beyond f64", r#"{"output": "a", "latency_ms": 1e999}"#),
    ("a lone surrogate", r#"{"output": "\ud800"}"#),
    ("a control character", "{\"output\": \"a\u{1}b\"}"),
    ("an escape that JSON has not", r#"{"output": "\x41"}"#),
    ("relevance above 1", r#"{"output": "a", "contexts": [{"document": "d", "relevance": 1.2}]}"#),
    ("a context without document", r#"{"output": "a", "contexts": [{"id": "1"}]}"#),
    ("contexts that are a number", r#"{"output": "a", "contexts": 3}"#),
    ("grade below 0", r#"{"output": "a", "contexts": [{"document": "d", "grade": -1}]}"#),
    ("an id that is a list", r#"{"id": ["a"], "output": "a"}"#),
    ("an empty id", r#"{"id": "", "output": "a"}"#),
    ("trial 0", r#"{"id": "t", "trial": 0, "output": "a"}"#),
    ("a trial that is a text", r#"{"id": "t", "trial": "first", "output": "a"}"#),
    ("tags that are an object", r#"{"output": "a", "tags": {"a": 1}}"#),
    ("metadata that is a text", r#"{"output": "a", "metadata": "en"}"#),
    ("an unknown role", r#"{"messages": [{"role": "robot", "content": "a"}]}"#),
    ("messages that are no list", r#"{"messages": {"role": "user", "content": "a"}}"#),
    ("a part of an unknown type", r#"{"output": {"parts": [{"type": "smell", "text": "a"}]}}"#),
    (
        "a chat completion as output",
        r#"{"output": {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "a"}}]}}"#,
    ),
    ("an own check that is unknown", r#"{"output": "a", "evaluators": ["equalz"]}"#),
    ("an own check with a wrong parameter", r#"{"output": "a", "evaluators": [{"contains": {"phrse": "a"}}]}"#),
    ("own checks that are no list", r#"{"output": "a", "evaluators": "equals"}"#),
    ("an own check with a suite check's name and other parameters", r#"{"output": "a", "evaluators": [{"exact_match": {"reference": "b"}}]}"#),
    ("one trial twice", "{\"id\": \"t\", \"trial\": 1, \"output\": \"a\", \"reference\": \"a\"}\n{\"id\": \"t\", \"trial\": 1, \"output\": \"b\", \"reference\": \"a\"}"),
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
        let mut ran = judged(format!("{GOOD}\n{text}\n{{\"output\": \"b\", \"reference\": \"b\"}}\n").as_bytes());
        assert_eq!(ran.code, 3, "{title}: {}", ran.transcript());
        ran.stdout = ran.stdout.lines().filter(|line| !line.starts_with("in parentheses")).fold(String::new(), |text, line| text + line + "\n");
        album.add(&format!("{title}\n{}", shortened(text, 200)), &ran);
    }
    album.compare("wrong_records");
}
