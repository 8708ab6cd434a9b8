//! The walk where some check asks models: one thread, many calls under way.
//!
//! A block is a future that owns its bytes and its arena. Its first step is the walk that every run
//! takes (decode, admit, pure checks); then it waits for its cells, and goes out in order like any
//! other. New blocks begin while fewer cells than the models could take are waiting, so the calls
//! never run dry and memory stays bounded.

use std::cell::{Cell as Counter, RefCell};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::Poll;
use std::time::Duration;

use bumpalo::Bump;
use futures_util::future::poll_fn;
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::task::AtomicWaker;

use super::batch::{Asked, Wave};
use super::{
    Block, BlockOutput, Plan, Row, Shared, admit, emit, fresh_output, judge_pure, own_checks_of,
    put_row, rows, take,
};
use crate::check::{Asking, Begun, Bench, Check, Judged, collapse_repeats};
use crate::decode::Decoder;
use crate::evaluator::Judged as JudgedScorer;
use crate::model::{ModelErrorKind, ModelSession};
use crate::outcome::{Cell, Code};
use crate::record;
use crate::suite::own::OwnChecks;

/// Why a run ends before its input does.
#[derive(Clone, Debug, PartialEq)]
pub struct Halt {
    pub kind: ModelErrorKind,
    /// What happened, and what to do.
    pub message: String,
}

/// Cells that wait at once, for each call that can be under way: enough that slow ones hold up nothing.
pub(crate) const CELLS_PER_CALL: usize = 3;

/// Blocks that are under way at once at the most: where one call hangs, the others go so far ahead of it.
const MOST_BLOCKS: u64 = 1024;

pub(super) fn walk(plan: &Plan<'_>, shared: &Shared<'_>, session: &dyn ModelSession) {
    block_on(session, plan.stop, |waker| {
        drive(plan, shared, session, waker)
    });
}

/// Drives a future that ends soon after `stop` is set; it is woken then by the waker that it is made with.
pub(crate) fn block_on<F: Future<Output = ()>>(
    session: &dyn ModelSession,
    stop: &AtomicBool,
    future: impl FnOnce(Arc<AtomicWaker>) -> F,
) {
    let waker = Arc::new(AtomicWaker::new());
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The only thread that sees Ctrl-C while all calls are waiting.
        let watcher = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) {
                    waker.wake();
                }
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        let _end = End {
            over: &over,
            watcher: watcher.thread().clone(),
        };
        session.block_on(pin!(future(Arc::clone(&waker))));
    });
}

/// Ends the watcher, also where the walk panics.
struct End<'a> {
    over: &'a AtomicBool,
    watcher: std::thread::Thread,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.watcher.unpark();
    }
}

/// What blocks use one after the other, never across an await.
struct Tools<'m> {
    decoder: Decoder<'m>,
    bench: Bench,
    own: OwnChecks,
}

async fn drive(
    plan: &Plan<'_>,
    shared: &Shared<'_>,
    session: &dyn ModelSession,
    waker: Arc<AtomicWaker>,
) {
    let tools = RefCell::new(Tools {
        decoder: Decoder::new(plan.mapping),
        bench: Bench::default(),
        own: OwnChecks::new(),
    });
    let waiting = Counter::new(0_usize);
    let enough = session.parallelism().max(1).saturating_mul(CELLS_PER_CALL);
    let mut blocks = FuturesUnordered::new();
    let mut more = true;
    loop {
        while more && waiting.get() < enough && is_near(shared) {
            let mut block = Block::default();
            let Some(number) = take(plan, shared, &mut block) else {
                more = false;
                break;
            };
            let mut begun = Box::pin(judge_block(
                plan, shared, session, number, block, &tools, &waiting,
            ));
            // The first step must be taken in the blocks' order.
            match poll_fn(|cx| Poll::Ready(begun.as_mut().poll(cx))).await {
                Poll::Ready(end) => {
                    more &= out(plan, shared, end);
                    // Calls under way get their turn between blocks that wait for none.
                    yield_once().await;
                }
                Poll::Pending => blocks.push(begun),
            }
        }
        let stopped = poll_fn(|cx| {
            waker.register(cx.waker());
            if plan.stop.load(Ordering::Relaxed) {
                return Poll::Ready(true);
            }
            blocks.poll_next_unpin(cx).map(|end| match end {
                Some(end) => !out(plan, shared, end),
                None => !more,
            })
        })
        .await;
        if stopped {
            break;
        }
    }
    if budget_is_spent(shared) {
        // What is under way is paid for: its replies must not be lost.
        poll_fn(|cx| {
            waker.register(cx.waker());
            if plan.stop.load(Ordering::Relaxed) {
                return Poll::Ready(());
            }
            while let Poll::Ready(end) = blocks.poll_next_unpin(cx) {
                match end {
                    Some(Ok(output)) => emit(plan, shared, output),
                    Some(Err(_)) => {}
                    None => return Poll::Ready(()),
                }
            }
            Poll::Pending
        })
        .await;
    }
    let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    state
        .unknown
        .extend(tools.borrow().decoder.unknown_keys().map(str::to_owned));
}

