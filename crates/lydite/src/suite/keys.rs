//! The keys of a suite: one list each, from which errors and the JSON Schema are made.

/// A key and what it is for.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    /// Its values as JSON Schema; `$defs` stand in the suite's schema.
    pub(super) schema: &'static str,
    /// Words of other tools (and misreadings) that mean it.
    pub(super) also: &'static [&'static str],
}

const TEXT: &str = r#"{"type": "string", "minLength": 1}"#;
const COUNT: &str = r#"{"type": "integer", "minimum": 1}"#;
const ANY: &str = "true";

pub(super) const SUITE: &[Key] = &[
    Key {
        name: "version",
        doc: "The version of the suite's format: 1.",
        schema: r#"{"const": 1}"#,
        also: &["schema_version"],
    },
    Key {
        name: "name",
        doc: "The suite's name.",
        schema: TEXT,
        also: &["description", "title", "id"],
    },
    Key {
        name: "dataset",
        doc: "The records: a path, or a mapping with the path and how to read it. Paths start at the suite's folder.",
        schema: r##"{"$ref": "#/$defs/dataset"}"##,
        also: &[
            "data",
            "datasets",
            "records",
            "dataset_path",
            "test_cases",
            "testCases",
        ],
    },
    Key {
        name: "target",
        doc: "What makes the outputs first, where records have none: a model, an endpoint or a program.",
        schema: r##"{"$ref": "#/$defs/target"}"##,
        also: &["task", "application", "app", "system_under_test", "sut"],
    },
    Key {
        name: "checks",
        doc: "What is judged: evaluators with their parameters.",
        schema: r##"{"type": "array", "items": {"$ref": "#/$defs/check"}}"##,
        also: &[
            "check",
            "tests",
            "test",
            "assert",
            "asserts",
            "assertions",
            "evals",
            "graders",
            "scorers",
            "metric",
            "testing_criteria",
            "evaluator",
        ],
    },
    Key {
        name: "evaluators",
        doc: "Another name of `checks`, as LangChain and Context.ai have it.",
        schema: r##"{"type": "array", "items": {"$ref": "#/$defs/check"}}"##,
        also: &[],
    },
    Key {
        name: "gates",
        doc: "What the run must reach, such as `golden_response.pass_rate >= 90%`.",
        schema: r##"{"type": "array", "items": {"$ref": "#/$defs/gate"}}"##,
        also: &["gate", "thresholds", "threshold", "goals", "targets"],
    },
    Key {
        name: "inputs",
        doc: "Where every check finds its fields, unless it says so itself: a path, or a template such as `{query.text} ({query.lang})`.",
        schema: r##"{"$ref": "#/$defs/inputs"}"##,
        also: &["fields", "mapping", "column_mapping"],
    },
    Key {
        name: "formatEvaluatorInputs",
        doc: "The same as `inputs`, in LangChain's words.",
        schema: r##"{"$ref": "#/$defs/inputs"}"##,
        also: &["format_evaluator_inputs"],
    },
    Key {
        name: "input_key",
        doc: "The key inside `query` that holds the input (LangChain).",
        schema: TEXT,
        also: &["inputKey"],
    },
    Key {
        name: "prediction_key",
        doc: "The key inside `output` that holds the answer (LangChain).",
        schema: TEXT,
        also: &["predictionKey"],
    },
    Key {
        name: "reference_key",
        doc: "The key inside `reference` that holds the expectation (LangChain).",
        schema: TEXT,
        also: &["referenceKey"],
    },
    Key {
        name: "models",
        doc: "Models by role (judge, embedder, moderator), and by any other name for checks to name.",
        schema: r##"{"$ref": "#/$defs/models"}"##,
        also: &["model", "providers", "judges", "judge"],
    },
    Key {
        name: "eval_llm",
        doc: "The same as `models: {judge: …}` (LangChain).",
        schema: r##"{"$ref": "#/$defs/judge"}"##,
        also: &["evalLlm", "llm"],
    },
    Key {
        name: "custom_evaluators",
        doc: "Evaluators of one's own, by instructions to a judge; checks name them by the snake_case form of their name (Context.ai).",
        schema: r##"{"type": "array", "items": {"$ref": "#/$defs/custom_evaluator"}}"##,
        also: &["customEvaluators"],
    },
];

