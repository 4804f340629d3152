//! Normalization of channel groups of each image.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::normalization::{eval_images, infer_images};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias`, with mean and variance of each group of
/// neighboring channels over all positions of an image. Operands: `x [n, .., c]`, `scale [c]`,
/// `bias [c]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupNormalization {
    /// Number of groups; divides `c`.
    pub groups: usize,
    /// Added to the variance, before the square root.
    #[serde(with = "npukit_numeric::any_float")]
    pub epsilon: f32,
}

impl Operator for GroupNormalization {
    fn name(&self) -> &'static str {
        "GroupNormalization"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        infer_images(self, inputs, |channels| {
            if self.groups == 0 || channels == 0 || !channels.is_multiple_of(self.groups) {
                let what = "number of channels";
                return Err(OpError::Multiple {
                    op: self.name(),
                    what,
                    found: channels,
                    divisor: self.groups,
                });
            }
            Ok(())
        })
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        eval_images(self, inputs, |_| self.groups, self.epsilon)
    }
}
