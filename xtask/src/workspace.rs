//! Where things are in this repository, and how other programs are called from its root.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// A call of cargo, from the root.
pub(crate) fn cargo<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

/// A call of any program, from the root.
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Runs a program with our terminal as its own; an error unless it ends well.
pub(crate) fn must_succeed(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", words(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", words(command));
    }
    Ok(())
}

/// What a program writes to standard output; an error unless it ends well.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .with_context(|| format!("cannot start {}", words(command)))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "{} ended with {}: {}",
            words(command),
            output.status,
            said.trim()
        );
    }
    String::from_utf8(output.stdout).with_context(|| format!("{} wrote no UTF-8", words(command)))
}

/// True where a program starts and ends well; what it says is not shown.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A program and its arguments as one would type them.
pub(crate) fn words(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What `cargo metadata` says: packages, their dependencies, the target folder.
pub(crate) fn metadata() -> Result<Value> {
    let text = output_of(&mut cargo(["metadata", "--format-version", "1"]))?;
    serde_json::from_str(&text).context("cannot read the output of cargo metadata")
}

/// The folder that cargo builds into.
pub(crate) fn target() -> Result<PathBuf> {
    let metadata = metadata()?;
    let folder = metadata.get("target_directory").and_then(Value::as_str);
    folder
        .map(PathBuf::from)
        .context("cargo metadata names no target_directory")
}

/// How the binary is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Debug,
    Release,
}

/// Builds the binary `lydite` and says where it is.
pub(crate) fn build_lydite(profile: Profile) -> Result<PathBuf> {
    let mut command = cargo(["build", "--package", "lydite-cli"]);
    let folder = match profile {
        Profile::Debug => "debug",
        Profile::Release => {
            command.arg("--release");
            "release"
        }
    };
    must_succeed(&mut command)?;
    Ok(target()?
        .join(folder)
        .join(format!("lydite{}", env::consts::EXE_SUFFIX)))
}

/// The files that git tracks, from the root; `None` where this is no git repository.
pub(crate) fn tracked_files() -> Option<Vec<String>> {
    let text = output_of(&mut {
        let mut git = program("git");
        git.args(["ls-files", "-z"]);
        git
    });
    Some(
        text.ok()?
            .split_terminator('\0')
            .map(str::to_owned)
            .collect(),
    )
}
