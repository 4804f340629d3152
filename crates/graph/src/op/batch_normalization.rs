//! Batch normalization in inference form.

use npukit_numeric::Tensor;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::product::block;

/// `(x - mean) / sqrt(var + epsilon) * scale + bias` over the last axis.
///
/// Operands: `x [.., c]`, `scale [c]`, `bias [c]`, `mean [c]`, `var [c]`; result: `[.., c]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BatchNormalization {
    /// Added to the variance, before the square root.
    #[serde(with = "npukit_numeric::any_float")]
    pub epsilon: f32,
}

impl Operator for BatchNormalization {
    fn name(&self) -> &'static str {
        "BatchNormalization"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 5, 5)?;
        let shape = operands.floats(0, "operand", 1, usize::MAX)?;
        let channels = shape[shape.len() - 1];
        operands.vector(1, "scale", "length of the scale", channels)?;
        operands.vector(2, "bias", "length of the bias", channels)?;
        operands.vector(3, "mean", "length of the mean", channels)?;
        operands.vector(4, "variance", "length of the variance", channels)?;
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let mut data = floats(self, inputs, 0, "operand")?.to_vec();
        let (scale, bias) = (floats(self, inputs, 1, "scale")?, floats(self, inputs, 2, "bias")?);
        let (mean, var) = (floats(self, inputs, 3, "mean")?, floats(self, inputs, 4, "variance")?);
        let deviation: Vec<f32> = var.iter().map(|var| (var + self.epsilon).sqrt()).collect();
        let block = block(data.len() / scale.len().max(1), scale.len()) * scale.len().max(1);
        data.par_chunks_mut(block).for_each(|data| {
            for row in data.chunks_mut(scale.len().max(1)) {
                let channels = mean.iter().zip(&deviation).zip(scale.iter().zip(bias));
                for (x, ((mean, deviation), (scale, bias))) in row.iter_mut().zip(channels) {
                    *x = (*x - mean) / deviation * scale + bias;
                }
            }
        });
        build_floats(self, &infos, data)
    }
}

impl BatchNormalization {
    /// Returns the normalization of each channel as a factor and an addend: `scale / sqrt(var +
    /// epsilon)` and `bias - mean * factor`, in `f64`. The parameters have one element per channel.
    pub fn factors(&self, scale: &[f32], bias: &[f32], mean: &[f32], var: &[f32]) -> Vec<[f64; 2]> {
        let channel = |(((&scale, &bias), &mean), &var): (((&f32, &f32), &f32), &f32)| {
            let factor = f64::from(scale) / (f64::from(var) + f64::from(self.epsilon)).sqrt();
            [factor, f64::from(bias) - f64::from(mean) * factor]
        };
        scale.iter().zip(bias).zip(mean).zip(var).map(channel).collect()
    }
}
