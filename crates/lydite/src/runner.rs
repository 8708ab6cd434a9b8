//! The walk of a run: blocks of records → rows → ids, selection → cells → rendered lines and a fold.
//!
//! Threads share one reader. Each takes a block and parses it; then the blocks pass a turnstile in
//! their order, where ids, trials, samples, limits and shards are settled by what came before;
//! then they are judged and rendered side by side; and they leave in order again, so that lines
//! stand in the records' order whatever the number of threads. A window bounds how far blocks run
//! ahead. With one thread nothing waits.

mod asking;
mod batch;
mod picking;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use bumpalo::Bump;

use crate::check::{Begun, Bench, Check, Condition, Judged};
use crate::decode::{Decoder, Mapping, RecordError};
use crate::evaluator::Registry;
use crate::fold::{BadRecord, Fold};
use crate::format::{Block, BlockReader, InputError, Position, RawRecord, Renderer};
use crate::identity;
use crate::model::ModelSession;
use crate::outcome::Verdict;
use crate::record::{Field, Slots};
use crate::results::{CellView, RecordHead};
use crate::stats::ids::IdTable;
use crate::suite::Definitions;
use crate::suite::own::OwnChecks;

pub use asking::Halt;
pub(crate) use asking::{CELLS_PER_CALL, block_on};
pub(crate) use batch::judge_one;
pub(crate) use picking::{Picked, Picker};

/// Which of the records that passed `where` are judged: sample, then limit, then shard.
#[derive(Clone, Copy, Debug, Default)]
pub struct Selection {
    /// The seed, and the greatest rank that is still in the sample.
    pub sample: Option<(u64, u64)>,
    pub limit: Option<u64>,
    /// `k` of `n`, 1-based.
    pub shard: Option<(u32, u32)>,
}

/// Everything that stays the same through a run.
pub struct Plan<'a> {
    pub checks: &'a [Check],
    pub registry: &'a Registry,
    /// What the suite defines for the checks of its records.
    pub definitions: &'a Definitions,
    pub mapping: &'a Mapping,
    /// The mapping that computes ids, for records that bring none.
    pub identity: &'a Mapping,
    pub condition: Option<&'a Condition>,
    pub selection: Selection,
    pub renderers: &'a [Arc<dyn Renderer>],
    /// Whether some renderer shows every cell's reason.
    pub explains: bool,
    /// An empty fold that knows the checks and the options.
    pub fold: &'a Fold,
    /// Non-passing cells that the fold keeps with their reasons.
    pub samples: usize,
    pub threads: usize,
    /// Ends at the first bad record.
    pub strict: bool,
    /// Blocks that an interrupted run has written already: read and numbered again, not judged.
    pub resume_after: u64,
    /// Ends after so many blocks, as the run that is repeated did.
    pub until: Option<u64>,
    pub stop: &'a AtomicBool,
    pub progress: &'a Progress,
    /// The models, where some check asks them.
    pub session: Option<&'a dyn ModelSession>,
}

impl std::fmt::Debug for Plan<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Plan")
            .field("threads", &self.threads)
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}

/// How far a run has come, for a progress bar.
#[derive(Debug, Default)]
pub struct Progress {
    pub records: AtomicU64,
    pub bytes: AtomicU64,
    pub errors: AtomicU64,
    /// Answers that the target has made; judging begins when all are there.
    pub answers: AtomicU64,
}

/// One block's results, in order.
#[derive(Debug)]
pub struct BlockOutput {
    /// Rendered lines, one buffer a renderer.
    pub rendered: Vec<Vec<u8>>,
    pub fold: Fold,
    pub bad: Vec<BadRecord>,
    pub position: Position,
    pub number: u64,
    /// Written by the interrupted run already.
    pub replayed: bool,
    /// Computed ids that other cases had before.
    pub repeated_ids: u64,
}

/// Takes the blocks of a run, in order.
pub trait Sink: Send {
    fn block(&mut self, output: BlockOutput) -> std::io::Result<()>;
}

/// How a run ended.
#[derive(Clone, Debug, Default)]
pub struct RunEnd {
    pub interrupted: bool,
    pub unknown_keys: BTreeSet<String>,
    /// The first bad record of a strict run.
    pub refused: Option<BadRecord>,
    /// Whether the input's end was seen.
    pub complete: bool,
    /// Records that other shards judge.
    pub other_shards: u64,
    /// What ended the run before its input.
    pub halted: Option<Halt>,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("can't write the results: {0}")]
    Output(#[from] std::io::Error),
}

