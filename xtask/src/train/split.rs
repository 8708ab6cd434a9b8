//! Which examples a model is fitted on, and which it is tried on.

use super::table::Table;
use std::collections::BTreeMap;
use twox_hash::XxHash3_64;

/// How many folds there are.
pub(crate) const FOLDS: u64 = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) fit: Vec<usize>,
    pub(crate) test: Vec<usize>,
}

/// Folds that keep groups together. A group's fold hangs on its name and the seed alone, so more data leaves
/// the others where they are.
pub(crate) fn grouped_folds(table: &Table, folds: u64, seed: u64) -> Vec<Split> {
    let fold = |group: &str| XxHash3_64::oneshot_with_seed(seed, group.as_bytes()) % folds;
    let of_rows: Vec<u64> = table.examples().iter().map(|e| fold(&e.group)).collect();
    (0..folds)
        .map(|fold| split(&of_rows, &fold))
        .filter(usable)
        .collect()
}

/// One split a set, tried on it and fitted on the others; none where there is but one set.
pub(crate) fn sets_left_out(table: &Table) -> Vec<Split> {
    let of_rows: Vec<&str> = table.examples().iter().map(|e| e.set).collect();
    let mut sets: BTreeMap<&str, Split> = BTreeMap::new();
    for set in &of_rows {
        sets.entry(set).or_insert_with(|| split(&of_rows, set));
    }
    sets.into_values().filter(usable).collect()
}

fn split<T: PartialEq>(of_rows: &[T], left_out: &T) -> Split {
    let (test, fit) = (0..of_rows.len()).partition(|row| of_rows.get(*row) == Some(left_out));
    Split { fit, test }
}

fn usable(split: &Split) -> bool {
    !split.fit.is_empty() && !split.test.is_empty()
}
