//! Division into parts.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Cuts its operand along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Split {
    /// The axis, from 0.
    pub axis: usize,
    /// Elements of each part.
    pub sizes: Vec<usize>,
}

impl Operator for Split {
    fn name(&self) -> &'static str {
        "Split"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
