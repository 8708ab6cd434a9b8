//! The fold of a run: what a report is made of, from cells that are pushed one after another.
//!
//! One fold is made for each block of records, side by side, and the parts are merged in the blocks'
//! order. However a run is cut, the parts merge to the same fold to the last bit.

mod bounded;
mod stored;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use self::bounded::{Bounded, Merge};
pub use self::bounded::{MAX_NAMES, OTHER};
pub use self::stored::StoredFold;
use crate::check::{Check, Judged, OnMissing};
use crate::evaluator::{Direction, Warning};
use crate::model::Usage;
use crate::outcome::{Cell, Verdict};
use crate::results::{RecordHead, Standard};
use crate::stats::CheckStats;
use crate::stats::clusters::{Case, DEFAULT_LIMIT};
use crate::stats::summary::Answer;

/// What a report says of a check beside its figures.
#[derive(Clone, Debug)]
pub struct CheckMeta {
    pub name: String,
    /// The evaluator's id; empty where it isn't known.
    pub evaluator: String,
    /// `None` where it isn't known.
    pub direction: Option<Direction>,
    /// Least and greatest score; `None` where there is no bound.
    pub range: (Option<f64>, Option<f64>),
    pub threshold: Option<f64>,
    pub negate: bool,
    pub on_missing: OnMissing,
    /// The warnings that a cell's flags stand for.
    pub warnings: &'static [Warning],
}

impl CheckMeta {
    /// A check of which only its name is known.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            evaluator: String::new(),
            direction: None,
            range: (None, None),
            threshold: None,
            negate: false,
            on_missing: OnMissing::Error,
            warnings: &[],
        }
    }

    /// What its verdicts are made by. A direction that isn't known counts as higher.
    pub fn standard(&self) -> Standard {
        Standard {
            direction: self.direction.unwrap_or(Direction::Higher),
            threshold: self.threshold,
            negate: self.negate,
            on_missing: self.on_missing,
        }
    }
}

impl From<&Check> for CheckMeta {
    fn from(check: &Check) -> Self {
        Self {
            name: check.name.clone(),
            evaluator: check.info.id.to_owned(),
            direction: Some(check.scale.direction),
            range: check.scale.range,
            threshold: check.threshold,
            negate: check.negate,
            on_missing: check.on_missing,
            warnings: check.info.warnings,
        }
    }
}

/// A record that could not be judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BadRecord {
    /// Index into the run's input files.
    pub file: u32,
    pub line: u64,
    pub column: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// So many bad records are kept with their place and cause; all are counted.
pub const MAX_BAD_RECORDS: usize = 20;

/// The fold of a run or of a part of it.
#[derive(Clone, Debug)]
pub struct Fold {
    meta: Arc<[CheckMeta]>,
    /// Non-passing cells that are kept for each check.
    samples: usize,
    records: Records,
    bad: u64,
    bad_records: Vec<BadRecord>,
    errored: u64,
    checks: Vec<CheckFold>,
    own: Bounded<OwnCheck>,
    tags: Bounded<TagFold>,
    cases: Cases,
    current: Current,
}

/// Records of a run, and their worst verdicts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Records {
    pub(crate) read: u64,
    pub(crate) judged: u64,
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) partial: u64,
    pub(crate) inconclusive: u64,
}

/// The record whose cells are being pushed.
#[derive(Clone, Debug, Default)]
struct Current {
    open: bool,
    case: u64,
    tags: Vec<usize>,
}

impl Fold {
    /// An empty fold for a suite's checks, in their order; it and those made from it serve one run.
    /// `samples`: how many non-passing cells are kept for each check.
    pub fn new(checks: impl IntoIterator<Item = CheckMeta>, samples: usize) -> Self {
        Self::empty(checks.into_iter().collect(), samples, Cases::default())
    }

    /// An empty fold of the same kind: what a block starts with.
    pub fn fresh(&self) -> Self {
        Self::empty(Arc::clone(&self.meta), self.samples, self.cases.fresh())
    }

    fn empty(meta: Arc<[CheckMeta]>, samples: usize, cases: Cases) -> Self {
        let checks = meta
            .iter()
            .map(|_| CheckFold::new(&cases, samples))
            .collect();
        Self {
            meta,
            samples,
            records: Records::default(),
            bad: 0,
            bad_records: Vec::new(),
            errored: 0,
            checks,
            own: Bounded::default(),
            tags: Bounded::default(),
            cases,
            current: Current::default(),
        }
    }

