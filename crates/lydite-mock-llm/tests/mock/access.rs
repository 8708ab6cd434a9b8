//! Keys, models, limits, wrong requests, TLS.

use lydite_mock_llm::{Config, Listen, MockServer};
use serde_json::{Value, json};

use crate::support::{CHAT, CHATS, GENERATE, MESSAGES, Mock, ask, ask_schema, chat, client};

const VERSION: (&str, &str) = ("anthropic-version", "2023-06-01");

#[tokio::test]
async fn keys_are_asked_where_each_provider_has_them() {
    let mock = Mock::json(&json!({"api_key": "sk-right"}));
    let query = |key: &str| format!("{GENERATE}?alt=json&key={key}");
    let azure = "/openai/deployments/d/chat/completions?api-version=2024-10-21";
    let cases: &[(&str, &[(&str, &str)], u16)] = &[
        (CHAT, &[("authorization", "Bearer sk-right")], 200),
        (CHAT, &[("authorization", "bearer sk-right")], 200),
        (azure, &[("api-key", "sk-right")], 200),
        (CHAT, &[("authorization", "Bearer sk-wrong")], 401),
        (CHAT, &[("authorization", "sk-right")], 401),
        (CHAT, &[("x-api-key", "sk-right")], 401),
        (CHAT, &[], 401),
        (MESSAGES, &[VERSION, ("x-api-key", "sk-right")], 200),
        (MESSAGES, &[VERSION, ("x-api-key", "sk-wrong")], 401),
        (
            MESSAGES,
            &[VERSION, ("authorization", "Bearer sk-right")],
            401,
        ),
        (GENERATE, &[("x-goog-api-key", "sk-right")], 200),
        (GENERATE, &[("x-goog-api-key", "sk-wrong")], 401),
        (&query("sk-right"), &[], 200),
        (&query("sk-wrong"), &[], 401),
        (GENERATE, &[], 401),
    ];
    for (path, headers, status) in cases {
        let body = ask(path.split('?').next().unwrap(), "x");
        let answered = mock.post_with(path, &body, headers).await.unwrap();
        assert_eq!(answered.status, *status, "{path} {headers:?}");
        if *status == 401 {
            let (pointer, expected) = match *path {
                MESSAGES => ("/error/type", "authentication_error"),
                CHAT => ("/error/code", "invalid_api_key"),
                _ => ("/error/status", "UNAUTHENTICATED"),
            };
            assert_eq!(
                answered.json().pointer(pointer),
                Some(&json!(expected)),
                "{path}"
            );
        }
    }
    // No key, right or wrong, is kept anywhere.
    let all = format!(
        "{:?} {} {} {:?}",
        mock.server.requests(),
        mock.get("/admin/requests").await,
        mock.get("/admin/stats").await,
        mock.server
    );
    assert!(!all.contains("sk-"), "{all}");
    assert!(
        mock.server.requests()[0]
            .header_names
            .contains(&"authorization".to_owned())
    );
}

#[tokio::test]
async fn what_is_not_there_is_said_in_the_providers_shape() {
    let mock = Mock::json(&json!({"models": ["other"], "max_prompt_chars": 40}));
    let long = "x".repeat(41);
    let azure = "/openai/deployments/d/chat/completions";
    let cases = [
        (CHAT, chat("x"), 404, "/error/code", "model_not_found"),
        (
            MESSAGES,
            ask(MESSAGES, "x"),
            404,
            "/error/type",
            "not_found_error",
        ),
        (
            GENERATE,
            ask(GENERATE, "x"),
            404,
            "/error/status",
            "NOT_FOUND",
        ),
        (azure, chat("x"), 404, "/error/code", "unknown_url"),
        ("/v1/none", chat("x"), 404, "/error/code", "unknown_url"),
        (
            CHAT,
            json!({"model": "other", "messages": [{"role": "user", "content": long}]}),
            400,
            "/error/code",
            "context_length_exceeded",
        ),
        (
            MESSAGES,
            json!({"model": "other", "max_tokens": 1, "messages": [{"role": "user", "content": long}]}),
            400,
            "/error/type",
            "invalid_request_error",
        ),
        (
            "/v1beta/models/other:generateContent",
            ask(GENERATE, &long),
            400,
            "/error/status",
            "INVALID_ARGUMENT",
        ),
        (
            "/v1/embeddings",
            json!({"model": "other", "input": [long]}),
            400,
            "/error/code",
            "context_length_exceeded",
        ),
    ];
    let n = cases.len() as u64;
    for (path, body, status, pointer, expected) in cases {
        let answered = mock.post(path, &body).await;
        assert_eq!(answered.status, status, "{path} {body}");
        assert_eq!(
            answered.json().pointer(pointer),
            Some(&json!(expected)),
            "{path}"
        );
    }
    assert_eq!((mock.stats().refused, mock.stats().requests), (n, n));
}

