//! Picking slices by index.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Picks slices of the first operand along `axis` by the integers of the second.
#[derive(Clone, Debug, PartialEq)]
pub struct Gather {
    /// The axis, from 0.
    pub axis: usize,
}

impl Operator for Gather {
    fn name(&self) -> &'static str {
        "Gather"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
