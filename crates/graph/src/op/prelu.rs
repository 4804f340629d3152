//! Rectification with a slope per element.

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::spread;
use super::operands::{Operands, build_floats, floats, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::broadcast;

/// `x` if positive, `slope * x` otherwise. Operands: `x`, and `slope`, which broadcasts to `x`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PRelu;

impl Operator for PRelu {
    fn name(&self) -> &'static str {
        "PRelu"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let x = operands.floats(0, "operand", 0, usize::MAX)?;
        let slope = operands.floats(1, "slope", 0, usize::MAX)?;
        if broadcast(x, slope).as_deref() != Some(x) {
            return Err(OpError::Shapes { op: self.name(), left: x.to_vec(), right: slope.to_vec() });
        }
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let x = floats(self, inputs, 0, "operand")?;
        let TensorData::F32(slope) = spread(tensor(self, inputs, 1)?, &infos[0].shape) else {
            return Ok(Vec::new());
        };
        let result = x.iter().zip(slope).map(|(&x, slope)| if x < 0.0 { slope * x } else { x });
        build_floats(self, &infos, result.collect())
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}
