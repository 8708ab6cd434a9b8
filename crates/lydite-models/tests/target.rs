//! Targets over real sockets and real programs: what is sent, what is read, limits, retries, the record of calls.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use lydite::evaluator::Registry;
use lydite::job::{self, JobError, Outcome, Request};
use lydite::run_folder::RunFolder;
use lydite::runner::Progress;
use lydite::stored;
use lydite_models::Host;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use wiremock::matchers::{body_json, header, method, path, query_param};
use wiremock::{Mock, MockServer, ResponseTemplate};

/// A suite and its data in a folder.
struct Bench(TempDir);

impl Bench {
    fn new(target: &str, checks: &str, data: &[Value]) -> Self {
        let bench = Self(tempfile::tempdir().unwrap());
        let lines: Vec<String> = data.iter().map(Value::to_string).collect();
        fs::write(bench.path("data.jsonl"), lines.join("\n")).unwrap();
        let suite =
            format!("version: 1\ndataset: data.jsonl\ntarget: {target}\nchecks: {checks}\n");
        fs::write(bench.path("lydite.yaml"), suite).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn request(&self) -> Request {
        let suite = self.path("lydite.yaml");
        Request {
            suite: Some((fs::read_to_string(&suite).unwrap(), suite)),
            threads: 1,
            store: Some(self.path("runs")),
            samples: 20,
            host: Some(Arc::new(Host::new().cache_dir(Some(self.path("cache"))))),
            ..Request::default()
        }
    }

    fn run(&self, edit: impl FnOnce(&mut Request)) -> Outcome {
        let mut request = self.request();
        edit(&mut request);
        run(request).unwrap()
    }

    fn error(&self) -> String {
        run(self.request()).unwrap_err().to_string()
    }
}

fn run(request: Request) -> Result<Outcome, JobError> {
    let (stop, progress) = (AtomicBool::new(false), Progress::default());
    let registry = Registry::builtin();
    job::run(
        request,
        &registry,
        Vec::new(),
        &stop,
        &progress,
        &mut |_| {},
    )
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn made(outcome: &Outcome) -> Vec<Value> {
    let folder = outcome.folder.as_ref().unwrap();
    lines(&folder.path().join("records.jsonl"))
}

fn results(folder: &RunFolder) -> Vec<Value> {
    lines(&folder.results_path())
}

/// A server, on a thread of its own, and what asks it for its requests.
fn serve(mocks: Vec<Mock>) -> (Runtime, MockServer) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let server = runtime.block_on(async {
        let server = MockServer::start().await;
        for mock in mocks {
            mock.mount(&server).await;
        }
        server
    });
    (runtime, server)
}

fn requests(runtime: &Runtime, server: &MockServer) -> usize {
    runtime.block_on(server.received_requests()).unwrap().len()
}

#[test]
fn an_endpoint_answers() {
    let passages = json!(["Paris is the capital.", {"document": "b", "score": 3}]);
    let reply = json!({"answer": {"text": "Paris"}, "passages": passages});
    let asked = json!({"question": "Capital?", "n": 1, "tags": ["a"], "who": "user Ada"});
    let (runtime, server) = serve(vec![
        Mock::given(method("POST"))
            .and(path("/answer"))
            .and(header("x-team", "blue"))
            .and(body_json(asked))
            .respond_with(ResponseTemplate::new(200).set_body_json(reply)),
    ]);
    let target = format!(
        "{{http: {{url: '{}/answer', headers: {{X-Team: blue}}, body: {{question: '{{query}}', n: '{{variables.n}}', tags: '{{tags}}', who: 'user {{variables.who}}'}}, output: answer.text, contexts: passages}}, name: bot}}",
        server.uri()
    );
    let data = [json!({"question": "Capital?", "expected": "Paris",
        "variables": {"n": 1, "who": "Ada"}, "tags": ["a"], "contexts": ["old"]})];
    let checks = "[exact_match, {context_contains_phrase: capital}]";
    let bench = Bench::new(&target, checks, &data);
    let outcome = bench.run(|_| {});
    let made = made(&outcome);
    let exit = &outcome.report.exit;
    assert_eq!(exit.code, 0, "{made:?} {}", exit.reason);
    assert_eq!(
        (&made[0]["output"], &made[0]["model"]),
        (&json!("Paris"), &json!("bot"))
    );
    assert_eq!(made[0]["contexts"], passages);
    assert!(made[0]["latency_ms"].is_u64());
    assert!(made[0].get("cost_usd").is_none());
    assert_eq!(requests(&runtime, &server), 1);
    // Another run asks again, as the application may have changed; a replay does not.
    let folder = outcome.folder.unwrap();
    bench.run(|_| {});
    assert_eq!(requests(&runtime, &server), 2);
    let mut request = stored::replay_request(&folder).unwrap();
    request.host = Some(Arc::new(Host::new().cache_dir(None)));
    let again = run(request).unwrap();
    assert_eq!(requests(&runtime, &server), 2);
    assert_eq!(again.report.exit.code, 0);
}

#[test]
fn values_stay_in_the_query_of_an_address() {
    let (_runtime, server) = serve(vec![
        Mock::given(method("GET"))
            .and(query_param("q", "a&b=c#d é"))
            .and(query_param("lang", "en"))
            .respond_with(ResponseTemplate::new(200).set_body_string("plain words")),
    ]);
    let url = format!("{}/?lang=en&q={{query}}", server.uri());
    let data = [json!({"query": "a&b=c#d é", "reference": "plain words"})];
    let bench = Bench::new(
        &format!("{{http: {{url: '{url}', method: GET}}}}"),
        "[exact_match]",
        &data,
    );
    let outcome = bench.run(|_| {});
    assert_eq!(outcome.report.exit.code, 0, "{:?}", made(&outcome));
}

#[test]
fn without_a_body_the_record_is_sent_but_not_what_is_expected_of_it() {
    let asked = json!({"id": "a", "trial": 1, "query": "q", "variables": {"x": 1}, "lang": "en"});
    let reply = ResponseTemplate::new(200).set_body_json(json!("r"));
    let (_runtime, server) = serve(vec![Mock::given(body_json(asked)).respond_with(reply)]);
    let data = [
        json!({"id": "a", "input": "q", "expected": "r", "vars": {"x": 1}, "lang": "en",
        "relevant_ids": ["1"], "evaluators": ["exact_match"]}),
    ];
    let target = format!("{{http: {{url: '{}'}}}}", server.uri());
    let bench = Bench::new(&target, "[exact_match]", &data);
    let outcome = bench.run(|_| {});
    assert_eq!(outcome.report.exit.code, 0, "{:?}", made(&outcome));
}

#[test]
fn failures_of_an_endpoint() {
    let json_reply = |value: Value| ResponseTemplate::new(200).set_body_json(value);
    // The reply, the error's code, words of it, and how often it is asked.
    let table = [
        (
            ResponseTemplate::new(500).set_body_string("boom"),
            "model_server_error",
            "boom",
            2,
        ),
        (
            ResponseTemplate::new(400).set_body_json(json!({"detail": "no q"})),
            "model_bad_request",
            "no q",
            1,
        ),
        (
            ResponseTemplate::new(404),
            "model_not_found",
            "check the target's `url`",
            1,
        ),
        (
            json_reply(json!({"text": "x"})),
            "model_protocol",
            "nothing at `answer`; it has: text",
            1,
        ),
        (
            ResponseTemplate::new(200).set_body_string("<html>"),
            "model_protocol",
            "not JSON",
            1,
        ),
        (
            json_reply(json!({"answer": {"choices": []}})),
            "model_protocol",
            "can't be read",
            1,
        ),
    ];
    for (reply, code, words, asked) in table {
        let (runtime, server) = serve(vec![Mock::given(method("POST")).respond_with(reply)]);
        let target = format!(
            "{{http: {{url: '{}/a', output: answer, attempts: 2}}}}",
            server.uri()
        );
        let bench = Bench::new(
            &target,
            "[exact_match]",
            &[json!({"query": "q", "reference": "r"})],
        );
        let outcome = bench.run(|_| {});
        let error = &made(&outcome)[0]["target_error"];
        assert_eq!(error["code"], code, "{error}");
        assert!(
            error["message"].as_str().unwrap().contains(words),
            "{error}"
        );
        assert_eq!(requests(&runtime, &server), asked, "{error}");
        let line = &results(outcome.folder.as_ref().unwrap())[0];
        assert_eq!(line["error"]["code"], "target_failed");
        assert_eq!(line["verdict"], "inconclusive");
        assert_eq!(outcome.report.exit.code, 3);
    }
}

#[test]
fn a_refused_key_ends_the_run_and_a_resumed_one_goes_on() {
    let answers = || {
        Mock::given(method("POST")).respond_with(ResponseTemplate::new(200).set_body_string("r"))
    };
    let refuses = Mock::given(method("POST")).respond_with(ResponseTemplate::new(401));
    let (runtime, server) = serve(vec![
        answers().up_to_n_times(1).with_priority(1),
        refuses.up_to_n_times(1).with_priority(2),
        answers().with_priority(3),
    ]);
    let data: Vec<Value> = (0..5)
        .map(|n| json!({"query": format!("q{n}"), "reference": "r"}))
        .collect();
    let target = format!("{{http: {{url: '{}', concurrency: 1}}}}", server.uri());
    let bench = Bench::new(&target, "[exact_match]", &data);
    let outcome = bench.run(|_| {});
    let exit = &outcome.report.exit;
    assert_eq!(exit.code, 3);
    assert!(
        exit.reason.contains("refuses the call (401)"),
        "{}",
        exit.reason
    );
    assert_eq!(outcome.report.records.judged, 0);
    let before = requests(&runtime, &server);
    let outcome = bench.run(|request| request.resume = Some("latest".into()));
    assert_eq!(
        (outcome.report.exit.code, outcome.report.records.judged),
        (0, 5)
    );
    // The first answer is not asked for again.
    assert!(requests(&runtime, &server) - before <= 4);
}

#[test]
fn no_secret_is_written_down() {
    let value = std::env::var("PATH").unwrap();
    let quoting = ResponseTemplate::new(400).set_body_string(format!("bad token {value}"));
    let (_runtime, server) = serve(vec![Mock::given(method("POST")).respond_with(quoting)]);
    let bench = |header: &str| {
        let target = format!(
            "{{http: {{url: '{}', headers: {{{header}}}}}}}",
            server.uri()
        );
        Bench::new(
            &target,
            "[exact_match]",
            &[json!({"query": "q", "reference": "r"})],
        )
    };
    let error = bench("Authorization: hunter-2-token").error();
    assert!(
        error.contains("a key must not stand in a suite: `Authorization`"),
        "{error}"
    );
    assert!(!error.contains("hunter"), "{error}");
    let error = bench("Authorization: $NO_SUCH_VARIABLE_1").error();
    assert!(
        error.contains("NO_SUCH_VARIABLE_1, which is not set"),
        "{error}"
    );
    // A variable that every process has.
    let bench = bench("X-Token: $PATH");
    let folder = bench.run(|_| {}).folder.unwrap();
    assert!(lines(&folder.path().join("records.jsonl"))[0]["target_error"].is_object());
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains(&value), "{}", path.display());
        }
    }
}

