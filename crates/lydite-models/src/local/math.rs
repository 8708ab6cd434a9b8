//! The functions between the matrix products, each over vectors of numbers: exp, GELU, softmax, layer normalisation.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is compiled without the processor's vectors"
)]

use pulp::{Simd, WithSimd};

/// `e^x` for x in -87 to 88, within 2 units in the last place; smaller x as -87, which gives about 1e-38.
///
/// x = n·ln 2 + r with n whole and |r| ≤ ln 2 / 2 (ln 2 in two parts, after Cody and Waite); e^r by its Taylor
/// polynomial of degree 7, times 2^n by adding n to the exponent.
#[inline(always)]
pub(super) fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    /// 1.5 · 2^23: what is added to it is rounded to a whole number, which then stands in its lowest bits.
    const ROUNDER: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    const TAYLOR: [f32; 8] = [
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let x = simd.max_f32s(x, simd.splat_f32s(-87.0));
    let rounder = simd.splat_f32s(ROUNDER);
    let shifted = simd.mul_add_e_f32s(x, simd.splat_f32s(std::f32::consts::LOG2_E), rounder);
    let n = simd.sub_f32s(shifted, rounder);
    let r = simd.mul_add_e_f32s(n, simd.splat_f32s(-LN2_HIGH), x);
    let r = simd.mul_add_e_f32s(n, simd.splat_f32s(-LN2_LOW), r);
    let power = polynomial(simd, r, &TAYLOR);
    let exponent =
        simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(power), exponent))
}

/// Replaces each x by `x · Φ(x)` with Φ the normal distribution, the exact GELU of BERT (Hendrycks and Gimpel 2016,
/// arXiv:1606.08415).
#[inline(always)]
pub(super) fn gelu<S: Simd>(simd: S, numbers: &mut [f32]) {
    let (whole, rest) = S::as_mut_simd_f32s(numbers);
    for x in whole {
        *x = gelu_of(simd, *x);
    }
    if !rest.is_empty() {
        let x = simd.partial_load_f32s(rest);
        simd.partial_store_f32s(rest, gelu_of(simd, x));
    }
}

/// Multiplies each number by the same one.
#[inline(always)]
pub(super) fn scale<S: Simd>(simd: S, numbers: &mut [f32], factor: f32) {
    let (whole, rest) = S::as_mut_simd_f32s(numbers);
    let factors = simd.splat_f32s(factor);
    for x in whole {
        *x = simd.mul_f32s(*x, factors);
    }
    for x in rest {
        *x *= factor;
    }
}

/// Φ(x) − ½ as x·P(x²)/Q(x²) up to |x| = 5.4, our own minimax fit with an error under 6e-9, so that what remains is
/// the rounding of 32-bit numbers: under 3e-7 of |x|. Beyond, Φ differs from 0 and 1 by less than 4e-8.
#[inline(always)]
fn gelu_of<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    const FARTHEST: f32 = 5.4;
    const P: [f32; 6] = [
        2.338_673_3e-8,
        6.360_027_8e-6,
        1.643_221_9e-4,
        4.650_854_5e-3,
        3.337_227_2e-2,
        3.989_422_3e-1,
    ];
    const Q: [f32; 6] = [
        1.216_591_5e-6,
        7.240_036_2e-5,
        1.858_984_4e-3,
        2.837_871_4e-2,
        2.503_179_6e-1,
        1.0,
    ];
    let near = simd.min_f32s(x, simd.splat_f32s(FARTHEST));
    let near = simd.max_f32s(near, simd.splat_f32s(-FARTHEST));
    let square = simd.mul_f32s(near, near);
    let ratio = simd.div_f32s(polynomial(simd, square, &P), polynomial(simd, square, &Q));
    let phi = simd.mul_add_e_f32s(near, ratio, simd.splat_f32s(0.5));
    simd.mul_f32s(x, phi)
}

/// By Horner's rule; the coefficients from the highest power down.
#[inline(always)]
fn polynomial<S: Simd, const N: usize>(simd: S, x: S::f32s, coefficients: &[f32; N]) -> S::f32s {
    let mut sum = simd.splat_f32s(0.0);
    for (index, coefficient) in coefficients.iter().enumerate() {
        let coefficient = simd.splat_f32s(*coefficient);
        sum = if index == 0 {
            coefficient
        } else {
            simd.mul_add_e_f32s(sum, x, coefficient)
        };
    }
    sum
}

