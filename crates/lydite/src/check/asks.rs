//! Which models a check asks, how often, and how several answers become one.

use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::evaluator::{Info, Local, Role};
use crate::judge::ScoreMode;
use crate::model::{
    ChatModel, Classifier, Embedder, ModelError, ModelErrorKind, ModelSession, ModelSpec, Moderator,
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
    /// The built-in one where none is named.
    pub embedder: Option<ModelSpec>,
    pub moderator: Option<ModelSpec>,
    /// Whether an evaluator that moderates goes without a moderator, and without a local method: `moderator: none`.
    pub unmoderated: bool,
    pub classifier: Option<ModelSpec>,
    pub nli: Option<ModelSpec>,
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
            unmoderated: false,
            classifier: None,
            nli: None,
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
    pub classifier: Option<Arc<dyn Classifier>>,
}

impl Asks {
    /// How a check of `info` works where a role that it asks is local or left out: by the first local method whose
    /// own models are there.
    pub fn local(&self, info: &Info) -> Option<&'static Local> {
        info.locals.iter().find(|local| {
            self.lacks(local.replaces) && local.models.iter().all(|role| self.has(*role))
        })
    }

    /// Whether no model of the role is named.
    fn lacks(&self, role: Role) -> bool {
        match role {
            Role::Judge => self.judges.is_empty(),
            Role::Embedder => self.embedder.as_ref().is_none_or(ModelSpec::is_local),
            Role::Moderator => self.moderator.is_none() && !self.unmoderated,
            Role::Classifier => self.classifier.is_none(),
            Role::Nli => self.nli.is_none(),
        }
    }

    /// Whether a local method can ask this role: an embedder is built in.
    fn has(&self, role: Role) -> bool {
        role == Role::Embedder || !self.lacks(role)
    }

    /// The roles that a check of `info` asks.
    pub fn roles(&self, info: &Info) -> &'static [Role] {
        self.local(info).map_or(info.models, |local| local.models)
    }

    /// Makes the models that an evaluator of `info` asks. A role without a model is left out where the evaluator can
    /// say so itself (a moderator), and an error else.
    pub(super) fn bind(
        &self,
        info: &Info,
        session: &dyn ModelSession,
    ) -> Result<Bound, ModelError> {
        let local = self.local(info);
        let roles = self.roles(info);
        let asks = |role| roles.contains(&role);
        if asks(Role::Judge) && self.judges.is_empty() {
            return Err(no_judge(info));
        }
        let judges = self.judges.iter().filter(|_| asks(Role::Judge));
        let embedder = asks(Role::Embedder).then(|| match &self.embedder {
            Some(spec) if local.is_none() => session.embedder(spec),
            // What local methods were fitted on is part of them.
            _ => session.embedder(&ModelSpec::local_embedder()),
        });
        let moderator = self.moderator.as_ref().filter(|_| asks(Role::Moderator));
        let classifier = match (asks(Role::Nli), asks(Role::Classifier)) {
            (true, _) => &self.nli,
            (_, true) => &self.classifier,
            _ => &None,
        };
        Ok(Bound {
            judges: judges
                .map(|spec| session.chat(spec))
                .collect::<Result<_, _>>()?,
            embedder: embedder.transpose()?,
            moderator: moderator.map(|spec| session.moderator(spec)).transpose()?,
            classifier: classifier
                .as_ref()
                .map(|spec| session.classifier(spec))
                .transpose()?,
        })
    }
}

/// Binds once; later calls give the same.
pub(super) type Binding = OnceLock<Result<Bound, ModelError>>;

fn no_judge(info: &Info) -> ModelError {
    ModelError::new(
        ModelErrorKind::Config,
        format!(
            "{} needs models.judge, and none is named; write `models: {{judge: openai/gpt-4.1-mini}}`, or another model",
            info.id
        ),
    )
}