/// Runs a plan over a reader's blocks.
pub fn run(
    plan: &Plan<'_>,
    reader: Box<dyn BlockReader>,
    sink: &mut dyn Sink,
) -> Result<RunEnd, RunError> {
    let shared = Shared {
        reader: Mutex::new(Intake {
            reader,
            taken: 0,
            done: false,
        }),
        state: Mutex::default(),
        turn: Condvar::new(),
        queue: Mutex::default(),
        outlet: Mutex::new(Outlet {
            sink,
            sampled: vec![0; plan.checks.len()],
            failed: false,
        }),
        full: (0..plan.checks.len())
            .map(|_| AtomicBool::new(plan.samples == 0))
            .collect(),
    };
    if let Some(session) = plan.session {
        asking::walk(plan, &shared, session);
    } else if plan.threads <= 1 {
        worker(plan, &shared);
    } else {
        std::thread::scope(|scope| {
            for _ in 0..plan.threads {
                scope.spawn(|| worker(plan, &shared));
            }
        });
    }
    let state = shared
        .state
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = state.error {
        return Err(error);
    }
    let stopped = plan.stop.load(Ordering::Relaxed);
    // The input's end says nothing where blocks before it were given up.
    let complete = state.complete && state.emitted == state.admitted && state.halted.is_none();
    Ok(RunEnd {
        interrupted: stopped && !complete,
        unknown_keys: state.unknown,
        refused: state.refused,
        complete,
        other_shards: state.other_shards,
        halted: state.halted,
    })
}

/// Walks the data once without judging, to find the greatest sample rank that is still among the
/// first `n`. Ties are kept, so equal ranks can't make the sample smaller.
pub fn sample_limit(
    plan: &Plan<'_>,
    reader: Box<dyn BlockReader>,
    n: u64,
    seed: u64,
) -> Result<u64, RunError> {
    let mut ranks = std::collections::BinaryHeap::new();
    let mut ids = IdTable::new();
    let mut reader = reader;
    let mut block = Block::default();
    let mut arena = Bump::new();
    let mut decoder = Decoder::new(plan.mapping);
    let mut position = 0;
    while reader.next_block(&mut block)? {
        arena.reset();
        for row in rows(plan, &block, &mut decoder, &arena) {
            position += 1;
            let Row::Read(mut row) = row else { continue };
            if settle(plan, &mut row, position, &mut ids, &arena).is_err() || !row.selected {
                continue;
            }
            ranks.push(identity::sample_rank(seed, row.head.id, row.head.trial));
            if ranks.len() as u64 > n {
                ranks.pop();
            }
        }
    }
    Ok(ranks.peek().copied().unwrap_or(0))
}

struct Shared<'s> {
    reader: Mutex<Intake>,
    state: Mutex<State>,
    turn: Condvar,
    /// Blocks that wait for those before them.
    queue: Mutex<Queue>,
    outlet: Mutex<Outlet<'s>>,
    /// Checks whose samples are complete: no more reasons are needed for them.
    full: Vec<AtomicBool>,
}

struct Intake {
    reader: Box<dyn BlockReader>,
    taken: u64,
    done: bool,
}

/// Rendered blocks on their way out. One thread at a time writes; the others leave theirs here and go on.
#[derive(Default)]
struct Queue {
    waiting: BTreeMap<u64, BlockOutput>,
    emitted: u64,
    writing: bool,
}

/// What a block goes out through.
struct Outlet<'s> {
    sink: &'s mut dyn Sink,
    /// Samples that went out so far, a check.
    sampled: Vec<usize>,
    failed: bool,
}

/// What is settled in the records' order.
#[derive(Default)]
struct State {
    ids: IdTable,
    /// Records so far, bad ones included.
    position: u64,
    /// Records that passed `where` and the sample.
    counted: u64,
    other_shards: u64,
    admitted: u64,
    emitted: u64,
    unknown: BTreeSet<String>,
    refused: Option<BadRecord>,
    error: Option<RunError>,
    complete: bool,
    ended: bool,
    halted: Option<Halt>,
}

/// Blocks may run this far ahead of the one that is written next, a thread.
const WINDOW: u64 = 3;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets the other threads go where this one panics, so that the panic is seen and not a hang.
struct Release<'a, 's>(&'a Shared<'s>);

