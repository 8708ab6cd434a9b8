//! Judge calls beside an expert's asyncio script, against `lydite mock-llm` in a process of its own.

use super::{Bench, Row, load};
use crate::measure::{Usage, usage_of};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Calls under way at once that both sides ask for.
const CONCURRENCY: usize = 256;

/// What one side took, and what the mock saw of it.
struct Seen {
    usage: Usage,
    /// Seconds from the first request to the last reply.
    span: f64,
    duplicates: f64,
}

impl Bench {
    /// `calls` judge calls at 50 ms and at 500 ms, with 256 under way.
    pub(super) fn judge(&self, calls: usize) -> Result<Vec<Row>> {
        let data = self.load(load::Kind::Judge, calls)?;
        let mut rows = Vec::new();
        for (latency, tls) in [(50, false), (500, false), (50, true)] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            let runs = if latency > 50 { 1 } else { self.runs };
            for _ in 0..runs {
                ours.push(self.judged_by_lydite(&data, calls, latency, tls)?);
                if !tls {
                    theirs.push(self.judged_by_expert(&data, calls, latency)?);
                }
            }
            rows.extend(figures(&ours, &theirs, calls, latency, tls));
        }
        Ok(rows)
    }

    fn judged_by_lydite(&self, data: &Path, calls: usize, latency: u32, tls: bool) -> Result<Seen> {
        let place = tempfile::tempdir_in(&self.folder).context("cannot make a folder")?;
        let certificate = tls.then(|| place.path().join("mock.pem"));
        let mock = Mock::start(&self.lydite, latency, certificate.as_deref())?;
        let trust =
            certificate.map_or_else(String::new, |path| format!(", ca_file: {}", path.display()));
        let suite = format!(
            "version: 1\nmodels:\n  judge: {{provider: openai, model: mock, base_url: {}/v1{trust}}}\nchecks:\n  - evaluator: criteria\n    name: holds\n    params: {{criteria: {{holds: Does the answer hold to its context?}}}}\ngates:\n  - holds.coverage >= 1\n",
            mock.url
        );
        let (path, results) = (
            place.path().join("judge.yaml"),
            place.path().join("results.jsonl"),
        );
        fs::write(&path, suite).context("cannot write the suite")?;
        let mut command = Command::new(&self.lydite);
        command
            .args([
                "run",
                "--concurrency",
                &CONCURRENCY.to_string(),
                "--format",
                "jsonl",
            ])
            .arg("--data")
            .arg(data)
            .arg("--output")
            .arg(&results)
            .arg(&path)
            .current_dir(place.path());
        // A cache of its own, as a first run has it.
        command.env("LYDITE_CACHE_DIR", place.path().join("cache"));
        let usage = usage_of(&command)?;
        check(&results, "record", calls)?;
        mock.seen(usage)
    }

    fn judged_by_expert(&self, data: &Path, calls: usize, latency: u32) -> Result<Seen> {
        let mock = Mock::start(&self.lydite, latency, None)?;
        let results = self.folder.join("judge-expert.jsonl");
        let mut command = Command::new(&self.python);
        command
            .arg(self.script.with_file_name("judge_expert.py"))
            .arg(&mock.url)
            .arg(data)
            .arg(&results)
            .arg(CONCURRENCY.to_string());
        let usage = usage_of(&command)?;
        check(&results, "id", calls)?;
        mock.seen(usage)
    }
}

