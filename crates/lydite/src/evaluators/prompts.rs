//! Prompts of evaluators, and what a check puts in their place.
use crate::evaluator::{ParamErrors, Prepare};
use crate::judge::{Place, Prompt};
/// The evaluator's prompt, or the check's own in its place.
pub(super) fn prompt(
    cx: &Prepare<'_>,
    text: &str,
    places: &[Place],
    needed: &[&str],
) -> Result<Prompt, ParamErrors> {
    Prompt::new(cx.prompt.unwrap_or(text), places, needed)
        .map_err(|error| ParamErrors::with_help("", error.message, error.help))
}
