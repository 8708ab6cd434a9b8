//! Levenshtein distance along the diagonals of the edit matrix (Ukkonen 1985): for each number of
//! edits, how far every diagonal can be followed. Time grows with the square of the distance, not
//! with the lengths, so few edits in long strings are found very fast.

use std::cmp::{max, min};

use super::symbols::Symbol;

#[derive(Debug, Clone, Default)]
pub(super) struct DiagonalScratch {
    reach: Vec<i32>,
}

/// A search that can be asked for more and more edits.
#[derive(Debug)]
pub(super) struct Diagonals<'s, S> {
    a: &'s [S],
    b: &'s [S],
    /// For the diagonal k = j − i, at `center + k`: the most symbols of `a` that, with k more of `b`,
    /// are matched with the edits so far. [`NONE`] where there are too few edits.
    reach: &'s mut Vec<i32>,
    center: usize,
    edits: usize,
    /// The most symbols of both strings together that any diagonal has come to.
    furthest: usize,
}

impl<'s, S: Symbol> Diagonals<'s, S> {
    /// Both strings have symbols, and `a` no more than `b`.
    pub(super) fn new(a: &'s [S], b: &'s [S], scratch: &'s mut DiagonalScratch) -> Self {
        let reach = &mut scratch.reach;
        let run = S::equal_run(a, 0, b, 0);
        reach.clear();
        reach.extend([NONE, run as i32, NONE]);
        Self {
            a,
            b,
            reach,
            center: 1,
            edits: 0,
            furthest: 2 * run,
        }
    }

    /// The distance if it is at most `most`.
    #[expect(
        clippy::indexing_slicing,
        reason = "`widen` makes room for the diagonals within `most` and one more on both sides"
    )]
    pub(super) fn advance(&mut self, most: usize) -> Option<usize> {
        let (m, n) = (self.a.len(), self.b.len());
        self.widen(most);
        let center = self.center;
        let goal = center + (n - m);
        while self.edits < most {
            self.edits += 1;
            let low = center - min(self.edits, m);
            let high = center + min(self.edits, n);
            let mut left = self.reach[low - 1];
            for at in low..=high {
                let own = self.reach[at];
                let i = max(max(own + 1, self.reach[at + 1] + 1), left);
                left = own;
                // The diagonal ends with `a`, or with `b`.
                let i = min(i as usize, min(m, n + center - at));
                let j = i + at - center;
                let run = S::equal_run(self.a, i, self.b, j);
                self.reach[at] = (i + run) as i32;
                self.furthest = max(self.furthest, i + j + 2 * run);
            }
            if (low..=high).contains(&goal) && self.reach[goal] as usize == m {
                return Some(self.edits);
            }
        }
        None
    }

    /// The distance to expect if the rest is like what was passed.
    pub(super) fn projected(&self) -> usize {
        self.edits * (self.a.len() + self.b.len()) / max(self.furthest, 1)
    }

    fn widen(&mut self, most: usize) {
        let more = (most + 1).saturating_sub(self.center);
        self.reach.splice(0..0, std::iter::repeat_n(NONE, more));
        self.reach.resize(self.reach.len() + more, NONE);
        self.center += more;
    }
}

/// Far enough below zero to stay there under the additions of one step.
const NONE: i32 = i32::MIN / 2;
