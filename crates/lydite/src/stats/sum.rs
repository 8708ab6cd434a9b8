//! Exactly rounded sums that do not depend on the order of their terms.
//!
//! A float is an integer times a power of two, so a sum of floats can be kept as one long integer and be
//! rounded once, when it is read (a superaccumulator: Kulisch 1986; Neal, "Fast exact summation using small
//! and large superaccumulators", arXiv:1505.05571). Scores and their squares nearly always fit a window of
//! 128 bits; what does not goes to limbs that are allocated on first use.

/// The sum of any number of floats, rounded once.
///
/// 32 bytes, and some hundred more once values outside of the window were added; never above 1.2 kB.
/// Infinities and NaN follow IEEE 754: the sum is what adding them to a finite number gives.
#[derive(Clone, Debug, Default)]
pub struct ExactSum {
    /// In units of 2^[`WINDOW_EXPONENT`]; below 2^125 in absolute value.
    window: i128,
    wide: Option<Box<Wide>>,
    /// The sum of the infinite and NaN terms; 0 where there were none.
    special: f64,
}

/// One unit of the window is 2^-112, the last bit of the square of a score in [1/16, 1].
const WINDOW_EXPONENT: i32 = -112;

/// The window is emptied into the limbs when it reaches 2^125, so that one more term cannot overflow it.
const WINDOW_LIMIT: u128 = 1 << 125;

/// A term that goes to the window is below 2^124 of its units.
const WINDOW_TERM_BITS: i32 = 124;

impl ExactSum {
    pub fn new() -> Self {
        Self::default()
    }

    #[inline]
    pub fn add(&mut self, value: f64) {
        match Parts::of(value) {
            Some(parts) => self.add_scaled(
                u128::from(parts.mantissa),
                53,
                parts.exponent,
                parts.negative,
            ),
            None => self.special += value,
        }
    }

    /// Adds `value²` without rounding it first.
    #[inline]
    pub fn add_square(&mut self, value: f64) {
        match Parts::of(value) {
            Some(parts) => {
                let mantissa = u128::from(parts.mantissa);
                self.add_scaled(mantissa * mantissa, 106, 2 * parts.exponent, false);
            }
            None => self.special += value * value,
        }
    }

    pub fn merge(&mut self, other: &Self) {
        self.window += other.window;
        if let Some(theirs) = &other.wide {
            self.wide.get_or_insert_default().merge(theirs);
        }
        self.special += other.special;
        self.empty_full_window();
    }

    /// The sum, rounded to nearest, ties to even. Zero is positive; beyond the range of f64 it is infinite.
    pub fn value(&self) -> f64 {
        if self.special != 0.0 || self.special.is_nan() {
            return self.special;
        }
        match &self.wide {
            None => self.window as f64 * power_of_two(WINDOW_EXPONENT),
            Some(wide) => {
                let mut all = Wide::clone(wide);
                all.add(self.window.unsigned_abs(), WINDOW_EXPONENT, self.window < 0);
                all.round()
            }
        }
    }

    /// The sum as an unevaluated `high + low`, where `high` is [`value`](Self::value) and `low` what
    /// rounding took away: about 106 bits.
    pub fn value_pair(&self) -> (f64, f64) {
        let high = self.value();
        if !high.is_finite() {
            return (high, 0.0);
        }
        let mut rest = self.clone();
        rest.add(-high);
        (high, rest.value())
    }

    /// Adds `±mantissa × 2^exponent`, where `mantissa` is below `2^bits`.
    #[inline]
    fn add_scaled(&mut self, mantissa: u128, bits: i32, exponent: i32, negative: bool) {
        let shift = exponent - WINDOW_EXPONENT;
        if (0..=WINDOW_TERM_BITS - bits).contains(&shift) {
            let sign = -i128::from(negative);
            self.window += ((mantissa << shift) as i128 ^ sign) - sign;
            self.empty_full_window();
        } else {
            self.wide
                .get_or_insert_default()
                .add(mantissa, exponent, negative);
        }
    }

