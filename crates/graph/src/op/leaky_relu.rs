//! Leaky rectification.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `x` where positive, `alpha * x` elsewhere.
#[derive(Clone, Debug, PartialEq)]
pub struct LeakyRelu {
    /// Slope of the negative side.
    pub alpha: f32,
}

impl Operator for LeakyRelu {
    fn name(&self) -> &'static str {
        "LeakyRelu"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
