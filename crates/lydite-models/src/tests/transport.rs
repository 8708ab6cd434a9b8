//! Connections that fail: refused, not found, cut, late, untrusted, through a proxy.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use lydite::model::ModelErrorKind as Kind;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// A listener whose connections, as many as said, are each handled on a thread.
fn listen(connections: usize, handle: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().take(connections) {
            handle(stream.unwrap());
        }
    });
    address
}

fn read_head(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut buffer = [0; 1024];
    while !read.windows(4).any(|window| window == b"\r\n\r\n") {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0);
        read.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

fn at(base_url: String) -> ModelSpec {
    let mut spec = ModelSpec::parse("openai/m").unwrap();
    spec.base_url = Some(base_url);
    spec
}

#[tokio::test]
async fn refused_and_not_found() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let error_of_closed = error(&at(format!("http://{closed}/v1")), &text_request()).await;
    assert_eq!(
        (error_of_closed.kind, error_of_closed.retry),
        (Kind::Connection, true)
    );
    let words = format!("no connection to http://{closed}/v1/chat/completions: connection refused");
    assert!(
        error_of_closed.message.contains(&words),
        "{}",
        error_of_closed.message
    );

    let error = error(
        &at("http://no-such-host.invalid/v1".to_owned()),
        &text_request(),
    )
    .await;
    // Whether it lasts hangs on the resolver of this machine.
    assert_eq!(error.kind, Kind::Connection);
    assert!(
        error
            .message
            .contains("no-such-host.invalid/v1/chat/completions was not found (DNS)"),
        "{}",
        error.message
    );
}

#[tokio::test]
async fn cut_connections() {
    let at_once = listen(2, drop);
    let in_the_body = listen(1, |mut stream| {
        read_head(&mut stream);
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{\"choices\": ")
            .unwrap();
    });
    for address in [at_once, in_the_body] {
        let error = error(&at(format!("http://{address}/v1")), &text_request()).await;
        assert_eq!((error.kind, error.retry), (Kind::Connection, true));
        assert!(
            error
                .message
                .contains("was cut before the answer was whole"),
            "{}",
            error.message
        );
    }
}

#[tokio::test]
async fn late_answers() {
    let late = answer(200, &completion("x")).set_delay(Duration::from_secs(5));
    let server = server(vec![late]).await;
    let wire = wire(&spec("openai/m", &server, "/v1"));
    let attempt = wire
        .attempt(&text_request(), Duration::from_millis(100))
        .await;
    assert!(attempt.took < Duration::from_secs(4), "{:?}", attempt.took);
    let error = attempt.outcome.unwrap_err();
    assert_eq!((error.kind, error.retry), (Kind::Timeout, true));
    assert!(error.message.contains("within 0.1 s"), "{}", error.message);
}

/// A server of TLS with a certificate of its own for `localhost`, and that certificate as PEM.
async fn tls_server() -> (u16, String) {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            let body = completion("over TLS").to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            stream
                .write_all(format!("{head}{body}").as_bytes())
                .await
                .unwrap();
            let _ = stream.shutdown().await;
        }
    });
    (port, own.cert.pem())
}

