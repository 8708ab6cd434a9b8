//! `rubric`: see [`Rubric`].

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::itemised::{explained, scored, share, whole_or_part};
use super::material::{Material, READS, Shown};
use super::options::quote_all;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::read::{self, Misread, Read};
use crate::judge::{
    Ask, Failure, Fill, Item, JudgeContext, Label, Labels, Outcome, Place, Prompt, Scale, typed,
};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Code, Evidence, Explanation, Verdict};
use crate::record::{Field, FieldSet, Row};

/// A judge says whether the output meets your rubric: one text, or weighted items that are each met or not.
///
/// ## When to use it
/// Conditions in your own words, as promptfoo's `llm-rubric` takes them, or a checklist whose items are judged and
/// shown one by one. For a grade on a scale take `g_eval`; for one closed question on an answer, `closed_qa`.
///
/// ## How it is scored
/// With `items`, the judge gets all of them numbered and says of each whether it is met. The score is Σ weight of the
/// met ÷ Σ weight of all; all met passes, none met fails, anything between is partial. An item without a verdict is
/// asked for once more, then the whole is an error whose evidence has the bounds.
///
/// With one `criterion`, the judge gives a verdict and a score in \[0, 1], 0.5 or more exactly where the criterion is
/// met. A pass with a lower score, or a fail with a higher one, contradicts itself: it is asked once more and then an
/// error.
///
/// ## Limits
/// One `criterion` with several conditions in it gets one verdict; `items` show which of them failed. The score modes
/// `logprob` and `sample` do not apply: the judge's word counts.
///
/// ## References
/// promptfoo, `llm-rubric` (one text; a reply of reason, pass and score is read). Weighted binary items: Arora et al.
/// 2025, HealthBench, without its negative points. The prompts are Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rubric {
    /// What the output must do, in one text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    criterion: Option<String>,
    /// What it must do, one by one: a text each, or `{criterion, weight, name}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items: Option<Vec<RubricItem>>,
    /// The fields that the judge is shown, all of them needed; left out: the output, and the query where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    show: Option<Vec<Shown>>,
}

/// One item of a rubric.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum RubricItem {
    Text(String),
    Weighted(WeightedItem),
}

/// An item with all that may be said of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WeightedItem {
    /// What the output must do.
    criterion: String,
    /// How much it counts against the others, above 0.
    #[serde(default = "one")]
    weight: f64,
    /// A short name for reasons and evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

const fn one() -> f64 {
    1.0
}

const PROMPT: &str = "\
Decide whether the output below meets a criterion.

Criterion: {criteria}

First reason about what the criterion asks and how far the output does it, pointing at places in the output. Then \
give a score from 0 (not at all) to 1 (entirely), and the verdict: pass if the output meets the criterion, fail if it \
does not. The score is 0.5 or more exactly where the verdict is pass. Judge by the criterion alone. An empty output \
or a refusal passes only where the criterion allows it.";

const ITEMS_PROMPT: &str = "\
Decide for each of these numbered criteria whether the output below meets it:

{criteria}

Take every criterion by itself, in its order and under its number: reason about what it asks and whether the output \
as it stands does that, then give the verdict, met or not_met. A criterion that is met only in part is not_met. \
Judge by the criteria alone. An empty output or a refusal meets a criterion only where that allows it.";

const PLACES: [Place; 1] = [Place {
    name: "criteria",
    also: &["rubric"],
}];

/// The first label of both sets: pass, met.
const MET: usize = 0;

impl Evaluator for Rubric {
    const INFO: Info = Info {
        id: "rubric",
        prompts: &[
            PromptText::new("the verdict on one text", PROMPT),
            PromptText::new("the verdict on each item", ITEMS_PROMPT),
        ],
        aliases: &["llm_rubric"],
        origin: Origin::Field,
        reads: READS,
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("criterion"),
        examples: &[
            Example {
                title: "one text",
                params: "criterion: apologises and names a date",
                record: r#"{"query": "Where is my parcel?", "output": "Sorry about that! It arrives on 3 May."}"#,
                replies: r#"[{"reasoning": "Both are there.", "score": 1, "verdict": "pass"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "items by weight",
                params: "{items: [apologises, {criterion: names a date, weight: 3, name: date}]}",
                record: r#"{"query": "Where is my parcel?", "output": "Sorry about that!"}"#,
                replies: r#"[{"verdicts": [{"number": 1, "reasoning": "It says sorry.", "verdict": "met"}, {"number": 2, "reasoning": "No date.", "verdict": "not_met"}]}]"#,
                expect: r#"{"verdict": "partial", "score": 0.25}"#,
            },
            Example {
                title: "not met",
                params: "criterion: names a date",
                record: r#"{"output": "Sorry about that!"}"#,
                replies: r#"[{"reasoning": "No date.", "score": 0, "verdict": "fail"}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "a pass with a score of 0 is a contradiction, not a pass",
                params: "criterion: names a date",
                record: r#"{"output": "Sorry about that!"}"#,
                replies: r#"[{"reason": "r", "pass": true, "score": 0}, {"reason": "r", "pass": true, "score": 0}]"#,
                expect: r#"{"verdict": "inconclusive", "error": "judge_contradiction"}"#,
            },
        ],
        ..Info::JUDGED
    };

