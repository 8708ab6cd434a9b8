//! `context_relevance`: see [`ContextRelevance`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::embeddings::{embedding, why_not};
use super::itemised::{evidence, share};
use super::material::{QUERY, chunks};
use super::prompts::prompt;
use super::shown::shown;
use crate::evaluator::{
    Batched, Evaluator, Example, Got, Info, Judged, Local, Needs, Origin, ParamErrors, Prepare,
    PromptText, Role, Scorer, Scratch, text_of,
};
use crate::judge::{Ask, Failure, Fill, JudgeContext, Label, Labels, Outcome, Place, Prompt};
use crate::model::{BoxFuture, Order};
use crate::outcome::{Cell, Code, Evidence, Explanation, Verdict};
use crate::record::{ContextChunk, Field, FieldSet, Row};
use crate::stats::vectors::cosine_similarity;

/// The share of the contexts' sentences that help to answer the query.
///
/// ## When to use it
/// To see how much of what a retriever brings is of use, without a reference. For the ranking of whole chunks take
/// `context_precision`; for what is missing, `context_recall`.
///
/// ## How it is scored
/// The contexts are cut into sentences (Unicode's rules), which a judge gets numbered and calls relevant or not, each
/// by its number. The score is relevant ÷ all sentences. Sentences without a verdict are asked for once more, then
/// the whole is an error whose evidence has the bounds. No context, or only blank ones, leave nothing to judge:
/// inconclusive. It only measures, unless a `threshold` is set.
///
/// ## Limits
/// Scores are low by nature: a passage of ten sentences with one good one gives 0.1. Long contexts make long replies;
/// raise `max_output_tokens` where they end early. The score modes `logprob` and `sample` do not apply.
///
/// ## References
/// Es et al. 2024, "RAGAS: Automated Evaluation of Retrieval Augmented Generation", context relevance: extracted
/// sentences ÷ all sentences; promptfoo, `context-relevance`. They ask for quotations, Lydite for numbers. Sentences:
/// Unicode Standard Annex 29.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextRelevance {}

const PROMPT: &str = "\
Decide for each numbered sentence whether it helps to answer a question.

Question:
{query}

Sentences, in the order in which they stand in their sources:
{sentences}

Take every sentence by itself, in its order and under its number. relevant - it states something that an answer to \
the question would use, in full or in part; its neighbours may say what its pronouns mean. irrelevant - an answer \
would not use it, though it be about the same subject. Whether a sentence is true does not matter. Keep the reasons \
to a few words.";

const PLACES: [Place; 2] = [QUERY, Place::new("sentences")];

const RELEVANT: usize = 0;

fn labels() -> Labels {
    Labels::new(vec![
        Label::new("relevant", &["yes", "true"]),
        Label::new(
            "irrelevant",
            &["not relevant", "not_relevant", "no", "false"],
        ),
    ])
}

