//! Equal calls under way are made once: the first makes it, the others wait for what comes of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::OnceCell;

use crate::layers::key::Key;
use crate::sync::lock;

/// Calls under way by their keys.
///
/// What comes of a call, an error too, goes to all that wait for it. Where the first is dropped before
/// its end, one of the others makes the call. Nothing is remembered of calls that have ended.
#[derive(Debug)]
pub(crate) struct Flights<T> {
    under_way: Mutex<HashMap<Key, Arc<OnceCell<T>>>>,
}

impl<T: Clone> Flights<T> {
    /// What comes of `work`, or of equal work under way; and whether it was this one that was done.
    pub(crate) async fn run<F: Future<Output = T>>(
        &self,
        key: Key,
        work: impl FnOnce() -> F,
    ) -> (T, bool) {
        let seat = self.seat(key);
        let mut led = false;
        let outcome = seat.cell.get_or_init(|| {
            led = true;
            work()
        });
        let outcome = outcome.await.clone();
        drop(seat);
        (outcome, led)
    }

    fn seat(&self, key: Key) -> Seat<'_, T> {
        let cell = Arc::clone(lock(&self.under_way).entry(key).or_default());
        Seat {
            flights: self,
            key,
            cell,
        }
    }
}

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self {
            under_way: Mutex::default(),
        }
    }
}

/// A caller's part in a call. The last one, and the first after its end, takes the call off the list.
struct Seat<'a, T> {
    flights: &'a Flights<T>,
    key: Key,
    cell: Arc<OnceCell<T>>,
}

impl<T> Drop for Seat<'_, T> {
    fn drop(&mut self) {
        let mut under_way = lock(&self.flights.under_way);
        let Some(listed) = under_way.get(&self.key) else {
            return;
        };
        // Seats are taken under the same lock: two owners are the list and this seat.
        let alone = Arc::strong_count(&self.cell) <= 2;
        if Arc::ptr_eq(listed, &self.cell) && (self.cell.initialized() || alone) {
            under_way.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use futures_util::future::join_all;
    use tokio::time::sleep;

    use super::*;

    const KEY: Key = [7; 32];

    #[tokio::test(start_paused = true)]
    async fn a_thousand_equal_calls_are_made_once() {
        let flights = Flights::default();
        let made = AtomicU32::new(0);
        let call = || async {
            sleep(Duration::from_secs(1)).await;
            Err::<(), u32>(made.fetch_add(1, Ordering::SeqCst))
        };
        let all = join_all((0..1000).map(|_| flights.run(KEY, call))).await;
        assert_eq!(made.load(Ordering::SeqCst), 1);
        assert!(all.iter().all(|(outcome, _)| *outcome == Err(0)));
        assert_eq!(all.iter().filter(|(_, led)| *led).count(), 1);
        assert!(lock(&flights.under_way).is_empty());
        assert_eq!(flights.run(KEY, call).await, (Err(1), true));
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiter_takes_over_from_a_dropped_leader() {
        let flights = Arc::new(Flights::default());
        let run = |name: &'static str| {
            let flights = Arc::clone(&flights);
            tokio::spawn(async move {
                let work = || async move {
                    sleep(Duration::from_secs(1)).await;
                    name
                };
                flights.run(KEY, work).await
            })
        };
        let leader = run("leader");
        sleep(Duration::from_millis(10)).await;
        let (one, two) = (run("one"), run("two"));
        sleep(Duration::from_millis(10)).await;
        leader.abort();
        assert_eq!(one.await.unwrap(), ("one", true));
        assert_eq!(two.await.unwrap(), ("one", false));
        assert!(lock(&flights.under_way).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_all_leave_is_forgotten() {
        let flights = Flights::<()>::default();
        let forever = || std::future::pending();
        let waits = join_all((0..3).map(|_| flights.run(KEY, forever)));
        let left = tokio::time::timeout(Duration::from_secs(1), waits).await;
        assert!(left.is_err() && lock(&flights.under_way).is_empty());
    }

    #[test]
    fn threads_share_a_call() {
        let flights = Flights::default();
        let made = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_time()
                        .build()
                        .unwrap();
                    runtime.block_on(flights.run(KEY, || async {
                        sleep(Duration::from_millis(300)).await;
                        made.fetch_add(1, Ordering::SeqCst)
                    }))
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }
}
