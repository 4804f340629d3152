//! A new shape over the same elements; also Flatten, Squeeze and Unsqueeze.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::elements;

/// Changes the shape; the elements keep their row-major order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reshape {
    /// New shape, with all sizes known (0 and -1 are resolved on import).
    pub shape: Vec<usize>,
}

impl Operator for Reshape {
    fn name(&self) -> &'static str {
        "Reshape"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let (expected, found) = (elements(operands.shape(0))?, elements(&self.shape)?);
        operands.size("number of elements of the new shape", expected, found)?;
        result(self.shape.clone(), operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        Ok(vec![build(self, &self.shape, tensor(self, inputs, 0)?.data().clone())?])
    }
}
