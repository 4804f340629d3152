//! Softmax over adjacent axes.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use npukit_numeric::Tensor;

use super::operands::{Operands, build_floats, floats, infer_tensors};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `exp(x - max) / sum(exp(x - max))` over the axes from `axis` to `axis_end` (exclusive); one axis
/// since opset 13, all trailing axes before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Softmax {
    /// First axis of the sum, counted from 0.
    pub axis: usize,
    /// One past the last axis of the sum.
    pub axis_end: usize,
}

impl Operator for Softmax {
    fn name(&self) -> &'static str {
        "Softmax"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        infer_over(self, self.axis..self.axis_end, inputs)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_over(self, self.axis..self.axis_end, inputs, normalize)
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let axes = permuted_axes(self.axis..self.axis_end, perm)?;
        Some(Self { axis: axes.start, axis_end: axes.end }.into())
    }
}

/// Normalizes the elements `first, first + step, ...` of `block`.
fn normalize(block: &mut [f32], first: usize, step: usize) {
    let max = maximum(block, first, step);
    let mut sum = 0.0;
    for x in block[first..].iter_mut().step_by(step) {
        *x = (*x - max).exp();
        sum += *x;
    }
    block[first..].iter_mut().step_by(step).for_each(|x| *x /= sum);
}

/// Returns the largest of the elements `first, first + step, ...` of `block`.
pub(super) fn maximum(block: &[f32], first: usize, step: usize) -> f32 {
    block[first..].iter().step_by(step).fold(f32::NEG_INFINITY, |max, &x| max.max(x))
}

/// Checks an operator that normalizes floats over adjacent `axes`.
pub(super) fn infer_over(
    op: &dyn Operator,
    axes: Range<usize>,
    inputs: &[&Value],
) -> Result<Vec<ValueInfo>, OpError> {
    let operands = Operands::new(op, inputs, 1, 1)?;
    let rank = operands.floats(0, "operand", 0, usize::MAX)?.len();
    if axes.is_empty() || axes.end > rank {
        return Err(OpError::Axis { op: op.name(), axis: axes.start.max(axes.end), rank });
    }
    Ok(vec![operands.info(0).clone()])
}

/// Evaluates such an operator: `function` normalizes the elements `first, first + step, ...` of a
/// block, given the block, `first` and `step`.
pub(super) fn eval_over(
    op: &dyn Operator,
    axes: Range<usize>,
    inputs: &[&Tensor],
    function: impl Fn(&mut [f32], usize, usize),
) -> Result<Vec<Tensor>, OpError> {
    let infos = infer_tensors(op, inputs)?;
    let shape = &infos[0].shape;
    let mut data = floats(op, inputs, 0, "operand")?.to_vec();
    let count: usize = shape[axes.clone()].iter().product();
    let inner: usize = shape[axes.end..].iter().product();
    if !data.is_empty() {
        for block in data.chunks_exact_mut(count * inner) {
            (0..inner).for_each(|i| function(block, i, inner));
        }
    }
    build_floats(op, &infos, data)
}

/// Returns the axes after a permutation, if they stay adjacent; their order does not matter for a
/// sum.
pub(super) fn permuted_axes(axes: Range<usize>, perm: &[usize]) -> Option<Range<usize>> {
    let start = perm.iter().position(|axis| axes.contains(axis))?;
    let end = start + axes.len();
    perm.get(start..end)?.iter().all(|axis| axes.contains(axis)).then_some(start..end)
}
