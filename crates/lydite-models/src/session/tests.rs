//! Models with all their layers, over wires that are made up.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use lydite::model::{
    BoxFuture, ChatMessage, ChatReply, ChatRequest, Finish, Moderation, Price, ReplyFormat, Usage,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::attempt::{Attempt, AttemptError, ChatWire, EmbedWire, ModerateWire};

/// What an attempt meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Fate {
    Fine,
    Limited,
    Server,
    Hang,
    Malformed,
    Cut,
    Unauthorized,
    Short,
}

type Script = dyn Fn(&str, usize) -> Fate + Send + Sync;

/// Answers each text with itself; counts its attempts.
struct Fake {
    name: String,
    script: Box<Script>,
    sent: AtomicUsize,
    tries: Mutex<HashMap<String, usize>>,
    under_way: AtomicUsize,
    most: AtomicUsize,
    /// More at once are refused.
    takes: usize,
}

impl std::fmt::Debug for Fake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Fake")
    }
}

const LATENCY: Duration = Duration::from_millis(100);
const PRICE: Price = Price {
    input: 1.0,
    output: 2.0,
};

impl Fake {
    fn new(script: impl Fn(&str, usize) -> Fate + Send + Sync + 'static) -> Arc<Self> {
        Self::taking(usize::MAX, script)
    }

    fn taking(
        takes: usize,
        script: impl Fn(&str, usize) -> Fate + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: "openai/m".to_owned(),
            script: Box::new(script),
            sent: AtomicUsize::new(0),
            tries: Mutex::default(),
            under_way: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            takes,
        })
    }

    fn fine() -> Arc<Self> {
        Self::new(|_, _| Fate::Fine)
    }

    fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }

    async fn attempt<T>(&self, text: &str, timeout: Duration, answer: T) -> Attempt<(T, Finish)> {
        self.sent.fetch_add(1, Ordering::SeqCst);
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(under_way, Ordering::SeqCst);
        let tried = {
            let mut tries = lock(&self.tries);
            let tried = tries.entry(text.to_owned()).or_default();
            *tried += 1;
            *tried - 1
        };
        let fate = if under_way > self.takes {
            Fate::Limited
        } else {
            (self.script)(text, tried)
        };
        let began = Instant::now();
        sleep(match fate {
            Fate::Hang => timeout,
            Fate::Limited => Duration::from_millis(2),
            _ => LATENCY,
        })
        .await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let tokens = match fate {
            Fate::Fine | Fate::Short | Fate::Malformed => (10, 5),
            _ => (0, 0),
        };
        Attempt {
            outcome: outcome(fate).map(|finish| (answer, finish)),
            status: Some(200),
            took: began.elapsed(),
            usage: Usage {
                calls: 1,
                input_tokens: tokens.0,
                output_tokens: tokens.1,
                ..Usage::default()
            },
            request_id: Some("req".to_owned()),
        }
    }
}

fn outcome(fate: Fate) -> Result<Finish, AttemptError> {
    let (kind, retry, retry_after) = match fate {
        Fate::Fine => return Ok(Finish::Stop),
        Fate::Short => return Ok(Finish::Length),
        Fate::Limited => (
            ModelErrorKind::RateLimited,
            true,
            Some(Duration::from_secs(1)),
        ),
        Fate::Server => (ModelErrorKind::Server, true, None),
        Fate::Hang => (ModelErrorKind::Timeout, true, None),
        Fate::Malformed => (ModelErrorKind::Protocol, true, None),
        Fate::Cut => (ModelErrorKind::Connection, true, None),
        Fate::Unauthorized => (ModelErrorKind::Unauthorized, false, None),
    };
    Err(AttemptError {
        kind,
        message: format!("{fate:?}"),
        retry,
        retry_after,
    })
}

fn with<T, U>(attempt: Attempt<T>, to: impl FnOnce(T) -> U) -> Attempt<U> {
    Attempt {
        outcome: attempt.outcome.map(to),
        status: attempt.status,
        took: attempt.took,
        usage: attempt.usage,
        request_id: attempt.request_id,
    }
}

