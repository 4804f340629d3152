//! Conversion of quantized integers to floats.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{FLOATS, Operands, build, infer_tensors, tensor};
use super::quantization::{Granularity, QUANTIZED, scale_types};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `(x - zero point) * scale`. Operands: `x`, `scale` and optionally `zero point`, with the type of
/// `x` and the shape of `scale`. The shape of `scale` is as for
/// [`QuantizeLinear`](super::QuantizeLinear).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DequantizeLinear {
    /// Type of the result, a float type.
    pub to: ElementType,
    /// Axis along which scales differ, counted from 0; ignored for a single scale.
    pub axis: usize,
    /// Number of elements along the axis that share a scale; 0 if scales are not blocked.
    pub block: usize,
}

impl Operator for DequantizeLinear {
    fn name(&self) -> &'static str {
        "DequantizeLinear"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 3)?;
        let element = operands.element(0, "operand", &[QUANTIZED, &[ElementType::I32]].concat())?;
        operands.element(1, "scale", &scale_types())?;
        if operands.len() == 3 {
            operands.element(2, "zero point", &[element])?;
        }
        if !FLOATS.contains(&self.to) {
            let (op, found, legal) = (self.name(), self.to, FLOATS.to_vec());
            return Err(OpError::ElementType { op, operand: "result", found, legal });
        }
        Granularity::new(self, &operands, self.axis, self.block)?;
        Ok(vec![ValueInfo { shape: operands.shape(0).to_vec(), element: self.to }])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let granularity = Granularity::of(self, inputs, self.axis, self.block)?;
        let (x, scale) = (tensor(self, inputs, 0)?.reals(), tensor(self, inputs, 1)?.reals());
        let zero = inputs.get(2).map_or_else(|| vec![0.0; scale.len()], |zero| zero.reals());
        let real = |(position, x): (usize, &f64)| {
            let index = granularity.index(position);
            (x - zero[index]) as f32 * scale[index] as f32
        };
        let data = TensorData::F32(x.iter().enumerate().map(real).collect());
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