/// Keys of the format that this version can't serve: the key, and why.
pub(super) const NOT_YET: &[(&str, &str, &str)] = &[(
    "metrics",
    "`metrics` over the whole dataset are not in this version",
    "for evaluators that score each record, the key is `checks`",
)];

pub(super) const DATASET: &[Key] = &[
    Key {
        name: "path",
        doc: "The file, or a list of files. `-` is the standard input.",
        schema: r#"{"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}]}"#,
        also: &["file", "files", "paths", "source", "url", "data"],
    },
    Key {
        name: "format",
        doc: "The files' format, where their ending does not tell.",
        schema: ANY,
        also: &["type"],
    },
    Key {
        name: "fields",
        doc: "Which of the records' keys are which fields: a dotted path or a JSON Pointer a field.",
        schema: r##"{"$ref": "#/$defs/inputs"}"##,
        also: &["inputs", "mapping", "columns", "column_mapping"],
    },
    Key {
        name: "where",
        doc: "Only records for which this expression is true.",
        schema: TEXT,
        also: &["when", "filter", "if"],
    },
    Key {
        name: "limit",
        doc: "Only the first records, after `where` and `sample`.",
        schema: COUNT,
        also: &["max", "head", "n"],
    },
    Key {
        name: "sample",
        doc: "Only so many records, drawn by `seed`.",
        schema: COUNT,
        also: &["sample_size"],
    },
    Key {
        name: "seed",
        doc: "Which sample is drawn; 0 where left out.",
        schema: r#"{"type": "integer", "minimum": 0}"#,
        also: &["random_seed"],
    },
];

