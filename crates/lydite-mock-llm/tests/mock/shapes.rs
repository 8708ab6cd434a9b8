//! Each provider's shape.

use data_encoding::BASE64;
use serde_json::{Value, json};

use crate::support::{
    CHAT, CHATS, GENERATE, MESSAGES, Mock, ask, ask_schema, ask_tool, chat, said, schema,
};

fn verdict(high: bool) -> (Value, Value) {
    if high {
        (json!("pass"), json!(5))
    } else {
        (json!("fail"), json!(1))
    }
}

fn is_verdict(made: &Value, high: bool) -> bool {
    jsonschema::is_valid(&schema(), made)
        && (made["verdict"].clone(), made["score"].clone()) == verdict(high)
}

/// Every field that the documentation promises and a client may read, with the value it has here.
#[tokio::test]
async fn a_schema_is_answered_by_an_instance_with_the_markers_verdict() {
    let mock = Mock::json(&json!({}));
    for path in CHATS {
        for (prompt, high) in [("[[good:1]] x", true), ("[[bad:1]] x", false)] {
            let answered = mock.post(path, &ask_schema(path, prompt)).await;
            assert_eq!(answered.status, 200);
            let made = serde_json::from_str(&said(path, &answered.json())).unwrap();
            assert!(is_verdict(&made, high), "{path} {prompt}: {made}");
        }
    }
}

#[tokio::test]
async fn a_tool_is_called_with_the_markers_verdict() {
    let mock = Mock::json(&json!({}));
    for (prompt, high) in [("fine", true), ("[[bad]]", false)] {
        let openai = mock.post(CHAT, &ask_tool(CHAT, prompt)).await.json();
        let choice = &openai["choices"][0];
        let call = &choice["message"]["tool_calls"][0];
        let arguments =
            serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        assert!(is_verdict(&arguments, high), "{openai}");
        assert_eq!(
            (&call["type"], &call["function"]["name"]),
            (&json!("function"), &json!("judge"))
        );
        // A named function is called with the reason `stop`.
        assert_eq!(
            (&choice["finish_reason"], &choice["message"]["content"]),
            (&json!("stop"), &Value::Null)
        );

        let anthropic = mock
            .post(MESSAGES, &ask_tool(MESSAGES, prompt))
            .await
            .json();
        let block = &anthropic["content"][0];
        assert!(is_verdict(&block["input"], high), "{anthropic}");
        assert_eq!(
            (&block["type"], &block["name"]),
            (&json!("tool_use"), &json!("judge"))
        );
        assert_eq!(anthropic["stop_reason"], "tool_use");

        let gemini = mock
            .post(GENERATE, &ask_tool(GENERATE, prompt))
            .await
            .json();
        let call = &gemini["candidates"][0]["content"]["parts"][0]["functionCall"];
        assert!(is_verdict(&call["args"], high), "{gemini}");
        assert_eq!(call["name"], "judge");
    }
}

#[tokio::test]
async fn a_required_tool_is_called_with_its_own_reason() {
    let mock = Mock::json(&json!({}));
    for (choice, reason) in [
        (json!("required"), "tool_calls"),
        (json!("auto"), "tool_calls"),
        (json!("none"), "stop"),
    ] {
        let mut body = ask_tool(CHAT, "x");
        body["tool_choice"] = choice.clone();
        let answered = mock.post(CHAT, &body).await.json();
        assert_eq!(answered["choices"][0]["finish_reason"], reason, "{choice}");
        let is_called = answered["choices"][0]["message"]
            .get("tool_calls")
            .is_some();
        assert_eq!(is_called, choice != "none", "{choice}");
    }
}

