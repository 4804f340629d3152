//! Repetition along axes.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, map_data, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Repeats its operand along each axis. Expand is imported as the repetition of axes of size 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tile {
    /// Number of repetitions along each axis.
    pub repeats: Vec<usize>,
}

impl Operator for Tile {
    fn name(&self) -> &'static str {
        "Tile"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let info = operands.info(0);
        operands.size("number of repeats", info.shape.len(), self.repeats.len())?;
        let sizes = info.shape.iter().zip(&self.repeats);
        result(sizes.map(|(&size, &count)| size.saturating_mul(count)).collect(), info.element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let data = map_data!(operand.data(), values => tile(values, operand.shape(), &self.repeats));
        Ok(vec![build(self, &infos[0].shape, data)?])
    }

    fn permuted(&self, perm: &[usize]) -> Option<Op> {
        let repeats = perm.iter().map(|&axis| self.repeats.get(axis).copied()).collect::<Option<_>>()?;
        Some(Self { repeats }.into())
    }
}

/// Repeats the elements of a tensor of `shape`, with nonzero sizes, axis by axis from the last one.
fn tile<T: Copy>(values: &[T], shape: &[usize], repeats: &[usize]) -> Vec<T> {
    let (mut out, mut run) = (values.to_vec(), 1);
    for (&size, &count) in shape.iter().zip(repeats).rev() {
        run *= size;
        if count != 1 {
            out = out
                .chunks(run)
                .flat_map(|block| std::iter::repeat_n(block, count))
                .flatten()
                .copied()
                .collect();
        }
        run *= count;
    }
    out
}
