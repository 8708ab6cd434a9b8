//! Which models a check asks, how often, and how several answers become one.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evaluator::{Info, Role};
use crate::judge::ScoreMode;
use crate::model::{
    ChatModel, Embedder, ModelError, ModelErrorKind, ModelSession, ModelSpec, Moderator,
};

/// How the answers of several judges become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Aggregate {
    /// The verdict that most give; the score is the mean of those who gave it.
    #[default]
    Majority,
    /// The mean score; the verdict is the majority's.
    Mean,
}

/// The models that a check asks, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Asks {
    /// One judge, or a jury.
    pub judges: Vec<ModelSpec>,
    pub aggregate: Aggregate,
    pub embedder: Option<ModelSpec>,
    pub moderator: Option<ModelSpec>,
    pub mode: ScoreMode,
    /// How often each answer is judged, from 1.
    pub repeat: u32,
}

impl Default for Asks {
    fn default() -> Self {
        Self {
            judges: Vec::new(),
            aggregate: Aggregate::default(),
            embedder: None,
            moderator: None,
            mode: ScoreMode::default(),
            repeat: 1,
        }
    }
}

/// A check's models, made once.
#[derive(Debug)]
pub struct Bound {
    pub judges: Vec<Arc<dyn ChatModel>>,
    pub embedder: Option<Arc<dyn Embedder>>,
    pub moderator: Option<Arc<dyn Moderator>>,
}

impl Asks {
    /// Makes the models that an evaluator of `info` asks. A role without a model is left out where the evaluator can
    /// say so itself (a moderator), and an error else.
    pub(super) fn bind(
        &self,
        info: &Info,
        session: &dyn ModelSession,
    ) -> Result<Bound, ModelError> {
        let asks = |role| info.models.contains(&role);
        let judges = if asks(Role::Judge) {
            if self.judges.is_empty() {
                return Err(no_model(Role::Judge));
            }
            self.judges
                .iter()
                .map(|spec| session.chat(spec))
                .collect::<Result<_, _>>()?
        } else {
            Vec::new()
        };
        let embedder = if asks(Role::Embedder) {
            let spec = self
                .embedder
                .as_ref()
                .ok_or_else(|| no_model(Role::Embedder))?;
            Some(session.embedder(spec)?)
        } else {
            None
        };
        let moderator = match &self.moderator {
            Some(spec) if asks(Role::Moderator) => Some(session.moderator(spec)?),
            _ => None,
        };
        Ok(Bound {
            judges,
            embedder,
            moderator,
        })
    }
}

/// Binds once; later calls give the same.
pub(super) type Binding = OnceLock<Result<Bound, ModelError>>;

fn no_model(role: Role) -> ModelError {
    let name = role.as_str();
    let example = match role {
        Role::Embedder => "openai/text-embedding-3-small",
        Role::Judge | Role::Moderator => "openai/gpt-4.1-mini",
    };
    ModelError::new(
        ModelErrorKind::Config,
        format!("no {name} is named; write `models: {{{name}: {example}}}`, or another model"),
    )
}
