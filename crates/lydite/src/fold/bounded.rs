//! A map by name of bounded size.

use std::collections::HashMap;
use std::sync::Arc;

/// So many names have a line of their own in a report; all others are one line, `other`.
pub const MAX_NAMES: usize = 1_000;

/// The name of that line.
pub const OTHER: &str = "other";

/// Folds by name. The [`MAX_NAMES`] names that come first in byte order are kept apart.
///
/// Which these are depends on the set of names alone, so parts of a run merge in any way to the same
/// folds. Up to twice as many are held before the excess is merged into one.
#[derive(Clone, Debug)]
pub(super) struct Bounded<V> {
    places: HashMap<Arc<str>, usize>,
    entries: Vec<(Arc<str>, V)>,
    other: Option<V>,
}

/// What parts of a run are joined by.
pub(super) trait Merge {
    /// Joins what comes later in the run.
    fn merge(&mut self, later: Self);
}

impl<V: Merge> Bounded<V> {
    /// Where a name stands, until the next [`trim`](Self::trim).
    pub(super) fn place(&mut self, name: &str, make: impl FnOnce() -> V) -> usize {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let name: Arc<str> = name.into();
        self.places.insert(Arc::clone(&name), self.entries.len());
        self.entries.push((name, make()));
        self.entries.len() - 1
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut V> {
        self.entries.get_mut(place).map(|(_, value)| value)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries
            .iter_mut()
            .map(|(_, value)| value)
            .chain(&mut self.other)
    }

    /// Merges what is too much. Places change.
    pub(super) fn trim(&mut self) {
        if self.entries.len() > 2 * MAX_NAMES {
            self.keep_first(MAX_NAMES);
        }
    }

    pub(super) fn merge(&mut self, later: Self) {
        for (name, value) in later.entries {
            if let Some((_, ours)) = self
                .places
                .get(&name)
                .and_then(|&place| self.entries.get_mut(place))
            {
                ours.merge(value);
            } else {
                self.places.insert(Arc::clone(&name), self.entries.len());
                self.entries.push((name, value));
            }
        }
        if let Some(theirs) = later.other {
            merge_into(&mut self.other, theirs);
        }
        self.trim();
    }

    /// The folds by name in byte order, then `other`.
    pub(super) fn into_sorted(mut self) -> impl Iterator<Item = (Arc<str>, V)> {
        self.keep_first(MAX_NAMES);
        self.entries
            .into_iter()
            .chain(self.other.map(|other| (Arc::from(OTHER), other)))
    }

    fn keep_first(&mut self, most: usize) {
        self.entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, value) in self.entries.drain(most.min(self.entries.len())..) {
            self.places.remove(&name);
            merge_into(&mut self.other, value);
        }
        for (place, (name, _)) in self.entries.iter().enumerate() {
            self.places.insert(Arc::clone(name), place);
        }
    }
}

impl<V> Default for Bounded<V> {
    fn default() -> Self {
        Self {
            places: HashMap::new(),
            entries: Vec::new(),
            other: None,
        }
    }
}

fn merge_into<V: Merge>(ours: &mut Option<V>, theirs: V) {
    match ours {
        Some(ours) => ours.merge(theirs),
        None => *ours = Some(theirs),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Count(u64);

    impl Merge for Count {
        fn merge(&mut self, later: Self) {
            self.0 += later.0;
        }
    }

    fn count(names: &[u32]) -> Bounded<Count> {
        let mut counts = Bounded::default();
        for name in names {
            counts.trim();
            let place = counts.place(&name.to_string(), Count::default);
            counts.get_mut(place).unwrap().0 += 1;
        }
        counts
    }

    fn sorted(counts: Bounded<Count>) -> Vec<(String, u64)> {
        counts
            .into_sorted()
            .map(|(name, count)| (name.to_string(), count.0))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn parts_merge_to_the_whole(names in prop::collection::vec(0_u32..6_000, 0..9_000), cuts in prop::collection::vec(0_usize..9_000, 0..4)) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(names.len())).chain([0, names.len()]).collect();
            cuts.sort_unstable();
            let mut merged = Bounded::default();
            for part in cuts.windows(2) {
                merged.merge(count(&names[part[0]..part[1]]));
            }
            let whole = sorted(count(&names));
            prop_assert!(whole.len() <= MAX_NAMES + 1);
            prop_assert_eq!(whole.iter().map(|(_, count)| *count).sum::<u64>(), names.len() as u64);
            prop_assert_eq!(sorted(merged), whole);
        }
    }
}