    /// Counts a record that was read.
    pub fn record_read(&mut self) {
        self.records.read += 1;
    }

    /// Counts records that were read and are in no line.
    pub fn more_records_read(&mut self, count: u64) {
        self.records.read += count;
    }

    /// Adds a cell of the suite's check at `index`.
    pub fn push(&mut self, index: usize, head: &RecordHead<'_>, judged: &Judged) {
        let warnings = self.meta.get(index).map_or(&[][..], |meta| meta.warnings);
        self.push_told(index, head, &LiveCell { judged, warnings });
    }

    /// Adds a cell of a check that the record brought.
    pub fn push_named(&mut self, check: &Check, head: &RecordHead<'_>, judged: &Judged) {
        let told = LiveCell {
            judged,
            warnings: check.info.warnings,
        };
        self.push_named_told(&check.name, || CheckMeta::from(check), head, &told);
    }

    /// Ends a record: its worst verdict, `None` where all of its cells only measure or were skipped.
    pub fn record_done(&mut self, worst: Option<Verdict>) {
        self.current.open = false;
        self.records.judged += 1;
        let count = match worst {
            Some(Verdict::Pass) => &mut self.records.passed,
            Some(Verdict::Fail) => &mut self.records.failed,
            Some(Verdict::Partial) => &mut self.records.partial,
            Some(Verdict::Inconclusive) => &mut self.records.inconclusive,
            None => return,
        };
        *count += 1;
    }

    /// Counts a record that could not be judged, and keeps the first [`MAX_BAD_RECORDS`].
    pub fn bad_record(&mut self, bad: BadRecord) {
        self.bad += 1;
        if self.bad_records.len() < MAX_BAD_RECORDS {
            self.bad_records.push(bad);
        }
    }

    /// Counts bad records beyond those that were given to [`bad_record`](Self::bad_record).
    pub fn more_bad_records(&mut self, count: u64) {
        self.bad += count;
    }

    /// Joins the fold of what comes after this part, of the same checks and options.
    pub fn merge(&mut self, mut later: Self) {
        self.agree_on_cases(&mut later);
        self.records.merge(later.records);
        self.bad += later.bad;
        self.bad_records.extend(later.bad_records);
        self.bad_records.truncate(MAX_BAD_RECORDS);
        self.errored += later.errored;
        for (ours, theirs) in self.checks.iter_mut().zip(later.checks) {
            ours.merge(theirs);
        }
        self.own.merge(later.own);
        self.tags.merge(later.tags);
        if self.cases.settle(self.records.judged) {
            self.forget_cases();
        }
        self.current = Current::default();
    }

    pub const fn records_read(&self) -> u64 {
        self.records.read
    }

    pub const fn bad_count(&self) -> u64 {
        self.bad
    }

    /// Errored cells of all checks.
    pub const fn errored(&self) -> u64 {
        self.errored
    }

    /// How many samples there are of the suite's check at `index`.
    pub fn samples_of(&self, index: usize) -> usize {
        self.checks
            .get(index)
            .map_or(0, |check| check.samples.len())
    }

    fn push_told(&mut self, index: usize, head: &RecordHead<'_>, told: &impl Told) {
        self.open(head);
        let case = Case {
            key: self.current.case,
            repeated: false,
        };
        let answer = told.answer();
        let Some(check) = self.checks.get_mut(index) else {
            return;
        };
        check.push(case, answer, head, told);
        self.errored += u64::from(answer == Answer::Errored);
        for &tag in &self.current.tags {
            if let Some(stats) = self.tags.get_mut(tag).and_then(|tag| tag.0.get_mut(index)) {
                stats.push(case, answer);
            }
        }
    }

