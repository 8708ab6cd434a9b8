//! Quantiles of any number of scores in bounded memory.
//!
//! A check's scores are often few different numbers (0 and 1, or five grades), so different values are counted
//! first: such a check costs some bytes however long the run is. With more than [`MAX_DISTINCT`] of them all
//! values are kept, up to [`MAX_EXACT`]; beyond that they are counted in bins of a fixed layout. Which of the
//! three holds, and what it holds, depends on the values alone, so parts merge in any order to the same figures.

use std::collections::BTreeMap;
use std::iter::once;
use std::mem::take;

/// Up to so many different values are counted, however often each occurs.
pub const MAX_DISTINCT: usize = 64;

/// Up to so many values are kept when there are more different ones.
pub const MAX_EXACT: usize = 100_000;

/// The bound on the relative error of an approximate quantile.
///
/// The bins' own bound is 1/256: half of a bin's width beside its lower end.
pub const RELATIVE_ERROR: f64 = 0.005;

/// A collection of finite numbers that answers for its quantiles.
///
/// Takes 16 bytes for each different value up to 64 of them, then 8 bytes for each value up to 100,000
/// (0.8 MB), then 1 kB for each power of two between the smallest and the largest that occur.
#[derive(Clone, Debug)]
pub struct Quantiles {
    n: u64,
    min: f64,
    max: f64,
    /// Different values in ascending order, each with its count; empty from the 65th different value on.
    distinct: Vec<(f64, u64)>,
    /// All values, in no order; empty before that, and once there is a sketch.
    values: Vec<f64>,
    sketch: Option<Sketch>,
}

impl Default for Quantiles {
    fn default() -> Self {
        Self {
            n: 0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
            distinct: Vec::new(),
            values: Vec::new(),
            sketch: None,
        }
    }
}

impl Quantiles {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a number. One that is not finite is left out; -0 counts as 0.
    #[inline]
    pub fn push(&mut self, value: f64) {
        self.push_many(value, 1);
    }

    pub fn merge(&mut self, other: &Self) {
        if let Some(theirs) = &other.sketch {
            self.n += other.n;
            self.min = self.min.min(other.min);
            self.max = self.max.max(other.max);
            self.sketch().merge(theirs);
        }
        other
            .distinct
            .iter()
            .for_each(|&(value, count)| self.push_many(value, count));
        other.values.iter().for_each(|&value| self.push(value));
    }

    pub fn n(&self) -> u64 {
        self.n
    }

    /// Whether quantiles are good to [`RELATIVE_ERROR`] only.
    pub fn approximate(&self) -> bool {
        self.sketch.is_some()
    }

    /// The middle number, or the mean of the middle two: `quantile(0.5)`.
    pub fn median(&mut self) -> Option<f64> {
        self.quantile(0.5)
    }

    /// The quantile at `p` in `[0, 1]` by linear interpolation between the two numbers around the 0-based
    /// position `(n - 1) p`: type 7 of Hyndman & Fan 1996, the default of NumPy, R and spreadsheets.
    ///
    /// `None` of no numbers, or for another `p`. Takes `&mut self` since it may reorder kept values.
    pub fn quantile(&mut self, p: f64) -> Option<f64> {
        let position = whole_if_close(self.n.checked_sub(1)? as f64 * share(p)?);
        let (lower, upper) = self.pair_at(position as u64)?;
        let weight = position.fract();
        Some((lower * (1.0 - weight) + upper * weight).clamp(lower, upper))
    }

    /// The quantile at `p` in `[0, 1]` as the smallest of the numbers that at least the share `p` of them does
    /// not exceed, the one of rank `⌈n p⌉`: type 1 of Hyndman & Fan 1996, NumPy's `inverted_cdf`.
    ///
    /// `None` of no numbers, or for another `p`.
    pub fn inverted_cdf(&mut self, p: f64) -> Option<f64> {
        let rank = whole_if_close(self.n as f64 * share(p)?).ceil() as u64;
        self.pair_at(rank.saturating_sub(1)).map(|(value, _)| value)
    }

    /// The same value so many times.
    pub fn push_many(&mut self, value: f64, count: u64) {
        if !value.is_finite() || count == 0 {
            return;
        }
        let value = value + 0.0;
        self.n += count;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        if let Some(sketch) = &mut self.sketch {
            sketch.add(value, count);
        } else if self.values.is_empty() && count_distinct(&mut self.distinct, value, count) {
            // Counted; nothing is left to do.
        } else if self.n > MAX_EXACT as u64 {
            self.sketch().add(value, count);
        } else {
            for (value, count) in take(&mut self.distinct) {
                keep(&mut self.values, value, count);
            }
            keep(&mut self.values, value, count);
        }
    }

