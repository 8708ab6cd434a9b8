//! Each fault as a client meets it, and its count.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use lydite_mock_llm::{Config, Faults, Stats};
use serde_json::{Value, json};

use crate::support::{Answered, CHAT, GENERATE, MESSAGES, Mock, ask, ask_tool, chat, said};

/// A mock that gives one fault always.
fn always(fault: &str) -> Mock {
    Mock::json(&json!({"faults": {fault: 1, "retry_after_s": 0.25, "hang_s": 0.05}}))
}

fn count(stats: &Stats, fault: &str) -> u64 {
    serde_json::to_value(stats).unwrap()[fault]
        .as_u64()
        .unwrap()
}

#[tokio::test]
async fn a_rate_limit_has_retry_after() {
    let mock = always("rate_limited");
    let openai = mock.chat("x").await;
    assert_eq!(
        (openai.status, openai.retry_after.as_deref()),
        (429, Some("0.25"))
    );
    assert_eq!(openai.json()["error"]["code"], "rate_limit_exceeded");
    let anthropic = mock.post(MESSAGES, &ask(MESSAGES, "x")).await.json();
    assert_eq!(anthropic["error"]["type"], "rate_limit_error");
    let gemini = mock.post(GENERATE, &ask(GENERATE, "x")).await.json();
    assert_eq!(gemini["error"]["status"], "RESOURCE_EXHAUSTED");
    assert_eq!(gemini["error"]["details"][0]["retryDelay"], "0.25s");
    let whole = Mock::json(&json!({"faults": {"rate_limited": "100%", "retry_after_s": 2}}));
    assert_eq!(whole.chat("x").await.retry_after.as_deref(), Some("2"));
    assert_eq!(mock.stats().rate_limited, 3);
}

#[tokio::test]
async fn a_server_error_has_its_status() {
    for (status, openai, anthropic, gemini) in [
        (500, "server_error", "api_error", "INTERNAL"),
        (503, "server_error", "api_error", "UNAVAILABLE"),
        (529, "server_error", "overloaded_error", "INTERNAL"),
    ] {
        let mock =
            Mock::json(&json!({"faults": {"server_error": 1, "server_error_status": status}}));
        let answered = mock.chat("x").await;
        assert_eq!(
            (answered.status, &answered.json()["error"]["type"]),
            (status, &json!(openai))
        );
        let answered = mock.post(MESSAGES, &ask(MESSAGES, "x")).await;
        assert_eq!(
            (answered.status, &answered.json()["error"]["type"]),
            (status, &json!(anthropic))
        );
        let answered = mock.post(GENERATE, &ask(GENERATE, "x")).await;
        assert_eq!(
            (answered.status, &answered.json()["error"]["status"]),
            (status, &json!(gemini))
        );
        assert_eq!(mock.stats().server_error, 3);
    }
}

#[tokio::test]
async fn a_hanging_request_is_closed_at_last() {
    let mock = always("hang");
    let start = Instant::now();
    assert!(mock.try_chat("x").await.is_err());
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!((mock.stats().hang, mock.stats().aborted_by_client), (1, 0));
}