    fn push_named_told(
        &mut self,
        name: &str,
        meta: impl FnOnce() -> CheckMeta,
        head: &RecordHead<'_>,
        told: &impl Told,
    ) {
        self.open(head);
        let case = Case {
            key: self.current.case,
            repeated: false,
        };
        let answer = told.answer();
        let (cases, samples) = (&self.cases, self.samples);
        let place = self.own.place(name, || OwnCheck {
            meta: meta(),
            fold: CheckFold::new(cases, samples),
            tags: Bounded::default(),
        });
        let Some(own) = self.own.get_mut(place) else {
            return;
        };
        own.fold.push(case, answer, head, told);
        self.errored += u64::from(answer == Answer::Errored);
        own.tags.trim();
        for (index, tag) in head.tags.iter().enumerate() {
            if head.tags.iter().take(index).any(|before| before == tag) {
                continue;
            }
            let place = own.tags.place(tag, || TagFold::new(1, cases));
            if let Some(stats) = own.tags.get_mut(place).and_then(|tag| tag.0.first_mut()) {
                stats.push(case, answer);
            }
        }
    }

    /// Settles what all cells of a record share, at its first cell.
    #[inline]
    fn open(&mut self, head: &RecordHead<'_>) {
        if !self.current.open {
            self.open_record(head);
        }
    }

    fn open_record(&mut self, head: &RecordHead<'_>) {
        self.current.open = true;
        self.cases.see(head);
        if self.cases.settle(self.records.judged) {
            self.forget_cases();
        }
        if !self.cases.independent {
            self.current.case = XxHash3_64::oneshot(head.cluster.unwrap_or(head.id).as_bytes());
        }
        self.own.trim();
        self.current.tags.clear();
        if head.tags.is_empty() {
            return;
        }
        self.tags.trim();
        for tag in head.tags {
            let place = self
                .tags
                .place(tag, || TagFold::new(self.meta.len(), &self.cases));
            if !self.current.tags.contains(&place) {
                self.current.tags.push(place);
            }
        }
    }

    /// Where one part takes the answers as independent, so does the other.
    fn agree_on_cases(&mut self, later: &mut Self) {
        match (self.cases.independent, later.cases.independent) {
            (true, false) => later.forget_cases(),
            (false, true) => self.forget_cases(),
            _ => {}
        }
        self.cases.merge(&later.cases);
    }

    fn forget_cases(&mut self) {
        self.all_stats().for_each(CheckStats::assume_independent);
    }

    fn all_stats(&mut self) -> impl Iterator<Item = &mut CheckStats> {
        let own = self.own.values_mut().flat_map(|own| {
            std::iter::once(&mut own.fold.stats)
                .chain(own.tags.values_mut().flat_map(|tag| &mut tag.0))
        });
        let tags = self.tags.values_mut().flat_map(|tag| &mut tag.0);
        self.checks
            .iter_mut()
            .map(|check| &mut check.stats)
            .chain(tags)
            .chain(own)
    }

    /// The parts of a report, a fold for each check: the suite's in their order, then those that
    /// records brought by name.
    pub(crate) fn finish(mut self) -> Finished {
        if self.cases.repeat {
            self.all_stats().for_each(CheckStats::expect_repeats);
        }
        let mut by_tag: Vec<Vec<(Arc<str>, CheckStats)>> =
            self.meta.iter().map(|_| Vec::new()).collect();
        for (name, tag) in self.tags.into_sorted() {
            for (stats, check) in tag.0.into_iter().zip(&mut by_tag) {
                check.push((Arc::clone(&name), stats));
            }
        }
        let suite = self.meta.iter().cloned().zip(self.checks).zip(by_tag);
        let mut checks: Vec<FinishedCheck> = suite
            .map(|((meta, fold), by_tag)| FinishedCheck {
                meta,
                own: false,
                fold,
                by_tag,
            })
            .collect();
        for (name, own) in self.own.into_sorted() {
            let meta = if *name == *own.meta.name {
                own.meta
            } else {
                CheckMeta::named(&*name)
            };
            let first = |(name, tag): (Arc<str>, TagFold)| {
                tag.0.into_iter().next().map(|stats| (name, stats))
            };
            let by_tag = own.tags.into_sorted().filter_map(first).collect();
            checks.push(FinishedCheck {
                meta,
                own: true,
                fold: own.fold,
                by_tag,
            });
        }
        Finished {
            records: self.records,
            bad: self.bad,
            bad_records: self.bad_records,
            checks,
            missed_repeats: self.cases.independent && self.cases.repeat,
        }
    }
}

