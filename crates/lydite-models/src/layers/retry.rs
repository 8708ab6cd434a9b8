//! Attempts at one call, until one goes well or none is of use any more.
//!
//! Between two attempts stands what `Retry-After` says, never less, else exponential backoff with full
//! jitter (Brooker, "Exponential backoff and jitter", AWS Architecture Blog 2015).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lydite::model::{BoxFuture, ModelError, ModelErrorKind, Usage};
use serde::Serialize;
use tokio::time::{Instant, sleep};

use crate::attempt::{Attempt, AttemptError};
use crate::layers::limit::{Limiter, Pace, Signal};
use crate::layers::meter::Ticket;

const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const LONGEST_BACKOFF: Duration = Duration::from_secs(20);

/// How long and how often a call is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    /// Of an attempt.
    pub(crate) timeout: Duration,
    /// Of a call from its first attempt on; waiting for a slot does not count.
    pub(crate) deadline: Duration,
    /// 1 at the least.
    pub(crate) attempts: u32,
}

/// A model's way to its provider.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    /// `provider/model`.
    pub(crate) name: Arc<str>,
    pub(crate) limiter: Arc<Limiter>,
    pub(crate) pace: Arc<Pace>,
    pub(crate) policy: Policy,
    /// What the provider said when it refused the key: whoever waits for a slot need not ask again.
    pub(crate) refused: Arc<OnceLock<ModelError>>,
}

/// A call that has ended.
#[derive(Debug)]
pub(crate) struct Called<T> {
    pub(crate) outcome: Result<T, ModelError>,
    pub(crate) attempts: Vec<AttemptRecord>,
    /// Of all attempts.
    pub(crate) usage: Usage,
}

/// What the log of calls tells of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AttemptRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// `ok`, or the kind of the error.
    pub(crate) kind: &'static str,
    pub(crate) took_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    pub(crate) usage: Usage,
}

/// Makes a call by as many attempts as it takes.
///
/// `tokens` is the estimate for the pace; `attempt` makes one attempt within the time it is given.
/// A slot is held during attempts only. Once a key was refused, no further call is sent.
pub(crate) async fn call<'a, T: Send>(
    route: &Route,
    ticket: &mut Ticket<'_>,
    tokens: u64,
    mut attempt: impl FnMut(Duration) -> BoxFuture<'a, Attempt<T>> + Send,
) -> Called<T> {
    let mut attempts = Vec::with_capacity(1);
    let mut ends: Option<Instant> = None;
    route.limiter.count_call();
    let outcome = loop {
        let queued = Instant::now();
        // Who waits for its pace keeps no slot from others.
        route.pace.wait(tokens).await;
        let slot = route.limiter.slot().await;
        if let Some(refused) = route.refused.get() {
            break Err(refused.clone());
        }
        let began = Instant::now();
        let deadline = match ends {
            // Time in the queue does not count.
            Some(ends) => later(ends, began - queued),
            None => later(began, route.policy.deadline),
        };
        ends = Some(deadline);
        ticket.request(!attempts.is_empty());
        let timeout = route.policy.timeout.min(deadline - began);
        let made = attempt(timeout).await;
        slot.end(signal(&made));
        let usage = ticket.used(&made.usage);
        route
            .pace
            .settle(tokens, usage.input_tokens + usage.output_tokens);
        attempts.push(record(&made, usage));
        let error = match made.outcome {
            Ok(reply) => break Ok(reply),
            Err(error) => error,
        };
        match pause(route, ticket, &error, attempts.len(), deadline) {
            Ok(pause) => sleep(pause).await,
            Err(failure) => {
                if failure.kind == ModelErrorKind::Unauthorized {
                    // Said already where another call was refused at the same time.
                    let _ = route.refused.set(failure.clone());
                }
                break Err(failure.with_usage(ticket.usage()));
            }
        }
    };
    Called {
        outcome,
        attempts,
        usage: ticket.usage(),
    }
}

/// How long to wait before the next attempt, or why there is none.
fn pause(
    route: &Route,
    ticket: &Ticket<'_>,
    error: &AttemptError,
    made: usize,
    deadline: Instant,
) -> Result<Duration, ModelError> {
    let fail = |why: &str| Err(failure(&route.name, error, made, why));
    if !error.retry || error.kind.ends_run() {
        return fail("");
    }
    if made >= route.policy.attempts as usize {
        return fail("no attempts are left");
    }
    // Never sooner than asked for; later where being asked again and again shows that it is too soon.
    let pause = error.retry_after.map_or(Duration::ZERO, honoured).max(
        if error.retry_after.is_some() && made < GENTLE {
            Duration::ZERO
        } else {
            backoff(made)
        },
    );
    if later(Instant::now(), pause) >= deadline {
        return fail(&format!(
            "the next attempt would be past the call's deadline of {} s",
            route.policy.deadline.as_secs_f64()
        ));
    }
    // A provider that counts requests is alive, and says itself when to come again.
    if error.kind != ModelErrorKind::RateLimited && !route.limiter.take_retry() {
        return fail("too many of its latest calls failed to try each again");
    }
    ticket.check().map(|()| pause)
}

