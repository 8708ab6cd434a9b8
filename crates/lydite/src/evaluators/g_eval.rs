//! `g_eval`: see [`GEval`].

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::itemised::reasoned;
use super::material::{Material, READS, Shown};
use super::options::rounded;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Outcome, Place, Prompt, Scale};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code, Evidence};
use crate::record::{Field, FieldSet, Row};

/// A judge grades the output on a scale, by evaluation steps that it works out of your criteria.
///
/// ## When to use it
/// A quality that has degrees: coherence, tone, completeness. For a plain yes or no take `criteria` or `closed_qa`;
/// for several conditions that are each met or not, `rubric`.
///
/// ## How it is scored
/// 1. Without `steps`, the judge turns the criteria into steps, once: the question is the same for all records, so the
///    cache of replies answers it from the second on. The result's evidence shows them.
/// 2. The judge goes through the steps and gives a whole number of the scale, 0 to 10 unless `scale` or `rubric` says
///    otherwise.
/// 3. The score is (number − least) / (most − least), in \[0, 1]. It only measures, unless a `threshold` is set.
///
/// With `mode: logprob` the number is the paper's Σ p(s)·s over the whole numbers of the scale, by the
/// log-probabilities of the judge's answer; the evidence says which share of the probability fell on them. With
/// `mode: {sample: 20}` it is the mean of so many answers, the paper's way for models without log-probabilities.
///
/// ## Limits
/// A number outside the scale is an error, never clamped. Numbers of different judges or criteria do not compare.
///
/// ## References
/// Liu et al. 2023, "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", equation 1 (the paper's scales
/// are 1 to 5 or 1 to 3). The scale 0 to 10, the rubric and the division into \[0, 1]: DeepEval, GEval. The prompts are
/// Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GEval {
    /// What makes an output good; needed without `steps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criteria: Option<String>,
    /// The evaluation steps, in place of those that the judge would write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steps: Option<Vec<String>>,
    /// What parts of the scale mean. Without `scale`, the scale goes from the least to the greatest number here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rubric: Option<Vec<Band>>,
    /// Least and greatest number that the judge may give, `[0, 10]` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    scale: Option<[i32; 2]>,
    /// The fields that the judge is shown, all of them needed; left out: the output, and the query where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    show: Option<Vec<Shown>>,
}

/// A part of the scale.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Band {
    /// Its least and greatest number.
    range: [i32; 2],
    /// What an output is like that gets one of them.
    #[serde(default)]
    expected_outcome: String,
}

const STEPS_PROMPT: &str = "\
Write the steps by which a careful reader grades an output by these criteria:

{criteria}

The reader is shown: {fields}. Give three to six short steps, in the order in which they are taken. Each says what to \
look at and what speaks for a higher or a lower grade, and stays within the criteria. Do not grade anything yet.";

const PROMPT: &str = "\
Grade the output below with a whole number from {least} (worst) to {most} (best).

Criteria:
{criteria}

Steps:
{steps}

What the numbers mean:
{rubric}

Take the steps one after the other and write down what each shows, pointing at places in the output. Then give the \
number that follows. Use the whole scale; grade by the criteria and steps alone, and give length, confidence and \
polite words no credit of their own. An empty output gets the number that the criteria leave for it, which is mostly \
the worst.";

const PLACES: [Place; 5] = [
    Place::new("criteria"),
    Place::new("steps"),
    Place::new("rubric"),
    Place::new("least"),
    Place::new("most"),
];

const STEPS_PLACES: [Place; 2] = [Place::new("criteria"), Place::new("fields")];

const SCALE: [i32; 2] = [0, 10];

impl Evaluator for GEval {
    const INFO: Info = Info {
        id: "g_eval",
        prompts: &[
            PromptText::new("the grade", PROMPT),
            PromptText::new("the steps, where none are given", STEPS_PROMPT),
        ],
        origin: Origin::Field,
        reads: READS,
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("criteria"),
        natural_verdict: false,
        examples: &[
            Example {
                title: "the judge writes its steps, then grades",
                params: "{criteria: the summary is coherent, threshold: 0.7}",
                record: r#"{"output": "The town voted. The bridge will be rebuilt."}"#,
                replies: r#"[{"steps": ["Read the sentences in order.", "See whether each follows from the one before."]}, {"reasoning": "Short, but in order.", "score": 8}]"#,
                expect: r#"{"verdict": "pass", "score": 0.8}"#,
            },
            Example {
                title: "steps and a scale of one's own",
                params: "{steps: [Look for a greeting., Look for the customer's name.], scale: [1, 5], threshold: 0.7}",
                record: r#"{"output": "Hello. Your parcel is late."}"#,
                replies: r#"[{"reasoning": "A greeting, no name.", "score": 3}]"#,
                expect: r#"{"verdict": "fail", "score": 0.5}"#,
            },
            Example {
                title: "a number outside the scale is an error, not clamped",
                params: "{steps: [Read it.], threshold: 0.7}",
                record: r#"{"output": "Hello."}"#,
                replies: r#"[{"reasoning": "Great!", "score": 11}, {"reasoning": "Great!", "score": 11}]"#,
                expect: r#"{"verdict": "inconclusive", "error": "score_out_of_range"}"#,
            },
        ],
        ..Info::JUDGED
    };