    #[inline]
    fn empty_full_window(&mut self) {
        let window = self.window;
        if window.unsigned_abs() >= WINDOW_LIMIT {
            self.wide.get_or_insert_default().add(
                window.unsigned_abs(),
                WINDOW_EXPONENT,
                window < 0,
            );
            self.window = 0;
        }
    }
}

/// Count, sum and sum of squares of some numbers: what a mean and its interval need.
#[derive(Clone, Debug, Default)]
pub struct Moments {
    n: u64,
    sum: ExactSum,
    squares: ExactSum,
}

impl Moments {
    pub fn new() -> Self {
        Self::default()
    }

    /// So many zeros and ones at once, whose sum and sum of squares are the same exact number.
    pub fn push_zeros_and_ones(&mut self, zeros: u64, ones: u64) {
        self.n += zeros + ones;
        self.sum.add(ones as f64);
        self.squares.add(ones as f64);
    }

    #[inline]
    pub fn push(&mut self, value: f64) {
        self.n += 1;
        self.sum.add(value);
        self.squares.add_square(value);
    }

    pub fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.sum.merge(&other.sum);
        self.squares.merge(&other.squares);
    }

    pub fn n(&self) -> u64 {
        self.n
    }

    pub fn sum(&self) -> f64 {
        self.sum.value()
    }

    /// `None` of no numbers.
    pub fn mean(&self) -> Option<f64> {
        let n = self.n as f64;
        let (high, low) = self.sum.value_pair();
        let quotient = high / n;
        let remainder = (-quotient).mul_add(n, high) + low;
        let mean = quotient + remainder / n;
        match self.n {
            0 => None,
            _ if mean.is_finite() => Some(mean),
            _ => Some(quotient),
        }
    }

    /// The sample variance (divisor n - 1); `None` for n < 2, or where squares leave the range of f64.
    ///
    /// The textbook formula `(Σx² - (Σx)²/n) / (n - 1)` loses all digits when the spread is small beside the
    /// mean; here both sums are exact and their difference is taken with 106 bits. Equal numbers give 0.
    pub fn variance(&self) -> Option<f64> {
        if self.n < 2 {
            return None;
        }
        let n = self.n as f64;
        let (sum, sum_low) = self.sum.value_pair();
        let (squares, squares_low) = self.squares.value_pair();
        let (left, left_low) = two_product(n, squares);
        let (right, right_low) = two_product(sum, sum);
        let low = (left_low - right_low) + (n * squares_low - 2.0 * sum * sum_low);
        let difference = (left - right) + low;
        // Below this the difference is what is left of rounding at 106 bits.
        let noise = right * power_of_two(-98);
        if !difference.is_finite() {
            None
        } else if difference <= noise {
            Some(0.0)
        } else {
            Some(difference / n / (n - 1.0))
        }
    }
}

/// `a × b` as an unevaluated sum of two floats (Dekker 1971).
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// A finite float as `±mantissa × 2^exponent`.
struct Parts {
    /// Below 2^53.
    mantissa: u64,
    /// Of a zero, one that the window takes.
    exponent: i32,
    negative: bool,
}

impl Parts {
    /// Without a branch on the value, apart from the one for infinities and NaN: scores of 0 and 1 in random
    /// order would be mispredicted half of the time.
    #[inline]
    fn of(value: f64) -> Option<Self> {
        let bits = value.to_bits();
        let field = (bits >> 52) as i32 & 0x7ff;
        if field == 0x7ff {
            return None;
        }
        let normal = u64::from(field != 0);
        let fraction = bits & ((1 << 52) - 1);
        let mantissa = fraction | normal << 52;
        let exponent = if mantissa == 0 {
            WINDOW_EXPONENT / 2
        } else {
            field - 1074 - normal as i32
        };
        Some(Self {
            mantissa,
            exponent,
            negative: value.is_sign_negative(),
        })
    }
}

/// A long integer in limbs of 32 bits, each in an i64 so that carries can wait.
///
/// Its value is `Σ limbs[i] × 2^(32 × (base + i))`. Terms lie between 2^-2148 and 2^2048, so there are never
/// more than about 140 limbs.
#[derive(Clone, Debug, Default)]
struct Wide {
    base: i32,
    limbs: Vec<i64>,
    /// Terms since carries were last propagated. Each adds less than 2^33 to a limb.
    pending: u32,
}

