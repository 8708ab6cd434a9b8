//! Refusals: their kind, whether they are tried again, and their words.
//!
//! The bodies are written from the providers' documentation; none was recorded.

use std::sync::LazyLock;

use lydite::model::ModelErrorKind as Kind;
use proptest::prelude::any;
use proptest::prelude::*;

use super::*;
use crate::wires::anthropic::Anthropic;
use crate::wires::chat::Protocol;
use crate::wires::gemini::Gemini;
use crate::wires::http::{Endpoint, HttpReply};
use crate::wires::refusal::Refusal;

/// A provider's model and path, a status and body, and what the error has to be.
struct Case {
    spec: &'static str,
    path: &'static str,
    status: u16,
    body: Value,
    kind: Kind,
    retry: bool,
    words: &'static [&'static str],
}

fn case(
    spec: &'static str,
    status: u16,
    body: Value,
    kind: Kind,
    retry: bool,
    words: &'static [&'static str],
) -> Case {
    let path = match spec.split('/').next() {
        Some("gemini") => "/v1beta",
        Some("azure") => "",
        _ => "/v1",
    };
    Case {
        spec,
        path,
        status,
        body,
        kind,
        retry,
        words,
    }
}

fn openai_error(message: &str, kind: &str, code: Option<&str>) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn anthropic_error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})
}

fn google_error(code: u16, status: &str, message: &str) -> Value {
    json!({"error": {"code": code, "message": message, "status": status}})
}

