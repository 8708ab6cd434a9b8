//! Requests over HTTP: one client a model, a POST of JSON, and what stands in its answer.
//!
//! What is equal for all calls (address, headers, key) is made once. A client's connections belong to
//! the runtime that first used them, so each model has a client of its own; the TLS configuration,
//! dear for its certificates, is one for the process.

mod failure;
mod tls;

pub(crate) use failure::timed_out;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use hyper_util::client::proxy::matcher::Matcher;
use lydite::model::{ModelError, ModelErrorKind, ModelSpec};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use reqwest::{Client, ClientBuilder, Method, Proxy, Request, Url, redirect};

use crate::AttemptError;
use crate::wires::environment::{Environment, Key};
use crate::wires::provider;
use crate::wires::secret::Redactor;

/// The longest answer that is read.
const LARGEST_REPLY: usize = 64 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest wait that a header can ask for; later layers have limits of their own.
const LONGEST_WAIT: f64 = 86_400.0;

/// Where one model's requests go.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    pub(crate) facts: EndpointFacts,
}

/// What errors say of an endpoint.
#[derive(Clone, Debug)]
pub(crate) struct EndpointFacts {
    /// The address without its query.
    pub(crate) shown_url: String,
    /// The variable that the key is from.
    pub(crate) key_variable: Option<String>,
    /// The variable that names the proxy, and the proxy's host and port.
    pub(crate) proxy: Option<(String, String)>,
    pub(crate) redactor: Redactor,
}

/// An answer of whatever status.
#[derive(Clone, Debug, Default)]
pub(crate) struct HttpReply {
    pub(crate) status: u16,
    pub(crate) request_id: Option<String>,
    pub(crate) retry_after: Option<Duration>,
    /// Where a redirect leads, which is not followed: it would take the key with it.
    pub(crate) location: Option<String>,
    pub(crate) body: Vec<u8>,
}

impl HttpReply {
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.facts.fmt(f)
    }
}

