//! Helpers of QuantizeLinear and DequantizeLinear: which scale applies to which element.

use npukit_numeric::{ElementType, Tensor};

use super::operands::{FLOATS, Operands, as_value};
use super::{OpError, Operator};
use crate::ir::Value;

/// Types of quantized values: integers of at most 16 bits, floats of at most 8.
pub(super) const QUANTIZED: &[ElementType] = &[
    ElementType::I8,
    ElementType::U8,
    ElementType::I16,
    ElementType::U16,
    ElementType::I4,
    ElementType::U4,
    ElementType::I2,
    ElementType::U2,
    ElementType::F8E4M3FN,
    ElementType::F8E4M3FNUZ,
    ElementType::F8E5M2,
    ElementType::F8E5M2FNUZ,
    ElementType::F6E2M3,
    ElementType::F6E3M2,
    ElementType::F4E2M1,
];

/// Returns the types of scales.
pub(super) fn scale_types() -> Vec<ElementType> {
    [FLOATS, &[ElementType::F8E8M0]].concat()
}

/// Mapping from element positions to scales: one scale for all, one per index on an axis, or one
/// per block of indices on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Granularity {
    /// Size of the axis.
    size: usize,
    /// Distance in elements between neighboring indices on the axis.
    inner: usize,
    /// Number of indices that share a scale.
    block: usize,
    /// Number of scales along the axis.
    blocks: usize,
    /// Whether the axes before and after have separate scales.
    blocked: bool,
}

impl Granularity {
    /// Determines how a scale (operand 1) and a zero point (operand 2) apply to operand 0. `block`
    /// is the number of indices on `axis` that share a scale; 0 if scales are not blocked.
    ///
    /// # Errors
    ///
    /// Shapes that do not fit together; an axis that does not exist.
    pub(super) fn new(
        op: &dyn Operator,
        operands: &Operands<'_>,
        axis: usize,
        block: usize,
    ) -> Result<Self, OpError> {
        let (x, scale) = (operands.shape(0), operands.shape(1));
        let misfit = |left: &[usize], right: &[usize]| OpError::Shapes {
            op: op.name(),
            left: left.to_vec(),
            right: right.to_vec(),
        };
        // A single scale with an axis applies to all elements, as exporters write it.
        let single = |shape: &[usize]| block == 0 && matches!(shape, [] | [1]);
        if operands.len() == 3 {
            let zero_point = operands.shape(2);
            if zero_point != scale && !(single(scale) && single(zero_point)) {
                return Err(misfit(scale, zero_point));
            }
        }
        if single(scale) {
            return Ok(Self { size: 1, inner: 1, block: 1, blocks: 1, blocked: false });
        }
        operands.axis(0, axis)?;
        let inner = x[axis + 1..].iter().product();
        if block == 0 {
            let plain = Self { size: x[axis], inner, block: 1, blocks: x[axis], blocked: false };
            return if *scale == [x[axis]] { Ok(plain) } else { Err(misfit(x, scale)) };
        }
        let fits =
            |(i, &size): (usize, &usize)| scale[i] == if i == axis { x[axis].div_ceil(block) } else { size };
        if scale.len() != x.len() || !x.iter().enumerate().all(fits) {
            return Err(misfit(x, scale));
        }
        Ok(Self { size: x[axis], inner, block, blocks: scale[axis], blocked: true })
    }

    /// Like [`Granularity::new`], for tensors.
    pub(super) fn of(
        op: &dyn Operator,
        inputs: &[&Tensor],
        axis: usize,
        block: usize,
    ) -> Result<Self, OpError> {
        let values: Vec<Value> = inputs.iter().map(|&tensor| as_value(tensor)).collect();
        Self::new(op, &Operands::new(op, &values.iter().collect::<Vec<_>>(), 2, 3)?, axis, block)
    }

    /// Returns the index of the scale for the element at `position`.
    pub(super) fn index(&self, position: usize) -> usize {
        let place = position / self.inner % self.size / self.block;
        if !self.blocked {
            return place;
        }
        let outer = position / self.inner / self.size;
        (outer * self.blocks + place) * self.inner + position % self.inner
    }
}

/// Rounds a number to the float type `element`.
pub(super) fn rounded(value: f32, element: ElementType) -> f32 {
    element.small_float().map_or(value, |format| format.round(value, false))
}
