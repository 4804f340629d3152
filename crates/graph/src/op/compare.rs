//! Comparison of two operands, with NumPy broadcasting.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::{common_shape, spread, zip};
use super::operands::{NUMBERS, Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Relation between a pair of elements. A NaN is neither equal to, nor greater or less than, any
/// element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareKind {
    /// Whether they are equal; also defined for booleans.
    Equal,
    /// Whether the first is greater.
    Greater,
    /// Whether the first is greater or both are equal.
    GreaterOrEqual,
    /// Whether the first is less.
    Less,
    /// Whether the first is less or both are equal.
    LessOrEqual,
}

impl CompareKind {
    fn holds<T: PartialOrd>(self, left: T, right: T) -> bool {
        match self {
            Self::Equal => left == right,
            Self::Greater => left > right,
            Self::GreaterOrEqual => left >= right,
            Self::Less => left < right,
            Self::LessOrEqual => left <= right,
        }
    }
}

/// Compares two operands element by element; the results are booleans.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    /// Relation to test for each pair of elements.
    pub kind: CompareKind,
}

/// Formats as the name only: `Less`.
impl std::fmt::Debug for Compare {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Operator for Compare {
    fn name(&self) -> &'static str {
        match self.kind {
            CompareKind::Equal => "Equal",
            CompareKind::Greater => "Greater",
            CompareKind::GreaterOrEqual => "GreaterOrEqual",
            CompareKind::Less => "Less",
            CompareKind::LessOrEqual => "LessOrEqual",
        }
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let element = operands.info(0).element;
        if self.kind != CompareKind::Equal || element != ElementType::Bool {
            operands.element(0, "first operand", NUMBERS)?;
        }
        operands.element(1, "second operand", &[element])?;
        result(common_shape(self, &operands)?, ElementType::Bool)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = &infos[0].shape;
        let left = spread(tensor(self, inputs, 0)?, shape);
        let data = match (&left, spread(tensor(self, inputs, 1)?, shape)) {
            (TensorData::F32(l), TensorData::F32(r)) => zip(l, &r, |l, r| self.kind.holds(l, r)),
            (TensorData::I64(l), TensorData::I64(r)) => zip(l, &r, |l, r| self.kind.holds(l, r)),
            (TensorData::I32(l), TensorData::I32(r)) => zip(l, &r, |l, r| self.kind.holds(l, r)),
            (TensorData::Bool(l), TensorData::Bool(r)) => zip(l, &r, |l, r| self.kind.holds(l, r)),
            // Inference ensures equal types.
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
