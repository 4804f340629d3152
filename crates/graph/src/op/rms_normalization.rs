//! Division by the root mean square over the trailing axes.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::layer_normalization::{infer_trailing, keeps_trailing, parameter};
use super::operands::{Operands, build_floats, floats, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `x / sqrt(mean of squares + epsilon) * scale`, with the mean over `axis` and all following axes.
/// Operands: `x`, and `scale`, which broadcasts to those axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RmsNormalization {
    /// First axis of the normalization, counted from 0.
    pub axis: usize,
    /// Added to the mean of squares, before the square root.
    #[serde(with = "npukit_numeric::any_float")]
    pub epsilon: f32,
}

impl Operator for RmsNormalization {
    fn name(&self) -> &'static str {
        "RMSNormalization"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        infer_trailing(self, &operands, self.axis)?;
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let mut data = floats(self, inputs, 0, "operand")?.to_vec();
        let scale = parameter(tensor(self, inputs, 1)?, &infos[0].shape[self.axis..]);
        for row in data.chunks_mut(scale.len().max(1)) {
            let squares = row.iter().fold(0.0, |sum, x| sum + x * x);
            let root = (squares / row.len() as f32 + self.epsilon).sqrt();
            row.iter_mut().zip(&scale).for_each(|(x, scale)| *x = *x / root * scale);
        }
        build_floats(self, &infos, data)
    }

    fn broadcasts(&self) -> bool {
        true
    }

    /// Only if the normalized axes stay in place.
    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        keeps_trailing(perm, self.axis).then(|| self.clone().into())
    }
}
