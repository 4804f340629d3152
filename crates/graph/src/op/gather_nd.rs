//! Selection of blocks by index tuples.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::indexing::{data_and_indices, indices, pick, tuples};
use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Selects blocks of the first operand by tuples of integers along the last axis of the second. A
/// tuple is the position of a block along the first axes after `batch_dims`, which both operands
/// have in common. Negative integers count from the end of the axis.
///
/// The result has the shape of the second operand without its last axis, then that of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatherNd {
    /// Number of leading axes that the operands have in common.
    pub batch_dims: usize,
}

impl Operator for GatherNd {
    fn name(&self) -> &'static str {
        "GatherND"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let (data, indices) = data_and_indices(&operands)?;
        let inner = self.block(&operands, data, indices)?;
        result([&indices[..indices.len() - 1], inner].concat(), operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (data, of_indices) = (tensor(self, inputs, 0)?, tensor(self, inputs, 1)?.shape());
        let starts =
            tuples(self, self.batch_dims, data.shape(), of_indices, &indices(tensor(self, inputs, 1)?))?;
        let inner = data.shape()[self.batch_dims + of_indices[of_indices.len() - 1]..].iter().product();
        Ok(vec![build(self, &infos[0].shape, pick(data.data(), &starts, inner))?])
    }
}

impl GatherNd {
    /// Returns the shape of a block, after checking the operands.
    fn block<'a>(
        &self,
        operands: &Operands<'_>,
        data: &'a [usize],
        indices: &[usize],
    ) -> Result<&'a [usize], OpError> {
        let batch = self.batch_dims;
        let (left, right) = (data.get(..batch), indices[..indices.len() - 1].get(..batch));
        if left.is_none() || left != right {
            let (op, left, right) = (self.name(), data.to_vec(), indices.to_vec());
            return Err(OpError::Shapes { op, left, right });
        }
        operands.tuple_width(data.len() - batch, indices).map(|width| &data[batch + width..])
    }
}
