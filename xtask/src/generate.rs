//! `cargo xtask generate`: the files that come from the list of evaluators.
//!
//! An artefact is a path and what must stand there. The content is made by the `lydite` library, so
//! that the binary prints the very same text. Files in [`FOLDERS`] that no artefact names are left
//! over from something that is gone: `generate` deletes them, `--check` complains.

use crate::workspace;
use anyhow::{Context, Result, bail};
use clap::Args;
use lydite::evaluator::Registry;
use lydite::schemas;
use similar::TextDiff;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The folders that hold generated files and nothing else.
const FOLDERS: [&str; 2] = ["schemas", "docs/evaluators"];

/// The most lines of difference that are shown for one file.
const SHOWN_LINES: usize = 40;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Write nothing; fail where a file is not what it should be
    #[arg(long)]
    pub(crate) check: bool,
}

/// A generated file.
#[derive(Debug)]
pub(crate) struct Artefact {
    /// From the root, with `/`.
    pub(crate) path: String,
    pub(crate) content: String,
}

/// All generated files: the schemas of the formats, a page an evaluator, and the list of them.
pub(crate) fn artefacts() -> Vec<Artefact> {
    let registry = Registry::builtin();
    let schemas = [
        ("record", schemas::record()),
        ("suite", schemas::suite()),
        ("result", schemas::result()),
        ("report", schemas::report()),
    ];
    let schemas = schemas.into_iter().map(|(name, schema)| Artefact {
        path: format!("schemas/{name}.schema.json"),
        content: schemas::to_text(&schema),
    });
    let page = |name: &str, content: String| Artefact {
        path: format!("docs/evaluators/{name}.md"),
        content,
    };
    let pages = registry
        .entries()
        .iter()
        .map(|entry| page(entry.info.id, entry.page()));
    let list = page("README", registry.contents());
    schemas.chain(pages).chain([list]).collect()
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let artefacts = artefacts();
    let root = workspace::root();
    if !options.check {
        let changed = write(root, &artefacts)?;
        println!(
            "{} of {} generated files changed",
            changed.len(),
            artefacts.len()
        );
        for path in changed {
            println!("  {path}");
        }
        return Ok(());
    }
    let differences = compare(root, &artefacts)?;
    if differences.is_empty() {
        println!("{} generated files are up to date", artefacts.len());
        return Ok(());
    }
    for difference in &differences {
        println!("{difference}");
    }
    bail!(
        "{} generated files are not up to date; run `cargo xtask generate` and commit what it writes",
        differences.len()
    );
}

/// Writes what differs, deletes what is left over, and names both.
fn write(root: &Path, artefacts: &[Artefact]) -> Result<Vec<String>> {
    let mut changed = Vec::new();
    for artefact in artefacts {
        let path = root.join(&artefact.path);
        if read(&path)?.as_ref() == Some(&artefact.content) {
            continue;
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        fs::write(&path, &artefact.content)
            .with_context(|| format!("cannot write {}", path.display()))?;
        changed.push(artefact.path.clone());
    }
    for path in left_over(root, artefacts)? {
        fs::remove_file(root.join(&path)).with_context(|| format!("cannot delete {path}"))?;
        changed.push(format!("{path} (deleted)"));
    }
    Ok(changed)
}

/// A readable difference for each file that is not as it should be.
fn compare(root: &Path, artefacts: &[Artefact]) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    for artefact in artefacts {
        match read(&root.join(&artefact.path))? {
            None => differences.push(format!("{}: missing", artefact.path)),
            Some(found) if found != artefact.content => {
                differences.push(diff(&artefact.path, &found, &artefact.content));
            }
            Some(_) => {}
        }
    }
    for path in left_over(root, artefacts)? {
        differences.push(format!("{path}: left over, nothing generates it"));
    }
    Ok(differences)
}

