//! Permutation of the axes.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Permutes the axes: axis `i` of the result is axis `perm[i]` of the operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Transpose {
    /// The permutation.
    pub perm: Vec<usize>,
}

impl Operator for Transpose {
    fn name(&self) -> &'static str {
        "Transpose"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
