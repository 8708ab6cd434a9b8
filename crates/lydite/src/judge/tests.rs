//! Asking a judge that answers from a script.

use std::sync::Mutex;

use futures_util::FutureExt;
use serde_json::json;

use super::*;
use crate::model::{
    BoxFuture, ChatReply, ChatRequest, ChatRole, Finish, Order, TokenAlternative, TokenLogprob,
};

/// The output of a future that waits for nothing.
fn done<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("a script answers at once")
}

/// Gives one reply after the other, and keeps what it was asked.
#[derive(Debug)]
struct Scripted {
    replies: Mutex<Vec<ChatReply>>,
    asked: Mutex<Vec<ChatRequest>>,
}

impl Scripted {
    fn new(replies: impl IntoIterator<Item = ChatReply>) -> Self {
        let mut replies: Vec<_> = replies.into_iter().collect();
        replies.reverse();
        Self {
            replies: Mutex::new(replies),
            asked: Mutex::default(),
        }
    }

    fn asked(&self) -> Vec<ChatRequest> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

impl ChatModel for Scripted {
    fn identity(&self) -> &'static str {
        "scripted"
    }

    fn name(&self) -> &'static str {
        "test/scripted"
    }

    fn logprobs(&self) -> bool {
        true
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatReply, ModelError>> {
        self.asked.lock().unwrap().push(request.clone());
        let reply = self.replies.lock().unwrap().pop();
        let error = || ModelError::new(crate::model::ModelErrorKind::Server, "no more replies");
        Box::pin(std::future::ready(reply.ok_or_else(error)))
    }
}

fn says(text: &str) -> ChatReply {
    ChatReply {
        text: text.to_owned(),
        usage: Usage {
            output_tokens: 1,
            ..Usage::default()
        },
        ..ChatReply::default()
    }
}

fn prompt() -> Prompt {
    Prompt::new("Judge {output}", &[Place::new("output")], &["output"]).unwrap()
}

fn context(judge: &Scripted, mode: ScoreMode) -> JudgeContext<'_> {
    JudgeContext::new(Some(judge), None, [7; 32], mode, 1, 0)
}

fn ask<'q>(prompt: &'q Prompt, fill: &'q [(&'q str, Fill<'q>)]) -> Ask<'q> {
    Ask {
        name: "test",
        prompt,
        fill,
        order: Order::Ba,
    }
}

/// What comes of asking for yes or no, with what was asked.
fn verdict(
    mode: ScoreMode,
    replies: &[ChatReply],
) -> (Result<Verdicted, Failure>, Tally, Vec<ChatRequest>) {
    let judge = Scripted::new(replies.to_vec());
    let cx = context(&judge, mode);
    let (prompt, fill) = (prompt(), [("output", Fill::data("x"))]);
    let result = done(cx.verdict(&ask(&prompt, &fill), &Labels::yes_no()));
    (result, cx.tally(), judge.asked())
}

fn items(count: usize, replies: &[&str]) -> (Result<Vec<Item>, Failure>, Tally, Vec<ChatRequest>) {
    let judge = Scripted::new(replies.iter().map(|text| says(text)));
    let cx = context(&judge, ScoreMode::Verdict);
    let (prompt, fill) = (prompt(), [("output", Fill::items(["x", "y"]))]);
    let result = done(cx.items(&ask(&prompt, &fill), count, &Labels::yes_no()));
    (result, cx.tally(), judge.asked())
}

const YES: &str = r#"{"reasoning": "all there", "verdict": "Y"}"#;
const NO: &str = r#"{"reasoning": "nothing there", "verdict": "N"}"#;

