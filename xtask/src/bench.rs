//! `cargo xtask bench`: CPU, memory and results beside an expert's Python script.
//!
//! Both sides run the same five checks (`xtask/bench/five.yaml`, `xtask/bench/expert.py`) on the same
//! files, in turns, and their results are compared record by record. Figures are medians, and only
//! ratios of one run of this command mean anything: never compare with another day or machine.

mod judge;
mod load;

use crate::measure::{Usage, usage_of};
use crate::workspace::{self, Profile, must_succeed, program, succeeds};
use anyhow::{Context, Result, bail};
use clap::Args;
use load::Kind;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Records of the loads at which memory and the whole product are measured.
const SMALL: usize = 10_000;

/// The load above which figures are doubtful: running programs, as the system counts them.
const BUSY: f64 = 1.5;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Measurements of each program, of which the median counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    runs: u16,
    /// Records of the two speed loads
    #[arg(long, default_value_t = 100_000)]
    records: usize,
    /// Records of the memory load; 0 leaves it out
    #[arg(long, default_value_t = 1_000_000)]
    large: usize,
    /// Judge calls against the mock of a provider; 0 leaves them out
    #[arg(long, default_value_t = 5_000)]
    calls: usize,
    /// The binary to measure; built in release where it is left out
    #[arg(long)]
    binary: Option<PathBuf>,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let bench = Bench::new(options)?;
    warn_if_busy();
    let mut rows = Vec::new();
    if options.calls > 0 {
        rows.extend(bench.judge(options.calls)?);
    }
    for kind in [Kind::Det, Kind::Near]
        .into_iter()
        .filter(|_| options.records > 0)
    {
        rows.extend(bench.speed(kind, options.records)?);
        rows.push(bench.whole_product(kind)?);
    }
    if options.large > SMALL {
        rows.extend(bench.memory(options.large)?);
    }
    rows.push(bench.start()?);
    print_table(&rows);
    let missed = rows.iter().filter(|row| !row.met()).count();
    if missed > 0 {
        bail!("{missed} of {} aims missed", rows.len());
    }
    Ok(())
}

/// A line of the table: a figure, what it is measured against, and the most that it may be.
struct Row {
    what: String,
    ours: String,
    other: String,
    figure: f64,
    aim: f64,
    unit: &'static str,
    /// The aim is the least, not the most.
    at_least: bool,
}

impl Row {
    /// A figure by itself.
    fn plain(what: String, figure: f64, aim: f64, unit: &'static str) -> Self {
        Self {
            what,
            ours: String::new(),
            other: String::new(),
            figure,
            aim,
            unit,
            at_least: false,
        }
    }

    /// The ratio of two times.
    fn ratio(what: String, ours: f64, other: f64, aim: f64) -> Self {
        Self {
            what,
            ours: format!("{ours:.3} s"),
            other: format!("{other:.3} s"),
            figure: ours / other,
            aim,
            unit: "×",
            at_least: false,
        }
    }

    fn met(&self) -> bool {
        if self.at_least {
            self.figure >= self.aim
        } else {
            self.figure <= self.aim
        }
    }
}

/// What stays the same for all measurements.
struct Bench {
    lydite: PathBuf,
    python: PathBuf,
    suite: PathBuf,
    script: PathBuf,
    /// Loads and results, under the target folder.
    folder: PathBuf,
    runs: usize,
}

