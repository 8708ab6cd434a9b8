//! Work shared out to threads that live as long as the call.

use std::sync::Mutex;
use std::thread;

/// `f(state, item)` of each item, in the items' order. Each thread makes its own state once.
///
/// Items are taken up in order, so the longest work should stand first. A panic of `f` is passed on.
pub(super) fn map<I: Send, S, T: Send>(
    threads: usize,
    items: Vec<I>,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, I) -> T + Sync,
) -> Vec<T> {
    let threads = threads.min(items.len());
    if threads <= 1 {
        let mut state = state();
        return items.into_iter().map(|item| f(&mut state, item)).collect();
    }
    let queue = Mutex::new(items.into_iter().enumerate());
    let work = || {
        let mut state = state();
        let mut done = Vec::new();
        while let Some((index, item)) = take(&queue) {
            done.push((index, f(&mut state, item)));
        }
        done
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<I>(queue: &Mutex<impl Iterator<Item = I>>) -> Option<I> {
    queue.lock().ok()?.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_items() {
        for threads in [0, 1, 2, 7, 200] {
            let doubled = map(
                threads,
                (0..100).collect(),
                || 0,
                |seen: &mut usize, item: usize| {
                    *seen += 1;
                    (item * 2, *seen)
                },
            );
            let items: Vec<usize> = doubled.iter().map(|(item, _)| *item).collect();
            assert_eq!(
                items,
                (0..200).step_by(2).collect::<Vec<_>>(),
                "{threads} threads"
            );
            assert!(doubled.iter().all(|(_, seen)| (1..=100).contains(seen)));
        }
    }

    #[test]
    #[should_panic(expected = "item 3")]
    fn a_panic_is_passed_on() {
        map(
            2,
            (0..5).collect(),
            || (),
            |(), item: usize| assert_ne!(item, 3, "item 3"),
        );
    }
}
