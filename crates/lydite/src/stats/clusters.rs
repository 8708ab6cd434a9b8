//! Sums by case, for intervals that hold when several answers belong to one case.
//!
//! Whether a run has such answers is not known before its end, and keeping a sum for each of a million cases
//! would cost more than all the rest of a report. So:
//!
//! - While every case has one answer, scores and verdicts are only noted, 16 bytes each, up to a limit.
//! - The first answer of a case that had one before ([`Case::repeated`]) makes the run a clustered one: from
//!   then on all cases are kept, in tables by case.
//! - At the limit without a repeat all is dropped and its memory freed. If a case repeats after that, the
//!   intervals take the answers as independent and the report warns.
//!
//! A caller that knows beforehand that cases repeat (trials, a `cluster` key) sets no limit: `usize::MAX`.

use std::mem::take;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::interval::Deviations;
use super::sum::ExactSum;

/// A quarter of a megabyte of notes, a check.
pub const DEFAULT_LIMIT: usize = 16_384;

/// The case, or cluster, that an answer belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// A well mixed hash of its id; the lowest two bits are not used.
    pub key: u64,
    /// Whether an earlier answer of the run, in whichever part, belongs to it too
    /// ([`IdTable::seen`](super::IdTable::seen) > 0). Repeats that are never said are not found.
    pub repeated: bool,
}

/// Scores and verdicts by case; see the [module](self).
///
/// Parts merge in any order to the same figures, as long as neither is [`dropped`](Self::dropped) or no case
/// has answers in both. Merging itself drops nothing.
#[derive(Clone, Debug)]
pub struct Clusters {
    /// The answers before the first repeat.
    notes: Vec<Single>,
    /// All answers, from the first repeat on.
    tables: Option<Tables>,
    limit: usize,
    dropped: bool,
    missed: bool,
}

impl Clusters {
    pub fn new(limit: usize) -> Self {
        Self {
            notes: Vec::new(),
            tables: None,
            limit,
            dropped: false,
            missed: false,
        }
    }

    /// Adds an answer with a finite score, if it has one, and whether it passed, if that is decided.
    /// One with neither is left out.
    #[inline]
    pub fn push(&mut self, case: Case, score: Option<f64>, passed: Option<bool>) {
        if score.is_none() && passed.is_none() {
            return;
        }
        let single = Single::new(case.key, score, passed);
        match &mut self.tables {
            _ if self.dropped => self.missed |= case.repeated,
            Some(tables) => tables.insert(single),
            None if case.repeated => self.tables().insert(single),
            None => self.note(single),
        }
    }

    pub fn merge(&mut self, other: &Self) {
        if self.dropped || other.dropped {
            self.missed |= other.missed || self.tables.is_some() || other.tables.is_some();
            self.drop_all();
            return;
        }
        if let Some(theirs) = &other.tables {
            self.tables().merge(theirs);
        }
        match &mut self.tables {
            Some(tables) => other.notes.iter().for_each(|&single| tables.insert(single)),
            None => self.notes.extend_from_slice(&other.notes),
        }
    }

    /// Whether some case has several answers, so that intervals are to be clustered.
    pub fn repeats(&self) -> bool {
        self.groups().next().is_some()
    }

    /// Whether the limit was reached without a repeat; nothing is kept since.
    pub fn dropped(&self) -> bool {
        self.dropped
    }

    /// Whether cases repeated that are not kept, so that an interval is not clustered that should be.
    pub fn missed(&self) -> bool {
        self.missed
    }

    /// How the scores of each case deviate from `mean`, their mean over all cases.
    pub fn score_deviations(&self, mean: f64) -> Deviations {
        let mut sum = DeviationSum::new(mean);
        for score in self.singles().filter_map(Single::score) {
            sum.add(1, score);
        }
        for group in self.groups() {
            sum.add(group.scored, group.scores.value());
        }
        sum.finish()
    }

    /// How the passes of each case deviate from `rate`, their rate over all cases.
    pub fn pass_deviations(&self, rate: f64) -> Deviations {
        let mut sum = DeviationSum::new(rate);
        for passed in self.singles().filter_map(Single::passed) {
            sum.add(1, f64::from(u8::from(passed)));
        }
        for group in self.groups() {
            sum.add(group.decided, group.passed as f64);
        }
        sum.finish()
    }

    fn singles(&self) -> impl Iterator<Item = &Single> {
        self.notes
            .iter()
            .chain(self.tables.iter().flat_map(|tables| &tables.singles))
    }

    fn groups(&self) -> impl Iterator<Item = &Group> {
        self.tables.iter().flat_map(|tables| &tables.groups)
    }

    #[inline]
    fn note(&mut self, single: Single) {
        if self.notes.len() + 1 < self.limit {
            self.notes.push(single);
        } else {
            self.drop_all();
        }
    }

