//! The body of a response, which may break off.

use std::future::Future as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

/// How long the connection stays open after the part that is sent, so that it is sent.
const LINGER: Duration = Duration::from_millis(5);

/// Some bytes, or the first of them and then an error that closes the connection.
#[derive(Debug)]
pub(crate) struct ReplyBody {
    length: u64,
    bytes: Bytes,
    cut: Option<Pin<Box<Sleep>>>,
}

impl ReplyBody {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self {
            length: bytes.len() as u64,
            bytes,
            cut: None,
        }
    }

    /// Promises all bytes and sends the first half of them. To be called within a runtime.
    pub(crate) fn into_cut(mut self) -> Self {
        self.bytes.truncate(self.bytes.len() / 2);
        self.cut = Some(Box::pin(tokio::time::sleep(LINGER)));
        self
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if !self.bytes.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.bytes)))));
        }
        match &mut self.cut {
            None => Poll::Ready(None),
            Some(linger) => {
                ready!(linger.as_mut().poll(context));
                Poll::Ready(Some(Err(io::Error::other("cut on purpose"))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty() && self.cut.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}
