//! Splitting into parts.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, map_data, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::{gather_strided, strides};

/// Splits its operand along an axis; each part is a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Split {
    /// The axis, counted from 0; less than the number of axes.
    pub axis: usize,
    /// Size of each part along the axis; the sum is the operand's size.
    pub sizes: Vec<usize>,
}

impl Operator for Split {
    fn name(&self) -> &'static str {
        "Split"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        operands.axis(0, self.axis)?;
        let info = operands.info(0);
        let sum = self.sizes.iter().fold(0usize, |sum, &size| sum.saturating_add(size));
        operands.size("sum of the sizes of the parts", info.shape[self.axis], sum)?;
        let part = |&size: &usize| {
            let mut shape = info.shape.clone();
            shape[self.axis] = size;
            ValueInfo { shape, element: info.element }
        };
        Ok(self.sizes.iter().map(part).collect())
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let strides = strides(operand.shape());
        let mut start = 0;
        let part = |info: &ValueInfo| {
            let offset = start * strides[self.axis] as usize;
            start += info.shape[self.axis];
            let data = map_data!(operand.data(), values => {
                gather_strided(values, offset, &info.shape, &strides)
            });
            build(self, &info.shape, data)
        };
        infos.iter().map(part).collect()
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let axis = perm.iter().position(|&axis| axis == self.axis)?;
        Some(Self { axis, sizes: self.sizes.clone() }.into())
    }
}
