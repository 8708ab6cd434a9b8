//! A running program, and who waits for which of its lines.
//!
//! Threads of its own read and write, so that no runtime has to drive it.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use lydite::model::ModelErrorKind;
use serde::Deserialize;
use tokio::sync::oneshot;

use crate::AttemptError;
use crate::wires::secret::Redactor;

/// Bytes of the standard error that are kept.
const KEPT: usize = 2048;
/// The longest line that is read.
const LONGEST_LINE: u64 = 64 * 1024 * 1024;

/// Gives a call's line, or why there is none.
pub(crate) type Waiting = oneshot::Receiver<Result<String, AttemptError>>;

/// How a program's lines find their calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turns {
    /// Many calls at once; a line says by `id` whose it is.
    AtOnce,
    /// One call at a time; the next line is its own.
    OneByOne,
}

/// A program that was started. Dropping it kills it.
pub(crate) struct Process {
    child: Arc<Mutex<Child>>,
    lines: mpsc::Sender<Vec<u8>>,
    shared: Arc<Shared>,
    next_id: u64,
}

/// What the threads share.
struct Shared {
    program: String,
    turns: Turns,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: HashMap<u64, oneshot::Sender<Result<String, AttemptError>>>,
    /// The end of the standard error.
    said: VecDeque<u8>,
    said_all: bool,
    /// Why nothing more will be answered.
    over: Option<AttemptError>,
}

#[derive(Deserialize)]
struct WithId {
    id: u64,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process")
            .field("program", &self.shared.program)
            .finish_non_exhaustive()
    }
}

impl Process {
    /// Starts a program with its arguments, without a shell.
    pub(crate) fn start(command: &[String], turns: Turns) -> Result<Self, AttemptError> {
        let (program, arguments) = command.split_first().ok_or_else(|| local("no program"))?;
        let failed = |error| local(&format!("{program} can't be started: {error}"));
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(local(&format!("{program} has no standard streams")));
        };
        let shared = Arc::new(Shared {
            program: program.clone(),
            turns,
            state: Mutex::default(),
        });
        let child = Arc::new(Mutex::new(child));
        let (lines, to_write) = mpsc::channel();
        let (of_errors, of_lines) = (Arc::clone(&shared), Arc::clone(&shared));
        let of_child = Arc::clone(&child);
        thread::spawn(move || write(stdin, &to_write));
        thread::spawn(move || of_errors.keep(stderr));
        thread::spawn(move || of_lines.read(stdout, &of_child));
        Ok(Self {
            child,
            lines,
            shared,
            next_id: 1,
        })
    }

    /// Sends the line that `line` makes of the call's id.
    pub(crate) fn ask(
        &mut self,
        line: impl FnOnce(u64) -> Result<Vec<u8>, AttemptError>,
    ) -> Result<Waiting, AttemptError> {
        let id = self.next_id;
        self.next_id += 1;
        let line = line(id)?;
        let (sender, waiting) = oneshot::channel();
        {
            let mut state = self.shared.state();
            if let Some(over) = &state.over {
                return Err(over.clone());
            }
            // Calls that nobody waits for any more (time-outs) are forgotten.
            state.waiting.retain(|_, sender| !sender.is_closed());
            state.waiting.insert(id, sender);
        }
        // Where the writer is gone the program is, and the reader says so to all who wait.
        let _ = self.lines.send(line);
        Ok(waiting)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = lock(&self.child);
        // It may have ended by itself.
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Gives each line to who waits for it, until the program ends or writes something else.
    fn read(&self, stdout: ChildStdout, child: &Mutex<Child>) {
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        loop {
            line.clear();
            match (&mut stdout).take(LONGEST_LINE).read_line(&mut line) {
                Ok(0) | Err(_) => return self.end(&self.why(child)),
                Ok(_) if line.trim().is_empty() => {}
                Ok(_) => {
                    if !self.deliver(&line) {
                        let start = Redactor::default().clean(&line);
                        return self.end(&AttemptError::lasting(
                            ModelErrorKind::Protocol,
                            format!(
                                "{} wrote a line {}: `{start}`; logs belong on its standard error",
                                self.program,
                                match self.turns {
                                    Turns::AtOnce => "that is no JSON object with the call's `id`",
                                    Turns::OneByOne => "that no call had asked for",
                                }
                            ),
                        ));
                    }
                }
            }
        }
    }

    fn deliver(&self, line: &str) -> bool {
        let id = match self.turns {
            Turns::AtOnce => serde_json::from_str(line).ok().map(|WithId { id }| id),
            Turns::OneByOne => self.state().waiting.keys().next().copied(),
        };
        let Some(id) = id else { return false };
        if let Some(sender) = self.state().waiting.remove(&id) {
            // Nobody may wait any more.
            let _ = sender.send(Ok(line.to_owned()));
        }
        true
    }

    /// Why the program's lines have ended.
    fn why(&self, child: &Mutex<Child>) -> AttemptError {
        // Its end and the last of its standard error may come a little after the end of its lines.
        let mut status = None;
        for _ in 0..50 {
            status = lock(child).try_wait().ok().flatten();
            if status.is_some() && self.state().said_all {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let ended = match status {
            Some(status) => format!("ended ({status})"),
            None => "closed its standard output".to_owned(),
        };
        let said: Vec<u8> = self.state().said.iter().copied().collect();
        let said = match Redactor::default().clean_bytes(last_part(&said)) {
            said if said.is_empty() => "it wrote nothing on its standard error".to_owned(),
            said => format!("the last it wrote on its standard error: {said}"),
        };
        local(&format!("{} {ended}; {said}", self.program))
    }

    fn end(&self, why: &AttemptError) {
        let mut state = self.state();
        state.over = Some(why.clone());
        for (_, sender) in state.waiting.drain() {
            let _ = sender.send(Err(why.clone()));
        }
    }

    fn keep(&self, mut stderr: ChildStderr) {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stderr.read(&mut buffer) {
            let mut state = self.state();
            state.said.extend(buffer.get(..count).unwrap_or_default());
            let surplus = state.said.len().saturating_sub(KEPT);
            state.said.drain(..surplus);
        }
        self.state().said_all = true;
    }
}

fn write(mut stdin: ChildStdin, lines: &mpsc::Receiver<Vec<u8>>) {
    for line in lines {
        if stdin.write_all(&line).and_then(|()| stdin.flush()).is_err() {
            return;
        }
    }
}

/// As much of the end as an error quotes.
fn last_part(said: &[u8]) -> &[u8] {
    let start = said.len().saturating_sub(290);
    said.get(start..).unwrap_or(said)
}

fn local(message: &str) -> AttemptError {
    AttemptError::lasting(ModelErrorKind::Local, message)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
