//! The product of a few rows and a packed matrix, in vectors of whatever processor it runs on.
//!
//! A tile of up to 8 rows × 3 vectors of the result stays in registers while one panel goes by. Each number of the
//! result is summed step by step in the same order whatever tile it falls into, so a row's result is the same to the
//! last bit whatever rows stand beside it.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined is compiled without the processor's vectors"
)]

use pulp::{Simd, WithSimd};

use super::math::{gelu, scale};
use super::pack::{Matrix, Panels};

/// `out = finish(rows · matrix + bias)`.
#[derive(Debug)]
pub(super) struct Multiply<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) panels: Panels,
    /// The matrix, `panels.steps` × `panels.columns`, packed.
    pub(super) packed: &'a [f32],
    /// One number a column, filled up to whole panels; or nothing.
    pub(super) bias: &'a [f32],
    pub(super) finish: Finish<'a>,
    /// The first column of the first row of the result.
    pub(super) out: &'a mut [f32],
    /// From the begin of one row of the result to that of the next.
    pub(super) out_stride: usize,
}

/// `count` rows of numbers in a matrix whose rows begin every `stride` numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) numbers: &'a [f32],
    pub(super) stride: usize,
    pub(super) count: usize,
}

/// What is done to a result before it is stored for good.
#[derive(Debug, Clone, Copy)]
pub(super) enum Finish<'a> {
    Nothing,
    Gelu,
    /// Each row times its number.
    Scale(&'a [f32]),
}

impl<'a> Multiply<'a> {
    /// A linear layer over rows that follow each other.
    pub(super) fn linear(
        rows: &'a [f32],
        layer: &'a Matrix,
        finish: Finish<'a>,
        out: &'a mut [f32],
    ) -> Self {
        let panels = layer.panels;
        Self {
            rows: Rows {
                numbers: rows,
                stride: panels.steps,
                count: rows.len() / panels.steps,
            },
            panels,
            packed: layer.weights(),
            bias: &layer.bias,
            finish,
            out,
            out_stride: panels.columns,
        }
    }
}

impl WithSimd for Multiply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.panels.vectors {
            1 => self.by_panels::<S, 1>(simd),
            2 => self.by_panels::<S, 2>(simd),
            _ => self.by_panels::<S, 3>(simd),
        }
    }
}

impl Multiply<'_> {
    #[inline(always)]
    fn by_panels<S: Simd, const V: usize>(mut self, simd: S) {
        let width = V * S::F32_LANES;
        for (index, panel) in self
            .packed
            .chunks_exact(self.panels.steps * width)
            .enumerate()
        {
            let first = index * width;
            let panel = Panel {
                steps: S::as_simd_f32s(panel).0.as_chunks::<V>().0,
                bias: self.bias_of(simd, first),
                first,
                columns: width.min(self.panels.columns - first),
            };
            self.by_tiles(simd, &panel);
        }
    }

    #[inline(always)]
    fn bias_of<S: Simd, const V: usize>(&self, simd: S, first: usize) -> [S::f32s; V] {
        let bias = self.bias.get(first..).unwrap_or_default();
        let bias = S::as_simd_f32s(bias).0.first_chunk::<V>();
        bias.copied().unwrap_or([simd.splat_f32s(0.0); V])
    }

    #[inline(always)]
    fn by_tiles<S: Simd, const V: usize>(&mut self, simd: S, panel: &Panel<S, V>) {
        let highest = if S::REGISTER_COUNT >= 32 { 8 } else { 4 };
        let mut row = 0;
        while row < self.rows.count {
            let height = highest.min(self.rows.count - row);
            match height {
                1 => self.tile::<S, 1, V>(simd, panel, row),
                2 => self.tile::<S, 2, V>(simd, panel, row),
                3 => self.tile::<S, 3, V>(simd, panel, row),
                4 => self.tile::<S, 4, V>(simd, panel, row),
                5 => self.tile::<S, 5, V>(simd, panel, row),
                6 => self.tile::<S, 6, V>(simd, panel, row),
                7 => self.tile::<S, 7, V>(simd, panel, row),
                _ => self.tile::<S, 8, V>(simd, panel, row),
            }
            self.finish(simd, panel.first, panel.columns, row, height);
            row += height;
        }
    }

    /// `R` rows of the result from row `row` on, in the columns of one panel.
    #[inline(always)]
    #[expect(
        clippy::indexing_slicing,
        reason = "all slices have as many numbers as the panel has steps"
    )]
    #[expect(
        clippy::needless_range_loop,
        reason = "with iterators the compiler keeps checks, and the sums in memory"
    )]
    fn tile<S: Simd, const R: usize, const V: usize>(
        &mut self,
        simd: S,
        panel: &Panel<S, V>,
        row: usize,
    ) {
        let steps = panel.steps.len();
        let rows: [&[f32]; R] =
            std::array::from_fn(|r| &self.rows.numbers[(row + r) * self.rows.stride..][..steps]);
        let mut sums = [panel.bias; R];
        for step in 0..steps {
            let weights = &panel.steps[step];
            for r in 0..R {
                let value = simd.splat_f32s(rows[r][step]);
                for v in 0..V {
                    sums[r][v] = simd.mul_add_e_f32s(value, weights[v], sums[r][v]);
                }
            }
        }
        for r in 0..R {
            let begin = (row + r) * self.out_stride + panel.first;
            store(simd, &mut self.out[begin..][..panel.columns], sums[r]);
        }
    }

    /// Finishes a tile while it is still in the nearest cache.
    #[inline(always)]
    #[expect(
        clippy::indexing_slicing,
        reason = "the same ranges as those of the tile"
    )]
    fn finish<S: Simd>(
        &mut self,
        simd: S,
        first: usize,
        columns: usize,
        row: usize,
        height: usize,
    ) {
        for row in row..row + height {
            let out = &mut self.out[row * self.out_stride + first..][..columns];
            match self.finish {
                Finish::Nothing => {}
                Finish::Gelu => gelu(simd, out),
                Finish::Scale(factors) => scale(simd, out, factors[row]),
            }
        }
    }
}

