//! [`Rows`]: a matrix of weights in the format of its file.

use std::sync::Arc;

use npukit_numeric::{Codes, RowFormat, Sha256, dot_products};
use rayon::prelude::*;

use super::change::Change;

/// Rows that a worker computes at once.
const ROWS: usize = 16;

/// Matrix of weights, row-major, in the format of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    format: RowFormat,
    columns: usize,
    /// Number of bytes of a row.
    pitch: usize,
    /// Number of bytes from one row to the next: 0 if all rows share the same memory.
    step: usize,
    /// Not a slice: it has the memory that a file was read to.
    bytes: Arc<Vec<u8>>,
    /// Range of rows within `bytes`.
    first: usize,
    count: usize,
    /// Changes that are made to decoded rows.
    change: Option<Arc<Change>>,
}

impl Rows {
    /// Creates a matrix of `rows` rows of `columns` elements. `None` if a row is not a whole number
    /// of blocks, or `bytes` has another size.
    pub fn new(format: RowFormat, [rows, columns]: [usize; 2], bytes: Vec<u8>) -> Option<Self> {
        let (pitch, bytes) = (format.row_bytes(columns)?, Arc::new(bytes));
        let fits = rows > 0 && pitch > 0 && rows.checked_mul(pitch) == Some(bytes.len());
        fits.then_some(Self {
            format,
            columns,
            pitch,
            step: pitch,
            bytes,
            first: 0,
            count: rows,
            change: None,
        })
    }

