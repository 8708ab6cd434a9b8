//! Self-attention of one text, head by head (Vaswani et al. 2017, arXiv:1706.03762).

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is compiled without the processor's vectors"
)]

use pulp::{Simd, WithSimd};

use super::kernel::{Finish, Multiply, Rows};
use super::math::{NO_SCORE, softmax};
use super::pack::{Aligned, Panels};

/// For each head: `out = softmax(queries · keysᵀ) · values`. The queries are scaled already.
#[derive(Debug)]
pub(super) struct Attend<'a> {
    /// A row a word piece: `hidden` queries, `hidden` keys, `hidden` values, in each head after head.
    pub(super) inputs: &'a [f32],
    pub(super) hidden: usize,
    /// Columns of a head.
    pub(super) head: usize,
    pub(super) scratch: &'a mut Scratch,
    /// A row of `hidden` numbers a word piece.
    pub(super) out: &'a mut [f32],
}

/// Memory that is used again for every head of every text.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The keys of a head as a matrix of `head` × pieces, packed.
    keys: Aligned,
    /// The values of a head as a matrix of pieces × `head`, packed.
    values: Aligned,
    /// A row a piece.
    scores: Aligned,
    /// 1 / the sum of a row of `scores`.
    shares: Vec<f32>,
}

impl WithSimd for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = 3 * self.hidden;
        let count = self.inputs.len() / stride;
        let keys = Panels::new(S::F32_LANES, self.head, count);
        let values = Panels::new(S::F32_LANES, count, self.head);
        // Whole vectors, so that no row of scores ends within one.
        let row = count.next_multiple_of(S::F32_LANES);
        for head in (0..self.hidden).step_by(self.head) {
            let packed_keys = self.scratch.keys.at_least(keys.len());
            let packed_values = self.scratch.values.at_least(values.len());
            for (piece, numbers) in self.inputs.chunks_exact(stride).enumerate() {
                let part = |begin: usize| numbers.get(begin..begin + self.head).unwrap_or_default();
                keys.put_column(packed_keys, piece, part(self.hidden + head), 1.0);
                values.put_row(packed_values, piece, part(2 * self.hidden + head));
            }
            let scores = self.scratch.scores.at_least(count * row);
            simd.vectorize(Multiply {
                rows: Rows {
                    numbers: self.inputs.get(head..).unwrap_or_default(),
                    stride,
                    count,
                },
                panels: keys,
                packed: packed_keys,
                bias: &[],
                finish: Finish::Nothing,
                out: scores,
                out_stride: row,
            });
            self.scratch.shares.clear();
            for scores in scores.chunks_exact_mut(row) {
                scores
                    .iter_mut()
                    .skip(count)
                    .for_each(|score| *score = NO_SCORE);
                self.scratch.shares.push(softmax(simd, scores));
            }
            simd.vectorize(Multiply {
                rows: Rows {
                    numbers: scores,
                    stride: row,
                    count,
                },
                panels: values,
                packed: packed_values,
                bias: &[],
                finish: Finish::Scale(&self.scratch.shares),
                out: self.out.get_mut(head..).unwrap_or_default(),
                out_stride: self.hidden,
            });
        }
    }
}
