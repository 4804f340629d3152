//! NaN test of each element.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, floats, infer_tensors, result};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Whether each element is a NaN; the result holds booleans.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IsNaN;

impl Operator for IsNaN {
    fn name(&self) -> &'static str {
        "IsNaN"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let shape = operands.floats(0, "operand", 0, usize::MAX)?;
        result(shape.to_vec(), ElementType::Bool)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let answers = floats(self, inputs, 0, "operand")?.iter().map(|x| x.is_nan()).collect();
        Ok(vec![build(self, &infos[0].shape, TensorData::Bool(answers))?])
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(Self.into())
    }
}
