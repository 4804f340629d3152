//! Strided slices.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, map_data, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::{gather_strided, strides};

/// Selects the elements `start, start + step, ...` along each listed axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// Ranges, each with its axis; the starts are within the axes.
    pub ranges: Vec<SliceRange>,
}

/// Range of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SliceRange {
    /// The axis, counted from 0; less than the number of axes.
    pub axis: usize,
    /// Index of the first element.
    pub start: usize,
    /// Number of elements.
    pub length: usize,
    /// Distance between elements; may be negative, never 0.
    pub step: isize,
}

impl Operator for Slice {
    fn name(&self) -> &'static str {
        "Slice"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let mut shape = operands.shape(0).to_vec();
        for (i, range) in self.ranges.iter().enumerate() {
            operands.axis(0, range.axis)?;
            if self.ranges[..i].iter().any(|other| other.axis == range.axis) {
                let found = format!("{} twice", range.axis);
                return Err(OpError::Attribute {
                    op: self.name(),
                    attribute: "axes",
                    found,
                    legal: "distinct",
                });
            }
            range.check(self.name(), shape[range.axis])?;
            shape[range.axis] = range.length;
        }
        result(shape, operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let (shape, mut strides) = (&infos[0].shape, strides(operand.shape()));
        let mut offset = 0;
        for range in &self.ranges {
            offset += range.start * strides[range.axis] as usize;
            strides[range.axis] = strides[range.axis].saturating_mul(range.step);
        }
        let data = map_data!(operand.data(), values => gather_strided(values, offset, shape, &strides));
        Ok(vec![build(self, shape, data)?])
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let moved = |range: &SliceRange| {
            let axis = perm.iter().position(|&axis| axis == range.axis)?;
            Some(SliceRange { axis, ..*range })
        };
        Some(Self { ranges: self.ranges.iter().map(moved).collect::<Option<_>>()? }.into())
    }
}

impl SliceRange {
    /// Checks that all elements are on an axis of `size` elements.
    fn check(&self, op: &'static str, size: usize) -> Result<(), OpError> {
        let Self { axis, start, length, step } = *self;
        if step == 0 {
            let found = step.to_string();
            return Err(OpError::Attribute { op, attribute: "step", found, legal: "any number except 0" });
        }
        let way = (length.saturating_sub(1) as i128) * (step as i128);
        let last = start as i128 + way;
        let inside = |position: i128| (0..size as i128).contains(&position);
        if length == 0 && start <= size || inside(start as i128) && inside(last) {
            return Ok(());
        }
        Err(OpError::Range { op, axis, size, start, length, step })
    }
}
