//! Batch normalisation in inference form.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `(x - mean) / sqrt(var + epsilon) * scale + bias` over the last axis.
/// Operands: `x [.., c]`, `scale [c]`, `bias [c]`, `mean [c]`, `var [c]`.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchNormalization {
    /// Added to the variance.
    pub epsilon: f32,
}

impl Operator for BatchNormalization {
    fn name(&self) -> &'static str {
        "BatchNormalization"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