impl Evaluator for ContextRelevance {
    const INFO: Info = Info {
        id: "context_relevance",
        prompts: &[PromptText::new("the verdict on each sentence", PROMPT)],
        aliases: &["contextual_relevancy", "context_relevancy"],
        origin: Origin::Field,
        reads: FieldSet::of(&[Field::Query, Field::Contexts]),
        needs: FieldSet::of(&[Field::Query, Field::Contexts]),
        natural_verdict: false,
        locals: &[Local {
            method: "minilm-cosine",
            version: 1,
            replaces: Role::Judge,
            models: &[Role::Embedder],
            docs: BY_COSINE,
            examples: &[Example {
                title: "a sentence about something else",
                params: "threshold: 0.5",
                record: r#"{"query": "Who wrote the play Faust?", "contexts": ["Faust is a play that Goethe wrote.", "Bananas are yellow."]}"#,
                expect: r#"{"verdict": "pass", "score": 0.5}"#,
                ..Example::PLAIN
            }],
        }],
        examples: &[
            Example {
                title: "one sentence of two helps",
                params: "threshold: 0.5",
                record: r#"{"query": "Who wrote Faust?", "contexts": ["Faust is a play by Goethe. It has two parts."]}"#,
                replies: r#"[{"verdicts": [{"number": 1, "reasoning": "Names the author.", "verdict": "relevant"}, {"number": 2, "reasoning": "Not asked.", "verdict": "irrelevant"}]}]"#,
                expect: r#"{"verdict": "pass", "score": 0.5}"#,
            },
            Example {
                title: "none does",
                params: "threshold: 0.5",
                record: r#"{"query": "Who wrote Faust?", "contexts": ["Bananas are yellow."]}"#,
                replies: r#"[{"verdicts": [{"number": 1, "reasoning": "Fruit.", "verdict": "irrelevant"}]}]"#,
                expect: r#"{"verdict": "fail", "score": 0}"#,
            },
            Example {
                title: "a record without contexts is an error",
                params: "threshold: 0.5",
                record: r#"{"query": "Who wrote Faust?"}"#,
                expect: r#"{"verdict": "inconclusive", "error": "missing_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::JUDGED
    };

    fn prepare(self, cx: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        if cx.local.is_some() {
            return Ok(Scorer::batched(ByCosine));
        }
        Ok(Scorer::judged(ByJudge {
            prompt: prompt(cx, PROMPT, &PLACES, &["query", "sentences"])?,
            labels: labels(),
        }))
    }
}

const BY_COSINE: &str = "\
A sentence counts as relevant where the cosine of its embedding to the query's is .35 or more; the score is their share. \
It only measures.

Nearness is not use: a sentence about the same subject that answers nothing counts, and one that answers in other words, \
or by a pronoun, may not. Sentences of passages that were retrieved for a question against those of other questions: \
AUROC .88 (MTRAG-UN; 99 of 100 foreign ones stay under .28), .76 where all questions are of one narrow subject. English, \
up to 256 word pieces a sentence.";

/// The least cosine of a sentence that is relevant.
const LEAST_COSINE: f64 = 0.35;

/// By the nearness of each sentence to the query.
struct ByCosine;

impl Batched for ByCosine {
    fn needs<'r>(&self, row: &Row<'r>, needs: &mut Needs<'r>) {
        if let Ok((query, sentences)) = asked(row)
            && !sentences.is_empty()
        {
            needs.embed(query);
            for sentence in sentences {
                needs.embed(sentence);
            }
        }
    }

    fn score(&self, row: &Row<'_>, got: &Got<'_>, _: &mut Scratch) -> Cell {
        match cosines(row, got) {
            Ok(cosines) if cosines.is_empty() => Cell::Scored {
                score: None,
                natural: Some(Verdict::Inconclusive),
                flags: 0,
            },
            Ok(cosines) => Cell::measured(relevant(&cosines) as f64 / cosines.len() as f64),
            Err(cell) => cell,
        }
    }

    fn explain(&self, row: &Row<'_>, got: &Got<'_>, _: Cell, _: &mut Scratch) -> Explanation {
        let Ok(cosines) = cosines(row, got) else {
            return why_not(
                got,
                asked(row)
                    .into_iter()
                    .flat_map(|(query, sentences)| std::iter::once(query).chain(sentences)),
            );
        };
        if cosines.is_empty() {
            return Explanation::reason("the contexts hold no sentence");
        }
        let reason = format!(
            "{} of the contexts' {} sentences are near to the query",
            relevant(&cosines),
            cosines.len()
        );
        let evidence = cosines.iter().map(|(sentence, cosine)| {
            let label = if *cosine >= LEAST_COSINE {
                "relevant"
            } else {
                "irrelevant"
            };
            Evidence::new("sentence")
                .set("text", *sentence)
                .set("label", label)
                .set("cosine", *cosine)
                .set("by", got.embedder())
        });
        Explanation {
            evidence: evidence.collect(),
            ..Explanation::reason(reason)
        }
    }
}

/// The query, and the sentences of the contexts.
fn asked<'r>(row: &Row<'r>) -> Result<(&'r str, Vec<&'r str>), Cell> {
    let query = text_of(row, Field::Query)?;
    if row.raw(Field::Contexts).is_none() {
        return Err(Cell::Errored(Code::MissingField(Field::Contexts)));
    }
    Ok((query, sentences(row.contexts())))
}

