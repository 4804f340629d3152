//! Cumulative sums and products along an axis.

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{NUMBERS, Operands, build, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// The sum (or product) of each element and all previous ones along `axis`. The shape stays.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Cumulative {
    /// The axis, counted from 0.
    pub axis: usize,
    /// Whether to multiply (CumProd) instead of to add.
    pub product: bool,
    /// Whether to leave out the element itself.
    pub exclusive: bool,
    /// Whether to start at the end of the axis.
    pub reverse: bool,
}

/// Formats with the operator name: `CumSum { axis: 1, exclusive: false, reverse: false }`.
impl std::fmt::Debug for Cumulative {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct(self.name());
        text.field("axis", &self.axis).field("exclusive", &self.exclusive);
        text.field("reverse", &self.reverse).finish()
    }
}

impl Operator for Cumulative {
    fn name(&self) -> &'static str {
        if self.product { "CumProd" } else { "CumSum" }
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        operands.element(0, "operand", NUMBERS)?;
        operands.axis(0, self.axis)?;
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let shape = operand.shape();
        let data = match (operand.data(), self.product) {
            (TensorData::F32(x), false) => TensorData::F32(self.scan(x, shape, 0.0, |sum, x| sum + x)),
            (TensorData::F32(x), true) => TensorData::F32(self.scan(x, shape, 1.0, |product, x| product * x)),
            (TensorData::I64(x), false) => TensorData::I64(self.scan(x, shape, 0, i64::wrapping_add)),
            (TensorData::I64(x), true) => TensorData::I64(self.scan(x, shape, 1, i64::wrapping_mul)),
            (TensorData::I32(x), false) => TensorData::I32(self.scan(x, shape, 0, i32::wrapping_add)),
            (TensorData::I32(x), true) => TensorData::I32(self.scan(x, shape, 1, i32::wrapping_mul)),
            // Inference ensures numbers.
            (data, _) => data.clone(),
        };
        Ok(vec![build(self, shape, data)?])
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let axis = perm.iter().position(|&axis| axis == self.axis)?;
        Some(Self { axis, ..self.clone() }.into())
    }
}

impl Cumulative {
    fn scan<T: Copy>(&self, values: &[T], shape: &[usize], first: T, with: fn(T, T) -> T) -> Vec<T> {
        let (count, inner) = (shape[self.axis], shape[self.axis + 1..].iter().product::<usize>());
        let mut result = values.to_vec();
        for block in result.chunks_mut((count * inner).max(1)) {
            for lane in 0..inner {
                let mut so_far = first;
                for step in 0..count {
                    let index = if self.reverse { count - 1 - step } else { step };
                    let element = &mut block[index * inner + lane];
                    let next = with(so_far, *element);
                    *element = if self.exclusive { so_far } else { next };
                    so_far = next;
                }
            }
        }
        result
    }
}
