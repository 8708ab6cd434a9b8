//! What is on this machine already.

use super::hub::LoopbackHub;
use super::*;

#[test]
fn a_folder_of_the_users() {
    let home = Home::new();
    for name in ["direct", "above/small"] {
        home.small.write_to(&home.path(name));
    }
    for (dir, expected) in [("direct", "direct"), ("above", "above/small")] {
        let dir = home.path(dir);
        let by_flag = home.supply(&[]).model_dir(Some(dir.clone()));
        let by_variable = home.supply(&[("LYDITE_MODEL_DIR", dir.to_str().unwrap())]);
        for supply in [by_flag, by_variable.model_dir(None)] {
            let folder = home.finds(&supply.offline(true), Source::ModelDir);
            assert_eq!(folder, home.path(expected));
        }
    }
    assert!(!home.kept().exists(), "used where it is");
}

#[test]
fn a_folder_of_the_users_with_other_files() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    let dir = home.path("dir");
    home.small.write_damaged_to(&dir);
    let supply = home.over(&hub).model_dir(Some(dir.clone()));
    let error = home.find(&supply).unwrap_err().to_string();
    assert!(
        error.contains("does not hold small: `model.safetensors` has the SHA-256"),
        "{error}"
    );
    assert!(error.contains(dir.to_str().unwrap()), "{error}");
    fs::remove_file(dir.join("model.safetensors")).unwrap();
    let error = home.find(&supply).unwrap_err().to_string();
    assert!(error.contains("`model.safetensors` is missing"), "{error}");
    assert_eq!(hub.count(), 0, "nothing is taken in its place");

    let empty = home.path("empty");
    fs::create_dir(&empty).unwrap();
    home.finds(&home.over(&hub).model_dir(Some(empty)), Source::Hub);
}

#[test]
fn a_damaged_cache_is_told_and_fetched_anew() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    let supply = home.over(&hub);
    home.finds(&supply, Source::Hub);
    std::thread::sleep(Duration::from_millis(20));
    home.small.write_damaged_to(&home.kept());
    let located = supply.locate(&home.small.model()).unwrap();
    assert!(located.found.is_none() && located.tried[0].wrong);
    home.finds(&supply, Source::Hub);
    let said = home.said();
    assert!(
        said.len() == 1 && said[0].contains("can't be used: `model.safetensors`"),
        "{said:?}"
    );

    fs::remove_file(home.kept().join("config.json")).unwrap();
    home.finds(&supply, Source::Hub);
    home.finds(&supply, Source::Cache);
}

#[test]
fn files_that_somebody_laid_into_the_cache() {
    let home = Home::new();
    home.small.write_to(&home.kept());
    home.finds(&home.supply(&[]).offline(true), Source::Cache);
}

/// The hub's client keeps blobs, and links to them under each revision.
#[cfg(unix)]
#[test]
fn the_hubs_own_cache() {
    for revision in [REVISION, "fedcba9876543210fedcba9876543210fedcba98"] {
        let home = Home::new();
        let above = home.path("hub/models--org--small");
        let blobs = above.join("blobs");
        let snapshot = above.join("snapshots").join(revision);
        fs::create_dir_all(&snapshot).unwrap();
        fs::create_dir_all(&blobs).unwrap();
        for pin in home.small.model().files {
            let content = home.small.content(pin.name).unwrap();
            fs::write(blobs.join(pin.sha256), content).unwrap();
            let target = PathBuf::from("../../blobs").join(pin.sha256);
            std::os::unix::fs::symlink(target, snapshot.join(pin.name)).unwrap();
        }
        let supply = home.supply(&[]).offline(true);
        let folder = home.finds(&supply, Source::HubCache);
        assert_eq!(folder, home.kept());
        fs::remove_dir_all(above).unwrap();
        home.finds(&supply, Source::Cache);
    }
}

#[test]
fn a_damaged_cache_of_the_hub() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    let snapshot = home.path("hub/models--org--small/snapshots").join(REVISION);
    home.small.write_damaged_to(&snapshot);
    home.finds(&home.over(&hub), Source::Hub);
    let said = home.said();
    assert!(said.len() == 1 && said[0].contains(REVISION), "{said:?}");
}

/// Without a folder of ours that can be written, the hub's serves; a fetch has nowhere to go.
#[test]
fn a_cache_that_cannot_be_written() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    fs::write(home.path("file"), "").unwrap();
    let supply = home.over(&hub).cache_dir(Some(&home.path("file")));
    let error = home.find(&supply).unwrap_err().to_string();
    assert!(error.contains("set LYDITE_CACHE_DIR"), "{error}");
    let error = home.find(&supply.clone().cache_dir(None)).unwrap_err();
    assert!(matches!(error, SupplyError::NoCache));
    let snapshot = home.path("hub/models--org--small/snapshots").join(REVISION);
    home.small.write_to(&snapshot);
    assert_eq!(home.finds(&supply, Source::HubCache), snapshot);
}
