//! General matrix product.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::product::{Layout, PackedMatrix};
use crate::shape::{broadcast, broadcast_strides, gather_strided};

/// `alpha * A' * B' + beta * C`. Operands: `a [m, k]`, `b [k, n]` (after the transpositions that
/// the flags request), optionally `c` broadcast to `[m, n]`; result: `[m, n]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gemm {
    /// Factor of the matrix product.
    #[serde(with = "npukit_numeric::any_float")]
    pub alpha: f32,
    /// Factor of `c`, if present.
    #[serde(with = "npukit_numeric::any_float")]
    pub beta: f32,
    /// Whether `a` is stored as `[k, m]`.
    pub trans_a: bool,
    /// Whether `b` is stored as `[n, k]`.
    pub trans_b: bool,
}

impl Gemm {
    /// The product and its addend only: factors of 1, nothing stored transposed.
    pub const PLAIN: Self = Self { alpha: 1.0, beta: 1.0, trans_a: false, trans_b: false };
}

impl Operator for Gemm {
    fn name(&self) -> &'static str {
        "Gemm"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 3)?;
        let [m, k] = sizes(operands.floats(0, "first operand", 2, 2)?, self.trans_a);
        let [depth, n] = sizes(operands.floats(1, "second operand", 2, 2)?, self.trans_b);
        operands.size("inner size of the second operand", k, depth)?;
        if operands.len() == 3 {
            let c = operands.floats(2, "addend", 0, 2)?;
            if broadcast(c, &[m, n]).as_deref() != Some(&[m, n]) {
                let (op, left, right) = (self.name(), vec![m, n], c.to_vec());
                return Err(OpError::Shapes { op, left, right });
            }
        }
        result(vec![m, n], operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (a, b) = (tensor(self, inputs, 0)?, tensor(self, inputs, 1)?);
        let ([m, k], [_, n]) = (sizes(a.shape(), self.trans_a), sizes(b.shape(), self.trans_b));
        let layout = if self.trans_b { Layout::transposed(k) } else { Layout::row_major(n) };
        let packed = PackedMatrix::new(floats(self, inputs, 1, "second operand")?, k, n, layout);
        let left_strides = if self.trans_a { [1, m as isize] } else { [k as isize, 1] };
        let left = gather_strided(floats(self, inputs, 0, "first operand")?, 0, &[m, k], &left_strides);
        let mut data = vec![0.0; m * n];
        packed.multiply(&left, &mut data, n);
        data.iter_mut().for_each(|x| *x *= self.alpha);
        if let Some(c) = inputs.get(2) {
            let addend = floats(self, inputs, 2, "addend")?;
            let addend = gather_strided(addend, 0, &[m, n], &broadcast_strides(c.shape(), &[m, n]));
            data.iter_mut().zip(addend).for_each(|(x, c)| *x += self.beta * c);
        }
        build_floats(self, &infos, data)
    }
}

/// Returns rows and columns of a matrix; swapped if it is stored transposed.
fn sizes(shape: &[usize], transposed: bool) -> [usize; 2] {
    if transposed { [shape[1], shape[0]] } else { [shape[0], shape[1]] }
}
