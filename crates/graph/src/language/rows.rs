//! [`Rows`]: a matrix of weights in the format of its file.

use std::sync::Arc;

use npukit_numeric::{Codes, RowFormat};
use rayon::prelude::*;

/// Rows that a worker computes at once.
const ROWS: usize = 16;
/// Partial sums of a product, which the compiler keeps in vector registers.
const LANES: usize = 16;

/// Matrix of weights, row-major, in the format of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    format: RowFormat,
    columns: usize,
    /// Number of bytes of a row.
    pitch: usize,
    bytes: Arc<[u8]>,
    /// Range of rows within `bytes`.
    first: usize,
    count: usize,
}

impl Rows {
    /// Creates a matrix of `rows` rows of `columns` elements. `None` if a row is not a whole number
    /// of blocks, or `bytes` has another size.
    pub fn new(format: RowFormat, [rows, columns]: [usize; 2], bytes: impl Into<Arc<[u8]>>) -> Option<Self> {
        let (pitch, bytes) = (format.row_bytes(columns)?, bytes.into());
        let fits = rows > 0 && pitch > 0 && rows.checked_mul(pitch) == Some(bytes.len());
        fits.then_some(Self { format, columns, pitch, bytes, first: 0, count: rows })
    }

    /// Creates a matrix of floats. `None` if it is empty or `values` has another size.
    pub fn from_floats(shape: [usize; 2], values: &[f32]) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::new(RowFormat::F32, shape, bytes)
    }

    /// Returns the number of rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.count, self.columns]
    }

    /// Returns `count` rows starting at `first`, with the same memory. `None` if they do not exist.
    pub fn part(&self, first: usize, count: usize) -> Option<Self> {
        let fits = count > 0 && first.checked_add(count).is_some_and(|end| end <= self.count);
        fits.then(|| Self { first: self.first + first, count, ..self.clone() })
    }

    /// Converts a row to floats, `out` having a column each. Panics if the row does not exist.
    pub fn decode(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.count, "row {row} of {}", self.count);
        self.format.decode(&self.bytes[(self.first + row) * self.pitch..][..self.pitch], out);
    }

    /// Returns the format of the rows.
    pub fn format(&self) -> RowFormat {
        self.format
    }

    /// Returns the codes of each 32 elements of a row; `None` if the format has none. Panics if the
    /// row does not exist.
    pub fn codes(&self, row: usize) -> Option<Vec<Codes>> {
        assert!(row < self.count, "row {row} of {}", self.count);
        self.format.codes(&self.bytes[(self.first + row) * self.pitch..][..self.pitch])
    }

    /// Returns the row and the column of the first element that is NaN or infinite, as
    /// [`RowFormat::first_not_finite`] finds it; `None` if all elements are finite.
    pub fn first_not_finite(&self) -> Option<[usize; 2]> {
        let rows = &self.bytes[self.first * self.pitch..][..self.count * self.pitch];
        let of_row = |(row, bytes): (usize, &[u8])| Some([row, self.format.first_not_finite(bytes)?]);
        rows.par_chunks_exact(self.pitch).enumerate().find_map_first(of_row)
    }

    /// Returns all rows as floats.
    pub fn to_floats(&self) -> Vec<f32> {
        let mut floats = vec![0.0; self.count * self.columns];
        floats.chunks_exact_mut(self.columns).enumerate().for_each(|(row, out)| self.decode(row, out));
        floats
    }

    /// Multiplies the matrix by vectors: `x` is `[tokens, columns]`, the result `[tokens, rows]`.
    /// Each row is converted once, whatever the number of tokens.
    pub(super) fn product(&self, x: &[f32]) -> Vec<f32> {
        let tokens = x.len() / self.columns;
        let block = |block: usize| -> Vec<f32> {
            let mut row = vec![0.0; self.columns];
            let rows = block * ROWS..((block + 1) * ROWS).min(self.count);
            let mut results = Vec::with_capacity(rows.len() * tokens);
            for index in rows {
                self.decode(index, &mut row);
                results.extend(x.chunks_exact(self.columns).map(|x| dot(x, &row)));
            }
            results
        };
        let blocks: Vec<Vec<f32>> = (0..self.count.div_ceil(ROWS)).into_par_iter().map(block).collect();
        let mut results = vec![0.0; tokens * self.count];
        for (row, of_row) in blocks.iter().flat_map(|block| block.chunks_exact(tokens)).enumerate() {
            let places = results.iter_mut().skip(row).step_by(self.count);
            places.zip(of_row).for_each(|(place, &result)| *place = result);
        }
        results
    }
}

/// Returns the sum of the products of two vectors of equal length.
pub(super) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn products_are_sums_over_columns() {
        let (rows, columns, tokens) = (37, 21, 3);
        let number = |index: usize| (index * 7919 % 101) as f32 - 50.0;
        let weights: Vec<f32> = (0..rows * columns).map(number).collect();
        let x: Vec<f32> = (0..tokens * columns).map(|index| number(index + 13)).collect();
        let matrix = Rows::from_floats([rows, columns], &weights).unwrap();
        let found = matrix.product(&x);
        for (token, row) in (0..tokens).flat_map(|token| (0..rows).map(move |row| (token, row))) {
            let terms = (0..columns).map(|k| x[token * columns + k] * weights[row * columns + k]);
            assert_eq!(found[token * rows + row], terms.sum::<f32>(), "integers: no rounding");
        }
        let part = matrix.part(5, 20).unwrap();
        assert_eq!(part.product(&x[..columns])[..], found[5..25]);
        assert_eq!(part.to_floats()[..], weights[5 * columns..25 * columns]);
        assert!(matrix.part(30, 8).is_none() && matrix.part(0, 0).is_none());
    }

    #[test]
    fn a_matrix_has_as_many_bytes_as_its_shape() {
        assert!(Rows::new(RowFormat::Q8_0, [2, 32], vec![0; 68]).is_some());
        assert!(Rows::new(RowFormat::Q8_0, [2, 32], vec![0; 69]).is_none());
        assert!(Rows::new(RowFormat::Q8_0, [2, 31], vec![0; 68]).is_none());
        assert!(Rows::new(RowFormat::F32, [0, 32], Vec::new()).is_none());
        assert!(Rows::new(RowFormat::F32, [usize::MAX, 2], Vec::new()).is_none());
    }
}