/// A fold's parts.
pub(crate) struct Finished {
    pub(crate) records: Records,
    pub(crate) bad: u64,
    pub(crate) bad_records: Vec<BadRecord>,
    pub(crate) checks: Vec<FinishedCheck>,
    /// Cases repeat, but that was seen too late to have the intervals clustered.
    pub(crate) missed_repeats: bool,
}

/// A check's parts.
pub(crate) struct FinishedCheck {
    pub(crate) meta: CheckMeta,
    /// Records brought it.
    pub(crate) own: bool,
    pub(crate) fold: CheckFold,
    pub(crate) by_tag: Vec<(Arc<str>, CheckStats)>,
}

/// All that is folded of one check.
#[derive(Clone, Debug)]
pub(crate) struct CheckFold {
    pub(crate) stats: CheckStats,
    /// Answers that models were asked for, what that took, and those of them that a cache gave.
    pub(crate) asked: u64,
    pub(crate) usage: Usage,
    pub(crate) cached: u64,
    /// By code.
    pub(crate) errors: BTreeMap<String, ErrorFold>,
    /// On how many cells each warning stands, by code.
    pub(crate) warnings: BTreeMap<String, u64>,
    /// By reason.
    pub(crate) skips: BTreeMap<String, u64>,
    pub(crate) samples: Vec<Sample>,
    max_samples: usize,
}

/// The errors of one code.
#[derive(Clone, Debug)]
pub(crate) struct ErrorFold {
    pub(crate) count: u64,
    /// The message of the first.
    pub(crate) message: String,
    at: Place,
}

/// A cell that did not pass.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) record: String,
    pub(crate) model: Option<String>,
    pub(crate) trial: u32,
    pub(crate) at: Place,
    pub(crate) verdict: Verdict,
    pub(crate) score: Option<f64>,
    pub(crate) reason: Option<String>,
}

/// File and line of a record; line 0 where they aren't known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: u32,
    pub(crate) line: u64,
}

impl CheckFold {
    fn new(cases: &Cases, max_samples: usize) -> Self {
        Self {
            stats: cases.stats(),
            errors: BTreeMap::new(),
            asked: 0,
            usage: Usage::default(),
            cached: 0,
            warnings: BTreeMap::new(),
            skips: BTreeMap::new(),
            samples: Vec::new(),
            max_samples,
        }
    }

    #[inline]
    fn push(&mut self, case: Case, answer: Answer, head: &RecordHead<'_>, told: &impl Told) {
        self.stats.push(case, answer);
        if let Some((usage, cached)) = told.spent() {
            self.asked += 1;
            self.usage.add(&usage);
            self.cached += u64::from(cached);
        }
        match answer {
            Answer::Judged { .. } => told.each_warning(|code| add_one(&mut self.warnings, code)),
            Answer::Skipped => add_one(&mut self.skips, told.code()),
            Answer::Errored => self.push_error(head, told),
        }
        if let Some(verdict @ (Verdict::Fail | Verdict::Partial | Verdict::Inconclusive)) =
            told.verdict()
            && self.samples.len() < self.max_samples
        {
            self.samples.push(Sample::new(verdict, head, told));
        }
    }

    fn push_error(&mut self, head: &RecordHead<'_>, told: &impl Told) {
        if let Some(error) = self.errors.get_mut(told.code()) {
            error.count += 1;
            return;
        }
        let message = told.reason().map(cut).unwrap_or_default();
        self.errors.insert(
            told.code().to_owned(),
            ErrorFold {
                count: 1,
                message,
                at: Place::of(head),
            },
        );
    }
}

impl Merge for CheckFold {
    fn merge(&mut self, later: Self) {
        self.stats.merge(&later.stats);
        self.asked += later.asked;
        self.usage.add(&later.usage);
        self.cached += later.cached;
        for (code, theirs) in later.errors {
            match self.errors.get_mut(&code) {
                Some(ours) => ours.merge(theirs),
                None => {
                    self.errors.insert(code, theirs);
                }
            }
        }
        for (ours, theirs) in [
            (&mut self.warnings, later.warnings),
            (&mut self.skips, later.skips),
        ] {
            for (code, count) in theirs {
                *ours.entry(code).or_default() += count;
            }
        }
        if !later.samples.is_empty() {
            self.samples.extend(later.samples);
            // In order already, unless the parts are two checks that become one.
            self.samples.sort_by_key(|sample| sample.at);
            self.samples.truncate(self.max_samples);
        }
    }
}