fn figures(ours: &[Seen], theirs: &[Seen], calls: usize, latency: u32, tls: bool) -> Vec<Row> {
    let ideal = calls as f64 * f64::from(latency) / 1e3 / CONCURRENCY as f64;
    let over = if tls { " over TLS" } else { "" };
    let label = |what: &str| format!("{calls} judge calls, {latency} ms{over}: {what}");
    let of = |seen: &[Seen], figure: fn(&Seen) -> f64| median_of(seen.iter().map(figure).collect());
    let share = |what: &str, seconds: f64, other: f64, aim: f64| Row {
        what: label(what),
        ours: format!("{seconds:.3} s"),
        other: if other.is_nan() {
            String::new()
        } else {
            format!("{other:.3} s")
        },
        figure: ideal / seconds,
        aim,
        unit: "of ideal",
        at_least: true,
    };
    let span_aim = if latency > 50 {
        0.96
    } else if tls {
        0.0
    } else {
        0.92
    };
    let mut rows = vec![share(
        "rate over the calls",
        of(ours, |seen| seen.span),
        of(theirs, |seen| seen.span),
        span_aim,
    )];
    if latency == 50 {
        rows.push(share(
            "rate over the run",
            of(ours, |seen| seen.usage.wall),
            of(theirs, |seen| seen.usage.wall),
            if tls { 0.0 } else { 0.88 },
        ));
        let cpu = of(ours, |seen| seen.usage.cpu);
        if tls {
            rows.push(Row::plain(
                label("CPU a call"),
                cpu / calls as f64 * 1e3,
                f64::INFINITY,
                "ms",
            ));
        } else {
            let other = of(theirs, |seen| seen.usage.cpu);
            rows.push(Row::ratio(label("CPU / expert"), cpu, other, 0.45));
            rows.push(Row::plain(
                label("duplicates"),
                of(ours, |seen| seen.duplicates),
                0.0,
                "calls",
            ));
        }
    }
    rows
}

fn median_of(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Every record judged, each by its marker.
fn check(results: &Path, id: &str, calls: usize) -> Result<()> {
    let file =
        fs::File::open(results).with_context(|| format!("there is no {}", results.display()))?;
    let mut verdicts = HashMap::new();
    for line in BufReader::new(file).lines() {
        let line: Value = serde_json::from_str(&line?)?;
        let record = super::plain(line.get(id));
        verdicts.insert(
            record,
            line.get("verdict")
                .and_then(Value::as_str)
                .map(str::to_owned),
        );
    }
    for index in 0..calls {
        let right = if load::is_bad(index) { "fail" } else { "pass" };
        let got = verdicts.get(&index.to_string()).cloned().flatten();
        if got.as_deref() != Some(right) {
            bail!(
                "record {index} of {}: {got:?} where {right} is right",
                results.display()
            );
        }
    }
    Ok(())
}

/// The mock in a process of its own, ended with this value.
struct Mock {
    process: Child,
    url: String,
    address: String,
    tls: bool,
}

impl Mock {
    fn start(lydite: &Path, latency: u32, tls: Option<&Path>) -> Result<Self> {
        let mut command = Command::new(lydite);
        command
            .args([
                "mock-llm",
                "--port",
                "0",
                "--latency-ms",
                &latency.to_string(),
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        if let Some(certificate) = tls {
            command.arg("--tls").arg(certificate);
        }
        let mut process = command.spawn().context("cannot start the mock")?;
        let out = process.stdout.take().context("the mock has no output")?;
        let mut url = String::new();
        BufReader::new(out)
            .read_line(&mut url)
            .context("the mock says no address")?;
        let url = url.trim().to_owned();
        let address = url.split("://").nth(1).unwrap_or_default().to_owned();
        Ok(Self {
            process,
            url,
            address,
            tls: tls.is_some(),
        })
    }

    /// What it counted.
    fn seen(&self, usage: Usage) -> Result<Seen> {
        if self.tls {
            // Its statistics are behind TLS: the run's own clock is the figure then.
            return Ok(Seen {
                usage,
                span: usage.wall,
                duplicates: 0.0,
            });
        }
        let mut stream = TcpStream::connect(&self.address).context("the mock has gone")?;
        write!(
            stream,
            "GET /admin/stats HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n\r\n"
        )?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        let body = reply
            .split("\r\n\r\n")
            .nth(1)
            .context("the mock gives no statistics")?;
        let stats: Value =
            serde_json::from_str(body.trim()).context("the mock's statistics are no JSON")?;
        let number = |key: &str| {
            stats
                .get(key)
                .and_then(Value::as_f64)
                .with_context(|| format!("no {key}"))
        };
        Ok(Seen {
            usage,
            span: number("span_s")?,
            duplicates: number("duplicate_after_ok")?,
        })
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // It may have ended already, and nothing is left to do then.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
