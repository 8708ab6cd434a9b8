//! One file over HTTP: resumed where it broke off, through redirects, and never more than is pinned.

use std::error::Error as _;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use reqwest::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_RANGE, HeaderMap, HeaderValue, LOCATION, RANGE,
};
use reqwest::{Method, Request, Response, StatusCode, Url};

use super::check;
use super::hub::origin;
use super::pins::PinnedFile;
use crate::place;
use crate::wires::environment::Environment;
use crate::wires::http::download_client;
use crate::wires::secret::{Redactor, Secret};

/// Connecting takes no longer: where a firewall swallows packets, the next source is asked soon.
const CONNECT: Duration = Duration::from_secs(5);
/// Nor does the wait for the next bytes.
const STALL: Duration = Duration::from_secs(30);
const ATTEMPTS: u32 = 6;
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
const REDIRECTS: usize = 10;

/// A file to fetch.
pub(super) struct Download<'a> {
    pub(super) url: Url,
    /// Sent to the host of `url` alone.
    pub(super) token: Option<&'a Secret>,
    pub(super) pin: &'a PinnedFile<'a>,
    /// Where it is gathered; what is there already is not fetched again.
    pub(super) part: &'a Path,
    /// The wait before the second attempt, doubled for each further one.
    pub(super) pause: Duration,
    /// Told how many bytes are there.
    pub(super) advanced: &'a (dyn Fn(u64) + Sync),
}

/// Why a file was not fetched.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Failure {
    /// It may go well if tried again.
    #[error("{0}")]
    Passing(String),
    #[error("{0}")]
    Lasting(String),
    /// The server has other bytes than the pinned ones.
    #[error("{0}")]
    Wrong(String),
}

