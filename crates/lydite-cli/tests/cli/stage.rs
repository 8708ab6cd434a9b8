//! Suites whose judge is the mock: a folder, a server in this process, and what both saw.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lydite_mock_llm::{Config, MockServer, Stats};
use serde_json::Value;

use crate::support::{Dir, Ran, json_lines, timeless};

/// A folder with a suite, and the provider of its judge.
pub(crate) struct Stage {
    pub(crate) dir: Dir,
    pub(crate) mock: MockServer,
}

/// What the judge's settings are beside provider, model and address, unless a test says else.
pub(crate) const SETTINGS: &str = "timeout: 2, price: {input: 1, output: 2}";

/// One call a record; [[bad…]] in its answer fails.
pub(crate) const CHECK: &str =
    "  - evaluator: closed_qa\n    name: holds\n    params: {criteria: holds to the facts}\n";

/// The tags that fence data hang on this key, and on them which requests the mock gives its faults.
const FENCE_KEY: [u8; 32] = [7; 32];

impl Stage {
    /// Judges [`CHECK`] with [`SETTINGS`].
    pub(crate) fn new(config: Config) -> Self {
        let stage = Self {
            dir: Dir::new(),
            mock: MockServer::start(config).unwrap(),
        };
        stage.dir.write("cache/fence.key", FENCE_KEY);
        stage.suite(SETTINGS, CHECK);
        stage
    }

    /// Writes the suite anew, with other settings of the judge or other checks.
    pub(crate) fn suite(&self, settings: &str, checks: &str) {
        let judge = self.judge(settings);
        self.dir.write(
            "lydite.yaml",
            format!("version: 1\nmodels: {{judge: {judge}}}\nchecks:\n{checks}"),
        );
    }

    /// The mock as a model of a suite.
    pub(crate) fn judge(&self, settings: &str) -> String {
        let comma = if settings.is_empty() { "" } else { ", " };
        format!(
            "{{provider: openai, model: mock, base_url: {}/v1{comma}{settings}}}",
            self.mock.url()
        )
    }

    /// `n` records, of which every third is wrong, and those of `marked` hold a further mark.
    pub(crate) fn records(&self, n: usize, mark: &str, marked: &[usize]) {
        let mut text = String::new();
        for i in 0..n {
            let verdict = if is_good(i) { "good" } else { "bad" };
            let mark = if marked.contains(&i) { mark } else { "" };
            writeln!(
                text,
                r#"{{"id": "r{i}", "query": "What is {i} + 0?", "output": "It is {i}. [[{verdict}:{i}]]{mark}"}}"#
            )
            .unwrap();
        }
        self.dir.write("data.jsonl", text);
    }

    /// `lydite run` with the data and further words.
    pub(crate) fn run(&self, flags: &str) -> Ran {
        self.dir.run(&format!("run --data data.jsonl {flags}"))
    }

    pub(crate) fn stats(&self) -> Stats {
        self.mock.stats()
    }

    /// Counts anew, and behaves so from now on.
    pub(crate) fn configure(&self, config: Config) {
        self.mock.configure(config).unwrap();
    }

    /// The results of the only kept run.
    pub(crate) fn results(&self) -> Vec<Value> {
        results(&self.dir.only_run())
    }
}

/// Whether record `i` of [`Stage::records`] is right.
pub(crate) fn is_good(i: usize) -> bool {
    !i.is_multiple_of(3)
}

/// The kept results of a run.
pub(crate) fn results(run: &Path) -> Vec<Value> {
    json_lines(&std::fs::read_to_string(run.join("results.jsonl")).unwrap())
}

/// Results without what hangs on caches and clocks.
pub(crate) fn settled(results: &[Value]) -> Vec<Value> {
    let mut results = results.to_vec();
    for line in results.iter_mut().filter_map(Value::as_object_mut) {
        for key in ["took_ms", "cached", "usage"] {
            line.remove(key);
        }
    }
    results
}

/// A report without times, and without what hangs on how many calls were kept.
pub(crate) fn settled_report(text: &str) -> Value {
    let mut report = timeless(text);
    let object = report.as_object_mut().unwrap();
    object.remove("models");
    for check in object["checks"].as_array_mut().unwrap() {
        let check = check.as_object_mut().unwrap();
        for key in ["usage", "cached"] {
            check.remove(key);
        }
    }
    report
}

/// How many results have each error code; those without one stand under "".
pub(crate) fn by_error(results: &[Value]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in results {
        let code = line["error"]["code"].as_str().unwrap_or_default();
        *counts.entry(code.to_owned()).or_default() += 1;
    }
    counts
}

/// Every result that is no error is right, and every error is no score. Gives how many there are of both.
#[track_caller]
pub(crate) fn right_and_errored(results: &[Value]) -> (usize, usize) {
    let mut counts = (0, 0);
    for line in results {
        if line["error"].is_null() {
            let i: usize = line["record"].as_str().unwrap()[1..].parse().unwrap();
            let verdict = if is_good(i) { "pass" } else { "fail" };
            assert_eq!(line["verdict"], verdict, "{line}");
            counts.0 += 1;
        } else {
            assert_eq!(line["verdict"], "inconclusive", "{line}");
            assert!(line["score"].is_null(), "{line}");
            counts.1 += 1;
        }
    }
    counts
}

/// Keys of the calls in a run's log that were answered; a last line may be torn.
pub(crate) fn answered_calls(run: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(run.join("calls.jsonl")).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let answered = lines.filter(|line| line["reply"].is_object());
    answered
        .map(|line| line["key"].as_str().unwrap().to_owned())
        .collect()
}

/// The folder of the latest kept run.
pub(crate) fn latest_run(dir: &Dir) -> PathBuf {
    let runs = std::fs::read_dir(dir.path(".lydite/runs")).unwrap();
    let runs = runs.map(|entry| entry.unwrap());
    let newest = runs.max_by_key(|run| run.metadata().unwrap().created().unwrap());
    newest.unwrap().path()
}
