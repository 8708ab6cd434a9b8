//! Runs whose models fail: what the user is told, what it costs, and that no key is ever told.

use std::path::Path;

use lydite_mock_llm::{Config, Faults, Listen, MockServer, Replies, Rule};
use serde_json::{Value, json};

use crate::support::{Album, Dir, Ran, json_lines};

const KEY: &str = "LYDITE_TEST_KEY";
const RECORDS: &str = "\
{\"id\": \"a\", \"query\": \"2 + 2?\", \"output\": \"4\", \"reference\": \"4\"}
{\"id\": \"b\", \"query\": \"3 + 3?\", \"output\": \"6\", \"reference\": \"6\"}
{\"id\": \"c\", \"query\": \"4 + 4?\", \"output\": \"8\", \"reference\": \"8\"}
";

/// A suite of one judged check, and what it judges. `more` are further keys of the judge.
fn dir(base_url: &str, more: &str) -> Dir {
    let suite = format!(
        "version: 1\nname: judged\ndataset: data.jsonl\nmodels:\n  judge: {{provider: openai, model: mock-1, \
         base_url: {base_url:?}, concurrency: 1, timeout: 2, attempts: 2{more}}}\nchecks:\n  - qa\n"
    );
    Dir::with(&[("lydite.yaml", &suite), ("data.jsonl", RECORDS)])
}

fn by_key(base_url: &str) -> Dir {
    dir(base_url, &format!(", api_key_env: {KEY}"))
}

fn mock(config: Config) -> (MockServer, String) {
    let server = MockServer::start(config).unwrap();
    let base_url = format!("{}/v1", server.url());
    (server, base_url)
}

fn always(status: u16, body: Option<Value>) -> Config {
    answering(Rule {
        status: Some(status),
        body,
        ..Rule::default()
    })
}

/// The error's code of each result of the only run; `not_run` cells say so.
fn codes(dir: &Dir) -> Vec<String> {
    let results = std::fs::read_to_string(dir.only_run().join("results.jsonl")).unwrap();
    let code = |result: &Value| {
        let code = result.pointer("/error/code").and_then(Value::as_str);
        code.unwrap_or("none").to_owned()
    };
    json_lines(&results).iter().map(code).collect()
}

const RIGHT: [(&str, &str); 1] = [(KEY, "sk-right")];

/// Runs, and keeps what the user saw. What could not be judged is never a score.
fn tell(album: &mut Album, title: &str, dir: &Dir, environment: &[(&str, &str)]) -> Ran {
    let ran = dir.run_in(environment, "run");
    album.add(title, &ran);
    ran
}

#[test]
fn keys_and_models_that_are_refused() {
    let mut album = Album::default();
    let (server, url) = mock(Config {
        api_key: Some("sk-right".into()),
        models: Some(vec!["mock-2".to_owned()]),
        ..Config::default()
    });
    let without = by_key(&url);
    tell(&mut album, "no key", &without, &[]).exits(2);
    assert_eq!(server.stats().requests, 0);

    let wrong = by_key(&url);
    tell(&mut album, "a wrong key", &wrong, &[(KEY, "sk-wrong")]).exits(3);
    assert_eq!(server.stats().requests, 1, "a refused key is tried once");
    assert!(codes(&wrong).is_empty(), "nothing was judged");

    let model = by_key(&url);
    tell(&mut album, "a wrong model", &model, &RIGHT).exits(3);
    assert_eq!(codes(&model), ["model_not_found"; 3]);

    let (forbidding, url) = mock(always(403, None));
    let forbidden = by_key(&url);
    tell(&mut album, "a key that may not", &forbidden, &RIGHT).exits(3);
    assert_eq!(forbidding.stats().requests, 1);
    album.compare("models_refused");
}

#[test]
fn addresses_that_lead_nowhere() {
    let mut album = Album::default();
    let (server, _) = mock(always(404, Some("404 page not found".into())));
    let short = by_key(&server.url());
    tell(&mut album, "an address without /v1", &short, &RIGHT).exits(3);

    let (gone, url) = mock(Config::default());
    drop(gone);
    let silent = by_key(&url);
    tell(&mut album, "nobody listens", &silent, &RIGHT).exits(3);
    assert_eq!(codes(&silent), ["model_connection"; 3]);

    let (proxy, _) = mock(always(407, None));
    let far = by_key("http://models.example/v1");
    let through = [RIGHT[0], ("HTTP_PROXY", &*proxy.url())];
    tell(&mut album, "a proxy that refuses", &far, &through).exits(3);
    let far = by_key("http://models.example/v1");
    let through = [RIGHT[0], ("HTTP_PROXY", "http://127.0.0.1:9")];
    tell(&mut album, "a proxy that is not there", &far, &through).exits(3);
    album.compare("models_nowhere");
}

#[test]
fn a_certificate_that_nobody_trusts() {
    let mut album = Album::default();
    let listen = Listen {
        tls: true,
        ..Listen::default()
    };
    let server = MockServer::start_on(&listen, Config::default()).unwrap();
    let url = format!("{}/v1", server.url());
    let doubting = by_key(&url);
    tell(
        &mut album,
        "a certificate that nobody trusts",
        &doubting,
        &RIGHT,
    )
    .exits(3);
    assert_eq!(codes(&doubting), ["model_tls"; 3]);

    let trusting = dir(&url, ", ca_file: ca.pem");
    trusting.write("ca.pem", server.certificate_pem().unwrap());
    trusting.run("run").exits(0);
    album.compare("models_tls");
}

#[test]
fn replies_that_are_none() {
    let mut album = Album::default();
    let (_server, url) = mock(Config {
        max_prompt_chars: Some(100),
        ..Config::default()
    });
    let long = by_key(&url);
    tell(&mut album, "a prompt that is too long", &long, &RIGHT).exits(3);
    assert_eq!(codes(&long), ["context_length"; 3]);

    let (_server, url) = mock(Config {
        ignore_schema: true,
        ..Config::default()
    });
    let prosaic = by_key(&url);
    tell(
        &mut album,
        "a model that ignores the schema",
        &prosaic,
        &RIGHT,
    )
    .exits(3);
    assert_eq!(codes(&prosaic), ["judge_unreadable"; 3]);

    let quota = json!({"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}});
    let (server, url) = mock(always(429, Some(quota)));
    let poor = by_key(&url);
    tell(&mut album, "no credit", &poor, &RIGHT).exits(3);
    assert_eq!(server.stats().requests, 3, "waiting does not help");
    album.compare("models_replies");
}

/// Keys in a variable and a header: servers repeat them in whatever they answer.
#[test]
fn no_key_is_told_anywhere() {
    let [variable, ..] = SECRETS;
    let error = |said: &str| json!({"error": {"message": said, "code": said, "type": "x"}});
    let with_headers = |status: u16, body: Value| Rule {
        status: Some(status),
        body: Some(body),
        headers: ["x-request-id", "location", "x-echo"]
            .map(|name| (name.to_owned(), said()))
            .into(),
        ..Rule::default()
    };
    let mut rules: Vec<Rule> = [
        301, 400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 500, 501, 503,
    ]
    .into_iter()
    .map(|status| with_headers(status, error(&said())))
    .collect();
    rules.extend([
        with_headers(401, said().into()),
        with_headers(500, format!("<html>{}</html>", said()).into()),
        with_headers(200, error(&said())),
        with_headers(200, said().into()),
        with_headers(200, format!("{{\"choices\": \"{}", said()).into()),
        with_headers(200, json!({"choices": [{"message": {"refusal": said()}}]})),
    ]);
    for rule in rules {
        let what = format!("{:?} {:?}", rule.status, rule.body);
        let (server, url) = mock(answering(rule));
        let dir = planted(&url);
        let ran = dir.run_in(&PLANTED, "run --format json");
        assert!(server.stats().requests > 0, "{}", ran.transcript());
        assert_eq!(ran.code, 3, "{what}: {}", ran.transcript());
        assert_untold(&dir, &ran, &what);
    }
    let fault = |name: &str| {
        let (hang, cut, malformed) = (name == "hang", name == "cut", name == "malformed");
        Faults {
            hang: f64::from(u8::from(hang)),
            cut: f64::from(u8::from(cut)),
            malformed: f64::from(u8::from(malformed)),
            ..Faults::default()
        }
    };
    for name in ["right", "hang", "cut", "malformed"] {
        let (_server, url) = mock(Config {
            faults: fault(name),
            ..Config::default()
        });
        let dir = planted(&url);
        for line in ["run", "run --dry-run"] {
            let ran = dir.run_in(&PLANTED, line);
            let well = name == "right" || line != "run";
            assert_eq!(ran.code == 0, well, "{name}: {}", ran.transcript());
            assert_untold(&dir, &ran, name);
        }
    }
    let dir = planted("http://127.0.0.1:9/v1");
    let ran = dir.run_in(&PLANTED, "run").exits(3);
    assert_untold(&dir, &ran, "nobody listens");
    let dir = planted(&format!("http://user:{variable}@127.0.0.1:9/v1"));
    let ran = dir.run_in(&PLANTED, "run").exits(2);
    assert_untold(&dir, &ran, "a password in the address");
}

/// A key in the query of an address: refused in a suite, and hidden where a flag names it.
#[test]
fn no_key_of_a_query_is_told() {
    let [_, _, query] = SECRETS;
    let dir = planted(&format!("http://127.0.0.1:9/v1?sig={query}"));
    let ran = dir.run_in(&PLANTED, "run").exits(2);
    assert_untold(&dir, &ran, "a suite");
    let said = format!("POST /v1/chat/completions?sig={query} was refused");
    let body = json!({"error": {"message": said}});
    for status in [400, 401, 404, 500] {
        let (server, url) = mock(answering(Rule {
            status: Some(status),
            body: Some(body.clone()),
            ..Rule::default()
        }));
        let judge =
            format!("{{provider: openai, model: m, attempts: 1, base_url: \"{url}?sig={query}\"}}");
        let args = ["eval", "qa", "--record", "record.json", "--json", "--judge"];
        let dir = Dir::with(&[("record.json", RECORDS.lines().next().unwrap())]);
        let ran = dir.args(&[&args[..], &[&judge]].concat());
        assert!(server.stats().requests > 0, "{}", ran.transcript());
        assert_untold(&dir, &ran, &format!("{status}"));
    }
}

const SECRETS: [&str; 3] = ["planted-1f7d2c9b", "planted-2a6e8b40", "planted-3c5d7e91"];
const PLANTED: [(&str, &str); 2] = [(KEY, SECRETS[0]), ("LYDITE_TEST_HEADER", SECRETS[1])];

/// What a server says that repeats a whole request.
fn said() -> String {
    let [variable, header, _] = SECRETS;
    format!("Authorization: Bearer {variable} was refused, X-Gateway: {header}")
}

fn answering(rule: Rule) -> Config {
    Config {
        replies: Replies::Rules {
            rules: vec![rule],
            strict: true,
        },
        ..Config::default()
    }
}

fn planted(base_url: &str) -> Dir {
    dir(
        base_url,
        &format!(", api_key_env: {KEY}, headers: {{X-Gateway: $LYDITE_TEST_HEADER}}"),
    )
}

/// Neither what was said nor any file holds a secret, but the suite that somebody wrote it into.
fn assert_untold(dir: &Dir, ran: &Ran, what: &str) {
    let mut texts = vec![("stdout".to_owned(), ran.stdout.clone().into_bytes())];
    texts.push(("stderr".to_owned(), ran.stderr.clone().into_bytes()));
    read_all(&dir.path(""), &mut texts);
    assert!(texts.len() > 3, "{what}: nothing was written");
    for (name, bytes) in texts {
        if name.ends_with("lydite.yaml") {
            continue;
        }
        for secret in SECRETS {
            let found = bytes
                .windows(secret.len())
                .any(|at| at == secret.as_bytes());
            assert!(
                !found,
                "{what}: {name} tells {secret}: {}",
                String::from_utf8_lossy(&bytes)
            );
        }
    }
}

fn read_all(folder: &Path, texts: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_all(&path, texts);
        } else {
            let bytes = std::fs::read(&path).unwrap();
            texts.push((path.display().to_string(), bytes));
        }
    }
}

/// Its model's file starts at the suite's folder, wherever the command is run.
#[test]
fn the_example_of_judging_runs_offline_from_any_folder() {
    let dir = Dir::new();
    let suite = crate::support::repository("examples/judge/lydite.yaml");
    let ran = dir
        .args(&["run", suite.to_str().unwrap(), "--format", "json"])
        .exits(0);
    let report = ran.json();
    let checks = report["checks"].as_array().unwrap();
    let errored: u64 = checks
        .iter()
        .map(|check| check["errored"].as_u64().unwrap())
        .sum();
    assert_eq!((checks.len(), errored), (3, 0), "{report}");
}
