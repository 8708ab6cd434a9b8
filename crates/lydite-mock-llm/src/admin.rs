//! `/admin/…`: statistics, kept requests, another configuration.

use bytes::Bytes;
use hyper::{Method, Response};
use serde_json::{Value, json};

use crate::app::App;
use crate::body::ReplyBody;
use crate::config::{Config, Prepared, Replies};
use crate::service::json_response;

/// What paths of this kind begin with.
pub(crate) const PREFIX: &str = "/admin/";

/// Answers a request to `/admin/…`; none of them is counted.
pub(crate) fn answer(app: &App, method: &Method, path: &str, body: &Bytes) -> Response<ReplyBody> {
    let (status, value) = match (method, path.strip_prefix(PREFIX)) {
        (&Method::GET, Some("stats")) => (200, to_value(&app.counters.stats())),
        (&Method::GET, Some("requests")) => (200, requests(app)),
        (&Method::POST, Some("config")) => match configure(app, body) {
            Ok(()) => (200, json!({"ok": true})),
            Err(message) => (400, json!({"error": message})),
        },
        _ => {
            let message = "expected GET /admin/stats, GET /admin/requests or POST /admin/config";
            (404, json!({"error": message}))
        }
    };
    json_response(status, &value)
}

/// Missing keys have their defaults, not the values of before.
fn configure(app: &App, body: &[u8]) -> Result<(), String> {
    let config: Config =
        serde_json::from_slice(body).map_err(|error| format!("not a configuration: {error}"))?;
    if matches!(config.replies, Replies::File { .. }) {
        return Err(
            "replies.file: files are read at the start only; send replies.rules".to_owned(),
        );
    }
    let prepared = Prepared::new(config).map_err(|error| error.to_string())?;
    app.configure(prepared);
    Ok(())
}

/// Bodies that are JSON are shown as JSON.
fn requests(app: &App) -> Value {
    app.requests()
        .into_iter()
        .map(|seen| {
            let body = serde_json::from_str(&seen.body).unwrap_or(Value::String(seen.body));
            json!({"path": seen.path, "header_names": seen.header_names, "body": body})
        })
        .collect()
}

fn to_value(stats: &crate::Stats) -> Value {
    serde_json::to_value(stats).unwrap_or_default()
}
