//! Permutation of the axes.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, map_data, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::gather_strided;
use crate::shape::strides;

/// Permutes the axes: axis `i` of the result is axis `perm[i]` of the operand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transpose {
    /// The permutation of `0 .. number of axes`.
    pub perm: Vec<usize>,
}

impl Operator for Transpose {
    fn name(&self) -> &'static str {
        "Transpose"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let shape = operands.shape(0);
        let mut sorted = self.perm.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..shape.len()) {
            let (op, rank) = (self.name(), shape.len());
            return Err(OpError::Permutation { op, perm: self.perm.clone(), rank });
        }
        result(self.perm.iter().map(|&axis| shape[axis]).collect(), operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let (shape, own) = (&infos[0].shape, strides(operand.shape()));
        let strides: Vec<isize> = self.perm.iter().map(|&axis| own[axis]).collect();
        let data = map_data!(operand.data(), values => gather_strided(values, 0, shape, &strides));
        Ok(vec![build(self, shape, data)?])
    }
}
