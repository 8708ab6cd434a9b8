//! What goes over the wire, body by body.
//!
//! The bodies are written from the providers' documentation; none was recorded.

use lydite::model::{Provider, Structured, Temperature};

use super::*;

/// A spec's name, its base path, an edit, the request, and what has to go out.
struct Case {
    spec: &'static str,
    path: &'static str,
    edit: fn(&mut ModelSpec),
    request: fn() -> ChatRequest,
    url: &'static str,
    key_header: &'static str,
    body: Value,
}

fn messages() -> Value {
    json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Is \"Paris\" a city?"},
    ])
}

fn in_words() -> Value {
    let addition =
        "\n\nAnswer with one JSON value of this schema and nothing else.\nJSON schema:\n";
    json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": format!("Is \"Paris\" a city?{addition}{}", schema())},
    ])
}

fn response_format() -> Value {
    json!({"type": "json_schema", "json_schema": {"name": "verdict", "strict": true, "schema": schema()}})
}

fn cases() -> Vec<Case> {
    let plain: fn(&mut ModelSpec) = |_| {};
    let bearer = "authorization: Bearer hunter-2-key-of-tests";
    let openai = |spec, edit, request, body| Case {
        spec,
        path: "/v1",
        edit,
        request,
        url: "/v1/chat/completions",
        key_header: bearer,
        body,
    };
    vec![
        openai(
            "openai/gpt-4.1-mini",
            plain,
            text_request,
            json!({"model": "gpt-4.1-mini", "messages": messages(), "temperature": 0.0}),
        ),
        openai(
            "openai/gpt-4.1-mini",
            plain,
            json_request,
            json!({"model": "gpt-4.1-mini", "messages": messages(), "temperature": 0.0, "response_format": response_format()}),
        ),
        openai(
            "openai/gpt-4.1-mini",
            |spec| {
                spec.structured = Structured::Tool;
                spec.seed = Some(7);
                spec.max_output_tokens = Some(99);
                spec.parameters.insert("top_p".into(), json!(0.9));
                spec.parameters.insert("metadata".into(), json!({"a": [1]}));
            },
            json_request,
            json!({
                "model": "gpt-4.1-mini", "messages": messages(), "temperature": 0.0, "seed": 7, "max_tokens": 99,
                "tools": [{"type": "function", "function": {"name": "verdict", "description": "Gives the answer.", "parameters": schema(), "strict": true}}],
                "tool_choice": {"type": "function", "function": {"name": "verdict"}},
                "top_p": 0.9, "metadata": {"a": [1]},
            }),
        ),
        openai(
            "openai/gpt-4.1-mini",
            |spec| spec.structured = Structured::Text,
            json_request,
            json!({"model": "gpt-4.1-mini", "messages": in_words(), "temperature": 0.0}),
        ),
        // A reasoning model takes no temperature and has another name for the limit.
        openai(
            "openai/o4-mini",
            |spec| spec.max_output_tokens = Some(99),
            text_request,
            json!({"model": "o4-mini", "messages": messages(), "max_completion_tokens": 99}),
        ),
        // null asks for the provider's default.
        openai(
            "openai/gpt-4.1-mini",
            |spec| drop(spec.parameters.insert("temperature".into(), Value::Null)),
            text_request,
            json!({"model": "gpt-4.1-mini", "messages": messages()}),
        ),
        openai(
            "openai/gpt-4.1-mini",
            |spec| spec.temperature = Temperature::Provider,
            text_request,
            json!({"model": "gpt-4.1-mini", "messages": messages()}),
        ),
        openai(
            "openai/gpt-4.1-mini",
            |spec| spec.temperature = Temperature::At(0.5),
            || ChatRequest {
                temperature: Some(1.0),
                top_logprobs: Some(20),
                ..text_request()
            },
            json!({"model": "gpt-4.1-mini", "messages": messages(), "temperature": 1.0, "logprobs": true, "top_logprobs": 20}),
        ),
        openai(
            "mistral/mistral-small-latest",
            |spec| spec.seed = Some(7),
            text_request,
            json!({"model": "mistral-small-latest", "messages": messages(), "temperature": 0.0, "random_seed": 7}),
        ),
        openai(
            "deepseek/deepseek-chat",
            plain,
            json_request,
            json!({
                "model": "deepseek-chat", "messages": messages(), "temperature": 0.0,
                "tools": [{"type": "function", "function": {"name": "verdict", "description": "Gives the answer.", "parameters": schema()}}],
                "tool_choice": {"type": "function", "function": {"name": "verdict"}},
            }),
        ),
        Case {
            spec: "azure/my gpt",
            path: "",
            edit: plain,
            request: text_request,
            url: "/openai/deployments/my%20gpt/chat/completions?api-version=2024-10-21",
            key_header: "api-key: hunter-2-key-of-tests",
            body: json!({"model": "my gpt", "messages": messages(), "temperature": 0.0}),
        },
        Case {
            spec: "azure/gpt",
            path: "/openai/v1/",
            edit: plain,
            request: text_request,
            url: "/openai/v1/chat/completions",
            key_header: "api-key: hunter-2-key-of-tests",
            body: json!({"model": "gpt", "messages": messages(), "temperature": 0.0}),
        },
        Case {
            spec: "ollama/llama3.2",
            path: "/v1",
            edit: plain,
            request: json_request,
            url: "/v1/chat/completions",
            key_header: "",
            body: json!({"model": "llama3.2", "messages": messages(), "temperature": 0.0, "response_format": response_format()}),
        },
        Case {
            spec: "anthropic/claude-sonnet-4-5",
            path: "",
            edit: |spec| spec.max_output_tokens = Some(99),
            request: json_request,
            url: "/v1/messages",
            key_header: "x-api-key: hunter-2-key-of-tests",
            body: json!({
                "model": "claude-sonnet-4-5", "max_tokens": 99, "system": "Be brief.", "temperature": 0.0,
                "messages": [{"role": "user", "content": "Is \"Paris\" a city?"}],
                "tools": [{"name": "verdict", "description": "Gives the answer.", "input_schema": schema()}],
                "tool_choice": {"type": "tool", "name": "verdict"},
            }),
        },
        Case {
            spec: "anthropic/claude-sonnet-4-5",
            path: "/v1",
            edit: plain,
            request: text_request,
            url: "/v1/messages",
            key_header: "anthropic-version: 2023-06-01",
            body: json!({
                "model": "claude-sonnet-4-5", "max_tokens": 4096, "system": "Be brief.", "temperature": 0.0,
                "messages": [{"role": "user", "content": "Is \"Paris\" a city?"}],
            }),
        },
        Case {
            spec: "gemini/gemini-2.5-flash",
            path: "/v1beta",
            edit: |spec| {
                spec.seed = Some(7);
                spec.max_output_tokens = Some(99);
                spec.parameters.insert("topP".into(), json!(0.9));
            },
            request: || ChatRequest {
                top_logprobs: Some(5),
                ..json_request()
            },
            url: "/v1beta/models/gemini-2.5-flash:generateContent",
            key_header: "x-goog-api-key: hunter-2-key-of-tests",
            body: json!({
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "contents": [{"role": "user", "parts": [{"text": "Is \"Paris\" a city?"}]}],
                "generationConfig": {
                    "temperature": 0.0, "seed": 7, "maxOutputTokens": 99, "topP": 0.9,
                    "responseMimeType": "application/json", "responseJsonSchema": schema(),
                    "responseLogprobs": true, "logprobs": 5,
                },
            }),
        },
    ]
}

