//! `classify`: see [`Classify`].

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graded::{Grade, graded};
use super::material::{Material, READS, Shown};
use super::options::quote_all;
use crate::evaluator::{
    Batched, Evaluator, Example, Got, Info, Judged, Local, Needs, Origin, ParamErrors, Prepare,
    PromptText, Role, Scorer, Scratch, text_of,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Label, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, ModelErrorKind, Order};
use crate::outcome::{Cell, Code, Evidence, Explanation, Score, Verdict};
use crate::record::{Field, FieldSet, Row};

/// A judge gives the output one of your own labels, and the label decides.
///
/// ## When to use it
/// Kinds of answers that you name yourself: tone, intent, topic, "answers / asks back / declines".
///
/// ## How it is scored
/// The result carries the label. Its score is the one that `labels` gives it; where no label has a score, it is 1 for
/// the labels under `pass` and 0 for the others. Without `pass`, a label whose score is 0.5 or more passes. With
/// `mode: logprob` or `mode: {sample: k}` the score is the mean of the labels' scores by their shares; the verdict is
/// that of the likeliest label.
///
/// ## Limits
/// Labels are told apart in any case of letters. A label of the judge's own making is asked for once more, then it is
/// an error, not a fail.
///
/// ## References
/// OpenAI evals, model-graded `choice_strings` and `choice_scores`; autoevals, LLMClassifier.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Classify {
    /// What the labels are about; left out: which of them describes the output best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    question: Option<String>,
    /// The labels: a list of names, or a mapping of each name to its score, or to its `score` and `description`.
    labels: LabelSet,
    /// The labels that pass, in place of a score of 0.5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pass: Option<Vec<String>>,
    /// The fields that the judge is shown, all of them needed; left out: the output, and the query where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    show: Option<Vec<Shown>>,
}

/// Labels as a suite writes them.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum LabelSet {
    Names(Vec<String>),
    Described(IndexMap<String, Described>),
}

/// A label's score alone, or all that is known of it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Described {
    Score(f64),
    Spec(LabelSpec),
}

/// What is known of one label.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LabelSpec {
    /// The score of an output that has it, in [0, 1].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1.0))]
    score: Option<f64>,
    /// When it holds, for the judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

const PROMPT: &str = "\
Classify the output below with exactly one of the given labels.

Question: {question}

Labels:
{labels}

First reason about which labels could hold and what speaks for and against them. Then give the one that fits best, \
spelt as above. Judge by the question and the labels' descriptions alone; an empty output is classified like any other.";

const QUESTION: &str = "Which label describes the output best?";

const PLACES: [Place; 2] = [Place::new("question"), Place::new("labels")];

/// The score from which a label passes where `pass` names none.
const PASSES_FROM: f64 = 0.5;

impl Evaluator for Classify {
    const INFO: Info = Info {
        id: "classify",
        prompts: &[PromptText::new("the label", PROMPT)],
        origin: Origin::Field,
        reads: READS,
        needs: FieldSet::of(&[Field::Output]),
        principal: Some("question"),
        locals: &[Local {
            method: "classifier",
            version: 1,
            replaces: Role::Judge,
            models: &[Role::Classifier],
            docs: BY_CLASSIFIER,
            examples: &[],
        }],
        examples: &[
            Example {
                title: "a label among those that pass",
                params: "{question: How does the reply sound?, labels: [friendly, neutral, rude], pass: [friendly, neutral]}",
                record: r#"{"query": "Where is my parcel?", "output": "Good news: it arrives tomorrow!"}"#,
                replies: r#"[{"reasoning": "Warm and helpful.", "verdict": "friendly"}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "scores of one's own",
                params: "{labels: {answers: {score: 1}, asks back: {score: 0.4, description: asks the user a question first}, declines: {score: 0}}}",
                record: r#"{"query": "Where is my parcel?", "output": "What is your order number?"}"#,
                replies: r#"[{"reasoning": "It asks for the number.", "verdict": "asks back"}]"#,
                expect: r#"{"verdict": "fail", "score": 0.4}"#,
            },
            Example {
                title: "a label that nobody named is an error",
                params: "{labels: [friendly, rude], pass: [friendly]}",
                record: r#"{"output": "Hello."}"#,
                replies: r#"[{"reasoning": "Short.", "verdict": "curt"}, {"reasoning": "Short.", "verdict": "curt"}]"#,
                expect: r#"{"verdict": "inconclusive", "error": "judge_unreadable"}"#,
            },
        ],
        ..Info::JUDGED
    };

