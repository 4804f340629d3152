//! Selection of slices by index.

use npukit_numeric::{ElementType, Tensor};
use serde::{Deserialize, Serialize};

use super::indexing::{indices, pick, position};
use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Selects slices of the first operand along `axis` by the integers of the second. Negative
/// integers count from the end of the axis. In the result's shape, the shape of the second operand
/// replaces `axis`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gather {
    /// Axis of the first operand, counted from 0.
    pub axis: usize,
}

impl Operator for Gather {
    fn name(&self) -> &'static str {
        "Gather"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        operands.axis(0, self.axis)?;
        operands.element(1, "indices", &[ElementType::I64, ElementType::I32])?;
        let (data, of_indices) = (operands.shape(0), operands.shape(1));
        if let Some(constant) = &inputs[1].constant {
            self.positions(&indices(constant), data[self.axis])?;
        }
        let shape = [&data[..self.axis], of_indices, &data[self.axis + 1..]].concat();
        result(shape, operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let shape = operand.shape();
        let size = shape[self.axis];
        let positions = self.positions(&indices(tensor(self, inputs, 1)?), size)?;
        let outer: usize = shape[..self.axis].iter().product();
        let inner: usize = shape[self.axis + 1..].iter().product();
        let starts = (0..outer).flat_map(|i| positions.iter().map(move |p| (i * size + p) * inner));
        let starts: Vec<usize> = starts.collect();
        Ok(vec![build(self, &infos[0].shape, pick(operand.data(), &starts, inner))?])
    }
}

impl Gather {
    /// Returns the indices as positions on an axis of `size` elements.
    fn positions(&self, indices: &[i64], size: usize) -> Result<Vec<usize>, OpError> {
        indices.iter().map(|&index| position(self, self.axis, index, size)).collect()
    }
}
