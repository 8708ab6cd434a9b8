//! The stage before the walk: selects the input's records, has them answered, writes the records that are judged.
//!
//! Selection comes before any call, so what is not judged costs nothing. Many calls are under way at once; lines
//! stand in the input's order, the trials of a case one after the other.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use bumpalo::Bump;
use futures_util::future::poll_fn;
use futures_util::stream::{FuturesOrdered, StreamExt};
use futures_util::task::AtomicWaker;

use super::answer::{self, Failure};
use super::line::{Line, Members, own_of};
use super::{Target, question};
use crate::decode::{Decoder, Mapping, TARGET_ERROR};
use crate::fold::BadRecord;
use crate::format::{Block, BlockReader};
use crate::job::JobError;
use crate::model::{CallIdentity, ChatReply, ChatRequest, ModelError, ModelSession};
use crate::record::Field;
use crate::runner::{self, CELLS_PER_CALL, Halt, Picked, Picker, Plan};

pub(crate) use super::line::Layout;
pub(crate) use records::Records;

mod records;

/// What the stage works by.
#[derive(Debug)]
pub(crate) struct Stage<'a> {
    /// Selects the records. Its mapping is the input's.
    pub(crate) plan: &'a Plan<'a>,
    pub(crate) target: &'a Target<'a>,
    pub(crate) layout: &'a Layout<'a>,
    /// How the walk reads the made records.
    pub(crate) made: &'a Mapping,
    pub(crate) session: &'a dyn ModelSession,
}

/// What the stage came to.
#[derive(Debug, Default)]
pub(crate) struct Made {
    /// Every selected record has its line.
    pub(crate) complete: bool,
    pub(crate) halted: Option<Halt>,
    /// The first bad record of a strict run.
    pub(crate) refused: Option<BadRecord>,
    pub(crate) bad: Vec<BadRecord>,
    /// Records that were not selected.
    pub(crate) passed_over: u64,
    pub(crate) other_shards: u64,
    pub(crate) repeated_ids: u64,
    pub(crate) unknown_keys: BTreeSet<String>,
}

/// Makes the records that `records` lacks.
pub(crate) fn make(
    stage: &Stage<'_>,
    reader: Box<dyn BlockReader>,
    records: &mut Records,
) -> Result<Made, JobError> {
    let mut source = Source::new(stage, reader);
    let mut end = Ok(None);
    runner::block_on(stage.session, stage.plan.stop, |waker| async {
        end = drive(stage, &mut source, records, waker).await;
    });
    let halted = end?;
    let whole = source.ended && halted.is_none();
    records.end(whole)?;
    let picker = source.picker;
    Ok(Made {
        complete: whole && source.refused.is_none(),
        halted,
        refused: source.refused,
        bad: source.bad,
        passed_over: picker.passed_over,
        other_shards: picker.other_shards,
        repeated_ids: picker.repeated_ids,
        unknown_keys: picker.unknown_keys().map(str::to_owned).collect(),
    })
}

/// Asks and writes until all is written, the run is stopped, or no later call can go well.
async fn drive(
    stage: &Stage<'_>,
    source: &mut Source<'_>,
    records: &mut Records,
    waker: Arc<AtomicWaker>,
) -> Result<Option<Halt>, JobError> {
    let mut decoder = Decoder::new(stage.made);
    let enough = stage
        .session
        .parallelism()
        .max(1)
        .saturating_mul(CELLS_PER_CALL);
    let mut under_way = FuturesOrdered::new();
    loop {
        while under_way.len() < enough {
            match source.next()? {
                Some(task) if records.has(&task)? => {}
                Some(task) => under_way.push_back(answered(stage.target, task)),
                None => break,
            }
        }
        let next = poll_fn(|cx| {
            waker.register(cx.waker());
            if stage.plan.stop.load(Ordering::Relaxed) {
                return Poll::Ready(None);
            }
            under_way.poll_next_unpin(cx)
        });
        let Some((task, reply)) = next.await else {
            // What is under way is given up where the run was stopped.
            source.ended &= under_way.is_empty() && source.tasks.is_empty();
            return Ok(None);
        };
        match line_of(stage, &mut decoder, task, reply) {
            Ok(line) => records.push(&line)?,
            Err(halt) => return Ok(Some(halt)),
        }
        stage.plan.progress.answers.fetch_add(1, Ordering::Relaxed);
    }
}

/// One record to be written.
#[derive(Debug)]
pub(super) struct Task {
    /// All that no answer changes; the whole record where it has its answer.
    head: Line,
    /// What the record has of the fields that an answer may give.
    own: Vec<(Field, String)>,
    ask: Ask,
}

#[derive(Debug)]
enum Ask {
    /// The record has its answer.
    Kept,
    /// Nothing can be asked.
    Failed(Failure),
    Call(Box<ChatRequest>),
}

async fn answered(
    target: &Target<'_>,
    task: Task,
) -> (Task, Option<Result<ChatReply, ModelError>>) {
    let reply = match &task.ask {
        Ask::Call(request) => Some(target.asked.chat(request).await),
        Ask::Kept | Ask::Failed(_) => None,
    };
    (task, reply)
}

