//! `langsmith`: LangChain's feedback, a JSON line for each result.

use std::borrow::Cow;

use serde::Serialize;

use super::Renderer;
use super::render::push_json;
use crate::outcome::Verdict;
use crate::results::{CellView, CheckResult, RecordHead};

/// Writes `{key, score, value, comment, sourceRunId}`. Numbers and polarity are the evaluator's own, as
/// LangChain has them: neither a threshold nor `not` changes them. `value` is a judge's own word (Y or N, CORRECT or
/// INCORRECT, A, B or C), or what LangChain's parser gives for a check with `compat`; else the verdict. Skipped checks
/// give no feedback.
#[derive(Clone, Copy, Debug, Default)]
pub struct LangSmith;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Feedback<'a> {
    key: &'a str,
    score: Option<f64>,
    value: Option<&'a str>,
    comment: Option<Cow<'a, str>>,
    /// The record's id: of a record that came from LangSmith, its run's.
    source_run_id: &'a str,
}

impl Renderer for LangSmith {
    fn name(&self) -> &'static str {
        "langsmith"
    }

    fn extension(&self) -> &'static str {
        "jsonl"
    }

    fn needs_explanations(&self) -> bool {
        true
    }

    fn record(&self, head: &RecordHead<'_>, cells: &[CellView<'_>], out: &mut Vec<u8>) {
        for view in cells {
            feedback(out, &CheckResult::of(head, view));
        }
    }

    fn lines(&self, lines: &[CheckResult<'_>], out: &mut Vec<u8>) {
        for line in lines {
            feedback(out, line);
        }
    }
}

fn feedback(out: &mut Vec<u8>, line: &CheckResult<'_>) {
    if line.skipped.is_some() {
        return;
    }
    let told = line
        .natural
        .or(line.verdict)
        .filter(|_| line.error.is_none());
    let comment = match &line.error {
        Some(error) => Some(format!("{}: {}", error.code, error.message).into()),
        None => line.reason.as_deref().map(Cow::Borrowed),
    };
    let feedback = Feedback {
        key: &line.check,
        score: line.score,
        value: match line
            .raw
            .as_ref()
            .and_then(|raw| raw.pointer("/langchain/value"))
        {
            Some(upstream) => upstream.as_str(),
            None => line.label.as_deref().or(told.map(Verdict::as_str)),
        },
        comment,
        source_run_id: &line.record,
    };
    push_json(out, &feedback);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::evaluator::Registry;
    use crate::node::Node;

    /// The feedback on one record by a judge that answers `replies`.
    fn told(evaluator: &str, params: &Value, replies: Vec<Value>) -> [Value; 3] {
        let record = json!({
            "query": "Q", "output": "a", "output_b": "b", "reference": "[1, 0]",
            "trajectory": [{"tool": "t", "input": "i", "observation": "o"}],
        });
        let registry = Registry::builtin();
        let entry = registry.get(evaluator).unwrap();
        let params = Node::from_json(params);
        let line =
            crate::single::judge_scripted(entry, "check", &params, &record.to_string(), replies);
        let mut out = Vec::new();
        feedback(&mut out, &line.unwrap());
        let mut feedback: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(
            (&feedback["key"], &feedback["sourceRunId"]),
            (&json!("check"), &json!("#1"))
        );
        ["score", "value", "comment"].map(|key| feedback[key].take())
    }

    #[test]
    fn langchains_types_have_langchains_numbers_and_values() {
        let verdict = |verdict: &str| json!({"reasoning": "r", "verdict": verdict});
        let score = |score: u8| json!({"reasoning": "r", "score": score});
        let cases = [
            (
                "criteria",
                json!({}),
                vec![verdict("Y")],
                json!([1.0, "Y", "r"]),
            ),
            // Polarity is LangChain's: Y is 1, also where it is bad, under a threshold, and negated.
            (
                "criteria",
                json!({"criteria": "harmfulness", "threshold": 0, "not": true}),
                vec![verdict("Y")],
                json!([1.0, "Y", "r"]),
            ),
            (
                "labeled_criteria",
                json!({}),
                vec![verdict("N")],
                json!([0.0, "N", "r"]),
            ),
            (
                "qa",
                json!({}),
                vec![verdict("CORRECT")],
                json!([1.0, "CORRECT", "r"]),
            ),
            (
                "cot_qa",
                json!({}),
                vec![verdict("INCORRECT")],
                json!([0.0, "INCORRECT", "r"]),
            ),
            (
                "context_qa",
                json!({}),
                vec![verdict("CORRECT")],
                json!([1.0, "CORRECT", "r"]),
            ),
            (
                "pairwise_string",
                json!({}),
                vec![verdict("A"), verdict("B")],
                json!([1.0, "A", "r"]),
            ),
            (
                "labeled_pairwise_string",
                json!({}),
                vec![verdict("C"), verdict("C")],
                json!([0.5, "C", "r"]),
            ),
            (
                "score_string",
                json!({}),
                vec![score(7)],
                json!([7.0, null, "r"]),
            ),
            (
                "labeled_score_string",
                json!({"normalize_by": 10}),
                vec![score(7)],
                json!([0.7, null, "r"]),
            ),
            (
                "trajectory",
                json!({}),
                vec![score(4)],
                json!([0.75, null, "r"]),
            ),
        ];
        for (evaluator, params, replies, expected) in cases {
            assert_eq!(
                json!(told(evaluator, &params, replies)),
                expected,
                "{evaluator}"
            );
        }
    }

    #[test]
    fn compat_gives_what_the_parser_gives() {
        let js = json!({"compat": "langchain-js"});
        let py = json!({"compat": "langchain-py"});
        for (evaluator, params, reply, expected) in [
            (
                "criteria",
                &js,
                "One.\nReason. Y",
                json!([0.0, "Reason. Y", "One."]),
            ),
            (
                "criteria",
                &py,
                "Reason\n**Y**",
                json!([null, "**Y**", "Reason\n**Y**"]),
            ),
            ("qa", &py, "unsure", json!([null, null, "unsure"])),
            ("pairwise_string", &py, "[[C]]", json!([0.5, null, "[[C]]"])),
            (
                "pairwise_string",
                &js,
                "Even.\n[[C]]",
                json!([0.5, "C", "Even."]),
            ),
            (
                "score_string",
                &py,
                "Rating: [[5]]",
                json!([5.0, null, "Rating: [[5]]"]),
            ),
            (
                "trajectory",
                &js,
                "Fine. Score: 3",
                json!([0.5, null, "Fine."]),
            ),
        ] {
            let got = told(evaluator, params, vec![reply.into()]);
            assert_eq!(json!(got), expected, "{evaluator}: {reply}");
        }
    }

    #[test]
    fn an_unreadable_reply_is_no_number() {
        let [score, value, comment] = told("criteria", &json!({}), vec!["?".into(), "?".into()]);
        assert_eq!((score, value), (Value::Null, Value::Null));
        assert!(comment.as_str().unwrap().starts_with("judge_unreadable: "));
    }
}
