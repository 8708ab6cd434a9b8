//! `summary_quality`: see [`SummaryQuality`].

use std::borrow::Cow;

use futures_util::future::join;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::itemised::{evidence, share};
use super::material::{NONE, chunks};
use super::options::rounded;
use super::prompts::prompt;
use super::shown::shown;
use super::statements::Splitter;
use crate::evaluator::{
    Evaluator, Example, Info, Judged, Origin, ParamErrors, Prepare, PromptText, Scorer,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Label, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};

/// Whether a summary says what its source says (alignment) and holds what matters in it (coverage).
///
/// ## When to use it
/// The output is a summary, the contexts or the query hold the text that it summarises. For an answer drawn from
/// passages take `faithfulness`: leaving out what was not asked is no fault there.
///
/// ## How it is scored
/// - **Alignment**: the judge splits the summary into statements, and says of each, numbered, whether the source
///   supports it, contradicts it or says nothing of it: supported ÷ all.
/// - **Coverage**: the judge writes `questions` questions on the source's main points whose answer by the source is
///   yes (or takes yours, `assessment_questions`), and answers each, numbered, from the summary alone: yes ÷ all.
///
/// The score is the lesser of the two, or with `combine: mean` their mean; the evidence has both. Items without a
/// verdict are asked for once more, then the whole is an error. A summary without a statement, or a source that draws
/// no question, leaves a half undecided: inconclusive. An empty summary covers nothing: 0, without a call. It only
/// measures, unless a `threshold` is set.
///
/// ## Limits
/// Four calls an answer (three with `assessment_questions`). A source longer than the judge's context is an error. A
/// check can't put a prompt of its own in the place of the four. The score modes `logprob` and `sample` do not apply.
///
/// ## References
/// DeepEval, SummarizationMetric: min(alignment, coverage). Questions answered from the summary: Wang, Cho, Lewis
/// 2020, "Asking and Answering Questions to Evaluate the Factual Consistency of Summaries". The prompts are Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryQuality {
    /// Where the summarised text stands; left out: in the contexts where the record has any, else in the query.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<Source>,
    /// How many questions the judge writes on the source, 1 to 50.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 50))]
    questions: u8,
    /// Your own questions, in place of the judge's. A good summary answers each of them with yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    assessment_questions: Option<Vec<String>>,
    /// How alignment and coverage become one score.
    #[serde(default)]
    combine: Combine,
}

/// Where the summarised text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Source {
    /// In the contexts, all of them.
    Contexts,
    /// In the query.
    Query,
}

/// How two shares become one score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Combine {
    /// The lesser of the two.
    #[default]
    Min,
    /// Their mean.
    Mean,
}

const fn five() -> u8 {
    5
}

const MOST_QUESTIONS: u8 = 50;

const ALIGNMENT_PROMPT: &str = "\
Decide for each numbered statement what a source says of it.

Source:
{source}

Statements:
{statements}

Take every statement by itself, in its order and under its number: name the place in the source that bears on it, then \
give the verdict. supported - the source says it, or it follows directly. contradicted - the source says otherwise. \
not_found - the source says nothing of it, or only part of it. Go by the source alone, not by what you know.";

const QUESTIONS_PROMPT: &str = "\
Write questions that show whether a summary of the source below holds its main points.

Source:
{source}

Write {count} questions, in the source's language, on the points that matter most, one point each and no point twice. \
Each can be answered with yes or no, and its answer by the source is yes. Each can be understood without the source. \
A source that says nothing gives an empty list.";

const COVERAGE_PROMPT: &str = "\
Answer each numbered question from a summary alone.

Summary:
{summary}

Questions:
{questions}

Take every question by itself, in its order and under its number. yes - the summary says so, or it follows directly. \
no - the summary says otherwise, or does not say. Go by the summary alone, not by what you know.";

const SUMMARY: Place = Place::new("summary");
const SOURCE: Place = Place::new("source");

