//! A fold made again from stored result lines, for `regrade`, `report` and merging shards.

use std::borrow::Cow;
use std::collections::HashMap;
use std::num::NonZeroU64;

use super::{CheckMeta, Fold, Told};
use crate::model::Usage;
use crate::outcome::Verdict;
use crate::results::{CheckResult, RecordHead, StoredLine, WideResult, answer, collapse_repeats};
use crate::stats::summary::Answer;

/// Takes result lines in record, check, repeat order, as a run writes them.
#[derive(Debug)]
pub struct StoredFold {
    fold: Fold,
    indices: HashMap<String, usize>,
    /// The lines of one answer and check, until a line of another one comes.
    repeats: Vec<CheckResult<'static>>,
    /// The worst verdict of the record whose lines are being read.
    worst: Option<Verdict>,
}

impl StoredFold {
    /// `fold` is an empty one, for the run's checks.
    pub fn new(fold: Fold) -> Self {
        let indices = fold
            .meta
            .iter()
            .enumerate()
            .map(|(index, meta)| (meta.name.clone(), index))
            .collect();
        Self {
            fold,
            indices,
            repeats: Vec::new(),
            worst: None,
        }
    }

    /// Adds a line, narrow or wide.
    pub fn push(&mut self, line: &StoredLine<'_>) {
        match line {
            StoredLine::Narrow(line) => self.push_narrow(line),
            StoredLine::Wide(line) => self.push_wide(line),
        }
    }

    pub fn push_narrow(&mut self, line: &CheckResult<'_>) {
        if let Some(last) = self.repeats.last() {
            let same_record = is_same_record(last, line);
            if !same_record || last.check != line.check {
                self.fold_repeats();
            }
            if !same_record {
                self.end_record();
            }
        }
        self.repeats.push(owned(line));
    }

    pub fn push_wide(&mut self, line: &WideResult<'_>) {
        self.flush();
        for cell in line.narrow() {
            self.fold_line(&cell);
        }
        self.end_record();
    }

    /// The fold of all lines. Bad records, which have no lines, are the caller's to add.
    pub fn finish(mut self) -> Fold {
        self.flush();
        self.fold
    }

    fn flush(&mut self) {
        if !self.repeats.is_empty() {
            self.fold_repeats();
            self.end_record();
        }
    }

    fn fold_repeats(&mut self) {
        if let Some(line) = collapse_repeats(&self.repeats) {
            self.fold_line(&line);
        }
        self.repeats.clear();
    }

    fn end_record(&mut self) {
        self.fold.record_read();
        self.fold.record_done(self.worst.take());
    }

    fn fold_line(&mut self, line: &CheckResult<'_>) {
        let tags: Vec<&str> = line.tags.iter().map(|tag| &**tag).collect();
        let head = RecordHead {
            id: &line.record,
            model: line.model.as_deref(),
            trial: line.trial,
            tags: &tags,
            cluster: line.cluster.as_deref(),
            file: line.file,
            line: line.line.map_or(0, NonZeroU64::get),
        };
        let told = StoredCell(line);
        match self.indices.get(&*line.check) {
            Some(&index) => self.fold.push_told(index, &head, &told),
            None => self.fold.push_named_told(
                &line.check,
                || CheckMeta::named(&*line.check),
                &head,
                &told,
            ),
        }
        self.worst = match (self.worst, line.verdict) {
            (Some(a), Some(b)) => Some(a.worst(b)),
            (a, b) => a.or(b),
        };
    }
}

struct StoredCell<'a>(&'a CheckResult<'a>);

impl Told for StoredCell<'_> {
    fn answer(&self) -> Answer {
        answer(self.0)
    }

    fn verdict(&self) -> Option<Verdict> {
        self.0.verdict
    }

    fn score(&self) -> Option<f64> {
        self.0.score
    }

    fn code(&self) -> &str {
        self.0
            .error
            .as_ref()
            .map(|error| &*error.code)
            .or(self.0.skipped.as_deref())
            .unwrap_or_default()
    }

    fn reason(&self) -> Option<Cow<'_, str>> {
        let error = self
            .0
            .error
            .as_ref()
            .map(|error| &*error.message)
            .filter(|message| !message.is_empty());
        error.or(self.0.reason.as_deref()).map(Cow::Borrowed)
    }

    fn spent(&self) -> Option<(Usage, bool)> {
        Some((self.0.usage?, self.0.cached))
    }

    fn each_warning(&self, mut count: impl FnMut(&str)) {
        self.0.warnings.iter().for_each(|code| count(code));
    }
}

fn is_same_record(a: &CheckResult<'_>, b: &CheckResult<'_>) -> bool {
    a.record == b.record && a.model == b.model && a.trial == b.trial
}

/// What the fold needs of a line.
fn owned(line: &CheckResult<'_>) -> CheckResult<'static> {
    fn text(text: &str) -> Cow<'static, str> {
        Cow::Owned(text.to_owned())
    }
    let texts = |list: &[Cow<'_, str>]| list.iter().map(|item| text(item)).collect();
    CheckResult {
        record: text(&line.record),
        model: line.model.as_deref().map(text),
        trial: line.trial,
        check: text(&line.check),
        repeat: line.repeat,
        verdict: line.verdict,
        natural: line.natural,
        score: line.score,
        reason: line.reason.as_deref().map(text),
        warnings: texts(&line.warnings),
        error: line
            .error
            .as_ref()
            .map(|error| crate::results::ResultError {
                code: text(&error.code),
                message: text(&error.message),
                retryable: error.retryable,
            }),
        skipped: line.skipped.as_deref().map(text),
        tags: texts(&line.tags),
        cluster: line.cluster.as_deref().map(text),
        file: line.file,
        line: line.line,
        ..CheckResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Report, ReportOptions};

    #[test]
    fn repeats_are_one_answer() {
        let line =
            |record: &'static str, check: &'static str, repeat, verdict, score| CheckResult {
                record: record.into(),
                trial: 1,
                check: check.into(),
                repeat,
                verdict: Some(verdict),
                score: Some(score),
                ..CheckResult::default()
            };
        let lines = [
            line("a", "judge", 1, Verdict::Pass, 1.0),
            line("a", "judge", 2, Verdict::Pass, 0.5),
            line("a", "judge", 3, Verdict::Fail, 0.0),
            line("a", "brought", 1, Verdict::Pass, 1.0),
            line("b", "judge", 1, Verdict::Pass, 1.0),
            line("b", "judge", 2, Verdict::Fail, 0.0),
            line("c", "judge", 1, Verdict::Fail, 0.0),
        ];
        let mut stored = StoredFold::new(Fold::new([CheckMeta::named("judge")], 9));
        for line in &lines {
            stored.push_narrow(line);
        }
        let report = Report::build(stored.finish(), &[], ReportOptions::default());
        let judge = &report.checks[0].summary;
        assert_eq!(
            (judge.n, judge.passed, judge.failed, judge.inconclusive),
            (3, 1, 1, 1)
        );
        assert!((judge.mean.unwrap().value - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(
            (
                report.checks[1].name.as_str(),
                report.checks[1].from_records
            ),
            ("brought", true)
        );
        let records = report.records;
        assert_eq!(
            (
                records.read,
                records.passed,
                records.failed,
                records.inconclusive
            ),
            (3, 1, 1, 1)
        );
        assert_eq!(report.checks[0].samples.len(), 2);
        assert_eq!(report.checks[0].samples[0].line, None);
    }
}
