//! Answers of the chat protocol, and what is learnt from refusals.
//!
//! The bodies are written from the providers' documentation; none was recorded.

use lydite::model::{Finish, ModelErrorKind, Structured};

use super::*;

/// A completion with some fields of its choice, or of its message, in place of the usual ones.
fn choice(choice: &Value, message: &Value) -> Value {
    let mut whole = completion("x");
    for (place, fields) in [("/choices/0", choice), ("/choices/0/message", message)] {
        let object = whole.pointer_mut(place).unwrap().as_object_mut().unwrap();
        object.extend(fields.as_object().unwrap().clone());
    }
    whole
}

#[tokio::test]
async fn texts_and_ends() {
    let none = json!({});
    for (body, expected) in [
        (
            completion("Yes: \"é\"\n"),
            Ok(("Yes: \"é\"\n", Finish::Stop)),
        ),
        (
            choice(&json!({"finish_reason": "length"}), &none),
            Ok(("x", Finish::Length)),
        ),
        (
            choice(
                &json!({"finish_reason": "length"}),
                &json!({"content": null}),
            ),
            Ok(("", Finish::Length)),
        ),
        (
            choice(
                &none,
                &json!({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            ),
            Ok(("ab", Finish::Stop)),
        ),
        (
            choice(
                &json!({"finish_reason": "tool_calls"}),
                &json!({"content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "verdict", "arguments": "{\"verdict\": \"yes\"}"}}]}),
            ),
            Ok(("{\"verdict\": \"yes\"}", Finish::Stop)),
        ),
        (
            choice(
                &none,
                &json!({"content": null, "tool_calls": [{"function": {"name": "verdict", "arguments": {"verdict": "yes"}}}]}),
            ),
            Ok(("{\"verdict\":\"yes\"}", Finish::Stop)),
        ),
        (
            choice(&none, &json!({"content": null, "refusal": "I can't."})),
            Err((
                ModelErrorKind::ContentFilter,
                false,
                "refused to answer: I can't.",
            )),
        ),
        (
            choice(&json!({"finish_reason": "content_filter"}), &none),
            Err((ModelErrorKind::ContentFilter, false, "content filter")),
        ),
        (
            choice(&none, &json!({"content": null})),
            Err((ModelErrorKind::Protocol, true, "no text")),
        ),
        (
            json!({"choices": []}),
            Err((ModelErrorKind::Protocol, true, "no `choices`")),
        ),
        (
            json!({"choices": "many"}),
            Err((ModelErrorKind::Protocol, true, "JSON of another form")),
        ),
        (
            json!({"error": {"message": "overloaded", "code": 503}}),
            Err((ModelErrorKind::Server, true, "overloaded")),
        ),
        (
            json!({"error": "out of memory"}),
            Err((ModelErrorKind::Server, true, "out of memory")),
        ),
        (
            choice(&json!({"error": {"code": 429, "message": "slow"}}), &none),
            Err((ModelErrorKind::RateLimited, true, "slow")),
        ),
    ] {
        let server = server(vec![answer(200, &body)]).await;
        let attempt = ask(&spec("openai/m", &server, "/v1"), &text_request()).await;
        let found = attempt.outcome.as_ref();
        match (found, expected) {
            (Ok(reply), Ok((text, finish))) => {
                assert_eq!(
                    (reply.text.as_str(), reply.finish),
                    (text, finish),
                    "{body}"
                );
                assert_eq!(reply.served_by.as_deref(), Some("served-1"));
            }
            (Err(error), Err((kind, retry, words))) => {
                assert_eq!((error.kind, error.retry), (kind, retry), "{body}");
                assert!(error.message.contains(words), "{}", error.message);
            }
            (found, _) => panic!("{body}: {found:?}"),
        }
    }
}

#[tokio::test]
async fn usage_cost_and_request_id() {
    let with_id = answer(200, &completion("x")).insert_header("x-request-id", "req-1");
    let server_with_usage = server(vec![with_id]).await;
    let attempt = ask(
        &spec("openai/gpt-4.1-mini", &server_with_usage, "/v1"),
        &text_request(),
    )
    .await;
    // 1,000 tokens at 0.40 and 500 at 1.60 dollars a million.
    assert_eq!(attempt.usage.cost_usd, Some(0.0012));
    assert_eq!(
        (attempt.usage.input_tokens, attempt.usage.output_tokens),
        (1000, 500)
    );
    assert!(!attempt.usage.estimated);
    assert_eq!(attempt.request_id.as_deref(), Some("req-1"));
    assert_eq!(attempt.outcome.unwrap().usage, attempt.usage);

    let mut without = completion("four words of reply");
    without.as_object_mut().unwrap().remove("usage");
    let server = server(vec![answer(200, &without)]).await;
    let usage = ask(&spec("openai/unknown", &server, "/v1"), &text_request())
        .await
        .usage;
    assert!(
        usage.estimated && usage.input_tokens >= 10 && usage.output_tokens == 4,
        "{usage:?}"
    );
    assert_eq!(usage.cost_usd, None);
}