    /// Creates a matrix of floats. `None` if it is empty or `values` has another size.
    pub fn from_floats(shape: [usize; 2], values: &[f32]) -> Option<Self> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::new(RowFormat::F32, shape, bytes)
    }

    /// Creates a matrix of zeros, whose rows share the memory of one. `None` if it is empty, or if
    /// a row is not a whole number of blocks.
    pub fn zeros(format: RowFormat, [rows, columns]: [usize; 2]) -> Option<Self> {
        let row = Self::new(format, [1, columns], vec![0; format.row_bytes(columns)?])?;
        (rows > 0).then_some(Self { step: 0, count: rows, ..row })
    }

    /// Returns zeros of the same shape, whose rows share the memory of one.
    pub(super) fn zeros_like(&self) -> Self {
        Self::zeros(RowFormat::F32, self.shape()).expect("a matrix is not empty")
    }

    /// Returns the number of rows and columns.
    pub fn shape(&self) -> [usize; 2] {
        [self.count, self.columns]
    }

    /// Returns `count` rows starting at `first`, with the same memory. `None` if they do not exist,
    /// or results are changed.
    pub fn part(&self, first: usize, count: usize) -> Option<Self> {
        let fits =
            !self.is_mixed() && count > 0 && first.checked_add(count).is_some_and(|end| end <= self.count);
        fits.then(|| Self { first: self.first + first, count, ..self.clone() })
    }

    /// Returns the matrix with a change, after the changes so far.
    pub(super) fn changed(&self, change: Change) -> Self {
        let own = if self.change.is_some() { self.in_floats() } else { self.clone() };
        Self { change: Some(Arc::new(change)), ..own }
    }

    /// Returns the matrix with rows that are converted one by one in little time: in floats if a
    /// change mixes its results.
    pub fn settled(&self) -> Self {
        if self.is_mixed() { self.in_floats() } else { self.clone() }
    }

    /// Whether a change mixes the results.
    fn is_mixed(&self) -> bool {
        self.change.as_ref().is_some_and(|change| change.results.is_some())
    }

    fn in_floats(&self) -> Self {
        Self::from_floats(self.shape(), &self.to_floats()).expect("a matrix has as many floats as its shape")
    }

    /// Converts a row to floats, `out` having a column each. Panics if the row does not exist.
    pub fn decode(&self, row: usize, out: &mut [f32]) {
        assert!(row < self.count, "row {row} of {}", self.count);
        let Some(change) = &self.change else { return self.format.decode(self.row(row), out) };
        match change.shares(row, self.count) {
            None => self.format.decode(self.row(row), out),
            Some(shares) => {
                out.fill(0.0);
                let mut original = vec![0.0; self.columns];
                for (index, share) in shares.into_iter().enumerate().filter(|(_, share)| *share != 0.0) {
                    self.format.decode(self.row(index), &mut original);
                    out.iter_mut().zip(&original).for_each(|(out, value)| *out += share * value);
                }
            }
        }
        change.row(out);
    }

    /// Returns the format of the rows; `None` if a change makes floats of them.
    pub fn format(&self) -> Option<RowFormat> {
        self.change.is_none().then_some(self.format)
    }

    /// Whether each 32 elements of a row have codes.
    pub fn has_codes(&self) -> bool {
        self.format().is_some_and(RowFormat::has_codes)
    }

    /// Returns the codes of each 32 elements of a row; `None` if [`Self::has_codes`] is false.
    /// Panics if the row does not exist.
    pub fn codes(&self, row: usize) -> Option<Vec<Codes>> {
        assert!(row < self.count, "row {row} of {}", self.count);
        if self.change.is_some() {
            return None;
        }
        self.format.codes(self.row(row))
    }

    /// Returns the row and the column of the file's first element that is NaN or infinite, as
    /// [`RowFormat::first_not_finite`] finds it; `None` if all elements are finite.
    pub fn first_not_finite(&self) -> Option<[usize; 2]> {
        let of_row = |row: usize| Some([row, self.format.first_not_finite(self.row(row))?]);
        (0..self.count).into_par_iter().find_map_first(of_row)
    }

    /// Returns the bytes of a row.
    fn row(&self, row: usize) -> &[u8] {
        &self.bytes[(self.first + row) * self.step..][..self.pitch]
    }

    /// Adds format, shape and weights to a hash.
    pub(super) fn hash(&self, hash: &mut Sha256) {
        hash.update(format!("{:?} {:?} {:?}", self.format, self.shape(), self.change).as_bytes());
        (0..self.count).for_each(|row| hash.update(self.row(row)));
    }

    /// Returns all rows as floats.
    pub fn to_floats(&self) -> Vec<f32> {
        let mut floats = vec![0.0; self.count * self.columns];
        let rows = floats.chunks_exact_mut(self.columns).enumerate();
        rows.for_each(|(row, out)| self.format.decode(self.row(row), out));
        self.change.iter().for_each(|change| change.matrix(&mut floats, self.columns));
        floats
    }

    /// Multiplies the matrix by vectors: `x` is `[tokens, columns]`, the result `[tokens, rows]`.
    /// Each row is converted once, whatever the number of tokens.
    pub(super) fn product(&self, x: &[f32]) -> Vec<f32> {
        let Some(change) = &self.change else { return self.original_product(x) };
        let mut results = self.original_product(&change.original_inputs(x, self.columns));
        change.results(&mut results, self.count);
        results
    }

    /// Multiplies the matrix of the file by vectors.
    fn original_product(&self, x: &[f32]) -> Vec<f32> {
        let tokens = x.len() / self.columns;
        let vectors = npukit_numeric::Rows { values: x, pitch: self.columns, count: tokens };
        let block = |block: usize| -> Vec<f32> {
            let rows = block * ROWS..((block + 1) * ROWS).min(self.count);
            let mut weights = vec![0.0; rows.len() * self.columns];
            weights
                .chunks_exact_mut(self.columns)
                .zip(rows.clone())
                .for_each(|(to, row)| self.format.decode(self.row(row), to));
            let mut results = vec![0.0; rows.len() * tokens];
            let weights = npukit_numeric::Rows { values: &weights, pitch: self.columns, count: rows.len() };
            dot_products(weights, vectors, self.columns, &mut results);
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

    #[test]
    fn zeros_need_the_memory_of_a_row() {
        for format in RowFormat::ALL {
            let zeros = Rows::zeros(format, [1 << 40, 256]).unwrap();
            assert_eq!((zeros.shape(), zeros.bytes.len()), ([1 << 40, 256], zeros.pitch));
            let part = zeros.part(1 << 39, 3).unwrap();
            assert_eq!((part.to_floats(), part.first_not_finite()), (vec![0.0; 3 * 256], None));
        }
        assert!(
            Rows::zeros(RowFormat::Q4_1, [2, 31]).is_none() && Rows::zeros(RowFormat::F32, [0, 2]).is_none()
        );
    }
}
