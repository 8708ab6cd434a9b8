//! What is said of a check before it is compiled, and what can be wrong with it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Asks, InputSource};
use crate::evaluator::{Compat, ParamErrors};
use crate::node::{DeError, Node, NodeValue, Span};
use crate::record::Field;

/// What a check does with a record that lacks a field it needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnMissing {
    /// An error: inconclusive, counted as errored.
    #[default]
    Error,
    /// A fail without a score, whatever `not` says: in the pass rate, out of the mean.
    Fail,
    /// Skipped: counted, in no rate.
    Skip,
}

/// What a suite, a record or a command line says of one check, before it is compiled.
#[derive(Clone, Debug, Default)]
pub struct CheckSpec {
    pub name: String,
    /// Parameters as a mapping, `reference` among them.
    pub params: Option<Node>,
    pub threshold: Option<f64>,
    pub negate: bool,
    pub on_missing: OnMissing,
    pub when: Option<String>,
    pub inputs: Vec<(Field, InputSource)>,
    /// False for a record's own checks: their parameters are literal.
    pub references: bool,
    /// The models that it asks.
    pub asks: Asks,
    /// A prompt in place of the evaluator's.
    pub prompt: Option<String>,
    pub compat: Option<Compat>,
}

impl CheckSpec {
    /// A check whose `threshold`, `not` and `on_missing` stand among its parameters.
    pub fn from_flat_params(name: &str, params: &Node) -> Result<Self, CheckErrors> {
        let mut params = params.clone();
        let mut spec = Self {
            name: name.to_owned(),
            references: true,
            ..Self::default()
        };
        if let NodeValue::Mapping(entries) = &mut params.value {
            let mut take = |key: &str| {
                let index = entries
                    .iter()
                    .position(|(name, _)| name.as_str() == Some(key))?;
                Some(entries.remove(index).1)
            };
            if let Some(node) = take("threshold") {
                spec.threshold = Some(
                    node.deserialize_into()
                        .map_err(|error| wrong("threshold", error))?,
                );
            }
            if let Some(node) = take("not") {
                spec.negate = node
                    .deserialize_into()
                    .map_err(|error| wrong("not", error))?;
            }
            if let Some(node) = take("on_missing") {
                spec.on_missing = node
                    .deserialize_into()
                    .map_err(|error| wrong("on_missing", error))?;
            }
        }
        spec.params = Some(params);
        Ok(spec)
    }
}

impl CheckSpec {
    /// The same with `mode`, `repeat`, `prompt` and `compat` among the parameters, for an evaluator that asks models.
    pub fn from_flat_asking_params(name: &str, params: &Node) -> Result<Self, CheckErrors> {
        let mut spec = Self::from_flat_params(name, params)?;
        let Some(Node {
            value: NodeValue::Mapping(entries),
            ..
        }) = &mut spec.params
        else {
            return Ok(spec);
        };
        let mut take = |key: &str| {
            let index = entries
                .iter()
                .position(|(name, _)| name.as_str() == Some(key))?;
            Some(entries.remove(index).1)
        };
        if let Some(node) = take("mode") {
            spec.asks.mode = node
                .deserialize_into()
                .map_err(|error| wrong("mode", error))?;
        }
        if let Some(node) = take("repeat") {
            spec.asks.repeat = node
                .deserialize_into()
                .map_err(|error| wrong("repeat", error))?;
        }
        if let Some(node) = take("prompt") {
            spec.prompt = node
                .deserialize_into()
                .map_err(|error| wrong("prompt", error))?;
        }
        if let Some(node) = take("compat") {
            spec.compat = node
                .deserialize_into()
                .map_err(|error| wrong("compat", error))?;
        }
        Ok(spec)
    }
}

pub(super) fn wrong(key: &str, error: DeError) -> CheckErrors {
    let place = CheckPlace::Params(format!("/{key}"));
    CheckErrors(vec![CheckError {
        place,
        span: error.span,
        message: error.message,
        help: None,
    }])
}

/// What is wrong with a check: every error, each with the part of the check it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.0.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; "))]
pub struct CheckErrors(pub Vec<CheckError>);

/// One error of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckError {
    pub place: CheckPlace,
    /// Where the parameters were read from; unknown where the part as a whole is meant.
    pub span: Span,
    pub message: String,
    pub help: Option<String>,
}

/// A part of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckPlace {
    /// A JSON Pointer inside the parameters; empty for the whole.
    Params(String),
    /// The path that `inputs` gives for a field.
    Input(Field),
    When,
    Threshold,
    Not,
    Prompt,
}

impl CheckErrors {
    pub(super) fn push(
        &mut self,
        place: CheckPlace,
        message: impl Into<String>,
        help: Option<&str>,
    ) {
        self.0.push(CheckError {
            place,
            span: Span::default(),
            message: message.into(),
            help: help.map(str::to_owned),
        });
    }

    pub(super) fn params(&mut self, errors: ParamErrors) {
        self.0.extend(errors.0.into_iter().map(|error| CheckError {
            place: CheckPlace::Params(error.path),
            span: error.span,
            message: error.message,
            help: error.help,
        }));
    }
}