    fn needs(&self) -> FieldSet {
        Material::needs(self.show.as_deref())
    }

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if cx.local.is_some() {
            let specs = self.labels.specs()?;
            return Ok(Scorer::batched(ByClassifier {
                grades: grades(&specs, self.pass.as_deref())?,
                labels: specs
                    .keys()
                    .map(|name| name.trim().to_lowercase())
                    .collect(),
            }));
        }
        let material = Material::new(self.show.as_deref())?;
        let prompt = material.prompt(cx, PROMPT, &PLACES, &["labels"])?;
        let specs = self.labels.specs()?;
        let names = specs.keys().map(|name| Label::new(name, &[]));
        Ok(Scorer::judged(ByJudge {
            prompt,
            material,
            question: self.question.unwrap_or_else(|| QUESTION.to_owned()),
            list: listed(&specs),
            grades: grades(&specs, self.pass.as_deref())?,
            labels: Labels::new(names.collect()),
        }))
    }
}

impl From<Described> for LabelSpec {
    fn from(described: Described) -> Self {
        match described {
            Described::Score(score) => Self {
                score: Some(score),
                description: None,
            },
            Described::Spec(spec) => spec,
        }
    }
}

impl LabelSet {
    /// The labels in their order, at least two and told apart in any case of letters.
    fn specs(self) -> Result<IndexMap<String, LabelSpec>, ParamErrors> {
        let given: Vec<(String, LabelSpec)> = match self {
            Self::Names(names) => names
                .into_iter()
                .map(|name| (name, LabelSpec::default()))
                .collect(),
            Self::Described(specs) => specs
                .into_iter()
                .map(|(name, described)| (name, described.into()))
                .collect(),
        };
        let mut folded = std::collections::HashSet::new();
        for (name, _) in &given {
            if name.trim().is_empty() || !folded.insert(name.trim().to_lowercase()) {
                return Err(ParamErrors::with_help(
                    "/labels",
                    format!(
                        "the label {name:?} is blank, or stands twice (letters' case does not count)"
                    ),
                    "give every label a name of its own",
                ));
            }
        }
        if given.len() < 2 {
            return Err(ParamErrors::with_help(
                "/labels",
                "there is no choice among fewer than two labels",
                "name every label that an output may have",
            ));
        }
        Ok(given.into_iter().collect())
    }
}

/// A score for each label: its own, or whether it passes.
fn scores(
    specs: &IndexMap<String, LabelSpec>,
    pass: Option<&[String]>,
) -> Result<Vec<f64>, ParamErrors> {
    let known = || quote_all(specs.keys().map(String::as_str));
    for (index, name) in pass.into_iter().flatten().enumerate() {
        if !specs.contains_key(name) {
            return Err(ParamErrors::with_help(
                format!("/pass/{index}"),
                format!("label {name:?} is not among the labels: {}", known()),
                "spell it as it stands under `labels`",
            ));
        }
    }
    let own = specs.values().filter_map(|spec| spec.score);
    let own: Vec<f64> = own.collect();
    if own.iter().any(|score| !(0.0..=1.0).contains(score)) {
        return Err(ParamErrors::one(
            "/labels",
            "a label's score is outside [0, 1]",
        ));
    }
    match (own.len(), pass) {
        (0, Some(pass)) => Ok(specs
            .keys()
            .map(|name| f64::from(u8::from(pass.contains(name))))
            .collect()),
        (0, None) => Err(ParamErrors::with_help(
            "/labels",
            "nothing says which labels are good",
            "name those that pass under `pass`, or give every label a `score`",
        )),
        (count, _) if count == specs.len() => Ok(own),
        _ => Err(ParamErrors::with_help(
            "/labels",
            "some labels have a score and others have none",
            "give every label a `score`, or none and name those that pass under `pass`",
        )),
    }
}