fn cases() -> Vec<Case> {
    vec![
        case(
            "openai/gpt",
            401,
            openai_error(
                "Incorrect API key provided: hunter-2-key-of-tests. You can find your API key at …",
                "invalid_request_error",
                Some("invalid_api_key"),
            ),
            Kind::Unauthorized,
            false,
            &[
                "variable OPENAI_API_KEY was refused",
                "[key]",
                "/v1/chat/completions",
            ],
        ),
        case(
            "anthropic/claude",
            401,
            anthropic_error("authentication_error", "invalid x-api-key"),
            Kind::Unauthorized,
            false,
            &["ANTHROPIC_API_KEY", "invalid x-api-key"],
        ),
        case(
            "gemini/g",
            400,
            google_error(
                400,
                "INVALID_ARGUMENT",
                "API key not valid. Please pass a valid API key.",
            ),
            Kind::Unauthorized,
            false,
            &["GEMINI_API_KEY"],
        ),
        case(
            "vllm/m",
            401,
            json!({"error": "Unauthorized"}),
            Kind::Unauthorized,
            false,
            &["asks for an API key", "`api_key_env`"],
        ),
        case(
            "openai/gpt",
            403,
            openai_error(
                "Country, region, or territory not supported",
                "request_forbidden",
                None,
            ),
            Kind::Unauthorized,
            false,
            &[
                "may not use `gpt` (403)",
                "territory not supported",
                "region",
            ],
        ),
        case(
            "openai/gpt-9",
            404,
            openai_error(
                "The model `gpt-9` does not exist or you do not have access to it.",
                "invalid_request_error",
                Some("model_not_found"),
            ),
            Kind::NotFound,
            false,
            &["the model `gpt-9` was not found"],
        ),
        case(
            "azure/dep",
            404,
            json!({"error": {"code": "DeploymentNotFound", "message": "The API deployment for this resource does not exist."}}),
            Kind::NotFound,
            false,
            &["the model `dep` was not found"],
        ),
        case(
            "anthropic/claude-9",
            404,
            anthropic_error("not_found_error", "model: claude-9"),
            Kind::NotFound,
            false,
            &["the model `claude-9` was not found"],
        ),
        case(
            "gemini/g-9",
            404,
            google_error(
                404,
                "NOT_FOUND",
                "models/g-9 is not found for API version v1beta",
            ),
            Kind::NotFound,
            false,
            &["the model `g-9` was not found"],
        ),
        case(
            "openai/gpt",
            400,
            openai_error(
                "This model's maximum context length is 128000 tokens. However, your messages resulted in 200000 tokens.",
                "invalid_request_error",
                Some("context_length_exceeded"),
            ),
            Kind::ContextLength,
            false,
            &["longer than the model takes", "128000"],
        ),
        case(
            "anthropic/claude",
            400,
            anthropic_error(
                "invalid_request_error",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
            Kind::ContextLength,
            false,
            &["210000"],
        ),
        case(
            "gemini/g",
            400,
            google_error(
                400,
                "INVALID_ARGUMENT",
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048575).",
            ),
            Kind::ContextLength,
            false,
            &["1200000"],
        ),
        case(
            "llama_cpp/m",
            400,
            json!({"error": {"code": 400, "message": "the request exceeds the available context size, try increasing it", "type": "exceed_context_size_error"}}),
            Kind::ContextLength,
            false,
            &["context size"],
        ),
        case(
            "anthropic/claude",
            413,
            anthropic_error("request_too_large", "Request exceeds the maximum size"),
            Kind::ContextLength,
            false,
            &["413"],
        ),
        case(
            "openai/gpt",
            429,
            openai_error(
                "Rate limit reached for gpt",
                "tokens",
                Some("rate_limit_exceeded"),
            ),
            Kind::RateLimited,
            true,
            &["too many requests (429)"],
        ),
        case(
            "openai/gpt",
            429,
            openai_error(
                "You exceeded your current quota, please check your plan and billing details.",
                "insufficient_quota",
                Some("insufficient_quota"),
            ),
            Kind::BadRequest,
            false,
            &["quota or credit is used up", "billing"],
        ),
        case(
            "gemini/g",
            429,
            google_error(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details.",
            ),
            Kind::RateLimited,
            true,
            &["429"],
        ),
        case(
            "deepseek/m",
            402,
            openai_error(
                "Insufficient Balance",
                "unknown_error",
                Some("invalid_request_error"),
            ),
            Kind::BadRequest,
            false,
            &["Insufficient Balance", "credit is used up"],
        ),
        case(
            "azure/dep",
            400,
            json!({"error": {"code": "content_filter", "message": "The response was filtered due to the prompt triggering content management policy.", "innererror": {"code": "ResponsibleAIPolicyViolation"}}}),
            Kind::ContentFilter,
            false,
            &["content filter stopped"],
        ),
        case(
            "groq/m",
            400,
            openai_error(
                "Failed to validate JSON.",
                "invalid_request_error",
                Some("json_validate_failed"),
            ),
            Kind::Protocol,
            true,
            &["not of the form asked for"],
        ),
        case(
            "openai/gpt",
            400,
            openai_error("Invalid value: 'top_p'", "invalid_request_error", None),
            Kind::BadRequest,
            false,
            &["the request was refused (400): Invalid value"],
        ),
        case(
            "openai/gpt",
            500,
            openai_error("The server had an error", "server_error", None),
            Kind::Server,
            true,
            &["the server failed (500)"],
        ),
        case(
            "openai/gpt",
            503,
            json!("down"),
            Kind::Server,
            true,
            &["503"],
        ),
        case(
            "anthropic/claude",
            529,
            anthropic_error("overloaded_error", "Overloaded"),
            Kind::Server,
            true,
            &["529", "Overloaded"],
        ),
        case("openai/gpt", 408, json!({}), Kind::Timeout, true, &["408"]),
        case("openai/gpt", 409, json!({}), Kind::Server, true, &["409"]),
    ]
}

#[tokio::test]
async fn refusals() {
    for case in cases() {
        let server = server(vec![answer(case.status, &case.body)]).await;
        let lookup = |name: &str| {
            if name == "VLLM_API_KEY" {
                None
            } else {
                variables(name)
            }
        };
        let spec = spec(case.spec, &server, case.path);
        let wire = wires::chat(&spec, Environment(&lookup)).unwrap();
        let attempt = wire.attempt(&text_request(), TIMEOUT).await;
        assert_eq!(attempt.status, Some(case.status));
        assert_eq!(
            (attempt.usage.calls, attempt.usage.cost_usd),
            (1, Some(0.0))
        );
        let error = attempt.outcome.unwrap_err();
        let label = format!("{} {} {}", case.spec, case.status, error.message);
        assert_eq!(
            (error.kind, error.retry),
            (case.kind, case.retry),
            "{label}"
        );
        assert!(!error.message.contains("hunter"), "{label}");
        for words in case.words {
            assert!(error.message.contains(words), "{label}");
        }
    }
}