/// Attempts after which a pause that the provider asks for is not taken at its word alone.
const GENTLE: usize = 3;

/// Anything from nothing up to a bound that doubles with each attempt.
fn backoff(made: usize) -> Duration {
    let doublings = u32::try_from(made.saturating_sub(1)).unwrap_or(u32::MAX);
    let bound = FIRST_BACKOFF
        .saturating_mul(2_u32.saturating_pow(doublings))
        .min(LONGEST_BACKOFF);
    bound.mul_f64(fastrand::f64())
}

/// What was asked for and up to 5 % more, so that not all come back at once.
fn honoured(retry_after: Duration) -> Duration {
    let more = retry_after
        .min(LONGEST_BACKOFF)
        .mul_f64(fastrand::f64() * 0.05);
    retry_after.saturating_add(more)
}

fn later(at: Instant, by: Duration) -> Instant {
    // An instant past what the clock can say is as good as a year from now.
    const YEAR: Duration = Duration::from_hours(365 * 24);
    at.checked_add(by.min(YEAR)).unwrap_or(at)
}

fn signal<T>(attempt: &Attempt<T>) -> Signal {
    match &attempt.outcome {
        Ok(_) => Signal::Fine,
        Err(error) => match error.kind {
            ModelErrorKind::RateLimited => Signal::Limited(error.retry_after),
            ModelErrorKind::Server | ModelErrorKind::Timeout | ModelErrorKind::Connection => {
                Signal::Trouble
            }
            _ => Signal::Fine,
        },
    }
}

fn record<T>(attempt: &Attempt<T>, usage: Usage) -> AttemptRecord {
    let error = attempt.outcome.as_ref().err();
    AttemptRecord {
        status: attempt.status,
        kind: error.map_or("ok", |error| error.kind.as_str()),
        took_ms: millis(attempt.took),
        retry_after_ms: error.and_then(|error| error.retry_after).map(millis),
        request_id: attempt.request_id.clone(),
        usage,
    }
}