pub(super) const CHECK: &[Key] = &[
    Key {
        name: "evaluator",
        doc: "The evaluator's id.",
        schema: r##"{"$ref": "#/$defs/evaluator_id"}"##,
        also: &[
            "metric",
            "type",
            "check",
            "kind",
            "id",
            "assert",
            "scorer",
            "grader",
            "evaluator_name",
            "evaluatorName",
        ],
    },
    Key {
        name: "name",
        doc: "The check's name in results and gates; the evaluator's id where left out.",
        schema: TEXT,
        also: &["label", "key", "title"],
    },
    Key {
        name: "params",
        doc: "The evaluator's parameters.",
        schema: ANY,
        also: &[
            "parameters",
            "param",
            "args",
            "arguments",
            "config",
            "kwargs",
            "with",
        ],
    },
    Key {
        name: "options",
        doc: "The same as `params` (Context.ai).",
        schema: ANY,
        also: &[],
    },
    Key {
        name: "threshold",
        doc: "The score from which the check passes; up to which, where lower is better.",
        schema: r#"{"type": "number"}"#,
        also: &["min_score", "minimum", "pass_threshold", "passing_score"],
    },
    Key {
        name: "inputs",
        doc: "Where this check finds its fields: a dotted path, a JSON Pointer, or a template with such paths in braces.",
        schema: r##"{"$ref": "#/$defs/inputs"}"##,
        also: &["fields", "mapping", "transform"],
    },
    Key {
        name: "when",
        doc: "Only records for which this expression is true; the others count as skipped.",
        schema: TEXT,
        also: &["where", "if", "filter", "condition"],
    },
    Key {
        name: "repeat",
        doc: "How often a judge judges one answer. What asks no judge runs once.",
        schema: r#"{"type": "integer", "minimum": 1, "maximum": 1000}"#,
        also: &["repeats", "runs", "iterations"],
    },
    Key {
        name: "on_missing",
        doc: "What becomes of a record that lacks a field the check needs.",
        schema: r#"{"enum": ["error", "fail", "skip"]}"#,
        also: &["missing", "if_missing"],
    },
    Key {
        name: "not",
        doc: "Turns pass and fail around.",
        schema: r#"{"type": "boolean"}"#,
        also: &["negate", "inverse", "invert"],
    },
    Key {
        name: "judge",
        doc: "The model that judges, in place of the suite's: a name under `models:`, `provider/model` or a mapping; several are a jury.",
        schema: r##"{"$ref": "#/$defs/judge"}"##,
        also: &["model", "provider", "judges"],
    },
    Key {
        name: "aggregate",
        doc: "How the judges of a jury become one: the verdict of most, or the mean score.",
        schema: r#"{"enum": ["majority", "mean"]}"#,
        also: &["aggregation"],
    },
    Key {
        name: "embedder",
        doc: "The embedding model, in place of the suite's.",
        schema: r##"{"$ref": "#/$defs/embedder"}"##,
        also: &["embedding_model"],
    },
    Key {
        name: "moderator",
        doc: "The moderation model, in place of the suite's.",
        schema: r##"{"$ref": "#/$defs/moderator"}"##,
        also: &[],
    },
    Key {
        name: "mode",
        doc: "How a score is made of a judge's answers: its verdict, the expected value by log-probabilities, or the mean of several samples.",
        schema: r#"{"anyOf": [{"enum": ["verdict", "logprob"]}, {"type": "object", "properties": {"sample": {"type": "integer", "minimum": 1, "maximum": 1000}}, "required": ["sample"], "additionalProperties": false}]}"#,
        also: &["score_mode"],
    },
    Key {
        name: "prompt",
        doc: "The judge's prompt in place of the evaluator's, as text or as a file beside the suite. Its places are named as `lydite evaluators show` says.",
        schema: r##"{"$ref": "#/$defs/prompt"}"##,
        also: &["prompt_template"],
    },
    Key {
        name: "compat",
        doc: "Reads a judge's replies as LangChain does, for its evaluator types alone.",
        schema: r#"{"enum": ["langchain-js", "langchain-py"]}"#,
        also: &[],
    },
];

/// An entry of `custom_evaluators`.
pub(super) const CUSTOM: &[Key] = &[
    Key {
        name: "name",
        doc: "Its name; checks name it in snake_case.",
        schema: TEXT,
        also: &["id", "title", "evaluator_name"],
    },
    Key {
        name: "instructions",
        doc: "What the judge is told.",
        schema: TEXT,
        also: &["prompt", "llm_instructions", "description", "criteria"],
    },
    Key {
        name: "model",
        doc: "Its judge, in place of the suite's.",
        schema: r##"{"$ref": "#/$defs/judge"}"##,
        also: &["evaluation_model", "llm"],
    },
    Key {
        name: "judge",
        doc: "The same as `model`.",
        schema: r##"{"$ref": "#/$defs/judge"}"##,
        also: &[],
    },
    Key {
        name: "context",
        doc: "What the judge sees: the answer, or the conversation before it too.",
        schema: r#"{"enum": ["model_response_only", "full_context"]}"#,
        also: &["include_context", "includeContext"],
    },
];

/// LangChain's `chainOptions`.
pub(super) const CHAIN: &[Key] = &[
    Key {
        name: "prompt",
        doc: "The judge's prompt in place of the evaluator's.",
        schema: r##"{"$ref": "#/$defs/prompt"}"##,
        also: &[],
    },
    Key {
        name: "llmKwargs",
        doc: "Settings over those of the judge: temperature, seed, max_tokens, and any other parameter of its provider.",
        schema: r#"{"type": "object"}"#,
        also: &["llm_kwargs"],
    },
    Key {
        name: "outputKey",
        doc: "A label of LangChain's traces; changes nothing.",
        schema: ANY,
        also: &["output_key"],
    },
    Key {
        name: "tags",
        doc: "Labels of LangChain's traces; change nothing.",
        schema: ANY,
        also: &[],
    },
    Key {
        name: "metadata",
        doc: "Labels of LangChain's traces; change nothing.",
        schema: ANY,
        also: &[],
    },
    Key {
        name: "outputParser",
        doc: "Code of LangChain; has no effect.",
        schema: ANY,
        also: &["output_parser"],
    },
    Key {
        name: "callbacks",
        doc: "Code of LangChain; has no effect.",
        schema: ANY,
        also: &[],
    },
    Key {
        name: "memory",
        doc: "Code of LangChain; has no effect.",
        schema: ANY,
        also: &[],
    },
    Key {
        name: "verbose",
        doc: "Code of LangChain; has no effect.",
        schema: ANY,
        also: &[],
    },
];

