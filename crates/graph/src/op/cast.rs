//! Conversion of the element type.

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::operands::{Operands, build, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Converts to another element type.
#[derive(Clone, Debug, PartialEq)]
pub struct Cast {
    /// Type of the result.
    pub to: ElementType,
}

impl Operator for Cast {
    fn name(&self) -> &'static str {
        "Cast"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        Ok(vec![ValueInfo { shape: operands.shape(0).to_vec(), element: self.to }])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        // Floats lose their fraction; what the integer cannot hold becomes its nearest value.
        let data = match operand.data() {
            TensorData::F32(x) => {
                convert(x, self.to, |x| x, |x| x as i64, |x| x as i32, |x| x != 0.0)
            }
            TensorData::I64(x) => convert(x, self.to, |x| x as f32, |x| x, |x| x as i32, |x| x != 0),
            TensorData::I32(x) => convert(x, self.to, |x| x as f32, i64::from, |x| x, |x| x != 0),
            TensorData::Bool(x) => {
                convert(x, self.to, |x| f32::from(u8::from(x)), i64::from, i32::from, |x| x)
            }
        };
        Ok(vec![build(self, operand.shape(), data)?])
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}

fn convert<T: Copy>(
    values: &[T],
    to: ElementType,
    to_f32: impl Fn(T) -> f32,
    to_i64: impl Fn(T) -> i64,
    to_i32: impl Fn(T) -> i32,
    to_bool: impl Fn(T) -> bool,
) -> TensorData {
    let values = values.iter().copied();
    match to {
        ElementType::F32 => TensorData::F32(values.map(to_f32).collect()),
        ElementType::I64 => TensorData::I64(values.map(to_i64).collect()),
        ElementType::I32 => TensorData::I32(values.map(to_i32).collect()),
        ElementType::Bool => TensorData::Bool(values.map(to_bool).collect()),
    }
}
