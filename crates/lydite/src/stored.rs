//! Runs on disk, read again: `report`, merging shards, `regrade`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use crate::check::{Check, OnMissing};
use crate::fold::{CheckMeta, Fold, StoredFold};
use crate::format::OutputContext;
use crate::job::{JobError, Output, OutputSet, Request, Until};
use crate::model::{ModelTotals, SessionOptions};
use crate::report::{Report, ReportOptions, RunFacts, Stop};
use crate::results::{CheckResult, Lines, Standard, StoredLine, regrade};
use crate::run_folder::{CheckFacts, Manifest, RunFolder};
use crate::suite::Suite;
use crate::suite::gate::Allowance;

/// Calls `each` with the lines of one record after another, wide ones as narrow.
pub fn for_each_record<E: From<String>>(
    reader: impl BufRead,
    mut each: impl FnMut(&mut Vec<CheckResult<'static>>) -> Result<(), E>,
) -> Result<(), E> {
    let mut lines = Lines::new(reader);
    let mut record: Vec<CheckResult<'static>> = Vec::new();
    while let Some(line) = lines.next_line() {
        let cells: Vec<CheckResult<'static>> = match line.map_err(|error| error.to_string())? {
            StoredLine::Narrow(line) => vec![line.into_owned()],
            StoredLine::Wide(line) => line.narrow().map(CheckResult::into_owned).collect(),
        };
        let is_next = match (record.last(), cells.first()) {
            (Some(last), Some(first)) => {
                (&last.record, &last.model, last.trial)
                    != (&first.record, &first.model, first.trial)
            }
            _ => false,
        };
        if is_next {
            each(&mut record)?;
            record.clear();
        }
        record.extend(cells);
    }
    if record.is_empty() {
        Ok(())
    } else {
        each(&mut record)
    }
}

/// Makes the report of stored runs again: one run, or the shards of one. With `suite` its thresholds, `not`
/// and gates hold in place of those of the run, and so does `max_errors` where it is given.
pub fn report(
    runs: &[RunFolder],
    suite: &Suite,
    max_errors: Option<Allowance>,
    outputs: Vec<Output>,
) -> Result<Report, JobError> {
    let manifests = runs
        .iter()
        .map(RunFolder::manifest)
        .collect::<Result<Vec<_>, _>>()?;
    let Some(first) = manifests.first() else {
        return Err(JobError::Usage("no run was named".into()));
    };
    let max_errors = max_errors.or_else(|| {
        first
            .max_errors
            .as_deref()
            .and_then(|allowed| allowed.parse().ok())
    });
    let missing = check_shards(&manifests)?;
    let standards = standards(first, suite)?;
    let names: Vec<&str> = suite
        .checks
        .iter()
        .map(|check| check.name.as_str())
        .collect();
    let files: Vec<String> = first.data.iter().map(|data| data.path.clone()).collect();
    let cx = OutputContext {
        files: &files,
        checks: &names,
        wide: first.options.wide,
    };
    let mut outputs = OutputSet::new(outputs, &cx);
    let mut fold = Fold::new(suite.checks.iter().map(CheckMeta::from), SAMPLES);
    for run in runs {
        let mut stored = StoredFold::new(fold.fresh());
        let checkpoint = run.checkpoint()?;
        for_each_record(run.results_until(checkpoint.results_bytes)?, |record| {
            for line in record.iter_mut() {
                if let Some((was, now)) = standards.get(&*line.check) {
                    regrade(line, was, now);
                }
                stored.push_narrow(line);
            }
            outputs.stored(record)
        })?;
        fold.merge(stored.finish());
    }
    let mut seen = BTreeSet::new();
    let mut read = 0;
    let mut stopped: Option<Stop> = None;
    let mut stopped_because = None;
    let mut models = Vec::new();
    for run in runs {
        for bad in run.bad_records()? {
            if seen.insert((bad.file, bad.line, bad.column)) {
                fold.bad_record(bad);
            }
        }
        match run.report() {
            Ok(report) => {
                read = read.max(report.records.read);
                stopped = stopped.or(report.run.stopped);
                stopped_because = stopped_because.or(report.run.stopped_because);
                add_totals(&mut models, report.models);
            }
            Err(_) => stopped = Some(Stop::Interrupted),
        }
    }
    fold.more_records_read(read.saturating_sub(fold.records_read()));
    let options = ReportOptions {
        run: RunFacts {
            stopped_because,
            ..facts(&manifests, stopped, missing)
        },
        max_errors,
        planned: None,
        other_shards: 0,
        models,
    };
    let report = Report::build(fold, &suite.gates, options);
    outputs.end(&report)?;
    Ok(report)
}

/// Where a run ended before its data did.
fn until(run: &RunFolder) -> Result<Option<Until>, JobError> {
    let report = run.report().ok();
    let stopped = match &report {
        Some(report) => report.run.stopped,
        None => Some(Stop::Interrupted),
    };
    if stopped.is_none() {
        return Ok(None);
    }
    Ok(Some(Until {
        blocks: run.checkpoint()?.blocks,
        stopped,
        because: report.and_then(|report| report.run.stopped_because),
    }))
}