#[tokio::test]
async fn certificates() {
    let (port, pem) = tls_server().await;
    let mut spec = at(format!("https://localhost:{port}/v1"));
    let untrusted = error(&spec, &text_request()).await;
    assert_eq!((untrusted.kind, untrusted.retry), (Kind::Tls, false));
    assert!(
        untrusted.message.contains("`ca_file`"),
        "{}",
        untrusted.message
    );

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    std::fs::write(&path, pem).unwrap();
    spec.ca_file = Some(path.to_str().unwrap().to_owned());
    let reply = ask(&spec, &text_request()).await.outcome.unwrap();
    assert_eq!(reply.text, "over TLS");

    for (contents, words) in [
        (None, "can't be read"),
        (Some("nothing"), "holds no certificate"),
    ] {
        std::fs::remove_file(&path).unwrap_or_default();
        if let Some(contents) = contents {
            std::fs::write(&path, contents).unwrap();
        }
        let error = wires::chat(&spec, Environment(&variables)).unwrap_err();
        assert_eq!(error.kind, Kind::Config);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[tokio::test]
async fn https_to_a_plain_server_is_explained() {
    let server = server(vec![answer(200, &completion("x"))]).await;
    let url = server.uri().replace("http://", "https://");
    let error = error(&at(format!("{url}/v1")), &text_request()).await;
    assert_eq!(error.kind, Kind::Tls);
    assert!(
        error.message.contains("`base_url` begins with `http://`"),
        "{}",
        error.message
    );
}

/// Asks a model at `models.invalid` with a proxy in the environment.
async fn through_proxy(scheme: &str, address: &str) -> Attempt<ChatReply> {
    let proxy = format!("http://user:hunter2@{address}");
    let lookup = move |name: &str| match name {
        "ALL_PROXY" => Some(proxy.clone()),
        name => variables(name),
    };
    let spec = at(format!("{scheme}://models.invalid/v1"));
    let wire = wires::chat(&spec, Environment(&lookup)).unwrap();
    wire.attempt(&text_request(), TIMEOUT).await
}

#[tokio::test]
async fn proxies() {
    let server = server(vec![answer(200, &completion("through"))]).await;
    let attempt = through_proxy("http", &server.address().to_string()).await;
    assert_eq!(attempt.outcome.unwrap().text, "through");
    let requests = server.received_requests().await.unwrap();
    // user:hunter2 in base64.
    assert_eq!(
        requests[0].headers["proxy-authorization"],
        "Basic dXNlcjpodW50ZXIy"
    );
    assert_eq!(requests[0].headers["host"], "models.invalid");
}

fn refuse(mut stream: TcpStream) {
    let head = read_head(&mut stream);
    assert!(head.contains("models.invalid"), "{head}");
    let refusal = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(refusal.as_bytes()).unwrap();
}

#[tokio::test]
async fn proxies_that_fail_are_named_without_credentials() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (scheme, address, retry, words) in [
        ("https", closed.to_string(), true, "through the proxy"),
        ("http", closed.to_string(), true, "through the proxy"),
        (
            "https",
            listen(1, refuse),
            false,
            "proxy authorization required",
        ),
        (
            "http",
            listen(1, refuse),
            false,
            "wants other credentials (407)",
        ),
    ] {
        let error = through_proxy(scheme, &address).await.outcome.unwrap_err();
        assert_eq!((error.kind, error.retry), (Kind::Connection, retry));
        assert!(error.message.contains(words), "{}", error.message);
        assert!(
            error.message.contains("environment variable ALL_PROXY"),
            "{}",
            error.message
        );
        assert!(error.message.contains(&address), "{}", error.message);
        assert!(!error.message.contains("hunter2"), "{}", error.message);
    }
}

/// Answers three calls on one connection.
fn answer_thrice(mut stream: TcpStream) {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    for _ in 0..3 {
        // The body is whole once it is JSON.
        while serde_json::from_slice::<Value>(body_of(&read)).is_err() {
            let count = stream.read(&mut buffer).unwrap();
            assert!(count > 0);
            read.extend_from_slice(&buffer[..count]);
        }
        read.clear();
        let body = completion("kept").to_string();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
        stream
            .write_all(format!("{head}{body}").as_bytes())
            .unwrap();
    }
}

fn body_of(request: &[u8]) -> &[u8] {
    let head = request.windows(4).position(|window| window == b"\r\n\r\n");
    head.map_or(&[], |end| &request[end + 4..])
}

#[tokio::test]
async fn a_connection_is_used_again() {
    // No second connection is ever answered.
    let address = listen(1, answer_thrice);
    let wire = wire(&at(format!("http://{address}/v1")));
    for _ in 0..3 {
        let attempt = wire.attempt(&text_request(), Duration::from_secs(5)).await;
        assert_eq!(attempt.outcome.unwrap().text, "kept");
    }
}

#[test]
fn calls_do_not_wait_for_each_other() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let slow = answer(200, &completion("x")).set_delay(Duration::from_millis(200));
        let server = server(vec![slow]).await;
        let wire = wire(&spec("openai/m", &server, "/v1"));
        let request = text_request();
        let started = std::time::Instant::now();
        let calls = (0..100).map(|_| wire.attempt(&request, TIMEOUT));
        let attempts = futures_util::future::join_all(calls).await;
        assert!(attempts.iter().all(|attempt| attempt.outcome.is_ok()));
        assert!(
            started.elapsed() < Duration::from_secs(8),
            "{:?}",
            started.elapsed()
        );
    });
}
