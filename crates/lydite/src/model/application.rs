//! An application under test, as a suite's `target` names it: an HTTP endpoint or a program.
//!
//! To the layers it is a chat model whose one message is what is sent and whose reply is what came back, so
//! limits, retries, the record of calls, budget and dry runs hold for it as they stand. Its replies are kept in
//! no cache: a run that comes later may meet another version of it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Where an application is, and how it is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ApplicationSpec {
    pub reach: Reach,
    /// Seconds that one attempt may take; 60 where left out.
    pub timeout: Option<f64>,
    /// Seconds that a call may take with all its attempts; ten time-outs where left out.
    pub deadline: Option<f64>,
    /// Attempts a call at the most; 8 where left out.
    pub attempts: Option<u32>,
    /// Calls under way at once. Where left out 16 over HTTP, and one program.
    pub concurrency: Option<usize>,
    pub requests_per_minute: Option<f64>,
}

/// How an application is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reach {
    /// A message is an [`HttpCall`], a reply the body of the answer.
    Http(HttpApplication),
    /// The program and its arguments. A message is the line that it reads, a reply the line that it writes.
    Command(Vec<String>),
}

/// An endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpApplication {
    /// Without its query, where that has places.
    pub url: String,
    pub method: HttpMethod,
    /// A value `$NAME` is read from the environment.
    pub headers: BTreeMap<String, String>,
    /// A PEM file of certificates that are trusted beside the system's.
    pub ca_file: Option<String>,
}

/// Methods that an endpoint can be asked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    Get,
    #[default]
    Post,
    Put,
    Patch,
}

/// One call of an endpoint.
#[derive(Debug, Serialize, Deserialize)]
pub struct HttpCall<'a> {
    /// The query of the address, percent-encoded, without `?`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub query: Option<Cow<'a, str>>,
    /// JSON.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub body: Option<&'a RawValue>,
}

impl ApplicationSpec {
    /// With all but its place left out.
    pub const fn new(reach: Reach) -> Self {
        Self {
            reach,
            timeout: None,
            deadline: None,
            attempts: None,
            concurrency: None,
            requests_per_minute: None,
        }
    }

    /// `http/host/path` or `command/program`, as results and reports name it.
    pub fn name(&self) -> String {
        match &self.reach {
            Reach::Http(http) => {
                let place = http
                    .url
                    .split_once("://")
                    .map_or(&*http.url, |(_, rest)| rest);
                let place = place.split(['?', '#']).next().unwrap_or(place);
                // What stands before an `@` is no part of the name: it may be a password.
                let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
                format!("http/{}", place.trim_end_matches('/'))
            }
            Reach::Command(command) => {
                // `python3 app.py` is named by what tells it from others.
                let script = command.iter().skip(1).find(|word| !word.starts_with('-'));
                let program = script.or(command.first()).map_or("program", String::as_str);
                format!("command/{}", program.rsplit('/').next().unwrap_or(program))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let http = |url: &str| {
            Reach::Http(HttpApplication {
                url: url.into(),
                method: HttpMethod::Post,
                headers: BTreeMap::new(),
                ca_file: None,
            })
        };
        let command =
            |words: &[&str]| Reach::Command(words.iter().map(|&word| word.into()).collect());
        for (reach, name) in [
            (
                http("http://127.0.0.1:80/answer?key=x"),
                "http/127.0.0.1:80/answer",
            ),
            (http("https://u:p@host/"), "http/host"),
            (command(&["python3", "-u", "src/app.py"]), "command/app.py"),
            (command(&["./bot"]), "command/bot"),
        ] {
            assert_eq!(ApplicationSpec::new(reach).name(), name);
        }
    }

    #[test]
    fn a_call_keeps_its_body_as_it_is_written() {
        let text = r#"{"query":"q=a%20b","body":{"n": 1.10}}"#;
        let call: HttpCall<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(call.body.unwrap().get(), r#"{"n": 1.10}"#);
        assert_eq!(serde_json::to_string(&call).unwrap(), text);
    }
}
