//! Elementwise operators of two operands, with NumPy broadcasting.

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::{common_shape, spread};
use super::operands::{NUMBERS, Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Function of a pair of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BinaryKind {
    /// Sum of the pair.
    Add,
    /// First element minus the second.
    Sub,
    /// Product of the pair.
    Mul,
    /// Quotient; integers truncate towards zero.
    Div,
    /// Remainder with the sign of the divisor.
    Mod,
    /// Remainder with the sign of the dividend.
    Fmod,
    /// The larger element; NaN if either is NaN.
    Max,
    /// The smaller element; NaN if either is NaN.
    Min,
}

/// Combines two operands of one element type element by element, with NumPy broadcasting: shapes
/// are aligned at the last axis, and an axis of size 1 is repeated. The result has the common
/// shape.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Binary {
    /// Function of a pair of elements.
    pub kind: BinaryKind,
}

/// Formats as the kind only: `Add`.
impl std::fmt::Debug for Binary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.kind.fmt(f)
    }
}

impl Operator for Binary {
    fn name(&self) -> &'static str {
        match self.kind {
            BinaryKind::Add => "Add",
            BinaryKind::Sub => "Sub",
            BinaryKind::Mul => "Mul",
            BinaryKind::Div => "Div",
            BinaryKind::Mod | BinaryKind::Fmod => "Mod",
            BinaryKind::Max => "Max",
            BinaryKind::Min => "Min",
        }
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let element = operands.element(0, "first operand", NUMBERS)?;
        operands.element(1, "second operand", &[element])?;
        result(common_shape(self, &operands)?, element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = &infos[0].shape;
        let (left, right) = (tensor(self, inputs, 0)?, tensor(self, inputs, 1)?);
        if let (Some(l), Some(r)) = (left.as_f32(), right.as_f32())
            && left.shape() == right.shape()
        {
            // The usual case, without broadcasting.
            return Ok(vec![build(self, shape, TensorData::F32(self.floats(l, r)))?]);
        }
        let spread = |tensor: &Tensor| spread(tensor, shape);
        let data = match (spread(left), spread(right)) {
            (TensorData::F32(l), TensorData::F32(r)) => TensorData::F32(self.floats(&l, &r)),
            (TensorData::I64(l), TensorData::I64(r)) => TensorData::I64(self.integers(&l, &r, &I64)?),
            (TensorData::I32(l), TensorData::I32(r)) => TensorData::I32(self.integers(&l, &r, &I32)?),
            (_, data) => {
                let (found, legal) = (data.storage().element(), NUMBERS.to_vec());
                return Err(OpError::ElementType { op: self.name(), operand: "operands", found, legal });
            }
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

impl Binary {
    fn floats(&self, left: &[f32], right: &[f32]) -> Vec<f32> {
        let pairs = left.iter().zip(right);
        match self.kind {
            BinaryKind::Add => pairs.map(|(l, r)| l + r).collect(),
            BinaryKind::Sub => pairs.map(|(l, r)| l - r).collect(),
            BinaryKind::Mul => pairs.map(|(l, r)| l * r).collect(),
            BinaryKind::Div => pairs.map(|(l, r)| l / r).collect(),
            BinaryKind::Mod => pairs.map(|(&l, &r)| floor_remainder(l, r)).collect(),
            BinaryKind::Fmod => pairs.map(|(l, r)| l % r).collect(),
            BinaryKind::Max => pairs.map(|(&l, &r)| if l > r || l.is_nan() { l } else { r }).collect(),
            BinaryKind::Min => pairs.map(|(&l, &r)| if l < r || l.is_nan() { l } else { r }).collect(),
        }
    }

    fn integers<T: Copy>(&self, left: &[T], right: &[T], with: &Integers<T>) -> Result<Vec<T>, OpError> {
        let pairs = left.iter().zip(right).map(|(&l, &r)| (l, r));
        let apply = |function: fn(T, T) -> T| pairs.clone().map(|(l, r)| function(l, r)).collect();
        let divide = |function: fn(T, T) -> Option<T>| {
            let zero = |position| OpError::DivisionByZero { op: self.name(), position };
            let quotient = |(position, (l, r))| function(l, r).ok_or(zero(position));
            pairs.clone().enumerate().map(quotient).collect()
        };
        match self.kind {
            BinaryKind::Add => Ok(apply(with.add)),
            BinaryKind::Sub => Ok(apply(with.sub)),
            BinaryKind::Mul => Ok(apply(with.mul)),
            BinaryKind::Div => divide(with.div),
            BinaryKind::Mod => divide(with.floor_remainder),
            BinaryKind::Fmod => divide(with.remainder),
            BinaryKind::Max => Ok(apply(with.max)),
            BinaryKind::Min => Ok(apply(with.min)),
        }
    }
}

/// Arithmetic of integers as stored: it wraps around. The lower bits are also right for narrower
/// types.
struct Integers<T> {
    add: fn(T, T) -> T,
    sub: fn(T, T) -> T,
    mul: fn(T, T) -> T,
    div: fn(T, T) -> Option<T>,
    floor_remainder: fn(T, T) -> Option<T>,
    remainder: fn(T, T) -> Option<T>,
    max: fn(T, T) -> T,
    min: fn(T, T) -> T,
}

const I64: Integers<i64> = Integers {
    add: i64::wrapping_add,
    sub: i64::wrapping_sub,
    mul: i64::wrapping_mul,
    div: |l, r| if r == 0 { None } else { Some(l.wrapping_div(r)) },
    floor_remainder: |l, r| match (r, l.checked_rem(r)) {
        (0, _) => None,
        (_, Some(rest)) if rest != 0 && (rest < 0) != (r < 0) => Some(rest + r),
        // Default: the only quotient that overflows, by -1, has remainder 0.
        (_, rest) => Some(rest.unwrap_or(0)),
    },
    remainder: |l, r| if r == 0 { None } else { Some(l.wrapping_rem(r)) },
    max: i64::max,
    min: i64::min,
};

const I32: Integers<i32> = Integers {
    add: i32::wrapping_add,
    sub: i32::wrapping_sub,
    mul: i32::wrapping_mul,
    div: |l, r| if r == 0 { None } else { Some(l.wrapping_div(r)) },
    floor_remainder: |l, r| match (r, l.checked_rem(r)) {
        (0, _) => None,
        (_, Some(rest)) if rest != 0 && (rest < 0) != (r < 0) => Some(rest + r),
        // Default: the only quotient that overflows, by -1, has remainder 0.
        (_, rest) => Some(rest.unwrap_or(0)),
    },
    remainder: |l, r| if r == 0 { None } else { Some(l.wrapping_rem(r)) },
    max: i32::max,
    min: i32::min,
};

/// Returns the remainder of `l` divided by `r`, with the sign of `r`.
fn floor_remainder(l: f32, r: f32) -> f32 {
    match l % r {
        0.0 => 0f32.copysign(r),
        rest if (rest < 0.0) != (r < 0.0) => rest + r,
        rest => rest,
    }
}
