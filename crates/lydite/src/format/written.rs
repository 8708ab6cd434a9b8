//! One hand-made run, written in each format.

use super::*;
use crate::check::{Judged, OnMissing, decide};
use crate::evaluator::{Direction, Info, Origin, Warning};
use crate::fold::{BadRecord, CheckMeta, Fold, StoredFold};
use crate::outcome::{Cell, Code, Evidence, Explanation, Score, Verdict};
use crate::record::{Field, FieldSet};
use crate::report::{Report, ReportOptions, RunFacts, Stop};
use crate::results::{CellView, CheckResult, Lines, RecordHead};
use crate::suite::gate::Gate;

const INFO: Info = Info {
    models: &[],
    locals: &[],
    prompts: &[],
    id: "made_up",
    aliases: &[],
    origin: Origin::Field,
    reads: FieldSet::EMPTY,
    needs: FieldSet::EMPTY,
    principal: None,
    reference_alias: None,
    direction: Direction::Higher,
    range: (Some(0.0), Some(1.0)),
    natural_verdict: true,
    version: 1,
    warnings: &[Warning {
        code: "looked_odd",
        text: "looked odd",
    }],
    examples: &[],
};

static INFOS: [Info; 3] = [
    INFO,
    Info {
        direction: Direction::Lower,
        natural_verdict: false,
        ..INFO
    },
    Info {
        warnings: &[],
        ..INFO
    },
];

const CHECKS: [&str; 3] = [
    "right | \"fact\"",
    "distance",
    "kinder, <b>gentler</b> & überlang, sodass es den Rand erreicht",
];

fn metas() -> Vec<CheckMeta> {
    let meta = |(index, name): (usize, &&str)| CheckMeta {
        evaluator: "made_up".into(),
        direction: Some(INFOS[index].direction),
        range: INFO.range,
        threshold: (index == 2).then_some(0.5),
        warnings: INFOS[index].warnings,
        ..CheckMeta::named(*name)
    };
    CHECKS.iter().enumerate().map(meta).collect()
}

struct Record {
    head: RecordHead<'static>,
    cells: Vec<(usize, Judged)>,
}

fn scored(score: f64, natural: Option<Verdict>, flags: u16) -> Cell {
    Cell::Scored {
        score: Score::new(score),
        natural,
        flags,
    }
}

fn judged(cell: Cell, threshold: Option<f64>, reason: Option<&'static str>) -> Judged {
    let (verdict, natural) = decide(cell, Direction::Higher, threshold, false);
    let explanation =
        reason.map(|reason| Explanation::reason(reason).with(Evidence::span("output", 0, 3)));
    Judged {
        spent: None,
        cell,
        verdict,
        natural,
        explanation: explanation.map(Box::new),
    }
}

fn run() -> Vec<Record> {
    use Verdict::{Fail, Inconclusive, Partial, Pass};
    let head = |id, line| RecordHead {
        id,
        model: None,
        trial: 1,
        tags: &[],
        cluster: None,
        file: 0,
        line,
    };
    let odd = "expected \"30 days\",\ngot: =SUM(A1) | <script>alert('x')</script> ]]>\u{1b}[31m\u{0}\u{ffff} 🦀 @someone #12, \
               and then a good many words more, so that the line must be broken somewhere";
    vec![
        Record {
            head: RecordHead {
                tags: &["refund", "de"],
                ..head("case-1", 1)
            },
            cells: vec![
                (0, judged(scored(1.0, Some(Pass), 0), None, None)),
                (1, judged(scored(0.25, None, 0), None, None)),
                (
                    2,
                    judged(
                        scored(0.75, Some(Partial), 0),
                        Some(0.5),
                        Some("mostly kind"),
                    ),
                ),
            ],
        },
        Record {
            head: RecordHead {
                tags: &["refund"],
                ..head("case \"2\",\tодин 🦀\u{1}", 2)
            },
            cells: vec![
                (0, judged(scored(0.0, Some(Fail), 1), None, Some(odd))),
                (1, judged(scored(0.5, None, 0), None, None)),
                (
                    2,
                    judged(scored(0.25, Some(Partial), 0), Some(0.5), Some("rude")),
                ),
            ],
        },
        Record {
            head: head("case-3", 3),
            cells: vec![
                (
                    0,
                    judged(scored(0.5, Some(Partial), 0), None, Some("half of it")),
                ),
                (
                    1,
                    judged(Cell::Errored(Code::NotText(Field::Output)), None, None),
                ),
                (2, judged(Cell::Skipped(Code::WhenFalse), Some(0.5), None)),
            ],
        },
        Record {
            head: head("case-4", 4),
            cells: vec![
                (
                    0,
                    judged(
                        Cell::Scored {
                            score: None,
                            natural: Some(Inconclusive),
                            flags: 0,
                        },
                        None,
                        Some("can't be told"),
                    ),
                ),
                (1, judged(scored(0.125, None, 0), None, None)),
                (
                    2,
                    judged(
                        Cell::Errored(Code::MissingField(Field::Output)),
                        Some(0.5),
                        Some("the record has no `output`"),
                    ),
                ),
            ],
        },
        Record {
            head: RecordHead {
                model: Some("small"),
                trial: 2,
                cluster: Some("c,1"),
                ..head("case-4", 5)
            },
            cells: vec![(0, judged(scored(1.0, Some(Pass), 0), None, None))],
        },
    ]
}