impl Download<'_> {
    /// Fetches the file; its bytes are then the pinned ones.
    pub(super) async fn run(&self) -> Result<(), Failure> {
        let mut pause = self.pause;
        for _ in 1..ATTEMPTS {
            match self.attempt().await {
                Err(Failure::Passing(_)) => tokio::time::sleep(pause).await,
                ended => return ended,
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        self.attempt().await
    }

    async fn attempt(&self) -> Result<(), Failure> {
        let have = fs::metadata(self.part).map_or(0, |part| part.len());
        if have < self.pin.bytes {
            self.fetch(have).await?;
        }
        let Err(fault) = check::file(self.part, self.pin) else {
            return Ok(());
        };
        self.forget();
        // The part of an earlier fetch may be to blame.
        Err(if have > 0 {
            Failure::Passing(fault.to_string())
        } else {
            self.wrong(&fault.to_string())
        })
    }

    async fn fetch(&self, have: u64) -> Result<(), Failure> {
        let mut response = self.get(have).await?;
        let start = self.start(&response, have)?;
        let mut file = open_at(self.part, start).map_err(|error| self.unwritable(&error))?;
        let mut written = start;
        while let Some(chunk) = response.chunk().await.map_err(|error| self.cut(&error))? {
            written += chunk.len() as u64;
            if written > self.pin.bytes {
                self.forget();
                return Err(self.wrong(&format!("it is longer than {} bytes", self.pin.bytes)));
            }
            file.write_all(&chunk)
                .map_err(|error| self.unwritable(&error))?;
            (self.advanced)(written);
        }
        if written < self.pin.bytes {
            let Self { pin, .. } = self;
            return Err(Failure::Passing(format!(
                "the answer for `{}` ended after {written} of {} bytes",
                pin.name, pin.bytes
            )));
        }
        Ok(())
    }

    /// Where the answer's bytes belong: at the end of what is there, or at the start.
    fn start(&self, response: &Response, have: u64) -> Result<u64, Failure> {
        let pinned = self.pin.bytes;
        let start = match response.status() {
            StatusCode::PARTIAL_CONTENT if range_start(response.headers()) == Some(have) => have,
            StatusCode::PARTIAL_CONTENT => {
                self.forget();
                let other = "the answer is another part of the file than was asked for";
                return Err(Failure::Passing(other.to_owned()));
            }
            _ => 0,
        };
        match response.content_length() {
            Some(length) if start + length != pinned => {
                self.forget();
                let found = start + length;
                Err(self.wrong(&format!("it has {found} bytes in place of {pinned}")))
            }
            _ => Ok(start),
        }
    }

    /// The answer, through redirects. The token goes to the first host alone.
    async fn get(&self, have: u64) -> Result<Response, Failure> {
        let mut url = self.url.clone();
        for _ in 0..=REDIRECTS {
            let response = self.send(&url, have).await?;
            match response.status() {
                StatusCode::OK | StatusCode::PARTIAL_CONTENT => return Ok(response),
                StatusCode::RANGE_NOT_SATISFIABLE => {
                    self.forget();
                    return Err(Failure::Passing(self.refused(&response)));
                }
                status if status.is_redirection() => url = self.redirected(&url, &response)?,
                status if is_passing(status) => {
                    return Err(Failure::Passing(self.refused(&response)));
                }
                _ => return Err(Failure::Lasting(self.refused(&response))),
            }
        }
        Err(Failure::Lasting(format!(
            "more than {REDIRECTS} redirects for `{}`",
            self.pin.name
        )))
    }

    async fn send(&self, url: &Url, have: u64) -> Result<Response, Failure> {
        let client = download_client(url, Environment::PROCESS, CONNECT, STALL);
        let client = client.map_err(Failure::Lasting)?;
        let mut request = Request::new(Method::GET, url.clone());
        let headers = request.headers_mut();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if have > 0 {
            headers.insert(RANGE, header(&format!("bytes={have}-"))?);
        }
        if let Some(token) = self.token
            && url.origin() == self.url.origin()
        {
            let mut value = header(&format!("Bearer {}", token.expose()))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let sent = client.execute(request).await;
        sent.map_err(|error| unanswered(url, &error))
    }

    fn redirected(&self, from: &Url, response: &Response) -> Result<Url, Failure> {
        let name = self.pin.name;
        let to = response.headers().get(LOCATION);
        let to = to.and_then(|to| from.join(to.to_str().ok()?).ok());
        let to = to.ok_or_else(|| {
            Failure::Lasting(format!("the redirect for `{name}` leads to no address"))
        })?;
        let allowed = match from.scheme() {
            "https" => to.scheme() == "https",
            _ => matches!(to.scheme(), "http" | "https"),
        };
        if allowed && to.has_host() {
            return Ok(to);
        }
        Err(Failure::Lasting(format!(
            "the redirect for `{name}` leads to {}, which is not followed from {}",
            origin(&to),
            from.scheme()
        )))
    }

    fn refused(&self, response: &Response) -> String {
        let status = response.status();
        let advice = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN if self.token.is_some() => {
                "; is the token in HF_TOKEN a good one?"
            }
            _ => "",
        };
        format!("`{}` was answered by {status}{advice}", self.pin.name)
    }

    fn cut(&self, error: &reqwest::Error) -> Failure {
        Failure::Passing(format!(
            "the connection was cut within `{}`: {}",
            self.pin.name,
            reason(error)
        ))
    }

    fn wrong(&self, problem: &str) -> Failure {
        Failure::Wrong(format!(
            "its `{}` is not the pinned one: {problem}",
            self.pin.name
        ))
    }

    fn unwritable(&self, error: &io::Error) -> Failure {
        Failure::Lasting(format!("{} can't be written: {error}", self.part.display()))
    }

    /// The next attempt begins at the start.
    fn forget(&self) {
        // Where it can't be removed, the next attempt says why it can't be written.
        let _ = fs::remove_file(self.part);
    }
}

/// Nobody there, and nobody who answers, are not asked again: another source may be.
fn unanswered(url: &Url, error: &reqwest::Error) -> Failure {
    let (host, reason) = (origin(url), reason(error));
    if error.is_connect() {
        return Failure::Lasting(format!("no connection to {host}: {reason}"));
    }
    let message = format!("no answer from {host}: {reason}");
    if error.is_timeout() {
        Failure::Lasting(message)
    } else {
        Failure::Passing(message)
    }
}

/// A file without what is behind `start`, to be written from there.
fn open_at(path: &Path, start: u64) -> io::Result<File> {
    let mut file = place::private_file().write(true).open(path)?;
    file.set_len(start)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(file)
}

/// Whether the server may answer otherwise a moment later.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS
        )
}

/// The first byte of `bytes 5-9/10` (RFC 9110, section 14.4).
fn range_start(headers: &HeaderMap) -> Option<u64> {
    let range = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (start, _) = range.strip_prefix("bytes ")?.split_once('-')?;
    start.trim().parse().ok()
}

fn header(text: &str) -> Result<HeaderValue, Failure> {
    let unfit = "the token in HF_TOKEN holds characters that no header takes";
    HeaderValue::from_str(text).map_err(|_| Failure::Lasting(unfit.to_owned()))
}

/// The innermost cause, which names no address.
fn reason(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    let mut words = String::new();
    while let Some(error) = cause {
        words = error.to_string();
        cause = error.source();
    }
    if error.is_timeout() {
        "it took too long".clone_into(&mut words);
    }
    Redactor::default().clean(&words)
}
