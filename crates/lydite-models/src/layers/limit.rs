//! How many attempts a provider gets at once, and how many a minute.
//!
//! Concurrency follows additive increase, multiplicative decrease (Chiu and Jain, 1989). A window is
//! as many attempts as may be under way at once, 16 at the least; where more than half of it met
//! trouble, the limit is halved; where no more than a quarter did, it grows by a sixteenth, one at the
//! least: refusals come fast, so each slot too many costs many requests. Single 429s are no sign of a limit: a call that met one waits by itself,
//! without a slot.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep_until};

use crate::sync::lock;

/// Attempts under way at once where nothing else is asked for.
pub(crate) const CONCURRENCY: usize = 16;

/// The shortest window that a limit is changed by.
const WINDOW: usize = 16;

/// No provider is left alone for longer than this on account of a burst of 429s.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Retries that stand open to a provider at first, and how many each further call opens, up to a limit.
const FIRST_RETRIES: f64 = 10.0;
const RETRIES_A_CALL: f64 = 0.5;
const MOST_RETRIES: f64 = 256.0;

/// How an attempt ended, as far as limits care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signal {
    Fine,
    /// 429, with what `Retry-After` said.
    Limited(Option<Duration>),
    /// 5xx, a time-out, no connection.
    Trouble,
}

/// The slots of one provider at one address, first come first served.
#[derive(Debug)]
pub(crate) struct Limiter {
    slots: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What was asked for: the limit grows no further.
    asked: usize,
    limit: usize,
    /// Slots that are given up as soon as they come back.
    debt: usize,
    /// Raised whenever the limit shrinks: what began before then says nothing of the new limit.
    epoch: u64,
    window: Window,
    paused_until: Option<Instant>,
    open_retries: f64,
}

/// What the attempts since the limit was last weighed have met.
#[derive(Debug, Default)]
struct Window {
    ended: usize,
    limited: usize,
    trouble: usize,
    retry_after: Duration,
}

impl Limiter {
    pub(crate) fn new(asked: usize) -> Self {
        let asked = asked.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            slots: Semaphore::new(asked),
            state: Mutex::new(State {
                asked,
                limit: asked,
                debt: 0,
                epoch: 0,
                window: Window::default(),
                paused_until: None,
                open_retries: FIRST_RETRIES,
            }),
        }
    }

    /// Lets so many attempts be under way, where another model of the provider asked for fewer.
    pub(crate) fn raise(&self, asked: usize) {
        let mut state = lock(&self.state);
        let more = asked
            .min(Semaphore::MAX_PERMITS)
            .saturating_sub(state.asked);
        state.asked += more;
        self.grow(&mut state, more);
    }

    pub(crate) fn asked(&self) -> usize {
        lock(&self.state).asked
    }

    /// Waits for a slot, and for the end of a pause.
    pub(crate) async fn slot(&self) -> Slot<'_> {
        // The semaphore is never closed; without a permit the slot would still work.
        let permit = self.slots.acquire().await.ok();
        let mut slot = Slot {
            limiter: self,
            permit,
            epoch: 0,
        };
        loop {
            let paused_until = {
                let state = lock(&self.state);
                slot.epoch = state.epoch;
                state.paused_until.filter(|until| *until > Instant::now())
            };
            match paused_until {
                Some(until) => sleep_until(until).await,
                None => return slot,
            }
        }
    }

    /// Counts a call, which opens some retries.
    pub(crate) fn count_call(&self) {
        let mut state = lock(&self.state);
        state.open_retries = (state.open_retries + RETRIES_A_CALL).min(MOST_RETRIES);
    }

    /// Whether one more retry is in proportion to the calls made. Keeps a dead provider from being
    /// sent every call many times.
    pub(crate) fn take_retry(&self) -> bool {
        let mut state = lock(&self.state);
        let open = state.open_retries >= 1.0;
        if open {
            state.open_retries -= 1.0;
        }
        open
    }

    fn report(&self, signal: Signal, epoch: u64) {
        let mut state = lock(&self.state);
        if epoch != state.epoch {
            return;
        }
        state.window.count(signal);
        let Window { ended, .. } = state.window;
        if ended < state.limit.max(WINDOW) {
            return;
        }
        let window = std::mem::take(&mut state.window);
        let bad = window.limited + window.trouble;
        if bad * 2 > window.ended {
            self.shrink(&mut state, &window);
        } else if bad * 4 <= window.ended {
            let step = (state.limit / 16).max(1);
            self.grow(&mut state, step);
        }
    }

    fn shrink(&self, state: &mut State, window: &Window) {
        let limit = (state.limit / 2).max(1);
        let fewer = state.limit - limit;
        state.debt += fewer - self.slots.forget_permits(fewer);
        state.limit = limit;
        state.epoch += 1;
        if window.limited * 2 > window.ended {
            let pause = window.retry_after.min(LONGEST_PAUSE);
            state.paused_until = Instant::now().checked_add(pause);
        }
    }

    fn grow(&self, state: &mut State, step: usize) {
        let more = step.min(state.asked - state.limit);
        let repaid = more.min(state.debt);
        state.debt -= repaid;
        state.limit += more;
        self.slots.add_permits(more - repaid);
    }
}