impl Endpoint {
    /// An endpoint below a model's base URL. `key_header` makes the header of the key.
    pub(crate) fn new(
        spec: &ModelSpec,
        path_and_query: &str,
        key: Option<&Key>,
        key_header: fn(&str) -> (&'static str, String),
        environment: Environment<'_>,
    ) -> Result<Self, ModelError> {
        let config = |what: String| config_error(spec, &what);
        let url = address(spec, path_and_query).map_err(config)?;
        let ca_file = spec.ca_file.as_deref();
        let endpoint = Self::with_headers(url, &spec.headers, ca_file, environment);
        let mut endpoint = endpoint.map_err(config)?;
        if let Some(key) = key {
            endpoint.facts.redactor.add(key.secret.expose());
            endpoint.facts.key_variable = Some(key.variable.clone());
            let (name, value) = key_header(key.secret.expose());
            let value = secret_value(&value).ok_or_else(|| {
                config(format!(
                    "the key in {} holds characters that no header takes",
                    key.variable
                ))
            })?;
            // A header of the suite's own holds over it.
            endpoint.headers.entry(name).or_insert(value);
        }
        Ok(endpoint)
    }

    /// An application's endpoint. Errors don't name it.
    pub(crate) fn at(
        url: &str,
        headers: &BTreeMap<String, String>,
        ca_file: Option<&str>,
        environment: Environment<'_>,
    ) -> Result<Self, String> {
        let url = Url::parse(url).map_err(|error| format!("`url` can't be read: {error}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("`url` holds a user name or password: keep it in a variable and write `headers: {Authorization: $NAME}`".to_owned());
        }
        Self::with_headers(url, headers, ca_file, environment)
    }

    fn with_headers(
        url: Url,
        own: &BTreeMap<String, String>,
        ca_file: Option<&str>,
        environment: Environment<'_>,
    ) -> Result<Self, String> {
        let mut redactor = Redactor::default();
        hide_query(&url, &mut redactor);
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in own {
            let (name, value) = own_header(name, value, environment, &mut redactor)?;
            headers.insert(name, value);
        }
        let proxy = proxy_of(&url, environment)?;
        let client = client(ca_file, &url, proxy.as_ref())?;
        Ok(Self {
            facts: EndpointFacts {
                shown_url: shown(&url),
                key_variable: None,
                proxy: proxy.map(|proxy| (proxy.variable, proxy.shown)),
                redactor,
            },
            client,
            url,
            headers,
        })
    }

    /// Sends a body of JSON and reads the answer whole. Errors are those of the connection alone.
    pub(crate) async fn post(
        &self,
        body: Vec<u8>,
        timeout: Duration,
    ) -> Result<HttpReply, AttemptError> {
        self.send(Method::POST, None, Some(body), timeout).await
    }

    /// The same by any method; `query` takes the place of the address's own.
    pub(crate) async fn send(
        &self,
        method: Method,
        query: Option<&str>,
        body: Option<Vec<u8>>,
        timeout: Duration,
    ) -> Result<HttpReply, AttemptError> {
        let mut request = Request::new(method, self.url.clone());
        if query.is_some() {
            request.url_mut().set_query(query);
        }
        request.headers_mut().clone_from(&self.headers);
        *request.timeout_mut() = Some(timeout);
        *request.body_mut() = body.map(Into::into);
        let failed = |error: reqwest::Error| failure::of_connection(&error, &self.facts, timeout);
        let mut response = self.client.execute(request).await.map_err(failed)?;
        let mut reply = self
            .facts
            .head(response.status().as_u16(), response.headers());
        let announced = response.content_length().unwrap_or(0);
        reply.body.reserve((announced as usize).min(1 << 20));
        while let Some(chunk) = response.chunk().await.map_err(failed)? {
            if reply.body.len() + chunk.len() > LARGEST_REPLY {
                return Err(failure::too_large(LARGEST_REPLY));
            }
            reply.body.extend_from_slice(&chunk);
        }
        Ok(reply)
    }
}

impl EndpointFacts {
    fn head(&self, status: u16, headers: &HeaderMap) -> HttpReply {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let id = ["x-request-id", "request-id", "apim-request-id"]
            .into_iter()
            .find_map(text);
        HttpReply {
            status,
            request_id: id.map(|id| self.redactor.clean(id)),
            retry_after: retry_after(
                text("retry-after-ms"),
                text(RETRY_AFTER.as_str()),
                SystemTime::now(),
            ),
            location: text(LOCATION.as_str())
                .map(|to| self.redactor.clean(to.split('?').next().unwrap_or(to))),
            body: Vec::new(),
        }
    }
}

/// How long to wait by `retry-after-ms` (milliseconds), else by `Retry-After`: seconds, also
/// fractional, or an HTTP date (RFC 9110, section 10.2.3).
fn retry_after(millis: Option<&str>, value: Option<&str>, now: SystemTime) -> Option<Duration> {
    let seconds = |text: &str| text.trim().parse::<f64>().ok();
    if let Some(millis) = millis.and_then(seconds) {
        return wait(millis / 1000.0);
    }
    let value = value?;
    if let Some(seconds) = seconds(value) {
        return wait(seconds);
    }
    let date = httpdate::parse_http_date(value.trim()).ok()?;
    wait(date.duration_since(now).unwrap_or_default().as_secs_f64())
}

fn wait(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(LONGEST_WAIT)))
}

/// A model's base URL with a path below it; a query of the base URL stays.
fn address(spec: &ModelSpec, path_and_query: &str) -> Result<Url, String> {
    let Some(base) = provider::base_url(spec) else {
        return Err(format!(
            "no address: set `base_url`{}",
            match spec.provider {
                lydite::model::Provider::Azure => ", such as `https://NAME.openai.azure.com`",
                _ => "",
            }
        ));
    };
    let (base, base_query) = base.split_once('?').unwrap_or((base, ""));
    let mut url = Url::parse(&format!("{}{path_and_query}", base.trim_end_matches('/'))).map_err(
        |error| format!("`base_url` can't be read: {error}; write it as `https://host/v1`"),
    )?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("`base_url` has to begin with `http://` or `https://`".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "`base_url` holds a user name or password: keep it in a variable and write `headers: {Authorization: $NAME}`"
                .to_owned(),
        );
    }
    if !base_query.is_empty() {
        let query = match url.query() {
            Some(own) => format!("{own}&{base_query}"),
            None => base_query.to_owned(),
        };
        url.set_query(Some(&query));
    }
    Ok(url)
}