impl Drop for Release<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.state).ended = true;
            self.0.turn.notify_all();
        }
    }
}

fn worker(plan: &Plan<'_>, shared: &Shared<'_>) {
    let _release = Release(shared);
    let mut block = Block::default();
    let mut arena = Bump::new();
    let mut decoder = Decoder::new(plan.mapping);
    let mut bench = Bench::default();
    let mut own = OwnChecks::new();
    let mut sizes = Vec::new();
    while let Some(number) = take(plan, shared, &mut block) {
        arena.reset();
        let mut rows = rows(plan, &block, &mut decoder, &arena);
        if !admit(plan, shared, number, &mut rows, &arena) {
            break;
        }
        let output = judge(
            plan, shared, &block, number, &rows, &arena, &mut bench, &mut own, &mut sizes,
        );
        emit(plan, shared, output);
    }
    let mut state = lock(&shared.state);
    state
        .unknown
        .extend(decoder.unknown_keys().map(str::to_owned));
}

/// The next block's number, or `None` at the end.
fn take(plan: &Plan<'_>, shared: &Shared<'_>, block: &mut Block) -> Option<u64> {
    // Where models are asked, one thread does all, and bounds its blocks itself.
    let window = match plan.session {
        Some(_) => u64::MAX >> 1,
        None => WINDOW * plan.threads.max(1) as u64,
    };
    let mut intake = lock(&shared.reader);
    if intake.done || plan.until.is_some_and(|until| intake.taken >= until) {
        intake.done = true;
        return None;
    }
    {
        let mut state = lock(&shared.state);
        while intake.taken >= state.emitted + window && !state.ended {
            state = shared
                .turn
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if state.ended || plan.stop.load(Ordering::Relaxed) {
            intake.done = true;
            return None;
        }
    }
    let read = intake.reader.next_block(block);
    if plan.stop.load(Ordering::Relaxed) {
        // Ctrl-C ends the writer of a pipe too: what came last may be cut off, and its end is not the data's.
        intake.done = true;
        return None;
    }
    match read {
        Ok(true) => {
            let number = intake.taken;
            intake.taken += 1;
            Some(number)
        }
        Ok(false) => {
            intake.done = true;
            lock(&shared.state).complete = true;
            None
        }
        Err(error) => {
            intake.done = true;
            fail(shared, error.into());
            None
        }
    }
}

fn fail(shared: &Shared<'_>, error: RunError) {
    let mut state = lock(&shared.state);
    state.error.get_or_insert(error);
    // Blocks that were taken before it still go out; nothing new is taken.
    shared.turn.notify_all();
}

enum Row<'r> {
    Read(ReadRow<'r>),
    Bad(BadRecord),
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "four independent facts of a record"
)]
struct ReadRow<'r> {
    slots: &'r Slots<'r>,
    head: RecordHead<'r>,
    /// The id was computed, so an equal one is another case and no trial.
    computed: bool,
    /// The record names its trial.
    trial_given: bool,
    selected: bool,
    repeated: bool,
}

fn rows<'r>(
    plan: &Plan<'_>,
    block: &'r Block,
    decoder: &mut Decoder<'_>,
    arena: &'r Bump,
) -> Vec<Row<'r>> {
    let mut identity = None;
    let mut rows = Vec::with_capacity(block.len());
    rows.extend(block.records().map(|record| {
        match &record.text {
            Ok(text) => read(
                plan,
                text,
                &record,
                block.file,
                decoder,
                &mut identity,
                arena,
            )
            .unwrap_or_else(Row::Bad),
            Err(error) => Row::Bad(BadRecord {
                file: block.file,
                line: record.line,
                column: record.column,
                field: None,
                message: error.to_string(),
                hint: None,
            }),
        }
    }));
    rows
}

