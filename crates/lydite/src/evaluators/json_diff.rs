//! `json_diff`: see [`JsonDiff`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::json_value::{OutputJson, explain_error, output_json, reference_json};
use crate::evaluator::{
    Evaluator, Example, Info, Origin, ParamErrors, Prepare, Pure, Scorer, Scratch, Warning,
};
use crate::json::{
    self, Booleans, Json, Leaf, Lists, Missing, NestedWeights, Scored, SimilarityOptions,
    similarity,
};
use crate::outcome::{Cell, Code, Evidence, Explanation};
use crate::record::{Content, Field, FieldSet, Raw, Row};

/// How alike two JSON values are, key by key and weighted; 1 is equal.
///
/// ## When to use it
/// Extraction with partial credit: some fields right, some nearly, some more important than others. For a plain
/// yes or no take `json_equality`.
///
/// ## How it is scored
/// Objects: the weighted mean over the union of their keys; a key missing on one side scores 0. Lists: by `lists`.
/// Strings: 1 − Levenshtein / longer length, in code points. Numbers: 1 − |a−b| / (|a|+|b|). Null and null: 1.
/// Other types against each other: 0. Weights come from the record's `weights` or the parameter; a key that has
/// none weighs 1. It only measures, unless a `threshold` is set. The evidence lists every leaf with its score and
/// its share of the whole.
///
/// ## Limits
/// A weight outside [0, 1] is an error that names its path. Long lists are aligned up to a bound, beyond it they
/// are compared by position, with a warning.
///
/// ## References
/// Lynxius, JsonDiff (`lists: zip` and `nested_weights` are the two released versions' rules).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JsonDiff {
    /// How the elements of two lists find each other.
    #[serde(default)]
    lists: Lists,
    /// Whether true and false are also the numbers 1 and 0.
    #[serde(default)]
    booleans: Booleans,
    /// What a key that is not there is worth against null.
    #[serde(default)]
    missing: Missing,
    /// Where the weight of an object stands that has weights inside.
    #[serde(default)]
    nested_weights: NestedWeights,
    /// Weights in the shape of the data, each in [0, 1], for records that bring none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weights: Option<serde_json::Map<String, serde_json::Value>>,
}

const ZERO_WEIGHTS: u16 = 0;
const TOO_LONG_TO_ALIGN: u16 = 1;

impl Evaluator for JsonDiff {
    const INFO: Info = Info {
        id: "json_diff",
        aliases: &["json_diff_eval"],
        origin: Origin::Lynxius,
        reads: FieldSet::of(&[Field::Output, Field::Reference, Field::Weights]),
        needs: FieldSet::of(&[Field::Output, Field::Reference]),
        natural_verdict: false,
        warnings: &[
            Warning {
                code: "zero_weights",
                text: "all weights of a level were 0, so its keys were weighed equally",
            },
            Warning {
                code: "too_long_to_align",
                text: "two lists were too long to align; they were compared by position",
            },
        ],
        examples: &[
            Example {
                title: "half of the fields are right",
                params: "threshold: 0.5",
                record: r#"{"output": {"a": 1}, "reference": {"a": 1, "b": 2}}"#,
                expect: r#"{"verdict": "pass", "score": 0.5}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a field that weighs little costs little",
                params: "threshold: 0.7",
                record: r#"{"output": {"a": 1, "b": "y"}, "reference": {"a": 1, "b": "x"}, "weights": {"a": 1.0, "b": 0.5}}"#,
                expect: r#"{"verdict": "fail", "score": 0.6666666666666666}"#,
                ..Example::PLAIN
            },
            Example {
                title: "a weight outside [0, 1] is an error",
                params: "{}",
                record: r#"{"output": {"a": 1}, "reference": {"a": 1}, "weights": {"a": 1.5}}"#,
                expect: r#"{"verdict": "inconclusive", "error": "invalid_field"}"#,
                ..Example::PLAIN
            },
        ],
        ..Info::VERDICT
    };

    fn prepare(self, _: &Prepare<'_>) -> Result<Scorer, ParamErrors> {
        let options = SimilarityOptions {
            lists: self.lists,
            booleans: self.booleans,
            missing: self.missing,
            nested_weights: self.nested_weights,
        };
        let weights = self
            .weights
            .map(|weights| serde_json::Value::Object(weights).to_string());
        if let Some(source) = &weights {
            let empty = Json::Object(Vec::new());
            let tree = json::parse(source)
                .map_err(|error| ParamErrors::one("/weights", error.to_string()))?;
            similarity(&empty, &empty, Some(&tree), options, None).map_err(|error| {
                ParamErrors::one(format!("/weights{}", error.path), error.to_string())
            })?;
        }
        Ok(Scorer::pure(Diff { options, weights }))
    }
}