fn failure(name: &str, error: &AttemptError, made: usize, why: &str) -> ModelError {
    let mut message = if error.message.contains(name) {
        error.message.clone()
    } else {
        format!("{name}: {}", error.message)
    };
    if made > 1 {
        message += &format!(" (attempt {made})");
    }
    if !why.is_empty() {
        message += &format!("; {why}");
    }
    ModelError::new(error.kind, message)
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use super::*;
    use crate::layers::meter::Meter;
    use crate::sync::lock;

    const SECOND: Duration = Duration::from_secs(1);

    fn route(attempts: u32, deadline: u64) -> Route {
        Route {
            name: "openai/m".into(),
            limiter: Arc::new(Limiter::new(4)),
            pace: Arc::default(),
            refused: Arc::default(),
            policy: Policy {
                timeout: 2 * SECOND,
                deadline: Duration::from_secs(deadline),
                attempts,
            },
        }
    }

    fn error(kind: ModelErrorKind, retry: bool, retry_after: Option<u64>) -> AttemptError {
        AttemptError {
            kind,
            message: "it broke".to_owned(),
            retry,
            retry_after: retry_after.map(Duration::from_secs),
        }
    }

    /// Makes a call whose attempts meet `errors` one after the other, and then go well. Gives what came
    /// of it, and when each attempt began.
    async fn meet(route: &Route, errors: Vec<AttemptError>) -> (Called<()>, Vec<Duration>) {
        let errors = Mutex::new(VecDeque::from(errors));
        let meter = Meter::new(None);
        let model = meter.model("openai/m", None).unwrap();
        let mut ticket = meter.ticket(&model, 0, 0).await.unwrap();
        let from = Instant::now();
        let mut began = Vec::new();
        let errors = &errors;
        let called = call(route, &mut ticket, 0, |timeout| {
            began.push(from.elapsed());
            Box::pin(async move {
                let error = lock(errors).pop_front();
                if error
                    .as_ref()
                    .is_some_and(|e| e.kind == ModelErrorKind::Timeout)
                {
                    sleep(timeout).await;
                }
                Attempt {
                    status: Some(200),
                    took: Duration::ZERO,
                    usage: Usage {
                        input_tokens: 3,
                        ..Usage::default()
                    },
                    request_id: None,
                    outcome: error.map_or(Ok(()), Err),
                }
            })
        });
        let called = called.await;
        (called, began)
    }

    #[tokio::test(start_paused = true)]
    async fn a_retry_after_is_never_undercut() {
        for asked in [0, 1, 7, 30] {
            let limited = error(ModelErrorKind::RateLimited, true, Some(asked));
            let (called, began) = meet(&route(8, 600), vec![limited; 5]).await;
            assert!(called.outcome.is_ok());
            assert_eq!((called.usage.calls, called.usage.input_tokens), (6, 18));
            for (made, pair) in (1..).zip(began.windows(2)) {
                let waited = pair[1].as_secs_f64() - pair[0].as_secs_f64();
                let asked = asked as f64;
                // A provider that says "at once" again and again is not taken at its word.
                let own = FIRST_BACKOFF.as_secs_f64() * f64::from(1 << made);
                let most = if made < GENTLE {
                    asked * 1.05
                } else {
                    own.max(asked * 1.05)
                };
                assert!(
                    waited >= asked && waited <= most + 0.002,
                    "{asked}: {waited}"
                );
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn backoffs_stay_below_a_doubling_bound() {
        let (called, began) = meet(
            &route(8, 600),
            vec![error(ModelErrorKind::Server, true, None); 7],
        )
        .await;
        assert!(called.outcome.is_ok());
        for (pair, bound) in began.windows(2).zip([0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0]) {
            let waited = pair[1].as_secs_f64() - pair[0].as_secs_f64();
            assert!(waited <= bound + 0.002, "{waited} in place of {bound}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_ends_a_call() {
        use ModelErrorKind::{BadRequest, Protocol, RateLimited, Server, Timeout, Unauthorized};
        // The error of every attempt, attempts that are made, words of the message.
        let table = [
            (error(Unauthorized, true, None), 1, "openai/m: it broke"),
            (error(BadRequest, false, None), 1, "it broke"),
            (
                error(Protocol, true, None),
                4,
                "(attempt 4); no attempts are left",
            ),
            (error(Server, true, None), 4, "no attempts are left"),
            (error(RateLimited, true, Some(9)), 2, "deadline of 10 s"),
            (
                error(RateLimited, true, Some(u64::MAX)),
                1,
                "deadline of 10 s",
            ),
            (error(Timeout, true, Some(3)), 2, "deadline of 10 s"),
        ];
        for (error, made, words) in table {
            let kind = error.kind;
            let (called, began) = meet(&route(4, 10), vec![error; 9]).await;
            let failure = called.outcome.unwrap_err();
            assert_eq!((failure.kind, began.len()), (kind, made), "{failure}");
            assert!(failure.message.contains(words), "{failure}");
            assert_eq!(failure.usage.calls as usize, made);
            assert_eq!(called.attempts.len(), made);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_refused_key_no_call_is_sent() {
        let route = route(8, 600);
        let refused = error(ModelErrorKind::Unauthorized, false, None);
        let (first, _) = meet(&route, vec![refused]).await;
        let (second, began) = meet(&route, Vec::new()).await;
        assert!(began.is_empty() && second.attempts.is_empty());
        let message = |called: Called<()>| called.outcome.unwrap_err().message;
        assert_eq!(message(second), message(first));
    }

    #[tokio::test(start_paused = true)]
    async fn an_attempt_ends_at_the_deadline_at_the_latest() {
        let route = route(8, 3);
        let from = Instant::now();
        let (called, began) =
            meet(&route, vec![error(ModelErrorKind::Timeout, true, None); 9]).await;
        assert!(called.outcome.is_err() && began.len() == 2);
        assert!(from.elapsed() <= 3 * SECOND + Duration::from_millis(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_dead_provider_is_not_hammered() {
        let route = route(8, 600);
        let mut sent = 0;
        let mut words = String::new();
        for _ in 0..100 {
            let (called, began) =
                meet(&route, vec![error(ModelErrorKind::Server, true, None); 9]).await;
            sent += began.len();
            words = called.outcome.unwrap_err().message;
        }
        assert_eq!(sent, 100 + 60);
        assert!(
            words.contains("too many of its latest calls failed"),
            "{words}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_holds_no_slot() {
        let mut one = route(8, 600);
        one.limiter = Arc::new(Limiter::new(1));
        let from = Instant::now();
        let waits = async {
            meet(
                &one,
                vec![error(ModelErrorKind::RateLimited, true, Some(50))],
            )
            .await;
        };
        let passes = async {
            sleep(SECOND).await;
            meet(&one, Vec::new()).await;
            from.elapsed()
        };
        let ((), passed) = tokio::join!(waits, passes);
        assert!(passed < 2 * SECOND && from.elapsed() >= 50 * SECOND);
    }
}
