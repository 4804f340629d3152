//! A new shape over the same elements; also Flatten, Squeeze and Unsqueeze.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Gives the elements, in row-major order, another shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Reshape {
    /// The new shape, all sizes known (0 and -1 are resolved on import).
    pub shape: Vec<usize>,
}

impl Operator for Reshape {
    fn name(&self) -> &'static str {
        "Reshape"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
