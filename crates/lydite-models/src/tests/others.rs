//! Answers of Anthropic and Gemini, embeddings, moderation.
//!
//! The bodies are written from the providers' documentation; none was recorded.

use lydite::model::{Finish, ModelErrorKind as Kind};

use super::*;

/// What comes of an answer: text, end and tokens in and out; or the error's kind.
type Expected = Result<(&'static str, Finish, u64, u64), Kind>;

async fn check(model: &str, cases: Vec<(Value, Expected)>) {
    for (body, expected) in cases {
        let server = server(vec![answer(200, &body)]).await;
        let attempt = ask(&spec(model, &server, "/v1"), &json_request()).await;
        let usage = attempt.usage;
        let found = attempt
            .outcome
            .as_ref()
            .map_err(|error| error.kind)
            .map(|reply| {
                (
                    reply.text.as_str(),
                    reply.finish,
                    usage.input_tokens,
                    usage.output_tokens,
                )
            });
        assert_eq!(found, expected, "{body}");
    }
}

#[tokio::test]
async fn anthropic() {
    let message = |content: Value, stop: &str| {
        json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x",
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": 5, "output_tokens": 3},
        })
    };
    check("anthropic/claude-x", vec![
        (
            message(json!([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "tool_use", "id": "t", "name": "verdict", "input": {"verdict": "yes"}}]), "tool_use"),
            Ok(("{\"verdict\":\"yes\"}", Finish::Stop, 15, 3)),
        ),
        (
            message(json!([{"type": "text", "text": "{\"a\":"}, {"type": "text", "text": "1}"}]), "end_turn"),
            Ok(("{\"a\":1}", Finish::Stop, 15, 3)),
        ),
        (message(json!([]), "max_tokens"), Ok(("", Finish::Length, 15, 3))),
        (message(json!([]), "refusal"), Err(Kind::ContentFilter)),
        (message(json!([]), "end_turn"), Err(Kind::Protocol)),
    ])
    .await;
    let server = server(vec![]).await;
    let request = ChatRequest {
        top_logprobs: Some(5),
        ..text_request()
    };
    let error = error(&spec("anthropic/m", &server, "/v1"), &request).await;
    assert_eq!(error.kind, Kind::Unsupported);
}

#[tokio::test]
async fn gemini() {
    let whole = |candidate: Value| {
        json!({
            "candidates": [candidate], "modelVersion": "gemini-x",
            "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 4, "totalTokenCount": 17},
        })
    };
    let content = json!({"role": "model", "parts": [{"text": "thinking", "thought": true}, {"text": "{\"verdict\":"}, {"text": "\"yes\"}"}]});
    check(
        "gemini/gemini-x",
        vec![
            (
                whole(json!({"content": content, "finishReason": "STOP", "index": 0})),
                Ok(("{\"verdict\":\"yes\"}", Finish::Stop, 10, 7)),
            ),
            (
                whole(json!({"content": {"role": "model"}, "finishReason": "MAX_TOKENS"})),
                Ok(("", Finish::Length, 10, 7)),
            ),
            (
                whole(json!({"finishReason": "SAFETY", "safetyRatings": []})),
                Err(Kind::ContentFilter),
            ),
            (
                whole(json!({"content": {"parts": []}, "finishReason": "STOP"})),
                Err(Kind::Protocol),
            ),
            (
                json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}),
                Err(Kind::ContentFilter),
            ),
            (json!({}), Err(Kind::Protocol)),
        ],
    )
    .await;
    let logprobs = json!({
        "content": {"parts": [{"text": "7"}]}, "finishReason": "STOP",
        "logprobsResult": {
            "chosenCandidates": [{"token": "7", "tokenId": 1, "logProbability": -0.5}],
            "topCandidates": [{"candidates": [{"token": "7", "logProbability": -0.5}, {"token": "8", "logProbability": -2.0}]}],
        },
    });
    let server = server(vec![answer(200, &whole(logprobs))]).await;
    let reply = ask(&spec("gemini/g", &server, "/v1"), &text_request())
        .await
        .outcome
        .unwrap();
    let token = &reply.logprobs.unwrap()[0];
    assert_eq!(
        (
            token.logprob,
            token.top[1].token.as_str(),
            token.top[1].logprob
        ),
        (-0.5, "8", -2.0)
    );
}