#[test]
fn a_typed_reply_is_taken_at_its_word() {
    let (result, tally, asked) = verdict(ScoreMode::Verdict, &[says(YES)]);
    let verdicted = result.unwrap();
    assert_eq!((verdicted.label, &*verdicted.reason), (0, "all there"));
    assert_eq!(verdicted.shares, [1.0, 0.0]);
    assert_eq!((tally.answers, tally.flags), (1, 0));
    let request = asked.first().unwrap();
    assert_eq!(request.identity.order, Order::Ba);
    assert_eq!((request.temperature, request.top_logprobs), (None, None));
    let fence = request.fence.as_deref().unwrap();
    assert_eq!(
        request.messages.last().unwrap().content,
        format!("Judge <{fence}>\nx\n</{fence}>")
    );
}

#[test]
fn plain_text_is_read_with_a_warning() {
    let (result, tally, _) = verdict(ScoreMode::Verdict, &[says("It is all there.\nY")]);
    assert_eq!(result.unwrap().label, 0);
    assert_eq!(tally.flags, UNTYPED_REPLY);
}

#[test]
fn an_unreadable_reply_is_repaired_once() {
    let (result, tally, asked) = verdict(ScoreMode::Verdict, &[says("lazy"), says(NO)]);
    assert_eq!(result.unwrap().label, 1);
    assert_eq!((tally.answers, tally.flags), (2, REPAIRED));
    assert_eq!(tally.usage.output_tokens, 2);
    let repairs: Vec<_> = asked.iter().map(|asked| asked.identity.repair).collect();
    assert_eq!(repairs, [false, true]);
    let [.., reply, complaint] = &*asked[1].messages else {
        panic!("{asked:?}");
    };
    assert_eq!((reply.role, &*reply.content), (ChatRole::Assistant, "lazy"));
    assert!(
        complaint.content.contains("the reply holds no JSON value"),
        "{complaint:?}"
    );
    assert_eq!(asked[0].messages, asked[1].messages[..2]);

    let (result, tally, asked) =
        verdict(ScoreMode::Verdict, &[says("lazy"), says("idle"), says(YES)]);
    let failure = result.unwrap_err();
    assert_eq!(
        (failure.code, failure.raw.as_deref()),
        (Code::JudgeUnreadable, Some("idle"))
    );
    assert_eq!((asked.len(), tally.flags), (2, REPAIRED));
}

