//! Logarithm of Softmax.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::softmax::{eval_over, infer_over, maximum, permuted_axes};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `x - max - ln(sum(exp(x - max)))` over the axes from `axis` to `axis_end` (exclusive); one axis
/// since opset 13, all trailing axes before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogSoftmax {
    /// First axis of the sum, counted from 0.
    pub axis: usize,
    /// One past the last axis of the sum.
    pub axis_end: usize,
}

impl Operator for LogSoftmax {
    fn name(&self) -> &'static str {
        "LogSoftmax"
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
    let sum = block[first..].iter().step_by(step).fold(0.0, |sum, x| sum + (x - max).exp());
    let log = f32::ln(sum);
    block[first..].iter_mut().step_by(step).for_each(|x| *x = *x - max - log);
}
