//! A whole run over files: suite, data, selection, outputs and the run's folder.
//!
//! Everything that can be checked is checked before anything is judged or written. Nothing is
//! printed: what is to be said comes back as notes.

mod inputs;
mod making;
mod writer;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use twox_hash::{XxHash3_64, XxHash3_128};

use self::inputs::{Inputs, block_size};
pub use self::writer::Output;
pub(crate) use self::writer::OutputSet;
use self::writer::Writer;
use crate::check::{Check, OnMissing};
use crate::decode::{Mapping, MappingError, Survey, Wanted};
use crate::evaluator::Registry;
use crate::fold::{BadRecord, CheckMeta, Fold};
use crate::format::{InputError, OutputContext, Renderer};
use crate::identity::IDENTITY;
use crate::model::{
    ModelError, ModelErrorKind, ModelHost, ModelSession, ModelTotals, SessionOptions,
};
use crate::record::Field;
use crate::report::{Report, ReportOptions, RunFacts, Stop};
use crate::run_folder::{
    CheckFacts, Checkpoint, DataFacts, FolderError, Manifest, RUN_VERSION, RunFolder, RunOptions,
    SuiteFacts,
};
use crate::runner::{self, Plan, Progress, RunEnd, RunError, Selection};
use crate::suite::gate::Allowance;
use crate::suite::{Suite, SuiteBuilder, SuiteErrors, own};

/// What is to be run.
#[derive(Debug, Default)]
pub struct Request {
    /// The suite's text and path.
    pub suite: Option<(String, PathBuf)>,
    /// Checks beside the suite's, as YAML: `id` or `id: {…}`.
    pub checks: Vec<String>,
    /// Input files in place of the suite's; `-` is the standard input.
    pub data: Vec<String>,
    /// What `data` are called in reports and errors, where it is not their paths.
    pub data_names: Vec<String>,
    pub condition: Option<String>,
    pub limit: Option<u64>,
    pub sample: Option<u64>,
    pub seed: Option<u64>,
    /// `k` of `n`, from 1.
    pub shard: Option<(u32, u32)>,
    pub max_errors: Option<Allowance>,
    pub strict: bool,
    pub wide: bool,
    pub threads: usize,
    /// Where runs are kept; `None` keeps none.
    pub store: Option<PathBuf>,
    /// The run to go on with, by id, path or `latest`.
    pub resume: Option<String>,
    /// Non-passing answers that the report shows, a check.
    pub samples: usize,
    /// What makes models of their specs; without one, checks that ask models are refused.
    pub host: Option<Arc<dyn ModelHost>>,
    /// What the run asks of its models as a whole.
    pub models: SessionOptions,
    /// How often each answer is judged, in place of the checks' own `repeat`.
    pub repeat: Option<u32>,
    /// Answers a case that the suite's target makes, in place of its own `trials`.
    pub trials: Option<u32>,
    /// Where to end; the whole data where `None`.
    pub until: Option<Until>,
    /// With `resume`: judge errored cells anew. Calls that were answered are not made again.
    pub rerun_errors: bool,
}

/// Where a run that is repeated ended before its data did.
#[derive(Clone, Debug, Default)]
pub struct Until {
    pub blocks: u64,
    pub stopped: Option<Stop>,
    pub because: Option<String>,
}