impl Bench {
    fn new(options: &Options) -> Result<Self> {
        let lydite = match &options.binary {
            Some(path) => {
                fs::canonicalize(path).with_context(|| format!("there is no {}", path.display()))?
            }
            None => workspace::build_lydite(Profile::Release)?,
        };
        let target = workspace::target()?;
        let own = workspace::root().join("xtask").join("bench");
        let folder = target.join("bench");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self {
            lydite,
            python: python(&target.join("bench-venv"), &own.join("requirements.txt"))?,
            suite: own.join("five.yaml"),
            script: own.join("expert.py"),
            folder,
            runs: options.runs.into(),
        })
    }

    /// One thread against the expert, and two threads against one.
    fn speed(&self, kind: Kind, count: usize) -> Result<[Row; 2]> {
        let data = self.load(kind, count)?;
        let (ours, theirs) = (
            self.folder.join("lydite.jsonl"),
            self.folder.join("expert.jsonl"),
        );
        let (mut one, mut expert, mut two) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.runs {
            one.push(usage_of(&self.wide(&data, &ours, 1))?);
            expert.push(usage_of(&self.expert(&data, &theirs))?);
            compare(&ours, &theirs, count)
                .with_context(|| format!("results on {} differ", kind.name()))?;
            two.push(usage_of(&self.wide(&data, &ours, 2))?);
            compare(&ours, &theirs, count)
                .with_context(|| format!("results of two threads on {} differ", kind.name()))?;
        }
        println!("{}: results of {count} records agree", kind.name());
        let label = |what: &str| format!("{}, {count} records: {what}", kind.name());
        Ok([
            Row::ratio(
                label("CPU, one thread / expert"),
                median(&one, cpu),
                median(&expert, cpu),
                0.40,
            ),
            Row::ratio(
                label("clock, two threads / one"),
                median(&two, wall),
                median(&one, wall),
                0.55,
            ),
        ])
    }

    /// Everything a user gets: reasons, a kept run, a report.
    fn whole_product(&self, kind: Kind) -> Result<Row> {
        let data = self.load(kind, SMALL)?;
        let theirs = self.folder.join("expert.jsonl");
        let (mut whole, mut expert) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            let place =
                tempfile::tempdir_in(&self.folder).context("cannot make a folder for a run")?;
            let mut command = self.run(&data, 1);
            whole.push(usage_of(command.current_dir(place.path()))?);
            expert.push(usage_of(&self.expert(&data, &theirs))?);
        }
        let what = format!(
            "{}, {SMALL} records: CPU, run kept, reasons, report / expert",
            kind.name()
        );
        Ok(Row::ratio(
            what,
            median(&whole, cpu),
            median(&expert, cpu),
            1.5,
        ))
    }

    /// The peak resident set of a large load, and what a record adds to it.
    fn memory(&self, count: usize) -> Result<[Row; 2]> {
        let results = self.folder.join("lydite.jsonl");
        let (few_data, many_data) = (self.load(Kind::Det, SMALL)?, self.load(Kind::Det, count)?);
        let (mut few, mut many) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            few.push(usage_of(&self.wide(&few_data, &results, 1))?);
            many.push(usage_of(&self.wide(&many_data, &results, 1))?);
        }
        let (few, many) = (median(&few, peak), median(&many, peak));
        let megabytes = |bytes: f64| format!("{:.1} MB", bytes / 1e6);
        let growth = (many - few).max(0.0) / (count - SMALL) as f64;
        Ok([
            Row {
                what: format!("memory a record, {count} against {SMALL}"),
                ours: megabytes(many),
                other: megabytes(few),
                figure: growth,
                aim: 32.0,
                unit: "B",
                at_least: false,
            },
            Row {
                what: format!("peak memory, {count} records"),
                ours: megabytes(many),
                other: String::new(),
                figure: many / 1e6,
                aim: 64.0,
                unit: "MB",
                at_least: false,
            },
        ])
    }

    /// The start of the program.
    fn start(&self) -> Result<Row> {
        let mut command = Command::new(&self.lydite);
        command.arg("--version");
        let used = (0..self.runs.max(9))
            .map(|_| usage_of(&command))
            .collect::<Result<Vec<_>>>()?;
        let cpu = median(&used, cpu);
        Ok(Row {
            what: "start: CPU of lydite --version".to_owned(),
            ours: format!("{cpu:.4} s"),
            other: String::new(),
            figure: cpu * 1e3,
            aim: 10.0,
            unit: "ms",
            at_least: false,
        })
    }

    /// Writes a load and says where.
    fn load(&self, kind: Kind, count: usize) -> Result<PathBuf> {
        let path = self.folder.join(format!("{}-{count}.jsonl", kind.name()));
        load::write(kind, count, &path)?;
        Ok(path)
    }

    fn run(&self, data: &Path, threads: u8) -> Command {
        let mut command = Command::new(&self.lydite);
        command.arg("run").arg(&self.suite).arg("--data").arg(data);
        command.args(["--threads", &threads.to_string()]);
        command
    }

    fn wide(&self, data: &Path, output: &Path, threads: u8) -> Command {
        let mut command = self.run(data, threads);
        command
            .args(["--wide", "--no-store", "--format", "jsonl", "--output"])
            .arg(output);
        command
    }

    fn expert(&self, data: &Path, output: &Path) -> Command {
        let mut command = Command::new(&self.python);
        command.arg(&self.script).arg(data).arg(output);
        command
    }
}

