//! A model hub on this machine that answers as it is told, down to bodies that break off.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::{REVISION, Small};

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Asked {
    pub(super) path: String,
    /// The first byte that is wanted.
    pub(super) from: Option<usize>,
    pub(super) authorization: Option<String>,
}

impl Asked {
    /// The file's name.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap()
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Vec<u8>,
    /// In place of the body's length; without one the body ends with the connection.
    pub(super) length: Option<usize>,
}

impl Reply {
    pub(super) fn ok(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self {
            status: 200,
            headers: Vec::new(),
            length: Some(body.len()),
            body,
        }
    }

    pub(super) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::ok("no")
        }
    }

    pub(super) fn redirect(to: impl Into<String>) -> Self {
        Self {
            headers: vec![("Location", to.into())],
            ..Self::status(302)
        }
    }

    /// The rest of a file, as a server with ranges gives it.
    pub(super) fn rest(content: &[u8], from: Option<usize>) -> Self {
        match from {
            None => Self::ok(content),
            Some(from) if from >= content.len() => Self::status(416),
            Some(from) => {
                let (last, all) = (content.len() - 1, content.len());
                Self {
                    status: 206,
                    headers: vec![("Content-Range", format!("bytes {from}-{last}/{all}"))],
                    ..Self::ok(&content[from..])
                }
            }
        }
    }

    /// The same, broken off after so many bytes.
    pub(super) fn cut_after(mut self, bytes: usize) -> Self {
        self.body.truncate(bytes);
        self
    }
}

/// Listens on a port of its own until it is dropped.
pub(super) struct LoopbackHub {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LoopbackHub {
    /// `answer` is given each request and the number of those before it.
    pub(super) fn start(answer: impl Fn(&Asked, usize) -> Reply + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, stop) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::default());
        let (log, stopped) = (Arc::clone(&asked), Arc::<AtomicBool>::clone(&stop));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let stream = stream.unwrap();
                let Some(request) = read(&stream) else {
                    continue;
                };
                let before = {
                    let mut log = log.lock().unwrap();
                    log.push(request.clone());
                    log.len() - 1
                };
                write(stream, &answer(&request, before));
            }
        });
        Self {
            address,
            asked,
            stop,
            thread: Some(thread),
        }
    }

    /// One that has the small model, with ranges.
    pub(super) fn good() -> Self {
        let small = Small::new();
        Self::start(move |asked, _| serve(&small, asked))
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }

    /// How often something was asked for.
    pub(super) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

impl Drop for LoopbackHub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The answer of a hub that has the small model, and nothing else.
pub(super) fn serve(small: &Small, asked: &Asked) -> Reply {
    let above = format!("/org/small/resolve/{REVISION}/");
    let content = asked
        .path
        .strip_prefix(&above)
        .and_then(|n| small.content(n));
    content.map_or_else(|| Reply::status(404), |it| Reply::rest(it, asked.from))
}

fn read(stream: &TcpStream) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let mut asked = Asked {
        path: first.split(' ').nth(1)?.to_owned(),
        ..Asked::default()
    };
    for line in lines {
        let line = line.ok()?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let from = value.strip_prefix("bytes=").unwrap();
                asked.from = Some(from.strip_suffix('-').unwrap().parse().unwrap());
            }
            "authorization" => asked.authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    Some(asked)
}

fn write(mut stream: TcpStream, reply: &Reply) {
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        write!(head, "{name}: {value}\r\n").unwrap();
    }
    if let Some(length) = reply.length {
        write!(head, "Content-Length: {length}\r\n").unwrap();
    }
    // A client that has seen enough may be gone.
    let _ = stream.write_all(format!("{head}\r\n").as_bytes());
    let _ = stream.write_all(&reply.body);
    let _ = stream.flush();
}
