use std::process::Command;
use std::time::Instant;

use super::*;

const CHILD: &str = "LYDITE_TEST_CACHE";

fn key(number: u32) -> Key {
    blake3::hash(&number.to_le_bytes()).into()
}

fn open(dir: &Path) -> Cache {
    Cache::open(dir, Warn::default()).unwrap()
}

fn wait_for(cache: &Cache, number: u32) -> Option<Vec<u8>> {
    let ends = Instant::now() + Duration::from_secs(20);
    loop {
        let found = cache.get(Kind::Chat, &key(number));
        if found.is_some() || Instant::now() > ends {
            return found;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs `child` below in a process of its own.
fn spawn_child(dir: &Path, mode: &str) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "layers::cache::tests::child", "--nocapture"])
        .env(CHILD, dir)
        .env("LYDITE_TEST_MODE", mode)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap()
}

/// Not a test by itself: the other process of those below.
#[test]
fn child() {
    let Some(dir) = std::env::var_os(CHILD) else {
        return;
    };
    let cache = open(Path::new(&dir));
    match std::env::var("LYDITE_TEST_MODE").unwrap().as_str() {
        "share" => {
            for number in 1000..2000 {
                cache.put(Kind::Chat, key(number), b"child".to_vec());
            }
            assert_eq!(wait_for(&cache, 0).as_deref(), Some(&b"parent"[..]));
        }
        _ => {
            for number in 0.. {
                cache.put(Kind::Chat, key(number), vec![7; 5000]);
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }
}

#[test]
fn a_read_sees_what_was_put_before_and_after_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path());
    let large = "abc".repeat(10_000).into_bytes();
    for (kind, value) in [
        (Kind::Chat, b"small".to_vec()),
        (Kind::Moderation, Vec::new()),
        (Kind::Verdict, large.clone()),
        (Kind::Embedding, large),
    ] {
        let key = key(kind as u32);
        assert_eq!(cache.get(kind, &key), None);
        cache.put(kind, key, b"older".to_vec());
        cache.put(kind, key, value.clone());
        assert_eq!(cache.get(kind, &key).as_ref(), Some(&value));
        cache.flush().unwrap();
        assert!(cache.queue.find(&key).is_none());
        assert_eq!(cache.get(kind, &key).as_ref(), Some(&value));
        assert_eq!(open(dir.path()).get(kind, &key).as_ref(), Some(&value));
    }
    let stats = cache.stats().unwrap();
    assert_eq!(
        (
            stats.chats,
            stats.embeddings,
            stats.moderations,
            stats.verdicts
        ),
        (1, 1, 1, 1)
    );
    assert!(stats.bytes > 30_000 && stats.bytes < 80_000, "{stats:?}");
}

#[test]
fn processes_share_a_cache() {
    let dir = tempfile::tempdir().unwrap();
    let mut children: Vec<_> = (0..3).map(|_| spawn_child(dir.path(), "share")).collect();
    let cache = open(dir.path());
    for number in 0..1000 {
        cache.put(Kind::Chat, key(number), b"parent".to_vec());
    }
    assert_eq!(wait_for(&cache, 1999).as_deref(), Some(&b"child"[..]));
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(cache.stats().unwrap().chats, 2000);
}

#[test]
fn a_kill_leaves_a_whole_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut child = spawn_child(dir.path(), "write until killed");
    let cache = open(dir.path());
    assert!(wait_for(&cache, 600).is_some());
    child.kill().unwrap();
    child.wait().unwrap();
    drop(cache);
    let cache = open(dir.path());
    let check: String = lock(&cache.reader)
        .apart(|store| Ok(store.check()))
        .unwrap();
    assert_eq!(check, "ok");
    assert_eq!(cache.get(Kind::Chat, &key(600)), Some(vec![7; 5000]));
}

