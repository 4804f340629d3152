//! Choice between two operands, element by element.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::{common_shape, spread};
use super::operands::{Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// The second operand's element where the first (booleans) is true, otherwise the third's; all with
/// NumPy broadcasting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Where;

impl Operator for Where {
    fn name(&self) -> &'static str {
        "Where"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 3, 3)?;
        operands.element(0, "condition", &[ElementType::Bool])?;
        let element = operands.info(1).element;
        operands.element(2, "third operand", &[element])?;
        result(common_shape(self, &operands)?, element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = &infos[0].shape;
        let TensorData::Bool(condition) = spread(tensor(self, inputs, 0)?, shape) else {
            return Ok(Vec::new());
        };
        let (yes, no) = (spread(tensor(self, inputs, 1)?, shape), spread(tensor(self, inputs, 2)?, shape));
        let data = match (yes, no) {
            (TensorData::F32(yes), TensorData::F32(no)) => TensorData::F32(choose(&condition, yes, &no)),
            (TensorData::I64(yes), TensorData::I64(no)) => TensorData::I64(choose(&condition, yes, &no)),
            (TensorData::I32(yes), TensorData::I32(no)) => TensorData::I32(choose(&condition, yes, &no)),
            (TensorData::Bool(yes), TensorData::Bool(no)) => TensorData::Bool(choose(&condition, yes, &no)),
            // Inference ensures equal types.
            (yes, _) => yes,
        };
        Ok(vec![build(self, shape, data)?])
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}

fn choose<T: Copy>(condition: &[bool], mut yes: Vec<T>, no: &[T]) -> Vec<T> {
    for ((yes, &no), &condition) in yes.iter_mut().zip(no).zip(condition) {
        if !condition {
            *yes = no;
        }
    }
    yes
}
