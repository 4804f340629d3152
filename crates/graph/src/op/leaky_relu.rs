//! Leaky rectification.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `x` if positive, `alpha * x` otherwise; for floats of any shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeakyRelu {
    /// Slope of the negative side.
    #[serde(with = "npukit_numeric::any_float")]
    pub alpha: f32,
}

impl Operator for LeakyRelu {
    fn name(&self) -> &'static str {
        "LeakyRelu"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        operands.floats(0, "operand", 0, usize::MAX)?;
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = floats(self, inputs, 0, "operand")?;
        let result = operand.iter().map(|&x| if x < 0.0 { self.alpha * x } else { x });
        build_floats(self, &infos, result.collect())
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}
