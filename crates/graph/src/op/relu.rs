//! Rectification.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `max(x, 0)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Relu;

impl Operator for Relu {
    fn name(&self) -> &'static str {
        "Relu"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
