//! Determinants of square matrices.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// The determinant of each square matrix in the last two axes.
///
/// Computed by elimination with partial pivoting, in `f64`, rounded once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Det;

impl Operator for Det {
    fn name(&self) -> &'static str {
        "Det"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let shape = operands.floats(0, "operand", 2, usize::MAX)?;
        let (outer, matrix) = shape.split_at(shape.len() - 2);
        operands.size("columns of the matrices", matrix[0], matrix[1])?;
        result(outer.to_vec(), operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = tensor(self, inputs, 0)?.shape();
        let size = shape[shape.len() - 1];
        let data = floats(self, inputs, 0, "operand")?;
        if size == 0 {
            return build_floats(self, &infos, vec![1.0; infos[0].shape.iter().product()]);
        }
        let determinants = data.chunks(size * size).map(|matrix| determinant(matrix, size) as f32);
        build_floats(self, &infos, determinants.collect())
    }
}

fn determinant(matrix: &[f32], size: usize) -> f64 {
    let mut rows: Vec<Vec<f64>> =
        matrix.chunks(size).map(|row| row.iter().map(|&x| x.into()).collect()).collect();
    let mut product = 1.0;
    for column in 0..size {
        let largest = |best: usize, row: usize| {
            // A NaN compares false, so it becomes the pivot and reaches the result.
            if rows[row][column].abs() <= rows[best][column].abs() { best } else { row }
        };
        let pivot = (column + 1..size).fold(column, largest);
        if pivot != column {
            rows.swap(pivot, column);
            product = -product;
        }
        let (done, below) = rows.split_at_mut(column + 1);
        let pivot = &done[column];
        product *= pivot[column];
        if pivot[column] == 0.0 {
            return product;
        }
        for row in below {
            let factor = row[column] / pivot[column];
            row.iter_mut().zip(pivot).skip(column).for_each(|(x, above)| *x -= factor * above);
        }
    }
    product
}
