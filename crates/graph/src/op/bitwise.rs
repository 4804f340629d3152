//! Bitwise operators of two integer operands, with NumPy broadcasting.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::{common_shape, spread, zip};
use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Function of a pair of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BitwiseKind {
    /// The bits that are set in both.
    And,
    /// The bits that are set in at least one.
    Or,
    /// The bits that are set in exactly one.
    Xor,
    /// The bits of the first shifted left by the second; zeros fill.
    ShiftLeft,
    /// The bits of the first shifted right by the second; zeros fill, or the sign of signed
    /// integers.
    ShiftRight,
}

/// Combines two integer operands of one type bit by bit, with NumPy broadcasting.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Bitwise {
    /// Function of each pair.
    pub kind: BitwiseKind,
}

const INTEGERS: &[ElementType] = &[
    ElementType::I64,
    ElementType::I32,
    ElementType::I16,
    ElementType::I8,
    ElementType::U64,
    ElementType::U32,
    ElementType::U16,
    ElementType::U8,
];

/// Formats as the name; a shift includes its direction: `BitShift { kind: ShiftLeft }`.
impl std::fmt::Debug for Bitwise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            BitwiseKind::ShiftLeft | BitwiseKind::ShiftRight => {
                f.debug_struct(self.name()).field("kind", &self.kind).finish()
            }
            _ => f.write_str(self.name()),
        }
    }
}

impl Operator for Bitwise {
    fn name(&self) -> &'static str {
        match self.kind {
            BitwiseKind::And => "BitwiseAnd",
            BitwiseKind::Or => "BitwiseOr",
            BitwiseKind::Xor => "BitwiseXor",
            BitwiseKind::ShiftLeft | BitwiseKind::ShiftRight => "BitShift",
        }
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let element = operands.element(0, "first operand", INTEGERS)?;
        operands.element(1, "second operand", &[element])?;
        result(common_shape(self, &operands)?, element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (shape, bits) = (&infos[0].shape, infos[0].element.bits());
        let left = spread(tensor(self, inputs, 0)?, shape);
        let data = match (&left, spread(tensor(self, inputs, 1)?, shape)) {
            (TensorData::I64(l), TensorData::I64(r)) => {
                TensorData::I64(zip(l, &r, |l, r| self.kind.apply(l, r, bits)))
            }
            (TensorData::I32(l), TensorData::I32(r)) => {
                TensorData::I32(zip(l, &r, |l, r| self.kind.apply(l.into(), r.into(), bits) as i32))
            }
            // Inference ensures integers of one type.
            (_, data) => data,
        };
        Ok(vec![build(self, shape, data)?])
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}

impl BitwiseKind {
    /// Returns the result before it is cut to the type's `bits`. A shift by a negative number, or
    /// by `bits` or more, shifts out all bits.
    fn apply(self, left: i64, right: i64, bits: usize) -> i64 {
        let places = u32::try_from(right).ok().filter(|&places| (places as usize) < bits);
        match self {
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
            Self::ShiftLeft => places.map_or(0, |places| left << places),
            // Unsigned numbers are stored as they are, never below 0.
            Self::ShiftRight => places.map_or(left >> 63, |places| left >> places),
        }
    }
}
