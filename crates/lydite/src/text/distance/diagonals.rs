//! Levenshtein distance along the diagonals of the edit matrix (Ukkonen 1985): for each number of
//! edits, how far every diagonal can be followed. Time grows with the square of the distance, not
//! with the lengths, so few edits in long strings are found very fast.
//!
//! The search goes from both ends at once (as Myers 1986 does for differences): with e edits spent
//! from the start and f from the end, the distance is at most e + f exactly if both have come to the
//! same place of one diagonal. Two half searches have half the cells of a whole one.

use std::cmp::{max, min};

use super::symbols::Symbol;

#[derive(Debug, Clone, Default)]
pub(super) struct DiagonalScratch {
    forward: Front,
    backward: Front,
}

/// A search that can be asked for more and more edits.
#[derive(Debug)]
pub(super) struct Diagonals<'s, S> {
    a: &'s [S],
    b: &'s [S],
    fronts: &'s mut DiagonalScratch,
    edits: usize,
}

impl<'s, S: Symbol> Diagonals<'s, S> {
    /// Two strings that are not equal, `a` no longer than `b`, of which about `most` edits are first
    /// looked for.
    pub(super) fn new(
        a: &'s [S],
        b: &'s [S],
        most: usize,
        scratch: &'s mut DiagonalScratch,
    ) -> Self {
        let width = width(a.len(), b.len(), most);
        scratch.forward.start(S::equal_run(a, 0, b, 0), width);
        scratch.backward.start(S::equal_run_back(a, 0, b, 0), width);
        Self {
            a,
            b,
            fronts: scratch,
            edits: 0,
        }
    }

    /// The distance if it is at most `most`.
    pub(super) fn advance(&mut self, most: usize) -> Option<usize> {
        let (a, b) = (self.a, self.b);
        let DiagonalScratch { forward, backward } = &mut *self.fronts;
        let width = width(a.len(), b.len(), most);
        forward.widen(width);
        backward.widen(width);
        while self.edits < most {
            self.edits += 1;
            let meets = if self.edits % 2 == 1 {
                forward.step(a, b, backward, S::equal_run)
            } else {
                backward.step(a, b, forward, S::equal_run_back)
            };
            if meets {
                return Some(self.edits);
            }
        }
        None
    }

    /// The distance to expect if the rest is like what was passed.
    pub(super) fn projected(&self) -> usize {
        let passed = self.fronts.forward.furthest + self.fronts.backward.furthest;
        self.edits * (self.a.len() + self.b.len()) / max(passed, 1)
    }
}

/// Diagonals on both sides that each front needs: it takes half of the edits, and is asked for the
/// diagonals of the other.
fn width(rows: usize, columns: usize, edits: usize) -> usize {
    edits.div_ceil(2) + (columns - rows)
}

/// Far enough below zero to stay there under the additions of one step.
const NONE: i32 = i32::MIN / 4;

/// One direction. Places are counted from the end that it starts at.
#[derive(Debug, Clone, Default)]
struct Front {
    /// For the diagonal k = j − i, at `center + k`: the most symbols of `a` that, with k more of `b`,
    /// are matched with the edits so far; [`NONE`] where there are too few edits.
    reach: Vec<i32>,
    center: usize,
    edits: usize,
    /// The most symbols of both strings together that any diagonal has come to.
    furthest: usize,
}

impl Front {
    /// No edits yet: only the diagonal of the start is followed, and there is room for `width`
    /// diagonals on both sides.
    fn start(&mut self, run: usize, width: usize) {
        self.reach.clear();
        self.reach.resize(2 * width + 3, NONE);
        self.center = width + 1;
        if let Some(reach) = self.reach.get_mut(self.center) {
            *reach = run as i32;
        }
        self.edits = 0;
        self.furthest = 2 * run;
    }

    /// Makes room for `width` diagonals on both sides of the first, and one more.
    fn widen(&mut self, width: usize) {
        let more = (width + 1).saturating_sub(self.center);
        if more > 0 {
            self.reach.splice(0..0, std::iter::repeat_n(NONE, more));
            self.reach.resize(self.reach.len() + more, NONE);
            self.center += more;
        }
    }

    /// Spends one more edit, and tells whether the other front is met.
    #[expect(
        clippy::indexing_slicing,
        reason = "both fronts were widened to the diagonals of all edits and of the other front"
    )]
    #[inline]
    fn step<S: Symbol>(
        &mut self,
        a: &[S],
        b: &[S],
        other: &Self,
        equal_run: impl Fn(&[S], usize, &[S], usize) -> usize,
    ) -> bool {
        let (rows, columns) = (a.len(), b.len());
        self.edits += 1;
        let center = self.center;
        let low = center - min(self.edits, rows);
        let high = center + min(self.edits, columns);
        // The other front counts from the other end: its diagonal is (columns − rows) − k.
        let mirror = other.center + (columns - rows) + center;
        let mut met = false;
        let mut left = self.reach[low - 1];
        for at in low..=high {
            let own = self.reach[at];
            let i = max(max(own + 1, self.reach[at + 1] + 1), left);
            left = own;
            // The diagonal ends with `a`, or with `b`.
            let i = min(i as usize, min(rows, columns + center - at));
            let j = i + at - center;
            let run = equal_run(a, i, b, j);
            let reached = (i + run) as i32;
            self.reach[at] = reached;
            self.furthest = max(self.furthest, i + j + 2 * run);
            met |= other.reach[mirror - at] + reached >= rows as i32;
        }
        met
    }
}
