//! ArgMax and ArgMin: index of the largest or smallest element.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{NUMBERS, Operands, build, infer_tensors, result, tensor};
use super::reduce::reduced;
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// The index along `axis` of the largest or smallest element, as a 64-bit integer. The result has
/// the operand's shape without `axis`, or with size 1 there.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ArgMax {
    /// Whether to find the smallest element (ArgMin) instead of the largest.
    pub smallest: bool,
    /// The axis, counted from 0; less than the number of axes.
    pub axis: usize,
    /// Whether the result keeps the axis, with size 1.
    pub keep_dims: bool,
    /// Whether to return the last of equal elements instead of the first.
    pub select_last: bool,
}

/// Formats with the operator name: `ArgMin { axis: 1, keep_dims: true, select_last: false }`.
impl std::fmt::Debug for ArgMax {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct(self.name());
        text.field("axis", &self.axis).field("keep_dims", &self.keep_dims);
        text.field("select_last", &self.select_last).finish()
    }
}

impl Operator for ArgMax {
    fn name(&self) -> &'static str {
        if self.smallest { "ArgMin" } else { "ArgMax" }
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        operands.element(0, "operand", NUMBERS)?;
        operands.axis(0, self.axis)?;
        let shape = operands.shape(0);
        if shape[self.axis] == 0 {
            return Err(OpError::Size {
                op: self.name(),
                what: "minimum size of the axis",
                expected: 1,
                found: 0,
            });
        }
        result(reduced(shape, &[self.axis], self.keep_dims), ElementType::I64)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let shape = operand.shape();
        let data = match operand.data() {
            TensorData::F32(x) => self.positions(x, shape),
            TensorData::I64(x) => self.positions(x, shape),
            TensorData::I32(x) => self.positions(x, shape),
            TensorData::Bool(_) => Vec::new(),
        };
        Ok(vec![build(self, &infos[0].shape, TensorData::I64(data))?])
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let axis = perm.iter().position(|&axis| axis == self.axis)?;
        self.keep_dims.then(|| Self { axis, ..self.clone() }.into())
    }
}

impl ArgMax {
    fn positions<T: Copy + PartialOrd>(&self, values: &[T], shape: &[usize]) -> Vec<i64> {
        let (count, inner) = (shape[self.axis], shape[self.axis + 1..].iter().product::<usize>());
        let position = |block: &[T], first: usize| {
            let better =
                |best: usize, i: usize| self.is_better(block[first + i * inner], block[first + best * inner]);
            (1..count).fold(0, |best, i| if better(best, i) { i } else { best }) as i64
        };
        values
            .chunks_exact((count * inner).max(1))
            .flat_map(|block| (0..inner).map(move |i| (block, i)))
            .map(|(block, i)| position(block, i))
            .collect()
    }

    /// Whether `new`, which comes later, replaces `best`.
    fn is_better<T: PartialOrd>(&self, new: T, best: T) -> bool {
        (if self.smallest { new < best } else { new > best }) || self.select_last && new == best
    }
}
