//! Reinterpretation of bits as another element type.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Reinterprets the bits of each element as another type of the same width; the shape stays. 64-bit
/// floats, which are stored in single precision, are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BitCast {
    /// Element type of the result.
    pub to: ElementType,
}

impl Operator for BitCast {
    fn name(&self) -> &'static str {
        "BitCast"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let from = operands.info(0).element;
        let is_held = |element: &ElementType| *element != ElementType::F64;
        let fits = |element: &ElementType| element.bits() == self.to.bits() && is_held(element);
        if !is_held(&self.to) || !fits(&from) {
            let legal = ElementType::ALL.into_iter().filter(fits).collect();
            return Err(OpError::ElementType { op: self.name(), operand: "operand", found: from, legal });
        }
        result(operands.shape(0).to_vec(), self.to)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let words: Vec<u64> = match (operand.data(), operand.element().small_float()) {
            (TensorData::F32(x), Some(format)) => x.iter().map(|&x| format.encode(x, false).into()).collect(),
            (TensorData::F32(x), None) => x.iter().map(|x| x.to_bits().into()).collect(),
            (TensorData::I64(x), _) => x.iter().map(|&x| x as u64).collect(),
            (TensorData::I32(x), _) => x.iter().map(|&x| x as u64).collect(),
            (TensorData::Bool(x), _) => x.iter().map(|&x| x.into()).collect(),
        };
        let words = words.into_iter();
        let data = match (TensorData::empty(self.to.storage()), self.to.small_float()) {
            (TensorData::F32(_), Some(format)) => {
                let mask = u16::MAX >> (16 - self.to.bits());
                TensorData::F32(words.map(|word| format.decode(word as u16 & mask)).collect())
            }
            (TensorData::F32(_), None) => {
                TensorData::F32(words.map(|word| f32::from_bits(word as u32)).collect())
            }
            (TensorData::I64(_), _) => TensorData::I64(words.map(|word| word as i64).collect()),
            // Conversion to the result type cuts off upper bits and restores signs.
            (TensorData::I32(_), _) => TensorData::I32(words.map(|word| word as i32).collect()),
            (TensorData::Bool(_), _) => TensorData::Bool(words.map(|word| word as u8 != 0).collect()),
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
