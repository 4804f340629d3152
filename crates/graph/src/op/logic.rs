//! Truth values combined, with NumPy broadcasting.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::{common_shape, spread, zip};
use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// What is asked of a pair of truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LogicKind {
    /// Whether both hold.
    And,
    /// Whether one or both hold.
    Or,
    /// Whether exactly one holds.
    Xor,
}

/// Combines two operands of truth values element by element, with NumPy broadcasting.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Logic {
    /// What is asked of each pair.
    pub kind: LogicKind,
}

/// The name says all: `And`.
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
            // Both are truth values: so says inference.
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
