//! Triangular part of each matrix.

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Keeps the elements of the last two axes on one side of a diagonal; the others become 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trilu {
    /// Whether to keep the upper triangle instead of the lower.
    pub upper: bool,
    /// Number of columns by which the diagonal is right of the main diagonal. The diagonal itself
    /// is always kept.
    pub offset: i64,
}

impl Operator for Trilu {
    fn name(&self) -> &'static str {
        "Trilu"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        operands.rank(0, "operand", 2, usize::MAX)?;
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let shape = operand.shape();
        let data = match operand.data() {
            TensorData::F32(x) => TensorData::F32(self.triangles(x, shape)),
            TensorData::I64(x) => TensorData::I64(self.triangles(x, shape)),
            TensorData::I32(x) => TensorData::I32(self.triangles(x, shape)),
            TensorData::Bool(x) => TensorData::Bool(self.triangles(x, shape)),
        };
        Ok(vec![build(self, shape, data)?])
    }

    /// Only if the last two axes stay last.
    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let rank = perm.len();
        match *perm.get(rank.checked_sub(2)?..)? {
            [rows, columns] if [rows, columns] == [rank - 2, rank - 1] => Some(self.clone().into()),
            // The transposed matrix has the other triangle.
            [rows, columns] if [rows, columns] == [rank - 1, rank - 2] => {
                Some(Self { upper: !self.upper, offset: self.offset.saturating_neg() }.into())
            }
            _ => None,
        }
    }
}

impl Trilu {
    fn triangles<T: Copy + Default>(&self, values: &[T], shape: &[usize]) -> Vec<T> {
        let (rows, columns) = (shape[shape.len() - 2].max(1), shape[shape.len() - 1].max(1));
        let stays = |position: usize| {
            let (row, column) = (position / columns % rows, position % columns);
            // In 128 bits, as an offset may be any 64-bit integer.
            let right = column as i128 - row as i128 - i128::from(self.offset);
            if self.upper { right >= 0 } else { right <= 0 }
        };
        values.iter().enumerate().map(|(i, &value)| if stays(i) { value } else { T::default() }).collect()
    }
}
