//! Cholesky decomposition: [`cholesky`].

use npukit_numeric::Rows;
use rayon::prelude::*;

use crate::product::{Layout, PackedMatrix};

/// Columns that are computed together.
const BLOCK: usize = 64;

/// Returns the lower triangular matrix `L` with `L L^T = matrix`, for a symmetric matrix; `None` if
/// rounding makes a pivot zero or negative. Numbers above the diagonal are not read, and are
/// garbage in the result.
pub(super) fn cholesky(mut matrix: Vec<f32>, size: usize) -> Option<Vec<f32>> {
    for first in (0..size).step_by(BLOCK) {
        let width = BLOCK.min(size - first);
        subtract_earlier(&mut matrix, size, first, width);
        let (above, below) = matrix.split_at_mut((first + width) * size);
        let block = &mut above[first * size..];
        for row in 0..width {
            let (done, rest) = block.split_at_mut(row * size);
            let done = &*done;
            solve(&mut rest[first..first + row], |column| &done[column * size + first..]);
            let own = &mut rest[first..=first + row];
            let squares: f64 = own[..row].iter().map(|x| f64::from(*x).powi(2)).sum();
            let pivot = f64::from(own[row]) - squares;
            if !(pivot > 0.0 && pivot.is_finite()) {
                return None;
            }
            own[row] = pivot.sqrt() as f32;
        }
        let block = &*block;
        below.par_chunks_exact_mut(size).for_each(|row| {
            solve(&mut row[first..first + width], |column| &block[column * size + first..]);
        });
    }
    Some(matrix)
}

/// Subtracts the products with the columns before `first` from a block of columns.
fn subtract_earlier(matrix: &mut [f32], size: usize, first: usize, width: usize) {
    if first == 0 {
        return;
    }
    let layout = Layout { offset: first * size, row_stride: 1, column_stride: size };
    let earlier = PackedMatrix::new(matrix, first, width, layout);
    matrix[first * size..].par_chunks_mut(BLOCK * size).for_each(|rows| {
        let count = rows.len() / size;
        let mut products = vec![0.0; count * width];
        earlier.multiply_rows(Rows { values: rows, pitch: size, count }, &mut products, width);
        for (row, products) in rows.chunks_exact_mut(size).zip(products.chunks_exact(width)) {
            row[first..].iter_mut().zip(products).for_each(|(value, product)| *value -= product);
        }
    });
}

/// Solves `x L^T = row` in place; `factor` returns a row of `L`, which has the columns of `row`
/// first.
fn solve<'a>(row: &mut [f32], factor: impl Fn(usize) -> &'a [f32]) {
    for column in 0..row.len() {
        let factor = factor(column);
        let sum: f32 = row[..column].iter().zip(factor).map(|(x, y)| x * y).sum();
        row[column] = (row[column] - sum) / factor[column];
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_factor_times_its_transpose_is_the_matrix() {
        for size in [1, 5, 64, 150] {
            let value = |index: usize| (index * 7919 % 1013) as f32 / 1013.0 - 0.5;
            let root: Vec<f32> = (0..size * size).map(value).collect();
            let product = |a: &[f32], i: usize, j: usize| -> f32 {
                (0..size).map(|k| a[i * size + k] * a[j * size + k]).sum()
            };
            let diagonal = |i, j| if i == j { 0.5 } else { 0.0 };
            let matrix = (0..size * size).map(|p| (p / size, p % size));
            let matrix: Vec<f32> = matrix.map(|(i, j)| product(&root, i, j) + diagonal(i, j)).collect();
            let mut factor = cholesky(matrix.clone(), size).unwrap();
            (0..size).for_each(|i| factor[i * size + i + 1..(i + 1) * size].fill(0.0));
            for (place, expected) in matrix.iter().enumerate() {
                let found = product(&factor, place / size, place % size);
                assert!((found - expected).abs() < 1e-3, "{size}: {found} {expected}");
            }
        }
        assert!(cholesky(vec![1.0, 0.0, 2.0, 1.0], 2).is_none());
        assert!(cholesky(vec![f32::NAN], 1).is_none());
    }
}