/// A gateway's key may stand in the query of its address, and a server may repeat it, decoded or not.
fn hide_query(url: &Url, redactor: &mut Redactor) {
    let raw = url.query().unwrap_or_default().split('&');
    for (pair, (name, value)) in raw.filter(|pair| !pair.is_empty()).zip(url.query_pairs()) {
        if name != "api-version" {
            redactor.add(pair.split_once('=').map_or("", |(_, value)| value));
            redactor.add(&value);
        }
    }
}

/// An address without its query, which may hold a key.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

fn own_header(
    name: &str,
    value: &str,
    environment: Environment<'_>,
    redactor: &mut Redactor,
) -> Result<(HeaderName, HeaderValue), String> {
    let variable = value.strip_prefix('$');
    let from_environment = variable.is_some();
    let value = match variable {
        Some(variable) => environment.get(variable).ok_or_else(|| {
            format!("the header `{name}` is to be read from the environment variable {variable}, which is not set")
        })?,
        None => value.to_owned(),
    };
    if from_environment || names_secret(name) {
        redactor.add(&value);
    }
    let name = HeaderName::from_bytes(name.as_bytes())
        .map_err(|_| format!("`{name}` is no name of a header"))?;
    let value = secret_value(&value).ok_or_else(|| {
        format!("the value of the header `{name}` holds characters that no header takes")
    })?;
    Ok((name, value))
}

/// Whether a header of this name holds a secret, as far as names tell.
fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie"]
        .iter()
        .any(|word| name.contains(word))
}