/// Tokens are characters through four, rounded up: "You judge." and "Is it?" with a line break are 17 characters.
#[tokio::test]
async fn usage_and_envelopes() {
    let mock = Mock::json(&json!({}));
    let reply = |path| {
        let mock = &mock;
        async move { mock.post(path, &ask(path, "Is it?")).await.json() }
    };
    let openai = reply(CHAT).await;
    assert_eq!(
        (&openai["object"], &openai["model"]),
        (&json!("chat.completion"), &json!("gpt-x"))
    );
    let tokens = said(CHAT, &openai).len().div_ceil(4);
    assert_eq!(
        openai["usage"],
        json!({"prompt_tokens": 5, "completion_tokens": tokens, "total_tokens": 5 + tokens})
    );
    assert_eq!(openai["choices"][0]["finish_reason"], "stop");
    assert_eq!(openai["choices"][0]["logprobs"], Value::Null);

    let anthropic = reply(MESSAGES).await;
    assert_eq!(
        (&anthropic["type"], &anthropic["role"]),
        (&json!("message"), &json!("assistant"))
    );
    assert_eq!(
        anthropic["usage"],
        json!({"input_tokens": 5, "output_tokens": tokens})
    );
    assert_eq!(
        (&anthropic["stop_reason"], &anthropic["model"]),
        (&json!("end_turn"), &json!("claude-x"))
    );

    let gemini = reply(GENERATE).await;
    assert_eq!(
        gemini["usageMetadata"],
        json!({"promptTokenCount": 5, "candidatesTokenCount": tokens, "totalTokenCount": 5 + tokens})
    );
    assert_eq!(
        (
            &gemini["candidates"][0]["finishReason"],
            &gemini["modelVersion"]
        ),
        (&json!("STOP"), &json!("gemini-x"))
    );

    let silent = Mock::json(&json!({"usage": false}));
    for (path, key) in [
        (CHAT, "usage"),
        (MESSAGES, "usage"),
        (GENERATE, "usageMetadata"),
    ] {
        assert_eq!(
            silent.post(path, &ask(path, "x")).await.json().get(key),
            None,
            "{path}"
        );
    }
}

#[tokio::test]
async fn what_is_cut_by_the_limit_says_so() {
    let mock = Mock::json(&json!({}));
    let mut openai = chat("x");
    openai["max_completion_tokens"] = json!(2);
    let mut anthropic = ask(MESSAGES, "x");
    anthropic["max_tokens"] = json!(2);
    let mut gemini = ask(GENERATE, "x");
    gemini["generationConfig"] = json!({"maxOutputTokens": 2});
    for (path, body, pointer, reason) in [
        (CHAT, openai, "/choices/0/finish_reason", "length"),
        (MESSAGES, anthropic, "/stop_reason", "max_tokens"),
        (GENERATE, gemini, "/candidates/0/finishReason", "MAX_TOKENS"),
    ] {
        let answered = mock.post(path, &body).await.json();
        assert_eq!(answered.pointer(pointer), Some(&json!(reason)), "{path}");
        assert_eq!(said(path, &answered).len(), 8, "{path}");
    }
}

#[tokio::test]
async fn refusals() {
    let mock = Mock::json(&json!({}));
    let openai = mock.chat("[[refuse]]").await.json();
    assert!(openai["choices"][0]["message"]["refusal"].is_string());
    assert_eq!(openai["choices"][0]["message"]["content"], Value::Null);
    let anthropic = mock
        .post(MESSAGES, &ask(MESSAGES, "[[refuse]]"))
        .await
        .json();
    assert_eq!(anthropic["stop_reason"], "refusal");
    let gemini = mock
        .post(GENERATE, &ask(GENERATE, "[[refuse]]"))
        .await
        .json();
    assert!(
        gemini["promptFeedback"]["blockReason"].is_string() && gemini.get("candidates").is_none()
    );
}

#[tokio::test]
async fn geminis_own_dialect_of_schemas_is_read() {
    let mock = Mock::json(&json!({}));
    let mut body = ask(GENERATE, "[[bad]]");
    body["generationConfig"] = json!({"responseMimeType": "application/json", "responseSchema": {
        "type": "OBJECT", "properties": {"items": {"type": "ARRAY", "minItems": "2", "items": {
            "type": "OBJECT", "properties": {"number": {"type": "INTEGER"}, "ok": {"type": "BOOLEAN"}}}}}}});
    let text = said(GENERATE, &mock.post(GENERATE, &body).await.json());
    let expected = json!({"items": [{"number": 1, "ok": false}, {"number": 2, "ok": false}]});
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
}

