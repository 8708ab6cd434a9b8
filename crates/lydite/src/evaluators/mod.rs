//! The evaluators, one a file, and the one list of them.
//!
//! To add one: copy the nearest file, edit it top to bottom, add its two lines here (`pub mod`, and
//! its entry in [`ALL`]), write cases in `tests/cases/<id>.jsonl`, run `cargo xtask generate`.

pub mod answer_correctness;
pub mod answer_relevance;
pub mod attempts_answer;
pub mod bert_score;
pub mod classify;
pub mod closed_qa;
pub mod contains;
pub mod contains_all;
pub mod contains_any;
pub mod context_contains_phrase;
pub mod context_precision;
pub mod context_qa;
pub mod context_recall;
pub mod context_relevance;
pub mod cot_qa;
pub mod criteria;
pub mod custom_eval;
pub mod custom_evaluator;
pub mod embedding_distance;
pub mod ends_with;
pub mod equals;
pub mod exact_match;
pub mod factuality;
pub mod faithfulness;
pub mod g_eval;
pub mod golden_response;
pub mod json_diff;
pub mod json_edit_distance;
pub mod json_equality;
pub mod json_schema;
pub mod json_schema_validation;
pub mod json_validity;
pub mod labeled_criteria;
pub mod labeled_pairwise_string;
pub mod labeled_score_string;
pub mod pairwise_embedding_distance;
pub mod pairwise_string;
pub mod pairwise_string_distance;
pub mod qa;
pub mod refuse_answer;
pub mod regex;
pub mod regex_match;
pub mod rubric;
pub mod score_string;
pub mod select_best;
pub mod semantic_match;
pub mod semantic_similarity;
pub mod starts_with;
pub mod string_distance;
pub mod summary_quality;
pub mod toxicity;
pub mod trajectory;

#[cfg(test)]
mod asked;
mod attempt;
mod criterion;
mod embeddings;
mod entailed;
mod filled;
mod graded;
mod grounded;
mod itemised;
mod json_value;
mod lynxius;
mod matched;
mod material;
mod options;
mod prompts;
mod seen;
mod shown;
mod statements;
mod upstream;

use crate::evaluator::Entry;

/// All evaluators that Lydite ships. Lists, schemas, docs and tests are derived from it.
pub static ALL: &[fn() -> Entry] = &[
    Entry::of::<answer_correctness::AnswerCorrectness>,
    Entry::of::<answer_relevance::AnswerRelevance>,
    Entry::of::<attempts_answer::AttemptsAnswer>,
    Entry::of::<bert_score::BertScore>,
    Entry::of::<classify::Classify>,
    Entry::of::<closed_qa::ClosedQa>,
    Entry::of::<contains::Contains>,
    Entry::of::<contains_all::ContainsAll>,
    Entry::of::<contains_any::ContainsAny>,
    Entry::of::<context_contains_phrase::ContextContainsPhrase>,
    Entry::of::<context_precision::ContextPrecision>,
    Entry::of::<context_qa::ContextQa>,
    Entry::of::<context_recall::ContextRecall>,
    Entry::of::<context_relevance::ContextRelevance>,
    Entry::of::<cot_qa::CotQa>,
    Entry::of::<criteria::Criteria>,
    Entry::of::<custom_eval::CustomEval>,
    Entry::of::<custom_evaluator::CustomEvaluator>,
    Entry::of::<embedding_distance::EmbeddingDistance>,
    Entry::of::<ends_with::EndsWith>,
    Entry::of::<equals::Equals>,
    Entry::of::<exact_match::ExactMatch>,
    Entry::of::<factuality::Factuality>,
    Entry::of::<faithfulness::Faithfulness>,
    Entry::of::<g_eval::GEval>,
    Entry::of::<golden_response::GoldenResponse>,
    Entry::of::<json_diff::JsonDiff>,
    Entry::of::<json_edit_distance::JsonEditDistance>,
    Entry::of::<json_equality::JsonEquality>,
    Entry::of::<json_schema::JsonSchemaOfReference>,
    Entry::of::<json_schema_validation::JsonSchemaValidation>,
    Entry::of::<json_validity::JsonValidity>,
    Entry::of::<labeled_criteria::LabeledCriteria>,
    Entry::of::<labeled_pairwise_string::LabeledPairwiseString>,
    Entry::of::<labeled_score_string::LabeledScoreString>,
    Entry::of::<pairwise_embedding_distance::PairwiseEmbeddingDistance>,
    Entry::of::<pairwise_string::PairwiseString>,
    Entry::of::<pairwise_string_distance::PairwiseStringDistance>,
    Entry::of::<qa::Qa>,
    Entry::of::<refuse_answer::RefuseAnswer>,
    Entry::of::<regex::Regex>,
    Entry::of::<regex_match::RegexMatch>,
    Entry::of::<rubric::Rubric>,
    Entry::of::<score_string::ScoreString>,
    Entry::of::<select_best::SelectBest>,
    Entry::of::<semantic_match::SemanticMatch>,
    Entry::of::<semantic_similarity::SemanticSimilarity>,
    Entry::of::<starts_with::StartsWith>,
    Entry::of::<string_distance::StringDistance>,
    Entry::of::<summary_quality::SummaryQuality>,
    Entry::of::<toxicity::Toxicity>,
    Entry::of::<trajectory::Trajectory>,
];