fn read<'r, 'm>(
    plan: &Plan<'m>,
    text: &'r str,
    record: &RawRecord<'r>,
    file: u32,
    decoder: &mut Decoder<'_>,
    identity: &mut Option<Decoder<'m>>,
    arena: &'r Bump,
) -> Result<Row<'r>, BadRecord> {
    let bad = |error: Box<RecordError>| {
        let (line, column) = record.locate(error.offset);
        bad_record(file, line, column, *error)
    };
    let slots = decoder.decode(text, arena).map_err(bad)?;
    let (id, computed) = if let Some(id) = slots.id {
        (id, false)
    } else {
        let decoder = identity.get_or_insert_with(|| Decoder::new(plan.identity));
        let asked = decoder.decode(text, arena).map_err(bad)?;
        (
            identity::computed_id(asked).map_or("", |id| arena.alloc_str(&id)),
            true,
        )
    };
    let selected = match plan.condition {
        None => true,
        Some(condition) if computed && condition.reads_id() => true,
        Some(condition) => condition.holds(slots, arena).map_err(|message| {
            bad(RecordError {
                offset: 0,
                field: None,
                message: format!("`where`: {message}"),
                hint: None,
            }
            .into())
        })?,
    };
    let head = RecordHead {
        id,
        model: slots.model,
        trial: slots.trial.unwrap_or(1),
        tags: slots.tags,
        cluster: slots.cluster,
        file,
        line: record.line,
    };
    Ok(Row::Read(ReadRow {
        slots,
        head,
        computed,
        trial_given: slots.trial.is_some(),
        selected,
        repeated: false,
    }))
}

fn bad_record(file: u32, line: u64, column: u64, error: RecordError) -> BadRecord {
    BadRecord {
        file,
        line,
        column,
        field: error.field,
        message: error.message,
        hint: error.hint,
    }
}

/// The turnstile: ids, trials and selection, in the records' order. False ends the worker.
fn admit<'r>(
    plan: &Plan<'_>,
    shared: &Shared<'_>,
    number: u64,
    rows: &mut [Row<'r>],
    arena: &'r Bump,
) -> bool {
    let mut state = lock(&shared.state);
    while state.admitted < number && !state.ended {
        state = shared
            .turn
            .wait(state)
            .unwrap_or_else(PoisonError::into_inner);
    }
    if state.ended {
        return false;
    }
    let State {
        ids,
        position,
        counted,
        other_shards,
        ..
    } = &mut *state;
    for row in rows.iter_mut() {
        *position += 1;
        let Row::Read(read) = row else { continue };
        match settle(plan, read, *position, ids, arena) {
            Ok(()) => {
                read.selected = read.selected && select(plan, counted, other_shards, &read.head);
            }
            Err(error) => *row = Row::Bad(error),
        }
    }
    let refused = rows.iter().find_map(|row| match row {
        Row::Bad(bad) if plan.strict => Some(bad.clone()),
        _ => None,
    });
    if refused.is_some() {
        state.refused = refused;
        state.ended = true;
    }
    state.admitted += 1;
    shared.turn.notify_all();
    !state.ended
}

/// Gives a record its final id and trial, and sees whether `where` asks for an id that was computed.
fn settle<'r>(
    plan: &Plan<'_>,
    row: &mut ReadRow<'r>,
    position: u64,
    ids: &mut IdTable,
    arena: &'r Bump,
) -> Result<(), BadRecord> {
    settle_id(row, position, ids, arena)?;
    if let Some(condition) = plan
        .condition
        .filter(|condition| row.computed && condition.reads_id())
    {
        let named = row.slots.named(row.head.id);
        row.selected = condition.holds(&named, arena).map_err(|message| {
            let error = RecordError {
                offset: 0,
                field: None,
                message: format!("`where`: {message}"),
                hint: None,
            };
            bad_record(row.head.file, row.head.line, 1, error)
        })?;
    }
    Ok(())
}

/// Gives a record its number among those of its id.
fn settle_id<'r>(
    row: &mut ReadRow<'r>,
    position: u64,
    ids: &mut IdTable,
    arena: &'r Bump,
) -> Result<(), BadRecord> {
    if row.computed && row.head.id.is_empty() {
        row.head.id = arena.alloc_str(&format!("#{position}"));
        return Ok(());
    }
    let key = identity::answer_key(row.head.id, row.head.model);
    if row.trial_given {
        let key = key ^ u64::from(row.head.trial).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        if ids.seen(key) > 0 {
            let error = RecordError {
                offset: 0,
                field: Some("trial".into()),
                message: format!(
                    "the id `{}` has a trial {} already",
                    row.head.id, row.head.trial
                ),
                hint: Some(
                    "number the trials of a case, or leave `trial` out to have them numbered"
                        .into(),
                ),
            };
            return Err(bad_record(row.head.file, row.head.line, 1, error));
        }
        return Ok(());
    }
    let before = ids.seen(key);
    if before > 0 && row.computed {
        row.head.id = identity::numbered(row.head.id, before + 1, arena);
        row.repeated = true;
    } else {
        row.head.trial = before + 1;
    }
    Ok(())
}