#[cfg(unix)]
mod programs {
    use super::*;

    /// Answers with what it was asked, or fails as it is asked to.
    const APP: &str = r#"
import json, sys, time
print("starting", file=sys.stderr)
for line in sys.stdin:
    record = json.loads(line)
    query = record["query"]
    if query == "die":
        sys.exit("out of memory")
    if query == "slow":
        time.sleep(30)
    if query == "error":
        print(json.dumps({"error": "no idea"}), flush=True)
        continue
    if query == "log":
        print("a log line", flush=True)
        continue
    if query == "reference":
        print(json.dumps({"output": "x", "expected": "x"}), flush=True)
        continue
    print(json.dumps({
        "output": query.upper() + str(record["trial"]),
        "contexts": [{"document": "of " + query}],
        "latency_ms": 12.5, "cost_usd": 0.25, "finish_reason": "stop",
        "debug": {"keys": sorted(record)},
    }), flush=True)
"#;

    fn bench(more: &str, data: &[Value]) -> Bench {
        let bench = Bench::new("null", "[exact_match]", data);
        let app = bench.path("app.py");
        fs::write(&app, APP).unwrap();
        let suite = format!(
            "version: 1\ndataset: data.jsonl\ntarget: {{command: [python3, '{}']{more}}}\nchecks: [exact_match]\n",
            app.display()
        );
        fs::write(bench.path("lydite.yaml"), suite).unwrap();
        bench
    }

