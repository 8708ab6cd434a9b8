//! `score_string`: see [`ScoreString`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::criterion::{Criteria, overall, resolve, weighed};
use super::filled::{self, CRITERIA, OUTPUT, QUERY};
use super::upstream::{self, prompt_for, thrown};
use crate::evaluator::{
    Compat, Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, ScoreScale,
    Scorer,
};
use crate::judge::{Ask, Failure, JudgeContext, Outcome, Place, Prompt, Scale};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};

/// How good the output is on a scale from 1 to 10, by a judge's rating.
///
/// ## When to use it
/// To rank answers or follow a trend, where yes or no is too coarse. A rating is less stable than a yes or no: for a
/// decision take `criteria`. With a right answer at hand take `labeled_score_string`.
///
/// ## How it is scored
/// The judge gives one whole number from 1 (worst) to 10 (best) for the criteria together: helpfulness, relevance,
/// correctness and depth, or the ones that `criteria` names (built-in names, or `{name: question}`).
/// `normalize_by: 10` divides it. It only measures, unless a `threshold` is set.
///
/// ## Limits
/// Ratings of different judges are not comparable. `compat` asks for plain text and reads it as LangChain.py does;
/// LangChain.js has no such type, so both its values mean the same.
///
/// ## References
/// LangChain, ScoreStringEvalChain.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScoreString {
    /// A criterion's name, a list of names, or questions by name.
    #[serde(default = "overall")]
    criteria: Criteria,
    /// What the rating is divided by: 10 brings it to [0.1, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    normalize_by: Option<f64>,
}

const PROMPT: &str = "\
You rate how good a submission is, on a scale from 1 to 10.

What counts, and nothing else:
{criteria}

The input that the submission answers:
{query}

The submission:
{output}

First reason: go through what counts, and name what is good and what is wrong or missing in the submission. Then rate it \
as a whole with one whole number. 10: nothing could be better. 7 or 8: good, with small faults. 5 or 6: usable, with \
faults that its reader must mend. 3 or 4: more wrong than right. 1: useless, empty, or an unfounded refusal. Use the \
whole scale. Length, style and confidence count only as far as they are named above.";

impl Evaluator for ScoreString {
    const INFO: Info = Info {
        id: "score_string",
        prompts: &[PromptText::new("the rating", PROMPT)],
        origin: Origin::LangChain,
        reads: FieldSet::of(&[Field::Query, Field::Output]),
        needs: FieldSet::of(&[Field::Query, Field::Output]),
        principal: Some("criteria"),
        range: (Some(1.0), Some(10.0)),
        natural_verdict: false,
        examples: &[
            Example {
                title: "a good answer",
                params: "threshold: 7",
                record: r#"{"query": "Why is the sky blue?", "output": "Air scatters short waves more than long ones."}"#,
                replies: r#"[{"reasoning": "Right and to the point, though brief.", "score": 8}]"#,
                expect: r#"{"verdict": "pass", "score": 8}"#,
            },
            Example {
                title: "divided by ten",
                params: "{criteria: depth, normalize_by: 10, threshold: 0.7}",
                record: r#"{"query": "Why is the sky blue?", "output": "Because of the air."}"#,
                replies: r#"["Rating: [[4]]"]"#,
                expect: r#"{"verdict": "fail", "score": 0.4, "warnings": ["untyped_reply"]}"#,
            },
            Example {
                title: "a number outside of the scale",
                params: "{}",
                record: r#"{"query": "Why is the sky blue?", "output": "It is not."}"#,
                replies: r#"[{"reasoning": "Wrong.", "score": 0}, {"reasoning": "Wrong.", "score": 0}]"#,
                expect: r#"{"verdict": "inconclusive", "error": "score_out_of_range"}"#,
            },
        ],
        ..Info::JUDGED
    };

    fn scale(&self) -> ScoreScale {
        scale(&Self::INFO, self.normalize_by)
    }

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let wording = Wording {
            text: PROMPT,
            places: &[CRITERIA, QUERY, OUTPUT],
        };
        let by_judge = ByJudge::new(&self.criteria, self.normalize_by, &wording, cx)?;
        Ok(Scorer::judged(by_judge))
    }
}

/// 1 to 10, divided.
pub(super) fn scale(info: &Info, normalize_by: Option<f64>) -> ScoreScale {
    let by = normalize_by.unwrap_or(1.0);
    ScoreScale {
        range: (Some(1.0 / by), Some(10.0 / by)),
        ..ScoreScale::of(info)
    }
}

/// The prompt of `score_string` or of `labeled_score_string`.
pub(super) struct Wording<'w> {
    pub(super) text: &'w str,
    pub(super) places: &'w [Place],
}

/// What a plain-text reply must look like for LangChain's parser.
const FORM: &str = "\
Write your reasoning first. Then write the rating in double brackets, for example: Rating: [[5]].";

/// Asks a judge for a number from 1 to 10.
pub(super) struct ByJudge {
    prompt: Prompt,
    /// The criteria as the prompt has them.
    words: String,
    scale: Scale,
    normalize_by: Option<f64>,
    compat: Option<Compat>,
    labeled: bool,
}

impl ByJudge {
    pub(super) fn new(
        criteria: &Criteria,
        normalize_by: Option<f64>,
        wording: &Wording<'_>,
        cx: &Prepare<'_>,
    ) -> Result<Self, ParamErrors> {
        if normalize_by.is_some_and(|by| !(by > 0.0 && (10.0 / by).is_finite() && 1.0 / by > 0.0)) {
            return Err(ParamErrors::with_help(
                "/normalize_by",
                "ratings can be divided by numbers above 0 only",
                "write `normalize_by: 10` for scores up to 1",
            ));
        }
        Ok(Self {
            prompt: prompt_for(cx, wording.text, FORM, wording.places, &["output"])?,
            words: weighed(&resolve(criteria)?),
            scale: Scale::whole(1, 10),
            normalize_by,
            compat: cx.compat,
            labeled: filled::is_labeled(wording.places),
        })
    }

    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let fill = filled::submission(&self.words, self.labeled, row, cx)?;
        let ask = Ask {
            name: "rating",
            prompt: &self.prompt,
            fill: &fill,
            order: Order::default(),
        };
        if self.compat.is_some() {
            let reply = cx.text(&ask).await?;
            let mut parsed = upstream::rating(&reply).ok_or_else(|| thrown(&reply))?;
            parsed.score = parsed.score.map(|rating| self.normalized(rating));
            let cell = Cell::measured(parsed.score.unwrap_or(f64::NAN));
            return Ok(Outcome::new(cell, parsed.explanation()));
        }
        let said = cx.score(&ask, &self.scale).await?;
        let mut explanation = Explanation::reason(said.reason);
        if let Some(by) = self.normalize_by {
            let rating = Evidence::new("rating")
                .set("rating", said.score)
                .set("divided_by", by);
            explanation = explanation.with(rating);
        }
        explanation.evidence.extend(said.evidence);
        Ok(Outcome::new(
            Cell::measured(self.normalized(said.score)),
            explanation,
        ))
    }

    fn normalized(&self, rating: f64) -> f64 {
        rating / self.normalize_by.unwrap_or(1.0)
    }
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}
