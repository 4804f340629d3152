//! Concatenation along an axis.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use npukit_numeric::{Tensor, TensorData};

use super::operands::{Operands, build, infer_tensors, map_data, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::elements;

/// Concatenates its operands, at least one, along an axis. They have the same element type and the
/// same sizes along all other axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Concat {
    /// The axis, counted from 0; less than the number of axes.
    pub axis: usize,
}

impl Operator for Concat {
    fn name(&self) -> &'static str {
        "Concat"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, usize::MAX)?;
        operands.axis(0, self.axis)?;
        let mut shape = operands.shape(0).to_vec();
        let element = operands.info(0).element;
        for i in 1..operands.len() {
            operands.element(i, "operands", &[element])?;
            let other = operands.shape(i);
            if !self.fits(&shape, other) {
                let (op, left) = (self.name(), shape);
                return Err(OpError::Shapes { op, left, right: other.to_vec() });
            }
            shape[self.axis] += other[self.axis];
            elements(&shape)?;
        }
        result(shape, element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let first = tensor(self, inputs, 0)?;
        let mut data = empty_like(first.data());
        let outer: usize = first.shape()[..self.axis].iter().product();
        for i in 0..outer {
            for input in inputs {
                let run: usize = input.shape()[self.axis..].iter().product();
                append(&mut data, input.data(), i * run..(i + 1) * run);
            }
        }
        Ok(vec![build(self, &infos[0].shape, data)?])
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let axis = perm.iter().position(|&axis| axis == self.axis)?;
        Some(Self { axis }.into())
    }
}

impl Concat {
    /// Whether the shapes agree outside the axis.
    fn fits(&self, left: &[usize], right: &[usize]) -> bool {
        let agree = |(axis, (l, r))| axis == self.axis || l == r;
        left.len() == right.len() && left.iter().zip(right).enumerate().all(agree)
    }
}

fn empty_like(data: &TensorData) -> TensorData {
    map_data!(data, values => Vec::with_capacity(values.len()))
}

/// Appends a part of `source`, which has the type of `target`.
fn append(target: &mut TensorData, source: &TensorData, part: Range<usize>) {
    match (target, source) {
        (TensorData::F32(target), TensorData::F32(source)) => target.extend_from_slice(&source[part]),
        (TensorData::I64(target), TensorData::I64(source)) => target.extend_from_slice(&source[part]),
        (TensorData::I32(target), TensorData::I32(source)) => target.extend_from_slice(&source[part]),
        (TensorData::Bool(target), TensorData::Bool(source)) => target.extend_from_slice(&source[part]),
        _ => {}
    }
}
