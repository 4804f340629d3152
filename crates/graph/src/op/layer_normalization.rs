//! Normalization over the trailing axes.

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::spread;
use super::normalization::moments;
use super::operands::{Operands, build_floats, floats, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::broadcast;

/// `(x - mean) / sqrt(variance + epsilon) * scale + bias`, with mean and variance over `axis` and
/// all following axes. Operands: `x`, `scale` and optionally `bias`, which broadcast to those axes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayerNormalization {
    /// First axis of the normalization, counted from 0.
    pub axis: usize,
    /// Added to the variance, before the square root.
    #[serde(with = "npukit_numeric::any_float")]
    pub epsilon: f32,
}

impl Operator for LayerNormalization {
    fn name(&self) -> &'static str {
        "LayerNormalization"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 3)?;
        infer_trailing(self, &operands, self.axis)?;
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let trailing = &infos[0].shape[self.axis..];
        let mut data = floats(self, inputs, 0, "operand")?.to_vec();
        let scale = parameter(tensor(self, inputs, 1)?, trailing);
        let bias = match inputs.get(2) {
            Some(bias) => parameter(bias, trailing),
            None => vec![0.0; scale.len()],
        };
        for row in data.chunks_mut(scale.len().max(1)) {
            let [mean, variance] = moments(row.iter().copied());
            let deviation = (variance + self.epsilon).sqrt();
            for ((x, scale), bias) in row.iter_mut().zip(&scale).zip(&bias) {
                *x = (*x - mean) / deviation * scale + bias;
            }
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

/// Checks the operands of a normalization over `axis` and all following axes.
pub(super) fn infer_trailing(op: &dyn Operator, operands: &Operands<'_>, axis: usize) -> Result<(), OpError> {
    let shape = operands.floats(0, "operand", 1, usize::MAX)?;
    operands.axis(0, axis)?;
    for (i, operand) in (1..operands.len()).zip(["scale", "bias"]) {
        let own = operands.floats(i, operand, 0, usize::MAX)?;
        if broadcast(&shape[axis..], own).as_deref() != Some(&shape[axis..]) {
            let (left, right) = (shape[axis..].to_vec(), own.to_vec());
            return Err(OpError::Shapes { op: op.name(), left, right });
        }
    }
    Ok(())
}

/// Returns a scale or bias broadcast to the shape of the trailing axes.
pub(super) fn parameter(tensor: &Tensor, trailing: &[usize]) -> Vec<f32> {
    match spread(tensor, trailing) {
        TensorData::F32(values) => values,
        // Inference ensures floats.
        _ => Vec::new(),
    }
}

/// Whether a permutation leaves `axis` and all following axes in place.
pub(super) fn keeps_trailing(perm: &[usize], axis: usize) -> bool {
    (axis..perm.len()).all(|to| perm[to] == to)
}