/// What repeats a run from its kept calls and records: nothing is sent, no run is kept.
pub fn replay_request(run: &RunFolder) -> Result<Request, JobError> {
    let manifest = run.manifest()?;
    let facts = manifest.suite.unwrap_or_default();
    let copy = |index: usize| run.path().join("records").join(format!("{index}.zst"));
    let data = manifest.data.iter().enumerate().map(|(index, data)| {
        let kept = copy(index);
        if kept.is_file() {
            kept.to_string_lossy().into_owned()
        } else {
            data.path.clone()
        }
    });
    let options = manifest.options;
    Ok(Request {
        data: data.collect(),
        data_names: manifest.data.iter().map(|data| data.path.clone()).collect(),
        suite: facts
            .path
            .map(|path| Ok::<_, JobError>((run.suite()?, path.into())))
            .transpose()?,
        checks: facts.added,
        condition: options.r#where,
        limit: options.limit,
        sample: options.sample,
        seed: options.seed,
        shard: options.shard.as_deref().and_then(parse_shard),
        max_errors: manifest.max_errors.and_then(|allowed| allowed.parse().ok()),
        wide: options.wide,
        threads: 1,
        samples: SAMPLES,
        models: SessionOptions {
            calls: Some(run.path().join("calls.jsonl")),
            replay: true,
            ..SessionOptions::default()
        },
        repeat: options.repeat,
        until: until(run)?,
        trials: options.trials,
        ..Request::default()
    })
}

/// Adds what one run asked of models to what others did.
fn add_totals(all: &mut Vec<ModelTotals>, more: Vec<ModelTotals>) {
    for totals in more {
        match all.iter_mut().find(|known| known.model == totals.model) {
            Some(known) => known.add(&totals),
            None => all.push(totals),
        }
    }
}

/// Non-passing answers that a report shows, a check.
pub const SAMPLES: usize = 3;

fn facts(manifests: &[Manifest], stopped: Option<Stop>, missing: Option<String>) -> RunFacts {
    let first = manifests.first().cloned().unwrap_or_default();
    RunFacts {
        lydite: first.lydite,
        suite: first.suite.and_then(|suite| suite.name),
        data: first.data.into_iter().map(|data| data.path).collect(),
        stopped_because: None,
        started_at: manifests
            .iter()
            .map(|manifest| manifest.started_at.clone())
            .min()
            .unwrap_or_default(),
        finished_at: manifests
            .iter()
            .filter_map(|manifest| manifest.finished_at.clone())
            .max(),
        stopped,
        shard: missing,
    }
}

/// Refuses runs that are not the shards of one; says which shards are not among them.
fn check_shards(manifests: &[Manifest]) -> Result<Option<String>, JobError> {
    let Some((first, others)) = manifests.split_first() else {
        return Ok(None);
    };
    let hash = |manifest: &Manifest| manifest.suite.as_ref().map(|suite| suite.hash.clone());
    let mut shards: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for manifest in manifests {
        if let Some((k, n)) = manifest.options.shard.as_deref().and_then(parse_shard)
            && !shards.entry(n).or_default().insert(k)
        {
            return Err(JobError::Usage(format!("shard {k}/{n} is named twice")));
        }
    }
    if !others.is_empty() {
        if let Some(other) = others.iter().find(|other| hash(other) != hash(first)) {
            return Err(JobError::Usage(format!(
                "runs {} and {} are of different suites",
                first.id, other.id
            )));
        }
        if let Some(whole) = manifests
            .iter()
            .find(|manifest| manifest.options.shard.is_none())
        {
            return Err(JobError::Usage(format!(
                "run {} is no shard, so it can't be merged; to compare runs see `lydite compare`",
                whole.id
            )));
        }
        if shards.len() > 1 {
            return Err(JobError::Usage(
                "the shards are cut differently; name shards with one `n`".into(),
            ));
        }
    }
    let missing = shards.iter().next().map(|(n, have)| {
        let missing: Vec<String> = (1..=*n)
            .filter(|k| !have.contains(k))
            .map(|k| format!("{k}/{n}"))
            .collect();
        missing
    });
    Ok(missing.filter(|missing| !missing.is_empty()).map(|_| {
        let have: Vec<String> = shards
            .iter()
            .flat_map(|(n, have)| have.iter().map(move |k| format!("{k}/{n}")))
            .collect();
        have.join(", ")
    }))
}

/// `k/n` with k from 1 to n.
pub fn parse_shard(text: &str) -> Option<(u32, u32)> {
    let (k, n) = text.split_once('/')?;
    let (k, n) = (k.trim().parse().ok()?, n.trim().parse().ok()?);
    (k >= 1 && k <= n).then_some((k, n))
}

/// By check: what its verdicts were made by, and what they are made by now.
fn standards(
    manifest: &Manifest,
    suite: &Suite,
) -> Result<BTreeMap<String, (Standard, Standard)>, JobError> {
    let mut standards = BTreeMap::new();
    for was in &manifest.checks {
        let Some(now) = suite.checks.iter().find(|check| check.name == was.name) else {
            return Err(JobError::Usage(format!(
                "the suite has no check `{}` any more; run it anew",
                was.name
            )));
        };
        if was.evaluator != now.info.id
            || was.params != now.params.to_json()
            || was.evaluator_version != now.info.version
        {
            return Err(JobError::Usage(format!(
                "the check `{}` changed more than its threshold or `not`; run it anew",
                was.name
            )));
        }
        standards.insert(
            was.name.clone(),
            (standard(was, now), CheckMeta::from(now).standard()),
        );
    }
    if let Some(new) = suite
        .checks
        .iter()
        .find(|check| !standards.contains_key(&check.name))
    {
        return Err(JobError::Usage(format!(
            "the check `{}` was not in the run; run it anew",
            new.name
        )));
    }
    Ok(standards)
}

fn standard(was: &CheckFacts, now: &Check) -> Standard {
    Standard {
        direction: was.direction.unwrap_or(now.info.direction),
        threshold: was.threshold,
        negate: was.not,
        on_missing: was.on_missing.unwrap_or(OnMissing::Error),
    }
}
