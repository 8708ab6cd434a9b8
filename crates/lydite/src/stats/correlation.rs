//! Correlation of two lists of numbers.

/// Pearson's r, in [-1, 1]: how near the points are to a line.
///
/// `None` with fewer than two pairs, where one list does not vary, or where a number is not finite.
///
/// Pearson, "Notes on regression and inheritance in the case of two parents", 1895.
pub fn pearson(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n;
    let (mean_a, mean_b) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let (mut product, mut square_a, mut square_b) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        product += (a - mean_a) * (b - mean_b);
        square_a += (a - mean_a).powi(2);
        square_b += (b - mean_b).powi(2);
    }
    let spread = (square_a * square_b).sqrt();
    (spread > 0.0 && spread.is_finite()).then(|| (product / spread).clamp(-1.0, 1.0))
}

/// Spearman's ρ, in [-1, 1]: Pearson's r of the ranks, ties at the mean of their ranks.
///
/// `None` where [`pearson`] of the ranks has no value, or where a number is not finite.
///
/// Spearman, "The proof and measurement of association between two things", 1904.
pub fn spearman(pairs: &[(f64, f64)]) -> Option<f64> {
    if pairs.iter().any(|(a, b)| !(a.is_finite() && b.is_finite())) {
        return None;
    }
    let a = ranks(pairs.iter().map(|pair| pair.0));
    let b = ranks(pairs.iter().map(|pair| pair.1));
    pearson(&a.into_iter().zip(b).collect::<Vec<_>>())
}

/// The rank of each value from 1, equal ones at the mean of theirs.
fn ranks(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<(usize, f64)> = values.enumerate().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut ranked = Vec::with_capacity(sorted.len());
    let mut before = 0_usize;
    for ties in sorted.chunk_by(|a, b| a.1 == b.1) {
        // The mean of before + 1 ..= before + ties.
        let rank = before as f64 + f64::midpoint(ties.len() as f64, 1.0);
        ranked.extend(ties.iter().map(|(index, _)| (*index, rank)));
        before += ties.len();
    }
    ranked.sort_by_key(|(index, _)| *index);
    ranked.into_iter().map(|(_, rank)| rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: Option<f64>, expected: f64) {
        assert!(
            got.is_some_and(|got| (got - expected).abs() < 1e-12),
            "{got:?}, not {expected}"
        );
    }

    #[test]
    fn by_scipy() {
        // scipy.stats.pearsonr and spearmanr of these lists.
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 3.0, 2.0, 4.0, 5.0, 1.0, 2.0, 3.0];
        let b = [1.0, 3.0, 3.0, 5.0, 4.0, 2.0, 2.0, 4.0, 5.0, 2.0, 1.0, 3.0];
        let pairs: Vec<_> = a.into_iter().zip(b).collect();
        near(pearson(&pairs), 0.856_573_705_179_283);
        near(spearman(&pairs), 0.86);
    }

    #[test]
    fn without_a_value() {
        let none: [&[(f64, f64)]; 4] = [
            &[],
            &[(1.0, 2.0)],
            &[(1.0, 2.0), (1.0, 3.0)],
            &[(1.0, 2.0), (f64::NAN, 3.0)],
        ];
        for pairs in none {
            assert_eq!((pearson(pairs), spearman(pairs)), (None, None), "{pairs:?}");
        }
    }

    #[test]
    fn ties_share_their_rank() {
        assert_eq!(
            ranks([3.0, 1.0, 3.0, 2.0].into_iter()),
            [3.5, 1.0, 3.5, 2.0]
        );
    }
}
