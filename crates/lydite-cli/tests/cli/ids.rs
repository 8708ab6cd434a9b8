//! Which record is which: ids, trials, and keys that could mean two things.

use serde_json::Value;

use crate::support::{Dir, Ran};

/// Id and trial of each judged record.
fn heads(ran: &Ran) -> Vec<(String, u64)> {
    let head = |line: &Value| {
        (
            line["record"].as_str().unwrap().to_owned(),
            line["trial"].as_u64().unwrap_or(1),
        )
    };
    ran.lines().iter().map(head).collect()
}

fn judge(dir: &Dir, data: &str) -> Ran {
    dir.write("data.jsonl", data);
    dir.args(&[
        "run",
        "--no-store",
        "--wide",
        "--format",
        "jsonl",
        "--check",
        "contains_any: [a]",
        "--data",
        "data.jsonl",
    ])
}

fn names(pairs: &[(&str, u64)]) -> Vec<(String, u64)> {
    pairs
        .iter()
        .map(|(id, trial)| ((*id).to_owned(), *trial))
        .collect()
}

#[test]
fn an_equal_given_id_is_another_trial() {
    let dir = Dir::new();
    let ran = judge(
        &dir,
        "{\"id\": \"x\", \"output\": \"a\"}\n{\"id\": 7, \"output\": \"a\"}\n{\"id\": \"x\", \"output\": \"b\"}\n{\"id\": \"x\", \"output\": \"a\"}\n",
    );
    assert_eq!(
        heads(&ran),
        names(&[("x", 1), ("7", 1), ("x", 2), ("x", 3)])
    );
    // Another model's answer is no trial of this one's.
    let ran = judge(
        &dir,
        "{\"id\": \"x\", \"model\": \"m\", \"output\": \"a\"}\n{\"id\": \"x\", \"model\": \"n\", \"output\": \"a\"}\n",
    );
    assert_eq!(heads(&ran), names(&[("x", 1), ("x", 1)]));
    // Named trials are kept.
    let ran = judge(
        &dir,
        "{\"id\": \"x\", \"trial\": 5, \"output\": \"a\"}\n{\"id\": \"x\", \"trial\": 2, \"output\": \"a\"}\n",
    );
    assert_eq!(heads(&ran), names(&[("x", 5), ("x", 2)]));
}