    #[test]
    fn a_program_answers() {
        let data = [
            json!({"question": "a\nb", "expected": "A\nB1", "contexts": "own"}),
            json!({"question": "b", "expected": "B2"}),
        ];
        let bench = bench(", trials: 2, concurrency: 3", &data);
        let outcome = bench.run(|_| {});
        let made = made(&outcome);
        let outputs: Vec<&str> = made
            .iter()
            .map(|record| record["output"].as_str().unwrap())
            .collect();
        assert_eq!(outputs, ["A\nB1", "A\nB2", "B1", "B2"]);
        assert_eq!(made[0]["contexts"], json!([{"document": "of a\nb"}]));
        assert_eq!(made[0]["latency_ms"], 12.5);
        assert_eq!(made[0]["cost_usd"], 0.25);
        assert_eq!(made[0]["model"], "command/app.py");
        let keys = json!(["contexts", "id", "query", "trial"]);
        assert_eq!(made[0]["debug"]["keys"], keys);
        assert_eq!(outcome.report.records.judged, 4);
    }

    #[test]
    fn failures_of_a_program() {
        // What is asked, the error's code, words of it.
        let table = [
            ("fine", "", ""),
            ("error", "model_local", "no idea"),
            ("log", "model_protocol", "a log line"),
            (
                "reference",
                "model_protocol",
                "has `expected`, which an answer may not set",
            ),
            ("die", "model_local", "out of memory"),
            ("slow", "model_timeout", "within 2 s"),
            ("well", "", ""),
        ];
        let data = table.map(|(query, ..)| json!({"query": query, "reference": "r"}));
        let bench = bench(", timeout: 2, attempts: 1", &data);
        let outcome = bench.run(|_| {});
        for ((query, code, words), record) in table.into_iter().zip(made(&outcome)) {
            let error = &record["target_error"];
            assert_eq!(
                error["code"].as_str().unwrap_or(""),
                code,
                "{query}: {error}"
            );
            let message = error["message"].as_str().unwrap_or("");
            assert!(message.contains(words), "{query}: {message}");
        }
        assert_eq!(outcome.report.errors.count, 5);
    }