const LIMB_BITS: i32 = 32;
const LIMB_MASK: u64 = 0xffff_ffff;
const MAX_PENDING: u32 = 1 << 28;

impl Wide {
    fn add(&mut self, mantissa: u128, exponent: i32, negative: bool) {
        let first = exponent.div_euclid(LIMB_BITS);
        let shift = exponent.rem_euclid(LIMB_BITS);
        self.reserve(first, first + 5);
        let start = (first - self.base) as usize;
        let mut rest = mantissa;
        let mut carry = 0;
        for limb in self.limbs.iter_mut().skip(start).take(5) {
            let piece = ((rest as u64 & LIMB_MASK) << shift) + carry;
            let part = (piece & LIMB_MASK) as i64;
            *limb += if negative { -part } else { part };
            carry = piece >> LIMB_BITS;
            rest >>= LIMB_BITS;
        }
        self.pending += 1;
        self.propagate_if_due();
    }

    fn merge(&mut self, other: &Self) {
        if other.limbs.is_empty() {
            return;
        }
        self.reserve(other.base, other.base + other.limbs.len() as i32);
        let start = (other.base - self.base) as usize;
        for (limb, theirs) in self.limbs.iter_mut().skip(start).zip(&other.limbs) {
            *limb += theirs;
        }
        self.pending += other.pending + 1;
        self.propagate_if_due();
    }

    /// Makes limbs for the exponents `32 × from .. 32 × to`.
    fn reserve(&mut self, from: i32, to: i32) {
        if self.limbs.is_empty() {
            self.base = from;
        }
        if from < self.base {
            let missing = (self.base - from) as usize;
            self.limbs.splice(0..0, std::iter::repeat_n(0, missing));
            self.base = from;
        }
        let needed = (to - self.base) as usize;
        if needed > self.limbs.len() {
            self.limbs.resize(needed, 0);
        }
    }

    fn propagate_if_due(&mut self) {
        if self.pending >= MAX_PENDING {
            self.propagate();
        }
    }

    /// Brings every limb but the last into `0..2^32`; the last one carries the sign and stays within ±2^32.
    fn propagate(&mut self) {
        let mut carry = 0;
        for limb in &mut self.limbs {
            let total = *limb + carry;
            *limb = total & LIMB_MASK as i64;
            carry = total >> LIMB_BITS;
        }
        match (carry, self.limbs.last_mut()) {
            (0, _) => {}
            (-1, Some(last)) if *last != 0 => *last -= 1 << LIMB_BITS,
            _ => self.limbs.push(carry),
        }
        self.pending = 0;
    }

    /// The nearest float, ties to even.
    fn round(mut self) -> f64 {
        self.propagate();
        let negative = self.limbs.last().is_some_and(|&last| last < 0);
        if negative {
            self.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            self.propagate();
        }
        let magnitude = self.round_magnitude();
        if negative { -magnitude } else { magnitude }
    }

    /// As [`round`](Self::round), of limbs that are all in `0..2^32`.
    fn round_magnitude(&self) -> f64 {
        let Some(top) = self.limbs.iter().rposition(|&limb| limb != 0) else {
            return 0.0;
        };
        let top_limb = self.limbs.get(top).map_or(0, |&limb| limb as u64);
        let top_bit = LIMB_BITS * (self.base + top as i32) + top_limb.ilog2() as i32;
        let unit = (top_bit - 52).max(-1074);
        let (doubled, sticky) = self.bits_from(unit - 1);
        let mut mantissa = doubled >> 1;
        if doubled & 1 == 1 && (sticky || mantissa & 1 == 1) {
            mantissa += 1;
        }
        // The leading bit of a normal mantissa adds the missing 1 to the exponent field, and so does a
        // mantissa that rounding brought to 2^53.
        let field = (unit + 1074) as u64;
        if field >= 0x7fe {
            return f64::INFINITY;
        }
        f64::from_bits((field << 52) + mantissa)
    }

