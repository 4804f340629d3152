//! Combination of updates with existing elements: [`ScatterKind`].

use npukit_numeric::TensorData;
use serde::{Deserialize, Serialize};

use super::OpError;
use super::operands::{NUMBERS, Operands};
use crate::ir::ValueInfo;

/// Combination of an update with the existing element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ScatterKind {
    /// The update replaces the element.
    Replace,
    /// Sum of both.
    Add,
    /// Product of both.
    Mul,
    /// The larger one; NaN if either is NaN.
    Max,
    /// The smaller one; NaN if either is NaN.
    Min,
}

impl ScatterKind {
    /// Checks that operand 2 has the shape `expected` and the element type of operand 0; returns
    /// the result's type.
    pub(super) fn check(
        self,
        operands: &Operands<'_>,
        expected: &[usize],
    ) -> Result<Vec<ValueInfo>, OpError> {
        let data = operands.info(0);
        if self != Self::Replace {
            operands.element(0, "data", NUMBERS)?;
        }
        operands.element(2, "updates", &[data.element])?;
        operands.same_shape(2, expected)?;
        Ok(vec![data.clone()])
    }
}

/// Combines the blocks of `length` elements of `updates` with the blocks of `data` that begin at
/// `starts`.
pub(super) fn scatter(
    kind: ScatterKind,
    data: &TensorData,
    updates: &TensorData,
    starts: &[usize],
    length: usize,
) -> TensorData {
    match (data, updates) {
        (TensorData::F32(data), TensorData::F32(updates)) => {
            let with: fn(f32, f32) -> f32 = match kind {
                ScatterKind::Replace => |_, new| new,
                ScatterKind::Add => |old, new| old + new,
                ScatterKind::Mul => |old, new| old * new,
                ScatterKind::Max => |old, new| if old > new || old.is_nan() { old } else { new },
                ScatterKind::Min => |old, new| if old < new || old.is_nan() { old } else { new },
            };
            TensorData::F32(put(data, updates, starts, length, with))
        }
        (TensorData::I64(data), TensorData::I64(updates)) => {
            let with: fn(i64, i64) -> i64 = match kind {
                ScatterKind::Replace => |_, new| new,
                ScatterKind::Add => i64::wrapping_add,
                ScatterKind::Mul => i64::wrapping_mul,
                ScatterKind::Max => i64::max,
                ScatterKind::Min => i64::min,
            };
            TensorData::I64(put(data, updates, starts, length, with))
        }
        (TensorData::I32(data), TensorData::I32(updates)) => {
            let with: fn(i32, i32) -> i32 = match kind {
                ScatterKind::Replace => |_, new| new,
                ScatterKind::Add => i32::wrapping_add,
                ScatterKind::Mul => i32::wrapping_mul,
                ScatterKind::Max => i32::max,
                ScatterKind::Min => i32::min,
            };
            TensorData::I32(put(data, updates, starts, length, with))
        }
        (TensorData::Bool(data), TensorData::Bool(updates)) => {
            TensorData::Bool(put(data, updates, starts, length, |_, new| new))
        }
        // Inference ensures equal types.
        (data, _) => data.clone(),
    }
}

fn put<T: Copy>(data: &[T], updates: &[T], starts: &[usize], length: usize, with: fn(T, T) -> T) -> Vec<T> {
    let mut result = data.to_vec();
    for (&start, block) in starts.iter().zip(updates.chunks(length.max(1))) {
        for (old, &new) in result[start..].iter_mut().zip(block) {
            *old = with(*old, new);
        }
    }
    result
}