impl ChatWire for Fake {
    fn identity(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn logprobs(&self) -> bool {
        false
    }

    fn attempt<'a>(
        &'a self,
        request: &'a ChatRequest,
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<ChatReply>> {
        Box::pin(async move {
            let text = request.messages[0].content.clone();
            let attempt = Fake::attempt(self, &text, timeout, text.clone()).await;
            with(attempt, |(text, finish)| ChatReply {
                text,
                finish,
                ..ChatReply::default()
            })
        })
    }
}

impl EmbedWire for Fake {
    fn identity(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        4
    }

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Vec<f32>>>> {
        Box::pin(async move {
            assert!(texts.len() <= 4);
            let vectors = texts
                .iter()
                .map(|text| vec![text.len() as f32, 0.1])
                .collect();
            with(
                Fake::attempt(self, texts[0], timeout, vectors).await,
                |(vectors, _)| vectors,
            )
        })
    }
}

impl ModerateWire for Fake {
    fn identity(&self) -> &str {
        &self.name
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn batch(&self) -> usize {
        4
    }

    fn attempt<'a>(
        &'a self,
        texts: &'a [&'a str],
        timeout: Duration,
    ) -> BoxFuture<'a, Attempt<Vec<Moderation>>> {
        Box::pin(async move {
            let moderation = |text: &&str| Moderation {
                flagged: text.contains("bad"),
                categories: Vec::new(),
            };
            let answers = texts.iter().map(moderation).collect();
            with(
                Fake::attempt(self, texts[0], timeout, answers).await,
                |(answers, _)| answers,
            )
        })
    }
}

#[derive(Debug)]
struct FakeWires {
    fake: Arc<Fake>,
    price: Option<Price>,
    local: bool,
}

impl Wires for FakeWires {
    fn chat(&self, _: &ModelSpec) -> Result<Arc<dyn ChatWire>, ModelError> {
        Ok(self.fake.clone())
    }

    fn embed(&self, _: &ModelSpec) -> Result<Arc<dyn EmbedWire>, ModelError> {
        Ok(self.fake.clone())
    }

    fn moderate(&self, _: &ModelSpec) -> Result<Arc<dyn ModerateWire>, ModelError> {
        Ok(self.fake.clone())
    }

    fn price(&self, _: &ModelSpec) -> Option<(Price, Option<&'static str>)> {
        self.price.map(|price| (price, Some("2026-01-01")))
    }

    fn is_local(&self, _: &ModelSpec) -> bool {
        self.local
    }
}

fn open(fake: &Arc<Fake>, dir: Option<&Path>, options: &SessionOptions) -> Arc<dyn ModelSession> {
    let wires = FakeWires {
        fake: Arc::clone(fake),
        price: Some(PRICE),
        local: false,
    };
    let host = Host::with_wires(Arc::new(wires)).cache_dir(dir.map(Path::to_owned));
    host.open(options).unwrap()
}

fn spec() -> ModelSpec {
    let mut spec = ModelSpec::new(Provider::OpenAi, "m");
    spec.timeout = Some(10.0);
    spec
}

fn request(text: impl Into<String>) -> ChatRequest {
    ChatRequest {
        messages: vec![ChatMessage::user(text)],
        ..ChatRequest::default()
    }
}

async fn ask(session: &dyn ModelSession, text: &str) -> Result<ChatReply, ModelError> {
    session.chat(&spec()).unwrap().chat(&request(text)).await
}

fn options(calls: &Path) -> SessionOptions {
    SessionOptions {
        calls: Some(calls.to_owned()),
        ..SessionOptions::default()
    }
}

/// A number in [0, 1) that hangs on the text and the attempt alone.
fn chance(text: &str, tried: usize) -> f64 {
    let hash = blake3::hash(format!("{text} {tried}").as_bytes());
    let bytes = hash.as_bytes();
    f64::from(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])) / 2f64.powi(32)
}

fn faults(text: &str, tried: usize) -> Fate {
    match chance(text, tried) {
        x if x < 0.10 => Fate::Limited,
        x if x < 0.15 => Fate::Server,
        x if x < 0.17 => Fate::Hang,
        x if x < 0.19 => Fate::Malformed,
        x if x < 0.20 => Fate::Cut,
        _ => Fate::Fine,
    }
}

