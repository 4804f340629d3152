//! Clamping of elements to a range.

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{NUMBERS, Operands, build, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `min(max(x, min), max)`; Relu6 is `Clip` from 0 to 6. Absent bounds are infinite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clip {
    /// Lower bound; minus infinity if absent.
    #[serde(with = "npukit_numeric::any_float")]
    pub min: f32,
    /// Upper bound; infinity if absent. It wins if the bounds cross.
    #[serde(with = "npukit_numeric::any_float")]
    pub max: f32,
}

impl Operator for Clip {
    fn name(&self) -> &'static str {
        "Clip"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        operands.element(0, "operand", NUMBERS)?;
        if self.min.is_nan() || self.max.is_nan() {
            let found = format!("{:?}", [self.min, self.max]);
            return Err(OpError::Attribute {
                op: self.name(),
                attribute: "min, max",
                found,
                legal: "a number or infinity",
            });
        }
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let data = match operand.data() {
            TensorData::F32(x) => TensorData::F32(clamp(x, self.min, self.max)),
            // The casts saturate, so that an infinite bound has no effect.
            TensorData::I64(x) => TensorData::I64(clamp(x, self.min as i64, self.max as i64)),
            TensorData::I32(x) => TensorData::I32(clamp(x, self.min as i32, self.max as i32)),
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

/// Clamps values; the upper bound wins if the bounds cross, and NaN is kept.
fn clamp<T: Copy + PartialOrd>(values: &[T], min: T, max: T) -> Vec<T> {
    let raise = |x: T| if x < min { min } else { x };
    let lower = |x: T| if x > max { max } else { x };
    values.iter().map(|&x| lower(raise(x))).collect()
}
