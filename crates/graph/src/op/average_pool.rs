//! Average pooling over windows of an NHWC tensor.

use npukit_numeric::Tensor;

use super::{OpError, Operator, Window};
use crate::ir::{Value, ValueInfo};

/// The mean of each window. Operand: `[n, h, w, c]`. GlobalAveragePool is imported as a window
/// of the whole image.
#[derive(Clone, Debug, PartialEq)]
pub struct AveragePool {
    /// The windows.
    pub window: Window,
    /// Divides by the whole kernel even where the window hangs over the edge.
    pub count_include_pad: bool,
}

impl Operator for AveragePool {
    fn name(&self) -> &'static str {
        "AveragePool"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