#[tokio::test(start_paused = true)]
async fn a_mix_of_faults_costs_no_more_than_it_must() {
    for (seed, concurrency) in [("a", 256), ("b", 256), ("c", 256), ("d", 1000)] {
        let fake = Fake::new(faults);
        let dir = tempfile::tempdir().unwrap();
        let session = open(
            &fake,
            Some(dir.path()),
            &SessionOptions {
                concurrency: Some(concurrency),
                ..SessionOptions::default()
            },
        );
        let texts: Vec<String> = (0..1000).map(|number| format!("{seed}{number}")).collect();
        // A call needs as many attempts as its fates say, and hangs that follow each other cost time-outs.
        let fates = |text: &str| (1..9).find(|n| faults(text, n - 1) == Fate::Fine).unwrap();
        let least: usize = texts.iter().map(|text| fates(text)).sum();
        let hangs = |text: &&String| {
            (0..8)
                .take_while(|n| faults(text, *n) != Fate::Fine)
                .filter(|n| faults(text, *n) == Fate::Hang)
                .count()
        };
        let hangs = texts.iter().map(|text| hangs(&text)).max().unwrap();
        let began = Instant::now();
        let model = session.chat(&spec()).unwrap();
        let requests: Vec<_> = texts.iter().map(request).collect();
        let replies = join_all(requests.iter().map(|request| model.chat(request))).await;
        let took = began.elapsed().as_secs_f64();
        for (reply, text) in replies.into_iter().zip(&texts) {
            assert_eq!(reply.unwrap().text, *text);
        }
        assert!(least > 1200, "{least}");
        assert!(
            fake.sent() as f64 <= least as f64 * 1.005,
            "{} of {least}",
            fake.sent()
        );
        assert!(
            hangs <= 2 && took <= 2.0 * 10.0 + 3.0,
            "{took} s with {hangs} hangs"
        );
        assert!(fake.most.load(Ordering::SeqCst) <= concurrency);
        let totals = &session.totals()[0];
        assert_eq!(totals.requests as usize, least);
        assert_eq!(
            (totals.calls, totals.retries as usize),
            (1000, least - 1000)
        );
        // Malformed replies are paid as well.
        assert_eq!(totals.input_tokens % 10, 0);
        assert!(totals.input_tokens > 10_000, "{totals:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_takes_few_at_once_gets_few_at_once() {
    let fake = Fake::taking(8, |_, _| Fate::Fine);
    let session = open(
        &fake,
        None,
        &SessionOptions {
            concurrency: Some(128),
            ..SessionOptions::default()
        },
    );
    let model = session.chat(&spec()).unwrap();
    let requests: Vec<_> = (0..1000).map(|n| request(n.to_string())).collect();
    let began = Instant::now();
    let replies = join_all(requests.iter().map(|request| model.chat(request))).await;
    let failed = replies.iter().filter(|reply| reply.is_err()).count();
    // At its best the provider takes 12.5 s and 1,000 requests for them.
    let took = began.elapsed().as_secs_f64();
    assert!(
        failed == 0 && fake.sent() < 2000 && took < 60.0,
        "{failed} failed, {} sent, {took} s",
        fake.sent()
    );
}

#[tokio::test(start_paused = true)]
async fn a_thousand_equal_calls_make_one_attempt() {
    let fake = Fake::fine();
    let session = open(&fake, None, &SessionOptions::default());
    let model = session.chat(&spec()).unwrap();
    let request = request("same");
    let replies = join_all((0..1000).map(|_| model.chat(&request))).await;
    let replies: Vec<_> = replies.into_iter().map(Result::unwrap).collect();
    assert_eq!(fake.sent(), 1);
    assert_eq!(replies.iter().filter(|reply| !reply.cached).count(), 1);
    let paid: u32 = replies.iter().map(|reply| reply.usage.calls).sum();
    let totals = &session.totals()[0];
    assert_eq!(
        (paid, totals.calls, totals.cached, totals.requests),
        (1, 1, 999, 1)
    );
    assert_eq!(totals.cost_usd, Some(20.0 / 1e6));
}

#[tokio::test(start_paused = true)]
async fn replies_are_kept_and_errors_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::new(|text, tried| match (text, tried) {
        ("denied", 0) => Fate::Unauthorized,
        ("short", _) => Fate::Short,
        _ => Fate::Fine,
    });
    for (round, sent, no_cache) in [(0, 3, false), (1, 5, false), (2, 6, false), (3, 9, true)] {
        let options = SessionOptions {
            no_cache,
            ..SessionOptions::default()
        };
        let session = open(&fake, Some(dir.path()), &options);
        let reply = ask(&*session, "kept").await.unwrap();
        assert_eq!(reply.cached, round == 1 || round == 2);
        assert_eq!(reply.usage.calls, u32::from(!reply.cached));
        assert_eq!(
            reply.usage.cost_usd,
            Some(if reply.cached { 0.0 } else { 20.0 / 1e6 })
        );
        assert_eq!(
            ask(&*session, "short").await.unwrap().finish,
            Finish::Length
        );
        let denied = ask(&*session, "denied").await;
        assert_eq!(denied.is_err(), round == 0);
        session.close().unwrap();
        assert_eq!(fake.sent(), sent, "round {round}");
        assert_eq!(session.verdicts().is_none(), no_cache);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_is_resumed_and_repeated_from_its_calls() {
    let dir = tempfile::tempdir().unwrap();
    let calls = dir.path().join("calls.jsonl");
    let fake = Fake::new(|text, _| {
        if text == "broken" {
            Fate::Unauthorized
        } else {
            Fate::Fine
        }
    });
    let first = open(&fake, None, &options(&calls));
    for text in ["one", "two"] {
        assert!(!ask(&*first, text).await.unwrap().cached);
    }
    assert!(ask(&*first, "broken").await.is_err());
    // Not closed: as if it were killed.
    let resumed = open(&fake, None, &options(&calls));
    assert!(ask(&*resumed, "one").await.unwrap().cached);
    assert!(!ask(&*resumed, "three").await.unwrap().cached);
    assert!(ask(&*resumed, "broken").await.is_err());
    assert_eq!(fake.sent(), 5);
    let replay = SessionOptions {
        replay: true,
        ..options(&calls)
    };
    let replayed = open(&fake, None, &replay);
    for text in ["one", "two", "three"] {
        let reply = ask(&*replayed, text).await.unwrap();
        assert!(reply.cached && reply.text == text);
    }
    let broken = ask(&*replayed, "broken").await.unwrap_err();
    assert_eq!(broken.kind, ModelErrorKind::Unauthorized);
    let missing = ask(&*replayed, "four").await.unwrap_err();
    assert_eq!(missing.kind, ModelErrorKind::Offline);
    assert!(missing.message.contains("\"four\""), "{missing}");
    assert_eq!(fake.sent(), 5);
    assert_eq!(lines(&calls).len(), 5, "a replay writes nothing");
}

/// Errors are not kept, and a reply that came to nothing is one; yet a call that was answered is not made
/// twice in one run, unless its errors are to go.
#[tokio::test(start_paused = true)]
async fn a_refused_reply_is_asked_for_again_where_errors_are() {
    let dir = tempfile::tempdir().unwrap();
    let calls = dir.path().join("calls.jsonl");
    let fake = Fake::fine();
    let first = open(&fake, Some(dir.path()), &options(&calls));
    ask(&*first, "bad").await.unwrap();
    ask(&*first, "good").await.unwrap();
    let model = first.chat(&spec()).unwrap();
    model.refuse(&request("bad"));
    assert!(ask(&*first, "bad").await.unwrap().cached);
    drop((first, model));
    let replay = SessionOptions {
        replay: true,
        ..options(&calls)
    };
    let anew = SessionOptions {
        retry_refused: true,
        ..options(&calls)
    };
    // How the run is opened again, and what was sent when it has asked for both.
    for (options, sent) in [
        (options(&calls), 2),
        (replay.clone(), 2),
        (anew.clone(), 3),
        (anew, 3),
        (replay, 3),
    ] {
        let session = open(&fake, None, &options);
        ask(&*session, "bad").await.unwrap();
        ask(&*session, "good").await.unwrap();
        assert_eq!(fake.sent(), sent, "{options:?}");
    }
    for sent in [4, 4] {
        let session = open(&fake, Some(dir.path()), &SessionOptions::default());
        ask(&*session, "bad").await.unwrap();
        ask(&*session, "good").await.unwrap();
        assert_eq!(fake.sent(), sent, "another run");
    }
}

#[test]
fn verdicts_of_the_cache_stand_in_the_log_of_the_run_that_took_them() {
    let dir = tempfile::tempdir().unwrap();
    let calls = dir.path().join("calls.jsonl");
    let fake = Fake::fine();
    let before = open(&fake, Some(dir.path()), &SessionOptions::default());
    let verdict = br#"{"score":0.1}"#.to_vec();
    before.verdicts().unwrap().put([1; 32], verdict.clone());
    drop(before);
    let run = open(&fake, Some(dir.path()), &options(&calls));
    let verdicts = run.verdicts().unwrap();
    // The second look finds it in the log.
    for _ in 0..2 {
        assert_eq!(verdicts.get(&[1; 32]), Some(verdict.clone()));
    }
    assert_eq!(verdicts.get(&[2; 32]), None);
    drop((run, verdicts));
    assert_eq!(lines(&calls).len(), 1);
    for replay in [true, false] {
        let options = SessionOptions {
            replay,
            no_cache: true,
            ..options(&calls)
        };
        let verdicts = open(&fake, None, &options).verdicts().unwrap();
        assert_eq!(verdicts.get(&[1; 32]), Some(verdict.clone()));
        verdicts.put([2; 32], verdict.clone());
        assert_eq!(verdicts.get(&[2; 32]), None);
    }
}

fn lines(calls: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(calls).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn the_log_tells_attempts_and_what_the_cache_answered() {
    let dir = tempfile::tempdir().unwrap();
    let calls = dir.path().join("calls.jsonl");
    let fake = Fake::new(|_, tried| {
        if tried == 0 {
            Fate::Limited
        } else {
            Fate::Fine
        }
    });
    let first = open(
        &fake,
        Some(dir.path()),
        &options(&dir.path().join("other.jsonl")),
    );
    ask(&*first, "one").await.unwrap();
    first.close().unwrap();
    let session = open(&fake, Some(dir.path()), &options(&calls));
    for text in ["one", "two", "one", "two"] {
        ask(&*session, text).await.unwrap();
    }
    let lines = lines(&calls);
    let told: Vec<_> = lines
        .iter()
        .map(|line| (&line["reply"]["text"], &line["cached"]))
        .collect();
    assert_eq!(
        told,
        [
            (&json!("one"), &json!(true)),
            (&json!("two"), &json!(false))
        ]
    );
    let attempts = lines[1]["attempts"].as_array().unwrap();
    let kinds: Vec<_> = attempts.iter().map(|attempt| &attempt["kind"]).collect();
    assert_eq!(kinds, ["rate_limited", "ok"]);
    assert_eq!(
        (&attempts[0]["retry_after_ms"], &attempts[1]["request_id"]),
        (&json!(1000), &json!("req"))
    );
    assert_eq!(lines[1]["reply"]["usage"]["calls"], 2);
    assert!(lines[1]["took_ms"].as_u64().unwrap() >= 1100);
}

#[tokio::test(start_paused = true)]
async fn offline_only_kept_replies_and_models_of_this_machine_answer() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::fine();
    ask(
        &*open(&fake, Some(dir.path()), &SessionOptions::default()),
        "kept",
    )
    .await
    .unwrap();
    let offline = SessionOptions {
        offline: true,
        ..SessionOptions::default()
    };
    let session = open(&fake, Some(dir.path()), &offline);
    assert!(ask(&*session, "kept").await.unwrap().cached);
    let error = ask(&*session, "new").await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Offline);
    assert!(
        error.message.contains("--offline") && error.message.contains("openai/m"),
        "{error}"
    );
    assert_eq!((fake.sent(), session.totals()[0].failed), (1, 1));
    let wires = FakeWires {
        fake: Arc::clone(&fake),
        price: None,
        local: true,
    };
    let host = Host::with_wires(Arc::new(wires)).cache_dir(None);
    let session = host.open(&offline).unwrap();
    assert!(ask(&*session, "new").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_sends_and_keeps_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let fake = Fake::fine();
    let first = open(&fake, Some(dir.path()), &SessionOptions::default());
    ask(&*first, "kept").await.unwrap();
    first.verdicts().unwrap().put([1; 32], vec![1]);
    first.close().unwrap();
    let dry = SessionOptions {
        dry_run: true,
        ..options(&dir.path().join("calls.jsonl"))
    };
    let session = open(&fake, Some(dir.path()), &dry);
    let mut request = request("new");
    request.format = ReplyFormat::Json {
        name: "verdict",
        schema: Arc::new(json!({"properties": {"verdict": {"enum": ["yes", "no"]}}})),
    };
    let model = session.chat(&spec()).unwrap();
    for cached in [false, true] {
        let reply = model.chat(&request).await.unwrap();
        assert_eq!(
            (reply.text.as_str(), reply.cached),
            (r#"{"verdict":"yes"}"#, cached)
        );
    }
    assert!(ask(&*session, "kept").await.unwrap().cached);
    let texts = ["a", "b"];
    let embedded = session
        .embedder(&spec())
        .unwrap()
        .embed(&texts)
        .await
        .unwrap();
    assert_eq!((embedded.vectors.len(), embedded.cached), (2, false));
    let verdicts = session.verdicts().unwrap();
    verdicts.put([2; 32], vec![2]);
    assert_eq!(
        (verdicts.get(&[1; 32]), verdicts.get(&[2; 32])),
        (Some(vec![1]), None)
    );
    session.close().unwrap();
    let totals = &session.totals()[0];
    assert_eq!(
        (totals.calls, totals.cached, totals.output_tokens),
        (2, 2, 150)
    );
    assert!(totals.estimated && totals.cost_usd.unwrap() > 0.0);
    assert_eq!(fake.sent(), 1);
    assert!(!dir.path().join("calls.jsonl").exists());
}

#[tokio::test(start_paused = true)]
async fn the_budget_holds_under_concurrency() {
    // Each costs 0.00002 $ and is thought to cost about 0.002 $ before.
    let fake = Fake::new(faults);
    let options = SessionOptions {
        budget: Some(0.005),
        concurrency: Some(64),
        ..SessionOptions::default()
    };
    let session = open(&fake, None, &options);
    let model = session.chat(&spec()).unwrap();
    let requests: Vec<_> = (0..400).map(|n| request(n.to_string())).collect();
    let replies = join_all(requests.iter().map(|request| model.chat(request))).await;
    let spent = session.totals()[0].cost_usd.unwrap();
    assert!(spent <= 0.005 && spent > 0.0029, "{spent}");
    let refused = replies.into_iter().filter_map(Result::err);
    assert!(
        refused.map(|error| error.kind).collect::<HashSet<_>>()
            == HashSet::from([ModelErrorKind::Budget])
    );
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_leaves_nothing_behind() {
    let fake = Fake::fine();
    let options = SessionOptions {
        budget: Some(0.0021),
        concurrency: Some(1),
        ..SessionOptions::default()
    };
    let session = open(&fake, None, &options);
    for _ in 0..20 {
        let left = tokio::time::timeout(LATENCY / 2, ask(&*session, "left")).await;
        assert!(left.is_err());
    }
    // Slot, budget and the place among equal calls are free again.
    assert!(!ask(&*session, "left").await.unwrap().cached);
    assert_eq!(session.totals()[0].requests, 21);
}

#[tokio::test(start_paused = true)]
async fn no_key_comes_into_the_cache_or_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let session = open(
        &Fake::fine(),
        Some(dir.path()),
        &options(&dir.path().join("calls.jsonl")),
    );
    let mut secret = spec();
    secret
        .headers
        .insert("Authorization".to_owned(), "Bearer sk-secret".to_owned());
    let model = session.chat(&secret).unwrap();
    model.chat(&request("x")).await.unwrap();
    session
        .embedder(&secret)
        .unwrap()
        .embed(&["x"])
        .await
        .unwrap();
    session.close().unwrap();
    let debug = format!("{session:?} {model:?}");
    assert!(!debug.contains("sk-secret"), "{debug}");
    let files = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|file| file.unwrap().path());
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        assert!(
            memchr::memmem::find(&bytes, b"sk-secret").is_none(),
            "{}",
            file.display()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn texts_are_kept_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let calls = dir.path().join("calls.jsonl");
    let fake = Fake::new(|_, tried| if tried == 0 { Fate::Server } else { Fate::Fine });
    let session = open(&fake, Some(dir.path()), &options(&calls));
    let embedder = session.embedder(&spec()).unwrap();
    let texts = ["a", "bb", "ccc", "dddd", "eeeee"];
    let first = embedder.embed(&texts).await.unwrap();
    let lengths: Vec<f32> = first.vectors.iter().map(|vector| vector[0]).collect();
    assert_eq!(lengths, [1.0, 2.0, 3.0, 4.0, 5.0]);
    // Two batches of at most four, each with one failed attempt.
    assert_eq!(
        (first.cached, first.usage.calls, fake.sent()),
        (false, 4, 4)
    );
    let some = embedder.embed(&["eeeee", "new", "a"]).await.unwrap();
    assert_eq!(
        (some.vectors[0][0], some.vectors[1][0], some.vectors[2][0]),
        (5.0, 3.0, 1.0)
    );
    assert_eq!((some.cached, fake.sent()), (false, 6));
    let again = embedder.embed(&texts).await.unwrap();
    assert_eq!(
        (again.cached, again.usage, &again.vectors),
        (true, Usage::NONE, &first.vectors)
    );
    assert_eq!(embedder.embed(&[]).await.unwrap().vectors.len(), 0);
    session.close().unwrap();

    // The log alone, and the cache alone.
    let replay = SessionOptions {
        replay: true,
        ..options(&calls)
    };
    for session in [
        open(&fake, None, &replay),
        open(&fake, Some(dir.path()), &SessionOptions::default()),
    ] {
        let embedder = session.embedder(&spec()).unwrap();
        assert_eq!(embedder.embed(&texts).await.unwrap().vectors, first.vectors);
    }
    assert_eq!(fake.sent(), 6);

    let moderator = session.moderator(&spec()).unwrap();
    for cached in [false, true] {
        let moderated = moderator.moderate(&["good", "bad"]).await.unwrap();
        let flags: Vec<bool> = moderated.texts.iter().map(|text| text.flagged).collect();
        assert_eq!((flags, moderated.cached), (vec![false, true], cached));
    }
}

#[test]
fn the_session_drives_models_on_its_own_runtime_from_any_thread() {
    let fake = Fake::fine();
    let session = open(&fake, None, &SessionOptions::default());
    let model = session.chat(&spec()).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut text = None;
                let request = request("same");
                let ask = async { text = Some(model.chat(&request).await.unwrap().text) };
                session.block_on(std::pin::pin!(ask));
                assert_eq!(text.as_deref(), Some("same"));
            });
        }
    });
}

