//! Keys of providers that stand in a suite where they must not.
//!
//! A key is read from the environment only. One that was written down is an error, and what shows
//! that error must not show the key: [`hide`] blots it out of the source that errors quote.

use std::sync::Arc;

use super::error::{Desk, key_text};
use crate::node::{Node, Span};

/// A key that was written down.
pub(super) struct Secret {
    /// Where its name stands.
    pub(super) key: Span,
    /// Where it stands itself.
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// Words by which other tools take a key, letters alone.
const KEYS: [&str; 6] = [
    "key",
    "token",
    "secret",
    "password",
    "apitoken",
    "accesstoken",
];

/// Headers that carry a key.
const HEADERS: [&str; 5] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
];

/// Blots every written key out of the source text that errors quote.
pub(super) fn hide(desk: &mut Desk, root: &Node) {
    let mut spans = Vec::new();
    root.walk(&mut |_, node| {
        let settings = node.get("llmKwargs").or(node.get("llm_kwargs"));
        let found = settings
            .map(of_settings)
            .into_iter()
            .flatten()
            .chain(of_model(node))
            .chain(of_endpoint(node));
        spans.extend(found.map(|secret| secret.span));
    });
    if spans.is_empty() {
        return;
    }
    let mut text = desk.source.text.to_string();
    for span in spans {
        let range = span.start_byte..span.end_byte;
        if let Some(secret) = text.get(range.clone()) {
            let blot: String = secret
                .chars()
                .flat_map(|letter| {
                    let shown = if letter == '\n' { '\n' } else { '*' };
                    std::iter::repeat_n(shown, letter.len_utf8())
                })
                .collect();
            text.replace_range(range, &blot);
        }
    }
    desk.source.text = Arc::from(text);
}

/// The keys that stand in a mapping which describes a model.
pub(super) fn of_model(node: &Node) -> Vec<Secret> {
    if node.get("provider").is_none() && node.get("model").is_none() {
        return Vec::new();
    }
    let mut secrets = of_settings(node);
    for (key, value) in node.entries() {
        let text = value.as_str().unwrap_or_default();
        match key_text(key) {
            "api_key_env" if !is_variable(text) => secrets.push(Secret {
                key: key.span,
                span: value.span,
                message:
                    "`api_key_env` must be the name of an environment variable, not the key itself"
                        .to_owned(),
                help: "such as `api_key_env: OPENAI_API_KEY`",
            }),
            "base_url" if has_credentials(text) => secrets.push(Secret {
                key: key.span,
                span: value.span,
                message: "`base_url` must not hold a key".to_owned(),
                help: FROM_ENVIRONMENT,
            }),
            "headers" => {
                let literal = value
                    .entries()
                    .iter()
                    .filter(|(header, value)| is_literal_key(header, value));
                secrets.extend(literal.map(|(header, value)| Secret {
                    help: "read it from the environment: `$NAME`, or `api_key_env: NAME`",
                    ..Secret::named(header, value)
                }));
            }
            "parameters" => secrets.extend(of_settings(value)),
            _ => {}
        }
    }
    secrets
}

/// The keys that stand in a mapping which describes an endpoint under test.
pub(super) fn of_endpoint(node: &Node) -> Vec<Secret> {
    let mut secrets = Vec::new();
    let url = node
        .get("url")
        .filter(|url| has_credentials(url.as_str().unwrap_or_default()));
    secrets.extend(url.map(|url| Secret {
        key: url.span,
        span: url.span,
        message: "`url` must not hold a key".to_owned(),
        help: "send it as a header that is read from the environment: `headers: {Authorization: $NAME}`",
    }));
    let Some(headers) = node.get("url").and(node.get("headers")) else {
        return secrets;
    };
    let literal = headers.entries().iter().filter(|(header, value)| {
        let name = key_text(header).to_ascii_lowercase();
        let of_key = ["auth", "key", "token", "secret", "cookie"];
        of_key.iter().any(|word| name.contains(word))
            && !value.as_str().unwrap_or_default().starts_with('$')
    });
    secrets.extend(literal.map(|(header, value)| Secret {
        help: "read it from the environment: write `$NAME` as its value",
        ..Secret::named(header, value)
    }));
    secrets
}

/// The keys that stand among settings of a model.
pub(super) fn of_settings(node: &Node) -> Vec<Secret> {
    let entries = node.entries().iter();
    let named = entries.filter(|(key, _)| is_key(key_text(key)));
    named
        .map(|(key, value)| Secret::named(key, value))
        .collect()
}

const FROM_ENVIRONMENT: &str = "name the environment variable that holds it, `api_key_env: NAME`";

impl Secret {
    fn named(key: &Node, value: &Node) -> Self {
        Self {
            key: key.span,
            span: value.span,
            message: format!("a key must not stand in a suite: `{}`", key_text(key)),
            help: FROM_ENVIRONMENT,
        }
    }
}

/// `api_key`, `apiKey`, `openAIApiKey`, `token` and the like.
fn is_key(name: &str) -> bool {
    let letters: String = name
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    KEYS.contains(&letters.as_str()) || letters.ends_with("apikey")
}

fn is_literal_key(header: &Node, value: &Node) -> bool {
    let name = key_text(header).to_ascii_lowercase();
    let text = value.as_str().unwrap_or_default();
    HEADERS.contains(&name.as_str()) && !text.contains('$')
}

fn is_variable(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// A user in the authority, or a parameter that is called a key.
fn has_credentials(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let holds_key = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default();
        is_key(name) || name == "sig"
    };
    authority.contains('@') || query.split('&').any(holds_key)
}

#[cfg(test)]
mod tests {
    use super::super::error::Source;
    use super::*;

    #[test]
    fn written_keys_are_found_and_hidden() {
        for (yaml, count) in [
            ("{provider: openai, model: x}", 0),
            (
                "{provider: openai, api_key_env: MY_KEY, headers: {Authorization: $AUTH, X-Team: a}}",
                0,
            ),
            (
                "{provider: openai, base_url: 'http://localhost:8000/v1?api-version=1'}",
                0,
            ),
            ("{provider: openai, api_key: s3cret}", 1),
            ("{model: x, Api-Key: s3cret}", 1),
            (
                "{model: x, openAIApiKey: s3cret, parameters: {token: s3cret, max_tokens: 3}}",
                2,
            ),
            ("{provider: openai, api_key_env: s3cret-1}", 1),
            (
                "{provider: openai, headers: {Authorization: Bearer s3cret, x-api-key: s3cret}}",
                2,
            ),
            (
                "{provider: openai, base_url: 'https://u:s3cret@host/v1'}",
                1,
            ),
            (
                "{provider: gemini, base_url: 'https://host/v1?key=s3cret'}",
                1,
            ),
            ("{provider: openai, api_key: s3crétü}", 1),
            (
                "{url: 'http://host/a', headers: {Authorization: $TOKEN, X-Team: a}}",
                0,
            ),
        ] {
            let node = Node::parse(yaml).unwrap();
            assert_eq!(of_model(&node).len(), count, "{yaml}");
            let mut desk = Desk::new(Source::new("x", yaml));
            hide(&mut desk, &node);
            assert!(!desk.source.text.contains("s3cr"), "{yaml}");
            assert_eq!(desk.source.text.len(), yaml.len());
            assert!(count > 0 || *desk.source.text == *yaml);
        }
        let yaml = "{chainOptions: {llmKwargs: {apiKey: s3cret, temperature: 0}}}";
        let mut desk = Desk::new(Source::new("x", yaml));
        hide(&mut desk, &Node::parse(yaml).unwrap());
        assert!(!desk.source.text.contains("s3cret"));
    }
}