    fn needs(&self) -> FieldSet {
        Material::needs(self.show.as_deref())
    }

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let [least, most] = scale(self.scale, self.rubric.as_deref())?;
        let material = Material::new(self.show.as_deref())?;
        let prompt = material.prompt(cx, PROMPT, &PLACES, &[])?;
        let steps_prompt = Prompt::new(STEPS_PROMPT, &STEPS_PLACES, &[])
            .map_err(|error| ParamErrors::with_help("", error.message, error.help))?;
        let criteria = self.criteria.filter(|criteria| !criteria.trim().is_empty());
        let steps = self.steps.filter(|steps| !steps.is_empty());
        if criteria.is_none() && steps.is_none() {
            return Err(ParamErrors::with_help(
                "",
                "g_eval needs criteria or steps to grade by",
                "write `criteria: …`, or the steps themselves under `steps`",
            ));
        }
        Ok(Scorer::judged(ByJudge {
            prompt,
            steps_prompt,
            fields: material.names().join(", "),
            material,
            criteria: criteria.unwrap_or_else(|| "as the steps say".to_owned()),
            steps,
            rubric: meanings(self.rubric.as_deref()),
            ends: [least.to_string(), most.to_string()],
            scale: Scale::whole(least, most),
        }))
    }
}

/// The scale that the parameters say; it has at least two numbers.
fn scale(given: Option<[i32; 2]>, rubric: Option<&[Band]>) -> Result<[i32; 2], ParamErrors> {
    let bands = rubric.unwrap_or_default();
    let ends = bands
        .iter()
        .map(|band| band.range)
        .reduce(|[a, b], [least, most]| [a.min(least), b.max(most)]);
    let [least, most] = given.or(ends).unwrap_or(SCALE);
    if least >= most {
        return Err(ParamErrors::with_help(
            if given.is_some() { "/scale" } else { "/rubric" },
            format!("the score range [{least}, {most}] has zero width or runs backwards"),
            "give the least and the greatest number, such as `scale: [0, 10]`",
        ));
    }
    let mut sorted: Vec<[i32; 2]> = bands.iter().map(|band| band.range).collect();
    sorted.sort_unstable();
    let overlaps = sorted.iter().zip(sorted.iter().skip(1));
    let wrong = sorted
        .iter()
        .any(|&[from, to]| from > to || from < least || to > most)
        || overlaps.into_iter().any(|([_, to], [from, _])| from <= to);
    if wrong {
        return Err(ParamErrors::with_help(
            "/rubric",
            format!(
                "ranges of the rubric overlap, run backwards or leave the scale [{least}, {most}]"
            ),
            "give every range as [least, greatest], none inside another",
        ));
    }
    Ok([least, most])
}

/// A line a part of the scale, as the judge reads it.
fn meanings(rubric: Option<&[Band]>) -> String {
    let lines = rubric.unwrap_or_default().iter().map(|band| {
        let [from, to] = band.range;
        format!("{from} to {to} - {}", band.expected_outcome)
    });
    let lines = lines.collect::<Vec<_>>().join("\n");
    if lines.is_empty() {
        "as the criteria and steps say, evenly from worst to best".to_owned()
    } else {
        lines
    }
}

struct ByJudge {
    prompt: Prompt,
    steps_prompt: Prompt,
    material: Material,
    fields: String,
    criteria: String,
    steps: Option<Vec<String>>,
    rubric: String,
    ends: [String; 2],
    scale: Scale,
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let mut fill = self.material.fill(row, cx)?;
        let steps = self.steps(cx).await?;
        let [least, most] = &self.ends;
        let words: [(&str, Cow<'_, str>); 5] = [
            ("criteria", (&*self.criteria).into()),
            ("steps", numbered(&steps).into()),
            ("rubric", (&*self.rubric).into()),
            ("least", least.into()),
            ("most", most.into()),
        ];
        fill.extend(words.map(|(place, words)| (place, Fill::Words(words))));
        let ask = Ask {
            name: "g_eval",
            prompt: &self.prompt,
            fill: &fill,
            order: Order::Ab,
        };
        let said = cx.score(&ask, &self.scale).await?;
        let number = Evidence::new("grade")
            .set("number", rounded(said.score))
            .set("least", self.scale.least)
            .set("most", self.scale.most);
        let mut evidence = vec![number];
        if self.steps.is_none() {
            evidence.push(Evidence::new("steps").set("steps", steps.into_owned()));
        }
        evidence.extend(said.evidence);
        let share = self.scale.share(said.score).clamp(0.0, 1.0);
        Ok(Outcome::new(
            Cell::measured(share),
            reasoned(said.reason, evidence),
        ))
    }

    /// The steps that were given, or those that the judge writes.
    async fn steps(&self, cx: &JudgeContext<'_>) -> Result<Cow<'_, [String]>, Failure> {
        if let Some(steps) = &self.steps {
            return Ok(Cow::Borrowed(steps));
        }
        let ask = Ask {
            name: "g_eval_steps",
            prompt: &self.steps_prompt,
            fill: &[
                ("criteria", Fill::words(&*self.criteria)),
                ("fields", Fill::words(&*self.fields)),
            ],
            order: Order::Ab,
        };
        let steps = cx.list(&ask, "steps").await?;
        if steps.is_empty() {
            return Err(Failure::new(
                Code::JudgeUnreadable,
                "the judge wrote no evaluation steps; give them under `steps`",
            ));
        }
        Ok(Cow::Owned(steps))
    }
}

/// A line a step.
fn numbered(steps: &[String]) -> String {
    let lines = steps.iter().enumerate();
    let lines = lines.map(|(index, step)| format!("{}. {step}", index + 1));
    lines.collect::<Vec<_>>().join("\n")
}
