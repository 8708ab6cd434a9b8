//! `cargo xtask tidy`: what no compiler checks.
//!
//! Errors: a forbidden arrow between crates, a generated file that git does not track, a file of an
//! evaluator that is not in the list, the host name of a package registry in a tracked file. Warnings:
//! a source file that grows too long.

use crate::{generate, workspace};
use anyhow::{Result, bail};
use lydite::evaluator::Registry;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::fs;
use std::path::Path;

/// The library that must stay free of heavy worlds.
const CORE: &str = "lydite";

/// Packages that depend on no other of ours.
const LEAVES: [&str; 2] = [CORE, "lydite-mock-llm"];

/// Packages that nothing may depend on.
const ENDS: [&str; 2] = ["lydite-cli", "xtask"];

/// The developer's tool, which reaches the models only with its feature `train`.
///
/// `cargo metadata` is asked for the default features, so the arrow of a feature is not in it.
const TOOL: &str = "xtask";

/// Crates that one of ours must not reach, not even through others. A trailing `*` stands for any ending.
const BARRED: [(&str, &[&str]); 2] = [
    (
        CORE,
        &[
            "arrow*",
            "axum*",
            "candle*",
            "clap*",
            "datafusion*",
            "hyper*",
            "pyo3*",
            "reqwest*",
            "rusqlite*",
            "rustls*",
            "sqlx*",
            "tokio*",
        ],
    ),
    (
        "lydite-models",
        &["arrow*", "axum*", "clap*", "datafusion*", "pyo3*", "sqlx*"],
    ),
];

/// Host names of package registries, in parts so that this file does not contain them.
const HOSTS: [&[&str]; 6] = [
    &["crates", "io"],
    &["pypi", "org"],
    &["pythonhosted", "org"],
    &["registry", "npmjs", "org"],
    &["deb", "debian", "org"],
    &["proxy", "golang", "org"],
];

/// Where the evaluators are, and the list of them.
const EVALUATORS: &str = "crates/lydite/src/evaluators/";
const LIST: &str = "crates/lydite/src/evaluators/mod.rs";

/// Lines before a file's tests from which on it is called long.
const LONG: usize = 600;

/// What was found.
#[derive(Debug, Default)]
struct Findings {
    errors: Vec<String>,
    warnings: Vec<String>,
}

pub(crate) fn run() -> Result<()> {
    let mut findings = Findings::default();
    findings
        .errors
        .extend(forbidden_arrows(&Graph::new(&workspace::metadata()?)));
    match workspace::tracked_files() {
        Some(files) => check_files(&files, &mut findings),
        None => findings
            .warnings
            .push("this is no git repository: tracked files were not checked".to_owned()),
    }
    for warning in &findings.warnings {
        println!("warning: {warning}");
    }
    for error in &findings.errors {
        println!("error: {error}");
    }
    if !findings.errors.is_empty() {
        bail!("{} things are not tidy", findings.errors.len());
    }
    println!("tidy ({} warnings)", findings.warnings.len());
    Ok(())
}

/// Checks that read tracked files.
fn check_files(files: &[String], findings: &mut Findings) {
    for artefact in generate::artefacts() {
        if !files.contains(&artefact.path) {
            findings.errors.push(format!(
                "{}: generated but not committed; run `git add {0}`",
                artefact.path
            ));
        }
    }
    let list = fs::read_to_string(workspace::root().join(LIST)).unwrap_or_default();
    let registry = Registry::builtin();
    let ids: Vec<&str> = registry
        .entries()
        .iter()
        .map(|entry| entry.info.id)
        .collect();
    findings.errors.extend(unlisted(files, &list, &ids));
    for path in files {
        // Lock files name the index by a fixed address that cargo chooses.
        let ending = Path::new(path).extension().unwrap_or_default();
        if ending == "lock" {
            continue;
        }
        let Ok(text) = fs::read_to_string(workspace::root().join(path)) else {
            continue;
        };
        findings.errors.extend(host_names(path, &text));
        if ending == "rs" {
            findings.warnings.extend(too_long(path, &text));
        }
    }
}

/// An error for each file of the evaluators' folder that is neither one of them nor a helper, which
/// the list declares without `pub`.
fn unlisted(files: &[String], list: &str, ids: &[&str]) -> Vec<String> {
    let is_helper = |name: &str| list.lines().any(|line| line == format!("mod {name};"));
    files
        .iter()
        .filter_map(|path| path.strip_prefix(EVALUATORS)?.strip_suffix(".rs"))
        .filter(|name| !name.contains('/') && *name != "mod")
        .filter(|name| !ids.contains(name) && !is_helper(name))
        .map(|name| {
            format!("{EVALUATORS}{name}.rs: {LIST} has neither an evaluator of this name in ALL nor `mod {name};`")
        })
        .collect()
}