    /// The sketch. On first use all that is held moves into it, and its memory is freed.
    fn sketch(&mut self) -> &mut Sketch {
        let Self {
            distinct,
            values,
            sketch,
            ..
        } = self;
        sketch.get_or_insert_with(|| {
            let mut sketch = Sketch::default();
            for (value, count) in take(distinct) {
                sketch.add(value, count);
            }
            for value in take(values) {
                sketch.add(value, 1);
            }
            sketch
        })
    }

    /// The number of 0-based `rank` in ascending order, and the one after it (itself where it is the last).
    fn pair_at(&mut self, rank: u64) -> Option<(f64, f64)> {
        if let Some(sketch) = &self.sketch {
            let (lower, upper) = pair_of_counts(sketch.bins(), rank)?;
            Some((
                lower.clamp(self.min, self.max),
                upper.clamp(self.min, self.max),
            ))
        } else if self.values.is_empty() {
            pair_of_counts(self.distinct.iter().copied(), rank)
        } else {
            pair_of_values(&mut self.values, rank as usize)
        }
    }
}

fn share(p: f64) -> Option<f64> {
    (0.0..=1.0).contains(&p).then_some(p)
}

/// `x`, or the whole number it misses by no more than rounding: 0.07 × 100 is 7, not 7.000000000000001.
fn whole_if_close(x: f64) -> f64 {
    let whole = x.round();
    if (x - whole).abs() <= 4.0 * f64::EPSILON * x {
        whole
    } else {
        x
    }
}

/// Counts `value` among the different ones; false, and nothing changed, where it would be one too many.
#[inline]
fn count_distinct(distinct: &mut Vec<(f64, u64)>, value: f64, count: u64) -> bool {
    match distinct.binary_search_by(|(known, _)| known.total_cmp(&value)) {
        Ok(place) => {
            if let Some((_, known)) = distinct.get_mut(place) {
                *known += count;
            }
            true
        }
        Err(place) if distinct.len() < MAX_DISTINCT => {
            distinct.insert(place, (value, count));
            true
        }
        Err(_) => false,
    }
}

/// Appends `value` so often. Doubles the room when it is used up, but never beyond [`MAX_EXACT`].
#[inline]
fn keep(values: &mut Vec<f64>, value: f64, count: u64) {
    let count = count as usize;
    let needed = values.len() + count;
    if needed > values.capacity() {
        let room = (2 * values.capacity())
            .clamp(4 * MAX_DISTINCT, MAX_EXACT)
            .max(needed);
        values.reserve_exact(room - values.len());
    }
    values.extend(std::iter::repeat_n(value, count));
}

fn pair_of_counts(counts: impl Iterator<Item = (f64, u64)>, rank: u64) -> Option<(f64, f64)> {
    let mut seen = 0;
    let mut lower = None;
    for (value, count) in counts {
        seen += count;
        if let Some(lower) = lower {
            return Some((lower, value));
        } else if rank + 1 < seen {
            return Some((value, value));
        } else if rank < seen {
            lower = Some(value);
        }
    }
    lower.map(|last| (last, last))
}

fn pair_of_values(values: &mut [f64], rank: usize) -> Option<(f64, f64)> {
    if rank >= values.len() {
        return None;
    }
    let (_, &mut lower, above) = values.select_nth_unstable_by(rank, f64::total_cmp);
    let upper = above
        .iter()
        .copied()
        .min_by(f64::total_cmp)
        .unwrap_or(lower);
    Some((lower, upper))
}

/// Counts of values in bins whose bounds are fixed: each power of two is cut into [`BINS`] equal parts, the
/// layout of an HDR histogram, read off the bits of a float. No logarithm, so all machines agree.
#[derive(Clone, Debug, Default)]
struct Sketch {
    zeros: u64,
    positive: Half,
    /// By absolute value.
    negative: Half,
}

const BINS: usize = 1 << BIN_BITS;
const BIN_BITS: u32 = 7;
/// The bits of a float below those that name its bin.
const BELOW_BITS: u32 = 52 - BIN_BITS;

impl Sketch {
    fn add(&mut self, value: f64, count: u64) {
        if value > 0.0 {
            self.positive.add(value, count);
        } else if value < 0.0 {
            self.negative.add(-value, count);
        } else {
            self.zeros += count;
        }
    }

    fn merge(&mut self, other: &Self) {
        self.zeros += other.zeros;
        self.positive.merge(&other.positive);
        self.negative.merge(&other.negative);
    }

    /// The middle and the count of each bin in ascending order.
    fn bins(&self) -> impl Iterator<Item = (f64, u64)> {
        let negative = self
            .negative
            .bins()
            .rev()
            .map(|(middle, count)| (-middle, count));
        negative
            .chain(once((0.0, self.zeros)))
            .chain(self.positive.bins())
            .filter(|&(_, count)| count > 0)
    }
}