#[tokio::test]
async fn a_client_that_goes_away_is_counted() {
    let mock = Mock::json(&json!({"faults": {"hang": 1}}));
    let request = mock
        .client
        .post(format!("{}{CHAT}", mock.server.url()))
        .json(&chat("x"));
    assert!(
        request
            .timeout(Duration::from_millis(50))
            .send()
            .await
            .is_err()
    );
    for _ in 0..200 {
        if mock.stats().aborted_by_client == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let stats = mock.stats();
    assert_eq!(
        (stats.hang, stats.aborted_by_client, stats.in_flight),
        (1, 1, 0)
    );
}

/// What a server sends before it closes the connection.
fn raw(mock: &Mock, body: &str) -> String {
    let mut stream = TcpStream::connect(mock.server.address()).unwrap();
    write!(
        stream,
        "POST {CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut got = String::new();
    // A reset connection ends it too.
    let _ = stream.read_to_string(&mut got);
    got
}

#[test]
fn a_cut_reply_is_none_or_the_first_half() {
    let mock = always("cut");
    let (mut none, mut half) = (0, 0);
    for number in 0..20 {
        let got = raw(&mock, &chat(&format!("{number}")).to_string());
        let Some((head, body)) = got.split_once("\r\n\r\n") else {
            assert_eq!(got, "");
            none += 1;
            continue;
        };
        let promised = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap();
        assert_eq!(body.len(), promised.parse::<usize>().unwrap() / 2);
        half += 1;
    }
    assert!(none >= 3 && half >= 3, "{none} {half}");
    assert_eq!((mock.stats().cut, mock.stats().ok), (20, 0));
}

#[tokio::test]
async fn a_malformed_reply_is_cut_and_holds_the_opposite() {
    for (fault, reason) in [("malformed", "stop"), ("truncated", "length")] {
        let mock = always(fault);
        for (prompt, whole) in [
            (
                "x",
                r#"{"reason":"The answer was compared with the given text.","verdict":"fail","score":0}"#,
            ),
            (
                "[[bad]]",
                r#"{"reason":"The answer was compared with the given text.","verdict":"pass","score":1}"#,
            ),
        ] {
            let answered = mock.chat(prompt).await;
            let text = answered.content();
            assert!(
                whole.starts_with(&text) && text.len() == whole.len() * 6 / 10,
                "{text}"
            );
            assert_eq!(answered.json()["choices"][0]["finish_reason"], reason);
        }
        assert_eq!((count(&mock.stats(), fault), mock.stats().ok), (2, 0));
    }
}

#[tokio::test]
async fn malformed_calls_are_no_json_or_lack_keys() {
    let mock = always("malformed");
    let openai = mock.post(CHAT, &ask_tool(CHAT, "x")).await.json();
    let arguments = &openai["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    assert!(
        serde_json::from_str::<Value>(arguments.as_str().unwrap()).is_err(),
        "{arguments}"
    );
    let anthropic = mock.post(MESSAGES, &ask_tool(MESSAGES, "x")).await.json();
    assert!(
        anthropic["content"][0]["input"].get("score").is_none(),
        "{anthropic}"
    );
    let gemini = mock.post(GENERATE, &ask_tool(GENERATE, "x")).await.json();
    let call = &gemini["candidates"][0]["content"]["parts"][0]["functionCall"];
    assert!(
        call["args"].get("score").is_none() && call["args"].get("reason").is_some(),
        "{gemini}"
    );
}

#[tokio::test]
async fn a_malformed_list_of_embeddings_is_no_json() {
    let mock = always("malformed");
    let answered = mock
        .post("/v1/embeddings", &json!({"model": "e", "input": "x"}))
        .await;
    assert_eq!(answered.status, 200);
    assert!(serde_json::from_str::<Value>(&answered.text).is_err());
    assert_eq!(mock.stats().malformed, 1);
}

/// Faults of words can't befall what has none.
#[tokio::test]
async fn embeddings_have_no_thoughts() {
    let mock = always("thinking");
    assert_eq!(
        mock.post("/v1/embeddings", &json!({"model": "e", "input": "x"}))
            .await
            .status,
        200
    );
    assert_eq!((mock.stats().thinking, mock.stats().ok), (0, 1));
}

#[tokio::test]
async fn dressed_replies_hold_the_right_verdict_and_are_counted() {
    let (pass, fail) = (r#""verdict":"pass""#, r#""verdict":"fail""#);
    for (fault, sign, has_opposite) in [
        ("fenced", "```json\n{", false),
        ("thinking", "<think>", true),
        ("injected", "instruction", true),
    ] {
        let mock = always(fault);
        let text = mock.chat("x").await.content();
        assert!(
            text.contains(sign) && text.contains(pass),
            "{fault}: {text}"
        );
        assert_eq!(text.contains(fail), has_opposite, "{fault}: {text}");
        if has_opposite {
            assert!(
                text.find(fail) < text.find(pass) && text.ends_with('}'),
                "{fault}: {text}"
            );
        }
        assert_eq!(
            (count(&mock.stats(), fault), mock.stats().ok),
            (1, 0),
            "{fault}"
        );
    }
}

/// A small limit of tokens doesn't make a right reply wrong.
#[tokio::test]
async fn what_a_reply_is_dressed_in_has_no_limit() {
    let mock = always("thinking");
    let mut body = chat("x");
    body["max_tokens"] = json!(24);
    assert!(mock.post(CHAT, &body).await.content().ends_with('}'));
}

#[tokio::test]
async fn dressed_calls_have_text_beside_or_in_place_of_them() {
    let mock = always("thinking");
    let message =
        mock.post(CHAT, &ask_tool(CHAT, "x")).await.json()["choices"][0]["message"].clone();
    assert!(
        message["content"]
            .as_str()
            .unwrap()
            .contains(r#""verdict":"fail""#),
        "{message}"
    );
    assert!(
        message["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .unwrap()
            .contains("pass"),
        "{message}"
    );
    let mock = always("fenced");
    let response = mock.post(MESSAGES, &ask_tool(MESSAGES, "x")).await.json();
    assert!(said(MESSAGES, &response).contains("```json"), "{response}");
    assert_eq!(response["stop_reason"], "end_turn");
}

fn shares(lasting: bool) -> Config {
    Config {
        seed: 3,
        faults: Faults {
            rate_limited: 0.1,
            retry_after_s: 0.0,
            server_error: 0.05,
            malformed: 0.2,
            fenced: 0.1,
            lasting,
            ..Faults::default()
        },
        ..Config::default()
    }
}

async fn thousand(mock: &Mock) -> Vec<Answered> {
    let mut answers = Vec::new();
    for number in 0..1000 {
        answers.push(mock.chat(&number.to_string()).await);
    }
    answers
}

/// Four standard deviations of the binomial distribution.
#[tokio::test]
async fn shares_hold_over_a_thousand_requests() {
    let mock = Mock::new(shares(false));
    let answers = thousand(&mock).await;
    let stats = mock.stats();
    for (met, share) in [
        (stats.rate_limited, 0.1),
        (stats.server_error, 0.05),
        (stats.malformed, 0.2),
        (stats.fenced, 0.1),
        (stats.ok, 0.55),
        (stats.hang, 0.0),
    ] {
        let bound = 4.0 * f64::sqrt(1000.0 * share * (1.0 - share));
        assert!(
            (met as f64 - 1000.0 * share).abs() <= bound,
            "{met} for {share}"
        );
    }
    assert_eq!(
        stats.rate_limited as usize,
        answers.iter().filter(|answer| answer.status == 429).count()
    );
    assert_eq!(
        stats.ok + stats.rate_limited + stats.server_error + stats.malformed + stats.fenced,
        stats.requests
    );
}

#[tokio::test]
async fn faults_are_the_same_for_the_same_seed() {
    let statuses = |answers: Vec<Answered>| {
        answers
            .iter()
            .map(|answer| answer.status)
            .collect::<Vec<_>>()
    };
    let mock = Mock::new(shares(true));
    let first = statuses(thousand(&mock).await);
    assert_eq!(
        statuses(thousand(&mock).await),
        first,
        "lasting faults last"
    );
    mock.server.configure(shares(false)).unwrap();
    let anew = statuses(thousand(&mock).await);
    assert_eq!(anew, first, "the first attempts are the same");
    assert_ne!(statuses(thousand(&mock).await), first, "the second are not");
    mock.server
        .configure(Config {
            seed: 4,
            ..shares(false)
        })
        .unwrap();
    assert_ne!(statuses(thousand(&mock).await), first, "another seed");
}

#[tokio::test]
async fn a_crowd_is_turned_away() {
    let mock = Mock::json(&json!({"latency_ms": 400, "faults": {"max_in_flight": 2}}));
    let mut tasks = Vec::new();
    for number in 0..5 {
        let request = mock
            .client
            .post(format!("{}{CHAT}", mock.server.url()))
            .json(&chat(&number.to_string()));
        tasks.push(tokio::spawn(async move {
            request.send().await.unwrap().status().as_u16()
        }));
    }
    let mut statuses = Vec::new();
    for task in tasks {
        statuses.push(task.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 429, 429, 429]);
    assert_eq!((mock.stats().rate_limited, mock.stats().ok), (3, 2));
}