impl Merge for ErrorFold {
    fn merge(&mut self, later: Self) {
        self.count += later.count;
        if later.at < self.at {
            (self.message, self.at) = (later.message, later.at);
        }
    }
}

impl Sample {
    fn new(verdict: Verdict, head: &RecordHead<'_>, told: &impl Told) -> Self {
        Self {
            record: head.id.to_owned(),
            model: head.model.map(str::to_owned),
            trial: head.trial,
            at: Place::of(head),
            verdict,
            score: told.score(),
            reason: told.reason().map(cut),
        }
    }
}

impl Place {
    const fn of(head: &RecordHead<'_>) -> Self {
        Self {
            file: head.file,
            line: head.line,
        }
    }
}

/// A check that records brought.
#[derive(Clone, Debug)]
struct OwnCheck {
    meta: CheckMeta,
    fold: CheckFold,
    tags: Bounded<TagFold>,
}

impl Merge for OwnCheck {
    fn merge(&mut self, later: Self) {
        self.fold.merge(later.fold);
        self.tags.merge(later.tags);
    }
}

/// The answers that bear one tag, for each check.
#[derive(Clone, Debug)]
struct TagFold(Vec<CheckStats>);

impl TagFold {
    fn new(checks: usize, cases: &Cases) -> Self {
        Self((0..checks).map(|_| cases.stats()).collect())
    }
}

impl Merge for TagFold {
    fn merge(&mut self, later: Self) {
        self.0
            .iter_mut()
            .zip(&later.0)
            .for_each(|(ours, theirs)| ours.merge(theirs));
    }
}

impl Records {
    fn merge(&mut self, later: Self) {
        self.read += later.read;
        self.judged += later.judged;
        self.passed += later.passed;
        self.failed += later.failed;
        self.partial += later.partial;
        self.inconclusive += later.inconclusive;
    }
}

/// Whether cases have several answers, so that intervals must be clustered by case.
///
/// That is seen from the records: a second trial, a `cluster`, a second model. Until then scores are
/// noted by case; once [`DEFAULT_LIMIT`] records came without it, answers are taken to be
/// independent, and all parts of the run stop to note them.
#[derive(Clone, Debug)]
struct Cases {
    repeat: bool,
    models: Models,
    independent: bool,
    /// What the parts of a run share: that the answers are independent. It saves them work and
    /// changes no figure, as a part is merged into one that knows it already.
    decided: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Models {
    NoneSeen,
    /// By hash; 0 where a record names none.
    One(u64),
    Several,
}

impl Cases {
    fn fresh(&self) -> Self {
        let independent = self.decided.load(Ordering::Relaxed);
        Self {
            independent,
            decided: Arc::clone(&self.decided),
            ..Self::default()
        }
    }

    fn see(&mut self, head: &RecordHead<'_>) {
        if self.repeat {
            return;
        }
        let model = head
            .model
            .map_or(0, |model| XxHash3_64::oneshot(model.as_bytes()));
        self.models = self.models.and(Models::One(model));
        self.repeat = head.trial > 1 || head.cluster.is_some() || self.models == Models::Several;
    }

    fn merge(&mut self, later: &Self) {
        self.models = self.models.and(later.models);
        self.repeat |= later.repeat || self.models == Models::Several;
        self.independent |= later.independent;
    }

    /// Whether what is kept by case can go.
    fn settle(&mut self, judged: u64) -> bool {
        if !self.independent && !self.repeat && judged >= DEFAULT_LIMIT as u64 {
            self.independent = true;
            self.decided.store(true, Ordering::Relaxed);
            return true;
        }
        false
    }

    fn stats(&self) -> CheckStats {
        let mut stats = CheckStats::new(usize::MAX);
        if self.independent {
            stats.assume_independent();
        }
        stats
    }
}

impl Default for Cases {
    fn default() -> Self {
        Self {
            repeat: false,
            models: Models::NoneSeen,
            independent: false,
            decided: Arc::default(),
        }
    }
}

impl Models {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::NoneSeen, models) | (models, Self::NoneSeen) => models,
            (one, other) if one == other => one,
            _ => Self::Several,
        }
    }
}