struct Panel<'a, S: Simd, const V: usize> {
    steps: &'a [[S::f32s; V]],
    bias: [S::f32s; V],
    /// The first of its columns in the result.
    first: usize,
    /// How many of its columns the result has.
    columns: usize,
}

/// Stores as many of the numbers as there is room for.
#[inline(always)]
fn store<S: Simd, const V: usize>(simd: S, out: &mut [f32], numbers: [S::f32s; V]) {
    let (whole, rest) = S::as_mut_simd_f32s(out);
    if let Some(all) = whole.first_chunk_mut::<V>() {
        *all = numbers;
        return;
    }
    let mut numbers = numbers.into_iter();
    for (place, number) in whole.iter_mut().zip(&mut numbers) {
        *place = number;
    }
    if let Some(number) = numbers.next()
        && !rest.is_empty()
    {
        simd.partial_store_f32s(rest, number);
    }
}

#[cfg(test)]
mod tests {
    use pulp::Arch;

    use super::super::pack::lanes;
    use super::super::tests::arches;
    use super::*;

    fn numbers(seed: u64, count: usize) -> Vec<f32> {
        let mut random = fastrand::Rng::with_seed(seed);
        (0..count).map(|_| random.f32() * 2.0 - 1.0).collect()
    }

    fn multiply(
        arch: Arch,
        rows: &[f32],
        inputs: usize,
        weights: &[f32],
        bias: &[f32],
        finish: Finish<'_>,
    ) -> Vec<f32> {
        let mut matrix = Matrix::new(lanes(arch), inputs, bias.len());
        matrix.put(0, weights, bias, 1.0);
        let mut out = vec![f32::NAN; rows.len() / inputs * bias.len()];
        arch.dispatch(Multiply::linear(rows, &matrix, finish, &mut out));
        out
    }

    /// The same in 64 bits, by definition.
    fn product(rows: &[f32], inputs: usize, weights: &[f32], bias: &[f32]) -> Vec<f64> {
        let dot = |row: &[f32], column: &[f32]| -> f64 {
            let products = row.iter().zip(column);
            products.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
        };
        rows.chunks(inputs)
            .flat_map(|row| {
                let columns = weights.chunks(inputs).zip(bias);
                columns.map(move |(column, bias)| f64::from(*bias) + dot(row, column))
            })
            .collect()
    }

    #[test]
    fn products_of_all_shapes_are_right() {
        for arch in arches() {
            for (count, inputs, outputs) in [
                (1, 1, 1),
                (2, 3, 5),
                (3, 7, 16),
                (4, 8, 17),
                (5, 16, 33),
                (6, 1, 48),
                (7, 20, 49),
                (8, 31, 95),
                (9, 64, 96),
                (17, 33, 131),
            ] {
                let rows = numbers(1, count * inputs);
                let (weights, bias) = (numbers(2, inputs * outputs), numbers(3, outputs));
                let found = multiply(arch, &rows, inputs, &weights, &bias, Finish::Nothing);
                let wanted = product(&rows, inputs, &weights, &bias);
                for (found, wanted) in found.iter().zip(wanted) {
                    let off = (f64::from(*found) - wanted).abs();
                    assert!(
                        off < 5e-6,
                        "{arch:?} {count} {inputs} {outputs}: {found} {wanted}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_rows_product_hangs_on_that_row_alone() {
        let (count, inputs, outputs) = (19, 40, 50);
        let rows = numbers(4, count * inputs);
        let (weights, bias) = (numbers(5, inputs * outputs), numbers(6, outputs));
        for arch in arches() {
            for finish in [Finish::Nothing, Finish::Gelu] {
                let all = multiply(arch, &rows, inputs, &weights, &bias, finish);
                for (row, wanted) in rows.chunks(inputs).zip(all.chunks(outputs)) {
                    let alone = multiply(arch, row, inputs, &weights, &bias, finish);
                    assert_eq!(alone, wanted, "{arch:?}");
                }
            }
        }
    }

    #[test]
    fn rows_are_scaled_each_by_its_own_factor() {
        let (inputs, outputs) = (3, 21);
        let rows = numbers(7, 5 * inputs);
        let (weights, bias) = (numbers(8, inputs * outputs), numbers(9, outputs));
        let factors = numbers(10, 5);
        for arch in arches() {
            let plain = multiply(arch, &rows, inputs, &weights, &bias, Finish::Nothing);
            let scaled = multiply(
                arch,
                &rows,
                inputs,
                &weights,
                &bias,
                Finish::Scale(&factors),
            );
            let wanted = plain.chunks(outputs).zip(&factors);
            let wanted: Vec<f32> = wanted
                .flat_map(|(row, factor)| row.iter().map(move |x| x * factor))
                .collect();
            assert_eq!(scaled, wanted, "{arch:?}");
        }
    }
}
