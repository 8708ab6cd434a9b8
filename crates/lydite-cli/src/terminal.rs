//! What is printed: data on stdout; errors, notes and progress on stderr.

use std::io::{IsTerminal, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

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

/// A bar with rate, time left and errors while a run goes on, on a terminal only.
pub(crate) struct Bar {
    done: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    /// Follows `progress` until it is dropped. `bytes` is the length of the input, where it is known.
    pub(crate) fn follow(progress: &Arc<Progress>, bytes: Option<u64>) -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let done = Arc::new(AtomicBool::new(false));
        let (progress, stop) = (Arc::clone(progress), Arc::clone(&done));
        let thread = std::thread::spawn(move || draw(&progress, bytes, &stop));
        Some(Self {
            done,
            thread: Some(thread),
        })
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.done.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A bar that could not be drawn is no reason to fail a run.
            let _ = thread.join();
        }
    }
}

fn draw(progress: &Progress, bytes: Option<u64>, done: &AtomicBool) {
    const TICK: Duration = Duration::from_millis(100);
    let template = match bytes {
        Some(_) => "{bar:30} {percent}% · {msg} · {eta} left",
        None => "{spinner} {msg} · {elapsed}",
    };
    let bar = bytes.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    // A run that is over at once shows no bar.
    std::thread::sleep(TICK);
    while !done.load(Ordering::Relaxed) {
        let records = progress.records.load(Ordering::Relaxed);
        let errors = progress.errors.load(Ordering::Relaxed);
        let rate = records as f64 / bar.elapsed().as_secs_f64().max(0.001);
        bar.set_position(progress.bytes.load(Ordering::Relaxed));
        bar.set_message(format!("{records} records, {rate:.0}/s, {errors} errors"));
        std::thread::sleep(TICK);
    }
    bar.finish_and_clear();
}