/// A cell as the fold sees it, just judged or read from a stored line.
trait Told {
    fn answer(&self) -> Answer;
    fn verdict(&self) -> Option<Verdict>;
    fn score(&self) -> Option<f64>;
    /// Why it was skipped or errored; else empty.
    fn code(&self) -> &str;
    fn reason(&self) -> Option<Cow<'_, str>>;
    /// What models were asked for it, and whether a cache answered all.
    fn spent(&self) -> Option<(Usage, bool)>;
    fn each_warning(&self, count: impl FnMut(&str));
}

struct LiveCell<'a> {
    judged: &'a Judged,
    warnings: &'static [Warning],
}

impl Told for LiveCell<'_> {
    #[inline]
    fn answer(&self) -> Answer {
        self.judged.answer()
    }

    fn verdict(&self) -> Option<Verdict> {
        self.judged.verdict
    }

    fn score(&self) -> Option<f64> {
        self.judged.cell.score()
    }

    fn code(&self) -> &str {
        match self.judged.cell {
            Cell::Scored { .. } => "",
            Cell::Skipped(code) | Cell::Errored(code) => code.as_str(),
        }
    }

    fn reason(&self) -> Option<Cow<'_, str>> {
        let told = self
            .judged
            .explanation
            .as_ref()
            .and_then(|explanation| explanation.reason.as_deref());
        match (told, self.judged.cell) {
            (Some(reason), _) => Some(reason.into()),
            (None, Cell::Errored(code) | Cell::Skipped(code)) => Some(code.message()),
            (None, Cell::Scored { .. }) => None,
        }
    }

    #[inline]
    fn spent(&self) -> Option<(Usage, bool)> {
        let spent = self.judged.spent.as_ref()?;
        Some((spent.usage, spent.cached))
    }

    #[inline]
    fn each_warning(&self, count: impl FnMut(&str)) {
        let Cell::Scored { flags, .. } = self.judged.cell else {
            return;
        };
        if flags == 0 {
            return;
        }
        crate::results::warnings(self.warnings, flags).for_each(count);
    }
}

/// Reasons are cut to so many characters: a report is no copy of the data.
const MAX_REASON: usize = 1_000;

fn cut(reason: Cow<'_, str>) -> String {
    match reason.char_indices().nth(MAX_REASON) {
        None => reason.into_owned(),
        Some((end, _)) => reason.get(..end).unwrap_or_default().to_owned() + "…",
    }
}

