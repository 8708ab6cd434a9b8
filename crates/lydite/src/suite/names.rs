//! Names of evaluators: those of other tools, and what was probably meant.

use serde_json::Value;

use super::scope::Scope;
use crate::evaluator::{Entry, Registry};
use crate::node::did_you_mean;

/// Other tools' names in snake_case, ours (the first that is registered), and what to add to get the same.
const OTHER_TOOLS: &[(&[&str], &[&str], Addition)] = &[
    (
        &["icontains", "contains_ignore_case"],
        &["contains"],
        Addition::IgnoreCase,
    ),
    (&["icontains_any"], &["contains_any"], Addition::IgnoreCase),
    (&["icontains_all"], &["contains_all"], Addition::IgnoreCase),
    (
        &["iequals", "equals_ignore_case"],
        &["equals", "exact_match"],
        Addition::IgnoreCase,
    ),
    (
        &["includes", "include", "substring", "contain"],
        &["contains"],
        Addition::Nothing,
    ),
    (
        &["contains_phrase", "context_contains", "phrase"],
        &["context_contains_phrase"],
        Addition::Nothing,
    ),
    (
        &["golden", "golden_answer", "golden_match"],
        &["golden_response"],
        Addition::Nothing,
    ),
    (
        &["equal", "eq", "is_equal", "string_equals"],
        &["equals", "exact_match"],
        Addition::Nothing,
    ),
    (
        &["exact", "match", "string_match", "em"],
        &["exact_match", "equals"],
        Addition::Nothing,
    ),
    (
        &["regexp", "matches", "pattern", "re"],
        &["regex", "regex_match"],
        Addition::Nothing,
    ),
    (&["grounded"], &["faithfulness"], Addition::Nothing),
    (&["factual_correctness"], &["factuality"], Addition::Nothing),
    (&["profanity", "harmful"], &["toxicity"], Addition::Nothing),
    (
        &["pairwise", "pairwise_comparison", "battle"],
        &["pairwise_string"],
        Addition::Nothing,
    ),
    (
        &["semantic_answer_similarity", "answer_similarity"],
        &["semantic_similarity"],
        Addition::Nothing,
    ),
    (
        &["classifier", "label_model"],
        &["classify"],
        Addition::Nothing,
    ),
    (
        &["is_refusal", "refusal"],
        &["refuse_answer"],
        Addition::Nothing,
    ),
    (
        &["score_model", "llm_judge", "llm_as_judge", "llm_as_a_judge"],
        &["rubric"],
        Addition::Nothing,
    ),
    (
        &[
            "is_json",
            "json",
            "valid_json",
            "is_valid_json",
            "json_valid",
        ],
        &["json_validity"],
        Addition::Nothing,
    ),
    (
        &["has_json", "includes_json"],
        &["contains_json"],
        Addition::Nothing,
    ),
    (
        &[
            "json_schema",
            "is_json_schema",
            "schema",
            "json_schema_match",
        ],
        &["json_schema_validation"],
        Addition::Nothing,
    ),
    (
        &[
            "json_equal",
            "json_equals",
            "json_match",
            "json_exact_match",
        ],
        &["json_equality"],
        Addition::Nothing,
    ),
    (
        &[
            "levenshtein",
            "levenshtein_distance",
            "edit_distance",
            "levenshtein_ratio",
        ],
        &["string_distance"],
        Addition::Distance("levenshtein"),
    ),
    (
        &["damerau_levenshtein"],
        &["string_distance"],
        Addition::Distance("damerau_levenshtein"),
    ),
    (
        &["jaro_winkler"],
        &["string_distance"],
        Addition::Distance("jaro_winkler"),
    ),
    (&["jaro"], &["string_distance"], Addition::Distance("jaro")),
    (
        &["hamming"],
        &["string_distance"],
        Addition::Distance("hamming"),
    ),
    (
        &["indel"],
        &["string_distance"],
        Addition::Distance("indel"),
    ),
    (
        &["string_similarity", "fuzzy_match", "fuzzy"],
        &["string_similarity", "string_distance"],
        Addition::Nothing,
    ),
    (
        &["startswith", "begins_with", "prefix"],
        &["starts_with"],
        Addition::Nothing,
    ),
    (&["endswith", "suffix"], &["ends_with"], Addition::Nothing),
    (&["sacrebleu", "bleu_score"], &["bleu"], Addition::Nothing),
    (
        &["rouge", "rouge_n", "rouge_score"],
        &["rouge", "rouge_l", "rouge_n"],
        Addition::Nothing,
    ),
    (
        &["semantic_similarity", "similar", "embedding_similarity"],
        &[
            "semantic_similarity",
            "semantic_match",
            "embedding_distance",
        ],
        Addition::Nothing,
    ),
    (
        &["moderation"],
        &["moderation", "toxicity"],
        Addition::Nothing,
    ),
    (
        &["llm_rubric", "rubric"],
        &["custom_eval", "criteria"],
        Addition::Nothing,
    ),
    (
        &["model_graded_closedqa"],
        &["closed_qa"],
        Addition::Nothing,
    ),
    (
        &["model_graded_factuality", "factual_consistency"],
        &["factuality"],
        Addition::Nothing,
    ),
    (
        &["answer_relevancy", "response_relevancy"],
        &["answer_relevance"],
        Addition::Nothing,
    ),
    (
        &["context_faithfulness", "groundedness", "hallucination"],
        &["faithfulness"],
        Addition::Nothing,
    ),
    (
        &["word_count", "max_length", "min_length", "char_count"],
        &["length"],
        Addition::Nothing,
    ),
];