impl Window {
    fn count(&mut self, signal: Signal) {
        self.ended += 1;
        match signal {
            Signal::Fine => {}
            Signal::Trouble => self.trouble += 1,
            Signal::Limited(retry_after) => {
                self.limited += 1;
                self.retry_after = self.retry_after.max(retry_after.unwrap_or_default());
            }
        }
    }
}

/// The right to one attempt; given back when dropped.
#[derive(Debug)]
pub(crate) struct Slot<'a> {
    limiter: &'a Limiter,
    permit: Option<SemaphorePermit<'a>>,
    epoch: u64,
}

impl Slot<'_> {
    /// Gives the slot back and says how the attempt ended.
    pub(crate) fn end(self, signal: Signal) {
        self.limiter.report(signal, self.epoch);
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.limiter.state);
        if state.debt > 0
            && let Some(permit) = self.permit.take()
        {
            state.debt -= 1;
            permit.forget();
        }
    }
}

/// Requests and tokens a minute of one model.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
}

impl Pace {
    /// Rates above 0, a minute.
    pub(crate) fn new(requests: Option<f64>, tokens: Option<f64>) -> Self {
        Self {
            requests: requests.map(Bucket::new),
            tokens: tokens.map(Bucket::new),
        }
    }

    /// Whether requests need an estimate of their tokens.
    pub(crate) fn counts_tokens(&self) -> bool {
        self.tokens.is_some()
    }

    /// Waits until a request of so many tokens may go out.
    pub(crate) async fn wait(&self, tokens: u64) {
        let requests = self.requests.as_ref().map(|bucket| bucket.take(1.0));
        let tokens = self
            .tokens
            .as_ref()
            .map(|bucket| bucket.take(tokens as f64));
        if let Some(at) = requests.max(tokens) {
            sleep_until(at).await;
        }
    }

    /// Puts right what [`Pace::wait`] took for a request that used `used` tokens.
    pub(crate) fn settle(&self, tokens: u64, used: u64) {
        if let Some(bucket) = &self.tokens {
            bucket.correct(used as f64 - tokens as f64);
        }
    }
}

/// A token bucket that holds one second's worth, one unit at the least; kept as the moment at which
/// all that was taken will have flowed in (the generic cell rate algorithm, ITU-T I.371).
#[derive(Debug)]
struct Bucket {
    a_second: f64,
    burst: Duration,
    level: Mutex<Option<Instant>>,
}

impl Bucket {
    fn new(a_minute: f64) -> Self {
        let a_second = a_minute / 60.0;
        Self {
            a_second,
            burst: Duration::from_secs(1).saturating_sub(seconds(1.0 / a_second)),
            level: Mutex::default(),
        }
    }

    /// Takes `amount`, and says when it will have been there.
    fn take(&self, amount: f64) -> Instant {
        let now = Instant::now();
        let mut level = lock(&self.level);
        let from = level.unwrap_or(now).max(now);
        *level = from.checked_add(seconds(amount / self.a_second));
        from.checked_sub(self.burst).unwrap_or(now).max(now)
    }

    fn correct(&self, amount: f64) {
        let by = seconds(amount.abs() / self.a_second);
        let mut level = lock(&self.level);
        *level = level.and_then(|level| {
            if amount > 0.0 {
                level.checked_add(by)
            } else {
                level.checked_sub(by)
            }
        });
    }
}