#[test]
fn an_equal_computed_id_is_another_case() {
    let dir = Dir::new();
    let ran = judge(
        &dir,
        "{\"query\": \"q\", \"output\": \"a\"}\n{\"query\": \"q\", \"output\": \"b\"}\n{\"query\": \"other\", \"output\": \"a\"}\n{\"query\": \"q\", \"output\": \"c\"}\n",
    );
    let heads = heads(&ran);
    let id = heads[0].0.clone();
    assert_eq!(id.len(), 16);
    assert!(id.bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(
        (heads[1].0.as_str(), heads[3].0.as_str()),
        (format!("{id}~2").as_str(), format!("{id}~3").as_str())
    );
    assert!(heads.iter().all(|(_, trial)| *trial == 1));
    assert!(
        ran.stderr
            .contains("2 records ask what an earlier one asked"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_computed_id_is_that_of_the_question() {
    let dir = Dir::new();
    let id = |record: &str| heads(&judge(&dir, record))[0].0.clone();
    let base =
        id(r#"{"query": "q", "contexts": ["c"], "variables": {"a": 1, "b": 2}, "output": "a"}"#);
    for same in [
        r#"{"output": "another answer", "variables": {"b": 2, "a": 1}, "contexts": ["c"], "query": "q"}"#,
        r#"{"question": "q", "response": "a", "documents": [{"text": "c"}], "vars": {"a": 1.0, "b": 2}}"#,
        r#"{"query": "\u0071", "contexts": [{"document": "c", "score": 3}], "variables": {"a": 1, "b": 2}, "model": "m", "tags": ["t"], "reference": "r", "output": "a"}"#,
    ] {
        assert_eq!(id(same), base, "{same}");
    }
    for other in [
        r#"{"query": "Q", "contexts": ["c"], "variables": {"a": 1, "b": 2}, "output": "a"}"#,
        r#"{"query": "q", "contexts": ["c", "d"], "variables": {"a": 1, "b": 2}, "output": "a"}"#,
        r#"{"query": "q", "contexts": ["c"], "variables": {"a": 2, "b": 2}, "output": "a"}"#,
        r#"{"query": "q", "contexts": ["c"], "output": "a"}"#,
    ] {
        assert_ne!(id(other), base, "{other}");
    }
    // A conversation: the turns up to the last of the user, not the work after it.
    let asked = r#"{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes?"}, {"role": "user", "content": "and?"}"#;
    let short = id(&format!(
        r#"{{"messages": [{asked}, {{"role": "assistant", "content": "a"}}]}}"#
    ));
    let long = id(&format!(
        r#"{{"messages": [{asked}, {{"role": "assistant", "content": null, "tool_calls": []}}, {{"role": "tool", "content": "x"}}, {{"role": "assistant", "content": "b"}}]}}"#
    ));
    assert_eq!(short, long);
    // Records that ask nothing are named by their place; bad ones count.
    assert_eq!(
        heads(&judge(
            &dir,
            "{\"output\": \"a\"}\nbad\n{\"output\": \"a\"}\n"
        )),
        names(&[("#1", 1), ("#3", 1)])
    );
    // An empty id, as in an empty cell, is none.
    assert_eq!(
        heads(&judge(
            &dir,
            "{\"id\": \"\", \"output\": \"a\"}\n{\"id\": \"\", \"output\": \"b\"}\n"
        )),
        names(&[("#1", 1), ("#2", 1)])
    );
}

/// `answer`, `context` and `outputs` mean one thing in a whole dataset.
#[test]
fn ambiguous_keys_are_settled_once_a_dataset() {
    let dir = Dir::new();
    let passed = |check: &str, data: &str| {
        dir.write("data.jsonl", data);
        let ran = dir.args(&[
            "run",
            "--no-store",
            "--format",
            "json",
            "--check",
            check,
            "--data",
            "data.jsonl",
        ]);
        assert!(ran.code < 2, "{}", ran.transcript());
        ran.json()["records"]["passed"].as_u64().unwrap()
    };
    // A reference under another name: `answer` is the output.
    assert_eq!(
        passed("exact_match", r#"{"answer": "a", "expected": "a"}"#),
        1
    );
    // No check needs a reference: `answer` is the output.
    assert_eq!(passed("contains: a", r#"{"answer": "a"}"#), 1);
    // An output, and no check that needs a reference: `answer` is left alone.
    assert_eq!(
        passed("contains: a", r#"{"answer": "b", "output": "a"}"#),
        1
    );
    // `outputs`: a list is several answers, a text is one.
    assert_eq!(
        passed(
            "{evaluator: pairwise_string_distance, threshold: 1}",
            r#"{"outputs": ["a", "b"]}"#
        ),
        1
    );
    assert_eq!(passed("contains: a", r#"{"outputs": "a"}"#), 1);
    // `context` is the contexts.
    assert_eq!(
        passed(
            "context_contains_phrase: {phrase: needle}",
            r#"{"output": "x", "context": "a needle"}"#
        ),
        1
    );
    // A key means the same in each row, whatever stands in it.
    let rows = "{\"answer\": \"a\", \"expected\": \"a\"}\n{\"answer\": \"b\"}\n";
    dir.write("data.jsonl", rows);
    let lines = dir
        .args(&[
            "run",
            "--no-store",
            "--format",
            "jsonl",
            "--check",
            "{evaluator: exact_match, on_missing: skip}",
            "--data",
            "data.jsonl",
        ])
        .lines();
    assert_eq!(
        (&lines[0]["verdict"], &lines[1]["skipped"]),
        (&"pass".into(), &"missing_field".into())
    );
}

#[test]
fn an_answer_that_may_be_either_is_refused_with_both_readings() {
    let dir = Dir::with(&[("data.jsonl", r#"{"question": "q", "answer": "a"}"#)]);
    let ran = dir
        .run("run --no-store --check exact_match --data data.jsonl")
        .exits(2);
    assert_eq!(
        ran.stderr,
        "error: the key `answer` may be the answer under judgement (`output`) or the right answer (`reference`); say which in the suite's dataset: `fields: {output: answer}` or `fields: {reference: answer}`\n"
    );
    dir.write(
        "data.jsonl",
        r#"{"question": "q", "response": "a", "answer": "a"}"#,
    );
    let ran = dir
        .run("run --no-store --check exact_match --data data.jsonl")
        .exits(2);
    assert!(
        ran.stderr.contains("say `fields: {reference: answer}`"),
        "{}",
        ran.stderr
    );
    // That line settles it.
    dir.write("lydite.yaml", "version: 1\ndataset: {path: data.jsonl, fields: {reference: answer}}\nchecks: [exact_match]\n");
    dir.run("run --no-store").exits(0);
}

#[test]
fn fields_take_paths_and_pointers() {
    let dir = Dir::with(&[
        (
            "lydite.yaml",
            "version: 1\ndataset: {path: data.jsonl, fields: {output: response.choices.0.message.content, reference: /gold/a~1b}}\nchecks: [exact_match]\n",
        ),
        (
            "data.jsonl",
            r#"{"response": {"choices": [{"message": {"content": "x"}}]}, "gold": {"a/b": "x"}}"#,
        ),
    ]);
    dir.run("run --no-store").exits(0);
}

#[test]
fn unknown_keys_are_listed_once_and_reached_as_extra() {
    let dir = Dir::with(&[(
        "data.jsonl",
        "{\"output\": \"a\", \"lable\": \"a\", \"n\": 1}\n{\"output\": \"b\", \"lable\": \"b\"}\n",
    )]);
    let ran = dir
        .args(&[
            "run",
            "--no-store",
            "--check",
            "contains: '{{ extra.lable }}'",
            "--data",
            "data.jsonl",
        ])
        .exits(0);
    assert_eq!(
        ran.stderr,
        "note: keys of the records that are no field, kept as `extra.<key>`: n\n"
    );
    // What a check reads is no surprise and is not listed.
    let ran = dir
        .args(&[
            "run",
            "--no-store",
            "--check",
            "contains: '{{ extra.lable }}'",
            "--data",
            "data.jsonl",
            "--where",
            "extra.n == 1",
            "--format",
            "json",
        ])
        .exits(0);
    assert_eq!(ran.json()["records"]["judged"], 1);
}

/// Records bring checks of their own, with a suite and without.
#[test]
fn records_bring_checks() {
    let dir = Dir::with(&[(
        "data.jsonl",
        concat!(
            r#"{"id": "1", "output": "a", "reference": "a", "evaluators": ["exact_match", {"contains": "a"}]}"#,
            "\n",
            r#"{"id": "2", "output": "{{ x }}", "evaluators": [{"evaluator": "contains", "options": {"phrase": "{{ x }}"}, "name": "braces"}]}"#,
            "\n",
        ),
    )]);
    let ran = dir
        .run("run --no-store --data data.jsonl --format jsonl")
        .exits(0);
    let checks: Vec<String> = ran
        .lines()
        .iter()
        .map(|line| line["check"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(checks, ["exact_match", "contains", "braces"]);
    // The suite's checks and the record's both run; an equal one once. A gate may name a record's check.
    dir.write("lydite.yaml", "version: 1\ndataset: data.jsonl\nchecks: [{evaluator: exact_match, on_missing: skip}]\ngates: [braces.pass_rate >= 1]\n");
    let ran = dir.run("run --no-store --format json").exits(0);
    let names: Vec<Value> = ran.json()["checks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].clone())
        .collect();
    assert_eq!(names, ["exact_match", "braces", "contains"]);
    dir.write("lydite.yaml", "version: 1\ndataset: data.jsonl\nchecks: [{evaluator: exact_match, on_missing: skip}]\ngates: [bracs.pass_rate >= 1]\n");
    let ran = dir.run("run --no-store").exits(3);
    assert!(
        ran.stdout.contains("no record brought the check `bracs`"),
        "{}",
        ran.stdout
    );
}