#[tokio::test]
async fn logprobs() {
    let content = json!([
        {"token": "7", "logprob": -0.25, "bytes": [55], "top_logprobs": [
            {"token": "7", "logprob": -0.25, "bytes": [55]}, {"token": "8", "logprob": -1.5, "bytes": [56]}]},
        {"token": "!", "logprob": null},
    ]);
    let body = choice(
        &json!({"logprobs": {"content": content, "refusal": null}}),
        &json!({}),
    );
    let server_with = server(vec![answer(200, &body)]).await;
    let request = ChatRequest {
        top_logprobs: Some(2),
        ..text_request()
    };
    let reply = ask(&spec("openai/m", &server_with, "/v1"), &request)
        .await
        .outcome
        .unwrap();
    let tokens = reply.logprobs.unwrap();
    assert_eq!((tokens[0].token.as_str(), tokens[0].logprob), ("7", -0.25));
    assert_eq!(
        (tokens[0].top[1].token.as_str(), tokens[0].top[1].logprob),
        ("8", -1.5)
    );
    assert_eq!(tokens[1].logprob, -9999.0);

    // Known not to have them: nothing is sent.
    let error = error(&spec("groq/m", &server_with, "/v1"), &request).await;
    assert_eq!(error.kind, ModelErrorKind::Unsupported);
    assert_eq!(bodies(&server_with).await.len(), 1);

    // Refused: said, and remembered.
    let refused = json!({"error": {"message": "You are not allowed to request logprobs from this model", "code": null}});
    let server = server(vec![answer(403, &json!({})), answer(400, &refused)]).await;
    let wire = wire(&spec("openai/m", &server, "/v1"));
    assert!(wire.logprobs());
    wire.attempt(&request, TIMEOUT).await.outcome.unwrap_err();
    let error = wire.attempt(&request, TIMEOUT).await.outcome.unwrap_err();
    assert_eq!(
        (error.kind, wire.logprobs()),
        (ModelErrorKind::Unsupported, false)
    );
    assert!(
        error.message.contains("not allowed to request logprobs"),
        "{}",
        error.message
    );
}

fn refuses_forms(body: &Value) -> ResponseTemplate {
    let message = match body {
        body if body.get("response_format").is_some() => {
            "response_format type json_schema is unavailable now"
        }
        body if body.get("tools").is_some() => {
            "\"auto\" tool choice requires --enable-auto-tool-choice"
        }
        _ => return answer(200, &completion(r#"{"verdict": "yes"}"#)),
    };
    answer(
        400,
        &json!({"object": "error", "message": message, "type": "BadRequestError", "code": 400}),
    )
}

#[tokio::test]
async fn a_form_that_is_refused_is_left_for_the_next_and_remembered() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ByBody(refuses_forms))
        .mount(&server)
        .await;
    let wire = wire(&spec("vllm/m", &server, "/v1"));
    let first = wire.attempt(&json_request(), TIMEOUT).await;
    assert_eq!(first.outcome.unwrap().text, r#"{"verdict": "yes"}"#);
    assert_eq!(first.usage.calls, 3);
    let second = wire.attempt(&json_request(), TIMEOUT).await;
    assert_eq!(second.usage.calls, 1);
    let bodies = bodies(&server).await;
    assert_eq!(bodies.len(), 4);
    let last = bodies[3]["messages"][1]["content"].as_str().unwrap();
    assert!(last.contains("JSON schema:\n{"), "{last}");
    let notes = wire.notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[1].contains("refuses a tool call"), "{notes:?}");
}

#[tokio::test]
async fn a_form_that_the_suite_names_is_not_left() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ByBody(refuses_forms))
        .mount(&server)
        .await;
    let mut spec = spec("vllm/m", &server, "/v1");
    spec.structured = Structured::JsonSchema;
    let error = error(&spec, &json_request()).await;
    assert_eq!(error.kind, ModelErrorKind::BadRequest);
    assert_eq!(bodies(&server).await.len(), 1);
}