fn secret_value(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The proxy that requests to an address go through.
struct ProxyChoice {
    variable: String,
    /// Host and port.
    shown: String,
    proxy: Proxy,
}

/// As curl chooses it: by the variable of the scheme, else `ALL_PROXY`, unless `NO_PROXY` has the
/// host. Addresses of this machine have none.
fn proxy_of(url: &Url, environment: Environment<'_>) -> Result<Option<ProxyChoice>, String> {
    let variables: &[&str] = match url.scheme() {
        "https" => &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
        _ => &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
    };
    if provider::is_loopback(url) {
        return Ok(None);
    }
    let Some((variable, value)) = environment.first(variables) else {
        return Ok(None);
    };
    let no_proxy = environment.first(&["NO_PROXY", "no_proxy"]);
    let matcher = Matcher::builder()
        .all(value.clone())
        .no(no_proxy.map(|(_, list)| list).unwrap_or_default())
        .build();
    let Some(choice) = url
        .as_str()
        .parse()
        .ok()
        .and_then(|uri| matcher.intercept(&uri))
    else {
        return Ok(None);
    };
    let proxy = Proxy::all(&value)
        .map_err(|_| format!("the proxy in the environment variable {variable} can't be read; write it as `http://host:port`"))?;
    let uri = choice.uri();
    Ok(Some(ProxyChoice {
        variable: variable.to_owned(),
        shown: match (uri.host(), uri.port_u16()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        },
        proxy,
    }))
}

/// A client for files at an address, whoever serves it. `connect` is the longest time to a connection, `stall`
/// that to the next bytes.
pub(crate) fn download_client(
    url: &Url,
    environment: Environment<'_>,
    connect: Duration,
    stall: Duration,
) -> Result<Client, String> {
    let proxy = proxy_of(url, environment)?;
    let builder = builder(None, url, proxy.as_ref())?;
    built(builder.connect_timeout(connect).read_timeout(stall))
}

fn client(ca_file: Option<&str>, url: &Url, proxy: Option<&ProxyChoice>) -> Result<Client, String> {
    built(builder(ca_file, url, proxy)?.connect_timeout(CONNECT_TIMEOUT))
}

fn builder(
    ca_file: Option<&str>,
    url: &Url,
    proxy: Option<&ProxyChoice>,
) -> Result<ClientBuilder, String> {
    let mut builder = Client::builder()
        .user_agent(concat!("lydite/", env!("CARGO_PKG_VERSION")))
        .tls_backend_preconfigured(tls::configuration(ca_file)?)
        .redirect(redirect::Policy::none())
        .pool_max_idle_per_host(usize::MAX)
        .tcp_nodelay(true);
    // Without a variable, what the system is set to holds (macOS, Windows).
    if proxy.is_some() || provider::is_loopback(url) {
        builder = builder.no_proxy();
    }
    if let Some(choice) = proxy {
        builder = builder.proxy(choice.proxy.clone());
    }
    Ok(builder)
}

fn built(builder: ClientBuilder) -> Result<Client, String> {
    builder
        .build()
        .map_err(|error| format!("no HTTP client: {}", error.without_url()))
}

/// An error of a model's configuration.
pub(crate) fn config_error(spec: &ModelSpec, what: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Config, format!("{}: {what}", spec.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lydite::model::Provider;

    #[test]
    fn how_long_to_wait() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (millis, value, expected) in [
            (None, Some("3"), Some(3.0)),
            (None, Some(" 0.25"), Some(0.25)),
            (Some("120"), Some("3"), Some(0.12)),
            (None, Some("Sun, 06 Nov 1994 08:49:47 GMT"), Some(10.0)),
            (None, Some("Sun, 06 Nov 1994 08:49:27 GMT"), Some(0.0)),
            (None, Some("1e300"), Some(LONGEST_WAIT)),
            (None, Some("-1"), None),
            (None, Some("NaN"), None),
            (None, Some("soon"), None),
            (None, None, None),
        ] {
            let found = retry_after(millis, value, now).map(|wait| wait.as_secs_f64());
            assert_eq!(found, expected, "{millis:?} {value:?}");
        }
    }

    #[test]
    fn addresses() {
        for (base, expected) in [
            ("http://h/v1", Ok("http://h/v1/x?a=1")),
            (" http://h/v1/ ", Ok("http://h/v1/x?a=1")),
            ("http://h/v1?k=2", Ok("http://h/v1/x?a=1&k=2")),
            ("h/v1", Err("can't be read")),
            ("localhost:8000/v1", Err("has to begin with")),
            ("ftp://h/v1", Err("has to begin with")),
            (
                "http://user:hunter2@h/v1",
                Err("holds a user name or password"),
            ),
        ] {
            let mut spec = ModelSpec::new(Provider::OpenAi, "m");
            spec.base_url = Some(base.to_owned());
            match (address(&spec, "/x?a=1"), expected) {
                (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected),
                (Err(error), Err(words)) => {
                    assert!(
                        error.contains(words) && !error.contains("hunter2"),
                        "{error}"
                    );
                }
                (found, _) => panic!("{base}: {found:?}"),
            }
        }
        let error = address(&ModelSpec::new(Provider::Azure, "m"), "/x").unwrap_err();
        assert!(error.contains("openai.azure.com"), "{error}");
    }

    #[test]
    fn a_key_in_a_query_is_hidden() {
        let url = Url::parse("https://h/v1/x?api-version=2024-10-21&flag&sig=a%2Fhunter2").unwrap();
        let mut redactor = Redactor::default();
        hide_query(&url, &mut redactor);
        let said = "no a/hunter2 or a%2Fhunter2 in 2024-10-21";
        assert_eq!(redactor.clean(said), "no [key] or [key] in 2024-10-21");
    }

    #[test]
    fn which_proxy() {
        for (url, variables, expected) in [
            (
                "https://h/",
                &[("HTTPS_PROXY", "http://u:hunter2@p:3128")][..],
                Some("HTTPS_PROXY p:3128"),
            ),
            ("https://h/", &[("HTTP_PROXY", "http://p:1")], None),
            (
                "http://h/",
                &[("http_proxy", "p:1"), ("ALL_PROXY", "http://q:2")],
                Some("http_proxy p:1"),
            ),
            (
                "https://h/",
                &[("ALL_PROXY", "socks5://q:2")],
                Some("ALL_PROXY q:2"),
            ),
            (
                "https://a.h.example/",
                &[("ALL_PROXY", "http://q:2"), ("NO_PROXY", "x, h.example")],
                None,
            ),
            ("https://localhost/", &[("ALL_PROXY", "http://q:2")], None),
        ] {
            let lookup = |name: &str| {
                let found = variables.iter().find(|(variable, _)| *variable == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            let choice = proxy_of(&Url::parse(url).unwrap(), Environment(&lookup)).unwrap();
            let found = choice.map(|choice| format!("{} {}", choice.variable, choice.shown));
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }
}
