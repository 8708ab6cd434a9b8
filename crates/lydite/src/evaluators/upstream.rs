//! LangChain's own readings of judges' replies, quirks included, for checks with `compat`.
//!
//! Each function does what the parser of that name does upstream, whether it is right or not: `None` where that
//! parser throws. Our own reading is [`judge::read`](crate::judge::read).

use serde_json::json;

use super::prompts::prompt;
use crate::evaluator::{Compat, ParamErrors, Prepare};
use crate::judge::{Failure, Place, Prompt};
use crate::outcome::{Code, Explanation};

/// What a parser of LangChain gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Parsed {
    pub(super) value: Option<String>,
    pub(super) score: Option<f64>,
    pub(super) reasoning: String,
}

impl Parsed {
    /// The words of a result; `raw` is what upstream would give.
    pub(super) fn explanation(self) -> Explanation {
        let raw = json!({"langchain": {"value": self.value, "score": self.score}});
        Explanation {
            label: self.value.filter(|value| !value.is_empty()).map(Into::into),
            reason: (!self.reasoning.is_empty()).then(|| self.reasoning.into()),
            evidence: Vec::new(),
            raw: Some(raw),
        }
    }
}

/// The error that stands for a parser's exception.
pub(super) fn thrown(reply: &str) -> Failure {
    Failure {
        raw: Some(reply.to_owned()),
        ..Failure::new(
            Code::JudgeUnreadable,
            "LangChain's parser throws on this reply; leave `compat` out for a reader that takes more forms",
        )
    }
}

/// The evaluator's prompt with the form of the reply at its end, since replies are plain text; or the check's own.
pub(super) fn prompt_for(
    cx: &Prepare<'_>,
    text: &str,
    form: &str,
    places: &[Place],
    needed: &[&str],
) -> Result<Prompt, ParamErrors> {
    match cx.compat {
        None => prompt(cx, text, places, needed),
        Some(_) => prompt(cx, &format!("{text}\n\n{form}"), places, needed),
    }
}

/// `CriteriaResultOutputParser`.
pub(super) fn criteria(compat: Compat, reply: &str) -> Parsed {
    match compat {
        Compat::LangchainJs => criteria_js(reply),
        Compat::LangchainPy => criteria_py(reply),
    }
}

/// The last line is the verdict; whatever is not Y scores 0.
fn criteria_js(reply: &str) -> Parsed {
    let (reasoning, verdict) = last_line(reply);
    Parsed {
        score: Some(f64::from(u8::from(verdict.to_uppercase() == "Y"))),
        value: Some(verdict),
        reasoning,
    }
}

/// The last letter is the verdict where it is a Y or N, of whatever word; else the first letter; else the last line.
fn criteria_py(reply: &str) -> Parsed {
    let text = reply.trim();
    let is_verdict = |c: &char| matches!(c, 'Y' | 'y' | 'N' | 'n');
    let last = text.chars().next_back().filter(is_verdict);
    let first = text.chars().next().filter(is_verdict);
    let (reasoning, verdict) = match (last, first) {
        (Some(last), _) => {
            let before = text.strip_suffix(last).unwrap_or_default();
            (before.trim(), last.to_string())
        }
        (None, Some(first)) => {
            let after = text.strip_prefix(first).unwrap_or_default();
            (after.trim(), first.to_string())
        }
        (None, None) => {
            let verdict = text.rsplit('\n').next().unwrap_or_default();
            (text, verdict.to_owned())
        }
    };
    let score = match verdict.as_str() {
        "Y" | "y" => Some(1.0),
        "N" | "n" => Some(0.0),
        _ => None,
    };
    Parsed {
        value: Some(verdict),
        score,
        reasoning: reasoning.to_owned(),
    }
}

/// `_parse_string_eval_output` of the qa chains, which are Python's alone: the first grade counts, then the first
/// word, then the last.
pub(super) fn qa(reply: &str) -> Parsed {
    let text = reply.trim();
    let bare = |word: &str| -> String {
        word.chars()
            .filter(|c| !c.is_ascii_punctuation())
            .collect::<String>()
            .to_uppercase()
    };
    let is_grade = |word: &String| matches!(word.as_str(), "CORRECT" | "INCORRECT");
    let value = first_grade(text)
        .or_else(|| text.split_whitespace().next().map(bare).filter(is_grade))
        .or_else(|| {
            text.split_whitespace()
                .next_back()
                .map(bare)
                .filter(is_grade)
        });
    Parsed {
        score: value
            .as_deref()
            .map(|value| f64::from(u8::from(value == "CORRECT"))),
        value,
        reasoning: text.to_owned(),
    }
}