/// What a LangChain configuration has besides [`CHECK`] (`name` apart, all of the seed's alias).
/// Options of the evaluator type stand beside these.
pub(super) const LANGCHAIN: &[Key] = &[
    Key {
        name: "evaluatorType",
        doc: "The evaluator's id (LangChain).",
        schema: r##"{"$ref": "#/$defs/evaluator_id"}"##,
        also: &["evaluator_type"],
    },
    Key {
        name: "feedbackKey",
        doc: "The check's name (LangChain).",
        schema: TEXT,
        also: &["feedback_key"],
    },
    Key {
        name: "formatEvaluatorInputs",
        doc: "Where the check finds its fields, as paths or templates over `rawInput`, `rawPrediction`, `rawReferenceOutput` and `run`.",
        schema: r##"{"$ref": "#/$defs/inputs"}"##,
        also: &["format_evaluator_inputs"],
    },
    Key {
        name: "inputKey",
        doc: "The key inside `query` that holds the input.",
        schema: TEXT,
        also: &["input_key"],
    },
    Key {
        name: "predictionKey",
        doc: "The key inside `output` that holds the answer.",
        schema: TEXT,
        also: &["prediction_key"],
    },
    Key {
        name: "referenceKey",
        doc: "The key inside `reference` that holds the expectation.",
        schema: TEXT,
        also: &["reference_key"],
    },
    Key {
        name: "llm",
        doc: "The same as `judge`.",
        schema: r##"{"$ref": "#/$defs/judge"}"##,
        also: &["eval_llm", "evalLlm"],
    },
    Key {
        name: "chainOptions",
        doc: "The judge's prompt and settings.",
        schema: r##"{"$ref": "#/$defs/chain_options"}"##,
        also: &["chain_options"],
    },
    Key {
        name: "criteria",
        doc: "What a judge judges by: a name, `{name: question}`, or a list of names.",
        schema: ANY,
        also: &[],
    },
    Key {
        name: "agentTools",
        doc: "An agent's tools, for `trajectory`.",
        schema: ANY,
        also: &["agent_tools"],
    },
    Key {
        name: "distanceMetric",
        doc: "The distance of `embedding_distance` and `string_distance`.",
        schema: ANY,
        also: &["distance_metric"],
    },
    Key {
        name: "embedding",
        doc: "The same as `embedder`.",
        schema: r##"{"$ref": "#/$defs/embedder"}"##,
        also: &["embeddings"],
    },
];

pub(super) fn names(keys: &'static [Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// The key that another tool's word stands for.
pub(super) fn meant(keys: &'static [Key], word: &str) -> Option<&'static str> {
    keys.iter()
        .find(|key| key.also.contains(&word))
        .map(|key| key.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_sound() {
        for keys in [SUITE, DATASET, CHECK, LANGCHAIN, CUSTOM, CHAIN] {
            let mut words: Vec<&str> = Vec::new();
            for key in keys {
                assert!(key.doc.ends_with('.'), "{}", key.name);
                serde_json::from_str::<serde_json::Value>(key.schema).expect(key.name);
                words.push(key.name);
                words.extend(key.also);
            }
            let count = words.len();
            words.sort_unstable();
            words.dedup();
            assert_eq!(words.len(), count, "a word stands for two keys: {words:?}");
        }
    }
}