    fn needs(&self) -> FieldSet {
        Material::needs(self.show.as_deref())
    }

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let material = Material::new(self.show.as_deref())?;
        let criterion = self.criterion.filter(|text| !text.trim().is_empty());
        let items = self.items.filter(|items| !items.is_empty());
        match (criterion, items) {
            (Some(criterion), None) => Ok(Scorer::judged(WholeByJudge {
                prompt: material.prompt(cx, PROMPT, &PLACES, &["criteria"])?,
                material,
                criterion,
                reader: Reader::new(),
            })),
            (None, Some(items)) => {
                let items = weighted(items)?;
                Ok(Scorer::judged(ItemsByJudge {
                    prompt: material.prompt(cx, ITEMS_PROMPT, &PLACES, &["criteria"])?,
                    material,
                    list: numbered(&items),
                    items,
                    labels: Labels::new(vec![
                        Label::new("met", &["yes", "true", "pass"]),
                        Label::new("not_met", &["not met", "unmet", "no", "false", "fail"]),
                    ]),
                }))
            }
            _ => Err(ParamErrors::with_help(
                "",
                "a rubric is either one `criterion` or a list of `items`, and not empty",
                "write what the output must do: `rubric: apologises and names a date`, or `items: [apologises, names a date]`",
            )),
        }
    }
}

/// Every item with its weight.
fn weighted(items: Vec<RubricItem>) -> Result<Vec<WeightedItem>, ParamErrors> {
    let items = items.into_iter().map(|item| match item {
        RubricItem::Text(criterion) => WeightedItem {
            criterion,
            weight: 1.0,
            name: None,
        },
        RubricItem::Weighted(item) => item,
    });
    let items: Vec<WeightedItem> = items.collect();
    for (index, item) in items.iter().enumerate() {
        if item.criterion.trim().is_empty() {
            let path = format!("/items/{index}");
            return Err(ParamErrors::with_help(
                path,
                "the criterion is blank",
                "write what the output must do",
            ));
        }
        if !(item.weight > 0.0 && item.weight.is_finite()) {
            return Err(ParamErrors::with_help(
                format!("/items/{index}/weight"),
                format!("the weight {} is not above 0", item.weight),
                "leave out an item that shall not count; word a fault as its opposite",
            ));
        }
    }
    let all: f64 = items.iter().map(|item| item.weight).sum();
    if !all.is_finite() {
        return Err(ParamErrors::one(
            "/items",
            "the weights are too great to be added up",
        ));
    }
    Ok(items)
}

/// A line an item, as the judge reads it.
fn numbered(items: &[WeightedItem]) -> String {
    let lines = items.iter().enumerate();
    let lines = lines.map(|(index, item)| format!("{}. {}", index + 1, item.criterion));
    lines.collect::<Vec<_>>().join("\n")
}

/// One text, one verdict.
struct WholeByJudge {
    prompt: Prompt,
    material: Material,
    criterion: String,
    reader: Reader,
}

impl Judged for WholeByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl WholeByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let mut fill = self.material.fill(row, cx)?;
        fill.push(("criteria", Fill::words(&*self.criterion)));
        let ask = Ask {
            name: "rubric",
            prompt: &self.prompt,
            fill: &fill,
            order: Order::Ab,
        };
        let schema = Arc::clone(&self.reader.schema);
        let said = cx
            .typed(
                &ask,
                schema,
                &|value| self.reader.read(value),
                &PartialEq::eq,
            )
            .await?;
        let verdict = Verdict::from_bool(said.passes);
        Ok(Outcome::new(
            scored(said.score, verdict),
            explained(verdict.as_str(), said.reason, Vec::new()),
        ))
    }
}

/// What a judge says of one criterion. Two are equal where verdict and score are: reasons may differ.
#[derive(Debug)]
struct Whole {
    passes: bool,
    /// In [0, 1].
    score: f64,
    reason: String,
}

impl PartialEq for Whole {
    fn eq(&self, other: &Self) -> bool {
        self.passes == other.passes && self.score == other.score
    }
}

/// Reads `{reasoning, score, verdict}`, and `{reason, pass, score}` as promptfoo's graders write it.
struct Reader {
    schema: Arc<Value>,
    labels: Labels,
    scale: Scale,
}

