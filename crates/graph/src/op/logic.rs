//! Logical operators on booleans, with NumPy broadcasting.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::{common_shape, spread, zip};
use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Function of a pair of booleans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogicKind {
    /// True if both are.
    And,
    /// True if at least one is.
    Or,
    /// True if exactly one is.
    Xor,
}

/// Combines two boolean operands element by element, with NumPy broadcasting.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Logic {
    /// Function of each pair.
    pub kind: LogicKind,
}

/// Formats as the name only: `And`.
impl std::fmt::Debug for Logic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Operator for Logic {
    fn name(&self) -> &'static str {
        match self.kind {
            LogicKind::And => "And",
            LogicKind::Or => "Or",
            LogicKind::Xor => "Xor",
        }
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        operands.element(0, "first operand", &[ElementType::Bool])?;
        operands.element(1, "second operand", &[ElementType::Bool])?;
        result(common_shape(self, &operands)?, ElementType::Bool)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = &infos[0].shape;
        let left = spread(tensor(self, inputs, 0)?, shape);
        let right = spread(tensor(self, inputs, 1)?, shape);
        let data = match (&left, &right) {
            (TensorData::Bool(left), TensorData::Bool(right)) => zip(left, right, self.function()),
            // Inference ensures booleans.
            _ => Vec::new(),
        };
        Ok(vec![build(self, shape, TensorData::Bool(data))?])
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}

impl Logic {
    fn function(&self) -> fn(bool, bool) -> bool {
        match self.kind {
            LogicKind::And => |left, right| left && right,
            LogicKind::Or => |left, right| left || right,
            LogicKind::Xor => |left, right| left != right,
        }
    }
}