#[tokio::test]
async fn how_long_to_wait_comes_with_the_error() {
    let busy = || answer(429, &json!({"error": {"message": "slow down"}}));
    for (answer, expected) in [
        (busy().insert_header("retry-after", "2"), Some(2000)),
        (busy().insert_header("retry-after", "0.5"), Some(500)),
        (
            busy()
                .insert_header("retry-after-ms", "40")
                .insert_header("retry-after", "1"),
            Some(40),
        ),
        (busy(), None),
    ] {
        let server = server(vec![answer]).await;
        let error = error(&spec("openai/m", &server, "/v1"), &text_request()).await;
        assert_eq!(error.retry_after.map(|wait| wait.as_millis()), expected);
    }
}

#[tokio::test]
async fn a_base_url_without_v1_is_named() {
    let nothing = ResponseTemplate::new(404).set_body_string("404 page not found");
    let server = server(vec![nothing]).await;
    let error = error(&spec("openai/m", &server, ""), &text_request()).await;
    assert_eq!(error.kind, Kind::NotFound);
    let url = format!(
        "there is nothing at {}/chat/completions (404)",
        server.uri()
    );
    assert!(error.message.contains(&url), "{}", error.message);
    assert!(
        error.message.contains("ends with `/v1`"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let moved =
        ResponseTemplate::new(308).insert_header("location", "https://elsewhere.example/v1?key=1");
    let server = server(vec![moved]).await;
    let error = error(&spec("openai/m", &server, "/v1"), &text_request()).await;
    assert_eq!((error.kind, error.retry), (Kind::NotFound, false));
    assert!(
        error
            .message
            .contains("to https://elsewhere.example/v1 (308)"),
        "{}",
        error.message
    );
    assert_eq!(server.received_requests().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_page_in_place_of_json_is_shown_from_its_beginning() {
    let page = format!(
        "<!doctype html>\n<title>Sign in</title> {KEY} {}",
        "x".repeat(5000)
    );
    let server = server(vec![ResponseTemplate::new(200).set_body_string(page)]).await;
    for model in ["openai/m", "anthropic/m", "gemini/m"] {
        let error = error(&spec(model, &server, "/v1"), &text_request()).await;
        assert_eq!((error.kind, error.retry), (Kind::Protocol, true));
        let words = "no JSON: it begins with `<!doctype html> <title>Sign in</title> [key]";
        assert!(error.message.contains(words), "{}", error.message);
        assert!(error.message.len() < 600, "{}", error.message.len());
    }
}

/// JSON of any form whose keys are those that readers look for.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "choices",
        "message",
        "content",
        "tool_calls",
        "function",
        "arguments",
        "logprobs",
        "token",
        "usage",
        "prompt_tokens",
        "error",
        "code",
        "status",
        "details",
        "retryDelay",
        "candidates",
        "parts",
        "text",
        "type",
        "stop_reason",
        "finish_reason",
        "detail",
        "loc",
        "metadata",
        "raw",
        "refusal",
        "promptFeedback",
        "usageMetadata",
        "logprobsResult",
    ]);
    leaf.prop_recursive(5, 40, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..5).prop_map(|map| {
                map.into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

static ENDPOINT: LazyLock<Endpoint> = LazyLock::new(|| {
    let spec = ModelSpec::parse("openai/m").unwrap();
    crate::wires::openai::endpoint(&spec, "/x", Environment(&variables)).unwrap()
});

proptest! {
    #[test]
    fn no_body_panics(body in any_json(), noise in prop::collection::vec(any::<u8>(), 0..40), status in 100u16..600) {
        for body in [body.to_string().into_bytes(), noise] {
            let reply = HttpReply { status, body, ..HttpReply::default() };
            let protocols: [&dyn Protocol; 3] = [&crate::wires::openai::OpenAi::default(), &Anthropic, &Gemini];
            for protocol in protocols {
                let _ = protocol.read(&reply, &ENDPOINT);
            }
            let error = Refusal::read(&reply.body).error(&reply, &ENDPOINT.facts, "m");
            prop_assert!(!error.message.is_empty());
        }
    }
}