async fn embed(spec: &ModelSpec, texts: &[&str]) -> Attempt<Vec<Vec<f32>>> {
    let wire = wires::embed(spec, Environment(&variables)).unwrap();
    assert!(wire.batch() > 1);
    wire.attempt(texts, TIMEOUT).await
}

#[tokio::test]
async fn embeddings_of_openai() {
    // 1.0 and -0.5 as little-endian binary32: 00 00 80 3f, 00 00 00 bf.
    let body = json!({
        "object": "list", "model": "text-embedding-3-small",
        "data": [
            {"object": "embedding", "index": 1, "embedding": [0.25, 2]},
            {"object": "embedding", "index": 0, "embedding": "AACAPwAAAL8="},
        ],
        "usage": {"prompt_tokens": 1_000_000, "total_tokens": 1_000_000},
    });
    let server = server(vec![answer(200, &body)]).await;
    let mut spec = spec("openai/text-embedding-3-small", &server, "/v1");
    spec.dimensions = Some(2);
    let attempt = embed(&spec, &["a", "b"]).await;
    assert_eq!(attempt.outcome.unwrap(), [[1.0, -0.5], [0.25, 2.0]]);
    assert_eq!(attempt.usage.cost_usd, Some(0.02));
    assert_eq!(
        bodies(&server).await,
        [
            json!({"model": "text-embedding-3-small", "input": ["a", "b"], "encoding_format": "base64", "dimensions": 2})
        ]
    );
}

#[tokio::test]
async fn embeddings_that_can_not_be_used() {
    let item = |index: usize, embedding: Value| json!({"index": index, "embedding": embedding});
    for (data, dimensions, words) in [
        (
            json!([item(0, json!([1.0]))]),
            None,
            "there is none with the index 1",
        ),
        (
            json!([item(0, json!([1.0])), item(0, json!([1.0]))]),
            None,
            "have the index 0",
        ),
        (
            json!([item(0, json!([1.0])), item(2, json!([1.0]))]),
            None,
            "have the index 2",
        ),
        (
            json!([item(0, json!([1.0])), item(1, json!([1.0, 2.0]))]),
            None,
            "unequal length, 1 and 2",
        ),
        (
            json!([item(0, json!([1.0])), item(1, json!("AACAfw=="))]),
            None,
            "not finite",
        ),
        (
            json!([item(0, json!("AACAPw==")), item(1, json!("AACA"))]),
            None,
            "neither numbers nor base64",
        ),
        (
            json!([item(0, json!([1.0])), item(1, json!([1.0]))]),
            Some(3),
            "`dimensions: 3`",
        ),
    ] {
        let server = server(vec![answer(200, &json!({"data": data}))]).await;
        let mut spec = spec("vllm/e5", &server, "/v1");
        spec.dimensions = dimensions;
        let attempt = embed(&spec, &["a", "b"]).await;
        let error = attempt.outcome.unwrap_err();
        assert_eq!(error.kind, Kind::Protocol);
        assert!(error.message.contains(words), "{}", error.message);
        assert!(attempt.usage.estimated);
    }
}

#[tokio::test]
async fn embeddings_of_gemini() {
    let body = json!({"embeddings": [{"values": [1.0, 0.5]}, {"values": [0.0, 2.0]}]});
    let server = server(vec![answer(200, &body)]).await;
    let mut spec = spec("gemini/gemini-embedding-001", &server, "/v1beta");
    spec.dimensions = Some(2);
    let vectors = embed(&spec, &["a", "b"]).await.outcome.unwrap();
    assert_eq!(vectors, [[1.0, 0.5], [0.0, 2.0]]);
    let request = &server.received_requests().await.unwrap()[0];
    assert_eq!(
        request.url.path(),
        "/v1beta/models/gemini-embedding-001:batchEmbedContents"
    );
    let one = |text: &str| json!({"model": "models/gemini-embedding-001", "content": {"parts": [{"text": text}]}, "outputDimensionality": 2});
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body, json!({"requests": [one("a"), one("b")]}));
}