impl Reader {
    fn new() -> Self {
        Self {
            schema: typed(json!({
                "reasoning": {"type": "string"},
                "score": {"type": "number", "minimum": 0, "maximum": 1},
                "verdict": {"type": "string", "enum": ["pass", "fail"]},
            })),
            labels: Labels::new(vec![
                Label::new("pass", &["yes", "true", "met"]),
                Label::new("fail", &["no", "false", "not met"]),
            ]),
            scale: Scale::real(0.0, 1.0),
        }
    }

    fn read(&self, value: &Value) -> Result<Read<Whole>, Misread> {
        let verdict = value.get("verdict").or_else(|| value.get("pass"));
        let verdict = verdict.map(|verdict| read::label(verdict, &self.labels));
        let verdict = verdict.transpose()?;
        let score = value.get("score");
        let score = score.map(|score| read::number(score, &self.scale));
        let score = score.transpose()?;
        let (passes, said) = decided(
            verdict.map(|read| read.value == MET),
            score.map(|read| read.value),
        )?;
        let reason = value.get("reasoning").or_else(|| value.get("reason"));
        let reason = reason.and_then(Value::as_str).unwrap_or_default();
        Ok(Read {
            value: Whole {
                passes,
                score: said,
                reason: reason.trim().to_owned(),
            },
            flags: verdict.map_or(0, |read| read.flags) | score.map_or(0, |read| read.flags),
        })
    }
}

/// Verdict and score, where at least one of them was said. A score alone decides only at the ends of the scale.
fn decided(passes: Option<bool>, score: Option<f64>) -> Result<(bool, f64), Misread> {
    match (passes, score) {
        (Some(passes), Some(score)) => agreeing(passes, score),
        (Some(passes), None) => Ok((passes, f64::from(u8::from(passes)))),
        (None, Some(score)) if score <= 0.0 || score >= 1.0 => Ok((score >= 1.0, score)),
        (None, _) => Err(Misread::new(
            Code::JudgeUnreadable,
            "the reply is no JSON object with `verdict`",
        )),
    }
}

/// A verdict and a score that say the same.
fn agreeing(passes: bool, score: f64) -> Result<(bool, f64), Misread> {
    if passes == (score >= 0.5) {
        return Ok((passes, score));
    }
    let verdict = Verdict::from_bool(passes).as_str();
    Err(Misread::new(
        Code::JudgeContradiction,
        format!(
            "the verdict `{verdict}` and the score {score} contradict each other: the score is 0.5 or more exactly where the verdict is pass"
        ),
    ))
}

/// A verdict an item.
struct ItemsByJudge {
    prompt: Prompt,
    material: Material,
    /// The criteria as the judge reads them.
    list: String,
    items: Vec<WeightedItem>,
    labels: Labels,
}

impl Judged for ItemsByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ItemsByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let mut fill = self.material.fill(row, cx)?;
        fill.push(("criteria", Fill::words(&*self.list)));
        let ask = Ask {
            name: "rubric",
            prompt: &self.prompt,
            fill: &fill,
            order: Order::Ab,
        };
        let verdicts = cx.items(&ask, self.items.len(), &self.labels).await?;
        let all: f64 = self.items.iter().map(|item| item.weight).sum();
        let met = self.items.iter().zip(&verdicts);
        let met = met.filter(|(_, verdict)| verdict.label == MET);
        let score = met.map(|(item, _)| item.weight).sum::<f64>() / all;
        Ok(Outcome::new(
            scored(
                score.clamp(0.0, 1.0),
                whole_or_part(share(&verdicts, MET).1),
            ),
            self.explain(&verdicts),
        ))
    }

    fn explain(&self, verdicts: &[Item]) -> Explanation {
        let pairs = || self.items.iter().zip(verdicts);
        let unmet = pairs().filter(|(_, verdict)| verdict.label != MET);
        let unmet: Vec<&str> = unmet.map(|(item, _)| item.title()).collect();
        let met = self.items.len() - unmet.len();
        let reason = match unmet.as_slice() {
            [] => format!("all {met} criteria are met"),
            unmet => format!(
                "{met} of {} criteria are met; not met: {}",
                self.items.len(),
                quote_all(unmet.iter().copied())
            ),
        };
        let evidence = pairs().enumerate().map(|(index, (item, verdict))| {
            Evidence::new("criterion")
                .set("number", index + 1)
                .set("name", item.title())
                .set("weight", item.weight)
                .set("verdict", self.labels.name(verdict.label))
                .set("reason", verdict.reason.as_str())
        });
        Explanation {
            evidence: evidence.collect(),
            ..Explanation::reason(reason)
        }
    }
}

impl WeightedItem {
    fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.criterion)
    }
}
