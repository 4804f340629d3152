//! Maximum pooling over windows of an NHWC tensor.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Windows over the two image axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Height and width.
    pub kernel: [usize; 2],
    /// Steps down and right.
    pub strides: [usize; 2],
    /// Distance of taps down and right; 1 is dense.
    pub dilations: [usize; 2],
    /// Rows above, columns left, rows below, columns right that the window may hang over.
    /// `auto_pad` is resolved on import.
    pub pads: [usize; 4],
    /// Rounds the output size up instead of down.
    pub ceil_mode: bool,
}

/// The largest value of each window, padding left out. Operand: `[n, h, w, c]`.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxPool {
    /// The windows.
    pub window: Window,
}

impl Operator for MaxPool {
    fn name(&self) -> &'static str {
        "MaxPool"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
