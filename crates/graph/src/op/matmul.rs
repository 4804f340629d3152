//! Matrix product with NumPy batching.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// The matrix product of the last two axes, the others broadcast.
#[derive(Clone, Debug, PartialEq)]
pub struct MatMul;

impl Operator for MatMul {
    fn name(&self) -> &'static str {
        "MatMul"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
