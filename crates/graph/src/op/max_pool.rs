//! Maximum pooling over windows of an NHWC tensor.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{build_floats, floats, infer_tensors, tensor};
use super::pooling::{infer_pool, pool};
use super::{OpError, Operator, Window};
use crate::ir::{Value, ValueInfo};

/// The largest value of each window, without padding. Operand: `[n, h, w, c]`; result: `[n, oh, ow,
/// c]`, with `[oh, ow]` from [`Window::output`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaxPool {
    /// Windows over rows and columns.
    pub window: Window,
}

impl Operator for MaxPool {
    fn name(&self) -> &'static str {
        "MaxPool"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        infer_pool(self, &self.window, inputs)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = tensor(self, inputs, 0)?.shape();
        let data = floats(self, inputs, 0, "operand")?;
        let result = pool(&self.window, data, shape, &infos[0].shape, f32::NEG_INFINITY, |most, x| {
            // This form keeps NaN.
            if x <= most { most } else { x }
        });
        build_floats(self, &infos, result)
    }
}