/// What follows the first `grade:` that a grade follows, whatever comes after.
fn first_grade(text: &str) -> Option<String> {
    let upper = text.to_ascii_uppercase();
    upper.match_indices("GRADE:").find_map(|(at, mark)| {
        let after = upper.get(at + mark.len()..)?.trim_start();
        ["CORRECT", "INCORRECT"]
            .into_iter()
            .find(|grade| after.starts_with(grade))
            .map(str::to_owned)
    })
}

/// `PairwiseStringResultOutputParser`.
pub(super) fn pairwise(compat: Compat, reply: &str) -> Option<Parsed> {
    let (reasoning, verdict) = match compat {
        Compat::LangchainJs => {
            let (reasoning, line) = last_line(reply);
            (
                reasoning,
                without_first_run(&without_first_run(&line, '['), ']'),
            )
        }
        Compat::LangchainPy => (reply.to_owned(), bracketed(reply)?.to_owned()),
    };
    let score = match verdict.as_str() {
        "A" => 1.0,
        "B" => 0.0,
        "C" => 0.5,
        _ => return None,
    };
    // Python's value of a tie is None.
    let is_told = compat == Compat::LangchainJs || verdict != "C";
    Some(Parsed {
        value: is_told.then_some(verdict),
        score: Some(score),
        reasoning,
    })
}

/// `ScoreStringResultOutputParser`, Python's alone: a whole number from 1 to 10 in the first double brackets.
pub(super) fn rating(reply: &str) -> Option<Parsed> {
    let number = bracketed(reply)?;
    let score: u8 = number.parse().ok()?;
    let is_plain = score.to_string() == number && (1..=10).contains(&score);
    is_plain.then(|| Parsed {
        value: None,
        score: Some(f64::from(score)),
        reasoning: reply.to_owned(),
    })
}

/// `TrajectoryOutputParser`: the first number after the first `Score:`, 1 to 5, as a share.
pub(super) fn trajectory(compat: Compat, reply: &str) -> Option<Parsed> {
    let (reasoning, rest) = match compat {
        Compat::LangchainJs => {
            let (reasoning, rest) = reply.split_once("Score:")?;
            (reasoning, rest.split("Score:").next().unwrap_or_default())
        }
        Compat::LangchainPy => reply.split_once("Score: ")?,
    };
    let from = rest.find(|c: char| c.is_ascii_digit())?;
    let number = rest.get(from..)?;
    let end = number
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(number.len());
    let (whole, after) = number.split_at(end);
    let is_decimal = after
        .strip_prefix('.')
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let score = whole
        .parse::<u8>()
        .ok()
        .filter(|score| !is_decimal && (1..=5).contains(score))?;
    Some(Parsed {
        value: None,
        score: Some((f64::from(score) - 1.0) / 4.0),
        reasoning: reasoning.trim().to_owned(),
    })
}

/// JavaScript's way to part reasoning and verdict: the lines before the last, run together, and the last.
fn last_line(reply: &str) -> (String, String) {
    let text = reply.trim();
    let (before, verdict) = text.rsplit_once('\n').unwrap_or(("", text));
    (before.replace('\n', ""), verdict.to_owned())
}

/// The text inside the first `[[…]]` of one line.
fn bracketed(text: &str) -> Option<&str> {
    text.match_indices("[[").find_map(|(at, mark)| {
        let rest = text.get(at + mark.len()..)?;
        let (inner, _) = rest.split_once("]]")?;
        (!inner.contains('\n')).then_some(inner)
    })
}

