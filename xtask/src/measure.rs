//! `cargo xtask measure -- PROGRAM …`: what one program took, as a line of JSON.
//!
//! The system sums CPU time over all children of a process and keeps the largest resident set of any,
//! so each measured program gets a small process of its own between it and `bench`: this command.

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Instant;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Where the JSON goes
    #[arg(long)]
    output: std::path::PathBuf,
    /// The program and its arguments; what it writes to standard output is dropped
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// What a program took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    /// Seconds on the clock.
    pub(crate) wall: f64,
    /// Seconds of CPU, user and system.
    pub(crate) cpu: f64,
    /// The largest resident set, bytes.
    pub(crate) peak: f64,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let (name, arguments) = options
        .command
        .split_first()
        .context("no program to measure")?;
    let start = Instant::now();
    let status = Command::new(name)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status();
    let status = status.with_context(|| format!("cannot start {}", name.to_string_lossy()))?;
    let wall = start.elapsed().as_secs_f64();
    let (cpu, peak) = usage_of_children()?;
    let line = json!({"wall": wall, "cpu": cpu, "peak": peak, "code": status.code()});
    let mut file = File::create(&options.output).context("cannot write what was measured")?;
    writeln!(file, "{line}").context("cannot write what was measured")
}

/// Runs a program under this command and reads what it took. Ending with another code than 0 is an error.
pub(crate) fn usage_of(program: &Command) -> Result<Usage> {
    let output = tempfile::NamedTempFile::new().context("cannot make a temporary file")?;
    let own = std::env::current_exe().context("cannot find the own program")?;
    let mut helper = Command::new(own);
    helper
        .arg("measure")
        .arg("--output")
        .arg(output.path())
        .arg("--");
    helper.arg(program.get_program()).args(program.get_args());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => helper.env(name, value),
            None => helper.env_remove(name),
        };
    }
    if let Some(folder) = program.get_current_dir() {
        helper.current_dir(folder);
    }
    let ended = helper
        .output()
        .context("cannot start the measuring process")?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if !ended.status.success() {
        bail!(
            "cannot measure {}: {}",
            crate::workspace::words(program),
            said.trim()
        );
    }
    let text = fs::read_to_string(output.path()).context("cannot read what was measured")?;
    let value: Value = serde_json::from_str(&text).context("cannot read what was measured")?;
    let code = value.get("code").and_then(Value::as_i64);
    if code != Some(0) {
        bail!(
            "{} ended with code {code:?}: {}",
            crate::workspace::words(program),
            said.trim()
        );
    }
    let number = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_f64)
            .with_context(|| format!("{key} was not measured"))
    };
    Ok(Usage {
        wall: number("wall")?,
        cpu: number("cpu")?,
        peak: number("peak")?,
    })
}

/// CPU seconds and the peak resident set in bytes, over the children that have ended.
#[cfg(unix)]
fn usage_of_children() -> Result<(f64, i64)> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike;
    let usage =
        getrusage(UsageWho::RUSAGE_CHILDREN).context("cannot ask the system for the usage")?;
    let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    // Kilobytes everywhere but on Apple's systems.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    Ok((micros as f64 / 1e6, usage.max_rss() * unit))
}

#[cfg(not(unix))]
fn usage_of_children() -> Result<(f64, i64)> {
    bail!("measuring needs a Unix system")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_measured() {
        let output = tempfile::NamedTempFile::new().unwrap();
        let command = [
            "sh",
            "-c",
            "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3",
        ]
        .map(OsString::from);
        run(&Options {
            output: output.path().to_owned(),
            command: command.to_vec(),
        })
        .unwrap();
        let value: Value =
            serde_json::from_str(&fs::read_to_string(output.path()).unwrap()).unwrap();
        assert_eq!(value["code"], 3);
        assert!(value["cpu"].as_f64().unwrap() > 0.0);
        assert!(value["peak"].as_i64().unwrap() > 100_000);
    }
}
