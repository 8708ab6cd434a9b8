//! One record judged by one check: what `lydite eval`, examples and case files do.

use std::collections::BTreeMap;

use bumpalo::Bump;

use crate::check::{Bench, Check, CheckErrors, CheckSpec};
use crate::decode::{Decoder, Mapping, MappingError, RecordError, Survey, Wanted};
use crate::evaluator::Entry;
use crate::node::Node;
use crate::record::Field;
use crate::results::{CellView, CheckResult, RecordHead};

/// Why one record could not be judged at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SingleError {
    #[error(transparent)]
    Check(#[from] CheckErrors),
    #[error("{0}; {help}", help = .0.help)]
    Mapping(#[from] MappingError),
    #[error("{0}")]
    Record(#[from] Box<RecordError>),
}

/// Judges the JSON text of one record. `params` may hold `threshold`, `not` and `on_missing` beside
/// the evaluator's own parameters.
pub fn judge(
    entry: &Entry,
    name: &str,
    params: &Node,
    record: &str,
) -> Result<CheckResult<'static>, SingleError> {
    let mut wanted = Wanted::default();
    let spec = CheckSpec::from_flat_params(name, params)?;
    let check = Check::compile(entry, spec, &mut wanted)?;
    judge_with(&check, &wanted, record)
}

/// The same with a compiled check.
pub fn judge_with(
    check: &Check,
    wanted: &Wanted,
    record: &str,
) -> Result<CheckResult<'static>, SingleError> {
    let mut survey = Survey::default();
    survey.add(record);
    let needs_reference = check.needs.contains(Field::Reference);
    let mapping = Mapping::new(&survey, &BTreeMap::new(), wanted, needs_reference)?;
    let arena = Bump::new();
    let slots = Decoder::new(&mapping).decode(record, &arena)?;
    let judged = check.judge(slots, &arena, &mut Bench::default(), true);
    let head = RecordHead {
        id: slots.id.unwrap_or("#1"),
        model: slots.model,
        trial: slots.trial.unwrap_or(1),
        tags: slots.tags,
        cluster: slots.cluster,
        file: 0,
        line: 0,
    };
    let view = CellView {
        check: &check.name,
        info: check.info,
        judged: &judged,
    };
    Ok(CheckResult::of(&head, &view).into_owned())
}