fn ignores(body: &Value) -> ResponseTemplate {
    let in_words = body.to_string().contains("JSON schema:");
    answer(
        200,
        &completion(if in_words {
            r#"{"verdict": "no"}"#
        } else {
            "No, it is not."
        }),
    )
}

#[tokio::test]
async fn a_server_that_ignores_the_form_is_asked_in_words() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ByBody(ignores))
        .mount(&server)
        .await;
    let wire = wire(&spec("openai/m", &server, "/v1"));
    let attempt = wire.attempt(&json_request(), TIMEOUT).await;
    assert_eq!(attempt.outcome.unwrap().text, r#"{"verdict": "no"}"#);
    // All three replies were paid for.
    assert_eq!(
        (attempt.usage.calls, attempt.usage.output_tokens),
        (3, 1500)
    );
    assert!(
        wire.notes()[0].contains("ignores a JSON schema"),
        "{:?}",
        wire.notes()
    );
}

/// JSON that ends in its middle is asked for once more; what is cut then, too, is for the judge to repair.
#[tokio::test]
async fn json_that_was_cut_is_asked_for_once_more() {
    const CUT: &str = r#"{"verdict": "y"#;
    const WHOLE: &str = r#"{"verdict": "no"}"#;
    // Replies, requests, and which reply counts.
    let table: [(&[&str], u32, &str); 5] = [
        (&[CUT, WHOLE], 2, WHOLE),
        (&[CUT, CUT, WHOLE], 2, CUT),
        (&[WHOLE], 1, WHOLE),
        (&[r#"{"verdict": maybe}"#], 1, r#"{"verdict": maybe}"#),
        (&["It is {sure"], 1, "It is {sure"),
    ];
    for (replies, requests, expected) in table {
        let answers = replies.iter().map(|reply| answer(200, &completion(reply)));
        let server = server(answers.collect()).await;
        let attempt = ask(
            &spec("openai/gpt-4.1-mini", &server, "/v1"),
            &json_request(),
        )
        .await;
        assert_eq!(attempt.outcome.unwrap().text, expected);
        assert_eq!(attempt.usage.calls, requests);
        assert_eq!(
            attempt.usage.output_tokens,
            500 * u64::from(requests),
            "all are paid for"
        );
    }
    // Text that nobody asked to be JSON may be anything.
    let server = server(vec![answer(200, &completion(CUT))]).await;
    let attempt = ask(
        &spec("openai/gpt-4.1-mini", &server, "/v1"),
        &text_request(),
    )
    .await;
    assert_eq!(
        (attempt.outcome.unwrap().text.as_str(), attempt.usage.calls),
        (CUT, 1)
    );
}

fn refuses(body: &Value) -> ResponseTemplate {
    let refusal = |message: &str, param: &str| {
        answer(
            400,
            &json!({"error": {"message": message, "type": "invalid_request_error", "param": param, "code": "unsupported_value"}}),
        )
    };
    if body.get("max_tokens").is_some() {
        return refusal(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "max_tokens",
        );
    }
    if body.get("temperature").is_some() {
        return refusal(
            "Unsupported value: 'temperature' does not support 0 with this model.",
            "temperature",
        );
    }
    if body.get("seed").is_some() {
        return refusal("Unknown parameter: 'seed'", "seed");
    }
    answer(200, &completion("x"))
}

#[tokio::test]
async fn parameters_that_are_refused_are_left_out() {
    let server = MockServer::start().await;
    Mock::given(any())
        .respond_with(ByBody(refuses))
        .mount(&server)
        .await;
    let mut spec = spec("azure/my-deployment", &server, "");
    spec.max_output_tokens = Some(50);
    spec.seed = Some(1);
    let wire = wire(&spec);
    let first = wire.attempt(&text_request(), TIMEOUT).await;
    assert_eq!(first.outcome.unwrap().text, "x");
    assert_eq!(first.usage.calls, 4);
    assert_eq!(wire.notes().len(), 3);
    let body = bodies(&server).await.pop().unwrap();
    assert_eq!(body["max_completion_tokens"], 50);
    assert!(body.get("temperature").is_none() && body.get("seed").is_none());
}

#[tokio::test]
async fn what_was_withheld_is_paid_for() {
    let body = choice(&json!({"finish_reason": "content_filter"}), &json!({}));
    let server = server(vec![answer(200, &body)]).await;
    let attempt = ask(
        &spec("openai/gpt-4.1-mini", &server, "/v1"),
        &text_request(),
    )
    .await;
    assert!(attempt.outcome.is_err());
    assert_eq!(attempt.usage.cost_usd, Some(0.0012));
}
