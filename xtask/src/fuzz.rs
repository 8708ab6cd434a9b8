//! `cargo xtask fuzz`: every target of `fuzz/` in turn, for some time each. Not part of CI.
//!
//! cargo-fuzz wants the nightly compiler for its sanitizers. With `RUSTC_BOOTSTRAP=1` the stable one
//! takes the same flags, so that nothing but this tool needs to be installed.

use crate::workspace::{cargo, must_succeed, output_of, succeeds};
use anyhow::{Context, Result, bail};
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The targets to run; all of them where none is named
    targets: Vec<String>,
    /// Seconds for each target
    #[arg(long, default_value_t = 120)]
    seconds: u32,
}

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
        let mut command = cargo(["fuzz", "run"]);
        command.env("RUSTC_BOOTSTRAP", "1").arg(target).arg("--");
        command.arg(format!("-max_total_time={}", options.seconds));
        must_succeed(&mut command).with_context(|| {
            format!("{target} found something: its input is in fuzz/artifacts/{target}/")
        })?;
    }
    Ok(())
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
