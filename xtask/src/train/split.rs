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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::data::Record;
    use crate::train::task::{Example, Features};
    use std::collections::HashSet;

    fn table() -> Table {
        let example = |row: usize| Example {
            set: ["a", "b", "c"][row % 3],
            group: format!("group {}", row / 4),
            label: row.is_multiple_of(2),
            weight: 1.0,
            record: Record::default(),
        };
        let examples = (0..200).map(example).collect();
        Table::from_features(examples, vec![Features::default(); 200]).unwrap()
    }

    /// Every row is tried once, never fitted on in the same split.
    fn assert_partition(splits: &[Split]) {
        let mut tried: Vec<usize> = splits.iter().flat_map(|split| split.test.clone()).collect();
        tried.sort_unstable();
        assert_eq!(tried, (0..200).collect::<Vec<_>>());
        for split in splits {
            let fit: HashSet<usize> = split.fit.iter().copied().collect();
            assert_eq!(fit.len() + split.test.len(), 200);
            assert!(split.test.iter().all(|row| !fit.contains(row)));
        }
    }

    #[test]
    fn folds_keep_groups_together() {
        let table = table();
        let splits = grouped_folds(&table, FOLDS, 1);
        assert_eq!(splits.len(), 5);
        assert_partition(&splits);
        for split in &splits {
            let group = |row: &usize| table.examples()[*row].group.clone();
            let fit: HashSet<String> = split.fit.iter().map(group).collect();
            assert!(split.test.iter().all(|row| !fit.contains(&group(row))));
        }
    }

    #[test]
    fn the_seed_decides_the_folds() {
        let table = table();
        assert_eq!(grouped_folds(&table, 5, 7), grouped_folds(&table, 5, 7));
        assert_ne!(grouped_folds(&table, 5, 7), grouped_folds(&table, 5, 8));
    }

    #[test]
    fn each_set_is_left_out_once() {
        let table = table();
        let splits = sets_left_out(&table);
        assert_eq!(splits.len(), 3);
        assert_partition(&splits);
        for split in &splits {
            let sets: HashSet<&str> = split
                .test
                .iter()
                .map(|row| table.examples()[*row].set)
                .collect();
            assert_eq!(sets.len(), 1);
        }
    }
}
