//! What the checks of a suite, and of its records, may name.

use std::path::Path;

use super::custom::CustomEvaluator;
use super::models::SuiteModels;
use crate::evaluator::Registry;

/// What a suite defines for its checks and for those of its records.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    pub models: SuiteModels,
    pub custom_evaluators: Vec<CustomEvaluator>,
    /// Whether the environment holds `OpenAI`'s key, for `moderator: auto`.
    pub(super) openai_key: bool,
}

impl Definitions {
    pub(super) fn custom(&self, id: &str) -> Option<&CustomEvaluator> {
        self.custom_evaluators.iter().find(|custom| custom.id == id)
    }
}

/// What one text with checks is read against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'a> {
    pub(super) registry: &'a Registry,
    pub(super) definitions: &'a Definitions,
    pub(super) author: Author<'a>,
}

/// Who wrote a check, and so what it may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Author<'a> {
    /// The suite's, or whoever gave `--check`. Prompts in files start at this folder.
    Suite(&'a Path),
    /// The same of a run that is over: its files are not read again.
    Stored,
    /// A record's: it names models of the suite only, and no files.
    Record,
}

impl<'a> Scope<'a> {
    /// Every evaluator's name.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let builtin = self.registry.entries().iter().map(|entry| entry.info);
        let own = self.definitions.custom_evaluators.iter();
        builtin
            .flat_map(|info| std::iter::once(info.id).chain(info.aliases.iter().copied()))
            .map(|name: &'static str| -> &'a str { name })
            .chain(own.map(|custom| &*custom.id))
    }
}
