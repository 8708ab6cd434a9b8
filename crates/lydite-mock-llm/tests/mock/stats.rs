//! What is counted and kept, and the administration by HTTP.

use std::time::Duration;

use lydite_mock_llm::{Config, Listen, MockServer};
use serde_json::json;

use crate::support::{CHAT, MESSAGES, Mock, ask, chat};

#[tokio::test]
async fn repeats_and_duplicates_are_counted() {
    let mock = Mock::json(&json!({}));
    for prompt in ["a", "b", "a", "a"] {
        mock.chat(prompt).await;
    }
    mock.post(MESSAGES, &ask(MESSAGES, "a")).await;
    let stats = mock.stats();
    assert_eq!((stats.requests, stats.ok, stats.in_flight), (5, 5, 0));
    assert_eq!(
        (
            stats.distinct_bodies,
            stats.repeats,
            stats.duplicate_after_ok
        ),
        (3, 2, 2)
    );
    assert_eq!((stats.by_path[CHAT], stats.by_path[MESSAGES]), (4, 1));
    assert_eq!((stats.connections, stats.max_connections), (1, 1));
    assert!(stats.span_s > 0.0 && stats.mean_in_flight > 0.0 && stats.mean_in_flight <= 1.0);
}

#[tokio::test]
async fn a_retry_before_its_time_is_counted() {
    let mock = Mock::json(&json!({"faults": {"rate_limited": 1, "retry_after_s": 0.5}}));
    mock.chat("patient").await;
    tokio::time::sleep(Duration::from_millis(510)).await;
    mock.chat("patient").await;
    assert_eq!(mock.stats().retried_before_retry_after, 0);
    mock.chat("hasty").await;
    mock.chat("hasty").await;
    assert_eq!(mock.stats().retried_before_retry_after, 1);
}

#[tokio::test]
async fn requests_at_once_are_in_flight_together() {
    for threads in [1, 2] {
        let listen = Listen {
            threads,
            ..Listen::default()
        };
        let config = Config {
            latency_ms: 300,
            ..Config::default()
        };
        let mock = Mock {
            server: MockServer::start_on(&listen, config).unwrap(),
            client: crate::support::client(),
        };
        let requests = (0..8).map(|number| {
            let request = mock
                .client
                .post(format!("{}{CHAT}", mock.server.url()))
                .json(&chat(&number.to_string()));
            tokio::spawn(async move { request.send().await.unwrap().status() })
        });
        for task in requests.collect::<Vec<_>>() {
            assert_eq!(task.await.unwrap().as_u16(), 200);
        }
        let stats = mock.stats();
        assert_eq!(
            (stats.max_in_flight, stats.ok, stats.max_connections),
            (8, 8, 8),
            "{threads}"
        );
        assert!(
            stats.mean_in_flight > 4.0 && stats.mean_in_flight <= 8.0,
            "{}",
            stats.mean_in_flight
        );
        assert!(stats.span_s >= 0.3);
    }
}

#[tokio::test]
async fn administration_by_http() {
    let mock = Mock::json(&json!({}));
    mock.chat("first").await;
    let stats = mock.get("/admin/stats").await;
    assert_eq!((&stats["requests"], &stats["ok"]), (&json!(1), &json!(1)));
    let requests = mock.get("/admin/requests").await;
    assert_eq!(
        (&requests[0]["path"], &requests[0]["body"]),
        (&json!(CHAT), &chat("first"))
    );

    let config = json!({"faults": {"server_error": "100%"}, "api_key": "sk-secret"});
    let answered = mock.post("/admin/config", &config).await;
    assert_eq!(
        (answered.status, answered.text.contains("sk-")),
        (200, false)
    );
    assert_eq!(mock.get("/admin/stats").await["requests"], 0);
    assert_eq!(mock.chat("x").await.status, 401);

    for (config, part) in [
        (json!({"latency": 1}), "unknown field"),
        (json!({"faults": {"cut": 7}}), "faults.cut"),
        (
            json!({"replies": {"file": {"path": "/etc/hostname"}}}),
            "replies.rules",
        ),
    ] {
        let answered = mock.post("/admin/config", &config).await;
        assert!(
            answered.status == 400 && answered.text.contains(part),
            "{config}: {answered:?}"
        );
    }
    assert_eq!(
        mock.chat("x").await.status,
        401,
        "a wrong configuration changes nothing"
    );
    assert_eq!(mock.post("/admin/none", &json!({})).await.status, 404);
}

#[tokio::test]
async fn only_the_last_requests_are_kept() {
    let mock = Mock::json(&json!({"keep_requests": 2}));
    for prompt in ["a", "b", "c"] {
        mock.chat(prompt).await;
    }
    let bodies: Vec<String> = mock
        .server
        .requests()
        .into_iter()
        .map(|seen| seen.body)
        .collect();
    assert_eq!(bodies, [chat("b").to_string(), chat("c").to_string()]);
    mock.server
        .configure(Config {
            keep_requests: 0,
            ..Config::default()
        })
        .unwrap();
    mock.chat("d").await;
    assert!(mock.server.requests().is_empty());
}

#[test]
fn a_server_ends_when_it_is_dropped() {
    let server = MockServer::start(Config::default()).unwrap();
    let address = server.address();
    drop(server);
    assert!(std::net::TcpStream::connect(address).is_err());
}
