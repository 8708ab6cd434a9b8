//! `answer_relevance`: see [`AnswerRelevance`].

use std::borrow::Cow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use super::embeddings::{embedding, why_not};
use super::material::OUTPUT;
use super::options::rounded;
use super::prompts::prompt;
use super::shown::shown;
use crate::evaluator::{
    Batched, Evaluator, Example, Got, Info, Judged, Local, Needs, Origin, ParamErrors, Prepare,
    PromptText, Role, Scorer, Scratch, text_of,
};
use crate::judge::read::{self, Misread, Read};
use crate::judge::{
    Ask, Failure, Fill, JudgeContext, Label, Labels, Outcome, Place, Prompt, typed,
};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Field, FieldSet, Row};
use crate::stats::vectors::cosine_similarity;

/// How near the questions that the output answers are to the query, by embeddings.
///
/// ## When to use it
/// To see whether answers address what was asked, without a reference. Whether they are true is not asked: take
/// `faithfulness` or `qa` beside it.
///
/// ## How it is scored
/// From the output alone, a judge writes `questions` questions that it would be the answer to, and says of each
/// whether the output is noncommittal about it (evades it, or says that it does not know). Where more than half are,
/// the score is 0. Else it is the mean of the cosines between the query's embedding and the questions', 0 where that
/// is negative; the evidence has each question and its cosine. An empty output answers nothing: 0, without a call. It
/// only measures, unless a `threshold` is set.
///
/// ## Limits
/// Cosines depend on the embedder: with most, unrelated texts reach 0.2 to 0.7, so find the threshold on your own
/// data. An answer that gives more than was asked draws other questions and scores lower.
///
/// ## References
/// Es et al. 2024, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", answer relevance: AR = 1/n · Σ
/// sim(q, qᵢ). The rule for noncommittal answers: ragas, ResponseRelevancy, which asks for all, not most. The prompt
/// is Lydite's.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerRelevance {
    /// How many questions the judge writes, 1 to 20.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 20))]
    questions: u8,
}

const fn three() -> u8 {
    3
}

const MOST_QUESTIONS: u8 = 20;

const PROMPT: &str = "\
Write questions to which the text below is the answer.

Text:
{output}

Write {count} questions, in the language of the text. Each asks for what the text mainly says, names the people and \
things that it is about, and can be understood by itself; where the text says only one thing, word the same question \
in {count} ways. Do not ask for anything that the text does not say. Say of each whether the text is noncommittal \
about it: true if the text evades it, is vague, refuses or says that it does not know, false if it gives an answer.";

const PLACES: [Place; 2] = [OUTPUT, Place::new("count")];

impl Evaluator for AnswerRelevance {
    const INFO: Info = Info {
        id: "answer_relevance",
        prompts: &[PromptText::new("the questions", PROMPT)],
        aliases: &["answer_relevancy", "response_relevancy"],
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Query, Field::Output]),
        needs: FieldSet::of(&[Field::Query, Field::Output]),
        principal: Some("questions"),
        natural_verdict: false,
        models: &[Role::Judge, Role::Embedder],
        locals: &[Local {
            method: "minilm-cosine",
            version: 1,
            replaces: Role::Judge,
            models: &[Role::Embedder],
            docs: BY_COSINE,
            examples: &[Example {
                title: "an answer to another question",
                params: "threshold: 0.3",
                record: r#"{"query": "How long do refunds take?", "output": "The museum is closed on Mondays."}"#,
                expect: r#"{"verdict": "fail"}"#,
                ..Example::PLAIN
            }],
        }],
        examples: &[
            Example {
                title: "the answer draws the question that was asked",
                params: "{questions: 2, threshold: 0.8}",
                record: r#"{"query": "Who wrote Faust?", "output": "Goethe wrote Faust."}"#,
                replies: r#"[{"questions": [{"question": "Who wrote Faust?", "noncommittal": false}, {"question": "Faust: who wrote?", "noncommittal": false}]}]"#,
                expect: r#"{"verdict": "pass", "score": 1}"#,
            },
            Example {
                title: "an evasive answer",
                params: "{questions: 1, threshold: 0.8}",
                record: r#"{"query": "Who wrote Faust?", "output": "That is hard to say."}"#,
                replies: r#"[{"questions": [{"question": "Who wrote Faust?", "noncommittal": true}]}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "too few questions, twice, are an error",
                params: "{questions: 2, threshold: 0.8}",
                record: r#"{"query": "Who wrote Faust?", "output": "Goethe."}"#,
                replies: r#"[{"questions": [{"question": "Who?", "noncommittal": false}]}, {"questions": []}]"#,
                expect: r#"{"verdict": "inconclusive", "error": "verdict_count_mismatch"}"#,
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if cx.local.is_some() {
            return Ok(Scorer::batched(ByCosine));
        }
        if !(1..=MOST_QUESTIONS).contains(&self.questions) {
            return Err(ParamErrors::one(
                "/questions",
                format!("the number of questions is from 1 to {MOST_QUESTIONS}"),
            ));
        }
        Ok(Scorer::judged(ByJudge {
            prompt: prompt(cx, PROMPT, &PLACES, &["output"])?,
            count: usize::from(self.questions),
            schema: schema(self.questions),
            truth: Labels::new(vec![
                Label::new("true", &["yes", "1"]),
                Label::new("false", &["no", "0"]),
            ]),
        }))
    }
}