/// An error for each line that holds a registry's host name.
fn host_names(path: &str, text: &str) -> Vec<String> {
    let hosts = HOSTS.map(|parts| parts.join("."));
    let mut found = Vec::new();
    for (line, content) in text.lines().enumerate() {
        for host in hosts.iter().filter(|host| content.contains(host.as_str())) {
            found.push(format!(
                "{path}:{}: names the registry host {host}; say \"the registry\" instead",
                line + 1
            ));
        }
    }
    found
}

/// A warning where a source file has too many lines before its tests.
fn too_long(path: &str, text: &str) -> Option<String> {
    let lines = text
        .lines()
        .take_while(|line| *line != "#[cfg(test)]")
        .count();
    (lines > LONG).then(|| {
        format!("{path}: {lines} lines without its tests (over {LONG}); it may hold two topics")
    })
}

/// The packages of a workspace and what they depend on, development dependencies apart.
#[derive(Debug, Default)]
struct Graph {
    /// Package ids to names.
    names: BTreeMap<String, String>,
    /// Ids of the workspace's own packages.
    members: BTreeSet<String>,
    /// Package ids to the ids of their normal and build dependencies.
    needs: BTreeMap<String, Vec<String>>,
    /// The same, with development dependencies.
    needs_for_tests: BTreeMap<String, Vec<String>>,
}

impl Graph {
    /// Reads the output of `cargo metadata`; what is missing in it is missing in the graph.
    fn new(metadata: &Value) -> Self {
        let mut graph = Self::default();
        for package in list(metadata.get("packages")) {
            graph
                .names
                .insert(text(package, "id"), text(package, "name"));
        }
        graph.members = list(metadata.get("workspace_members"))
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        for node in list(
            metadata
                .get("resolve")
                .and_then(|resolve| resolve.get("nodes")),
        ) {
            let (mut shipped, mut all) = (Vec::new(), Vec::new());
            for dependency in list(node.get("deps")) {
                let kinds = list(dependency.get("dep_kinds"));
                let only_tests =
                    !kinds.is_empty() && kinds.iter().all(|kind| text(kind, "kind") == "dev");
                all.push(text(dependency, "pkg"));
                if !only_tests {
                    shipped.push(text(dependency, "pkg"));
                }
            }
            graph.needs.insert(text(node, "id"), shipped);
            graph.needs_for_tests.insert(text(node, "id"), all);
        }
        graph
    }

    fn name<'g>(&'g self, id: &'g str) -> &'g str {
        self.names.get(id).map_or(id, String::as_str)
    }
}

/// An error for each arrow that must not be.
fn forbidden_arrows(graph: &Graph) -> Vec<String> {
    let mut errors = Vec::new();
    for member in &graph.members {
        let own = graph.name(member);
        for needed in graph
            .needs_for_tests
            .get(member)
            .into_iter()
            .flatten()
            .filter(|id| graph.members.contains(*id))
        {
            let other = graph.name(needed);
            if ENDS.contains(&other) {
                errors.push(format!("{own} → {other}: nothing may depend on {other}"));
            } else if LEAVES.contains(&own) {
                errors.push(format!(
                    "{own} → {other}: {own} may not depend on another crate of ours"
                ));
            } else if own == TOOL && other != CORE {
                errors.push(format!(
                    "{own} → {other}: {own} may depend on {other} only with a feature that is off by default"
                ));
            }
        }
        for (_, barred) in BARRED.iter().filter(|(name, _)| *name == own) {
            errors.extend(barred_paths(graph, member, barred));
        }
    }
    errors
}

/// An error with its shortest path for each barred crate that a package reaches.
fn barred_paths(graph: &Graph, start: &str, barred: &[&str]) -> Vec<String> {
    let own = graph.name(start);
    let mut errors = Vec::new();
    let mut seen = HashSet::from([start]);
    let mut queue = VecDeque::from([(start, graph.name(start).to_owned())]);
    while let Some((id, path)) = queue.pop_front() {
        for needed in graph.needs.get(id).into_iter().flatten() {
            if !seen.insert(needed) {
                continue;
            }
            let name = graph.name(needed);
            let path = format!("{path} → {name}");
            if barred.iter().any(|pattern| fits(pattern, name)) {
                errors.push(format!("{path}: {own} may not depend on {name}"));
            } else {
                queue.push_back((needed, path));
            }
        }
    }
    errors
}

