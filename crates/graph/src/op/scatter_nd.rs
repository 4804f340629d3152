//! Replacement of blocks by index tuples.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::indexing::{data_and_indices, indices, tuples};
use super::operands::{Operands, build, infer_tensors, tensor};
use super::scattering::{ScatterKind, scatter};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// The first operand with some blocks replaced by, or combined with, blocks of the third. The
/// integer tuples along the last axis of the second operand are the target positions along the
/// first axes. Negative integers count from the end of the axis. Later blocks overwrite earlier
/// ones.
///
/// The third operand has the shape of the second without its last axis, then that of a block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScatterNd {
    /// Combination of an update with the existing element.
    pub kind: ScatterKind,
}

impl Operator for ScatterNd {
    fn name(&self) -> &'static str {
        "ScatterND"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 3, 3)?;
        let (data, indices) = data_and_indices(&operands)?;
        let width = operands.tuple_width(data.len(), indices)?;
        self.kind.check(&operands, &[&indices[..indices.len() - 1], &data[width..]].concat())
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let (data, of_indices) = (tensor(self, inputs, 0)?, tensor(self, inputs, 1)?.shape());
        let starts = tuples(self, 0, data.shape(), of_indices, &indices(tensor(self, inputs, 1)?))?;
        let inner = data.shape()[of_indices[of_indices.len() - 1]..].iter().product();
        let result = scatter(self.kind, data.data(), tensor(self, inputs, 2)?.data(), &starts, inner);
        Ok(vec![build(self, data.shape(), result)?])
    }
}
