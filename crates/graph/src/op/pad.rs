//! Padding.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// What fills the new elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PadMode {
    /// A value.
    Constant(f32),
    /// The nearest element of the operand.
    Edge,
    /// The operand mirrored at its border elements.
    Reflect,
}

/// Grows (or, with negative counts, crops) a tensor at both ends of its axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Pad {
    /// Elements added before and after, per axis.
    pub pads: Vec<[isize; 2]>,
    /// What fills them.
    pub mode: PadMode,
}

impl Operator for Pad {
    fn name(&self) -> &'static str {
        "Pad"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
