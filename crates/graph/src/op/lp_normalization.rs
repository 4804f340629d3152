//! Division by a norm along one axis.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::softmax::{eval_over, infer_over};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `x / norm(x)` along an axis; 0 where the norm is 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LpNormalization {
    /// The axis, counted from 0; less than the number of axes.
    pub axis: usize,
    /// Norm to divide by.
    pub norm: Norm,
}

/// A vector norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Norm {
    /// The sum of magnitudes.
    L1,
    /// The square root of the sum of squares.
    L2,
}

impl Operator for LpNormalization {
    fn name(&self) -> &'static str {
        "LpNormalization"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        infer_over(self, self.axis..self.axis.saturating_add(1), inputs)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_over(self, self.axis..self.axis.saturating_add(1), inputs, |block, first, step| {
            let values = block[first..].iter().step_by(step);
            let norm = match self.norm {
                Norm::L1 => values.fold(0.0, |sum, x| sum + x.abs()),
                Norm::L2 => values.fold(0.0, |sum, x| sum + x * x).sqrt(),
            };
            let divide = |x: &mut f32| *x = if norm == 0.0 { 0.0 } else { *x / norm };
            block[first..].iter_mut().step_by(step).for_each(divide);
        })
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let axis = perm.iter().position(|&axis| axis == self.axis)?;
        Some(Self { axis, norm: self.norm }.into())
    }
}
