//! Matrices laid out for `kernel`: columns side by side in panels as wide as a few vectors of the processor.
//!
//! A matrix of `steps` × `columns` stands as panel after panel, each `steps` × `width` with the columns of one step
//! next to each other. The last panel is filled up with zeros.

use pulp::{Arch, Simd, WithSimd};

/// How a matrix is cut into panels.
#[derive(Debug, Clone, Copy)]
pub(super) struct Panels {
    pub(super) steps: usize,
    pub(super) columns: usize,
    /// Vectors of a panel's width, 1 to 3.
    pub(super) vectors: usize,
    /// Columns of a panel: `vectors` times the numbers of a vector.
    pub(super) width: usize,
}

impl Panels {
    /// The panels that cost least for so many columns, in vectors of `lanes` numbers.
    ///
    /// A panel costs its vectors and, for the loads beside them, 2/5 of one; so the widest wins unless it is half empty.
    pub(super) fn new(lanes: usize, steps: usize, columns: usize) -> Self {
        let needed = columns.div_ceil(lanes);
        let cost = |vectors: &usize| needed.div_ceil(*vectors) * (5 * vectors + 2);
        let vectors = [3, 2, 1].into_iter().min_by_key(cost).unwrap_or(1);
        Self {
            steps,
            columns,
            vectors,
            width: vectors * lanes,
        }
    }

    /// Numbers of all panels.
    pub(super) fn len(&self) -> usize {
        self.columns.div_ceil(self.width) * self.steps * self.width
    }

    /// Puts a column of `steps` numbers, each `scale` times as large, at its place.
    #[inline]
    pub(super) fn put_column(&self, panels: &mut [f32], column: usize, values: &[f32], scale: f32) {
        let begin = column / self.width * self.steps * self.width + column % self.width;
        let places = panels.iter_mut().skip(begin).step_by(self.width);
        for (place, value) in places.zip(values) {
            *place = value * scale;
        }
    }

    /// Puts a row of `columns` numbers at its place.
    #[inline]
    pub(super) fn put_row(&self, panels: &mut [f32], step: usize, values: &[f32]) {
        let panels = panels.chunks_exact_mut(self.steps * self.width);
        for (panel, values) in panels.zip(values.chunks(self.width)) {
            let places = panel.iter_mut().skip(step * self.width);
            places
                .zip(values)
                .for_each(|(place, value)| *place = *value);
        }
    }
}

/// The weights of a linear layer, `inputs` × `outputs`, packed, and what is added to each output.
#[derive(Debug)]
pub(super) struct Matrix {
    pub(super) panels: Panels,
    weights: Aligned,
    /// One number an output, filled up with zeros to whole panels.
    pub(super) bias: Vec<f32>,
}

impl Matrix {
    /// All zeros; `lanes` from [`lanes`].
    pub(super) fn new(lanes: usize, inputs: usize, outputs: usize) -> Self {
        let panels = Panels::new(lanes, inputs, outputs);
        Self {
            panels,
            weights: Aligned::new(panels.len()),
            bias: vec![0.0; outputs.div_ceil(panels.width) * panels.width],
        }
    }

    /// Puts the weights and biases of some outputs, the first of them `first`, all `scale` times as large.
    ///
    /// `weights` has a row of `inputs` numbers an output, as PyTorch's `nn.Linear` does.
    pub(super) fn put(&mut self, first: usize, weights: &[f32], bias: &[f32], scale: f32) {
        let panels = self.panels;
        let packed = self.weights.get_mut();
        for (output, row) in weights.chunks_exact(panels.steps).enumerate() {
            panels.put_column(packed, first + output, row, scale);
        }
        for (place, value) in self.bias.iter_mut().skip(first).zip(bias) {
            *place = value * scale;
        }
    }

    pub(super) fn weights(&self) -> &[f32] {
        self.weights.get()
    }
}

/// How many numbers the processor's vectors hold.
pub(super) fn lanes(arch: Arch) -> usize {
    struct Lanes;

    impl WithSimd for Lanes {
        type Output = usize;

        fn with_simd<S: Simd>(self, _: S) -> usize {
            S::F32_LANES
        }
    }

    arch.dispatch(Lanes)
}

/// Numbers that begin at a line of the processor's cache, so that no vector lies across two.
#[derive(Debug, Default)]
pub(super) struct Aligned {
    numbers: Vec<f32>,
    begin: usize,
    len: usize,
}

impl Aligned {
    const LINE: usize = 64;

    pub(super) fn new(len: usize) -> Self {
        let spare = Self::LINE / size_of::<f32>();
        let numbers = vec![0.0; len + spare];
        // The offset is advice: where it can't be told, vectors are loaded across lines, which is merely slower.
        let begin = numbers.as_ptr().align_offset(Self::LINE).min(spare);
        Self {
            numbers,
            begin,
            len,
        }
    }

    /// At least `len` numbers, of any value.
    pub(super) fn at_least(&mut self, len: usize) -> &mut [f32] {
        if self.len < len {
            *self = Self::new(len);
        }
        self.get_mut().get_mut(..len).unwrap_or_default()
    }

    pub(super) fn get(&self) -> &[f32] {
        self.numbers
            .get(self.begin..self.begin + self.len)
            .unwrap_or_default()
    }

    pub(super) fn get_mut(&mut self) -> &mut [f32] {
        self.numbers
            .get_mut(self.begin..self.begin + self.len)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_are_as_wide_as_pays() {
        for (lanes, columns, width) in [
            (16, 384, 48),
            (16, 1536, 48),
            (16, 312, 48),
            (16, 64, 32),
            (16, 32, 32),
            (16, 20, 32),
            (16, 5, 16),
            (8, 384, 24),
            (8, 32, 16),
            (4, 32, 8),
            (1, 7, 2),
        ] {
            assert_eq!(
                Panels::new(lanes, 7, columns).width,
                width,
                "{columns} in vectors of {lanes}"
            );
        }
    }

    #[test]
    fn rows_and_columns_end_at_the_same_places() {
        let (steps, columns) = (5, 37);
        let value = |step: usize, column: usize| (step * 100 + column) as f32;
        let panels = Panels::new(4, steps, columns);
        let (mut by_row, mut by_column) = (vec![0.0; panels.len()], vec![0.0; panels.len()]);
        for step in 0..steps {
            let row: Vec<f32> = (0..columns).map(|column| value(step, column)).collect();
            panels.put_row(&mut by_row, step, &row);
        }
        for column in 0..columns {
            let values: Vec<f32> = (0..steps).map(|step| value(step, column)).collect();
            panels.put_column(&mut by_column, column, &values, 1.0);
        }
        assert_eq!(by_row, by_column);
        assert_eq!(
            by_row[panels.width * (steps + 2) + 3],
            value(2, panels.width + 3)
        );
    }

    #[test]
    fn aligned_numbers_begin_at_a_line() {
        let mut numbers = Aligned::default();
        for len in [1, 100, 50, 1000] {
            let found = numbers.at_least(len);
            assert_eq!(
                (found.len(), found.as_ptr().align_offset(Aligned::LINE)),
                (len, 0)
            );
        }
    }
}