    /// The bits at and above `2^from` as an integer, and whether any bit below is set.
    /// The caller sees to it that they fit 64 bits.
    fn bits_from(&self, from: i32) -> (u64, bool) {
        let mut bits = 0;
        let mut sticky = false;
        for (position, &limb) in (self.base..).zip(&self.limbs) {
            let limb = limb as u64;
            let shift = LIMB_BITS * position - from;
            if shift >= 0 {
                bits |= limb.checked_shl(shift.unsigned_abs()).unwrap_or(0);
            } else {
                let below = shift.unsigned_abs();
                let kept = limb.checked_shr(below).unwrap_or(0);
                bits |= kept;
                sticky |= limb != kept.checked_shl(below).unwrap_or(0);
            }
        }
        (bits, sticky)
    }
}

/// 2^exponent for -1022 ..= 1023.
const fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sums_are_rounded_once() {
        let tiny = f64::from_bits(1);
        let cases: &[(&[f64], f64)] = &[
            (&[], 0.0),
            (&[-0.0], 0.0),
            (&[0.1, 0.2, 0.3], 0.6),
            (&[0.1; 10], 1.0),
            (&[1e100, 1.0, -1e100], 1.0),
            (&[1e308, 1e308, -1e308], 1e308),
            (&[f64::MAX, f64::MAX], f64::INFINITY),
            (&[-f64::MAX, -f64::MAX], f64::NEG_INFINITY),
            (&[f64::MAX, -f64::MAX, tiny], tiny),
            (&[tiny, tiny, tiny], 3.0 * tiny),
            (&[-tiny], -tiny),
            (&[1.0, f64::EPSILON / 2.0], 1.0),
            (&[1.0, f64::EPSILON / 2.0, tiny], 1.0 + f64::EPSILON),
            (
                &[1.0 + f64::EPSILON, f64::EPSILON / 2.0],
                1.0 + 2.0 * f64::EPSILON,
            ),
            (&[f64::INFINITY, 1.0], f64::INFINITY),
        ];
        for (terms, expected) in cases {
            assert_eq!(
                sum_of(terms).value().to_bits(),
                expected.to_bits(),
                "{terms:?}"
            );
        }
        assert!(sum_of(&[f64::INFINITY, f64::NEG_INFINITY]).value().is_nan());
        assert!(sum_of(&[f64::NAN, 1.0]).value().is_nan());
    }

    #[test]
    fn long_sums_leave_the_window_without_loss() {
        let mut sum = ExactSum::new();
        for _ in 0..100_000 {
            sum.add(1.0);
            sum.add(-3.0);
        }
        assert_eq!(sum.value(), -200_000.0);
        assert!(sum.wide.is_some());
    }

    #[test]
    fn squares_out_of_range_become_infinite_or_zero() {
        let mut sum = ExactSum::new();
        sum.add_square(1e200);
        assert_eq!(sum.value(), f64::INFINITY);
        let mut sum = ExactSum::new();
        sum.add_square(1e-170);
        assert_eq!(sum.value(), 0.0);
    }

    #[test]
    fn equal_numbers_have_their_value_as_mean_and_no_variance() {
        for value in [0.1, 1.0 / 3.0, 0.837_219, 1e-9, 123_456.789, -0.7] {
            for n in [2, 3, 10, 1000] {
                let moments = moments_of(&vec![value; n]);
                assert_eq!(moments.mean(), Some(value), "{n} x {value}");
                assert_eq!(moments.variance(), Some(0.0), "{n} x {value}");
            }
        }
    }

    #[test]
    fn a_small_spread_beside_a_large_mean_is_kept() {
        let moments = moments_of(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        assert_eq!(moments.variance(), Some(30.0));
        assert_eq!(moments_of(&[1.0]).variance(), None);
        assert_eq!(moments_of(&[]).mean(), None);
        assert_eq!(moments_of(&[1e200, -1e200]).variance(), None);
    }

    proptest! {
        #[test]
        fn equals_the_exactly_rounded_reference(terms in terms()) {
            prop_assert_eq!(sum_of(&terms).value().to_bits(), reference_sum(&terms).to_bits());
        }

        #[test]
        fn order_does_not_matter(mut terms in terms(), seed: u64) {
            let before = sum_of(&terms).value();
            let by = |x: &f64| x.to_bits().wrapping_mul(seed | 1);
            terms.sort_by_key(by);
            prop_assert_eq!(sum_of(&terms).value().to_bits(), before.to_bits());
        }

        #[test]
        fn any_split_equals_one_pass(terms in terms(), shards in 1_usize..8) {
            let whole = moments_of(&terms);
            let mut parts: Vec<Moments> = (0..shards)
                .map(|shard| terms.iter().skip(shard).step_by(shards).copied().collect::<Vec<_>>())
                .map(|part| moments_of(&part))
                .collect();
            let mut joined = parts.pop().unwrap();
            while let Some(part) = parts.pop() {
                joined.merge(&part);
            }
            prop_assert_eq!(joined.n(), whole.n());
            prop_assert_eq!(joined.sum().to_bits(), whole.sum().to_bits());
            prop_assert_eq!(joined.mean().map(f64::to_bits), whole.mean().map(f64::to_bits));
            prop_assert_eq!(joined.variance().map(f64::to_bits), whole.variance().map(f64::to_bits));
        }

        #[test]
        fn merge_is_associative_and_commutative(a in terms(), b in terms(), c in terms()) {
            let [a, b, c] = [sum_of(&a), sum_of(&b), sum_of(&c)];
            let merged = |x: &ExactSum, y: &ExactSum| {
                let mut x = x.clone();
                x.merge(y);
                x
            };
            let left = merged(&merged(&a, &b), &c).value().to_bits();
            prop_assert_eq!(left, merged(&a, &merged(&b, &c)).value().to_bits());
            prop_assert_eq!(left, merged(&c, &merged(&b, &a)).value().to_bits());
        }

        #[test]
        fn squares_are_exact(value in -1e9_f64..1e9) {
            let mut sum = ExactSum::new();
            sum.add_square(value);
            prop_assert_eq!(sum.value_pair(), two_product(value, value));
        }
    }

    fn sum_of(terms: &[f64]) -> ExactSum {
        let mut sum = ExactSum::new();
        for &term in terms {
            sum.add(term);
        }
        sum
    }

    fn moments_of(values: &[f64]) -> Moments {
        let mut moments = Moments::new();
        for &value in values {
            moments.push(value);
        }
        moments
    }

    /// Scores, numbers of other sizes, and pairs that cancel.
    fn terms() -> impl Strategy<Value = Vec<f64>> {
        let term = prop_oneof![
            4 => 0.0_f64..=1.0,
            1 => Just(1.0),
            1 => -1e6_f64..1e6,
            1 => -1e-30_f64..1e-30,
            1 => prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL | prop::num::f64::ZERO,
        ];
        (prop::collection::vec(term, 0..40), 0_usize..10).prop_map(|(mut terms, cancelled)| {
            // Kept below 2^1000 so that the reference does not overflow on the way.
            terms.retain(|term| term.abs() < 1e300);
            let opposite: Vec<f64> = terms.iter().take(cancelled).map(|term| -term).collect();
            terms.extend(opposite);
            terms
        })
    }

    /// Shewchuk's growing expansions (1997), rounded as Python's `math.fsum` does.
    fn reference_sum(terms: &[f64]) -> f64 {
        let mut partials: Vec<f64> = Vec::new();
        for &term in terms {
            let mut x = term;
            let mut kept = Vec::new();
            for &partial in &partials {
                let (mut a, mut b) = (x, partial);
                if a.abs() < b.abs() {
                    std::mem::swap(&mut a, &mut b);
                }
                let high = a + b;
                let low = b - (high - a);
                if low != 0.0 {
                    kept.push(low);
                }
                x = high;
            }
            kept.push(x);
            partials = kept;
        }
        let Some(mut high) = partials.pop() else {
            return 0.0;
        };
        let mut low = 0.0;
        while let Some(next) = partials.pop() {
            let before = high;
            high = before + next;
            low = next - (high - before);
            if low != 0.0 {
                break;
            }
        }
        let same_side = partials
            .last()
            .is_some_and(|&next| (low < 0.0) == (next < 0.0) && next != 0.0);
        if low != 0.0 && same_side {
            let doubled = low * 2.0;
            let rounded = high + doubled;
            if doubled == rounded - high {
                high = rounded;
            }
        }
        high + 0.0
    }
}
