//! Rectification (ReLU).

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{NUMBERS, Operands, build, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `max(x, 0)` of each element; the result has shape and type of the operand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relu;

impl Operator for Relu {
    fn name(&self) -> &'static str {
        "Relu"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        operands.element(0, "operand", NUMBERS)?;
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let data = match operand.data() {
            // This form keeps NaN.
            TensorData::F32(x) => TensorData::F32(x.iter().map(|&x| if x < 0.0 { 0.0 } else { x }).collect()),
            TensorData::I64(x) => TensorData::I64(x.iter().map(|&x| x.max(0)).collect()),
            TensorData::I32(x) => TensorData::I32(x.iter().map(|&x| x.max(0)).collect()),
            TensorData::Bool(x) => TensorData::Bool(x.clone()),
        };
        Ok(vec![build(self, operand.shape(), data)?])
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}
