//! `cargo xtask fuzz`: every target of `fuzz/` in turn, for some time each. Not part of CI.
//!
//! cargo-fuzz wants the nightly compiler for its sanitizers. With `RUSTC_BOOTSTRAP=1` the stable one
//! takes the same flags, so that nothing but this tool needs to be installed.

use crate::workspace::{cargo, must_succeed, output_of, root, succeeds};
use anyhow::{Context, Result, bail};
use clap::Args;
use std::fs;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The targets to run; all of them where none is named
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 120)]
    seconds: u32,
}

/// Longest input, in bytes. What readers and parsers can get wrong shows in little text.
const LONGEST: u32 = 4096;

/// Seconds after which an input counts as a hang.
const HANG: u32 = 20;

pub(crate) fn run(options: &Options) -> Result<()> {
    if !succeeds(&mut cargo(["fuzz", "--version"])) {
        println!("cargo-fuzz is missing: installing it, once");
        must_succeed(&mut cargo(["install", "--locked", "cargo-fuzz"]))?;
    }
    let listed =
        output_of(&mut cargo(["fuzz", "list"])).context("cannot list the targets of fuzz/")?;
    let known: Vec<&str> = listed.lines().collect();
    for target in chosen(&options.targets, &known)? {
        println!("── {target}, {} s", options.seconds);
        fuzz(target, options.seconds)?;
    }
    Ok(())
}

/// Fuzzes one target. What it finds of interest goes to its corpus; our own seeds are only read.
fn fuzz(target: &str, seconds: u32) -> Result<()> {
    let corpus = format!("fuzz/corpus/{target}");
    let seeds = format!("fuzz/seeds/{target}");
    for folder in [&corpus, &seeds] {
        let folder = root().join(folder);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    // No sanitizer: our code has no `unsafe` that one could find fault with, and without it twice as
    // many inputs are tried.
    let mut command = cargo(["fuzz", "run", "--sanitizer=none", "--codegen-units=16"]);
    command
        .env("RUSTC_BOOTSTRAP", "1")
        .args([target, &corpus, &seeds, "--"])
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LONGEST}"))
        .arg(format!("-timeout={HANG}"))
        .arg("-print_final_stats=1");
    must_succeed(&mut command).with_context(|| {
        format!("{target} found something: its input is in fuzz/artifacts/{target}/")
    })
}

/// The targets that were asked for, all where none was.
fn chosen<'t>(asked: &'t [String], known: &[&'t str]) -> Result<Vec<&'t str>> {
    if known.is_empty() {
        bail!("fuzz/ has no target yet; fuzz/README.md says how one is added");
    }
    if let Some(other) = asked
        .iter()
        .find(|target| !known.contains(&target.as_str()))
    {
        bail!("there is no target {other}; there are {}", known.join(", "));
    }
    Ok(if asked.is_empty() {
        known.to_vec()
    } else {
        asked.iter().map(String::as_str).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_all_or_the_named_ones() {
        let asked = |targets: &[&str]| {
            targets
                .iter()
                .map(|target| (*target).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            chosen(&asked(&[]), &["json", "suite"]).unwrap(),
            ["json", "suite"]
        );
        assert_eq!(
            chosen(&asked(&["suite"]), &["json", "suite"]).unwrap(),
            ["suite"]
        );
        let error = chosen(&asked(&["yaml"]), &["json", "suite"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no target yaml; there are json, suite"
        );
        assert!(chosen(&[], &[]).unwrap_err().to_string().contains("README"));
    }
}