/// The line of an answered record, or what ends the run.
fn line_of(
    stage: &Stage<'_>,
    decoder: &mut Decoder<'_>,
    task: Task,
    reply: Option<Result<ChatReply, ModelError>>,
) -> Result<String, Halt> {
    let answer = match (&task.ask, reply) {
        (Ask::Kept, _) => return Ok(task.head.end()),
        (Ask::Failed(failure), _) => Err(failure.clone()),
        (_, Some(Err(error))) if error.kind.ends_run() => {
            return Err(Halt {
                kind: error.kind,
                message: error.message,
            });
        }
        (_, Some(Err(error))) => Err(Failure {
            code: error.kind.as_str(),
            retryable: error.kind.retryable(),
            message: error.message,
        }),
        (_, Some(Ok(reply))) if stage.target.dry_run => Ok(answer::stand_in(&reply)),
        (_, Some(Ok(reply))) => {
            let maker = &stage.target.spec.maker;
            answer::read(maker, &reply, stage.layout.mapping, |key| {
                task.head.has(key)
            })
        }
        (Ask::Call(_), None) => Err(Failure {
            code: "model_local",
            message: "it was not asked".to_owned(),
            retryable: true,
        }),
    };
    let line = answer.and_then(|members| with_answer(&task, &members, decoder));
    Ok(line.unwrap_or_else(|failure| without_answer(&task, &failure)))
}

/// The record with its answer, if that can be read.
fn with_answer(
    task: &Task,
    members: &[(String, String)],
    decoder: &mut Decoder<'_>,
) -> Result<String, Failure> {
    let mut line = task.head.clone();
    for (key, value) in members {
        line.json(key, value);
    }
    let given = |field: Field| members.iter().any(|(key, _)| key == field.as_str());
    for (field, value) in task.own.iter().filter(|(field, _)| !given(*field)) {
        line.json(field.as_str(), value);
    }
    let line = line.end();
    match decoder.decode(&line, &Bump::new()) {
        Ok(_) => Ok(line),
        Err(error) => Err(Failure {
            code: "model_protocol",
            message: match &error.field {
                Some(field) => format!("its answer can't be read: `{field}`: {error}"),
                None => format!("its answer can't be read: {error}"),
            },
            retryable: false,
        }),
    }
}

fn without_answer(task: &Task, failure: &Failure) -> String {
    let mut line = task.head.clone();
    for (field, value) in &task.own {
        line.json(field.as_str(), value);
    }
    let mut error = Line::new();
    error.text("code", failure.code);
    error.text("message", &failure.message);
    if failure.retryable {
        error.json("retryable", "true");
    }
    line.json(TARGET_ERROR, &error.end());
    line.end()
}

/// The tasks of the input, in its order.
struct Source<'a> {
    stage: &'a Stage<'a>,
    reader: Box<dyn BlockReader>,
    picker: Picker<'a>,
    block: Block,
    arena: Bump,
    tasks: VecDeque<Task>,
    bad: Vec<BadRecord>,
    refused: Option<BadRecord>,
    /// The input's end was seen.
    ended: bool,
    /// Nothing more is read.
    closed: bool,
}

impl<'a> Source<'a> {
    fn new(stage: &'a Stage<'a>, reader: Box<dyn BlockReader>) -> Self {
        Self {
            stage,
            reader,
            picker: Picker::new(stage.plan),
            block: Block::new(),
            arena: Bump::new(),
            tasks: VecDeque::new(),
            bad: Vec::new(),
            refused: None,
            ended: false,
            closed: false,
        }
    }

    fn next(&mut self) -> Result<Option<Task>, JobError> {
        while self.tasks.is_empty() && !self.closed {
            self.read()?;
        }
        Ok(self.tasks.pop_front())
    }

    /// Takes the tasks of the next block.
    fn read(&mut self) -> Result<(), JobError> {
        let stopped = || self.stage.plan.stop.load(Ordering::Relaxed);
        if stopped() {
            self.closed = true;
            return Ok(());
        }
        let more = self.reader.next_block(&mut self.block)?;
        if stopped() {
            // Ctrl-C ends the writer of a pipe too: its end is not the data's.
            self.closed = true;
            return Ok(());
        }
        if !more {
            (self.ended, self.closed) = (true, true);
            return Ok(());
        }
        self.arena.reset();
        for picked in self.picker.pick(&self.block, &self.arena) {
            match picked {
                Ok(picked) => tasks_of(self.stage, &picked, &self.arena, &mut self.tasks),
                Err(bad) => {
                    if self.stage.plan.strict {
                        self.refused.get_or_insert_with(|| bad.clone());
                        self.closed = true;
                    }
                    self.bad.push(bad);
                }
            }
        }
        let position = self.block.end.bytes;
        self.stage
            .plan
            .progress
            .bytes
            .store(position, Ordering::Relaxed);
        Ok(())
    }
}

/// One task for a record that has its answer, else one a trial.
fn tasks_of(stage: &Stage<'_>, picked: &Picked<'_>, arena: &Bump, tasks: &mut VecDeque<Task>) {
    // The decoder has read it, so it is an object.
    let Some(members) = Members::of(picked.text) else {
        return;
    };
    let layout = stage.layout;
    if picked.slots.output.is_some() {
        tasks.push_back(Task {
            head: members.kept(picked, layout),
            own: Vec::new(),
            ask: Ask::Kept,
        });
        return;
    }
    let spec = stage.target.spec;
    for nth in 1..=spec.trials {
        let earlier = picked
            .head
            .trial
            .saturating_sub(1)
            .saturating_mul(spec.trials);
        let trial = earlier.saturating_add(nth);
        let messages = question::messages(&spec.maker, picked, &members, layout, trial, arena);
        tasks.push_back(Task {
            head: members.asked(picked, layout, trial, &spec.name),
            own: own_of(picked, layout),
            ask: match messages {
                Ok(messages) => Ask::Call(Box::new(ChatRequest {
                    messages,
                    identity: CallIdentity {
                        trial,
                        ..CallIdentity::default()
                    },
                    ..ChatRequest::default()
                })),
                Err(reason) => Ask::Failed(Failure {
                    code: reason.code,
                    message: reason.message,
                    retryable: false,
                }),
            },
        });
    }
}
