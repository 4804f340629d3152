//! Local response normalization.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `x / (bias + alpha / size * s)^beta`, with `s` the sum of squares over `size` neighboring
/// channels. An even number has one more channel after than before. Operand: `[.., c]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lrn {
    /// Number of channels in the sum, including the channel itself; at least 1.
    pub size: usize,
    /// Factor of the sum, before it is divided by `size`.
    #[serde(with = "npukit_numeric::any_float")]
    pub alpha: f32,
    /// Exponent of the sum.
    #[serde(with = "npukit_numeric::any_float")]
    pub beta: f32,
    /// Added to the weighted sum of squares.
    #[serde(with = "npukit_numeric::any_float")]
    pub bias: f32,
}

impl Operator for Lrn {
    fn name(&self) -> &'static str {
        "LRN"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        operands.floats(0, "operand", 1, usize::MAX)?;
        if self.size == 0 {
            let (op, found) = (self.name(), "0".to_owned());
            return Err(OpError::Attribute { op, attribute: "size", found, legal: "at least 1" });
        }
        Ok(vec![operands.info(0).clone()])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let data = floats(self, inputs, 0, "operand")?;
        // Without channels the tensor is empty, but the chunk size must not be 0.
        let channels = infos[0].shape[infos[0].shape.len() - 1].max(1);
        let row = |row: &[f32]| (0..row.len()).map(|c| self.element(row, c)).collect::<Vec<f32>>();
        let result = data.chunks(channels).flat_map(row).collect();
        build_floats(self, &infos, result)
    }
}

impl Lrn {
    /// Computes channel `c` of a position with the channels `row`.
    fn element(&self, row: &[f32], c: usize) -> f32 {
        let first = c.saturating_sub((self.size - 1) / 2);
        let last = c.saturating_add(self.size / 2).min(row.len() - 1);
        let squares = row[first..=last].iter().fold(0.0, |sum, x| sum + x * x);
        row[c] / (self.bias + self.alpha / self.size as f32 * squares).powf(self.beta)
    }
}
