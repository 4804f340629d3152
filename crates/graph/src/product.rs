//! Matrix product of Conv, Gemm and MatMul.
//!
//! The right operand is packed into panels of columns ([`PackedMatrix`]) for the vector code of
//! [`float_product`]. Each result is summed in `f32`, in the order of the inner axis, on every
//! machine and for any number of cores: results are reproducible.

use npukit_numeric::{PANEL, Panel, Rows, float_product};
use rayon::prelude::*;

/// Part of the inner axis that is processed at a time: rows and a panel fit the core's own cache.
const DEPTH: usize = 512;

/// Least number of multiplications for which another core pays off.
const SHARE: usize = 1 << 16;

/// Right operand `[k, n]` of a product, cut into panels of [`PANEL`] columns.
pub struct PackedMatrix {
    k: usize,
    n: usize,
    panels: Vec<f32>,
}

/// Layout of a matrix in a slice: first element, and distances between rows and columns, in
/// elements.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Index of element (0, 0).
    pub offset: usize,
    /// Distance from one row to the next.
    pub row_stride: usize,
    /// Distance from one column to the next.
    pub column_stride: usize,
}

impl Layout {
    /// Layout of a row-major matrix with `columns` columns.
    pub fn row_major(columns: usize) -> Self {
        Self { offset: 0, row_stride: columns, column_stride: 1 }
    }

    /// Layout of the transpose of a row-major matrix with `columns` columns.
    pub fn transposed(columns: usize) -> Self {
        Self { offset: 0, row_stride: 1, column_stride: columns }
    }

    /// Copies `columns` columns, starting at `first`, to the rows of a panel.
    fn pack(self, source: &[f32], first: usize, columns: usize, panel: &mut [f32]) {
        let start = self.offset + first * self.column_stride;
        let rows = panel.chunks_exact_mut(PANEL).enumerate();
        if self.column_stride == 1 {
            rows.for_each(|(row, to)| {
                to[..columns].copy_from_slice(&source[start + row * self.row_stride..][..columns]);
            });
            return;
        }
        for (row, to) in rows {
            let start = start + row * self.row_stride;
            for (column, to) in to[..columns].iter_mut().enumerate() {
                *to = source[start + column * self.column_stride];
            }
        }
    }
}

impl PackedMatrix {
    /// Packs the matrix `[k, n]` stored in `source` with `layout`.
    pub fn new(source: &[f32], k: usize, n: usize, layout: Layout) -> Self {
        let mut panels = vec![0.0; k * n.div_ceil(PANEL) * PANEL];
        let pack = |(index, panel): (usize, &mut [f32])| {
            let first = index * PANEL;
            layout.pack(source, first, PANEL.min(n - first), panel);
        };
        let size = (k * PANEL).max(1);
        if k * n < SHARE {
            panels.chunks_mut(size).enumerate().for_each(pack);
        } else {
            panels.par_chunks_mut(size).enumerate().for_each(pack);
        }
        Self { k, n, panels }
    }

    /// Adds the product of `left` (row-major `[m, k]`) and this matrix to `out`. Row `i` goes to
    /// `out[i * out_stride..][..n]`.
    pub fn multiply(&self, left: &[f32], out: &mut [f32], out_stride: usize) {
        if self.k == 0 || out.is_empty() {
            return;
        }
        let rows = left.len() / self.k;
        let block = block(rows, self.k * self.n);
        let some = |(left, out): (&[f32], &mut [f32])| {
            let left = Rows { values: left, pitch: self.k, count: left.len() / self.k };
            self.multiply_rows(left, out, out_stride);
        };
        if block >= rows {
            return some((left, out));
        }
        left.par_chunks(block * self.k).zip(out.par_chunks_mut(block * out_stride)).for_each(some);
    }

    /// Like [`PackedMatrix::multiply`], on the current core only, for rows at a distance of
    /// `left.pitch` elements.
    pub fn multiply_rows(&self, left: Rows<'_, f32>, out: &mut [f32], out_stride: usize) {
        for first in (0..self.k).step_by(DEPTH) {
            let depth = DEPTH.min(self.k - first);
            let left = Rows { values: &left.values[first..], ..left };
            for (index, panel) in self.panels.chunks_exact(self.k * PANEL).enumerate() {
                let column = index * PANEL;
                let values = &panel[first * PANEL..][..depth * PANEL];
                let panel = Panel { values, columns: PANEL.min(self.n - column) };
                float_product(left, panel, &mut out[column..], out_stride);
            }
        }
    }
}

/// Returns how many of `rows` rows of the left operand a core processes at a time, if a row takes
/// `each` multiplications. The block fits the cache next to a panel, and all cores get equal
/// shares.
pub fn block(rows: usize, each: usize) -> usize {
    const MOST: usize = 64;
    if rows.saturating_mul(each) < SHARE {
        return rows.max(1);
    }
    let share = rows.div_ceil(rayon::current_num_threads());
    rows.div_ceil(rayon::current_num_threads() * share.div_ceil(MOST)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        for (m, k, n) in // The last two are split among cores and cut along the inner axis.
            [
                (1, 1, 1),
                (3, 5, 7),
                (4, 8, 8),
                (9, 3, 17),
                (5, 0, 3),
                (0, 4, 4),
                (150, 9, 70),
                (70, 1030, 33),
            ]
        {
            let left: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
            let right: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
            let mut out = vec![0.0; m * n];
            PackedMatrix::new(&right, k, n, Layout::row_major(n)).multiply(&left, &mut out, n);
            for i in 0..m {
                for j in 0..n {
                    let sum: f32 = (0..k).map(|p| left[i * k + p] * right[p * n + j]).sum();
                    assert_eq!(out[i * n + j], sum, "{m}x{k}x{n} at {i},{j}");
                }
            }
        }
    }
}
