//! Taking a strided part.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Takes `start, start + step, ...` before `end` along each axis listed.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice {
    /// Axis, start, number of elements, step; start is within the axis.
    pub ranges: Vec<SliceRange>,
}

/// The part taken of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceRange {
    /// The axis, from 0.
    pub axis: usize,
    /// First element taken.
    pub start: usize,
    /// Elements taken.
    pub length: usize,
    /// Distance of elements taken; may be negative, never 0.
    pub step: isize,
}

impl Operator for Slice {
    fn name(&self) -> &'static str {
        "Slice"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
