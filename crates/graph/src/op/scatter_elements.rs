//! Replacement of single elements by index.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::indexing::{along_axis, data_and_indices, indices};
use super::operands::{Operands, build, infer_tensors, tensor};
use super::scattering::{ScatterKind, scatter};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// The first operand with some elements replaced by, or combined with, elements of the third. The
/// integers of the second operand, with the shape of the third, are the target positions along
/// `axis`; the other coordinates are unchanged. Negative integers count from the end of the axis.
/// Later elements overwrite earlier ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScatterElements {
    /// The axis, counted from 0.
    pub axis: usize,
    /// Combination of an update with the existing element.
    pub kind: ScatterKind,
}

impl Operator for ScatterElements {
    fn name(&self) -> &'static str {
        "ScatterElements"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 3, 3)?;
        let (data, indices) = data_and_indices(&operands)?;
        operands.axis(0, self.axis)?;
        operands.within(self.axis, data, indices)?;
        self.kind.check(&operands, indices)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let (data, of_indices) = (tensor(self, inputs, 0)?, tensor(self, inputs, 1)?.shape());
        let positions =
            along_axis(self, self.axis, data.shape(), of_indices, &indices(tensor(self, inputs, 1)?))?;
        let data = scatter(self.kind, data.data(), tensor(self, inputs, 2)?.data(), &positions, 1);
        Ok(vec![build(self, tensor(self, inputs, 0)?.shape(), data)?])
    }
}