/// The bins of one sign, by exponent field.
#[derive(Clone, Debug, Default)]
struct Half(BTreeMap<u32, Box<[u64; BINS]>>);

impl Half {
    fn add(&mut self, magnitude: f64, count: u64) {
        let bin = magnitude.to_bits() >> BELOW_BITS;
        let octave = self
            .0
            .entry((bin >> BIN_BITS) as u32)
            .or_insert_with(|| Box::new([0; BINS]));
        if let Some(known) = octave.get_mut(bin as usize % BINS) {
            *known += count;
        }
    }

    fn merge(&mut self, other: &Self) {
        for (&exponent, theirs) in &other.0 {
            let ours = self
                .0
                .entry(exponent)
                .or_insert_with(|| Box::new([0; BINS]));
            for (known, count) in ours.iter_mut().zip(theirs.iter()) {
                *known += count;
            }
        }
    }

    fn bins(&self) -> impl DoubleEndedIterator<Item = (f64, u64)> {
        self.0.iter().flat_map(|(&exponent, counts)| {
            counts
                .iter()
                .enumerate()
                .map(move |(part, &count)| (middle(exponent, part), count))
        })
    }
}

fn middle(exponent: u32, part: usize) -> f64 {
    let bin = u64::from(exponent) << BIN_BITS | part as u64;
    f64::from_bits(bin << BELOW_BITS | 1 << (BELOW_BITS - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_collections() {
        // numpy.quantile(values, p), and with method="inverted_cdf"
        let cases: &[(&[f64], f64, f64, f64)] = &[
            (&[3.0], 0.9, 3.0, 3.0),
            (&[1.0, 2.0], 0.5, 1.5, 1.0),
            (&[3.0, 1.0, 2.0], 0.5, 2.0, 2.0),
            (&[0.1, 0.5, 0.9, 1.0], 0.2, 0.34, 0.1),
            (&[0.1, 0.5, 0.9, 1.0], 0.9, 0.97, 1.0),
            (
                &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
                0.2,
                2.8,
                2.0,
            ),
            (
                &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
                0.9,
                9.1,
                9.0,
            ),
            (&[-2.0, -1.0, 0.0, 1.0], 0.5, -0.5, -1.0),
            (&[-2.0, -1.0, 0.0, 1.0], 0.0, -2.0, -2.0),
            (&[-2.0, -1.0, 0.0, 1.0], 1.0, 1.0, 1.0),
            (&[0.0, 0.0, 1.0, 1.0], 0.5, 0.5, 0.0),
            (&[f64::MAX, f64::MAX], 0.5, f64::MAX, f64::MAX),
        ];
        for &(values, p, interpolated, inverted) in cases {
            let mut quantiles = of(values);
            let found = quantiles.quantile(p).unwrap();
            assert!(
                (found - interpolated).abs() <= 1e-12,
                "{values:?} at {p}: {found}"
            );
            assert_eq!(
                quantiles.inverted_cdf(p),
                Some(inverted),
                "{values:?} at {p}"
            );
        }
    }

    #[test]
    fn what_is_undefined_is_none() {
        let mut none = of(&[f64::NAN, f64::INFINITY]);
        assert_eq!(
            (none.n(), none.median(), none.inverted_cdf(0.5)),
            (0, None, None)
        );
        for p in [-0.1, 1.1, f64::NAN] {
            assert_eq!(
                (of(&[1.0]).quantile(p), of(&[1.0]).inverted_cdf(p)),
                (None, None)
            );
        }
    }

    #[test]
    fn ranks_that_rounding_misses() {
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        for percent in 1..=100 {
            assert_eq!(
                of(&hundred).inverted_cdf(f64::from(percent) / 100.0),
                Some(f64::from(percent))
            );
        }
    }

    #[test]
    fn few_different_values_stay_exact_and_small() {
        let mut quantiles = Quantiles::new();
        for turn in 0..=1_000_000_u32 {
            quantiles.push(f64::from(turn % 10 / 3));
        }
        assert!(!quantiles.approximate());
        assert_eq!(
            (quantiles.distinct.len(), quantiles.values.capacity()),
            (4, 0)
        );
        assert_eq!(
            (quantiles.median(), quantiles.quantile(0.9)),
            (Some(1.0), Some(2.0))
        );
    }

    #[test]
    fn kept_values_end_at_the_limit_and_are_freed() {
        let mut quantiles = Quantiles::new();
        for turn in 0..MAX_EXACT as u32 {
            quantiles.push(f64::from(turn));
        }
        assert!(!quantiles.approximate());
        assert_eq!(quantiles.values.capacity(), MAX_EXACT);
        assert_eq!(quantiles.median(), Some(49_999.5));
        quantiles.push(0.5);
        assert!(quantiles.approximate());
        assert_eq!(
            (quantiles.values.capacity(), quantiles.distinct.capacity()),
            (0, 0)
        );
        assert_eq!(
            (quantiles.quantile(0.0), quantiles.quantile(1.0)),
            (Some(0.0), Some(99_999.0))
        );
    }

    #[test]
    fn the_sketch_is_within_its_bound_at_every_percent() {
        let value = |turn: u32| (f64::from(turn) - 60_000.0).powi(3) / 1e9;
        let mut values: Vec<f64> = (0..200_001).map(value).collect();
        let mut quantiles = of(&values);
        values.sort_by(f64::total_cmp);
        assert!(quantiles.approximate());
        for percent in 0..=100 {
            let exact = values[percent * 2000];
            let found = quantiles.quantile(percent as f64 / 100.0).unwrap();
            assert!(
                (found - exact).abs() <= RELATIVE_ERROR * exact.abs(),
                "p{percent}: {found}, not {exact}"
            );
        }
    }

    #[test]
    fn seven_shards_are_one_run_on_each_side_of_the_limits() {
        for (n, different) in [
            (60, 60),
            (70, 70),
            (1000, 64),
            (150_000, 64),
            (99_999, 90_000),
            (150_000, 90_000),
        ] {
            let values: Vec<f64> = (0..n)
                .map(|turn| f64::from(turn * 7919 % different) / 1000.0)
                .collect();
            let mut whole = of(&values);
            let mut joined = Quantiles::new();
            for shard in [3, 0, 6, 1, 5, 2, 4] {
                joined.merge(&of(&values
                    .iter()
                    .skip(shard)
                    .step_by(7)
                    .copied()
                    .collect::<Vec<_>>()));
            }
            assert_eq!(
                joined.approximate(),
                whole.approximate(),
                "{n} of {different}"
            );
            assert_eq!(
                answers(&mut joined),
                answers(&mut whole),
                "{n} of {different}"
            );
        }
    }

    proptest! {
        #[test]
        fn exact_quantiles_are_those_of_the_sorted_numbers(
            mut values in prop::collection::vec(-1e3_f64..1e3, 1..300), p in 0.0_f64..=1.0,
        ) {
            let mut quantiles = of(&values);
            values.sort_by(f64::total_cmp);
            let position = (values.len() - 1) as f64 * p;
            let (below, above) = (values[position.floor() as usize], values[position.ceil() as usize]);
            let expected = below + (above - below) * position.fract();
            prop_assert!((quantiles.quantile(p).unwrap() - expected).abs() <= 1e-9);
            prop_assert!(values.contains(&quantiles.inverted_cdf(p).unwrap()));
        }

        #[test]
        fn a_bin_holds_its_values_within_the_bound(bits in 0x0010_0000_0000_0000_u64..0x7ff0_0000_0000_0000) {
            let value = f64::from_bits(bits);
            let mut sketch = Sketch::default();
            sketch.add(-value, 1);
            let (middle, count) = sketch.bins().next().unwrap();
            prop_assert_eq!(count, 1);
            prop_assert!((middle + value).abs() <= RELATIVE_ERROR * value);
        }

        #[test]
        fn merge_is_associative_and_commutative(a in scores(), b in scores(), c in scores()) {
            let [a, b, c] = [of(&a), of(&b), of(&c)];
            let merged = |x: &Quantiles, y: &Quantiles| {
                let mut x = x.clone();
                x.merge(y);
                x
            };
            let left = answers(&mut merged(&merged(&a, &b), &c));
            prop_assert_eq!(&left, &answers(&mut merged(&a, &merged(&b, &c))));
            prop_assert_eq!(&left, &answers(&mut merged(&c, &merged(&b, &a))));
        }
    }

    fn scores() -> impl Strategy<Value = Vec<f64>> {
        prop_oneof![
            prop::collection::vec(0.0_f64..1.0, 0..100),
            prop::collection::vec(prop::sample::select(vec![0.0, 1.0, -0.0]), 0..100),
        ]
    }

    fn of(values: &[f64]) -> Quantiles {
        let mut quantiles = Quantiles::new();
        for &value in values {
            quantiles.push(value);
        }
        quantiles
    }

    fn answers(quantiles: &mut Quantiles) -> Vec<Option<u64>> {
        [0.0, 0.1, 0.25, 0.5, 0.9, 0.99, 1.0]
            .into_iter()
            .flat_map(|p| [quantiles.quantile(p), quantiles.inverted_cdf(p)])
            .map(|answer| answer.map(f64::to_bits))
            .collect()
    }
}