fn select(
    plan: &Plan<'_>,
    counted: &mut u64,
    other_shards: &mut u64,
    head: &RecordHead<'_>,
) -> bool {
    let Selection {
        sample,
        limit,
        shard,
    } = plan.selection;
    if sample
        .is_some_and(|(seed, greatest)| identity::sample_rank(seed, head.id, head.trial) > greatest)
    {
        return false;
    }
    if limit.is_some_and(|limit| *counted >= limit) {
        return false;
    }
    *counted += 1;
    let ours =
        shard.is_none_or(|(k, n)| identity::case_key(head.id) % u64::from(n) == u64::from(k) - 1);
    *other_shards += u64::from(!ours);
    ours
}

#[expect(clippy::too_many_arguments, reason = "the worker's own pieces")]
fn judge<'r>(
    plan: &Plan<'_>,
    shared: &Shared<'_>,
    block: &Block,
    number: u64,
    rows: &[Row<'r>],
    arena: &'r Bump,
    bench: &mut Bench,
    own: &mut OwnChecks,
    sizes: &mut Vec<usize>,
) -> BlockOutput {
    let mut output = fresh_output(plan, block, number);
    // What a block rendered to, the next one will nearly too.
    sizes.resize(plan.renderers.len(), 0);
    for (rendered, size) in output.rendered.iter_mut().zip(&*sizes) {
        rendered.reserve(size + size / 8);
    }
    let mut judged: Vec<Judged> = Vec::new();
    for row in rows {
        let (Some(own), Row::Read(row)) = (own_checks_of(plan, row, own, &mut output), row) else {
            continue;
        };
        if output.replayed {
            // The stored lines, which are folded already, count it.
            continue;
        }
        judged.clear();
        let checks = plan.checks.iter().chain(own.iter().map(|check| &**check));
        for (index, check) in checks.enumerate() {
            judged.push(
                match judge_pure(plan, shared, index, check, row.slots, arena, bench) {
                    Begun::Done(judged) => judged,
                    // Without a session no check asks models: the check says so itself.
                    Begun::Batched(..) | Begun::Asked(..) => {
                        check.judge(row.slots, arena, bench, true)
                    }
                },
            );
        }
        put_row(plan, row, &own, &judged, &[], arena, &mut output);
    }
    sizes
        .iter_mut()
        .zip(&output.rendered)
        .for_each(|(size, rendered)| *size = rendered.len());
    output
}

fn fresh_output(plan: &Plan<'_>, block: &Block, number: u64) -> BlockOutput {
    BlockOutput {
        rendered: vec![Vec::new(); plan.renderers.len()],
        fold: plan.fold.fresh(),
        bad: Vec::new(),
        position: block.end,
        number,
        replayed: number < plan.resume_after,
        repeated_ids: 0,
    }
}

/// The checks that a selected record brings; `None` where the record is not judged: bad, or not selected.
fn own_checks_of(
    plan: &Plan<'_>,
    row: &Row<'_>,
    own: &mut OwnChecks,
    output: &mut BlockOutput,
) -> Option<Vec<Arc<Check>>> {
    let row = match row {
        Row::Read(row) => row,
        Row::Bad(bad) => {
            output.fold.bad_record(bad.clone());
            output.bad.push(bad.clone());
            return None;
        }
    };
    output.repeated_ids += u64::from(row.repeated);
    if !row.selected {
        output.fold.record_read();
        return None;
    }
    let raw = row.slots.raw.get(Field::Evaluators as usize);
    let checks = match raw.copied().flatten() {
        Some(value) => own.of(value, plan.registry, plan.definitions, plan.checks),
        None => Ok(Vec::new()),
    };
    match checks {
        Ok(checks) => {
            if !output.replayed {
                output.fold.record_read();
            }
            Some(checks)
        }
        Err(message) => {
            let error = RecordError {
                offset: 0,
                field: Some("evaluators".into()),
                message,
                hint: None,
            };
            let bad = bad_record(row.head.file, row.head.line, 1, error);
            output.fold.bad_record(bad.clone());
            output.bad.push(bad);
            None
        }
    }
}