fn views(record: &Record) -> Vec<CellView<'_>> {
    record
        .cells
        .iter()
        .map(|(index, judged)| CellView {
            check: CHECKS[*index],
            info: &INFOS[*index],
            judged,
        })
        .collect()
}

fn fold() -> Fold {
    let mut fold = Fold::new(metas(), 3);
    for Record { head, cells } in &run() {
        fold.record_read();
        for (index, judged) in cells {
            fold.push(*index, head, judged);
        }
        fold.record_done(
            cells
                .iter()
                .filter_map(|(_, judged)| judged.verdict)
                .reduce(Verdict::worst),
        );
    }
    fold.bad_record(BadRecord {
        file: 0,
        line: 6,
        column: 12,
        field: Some("trial".into()),
        message: "is no whole number: `\u{1b}one`".into(),
        hint: Some("number the trials 1, 2, 3".into()),
    });
    fold
}

fn options() -> ReportOptions {
    let run = RunFacts {
        suite: Some("support *bot*".into()),
        data: vec!["data/support.jsonl".into()],
        started_at: "2026-11-30T12:00:00Z".into(),
        finished_at: Some("2026-11-30T12:00:01Z".into()),
        ..RunFacts::default()
    };
    ReportOptions {
        run,
        ..ReportOptions::default()
    }
}

fn gates() -> Vec<Gate> {
    let gate = |text: &str| {
        Gate::parse(text, crate::node::Span::default(), &[])
            .unwrap()
            .0
    };
    [
        "\"right | \"fact\"\".pass_rate >= 0.9",
        "distance.median <= 0.3",
        "distance.pass_rate >= 50%",
        "distance.coverage >= 80%",
        "errors <= 30%",
    ]
    .into_iter()
    .map(|text| gate(&text.replace("\"right | \"fact\"\"", "'right | \"fact\"'")))
    .collect()
}

fn report() -> Report {
    let mut report = Report::build(fold(), &gates(), options());
    report.run.lydite = "0.0.0".into();
    report
}

/// A whole output, as a sink puts it together.
fn write(renderer: &dyn Renderer, report: &Report) -> String {
    let (mut before, mut body, mut after) = (Vec::new(), Vec::new(), Vec::new());
    for record in &run() {
        renderer.record(&record.head, &views(record), &mut body);
    }
    if renderer.needs_report_first() {
        renderer.prologue(report, &mut before);
    } else {
        renderer.header(&mut before);
    }
    renderer.footer(report, &mut after);
    String::from_utf8([before, body, after].concat()).unwrap()
}

/// The same from stored lines.
fn write_stored(renderer: &dyn Renderer, report: &Report) -> String {
    let mut out = Vec::new();
    if renderer.needs_report_first() {
        renderer.prologue(report, &mut out);
    } else {
        renderer.header(&mut out);
    }
    let records = run();
    for record in &records {
        let views = views(record);
        let lines: Vec<CheckResult<'_>> = views
            .iter()
            .map(|view| CheckResult::of(&record.head, view))
            .collect();
        renderer.lines(&lines, &mut out);
    }
    renderer.footer(report, &mut out);
    String::from_utf8(out).unwrap()
}

fn renderers() -> Vec<(&'static str, Box<dyn Renderer>)> {
    vec![
        ("results_jsonl", Box::new(ResultsJsonl)),
        ("wide_jsonl", Box::new(WideJsonl::new(CHECKS))),
        ("results_csv", Box::new(ResultsCsv)),
        (
            "wide_csv",
            Box::new(WideCsv::new(CHECKS.into_iter().take(2))),
        ),
        (
            "junit",
            Box::new(Junit::new(vec!["data/support.jsonl".into()])),
        ),
        ("langsmith", Box::new(LangSmith)),
        ("markdown", Box::new(Markdown)),
        ("text", Box::new(Text { color: false })),
        ("text_colored", Box::new(Text { color: true })),
        ("report_json", Box::new(ReportJson)),
    ]
}

