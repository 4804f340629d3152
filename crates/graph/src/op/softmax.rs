//! Softmax.

use npukit_numeric::Tensor;

use super::operands::{Operands, build_floats, floats, infer_tensors};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `exp(x - max) / sum(exp(x - max))` over the axes from `axis` up to `axis_end` (exclusive); one axis since
/// opset 13, all trailing ones before.
#[derive(Clone, Debug, PartialEq)]
pub struct Softmax {
    /// First axis summed over, from 0.
    pub axis: usize,
    /// One past the last axis summed over.
    pub axis_end: usize,
}

impl Operator for Softmax {
    fn name(&self) -> &'static str {
        "Softmax"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let rank = operands.floats(0, "operand", 0, usize::MAX)?.len();
        if self.axis >= self.axis_end || self.axis_end > rank {
            return Err(OpError::Axis { op: self.name(), axis: self.axis.max(self.axis_end), rank });
        }
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = &infos[0].shape;
        let mut data = floats(self, inputs, 0, "operand")?.to_vec();
        let count: usize = shape[self.axis..self.axis_end].iter().product();
        let inner: usize = shape[self.axis_end..].iter().product();
        if !data.is_empty() {
            for block in data.chunks_exact_mut(count * inner) {
                (0..inner).for_each(|i| normalise(block, i, inner));
            }
        }
        build_floats(self, &infos, data)
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let summed = |axis: &usize| (self.axis..self.axis_end).contains(axis);
        let axis = perm.iter().position(summed)?;
        let axis_end = axis + self.axis_end - self.axis;
        // The axes must stay neighbours; their order does not matter to a sum.
        let contiguous = perm.get(axis..axis_end)?.iter().all(summed);
        contiguous.then(|| Self { axis, axis_end }.into())
    }
}

/// Normalises the elements `first, first + step, ...` of `block`.
fn normalise(block: &mut [f32], first: usize, step: usize) {
    let max = block[first..].iter().step_by(step).fold(f32::NEG_INFINITY, |max, &x| max.max(x));
    let mut sum = 0.0;
    for x in block[first..].iter_mut().step_by(step) {
        *x = (*x - max).exp();
        sum += *x;
    }
    block[first..].iter_mut().step_by(step).for_each(|x| *x /= sum);
}
