//! What a judged record costs after its judging: the fold, and its lines.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};

use lydite::check::Judged;
use lydite::evaluator::Info;
use lydite::fold::{CheckMeta, Fold};
use lydite::format::{Renderer, ResultsJsonl, WideJsonl};
use lydite::outcome::{Cell, Explanation, Score, Verdict};
use lydite::results::{CellView, RecordHead};

fn main() {
    divan::main();
}

static INFO: Info = Info {
    id: "made_up",
    ..Info::VERDICT
};

const CHECKS: [&str; 5] = [
    "right_fact",
    "must_say",
    "cites_source",
    "near_reference",
    "no_promises",
];

const RECORDS: usize = 1_000;

/// Cells of a record: pass, fail, two distances and a pass with words.
fn cells(n: usize) -> [Judged; 5] {
    let judged = |cell, verdict, explanation| Judged {
        spent: None,
        cell,
        verdict,
        natural: None,
        explanation,
    };
    let verdict = Verdict::from_bool(!n.is_multiple_of(3));
    let score = Score::new((n % 97) as f64 / 97.0);
    [
        judged(Cell::binary(true), Some(Verdict::Pass), None),
        judged(Cell::binary(!n.is_multiple_of(3)), Some(verdict), None),
        judged(
            Cell::Scored {
                score,
                natural: None,
                flags: 0,
            },
            None,
            None,
        ),
        judged(
            Cell::Scored {
                score,
                natural: None,
                flags: 0,
            },
            Some(verdict),
            None,
        ),
        judged(
            Cell::binary(true),
            Some(Verdict::Pass),
            Some(Box::new(Explanation::reason("the answer says \"30 days\""))),
        ),
    ]
}

fn records() -> Vec<(String, [Judged; 5])> {
    (0..RECORDS)
        .map(|n| (format!("{:016x}", n * 0x9E37_79B9), cells(n)))
        .collect()
}

fn head<'a>(id: &'a str, tags: &'a [&'a str], line: usize) -> RecordHead<'a> {
    RecordHead {
        id,
        model: None,
        trial: 1,
        tags,
        cluster: None,
        file: 0,
        line: line as u64,
    }
}

/// Five cells a record, without tags and with two.
#[divan::bench(args = [0, 2])]
fn fold(bencher: Bencher<'_, '_>, tags: usize) {
    let records = records();
    let tags = ["refund", "de"].get(..tags).unwrap_or_default();
    let empty = Fold::new(CHECKS.map(CheckMeta::named), 0);
    bencher
        .counter(ItemsCount::new(RECORDS * CHECKS.len()))
        .bench(|| {
            let mut fold = empty.fresh();
            for (line, (id, cells)) in records.iter().enumerate() {
                let head = head(id, tags, line);
                fold.record_read();
                for (index, judged) in cells.iter().enumerate() {
                    fold.push(index, &head, judged);
                }
                fold.record_done(Some(Verdict::Pass));
            }
            black_box(fold)
        });
}

#[divan::bench]
fn merge(bencher: Bencher<'_, '_>) {
    let mut part = Fold::new(CHECKS.map(CheckMeta::named), 0);
    for (line, (id, cells)) in records().iter().enumerate() {
        for (index, judged) in cells.iter().enumerate() {
            part.push(index, &head(id, &[], line), judged);
        }
        part.record_done(Some(Verdict::Pass));
    }
    let empty = part.fresh();
    bencher
        .counter(ItemsCount::new(RECORDS * CHECKS.len()))
        .bench(|| {
            let mut fold = empty.clone();
            fold.merge(part.clone());
            black_box(fold)
        });
}

/// Lines of a record with five cells; items are records.
fn lines(bencher: Bencher<'_, '_>, renderer: &dyn Renderer) {
    let records = records();
    let mut out = Vec::new();
    bencher.counter(ItemsCount::new(RECORDS)).bench_local(|| {
        out.clear();
        for (line, (id, cells)) in records.iter().enumerate() {
            let [one, two, three, four, five] = cells.each_ref();
            let [name_one, name_two, name_three, name_four, name_five] = CHECKS;
            let view = |check, judged| CellView {
                check,
                info: &INFO,
                judged,
            };
            let views = [
                view(name_one, one),
                view(name_two, two),
                view(name_three, three),
                view(name_four, four),
                view(name_five, five),
            ];
            renderer.record(&head(id, &[], line), &views, &mut out);
        }
        black_box(out.len())
    });
}

#[divan::bench]
fn narrow(bencher: Bencher<'_, '_>) {
    lines(bencher, &ResultsJsonl);
}

#[divan::bench]
fn wide(bencher: Bencher<'_, '_>) {
    lines(bencher, &WideJsonl::new(CHECKS));
}
