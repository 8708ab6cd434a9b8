//! Unrestricted Damerau-Levenshtein distance within a band.

use std::cmp::{max, min};

use rapidfuzz::distance::damerau_levenshtein;

use super::symbols::Symbol;

#[derive(Debug, Clone, Default)]
pub(super) struct DamerauScratch {
    /// Rows 0..=|a| of the matrix; each holds the columns from `band` left of the diagonal to `band`
    /// right of it, and one more on both sides that stays [`FAR`].
    matrix: Vec<u32>,
    /// For each symbol, the last row (from 1) of `a` where it stood; 0 before that.
    last_row: Vec<u32>,
}

/// The distance, known to be at most `most`.
///
/// Every cell on the best path is within `most` of the diagonal, since a cell's value is at least its
/// distance from it. So only that band is filled, by the recurrence of Lowrance and Wagner (1975);
/// where the band is most of the matrix, `rapidfuzz` is as fast in less memory.
pub(super) fn distance<S: Symbol>(
    a: &[S],
    b: &[S],
    most: usize,
    scratch: &mut DamerauScratch,
) -> usize {
    let (a, b) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let cells = (a.len() + 1).saturating_mul(2 * most + 3);
    if 4 * most >= b.len() || cells > CELLS {
        return damerau_levenshtein::distance(a.iter().copied(), b.iter().copied());
    }
    Band {
        a,
        b,
        most,
        width: 2 * most + 3,
    }
    .distance(scratch)
}

/// The most cells that are kept (16 MB).
const CELLS: usize = 4 << 20;

/// More than any distance, with room to add to it.
const FAR: u32 = u32::MAX / 4;

struct Band<'s, S> {
    a: &'s [S],
    b: &'s [S],
    most: usize,
    width: usize,
}

impl<S: Symbol> Band<'_, S> {
    #[expect(
        clippy::indexing_slicing,
        reason = "`at` stays in the matrix for cells in the band and those next to it, `last_row` has all symbols"
    )]
    fn distance(&self, scratch: &mut DamerauScratch) -> usize {
        let DamerauScratch {
            matrix: cells,
            last_row,
        } = scratch;
        let (m, n, most) = (self.a.len(), self.b.len(), self.most);
        cells.clear();
        cells.resize((m + 1) * self.width, FAR);
        last_row.clear();
        last_row.resize(S::alphabet(self.a, self.b), 0);
        for j in 0..=min(n, most) {
            cells[self.at(0, j)] = j as u32;
        }
        for (i, &symbol) in (1_usize..).zip(self.a) {
            let low = max(1, i.saturating_sub(most));
            let high = min(n, i + most);
            if i <= most {
                cells[self.at(i, 0)] = i as u32;
            }
            // The last column before j where the symbol of this row stands.
            let mut last_column = (low.saturating_sub(2)..low)
                .rev()
                .find(|&l| l > 0 && self.b[l - 1] == symbol);
            for j in low..=high {
                let other = self.b[j - 1];
                let same = symbol == other;
                let mut best = cells[self.at(i - 1, j - 1)] + u32::from(!same);
                best = min(best, cells[self.at(i - 1, j)] + 1);
                best = min(best, cells[self.at(i, j - 1)] + 1);
                let k = last_row[other.index()] as usize;
                if let Some(l) = last_column.filter(|_| !same && k > 0)
                    && (k - 1).abs_diff(l - 1) <= most
                {
                    let between = (i - k) + (j - l) - 1;
                    best = min(best, cells[self.at(k - 1, l - 1)] + between as u32);
                }
                cells[self.at(i, j)] = best;
                if same {
                    last_column = Some(j);
                }
            }
            last_row[symbol.index()] = i as u32;
        }
        cells[self.at(m, n)] as usize
    }

    /// Where the cell of row `i` and column `j` is kept, |i − j| ≤ `most` + 1.
    fn at(&self, i: usize, j: usize) -> usize {
        i * self.width + (j + self.most + 1 - i)
    }
}