/// A unified diff from what was found to what is expected, cut after [`SHOWN_LINES`].
fn diff(path: &str, found: &str, expected: &str) -> String {
    let diff = TextDiff::from_lines(found, expected);
    let text = diff
        .unified_diff()
        .context_radius(2)
        .header(&format!("{path} (found)"), &format!("{path} (expected)"))
        .to_string();
    let count = text.lines().count();
    if count <= SHOWN_LINES {
        return text;
    }
    let shown: Vec<_> = text.lines().take(SHOWN_LINES).collect();
    format!(
        "{}\n… and {} more lines",
        shown.join("\n"),
        count - SHOWN_LINES
    )
}

/// A file's text, `None` where there is no file. Bytes that are no UTF-8 are a difference, not an error.
fn read(path: &Path) -> Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Files in the generated folders that no artefact names, sorted.
fn left_over(root: &Path, artefacts: &[Artefact]) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for folder in FOLDERS {
        let entries = match fs::read_dir(root.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read the folder {folder}"));
            }
        };
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read the folder {folder}"))?;
            if entry.path().is_file() {
                found.insert(format!("{folder}/{}", entry.file_name().to_string_lossy()));
            }
        }
    }
    for artefact in artefacts {
        found.remove(&artefact.path);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artefact(path: &str, content: &str) -> Artefact {
        Artefact {
            path: path.to_owned(),
            content: content.to_owned(),
        }
    }

    #[test]
    fn what_was_written_is_up_to_date() {
        let root = tempfile::tempdir().unwrap();
        let all = [
            artefact("schemas/record.json", "{}\n"),
            artefact("docs/evaluators/equals.md", "# equals\n"),
        ];
        assert_eq!(compare(root.path(), &all).unwrap().len(), 2);
        assert_eq!(write(root.path(), &all).unwrap().len(), 2);
        assert!(compare(root.path(), &all).unwrap().is_empty());
        assert!(
            write(root.path(), &all).unwrap().is_empty(),
            "an equal file is not written again"
        );
    }

    #[test]
    fn a_difference_shows_both_lines() {
        let root = tempfile::tempdir().unwrap();
        write(
            root.path(),
            &[artefact("schemas/suite.json", "a\nold\nb\n")],
        )
        .unwrap();
        let found = compare(
            root.path(),
            &[artefact("schemas/suite.json", "a\nnew\nb\n")],
        )
        .unwrap();
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("schemas/suite.json (found)"),
            "{}",
            found[0]
        );
        assert!(found[0].contains("-old\n+new\n"), "{}", found[0]);
    }

    #[test]
    fn a_long_difference_is_cut() {
        let long = |word: &str| format!("{word}\n").repeat(200);
        let text = diff("x", &long("old"), &long("new"));
        assert_eq!(text.lines().count(), SHOWN_LINES + 1);
        assert!(text.ends_with("more lines"));
    }

    #[test]
    fn what_is_left_over_is_named_and_deleted() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &[artefact("docs/evaluators/old.md", "old\n")]).unwrap();
        let now = [artefact("docs/evaluators/new.md", "new\n")];
        let found = compare(root.path(), &now).unwrap();
        assert_eq!(
            found,
            [
                "docs/evaluators/new.md: missing",
                "docs/evaluators/old.md: left over, nothing generates it"
            ]
        );
        write(root.path(), &now).unwrap();
        assert!(compare(root.path(), &now).unwrap().is_empty());
    }

    #[test]
    fn artefacts_are_named_once_and_end_in_a_line_break() {
        let all = artefacts();
        let names: BTreeSet<_> = all.iter().map(|artefact| &artefact.path).collect();
        assert_eq!(names.len(), all.len());
        for artefact in &all {
            assert!(artefact.content.ends_with('\n'), "{}", artefact.path);
            assert!(
                !artefact.path.contains('\\') && !artefact.path.starts_with('/'),
                "{}",
                artefact.path
            );
        }
    }
}