impl Evaluator for SummaryQuality {
    const INFO: Info = Info {
        id: "summary_quality",
        prompts: &[
            PromptText::new("alignment", ALIGNMENT_PROMPT),
            PromptText::new("the questions", QUESTIONS_PROMPT),
            PromptText::new("coverage", COVERAGE_PROMPT),
            PromptText::new("the statements", super::statements::PROMPT),
        ],
        aliases: &["summarization"],
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Query, Field::Output, Field::Contexts]),
        needs: FieldSet::of(&[Field::Output]),
        natural_verdict: false,
        examples: &[
            Example {
                title: "true, and the main point is in it",
                params: "{questions: 1, threshold: 0.8}",
                record: r#"{"contexts": ["The council voted on Monday to rebuild the bridge."], "output": "The bridge will be rebuilt."}"#,
                replies: r#"[
                    {"statements": ["The bridge will be rebuilt."]},
                    {"verdicts": [{"number": 1, "reasoning": "The council voted so.", "verdict": "supported"}]},
                    {"questions": ["Will the bridge be rebuilt?"]},
                    {"verdicts": [{"number": 1, "reasoning": "It says so.", "verdict": "yes"}]}
                ]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "true, and half of it is missing",
                params: "{assessment_questions: [Will the bridge be rebuilt?, Did the council vote?], threshold: 0.8}",
                record: r#"{"query": "The council voted on Monday to rebuild the bridge.", "output": "The bridge will be rebuilt."}"#,
                replies: r#"[
                    {"statements": ["The bridge will be rebuilt."]},
                    {"verdicts": [{"number": 1, "reasoning": "The council voted so.", "verdict": "supported"}]},
                    {"verdicts": [{"number": 1, "reasoning": "Yes.", "verdict": "yes"}, {"number": 2, "reasoning": "No vote.", "verdict": "no"}]}
                ]"#,
                expect: r#"{"verdict": "fail", "score": 0.5}"#,
            },
            Example {
                title: "without a source there is nothing to compare with",
                params: "threshold: 0.8",
                record: r#"{"output": "The bridge will be rebuilt."}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn needs(&self) -> FieldSet {
        match self.source {
            Some(Source::Contexts) => FieldSet::of(&[Field::Output, Field::Contexts]),
            Some(Source::Query) => FieldSet::of(&[Field::Output, Field::Query]),
            None => Self::INFO.needs,
        }
    }

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if cx.prompt.is_some() {
            return Err(ParamErrors::with_help(
                "",
                "summary_quality asks by four prompts, which can't be replaced",
                "leave out `prompt`, or take `rubric` or `g_eval` with words of your own",
            ));
        }
        if !(1..=MOST_QUESTIONS).contains(&self.questions) {
            return Err(ParamErrors::one(
                "/questions",
                format!("the number of questions is from 1 to {MOST_QUESTIONS}"),
            ));
        }
        if self.assessment_questions.as_ref().is_some_and(|own| {
            own.is_empty() || own.iter().any(|question| question.trim().is_empty())
        }) {
            return Err(ParamErrors::with_help(
                "/assessment_questions",
                "the list of questions is empty, or one of them is blank",
                "write questions whose answer is yes for a good summary, or leave it out",
            ));
        }
        let statements = Place::new("statements");
        let questions = Place::new("questions");
        Ok(Scorer::judged(ByJudge {
            splitter: Splitter::new()?,
            alignment: prompt(cx, ALIGNMENT_PROMPT, &[SOURCE, statements], &[])?,
            questions: prompt(cx, QUESTIONS_PROMPT, &[SOURCE, Place::new("count")], &[])?,
            coverage: prompt(cx, COVERAGE_PROMPT, &[SUMMARY, questions], &[])?,
            supported: Labels::new(vec![
                Label::new("supported", &["yes", "true"]),
                Label::new("contradicted", &["no", "false"]),
                Label::new("not_found", &["not found", "unknown"]),
            ]),
            answers: Labels::new(vec![
                Label::new("yes", &["true"]),
                Label::new("no", &["false"]),
            ]),
            source: self.source,
            count: self.questions.to_string(),
            given: self.assessment_questions,
            combine: self.combine,
        }))
    }
}

struct ByJudge {
    splitter: Splitter,
    alignment: Prompt,
    questions: Prompt,
    coverage: Prompt,
    supported: Labels,
    answers: Labels,
    source: Option<Source>,
    count: String,
    given: Option<Vec<String>>,
    combine: Combine,
}

