//! Selection of single elements by index.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::indexing::{along_axis, data_and_indices, indices, pick};
use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Selects one element of the first operand for each integer of the second. The integer is the
/// position along `axis`; the other coordinates are the same as for the integer itself. Negative
/// integers count from the end of the axis.
///
/// Both operands have the same number of axes; the second may be smaller along axes other than
/// `axis`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GatherElements {
    /// The axis, counted from 0.
    pub axis: usize,
}

impl Operator for GatherElements {
    fn name(&self) -> &'static str {
        "GatherElements"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let (data, indices) = data_and_indices(&operands)?;
        operands.axis(0, self.axis)?;
        operands.within(self.axis, data, indices)?;
        result(indices.to_vec(), operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let data = tensor(self, inputs, 0)?;
        let shape = &infos[0].shape;
        let positions = along_axis(self, self.axis, data.shape(), shape, &indices(tensor(self, inputs, 1)?))?;
        Ok(vec![build(self, shape, pick(data.data(), &positions, 1))?])
    }
}