/// Lets the runtime look after everything else once.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Whether the next block is not too far ahead of the one that goes out next: those between wait in memory.
fn is_near(shared: &Shared<'_>) -> bool {
    let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    state.admitted < state.emitted + MOST_BLOCKS
}

/// Hands a block on; false where the run ends with it.
fn out(plan: &Plan<'_>, shared: &Shared<'_>, end: Result<BlockOutput, Option<Halt>>) -> bool {
    match end {
        Ok(output) => {
            emit(plan, shared, output);
            !shared
                .state
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .ended
        }
        Err(halt) => {
            let mut state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.halted = state.halted.take().or(halt);
            state.ended = true;
            false
        }
    }
}

fn budget_is_spent(shared: &Shared<'_>) -> bool {
    let state = shared.state.lock().unwrap_or_else(PoisonError::into_inner);
    let halted = state.halted.as_ref();
    halted.is_some_and(|halt| halt.kind == ModelErrorKind::Budget)
}

/// A cell that models are asked for.
struct Ask<'r> {
    row: usize,
    check: usize,
    repeat: u32,
    scorer: Arc<dyn JudgedScorer>,
    view: record::Row<'r>,
    filled_with: &'r [u8],
}

impl Ask<'_> {
    fn asking(&self) -> Asking<'_> {
        Asking {
            scorer: &*self.scorer,
            row: self.view,
            filled_with: self.filled_with,
            repeat: self.repeat,
        }
    }
}