/// Each sentence with its cosine to the query, in [-1, 1].
fn cosines<'r>(row: &Row<'r>, got: &Got<'_>) -> Result<Vec<(&'r str, f64)>, Cell> {
    let (query, sentences) = asked(row)?;
    if sentences.is_empty() {
        return Ok(Vec::new());
    }
    let query = embedding(got, query)?;
    let cosine = |sentence| {
        cosine_similarity(query, embedding(got, sentence)?)
            .map_err(|error| Cell::Errored(error.into()))
    };
    sentences
        .into_iter()
        .map(|sentence| Ok((sentence, cosine(sentence)?)))
        .collect()
}

fn relevant(cosines: &[(&str, f64)]) -> usize {
    cosines
        .iter()
        .filter(|(_, cosine)| *cosine >= LEAST_COSINE)
        .count()
}

struct ByJudge {
    prompt: Prompt,
    labels: Labels,
}

impl Judged for ByJudge {
    fn score<'a>(&'a self, row: &'a Row<'a>, cx: &'a JudgeContext<'a>) -> BoxFuture<'a, Outcome> {
        Box::pin(async move { self.judge(row, cx).await.into() })
    }
}

impl ByJudge {
    async fn judge(&self, row: &Row<'_>, cx: &JudgeContext<'_>) -> Result<Outcome, Failure> {
        let query = shown(row, Field::Query, cx)?;
        let sentences = sentences(chunks(row)?);
        if sentences.is_empty() {
            return Ok(Outcome::inconclusive("the contexts hold no sentence"));
        }
        let texts = || sentences.iter().copied();
        let ask = Ask {
            name: "context_relevance",
            prompt: &self.prompt,
            fill: &[
                ("query", Fill::Data(query)),
                ("sentences", Fill::items(texts())),
            ],
            order: Order::Ab,
        };
        let items = cx.items(&ask, sentences.len(), &self.labels).await?;
        let (relevant, score) = share(&items, RELEVANT);
        let reason = format!(
            "{relevant} of the contexts' {} sentences help to answer the query",
            sentences.len()
        );
        Ok(Outcome::new(
            Cell::measured(score),
            Explanation {
                evidence: evidence("sentence", texts(), &items, &self.labels),
                ..Explanation::reason(reason)
            },
        ))
    }
}

/// All sentences of the contexts, trimmed; blank ones and ones without a letter or digit are left out.
fn sentences<'r>(chunks: &[ContextChunk<'r>]) -> Vec<&'r str> {
    let all = chunks
        .iter()
        .flat_map(|chunk| chunk.document.unicode_sentences());
    all.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_of_several_contexts() {
        let chunk = |document| ContextChunk {
            document,
            id: None,
            relevance: None,
            score: None,
            grade: None,
        };
        let cases: [(&[&str], &[&str]); 5] = [
            (
                &["One. Two!  Three?", "Four"],
                &["One.", "Two!", "Three?", "Four"],
            ),
            (&["It is 3.5 m. Yes."], &["It is 3.5 m.", "Yes."]),
            (&["一つ。二つ。"], &["一つ。", "二つ。"]),
            (&["", " \n ", "..."], &[]),
            (&[], &[]),
        ];
        for (documents, expected) in cases {
            let chunks: Vec<_> = documents.iter().copied().map(chunk).collect();
            assert_eq!(sentences(&chunks), expected, "{documents:?}");
        }
    }
}
