//! What the mock has seen and given.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::fault::Fault;

/// Counts since the start, or since the last [`configure`](crate::MockServer::configure).
///
/// A request that was not given up by its client ends as exactly one of `ok`, `ruled`, `refused` and the nine faults.
/// A fault is counted when it is decided on, so one that the client gave up (a hanging request, most often) is in
/// `aborted_by_client` too.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stats {
    /// All but those to `/admin`.
    pub requests: u64,
    /// Replies without a fault.
    pub ok: u64,
    /// Answered by a rule's `status`.
    pub ruled: u64,
    /// A wrong key, path, model or request.
    pub refused: u64,
    /// 429, decided by the seed or by `max_in_flight`.
    pub rate_limited: u64,
    /// 5xx.
    pub server_error: u64,
    /// No reply.
    pub hang: u64,
    /// A closed connection.
    pub cut: u64,
    /// Words that are cut.
    pub malformed: u64,
    /// Words that are cut, as the provider says.
    pub truncated: u64,
    /// Right words in a fence.
    pub fenced: u64,
    /// Right words after thoughts.
    pub thinking: u64,
    /// Right words after a quotation.
    pub injected: u64,
    /// The client closed the connection before it had its reply.
    pub aborted_by_client: u64,
    /// Requests without a reply yet.
    pub in_flight: u64,
    /// The most at once.
    pub max_in_flight: u64,
    /// The mean over `span_s`.
    pub mean_in_flight: f64,
    /// Connections opened.
    pub connections: u64,
    /// The most open at once.
    pub max_connections: u64,
    /// Different requests: path and body, byte by byte.
    pub distinct_bodies: u64,
    /// Requests that were there before.
    pub repeats: u64,
    /// Right replies (fenced, thinking and injected ones too) beyond the first to the same request: money wasted.
    pub duplicate_after_ok: u64,
    /// The same request again, sooner after a 429 than 98 % of its `Retry-After`.
    pub retried_before_retry_after: u64,
    /// Seconds from the first request to the last reply.
    pub span_s: f64,
    /// Requests a path.
    pub by_path: BTreeMap<String, u64>,
}

/// The part of `Retry-After` that a client must wait: clocks and timers are not exact.
const RETRY_TOLERANCE: f64 = 0.98;

/// Statistics in the making.
#[derive(Debug, Default)]
pub(crate) struct Counters(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// All that is counted directly; the rest is filled in by [`Counters::stats`].
    counts: Stats,
    open: u64,
    bodies: HashMap<u64, Body>,
    first: Option<Instant>,
    last: Option<Instant>,
    /// The integral of the requests in flight over time, in seconds, up to `busy_until`.
    busy: f64,
    busy_until: Option<Instant>,
}

#[derive(Debug, Default)]
struct Body {
    attempts: u64,
    right: u64,
    not_before: Option<Instant>,
}

/// What a reply was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ok,
    Ruled,
    Refused,
    Fault(Fault),
}

impl Counters {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn connected(&self) {
        let mut inner = self.lock();
        inner.open += 1;
        inner.counts.connections += 1;
        inner.counts.max_connections = inner.counts.max_connections.max(inner.open);
    }

    pub(crate) fn disconnected(&self) {
        let mut inner = self.lock();
        inner.open = inner.open.saturating_sub(1);
    }

    pub(crate) fn arrived(&self, path: &str) {
        let mut inner = self.lock();
        let now = Instant::now();
        inner.pass(now);
        inner.first.get_or_insert(now);
        let counts = &mut inner.counts;
        counts.requests += 1;
        counts.in_flight += 1;
        counts.max_in_flight = counts.max_in_flight.max(counts.in_flight);
        match counts.by_path.get_mut(path) {
            Some(count) => *count += 1,
            None => {
                counts.by_path.insert(path.to_owned(), 1);
            }
        }
    }

    /// Notes an attempt at a body. Gives its number, from 1, and the requests in flight.
    pub(crate) fn attempt(&self, key: u64) -> (u64, u64) {
        let mut inner = self.lock();
        let body = inner.bodies.entry(key).or_default();
        body.attempts += 1;
        let number = body.attempts;
        let early = body
            .not_before
            .take()
            .is_some_and(|not_before| Instant::now() < not_before);
        inner.counts.retried_before_retry_after += u64::from(early);
        (number, inner.counts.in_flight)
    }

    /// Notes a fault as given, from when it is decided on.
    pub(crate) fn gave(&self, fault: Fault, key: u64, retry_after: Duration) {
        let mut inner = self.lock();
        *inner.counts.of(fault) += 1;
        if fault == Fault::RateLimited {
            let not_before = Instant::now() + retry_after.mul_f64(RETRY_TOLERANCE);
            inner.bodies.entry(key).or_default().not_before = Some(not_before);
        }
    }

