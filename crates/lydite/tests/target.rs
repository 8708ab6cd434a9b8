//! Runs whose suite makes the outputs first: selection, trials, failures, resuming.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use lydite::evaluator::Registry;
use lydite::format::OutputFormat;
use lydite::job::{self, JobError, Outcome, Output, Request};
use lydite::model::scripted::ScriptedSession;
use lydite::model::{ChatRequest, ModelError, ModelHost, ModelSession, SessionOptions};
use lydite::runner::Progress;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Opens sessions that reply from a list.
#[derive(Debug)]
struct Script {
    replies: Mutex<Vec<Value>>,
    session: Mutex<Option<Arc<ScriptedSession>>>,
}

impl Script {
    fn new(replies: &[Value]) -> Arc<Self> {
        Arc::new(Self {
            replies: Mutex::new(replies.to_vec()),
            session: Mutex::default(),
        })
    }

    fn asked(&self) -> Vec<ChatRequest> {
        let session = self.session.lock().unwrap();
        session
            .as_ref()
            .map_or(Vec::new(), |session| session.asked())
    }
}

impl ModelHost for Script {
    fn open(&self, _: &SessionOptions) -> Result<Arc<dyn ModelSession>, ModelError> {
        let replies = self.replies.lock().unwrap().clone();
        let session = Arc::new(ScriptedSession::new(replies));
        *self.session.lock().unwrap() = Some(Arc::clone(&session));
        Ok(session)
    }
}

struct Bench {
    folder: TempDir,
    suite: String,
}