/// Verdict and score of each label.
fn grades(
    specs: &IndexMap<String, LabelSpec>,
    pass: Option<&[String]>,
) -> Result<Vec<Grade>, ParamErrors> {
    let scores = scores(specs, pass)?;
    let grades = specs.keys().zip(scores).map(|(name, score)| {
        let passes = pass.map_or(score >= PASSES_FROM, |pass| pass.contains(name));
        (Verdict::from_bool(passes), Some(score))
    });
    Ok(grades.collect())
}

/// A line a label, as the judge reads it.
fn listed(specs: &IndexMap<String, LabelSpec>) -> String {
    let lines = specs.iter().map(|(name, spec)| match &spec.description {
        Some(description) => format!("{name} - {description}"),
        None => name.clone(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

const BY_CLASSIFIER: &str = "\
With `models: {classifier: {path: …}}` and no judge, your own classifier gives the output its likeliest label \
([classifiers](../classifiers.md)); `question` and `show` play no part. The check's labels are those of the model, in any \
case of letters: a model whose likeliest label is not among them is an error. The score is the label's own, as with a \
judge; the evidence has every label's probability.";

/// By the likeliest label of a user's classifier.
struct ByClassifier {
    /// In small letters.
    labels: Vec<String>,
    /// One a label.
    grades: Vec<Grade>,
}

impl ByClassifier {
    /// The place of the likeliest label among the check's, or why there is none.
    fn label<'g>(
        &self,
        row: &Row<'_>,
        got: &Got<'g>,
    ) -> Result<(usize, &'g [f32]), (Cell, String)> {
        let output = text_of(row, Field::Output).map_err(|cell| (cell, String::new()))?;
        let said = match got.classes(output) {
            Some(Ok(said)) => said,
            Some(Err(error)) => {
                return Err((
                    Cell::Errored(Code::Model(error.kind)),
                    error.message.clone(),
                ));
            }
            None => return Err((Cell::Errored(Code::NothingToJudge), String::new())),
        };
        let likeliest = said
            .iter()
            .zip(got.labels())
            .max_by(|a, b| a.0.total_cmp(b.0));
        let name = likeliest.map_or("", |(_, label)| label.as_str());
        let place = self
            .labels
            .iter()
            .position(|label| *label == name.trim().to_lowercase());
        let place = place.ok_or_else(|| {
            let message = format!(
                "{} says {name:?}, which is not among the check's labels; its labels are {}",
                got.classifier(),
                got.labels().join(", ")
            );
            (Cell::Errored(Code::Model(ModelErrorKind::Config)), message)
        })?;
        Ok((place, said))
    }
}

impl Batched for ByClassifier {
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>) {
        if let Ok(output) = text_of(row, Field::Output) {
            needs.classify(output);
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        match self.label(row, got) {
            Ok((place, _)) => {
                let (natural, score) = self
                    .grades
                    .get(place)
                    .copied()
                    .unwrap_or((Verdict::Inconclusive, None));
                Cell::Scored {
                    score: score.and_then(Score::new),
                    natural: Some(natural),
                    flags: 0,
                }
            }
            Err((cell, _)) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        let (place, said) = match self.label(row, got) {
            Ok(said) => said,
            Err((_, message)) if message.is_empty() => return Explanation::default(),
            Err((_, message)) => return Explanation::reason(message),
        };
        let label = self.labels.get(place).cloned().unwrap_or_default();
        let evidence = got.labels().iter().zip(said).map(|(label, probability)| {
            Evidence::new("category")
                .set("name", label.as_str())
                .set("score", f64::from(*probability))
                .set("by", got.classifier())
        });
        Explanation {
            evidence: evidence.collect(),
            reason: Some(format!("the likeliest label is {label:?}").into()),
            label: Some(label.into()),
            raw: None,
        }
    }
}

struct ByJudge {
    prompt: Prompt,
    material: Material,
    question: String,
    list: String,
    labels: Labels,
    /// One a label.
    grades: Vec<Grade>,
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let mut fill = self.material.fill(row, cx)?;
        fill.push(("question", Fill::words(&*self.question)));
        fill.push(("labels", Fill::words(&*self.list)));
        let ask = Ask {
            name: "classify",
            prompt: &self.prompt,
            fill: &fill,
            order: Order::Ab,
        };
        let said = cx.verdict(&ask, &self.labels).await?;
        Ok(graded(said, &self.labels, &self.grades))
    }
}