    /// Notes the end of a request: with what it was answered, or that its client went away.
    pub(crate) fn ended(&self, key: Option<u64>, kind: Option<Kind>) {
        let mut inner = self.lock();
        let now = Instant::now();
        inner.pass(now);
        inner.last = Some(now);
        let counts = &mut inner.counts;
        counts.in_flight = counts.in_flight.saturating_sub(1);
        match kind {
            None => counts.aborted_by_client += 1,
            Some(Kind::Ok) => counts.ok += 1,
            Some(Kind::Ruled) => counts.ruled += 1,
            Some(Kind::Refused) => counts.refused += 1,
            Some(Kind::Fault(_)) => {}
        }
        let is_right = kind.is_some_and(|kind| match kind {
            Kind::Ok => true,
            Kind::Fault(fault) => fault.is_right(),
            Kind::Ruled | Kind::Refused => false,
        });
        if let Some(key) = key.filter(|_| is_right) {
            inner.bodies.entry(key).or_default().right += 1;
        }
    }

    /// Forgets all but what is open and in flight.
    pub(crate) fn reset(&self) {
        let mut inner = self.lock();
        let (open, in_flight) = (inner.open, inner.counts.in_flight);
        *inner = Inner {
            counts: Stats {
                in_flight,
                max_in_flight: in_flight,
                max_connections: open,
                ..Stats::default()
            },
            open,
            busy_until: Some(Instant::now()),
            ..Inner::default()
        };
    }

    pub(crate) fn stats(&self) -> Stats {
        let mut inner = self.lock();
        inner.pass(Instant::now());
        let span = match (inner.first, inner.last) {
            (Some(first), Some(last)) => last.saturating_duration_since(first).as_secs_f64(),
            _ => 0.0,
        };
        let sum = |count: fn(&Body) -> u64| inner.bodies.values().map(count).sum();
        Stats {
            mean_in_flight: if span > 0.0 { inner.busy / span } else { 0.0 },
            distinct_bodies: inner.bodies.len() as u64,
            repeats: sum(|body| body.attempts.saturating_sub(1)),
            duplicate_after_ok: sum(|body| body.right.saturating_sub(1)),
            span_s: span,
            ..inner.counts.clone()
        }
    }
}

impl Inner {
    /// Adds the time that has passed to the integral.
    fn pass(&mut self, now: Instant) {
        if let Some(before) = self.busy_until.replace(now) {
            let passed = now.saturating_duration_since(before).as_secs_f64();
            self.busy += passed * self.counts.in_flight as f64;
        }
    }
}

impl Stats {
    fn of(&mut self, fault: Fault) -> &mut u64 {
        match fault {
            Fault::RateLimited => &mut self.rate_limited,
            Fault::ServerError => &mut self.server_error,
            Fault::Hang => &mut self.hang,
            Fault::Cut => &mut self.cut,
            Fault::Malformed => &mut self.malformed,
            Fault::Truncated => &mut self.truncated,
            Fault::Fenced => &mut self.fenced,
            Fault::Thinking => &mut self.thinking,
            Fault::Injected => &mut self.injected,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_counted_from_its_arrival_to_its_end() {
        let counters = Counters::default();
        counters.connected();
        for _ in 0..3 {
            counters.arrived("/x");
            counters.attempt(1);
        }
        counters.ended(Some(1), Some(Kind::Ok));
        counters.ended(Some(1), Some(Kind::Fault(Fault::Fenced)));
        counters.ended(Some(1), None);
        counters.disconnected();
        let stats = counters.stats();
        assert_eq!(
            (stats.requests, stats.ok, stats.aborted_by_client),
            (3, 1, 1)
        );
        assert_eq!((stats.in_flight, stats.max_in_flight), (0, 3));
        assert_eq!(
            (
                stats.distinct_bodies,
                stats.repeats,
                stats.duplicate_after_ok
            ),
            (1, 2, 1)
        );
        assert_eq!((stats.connections, stats.max_connections), (1, 1));
        assert_eq!(stats.by_path.get("/x"), Some(&3));
        assert!(stats.mean_in_flight > 0.0 && stats.mean_in_flight <= 3.0);
    }

    #[test]
    fn a_retry_is_too_early_only_before_its_time_and_once() {
        let counters = Counters::default();
        counters.attempt(1);
        counters.gave(Fault::RateLimited, 1, Duration::from_mins(1));
        counters.attempt(2);
        counters.attempt(1);
        counters.attempt(1);
        counters.gave(Fault::RateLimited, 3, Duration::ZERO);
        counters.attempt(3);
        assert_eq!(counters.stats().retried_before_retry_after, 1);
    }

    #[test]
    fn what_is_in_flight_outlives_a_reset() {
        let counters = Counters::default();
        counters.arrived("/x");
        counters.reset();
        let stats = counters.stats();
        assert_eq!(
            (stats.requests, stats.in_flight, stats.max_in_flight),
            (0, 1, 1)
        );
        counters.ended(None, Some(Kind::Refused));
        assert_eq!(counters.stats().in_flight, 0);
    }
}
