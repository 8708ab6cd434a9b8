//! Distances and similarities of two vectors of equal length, such as embeddings.
//!
//! Components are `f32`, sums are `f64`. No function panics, and none gives a number where it has no meaning:
//! vectors of different lengths are an error, and so is the direction of a vector that is all zero. Components that
//! are not finite give a result that is not finite; [`Cell::measured`](crate::outcome::Cell::measured) refuses it.

use crate::outcome::Code;

/// Why two vectors can't be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VectorError {
    #[error("the vectors differ in length: {a} and {b} components")]
    Lengths { a: usize, b: usize },
    #[error("a vector is all zero, so it has no direction")]
    Zero,
}

impl From<VectorError> for Code {
    fn from(error: VectorError) -> Self {
        match error {
            VectorError::Lengths { .. } => Self::DimensionMismatch,
            VectorError::Zero => Self::ZeroVector,
        }
    }
}

/// a·b ⁄ (‖a‖ ‖b‖), in [-1, 1]; rounding is not let out of this range.
pub fn cosine_similarity(a: &[f32], b: &[f32]) -> Result<f64, VectorError> {
    let (mut dot, mut a_squares, mut b_squares) = (0.0, 0.0, 0.0);
    for (a, b) in pairs(a, b)? {
        dot += a * b;
        a_squares += a * a;
        b_squares += b * b;
    }
    if a_squares == 0.0 || b_squares == 0.0 {
        return Err(VectorError::Zero);
    }
    // One root of the product is exact for equal vectors, where two roots are not. Sums of squares of `f32` are
    // far from the ends of `f64`: the product neither overflows nor vanishes.
    Ok((dot / (a_squares * b_squares).sqrt()).clamp(-1.0, 1.0))
}

/// 1 − [`cosine_similarity`], in [0, 2].
pub fn cosine_distance(a: &[f32], b: &[f32]) -> Result<f64, VectorError> {
    Ok(1.0 - cosine_similarity(a, b)?)
}

/// √Σ(aᵢ − bᵢ)².
pub fn euclidean_distance(a: &[f32], b: &[f32]) -> Result<f64, VectorError> {
    Ok(pairs(a, b)?
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt())
}

/// Σ|aᵢ − bᵢ|.
pub fn manhattan_distance(a: &[f32], b: &[f32]) -> Result<f64, VectorError> {
    Ok(pairs(a, b)?.map(|(a, b)| (a - b).abs()).sum())
}

/// max|aᵢ − bᵢ|; 0 for vectors without components.
pub fn chebyshev_distance(a: &[f32], b: &[f32]) -> Result<f64, VectorError> {
    let greater = |most: f64, (a, b): (f64, f64)| {
        let apart = (a - b).abs();
        // Not `f64::max`, which would drop a NaN.
        if apart > most || apart.is_nan() {
            apart
        } else {
            most
        }
    };
    Ok(pairs(a, b)?.fold(0.0, greater))
}

/// The share of components that differ, in [0, 1]; 0 for vectors without components.
pub fn hamming_distance(a: &[f32], b: &[f32]) -> Result<f64, VectorError> {
    let differ = pairs(a, b)?.filter(|(a, b)| a != b).count();
    Ok(differ as f64 / a.len().max(1) as f64)
}