/// A text without its first run of a character.
fn without_first_run(text: &str, c: char) -> String {
    match text.split_once(c) {
        Some((before, after)) => format!("{before}{}", after.trim_start_matches(c)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Compat::{LangchainJs as Js, LangchainPy as Py};

    #[test]
    fn criteria_as_upstream_reads_them() {
        let cases = [
            ("Step 1 ok.\nStep 2 ok.\n\nY\nY", Some(1.), Some(1.)),
            ("Reason. Y", Some(0.), Some(1.)),
            ("Reason\nY.", Some(0.), None),
            ("Reason\n**Y**", Some(0.), None),
            ("Reason\nYes", Some(0.), None),
            ("Final answer: Y", Some(0.), Some(1.)),
            ("It is lazy", Some(0.), Some(1.)),
            ("Now the submission is fine.", Some(0.), Some(0.)),
            ("You asked for X.", Some(0.), Some(1.)),
            ("Yes, good.", Some(0.), Some(1.)),
            ("No, bad.", Some(0.), Some(0.)),
            ("", Some(0.), None),
            ("No. The submission fails; see POLICY", Some(0.), Some(1.)),
            ("fine\r\ny \n", Some(1.), Some(1.)),
        ];
        for (reply, js, py) in cases {
            assert_eq!(criteria(Js, reply).score, js, "{reply:?}");
            assert_eq!(criteria(Py, reply).score, py, "{reply:?}");
        }
        let parsed = criteria(Js, "One.\nTwo.\nY");
        assert_eq!(
            (parsed.reasoning.as_str(), parsed.value.as_deref()),
            ("One.Two.", Some("Y"))
        );
    }

    #[test]
    fn grades_as_upstream_reads_them() {
        for (reply, score) in [
            ("This is not correct", Some(1.)),
            ("Partially correct", Some(1.)),
            ("Grade: Correct... wait GRADE: INCORRECT", Some(1.)),
            ("GRADE:\n incorrect", Some(0.)),
            ("Grade: maybe. GRADE: INCORRECT", Some(0.)),
            ("**INCORRECT** since", Some(0.)),
            ("It is right.", None),
            ("", None),
        ] {
            assert_eq!(qa(reply).score, score, "{reply:?}");
        }
    }

    #[test]
    fn preferences_as_upstream_reads_them() {
        for (reply, js, py) in [
            ("[[A]] but also [[B]]", None, Some(1.)),
            ("Rationale [[A]]", None, Some(1.)),
            ("[[a]]", None, None),
            ("Rationale\n[[A]].", None, Some(1.)),
            ("Rationale\n[[B]]", Some(0.), Some(0.)),
            ("Rationale\nC", Some(0.5), None),
            ("[[C]]", Some(0.5), Some(0.5)),
        ] {
            let score = |compat| pairwise(compat, reply).map(|parsed| parsed.score.unwrap());
            assert_eq!((score(Js), score(Py)), (js, py), "{reply:?}");
        }
        assert_eq!(pairwise(Py, "[[C]]").unwrap().value, None);
        assert_eq!(pairwise(Js, "[[C]]").unwrap().value.as_deref(), Some("C"));
    }

    #[test]
    fn ratings_as_upstream_reads_them() {
        for (reply, score) in [
            ("Rating: [[5]]", Some(5.)),
            ("[[10]]", Some(10.)),
            ("[[7.5]]", None),
            ("[[ 5 ]]", None),
            ("[[5/10]]", None),
            ("Rating: 5", None),
            ("[[0]]", None),
            ("[[11]]", None),
            ("[[05]]", None),
            ("[[+5]]", None),
            ("[[999]]", None),
        ] {
            assert_eq!(
                rating(reply).map(|parsed| parsed.score.unwrap()),
                score,
                "{reply:?}"
            );
        }
    }

    #[test]
    fn trajectories_as_upstream_reads_them() {
        for (reply, js, py) in [
            ("Judgment: a Score: of 2. Score: 4", Some(0.25), Some(0.25)),
            ("a Score: none Score: 4", None, Some(0.75)),
            ("Score: 10", None, None),
            ("Score: 3.5", None, None),
            ("Score: 0", None, None),
            ("Score: five", None, None),
            ("score: 3", None, None),
            ("Score:3", Some(0.5), None),
            ("Score: 4/5", Some(0.75), Some(0.75)),
            ("Score: 5.", Some(1.), Some(1.)),
            ("Score: 99999999999", None, None),
        ] {
            let score = |compat| trajectory(compat, reply).map(|parsed| parsed.score.unwrap());
            assert_eq!((score(Js), score(Py)), (js, py), "{reply:?}");
        }
    }
}