/// Replaces scores by `e^(score − highest)` and returns 1 / their sum: a softmax but for that factor.
///
/// The row is made of whole vectors; places that are no scores hold [`NO_SCORE`].
#[inline(always)]
pub(super) fn softmax<S: Simd>(simd: S, row: &mut [f32]) -> f32 {
    let (row, _) = S::as_mut_simd_f32s(row);
    let mut highest = simd.splat_f32s(NO_SCORE);
    for scores in &*row {
        highest = simd.max_f32s(highest, *scores);
    }
    let highest = simd.splat_f32s(simd.reduce_max_f32s(highest));
    let mut sum = simd.splat_f32s(0.0);
    for scores in row {
        *scores = exp(simd, simd.sub_f32s(*scores, highest));
        sum = simd.add_f32s(sum, *scores);
    }
    simd.reduce_sum_f32s(sum).recip()
}

/// So low that nothing of it is left beside any score.
pub(super) const NO_SCORE: f32 = -1e30;

/// Adds `added` to `rows`, then normalises each row to mean 0 and variance 1, times `gain`, plus `shift`
/// (Ba et al. 2016, arXiv:1607.06450).
#[derive(Debug)]
pub(super) struct AddNormalize<'a> {
    /// Rows as long as `norm.gain`.
    pub(super) rows: &'a mut [f32],
    pub(super) added: &'a [f32],
    pub(super) norm: &'a Norm,
}

/// The weights of a layer normalisation.
#[derive(Debug)]
pub(super) struct Norm {
    pub(super) gain: Vec<f32>,
    pub(super) shift: Vec<f32>,
    /// Added to the variance.
    pub(super) epsilon: f32,
}

impl WithSimd for AddNormalize<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.norm.gain.len();
        let rows = self.rows.chunks_exact_mut(width);
        for (row, added) in rows.zip(self.added.chunks_exact(width)) {
            let sum = add(simd, row, added);
            let mean = sum / width as f32;
            let variance = squares_around(simd, row, mean) / width as f32;
            normalize(
                simd,
                row,
                mean,
                (variance + self.norm.epsilon).sqrt().recip(),
                self.norm,
            );
        }
    }
}

/// Adds to each number, and returns the sum of all.
#[inline(always)]
fn add<S: Simd>(simd: S, row: &mut [f32], added: &[f32]) -> f32 {
    let (row, row_rest) = S::as_mut_simd_f32s(row);
    let (added, added_rest) = S::as_simd_f32s(added);
    let mut sum = simd.splat_f32s(0.0);
    for (x, y) in row.iter_mut().zip(added) {
        *x = simd.add_f32s(*x, *y);
        sum = simd.add_f32s(sum, *x);
    }
    let mut sum = simd.reduce_sum_f32s(sum);
    for (x, y) in row_rest.iter_mut().zip(added_rest) {
        *x += y;
        sum += *x;
    }
    sum
}

#[inline(always)]
fn squares_around<S: Simd>(simd: S, row: &[f32], mean: f32) -> f32 {
    let (row, rest) = S::as_simd_f32s(row);
    let (mut sum, means) = (simd.splat_f32s(0.0), simd.splat_f32s(mean));
    for x in row {
        let off = simd.sub_f32s(*x, means);
        sum = simd.mul_add_e_f32s(off, off, sum);
    }
    rest.iter().fold(simd.reduce_sum_f32s(sum), |sum, x| {
        sum + (x - mean) * (x - mean)
    })
}