#[tokio::test]
async fn bodies_headers_and_addresses() {
    for case in cases() {
        let server = server(vec![answer(200, &json!({}))]).await;
        let mut spec = spec(case.spec, &server, case.path);
        (case.edit)(&mut spec);
        let attempt = ask(&spec, &(case.request)()).await;
        assert_eq!(
            (attempt.status, attempt.usage.calls),
            (Some(200), 1),
            "{}",
            case.spec
        );
        let requests = server.received_requests().await.unwrap();
        let [request] = &requests[..] else {
            panic!("{}: {} requests", case.spec, requests.len());
        };
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        assert_eq!(body, case.body, "{}", case.spec);
        let mut url = request.url.path().to_owned();
        if let Some(query) = request.url.query() {
            url = format!("{url}?{query}");
        }
        assert_eq!(url, case.url, "{}", case.spec);
        if let Some((name, value)) = case.key_header.split_once(": ") {
            assert_eq!(request.headers[name], value, "{}", case.spec);
        }
        assert_eq!(request.headers["content-type"], "application/json");
    }
}

#[tokio::test]
async fn headers_of_the_suite_are_sent_and_read_from_the_environment() {
    let server = server(vec![answer(200, &completion("x"))]).await;
    let mut spec = spec("openai/m", &server, "/v1");
    spec.headers
        .insert("OpenAI-Organization".into(), "org-1".into());
    spec.headers.insert("x-team".into(), "$TEAM_API_KEY".into());
    ask(&spec, &text_request()).await.outcome.unwrap();
    let requests = server.received_requests().await.unwrap();
    assert_eq!(requests[0].headers["openai-organization"], "org-1");
    assert_eq!(requests[0].headers["x-team"], KEY);
    spec.headers.insert("x-team".into(), "$GONE".into());
    let error = wires::chat(&spec, Environment(&variables)).unwrap_err();
    assert!(
        error.message.contains("variable GONE, which is not set"),
        "{}",
        error.message
    );
}

#[test]
fn parameters_may_not_set_what_calls_set() {
    for (text, name) in [
        ("openai/m", "messages"),
        ("openai/m", "stream"),
        ("anthropic/m", "system"),
        ("gemini/m", "responseJsonSchema"),
    ] {
        let mut spec = ModelSpec::parse(text).unwrap();
        spec.parameters.insert(name.into(), json!(1));
        let error = wires::chat(&spec, Environment(&variables)).unwrap_err();
        assert!(
            error.message.contains(&format!("may not set `{name}`")),
            "{}",
            error.message
        );
    }
}

#[test]
fn no_key_is_in_an_identity_or_a_debug_text() {
    for provider in ["openai", "anthropic", "gemini", "groq"] {
        let mut spec = ModelSpec::parse(&format!("{provider}/m")).unwrap();
        spec.headers.insert("x-a".into(), "$A_API_KEY".into());
        let wire = wires::chat(&spec, Environment(&variables)).unwrap();
        let shown = format!("{wire:?} {}", wire.identity());
        assert!(!shown.contains("hunter"), "{shown}");
        assert_eq!(wire.name(), format!("{provider}/m"));
    }
}

#[test]
fn no_variable_says_where_requests_go() {
    for provider in Provider::ALL {
        let asked = std::cell::RefCell::new(Vec::new());
        let lookup = |name: &str| {
            asked.borrow_mut().push(name.to_owned());
            variables(name)
        };
        let mut spec = ModelSpec::new(provider, "m");
        if provider == Provider::Azure {
            spec.base_url = Some("https://x.example".into());
        }
        let _ = wires::chat(&spec, Environment(&lookup));
        for name in asked.borrow().iter() {
            let known = name.ends_with("_API_KEY") || name.to_lowercase().ends_with("_proxy");
            assert!(known, "{provider:?} reads {name}");
        }
    }
}
