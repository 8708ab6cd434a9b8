//! What is printed: data on stdout; errors, notes and progress on stderr.

use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};
use lydite::runner::Progress;

const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// Prints to stdout.
macro_rules! out {
    ($($arg:tt)*) => { $crate::terminal::write_out(format_args!($($arg)*)) };
}

/// Prints a line to stdout.
macro_rules! outln {
    ($($arg:tt)*) => { $crate::terminal::write_out(format_args!("{}\n", format_args!($($arg)*))) };
}

pub(crate) use {out, outln};

/// Where the reader at the other end has gone (`| head`), there is nothing left to do.
pub(crate) fn write_out(text: std::fmt::Arguments<'_>) {
    let mut stdout = std::io::stdout().lock();
    if let Err(failure) = stdout.write_fmt(text).and_then(|()| stdout.flush()) {
        if failure.kind() != std::io::ErrorKind::BrokenPipe {
            error(&format!("can't write to stdout: {failure}"));
        }
        std::process::exit(if failure.kind() == std::io::ErrorKind::BrokenPipe {
            0
        } else {
            2
        });
    }
}

pub(crate) fn error(message: &str) {
    let mut err = anstream::stderr().lock();
    // Nobody is left to tell where stderr is closed.
    let _ = writeln!(err, "{RED}error{RED:#}: {message}");
}

pub(crate) fn note(message: &str) {
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{YELLOW}note{YELLOW:#}: {message}");
}

pub(crate) fn say(message: &str) {
    let mut err = anstream::stderr().lock();
    let _ = writeln!(err, "{message}");
}

/// Whether stdout takes colours: a terminal, without `NO_COLOR`.
pub(crate) fn stdout_color() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Tells how far a run has come, on stderr: a bar with rate, time left and errors on a terminal, else a
/// line now and then.
pub(crate) struct Follower {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Follower {
    /// Follows `progress` until it is dropped. `bytes` is the length of the input, where it is known.
    pub(crate) fn start(progress: &Arc<Progress>, bytes: Option<u64>) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let (progress, stop) = (Arc::clone(progress), Arc::clone(&done));
        let thread = std::thread::spawn(move || {
            if std::io::stderr().is_terminal() {
                draw(&progress, bytes, &stop);
            } else {
                tell(&progress, &stop);
            }
        });
        Self {
            done,
            thread: Some(thread),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A bar that could not be drawn is no reason to fail a run.
            let _ = thread.join();
        }
    }
}

/// Waits, but not beyond the end of the run; false once that is there.
fn wait(time: Duration, done: &AtomicBool) -> bool {
    let end = Instant::now() + time;
    while !done.load(Ordering::Relaxed) {
        match end.checked_duration_since(Instant::now()) {
            Some(left) if !left.is_zero() => std::thread::park_timeout(left),
            _ => return true,
        }
    }
    false
}

fn draw(progress: &Progress, bytes: Option<u64>, done: &AtomicBool) {
    const TICK: Duration = Duration::from_millis(100);
    // A run that is over at once shows no bar.
    if !wait(TICK, done) {
        return;
    }
    let template = match bytes {
        Some(_) => "{bar:30} {percent}% · {msg} · {eta} left",
        None => "{spinner} {msg} · {elapsed}",
    };
    let bar = bytes.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    while wait(TICK, done) {
        bar.set_position(progress.bytes.load(Ordering::Relaxed));
        bar.set_message(so_far(progress, bar.elapsed()));
    }
    bar.finish_and_clear();
}

fn tell(progress: &Progress, done: &AtomicBool) {
    const TICK: Duration = Duration::from_secs(10);
    let start = Instant::now();
    while wait(TICK, done) {
        say(&so_far(progress, start.elapsed()));
    }
}

fn so_far(progress: &Progress, elapsed: Duration) -> String {
    let records = progress.records.load(Ordering::Relaxed);
    let errors = progress.errors.load(Ordering::Relaxed);
    let rate = records as f64 / elapsed.as_secs_f64().max(0.001);
    format!("{records} records, {rate:.0}/s, {errors} errors")
}