const BY_COSINE: &str = "\
The score is the cosine between the query's embedding and the output's, or the nearest of the output's sentences (the \
first 64), 0 where it is negative. No question is written and nobody is asked whether the output is noncommittal: a \
polite refusal that repeats the question scores high (take `attempts_answer` beside it). It only measures.

It tells answers to this question from answers to others: AUROC .98 to 1.00 on four sets whose answers were exchanged; \
95 of 100 real answers reach .34 to .71, and 95 of 100 foreign ones stay under .20 to .33, or under .71 where all \
questions are of one narrow subject. It does not tell good answers from better ones: with people's ratings of \
appropriateness and completeness (MTRAG, 354 answers, most rated highly) it does not correlate at all (Spearman -.06 \
and .07). English.";

/// Most sentences that are compared.
const MOST_SENTENCES: usize = 64;

/// By the nearness of the output to the query.
struct ByCosine;

impl Batched for ByCosine {
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>) {
        if let Ok((query, output)) = texts(row)
            && !output.trim().is_empty()
        {
            needs.embed(query);
            parts(output).for_each(|part| needs.embed(part));
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        match nearest(row, got) {
            Ok((cosine, _)) => Cell::measured(cosine.clamp(0.0, 1.0)),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        let Ok((cosine, part)) = nearest(row, got) else {
            return why_not(
                got,
                texts(row)
                    .into_iter()
                    .flat_map(|(query, output)| std::iter::once(query).chain(parts(output))),
            );
        };
        if part.is_empty() {
            return Explanation::reason("the output is empty, so it answers nothing");
        }
        Explanation::reason(format!(
            "the nearest of the output has a cosine of {} to the query",
            rounded(cosine)
        ))
        .with(
            Evidence::new("nearest")
                .set("text", part)
                .set("cosine", cosine)
                .set("by", got.embedder()),
        )
    }
}

fn texts<'r>(row: &Row<'r>) -> Result<(&'r str, &'r str), Cell> {
    Ok((text_of(row, Field::Query)?, text_of(row, Field::Output)?))
}

/// The output as a whole, and its sentences.
fn parts(output: &str) -> impl Iterator<Item = &str> {
    let sentences = output.unicode_sentences().map(str::trim);
    std::iter::once(output).chain(sentences.take(MOST_SENTENCES))
}

/// The part of the output that is nearest to the query, with its cosine in [-1, 1]; nothing of an empty output.
fn nearest<'r>(row: &Row<'r>, got: &Got<'_>) -> Result<(f64, &'r str), Cell> {
    let (query, output) = texts(row)?;
    if output.trim().is_empty() {
        return Ok((0.0, ""));
    }
    let of_query = embedding(got, query)?;
    let mut best = (-1.0, output);
    for part in parts(output) {
        let cosine = cosine_similarity(of_query, embedding(got, part)?)
            .map_err(|error| Cell::Errored(error.into()))?;
        if cosine > best.0 {
            best = (cosine, part);
        }
    }
    Ok(best)
}

fn schema(count: u8) -> Arc<Value> {
    let question = typed(json!({
        "question": {"type": "string"},
        "noncommittal": {"type": "boolean"},
    }));
    typed(json!({
        "questions": {"type": "array", "minItems": count, "maxItems": count, "items": *question},
    }))
}

struct ByJudge {
    prompt: Prompt,
    count: usize,
    schema: Arc<Value>,
    truth: Labels,
}