#[test]
fn roles_that_a_provider_does_not_have() {
    for (text, words) in [
        ("anthropic/m", "has no embeddings"),
        ("scripted/m", "has no embeddings"),
    ] {
        let spec = ModelSpec::parse(text).unwrap();
        let error = wires::embed(&spec, Environment(&variables)).unwrap_err();
        assert_eq!(error.kind, Kind::Unsupported);
        assert!(error.message.contains(words), "{}", error.message);
    }
    let spec = ModelSpec::parse("anthropic/m").unwrap();
    let error = wires::moderate(&spec, Environment(&variables)).unwrap_err();
    assert!(
        error.message.contains("has no moderation"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn moderation() {
    let item = |flagged: Value, violence: bool| {
        json!({
            "flagged": flagged,
            "categories": {"violence": violence, "illicit": null},
            "category_scores": {"violence": 0.75, "illicit": null},
        })
    };
    let body = json!({"id": "modr-1", "model": "omni-moderation-latest", "results": [item(json!(true), true), item(Value::Null, false)]});
    let server = server(vec![answer(200, &body)]).await;
    let mut spec = spec("openai/m", &server, "/v1");
    spec.model = String::new();
    let wire = wires::moderate(&spec, Environment(&variables)).unwrap();
    assert_eq!(wire.name(), "openai/omni-moderation-latest");
    let attempt = wire.attempt(&["a", "b"], TIMEOUT).await;
    assert_eq!(attempt.usage.cost_usd, Some(0.0));
    let found = attempt.outcome.unwrap();
    assert_eq!((found[0].flagged, found[1].flagged), (true, false));
    let category = &found[0].categories[..];
    assert_eq!(category.len(), 1);
    assert_eq!(
        (
            category[0].name.as_str(),
            category[0].flagged,
            category[0].score
        ),
        ("violence", true, 0.75)
    );
    assert_eq!(
        bodies(&server).await,
        [json!({"model": "omni-moderation-latest", "input": ["a", "b"]})]
    );
    let error = wire.attempt(&["a"], TIMEOUT).await.outcome.unwrap_err();
    assert!(
        error.message.contains("2 results for 1 texts"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn forms_that_anthropic_or_gemini_refuse_are_left_as_well() {
    fn refuses(body: &Value) -> ResponseTemplate {
        let text = body.to_string();
        if text.contains("\"tools\"") {
            return answer(
                400,
                &json!({"type": "error", "error": {"type": "invalid_request_error", "message": "tool_choice: not supported"}}),
            );
        }
        if text.contains("responseJsonSchema") {
            return answer(
                400,
                &json!({"error": {"code": 400, "message": "Invalid JSON payload received. Unknown name \"responseJsonSchema\"", "status": "INVALID_ARGUMENT"}}),
            );
        }
        assert!(text.contains("JSON schema:"), "{text}");
        answer(
            200,
            &json!({
                "content": [{"type": "text", "text": "{}"}], "stop_reason": "end_turn",
                "candidates": [{"content": {"parts": [{"text": "{}"}]}}],
            }),
        )
    }
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ByBody(refuses))
        .mount(&server)
        .await;
    for model in ["anthropic/m", "gemini/m"] {
        let attempt = ask(&spec(model, &server, "/v1"), &json_request()).await;
        assert_eq!(
            (attempt.outcome.unwrap().text.as_str(), attempt.usage.calls),
            ("{}", 2)
        );
    }
}

#[tokio::test]
async fn anthropic_models_that_think_are_asked_in_words_without_temperature() {
    let server = server(vec![answer(200, &json!({}))]).await;
    let mut spec = spec("anthropic/m", &server, "/v1");
    let thinking = json!({"type": "enabled", "budget_tokens": 1024});
    spec.parameters.insert("thinking".into(), thinking.clone());
    ask(&spec, &json_request()).await.outcome.unwrap_err();
    let body = bodies(&server).await.pop().unwrap();
    assert_eq!(body["thinking"], thinking);
    assert!(
        body.get("tools").is_none() && body.get("temperature").is_none(),
        "{body}"
    );
}
