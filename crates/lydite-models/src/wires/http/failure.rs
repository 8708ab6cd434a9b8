//! Why no answer came: what reqwest says, in words that help.

use std::error::Error;
use std::io;
use std::time::Duration;

use lydite::model::ModelErrorKind;

use super::EndpointFacts;
use crate::AttemptError;

/// The error of a request that got no whole answer.
pub(super) fn of_connection(
    error: &reqwest::Error,
    facts: &EndpointFacts,
    timeout: Duration,
) -> AttemptError {
    let url = &facts.shown_url;
    if let Some(tls) = cause::<rustls::Error>(error) {
        return AttemptError::lasting(ModelErrorKind::Tls, tls_message(tls, url));
    }
    if error.is_connect() {
        return match &facts.proxy {
            Some((variable, proxy)) => AttemptError {
                retry: !reason(error, facts).contains("proxy authorization required"),
                ..AttemptError::passing(
                    ModelErrorKind::Connection,
                    format!(
                        "no connection to {url} through the proxy {proxy} of the environment variable {variable}: {}; check the proxy, or except the host by NO_PROXY",
                        reason(error, facts)
                    ),
                )
            },
            None => no_connection(error, facts),
        };
    }
    if error.is_timeout() {
        return timed_out(url, timeout);
    }
    AttemptError::passing(
        ModelErrorKind::Connection,
        format!(
            "the connection to {url} was cut before the answer was whole: {}",
            reason(error, facts)
        ),
    )
}

pub(super) fn too_large(limit: usize) -> AttemptError {
    AttemptError::lasting(
        ModelErrorKind::Protocol,
        format!("the answer is longer than {} MB", limit / 1024 / 1024),
    )
}

/// The error of an attempt without an answer in time.
pub(crate) fn timed_out(whom: &str, timeout: Duration) -> AttemptError {
    AttemptError::passing(
        ModelErrorKind::Timeout,
        format!(
            "no answer from {whom} within {} s; a longer `timeout` can be set in the model's settings",
            timeout.as_secs_f64()
        ),
    )
}

fn no_connection(error: &reqwest::Error, facts: &EndpointFacts) -> AttemptError {
    let url = &facts.shown_url;
    let chain = reason(error, facts);
    let kind = ModelErrorKind::Connection;
    if chain.contains("dns error") {
        // Other failures ("temporary failure in name resolution") pass.
        let unknown = ["not known", "No such host", "No address"];
        return AttemptError {
            retry: !unknown.iter().any(|words| chain.contains(words)),
            ..AttemptError::passing(
                kind,
                format!("the host of {url} was not found (DNS); check `base_url` and the network"),
            )
        };
    }
    let refused = cause::<io::Error>(error)
        .is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    if refused {
        return AttemptError::passing(
            kind,
            format!(
                "no connection to {url}: connection refused; check `base_url`, and that the server runs"
            ),
        );
    }
    AttemptError::passing(
        kind,
        format!("no connection to {url}: {chain}; check `base_url` and the network"),
    )
}

fn tls_message(error: &rustls::Error, url: &str) -> String {
    let advice = match error {
        rustls::Error::InvalidCertificate(_) => {
            "for a certificate of your own, name the PEM file of its authority by `ca_file` in the model's settings"
        }
        rustls::Error::InvalidMessage(_) => {
            "does the server speak plain HTTP? then `base_url` begins with `http://`"
        }
        _ => "check `base_url` and the server's TLS versions",
    };
    format!("no secure connection to {url}: {error}; {advice}")
}

/// The innermost causes in words, on one line.
fn reason(error: &reqwest::Error, facts: &EndpointFacts) -> String {
    let mut words = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !words.contains(&text) {
            words.push(text);
        }
        next = cause.source();
    }
    if error.is_timeout() {
        words.push("no connection in time".to_owned());
    }
    facts.redactor.clean(&words.join(": "))
}

/// The innermost error of a type among an error's causes, inside of `io::Error`s as well.
fn cause<E: Error + 'static>(error: &reqwest::Error) -> Option<&E> {
    let mut found = None;
    let mut next: Option<&(dyn Error + 'static)> = error.source();
    while let Some(cause) = next {
        found = cause.downcast_ref().or(found);
        // An `io::Error` shows the causes of what it holds, not what it holds.
        let held = cause
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        next = match held {
            Some(held) => Some(held),
            None => cause.source(),
        };
    }
    found
}
