//! [`Change`]: a matrix after orthogonal changes of its inputs and results, which are made when it
//! is used.

use std::sync::Arc;

use rayon::prelude::*;

use super::hadamard::Hadamard;

/// Changes of a matrix `W` with a column per input and a row per result. Row vectors `x` of inputs
/// and `y = x W^T` of results are in other coordinates; the matrix of the other coordinates has the
/// same function.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Change {
    /// Factor of each input, before the other changes.
    pub(super) gains: Option<Vec<f32>>,
    /// Change of the inputs.
    pub(super) inputs: Option<Coordinates>,
    /// Change of the results.
    pub(super) results: Option<Coordinates>,
}

/// Other coordinates of row vectors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Coordinates {
    /// Whether the mean of the values is subtracted first.
    pub(super) centers: bool,
    /// Matrix by which vectors are multiplied.
    pub(super) matrix: Arc<Hadamard>,
}

impl Coordinates {
    /// Converts a vector to the other coordinates.
    pub(super) fn apply(&self, x: &mut [f32]) {
        if self.centers {
            center(x);
        }
        self.matrix.apply(x);
    }

    /// Multiplies a vector by the transpose of the conversion.
    fn transposed(&self, x: &mut [f32]) {
        self.matrix.invert(x);
        if self.centers {
            center(x);
        }
    }
}

/// Subtracts the mean.
fn center(x: &mut [f32]) {
    let mean = x.iter().map(|&x| f64::from(x)).sum::<f64>() / x.len().max(1) as f64;
    x.iter_mut().for_each(|x| *x = (f64::from(*x) - mean) as f32);
}

impl Change {
    /// Changes a row of the matrix whose results are not changed.
    pub(super) fn row(&self, row: &mut [f32]) {
        if let Some(gains) = &self.gains {
            row.iter_mut().zip(gains).for_each(|(value, gain)| *value *= gain);
        }
        self.inputs.iter().for_each(|inputs| inputs.apply(row));
    }

    /// Returns the factor of each original row in a row of the matrix; `None` if it is the original
    /// row.
    pub(super) fn shares(&self, row: usize, rows: usize) -> Option<Vec<f32>> {
        let results = self.results.as_ref()?;
        let mut shares: Vec<f32> = (0..rows).map(|index| f32::from(index == row)).collect();
        results.transposed(&mut shares);
        Some(shares)
    }

    /// Converts the rows of a matrix, `[rows, columns]`.
    pub(super) fn matrix(&self, values: &mut [f32], columns: usize) {
        values.par_chunks_exact_mut(columns).for_each(|row| self.row(row));
        if let Some(results) = &self.results {
            let rows = values.len() / columns;
            let mut columns_of = transposed(values, columns);
            columns_of.par_chunks_exact_mut(rows).for_each(|column| results.apply(column));
            values.copy_from_slice(&transposed(&columns_of, rows));
        }
    }

    /// Returns inputs of the changed matrix as inputs of the original one, `[tokens, columns]`.
    pub(super) fn original_inputs(&self, x: &[f32], columns: usize) -> Vec<f32> {
        let mut x = x.to_vec();
        x.par_chunks_exact_mut(columns).for_each(|x| {
            self.inputs.iter().for_each(|inputs| inputs.transposed(x));
            if let Some(gains) = &self.gains {
                x.iter_mut().zip(gains).for_each(|(x, gain)| *x *= gain);
            }
        });
        x
    }

    /// Converts results of the original matrix, `[tokens, rows]`.
    pub(super) fn results(&self, y: &mut [f32], rows: usize) {
        if let Some(results) = &self.results {
            y.par_chunks_exact_mut(rows).for_each(|y| results.apply(y));
        }
    }
}

/// Returns the transpose of a matrix `[rows, columns]`.
pub(super) fn transposed(values: &[f32], columns: usize) -> Vec<f32> {
    let column = |column: usize| values.iter().skip(column).step_by(columns).copied();
    (0..columns).into_par_iter().flat_map_iter(column).collect()
}