/// A Python with the expert's libraries, in a virtual environment made where it is missing.
fn python(folder: &Path, requirements: &Path) -> Result<PathBuf> {
    let python = folder.join("bin").join("python");
    let imports = [
        "-c",
        "import aiohttp, jsonschema_rs, orjson, rapidfuzz, uvloop",
    ];
    if succeeds(program(&python).args(imports)) {
        return Ok(python);
    }
    println!(
        "making a virtual environment with the expert's libraries in {}",
        folder.display()
    );
    must_succeed(program("python3").args(["-m", "venv"]).arg(folder))?;
    must_succeed(
        program(&python)
            .args(["-m", "pip", "install", "--quiet", "--requirement"])
            .arg(requirements),
    )?;
    Ok(python)
}

/// An error that names the first record and check in which two result files differ.
fn compare(ours: &Path, theirs: &Path, count: usize) -> Result<()> {
    let open = |path: &Path| {
        File::open(path)
            .map(BufReader::new)
            .with_context(|| format!("there is no {}", path.display()))
    };
    let (mut ours, mut theirs) = (open(ours)?.lines(), open(theirs)?.lines());
    for line in 1..=count {
        let (Some(ours), Some(theirs)) = (ours.next(), theirs.next()) else {
            bail!("a result file ends before line {line} of {count}");
        };
        if let Some(difference) = difference(
            &serde_json::from_str(&ours?)?,
            &serde_json::from_str(&theirs?)?,
        ) {
            bail!("line {line}: {difference}");
        }
    }
    if ours.next().is_some() || theirs.next().is_some() {
        bail!("a result file goes on after line {count}");
    }
    Ok(())
}

/// What differs between a wide result of ours and the expert's line, `None` where nothing does.
fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    let (record, id) = (plain(ours.get("record")), plain(theirs.get("id")));
    if record != id {
        return Some(format!("record {record} against {id}"));
    }
    let check = |name: &str, key: &str| ours.pointer(&format!("/checks/{name}/{key}"));
    for name in ["exact", "contains", "json_schema", "regex"] {
        let verdict = check(name, "verdict").and_then(Value::as_str);
        let expected = theirs.get(name).and_then(Value::as_bool);
        if verdict.is_none()
            || verdict != expected.map(|passed| if passed { "pass" } else { "fail" })
        {
            return Some(format!(
                "record {record}, {name}: {verdict:?} against {expected:?}"
            ));
        }
    }
    let number = |value: Option<&Value>| value.and_then(Value::as_f64).unwrap_or(f64::NAN);
    let distance = number(check("levenshtein", "score"));
    let expected = 1.0 - number(theirs.get("levenshtein"));
    let same = (distance - expected).abs() <= 1e-12;
    (!same).then(|| format!("record {record}, levenshtein: {distance} against {expected}"))
}