/// What the real providers refuse is refused here too, and so is what the mock can't do.
#[tokio::test]
async fn wrong_requests_are_refused_with_a_reason() {
    let mock = Mock::json(&json!({}));
    let with = |mut body: Value, key: &str, value: Value| {
        body[key] = value;
        body
    };
    let without = |mut body: Value, key: &str| {
        body.as_object_mut().unwrap().remove(key);
        body
    };
    let mut open = ask_schema(CHAT, "x");
    open["response_format"]["json_schema"]["schema"]["additionalProperties"] = json!(true);
    let messages = ask(MESSAGES, "x");
    let cases = [
        (CHAT, json!({"model": "m"}), "messages"),
        (CHAT, without(chat("x"), "model"), "model"),
        (CHAT, with(chat("x"), "stream", json!(true)), "stream"),
        (CHAT, with(chat("x"), "n", json!(2)), "'n'"),
        (
            CHAT,
            with(chat("x"), "response_format", json!({"type": "json_object"})),
            "json",
        ),
        (
            CHAT,
            with(chat("x"), "response_format", json!({"type": "xml"})),
            "response_format",
        ),
        (CHAT, open, "additionalProperties"),
        (CHAT, json!([]), "messages"),
        (
            MESSAGES,
            without(messages.clone(), "max_tokens"),
            "max_tokens",
        ),
        (
            MESSAGES,
            with(
                messages.clone(),
                "messages",
                json!([{"role": "system", "content": "x"}]),
            ),
            "system",
        ),
        (GENERATE, json!({}), "contents"),
        (
            GENERATE,
            with(
                ask(GENERATE, "x"),
                "generationConfig",
                json!({"responseSchema": {}}),
            ),
            "response_mime_type",
        ),
        (
            "/v1/embeddings",
            json!({"model": "e", "input": []}),
            "input",
        ),
        (
            "/v1/embeddings",
            json!({"model": "e", "input": ["a", ""]}),
            "input",
        ),
        (
            "/v1/embeddings",
            json!({"model": "e", "input": "a", "dimensions": 0}),
            "dimensions",
        ),
        (
            "/v1/embeddings",
            json!({"model": "e", "input": "a", "encoding_format": "hex"}),
            "encoding_format",
        ),
        ("/v1/moderations", json!({}), "input"),
        (
            "/v1beta/models/e:embedContent",
            json!({"content": {}}),
            "content",
        ),
    ];
    for (path, body, part) in cases {
        let answered = mock.post(path, &body).await;
        assert_eq!(answered.status, 400, "{path} {body}: {}", answered.text);
        let message = answered.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.contains(part), "{path} {body}: {message}");
    }
    let answered = mock.post_with(MESSAGES, &messages, &[]).await.unwrap();
    assert!(
        answered.status == 400 && answered.text.contains("anthropic-version"),
        "{answered:?}"
    );
}

#[tokio::test]
async fn bytes_that_are_no_request_are_refused() {
    let mock = Mock::json(&json!({}));
    for path in CHATS {
        let url = format!("{}{path}", mock.server.url());
        for body in [&b""[..], b"{", b"\xff\xfe", b"[1,2"] {
            let request = mock
                .client
                .post(&url)
                .header(VERSION.0, VERSION.1)
                .body(body);
            let response = request.send().await.unwrap();
            assert_eq!(response.status().as_u16(), 400, "{path}");
        }
        assert_eq!(
            mock.client
                .get(&url)
                .send()
                .await
                .unwrap()
                .status()
                .as_u16(),
            405
        );
    }
}

#[tokio::test]
async fn tls_is_trusted_with_its_certificate_only() {
    let listen = Listen {
        tls: true,
        ..Listen::default()
    };
    let server = MockServer::start_on(&listen, Config::default()).unwrap();
    assert!(server.url().starts_with("https://127.0.0.1:"));
    let stranger = client();
    let url = format!("{}{CHAT}", server.url());
    assert!(stranger.post(&url).json(&chat("x")).send().await.is_err());
    let certificate =
        reqwest::Certificate::from_pem(server.certificate_pem().unwrap().as_bytes()).unwrap();
    let friend = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([certificate])
        .build()
        .unwrap();
    let response = friend.post(&url).json(&chat("x")).send().await.unwrap();
    assert_eq!(response.status().as_u16(), 200);
    assert_eq!(server.stats().ok, 1);
}

#[test]
fn a_configuration_that_cannot_be_starts_no_server() {
    let config: Config = serde_json::from_value(json!({"faults": {"hang": 2}})).unwrap();
    let error = MockServer::start(config).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("faults.hang"), "{error}");
}
