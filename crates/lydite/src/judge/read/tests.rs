//! The reader against the specification's tables and the replies that other tools read wrongly.

use proptest::prelude::*;
use serde_json::{Value, json as js};

use super::*;
use crate::judge::{Label, Labels, SCORE_AS_TEXT, Scale};

/// Keeps any value that has `key`.
fn with_key(key: &'static str) -> impl Fn(&Value) -> Result<Read<Value>, Misread> {
    move |value| match value.get(key) {
        Some(_) => Ok(Read::plain(value.clone())),
        None => Err(Misread::unreadable("no such key")),
    }
}

fn pairwise() -> Labels {
    Labels::new(vec![
        Label::new("A", &[]),
        Label::new("B", &[]),
        Label::new("C", &["tie"]),
    ])
}

fn three() -> Labels {
    Labels::new(vec![
        Label::new("supported", &["yes"]),
        Label::new("contradicted", &[]),
        Label::new("not_found", &["no"]),
    ])
}

fn bits() -> Labels {
    Labels::new(vec![Label::new("1", &[]), Label::new("0", &[])])
}

fn attributed() -> Labels {
    Labels::new(vec![
        Label::new("Attributed", &[]),
        Label::new("Not Attributed", &[]),
    ])
}

#[test]
fn json_values_are_found() {
    for (name, reply, key, right) in [
        (
            "py-001",
            r#"<think>maybe {"verdict":"no"}</think>{"verdict":"yes"}"#,
            "verdict",
            js!({"verdict": "yes"}),
        ),
        (
            "py-002",
            r#"I use {claim} notation. {"verdict":"no"}"#,
            "verdict",
            js!({"verdict": "no"}),
        ),
        (
            "py-005",
            r#"{"reason": "score is 1,} good"}"#,
            "reason",
            js!({"reason": "score is 1,} good"}),
        ),
        (
            "py-007",
            "{\"reason\": \"line1\nline2\", \"score\": 1}",
            "score",
            js!({"reason": "line1\nline2", "score": 1}),
        ),
        (
            "py-011",
            r#"{"reason": "uses } brace", "verdict": 1}"#,
            "verdict",
            js!({"reason": "uses } brace", "verdict": 1}),
        ),
        (
            "py-012",
            r#"As shown in [1], the claim holds. {"verdict": 1}"#,
            "verdict",
            js!({"verdict": 1}),
        ),
        (
            "pf-judge-04",
            r#"{"pass": false, "score": 0, "reason":"missing closing } in code"}"#,
            "pass",
            js!({"pass": false, "score": 0, "reason": "missing closing } in code"}),
        ),
        (
            "pf-judge-05",
            r#"The template {name} is unfilled. {"pass": false, "score": 0, "reason":"unfilled"}"#,
            "pass",
            js!({"pass": false, "score": 0, "reason": "unfilled"}),
        ),
        (
            "pf-judge-16",
            "{\n \"steps\": [\"a\"]\n}",
            "steps",
            js!({"steps": ["a"]}),
        ),
        (
            "fenced",
            "Here:\n```json\n{\"v\": 1}\n```\nThanks [1].",
            "v",
            js!({"v": 1}),
        ),
        ("fenced whole", "```\n{\"v\": 1}\n```", "v", js!({"v": 1})),
        (
            "twice the same",
            r#"{"v": 1} and again {"v":1}"#,
            "v",
            js!({"v": 1}),
        ),
        (
            "a tag inside of a string",
            r#"{"r": "it has <think> tags", "v": 1}"#,
            "v",
            js!({"r": "it has <think> tags", "v": 1}),
        ),
        (
            "raw tab, carriage return",
            "x {\"r\": \"a\tb\r\n\\\"c\", \"v\": 1}",
            "v",
            js!({"r": "a\tb\r\n\"c", "v": 1}),
        ),
        ("in an array", r#"[{"v": 1}]"#, "v", js!({"v": 1})),
        (
            "wrapped",
            r#"{"result": {"v": 1, "w": 2}}"#,
            "v",
            js!({"v": 1, "w": 2}),
        ),
        (
            "quoted inside of the value",
            r#"{"r": "it said {\"v\": 0}", "v": 1}"#,
            "v",
            js!({"r": "it said {\"v\": 0}", "v": 1}),
        ),
        (
            "lone closing tag",
            r#"{"v": 0}</think>{"v": 1}"#,
            "v",
            js!({"v": 1}),
        ),
        (
            "unbalanced before",
            r#"a [ b { c " d {"v": 1}"#,
            "v",
            js!({"v": 1}),
        ),
    ] {
        let read = json(reply, &with_key(key));
        assert_eq!(read, Ok(Read::plain(right)), "{name}: {reply}");
    }
}

#[test]
fn json_that_is_no_answer() {
    for (name, reply, code) in [
        ("py-009", r#"{"v": NaN}"#, Code::NonFiniteNumber),
        (
            "minus infinity",
            r#"{"v": -Infinity}"#,
            Code::NonFiniteNumber,
        ),
        (
            "py-010",
            r#"The output said {"v":1}. My verdict: {"v":0}"#,
            Code::AmbiguousReply,
        ),
        (
            "quoted JSON that differs",
            r#"It wrote "{"v": 1}". {"v": 0}"#,
            Code::AmbiguousReply,
        ),
        ("a key twice", r#"{"v": 1, "v": 0}"#, Code::AmbiguousReply),
        (
            "pf-judge-14",
            "```json {pass, score: 9, reason: \"an \"inner\" quote\"} ```",
            Code::JudgeUnreadable,
        ),
        (
            "quoted inside of a broken value",
            r#"{"r": "it said "{"v":1}" there", "v": 0}"#,
            Code::JudgeUnreadable,
        ),
        (
            "quoted and closed inside of one",
            r#"{"r": "it said "} {"v":1}" there", "v": 0}"#,
            Code::JudgeUnreadable,
        ),
        ("cut off", r#"{"r": "because", "v""#, Code::JudgeUnreadable),
        (
            "cut off in thinking",
            r#"<think>{"v": 1}"#,
            Code::JudgeUnreadable,
        ),
        ("single quotes", "{'v': 1}", Code::JudgeUnreadable),
        ("a trailing comma", r#"{"v": 1,}"#, Code::JudgeUnreadable),
        ("only a citation", "See [1].", Code::JudgeUnreadable),
        (
            "two of a list",
            r#"[{"v": 1}, {"v": 0}]"#,
            Code::JudgeUnreadable,
        ),
        ("empty", "", Code::JudgeUnreadable),
        ("prose", "Yes.", Code::JudgeUnreadable),
    ] {
        let read = json(reply, &with_key("v"));
        assert_eq!(read.unwrap_err().code, code, "{name}: {reply}");
    }
}

#[test]
fn what_was_said_of_a_value_is_kept() {
    let scale = Scale::whole(1, 5);
    let fits = |value: &Value| {
        let score = value
            .get("score")
            .ok_or_else(|| Misread::unreadable("no score"))?;
        number(score, &scale)
    };
    for (reply, code) in [
        (r#"{"score": 10} as in [1]"#, Code::ScoreOutOfRange),
        (r#"{"score": null}"#, Code::JudgeAbstained),
        (r#"{"grade": 1}"#, Code::JudgeUnreadable),
    ] {
        assert_eq!(json(reply, &fits).unwrap_err().code, code, "{reply}");
    }
    assert_eq!(
        json(r#"{"score": 9} no: {"score": 4}"#, &fits),
        Ok(Read::plain(4.0))
    );
}

#[test]
fn broken_json_says_where() {
    let error = json(r#"{"a": "b" "c": 1}"#, &with_key("a")).unwrap_err();
    assert_eq!(
        error.message,
        "the reply's JSON is broken: found `\"` where `,` or `}` was expected, at `\"c\": 1}`"
    );
}

/// A verdict's name, or `?` for none and `!` for several.
fn name_of(read: Result<Read<usize>, Misread>, labels: &Labels) -> String {
    match read {
        Ok(read) => labels.name(read.value).to_owned(),
        Err(misread) if misread.code == Code::AmbiguousReply => "!".to_owned(),
        Err(misread) => {
            assert_eq!(misread.code, Code::JudgeUnreadable, "{misread}");
            "?".to_owned()
        }
    }
}

#[test]
fn plain_verdicts_yes_and_no() {
    let labels = Labels::yes_no();
    for (reply, right) in [
        // The specification's table.
        ("Step 1 ok.\nStep 2 ok.\n\nY\nY", "Y"),
        ("Reason. Y", "Y"),
        ("Reason\nY.", "Y"),
        ("Reason\n**Y**", "Y"),
        ("Reason\nYes", "Y"),
        ("Final answer: Y", "Y"),
        ("It is lazy", "?"),
        ("Now the submission is fine.", "?"),
        ("You asked for X.", "?"),
        ("Yes, good.", "Y"),
        ("No, bad.", "N"),
        ("", "?"),
        ("<think>… Y …</think>\nN", "N"),
        ("No. The submission fails; see POLICY", "N"),
        // pf-judge-13, pf-rag-07
        ("Reasoning... Y.", "Y"),
        ("yes.", "Y"),
        // Alone, fenced, quoted.
        ("y", "Y"),
        ("```\nN\n```", "N"),
        ("\"Yes\"", "Y"),
        ("# Verdict\n\nNo", "N"),
        ("Die Antwort passt. Y", "Y"),
        ("理由。Y", "Y"),
        // Two that differ.
        ("Y\nN", "!"),
        ("Yes, it is good.\n\nN", "!"),
        ("Yes, at first.\nNo, at second.", "!"),
        ("Yes or no", "?"),
        ("Yes, No", "?"),
        ("Yes. No.", "!"),
        ("1. Y\n2. N", "!"),
        ("No issues found. Y", "Y"),
        ("Yes, no issues.", "Y"),
        ("No, there are no issues.\nY", "!"),
        // Single letters in prose are none.
        ("I give it a Y for effort", "?"),
        ("Todo bien y", "?"),
        ("The variables are X and Y", "?"),
        ("Answer with Y/N", "?"),
        ("N/A", "?"),
        ("Is it fine, yes?", "?"),
        // Marks.
        ("Verdict: yes\nbut then\nVerdict: **No**", "N"),
        ("GRADE = N", "N"),
        ("Final verdict:\n\nYes, since all is there", "Y"),
        ("Verdict: Y or N", "?"),
        ("Verdict: Yes, no issues found", "Y"),
        ("Verdict: Yes, No", "?"),
        ("Verdict: Y\nVerdict: unclear", "?"),
        ("Verdict: fine. Score: Y", "Y"),
        ("Verdict: Y\nScore: 5", "Y"),
        ("\"verdict\": \"Y\", broken", "?"),
        ("{\"verdict\": \"Y\" broken Y", "?"),
        ("Decision: [Y]", "Y"),
        ("[Y] is right", "Y"),
        ("[Y] or [N]", "!"),
        ("see [n] for more", "?"),
        ("The answer is no", "N"),
        ("There is no doubt: it's a yes", "?"),
    ] {
        assert_eq!(name_of(verdict(reply, &labels), &labels), right, "{reply}");
    }
}

#[test]
fn plain_verdicts_of_questions() {
    let labels = Labels::correct();
    for (reply, right) in [
        ("This is not correct", "INCORRECT"),
        ("Partially correct", "?"),
        ("Grade: Correct... wait GRADE: INCORRECT", "INCORRECT"),
        ("GRADE: CORRECT", "CORRECT"),
        ("EXPLANATION: it fits.\n**GRADE:** CORRECT", "CORRECT"),
        ("This isn't correct.", "INCORRECT"),
        ("That is never correct", "INCORRECT"),
        ("It is mostly correct", "?"),
        ("GRADE: partially correct", "?"),
        ("GRADE: not correct", "INCORRECT"),
        ("GRADE: CORRECT\nGRADE: partly correct", "?"),
        ("GRADE: CORRECT or INCORRECT", "?"),
        ("It is not entirely correct", "?"),
        ("I don't think that the student's answer is correct", "?"),
        ("I can't say whether this is correct", "?"),
        ("The first part is correct and the second incorrect", "?"),
        ("The student's answer is correct.", "CORRECT"),
        ("Incorrect, since Paris was asked.", "INCORRECT"),
        ("Almost correct, but no. It would pass as correct", "?"),
        ("Somewhat correct. All in all it is correct", "?"),
        ("The correction is fine", "?"),
    ] {
        assert_eq!(name_of(verdict(reply, &labels), &labels), right, "{reply}");
    }
}

#[test]
fn plain_verdicts_of_larger_sets() {
    for (reply, labels, right) in [
        ("[[A]] but also [[B]]", pairwise(), "!"),
        ("Rationale [[A]]", pairwise(), "A"),
        ("1", bits(), "1"),
        ("1\n0", bits(), "!"),
        ("[[a]]", pairwise(), "A"),
        ("Rationale\n[[A]].", pairwise(), "A"),
        ("[[C]]", pairwise(), "C"),
        ("[[D]]", pairwise(), "?"),
        ("Assistant A is better than B", pairwise(), "?"),
        ("Verdict: a good answer", pairwise(), "?"),
        ("Verdict: B, for its depth", pairwise(), "B"),
        ("A. The first one\nB. The second one", pairwise(), "!"),
        ("Both earn an a", pairwise(), "?"),
        ("It's a tie", pairwise(), "C"),
        ("The claim is supported", three(), "supported"),
        ("The claim is not supported", three(), "?"),
        ("The claim is unsupported", three(), "?"),
        ("Verdict: not found", three(), "not_found"),
        ("Verdict: `not_found`", three(), "not_found"),
        ("So [Not Attributed]", attributed(), "Not Attributed"),
        ("So [Attributed]", attributed(), "Attributed"),
        ("It is not attributed", attributed(), "Not Attributed"),
    ] {
        assert_eq!(name_of(verdict(reply, &labels), &labels), right, "{reply}");
    }
}

#[test]
fn typed_labels() {
    for (value, labels, right) in [
        // py-013, pf-rag-07
        (
            js!("Yes, the assistant violated its role"),
            Labels::yes_no(),
            "Y",
        ),
        (js!("yes."), Labels::yes_no(), "Y"),
        // py-015
        (js!("Unsupported"), three(), "?"),
        (js!("False"), three(), "?"),
        (js!(" N "), Labels::yes_no(), "N"),
        (js!("**Y**"), Labels::yes_no(), "Y"),
        (js!(true), Labels::yes_no(), "Y"),
        (js!(false), Labels::correct(), "?"),
        (
            js!("No, the context never mentions yes"),
            Labels::yes_no(),
            "N",
        ),
        (js!("not correct"), Labels::correct(), "INCORRECT"),
        (js!("partially correct"), Labels::correct(), "?"),
        (js!("not supported"), three(), "?"),
        (js!("Not found"), three(), "not_found"),
        (js!("Yes, No"), Labels::yes_no(), "?"),
        (js!("Yes / No"), Labels::yes_no(), "?"),
        (js!("maybe"), Labels::yes_no(), "?"),
        (js!("A good one"), pairwise(), "?"),
        (js!("a"), pairwise(), "A"),
        // py-043, py-044
        (js!(2), bits(), "?"),
        (js!(-1), bits(), "?"),
        (js!(1), bits(), "1"),
        (js!(0.0), bits(), "0"),
        (js!(["Y"]), Labels::yes_no(), "?"),
        (js!(""), Labels::yes_no(), "?"),
    ] {
        assert_eq!(name_of(label(&value, &labels), &labels), right, "{value}");
    }
    let null = label(&Value::Null, &Labels::yes_no()).unwrap_err();
    assert_eq!(null.code, Code::JudgeAbstained);
    let other = label(&js!("maybe"), &Labels::yes_no()).unwrap_err();
    assert_eq!(other.message, "the verdict `\"maybe\"` is none of Y, N");
}

#[test]
fn plain_ratings() {
    use Code::{AmbiguousReply, JudgeUnreadable, NonFiniteNumber, ScoreOutOfRange};
    let (five, ten) = (Scale::whole(1, 5), Scale::whole(1, 10));
    let (three, unit) = (Scale::real(0.0, 3.0), Scale::real(0.0, 1.0));
    for (reply, scale, right) in [
        // Trajectories, by the specification's table.
        ("Judgment: a Score: of 2. Score: 4", &five, Ok(4.0)),
        ("Score: 10", &five, Err(ScoreOutOfRange)),
        ("Score: 3.5", &five, Err(ScoreOutOfRange)),
        ("Score: 0", &five, Err(ScoreOutOfRange)),
        ("Score: five", &five, Err(JudgeUnreadable)),
        ("3.5", &five, Err(ScoreOutOfRange)),
        ("five", &five, Err(JudgeUnreadable)),
        ("score: 3", &five, Ok(3.0)),
        ("Score:3", &five, Ok(3.0)),
        ("Score: 4/5", &five, Ok(4.0)),
        // Score strings.
        ("Rating: [[5]]", &ten, Ok(5.0)),
        ("[[10]]", &ten, Ok(10.0)),
        ("[[7.5]]", &ten, Err(ScoreOutOfRange)),
        ("[[ 5 ]]", &ten, Ok(5.0)),
        ("[[5/10]]", &ten, Ok(5.0)),
        ("Rating: 5", &ten, Ok(5.0)),
        ("[[0]]", &ten, Err(ScoreOutOfRange)),
        ("[[11]]", &ten, Err(ScoreOutOfRange)),
        ("[[5]] or [[6]]", &ten, Err(AmbiguousReply)),
        // py-021 to py-024
        (
            "The answer lists 1 error out of 5 facts. Score: 3",
            &three,
            Ok(3.0),
        ),
        ("Score: -1", &three, Err(ScoreOutOfRange)),
        ("Score: 2.9", &three, Ok(2.9)),
        ("Rating: 4 (scale 0-4)", &five, Ok(4.0)),
        // Written in other ways.
        ("**Score:** **4**/5", &five, Ok(4.0)),
        ("Score (1-5): 4 out of 5.", &five, Ok(4.0)),
        ("4", &five, Ok(4.0)),
        ("**4/5**.", &five, Ok(4.0)),
        ("Final answer: 2", &five, Ok(2.0)),
        ("Score: 4. Result: 3 errors found", &five, Ok(4.0)),
        ("<think>Score: 1</think>Score: 2", &five, Ok(2.0)),
        ("Score: 80%", &unit, Ok(0.8)),
        ("Score: 0.8", &unit, Ok(0.8)),
        ("Score: 5e-1", &unit, Ok(0.5)),
        ("Score: 80%", &five, Err(ScoreOutOfRange)),
        ("Score: 8/10", &five, Err(ScoreOutOfRange)),
        ("Score: 1e999", &five, Err(NonFiniteNumber)),
        // No number that can be trusted.
        ("Score: 4-5", &five, Err(JudgeUnreadable)),
        ("Score: 4 or 5", &five, Err(JudgeUnreadable)),
        ("Score: 4,5", &five, Err(JudgeUnreadable)),
        ("Score: 4th", &five, Err(JudgeUnreadable)),
        ("Score: about 4", &five, Err(JudgeUnreadable)),
        ("I would give it a 4", &five, Err(JudgeUnreadable)),
        ("See [4].", &five, Err(JudgeUnreadable)),
        ("Score: 4\nScore: unsure", &five, Err(JudgeUnreadable)),
        ("{\"score\": 4, broken", &five, Err(JudgeUnreadable)),
        ("", &five, Err(JudgeUnreadable)),
    ] {
        let read = rating(reply, scale).map_err(|misread| misread.code);
        assert_eq!(read, right.map(Read::plain), "{reply}");
    }
}

#[test]
fn typed_numbers() {
    use Code::{JudgeAbstained, JudgeUnreadable, NonFiniteNumber, ScoreOutOfRange};
    let (five, ten, unit) = (
        Scale::whole(1, 5),
        Scale::real(0.0, 10.0),
        Scale::real(0.0, 1.0),
    );
    let text = |value| {
        Ok(Read {
            value,
            flags: SCORE_AS_TEXT,
        })
    };
    for (value, scale, right) in [
        (js!(4), &five, Ok(Read::plain(4.0))),
        (js!(4.0), &five, Ok(Read::plain(4.0))),
        (js!(3.5), &five, Err(ScoreOutOfRange)),
        (js!(6), &five, Err(ScoreOutOfRange)),
        (js!(null), &five, Err(JudgeAbstained)),
        (js!(true), &five, Err(JudgeUnreadable)),
        // py-033, pf-judge-10
        (js!("8/10"), &ten, text(8.0)),
        (js!("85%"), &unit, text(0.85)),
        (js!("85 %"), &ten, text(8.5)),
        (js!("4"), &five, text(4.0)),
        (js!("4 out of 5"), &five, text(4.0)),
        (js!("8/10"), &five, Err(ScoreOutOfRange)),
        (js!("85%"), &five, Err(ScoreOutOfRange)),
        (js!("120%"), &unit, Err(ScoreOutOfRange)),
        (js!("-1"), &unit, Err(ScoreOutOfRange)),
        (js!("1e999"), &unit, Err(NonFiniteNumber)),
        (js!("five"), &five, Err(JudgeUnreadable)),
        (js!("4, since"), &five, Err(JudgeUnreadable)),
        (js!(""), &five, Err(JudgeUnreadable)),
        (js!([4]), &five, Err(JudgeUnreadable)),
    ] {
        let read = number(&value, scale).map_err(|misread| misread.code);
        assert_eq!(read, right, "{value}");
    }
}

#[test]
fn plain_items() {
    use Code::{AmbiguousReply, JudgeUnreadable, VerdictCountMismatch};
    let yes_no = Labels::yes_no();
    let (y, n) = (Some(0), Some(1));
    for (name, reply, labels, right) in [
        (
            "pf-rag-01",
            "Final verdict for each statement in order: Yes, No, Yes",
            &yes_no,
            Ok(vec![y, n, y]),
        ),
        (
            "pf-rag-03",
            "Final verdict for each statement in order: No, the context never mentions yes. No.",
            &yes_no,
            Ok(vec![n, n]),
        ),
        (
            "pf-rag-04",
            "Final verdict for each statement in order: Yes.",
            &yes_no,
            Err((3, VerdictCountMismatch)),
        ),
        (
            "pf-rag-05",
            "1. Fact A is stated. It is mentioned clearly. So [Attributed]\n2. Fact B. Not present. So [Not Attributed]\n\nTwo statements; [Attributed] count is 1.",
            &attributed(),
            Ok(vec![y, n]),
        ),
        (
            "numbers",
            "1. Yes\n2) **No**\n3: yes, since",
            &yes_no,
            Ok(vec![y, n, y]),
        ),
        (
            "names",
            "**Statement 1:** all there. Y\nStatement 2 - No",
            &yes_no,
            Ok(vec![y, n]),
        ),
        (
            "entries",
            "1. The sky.\n   Reason: blue.\n   Verdict: Yes\n2. The sea.\n   Verdict: No\n",
            &yes_no,
            Ok(vec![y, n]),
        ),
        (
            "one has none",
            "1. Yes\n2. I can't tell\n3. No",
            &yes_no,
            Ok(vec![y, None, n]),
        ),
        (
            "both",
            "1. Yes\n2. No\n\nVerdicts: Yes, No",
            &yes_no,
            Ok(vec![y, n]),
        ),
        (
            "a list below",
            "Final verdicts:\n1. Yes\n2. No",
            &yes_no,
            Ok(vec![y, n]),
        ),
        (
            "said first",
            "1. A claim\n2. A claim\n\n1. Yes\n2. No",
            &yes_no,
            Ok(vec![y, n]),
        ),
        (
            "thought",
            "<think>1. No\n2. No</think>1. Yes\n2. No",
            &yes_no,
            Ok(vec![y, n]),
        ),
        ("one only", "It holds. Yes", &yes_no, Ok(vec![y])),
        (
            "both differ",
            "1. Yes\n2. No\n\nVerdicts: Yes, Yes",
            &yes_no,
            Err((2, AmbiguousReply)),
        ),
        ("twice", "1. Yes\n1. No", &yes_no, Err((2, AmbiguousReply))),
        (
            "too many",
            "1. Yes\n2. No\n3. No",
            &yes_no,
            Err((2, VerdictCountMismatch)),
        ),
        (
            "none is 0",
            "0. Yes",
            &yes_no,
            Err((2, VerdictCountMismatch)),
        ),
        (
            "none",
            "All of them hold. Yes",
            &yes_no,
            Err((2, JudgeUnreadable)),
        ),
        (
            "prices",
            "1.5 is wrong\nYes",
            &yes_no,
            Err((2, JudgeUnreadable)),
        ),
    ] {
        let count = match &right {
            Ok(verdicts) => verdicts.len(),
            Err((count, _)) => *count,
        };
        let read = items(reply, count, labels).map_err(|misread| (count, misread.code));
        assert_eq!(read, right.map(Read::plain), "{name}: {reply}");
    }
}

/// Replies that would make a careless reader take time that grows with the square.
#[test]
fn work_is_bounded() {
    let labels = Labels::yes_no();
    let scale = Scale::whole(1, 5);
    let before = std::time::Instant::now();
    for unit in [
        "{",
        "[",
        "{\"",
        "[\"",
        "\"",
        "\\\"",
        "{\"a\":",
        "{\"a\":\"{",
        "[{",
        "[1,",
        "[\"[\",",
        "<think>",
        "</think>",
        "<",
        "[[",
        "[[A",
        "score:",
        "score(",
        "1. Y\n",
        "Y\n",
        "not ",
        "yes ",
        "final verdict: ",
        "é",
        "1",
        "-1/",
    ] {
        let reply = unit.repeat(100_000 / unit.len());
        let _ = json(&reply, &with_key("v"));
        let _ = verdict(&reply, &labels);
        let _ = rating(&reply, &scale);
        let _ = items(&reply, 3, &labels);
        let _ = label(&Value::String(reply.clone()), &labels);
        let _ = number(&Value::String(reply), &scale);
    }
    // Some 0.1 s a unit without optimisation, and minutes with the square.
    assert!(before.elapsed().as_secs() < 60, "{:?}", before.elapsed());
}

/// Prose without what begins JSON, tags or marks.
const PROSE: &str = "[a-zA-Z0-9 .,\"'\n}\\]é-]{0,40}";

proptest! {
    #[test]
    fn no_reply_panics(reply in r#"([ -~é\n]|\{"|"\}|<think>|</think>|score: |[0-9]+[./%]|not |yes|No|\[\[|\]\]){0,30}"#, count in 0_usize..4) {
        let (labels, scale) = (Labels::correct(), Scale::real(0.0, 10.0));
        let _ = json(&reply, &with_key("v"));
        let _ = verdict(&reply, &labels);
        let read = rating(&reply, &scale);
        prop_assert!(read.is_err() || read.is_ok_and(|read| scale.holds(read.value)));
        let read = items(&reply, count, &labels);
        prop_assert!(read.is_err() || read.is_ok_and(|read| read.value.len() == count));
        let _ = label(&Value::String(reply.clone()), &labels);
        let _ = number(&Value::String(reply), &scale);
    }

    #[test]
    fn a_value_is_found_in_prose(before in PROSE, after in PROSE, text in "\\PC{0,20}[\u{0}-\u{1f}\"\\\\{}<]{0,4}", n in any::<i64>()) {
        let value = js!({"v": n, "text": text, "list": [1, {"x": null}]});
        let reply = format!("{before}{value}{after}");
        prop_assert_eq!(json(&reply, &with_key("v")), Ok(Read::plain(value)));
    }

    #[test]
    fn raw_control_characters_are_read(text in "[a-z\u{1}-\u{1f}]{0,20}") {
        let reply = format!("{{\"v\": \"{text}\"}}");
        prop_assert_eq!(json(&reply, &with_key("v")), Ok(Read::plain(js!({"v": text}))));
    }

    #[test]
    fn thinking_changes_nothing(thought in r#"[a-zY \n{}"\[\]:0-9.,]{0,40}"#, answer in 0_usize..7, tag in 0_usize..3) {
        let (labels, scale) = (Labels::yes_no(), Scale::whole(1, 5));
        let answer = ["Y", "Reason. No", "{\"v\": 1}", "Score: 4", "lazy", "1. Y\n2. N", "[[3]]"][answer];
        let tag = ["think", "Thinking", "REASONING"][tag];
        for reply in [
            format!("<{tag}>{thought}</{tag}>{answer}"),
            format!("{thought}</{tag}>\n{answer}"),
            format!("{answer}<{tag}>{thought}"),
        ] {
            prop_assert_eq!(json(&reply, &with_key("v")), json(answer, &with_key("v")));
            prop_assert_eq!(verdict(&reply, &labels), verdict(answer, &labels));
            prop_assert_eq!(rating(&reply, &scale), rating(answer, &scale));
            prop_assert_eq!(items(&reply, 2, &labels), items(answer, 2, &labels));
        }
    }
}