    /// The tables. On first use the notes move into them.
    fn tables(&mut self) -> &mut Tables {
        let Self { notes, tables, .. } = self;
        tables.get_or_insert_with(|| {
            let mut tables = Tables::default();
            for single in take(notes) {
                tables.insert(single);
            }
            tables
        })
    }

    /// Keeps answers by case from here on, as the first repeat does.
    pub fn expect_repeats(&mut self) {
        if !self.dropped {
            self.tables();
        }
    }

    /// Drops everything, as the limit does.
    #[cold]
    pub fn drop_all(&mut self) {
        self.notes = Vec::new();
        self.tables = None;
        self.dropped = true;
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self::new(DEFAULT_LIMIT)
    }
}

/// Answers by case.
#[derive(Clone, Debug, Default)]
struct Tables {
    /// The cases with one answer.
    singles: HashTable<Single>,
    /// The cases with more.
    groups: HashTable<Group>,
}

impl Tables {
    fn insert(&mut self, single: Single) {
        let key = single.key();
        if let Some(group) = self.groups.find_mut(spread(key), |group| group.key == key) {
            group.add(&single);
            return;
        }
        match self.singles.entry(
            spread(key),
            |known| known.key() == key,
            |known| spread(known.key()),
        ) {
            Entry::Vacant(place) => {
                place.insert(single);
            }
            Entry::Occupied(place) => {
                let (first, _) = place.remove();
                let mut group = Group::new(key);
                group.add(&first);
                group.add(&single);
                self.groups
                    .insert_unique(spread(key), group, |known| spread(known.key));
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        for group in &other.groups {
            self.insert_group(group);
        }
        for &single in &other.singles {
            self.insert(single);
        }
    }

    fn insert_group(&mut self, theirs: &Group) {
        let key = theirs.key;
        let group = self
            .groups
            .entry(
                spread(key),
                |known| known.key == key,
                |known| spread(known.key),
            )
            .or_insert_with(|| Group::new(key))
            .into_mut();
        group.merge(theirs);
        if let Ok(place) = self
            .singles
            .find_entry(spread(key), |known| known.key() == key)
        {
            let (single, _) = place.remove();
            group.add(&single);
        }
    }
}

/// The one answer of a case.
#[derive(Clone, Copy, Debug)]
struct Single {
    /// The key, with one of the verdicts below in its lowest two bits.
    key_and_verdict: u64,
    /// NaN without a score.
    score: f64,
}

const UNDECIDED: u64 = 0;
const NOT_PASSED: u64 = 1;
const PASSED: u64 = 2;
const VERDICT_BITS: u64 = 3;

impl Single {
    fn new(key: u64, score: Option<f64>, passed: Option<bool>) -> Self {
        let verdict = match passed {
            None => UNDECIDED,
            Some(false) => NOT_PASSED,
            Some(true) => PASSED,
        };
        Self {
            key_and_verdict: key & !VERDICT_BITS | verdict,
            score: score.unwrap_or(f64::NAN),
        }
    }

    fn key(&self) -> u64 {
        self.key_and_verdict & !VERDICT_BITS
    }

    fn score(&self) -> Option<f64> {
        (!self.score.is_nan()).then_some(self.score)
    }

    fn passed(&self) -> Option<bool> {
        match self.key_and_verdict & VERDICT_BITS {
            PASSED => Some(true),
            NOT_PASSED => Some(false),
            _ => None,
        }
    }
}

/// The answers of a case that has several.
#[derive(Clone, Debug)]
struct Group {
    key: u64,
    scores: ExactSum,
    scored: u64,
    decided: u64,
    passed: u64,
}

impl Group {
    fn new(key: u64) -> Self {
        Self {
            key,
            scores: ExactSum::new(),
            scored: 0,
            decided: 0,
            passed: 0,
        }
    }

    fn add(&mut self, single: &Single) {
        if let Some(score) = single.score() {
            self.scores.add(score);
            self.scored += 1;
        }
        if let Some(passed) = single.passed() {
            self.decided += 1;
            self.passed += u64::from(passed);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.scores.merge(&other.scores);
        self.scored += other.scored;
        self.decided += other.decided;
        self.passed += other.passed;
    }
}

/// Where a key goes in a table: its lowest bits are free for the verdict, so others take their place.
fn spread(key: u64) -> u64 {
    key ^ key >> 32
}

/// `Σ_c (S_c - n_c × mean)²`, the same in every order of the clusters.
struct DeviationSum {
    mean: f64,
    clusters: u64,
    n: u64,
    squares: ExactSum,
}

impl DeviationSum {
    fn new(mean: f64) -> Self {
        Self {
            mean,
            clusters: 0,
            n: 0,
            squares: ExactSum::new(),
        }
    }

    fn add(&mut self, n: u64, sum: f64) {
        if n > 0 {
            self.clusters += 1;
            self.n += n;
            self.squares.add_square((-self.mean).mul_add(n as f64, sum));
        }
    }

    fn finish(self) -> Deviations {
        Deviations {
            clusters: self.clusters,
            n: self.n,
            squares: self.squares.value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_run_without_repeats_is_dropped_at_the_limit() {
        let mut clusters = Clusters::new(3);
        for key in 1..=2 {
            clusters.push(once(key), Some(0.5), None);
        }
        assert!(!clusters.dropped() && !clusters.repeats());
        clusters.push(once(3), Some(0.5), None);
        assert!(clusters.dropped() && !clusters.missed());
        assert_eq!(clusters.notes.capacity(), 0);
        clusters.push(once(4), Some(0.5), None);
        assert!(!clusters.missed());
        clusters.push(again(1), Some(0.5), None);
        assert!(clusters.missed());
    }

    #[test]
    fn a_repeat_before_the_limit_keeps_all() {
        let mut clusters = Clusters::new(3);
        for case in [
            once(1),
            again(1),
            once(2),
            once(3),
            once(4),
            once(5),
            again(5),
        ] {
            clusters.push(case, Some(1.0), Some(true));
        }
        assert!(clusters.repeats() && !clusters.dropped());
        let deviations = clusters.score_deviations(1.0);
        assert_eq!(
            (deviations.clusters, deviations.n, deviations.squares),
            (5, 7, 0.0)
        );
    }

    #[test]
    fn scores_and_verdicts_are_counted_apart() {
        let mut clusters = Clusters::default();
        clusters.push(once(1), Some(0.2), None);
        clusters.push(again(1), None, Some(true));
        clusters.push(once(2), None, Some(false));
        clusters.push(once(3), None, None);
        let scores = clusters.score_deviations(0.2);
        assert_eq!((scores.clusters, scores.n), (1, 1));
        let passes = clusters.pass_deviations(0.5);
        assert_eq!((passes.clusters, passes.n, passes.squares), (2, 2, 0.5));
    }

    #[test]
    fn dropped_parts_that_miss_repeats_say_so() {
        let mut dropped = Clusters::new(1);
        dropped.push(once(9), Some(1.0), None);
        let mut grouped = Clusters::default();
        grouped.push(once(1), Some(1.0), None);
        let mut plain = dropped.clone();
        plain.merge(&grouped);
        assert!(plain.dropped() && !plain.missed());
        grouped.push(again(1), Some(1.0), None);
        grouped.merge(&dropped);
        assert!(grouped.dropped() && grouped.missed() && !grouped.repeats());
    }

    proptest! {
        #[test]
        fn any_split_equals_one_pass(answers in answers(), shards in 1_usize..8) {
            let whole = of(&answers);
            let mut joined = Clusters::default();
            for shard in (0..shards).rev() {
                joined.merge(&of(&answers.iter().skip(shard).step_by(shards).copied().collect::<Vec<_>>()));
            }
            prop_assert_eq!(figures(&joined), figures(&whole));
        }

        #[test]
        fn merge_is_associative_and_commutative(a in answers(), b in answers(), c in answers()) {
            let [a, b, c] = [of(&a), of(&b), of(&c)];
            let merged = |x: &Clusters, y: &Clusters| {
                let mut x = x.clone();
                x.merge(y);
                x
            };
            let left = figures(&merged(&merged(&a, &b), &c));
            prop_assert_eq!(left, figures(&merged(&a, &merged(&b, &c))));
            prop_assert_eq!(left, figures(&merged(&c, &merged(&b, &a))));
        }
    }

    type Answered = (u64, Option<f64>, Option<bool>);

    fn answers() -> impl Strategy<Value = Vec<Answered>> {
        let answer = (
            0_u64..12,
            prop::option::of(0.0_f64..1.0),
            prop::option::of(any::<bool>()),
        );
        prop::collection::vec(answer, 0..40)
    }

    /// Every answer but that of case 0 is said to be a repeat, as some part of the run may have had the first.
    fn of(answers: &[Answered]) -> Clusters {
        let mut clusters = Clusters::default();
        for &(key, score, passed) in answers {
            clusters.push(
                Case {
                    repeated: key > 0,
                    ..once(key)
                },
                score,
                passed,
            );
        }
        clusters
    }

    fn figures(clusters: &Clusters) -> (bool, u64, u64, u64, u64, u64) {
        let (scores, passes) = (
            clusters.score_deviations(0.37),
            clusters.pass_deviations(0.63),
        );
        let bits = (scores.squares.to_bits(), passes.squares.to_bits());
        (
            clusters.repeats(),
            scores.clusters,
            scores.n,
            bits.0,
            passes.clusters,
            bits.1,
        )
    }

    fn once(key: u64) -> Case {
        Case {
            key: key << 8,
            repeated: false,
        }
    }

    fn again(key: u64) -> Case {
        Case {
            key: key << 8,
            repeated: true,
        }
    }
}