/// Judges one cell as far as that goes without a model, with a reason where somebody asks for it.
fn judge_pure<'r>(
    plan: &Plan<'_>,
    shared: &Shared<'_>,
    index: usize,
    check: &Check,
    slots: &'r Slots<'r>,
    arena: &'r Bump,
    bench: &mut Bench,
) -> Begun<'r> {
    let explain_all = plan.explains;
    let begun = check.begin(slots, arena, bench, explain_all);
    let Begun::Done(cell) = &begun else {
        return begun;
    };
    let sampling = plan.samples > 0
        && shared
            .full
            .get(index)
            .is_none_or(|full| !full.load(Ordering::Relaxed));
    if sampling
        && !explain_all
        && !matches!(cell.verdict, Some(Verdict::Pass) | None)
        && cell.explanation.is_none()
    {
        // Only cells that a report shows are judged again for their reason.
        return check.begin(slots, arena, bench, true);
    }
    begun
}

/// Folds and renders a judged record. `judged` holds a cell a check; `repeats` the single cells where
/// checks repeat, else nothing.
fn put_row<'r>(
    plan: &Plan<'_>,
    row: &ReadRow<'r>,
    own: &[Arc<Check>],
    judged: &[Judged],
    repeats: &[Vec<Judged>],
    arena: &'r Bump,
    output: &mut BlockOutput,
) {
    let mut worst: Option<Verdict> = None;
    let checks = || plan.checks.iter().chain(own.iter().map(|check| &**check));
    for (index, (check, cell)) in checks().zip(judged).enumerate() {
        if index < plan.checks.len() {
            output.fold.push(index, &row.head, cell);
        } else {
            output.fold.push_named(check, &row.head, cell);
        }
        worst = match (worst, cell.verdict) {
            (Some(a), Some(b)) => Some(a.worst(b)),
            (a, b) => a.or(b),
        };
    }
    output.fold.record_done(worst);
    if plan.renderers.is_empty() {
        return;
    }
    let views = checks().zip(judged.iter()).map(|(check, judged)| CellView {
        check: &check.name,
        info: check.info,
        judged,
    });
    let views = bumpalo::collections::Vec::from_iter_in(views, arena);
    let single = checks().zip(repeats).flat_map(|(check, cells)| {
        cells.iter().map(|judged| CellView {
            check: &check.name,
            info: check.info,
            judged,
        })
    });
    let single = bumpalo::collections::Vec::from_iter_in(single, arena);
    for (renderer, out) in plan.renderers.iter().zip(&mut output.rendered) {
        let views = if renderer.shows_repeats() && !single.is_empty() {
            &single
        } else {
            &views
        };
        renderer.record(&row.head, views, out);
    }
}

/// Hands a block to the sink once all before it are out.
fn emit(plan: &Plan<'_>, shared: &Shared<'_>, output: BlockOutput) {
    let mut queue = lock(&shared.queue);
    queue.waiting.insert(output.number, output);
    if queue.writing {
        return;
    }
    loop {
        let next = queue.emitted;
        let Some(output) = queue.waiting.remove(&next) else {
            return;
        };
        queue.writing = true;
        drop(queue);
        write(plan, shared, output);
        queue = lock(&shared.queue);
        queue.writing = false;
        queue.emitted += 1;
    }
}

fn write(plan: &Plan<'_>, shared: &Shared<'_>, output: BlockOutput) {
    let progress = plan.progress;
    progress
        .records
        .fetch_add(output.fold.records_read(), Ordering::Relaxed);
    progress
        .errors
        .fetch_add(output.fold.errored(), Ordering::Relaxed);
    progress
        .bytes
        .store(output.position.bytes, Ordering::Relaxed);
    let mut outlet = lock(&shared.outlet);
    for (index, (full, sampled)) in shared.full.iter().zip(&mut outlet.sampled).enumerate() {
        *sampled += output.fold.samples_of(index);
        full.store(*sampled >= plan.samples, Ordering::Relaxed);
    }
    let result = if outlet.failed {
        Ok(())
    } else {
        outlet.sink.block(output)
    };
    outlet.failed |= result.is_err();
    drop(outlet);
    let mut state = lock(&shared.state);
    state.emitted += 1;
    if let Err(error) = result {
        state.error.get_or_insert(RunError::Output(error));
        state.ended = true;
    }
    shared.turn.notify_all();
}
