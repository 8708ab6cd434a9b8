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
    let rule = Rule {
        status: Some(status),
        body,
        ..Rule::default()
    };
    Config {
        replies: Replies::Rules {
            rules: vec![rule],
            strict: true,
        },
        ..Config::default()
    }
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

#[test]
fn a_model_that_can_not_be_asked_is_told_with_what_to_do() {
    let mut album = Album::default();
    let key = [(KEY, "sk-right")];
    let mut tell = |title: &str, dir: &Dir, environment: &[(&str, &str)]| {
        let ran = dir.run_in(environment, "run").exits(3);
        album.add(title, &ran);
        ran
    };

    let (server, url) = mock(Config {
        api_key: Some("sk-right".into()),
        models: Some(vec!["mock-2".to_owned()]),
        ..Config::default()
    });
    let no_key = by_key(&url);
    tell("no key", &no_key, &[]);
    assert_eq!(server.stats().requests, 0);

    let wrong_key = by_key(&url);
    tell("a wrong key", &wrong_key, &[(KEY, "sk-wrong")]);
    assert_eq!(server.stats().requests, 1, "a refused key is tried once");
    assert_eq!(codes(&wrong_key).len(), 3);

    tell("a wrong model", &by_key(&url), &key);

    let (_forbidding, url) = mock(always(403, None));
    tell("a key that may not", &by_key(&url), &key);

    let (server, _) = mock(Config::default());
    tell(
        "an address without /v1",
        &by_key(&format!("{}/api", server.url())),
        &key,
    );

    let closed = {
        let (server, _) = mock(Config::default());
        format!("{}/v1", server.url())
    };
    tell("nobody listens", &by_key(&closed), &key);

    let listen = Listen {
        tls: true,
        ..Listen::default()
    };
    let secure = MockServer::start_on(&listen, Config::default()).unwrap();
    let url = format!("{}/v1", secure.url());
    tell("a certificate that nobody trusts", &by_key(&url), &key);
    let trusting = dir(&url, ", ca_file: ca.pem");
    trusting.write("ca.pem", secure.certificate_pem().unwrap());
    trusting.run_in(&[], "run").exits(0);

    let refusing = always(407, None);
    let (proxy, _) = mock(refusing);
    let through = [(KEY, "sk-right"), ("HTTP_PROXY", &*proxy.url())];
    tell(
        "a proxy that refuses",
        &by_key("http://models.example/v1"),
        &through,
    );
    let gone = [(KEY, "sk-right"), ("HTTP_PROXY", "http://127.0.0.1:9")];
    tell(
        "a proxy that is not there",
        &by_key("http://models.example/v1"),
        &gone,
    );

    let (_short, url) = mock(Config {
        max_prompt_chars: Some(100),
        ..Config::default()
    });
    tell("a prompt that is too long", &by_key(&url), &key);

    let (_prosaic, url) = mock(Config {
        ignore_schema: true,
        ..Config::default()
    });
    tell("a model that ignores the schema", &by_key(&url), &key);

    let quota = json!({"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}});
    let (poor, url) = mock(always(429, Some(quota)));
    tell("no credit", &by_key(&url), &key);
    assert_eq!(poor.stats().requests, 3, "waiting does not help");

    album.compare("models");
}

/// A key in a variable, a header and a query: servers repeat all of them in whatever they answer.
#[test]
fn no_key_is_told_anywhere() {
    const SECRETS: [&str; 3] = ["planted-1f7d2c9b", "planted-2a6e8b40", "planted-3c5d7e91"];
    let [variable, header, query] = SECRETS;
    let environment = [(KEY, variable), ("LYDITE_TEST_HEADER", header)];
    let said = format!(
        "Authorization: Bearer {variable} was refused, X-Gateway: {header}, POST /v1/chat/completions?sig={query}"
    );
    let error = |said: &str| json!({"error": {"message": said, "code": said, "type": "x"}});
    let with_headers = |status: u16, body: Value| Rule {
        status: Some(status),
        body: Some(body),
        headers: [("x-request-id", &said), ("location", &said)]
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .into(),
        ..Rule::default()
    };
    let mut rules: Vec<Rule> = [
        400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 500, 501, 503, 301,
    ]
    .into_iter()
    .map(|status| with_headers(status, error(&said)))
    .collect();
    rules.extend([
        with_headers(401, said.clone().into()),
        with_headers(500, format!("<html>{said}</html>").into()),
        with_headers(200, error(&said)),
        with_headers(200, said.clone().into()),
        with_headers(200, format!("{{\"choices\": \"{said}").into()),
        with_headers(
            200,
            json!({"choices": [{"message": {"refusal": said.as_str()}}]}),
        ),
    ]);
    for rule in rules {
        let what = format!("{:?} {:?}", rule.status, rule.body);
        let (server, url) = mock(Config {
            replies: Replies::Rules {
                rules: vec![rule],
                strict: true,
            },
            ..Config::default()
        });
        let dir = planted(&format!("{url}?sig={query}"));
        let ran = dir.run_in(&environment, "run --format json");
        assert!(server.stats().requests > 0, "{}", ran.transcript());
        assert_eq!(ran.code, 3, "{what}: {}", ran.transcript());
        assert_untold(&dir, &ran, &SECRETS, &what);
    }
    for (name, faults) in [
        ("right", Faults::default()),
        (
            "hanging",
            Faults {
                hang: 1.0,
                ..Faults::default()
            },
        ),
        (
            "cut",
            Faults {
                cut: 1.0,
                ..Faults::default()
            },
        ),
        (
            "malformed",
            Faults {
                malformed: 1.0,
                ..Faults::default()
            },
        ),
    ] {
        let (_server, url) = mock(Config {
            faults,
            ..Config::default()
        });
        let dir = planted(&format!("{url}?sig={query}"));
        let ran = dir.run_in(&environment, "run");
        assert_eq!(
            ran.code == 0,
            name == "right",
            "{name}: {}",
            ran.transcript()
        );
        assert_untold(&dir, &ran, &SECRETS, name);
        let ran = dir.run_in(&environment, "run --dry-run");
        assert_untold(&dir, &ran, &SECRETS, name);
    }
    // Nobody listens; and an address that holds a password is refused before anything is asked.
    for url in [
        format!("http://127.0.0.1:9/v1?sig={query}"),
        format!("http://user:{variable}@127.0.0.1:9/v1"),
    ] {
        let dir = planted(&url);
        let ran = dir.run_in(&environment, "run");
        assert!(ran.code > 1, "{}", ran.transcript());
        assert_untold(&dir, &ran, &SECRETS, "no server");
    }
}

fn planted(base_url: &str) -> Dir {
    dir(
        base_url,
        &format!(", api_key_env: {KEY}, headers: {{X-Gateway: $LYDITE_TEST_HEADER}}"),
    )
}

/// Neither what was said nor any file holds a secret, but the suite that somebody wrote it into.
fn assert_untold(dir: &Dir, ran: &Ran, secrets: &[&str], what: &str) {
    let mut texts = vec![("stdout".to_owned(), ran.stdout.clone().into_bytes())];
    texts.push(("stderr".to_owned(), ran.stderr.clone().into_bytes()));
    read_all(&dir.path(""), &mut texts);
    assert!(texts.len() > 3, "{what}: nothing was written");
    for (name, bytes) in texts {
        if name.ends_with("lydite.yaml") {
            continue;
        }
        for secret in secrets {
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