fn add_one(counts: &mut BTreeMap<String, u64>, key: &str) {
    match counts.get_mut(key) {
        Some(count) => *count += 1,
        None => {
            counts.insert(key.to_owned(), 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::outcome::{Code, Explanation, Score};
    use crate::record::Field;
    use crate::report::{Report, ReportOptions};
    use crate::stats::summary::Warning as StatsWarning;

    static WARNINGS: [Warning; 2] = [
        Warning {
            code: "one",
            text: "one",
        },
        Warning {
            code: "two",
            text: "two",
        },
    ];

    const SUITE: [&str; 2] = ["first", "second"];

    fn empty() -> Fold {
        Fold::new(
            SUITE.map(|name| CheckMeta {
                warnings: &WARNINGS,
                ..CheckMeta::named(name)
            }),
            2,
        )
    }

    #[derive(Clone, Debug)]
    enum Event {
        Bad,
        Record {
            id: u8,
            model: Option<bool>,
            trial: u32,
            tags: Vec<&'static str>,
            cluster: Option<bool>,
            cells: Vec<(usize, Judged)>,
        },
    }

    /// The names of checks that records bring, and of the suite's.
    const NAMES: [&str; 4] = ["first", "second", "own", "another"];

    fn cells() -> impl Strategy<Value = Judged> {
        let verdict = prop::sample::select(vec![
            None,
            Some(Verdict::Pass),
            Some(Verdict::Fail),
            Some(Verdict::Partial),
            Some(Verdict::Inconclusive),
        ]);
        let score = prop::option::weighted(0.9, prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]);
        let scored = (score, verdict, 0_u16..4, prop::option::of("[a-z]{1,3}")).prop_map(
            |(score, verdict, flags, reason)| {
                let cell = Cell::Scored {
                    score: score.and_then(Score::new),
                    natural: verdict,
                    flags,
                };
                Judged {
                    spent: None,
                    cell,
                    verdict,
                    natural: None,
                    explanation: reason.map(Explanation::reason).map(Box::new),
                }
            },
        );
        let other = |cell, verdict| {
            Just(Judged {
                spent: None,
                cell,
                verdict,
                natural: None,
                explanation: None,
            })
        };
        let incon = Some(Verdict::Inconclusive);
        prop_oneof![
            8 => scored,
            1 => other(Cell::Skipped(Code::WhenFalse), None),
            1 => other(Cell::Errored(Code::MissingField(Field::Output)), incon),
            1 => other(Cell::Errored(Code::NotText(Field::Output)), incon),
        ]
    }

    fn events() -> impl Strategy<Value = Vec<Event>> {
        let record = (
            0_u8..12,
            prop::option::weighted(0.1, any::<bool>()),
            prop_oneof![9 => Just(1_u32), 1 => 2_u32..4],
            prop::collection::vec(prop::sample::select(vec!["de", "en", "long"]), 0..3),
            prop::option::weighted(0.1, any::<bool>()),
            prop::collection::vec((0..NAMES.len(), cells()), 0..4),
        );
        let record = record.prop_map(|(id, model, trial, tags, cluster, cells)| Event::Record {
            id,
            model,
            trial,
            tags,
            cluster,
            cells,
        });
        prop::collection::vec(prop_oneof![9 => record, 1 => Just(Event::Bad)], 0..60)
    }

    fn fold(mut fold: Fold, events: &[Event], first_line: usize) -> Fold {
        for (index, event) in events.iter().enumerate() {
            let line = (first_line + index + 1) as u64;
            match event {
                Event::Bad => fold.bad_record(BadRecord {
                    line,
                    ..BadRecord::default()
                }),
                Event::Record {
                    id,
                    model,
                    trial,
                    tags,
                    cluster,
                    cells,
                } => {
                    let id = id.to_string();
                    let head = RecordHead {
                        id: &id,
                        model: model.map(|one| if one { "one" } else { "two" }),
                        trial: *trial,
                        tags,
                        cluster: cluster.map(|one| if one { "one" } else { "two" }),
                        file: 0,
                        line,
                    };
                    fold.record_read();
                    for (name, judged) in cells {
                        if *name < SUITE.len() {
                            fold.push(*name, &head, judged);
                        } else {
                            let told = LiveCell {
                                judged,
                                warnings: &WARNINGS,
                            };
                            fold.push_named_told(
                                NAMES[*name],
                                || CheckMeta::named(NAMES[*name]),
                                &head,
                                &told,
                            );
                        }
                    }
                    fold.record_done(
                        cells
                            .iter()
                            .filter_map(|(_, judged)| judged.verdict)
                            .reduce(Verdict::worst),
                    );
                }
            }
        }
        fold
    }

    fn report(fold: Fold) -> String {
        serde_json::to_string_pretty(&Report::build(fold, &[], ReportOptions::default())).unwrap()
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_whole(events in events(), cuts in prop::collection::vec(0_usize..60, 0..5)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(events.len())).chain([0, events.len()]).collect();
            cuts.sort_unstable();
            let mut merged = empty();
            for part in cuts.windows(2) {
                merged.merge(fold(merged.fresh(), &events[part[0]..part[1]], part[0]));
            }
            prop_assert_eq!(report(merged), report(fold(empty(), &events, 0)));
        }
    }

    fn passed(fold: &mut Fold, id: &str, trial: u32, tags: &[&str], line: u64) {
        let head = RecordHead {
            id,
            model: None,
            trial,
            tags,
            cluster: None,
            file: 0,
            line,
        };
        let cell = Cell::binary(true);
        let verdict = Some(Verdict::Pass);
        fold.push(
            0,
            &head,
            &Judged {
                spent: None,
                cell,
                verdict,
                natural: None,
                explanation: None,
            },
        );
        fold.record_done(verdict);
    }

    #[test]
    fn past_a_thousand_tags_the_others_are_one() {
        let mut fold = empty();
        for n in 0..3_000_u64 {
            passed(
                &mut fold,
                &n.to_string(),
                1,
                &[&format!("{:04}", n % 1_500), "all", "all"],
                n,
            );
        }
        let report = Report::build(fold, &[], ReportOptions::default());
        let tags = &report.checks[0].by_tag;
        assert_eq!(tags.len(), MAX_NAMES + 1);
        assert_eq!(
            (tags["0000"].n, tags["0999"].n, tags[OTHER].n),
            (2, 2, 1_000 + 3_000)
        );
        assert!(
            report.checks[1].by_tag.is_empty(),
            "a check without answers has no tags"
        );
    }

    #[test]
    fn past_a_thousand_names_the_other_checks_are_one() {
        let mut fold = empty();
        let head = RecordHead {
            id: "r",
            model: None,
            trial: 1,
            tags: &["t"],
            cluster: None,
            file: 0,
            line: 1,
        };
        let judged = Judged {
            spent: None,
            cell: Cell::binary(false),
            verdict: Some(Verdict::Fail),
            natural: None,
            explanation: None,
        };
        for n in 0..1_200 {
            let name = format!("own {n:04}");
            let told = LiveCell {
                judged: &judged,
                warnings: &[],
            };
            fold.push_named_told(
                &name,
                || CheckMeta {
                    evaluator: "equals".into(),
                    ..CheckMeta::named(&*name)
                },
                &head,
                &told,
            );
            fold.record_done(judged.verdict);
        }
        let report = Report::build(fold, &[], ReportOptions::default());
        assert_eq!(report.checks.len(), SUITE.len() + MAX_NAMES + 1);
        let other = report.check(OTHER).unwrap();
        assert_eq!(
            (
                other.summary.n,
                other.samples.len(),
                other.evaluator.as_str()
            ),
            (200, 2, "")
        );
        assert_eq!((other.by_tag["t"].n, other.from_records), (200, true));
        assert_eq!(report.check("own 0999").unwrap().evaluator, "equals");
    }

    #[test]
    fn a_second_trial_clusters_the_intervals_unless_it_comes_too_late() {
        let limit = DEFAULT_LIMIT as u64;
        // Where the only repeat is, and whether intervals are clustered.
        for (repeat, clustered) in [(1_000, true), (limit + 4_000, false)] {
            let mut merged = empty();
            let mut part = merged.fresh();
            for n in 0..limit + 5_000 {
                let (id, trial) = if n == repeat { (n - 1, 2) } else { (n, 1) };
                passed(&mut part, &id.to_string(), trial, &["t"], n);
                if n % 10_000 == 9_999 {
                    let fresh = merged.fresh();
                    merged.merge(std::mem::replace(&mut part, fresh));
                }
            }
            merged.merge(part);
            let report = Report::build(merged, &[], ReportOptions::default());
            for summary in [&report.checks[0].summary, &report.checks[0].by_tag["t"]] {
                assert_eq!(summary.mean.unwrap().clusters.is_some(), clustered);
                assert_eq!(
                    summary.warnings.contains(&StatsWarning::NotClustered),
                    !clustered
                );
            }
        }
    }

    #[test]
    fn the_first_samples_and_messages_are_kept() {
        let mut fold = empty();
        for line in 1..=5 {
            let head = RecordHead {
                id: "r",
                model: Some("m"),
                trial: 1,
                tags: &[],
                cluster: None,
                file: 3,
                line,
            };
            let cell = Cell::Errored(Code::NotText(Field::Output));
            let explanation = Some(Box::new(Explanation::reason(format!(
                "{line}{}",
                "é".repeat(2_000)
            ))));
            let judged = Judged {
                spent: None,
                cell,
                verdict: Some(Verdict::Inconclusive),
                natural: None,
                explanation,
            };
            fold.push(1, &head, &judged);
            fold.record_done(judged.verdict);
        }
        assert_eq!(
            (fold.samples_of(0), fold.samples_of(1), fold.errored()),
            (0, 2, 5)
        );
        let finished = fold.finish();
        let check = &finished.checks[1].fold;
        let lines: Vec<u64> = check.samples.iter().map(|sample| sample.at.line).collect();
        assert_eq!(lines, [1, 2]);
        let error = &check.errors["not_text"];
        assert_eq!(
            (error.count, error.message.chars().count()),
            (5, MAX_REASON + 1)
        );
        assert!(error.message.starts_with("1é") && error.message.ends_with('…'));
    }
}