#[test]
fn every_format() {
    let report = report();
    for (name, renderer) in renderers() {
        // Control characters are shown, so that the snapshots are plain text.
        let text = write(&*renderer, &report)
            .replace('\u{1b}', "␛")
            .replace("\r\n", "␍\n");
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn stored_lines_are_written_as_those_of_a_run() {
    let report = report();
    for (name, renderer) in renderers() {
        assert_eq!(
            write_stored(&*renderer, &report),
            write(&*renderer, &report),
            "{name}"
        );
    }
}

#[test]
fn a_report_made_from_stored_lines_has_the_same_figures() {
    let report = report();
    for (renderer, wide) in [
        (Box::new(ResultsJsonl) as Box<dyn Renderer>, false),
        (Box::new(WideJsonl::new(CHECKS)), true),
    ] {
        let text = write(&*renderer, &report);
        let mut stored = StoredFold::new(Fold::new(metas(), 3));
        let mut lines = Lines::new(text.as_bytes());
        while let Some(line) = lines.next_line() {
            stored.push(&line.unwrap());
        }
        let mut fold = stored.finish();
        fold.bad_record(BadRecord::default());
        let again = Report::build(fold, &gates(), options());
        assert_eq!(again.records, report.records);
        assert_eq!(again.gates, report.gates);
        assert_eq!(again.exit, report.exit);
        for (ours, theirs) in again.checks.iter().zip(&report.checks) {
            assert_eq!(
                (&ours.summary, &ours.by_tag),
                (&theirs.summary, &theirs.by_tag)
            );
            assert_eq!(ours.skip_reasons, theirs.skip_reasons);
            // Messages and warnings are left out of wide lines.
            if !wide {
                assert_eq!(
                    (&ours.errors, &ours.answer_warnings),
                    (&theirs.errors, &theirs.answer_warnings)
                );
                assert_eq!(ours.samples.len(), theirs.samples.len());
            }
        }
    }
}

#[test]
fn junits_counts_are_those_of_its_test_cases() {
    let report = report();
    let xml = write(&Junit::default(), &report);
    let parsed = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    let cases = || {
        parsed
            .test_suites
            .iter()
            .flat_map(|suite| &suite.test_cases)
    };
    let is = |wanted: quick_junit::NonSuccessKind| {
        cases()
            .filter(|case| matches!(&case.status, quick_junit::TestCaseStatus::NonSuccess { kind, .. } if *kind == wanted))
            .count()
    };
    assert_eq!(parsed.tests, cases().count());
    assert_eq!(parsed.failures, is(quick_junit::NonSuccessKind::Failure));
    assert_eq!(parsed.errors, is(quick_junit::NonSuccessKind::Error));
    let skipped = cases()
        .filter(|case| matches!(case.status, quick_junit::TestCaseStatus::Skipped { .. }))
        .count();
    assert_eq!(skipped, 1);
    for suite in &parsed.test_suites {
        assert_eq!(
            suite.tests,
            suite.test_cases.len(),
            "{}",
            suite.name.as_str()
        );
    }
}

#[test]
fn nothing_of_a_text_report_is_wider_than_80_columns_but_names() {
    let text = write(&Text { color: false }, &report());
    for line in text
        .lines()
        .filter(|line| !line.contains("case") && !line.contains("kinder"))
    {
        assert!(textwrap::core::display_width(line) <= 80, "{line}");
    }
}

#[test]
fn an_interrupted_run_says_what_it_left() {
    let mut options = options();
    options.run.stopped = Some(Stop::Interrupted);
    options.planned = Some(1_000);
    let report = Report::build(fold(), &gates(), options);
    let text = write(&Text { color: false }, &report);
    insta::assert_snapshot!("interrupted_text", text);
}

#[test]
fn a_good_run_is_short() {
    let mut fold = Fold::new([CheckMeta::named("right_fact")], 3);
    for line in 1..=4 {
        let head = RecordHead {
            id: "r",
            model: None,
            trial: 1,
            tags: &[],
            cluster: None,
            file: 0,
            line,
        };
        fold.record_read();
        fold.push(
            0,
            &head,
            &judged(scored(1.0, Some(Verdict::Pass), 0), None, None),
        );
        fold.record_done(Some(Verdict::Pass));
    }
    let gate = Gate::parse(
        "right_fact.pass_rate >= 90%",
        crate::node::Span::default(),
        &[],
    )
    .unwrap()
    .0;
    let report = Report::build(fold, &[gate], ReportOptions::default());
    assert_eq!(metas()[0].on_missing, OnMissing::Error);
    insta::assert_snapshot!("good_text", write(&Text { color: false }, &report));
}