/// One of the two shares. The first label of its labels is the good one.
struct Share {
    value: f64,
    evidence: Vec<Evidence>,
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let summary = shown(row, Field::Output, cx)?;
        let source = self.source(row, cx)?;
        if source.trim().is_empty() {
            return Ok(Outcome::inconclusive(
                "the source is empty, so there is nothing to summarise",
            ));
        }
        if summary.trim().is_empty() {
            return Ok(Outcome::new(
                Cell::measured(0.0),
                Explanation::reason("the summary is empty, so it covers nothing"),
            ));
        }
        let (alignment, coverage) = join(
            self.alignment(&summary, &source, cx),
            self.coverage(&summary, &source, cx),
        )
        .await;
        let Some(alignment) = alignment? else {
            return Ok(Outcome::inconclusive("the summary makes no statement"));
        };
        let Some(coverage) = coverage? else {
            return Ok(Outcome::inconclusive(
                "the source draws no question that a summary should answer",
            ));
        };
        Ok(self.combined(alignment, coverage))
    }

    /// The text that was summarised.
    fn source<'r>(&self, row: &Row<'r>, cx: &JudgeContext<'_>) -> Result<Cow<'r, str>, Failure> {
        let has_contexts = !row.contexts().is_empty() || row.query().is_none();
        match self.source {
            Some(Source::Query) => shown(row, Field::Query, cx),
            None if !has_contexts => shown(row, Field::Query, cx),
            _ => Ok(match chunks(row)? {
                [only] => only.document.into(),
                many => {
                    let texts: Vec<&str> = many.iter().map(|chunk| chunk.document).collect();
                    texts.join("\n\n").into()
                }
            }),
        }
    }

    /// Which share of the summary's statements the source supports; `None` where it makes none.
    async fn alignment(
        &self,
        summary: &str,
        source: &str,
        cx: &JudgeContext<'_>,
    ) -> Result<Option<Share>, Failure> {
        let no_query = Fill::words(NONE);
        let statements = self.splitter.split(no_query, summary, cx).await?;
        let place = ("source", Fill::data(source));
        let numbered = ("statements", Fill::items(texts(&statements)));
        let fill = [place, numbered];
        self.items(
            ("alignment", &self.alignment),
            &fill,
            &statements,
            &self.supported,
            cx,
        )
        .await
    }

    /// Which share of the questions the summary answers with yes; `None` where there is none.
    async fn coverage(
        &self,
        summary: &str,
        source: &str,
        cx: &JudgeContext<'_>,
    ) -> Result<Option<Share>, Failure> {
        let questions = if let Some(given) = &self.given {
            Cow::Borrowed(given.as_slice())
        } else {
            let fill = [
                ("source", Fill::data(source)),
                ("count", Fill::words(&*self.count)),
            ];
            let ask = ask("questions", &self.questions, &fill);
            Cow::Owned(cx.list(&ask, "questions").await?)
        };
        let place = ("summary", Fill::data(summary));
        let numbered = ("questions", Fill::items(texts(&questions)));
        let fill = [place, numbered];
        self.items(
            ("coverage", &self.coverage),
            &fill,
            &questions,
            &self.answers,
            cx,
        )
        .await
    }

    /// The share of `texts` that get the first of `labels`.
    async fn items(
        &self,
        (name, prompt): (&'static str, &Prompt),
        fill: &[(&str, Fill<'_>)],
        items: &[String],
        labels: &Labels,
        cx: &JudgeContext<'_>,
    ) -> Result<Option<Share>, Failure> {
        if items.is_empty() {
            return Ok(None);
        }
        let verdicts = cx
            .items(&ask(name, prompt, fill), items.len(), labels)
            .await?;
        Ok(Some(Share {
            value: share(&verdicts, 0).1,
            evidence: evidence(name, texts(items), &verdicts, labels),
        }))
    }

    fn combined(&self, alignment: Share, coverage: Share) -> Outcome {
        let score = match self.combine {
            Combine::Min => alignment.value.min(coverage.value),
            Combine::Mean => f64::midpoint(alignment.value, coverage.value),
        };
        let both = Evidence::new("parts")
            .set("alignment", alignment.value)
            .set("coverage", coverage.value);
        let reason = format!(
            "alignment with the source {}, coverage of it {}",
            rounded(alignment.value),
            rounded(coverage.value)
        );
        let parts = std::iter::once(both)
            .chain(alignment.evidence)
            .chain(coverage.evidence);
        Outcome::new(
            Cell::measured(score),
            Explanation {
                evidence: parts.collect(),
                ..Explanation::reason(reason)
            },
        )
    }
}

fn ask<'q>(name: &'static str, prompt: &'q Prompt, fill: &'q [(&'q str, Fill<'q>)]) -> Ask<'q> {
    Ask {
        name,
        prompt,
        fill,
        order: Order::Ab,
    }
}

fn texts(items: &[String]) -> impl Iterator<Item = &str> {
    items.iter().map(String::as_str)
}