/// True where a name is the pattern, or the pattern's part before `*`, alone or with `-` or `_` after it.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        None => pattern == name,
        Some(start) => name
            .strip_prefix(start)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_'])),
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn text(value: &Value, key: &str) -> String {
    value
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A package and what it depends on, with the kinds as cargo says them.
    type Package<'p> = (&'p str, &'p [(&'p str, Option<&'p str>)]);

    /// A graph from `(package, [(dependency, kind)])`; our own packages are those that begin with `lydite` or `xtask`.
    fn graph(packages: &[Package<'_>]) -> Graph {
        let metadata = json!({
            "packages": packages.iter().map(|(name, _)| json!({"id": name, "name": name})).collect::<Vec<_>>(),
            "workspace_members": packages.iter().map(|(name, _)| name).filter(|name| name.starts_with("lydite") || **name == "xtask").collect::<Vec<_>>(),
            "resolve": {"nodes": packages.iter().map(|(name, needs)| json!({
                "id": name,
                "deps": needs.iter().map(|(name, kind)| json!({"pkg": name, "dep_kinds": [{"kind": kind}]})).collect::<Vec<_>>(),
            })).collect::<Vec<_>>()},
        });
        Graph::new(&metadata)
    }

    #[test]
    fn the_arrows_of_today_are_allowed() {
        let graph = graph(&[
            ("lydite", &[("regex", None), ("divan", Some("dev"))]),
            (
                "lydite-cli",
                &[
                    ("lydite", None),
                    ("lydite-models", None),
                    ("lydite-mock-llm", None),
                    ("clap", None),
                ],
            ),
            ("lydite-mock-llm", &[("hyper", None)]),
            (
                "lydite-models",
                &[("lydite", None), ("reqwest", None), ("rusqlite", None)],
            ),
            ("reqwest", &[("hyper", None), ("tokio", None)]),
            ("hyper", &[]),
            ("rusqlite", &[]),
            ("tokio", &[]),
            ("xtask", &[("lydite", None), ("clap", None)]),
            ("divan", &[("clap", None)]),
            ("regex", &[]),
            ("clap", &[]),
        ]);
        assert!(forbidden_arrows(&graph).is_empty());
    }

    #[test]
    fn forbidden_arrows_are_named() {
        let cases: &[(&str, &str, &str)] = &[
            (
                "lydite",
                "lydite-models",
                "may not depend on another crate of ours",
            ),
            (
                "lydite",
                "lydite-mock-llm",
                "may not depend on another crate of ours",
            ),
            (
                "lydite-mock-llm",
                "lydite",
                "may not depend on another crate of ours",
            ),
            ("lydite", "clap", "may not depend on clap"),
            ("lydite", "arrow-array", "may not depend on arrow-array"),
            (
                "lydite-models",
                "lydite-cli",
                "nothing may depend on lydite-cli",
            ),
            (
                "lydite-models",
                "sqlx-core",
                "lydite-models may not depend on sqlx-core",
            ),
            (
                "lydite-models",
                "axum",
                "lydite-models may not depend on axum",
            ),
            ("lydite", "rusqlite", "lydite may not depend on rusqlite"),
            ("lydite-cli", "xtask", "nothing may depend on xtask"),
            (
                "xtask",
                "lydite-models",
                "only with a feature that is off by default",
            ),
        ];
        for (from, to, expected) in cases {
            let errors = forbidden_arrows(&graph(&[(from, &[(to, None)]), (to, &[])]));
            assert_eq!(errors.len(), 1, "{from} {to}: {errors:?}");
            assert!(errors[0].contains(expected), "{}", errors[0]);
        }
    }

    #[test]
    fn a_development_dependency_on_our_own_is_an_arrow_too() {
        let errors = forbidden_arrows(&graph(&[
            ("lydite", &[("lydite-cli", Some("dev"))]),
            ("lydite-cli", &[]),
        ]));
        assert_eq!(errors.len(), 1);
    }

    #[test]
    fn a_heavy_crate_behind_another_is_found_with_its_path() {
        let errors = forbidden_arrows(&graph(&[
            ("lydite", &[("jsonschema", None)]),
            ("jsonschema", &[("reqwest", None)]),
            ("reqwest", &[("hyper", None)]),
            ("hyper", &[]),
        ]));
        assert_eq!(
            errors,
            ["lydite → jsonschema → reqwest: lydite may not depend on reqwest"]
        );
    }

    #[test]
    fn patterns_fit_families_and_nothing_else() {
        let cases = [
            ("arrow*", "arrow", true),
            ("arrow*", "arrow-json", true),
            ("arrow*", "arrowhead", false),
            ("clap*", "clap_lex", true),
            ("clap*", "clapper", false),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn host_names_are_found_with_their_line() {
        let host = ["pypi", "org"].join(".");
        let found = host_names("a.md", &format!("fine\nsee https://{host}/x\n"));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("a.md:2: "), "{}", found[0]);
        assert!(host_names("a.md", "crates, io, pypi").is_empty());
    }

    #[test]
    fn evaluators_outside_of_the_list_are_named() {
        let files = ["contains", "mod", "options", "forgotten", "deep/er"]
            .map(|name| format!("{EVALUATORS}{name}.rs"));
        let list = "pub mod contains;\nmod options;\n";
        let errors = unlisted(&files, list, &["contains"]);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("forgotten.rs"), "{}", errors[0]);
    }

    #[test]
    fn tests_do_not_make_a_file_long() {
        let short = "x\n".repeat(LONG) + "#[cfg(test)]\n" + &"y\n".repeat(LONG);
        assert_eq!(too_long("a.rs", &short), None);
        assert!(too_long("a.rs", &"x\n".repeat(LONG + 1)).is_some());
    }
}
