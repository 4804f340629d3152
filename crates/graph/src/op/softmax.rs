//! Softmax.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
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

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
