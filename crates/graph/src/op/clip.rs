//! Clamping.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `min(max(x, min), max)`; Relu6 is `Clip` from 0 to 6. Absent bounds are infinite.
#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    /// Lower bound.
    pub min: f32,
    /// Upper bound.
    pub max: f32,
}

impl Operator for Clip {
    fn name(&self) -> &'static str {
        "Clip"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
