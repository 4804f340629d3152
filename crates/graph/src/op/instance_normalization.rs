//! Normalization of each channel of each image.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::normalization::{eval_images, infer_images};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias`, with mean and variance of each channel
/// over all positions of an image. Operands: `x [n, .., c]`, `scale [c]`, `bias [c]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstanceNormalization {
    /// Added to the variance, before the square root.
    #[serde(with = "npukit_numeric::any_float")]
    pub epsilon: f32,
}

impl Operator for InstanceNormalization {
    fn name(&self) -> &'static str {
        "InstanceNormalization"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        infer_images(self, inputs, |_| Ok(()))
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_images(self, inputs, |channels| channels, self.epsilon)
    }
}