/// Why a job can't be run, or ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JobError {
    #[error("{0}")]
    Suite(#[from] SuiteErrors),
    #[error("{0}; {help}", help = .0.help)]
    Mapping(#[from] MappingError),
    #[error("{0}")]
    Input(#[from] InputError),
    #[error("{0}")]
    Folder(#[from] FolderError),
    #[error("can't write {name}: {source}")]
    Output { name: String, source: io::Error },
    #[error("{0}")]
    Model(#[from] ModelError),
    #[error("{place}: {message}")]
    BadRecord { place: String, message: String },
    #[error("{0}")]
    Usage(String),
}

/// What a stored line that can't be read says.
impl From<String> for JobError {
    fn from(message: String) -> Self {
        Self::Usage(format!("the run's results can't be read: {message}"))
    }
}

impl From<RunError> for JobError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Input(error) => Self::Input(error),
            RunError::Output(source) => match source.downcast::<FolderError>() {
                Ok(error) => Self::Folder(error),
                Err(source) => Self::Output {
                    name: "the results".into(),
                    source,
                },
            },
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Outcome {
    pub report: Report,
    pub folder: Option<RunFolder>,
    /// Lines for stderr.
    pub notes: Vec<String>,
}

/// Told once the run is about to judge.
#[derive(Debug)]
pub struct Started<'a> {
    pub suite: &'a Suite,
    /// Bytes of the input on disk; `None` where an input is no file.
    pub input_bytes: Option<u64>,
    pub folder: Option<&'a RunFolder>,
    pub resumed: bool,
    pub notes: &'a [String],
}

/// The seed of a sample where none is given.
const DEFAULT_SEED: u64 = 0;

/// Runs a request.
///
/// `outputs` are written as results come; `started` is called when all checks before the run are
/// done; `stop` ends the run after the blocks in flight.
pub fn run(
    mut request: Request,
    registry: &Registry,
    outputs: Vec<Output>,
    stop: &AtomicBool,
    progress: &Progress,
    started: &mut dyn FnMut(&Started<'_>),
) -> Result<Outcome, JobError> {
    let mut suite = build_suite(&request, registry)?;
    if let Some(repeat) = request.repeat {
        suite.repeat(repeat);
    }
    making::adopt_trials(&mut suite, request.trials)?;
    adopt_dataset(&mut request, &suite)?;
    let resumed = request
        .resume
        .as_deref()
        .map(|name| find_run(&request, name))
        .transpose()?;
    let place = Place::new(&request, resumed.as_ref());
    let mut inputs = Inputs::new(&request, &suite)?;
    inputs.refuse_as_output(&outputs)?;
    let mut manifest = manifest(&request, &suite, &inputs, &place);
    if let Some((_, before)) = &resumed {
        refuse_changes(before, &manifest)?;
    }
    let (reader, mut survey) = inputs.open_and_survey(place.copies().as_deref())?;
    if let Some(target) = &suite.target {
        target.add_to(&mut survey);
    }
    suite = suite.settle(survey.brings_checks())?;
    // A record's own check may work by a model of this machine, whatever the suite names.
    let records_may_ask = survey.brings_checks() && request.host.is_some();
    let asks_models = suite.asks_models() || records_may_ask;
    want_heads(&mut suite.wanted, &survey);
    making::want_asked(&mut suite);
    let needs_reference = suite.needs_reference();
    let mapping = Mapping::new(&survey, &suite.fields(), &suite.wanted, needs_reference)?;
    let asked = Wanted {
        fields: IDENTITY,
        keys: Vec::new(),
    };
    let identity = Mapping::new(&survey, &suite.fields(), &asked, needs_reference)?;
    let mut missing = suite.missing_fields(&survey, &mapping);
    missing.extend(suite.unfillable_places(&survey, &mapping));
    if !missing.is_empty() {
        return Err(SuiteErrors(missing).into());
    }

    let fold = Fold::new(suite.checks.iter().map(CheckMeta::from), request.samples);
    let names: Vec<&str> = suite
        .checks
        .iter()
        .map(|check| check.name.as_str())
        .collect();
    let making = making::Making::new(&suite, &mapping);
    let mut files = inputs.names();
    files.extend(making.as_ref().map(|_| place.records_name()));
    let cx = OutputContext {
        files: &files,
        checks: &names,
        wide: request.wide,
    };
    let session = open_session(&request, &place, asks_models || making.is_some())?;
    let target = making::bind(&suite, session.as_deref(), request.models.dry_run)?;
    for check in suite.checks.iter().filter(|check| check.asks_models()) {
        if let Some(session) = &session {
            check.bind(&**session).map_err(Clone::clone)?;
        }
    }
    let records = place.records(making.is_some());
    let mut writer = Writer::new(OutputSet::new(outputs, &cx), fold.fresh());
    let checkpoint = place.start(&mut manifest, &suite, resumed, &mut writer, &cx)?;
    let renderers = writer.renderers();
    let mut plan = Plan {
        checks: &suite.checks,
        registry,
        definitions: &suite.definitions,
        mapping: &mapping,
        identity: &identity,
        condition: suite.condition.as_ref(),
        selection: Selection {
            sample: None,
            limit: request.limit,
            shard: request.shard,
        },
        renderers: &renderers,
        explains: renderers
            .iter()
            .any(|renderer| renderer.needs_explanations()),
        session: session.as_deref().filter(|_| asks_models),
        fold: &fold,
        samples: request.samples,
        threads: request.threads.max(1),
        strict: request.strict,
        resume_after: checkpoint.blocks,
        until: request.until.as_ref().map(|until| until.blocks),
        stop,
        progress,
    };
    if let Some(n) = request.sample {
        let seed = request.seed.unwrap_or(DEFAULT_SEED);
        let limit = runner::sample_limit(&plan, Box::new(inputs.open(None)?), n, seed)?;
        plan.selection.sample = Some((seed, limit));
    }
    let mut notes = suite.notes.clone();
    if !request.wide && writer.folder().is_some() {
        let bytes = inputs.bytes();
        let records = bytes.and_then(|bytes| reader.estimate_records(bytes));
        notes.extend(records.and_then(|records| size_note(records, suite.checks.len() as u64)));
    }
    started(&Started {
        suite: &suite,
        input_bytes: inputs.bytes().filter(|_| making.is_none()),
        folder: writer.folder(),
        resumed: checkpoint.blocks > 0,
        notes: &notes,
    });
    let end = match (&making, &target, &session) {
        (Some(making), Some(target), Some(session)) => {
            let walk = making::Walk {
                plan: &mut plan,
                making,
                target,
                session: &**session,
                records,
                file: inputs.names().len(),
            };
            walk.run(Box::new(reader), &mut writer)?
        }
        _ => runner::run(&plan, Box::new(reader), &mut writer)?,
    };
    // What was judged stands, also where the last of its calls could not be kept.
    let unkept = session
        .as_ref()
        .and_then(|session| session.close().err())
        .map(|error| error.to_string());
    let totals = session
        .as_ref()
        .map(|session| session.totals())
        .unwrap_or_default();
    let mut outcome = finish(
        end, writer, &request, &suite, &inputs, manifest, totals, stop,
    )?;
    outcome.notes.extend(unkept);
    Ok(outcome)
}

/// The models of the run, where some check asks them.
fn open_session(
    request: &Request,
    place: &Place,
    asks_models: bool,
) -> Result<Option<Arc<dyn ModelSession>>, JobError> {
    if !asks_models {
        return Ok(None);
    }
    let Some(host) = &request.host else {
        let message = "the suite asks models, and this program has none";
        return Err(ModelError::new(ModelErrorKind::Config, message).into());
    };
    let mut options = request.models.clone();
    options.calls = options.calls.or_else(|| place.calls());
    options.retry_refused |= place.anew;
    Ok(Some(host.open(&options)?))
}

fn build_suite(request: &Request, registry: &Registry) -> Result<Suite, JobError> {
    let mut builder = SuiteBuilder::new(registry);
    if let Some((text, path)) = &request.suite {
        builder = builder.file(text, &path.to_string_lossy());
    }
    for check in &request.checks {
        builder = builder.check_text(check);
    }
    if let Some(condition) = &request.condition {
        builder = builder.filter(condition);
    }
    Ok(builder.build_before_data()?)
}

/// The dataset's selection holds where the request says nothing else, also for other data files: `--data`
/// takes the place of its path alone.
fn adopt_dataset(request: &mut Request, suite: &Suite) -> Result<(), JobError> {
    if let Some(dataset) = &suite.dataset {
        request.limit = request.limit.or(dataset.limit);
        request.sample = request.sample.or(dataset.sample);
        request.seed = request.seed.or(dataset.seed);
    }
    match request.shard {
        Some((k, n)) if k == 0 || k > n => Err(JobError::Usage(format!(
            "--shard {k}/{n}: expected k/n with k from 1 to n"
        ))),
        _ => Ok(()),
    }
}

/// Cells from which on their size is told before they are written.
const MANY_CELLS: u64 = 1_000_000;

/// About how long a result line with a short reason is.
const LINE_BYTES: u64 = 200;

/// What is said before very many lines are written.
fn size_note(records: u64, checks: u64) -> Option<String> {
    let cells = records.saturating_mul(checks);
    (cells > MANY_CELLS).then(|| {
        format!(
            "about {cells} results will take some {:.1} GB; --wide writes one line a record, --no-store keeps none",
            cells.saturating_mul(LINE_BYTES) as f64 / 1e9
        )
    })
}

/// What result lines, ids and reports need of a record beside what checks read.
fn want_heads(wanted: &mut Wanted, survey: &Survey) {
    for field in [
        Field::Id,
        Field::Model,
        Field::Trial,
        Field::Tags,
        Field::Cluster,
    ] {
        wanted.fields.insert(field);
    }
    if survey.brings_checks() {
        wanted.fields = wanted.fields.union(own::READS);
    }
}

fn find_run(request: &Request, name: &str) -> Result<(RunFolder, Manifest), JobError> {
    let root = request.store.as_deref().ok_or_else(|| {
        JobError::Usage("--resume needs the stored run; leave --no-store out".into())
    })?;
    let folder = RunFolder::find(root, name)?;
    let manifest = folder.manifest()?;
    Ok((folder, manifest))
}

fn manifest(request: &Request, suite: &Suite, inputs: &Inputs, place: &Place) -> Manifest {
    let path = request
        .suite
        .as_ref()
        .map(|(_, path)| path.to_string_lossy().into_owned());
    let mut hashed = suite.source.clone();
    for added in &suite.added {
        hashed.push_str(&added.text);
    }
    Manifest {
        version: RUN_VERSION,
        id: place.id(),
        lydite: env!("CARGO_PKG_VERSION").into(),
        suite: Some(SuiteFacts {
            name: suite.name.clone(),
            path,
            hash: format!("{:032x}", XxHash3_128::oneshot(hashed.as_bytes())),
            added: suite
                .added
                .iter()
                .map(|source| source.text.to_string())
                .collect(),
        }),
        checks: suite.checks.iter().map(check_facts).collect(),
        data: inputs.facts(),
        options: RunOptions {
            r#where: request.condition.clone(),
            sample: request.sample,
            seed: request.sample.map(|_| request.seed.unwrap_or(DEFAULT_SEED)),
            limit: request.limit,
            shard: request.shard.map(|(k, n)| format!("{k}/{n}")),
            wide: request.wide,
            repeat: request.repeat,
            trials: request.trials,
            block_bytes: block_size(suite.asks_models()).bytes as u64,
        },
        max_errors: request.max_errors.map(|allowed| allowed.to_string()),
        started_at: now(),
        finished_at: None,
        input_hash: None,
    }
}

fn check_facts(check: &Check) -> CheckFacts {
    CheckFacts {
        name: check.name.clone(),
        evaluator: check.info.id.into(),
        evaluator_version: check.info.version,
        direction: Some(check.scale.direction),
        range: check.scale.range,
        params: check.params.to_json(),
        threshold: check.threshold,
        not: check.negate,
        on_missing: (check.on_missing != OnMissing::default()).then_some(check.on_missing),
    }
}

/// Where a run is kept: a new folder, an interrupted run's, or nowhere.
struct Place {
    folder: Option<PathBuf>,
    kept: bool,
    /// An earlier run is judged from its beginning, its calls taken from where they are kept.
    anew: bool,
}

impl Place {
    fn new(request: &Request, resumed: Option<&(RunFolder, Manifest)>) -> Self {
        let folder = match (resumed, &request.store) {
            (Some((folder, _)), _) => Some(folder.path().to_owned()),
            (None, Some(root)) => Some(root.join(new_run_id())),
            (None, None) => None,
        };
        Self {
            folder,
            kept: resumed.is_some(),
            anew: resumed.is_some() && request.rerun_errors,
        }
    }

    fn id(&self) -> String {
        let name = self.folder.as_deref().and_then(|folder| folder.file_name());
        name.map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// Where the run's calls of models are kept.
    fn calls(&self) -> Option<PathBuf> {
        self.folder
            .as_ref()
            .map(|folder| folder.join("calls.jsonl"))
    }

    /// Where the records are kept that a target makes.
    fn records(&self, made: bool) -> Option<PathBuf> {
        let folder = self.folder.as_deref().filter(|_| made)?;
        Some(RunFolder::made_records(folder, self.anew))
    }

    fn records_name(&self) -> String {
        let path = self.folder.as_deref();
        path.map_or_else(
            || "the target's records".to_owned(),
            |folder| folder.join("records.jsonl").to_string_lossy().into_owned(),
        )
    }

    fn copies(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join("records"))
    }

    /// Makes the folder, or takes up the interrupted run in it.
    fn start(
        mut self,
        manifest: &mut Manifest,
        suite: &Suite,
        resumed: Option<(RunFolder, Manifest)>,
        writer: &mut Writer,
        cx: &OutputContext<'_>,
    ) -> Result<Checkpoint, JobError> {
        let (folder, checkpoint) = match (resumed, self.folder.as_deref()) {
            (Some((folder, before)), _) => {
                manifest.started_at.clone_from(&before.started_at);
                let checkpoint = if self.anew {
                    Checkpoint::default()
                } else {
                    folder.checkpoint()?
                };
                (folder, checkpoint)
            }
            (None, Some(path)) => (
                RunFolder::create(path, manifest, &suite.source)?,
                Checkpoint::default(),
            ),
            (None, None) => return Ok(Checkpoint::default()),
        };
        self.kept = true;
        if checkpoint.blocks > 0 {
            writer.take_up(&folder, &checkpoint)?;
        }
        writer.store(folder, &checkpoint, self.anew, cx)?;
        Ok(checkpoint)
    }
}

impl Drop for Place {
    /// A run that never started leaves no folder behind.
    fn drop(&mut self) {
        if let Some(folder) = self.folder.as_deref().filter(|_| !self.kept) {
            // A folder that can't be removed harms nothing: it has no manifest, so it is no run.
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// A run goes on only with what it began with.
fn refuse_changes(before: &Manifest, now: &Manifest) -> Result<(), JobError> {
    let changed = if before.lydite != now.lydite {
        Some("Lydite's version".to_owned())
    } else if before.suite.as_ref().map(|suite| &suite.hash)
        != now.suite.as_ref().map(|suite| &suite.hash)
    {
        Some("the suite".to_owned())
    } else if before.checks != now.checks {
        Some("the checks".to_owned())
    } else if before.options != now.options {
        Some("the selection or --wide".to_owned())
    } else if before
        .data
        .iter()
        .map(|data| &data.path)
        .ne(now.data.iter().map(|data| &data.path))
    {
        Some("the list of data files".to_owned())
    } else {
        None
    };
    match changed {
        None => Ok(()),
        Some(what) => Err(FolderError::CannotResume {
            id: before.id.clone(),
            message: format!("{what} changed since; run it anew, or bring back what was"),
        }
        .into()),
    }
}

#[expect(clippy::too_many_arguments, reason = "the run's own pieces")]
fn finish(
    end: RunEnd,
    writer: Writer,
    request: &Request,
    suite: &Suite,
    inputs: &Inputs,
    mut manifest: Manifest,
    models: Vec<ModelTotals>,
    stop: &AtomicBool,
) -> Result<Outcome, JobError> {
    if let Some(bad) = end.refused {
        return Err(refused(&bad, inputs));
    }
    if end.complete {
        writer.reached_prefix()?;
    }
    let interrupted = (!end.complete && stop.load(Ordering::Relaxed)).then_some(Stop::Interrupted);
    let halted = end.halted.as_ref().map(|halt| match halt.kind {
        ModelErrorKind::Budget => Stop::Budget,
        _ => Stop::Unauthorized,
    });
    let repeated = request.until.as_ref().filter(|_| !end.complete);
    let stopped = halted
        .or(interrupted)
        .or(repeated.and_then(|until| until.stopped));
    manifest.finished_at = Some(now());
    manifest.input_hash = end.complete.then(|| writer.input_hash()).flatten();
    let facts = RunFacts {
        lydite: manifest.lydite.clone(),
        suite: suite.name.clone(),
        data: inputs.names(),
        started_at: manifest.started_at.clone(),
        finished_at: manifest.finished_at.clone(),
        stopped,
        stopped_because: end
            .halted
            .map(|halt| halt.message)
            .or_else(|| repeated.and_then(|until| until.because.clone())),
        shard: manifest.options.shard.clone(),
    };
    let mut notes = Vec::new();
    if !end.unknown_keys.is_empty() {
        let keys: Vec<&str> = end
            .unknown_keys
            .iter()
            .map(String::as_str)
            .take(20)
            .collect();
        notes.push(format!(
            "keys of the records that are no field, kept as `extra.<key>`: {}",
            keys.join(", ")
        ));
    }
    if writer.repeated_ids() > 0 {
        notes.push(format!(
            "{} records ask what an earlier one asked and have no id of their own; they are other cases, named `<id>~2` and so on",
            writer.repeated_ids()
        ));
    }
    let options = ReportOptions {
        run: facts,
        max_errors: request.max_errors,
        planned: None,
        other_shards: end.other_shards,
        models,
    };
    let (report, folder) = writer.finish(
        |fold| Report::build(fold, &suite.gates, options),
        &manifest,
        end.complete,
    )?;
    let folder = match folder {
        // Where nothing was judged there is no run to keep, unless it was one before.
        Some(folder) if report.exit.code == 2 && request.resume.is_none() => {
            folder.delete().map(|()| None)?
        }
        folder => folder,
    };
    Ok(Outcome {
        report,
        folder,
        notes,
    })
}

fn refused(bad: &BadRecord, inputs: &Inputs) -> JobError {
    let names = inputs.names();
    let file = names.get(bad.file as usize).map_or("input", String::as_str);
    let field = bad
        .field
        .as_ref()
        .map(|field| format!("`{field}`: "))
        .unwrap_or_default();
    let hint = bad
        .hint
        .as_ref()
        .map(|hint| format!("; {hint}"))
        .unwrap_or_default();
    JobError::BadRecord {
        place: format!("{file}:{}:{}", bad.line, bad.column),
        message: format!(
            "{field}{}{hint} (--strict ends the run at the first bad record)",
            bad.message
        ),
    }
}

fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Sorts by time; two runs of one second differ by six digits.
fn new_run_id() -> String {
    let time: String = now().chars().filter(char::is_ascii_digit).collect();
    let (day, clock) = time.split_at_checked(8).unwrap_or((&time, ""));
    let nanos = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    let mix = XxHash3_64::oneshot_with_seed(u64::from(std::process::id()), &nanos.to_le_bytes());
    format!("{day}-{clock}-{:06x}", mix & 0xff_ffff)
}

impl DataFacts {
    pub(crate) fn of(path: &std::path::Path) -> Self {
        let size = std::fs::metadata(path)
            .ok()
            .filter(std::fs::Metadata::is_file)
            .map(|data| data.len());
        Self {
            path: path.to_string_lossy().into_owned(),
            size,
        }
    }
}

/// Renderers that a run writes with, by position.
type Renderers = Vec<Arc<dyn Renderer>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_results_are_announced() {
        assert_eq!(size_note(200_000, 5), None);
        let note = size_note(2_000_000, 5).unwrap();
        assert!(
            note.starts_with("about 10000000 results will take some 2.0 GB"),
            "{note}"
        );
    }
}