/// A question that the output answers.
#[derive(Debug, PartialEq)]
struct Question {
    text: String,
    is_noncommittal: bool,
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let query = shown(row, Field::Query, cx)?;
        let output = shown(row, Field::Output, cx)?;
        if output.trim().is_empty() {
            return Ok(Outcome::new(
                Cell::measured(0.0),
                Explanation::reason("the output is empty, so it answers nothing"),
            ));
        }
        let questions = self.questions(output, cx).await?;
        let evading = questions.iter().filter(|q| q.is_noncommittal).count();
        if 2 * evading > questions.len() {
            return Ok(noncommittal(&questions, evading));
        }
        let texts = questions.iter().map(|question| &*question.text);
        let texts: Vec<&str> = std::iter::once(&*query).chain(texts).collect();
        let vectors = cx.embed(&texts).await?;
        Ok(near(&questions, &cosines(&vectors)?))
    }

    /// The questions that the output answers, as many as were asked for.
    async fn questions(
        &self,
        output: Cow<'_, str>,
        cx: &JudgeContext<'_>,
    ) -> Result<Vec<Question>, Failure> {
        let ask = Ask {
            name: "answer_relevance",
            prompt: &self.prompt,
            fill: &[
                ("output", Fill::Data(output)),
                ("count", Fill::words(self.count.to_string())),
            ],
            order: Order::Ab,
        };
        let schema = Arc::clone(&self.schema);
        let alike = |a: &Vec<Question>, b: &Vec<Question>| {
            a.iter()
                .map(|question| question.is_noncommittal)
                .eq(b.iter().map(|question| question.is_noncommittal))
        };
        cx.typed(&ask, schema, &|value| self.read(value), &alike)
            .await
    }

    fn read(&self, value: &Value) -> Result<Read<Vec<Question>>, Misread> {
        let unreadable = || {
            Misread::new(
                Code::JudgeUnreadable,
                "`questions` must be a list of {question, noncommittal}",
            )
        };
        let list = value.get("questions").unwrap_or(value);
        let list = list.as_array().ok_or_else(unreadable)?;
        let questions = list.iter().map(|entry| {
            let text = entry.get("question").and_then(Value::as_str);
            let text = text.map(str::trim).filter(|text| !text.is_empty());
            Ok(Question {
                text: text.ok_or_else(unreadable)?.to_owned(),
                is_noncommittal: read::label(
                    entry.get("noncommittal").ok_or_else(unreadable)?,
                    &self.truth,
                )?
                .value
                    == 0,
            })
        });
        let questions = questions.collect::<Result<Vec<_>, Misread>>()?;
        if questions.len() != self.count {
            return Err(Misread::new(
                Code::VerdictCountMismatch,
                format!(
                    "{} questions were asked for and {} came",
                    self.count,
                    questions.len()
                ),
            ));
        }
        Ok(Read {
            value: questions,
            flags: 0,
        })
    }
}

/// The mean of the questions' cosines.
fn near(questions: &[Question], cosines: &[f64]) -> Outcome {
    let mean = cosines.iter().sum::<f64>() / cosines.len().max(1) as f64;
    let reason = format!(
        "the {} questions that the output answers have a mean cosine of {} to the query",
        cosines.len(),
        rounded(mean)
    );
    let pairs = questions.iter().zip(cosines).enumerate();
    let evidence =
        pairs.map(|(index, (question, cosine))| question.evidence(index).set("cosine", *cosine));
    Outcome::new(
        Cell::measured(mean.clamp(0.0, 1.0)),
        Explanation {
            evidence: evidence.collect(),
            ..Explanation::reason(reason)
        },
    )
}

fn noncommittal(questions: &[Question], evading: usize) -> Outcome {
    let reason = format!(
        "the output is noncommittal about {evading} of {} questions",
        questions.len()
    );
    let evidence = questions.iter().enumerate();
    let evidence = evidence.map(|(index, question)| question.evidence(index));
    Outcome::new(
        Cell::measured(0.0),
        Explanation {
            evidence: evidence.collect(),
            ..Explanation::reason(reason)
        },
    )
}

impl Question {
    fn evidence(&self, index: usize) -> Evidence {
        Evidence::new("question")
            .set("number", index + 1)
            .set("text", &*self.text)
            .set("noncommittal", self.is_noncommittal)
    }
}

/// The cosine of the first vector to each of the others, in [-1, 1].
fn cosines(vectors: &[Arc<[f32]>]) -> Result<Vec<f64>, Failure> {
    let Some((query, questions)) = vectors.split_first() else {
        return Ok(Vec::new());
    };
    let cosines = questions.iter().map(|question| {
        cosine_similarity(query, question)
            .map_err(|error| Failure::new(error.into(), error.to_string()))
    });
    cosines.collect()
}