/// A text without its quotes, anything else as JSON.
fn plain(value: Option<&Value>) -> String {
    match value {
        None => "nothing".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn cpu(usage: &Usage) -> f64 {
    usage.cpu
}

fn wall(usage: &Usage) -> f64 {
    usage.wall
}

fn peak(usage: &Usage) -> f64 {
    usage.peak
}

/// The median of one figure, of an even number the mean of the middle two; NaN of none.
fn median(usages: &[Usage], figure: fn(&Usage) -> f64) -> f64 {
    let mut sorted: Vec<f64> = usages.iter().map(figure).collect();
    sorted.sort_by(f64::total_cmp);
    let middle = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
    f64::midpoint(
        middle(sorted.len() / 2),
        middle(sorted.len().saturating_sub(1) / 2),
    )
}

/// Says where something else runs on this machine.
fn warn_if_busy() {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load
        .split(' ')
        .next()
        .and_then(|number| number.parse::<f64>().ok())
        .unwrap_or(0.0);
    if load > BUSY {
        eprintln!(
            "warning: the load of this machine is {load}, above {BUSY}: figures are doubtful"
        );
    }
}

fn print_table(rows: &[Row]) {
    println!(
        "\n{:<62} {:>10} {:>10} {:>10} {:>10}",
        "", "lydite", "other", "figure", "aim"
    );
    for row in rows {
        let figure = format!("{:.2} {}", row.figure, row.unit);
        let sign = if row.at_least { "≥" } else { "≤" };
        let aim = format!("{sign} {} {}", row.aim, row.unit);
        let state = if row.met() { "met" } else { "MISSED" };
        println!(
            "{:<62} {:>10} {:>10} {figure:>10} {aim:>10}  {state}",
            row.what, row.ours, row.other
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ours() -> Value {
        let verdict = |verdict: &str| json!({"verdict": verdict, "score": 1.0});
        json!({"record": "7", "checks": {
            "exact": verdict("pass"), "contains": verdict("fail"), "json_schema": verdict("pass"),
            "regex": verdict("pass"), "levenshtein": {"verdict": null, "score": 0.25},
        }})
    }

    fn theirs() -> Value {
        json!({"id": 7, "exact": true, "contains": false, "json_schema": true, "regex": true, "levenshtein": 0.75})
    }

    #[test]
    fn equal_results_agree_whatever_the_type_of_the_id() {
        assert_eq!(difference(&ours(), &theirs()), None);
    }

    #[test]
    fn each_difference_is_named() {
        let cases = [
            ("id", json!(8)),
            ("exact", json!(false)),
            ("contains", json!(true)),
            ("regex", json!(false)),
            ("levenshtein", json!(0.750_001)),
        ];
        for (key, value) in cases {
            let mut changed = theirs();
            changed[key] = value;
            let said = difference(&ours(), &changed).unwrap();
            assert!(
                said.contains(if key == "id" {
                    "record 7 against 8"
                } else {
                    key
                }),
                "{said}"
            );
        }
    }

    #[test]
    fn an_errored_cell_is_a_difference() {
        let mut errored = ours();
        errored["checks"]["levenshtein"] =
            json!({"verdict": "inconclusive", "score": null, "error": "x"});
        assert!(difference(&errored, &theirs()).is_some());
    }

    #[test]
    fn files_of_other_lengths_differ() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, value: &Value, count: usize| {
            let path = folder.path().join(name);
            fs::write(&path, format!("{value}\n").repeat(count)).unwrap();
            path
        };
        let (two, three) = (file("a", &ours(), 2), file("b", &theirs(), 3));
        assert!(compare(&two, &three, 3).is_err());
        assert!(compare(&two, &three, 2).is_err());
        assert!(compare(&two, &file("c", &theirs(), 2), 2).is_ok());
    }

    #[test]
    fn medians() {
        let usages = |figures: &[f64]| {
            figures
                .iter()
                .map(|&cpu| Usage {
                    wall: 0.0,
                    cpu,
                    peak: 0.0,
                })
                .collect::<Vec<_>>()
        };
        assert_eq!(median(&usages(&[3.0, 1.0, 2.0]), cpu), 2.0);
        assert_eq!(median(&usages(&[4.0, 1.0, 2.0, 3.0]), cpu), 2.5);
        assert!(median(&[], cpu).is_nan());
    }
}