/// A number of seconds as a duration: 0 for what is below or no number, a year at the most.
pub(crate) fn seconds(seconds: f64) -> Duration {
    const YEAR: f64 = 365.0 * 86400.0;
    Duration::try_from_secs_f64(seconds.clamp(0.0, YEAR)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::time::sleep;

    use super::*;

    const LIMITED: Signal = Signal::Limited(Some(Duration::from_secs(3)));

    fn limit(limiter: &Limiter) -> usize {
        lock(&limiter.state).limit
    }

    async fn run(limiter: &Limiter, signals: impl IntoIterator<Item = Signal>) {
        for signal in signals {
            limiter.slot().await.end(signal);
        }
    }

    fn some(count: usize, signal: Signal) -> impl Iterator<Item = Signal> {
        std::iter::repeat_n(signal, count)
    }

    #[tokio::test(start_paused = true)]
    async fn bursts_halve_the_limit_and_good_windows_raise_it_again() {
        let limiter = Limiter::new(64);
        run(&limiter, some(63, Signal::Trouble)).await;
        assert_eq!(limit(&limiter), 64, "the window has not ended");
        run(&limiter, [Signal::Trouble]).await;
        assert_eq!(
            (limit(&limiter), limiter.slots.available_permits()),
            (32, 32)
        );
        for expected in [16, 8, 4, 2, 1, 1] {
            run(&limiter, some(limit(&limiter).max(WINDOW), Signal::Trouble)).await;
            assert_eq!(limit(&limiter), expected);
        }
        for expected in 2..=32 {
            run(&limiter, some(limit(&limiter).max(WINDOW), Signal::Fine)).await;
            assert_eq!(limit(&limiter), expected);
        }
        run(&limiter, some(32, Signal::Fine)).await;
        assert_eq!(limit(&limiter), 34);
        run(&limiter, some(1000, Signal::Fine)).await;
        assert_eq!(
            (limit(&limiter), limiter.slots.available_permits()),
            (64, 64)
        );
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_no_burst_changes_nothing() {
        let limiter = Limiter::new(16);
        let from = Instant::now();
        for _ in 0..50 {
            run(&limiter, some(8, LIMITED).chain(some(8, Signal::Fine))).await;
        }
        assert_eq!((limit(&limiter), from.elapsed()), (16, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_burst_of_429_pauses_the_provider() {
        let limiter = Limiter::new(16);
        run(&limiter, some(16, LIMITED)).await;
        let from = Instant::now();
        run(&limiter, [Signal::Fine]).await;
        assert_eq!(from.elapsed(), Duration::from_secs(3));
    }

    #[tokio::test(start_paused = true)]
    async fn one_cohort_halves_the_limit_once() {
        let limiter = Limiter::new(256);
        let slots = join_all((0..256).map(|_| limiter.slot())).await;
        // 256 came before the limit shrank, and end after.
        run_down(&limiter, slots);
        assert_eq!(limit(&limiter), 128);
        assert_eq!(limiter.slots.available_permits(), 128);
        assert_eq!(lock(&limiter.state).debt, 0);
    }

    fn run_down(limiter: &Limiter, slots: Vec<Slot<'_>>) {
        lock(&limiter.state).window = Window {
            ended: 255,
            trouble: 255,
            ..Window::default()
        };
        for slot in slots {
            slot.end(Signal::Trouble);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slots_are_never_more_than_the_limit_and_a_dropped_waiter_loses_none() {
        let limiter = Limiter::new(2);
        let (_one, two) = (limiter.slot().await, limiter.slot().await);
        let third = tokio::time::timeout(Duration::from_secs(1), limiter.slot()).await;
        assert!(third.is_err());
        drop(two);
        assert_eq!(limiter.slots.available_permits(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn paces_hold() {
        // Requests a minute, tokens a minute, tokens a request, requests, seconds until the last goes.
        let table = [
            (Some(60.0), None, 0, 5, 4.0),
            (Some(600.0), None, 0, 10, 0.0),
            (Some(600.0), None, 0, 30, 2.0),
            (None, Some(6000.0), 100, 4, 2.0),
            (None, Some(60.0), 600, 2, 600.0),
            (Some(60.0), Some(60.0), 2, 3, 4.0),
            (None, None, 5, 100, 0.0),
        ];
        for (requests, tokens, each, count, expected) in table {
            let pace = Pace::new(requests, tokens);
            let from = Instant::now();
            for _ in 0..count {
                pace.wait(each).await;
            }
            let took = from.elapsed().as_secs_f64();
            assert!(
                (took - expected).abs() < 0.02,
                "{requests:?} {tokens:?} {each}: {took} in place of {expected}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_not_used_are_given_back() {
        let pace = Pace::new(None, Some(6000.0));
        pace.wait(1000).await;
        pace.settle(1000, 100);
        let from = Instant::now();
        pace.wait(100).await;
        assert!(from.elapsed() < Duration::from_millis(20));
        sleep(Duration::from_secs(1)).await;
    }

    #[test]
    fn retries_stay_in_proportion() {
        let limiter = Limiter::new(1);
        let mut retries = 0;
        for _ in 0..1000 {
            limiter.count_call();
            while limiter.take_retry() {
                retries += 1;
            }
        }
        assert_eq!(retries, 510);
    }

    #[test]
    fn seconds_take_any_number() {
        for (from, to) in [(1.5, 1.5), (-1.0, 0.0), (f64::NAN, 0.0)] {
            assert_eq!(seconds(from).as_secs_f64(), to, "{from}");
        }
        assert!(seconds(f64::INFINITY) > Duration::from_hours(24 * 300));
    }
}
