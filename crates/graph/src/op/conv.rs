//! Two-dimensional convolution.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Convolution. Operands: `x [n, h, w, ci]`, `weights [kh, kw, ci / group, co]`, optionally
/// `bias [co]`; result `[n, oh, ow, co]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Conv {
    /// Steps down and right.
    pub strides: [usize; 2],
    /// Distance of taps down and right; 1 is dense.
    pub dilations: [usize; 2],
    /// Zero rows above, columns left, rows below, columns right (`auto_pad` is resolved on import).
    pub pads: [usize; 4],
    /// Number of groups the channels are divided into.
    pub group: usize,
}

impl Operator for Conv {
    fn name(&self) -> &'static str {
        "Conv"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