struct Diff {
    options: SimilarityOptions,
    /// JSON text of the weights for records that bring none.
    weights: Option<String>,
}

impl Diff {
    fn compare(&self, row: &Row<'_>, leaves: Option<&mut Vec<Leaf>>) -> Result<Compared, Failure> {
        for (field, content) in [
            (Field::Output, row.output()),
            (Field::Reference, row.reference()),
        ] {
            if let Some(Content::Text("")) = content {
                return Err(Failure::new(
                    Cell::Errored(Code::InvalidField(field)),
                    format!("`{field}` is empty"),
                ));
            }
        }
        let reference = reference_json(row).map_err(Failure::from)?;
        let output = match output_json(row) {
            OutputJson::Json(output) => output,
            OutputJson::Not(error) => return Ok(Compared::NotJson(error.to_string())),
            OutputJson::Cell(cell) => return Err(cell.into()),
        };
        let source = match row.raw(Field::Weights) {
            Some(Raw::Json(source) | Raw::Text(source)) => Some(source),
            None => self.weights.as_deref(),
        };
        let weights = source.map(json::parse).transpose().map_err(|error| {
            Failure::new(
                Cell::Errored(Code::InvalidField(Field::Weights)),
                format!("the weights are not JSON: {error}"),
            )
        })?;
        similarity(&reference, &output, weights.as_ref(), self.options, leaves)
            .map(Compared::Scored)
            .map_err(|error| {
                Failure::new(
                    Cell::Errored(Code::InvalidField(Field::Weights)),
                    error.to_string(),
                )
            })
    }
}

enum Compared {
    Scored(Scored),
    NotJson(String),
}

struct Failure {
    cell: Cell,
    message: Option<String>,
}

impl Failure {
    fn new(cell: Cell, message: String) -> Self {
        Self {
            cell,
            message: Some(message),
        }
    }
}

impl From<Cell> for Failure {
    fn from(cell: Cell) -> Self {
        Self {
            cell,
            message: None,
        }
    }
}

impl Pure for Diff {
    fn score(&self, row: &Row<'_>, _: &mut Scratch) -> Cell {
        match self.compare(row, None) {
            Ok(Compared::Scored(scored)) => Cell::measured(scored.score)
                .warn_if(scored.zero_weight, ZERO_WEIGHTS)
                .warn_if(scored.too_long_to_align, TOO_LONG_TO_ALIGN),
            Ok(Compared::NotJson(_)) => Cell::measured(0.0),
            Err(failure) => failure.cell,
        }
    }

    fn explain(&self, row: &Row<'_>, cell: Cell, _: &mut Scratch) -> Explanation {
        let mut leaves = Vec::new();
        match self.compare(row, Some(&mut leaves)) {
            Ok(Compared::Scored(scored)) => explain_leaves(&leaves, scored.score),
            Ok(Compared::NotJson(error)) => {
                Explanation::reason(format!("the output is not JSON: {error}"))
            }
            Err(failure) => {
                let message = failure.message.or_else(|| explain_error(row, cell));
                message.map(Explanation::reason).unwrap_or_default()
            }
        }
    }
}

fn explain_leaves(leaves: &[Leaf], score: f64) -> Explanation {
    let wrong: Vec<String> = leaves
        .iter()
        .filter(|leaf| leaf.score < 1.0 && leaf.weight > 0.0)
        .take(5)
        .map(|leaf| {
            format!(
                "{} {:.2}",
                if leaf.path.is_empty() {
                    "the whole value"
                } else {
                    &leaf.path
                },
                leaf.score
            )
        })
        .collect();
    let mut explanation = if wrong.is_empty() {
        Explanation::reason(if score < 1.0 {
            "alike in part"
        } else {
            "alike in every leaf"
        })
    } else {
        Explanation::reason(format!("not alike: {}", wrong.join(", ")))
    };
    explanation
        .evidence
        .extend(leaves.iter().map(leaf_evidence));
    explanation
}

fn leaf_evidence(leaf: &Leaf) -> Evidence {
    let evidence = Evidence::new("leaf").set("path", leaf.path.as_str());
    let evidence = match &leaf.output_path {
        Some(path) => evidence.set("output_path", path.as_str()),
        None => evidence,
    };
    evidence.set("score", leaf.score).set("weight", leaf.weight)
}
