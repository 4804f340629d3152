//! Concatenation.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Joins its operands along an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Concat {
    /// The axis, from 0.
    pub axis: usize,
}

impl Operator for Concat {
    fn name(&self) -> &'static str {
        "Concat"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
