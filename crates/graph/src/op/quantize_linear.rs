//! Quantization of floats.

use npukit_numeric::{ElementType, Storage, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::cast::{Cast, round};
use super::operands::{FLOATS, Operands, build, infer_tensors, tensor};
use super::quantization::{Granularity, QUANTIZED, rounded, scale_types};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `saturate(round(x / scale) + zero point)`, rounding ties to even or, for integers, optionally
/// away from 0. Operands: `x`, `scale` and optionally `zero point`, with the result's type and the
/// scale's shape.
///
/// The scale has one element, or one per index on `axis`, or, if blocked, the shape of `x` except
/// along `axis`.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct QuantizeLinear {
    /// Element type of the result: an integer of at most 16 bits, or a float of at most 8.
    pub to: ElementType,
    /// Axis along which scales differ, counted from 0; ignored for a single scale.
    pub axis: usize,
    /// Number of elements along the axis that share a scale; 0 if scales are not blocked.
    pub block: usize,
    /// Whether values beyond the range of an 8-bit float become its last value, instead of infinity
    /// or NaN. Integers always saturate.
    pub saturate: bool,
    /// Float type that the quotient is rounded to.
    pub precision: ElementType,
    /// Whether to round ties away from 0, as in TensorFlow Lite's means.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub away: bool,
}

/// Omits attributes that most networks do not use.
impl std::fmt::Debug for QuantizeLinear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct(self.name());
        text.field("to", &self.to).field("axis", &self.axis).field("block", &self.block);
        text.field("saturate", &self.saturate).field("precision", &self.precision);
        if self.away {
            text.field("away", &self.away);
        }
        text.finish()
    }
}

impl Operator for QuantizeLinear {
    fn name(&self) -> &'static str {
        "QuantizeLinear"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 3)?;
        operands.element(0, "operand", &[FLOATS, &[ElementType::I32]].concat())?;
        operands.element(1, "scale", &scale_types())?;
        if !QUANTIZED.contains(&self.to) {
            let (op, found, legal) = (self.name(), self.to, QUANTIZED.to_vec());
            return Err(OpError::ElementType { op, operand: "result", found, legal });
        }
        if operands.len() == 3 {
            operands.element(2, "zero point", &[self.to])?;
        }
        Granularity::new(self, &operands, self.axis, self.block)?;
        Ok(vec![ValueInfo { shape: operands.shape(0).to_vec(), element: self.to }])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let granularity = Granularity::of(self, inputs, self.axis, self.block)?;
        let (x, scale) = (tensor(self, inputs, 0)?.reals(), tensor(self, inputs, 1)?.reals());
        let zero = inputs.get(2).map_or_else(|| vec![0.0; scale.len()], |zero| zero.reals());
        let quantized = x.iter().enumerate().map(|(position, x)| {
            let index = granularity.index(position);
            self.quantize((*x as f32) / (scale[index] as f32), zero[index])
        });
        let data = match self.to.storage() {
            Storage::F32 => TensorData::F32(quantized.collect()),
            _ => TensorData::I32(quantized.map(|value| value as i32).collect()),
        };
        Ok(vec![build(self, &infos[0].shape, data)?])
    }

    /// True for all scales: a pass that moves a transposition across must check that there is only
    /// one scale.
    fn broadcasts(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        (self.block == 0).then(|| self.clone().into())
    }
}

impl QuantizeLinear {
    /// Adds a zero point to a quotient, and converts the sum to the result's type.
    fn quantize(&self, quotient: f32, zero: f64) -> f32 {
        let quotient = rounded(quotient, self.precision);
        match self.to.integer_range() {
            // At most 16 bits: every value in the range is exact.
            Some((least, largest)) => {
                let whole = match self.away {
                    true => (f64::from(quotient) + zero).round(),
                    false => f64::from(quotient).round_ties_even() + zero,
                };
                whole.clamp(least as f64, largest as f64) as f32
            }
            None => round(quotient + zero as f32, &Cast { saturate: self.saturate, ..Cast::new(self.to) }),
        }
    }
}
