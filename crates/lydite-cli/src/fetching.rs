//! Tells of models that are fetched, on stderr: one line that says what, how large and from where, and a bar on a
//! terminal, else a line now and then.

use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use lydite_models::local::supply::{Fetch, Progress};

use crate::terminal;

/// Between two lines where there is no terminal.
const PAUSE: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(100);

/// The fetch under way.
#[derive(Debug, Default)]
pub(crate) struct Fetching(Mutex<Option<Shown>>);

#[derive(Debug)]
enum Shown {
    Bar(ProgressBar),
    Lines { bytes: u64, said: Instant },
}

impl Fetching {
    fn shown(&self) -> MutexGuard<'_, Option<Shown>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Fetching {
    fn started(&self, fetch: &Fetch<'_>) {
        terminal::say(&format!(
            "fetching {} ({}, {}) from {}, to be kept in {}",
            fetch.model,
            megabytes(fetch.bytes),
            fetch.licence,
            fetch.from,
            fetch.to.display()
        ));
        *self.shown() = Some(if std::io::stderr().is_terminal() {
            Shown::Bar(bar(fetch))
        } else {
            Shown::Lines {
                bytes: fetch.bytes,
                said: Instant::now(),
            }
        });
    }

    fn advanced(&self, bytes: u64) {
        match &mut *self.shown() {
            Some(Shown::Bar(bar)) => bar.set_position(bytes),
            Some(Shown::Lines { bytes: all, said }) if said.elapsed() > PAUSE => {
                terminal::say(&format!("{} of {}", megabytes(bytes), megabytes(*all)));
                *said = Instant::now();
            }
            _ => {}
        }
    }

    fn finished(&self) {
        if let Some(Shown::Bar(bar)) = self.shown().take() {
            bar.finish_and_clear();
        }
    }
}

/// With a decimal below 10 MB.
pub(crate) fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    let decimals = usize::from(megabytes < 10.0);
    format!("{megabytes:.decimals$} MB")
}

fn bar(fetch: &Fetch<'_>) -> ProgressBar {
    let (bar, template) = if fetch.counted {
        (
            ProgressBar::new(fetch.bytes),
            "{bar:30} {percent}% · {decimal_bytes} · {decimal_bytes_per_sec} · {eta} left",
        )
    } else {
        (ProgressBar::new_spinner(), "{spinner} {elapsed}")
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(TICK);
    bar
}

#[cfg(test)]
mod tests {
    use super::megabytes;

    #[test]
    fn sizes() {
        for (bytes, expected) in [(0, "0.0 MB"), (1_250_000, "1.2 MB"), (91_335_235, "91 MB")] {
            assert_eq!(megabytes(bytes), expected);
        }
    }
}
