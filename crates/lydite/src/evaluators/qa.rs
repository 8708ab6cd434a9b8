//! `qa`: see [`Qa`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filled::{self, OUTPUT, QUERY};
use super::upstream::{self, prompt_for};
use crate::evaluator::{
    Compat, Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code, Explanation, Score, Verdict};
use crate::record::{Field, FieldSet, Row};

/// Whether the output answers the question correctly, graded by a judge against the right answer.
///
/// ## When to use it
/// Questions with a right answer that may be worded freely. For a more careful comparison take `cot_qa`; where
/// passages stand in place of a right answer, `context_qa`; for one right wording, `golden_response` costs nothing.
///
/// ## How it is scored
/// The judge sees the question, the reference and the output and grades CORRECT (1, pass) or INCORRECT (0, fail), by
/// facts alone: wording, length and language do not count. Of several references each is right by itself.
///
/// ## Limits
/// What the output adds beyond the reference is not checked for truth; take `faithfulness` for that. `compat` asks for
/// plain text and reads it as LangChain.py does; LangChain.js has no such type, so both its values mean the same.
///
/// ## References
/// LangChain, QAEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Qa {}

const PROMPT: &str = "\
You grade the answer to a question like a teacher, by a right answer that is given. Where several right answers are \
numbered, each is right by itself.

The question:
{query}

The right answer:
{reference}

The answer to be graded:
{output}

Grade by facts alone: wording, punctuation, length and language do not count, and more than the right answer says is \
fine as long as it contradicts nothing in it. CORRECT means that the answer says what the question asks for, as the \
right answer has it. INCORRECT means that it says otherwise, leaves out what the question asks for, settles on nothing, \
declines to answer (unless the right answer does so too), or is empty. Say in a sentence or two why, then give the grade.";

/// The places of `qa`'s prompt; `{answer}` is LangChain's name of the right answer.
const PLACES: [Place; 3] = [
    QUERY,
    OUTPUT,
    Place {
        name: "reference",
        also: &["answer"],
    },
];

impl Evaluator for Qa {
    const INFO: Info = Info {
        id: "qa",
        prompts: &[PromptText::new("the grade", PROMPT)],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        needs: FieldSet::of(&[Field::Query, Field::Output, Field::Reference]),
        examples: &[
            Example {
                title: "the right answer in other words",
                record: r#"{"query": "When did Apollo 11 land?", "output": "In July of 1969.", "reference": "20 July 1969"}"#,
                replies: r#"[{"reasoning": "Month and year agree, and the question asks for no more.", "verdict": "CORRECT"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a negated word in plain text is read as negated",
                record: r#"{"query": "What is 2 + 2?", "output": "5", "reference": "4"}"#,
                replies: r#"["This is not correct"]"#,
                expect: r#"{"verdict": "fail", "score": 0, "warnings": ["untyped_reply"]}"#,
                ..Example::PLAIN
            },
            Example {
                title: "half a grade is none",
                record: r#"{"query": "Who wrote it?", "output": "Marx", "reference": "Marx and Engels"}"#,
                replies: r#"["Partially correct", "Partially correct"]"#,
                expect: r#"{"verdict": "inconclusive", "error": "judge_unreadable"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        Ok(Scorer::judged(ByJudge::new(
            PROMPT,
            &PLACES,
            Truth::Reference,
            cx,
        )?))
    }
}

/// What an answer is graded by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Truth {
    Reference,
    /// The contexts, or the reference where there are none.
    Contexts,
}

/// What a plain-text reply must look like for LangChain's parser.
const FORM: &str = "\
Write your reasoning first. Then write the grade on the last line, as GRADE: CORRECT or GRADE: INCORRECT, and nothing \
else.";

/// Asks a judge for CORRECT or INCORRECT; `cot_qa` and `context_qa` too.
pub(super) struct ByJudge {
    prompt: Prompt,
    truth: Truth,
    /// The place where it stands.
    truth_place: &'static str,
    labels: Labels,
    compat: Option<Compat>,
}

impl ByJudge {
    /// The last of `places` is that of the truth.
    pub(super) fn new(
        text: &str,
        places: &[Place; 3],
        truth: Truth,
        cx: &Prepare<'_>,
    ) -> Result<Self, ParamErrors> {
        let [_, _, truth_place] = places;
        Ok(Self {
            prompt: prompt_for(cx, text, FORM, places, &["output"])?,
            truth,
            truth_place: truth_place.name,
            labels: Labels::correct(),
            compat: cx.compat,
        })
    }

    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let query = filled::field(row, Field::Query, cx)?;
        let output = filled::field(row, Field::Output, cx)?;
        let Some(truth) = self.truth(row, cx)? else {
            return Ok(Outcome::inconclusive(
                "there is no context to grade the answer by",
            ));
        };
        let fill = [
            (QUERY.name, query),
            (OUTPUT.name, output),
            (self.truth_place, truth),
        ];
        let ask = Ask {
            name: "grade",
            prompt: &self.prompt,
            fill: &fill,
            order: Order::default(),
        };
        if self.compat.is_some() {
            let reply = cx.text(&ask).await?;
            return Ok(as_upstream(upstream::qa(&reply)));
        }
        let said = cx.verdict(&ask, &self.labels).await?;
        let explanation = Explanation {
            label: Some(self.labels.name(said.label).to_owned().into()),
            evidence: said.evidence.clone(),
            ..Explanation::reason(said.reason.clone())
        };
        let natural = Verdict::from_bool(said.label == CORRECT);
        Ok(Outcome::new(
            cell(Score::new(said.share(CORRECT)), natural),
            explanation,
        ))
    }

    /// `None` where contexts are given and are none.
    fn truth<'r>(&self, row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<Option<Fill<'r>>, Failure> {
        if self.truth == Truth::Reference {
            return filled::reference(row, cx).map(Some);
        }
        let contexts = row.contexts();
        if !contexts.is_empty() {
            let documents = contexts.iter().map(|context| context.document);
            return Ok(Some(Fill::items(documents)));
        }
        if row.reference().is_some() {
            return filled::reference(row, cx).map(Some);
        }
        match row.raw(Field::Contexts) {
            Some(_) => Ok(None),
            None => Err(Cell::Errored(Code::MissingField(Field::Contexts)).into()),
        }
    }
}

/// The index of CORRECT among the labels.
const CORRECT: usize = 0;

const fn cell(score: Option<Score>, natural: Verdict) -> Cell {
    Cell::Scored {
        score,
        natural: Some(natural),
        flags: 0,
    }
}

fn as_upstream(parsed: upstream::Parsed) -> Outcome {
    let natural = match parsed.score {
        Some(score) => Verdict::from_bool(score > 0.0),
        None => Verdict::Inconclusive,
    };
    Outcome::new(
        cell(parsed.score.and_then(Score::new), natural),
        parsed.explanation(),
    )
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}
