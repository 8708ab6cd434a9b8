//! The server and its threads.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use crate::app::{App, Seen};
use crate::config::{Config, ConfigError, Prepared};
use crate::service::serve;
use crate::stats::Stats;
use crate::tls::Tls;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 4096;

/// Where and how a server listens; always on 127.0.0.1.
#[derive(Debug, Clone)]
pub struct Listen {
    /// 0 is a free one.
    pub port: u16,
    /// Threads that serve, from 1.
    pub threads: usize,
    /// With a certificate that is made at the start; see [`MockServer::certificate_pem`].
    pub tls: bool,
}

impl Default for Listen {
    fn default() -> Self {
        Self {
            port: 0,
            threads: 1,
            tls: false,
        }
    }
}

/// A mock of LLM providers that serves until it is dropped.
#[derive(Debug)]
pub struct MockServer {
    app: Arc<App>,
    address: SocketAddr,
    certificate_pem: Option<String>,
    /// Dropping it stops the thread.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl MockServer {
    /// Starts a server on a free port, with one thread, without TLS. A [`ConfigError`] is the error's source.
    pub fn start(config: Config) -> io::Result<Self> {
        Self::start_on(&Listen::default(), config)
    }

    /// Starts a server.
    pub fn start_on(listen: &Listen, config: Config) -> io::Result<Self> {
        let prepared = Prepared::new(config)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let app = Arc::new(App::new(prepared));
        let tls = if listen.tls { Some(Tls::new()?) } else { None };
        let (acceptor, certificate_pem) =
            tls.map(|tls| (tls.acceptor, tls.certificate_pem)).unzip();
        let runtime = runtime(listen.threads)?;
        let listener = bind(&runtime, listen.port)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        runtime.spawn(accept(listener, Arc::clone(&app), acceptor));
        let thread = std::thread::Builder::new()
            .name("mock-llm".to_owned())
            .spawn(move || {
                // An error means that the sender was dropped, which is how a server is stopped.
                let _ = runtime.block_on(stopped);
                runtime.shutdown_background();
            })?;
        Ok(Self {
            app,
            address,
            certificate_pem,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// `http://127.0.0.1:PORT`, or `https://…` with TLS.
    pub fn url(&self) -> String {
        let scheme = if self.certificate_pem.is_some() {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}", self.address)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The certificate that a client has to trust, with TLS.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// What was seen and given since the start or the last [`configure`](Self::configure).
    pub fn stats(&self) -> Stats {
        self.app.counters.stats()
    }

    /// Takes another configuration in place of the whole one before; counts begin anew.
    pub fn configure(&self, config: Config) -> Result<(), ConfigError> {
        self.app.configure(Prepared::new(config)?);
        Ok(())
    }

    /// The last requests, the oldest first; at most [`Config::keep_requests`].
    pub fn requests(&self) -> Vec<Seen> {
        self.app.requests()
    }
}

impl Drop for MockServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A server that panicked is over too.
            let _ = thread.join();
        }
    }
}

fn runtime(threads: usize) -> io::Result<Runtime> {
    let mut builder = match threads {
        0 | 1 => Builder::new_current_thread(),
        threads => {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(threads);
            builder
        }
    };
    builder.enable_io().enable_time().build()
}

fn bind(runtime: &Runtime, port: u16) -> io::Result<TcpListener> {
    let _context = runtime.enter();
    let socket = TcpSocket::new_v4()?;
    if cfg!(unix) {
        socket.set_reuseaddr(true)?;
    }
    socket.bind((Ipv4Addr::LOCALHOST, port).into())?;
    socket.listen(BACKLOG)
}

async fn accept(listener: TcpListener, app: Arc<App>, tls: Option<TlsAcceptor>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, Arc::clone(&app), tls.clone()));
            }
            // Too many open files, say: some will be closed.
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

/// Counts a connection as open until it is dropped.
struct Open(Arc<App>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.counters.disconnected();
    }
}

async fn connection(stream: TcpStream, app: Arc<App>, tls: Option<TlsAcceptor>) {
    app.counters.connected();
    let open = Open(app);
    // Where it fails, replies are late but right.
    let _ = stream.set_nodelay(true);
    match tls {
        None => talk(stream, &open.0).await,
        Some(tls) => {
            if let Ok(stream) = tls.accept(stream).await {
                talk(stream, &open.0).await;
            }
        }
    }
}

async fn talk(stream: impl AsyncRead + AsyncWrite + Unpin, app: &Arc<App>) {
    let service = service_fn(|request| serve(Arc::clone(app), request));
    let served = http1::Builder::new()
        .header_read_timeout(None)
        .serve_connection(TokioIo::new(stream), service);
    // Errors are clients that went away, and our own faults.
    let _ = served.await;
}