#[inline(always)]
fn normalize<S: Simd>(simd: S, row: &mut [f32], mean: f32, factor: f32, norm: &Norm) {
    let (row, row_rest) = S::as_mut_simd_f32s(row);
    let (gain, gain_rest) = S::as_simd_f32s(&norm.gain);
    let (shift, shift_rest) = S::as_simd_f32s(&norm.shift);
    let (means, factors) = (simd.splat_f32s(mean), simd.splat_f32s(factor));
    for ((x, gain), shift) in row.iter_mut().zip(gain).zip(shift) {
        let unit = simd.mul_f32s(simd.sub_f32s(*x, means), factors);
        *x = simd.mul_add_e_f32s(unit, *gain, *shift);
    }
    for ((x, gain), shift) in row_rest.iter_mut().zip(gain_rest).zip(shift_rest) {
        *x = (*x - mean) * factor * gain + shift;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::arches;
    use super::*;

    /// Runs one of the functions over numbers.
    struct Each<'a>(Function, &'a mut [f32]);

    #[derive(Clone, Copy)]
    enum Function {
        Exp,
        Gelu,
        Softmax,
    }

    impl WithSimd for Each<'_> {
        type Output = f32;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f32 {
            match self.0 {
                Function::Gelu => gelu(simd, self.1),
                Function::Softmax => return softmax(simd, self.1),
                Function::Exp => {
                    for x in S::as_mut_simd_f32s(self.1).0 {
                        *x = exp(simd, *x);
                    }
                }
            }
            0.0
        }
    }

    fn line(from: f32, to: f32, steps: usize) -> Vec<f32> {
        (0..steps)
            .map(|step| from + (to - from) * step as f32 / steps as f32)
            .collect()
    }

    /// Φ by its power series (Marsaglia 2004, J. Stat. Softw. 11(4)), in 64 bits.
    fn phi(x: f64) -> f64 {
        let (mut sum, mut term, mut n) = (x, x, 1.0);
        while f64::abs(term) > 1e-18 {
            n += 2.0;
            term *= x * x / n;
            sum += term;
        }
        0.5 + sum * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
    }

    #[test]
    fn gelu_is_exact_to_rounding() {
        for arch in arches() {
            let xs = line(-9.0, 9.0, 20_011);
            let mut found = xs.clone();
            arch.dispatch(Each(Function::Gelu, &mut found));
            for (x, found) in xs.iter().zip(found) {
                let x = f64::from(*x);
                let off = (f64::from(found) - x * phi(x)).abs();
                assert!(off <= 3e-7 * x.abs(), "{arch:?} {x}: {found}, off by {off}");
            }
        }
    }

    #[test]
    fn exp_is_exact_to_two_units() {
        for arch in arches() {
            let xs = line(-87.0, 88.0, 16 * 1201);
            let mut found = xs.clone();
            arch.dispatch(Each(Function::Exp, &mut found));
            for (x, found) in xs.iter().zip(found) {
                let wanted = f64::from(*x).exp();
                let off = (f64::from(found) / wanted - 1.0).abs();
                assert!(off < 2.4e-7, "{arch:?} {x}: {found} {wanted}");
            }
        }
    }

    #[test]
    fn softmax_leaves_nothing_to_places_without_a_score() {
        for arch in arches() {
            let mut row = vec![NO_SCORE; 32];
            for (place, score) in row.iter_mut().zip([100.0, 101.0, 99.5, -1e4, 100.0]) {
                *place = score;
            }
            let share = arch.dispatch(Each(Function::Softmax, &mut row));
            let sum = 2.0 * 1f64.exp() + 2f64.exp() + 0.5f64.exp();
            for (found, wanted) in row.iter().zip([1f64, 2.0, 0.5, -1e4, 1.0]) {
                let off = (f64::from(found * share) - wanted.exp() / sum).abs();
                assert!(off < 1e-7, "{arch:?} {found} {wanted}");
            }
            assert!(row.iter().skip(5).all(|rest| *rest < 1e-37));
        }
    }

    #[test]
    fn rows_of_all_widths_are_normalised() {
        for (arch, width) in arches()
            .into_iter()
            .flat_map(|arch| [1, 5, 16, 39, 384].map(|w| (arch, w)))
        {
            let rows = line(-3.0, 5.0, 3 * width);
            let added = line(2.0, -7.0, 3 * width);
            let norm = Norm {
                gain: line(0.5, 1.5, width),
                shift: line(-1.0, 1.0, width),
                epsilon: 1e-5,
            };
            let mut found = rows.clone();
            arch.dispatch(AddNormalize {
                rows: &mut found,
                added: &added,
                norm: &norm,
            });
            let sums: Vec<f64> = rows
                .iter()
                .zip(&added)
                .map(|(x, y)| f64::from(*x) + f64::from(*y))
                .collect();
            for (found, sums) in found.chunks(width).zip(sums.chunks(width)) {
                let mean = sums.iter().sum::<f64>() / width as f64;
                let variance =
                    sums.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / width as f64;
                for ((found, x), (gain, shift)) in found
                    .iter()
                    .zip(sums)
                    .zip(norm.gain.iter().zip(&norm.shift))
                {
                    let unit = (x - mean) / (variance + 1e-5).sqrt();
                    let off =
                        (f64::from(*found) - unit * f64::from(*gain) - f64::from(*shift)).abs();
                    assert!(off < 2e-5, "{arch:?} {width}: {found}");
                }
            }
        }
    }
}