#[test]
fn what_was_wrong_with_the_form_is_what_the_judge_is_told() {
    let reply = r#"{"reasoning": "", "verdict": "maybe"}"#;
    let (_, _, asked) = verdict(ScoreMode::Verdict, &[says(reply), says(YES)]);
    let complaint = &asked[1].messages.last().unwrap().content;
    assert!(
        complaint.contains(r#"the verdict `"maybe"` is none of Y, N"#),
        "{complaint}"
    );
}

#[test]
fn an_abstention_is_not_repaired() {
    let reply = r#"{"reasoning": "cannot tell", "verdict": null}"#;
    let (result, tally, asked) = verdict(ScoreMode::Verdict, &[says(reply), says(YES)]);
    let failure = result.unwrap_err();
    assert_eq!(
        (failure.code, failure.raw.as_deref()),
        (Code::JudgeAbstained, Some(reply))
    );
    assert_eq!((asked.len(), tally.flags), (1, 0));
}

#[test]
fn a_cut_reply_is_not_read() {
    let cut = ChatReply {
        finish: Finish::Length,
        ..says(YES)
    };
    let (result, _, _) = verdict(ScoreMode::Verdict, &[cut.clone(), says(NO)]);
    assert_eq!(result.unwrap().label, 1);
    let (result, _, asked) = verdict(ScoreMode::Verdict, &[cut.clone(), cut]);
    assert_eq!(result.unwrap_err().code.as_str(), "reply_truncated");
    assert_eq!(asked.len(), 2);
}

#[test]
fn a_model_that_fails_and_a_missing_one_are_failures() {
    let (result, _, _) = verdict(ScoreMode::Verdict, &[]);
    assert_eq!(result.unwrap_err().code.as_str(), "model_server_error");
    let cx = JudgeContext::new(None, None, [7; 32], ScoreMode::Verdict, 1, 0);
    let (prompt, fill) = (prompt(), []);
    let failure = done(cx.text(&ask(&prompt, &fill))).unwrap_err();
    assert_eq!(failure.code.as_str(), "model_config");
}

fn token(text: &str, top: &[(&str, f64)]) -> TokenLogprob {
    TokenLogprob {
        token: text.to_owned(),
        logprob: 0.0,
        top: top
            .iter()
            .map(|(text, probability)| TokenAlternative {
                token: (*text).to_owned(),
                logprob: probability.ln(),
            })
            .collect(),
    }
}

#[test]
fn log_probabilities_weigh_the_verdict() {
    let weighed = ChatReply {
        logprobs: Some(vec![
            token(r#"{"reasoning": "", "verdict": ""#, &[]),
            token("Y", &[("N", 0.6), ("Y", 0.2)]),
            token("\"}", &[]),
        ]),
        ..says(r#"{"reasoning": "", "verdict": "Y"}"#)
    };
    let (result, tally, asked) = verdict(ScoreMode::Logprob, &[weighed]);
    let verdicted = result.unwrap();
    assert_eq!(verdicted.label, 1);
    assert!((verdicted.share(0) - 0.25).abs() < 1e-9, "{verdicted:?}");
    let mass = verdicted.evidence[0].data["mass"].as_f64().unwrap();
    assert!((mass - 0.8).abs() < 1e-9, "{mass}");
    assert_eq!(tally.flags, 0);
    assert_eq!(asked[0].top_logprobs, Some(20));
}

#[test]
fn missing_log_probabilities_are_a_warning() {
    let other = ChatReply {
        logprobs: Some(vec![token("of another text", &[])]),
        ..says(YES)
    };
    for reply in [says(YES), other] {
        let (result, tally, _) = verdict(ScoreMode::Logprob, &[reply]);
        assert_eq!(result.unwrap().shares, [1.0, 0.0]);
        assert_eq!(tally.flags, MODE_FALLBACK);
    }
}

#[test]
fn log_probabilities_weigh_the_score() {
    let weighed = ChatReply {
        logprobs: Some(vec![
            token(r#"{"reasoning": "9", "score""#, &[]),
            token(": ", &[]),
            token("1", &[("1", 0.9), ("9", 0.1)]),
            token("0", &[("0", 1.0)]),
            token("}", &[]),
        ]),
        ..says(r#"{"reasoning": "9", "score": 10}"#)
    };
    let judge = Scripted::new([weighed]);
    let cx = context(&judge, ScoreMode::Logprob);
    let (prompt, fill) = (prompt(), []);
    let scored = done(cx.score(&ask(&prompt, &fill), &Scale::whole(0, 10))).unwrap();
    assert!((scored.score - 9.9).abs() < 1e-9, "{scored:?}");
    assert_eq!(scored.evidence[0].data["said"], json!(10.0));
}

#[test]
fn scores_are_read_sampled_and_refused() {
    for (mode, replies, expected, flags) in [
        (ScoreMode::Verdict, vec![r#"{"score": 4}"#], Ok(4.0), 0),
        (
            ScoreMode::Verdict,
            vec![r#"{"score": "4/5"}"#],
            Ok(4.0),
            SCORE_AS_TEXT,
        ),
        (ScoreMode::Verdict, vec!["Score: 4"], Ok(4.0), UNTYPED_REPLY),
        (
            ScoreMode::Verdict,
            vec![r#"{"score": 6}"#; 2],
            Err(Code::ScoreOutOfRange),
            REPAIRED,
        ),
        (
            ScoreMode::Sample(2),
            vec![r#"{"score": 4}"#, r#"{"score": 3}"#],
            Ok(3.5),
            0,
        ),
    ] {
        let judge = Scripted::new(replies.iter().map(|text| says(text)));
        let cx = context(&judge, mode);
        let (prompt, fill) = (prompt(), []);
        let scored = done(cx.score(&ask(&prompt, &fill), &Scale::whole(1, 5)));
        let scored = scored
            .map(|scored| scored.score)
            .map_err(|failure| failure.code);
        assert_eq!((scored, cx.tally().flags), (expected, flags), "{replies:?}");
    }
}

#[test]
fn samples_vote() {
    let (result, tally, asked) = verdict(ScoreMode::Sample(3), &[says(NO), says(YES), says(NO)]);
    let verdicted = result.unwrap();
    assert_eq!((verdicted.label, &*verdicted.reason), (1, "nothing there"));
    assert_eq!(verdicted.shares, [1.0 / 3.0, 2.0 / 3.0]);
    assert_eq!(tally.answers, 3);
    let samples: Vec<_> = asked.iter().map(|asked| asked.identity.sample).collect();
    assert_eq!(samples, [0, 1, 2]);
    assert!(asked.iter().all(|asked| asked.temperature == Some(1.0)));

    let (result, _, _) = verdict(ScoreMode::Sample(2), &[says(NO), says(YES)]);
    let failure = result.unwrap_err();
    assert_eq!(failure.code, Code::NoMajority);
    assert_eq!(failure.evidence[0].data["verdicts"], json!(["N", "Y"]));
}

fn item(number: usize, verdict: &str) -> String {
    json!({"number": number, "reasoning": "r", "verdict": verdict}).to_string()
}

fn list(items: &[String]) -> String {
    format!("{{\"verdicts\": [{}]}}", items.join(", "))
}

#[test]
fn items_come_back_by_number() {
    let (result, tally, asked) = items(2, &[&list(&[item(2, "N"), item(1, "Y")])]);
    let labels: Vec<_> = result.unwrap().iter().map(|item| item.label).collect();
    assert_eq!((labels, tally.flags, asked.len()), (vec![0, 1], 0, 1));
    let (result, tally, _) = items(2, &["1. Yes\n2. No"]);
    let labels: Vec<_> = result.unwrap().iter().map(|item| item.label).collect();
    assert_eq!((labels, tally.flags), (vec![0, 1], UNTYPED_REPLY));
}

#[test]
fn missing_items_are_asked_for_once_more() {
    let replies = [list(&[item(1, "Y")]), list(&[item(1, "N"), item(2, "N")])];
    let (result, tally, asked) = items(2, &[&replies[0], &replies[1]]);
    // The first verdict on an item stands.
    let labels: Vec<_> = result.unwrap().iter().map(|item| item.label).collect();
    assert_eq!((labels, tally.flags), (vec![0, 1], REPAIRED));
    let complaint = &asked[1].messages.last().unwrap().content;
    assert!(
        complaint.contains("2 items were asked and 1 have a verdict; missing: 2"),
        "{complaint}"
    );
    assert!(asked[1].identity.repair);
}

#[test]
fn still_missing_items_are_an_error_with_bounds() {
    let half = list(&[item(1, "Y"), item(3, "N")]);
    for second in [&*half, "I refuse"] {
        let (result, _, asked) = items(4, &[&half, second]);
        let failure = result.unwrap_err();
        assert_eq!(asked.len(), 2);
        assert_eq!(failure.raw.as_deref(), Some(second));
        let bounds = serde_json::Value::Object(failure.evidence[0].data.clone());
        assert_eq!(
            bounds,
            json!({"asked": 4, "answered": 2, "low": 0.25, "high": 0.75})
        );
    }
    let (result, _, _) = items(2, &[&half, &half]);
    assert_eq!(result.unwrap_err().code, Code::VerdictCountMismatch);
}

#[test]
fn lists_and_typed_replies() {
    let judge = Scripted::new([
        says(r#"{"claims": ["a", " ", " b "]}"#),
        says(r#"{"claims": [1]}"#),
        says("no"),
    ]);
    let cx = context(&judge, ScoreMode::Verdict);
    let (prompt, fill) = (prompt(), []);
    let claims = done(cx.list(&ask(&prompt, &fill), "claims")).unwrap();
    assert_eq!(claims, ["a", "b"]);
    let failure = done(cx.list(&ask(&prompt, &fill), "claims")).unwrap_err();
    assert_eq!(failure.code, Code::JudgeUnreadable);
}
