//! Normalisation of groups of channels of each image.

use npukit_numeric::Tensor;

use super::normalization::normalise_groups;
use super::operands::{Operands, build_floats, floats, infer_tensors};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias`, with mean and variance of each group of
/// neighbouring channels over all positions of an image. Operands: `x [n, .., c]`, `scale [c]`,
/// `bias [c]`.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupNormalization {
    /// Number of groups; divides `c`.
    pub groups: usize,
    /// Added to the variance.
    pub epsilon: f32,
}

impl Operator for GroupNormalization {
    fn name(&self) -> &'static str {
        "GroupNormalization"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 3, 3)?;
        let shape = operands.floats(0, "operand", 2, usize::MAX)?;
        let channels = shape[shape.len() - 1];
        if self.groups == 0 || channels == 0 || !channels.is_multiple_of(self.groups) {
            let what = "number of channels";
            return Err(OpError::Multiple { op: self.name(), what, found: channels, divisor: self.groups });
        }
        operands.vector(1, "scale", "length of the scale", channels)?;
        operands.vector(2, "bias", "length of the bias", channels)?;
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = &infos[0].shape;
        let mut data = floats(self, inputs, 0, "operand")?.to_vec();
        let channels = shape[shape.len() - 1];
        let pixels = shape[1..shape.len() - 1].iter().product();
        let parameters = (floats(self, inputs, 1, "scale")?, floats(self, inputs, 2, "bias")?);
        normalise_groups(&mut data, [pixels, channels, self.groups], self.epsilon, parameters);
        build_floats(self, &infos, data)
    }
}