impl Bench {
    fn new(target: &str, checks: &str, data: &[Value]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let lines: Vec<String> = data.iter().map(Value::to_string).collect();
        fs::write(folder.path().join("data.jsonl"), lines.join("\n")).unwrap();
        Self {
            folder,
            suite: format!("version: 1\ndataset: data.jsonl\ntarget: {target}\nchecks: {checks}\n"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn request(&self, host: &Arc<Script>) -> Request {
        Request {
            suite: Some((self.suite.clone(), self.path("lydite.yaml"))),
            threads: 1,
            store: Some(self.path("runs")),
            samples: 20,
            host: Some(Arc::clone(host) as Arc<dyn ModelHost>),
            ..Request::default()
        }
    }

    fn run(&self, host: &Arc<Script>, edit: impl FnOnce(&mut Request)) -> (Outcome, Vec<Value>) {
        let mut request = self.request(host);
        edit(&mut request);
        self.finish(request).unwrap()
    }

    fn finish(&self, request: Request) -> Result<(Outcome, Vec<Value>), JobError> {
        let results = self.path("results.jsonl");
        let output = Output {
            format: OutputFormat::Jsonl,
            to: Box::new(fs::File::create(&results).unwrap()),
            name: "results".into(),
            color: false,
        };
        let outcome = job::run(
            request,
            &Registry::builtin(),
            vec![output],
            &AtomicBool::new(false),
            &Progress::default(),
            &mut |_| {},
        )?;
        Ok((outcome, lines(&results)))
    }

    fn error(&self, host: &Arc<Script>) -> String {
        self.finish(self.request(host)).unwrap_err().to_string()
    }

    fn made(outcome: &Outcome) -> Vec<Value> {
        lines(
            &outcome
                .folder
                .as_ref()
                .unwrap()
                .path()
                .join("records.jsonl"),
        )
    }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn contents(request: &ChatRequest) -> Vec<(&'static str, &str)> {
    let messages = request.messages.iter();
    messages
        .map(|m| (m.role.as_str(), m.content.as_str()))
        .collect()
}

#[test]
fn a_model_answers_what_has_no_answer() {
    let bench = Bench::new(
        "{model: openai/m, prompt: 'In {lang}: {query}', system: Be brief.}",
        "[exact_match]",
        &[
            json!({"question": "2+2?", "expected": "4", "lang": "en", "response": null}),
            json!({"question": "2+3?", "expected": "5", "lang": "en", "response": "5"}),
            json!({"id": "c", "question": "Say {lang} \"x\"", "expected": "y", "lang": "de", "tags": ["t"]}),
        ],
    );
    let host = Script::new(&[json!("4"), json!({"text": "n", "finish": "length"})]);
    let (outcome, results) = bench.run(&host, |_| {});
    let asked = host.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(
        contents(&asked[0]),
        [("system", "Be brief."), ("user", "In en: 2+2?")]
    );
    assert_eq!(contents(&asked[1])[1].1, "In de: Say {lang} \"x\"");
    assert_eq!(asked[0].identity.trial, 1);
    let verdicts: Vec<_> = results
        .iter()
        .map(|line| line["verdict"].as_str().unwrap())
        .collect();
    assert_eq!(verdicts, ["pass", "pass", "fail"]);
    let made = Bench::made(&outcome);
    assert_eq!(made[0]["output"], "4");
    assert_eq!(made[0]["model"], "openai/m");
    assert_eq!(made[0]["finish_reason"], "stop");
    assert_eq!(made[0]["question"], "2+2?");
    assert!(made[0].get("response").is_none());
    assert_eq!(
        made[1],
        json!({"id": made[1]["id"], "output": "5", "question": "2+3?", "expected": "5", "lang": "en"})
    );
    assert_eq!(
        made[2],
        json!({"id": "c", "trial": 1, "model": "openai/m", "question": "Say {lang} \"x\"", "expected": "y",
               "lang": "de", "tags": ["t"], "output": "n", "finish_reason": "length"})
    );
    assert_eq!(outcome.report.exit.code, 1);
    assert_eq!(outcome.report.records.read, 3);
}

#[test]
fn without_a_prompt_the_conversation_is_sent() {
    let bench = Bench::new(
        "{model: openai/m, system: Ours.}",
        "[json_validity]",
        &[
            json!({"query": "q"}),
            json!({"messages": [{"role": "system", "content": "Its own."}, {"role": "user", "content": "a"},
                {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}]}),
            json!({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "done"}]}),
            json!({"messages": [{"role": "user", "content": "x"}, {"role": "tool", "content": "t"}]}),
            json!({"variables": {"a": 1}}),
        ],
    );
    let host = Script::new(&[json!("1"), json!("2")]);
    let (outcome, results) = bench.run(&host, |_| {});
    let asked = host.asked();
    assert_eq!(contents(&asked[0]), [("system", "Ours."), ("user", "q")]);
    assert_eq!(
        contents(&asked[1]),
        [
            ("system", "Its own."),
            ("user", "a"),
            ("assistant", "b"),
            ("user", "c")
        ]
    );
    assert_eq!(asked.len(), 2);
    let codes: Vec<_> = results
        .iter()
        .map(|line| line["error"]["code"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(codes, ["", "", "", "target_failed", "target_failed"]);
    let made = Bench::made(&outcome);
    assert_eq!(made[3]["target_error"]["code"], "model_unsupported");
    assert_eq!(made[4]["target_error"]["code"], "missing_field");
}

#[test]
fn trials_are_answers_of_one_case_and_cluster_the_intervals() {
    let data: Vec<Value> = (0..4)
        .map(|n| json!({"query": format!("q{n}"), "reference": "yes"}))
        .collect();
    let bench = Bench::new("{model: openai/m, trials: 2}", "[exact_match]", &data);
    let replies: Vec<Value> = (0..12)
        .map(|n| json!(if n % 3 == 0 { "no" } else { "yes" }))
        .collect();
    let host = Script::new(&replies);
    let (outcome, results) = bench.run(&host, |request| request.trials = Some(3));
    assert_eq!(results.len(), 12);
    let trials: Vec<_> = host
        .asked()
        .iter()
        .map(|request| request.identity.trial)
        .collect();
    assert_eq!(trials, [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
    let ids: Vec<_> = results
        .iter()
        .map(|line| line["record"].as_str().unwrap().to_owned())
        .collect();
    assert!(
        ids.chunks(3)
            .all(|chunk| chunk.iter().all(|id| *id == chunk[0]))
    );
    let named: Vec<_> = results[..3]
        .iter()
        .map(|line| line.get("trial").and_then(Value::as_u64).unwrap_or(1))
        .collect();
    assert_eq!(named, [1, 2, 3]);
    // Every case has 2 of 3: all variance is within cases, so the interval over cases has no width.
    let report = serde_json::to_value(&outcome.report).unwrap();
    let check = &report["checks"][0];
    assert_eq!(check["n"], 12, "{check}");
    for figure in ["pass_rate", "mean"] {
        let figure = &check[figure];
        assert_eq!(figure["clusters"], 4, "{check}");
        let width = figure["high"].as_f64().unwrap() - figure["low"].as_f64().unwrap();
        assert!(width < 1e-9, "{check}");
    }
}

#[test]
fn a_failed_call_errs_every_cell_and_counts_as_no_score() {
    let bench = Bench::new(
        "{model: openai/m}",
        "[exact_match, {evaluator: json_validity, when: 'metadata.skip != true'}, {evaluator: contains, params: {phrase: a}, on_missing: skip}]",
        &[
            json!({"query": "1", "reference": "a", "metadata": {"skip": true}}),
            json!({"query": "2", "reference": "a", "metadata": {"skip": false}}),
        ],
    );
    let host = Script::new(&[json!({"error": "it broke"}), json!("a")]);
    let (outcome, results) = bench.run(&host, |_| {});
    assert_eq!(results.len(), 6);
    let error = &results[0]["error"];
    assert_eq!(error["code"], "target_failed");
    assert_eq!(error["retryable"], true);
    assert!(
        error["message"].as_str().unwrap().contains("it broke"),
        "{error}"
    );
    assert!(results[1]["skipped"].is_string(), "{}", results[1]);
    assert_eq!(results[2]["error"]["code"], "target_failed");
    assert!(results[0]["score"].is_null() && results[0]["verdict"] == "inconclusive");
    assert_eq!(outcome.report.exit.code, 3);
    assert_eq!(outcome.report.errors.count, 2);
    // Errors judged anew are asked anew, and take the old ones' place.
    let (again, results) = bench.run(&Script::new(&[json!("a"), json!("a")]), |request| {
        request.resume = Some("latest".into());
        request.rerun_errors = true;
    });
    assert_eq!(results[0]["verdict"], "pass");
    assert!(Bench::made(&again)[0].get("target_error").is_none());
    assert_eq!(again.report.errors.count, 0);
}

#[test]
fn nothing_is_spent_on_what_is_not_selected() {
    let data: Vec<Value> = (0..40)
        .map(|n| json!({"id": format!("c{n}"), "query": "q", "lang": if n % 2 == 0 { "en" } else { "de" }}))
        .collect();
    let target = "{model: openai/m}";
    let replies = vec![json!("1"); 40];
    let count = |edit: &dyn Fn(&mut Request)| {
        let bench = Bench::new(target, "[json_validity]", &data);
        let host = Script::new(&replies);
        let (outcome, results) = bench.run(&host, edit);
        assert_eq!(host.asked().len(), results.len());
        assert_eq!(outcome.report.records.judged as usize, results.len());
        assert_eq!(outcome.report.records.read, 40);
        results
            .iter()
            .map(|line| line["record"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let english = count(&|request| request.condition = Some(r#"extra.lang == "en""#.into()));
    assert_eq!(english.len(), 20);
    assert_eq!(
        count(&|request| request.limit = Some(3)),
        ["c0", "c1", "c2"]
    );
    let sample = count(&|request| request.sample = Some(7));
    assert_eq!(sample.len(), 7);
    // The same sample as of records that have their outputs.
    let answered: Vec<Value> = data
        .iter()
        .map(|record| {
            let mut record = record.clone();
            record["output"] = "1".into();
            record
        })
        .collect();
    let bench = Bench::new("null", "[json_validity]", &answered);
    let (_, results) = bench.run(&Script::new(&[]), |request| request.sample = Some(7));
    let ids: Vec<_> = results
        .iter()
        .map(|line| line["record"].as_str().unwrap())
        .collect();
    assert_eq!(ids, sample);
    let shards: Vec<_> = (1..=3)
        .flat_map(|k| count(&|request| request.shard = Some((k, 3))))
        .collect();
    assert_eq!(shards.len(), 40);
}

#[test]
fn an_interrupted_stage_goes_on_behind_its_last_whole_line() {
    let data: Vec<Value> = (0..6)
        .map(|n| json!({"query": format!("q{n}"), "reference": "a"}))
        .collect();
    let bench = Bench::new("{model: openai/m, trials: 2}", "[exact_match]", &data);
    let whole = Script::new(&vec![json!("a"); 12]);
    let (outcome, results) = bench.run(&whole, |_| {});
    let path = outcome
        .folder
        .as_ref()
        .unwrap()
        .path()
        .join("records.jsonl");
    let folder = outcome.folder.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let starts: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    for cut in [
        0,
        10,
        starts[0],
        starts[4] + 7,
        starts[10],
        text.len() - 1,
        text.len(),
    ] {
        fs::write(&path, &text[..cut]).unwrap();
        for name in ["results.jsonl", "checkpoints.jsonl"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let left = 12 - text[..cut].matches('\n').count();
        let host = Script::new(&vec![json!("a"); 12]);
        let (_, again) = bench.run(&host, |request| request.resume = Some("latest".into()));
        assert_eq!(host.asked().len(), left, "cut at {cut}");
        assert_eq!(again, results);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let changed = text.replace("q1", "other");
    fs::write(&path, changed).unwrap();
    let mut request = bench.request(&whole);
    request.resume = Some("latest".into());
    let error = bench.finish(request).unwrap_err().to_string();
    assert!(error.contains("the data changed"), "{error}");
}

#[test]
fn bad_records_of_the_input_are_told_where_they_stand() {
    let bench = Bench::new(
        "{model: openai/m}",
        "[json_validity]",
        &[json!({"query": "a"})],
    );
    let mut data = fs::read_to_string(bench.path("data.jsonl")).unwrap();
    data.push_str("\n{\"query\": \n{\"query\": \"b\"}\n");
    fs::write(bench.path("data.jsonl"), data).unwrap();
    let host = Script::new(&[json!("1"), json!("2")]);
    let (outcome, results) = bench.run(&host, |_| {});
    assert_eq!((results.len(), outcome.report.records.bad), (2, 1));
    let bad = outcome.folder.as_ref().unwrap().bad_records().unwrap();
    assert_eq!((bad.len(), bad[0].file, bad[0].line), (1, 0, 2));
    let mut request = bench.request(&host);
    request.strict = true;
    let error = bench.finish(request).unwrap_err().to_string();
    assert!(error.contains("data.jsonl:2:"), "{error}");
}

#[test]
fn a_run_that_keeps_nothing_and_a_dry_run() {
    let data = [json!({"query": "a"}), json!({"query": "b"})];
    let bench = Bench::new("{model: openai/m}", "[json_validity]", &data);
    let host = Script::new(&[json!("1"), json!("x")]);
    let (outcome, results) = bench.run(&host, |request| request.store = None);
    assert!(outcome.folder.is_none());
    assert_eq!(
        (&results[0]["verdict"], &results[1]["verdict"]),
        (&json!("pass"), &json!("fail"))
    );
    assert!(!bench.path("runs").exists());
}

#[test]
fn what_is_found_before_anything_is_asked() {
    let data = [json!({"question": "a", "answer": "b"})];
    let host = Script::new(&[json!("1")]);
    for (target, checks, words) in [
        (
            "{model: openai/m, prompt: '{qury}'}",
            "[json_validity]",
            "no record has `qury`",
        ),
        ("{model: openai/m}", "[exact_match]", "`answer` may be"),
        (
            "{model: openai/m}",
            "[{evaluator: contains, params: {phrase: a}}]",
            "",
        ),
    ] {
        let bench = Bench::new(target, checks, &data);
        match words {
            "" => assert_eq!(bench.run(&host, |_| {}).1.len(), 1),
            words => {
                let error = bench.error(&host);
                assert!(error.contains(words), "{target}: {error}");
                assert!(host.asked().is_empty());
            }
        }
    }
    let bench = Bench::new("null", "[json_validity]", &[json!({"output": "a"})]);
    let mut request = bench.request(&host);
    request.trials = Some(2);
    assert!(
        bench
            .finish(request)
            .unwrap_err()
            .to_string()
            .contains("--trials")
    );
}