/// Judges one block. An error ends the run: a halt, or `None` where a strict run refused a record.
async fn judge_block(
    plan: &Plan<'_>,
    shared: &Shared<'_>,
    session: &dyn ModelSession,
    number: u64,
    block: Block,
    tools: &RefCell<Tools<'_>>,
    waiting: &Counter<usize>,
) -> Result<BlockOutput, Option<Halt>> {
    let arena = Bump::new();
    let mut rows = rows(plan, &block, &mut tools.borrow_mut().decoder, &arena);
    if !admit(plan, shared, number, &mut rows, &arena) {
        return Err(None);
    }
    let mut output = fresh_output(plan, &block, number);
    let mut own: Vec<Option<Vec<Arc<Check>>>> = Vec::with_capacity(rows.len());
    for row in &rows {
        own.push(own_checks_of(
            plan,
            row,
            &mut tools.borrow_mut().own,
            &mut output,
        ));
    }
    if output.replayed {
        return Ok(output);
    }
    let check_at = |row: usize, check: usize| -> Option<&Check> {
        plan.checks.get(check).or_else(|| {
            own.get(row)?
                .as_ref()?
                .get(check - plan.checks.len())
                .map(|check| &**check)
        })
    };
    // cells[row][check]: one cell, or as many as the check repeats.
    let mut cells: Vec<Vec<Vec<Judged>>> = Vec::with_capacity(rows.len());
    let (mut asks, mut wave) = (Vec::new(), Wave::default());
    for (index, row) in rows.iter().enumerate() {
        let (Row::Read(read), Some(Some(own))) = (row, own.get(index)) else {
            cells.push(Vec::new());
            continue;
        };
        let count = plan.checks.len() + own.len();
        let mut of_row = Vec::with_capacity(count);
        for place in 0..count {
            let Some(check) = check_at(index, place) else {
                continue;
            };
            let begun = judge_pure(
                plan,
                shared,
                place,
                check,
                read.slots,
                &arena,
                &mut tools.borrow_mut().bench,
            );
            of_row.push(match begun {
                Begun::Done(judged) => vec![judged],
                Begun::Batched(scorer, view) => {
                    wave.add(Asked {
                        row: index,
                        check: place,
                        scorer,
                        view,
                    });
                    Vec::new()
                }
                Begun::Asked(scorer, view, filled_with) => {
                    asks.extend((1..=check.asks.repeat.max(1)).map(|repeat| Ask {
                        row: index,
                        check: place,
                        repeat,
                        scorer: Arc::clone(&scorer),
                        view,
                        filled_with,
                    }));
                    Vec::new()
                }
            });
        }
        cells.push(of_row);
    }
    let count = Waiting::new(waiting, asks.len());
    let batched = wave.ask(session, &check_at).await;
    batched.score(
        &check_at,
        &mut tools.borrow_mut().bench,
        &mut |row, check, judged| {
            put(&mut cells, row, check, judged);
        },
    );
    if let Some(halt) = cells.iter().flatten().flatten().find_map(halt_of) {
        return Err(Some(halt));
    }
    let mut under_way: FuturesUnordered<_> = asks
        .iter()
        .filter_map(|ask| {
            let check = check_at(ask.row, ask.check)?;
            Some(async move { (ask, check.ask(ask.asking(), session).await) })
        })
        .collect();
    while let Some((ask, judged)) = under_way.next().await {
        count.one_less();
        match halt_of(&judged) {
            Some(halt) if halt.kind != ModelErrorKind::Budget => return Err(Some(halt)),
            _ => {}
        }
        put(&mut cells, ask.row, ask.check, judged);
    }
    if let Some(halt) = cells.iter().flatten().flatten().find_map(halt_of) {
        return Err(Some(halt));
    }
    for (index, (row, mut of_row)) in rows.iter().zip(cells).enumerate() {
        let (Row::Read(read), Some(Some(own))) = (row, own.get(index)) else {
            continue;
        };
        if of_row.iter().all(|cell| cell.len() == 1) {
            let single: Vec<Judged> = of_row.into_iter().flatten().collect();
            put_row(plan, read, own, &single, &[], &arena, &mut output);
            continue;
        }
        for cell in &mut of_row {
            cell.sort_by_key(|judged| judged.spent.as_ref().map_or(1, |spent| spent.repeat));
        }
        let together: Vec<Judged> = of_row.iter().map(|cell| collapse_repeats(cell)).collect();
        put_row(plan, read, own, &together, &of_row, &arena, &mut output);
    }
    Ok(output)
}

fn put(cells: &mut [Vec<Vec<Judged>>], row: usize, check: usize, judged: Judged) {
    if let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(check)) {
        cell.push(judged);
    }
}

/// Whether a cell shows that no later call can go well.
fn halt_of(judged: &Judged) -> Option<Halt> {
    let Cell::Errored(Code::Model(kind)) = judged.cell else {
        return None;
    };
    kind.ends_run().then(|| Halt {
        kind,
        message: judged
            .explanation
            .as_ref()
            .and_then(|explanation| explanation.reason.as_deref())
            .unwrap_or_default()
            .to_owned(),
    })
}

/// Cells that wait, counted while their block lives.
struct Waiting<'a> {
    all: &'a Counter<usize>,
    ours: Counter<usize>,
}

impl<'a> Waiting<'a> {
    fn new(all: &'a Counter<usize>, count: usize) -> Self {
        all.set(all.get() + count);
        Self {
            all,
            ours: Counter::new(count),
        }
    }

    fn one_less(&self) {
        self.all.set(self.all.get().saturating_sub(1));
        self.ours.set(self.ours.get().saturating_sub(1));
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.all.set(self.all.get().saturating_sub(self.ours.get()));
    }
}