/// The tokens join to the text, and the verdict's have the opposite one beside them.
#[tokio::test]
async fn log_probabilities() {
    let mock = Mock::json(&json!({"certainty": 0.75}));
    let mut body = ask_schema(CHAT, "x");
    (body["logprobs"], body["top_logprobs"]) = (json!(true), json!(5));
    let openai = mock.post(CHAT, &body).await.json();
    let tokens = openai["choices"][0]["logprobs"]["content"]
        .as_array()
        .unwrap();
    let joined: String = tokens
        .iter()
        .map(|token| token["token"].as_str().unwrap())
        .collect();
    assert_eq!(joined, said(CHAT, &openai));
    for (verdict, opposite) in [("pass", "fail"), ("5", "1")] {
        let token = tokens
            .iter()
            .find(|token| token["token"] == verdict)
            .unwrap();
        let probability = |token: &Value| token["logprob"].as_f64().unwrap().exp();
        assert!((probability(token) - 0.75).abs() < 1e-9, "{token}");
        assert_eq!(token["top_logprobs"][1]["token"], opposite);
        assert!(
            (probability(&token["top_logprobs"][1]) - 0.25).abs() < 1e-9,
            "{token}"
        );
        assert_eq!(token["bytes"], json!(verdict.as_bytes()));
    }

    let mut body = ask_schema(GENERATE, "x");
    (
        body["generationConfig"]["responseLogprobs"],
        body["generationConfig"]["logprobs"],
    ) = (json!(true), json!(2));
    let gemini = mock.post(GENERATE, &body).await.json();
    let result = &gemini["candidates"][0]["logprobsResult"];
    let at = result["chosenCandidates"]
        .as_array()
        .unwrap()
        .iter()
        .position(|token| token["token"] == "pass")
        .unwrap();
    assert_eq!(
        result["topCandidates"][at]["candidates"][1]["token"],
        "fail"
    );

    let without = Mock::json(&json!({"logprobs": false}));
    let mut body = chat("x");
    body["logprobs"] = json!(true);
    assert_eq!(
        without.post(CHAT, &body).await.json()["choices"][0]["logprobs"],
        Value::Null
    );
}

fn floats(value: &Value) -> Vec<f32> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap() as f32)
        .collect()
}

#[tokio::test]
async fn embeddings_come_as_numbers_and_as_base64() {
    let mock = Mock::json(&json!({"dimension": 8}));
    let mut body = json!({"model": "e", "input": ["the sea", "a mountain", "the sea"]});
    let numbers = mock.post("/v1/embeddings", &body).await.json();
    let vectors: Vec<_> = (0..3)
        .map(|i| floats(&numbers["data"][i]["embedding"]))
        .collect();
    assert_eq!(vectors[0].len(), 8);
    assert!(vectors[0] == vectors[2] && vectors[0] != vectors[1]);
    assert_eq!(
        (&numbers["data"][2]["index"], &numbers["object"]),
        (&json!(2), &json!("list"))
    );
    assert_eq!(
        numbers["usage"],
        json!({"prompt_tokens": 7, "total_tokens": 7})
    );

    body["encoding_format"] = json!("base64");
    let texts = mock.post("/v1/embeddings", &body).await.json();
    let bytes = BASE64
        .decode(texts["data"][1]["embedding"].as_str().unwrap().as_bytes())
        .unwrap();
    let decoded: Vec<f32> = bytes
        .chunks(4)
        .map(|four| f32::from_le_bytes(four.try_into().unwrap()))
        .collect();
    assert_eq!(decoded, vectors[1]);

    body = json!({"model": "e", "input": "x", "dimensions": 3});
    assert_eq!(
        floats(&mock.post("/v1/embeddings", &body).await.json()["data"][0]["embedding"]).len(),
        3
    );
}

#[tokio::test]
async fn gemini_embeds_one_text_or_many() {
    let mock = Mock::json(&json!({"dimension": 4}));
    let content = |text: &str| json!({"content": {"parts": [{"text": text}]}});
    let one = mock
        .post("/v1beta/models/e:embedContent", &content("a"))
        .await
        .json();
    let both = json!({"requests": [content("b"), content("a")]});
    let many = mock
        .post("/v1beta/models/e:batchEmbedContents", &both)
        .await
        .json();
    assert_eq!(many["embeddings"].as_array().unwrap().len(), 2);
    assert_eq!(
        floats(&many["embeddings"][1]["values"]),
        floats(&one["embedding"]["values"])
    );
}

#[tokio::test]
async fn moderations_have_a_score_for_each_category() {
    let mock = Mock::json(&json!({}));
    let body = json!({"input": ["A fine day", "I'll kill you", "[[bad]]"]});
    let answered = mock.post("/v1/moderations", &body).await.json();
    let flags: Vec<_> = (0..3)
        .map(|i| answered["results"][i]["flagged"].as_bool().unwrap())
        .collect();
    assert_eq!(flags, [false, true, true]);
    let violent = &answered["results"][1];
    assert_eq!(
        (
            &violent["categories"]["violence"],
            &violent["categories"]["hate"]
        ),
        (&json!(true), &json!(false))
    );
    assert_eq!(violent["category_scores"].as_object().unwrap().len(), 13);
    let parts = json!({"model": "m", "input": [{"type": "text", "text": "fine"}, {"type": "text", "text": "murder"}]});
    let answered = mock.post("/v1/moderations", &parts).await.json();
    assert_eq!(
        (
            answered["results"].as_array().unwrap().len(),
            &answered["model"]
        ),
        (1, &json!("m"))
    );
    assert_eq!(answered["results"][0]["flagged"], true);
}