#[derive(Clone, Copy)]
enum Addition {
    Nothing,
    IgnoreCase,
    Distance(&'static str),
}

/// What to say of a name that no evaluator has: message and help.
pub(super) fn unknown_evaluator(name: &str, scope: &Scope<'_>) -> (String, String) {
    let registry = scope.registry;
    let plain = snake_case(name);
    let mut ids: Vec<&str> = registry
        .entries()
        .iter()
        .map(|entry| entry.info.id)
        .collect();
    let custom = &scope.definitions.custom_evaluators;
    ids.extend(custom.iter().map(|custom| custom.id.as_str()));
    let help = format!("evaluators: {}", ids.join(", "));
    let suggestion = custom
        .iter()
        .find(|custom| custom.id == plain)
        .map(|custom| format!("`{}`", custom.id))
        .or_else(|| other_tool(&plain, registry));
    let suggestion = suggestion.or_else(|| suggestion_for(&plain, scope));
    let message = match suggestion {
        Some(suggestion) => format!("no evaluator is called `{name}` (did you mean {suggestion}?)"),
        None => format!("no evaluator is called `{name}`"),
    };
    (message, help)
}

/// The evaluator that is most probably meant, in backticks, with what to add.
fn suggestion_for(name: &str, scope: &Scope<'_>) -> Option<String> {
    let registry = scope.registry;
    if registry.get(name).is_some() {
        return Some(format!("`{name}`"));
    }
    if let Some(found) = other_tool(name, registry) {
        return Some(found);
    }
    if let Some(negated) = name.strip_prefix("not_")
        && let Some(found) = suggestion_for(negated, scope)
    {
        return Some(format!("{found} with `not: true`"));
    }
    let bare = ["_metric", "_evaluator", "_eval", "_check", "_score"]
        .into_iter()
        .find_map(|end| name.strip_suffix(end));
    if let Some(bare) = bare.filter(|bare| registry.get(bare).is_some()) {
        return Some(format!("`{bare}`"));
    }
    did_you_mean(name, scope.names()).map(|found| format!("`{found}`"))
}

fn other_tool(name: &str, registry: &Registry) -> Option<String> {
    let (_, ours, addition) = OTHER_TOOLS
        .iter()
        .find(|(theirs, _, _)| theirs.contains(&name))?;
    let entry = ours.iter().find_map(|id| registry.get(id))?;
    let id = entry.info.id;
    Some(match addition_text(*addition, entry) {
        Some(addition) => format!("`{id}` with `{addition}`"),
        None => format!("`{id}`"),
    })
}

fn addition_text(addition: Addition, entry: &Entry) -> Option<String> {
    match addition {
        Addition::Nothing => None,
        Addition::Distance(value) => {
            has_param(entry, "distance").then(|| format!("distance: {value}"))
        }
        Addition::IgnoreCase => [
            ("ignore_case", "true"),
            ("case_sensitive", "false"),
            ("capitalization", "agnostic"),
        ]
        .into_iter()
        .find(|(param, _)| has_param(entry, param))
        .map(|(param, value)| format!("{param}: {value}")),
    }
}

/// Whether an evaluator has a parameter of its own of that name.
pub(super) fn has_param(entry: &Entry, name: &str) -> bool {
    params(entry).any(|param| param == name)
}

/// The names of an evaluator's parameters, `reference` and its alias included.
pub(super) fn params(entry: &Entry) -> impl Iterator<Item = &str> {
    let own = entry.schema.get("properties").and_then(Value::as_object);
    let reference = entry.reads_reference().then_some("reference");
    own.into_iter()
        .flat_map(|own| own.keys().map(String::as_str))
        .chain(
            reference
                .into_iter()
                .chain(entry.info.reference_alias)
                .filter(move |name| own.is_none_or(|own| !own.contains_key(*name))),
        )
}

/// `camelCase`, `kebab-case` and `Title Case` as `snake_case`.
pub(super) fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut previous_lower = false;
    for c in name.trim().chars() {
        if matches!(c, '-' | ' ' | '_' | '.' | '/') {
            if !out.ends_with('_') {
                out.push('_');
            }
        } else {
            if c.is_uppercase() && previous_lower && !out.ends_with('_') {
                out.push('_');
            }
            out.extend(c.to_lowercase());
        }
        previous_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_snake_case() {
        for (name, snake) in [
            ("distanceMetric", "distance_metric"),
            ("is-json", "is_json"),
            ("Exact Match", "exact_match"),
            ("evaluator_type", "evaluator_type"),
            ("ExactMatch", "exact_match"),
            ("JSONSchema", "jsonschema"),
            ("", ""),
        ] {
            assert_eq!(snake_case(name), snake);
        }
    }

    #[test]
    fn lists_hold_snake_case_names_once() {
        let theirs = OTHER_TOOLS.iter().flat_map(|(theirs, _, _)| *theirs);
        let mut names: Vec<&str> = theirs.copied().collect();
        assert!(names.iter().all(|name| snake_case(name) == *name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