/// a·b; what one has more of than the other is left out. For many pairs of the same vectors, beside [`norm`].
pub fn dot(a: &[f32], b: &[f32]) -> f64 {
    // Sums side by side, since one alone would make each addition wait for the one before it.
    const LANES: usize = 8;
    let shared = a.len().min(b.len());
    let (a, b) = (a.get(..shared).unwrap_or(a), b.get(..shared).unwrap_or(b));
    let (a_lanes, b_lanes) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest = a_lanes.remainder().iter().zip(b_lanes.remainder());
    let rest: f64 = rest.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
    let mut sums = [0.0; LANES];
    for (a, b) in a_lanes.zip(b_lanes) {
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            *sum += f64::from(a) * f64::from(b);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// ‖a‖.
pub fn norm(a: &[f32]) -> f64 {
    dot(a, a).sqrt()
}

fn pairs<'v>(
    a: &'v [f32],
    b: &'v [f32],
) -> Result<impl Iterator<Item = (f64, f64)> + use<'v>, VectorError> {
    if a.len() != b.len() {
        return Err(VectorError::Lengths {
            a: a.len(),
            b: b.len(),
        });
    }
    Ok(a.iter().zip(b).map(|(&a, &b)| (f64::from(a), f64::from(b))))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Distance = fn(&[f32], &[f32]) -> Result<f64, VectorError>;

    const DISTANCES: [Distance; 5] = [
        cosine_distance,
        euclidean_distance,
        manhattan_distance,
        chebyshev_distance,
        hamming_distance,
    ];

    /// The specification's table "Embedding distances": a, b, then the distances in the order of `DISTANCES`.
    const TABLE: [(&[f32], &[f32], [Option<f64>; 5]); 5] = [
        (&[1., 2., 3.], &[1., 2., 3.], [Some(0.); 5]),
        (
            &[1., 0.],
            &[0., 1.],
            [
                Some(1.),
                Some(std::f64::consts::SQRT_2),
                Some(2.),
                Some(1.),
                Some(1.),
            ],
        ),
        (
            &[1., 2.],
            &[3., 5.],
            [
                Some(0.002_945_514_498_418_511),
                Some(3.605_551_275_463_989),
                Some(5.),
                Some(3.),
                Some(1.),
            ],
        ),
        (
            &[1., 0.],
            &[-1., 0.],
            [Some(2.), Some(2.), Some(2.), Some(2.), Some(0.5)],
        ),
        (
            &[0., 0.],
            &[1., 0.],
            [None, Some(1.), Some(1.), Some(1.), Some(0.5)],
        ),
    ];

    #[test]
    fn distances_are_those_of_the_table() {
        for (a, b, expected) in TABLE {
            for (distance, expected) in DISTANCES.iter().zip(expected) {
                match (distance(a, b), expected) {
                    (Ok(got), Some(expected)) => {
                        assert!(
                            (got - expected).abs() < 1e-12,
                            "{a:?} {b:?}: {got}, not {expected}"
                        );
                    }
                    (got, expected) => {
                        assert_eq!(got, expected.ok_or(VectorError::Zero), "{a:?} {b:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn different_lengths_are_an_error() {
        for distance in DISTANCES {
            let got = distance(&[1., 2.], &[1.]);
            assert_eq!(got, Err(VectorError::Lengths { a: 2, b: 1 }));
        }
    }

    #[test]
    fn the_ends_of_f32_are_no_trouble() {
        for end in [f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1)] {
            let (a, b) = ([end, 0.], [end, end]);
            let got = cosine_similarity(&a, &b).unwrap();
            assert!((got - 0.5_f64.sqrt()).abs() < 1e-12, "{end:e}: {got}");
        }
    }

    #[test]
    fn what_is_not_finite_is_not_hidden() {
        for distance in &DISTANCES[..4] {
            let got = distance(&[f32::NAN, 1.], &[1., 2.]).unwrap();
            assert!(got.is_nan());
        }
    }

    fn vectors() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
        (1..40_usize).prop_flat_map(|length| {
            let vector = || proptest::collection::vec(-1e3_f32..1e3, length);
            (vector(), vector())
        })
    }

    proptest! {
        #[test]
        fn distances_are_symmetric_and_zero_to_themselves((a, b) in vectors()) {
            for distance in DISTANCES {
                prop_assert_eq!(distance(&a, &b), distance(&b, &a));
                if let Ok(itself) = distance(&a, &a) {
                    prop_assert!(itself.abs() < 1e-12);
                }
            }
        }

        #[test]
        fn dots_and_norms_give_the_cosine((a, b) in vectors()) {
            if let Ok(cosine) = cosine_similarity(&a, &b) {
                prop_assert!((dot(&a, &b) / (norm(&a) * norm(&b)) - cosine).abs() < 1e-12);
            }
        }

        #[test]
        fn norms_are_in_order((a, b) in vectors()) {
            let [_, euclidean, manhattan, chebyshev, _] = DISTANCES.map(|distance| distance(&a, &b));
            let (euclidean, manhattan, chebyshev) = (euclidean?, manhattan?, chebyshev?);
            prop_assert!(chebyshev <= euclidean + 1e-9 && euclidean <= manhattan + 1e-9);
        }
    }
}
