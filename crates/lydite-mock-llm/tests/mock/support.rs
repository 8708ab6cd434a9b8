//! A server, a client, and requests in the providers' shapes.

use lydite_mock_llm::{Config, MockServer, Stats};
use reqwest::Client;
use serde_json::{Value, json};

/// A server and a client of it.
pub(crate) struct Mock {
    pub(crate) server: MockServer,
    pub(crate) client: Client,
}

/// What came back.
#[derive(Debug, PartialEq)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    pub(crate) text: String,
}

impl Answered {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The text of a chat completion.
    #[track_caller]
    pub(crate) fn content(&self) -> String {
        self.json()["choices"][0]["message"]["content"]
            .as_str()
            .unwrap_or_else(|| panic!("{self:?}"))
            .to_owned()
    }
}

impl Mock {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            server: MockServer::start(config).unwrap(),
            client: client(),
        }
    }

    /// With a configuration as JSON.
    pub(crate) fn json(config: &Value) -> Self {
        Self::new(serde_json::from_value(config.clone()).unwrap())
    }

    pub(crate) fn stats(&self) -> Stats {
        self.server.stats()
    }

    /// Posts with all headers that any provider needs; an error where the connection was closed.
    pub(crate) async fn try_post(&self, path: &str, body: &Value) -> reqwest::Result<Answered> {
        self.post_with(path, body, &[("anthropic-version", "2023-06-01")])
            .await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answered {
        self.try_post(path, body).await.unwrap()
    }

    pub(crate) async fn post_with(
        &self,
        path: &str,
        body: &Value,
        headers: &[(&str, &str)],
    ) -> reqwest::Result<Answered> {
        let mut request = self
            .client
            .post(format!("{}{path}", self.server.url()))
            .json(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await?;
        Ok(Answered {
            status: response.status().as_u16(),
            retry_after: response
                .headers()
                .get("retry-after")
                .map(|value| value.to_str().unwrap().to_owned()),
            text: response.text().await?,
        })
    }

    pub(crate) async fn chat(&self, prompt: &str) -> Answered {
        self.post(CHAT, &chat(prompt)).await
    }

    pub(crate) async fn try_chat(&self, prompt: &str) -> reqwest::Result<Answered> {
        self.try_post(CHAT, &chat(prompt)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.server.url());
        self.client
            .get(url)
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    }
}

pub(crate) const CHAT: &str = "/v1/chat/completions";
pub(crate) const MESSAGES: &str = "/v1/messages";
pub(crate) const GENERATE: &str = "/v1beta/models/gemini-x:generateContent";

/// All wire shapes of a chat, by path.
pub(crate) const CHATS: [&str; 3] = [CHAT, MESSAGES, GENERATE];

pub(crate) fn client() -> Client {
    // A provider that is there already is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().no_proxy().build().unwrap()
}

/// A schema with evidence first, then a verdict and a score.
pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "verdict": {"type": "string", "enum": ["pass", "partial", "fail"]},
            "score": {"type": "integer", "minimum": 1, "maximum": 5},
        },
        "required": ["reason", "verdict", "score"],
        "additionalProperties": false,
    })
}

pub(crate) fn chat(prompt: &str) -> Value {
    json!({"model": "gpt-x", "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": prompt}]})
}

/// A chat in the shape of the path's provider, without a schema.
pub(crate) fn ask(path: &str, prompt: &str) -> Value {
    match path {
        MESSAGES => json!({
            "model": "claude-x", "max_tokens": 500, "system": "You judge.",
            "messages": [{"role": "user", "content": [{"type": "text", "text": prompt}]}],
        }),
        GENERATE => json!({
            "systemInstruction": {"parts": [{"text": "You judge."}]},
            "contents": [{"role": "user", "parts": [{"text": prompt}]}],
        }),
        _ => chat(prompt),
    }
}

/// The same with a schema for the reply.
pub(crate) fn ask_schema(path: &str, prompt: &str) -> Value {
    let mut body = ask(path, prompt);
    let (key, value) = match path {
        MESSAGES => (
            "output_config",
            json!({"format": {"type": "json_schema", "schema": schema()}}),
        ),
        GENERATE => (
            "generationConfig",
            json!({"responseMimeType": "application/json", "responseJsonSchema": schema()}),
        ),
        _ => (
            "response_format",
            json!({"type": "json_schema", "json_schema": {"name": "verdict", "strict": true, "schema": schema()}}),
        ),
    };
    body[key] = value;
    body
}

/// The same with a tool that has to be called.
pub(crate) fn ask_tool(path: &str, prompt: &str) -> Value {
    let mut body = ask(path, prompt);
    match path {
        MESSAGES => {
            body["tools"] = json!([{"name": "other", "input_schema": {}}, {"name": "judge", "input_schema": schema()}]);
            body["tool_choice"] = json!({"type": "tool", "name": "judge"});
        }
        GENERATE => {
            body["tools"] = json!([{"functionDeclarations": [{"name": "other"}, {"name": "judge", "parametersJsonSchema": schema()}]}]);
            body["toolConfig"] = json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["judge"]}});
        }
        _ => {
            let function = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": schema()}});
            body["tools"] = json!([function("other"), function("judge")]);
            body["tool_choice"] = json!({"type": "function", "function": {"name": "judge"}});
        }
    }
    body
}

/// The text that the model said, in the shape of the path's provider.
#[track_caller]
pub(crate) fn said(path: &str, response: &Value) -> String {
    let pointer = match path {
        MESSAGES => "/content/0/text",
        GENERATE => "/candidates/0/content/parts/0/text",
        _ => "/choices/0/message/content",
    };
    let text = response.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_else(|| panic!("{path}: {response}"))
        .to_owned()
}