type Change = fn(&mut ModelSpec);

#[test]
fn specs_that_can_not_be_used() {
    let session = open(&Fake::fine(), None, &SessionOptions::default());
    let table: [(Change, &str); 4] = [
        (|spec| spec.timeout = Some(0.0), "`timeout` of openai/m"),
        (|spec| spec.deadline = Some(f64::NAN), "`deadline`"),
        (
            |spec| spec.requests_per_minute = Some(-1.0),
            "`requests_per_minute`",
        ),
        (
            |spec| spec.tokens_per_minute = Some(f64::INFINITY),
            "`tokens_per_minute`",
        ),
    ];
    for (change, words) in table {
        let mut spec = spec();
        change(&mut spec);
        let error = session.chat(&spec).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Config);
        assert!(error.message.contains(words), "{error}");
    }
}

#[test]
fn models_are_made_once_and_share_a_provider() {
    let session = open(&Fake::fine(), None, &SessionOptions::default());
    let one = session.chat(&spec()).unwrap();
    assert!(Arc::ptr_eq(&one, &session.chat(&spec()).unwrap()));
    let mut wide = spec();
    wide.concurrency = Some(100);
    assert!(!Arc::ptr_eq(&one, &session.chat(&wide).unwrap()));
    assert_eq!(session.parallelism(), 200);
    assert_eq!(session.totals().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_a_cache_the_run_goes_on_and_says_so() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let warn = Warn::new({
        let told = Arc::clone(&told);
        move |line| lock(&told).push(line.to_owned())
    });
    let wires = FakeWires {
        fake: Fake::fine(),
        price: None,
        local: false,
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    let host = Host::with_wires(Arc::new(wires)).cache_dir(Some(file.path().to_owned()));
    let session = host.warn(warn).open(&SessionOptions::default()).unwrap();
    assert!(ask(&*session, "x").await.is_ok());
    assert!(session.verdicts().is_none() && session.fence_key() != [0; 32]);
    session.close().unwrap();
    let told = lock(&told);
    assert!(
        told.len() == 2 && told[0].contains("the run goes on without it"),
        "{told:?}"
    );
}
