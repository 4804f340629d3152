//! The matrix product of Conv, Gemm and MatMul.
//!
//! The right operand is packed into panels of [`LANES`] columns ([`PackedMatrix`]), so that the
//! inner loop is one the compiler turns into vector instructions. Each result is summed in `f32`,
//! in the order of the inner axis, whatever the machine: results are reproducible.

/// Columns of a panel.
const LANES: usize = 8;

/// Rows of the left operand taken at a time; their sums stay in registers.
const ROWS: usize = 4;

type Lanes = [f32; LANES];

/// The right operand `[k, n]` of a product, cut into panels of [`LANES`] columns.
pub struct PackedMatrix {
    k: usize,
    n: usize,
    panels: Vec<Lanes>,
}

/// Where a matrix lies in a slice: first element, and the distances between rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Index of element (0, 0).
    pub offset: usize,
    /// From one row to the next.
    pub row_stride: usize,
    /// From one column to the next.
    pub column_stride: usize,
}

impl Layout {
    /// A row-major matrix of `columns` columns.
    pub fn row_major(columns: usize) -> Self {
        Self { offset: 0, row_stride: columns, column_stride: 1 }
    }

    /// The transpose of a row-major matrix of `columns` columns.
    pub fn transposed(columns: usize) -> Self {
        Self { offset: 0, row_stride: 1, column_stride: columns }
    }
}

impl PackedMatrix {
    /// Packs the matrix `[k, n]` that lies in `source` as `layout` says.
    pub fn new(source: &[f32], k: usize, n: usize, layout: Layout) -> Self {
        let mut panels = vec![[0.0; LANES]; k * n.div_ceil(LANES)];
        for column in 0..n {
            let panel = column / LANES * k;
            let start = layout.offset + column * layout.column_stride;
            for row in 0..k {
                panels[panel + row][column % LANES] = source[start + row * layout.row_stride];
            }
        }
        Self { k, n, panels }
    }

    /// Writes the product of `left` (row-major `[m, k]`) and this matrix to `out`: row `i` goes to
    /// `out[i * out_stride..][..n]`.
    pub fn multiply(&self, left: &[f32], out: &mut [f32], out_stride: usize) {
        if out.is_empty() {
            return;
        }
        if self.k == 0 {
            out.chunks_mut(out_stride).for_each(|row| row[..self.n].fill(0.0));
            return;
        }
        for (rows, out) in left.chunks(ROWS * self.k).zip(out.chunks_mut(ROWS * out_stride)) {
            self.multiply_rows(rows, out, out_stride);
        }
    }

    /// At most [`ROWS`] rows of the product.
    fn multiply_rows(&self, rows: &[f32], out: &mut [f32], out_stride: usize) {
        let count = rows.len() / self.k;
        // Missing rows repeat the first; their sums are dropped.
        let row = |i: usize| &rows[if i < count { i * self.k } else { 0 }..][..self.k];
        let rows: [&[f32]; ROWS] = std::array::from_fn(row);
        for (index, panel) in self.panels.chunks_exact(self.k).enumerate() {
            let sums = tile(rows, panel);
            let first = index * LANES;
            let width = LANES.min(self.n - first);
            for (i, sums) in sums.iter().enumerate().take(count) {
                out[i * out_stride + first..][..width].copy_from_slice(&sums[..width]);
            }
        }
    }
}

fn tile(rows: [&[f32]; ROWS], panel: &[Lanes]) -> [Lanes; ROWS] {
    let rows = rows.map(|row| &row[..panel.len()]);
    let mut sums = [[0.0; LANES]; ROWS];
    for (p, right) in panel.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(rows) {
            let left = row[p];
            for (sum, right) in sums.iter_mut().zip(right) {
                *sum += left * right;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_definition() {
        for (m, k, n) in [(1, 1, 1), (3, 5, 7), (4, 8, 8), (9, 3, 17), (5, 0, 3), (0, 4, 4)] {
            let left: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
            let right: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
            let mut out = vec![9.0; m * n];
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