#[test]
fn what_is_no_cache_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join(FILE),
        "no database at all, but long enough".repeat(100),
    )
    .unwrap();
    let error = Cache::open(dir.path(), Warn::default()).unwrap_err();
    assert!(matches!(error, CacheError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("delete it"), "{error}");

    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()));
    let connection = rusqlite::Connection::open(dir.path().join(FILE)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let error = Cache::open(dir.path(), Warn::default()).unwrap_err();
    assert!(
        matches!(error, CacheError::Newer { found: 99, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("update Lydite"), "{error}");

    let file = tempfile::NamedTempFile::new().unwrap();
    let error = Cache::open(file.path(), Warn::default()).unwrap_err();
    assert!(matches!(error, CacheError::Folder { .. }), "{error}");
}

#[test]
fn damage_while_it_runs_is_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let warn = Warn::new({
        let told = Arc::clone(&told);
        move |line| lock(&told).push(line.to_owned())
    });
    let cache = Cache::open(dir.path(), warn).unwrap();
    let other = rusqlite::Connection::open(dir.path().join(FILE)).unwrap();
    other.execute_batch("DROP TABLE entries").unwrap();
    for number in 0..3 {
        assert_eq!(cache.get(Kind::Chat, &key(number)), None);
        cache.put(Kind::Chat, key(number), Vec::new());
        assert!(cache.flush().is_err());
    }
    let told = lock(&told);
    assert_eq!(told.len(), 2, "one of reading, one of writing: {told:?}");
    assert!(told[0].contains("goes on without it"), "{told:?}");
}

#[test]
fn the_oldest_go_first() {
    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path());
    for number in 0..400 {
        cache.put(Kind::Embedding, key(number), vec![1; 2500]);
    }
    // Written again, the first is the newest.
    cache.put(Kind::Embedding, key(0), vec![1; 2500]);
    cache.evict_to(u64::MAX).unwrap();
    assert_eq!(cache.stats().unwrap().embeddings, 400);
    let size = |cache: &Cache| cache.stats().unwrap().bytes;
    let half = size(&cache) / 2;
    cache.evict_to(half).unwrap();
    assert!(size(&cache) <= half && size(&cache) > half / 10 * 8);
    let there = |number| cache.get(Kind::Embedding, &key(number)).is_some();
    assert!(there(0) && !there(1) && there(399));
    assert!(std::fs::metadata(cache.path()).unwrap().len() <= half);
}

#[test]
fn clearing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = open(dir.path());
    cache.put(Kind::Chat, key(1), vec![1]);
    cache.put(Kind::Verdict, key(2), vec![2]);
    cache.flush().unwrap();
    lock(&cache.reader)
        .apart(|store| {
            store.age(&key(1), 100);
            Ok(())
        })
        .unwrap();
    assert_eq!(cache.clear(Some(Duration::from_secs(200))).unwrap(), 0);
    assert_eq!(cache.clear(Some(Duration::from_secs(50))).unwrap(), 1);
    assert_eq!(cache.clear(Some(Duration::MAX)).unwrap(), 0);
    assert_eq!(VerdictCache::get(&cache, &key(2)), Some(vec![2]));
    assert_eq!(cache.clear(None).unwrap(), 1);
    assert_eq!(VerdictCache::get(&cache, &key(2)), None);
}

impl Store {
    fn check(&self) -> String {
        self.connection
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap()
    }

    fn age(&self, key: &Key, by: i64) {
        self.connection
            .execute(
                "UPDATE entries SET stored = stored - ?2 WHERE key = ?1",
                rusqlite::params![key, by],
            )
            .unwrap();
    }
}

#[cfg(unix)]
#[test]
fn only_the_owner_reads() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let cache = open(&dir.path().join("new"));
    cache.put(Kind::Chat, key(1), vec![1]);
    cache.flush().unwrap();
    for entry in std::fs::read_dir(dir.path().join("new")).unwrap() {
        let mode = entry
            .as_ref()
            .unwrap()
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{entry:?}");
    }
}