    #[test]
    fn an_interrupt_keeps_what_was_answered() {
        let data = ["a", "b", "slow", "c"].map(|query| json!({"query": query, "reference": "x"}));
        let bench = bench(", timeout: 60", &data);
        let (stop, progress) = (AtomicBool::new(false), Progress::default());
        let request = bench.request();
        let outcome = std::thread::scope(|scope| {
            let running = scope.spawn(|| {
                let registry = Registry::builtin();
                job::run(
                    request,
                    &registry,
                    Vec::new(),
                    &stop,
                    &progress,
                    &mut |_| {},
                )
            });
            while progress.answers.load(Ordering::Relaxed) < 2 && !running.is_finished() {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            stop.store(true, Ordering::Relaxed);
            running.join().unwrap().unwrap()
        });
        assert_eq!(outcome.report.exit.code, 130);
        let kept = made(&outcome);
        assert_eq!(kept.len(), 2);
        let text = fs::read_to_string(bench.path("app.py")).unwrap();
        fs::write(bench.path("app.py"), text.replace("time.sleep(30)", "pass")).unwrap();
        let outcome = bench.run(|request| request.resume = Some("latest".into()));
        let whole = made(&outcome);
        assert_eq!(whole.len(), 4);
        assert_eq!(whole[..2], kept[..]);
        assert_eq!(outcome.report.records.judged, 4);
    }
}
